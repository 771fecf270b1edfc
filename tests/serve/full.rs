//! D2 of the rule book, and what it says of writes that fail: a disk that fills up under a server.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;

use serde_json::json;

use super::client::{Server, post_of};
use super::operation_of;
use crate::gateway::{operation, world};
use crate::support::postgres::sqlite_only;
use crate::support::{SCALECTL, World};

/// A server whose ledger is on a small disk of its own; none where this user may not have one.
fn on_small_disk(world: &World, more: &str) -> Option<Server> {
    let may = Command::new("unshare").args(["-m", "true"]).output();
    if !may.is_ok_and(|output| output.status.success()) {
        return None;
    }
    let script = format!(
        "mkdir -p small && mount -t tmpfs -o size=2m tmpfs small && \
         cp -a .local/state/scalectl/ledger.db* small/ && \
         exec {SCALECTL} serve --listen 127.0.0.1:0 --ledger $PWD/small/ledger.db {more}"
    );
    let inner = world.command(&[]);
    let mut shell = Command::new("unshare");
    shell.args(["-m", "/bin/sh", "-c", &script]).env_clear().current_dir(world.path(""));
    shell.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    Some(Server::of(shell))
}

/// The file that fills the disk of a server.
struct Filler(PathBuf);

impl Filler {
    fn of(world: &World, server: &Server) -> Self {
        let root = format!("/proc/{}/root", server.pid().as_raw_nonzero());
        Self(PathBuf::from(root + world.path("small/filler").to_str().unwrap()))
    }

    fn fills(&self) {
        let mut file = std::fs::File::create(&self.0).unwrap();
        while file.write_all(&[0; 1024]).is_ok() {}
    }

    fn is_gone(&self) {
        std::fs::remove_file(&self.0).unwrap();
    }
}

#[test]
fn a_full_disk_is_a_500_and_the_next_request_works() {
    sqlite_only!("it is about the file of the ledger");
    let world = world();
    let Some(mut server) = on_small_disk(&world, "") else { return };
    let filler = Filler::of(&world, &server);
    let first = operation("first", 0, 0, 2);
    let told = server.post("api", &first).is(200);
    filler.fills();
    let (mut revision, mut has) = (1, 2);
    // What the log has room for is still taken.
    let refused = loop {
        let next = operation(&format!("op-{revision}"), revision, has, 5 - has);
        let reply = server.post("api", &next);
        if reply.status != 200 {
            break (next, reply);
        }
        (revision, has) = (revision + 1, 5 - has);
        assert!(revision < 500, "the disk does not fill up");
    };
    let (next, reply) = refused;
    let body = reply.refuses(500, "authority_state_error");
    assert_eq!(body["observation"]["revision"], revision.to_string());
    assert_eq!(server.post("api", &next).status, 500, "it goes on saying so");
    // What is there is told all the same.
    assert_eq!(server.post("api", &first).is(200), told);
    assert_eq!(server.observe("api").is(200)["replicas"], has);
    assert!(server.said().contains("the disk is full"), "{}", server.said());
    filler.is_gone();
    assert_eq!(server.post("api", &next).is(200)["revision"], (revision + 1).to_string());
    assert_eq!(server.stop().code, Some(0));
}

/// D2: what cannot be recorded while it converges blocks nobody, and goes on once it can.
#[test]
fn a_disk_that_fills_up_before_the_finalization_blocks_nobody() {
    sqlite_only!("it is about the file of the ledger");
    let world = World::with_fake();
    world.script(&["gate"]);
    let Some(mut server) = on_small_disk(&world, "--follow 3s") else { return };
    let filler = Filler::of(&world, &server);
    let first = operation_of("web", "a", 0, 0, 2);
    let mut waits = server.client();
    waits.write(&post_of("web", &first.to_string())).unwrap();
    world.until("it is called", || world.fake_log("calls").len() == 1);
    filler.fills();
    // Until the log takes nothing more.
    let mut number = 0;
    loop {
        let service = format!("s{number}");
        let reply = server.post(&service, operation_of(&service, &service, 0, 0, 1));
        if reply.status != 200 {
            reply.refuses(500, "authority_state_error");
            break;
        }
        number += 1;
        assert!(number < 500, "the disk does not fill up");
    }
    world.write("fake/go", "");
    let told = waits.read(false).unwrap().refuses(503, "reconcile_failed");
    let holds = &told["observation"];
    assert_eq!((&holds["replicas"], &holds["revision"]), (&json!(2), &json!("1")));
    // Nobody else is kept from anything.
    assert_eq!(server.observe("web").is(200)["replicas"], 2);
    server
        .post("late", operation_of("late", "late", 0, 0, 1))
        .refuses(500, "authority_state_error");
    filler.is_gone();
    server.post("late", operation_of("late", "late", 0, 0, 1)).is(200);
    world.until("it is finalized", || {
        let answer = server.post("web", &first).is(200);
        answer["message"].as_str().unwrap().starts_with("converged: 2 of 2")
    });
    assert_eq!(world.fake_log("effects").len(), 1);
    assert_eq!(server.stop().code, Some(0));
}
