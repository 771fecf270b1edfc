//! Services that somebody carries out: accepted at once, then followed to where they are.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::json;

use super::client::{Server, post_of};
use super::operation_of;
use crate::gateway::{apply, operation};
use crate::support::World;

fn on_web(id: &str, revision: u64, current: u32, desired: u32) -> serde_json::Value {
    operation_of("web", id, revision, current, desired)
}

/// Whether an operation is answered as converged by now.
fn is_converged(server: &mut Server, operation: &serde_json::Value) -> bool {
    let answer = server.post("web", operation).is(200);
    answer["message"].as_str().unwrap().starts_with("converged")
}

#[test]
fn an_operation_is_carried_out_observed_and_finalized() {
    let world = World::with_fake();
    let mut server = Server::start(&world, &[]);
    let first = on_web("a", 0, 0, 3);
    let told = server.post("web", &first).is(200);
    let answer = json!({
        "accepted": true, "actual_replicas": 3, "revision": "1",
        "message": "converged: 3 of 3 of service \"web\" are ready",
    });
    assert_eq!(told, answer);
    let stands = json!({"replicas": 3, "revision": "1", "ready_replicas": 3, "endpoints": []});
    assert_eq!(server.observe("web").is(200), stands);
    let shown = world.json("intent show web@latest").exits(0);
    assert_eq!(shown.at("/execution/outcome"), "converged");
    assert_eq!(server.stop().code, Some(0));
    // The answer is the stored one from now on, whoever is asked.
    assert_eq!(apply(&world, &first).exits(0).json(), answer);
    world.run("verify").exits(0);
}

#[test]
fn a_slow_service_keeps_nobody_else_waiting() {
    let world = World::with_fake();
    world.script(&["gate"]);
    let mut server = Server::start(&world, &[]);
    let mut slow = server.client();
    slow.write(&post_of("web", &on_web("a", 0, 0, 3).to_string())).unwrap();
    world.until("it is called", || world.fake_log("calls").len() == 1);
    let begun = Instant::now();
    server.post("api", operation("b", 0, 0, 2)).is(200);
    assert_eq!(server.observe("web").is(200)["replicas"], 3, "what is wished is told meanwhile");
    // The next one of the very service is accepted behind it.
    let mut next = server.client();
    next.write(&post_of("web", &on_web("c", 1, 3, 4).to_string())).unwrap();
    world.until("it is accepted", || server.observe("web").is(200)["revision"] == "2");
    server.post("api", operation("d", 1, 2, 3)).is(200);
    assert!(begun.elapsed() < Duration::from_secs(20));
    assert_eq!(world.fake_log("calls").len(), 1, "one call at a time");
    world.write("fake/go", "");
    slow.read(false).unwrap().refuses(503, "reconcile_failed");
    assert_eq!(next.read(false).unwrap().is(200)["actual_replicas"], 4);
    assert_eq!(world.fake_log("effects").len(), 2);
}

#[test]
fn whoever_hangs_up_cancels_nothing() {
    let world = World::with_fake();
    world.script(&["late 1"]);
    let mut server = Server::start(&world, &[]);
    let first = on_web("a", 0, 0, 3);
    let mut gone = server.client();
    gone.write(&post_of("web", &first.to_string())).unwrap();
    drop(gone);
    world.until("it is accepted", || server.observe("web").is(200)["revision"] == "1");
    world.until("it is finalized", || is_converged(&mut server, &first));
    assert_eq!(world.fake_log("effects").len(), 1);
}

#[test]
fn what_is_not_so_in_time_is_accepted_all_the_same() {
    let world = World::with_fake();
    world.script(&["gate"]);
    let mut server = Server::start(&world, &["--follow", "300ms"]);
    let first = on_web("a", 0, 0, 3);
    let told = server.post("web", &first).refuses(503, "reconcile_failed");
    let holds = &told["observation"];
    assert_eq!((&holds["replicas"], &holds["revision"]), (&json!(3), &json!("1")));
    assert!(told["message"].as_str().unwrap().contains("it is not so yet"), "{told}");
    // The same again is the stored answer, at once; what is derived from what was is stale.
    assert_eq!(server.post("web", &first).is(200)["revision"], "1");
    server.post("web", on_web("b", 0, 0, 2)).refuses(409, "stale_revision");
    world.write("fake/go", "");
    world.until("it is finalized", || is_converged(&mut server, &first));
}

