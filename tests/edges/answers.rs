//! What somebody read who knew the README only: no answer misleads, and each name leads on.

use serde_json::Value;

use super::people::pasted;
use crate::support::World;
use crate::support::postgres::sqlite_only;

#[test]
fn a_failure_for_good_is_never_called_verified_alone() {
    let world = World::with_fake();
    world.script(&["fail terminal quota"]);
    let ran = world.run("scale web=2 --key k1 --reason x").exits(17);
    assert!(ran.stderr.contains("attempt 1 of 3: failed for good (verified)"), "{ran:#?}");
    let ran = world.run("scale web=2 --key k2 --reason x").exits(0);
    assert!(ran.stderr.contains("  verified (converged)\n"), "{ran:#?}");
}

#[test]
fn status_shows_the_newest_count_that_is_known() {
    let world = World::with_fake();
    world.run("scale web=2 --key k1 --reason x").exits(0);
    std::fs::write(world.fake_dir().join("count"), "5\n").unwrap();
    world.run("service bind web").exits(0);
    let ran = world.run("status").exits(0);
    let row = ran.stdout.lines().find(|line| line.starts_with("web ")).unwrap();
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(cells[3..6], ["2", "5", "!"], "{ran:#?}");
    world.run("status --check").exits(26);
}

#[test]
fn after_a_restore_nothing_from_before_is_told_as_true() {
    sqlite_only!("a backup is restored to a file");
    let world = World::with_fake();
    world.run("scale web=2 --key k1 --reason x").exits(0);
    world.run("backup --to b.db").exits(0);
    let ran = world.run("restore --from b.db --replace --reason lost").exits(0);
    assert!(ran.stdout.contains("lifted for 1 service\n"), "{ran:#?}");
    assert!(ran.stdout.contains("next       scalectl service bind web"), "{ran:#?}");
    let ran = world.run("status --check").exits(26);
    assert!(ran.stdout.contains(" 2 ?  "), "{ran:#?}");
    assert!(ran.stdout.contains("web (not read since the restore)"), "{ran:#?}");
    assert_eq!(world.json("status").at("/services/0/next"), "scalectl service bind web");
    world.run("service bind web").exits(0);
    let ran = world.run("status --check").exits(0);
    assert!(!ran.stdout.contains("2 ?"), "{ran:#?}");
    assert!(world.run("log web").exits(0).stdout.contains("incarnation 2, fences from"));
}

#[test]
fn a_plan_of_a_recorded_wish_is_about_that_one() {
    let world = World::with_fake();
    world.run("intent put web --replicas 3 --key d-1 --reason nightly").exits(0);
    let ran = world.run("plan web=3 --key d-1").exits(0);
    assert!(ran.stdout.contains("what is recorded would be gone on with"), "{ran:#?}");
    assert!(ran.stdout.contains("attempt 1 of 3 would start"), "{ran:#?}");
    world.run("plan web=4 --key d-1").exits(10);
    world.run("plan web=3 --key d-1 --reason other").exits(10);
}

#[test]
fn a_misspelt_name_of_a_ledger_is_answered_with_the_right_one() {
    let mut world = World::new();
    let config = "[ledgers]\nproduction = \"/nowhere/p.db\"\n";
    world.write(".config/scalectl/config.toml", config);
    let ran = world.json("--ledger prodution status").exits(21);
    assert_eq!(ran.at("/error/facts/did you mean"), "production");
    world.set("SCALECTL_LEDGER", "prodution");
    assert_eq!(world.json("status").exits(21).at("/error/facts/did you mean"), "production");
    let ran = world.json("--ledger other status").exits(21);
    assert_eq!(ran.json().pointer("/error/facts/did you mean"), None);
    world.write(".config/scalectl/config.toml", "[ledgers\n");
    let ran = world.json("--ledger production status").exits(2);
    assert_eq!(ran.at("/error/code"), "config_invalid");
    // A line that asks no name of it goes on, and says so.
    world.unset("SCALECTL_LEDGER").run("init").exits(0);
    let ran = world.json("status").exits(0);
    assert_eq!(ran.at("/warnings/0/code"), "config_unusable");
}

