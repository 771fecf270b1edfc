//! Signatures by SSH keys: whose are taken, for what, and that they still hold.

use scalectl::domain::digest::Digest;

use super::two_persons;
use crate::support::{Ran, World};

/// A new key of a person: `NAME` and `NAME.pub` in the world.
fn key(world: &World, name: &str) -> String {
    world.make_key(name, "made");
    let public = std::fs::read_to_string(world.path(&format!("{name}.pub"))).unwrap();
    let words: Vec<&str> = public.split_whitespace().take(2).collect();
    words.join(" ")
}

/// A ledger of two persons, with the keys of anna and bert on its list.
fn signed_world(options: &str) -> World {
    let world = two_persons(World::new());
    let (anna, bert) = (key(&world, "anna"), key(&world, "bert"));
    world.write("signers", format!("anna@acme {anna}\nbert@acme {bert}\n"));
    allow(&world);
    world.run(&format!("ledger signers put signers {options} --reason r")).exits(0);
    world
}

/// Everybody may administer, and break the glass.
fn allow(world: &World) {
    let all = "@id(\"all\")\npermit (principal, action, resource)\n\
               unless { action == Action::\"scale_down\" };\n";
    super::hold(world, all);
}

const ASK: &str = "scale web=2 --key k1 --reason nightly";
const GRANT: &str = "approval grant k1 --reason fine";

fn refused(ran: &Ran, code: &str, why: &str) {
    assert_eq!(ran.at("/error/code"), code, "{ran:#?}");
    assert!(ran.stderr.contains(why), "no {why:?} in {ran:#?}");
    assert_eq!(ran.at("/applied"), "no");
}

#[test]
fn a_signed_answer_is_recorded_with_its_signer_and_verified_again() {
    let mut world = signed_world("");
    world.run(ASK).exits(13);
    world.be("lead:1002");
    let granted = world.run(&format!("{GRANT} --sign-with anna")).exits(0);
    // Whoever signs is told that it was taken, and as whose.
    assert!(granted.stdout.contains("agreed to by"), "{granted:#?}");
    assert!(granted.stdout.contains("signature anna@acme (SHA256:"), "{granted:#?}");
    let log = world.json("log web --event intent_accepted").exits(0);
    let events = log.at("/events");
    let by = &events.as_array().unwrap().last().unwrap()["by"]["signed_by"];
    assert_eq!(by["principal"], "anna@acme");
    assert!(by["fingerprint"].as_str().unwrap().starts_with("SHA256:"));
    let shown = world.run("log web").exits(0);
    assert!(shown.stdout.contains("key of anna@acme"), "{shown:#?}");
    let verified = world.json("verify").exits(0);
    assert_eq!(verified.at("/signatures"), 1);
    world.be("ci:1001");
    world.run(ASK).exits(0);
    // Nothing is left of the files that the child has read.
    let left = world.path(".local/state/scalectl/signatures");
    assert!(std::fs::read_dir(left).into_iter().flatten().next().is_none());
}

#[test]
fn who_is_not_on_the_list_or_not_any_more_or_for_something_else_is_refused() {
    let mut world = signed_world("--required");
    let eve = key(&world, "eve");
    world.run(ASK).exits(13);
    world.be("lead:1002");
    refused(&world.json(GRANT).exits(12), "signature_missing", "--sign-with");
    let by = |world: &World, who: &str| world.json(&format!("{GRANT} --sign-with {who}"));
    refused(&by(&world, "eve").exits(12), "signature_refused", "ssh-keygen says");
    let lists = [
        format!("eve@acme valid-before=\"20200101\" {eve}\n"),
        format!("eve@acme valid-after=\"20990101\" {eve}\n"),
        format!("eve@acme namespaces=\"git\" {eve}\n"),
    ];
    for list in lists {
        world.write("other", &list);
        world.run("ledger signers put other --required --reason r").exits(0);
        refused(&by(&world, "eve").exits(12), "signature_refused", "ssh-keygen says");
    }
    // A file that is no key, and one that is not there.
    for file in ["other", "nothing-there"] {
        let ran = by(&world, file).exits(2);
        assert_eq!(ran.at("/error/code"), "not_signed", "{ran:#?}");
    }
    // The refusals are kept, and the answer is still open.
    let kept = world.json("log --event refused --limit 1000").exits(0);
    assert!(kept.stdout.contains("signature_refused"), "{kept:#?}");
    world.write("good", format!("eve@acme namespaces=\"scalectl-ledger\" {eve}\n"));
    world.run("ledger signers put good --required --reason r").exits(0);
    by(&world, "eve").exits(0);
    assert_eq!(world.json("verify").exits(0).at("/signatures"), 1);
}