#[test]
fn a_failure_that_passes_is_tried_again_and_one_for_good_is_wished_anew() {
    let world = World::with_fake();
    world.script(&["fail retryable busy", "ok", "fail terminal broken", "fail terminal broken"]);
    let mut server = Server::start(&world, &["--again", "200ms"]);
    assert_eq!(server.post("web", on_web("a", 0, 0, 3)).is(200)["actual_replicas"], 3);
    let told = server.post("web", on_web("b", 1, 3, 2)).refuses(503, "reconcile_failed");
    assert!(told["message"].as_str().unwrap().contains("broken"), "{told}");
    // Each wish counts, whoever made it: a client observes again, and goes on.
    world.until("it comes to be", || {
        let shown = world.json("intent show web@4").json();
        shown.pointer("/execution/outcome").is_some_and(|outcome| outcome == "converged")
    });
    let stands = server.observe("web").is(200);
    assert_eq!((&stands["replicas"], &stands["revision"]), (&json!(2), &json!("4")));
    assert_eq!(world.fake_log("calls").len(), 5);
    server.post("web", on_web("c", 4, 2, 1)).is(200);
    world.run("verify").exits(0);
}

/// What a gateway has wished holds until it wishes another count.
#[test]
fn a_count_that_does_not_hold_is_seen_and_wished_anew() {
    let world = World::with_fake();
    let mut server = Server::start(&world, &["--again", "200ms", "--tend", "300ms"]);
    server.post("web", on_web("a", 0, 0, 3)).is(200);
    let events = || world.json("log web --limit 100").exits(0).json()["events"].clone();
    let before = events();
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(events(), before, "what is as it was read is not recorded again");
    world.write("fake/count", "1\n");
    world.until("it is brought back", || world.fake_log("effects").len() == 2);
    world.until("it is told", || server.observe("web").is(200)["ready_replicas"] == 3);
    let stands = server.observe("web").is(200);
    assert_eq!((&stands["replicas"], &stands["revision"]), (&json!(3), &json!("2")));
    let shown = world.json("intent show web@2").exits(0);
    assert_eq!(shown.at("/current/intent/reason"), "3 again: 1 runs, and 3 are wished");
    // The next server begins with what it finds, and leaves to a person what a person has wished.
    assert_eq!(server.stop().code, Some(0));
    world.write("fake/count", "4\n");
    let mut server = Server::start(&world, &["--again", "200ms", "--tend", "300ms"]);
    world.until("it is brought back", || world.fake_log("effects").len() == 3);
    world.until("it is finished", || server.observe("web").is(200)["ready_replicas"] == 3);
    world.run("scale web=2 --reason mine").exits(0);
    world.write("fake/count", "1\n");
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(world.fake_log("effects").len(), 4);
    world.run("verify").exits(0);
}

#[test]
fn a_count_that_does_not_hold_is_brought_back_once_no_hold_is_in_the_way() {
    let world = World::with_fake();
    let mut server = Server::start(&world, &["--again", "200ms", "--tend", "300ms"]);
    server.post("web", on_web("a", 0, 0, 3)).is(200);
    world.run("hold set web --until 1h --reason freeze").exits(0);
    world.write("fake/count", "1\n");
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(world.fake_log("effects").len(), 1);
    let wished =
        || world.json("intent show web@latest").exits(0).at("/current/intent/reason").clone();
    assert_ne!(wished(), "3 again: 1 runs, and 3 are wished", "a wish under a hold waits in vain");
    world.run("hold lift web --reason over").exits(0);
    world.until("it is brought back", || world.fake_log("effects").len() == 2);
}

/// A shell accepts and carries out, between two searches of the server.
#[test]
fn what_others_have_brought_to_be_is_tended() {
    let world = World::with_fake();
    let mut server = Server::start(&world, &["--again", "200ms", "--tend", "300ms"]);
    assert_eq!(server.observe("web").is(200)["replicas"], 0);
    apply(&world, &on_web("a", 0, 0, 2)).exits(0);
    world.run("actuate web@1").exits(0);
    world.run("observe web@1").exits(0);
    world.write("fake/count", "1\n");
    world.until("it is brought back", || world.fake_log("effects").len() == 2);
    world.run("verify").exits(0);
}

