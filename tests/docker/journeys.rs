//! The whole way, from a wish in the ledger to the tasks and back.

use serde_json::json;

use super::relay::Fault;
use super::swarm::removed;
use super::world::{Swarm, count, found, label, named, update};
use crate::support::calls::recipe;
use crate::support::{Ran, SCALECTL, World, group_members};

const WRITE: &str = "POST /services/";

/// The service `worker` on a service of the swarm.
fn registered(swarm: &Swarm, workload: &str, timeout: &str) {
    let world = &swarm.world;
    world.run("init").exits(0);
    let policy = world.write("all.cedar", "@id(\"all\")\npermit(principal, action, resource);\n");
    world.run_args(&["policy", "put", policy.to_str().unwrap(), "--reason", "test"]).exits(0);
    let put = ["actuator", "put", "web-swarm", "--timeout", timeout, "--"];
    let run = ["scalectl", "actuator", "run", "docker", "--context", "prod", "--evidence", "tasks"];
    world.run_args(&[&put[..], &run].concat()).exits(0);
    let line = format!(
        "service put worker --workload {workload} --actuator web-swarm --writer ops --max 10"
    );
    world.run(&line).exits(0);
}

fn raise(world: &World) -> Ran {
    world.json("scale worker=8 --key raise-7 --reason batch --wait=applied --timeout 60s")
}

#[test]
fn a_service_of_a_swarm_is_scaled_both_ways_and_verified_by_readings() {
    let Some(mut swarm) = Swarm::new() else { return };
    let web = swarm.running(1);
    registered(&swarm, &web, "60s");
    let shown = swarm.world.json("service show worker").exits(0);
    assert_eq!(shown.at("/service/terms/target_match"), "version", "{shown:#?}");
    assert_eq!(shown.at("/service/binding/target_uid"), found(&web)["ID"]);
    let ran = swarm.world.json("scale worker=3 --reason r --timeout 60s").exits(0);
    assert_eq!(
        (ran.at("/applied"), ran.at("/execution/outcome")),
        (json!("yes"), json!("converged"))
    );
    swarm.await_running(&web, 3);
    // A swarm cannot say that anything is drained: a person does, or a provider.
    let ran = swarm.world.json("scale worker=1 --reason r --timeout 60s").exits(25);
    assert_eq!(ran.at("/error/code"), "evidence_missing", "{ran:#?}");
    assert_eq!(count(&web), 3);
    let line = "scale worker=1 --reason r --timeout 60s --attest not-drained";
    let ran = swarm.world.json(line).exits(0);
    assert_eq!(ran.at("/applied"), "yes");
    swarm.await_running(&web, 1);
    assert_eq!(swarm.relay.writes(), 2);
    swarm.world.run("verify").exits(0);
}

/// To the point where nobody knows: the write was lost, or made, without an answer.
fn timed_out(swarm: &mut Swarm, fault: Fault) -> String {
    let web = swarm.idle(6);
    registered(swarm, &web, "20s");
    swarm.relay.fault(WRITE, fault);
    let ran = raise(&swarm.world).exits(16);
    assert_eq!(ran.at("/error/code"), "outcome_unknown", "{ran:#?}");
    let shown = swarm.world.json("attempt show raise-7").stdout.replace(' ', "");
    assert!(shown.contains("\"rollback_required\":true"), "{shown}");
    // Blocked until this is settled.
    swarm.world.run("scale worker=7 --key other --reason r --timeout 1s").exits(11);
    web
}

#[test]
fn an_unknown_write_is_fenced_read_and_proved_not_applied_and_the_same_line_goes_on() {
    let Some(mut swarm) = Swarm::new() else { return };
    let web = timed_out(&mut swarm, Fault::Hold);
    let ran = swarm.world.run("replay raise-7").exits(18);
    let said = format!("{}{}", ran.stdout, ran.stderr);
    assert!(said.contains("fenced") && said.contains("read 6"), "{ran:#?}");
    // The request of that attempt arrives now, and is refused.
    let late = swarm.relay.release();
    assert!(late.contains("update out of sequence"), "{late}");
    assert_eq!((count(&web), swarm.relay.writes()), (6, 2));
    let ran = raise(&swarm.world).exits(0);
    assert_eq!((ran.at("/applied"), count(&web)), (json!("yes"), 8));
    swarm.world.run("verify").exits(0);
}

#[test]
fn an_unknown_write_that_was_made_is_looked_up_and_not_made_again() {
    let Some(mut swarm) = Swarm::new() else { return };
    let web = timed_out(&mut swarm, Fault::HangAfter);
    let ran = swarm.world.run("replay raise-7");
    let said = format!("{}{}", ran.stdout, ran.stderr);
    assert!(said.contains("looked up: applied"), "{ran:#?}");
    raise(&swarm.world).exits(0);
    // Neither a second write nor a fence.
    assert_eq!((count(&web), swarm.relay.writes()), (8, 1));
    swarm.world.run("verify").exits(0);
}