/// Puts a program in the place of ssh-keygen, from here on.
fn stand_in(world: &mut World, script: &str) {
    use std::os::unix::fs::PermissionsExt;
    let program = world.write("bin/ssh-keygen", format!("#!/bin/sh\n{script}\n"));
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    let bin = program.parent().unwrap().to_str().unwrap().to_owned();
    world.set("PATH", format!("{bin}:/usr/local/bin:/usr/bin:/bin"));
}

/// Only what ssh-keygen says with its exit is said of a signature.
#[test]
fn a_child_that_was_killed_says_nothing_of_a_signature() {
    let mut world = signed_world("");
    world.run(ASK).exits(13);
    world.be("lead:1002");
    world.run(&format!("{GRANT} --sign-with anna")).exits(0);
    let refusals = |world: &World| {
        let log = world.json("log --event refused --limit 1000").exits(0);
        log.at("/events").as_array().unwrap().len()
    };
    let before = refusals(&world);
    stand_in(&mut world, "kill -KILL $$");
    let ran = world.json("verify").exits(0);
    assert_eq!(ran.at("/signatures"), 0);
    assert_eq!(ran.at("/warnings/0/code"), "signatures_not_checked", "{ran:#?}");
    assert!(ran.stdout.contains("signal 9 ended it"), "{ran:#?}");
    let line = "break-glass authorize web=3 --incident INC-1 --reason r --sign-with anna";
    assert_eq!(world.json(line).exits(2).at("/error/code"), "ssh_keygen_failed");
    assert_eq!(refusals(&world), before, "a refusal was kept");
    // Whoever is asked to end while it works has refused nothing.
    stand_in(&mut world, "touch \"$HOME/asked\"; sleep 20");
    let mut child = world.start(line);
    world.until("it is asked", || world.path("asked").exists());
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(143));
    assert_eq!(refusals(&world), before, "a refusal was kept");
}

/// A list that a later one has replaced was the list of its time; a key that has expired was good.
#[test]
fn a_signature_is_held_against_the_list_of_its_time() {
    let mut world = signed_world("--required");
    world.run(ASK).exits(13);
    world.be("lead:1002");
    world.run(&format!("{GRANT} --sign-with bert")).exits(0);
    let eve = key(&world, "eve");
    world.write("later", format!("eve@acme {eve}\n"));
    world.run("ledger signers put later --reason r").exits(0);
    assert_eq!(world.json("verify").exits(0).at("/signatures"), 1);
}

#[test]
fn persons_differ_by_their_keys() {
    let world = signed_world("--required");
    let glass = "break-glass authorize web=2 --incident INC-1 --reason night";
    refused(&world.json(glass).exits(12), "signature_missing", "--sign-with");
    let given = world.json(&format!("{glass} --sign-with anna --authorized-for 1s")).exits(0);
    let id = given.at("/authorization/authorization/authorization_id");
    let id = id.as_str().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(1100));
    let review =
        |who: &str| world.json(&format!("break-glass review {id} --reason r --sign-with {who}"));
    // The same user of the system, and the same role of the server: the key tells them apart.
    let same = review("anna").exits(12);
    assert_eq!(same.at("/error/code"), "same_reviewer");
    assert!(same.stderr.contains("signing key"), "{same:#?}");
    review("bert").exits(0);
    assert_eq!(world.json("verify").exits(0).at("/signatures"), 2);
}

#[test]
fn a_broken_glass_may_be_signed_and_policy_may_ask_for_it() {
    let mut world = signed_world("");
    let rule = "@id(\"all\")\npermit (principal, action, resource)\n\
                unless { action == Action::\"scale_down\" || action == Action::\"break_glass\" };\n\
                @id(\"night\")\npermit (principal, action == Action::\"break_glass\", resource)\n\
                when { context has signed_by && context.signed_by == \"anna@acme\" };\n";
    super::hold(&world, rule);
    let line = "scale web=2 --break-glass --incident INC-1 --reason r --yes --current-replicas 5";
    world.run(line).exits(12);
    world.run(&format!("{line} --sign-with bert")).exits(12);
    world.set("SCALECTL_SIGN_WITH", "anna");
    world.run(line).exits(0);
    world.run("verify").exits(0);
    world.unset("SCALECTL_SIGN_WITH");
    world.run("scale web=3 --reason r --sign-with anna").exits(2).says("no glass is broken");
}

