//! What somebody has met who knew the README only: each answer leads on, and says what is so.

use std::process::Child;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::people::{next, pasted};
use crate::support::postgres::sqlite_only;
use crate::support::{Ran, World};

fn send(child: &Child, signal: Signal) {
    let pid = i32::try_from(child.id()).unwrap();
    kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
}

/// Whether a process is stopped.
fn is_stopped(child: &Child) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
    stat.rsplit_once(") ").unwrap().1.starts_with('T')
}

fn ended(line: &str, child: Child) -> Ran {
    let output = child.wait_with_output().unwrap();
    Ran {
        line: line.to_owned(),
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn after_a_signal_before_the_start_the_same_line_is_the_way_on() {
    let mut world = World::with_fake();
    let line = "-o json scale web=3 --key k1 --reason x";
    world.set("SCALECTL_TEST_STOP", "yes").set("SCALECTL_TEST_CRASH", "after_commit#2");
    let child = world.start(line);
    world.unset("SCALECTL_TEST_STOP").unset("SCALECTL_TEST_CRASH");
    world.until("it has stopped", || is_stopped(&child));
    let shown = world.json("intent show k1").exits(0);
    assert_eq!(shown.at("/execution/state"), "accepted");
    send(&child, Signal::INT);
    send(&child, Signal::CONT);
    let ran = ended(line, child).exits(130);
    assert_eq!(ran.at("/recorded"), "yes");
    let lines = next(&ran);
    assert_eq!((lines.len(), lines[0].join(" ")), (2, format!("scalectl {line}")));
    assert_eq!(lines[1].join(" "), "scalectl intent withdraw web@1");

    // A replay starts no wish, and does not look as if it had done anything.
    let replayed = world.json("replay k1").exits(19);
    assert_eq!(replayed.at("/error/code"), "not_started");
    assert_eq!(next(&replayed)[0].join(" "), "scalectl actuate k1");
    assert!(world.fake_log("calls").is_empty());
    world.json("replay k1 --wait --timeout 1s").exits(19);
    assert!(world.json("replay k1 --dry-run").exits(0).stdout.contains("replay starts no wish"));

    pasted(&world, &ran, 0).exits(0);
    assert_eq!(world.fake_log("effects").len(), 1);
}

#[test]
fn a_wish_that_ends_a_waiting_one_says_so() {
    let world = World::with_fake();
    world.run("intent put web --replicas 2 --key c-5 --reason x").exits(0);
    assert!(world.run("plan web=3 --reason x").exits(0).stdout.contains("ends web@1"));
    let ran = world.json("intent put web --replicas 3 --key c-6 --reason x").exits(0);
    assert_eq!(ran.at("/warnings/0/code"), "ends_waiting");
    let text = "this ends web@1 (key c-5), which had not started";
    assert_eq!(ran.at("/warnings/0/message"), text);
    let ran = world.run("scale web=4 --key c-7 --reason x").exits(0);
    assert!(ran.stderr.contains("warning: this ends web@2 (key c-6)"), "{ran:#?}");
    // A batch says it to the line that did it.
    let lines = r#"{"command":["intent","put","web","--replicas","5","--key","c-8","--reason","x"]}
{"command":["intent","put","web","--replicas","6","--key","c-9","--reason","x"]}
"#;
    let ran = world.run_with("batch", lines.as_bytes()).exits(0);
    let last: Value = serde_json::from_str(ran.stdout.lines().nth(1).unwrap()).unwrap();
    assert_eq!(last["warnings"][0]["message"], text.replace("web@1 (key c-5)", "web@4 (key c-8)"));
    assert!(!ran.stdout.lines().next().unwrap().contains("ends_waiting"), "{ran:#?}");
}

#[test]
fn a_waiting_wish_under_a_lease_is_ended_only_on_purpose() {
    let world = World::with_fake();
    world.run("intent put web --replicas 2 --key c-5 --reason x").exits(0);
    world.run("lease acquire c-5 --ttl 60s").exits(0);
    let put = "intent put web --replicas 3 --key c-6 --reason x";
    let ran = world.json(put).exits(11);
    assert_eq!(ran.at("/error/code"), "held");
    assert!(ran.at("/error/retry_after_ms").as_u64().unwrap() > 50_000, "{ran:#?}");
    assert!(ran.at("/error/hint").as_str().unwrap().contains("--supersede"), "{ran:#?}");
    pasted(&world, &ran, 0).exits(0);
    world.run("scale web=3 --key c-6 --reason x --no-wait").exits(11);
    assert_eq!(world.json("intent show c-5").at("/execution/state"), "accepted");
    let ran = world.run(&format!("{put} --supersede")).exits(0);
    assert!(ran.stderr.contains("this ends web@1 (key c-5)"), "{ran:#?}");
}

/// A wish that waits behind another's call.
#[test]
fn a_queued_wish_is_carried_out_once_it_is_its_turn() {
    let world = World::with_fake();
    world.script(&["late 1"]);
    let mut first = world.start("scale web=2 --key k1 --reason x");
    world.until("the call begins", || !world.fake_log("calls").is_empty());
    // Without --queue it is held, and says for how long at most.
    let ran = world.json("scale web=3 --key k2 --reason x").exits(11);
    assert_eq!(ran.at("/error/code"), "in_flight");
    assert!(ran.at("/error/retry_after_ms").as_u64().unwrap() > 1000, "{ran:#?}");
    let ran = world.run("scale web=3 --key k2 --reason x --queue --no-wait").exits(19);
    assert!(ran.stderr.contains("waits_behind"), "{ran:#?}");
    let ran = world.run("scale web=3 --key k2 --reason x --queue --timeout 30s").exits(0);
    let waiting: Vec<&str> = ran.stderr.lines().filter(|line| line.contains("waiting")).collect();
    assert_eq!(waiting.len(), 1, "{ran:#?}");
    assert!(waiting[0].contains("waiting at most 29."), "{ran:#?}");
    assert!(first.wait().unwrap().success());
    assert_eq!(world.fake_log("effects").len(), 2);
}

#[test]
fn a_queued_wish_waits_no_longer_than_it_was_told() {
    let world = World::with_fake();
    world.script(&["unknown"]);
    world.run("service put web --quiet 1h").exits(0);
    std::fs::write(world.fake_dir().join("capabilities"), "inspect\n").unwrap();
    let ran = world.json("scale web=2 --key k1 --reason x").exits(16);
    assert!(ran.at("/error/retry_after_ms").as_u64().unwrap() > 3_500_000, "{ran:#?}");
    let ran = world.json("scale web=3 --key k2 --reason x").exits(11);
    assert!(ran.at("/error/retry_after_ms").as_u64().unwrap() > 3_500_000, "{ran:#?}");
    let began = Instant::now();
    let ran = world.json("scale web=3 --key k2 --reason x --queue --timeout 1s").exits(19);
    assert!((1..4).contains(&began.elapsed().as_secs()), "{:?}", began.elapsed());
    assert!(next(&ran).last().unwrap().join(" ").ends_with("intent withdraw web@2"), "{ran:#?}");
}

#[test]
fn a_locked_ledger_is_told_with_its_holder_and_ends_with_the_callers_time() {
    let world = World::with_fake();
    let lock = world.lock();
    let began = Instant::now();
    let ran = world.json("scale web=2 --key k1 --reason x --timeout 3s").exits(20);
    assert!((2800..4500).contains(&began.elapsed().as_millis()), "{:?}", began.elapsed());
    assert_eq!(ran.at("/error/code"), "ledger_busy");
    if !world.is_on_postgres() {
        let holder = format!("(pid {})", std::process::id());
        let said = ran.stderr.lines().filter(|line| line.starts_with("waiting for the ledger"));
        assert!(said.clone().all(|line| line.contains(&holder)), "{ran:#?}");
        assert_eq!(said.count(), 1, "{ran:#?}");
        assert!(ran.at("/error/facts/holder").as_str().unwrap().ends_with(&holder), "{ran:#?}");
    }
    // The lock timeout bounds it where no other time does.
    let began = Instant::now();
    world.run("intent put web --replicas 2 --reason x --lock-timeout 700ms").exits(20);
    assert!((700..2500).contains(&began.elapsed().as_millis()), "{:?}", began.elapsed());
    drop(lock);
    world.run("scale web=2 --key k1 --reason x").exits(0);
}

#[test]
fn a_signal_ends_the_wait_for_a_locked_ledger_with_one_document() {
    let world = World::with_fake();
    let _lock = world.lock();
    let wait = if world.is_on_postgres() { "3s" } else { "60s" };
    for line in [
        "intent put web --replicas 2 --key k1 --reason x",
        "scale web=2 --key k1 --reason x",
        "service put web --max 9",
    ] {
        let line = format!("-o json {line} --lock-timeout {wait}");
        let child = world.start(&line);
        std::thread::sleep(Duration::from_millis(800));
        let began = Instant::now();
        send(&child, Signal::INT);
        let ran = ended(&line, child).exits(130);
        assert!(began.elapsed() < Duration::from_secs(5), "{line}: {:?}", began.elapsed());
        assert_eq!(ran.at("/error/code"), "interrupted", "{line}");
        assert_eq!(next(&ran)[0].join(" "), format!("scalectl {line}"));
    }
}

#[test]
fn equal_waits_are_said_once_and_again_in_growing_intervals() {
    let world = World::with_fake();
    world.script(&["late 3"]);
    let mut first = world.start("scale web=2 --key k1 --reason x");
    world.until("the call begins", || !world.fake_log("calls").is_empty());
    let ran = world.run("scale web=2 --key k1 --reason x --timeout 20s").exits(0);
    let waiting = ran.stderr.lines().filter(|line| line.contains("waiting")).count();
    assert_eq!(waiting, 1, "{ran:#?}");
    first.wait().unwrap();
}

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
    assert_eq!(cells[2..5], ["2", "5", "!"], "{ran:#?}");
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
    assert!(world.run("log web").exits(0).stdout.contains(": incarnation 2"));
}

#[test]
fn a_plan_of_a_recorded_wish_is_about_that_one() {
    let world = World::with_fake();
    world.run("intent put web --replicas 3 --key d-1 --reason nightly").exits(0);
    let ran = world.run("plan web=3 --key d-1").exits(0);
    assert!(ran.stdout.contains("the stored answer would be replayed"), "{ran:#?}");
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
        assert_eq!(ran.at("/error/code"), "contradiction", "{flag}");
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
    assert_eq!(world.json("status").at("/services/0/next"), "scalectl replay web@1");
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
