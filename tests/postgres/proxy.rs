//! A proxy between scalectl and its server, that knows where a message ends and can cut there.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// Who sends a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Side {
    Client,
    Server,
}

/// What happens at a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// It is not passed on, and the connection is gone.
    Before,
    /// It is passed on, and the connection is gone.
    After,
    /// From it on nothing is passed on any more, and nothing is closed.
    Silence,
}

/// The plan of a run: the n-th message of a side, over all connections, counted from 0.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan {
    pub(super) side: Side,
    pub(super) number: usize,
    pub(super) fault: Fault,
    /// Whether later connections are served.
    pub(super) comes_back: bool,
}

/// A message that passed: its side, its type, and what it is where that matters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) side: Side,
    pub(super) kind: u8,
    pub(super) is_commit: bool,
}

struct Shared {
    upstream: PathBuf,
    plan: Option<Plan>,
    seen: Mutex<Vec<Seen>>,
    has_struck: AtomicBool,
    is_over: AtomicBool,
    /// Whether the fault is past: everything is passed on from here on.
    is_healed: AtomicBool,
    /// Whether the server's messages are in another language.
    is_translated: AtomicBool,
}

/// The proxy; its threads end with it.
pub(super) struct Proxy {
    shared: Arc<Shared>,
    port: u16,
}

impl Proxy {
    pub(super) fn start(upstream: &Path, plan: Option<Plan>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("bound").port();
        let shared = Arc::new(Shared {
            upstream: upstream.to_owned(),
            plan,
            seen: Mutex::default(),
            has_struck: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
            is_healed: AtomicBool::new(false),
            is_translated: AtomicBool::new(false),
        });
        let proxy = Self { shared: Arc::clone(&shared), port };
        std::thread::spawn(move || {
            // What is accepted and not served is kept open: a stranger to no answer at all.
            let mut kept = Vec::new();
            for client in listener.incoming().flatten() {
                if shared.is_over.load(Ordering::SeqCst) {
                    break;
                }
                let struck = shared.has_struck.load(Ordering::SeqCst)
                    && !shared.is_healed.load(Ordering::SeqCst);
                match shared.plan.filter(|plan| struck && !plan.comes_back) {
                    Some(Plan { fault: Fault::Silence, .. }) => kept.push(client),
                    Some(_) => drop(client),
                    None => serve(&shared, client),
                }
            }
        });
        proxy
    }

    /// The address of a ledger through it.
    pub(super) fn address(&self, schema: &str) -> String {
        format!(
            "postgres://scalectl@127.0.0.1:{}/suite?schema={schema}&connect_timeout=1",
            self.port
        )
    }

    /// Its port, on this host.
    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// Ends the fault of the plan, whether or not it has happened.
    pub(super) fn heal(&self) {
        self.shared.is_healed.store(true, Ordering::SeqCst);
    }

    /// Lets the server say WARNUNG, as one with German messages does.
    pub(super) fn translate(&self) {
        self.shared.is_translated.store(true, Ordering::SeqCst);
    }

    /// What has passed.
    pub(super) fn seen(&self) -> Vec<Seen> {
        self.shared.seen.lock().expect("nothing panics in here").clone()
    }

    /// Whether the fault of the plan has happened.
    pub(super) fn has_struck(&self) -> bool {
        self.shared.has_struck.load(Ordering::SeqCst)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::SeqCst);
        drop(TcpStream::connect(("127.0.0.1", self.port)));
    }
}

fn serve(shared: &Arc<Shared>, client: TcpStream) {
    let Ok(server) = UnixStream::connect(&shared.upstream) else { return };
    let _ = client.set_nodelay(true);
    let ends = (client.try_clone().expect("ours"), server.try_clone().expect("ours"));
    let forth = Arc::clone(shared);
    std::thread::spawn(move || {
        let (mut from, mut to) = (ends.0, ends.1);
        let close = |from: &TcpStream, to: &UnixStream| {
            let _ = from.shutdown(Shutdown::Both);
            let _ = to.shutdown(Shutdown::Both);
        };
        // The first message has no type.
        let is_open = message(&mut from, false).and_then(|bytes| to.write_all(&bytes).ok());
        let mut more = is_open.is_some();
        while more {
            more = message(&mut from, true)
                .is_some_and(|bytes| pass(&forth, Side::Client, &bytes, &mut to));
        }
        close(&from, &to);
    });
    let back = Arc::clone(shared);
    std::thread::spawn(move || {
        let (mut from, mut to) = (server, client);
        while message(&mut from, true)
            .is_some_and(|bytes| pass(&back, Side::Server, &bytes, &mut to))
        {}
        let _ = from.shutdown(Shutdown::Both);
        let _ = to.shutdown(Shutdown::Both);
    });
}

/// One whole message; none at the end.
fn message(from: &mut impl Read, has_type: bool) -> Option<Vec<u8>> {
    let mut bytes = vec![0; if has_type { 5 } else { 4 }];
    from.read_exact(&mut bytes).ok()?;
    let length = bytes.last_chunk::<4>().copied().map(u32::from_be_bytes)?;
    let head = bytes.len();
    bytes.resize(head + usize::try_from(length).ok()?.checked_sub(4)?, 0);
    from.read_exact(&mut bytes[head..]).ok()?;
    Some(bytes)
}

/// A notice in another language: the word that people read is translated (field `S`), the one that
/// programs read is not (field `V`).
fn translated(shared: &Shared, bytes: &[u8]) -> Option<Vec<u8>> {
    let word = b"SWARNING\0";
    let is_notice = bytes[0] == b'N' && shared.is_translated.load(Ordering::SeqCst);
    let at = is_notice.then(|| bytes.windows(word.len()).position(|it| it == word)).flatten()?;
    let mut translated = bytes.to_vec();
    translated[at..at + word.len()].copy_from_slice(b"SWARNUNG\0");
    Some(translated)
}

/// Passes a message on, and answers whether the connection goes on.
fn pass(shared: &Shared, side: Side, bytes: &[u8], to: &mut impl Write) -> bool {
    let is_commit = match side {
        Side::Client => bytes[0] == b'Q' && bytes.ends_with(b"COMMIT\0"),
        Side::Server => bytes[0] == b'C' && bytes.ends_with(b"COMMIT\0"),
    };
    let number = {
        let mut seen = shared.seen.lock().expect("nothing panics in here");
        seen.push(Seen { side, kind: bytes[0], is_commit });
        seen.iter().filter(|seen| seen.side == side).count() - 1
    };
    let is_healed = shared.is_healed.load(Ordering::SeqCst);
    let strikes =
        shared.plan.filter(|plan| plan.side == side && plan.number == number && !is_healed);
    let translated = translated(shared, bytes);
    let bytes = translated.as_deref().unwrap_or(bytes);
    if shared.plan.is_some_and(|plan| plan.fault == Fault::Silence)
        && (strikes.is_some() || shared.has_struck.load(Ordering::SeqCst))
    {
        shared.has_struck.store(true, Ordering::SeqCst);
        // Not closed, and not read any more: until the test is over.
        while !shared.is_over.load(Ordering::SeqCst) {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        return false;
    }
    match strikes.map(|plan| plan.fault) {
        None => to.write_all(bytes).is_ok(),
        Some(fault) => {
            shared.has_struck.store(true, Ordering::SeqCst);
            if fault == Fault::After {
                let _ = to.write_all(bytes);
            }
            false
        }
    }
}
