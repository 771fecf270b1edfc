//! What a change of settings does beside them is told: bounds that what runs is outside of, a service
//! that lives again.

use serde_json::json;

use crate::support::{Ran, World};

fn warned(ran: &Ran) -> Vec<(String, String)> {
    let warnings = ran.at("/warnings");
    let text = |it: &serde_json::Value, name: &str| it[name].as_str().unwrap().to_owned();
    let all = warnings.as_array().unwrap().iter();
    all.map(|it| (text(it, "code"), text(it, "message"))).collect()
}

#[test]
fn bounds_that_leave_out_what_runs_say_so() {
    let world = World::with_fake();
    world.run("override set web=5 --until 1h --reason sale").exits(0);
    let ran = world.json("service put web --max 3").exits(0);
    let code = || "outside_bounds".to_owned();
    let stays = "it stays there until somebody wishes another";
    let runs = format!("the count of web was last read as 5, above its max 3: {stays}");
    let pinned = "web is pinned to 5, above its max 3: no pass can bring it back to that";
    assert_eq!(warned(&ran), [(code(), runs.clone()), (code(), pinned.to_owned())]);
    assert!(ran.stderr.contains(&format!("warning: {runs}")), "{ran:#?}");
    // It is told by the line that does it, not by another.
    assert_eq!(world.json("service put web --quiet 1s").exits(0).at("/warnings"), json!([]));
    assert_eq!(world.json("service put web --max 3").exits(0).at("/warnings"), json!([]));
    let ran = world.json("service put web --max 9 --min 6").exits(0);
    assert!(warned(&ran)[0].1.contains("read as 5, below its min 6"), "{ran:#?}");
    assert_eq!(world.json("service put web --min 0").exits(0).at("/warnings"), json!([]));
    // What a signal scales is brought back by a tick.
    world.run("override clear web --reason over").exits(0);
    let scaled = "--signal queue --signal-target 10 --max 4";
    let ran = world.json(&format!("service put web {scaled}")).exits(0);
    let text = &warned(&ran)[0].1;
    assert!(text.ends_with("the next tick that sees a sample brings it back"), "{text}");
}

#[test]
fn a_service_that_is_over_is_listed_as_that_and_revived_with_a_word() {
    let world = World::with_fake();
    let row = || {
        let shown = world.run("service list").exits(0).stdout;
        shown.lines().find(|line| line.starts_with("web ")).unwrap().to_owned()
    };
    assert!(row().contains(" native "), "{}", row());
    world.run("service retire web --reason moved").exits(0);
    assert!(row().contains(" retired ") && !row().contains(" native "), "{}", row());
    let listed = world.json("service list").exits(0);
    assert_eq!(listed.at("/services/0/retired/reason"), "moved");
    assert_eq!(world.json("service show web").exits(0).at("/service/retired/reason"), "moved");
    let ran = world.json("service put web").exits(0);
    assert_eq!(ran.at("/revives/reason"), "moved");
    assert!(row().contains(" native "), "{}", row());
    let listed = world.json("service list").exits(0).at("/services/0");
    assert!(listed.get("retired").is_none(), "{listed}");
    assert!(world.json("service put web").exits(0).json().get("revives").is_none());
    // For people the same.
    world.run("service retire web --reason again").exits(0);
    let shown = world.run("service put web --max 9").exits(0).stdout;
    assert!(shown.contains("it lives again: ") && shown.contains(": again"), "{shown}");
}

/// The comment of the schema is what a person writes a rule from.
#[test]
fn the_schema_names_every_source_of_a_wish() {
    let schema = include_str!("../../src/policy/schema.rs");
    let comment = schema.lines().find(|line| line.contains("source: String,     //")).unwrap();
    let code = include_str!("../../src/domain/scale/provenance.rs");
    let (_, words) = code.split_once("impl WishSource").unwrap();
    let (words, _) = words.split_once("pub const fn is_unattended").unwrap();
    let words: Vec<&str> = words.split('"').skip(1).step_by(2).collect();
    assert!(words.len() > 5, "{words:?}");
    for word in words {
        assert!(comment.contains(word), "{word}: {comment}");
    }
}