#[test]
fn a_killed_command_takes_its_docker_with_it_and_the_same_line_goes_on() {
    let Some(mut swarm) = Swarm::new() else { return };
    let web = swarm.idle(6);
    registered(&swarm, &web, "60s");
    let world = &swarm.world;
    swarm.relay.fault(WRITE, Fault::HangBefore);
    let line = "scale worker=8 --key raise-7 --reason batch --wait=applied --timeout 60s";
    let mut command = world.start(line);
    world.until("the write is under way", || swarm.relay.writes() == 1);
    let call = world.call_file();
    // The adapter, and the docker that it waits for: whoever ends the group ends both.
    assert!(group_members(call.group).len() >= 2, "{call:?}");
    command.kill().unwrap();
    command.wait().unwrap();
    world.await_no_children();
    world.run("replay raise-7").exits(18);
    assert_eq!(count(&web), 6);
    raise(world).exits(0);
    assert_eq!(count(&web), 8);
    world.run("verify").exits(0);
}

/// Only docker dies: the call goes on, and knows that it does not know.
#[test]
fn a_docker_that_is_killed_under_its_write_leaves_an_unknown_outcome() {
    let Some(mut swarm) = Swarm::new() else { return };
    let web = swarm.idle(6);
    registered(&swarm, &web, "60s");
    let world = &swarm.world;
    swarm.relay.fault(WRITE, Fault::HangAfter);
    let line = "scale worker=8 --key raise-7 --reason batch --wait=applied --timeout 60s";
    let command = world.start(line);
    world.until("the write was made", || count(&web) == 8);
    let group = group_members(world.call_file().group);
    for pid in group {
        let words = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        if words.contains("dial-stdio") {
            let pid = rustix::process::Pid::from_raw(pid).unwrap();
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        }
    }
    // The label tells that it was made.
    let output = command.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(swarm.relay.writes(), 1);
    world.run("verify").exits(0);
}

#[test]
fn another_service_and_another_version_stop_the_call_before_any_write() {
    let put = "intent put worker --replicas 9 --key k1 --reason r --expect-revision 0";
    for is_new in [true, false] {
        let Some(mut swarm) = Swarm::new() else { return };
        let web = swarm.idle(6);
        registered(&swarm, &web, "60s");
        swarm.world.run(put).exits(0);
        if is_new {
            removed(&web);
            let nowhere = ["--constraint", "node.labels.scalectl==nowhere", "--replicas", "6"];
            named(&web, &nowhere);
        } else {
            update(&web, &["--label-add", "x=y"]);
        }
        let ran = swarm.world.json("actuate k1").exits(10);
        assert_eq!(ran.at("/error/code"), "target_changed");
        assert_eq!((swarm.relay.writes(), count(&web)), (0, 6));
    }
}

#[test]
fn the_conformance_kit_finds_nothing_broken() {
    let Some(mut swarm) = Swarm::new() else { return };
    let (web, check) = (swarm.idle(1), swarm.idle(1));
    registered(&swarm, &web, "60s");
    let ran = swarm.world.run(&format!("actuator check web-swarm --workload {check}")).exits(0);
    let row = |name: &str| {
        let line = ran.stdout.lines().find(|line| line.starts_with(name)).expect(name);
        line.split_whitespace().nth(1).unwrap().to_owned()
    };
    for name in [
        "inspect",
        "apply_up",
        "conditional_on_version",
        "fence",
        "evidence",
        "lookup_applied",
        "lookup_never",
        "longest_values",
        "version_moves",
        "in_time",
    ] {
        assert_eq!(row(name), "ok", "{name}: {ran:#?}");
    }
    assert_eq!((count(&check), label(&check, "team")), (1, json!(null)));
}

#[test]
fn every_line_of_the_recipe_works_as_written() {
    let Some(mut swarm) = Swarm::new() else { return };
    let lines = recipe(include_str!("../../docs/recipes/swarm.md"));
    assert_eq!(lines.len(), 13, "{lines:#?}");
    // The page has a name of its own; here it is that of a service that nobody else uses.
    let web = swarm.running(1);
    let bin = std::path::Path::new(SCALECTL).parent().unwrap().to_str().unwrap();
    for (line, exit) in lines {
        let line = line.replace("shop_web", &web);
        if exit == 16 {
            swarm.relay.fault(WRITE, Fault::DropBefore);
        }
        let mut command = std::process::Command::new("/bin/sh");
        let scalectl = swarm.world.command(&[]);
        let env = scalectl.get_envs().filter_map(|(name, value)| Some((name, value?)));
        command.args(["-c", &line]).env_clear().envs(env);
        command.env("PATH", format!("{bin}:/usr/local/bin:/usr/bin:/bin"));
        let output = command.current_dir(swarm.world.path("")).output().unwrap();
        assert_eq!(output.status.code(), Some(exit), "{line}: {output:#?}");
    }
    assert_eq!(count(&web), 4);
}
