//! Many clients of a server that is killed again and again: nothing that was acknowledged is lost,
//! and nothing is accepted twice. `SCALECTL_LOAD_SECONDS` makes it longer.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::client::{Client, Server, post_of};
use super::operation_of;
use crate::gateway::{observed, world};

const CLIENTS: u64 = 64;
/// A server lives so long.
const LIFE: Duration = Duration::from_secs(1);

fn load_for() -> Duration {
    let seconds = std::env::var("SCALECTL_LOAD_SECONDS").ok().and_then(|it| it.parse().ok());
    Duration::from_secs(seconds.unwrap_or(4))
}

/// What the clients know of each other.
struct Field {
    at: String,
    is_over: AtomicBool,
    acknowledged: AtomicU64,
    /// How often an answer was lost.
    lost: AtomicU64,
}

impl Field {
    /// Asks until there is an answer, however often the server dies meanwhile.
    fn ask(&self, client: &mut Option<Client>, request: &[u8]) -> super::client::Reply {
        loop {
            let open = match client.take() {
                Some(open) => Ok(open),
                None => Client::to(&self.at),
            };
            if let Ok(mut open) = open {
                if let Ok(reply) = open.send(request) {
                    *client = Some(open);
                    return reply;
                }
                self.lost.fetch_add(1, Ordering::Relaxed);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Scales a service of its own up and down until it is over; what it has in the end.
    fn client(&self, number: u64) -> (u64, u32) {
        let service = format!("s{number}");
        let (mut client, mut revision, mut has) = (None, 0, 0);
        while !self.is_over.load(Ordering::Relaxed) {
            let desired = if has == 0 { 1 + u32::try_from(number).unwrap() } else { 0 };
            let id = format!("{service}-{revision}");
            let operation = operation_of(&service, &id, revision, has, desired);
            let request = post_of(&service, &operation.to_string());
            let reply = self.ask(&mut client, &request);
            if reply.status == 503 {
                continue;
            }
            let answer = reply.is(200);
            revision += 1;
            assert_eq!(answer["revision"], revision.to_string(), "{service} {id}: {answer}");
            has = desired;
            self.acknowledged.fetch_add(1, Ordering::Relaxed);
        }
        (revision, has)
    }
}

#[test]
fn a_server_that_is_killed_each_second_loses_nothing_and_accepts_nothing_twice() {
    let world = world();
    let mut server = Server::start(&world, &["--pool", "1000000"]);
    let field = Field {
        at: server.at.clone(),
        is_over: AtomicBool::new(false),
        acknowledged: AtomicU64::new(0),
        lost: AtomicU64::new(0),
    };
    let mut kills = 0;
    let held: Vec<(u64, u32)> = std::thread::scope(|scope| {
        let field = &field;
        let clients: Vec<_> =
            (0..CLIENTS).map(|number| scope.spawn(move || field.client(number))).collect();
        let begun = Instant::now();
        while begun.elapsed() < load_for() {
            std::thread::sleep(LIFE);
            server.die();
            kills += 1;
            server = Server::start_at(&world, &field.at, &["--pool", "1000000"]);
        }
        field.is_over.store(true, Ordering::Relaxed);
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    });
    assert_eq!(server.stop().code, Some(0));
    let acknowledged = field.acknowledged.load(Ordering::Relaxed);
    let lost = field.lost.load(Ordering::Relaxed);
    assert!(kills >= 3 && lost > 0, "{kills} kills, {lost} answers lost: nothing was proved");
    assert!(acknowledged > CLIENTS, "{acknowledged}");
    // Every acknowledged operation is a step of its service, and there is no other step.
    for (number, (revision, has)) in held.iter().enumerate() {
        let stands = (u64::from(*has), revision.to_string());
        assert_eq!(observed(&world, &format!("s{number}")), stands, "s{number}");
    }
    let steps: u64 = held.iter().map(|(revision, _)| revision).sum();
    assert_eq!(steps, acknowledged);
    world.run("verify").exits(0);
}
