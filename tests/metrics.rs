//! `metrics`: what Prometheus reads of a ledger from a text file.

use std::os::unix::fs::PermissionsExt as _;

use crate::support::World;

fn gauge(text: &str, name: &str) -> Option<f64> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(&format!("scalectl_{name}{{service=\"web\"}} ")));
    line.map(|value| value.parse().expect("a number"))
}

#[test]
fn every_gauge_tells_what_is_so() {
    let world = World::with_fake();
    let text = world.run("metrics").exits(0).stdout;
    assert_eq!(gauge(&text, "wanted_replicas"), None, "{text}");
    assert_eq!((gauge(&text, "unfinished"), gauge(&text, "unknown")), (Some(0.0), Some(0.0)));
    world.run("scale web=3 --key k1 --reason r --timeout 20s").exits(0);
    world.run("service put web --cooldown 1h").exits(0);
    let text = world.run("metrics").exits(0).stdout;
    assert_eq!(gauge(&text, "wanted_replicas"), Some(3.0), "{text}");
    assert_eq!(gauge(&text, "read_replicas"), Some(3.0), "{text}");
    assert_eq!(gauge(&text, "ready_replicas"), Some(3.0), "{text}");
    assert!(gauge(&text, "cooldown_seconds").is_some_and(|left| left > 3000.0), "{text}");
    assert!(gauge(&text, "reading_age_seconds").is_some_and(|age| age < 600.0), "{text}");
    assert!(text.contains("scalectl_ledger_info{ledger=\"led-"), "{text}");
    world.run("service put web --cooldown 0s").exits(0);
    world.script(&["ok", "unknown"]);
    world.run("intent put web --replicas 4 --key k2 --reason r").exits(0);
    world.run("actuate k2").exits(16);
    world.run("hold set web --until 1h --reason r").exits(0);
    let text = world.run("metrics web").exits(0).stdout;
    for name in ["unfinished", "unknown", "held", "needs_a_person"] {
        assert_eq!(gauge(&text, name), Some(1.0), "{name}: {text}");
    }
    assert_eq!(gauge(&text, "cooldown_seconds"), Some(-1.0), "nobody knows: {text}");
    // Every line is one that the format knows.
    for line in text.lines().filter(|line| !line.starts_with("# ")) {
        let (name, value) = line.rsplit_once(' ').expect("a value");
        assert!(name.starts_with("scalectl_") && name.ends_with('}'), "{line}");
        value.parse::<f64>().expect("a number");
    }
    let view = world.json("metrics").exits(0).at("/metrics");
    assert!(view.as_array().is_some_and(|rows| rows.len() > 5), "{view}");
    world.run("metrics nosuch").exits(24);
}

#[test]
fn a_file_is_replaced_as_a_whole_and_may_be_read_by_all() {
    let world = World::with_fake();
    let file = world.write("node/scalectl.prom", "old\n");
    let ran = world.run("metrics --textfile node/scalectl.prom").exits(0);
    assert!(ran.stdout.ends_with("has 1 service\n"), "{ran:#?}");
    let text = std::fs::read_to_string(&file).expect("it is there");
    assert!(text.starts_with("# HELP scalectl_ledger_info"), "{text}");
    assert_eq!(file.metadata().expect("ours").permissions().mode() & 0o777, 0o644);
    let names = std::fs::read_dir(world.path("node")).expect("ours").count();
    assert_eq!(names, 1, "nothing is left beside it");
    let ran = world.json("metrics --textfile /nowhere/at.prom").exits(20);
    assert_eq!(ran.at("/error/code"), "textfile_not_written");
}
