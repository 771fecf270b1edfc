//! A relay between the Docker CLI and the engine, which meets requests with faults and notes them.

use std::collections::VecDeque;
use std::io::{Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Where the engine of the machine listens.
pub(super) const ENGINE: &str = "/var/run/docker.sock";

/// What happens to a request.
#[derive(Clone)]
pub(super) enum Fault {
    /// The connection ends, and nothing was passed on.
    DropBefore,
    /// It is passed on, and the connection ends without an answer.
    DropAfter,
    /// It is never passed on, and nobody answers.
    HangBefore,
    /// It is passed on, and nobody answers.
    HangAfter,
    /// It is passed on once the relay is told to, whoever waits for it by then.
    Hold,
    /// It is passed on twice; the second answer comes back.
    Twice,
    /// These bytes come back, the connection ends, and nothing is passed on.
    Say(Vec<u8>),
    /// These bytes come back, and nothing is passed on.
    Answer(Vec<u8>),
    /// It is passed on after somebody else has done something.
    After(Arc<dyn Fn() + Send + Sync>),
    /// It is passed on; then somebody does something, and the connection ends without an answer.
    Then(Arc<dyn Fn() + Send + Sync>),
}

impl Fault {
    /// An answer of the engine's own form.
    pub(super) fn says(status: u16, body: &str) -> Self {
        let length = body.len();
        let text = format!("HTTP/1.1 {status} x\r\nContent-Length: {length}\r\n\r\n{body}");
        Self::Answer(text.into_bytes())
    }
}

#[derive(Default)]
struct State {
    faults: VecDeque<(String, Fault)>,
    log: Vec<String>,
    bodies: Vec<String>,
    late: Vec<String>,
}

/// The relay, until it is dropped.
pub(super) struct Relay {
    state: Arc<Mutex<State>>,
    released: Arc<AtomicBool>,
    socket: PathBuf,
}

impl Relay {
    pub(super) fn start(socket: &Path) -> Self {
        let listener = UnixListener::bind(socket).unwrap();
        let (state, released) = (Arc::<Mutex<State>>::default(), Arc::<AtomicBool>::default());
        let shared = (Arc::clone(&state), Arc::clone(&released));
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (state, released) = (Arc::clone(&shared.0), Arc::clone(&shared.1));
                std::thread::spawn(move || serve(client, &state, &released));
            }
        });
        Self { state, released, socket: socket.to_owned() }
    }

    pub(super) fn host(&self) -> String {
        format!("host=unix://{}", self.socket.display())
    }

    /// The next request whose line has such a part meets it.
    pub(super) fn fault(&self, part: &str, fault: Fault) {
        self.state.lock().unwrap().faults.push_back((part.to_owned(), fault));
    }

    pub(super) fn met_all_faults(&self) -> bool {
        self.state.lock().unwrap().faults.is_empty()
    }

    /// Every request: its method and its path.
    pub(super) fn log(&self) -> Vec<String> {
        self.state.lock().unwrap().log.clone()
    }

    /// Those of them that would change something; the CLI itself asks with HEAD who is there.
    pub(super) fn writes(&self) -> usize {
        self.log().iter().filter(|line| is_write(line)).count()
    }

    /// The bodies of the writes.
    pub(super) fn bodies(&self) -> Vec<String> {
        self.state.lock().unwrap().bodies.clone()
    }

    /// Passes on what was held; what the engine has answered to it.
    pub(super) fn release(&self) -> String {
        self.released.store(true, Ordering::SeqCst);
        for _ in 0..1000 {
            if let Some(answer) = self.state.lock().unwrap().late.first() {
                return answer.clone();
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("nothing was held");
    }
}

fn is_write(line: &str) -> bool {
    !line.starts_with("GET ") && !line.starts_with("HEAD ")
}

/// One request after the other of one connection.
fn serve(mut client: UnixStream, state: &Mutex<State>, released: &AtomicBool) {
    let mut bytes = Vec::new();
    while let Some((head, body)) = request(&mut client, &mut bytes) {
        let line = head.split(" HTTP/1.1").next().unwrap_or_default().to_owned();
        let fault = {
            let mut state = state.lock().unwrap();
            state.log.push(line.clone());
            if is_write(&line) {
                state.bodies.push(body.clone());
            }
            let found = state.faults.iter().position(|(part, _)| line.contains(part));
            found.and_then(|at| state.faults.remove(at)).map(|(_, fault)| fault)
        };
        let pass_on = || passed_on(&head, &body);
        let answer = match fault {
            None => pass_on(),
            Some(Fault::DropBefore) => return,
            Some(Fault::DropAfter) => {
                pass_on();
                return;
            }
            Some(Fault::HangBefore) => return hang(&mut client),
            Some(Fault::HangAfter) => {
                pass_on();
                return hang(&mut client);
            }
            Some(Fault::Hold) => {
                while !released.load(Ordering::SeqCst) {
                    std::thread::sleep(Duration::from_millis(5));
                }
                let answer = String::from_utf8_lossy(&pass_on()).into_owned();
                state.lock().unwrap().late.push(answer);
                return;
            }
            Some(Fault::Twice) => {
                pass_on();
                pass_on()
            }
            Some(Fault::Say(bytes)) => {
                let _ = client.write_all(&bytes);
                return;
            }
            Some(Fault::Answer(bytes)) => bytes,
            Some(Fault::After(deed)) => {
                deed();
                pass_on()
            }
            Some(Fault::Then(deed)) => {
                pass_on();
                deed();
                return;
            }
        };
        let closes = String::from_utf8_lossy(&answer).contains("Connection: close");
        if client.write_all(&answer).is_err() || closes {
            return;
        }
    }
}

/// Waits until the other side is gone.
fn hang(client: &mut UnixStream) {
    while client.read(&mut [0; 256]).is_ok_and(|length| length > 0) {}
}

/// The head and the body of the next request.
fn request(client: &mut UnixStream, bytes: &mut Vec<u8>) -> Option<(String, String)> {
    let mut more = [0; 4096];
    loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
            let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
            let length = length.map_or(0, |text| text.parse::<usize>().unwrap());
            if bytes.len() >= end + 4 + length {
                let body = bytes[end + 4..end + 4 + length].to_vec();
                bytes.drain(..end + 4 + length);
                return Some((head, String::from_utf8(body).unwrap()));
            }
        }
        match client.read(&mut more) {
            Ok(length) if length > 0 => bytes.extend_from_slice(&more[..length]),
            _ => return None,
        }
    }
}

/// The engine's answer, after which it ends the connection.
fn passed_on(head: &str, body: &str) -> Vec<u8> {
    let mut engine = UnixStream::connect(ENGINE).unwrap();
    let whole = format!("{head}\r\nConnection: close\r\n\r\n{body}");
    engine.write_all(whole.as_bytes()).unwrap();
    let mut answer = Vec::new();
    engine.read_to_end(&mut answer).unwrap();
    answer
}