#[test]
fn a_flag_beside_a_whole_record_is_never_dropped() {
    let world = World::with_fake();
    world.run("intent put web --replicas 2 --key k1 --reason x").exits(0);
    let record = world.json("intent show k1").at("/intent").to_string();
    world.write("record.json", record);
    for flag in [
        "--current-replicas 7",
        "--valid-for 2h",
        "--key k9",
        "--reason y",
        "--fence 9.9",
        "--backoff 1s",
        "--max-attempts 2",
        "--expect-revision 4",
    ] {
        let ran = world.json(&format!("intent put web --file record.json {flag}")).exits(2);
        assert_eq!(ran.at("/error/code"), "usage", "{flag}");
    }
    world.run("intent put web --file record.json").exits(0);
}

#[test]
fn what_has_moved_and_what_is_a_copy_says_so() {
    sqlite_only!("files are sealed and copied");
    let world = World::with_fake();
    world.run("intent put web --replicas 2 --key k1 --reason x").exits(0);
    world.run("backup --to b.db").exits(0);
    world.run("ledger copy --to ./moved.db --reason moved").exits(0);
    for line in ["status", "log web", "explain web@1", "cooldown web", "intent show k1"] {
        for (ledger, code) in [("b.db", "ledger_is_backup"), ("", "ledger_sealed")] {
            let line = match ledger {
                "" => line.to_owned(),
                file => format!("--ledger ./{file} {line}"),
            };
            let ran = world.json(&line).exits(0);
            assert_eq!(ran.at("/warnings/0/code"), code, "{line}");
        }
    }
    // Nothing can be put there, and a plan says so.
    assert_eq!(world.json("plan web=3").exits(21).at("/error/code"), "ledger_sealed");
    assert_eq!(
        world.json("--ledger ./b.db plan web=3").exits(21).at("/error/code"),
        "ledger_is_backup"
    );
    assert_eq!(
        world.json("--ledger ./moved.db status").exits(0).at("/warnings"),
        Value::Array(vec![])
    );
}

/// A call of a host that never comes back.
#[test]
fn a_lost_laptop_is_told_with_what_comes_when() {
    let mut world = World::with_fake();
    world.script(&["hang"]);
    world.set("SCALECTL_TEST_HOST", "laptop");
    let mut call = world.start("scale web=2 --key k1 --reason x");
    world.until("the call has its effect", || !world.fake_log("effects").is_empty());
    call.kill().unwrap();
    call.wait().unwrap();
    world.await_no_children();
    world.unset("SCALECTL_TEST_HOST");
    let ran = world.run("status --check").exits(0);
    assert!(ran.stdout.contains(" until "), "its lease is alive: {ran:#?}");
    let later = scalectl::domain::time::DurationMs::from_secs(120);
    let now: scalectl::domain::time::Timestamp =
        world.json("status").at("/services/0/lease/acquired_at").as_str().unwrap().parse().unwrap();
    world.clock(&now.plus(later).to_string());
    let ran = world.run("status --check").exits(26);
    assert!(ran.stdout.contains("web@1 (no sign of life of its call on"), "{ran:#?}");
    assert_eq!(world.json("status").at("/services/0/next"), "scalectl replay web@1 --wait");
    let ran = world.run("explain k1").exits(0);
    assert!(ran.stdout.contains("(its deadline and 300 s)"), "{ran:#?}");
    assert!(world.run("replay k1 --dry-run").stdout.contains("no sign of life"));
}

#[test]
fn an_accepted_clock_is_told_and_the_line_of_the_doctor_works() {
    let mut world = World::with_fake();
    world.clock("2036-01-05T10:00:00Z");
    world.run("intent put web --replicas 2 --key k1 --reason x").exits(0);
    world.clock("2026-11-29T10:00:00Z");
    let ran = world.json("doctor").exits(26);
    let checks = ran.at("/checks");
    let clock = checks.as_array().unwrap().iter().find(|check| check["check"] == "clock").unwrap();
    let advice = clock["advice"].as_str().unwrap();
    let line = &advice[advice.find("scalectl ").unwrap()..];
    let shell = std::process::Command::new("sh")
        .args(["-c", &line.replace("scalectl", crate::support::SCALECTL)])
        .env_clear()
        .envs(world.command(&[]).get_envs().filter_map(|(name, value)| Some((name, value?))))
        .current_dir(world.path(""))
        .output()
        .unwrap();
    assert!(shell.status.success(), "{line}: {shell:?}");
    for line in ["log web", "explain k1"] {
        let ran = world.run(line).exits(0);
        assert!(ran.stdout.contains("brought back to now"), "{line}: {ran:#?}");
    }
    assert!(world.run("log web").stdout.contains("time was at 2036-01-05"));
}

