//! The defects of the contract's own authority (facts, 2.7 and 2.8), which are impossible here.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt as _;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, prlimit};
use serde_json::{Value, json};

use super::client::{Client, Server, post_of};
use super::operation_of;
use crate::gateway::{allow, observed, operation, world, written};
use crate::support::postgres::sqlite_only;
use crate::support::{SCALECTL, World};

/// D1: a replay of an older operation undoes nothing.
#[test]
fn a_late_replay_never_converges_back() {
    let world = World::with_fake();
    let mut server = Server::start(&world, &[]);
    let first = operation_of("web", "a", 0, 0, 3);
    let told = server.post("web", &first).is(200);
    server.post("web", operation_of("web", "b", 1, 3, 0)).is(200);
    let before = written(&world);
    for _ in 0..3 {
        assert_eq!(server.post("web", &first).is(200), told);
    }
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(written(&world), before, "a replay writes nothing");
    assert_eq!(world.fake_log("calls").len(), 2, "and calls nobody");
    assert_eq!(server.observe("web").is(200)["replicas"], 0);
}

/// D3: no sum wraps, whatever a journal holds.
#[test]
fn a_pool_of_the_largest_counts_does_not_wrap() {
    let world = world();
    let journal = json!({
        "schema_version": 1,
        "targets": {"a": u32::MAX, "b": 2},
        "revisions": {"a": 1, "b": 1},
        "receipts": [],
    });
    world.run_with("gateway import -", journal.to_string().as_bytes()).exits(0);
    let mut server = Server::start(&world, &["--pool", "10"]);
    server.post("c", operation_of("c", "x", 0, 0, 1)).refuses(507, "capacity_exceeded");
    server.post("b", operation_of("b", "y", 1, 2, 1)).refuses(507, "capacity_exceeded");
    server.post("a", operation_of("a", "z", 1, u32::MAX, 8)).is(200);
    server.post("c", operation_of("c", "x", 0, 0, 1)).refuses(507, "capacity_exceeded");
    server.post("a", operation_of("a", "w", 2, 8, 7)).is(200);
    server.post("c", operation_of("c", "x", 0, 0, 1)).is(200);
}

/// D4: what nobody serves any more takes no room, and whatever is there can be scaled down.
#[test]
fn a_service_that_is_retired_gives_its_room_back_to_a_running_server() {
    let world = world();
    let mut server = Server::start(&world, &["--pool", "5"]);
    server.post("api", operation("a", 0, 0, 5)).is(200);
    let other = operation_of("db", "b", 0, 0, 4);
    server.post("db", &other).refuses(507, "capacity_exceeded");
    // By somebody else than the server, whose sum follows.
    world.run("service retire api --reason over").exits(0);
    server.post("db", &other).is(200);
    world
        .run("intent put db --replicas 1 --expect-revision latest --reason hand --supersede")
        .exits(0);
    server.post("third", operation_of("third", "c", 0, 0, 5)).refuses(507, "capacity_exceeded");
    server.post("third", operation_of("third", "c", 0, 0, 4)).is(200);
}

/// D5: a ledger that cannot be reached is no empty one.
#[test]
fn a_directory_that_cannot_be_read_fails_closed() {
    sqlite_only!("it is about the file of the ledger");
    let world = world();
    let first = operation("a", 0, 0, 2);
    Server::start(&world, &[]).post("api", &first).is(200);
    let state = world.path(".local/state");
    let mode = |mode| std::fs::set_permissions(&state, PermissionsExt::from_mode(mode)).unwrap();
    std::fs::set_permissions(world.path(""), PermissionsExt::from_mode(0o755)).unwrap();
    mode(0o000);
    let line = world.command(&["serve", "--listen", "127.0.0.1:0"]);
    // Nobody, where root runs the suite: root reads everything. The binary may lie in a folder of
    // root's own, so it is a copy that nobody runs.
    let own = world.path("scalectl-of-nobody");
    std::fs::copy(SCALECTL, &own).unwrap();
    let mut command = std::process::Command::new(&own);
    command.args(line.get_args()).env_clear().current_dir(world.path(""));
    command.envs(line.get_envs().filter_map(|(name, value)| Some((name, value?))));
    if rustix::process::getuid().is_root() {
        command.uid(65_534).gid(65_534);
    }
    let ran = command.output();
    mode(0o755);
    let ran = ran.unwrap();
    assert!(matches!(ran.status.code(), Some(20 | 21)), "{ran:?}");
    assert!(!String::from_utf8_lossy(&ran.stderr).contains("listening"), "{ran:?}");
    let no_place = world.write("file", "").join("ledger.db");
    world.run(&format!("serve --ledger {}", no_place.display())).exits(21);
    assert_eq!(observed(&world, "api"), (2, "1".to_owned()));
}

