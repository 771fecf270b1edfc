//! Clients of a running `scalectl serve`: `serve ADDRESS:PORT CLIENTS SECONDS` prints how many
//! operations were accepted a second, and the median and the 99th percentile of what one took, in
//! microseconds. Each client has a connection and a service of its own, and sends the next
//! operation when the last one was answered. All of them share one thread, so that they take as
//! little as can be of the processors that the server runs on. `benches/gateway.py` starts it.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a benchmark measures and says"
)]

use std::io::ErrorKind;
use std::time::{Duration, Instant};

use tokio::net::TcpStream;
use tokio::task::JoinSet;

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
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut took = runtime.block_on(async {
        let mut running = JoinSet::new();
        for number in 0..clients {
            let at = at.clone();
            running.spawn(async move { Client::to(&at, number).await?.scale(begin, end).await });
        }
        let mut took = Vec::new();
        while let Some(one) = running.join_next().await {
            took.extend(one??);
        }
        Done::Ok(took)
    })?;
    took.sort();
    let rank = |share: usize| took.get(took.len() * share / 100).map_or(0, Duration::as_micros);
    println!("{} {} {}", took.len() as u64 / seconds, rank(50), rank(99));
    Ok(())
}

struct Client {
    stream: TcpStream,
    service: String,
    revision: u64,
    replicas: u32,
}

impl Client {
    async fn to(at: &str, number: usize) -> Done<Self> {
        let stream = TcpStream::connect(at).await?;
        stream.set_nodelay(true)?;
        let service = format!("bench-{number}");
        let mut client = Self { stream, service, revision: 0, replicas: 0 };
        let path = format!("GET /v1/scale/{} HTTP/1.1\r\nHost: bench\r\n\r\n", client.service);
        let stands = client.send(&path).await?;
        client.revision = member(&stands, "\"revision\":\"")?;
        client.replicas = u32::try_from(member(&stands, "\"replicas\":")?)?;
        Ok(client)
    }

    /// Goes on until the end; what each operation that was begun in time took.
    async fn scale(mut self, begin: Instant, end: Instant) -> Done<Vec<Duration>> {
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
            let told = self.send(&request).await?;
            self.revision =
                member(&told, "\"accepted\":true").and(member(&told, "\"revision\":\""))?;
            self.replicas = desired;
            if sent >= begin {
                took.push(sent.elapsed());
            }
        }
    }

    async fn send(&mut self, request: &str) -> Done<String> {
        let mut left = request.as_bytes();
        while !left.is_empty() {
            match self.stream.try_write(left) {
                Ok(written) => left = &left[written..],
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.stream.writable().await?;
                }
                Err(error) => return Err(error.into()),
            }
        }
        let mut answer = Vec::with_capacity(1024);
        loop {
            if let Some(body) = whole_body(&answer)? {
                return Ok(body);
            }
            self.stream.readable().await?;
            match self.stream.try_read_buf(&mut answer) {
                Ok(0) => return Err("the server has hung up".into()),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// The body of an answer, once all of it is there.
fn whole_body(answer: &[u8]) -> Done<Option<String>> {
    let text = std::str::from_utf8(answer)?;
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return Ok(None) };
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let length: usize = length.unwrap_or("0").trim().parse()?;
    Ok((body.len() >= length).then(|| body.to_owned()))
}

/// The number behind a word; 0 where none is there. Without the word it was refused.
fn member(body: &str, word: &str) -> Done<u64> {
    let at = body.find(word).ok_or_else(|| format!("no {word} in {body}"))? + word.len();
    let digits: String = body[at..].chars().take_while(char::is_ascii_digit).collect();
    Ok(digits.parse().unwrap_or(0))
}
