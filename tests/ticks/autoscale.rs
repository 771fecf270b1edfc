//! Sections 4.1 and 4.2 of the rule book: one tick as a whole, and the count that it wishes.

use serde_json::json;

use super::{Fleet, SCALED, sample, says};

#[test]
fn rule_4_1_1_the_health_gate_comes_before_everything() {
    let fleet = Fleet::scaled();
    fleet.on_inspect("echo >>inspected\n");
    for (health, exit, word) in [
        (r#"{"autoscaling_ready":false,"convergence_ready":true}"#, 0, "not_ready"),
        (r#"{"autoscaling_ready":1,"convergence_ready":true}"#, 25, "unreadable"),
        ("", 25, "unreadable"),
    ] {
        let health_file = fleet.world.write("health.json", health);
        let line = format!(
            "-o json autoscale --health {} --provider -- /bin/sh -c {}",
            health_file.display(),
            "echo>>asked"
        );
        let ran = fleet.world.run(&line).exits(exit);
        assert_eq!(ran.at("/evaluated"), 0, "{health}");
        assert_eq!(ran.at("/actions"), 0, "{health}");
        assert_eq!(ran.at("/health"), word, "{health}");
        assert!(ran.at("/reason").as_str().expect("a reason").contains("health gate"), "{health}");
    }
    let missing = fleet.tick_of("--health nowhere.json", &[]).exits(25);
    assert_eq!(missing.at("/error/code"), "health_unreadable");
    assert!(!fleet.world.fake_dir().join("inspected").exists(), "a target was read");
    assert!(!fleet.world.path("asked").exists(), "the source was asked");
    // The same with an open gate asks both.
    fleet.world.write("health.json", r#"{"autoscaling_ready":true,"convergence_ready":false}"#);
    fleet
        .world
        .run("autoscale --health health.json --provider -- /bin/sh -c echo>>asked")
        .exits(25);
    assert!(fleet.world.fake_dir().join("inspected").exists());
    assert!(fleet.world.path("asked").exists());
}

#[test]
fn rule_4_1_2_candidates_are_scaled_living_and_sorted_by_name() {
    let mut fleet = Fleet::scaled();
    for name in ["zeta", "alpha", "plain", "gone"] {
        std::fs::write(fleet.world.fake_dir().join("uid"), format!("uid-{name}\n"))
            .expect("a file");
        let scaled = if name == "plain" { "" } else { SCALED };
        let target = format!("--actuator fake --writer ops --max 10 --drain none {scaled}");
        fleet.world.run(&format!("service put {name} {target}")).exits(0);
    }
    fleet.world.run("service retire gone --reason r").exits(0);
    fleet.later(1);
    let ran = fleet.tick_of("", &[]);
    let rows = ran.at("/evaluations");
    let rows = rows.as_array().expect("rows");
    let names: Vec<_> = rows.iter().map(|row| row["service"].as_str().expect("a name")).collect();
    assert_eq!(names, ["alpha", "web", "zeta"]);
    // Who is named is looked at, whatever it is; who is not there is told.
    fleet.tick_of("nobody", &[]).exits(24);
    let ran = fleet.tick_of("plain", &[]).exits(0);
    assert_eq!(says(&ran.at("/evaluations/0")), "skipped: not scaled by a signal");
}

#[test]
fn rule_4_1_3_all_samples_are_read_in_one_go() {
    let fleet = Fleet::scaled();
    std::fs::write(fleet.world.fake_dir().join("uid"), "uid-api\n").expect("a file");
    let target = format!("--actuator fake --writer ops --max 10 --drain none {SCALED}");
    fleet.world.run(&format!("service put api {target}")).exits(0);
    std::fs::remove_file(fleet.world.fake_dir().join("uid")).expect("it was there");
    fleet.world.write(
        "ask.sh",
        "cat >>asked\necho >>asked\necho '{\"format_version\":1,\"signals\":[]}'\n",
    );
    fleet.world.run("autoscale --provider -- /bin/sh ask.sh");
    let asked = std::fs::read_to_string(fleet.world.path("asked")).expect("it was asked");
    assert_eq!(asked.lines().count(), 1, "{asked}");
    let asked: serde_json::Value = serde_json::from_str(asked.trim()).expect("JSON");
    let services: Vec<_> = asked["signals"].as_array().expect("rows").iter().collect();
    assert_eq!(services.len(), 2);
    assert_eq!(services[0]["service"], "api");
    assert_eq!(services[1]["signal"], json!({"name": "queue", "aggregation": "fleet_total"}));
}

#[test]
fn rule_4_1_4_after_so_many_wishes_the_rest_is_skipped() {
    let mut fleet = Fleet::scaled();
    for name in ["api", "zoo"] {
        std::fs::write(fleet.world.fake_dir().join("uid"), format!("uid-{name}\n"))
            .expect("a file");
        let target = format!("--actuator fake --writer ops --max 10 --drain none {SCALED}");
        fleet.world.run(&format!("service put {name} --workload {name} {target}")).exits(0);
    }
    // Each has its own object from here on.
    fleet.on_inspect(super::OWN_OBJECTS);
    fleet.later(1);
    let samples: Vec<_> = ["api", "web", "zoo"].map(|name| fleet.sample(name, 55.0)).into();
    let ran = fleet.tick_of("--max-actions 2", &samples).exits(0);
    assert_eq!(ran.at("/actions"), 2);
    assert_eq!(ran.at("/evaluated"), 3);
    assert_eq!(ran.at("/intents_accepted"), 2);
    assert_eq!(says(&ran.at("/evaluations/2")), "skipped: per-tick action budget exhausted");
    fleet.tick_of("--max-actions 0", &samples).exits(2);
    // What was left is not used up.
    let ran = fleet.tick_of("", &samples).exits(0);
    assert_eq!(says(&ran.at("/evaluations/2")), "intent_accepted 3 → 6");
}

#[test]
fn rule_4_1_5_the_report_says_what_was_done_and_nobody_is_called() {
    let mut fleet = Fleet::scaled();
    fleet.later(1);
    let ran = fleet.tick_of("", &[fleet.sample("web", 54.123_456)]).exits(0);
    assert_eq!(ran.at("/evaluations/0/value"), 54.123);
    assert_eq!(ran.at("/evaluations/0/current"), 3);
    assert_eq!(ran.at("/evaluations/0/desired"), 6);
    assert_eq!(ran.at("/signal_provider"), "document");
    assert_eq!(ran.at("/health"), "not_asked");
    assert_eq!(ran.at("/recorded"), "yes");
    assert_eq!(ran.at("/applied"), "no");
    assert!(fleet.world.fake_log("calls").is_empty(), "the autoscaler called");
    let events = fleet.world.json("log --limit 100").exits(0).stdout;
    assert!(events.contains("autoscale_evaluated"), "{events}");
    // A tick that finds nothing new records nothing.
    let before = fleet.world.events();
    fleet.tick_of("", &[]).exits(0);
    fleet.tick_of("", &[]).exits(0);
    assert_eq!(fleet.world.events(), before);
}

#[test]
fn rule_4_2_the_count_follows_from_the_value() {
    for (flags, runs, value, desired) in [
        ("", 3, 55.0, "6"),
        ("", 3, 51.0, "6"),
        ("", 3, 1e9, "10"),
        ("--scale-up-step 1", 3, 55.0, "4"),
        // From outside the bounds it is one step to the nearest: nothing else can be wished.
        ("--scale-up-step 2 --min 8", 3, 1.0, "8"),
        ("--scale-down-step 2 --max 2", 9, 95.0, "2"),
        // There the deadband does not hold: no value makes such a count right.
        ("--max 2", 3, 30.0, "2"),
        ("--min 4", 3, 30.0, "4"),
        ("--signal-aggregation per_replica", 3, 20.0, "6"),
        // Nothing counts as one, and the deadband does not hold there.
        ("", 0, 10.0, "1"),
    ] {
        let mut fleet = Fleet::scaled();
        fleet.world.run(&format!("service put web --scale-down-samples 1 {flags}")).exits(0);
        fleet.counts(runs);
        fleet.later(1);
        let mut sample = fleet.sample("web", value);
        if flags.contains("per_replica") {
            sample["signal"]["aggregation"] = json!("per_replica");
        }
        let ran = fleet.tick_of("", &[sample]).exits(0);
        assert_eq!(ran.at("/evaluations/0/desired").to_string(), desired, "{flags} {runs} {value}");
        assert_eq!(ran.at("/evaluations/0/outcome"), "intent_accepted", "{flags} {runs} {value}");
    }
}

/// Whoever has a newer sample or the same one: one wish.
#[test]
fn many_ticks_at_once_make_one_wish() {
    let mut fleet = Fleet::scaled();
    fleet.later(10);
    let children: Vec<_> = (0..8)
        .map(|at| {
            let instant = fleet.instant(-(at / 2));
            let file = format!("signals-{at}.json");
            fleet.world.write(&file, super::document(&[sample("web", 55.0, &instant)]));
            fleet.world.start(&format!("-o json autoscale --signals {file} --lock-timeout 30s"))
        })
        .collect();
    for child in children {
        let output = child.wait_with_output().expect("it ends");
        assert!(output.status.success(), "{output:?}");
    }
    assert_eq!(fleet.intents(), 1);
    fleet.world.run("verify").exits(0);
}