/// D5, the other half, and D6: a receipt lasts, and can be read like everything else.
#[test]
fn a_receipt_lasts_and_is_shown() {
    let world = world();
    let mut server = Server::start(&world, &[]);
    let first = operation("first", 0, 0, 2);
    let told = server.post("api", &first).body;
    for revision in 1..300 {
        let (from, to) = if revision % 2 == 1 { (2, 3) } else { (3, 2) };
        server.post("api", operation(&format!("op-{revision}"), revision, from, to)).is(200);
    }
    assert_eq!(server.post("api", &first).body, told);
    let key = format!("gw:{}", scalectl::domain::digest::sha256_hex(b"first"));
    let shown = world.json(&format!("intent show {key}")).exits(0);
    assert_eq!(shown.at("/execution/execution_key"), key.as_str());
    let names = world.json("service list").exits(0).at("/services");
    assert_eq!(names.as_array().map(Vec::len), Some(1));
    world.run("verify").exits(0);
}

/// 2.7, "no lock": two servers on one ledger lose nothing, and never take more than the pool has.
#[test]
fn two_servers_on_one_ledger_lose_nothing_and_keep_the_pool() {
    const CLIENTS: u32 = 8;
    const POOL: u32 = 60;
    let world = world();
    let servers = [(); 2].map(|()| Server::start(&world, &["--pool", "60"]));
    let accepted: u32 = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| {
                let servers = &servers;
                scope.spawn(move || climb(client, servers, CLIENTS))
            })
            .collect();
        clients.into_iter().map(|client| client.join().unwrap()).sum()
    });
    assert_eq!(accepted, POOL, "all of it is taken, and not one more");
    let sum: u64 = (0..CLIENTS).map(|client| observed(&world, &format!("s{client}")).0).sum();
    assert_eq!(sum, u64::from(POOL));
    for server in servers {
        assert_eq!(server.stop().code, Some(0));
    }
    world.run("verify").exits(0);
}

/// Takes one more after the other, now by this server and now by that one, until none is left;
/// how many.
fn climb(client: u32, servers: &[Server; 2], clients: u32) -> u32 {
    let service = format!("s{client}");
    let mut doors = [servers[0].client(), servers[1].client()];
    let mut has = 0;
    loop {
        let door = &mut doors[usize::try_from((has + client) % 2).unwrap()];
        let id = format!("{service}-{has}");
        let operation = operation_of(&service, &id, has.into(), has, has + 1);
        let request = super::client::post_of(&service, &operation.to_string());
        let reply = door.send(&request).unwrap();
        match reply.status {
            200 => has += 1,
            507 => return has,
            // Too many of us at a time: the same again.
            503 => {}
            _ => panic!("{clients} clients: {reply:?}"),
        }
    }
}

/// A disk that fails at COMMIT is such a COMMIT.
#[test]
fn a_disk_that_fails_at_commit_ends_the_server_and_the_next_one_goes_on() {
    sqlite_only!("it is about the file of the ledger");
    let world = world();
    let mut server = Server::start(&world, &[]);
    let first = operation("a", 0, 0, 2);
    let told = server.post("api", &first).is(200);
    // From now on it can write nothing behind the first byte of any file.
    let limit = Rlimit { current: Some(1), maximum: None };
    prlimit(Some(server.pid()), Resource::Fsize, limit).unwrap();
    let second = operation("b", 1, 2, 3);
    let refused = server.post("api", &second).refuses(500, "authority_state_error");
    assert!(refused.get("observation").is_none_or(|it| it["revision"] == "1"), "{refused}");
    assert_eq!(server.ended().code, Some(16));
    let mut server = Server::start(&world, &[]);
    assert_eq!(server.post("api", &first).is(200), told);
    assert_eq!(server.post("api", &second).is(200)["revision"], "2");
    world.run("verify").exits(0);
}