/// A server that ended before it could answer leaves the answer to the next one.
#[test]
fn an_answer_that_was_not_given_is_given_by_the_next_server() {
    let world = World::with_fake();
    let first = on_web("a", 0, 0, 2);
    apply(&world, &first).exits(0);
    world.run("actuate web@1").exits(0);
    world.run("observe web@1").exits(0);
    assert_eq!(world.json("intent show web@1").json()["execution"]["outcome"], "converged");
    let told = apply(&world, &first).exits(0).json();
    assert!(!told["message"].as_str().unwrap().starts_with("converged"), "{told}");
    let mut server = Server::start(&world, &["--tend", "300ms"]);
    world.until("it is finalized", || is_converged(&mut server, &first));
}

/// The refusal of a gate at the call is no end of the wish.
#[test]
fn a_hold_is_waited_for() {
    let world = World::with_fake();
    world.script(&["gate"]);
    let mut server = Server::start(&world, &["--follow", "500ms"]);
    let mut first = server.client();
    first.write(&post_of("web", &on_web("a", 0, 0, 3).to_string())).unwrap();
    world.until("it is called", || world.fake_log("calls").len() == 1);
    server.post("web", on_web("b", 1, 3, 4)).refuses(503, "reconcile_failed");
    world.run("hold set web --until 1h --reason freeze").exits(0);
    world.write("fake/go", "");
    world.until("the first one is over", || world.fake_log("effects").len() == 1);
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(world.fake_log("calls").len(), 1, "nothing is begun under a hold");
    world.run("hold lift web --reason over").exits(0);
    world.until("the second one goes on", || server.observe("web").is(200)["ready_replicas"] == 4);
}

#[test]
fn a_server_that_is_asked_to_end_lets_a_call_end() {
    let world = World::with_fake();
    world.script(&["gate"]);
    let server = Server::start(&world, &[]);
    let mut waits = server.client();
    waits.write(&post_of("web", &on_web("a", 0, 0, 3).to_string())).unwrap();
    world.until("it is called", || world.fake_log("calls").len() == 1);
    server.signal(Signal::TERM);
    std::thread::sleep(Duration::from_millis(300));
    world.write("fake/go", "");
    let reply = waits.read(false).unwrap();
    assert_eq!(reply.is(200)["actual_replicas"], 3);
    assert_eq!(server.ended().code, Some(0));
    assert_eq!(world.json("intent show web@latest").exits(0).at("/execution/outcome"), "converged");
}

#[test]
fn a_second_signal_ends_it_at_once_and_the_next_server_finds_out() {
    let world = World::with_fake();
    world.script(&["gate"]);
    let server = Server::start(&world, &[]);
    let first = on_web("a", 0, 0, 3);
    let mut waits = server.client();
    waits.write(&post_of("web", &first.to_string())).unwrap();
    world.until("it is called", || world.fake_log("calls").len() == 1);
    server.signal(Signal::TERM);
    std::thread::sleep(Duration::from_millis(300));
    server.signal(Signal::TERM);
    assert_eq!(server.ended().code, Some(143));
    world.write("fake/go", "");
    let mut server = Server::start(&world, &[]);
    world.until("it is finalized", || is_converged(&mut server, &first));
    assert_eq!(server.stop().code, Some(0));
    world.run("verify").exits(0);
}

#[test]
fn a_server_that_is_killed_under_a_call_is_taken_over_from() {
    let world = World::with_fake();
    world.script(&["gate"]);
    let mut server = Server::start(&world, &[]);
    let first = on_web("a", 0, 0, 3);
    let mut waits = server.client();
    waits.write(&post_of("web", &first.to_string())).unwrap();
    world.until("it is called", || world.fake_log("calls").len() == 1);
    server.die();
    assert!(waits.read(false).is_err());
    let mut server = Server::start(&world, &[]);
    world.until("it is finalized", || is_converged(&mut server, &first));
    assert!(world.fake_log("effects").len() <= 2);
    world.run("verify").exits(0);
}

#[test]
fn what_the_commands_have_accepted_is_carried_out_by_who_serves() {
    let world = World::with_fake();
    let first = on_web("a", 0, 0, 2);
    apply(&world, &first).exits(0);
    let mut server = Server::start(&world, &[]);
    world.until("it is finalized", || is_converged(&mut server, &first));
    // What a person wishes is a person's to carry out.
    world
        .run("intent put web --replicas 5 --expect-revision latest --reason r --supersede")
        .exits(0);
    assert_eq!(server.stop().code, Some(0));
    let mut server = Server::start(&world, &[]);
    std::thread::sleep(Duration::from_millis(700));
    assert_eq!(world.fake_log("calls").len(), 1);
    assert_eq!(server.observe("web").is(200)["replicas"], 5);
}
