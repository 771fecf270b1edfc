//! Heads that were kept elsewhere: a restore is told from damage, and damage is not hidden by one.

use super::backup;
use crate::support::postgres::sqlite_only;
use crate::support::{Ran, World};

/// A sequence that verify answers with, as a file.
fn keep(world: &World, name: &str) -> String {
    let heads = world.json("verify").exits(0).at("/heads");
    let file = world.write(name, serde_json::to_string(&heads).unwrap());
    file.to_str().unwrap().to_owned()
}

fn since(world: &World, heads: &str) -> Ran {
    world.run_args(&["-o", "json", "verify", "--since", heads])
}

fn codes(ran: &Ran) -> Vec<String> {
    let findings = ran.at("/findings");
    let mut codes: Vec<String> = findings
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["code"].as_str().unwrap().to_owned())
        .collect();
    codes.dedup();
    codes
}

/// A world that was backed up, written to, and restored; heads of each time.
fn restored() -> (World, [String; 3]) {
    let world = World::with_fake();
    let first = keep(&world, "first.json");
    backup(&world);
    world.run("scale web=2 --reason first --key k1").exits(0);
    world.run("service put web --max 8").exits(0);
    let policy = world.write("p.cedar", "@id(\"p\")\npermit(principal, action, resource);\n");
    world.run_args(&["policy", "put", policy.to_str().unwrap(), "--reason", "r"]).exits(0);
    let lost = keep(&world, "lost.json");
    world.run("restore --from b.db --replace --reason lost").exits(0);
    world.run("scale web=3 --reason on --key k2").exits(0);
    let after = keep(&world, "after.json");
    (world, [first, lost, after])
}

#[test]
fn a_restore_is_told_from_damage() {
    sqlite_only!("a backup is restored to a file");
    let (world, [first, lost, after]) = restored();
    assert_eq!(since(&world, &first).code, Some(0), "nothing of it was given up");
    assert_eq!(since(&world, &after).code, Some(0));
    let ran = since(&world, &lost);
    assert_eq!(ran.code, Some(26), "{ran:#?}");
    assert_eq!(ran.at("/error/code"), "restored_since");
    assert_eq!(codes(&ran), ["given_up"]);
    let text = ran.stdout;
    assert!(text.contains("service:web: events 2 to"), "{text}");
    assert!(text.contains("policy: events 2 to 2 as they were are lost"), "{text}");
    // And again: the heads are of the first of two restores.
    world.run("restore --from b.db --replace --reason again").exits(0);
    assert_eq!(since(&world, &after).code, Some(26));
    assert_eq!(since(&world, &first).code, Some(0));
}

/// What stood before the restore, or came after it, is not excused by it.
#[test]
fn a_restore_hides_no_damage() {
    sqlite_only!("a backup is restored to a file");
    for (heads, change) in [
        // Kept after the restore: it explains nothing.
        (2, "\"stream\":\"service:web\""),
        // Kept before it, of an event that the backup had.
        (0, "\"stream\":\"service:web\""),
    ] {
        let (world, kept) = restored();
        let text = std::fs::read_to_string(&kept[heads]).unwrap();
        let mut rows: Vec<serde_json::Value> = serde_json::from_str(&text).unwrap();
        let of_web = rows.iter_mut().find(|row| row["stream"] == "service:web").expect(change);
        of_web["hash"] = "0".repeat(64).into();
        let file = world.write("changed.json", serde_json::to_string(&rows).unwrap());
        let ran = since(&world, file.to_str().unwrap());
        assert_eq!(ran.code, Some(21), "{ran:#?}");
        assert_eq!(codes(&ran), ["rewritten"]);
    }
}