#[test]
fn a_refusal_of_policy_leads_on() {
    let world = World::with_fake();
    // The first refusal is not the only one: its way out leads nowhere.
    let policy = "@id(\"all\") permit(principal, action, resource) unless \
                  { [Action::\"scale_up\", Action::\"propose\"].contains(action) };";
    world.write("no-up.cedar", policy);
    world.run("policy put no-up.cedar --reason test").exits(0);
    let ran = world.json("plan web=50").exits(2);
    assert!(ran.at("/error/facts/also").as_str().unwrap().starts_with("denied: "), "{ran:#?}");
    // And without a policy the way to one is a template of those that are listed.
    let bare = World::new();
    bare.run("init").exits(0);
    std::fs::create_dir_all(bare.fake_dir()).unwrap();
    let fake = crate::support::fake_actuator();
    bare.run_args(&["actuator", "put", "fake", "--", "/bin/sh", fake.to_str().unwrap()]).exits(0);
    let target = "--cluster a --runtime b --workload web --target-uid c --target-version 1";
    bare.run(&format!(
        "service put web --max 3 --actuator fake --writer ops --drain none {target}"
    ))
    .exits(0);
    let ran = bare.json("scale web=1 --reason x").exits(12);
    assert!(pasted(&bare, &ran, 0).exits(0).stdout.contains("kubernetes"), "{ran:#?}");
    bare.write("policy.cedar", bare.run("policy template local").exits(0).stdout);
    pasted(&bare, &ran, 1).exits(0);
}

#[test]
fn an_override_that_was_not_permitted_is_told() {
    let world = World::with_fake();
    world.run("service put web --cooldown 1h").exits(0);
    world.run("scale web=2 --key k1 --reason x").exits(0);
    let policy = "@id(\"all\") permit(principal, action, resource) unless \
                  { action == Action::\"override_cooldown\" };";
    world.write("no-override.cedar", policy);
    world.run("policy put no-override.cedar --reason test").exits(0);
    let line = "scale web=3 --reason x --no-wait";
    assert_eq!(world.json(line).exits(14).json().pointer("/error/facts/override"), None);
    let ran = world.json(&format!("{line} --override-cooldown")).exits(14);
    let said = ran.at("/error/facts/override");
    assert!(said.as_str().unwrap().contains("does not permit override_cooldown"), "{ran:#?}");
}

#[test]
fn small_words_lead_on() {
    let world = World::with_fake();
    world.run("scale web=2 --key k1 --reason x").exits(0);
    // A name that is none is said to be none.
    for (line, code) in [("log --key nokey", "key_not_found"), ("explain nokey", "key_not_found")] {
        assert_eq!(world.json(line).exits(24).at("/error/code"), code, "{line}");
    }
    for line in ["intent show -k", "intent show a@b@c", "intent show web@x", "log --since never"] {
        let ran = world.json(line);
        let hint = ran.json()["error"]["hint"].clone();
        assert!(ran.code == Some(2) && hint.is_string(), "{line}: {ran:#?}");
    }
    assert_eq!(world.json("log -n 3").exits(0).at("/events").as_array().unwrap().len(), 3);
    assert_eq!(world.json("scael web=1").exits(2).at("/error/facts/did you mean"), "scale");
    // What is printed for machines and people is no Markdown.
    for line in ["exit-codes", "-o json exit-codes"] {
        let ran = world.run(line).exits(0);
        assert!(!ran.stdout.contains("**") && !ran.stdout.contains('`'), "{ran:#?}");
    }
    let ran = world.run("attempt show k1").exits(0);
    assert!(ran.stdout.contains("result     succeeded of attempt 1"), "{ran:#?}");
    let ran = world.run("scale web=2 --key k1 --reason x").exits(0);
    assert!(ran.stdout.contains("replayed   the stored answer"), "{ran:#?}");
    // What is missing is named, with the flag that gives it.
    let target = "--cluster a --runtime b --workload w --target-uid c --target-version 1";
    for (line, code) in [
        ("service put web2".to_owned(), "target_incomplete"),
        (format!("service put web2 {target}"), "max_missing"),
    ] {
        let ran = world.json(&line).exits(2);
        assert_eq!(ran.at("/error/code"), code, "{line}");
        assert!(ran.at("/error/hint").as_str().unwrap().contains("--actuator"), "{ran:#?}");
    }
}