/// A COMMIT of which nobody knows ends the server; the next one knows.
#[test]
fn a_commit_of_which_nobody_knows_ends_the_server_and_the_next_one_knows() {
    sqlite_only!("a server says what became of it");
    for (word, is_there) in [("kept", true), ("lost", false)] {
        let mut world = world();
        world.set("SCALECTL_TEST_COMMIT_ERROR", format!("{word}#2"));
        let mut server = Server::start(&world, &[]);
        server.post("api", operation("a", 0, 0, 2)).is(200);
        let second = operation("b", 1, 2, 3);
        server.post("api", &second).refuses(500, "authority_state_error");
        let ended = server.ended();
        assert_eq!(ended.code, Some(16), "{ended:?}");
        assert!(ended.stderr.contains("error[commit_unknown]"), "{ended:?}");
        world.unset("SCALECTL_TEST_COMMIT_ERROR");
        let holds = if is_there { (3, "2".to_owned()) } else { (2, "1".to_owned()) };
        assert_eq!(observed(&world, "api"), holds, "{word}");
        let told: Value = Server::start(&world, &[]).post("api", &second).is(200);
        assert_eq!(told["revision"], "2");
        world.run("verify").exits(0);
    }
}

/// What a policy counts is counted among operations that share a transaction, too.
#[test]
fn a_bound_on_the_changes_of_an_hour_holds_among_many_at_a_time() {
    let world = world();
    let rule = "permit(principal, action, resource);\n\
                @id(\"calm\") forbid(principal, action == Action::\"scale_up\", resource) when { \
                context has ledger_changes_last_hour && context.ledger_changes_last_hour >= 3 };";
    allow(&world, rule);
    let server = Server::start(&world, &[]);
    let mut clients: Vec<_> = (0..8).map(|_| server.client()).collect();
    for (number, client) in clients.iter_mut().enumerate() {
        let service = format!("s{number}");
        let operation = operation_of(&service, &service, 0, 0, 1).to_string();
        client.write(&super::client::post_of(&service, &operation)).unwrap();
    }
    let told: Vec<u16> =
        clients.iter_mut().map(|client| client.read(false).unwrap().status).collect();
    let count = |status| told.iter().filter(|told| **told == status).count();
    assert_eq!((count(200), count(403)), (3, 5), "{told:?}");
    assert_eq!(server.stop().code, Some(0));
    world.run("verify").exits(0);
}

/// One service whose head can no longer be written is told so, and the others of its group are not
/// held up by it.
#[test]
fn a_damaged_service_fails_alone() {
    const CLIENTS: u32 = 12;
    sqlite_only!("it is about the file of the ledger");
    let world = world();
    let mut server = Server::start(&world, &["--pool", "1000"]);
    server.post("bad", operation_of("bad", "first", 0, 0, 1)).is(200);
    let raw = rusqlite::Connection::open(world.ledger()).expect("a database");
    // The rules have decided, the event is written, and the row of the service is not.
    raw.execute_batch(
        "CREATE TRIGGER testing BEFORE UPDATE ON service WHEN NEW.name = 'bad'
         BEGIN SELECT raise(IGNORE); END",
    )
    .expect("a trigger");
    let rounds = 4;
    std::thread::scope(|scope| {
        for number in 0..CLIENTS {
            let at = &server.at;
            scope.spawn(move || {
                let name = format!("s{number}");
                let mut client = Client::to(at).expect("connected");
                for round in 0..rounds {
                    let (from, to) = if round % 2 == 0 { (0, 2) } else { (2, 0) };
                    let own = operation_of(&name, &format!("{name}-{round}"), round, from, to);
                    let own = post_of(&name, &own.to_string());
                    client.send(&own).expect("an answer").is(200);
                    let bad = operation_of("bad", &format!("bad-{number}-{round}"), 1, 1, 2);
                    let bad = post_of("bad", &bad.to_string());
                    client.send(&bad).expect("an answer").refuses(500, "authority_state_error");
                }
            });
        }
    });
    raw.execute_batch("DROP TRIGGER testing").expect("dropped");
    server.post("bad", operation_of("bad", "last", 1, 1, 2)).is(200);
    assert_eq!(observed(&world, "s0"), (0, rounds.to_string()));
    world.run("verify").exits(0);
}
