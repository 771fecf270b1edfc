//! Clients of a running `scalectl serve`: `serve ADDRESS:PORT CLIENTS SECONDS` prints how many
//! operations were accepted a second, and the median and the 99th percentile of what one took, in
//! microseconds. Each client has a connection and a service of its own, and sends the next
//! operation when the last one was answered. `benches/gateway.py` starts it.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a benchmark measures and says"
)]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

type Done<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Not measured: the pool is read, the caches are filled.
const WARM_UP: Duration = Duration::from_millis(500);

fn main() -> Done<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [at, clients, seconds] = words.as_slice() else {
        return Err("usage: serve ADDRESS:PORT CLIENTS SECONDS".into());
    };
    let (clients, seconds): (usize, u64) = (clients.parse()?, seconds.parse()?);
    let begin = Instant::now() + WARM_UP;
    let end = begin + Duration::from_secs(seconds);
    let threads: Vec<_> = (0..clients)
        .map(|number| {
            let at = at.clone();
            std::thread::spawn(move || Client::to(&at, number)?.scale(begin, end))
        })
        .collect();
    let mut took = Vec::new();
    for thread in threads {
        took.extend(thread.join().map_err(|_| "a client has panicked")??);
    }
    took.sort();
    let rank = |share: usize| took.get(took.len() * share / 100).map_or(0, Duration::as_micros);
    println!("{} {} {}", took.len() as u64 / seconds, rank(50), rank(99));
    Ok(())
}

struct Client {
    stream: BufReader<TcpStream>,
    service: String,
    revision: u64,
    replicas: u32,
}

impl Client {
    fn to(at: &str, number: usize) -> Done<Self> {
        let stream = TcpStream::connect(at)?;
        stream.set_nodelay(true)?;
        let service = format!("bench-{number}");
        let mut client = Self { stream: BufReader::new(stream), service, revision: 0, replicas: 0 };
        let path = format!("GET /v1/scale/{} HTTP/1.1\r\nHost: bench\r\n\r\n", client.service);
        let stands = client.send(&path)?;
        client.revision = member(&stands, "\"revision\":\"")?;
        client.replicas = u32::try_from(member(&stands, "\"replicas\":")?)?;
        Ok(client)
    }

    /// Goes on until the end; what each operation that was begun in time took.
    fn scale(mut self, begin: Instant, end: Instant) -> Done<Vec<Duration>> {
        let mut took = Vec::new();
        loop {
            let sent = Instant::now();
            if sent >= end {
                return Ok(took);
            }
            let Self { service, revision, replicas, .. } = &self;
            let (desired, direction) = if *replicas == 0 { (3, "Up") } else { (0, "Down") };
            let body = format!(
                "{{\"schema_version\":1,\"operation_id\":\"{service}-{revision}-{:x}\",\
                 \"service\":\"{service}\",\"expected_revision\":\"{revision}\",\
                 \"direction\":\"{direction}\",\"current_replicas\":{replicas},\
                 \"desired_replicas\":{desired},\"reason\":\"load\"}}",
                std::process::id()
            );
            let request = format!(
                "POST /v1/scale/{service} HTTP/1.1\r\nHost: bench\r\n\
                 Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            );
            let told = self.send(&request)?;
            self.revision =
                member(&told, "\"accepted\":true").and(member(&told, "\"revision\":\""))?;
            self.replicas = desired;
            if sent >= begin {
                took.push(sent.elapsed());
            }
        }
    }

    fn send(&mut self, request: &str) -> Done<String> {
        self.stream.get_mut().write_all(request.as_bytes())?;
        let (mut head, mut length) = (String::new(), 0);
        loop {
            head.clear();
            self.stream.read_line(&mut head)?;
            if let Some(value) = head.strip_prefix("content-length: ") {
                length = value.trim().parse()?;
            }
            if head == "\r\n" || head.is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body)?;
        Ok(String::from_utf8(body)?)
    }
}

/// The number behind a word; 0 where none is there. Without the word it was refused.
fn member(body: &str, word: &str) -> Done<u64> {
    let at = body.find(word).ok_or_else(|| format!("no {word} in {body}"))? + word.len();
    let digits: String = body[at..].chars().take_while(char::is_ascii_digit).collect();
    Ok(digits.parse().unwrap_or(0))
}
