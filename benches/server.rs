//! Puts on a server by clients that stay: one connection for each, each with its own service.
//!
//! `server ADDRESS CLIENTS SECONDS` prints how many puts were made, in how many microseconds, and
//! the median of one. With the word `replay` after these, one put of each client is asked for again
//! and again. `benches/postgres.py` starts it beside pgbench. The services `web-0`, `web-1` and so
//! on must be there.

#![expect(clippy::disallowed_methods, reason = "a benchmark measures")]
#![expect(clippy::print_stdout, reason = "the numbers are its answer")]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use scalectl::domain::id::{ExecutionKey, HostKey, ServiceName};
use scalectl::domain::scale::command::{PutForm, PutIntent};
use scalectl::domain::scale::intent::RetryAsked;
use scalectl::domain::time::DurationMs;
use scalectl::ledger::{EventFilter, Ledger, Location, OpenOptions, ServerAddress, Surroundings};
use scalectl::ops::clock::Clock;
use scalectl::ops::intent_put::intent_put;
use scalectl::ops::session::{Place, Session};

type Done<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

fn main() -> Done<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (address, clients, seconds, replays) = match words.as_slice() {
        [address, clients, seconds] => (address, clients, seconds, false),
        [address, clients, seconds, word] if word == "replay" => (address, clients, seconds, true),
        _ => return Err("usage: server ADDRESS CLIENTS SECONDS [replay]".into()),
    };
    let (clients, seconds): (usize, u64) = (clients.parse()?, seconds.parse()?);
    let begin = Arc::new(Barrier::new(clients));
    let threads: Vec<_> = (0..clients)
        .map(|client| {
            let (address, begin) = (address.clone(), Arc::clone(&begin));
            std::thread::spawn(move || -> Done<(Vec<Duration>, Duration)> {
                let session = connect(&address);
                // Whoever could not connect lets the others go, too.
                begin.wait();
                puts(&mut session?, client, Duration::from_secs(seconds), replays)
            })
        })
        .collect();
    let (mut times, mut longest) = (Vec::new(), Duration::ZERO);
    for thread in threads {
        let (own, took) = thread.join().map_err(|_| "a client has panicked")??;
        times.extend(own);
        longest = longest.max(took);
    }
    times.sort();
    let median = times[times.len() / 2];
    println!("{} {} {}", times.len(), longest.as_micros(), median.as_micros());
    Ok(())
}

/// Puts for so long, one after the other; answers what each took, and all of them.
fn puts(
    session: &mut Session,
    client: usize,
    time: Duration,
    replays: bool,
) -> Done<(Vec<Duration>, Duration)> {
    let service: ServiceName = format!("web-{client}").parse()?;
    let run = std::process::id();
    let began = Instant::now();
    let mut times = Vec::new();
    while began.elapsed() < time {
        let number = if replays { 0 } else { times.len() };
        let key = format!("bench-{run}-{client}-{number}").parse()?;
        let put = wish(&service, key, u32::try_from(1 + number % 9)?)?;
        let one = Instant::now();
        intent_put(session, put)?;
        times.push(one.elapsed());
    }
    Ok((times, began.elapsed()))
}

fn connect(address: &str) -> Done<Session> {
    let environment = BTreeMap::new();
    let around = Surroundings { environment: &environment, os_user: "bench", application: "bench" };
    let location = Location::Server(ServerAddress::parse(address, &around)?);
    let mut ledger = Ledger::open(&location, OpenOptions::default())?;
    let first = EventFilter { limit: Some(1), ..EventFilter::default() };
    let by = ledger.read()?.events(&first)?.remove(0).by;
    let place = Place {
        own_exe: PathBuf::new(),
        state_dir: PathBuf::new(),
        config_dir: PathBuf::new(),
        host_key: HostKey::try_from("bench".to_owned())?,
        host: by.host.clone(),
        pid: by.pid,
        environment: BTreeMap::new(),
    };
    Ok(Session::new(ledger, Clock::system(), by, place))
}

fn wish(service: &ServiceName, key: ExecutionKey, replicas: u32) -> Done<PutIntent> {
    let form = PutForm::Flags {
        replicas: replicas.into(),
        reason: "bench".to_owned().try_into()?,
        retry: RetryAsked::default(),
        key,
        fence: None,
        valid_for: DurationMs::from_secs(3600),
    };
    Ok(PutIntent::new(service.clone(), form))
}
