//! A server of a test, and a client of it that speaks HTTP by hand: what is on the wire is seen.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::World;

/// How long an answer may take. A test that waits longer would wait for ever.
const ANSWER_WITHIN: Duration = Duration::from_mins(1);

/// A running server. Killed with its test.
pub(crate) struct Server {
    child: Child,
    /// Address and port.
    pub(crate) at: String,
    said: Arc<Mutex<String>>,
    client: Option<Client>,
}

/// How a server has ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// What was answered.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Reply {
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }

    /// Asserts the status and returns the body.
    #[track_caller]
    pub(crate) fn is(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{self:#?}");
        self.json()
    }

    /// The same of a refusal with its word.
    #[track_caller]
    pub(crate) fn refuses(&self, status: u16, code: &str) -> Value {
        let body = self.is(status);
        assert_eq!(body["code"], code, "{self:#?}");
        body
    }

    /// A header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
}

impl Server {
    /// Starts one on a free port of the loopback.
    #[track_caller]
    pub(crate) fn start(world: &World, more: &[&str]) -> Self {
        Self::start_at(world, "127.0.0.1:0", more)
    }

    /// The same at an address.
    #[track_caller]
    pub(crate) fn start_at(world: &World, listen: &str, more: &[&str]) -> Self {
        let mut words = vec!["serve", "--listen", listen];
        words.extend(more);
        Self::of(world.command(&words))
    }

    /// The same by a command that becomes one.
    #[track_caller]
    pub(crate) fn of(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap());
        let said = Arc::new(Mutex::new(String::new()));
        let at = loop {
            let mut line = String::new();
            assert!(lines.read_line(&mut line).unwrap() > 0, "{}", said.lock().unwrap());
            said.lock().unwrap().push_str(&line);
            if let Some(at) = line.trim().strip_prefix("listening on http://") {
                break at.to_owned();
            }
        };
        let more = Arc::clone(&said);
        // Whatever else is said must not fill the pipe.
        std::thread::spawn(move || {
            let mut line = String::new();
            while lines.read_line(&mut line).is_ok_and(|bytes| bytes > 0) {
                more.lock().unwrap().push_str(&std::mem::take(&mut line));
            }
        });
        Self { child, at, said, client: None }
    }

    /// What it has said for people so far.
    pub(crate) fn said(&self) -> String {
        self.said.lock().unwrap().clone()
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    /// Waits for its end.
    pub(crate) fn ended(mut self) -> Ended {
        let mut stdout = String::new();
        self.child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
        let code = self.child.wait().unwrap().code();
        // The thread that reads has the rest of it soon.
        std::thread::sleep(Duration::from_millis(50));
        Ended { code, stdout, stderr: self.said() }
    }

    /// Asks it to end, and waits for that.
    pub(crate) fn stop(self) -> Ended {
        self.signal(Signal::TERM);
        self.ended()
    }

    /// Kills it.
    pub(crate) fn die(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.client = None;
    }

    /// A connection of its own.
    pub(crate) fn client(&self) -> Client {
        Client::to(&self.at).unwrap()
    }

    fn asked(&mut self, request: &[u8]) -> Reply {
        let mut client = self.client.take().unwrap_or_else(|| self.client());
        let reply = client.send(request).unwrap();
        self.client = (reply.header("connection") != Some("close")).then_some(client);
        reply
    }

    /// Gets a path.
    pub(crate) fn get(&mut self, path: &str) -> Reply {
        self.asked(format!("GET {path} HTTP/1.1\r\nHost: test\r\n\r\n").as_bytes())
    }

    /// Where a service stands.
    pub(crate) fn observe(&mut self, service: &str) -> Reply {
        self.get(&format!("/v1/scale/{}", encoded(service)))
    }

    /// Posts a document to a service.
    #[expect(clippy::needless_pass_by_value, reason = "most documents are made for it")]
    pub(crate) fn post(&mut self, service: &str, document: impl ToString) -> Reply {
        let request = post_of(service, &document.to_string());
        self.asked(&request)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A service as a segment of a path.
pub(crate) fn encoded(service: &str) -> String {
    let encode = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' => {
            char::from(byte).to_string()
        }
        byte => format!("%{byte:02X}"),
    };
    service.bytes().map(encode).collect()
}

/// The request that posts a document.
pub(crate) fn post_of(service: &str, document: &str) -> Vec<u8> {
    format!(
        "POST /v1/scale/{} HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{document}",
        encoded(service),
        document.len(),
    )
    .into_bytes()
}

/// One connection.
pub(crate) struct Client {
    stream: BufReader<TcpStream>,
}

impl Client {
    pub(crate) fn to(at: &str) -> std::io::Result<Self> {
        let stream = TcpStream::connect(at)?;
        stream.set_read_timeout(Some(ANSWER_WITHIN))?;
        stream.set_nodelay(true)?;
        Ok(Self { stream: BufReader::new(stream) })
    }

    /// Sends bytes, whatever they are.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.stream.get_mut().write_all(bytes)
    }

    /// Sends a request and reads its answer.
    pub(crate) fn send(&mut self, request: &[u8]) -> std::io::Result<Reply> {
        // A server that refuses a body early closes before it has read all of it.
        let written = self.write(request);
        let is_head = request.starts_with(b"HEAD ");
        self.read(is_head).or_else(|error| written.and(Err(error)))
    }

    /// Reads one answer; one to HEAD has no body.
    pub(crate) fn read(&mut self, is_head: bool) -> std::io::Result<Reply> {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if self.stream.read_line(&mut head)? == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
        }
        let status = head.get(9..12).and_then(|status| status.parse().ok());
        let status = status.unwrap_or_else(|| panic!("no status: {head}"));
        let mut reply = Reply { status, head, body: String::new() };
        let length: usize =
            reply.header("content-length").map_or(0, |length| length.parse().unwrap());
        let mut body = vec![0; if is_head { 0 } else { length }];
        self.stream.read_exact(&mut body)?;
        reply.body = String::from_utf8(body).unwrap();
        Ok(reply)
    }
}