#[test]
fn a_list_is_put_by_whoever_administers_and_is_one() {
    let world = two_persons(World::new());
    let key = key(&world, "anna");
    world.write("signers", format!("# us\nanna@acme {key}\n"));
    world.run("ledger signers show").exits(0);
    world.run("ledger signers put signers").exits(2).says("reason_missing");
    world.run("ledger signers put signers --reason r").exits(0);
    let again = world.json("ledger signers put signers --reason r").exits(0);
    assert_eq!(again.at("/changed"), false);
    for nonsense in ["anna@acme\n", "hello world\n", "anna@acme AAAAC3Nz ssh-ed25519\n"] {
        world.write("nonsense", nonsense);
        let ran = world.json("ledger signers put nonsense --reason r").exits(2);
        assert_eq!(ran.at("/error/code"), "signers_invalid", "{ran:#?}");
    }
    super::hold(
        &world,
        "@id(\"p\")\npermit (principal, action == Action::\"set_policy\", resource);\n",
    );
    world.run("ledger signers put signers --required --reason r").exits(12);
    world.run("verify").exits(0);
}

/// What the events say is not what was signed: found, whoever has changed it.
#[test]
fn a_signature_of_another_act_is_found() {
    crate::support::postgres::sqlite_only!("the file is written behind the ledger");
    let mut world = signed_world("");
    world.run(ASK).exits(13);
    world.be("lead:1002");
    world.run(&format!("{GRANT} --sign-with anna")).exits(0);
    // A list of that time in which the key is another's: every chain is sound, by its own hashes.
    let eve = key(&world, "eve");
    forge(&world, &eve);
    let found = world.json("verify").exits(21);
    assert!(found.stdout.contains("bad_signature"), "{found:#?}");
}

/// Rewrites the registry's chain so that its list has another key, with hashes that fit.
fn forge(world: &World, key: &str) {
    let database = rusqlite::Connection::open(world.ledger()).unwrap();
    database.execute_batch("DROP TRIGGER event_is_never_changed").unwrap();
    let rows: Vec<(i64, String, i64, String, String)> = database
        .prepare(
            "SELECT position, stream, sequence, command_id, body FROM event
             WHERE stream = 'registry' ORDER BY sequence",
        )
        .unwrap()
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?)))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let mut previous = Digest::ZERO;
    for (position, stream, sequence, command_id, body) in rows {
        let mut event: serde_json::Value = serde_json::from_str(&body).unwrap();
        if event["body"]["event"] == "signers_set" {
            event["body"]["signers"]["text"] = format!("anna@acme {key}\n").into();
        }
        let body = scalectl::domain::canonical::canonical_json(&event);
        let link = format!(
            "{{\"command_id\":\"{command_id}\",\"event\":{body},\"sequence\":{sequence},\
             \"stream\":\"{stream}\"}}"
        );
        previous = Digest::chained(&previous, link.as_bytes());
        database
            .execute(
                "UPDATE event SET body = ?1, hash = ?2 WHERE position = ?3",
                rusqlite::params![body, previous.as_bytes(), position],
            )
            .unwrap();
    }
    database
        .execute_batch(
            "CREATE TRIGGER event_is_never_changed BEFORE UPDATE ON event
BEGIN SELECT raise(ABORT, 'events are never changed'); END",
        )
        .unwrap();
}

/// An account that is shared: the keys tell its persons apart, and a use signs nothing.
#[test]
fn persons_of_one_account_review_each_other_by_their_keys() {
    let world = signed_world("--required");
    let line = "scale web=2 --break-glass --incident INC-1 --reason r --yes --current-replicas 5";
    world.run(&format!("{line} --sign-with anna")).exits(0);
    let list = world.json("break-glass list").exits(0);
    let id = list.at("/authorizations/0/authorization/authorization_id");
    let review = format!("break-glass review {} --reason seen", id.as_str().unwrap());
    let own = world.json(&format!("{review} --sign-with anna")).exits(12);
    refused(&own, "same_reviewer", "signing key");
    world.run(&format!("{review} --sign-with bert")).exits(0);
    world.run("break-glass list --check").exits(0);
    world.run("verify").exits(0);
}
