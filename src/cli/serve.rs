//! `serve`: the gateway's scale contract over HTTP.
//!
//! Owns what a server is made of and the order in which it begins and ends: a thread that reads, a
//! thread that writes, one that converges, and this one, which speaks HTTP. Nothing here survives a
//! crash or needs to: what was answered with 200 is in the ledger.

mod converger;
pub mod http;
mod listen;
mod metrics;
mod opener;
mod reader;
mod token;
mod told;
mod writer;

use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{channel, sync_channel};
use std::thread::JoinHandle;

use clap::{ArgMatches, Args, FromArgMatches as _};
use serde_json::json;
use tokio::sync::oneshot;

use super::app::App;
use super::args::{day, up_to};
use super::exit::Exit;
use super::fault::Fault;
use super::noun::{Noun, Outcome};
use super::output::{Answer, Applied, Out, Recorded, say_while_waiting};
use super::problem::Problem;
use crate::actuator::signals;
use crate::domain::count::counted;
use crate::domain::time::DurationMs;
use crate::ops::Pool;
use crate::ops::wait::Teller;
use converger::{Converger, Event, Pauses};
use http::Shared;
use listen::Ends;
use metrics::{Became, Metrics, Went};
use opener::Opener;
use token::Token;
use writer::Writer;

pub(super) const NOUN: Noun = Noun {
    name: "serve",
    group: "Fleet",
    about: "Serve the gateway's scale contract over HTTP",
    augment: |command| ServeArgs::augment_args(command),
    run,
    hidden: false,
};

/// How many requests wait for a thread at most; the next one is told that it is too many.
const QUEUE_MAX: usize = 4096;

#[derive(Args)]
struct ServeArgs {
    /// Where to listen. Any address but a loopback one needs --token-file; port 0 is a free one
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:9090")]
    listen: SocketAddr,
    /// How many replicas all services that the gateway scales may have together
    #[arg(long, value_name = "MAX")]
    pool: Option<u32>,
    /// A file with the token that clients show: Authorization: Bearer TOKEN
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// How long an operation that is carried out is followed before it is answered as not yet
    #[arg(long, value_name = "DURATION", default_value = "25s", value_parser = follow)]
    follow: DurationMs,
    /// How long after a failure for good its count is wished anew; it doubles up to 1h
    #[arg(long, value_name = "DURATION", default_value = "1m", value_parser = day)]
    again: DurationMs,
    /// How often what has come to be is read again; a count that is another one by then is wished
    /// anew
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = tend)]
    tend: DurationMs,
}

fn follow(text: &str) -> Result<DurationMs, String> {
    up_to(DurationMs::from_secs(600), text)
}

fn tend(text: &str) -> Result<DurationMs, String> {
    let least = DurationMs::from_millis(100);
    let pause = day(text)?;
    if pause < least {
        Err(format!("at least {least}, or every look is the next one"))
    } else {
        Ok(pause)
    }
}

fn run(matches: &ArgMatches, app: &mut App, _out: &mut Out) -> Outcome {
    let args = ServeArgs::from_arg_matches(matches).map_err(super::parse_fault)?;
    let token = args.token_file.as_deref().map(Token::read).transpose()?;
    if token.is_none() && !args.listen.ip().is_loopback() {
        let text =
            format!("{} is reached from elsewhere, and nobody has to show a token", args.listen);
        return Err(Problem::usage("token_missing", text)
            .hint("listen on a loopback address, or name a file with --token-file")
            .into());
    }
    if let Some(warning) = args.token_file.as_deref().and_then(Token::warning) {
        say_while_waiting(&warning);
    }
    // Handlers of their own: a call under way goes on to its end when the server is asked to end.
    let signals = signals::apart().map_err(|error| Fault::host(error.to_string()))?;
    let session = app.session()?;
    session.refuse_unwritable()?;
    if session.stored_policy()?.is_none() {
        say_while_waiting(
            "warning: no policy is set, so every operation will be refused; see: scalectl policy \
             template",
        );
    }
    for notice in std::mem::take(&mut session.notices) {
        say_while_waiting(&format!("warning: {}", notice.text));
    }
    let opener = Opener::of(app)?;
    let listener = bound(args.listen, app)?;
    let at = listener.local_addr().map_err(|error| Fault::host(error.to_string()))?;
    let metrics = Arc::new(Metrics::default());
    let ended = served(&args, token, &signals, &opener, listener, at, &metrics);
    Ok(answer(app, ended, &metrics))
}

/// The socket that is listened on.
fn bound(address: SocketAddr, app: &App) -> Result<TcpListener, Fault> {
    let bound = TcpListener::bind(address).and_then(|listener| {
        listener.set_nonblocking(true)?;
        Ok(listener)
    });
    bound.map_err(|error| {
        let text = format!("cannot listen on {address}: {error}");
        let context = app.problem_context();
        match error.kind() {
            ErrorKind::AddrInUse => Problem::new("address_in_use", Exit::Unavailable, text)
                .hint("end what listens there, or listen elsewhere, such as with")
                .run(elsewhere(&context.line, address))
                .into(),
            ErrorKind::AddrNotAvailable | ErrorKind::PermissionDenied => {
                Problem::usage("address_unusable", text)
                    .hint("name an address of this host, and a port that this user may listen on")
                    .into()
            }
            _ => Fault::host(text),
        }
    })
}

/// The line with another port: the next one, or where there is none any that is free.
fn elsewhere(line: &[String], address: SocketAddr) -> Vec<String> {
    let next = SocketAddr::new(address.ip(), address.port().checked_add(1).unwrap_or(0));
    let mut other: Vec<String> = Vec::new();
    let mut words = line.iter();
    while let Some(word) = words.next() {
        if word == "--listen" {
            words.next();
        } else if !word.starts_with("--listen=") {
            other.push(word.clone());
        }
    }
    other.extend(["--listen".to_owned(), next.to_string()]);
    other
}

/// Begins the threads, serves, and ends them.
fn served(
    args: &ServeArgs,
    token: Option<Token>,
    signals: &signals::Signals,
    opener: &Opener,
    listener: TcpListener,
    at: SocketAddr,
    metrics: &Arc<Metrics>,
) -> Result<(), Fault> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Fault::host(error.to_string()))?;
    let (asks, asked) = sync_channel(QUEUE_MAX);
    let (orders, ordered) = sync_channel(QUEUE_MAX);
    let (events, happened) = channel();
    let (fatal_sender, fatal) = tokio::sync::mpsc::unbounded_channel();
    let (drained_sender, drained) = oneshot::channel();
    let writer = Writer {
        opener: opener.clone(),
        pool: args.pool.map(Pool::of),
        events: events.clone(),
        fatal: fatal_sender.clone(),
        metrics: Arc::clone(metrics),
        teller: Teller::default(),
    };
    let converger = Converger {
        opener: opener.clone(),
        events: events.clone(),
        fatal: fatal_sender,
        metrics: Arc::clone(metrics),
        pauses: Pauses { again: args.again, tend: args.tend },
    };
    let (for_reader, counts) = (opener.clone(), Arc::clone(metrics));
    let threads = [
        thread("read", move || reader::answer(&for_reader, &asked, &orders, &counts))?,
        thread("write", move || writer.write(&ordered))?,
        thread("converger", move || {
            converger.converge(&happened);
            // Whoever waits for it may have gone.
            let _ = drained_sender.send(());
        })?,
    ];
    say_while_waiting(&format!("listening on http://{at}"));
    let shared = Shared {
        asks,
        events: events.clone(),
        token: token.map(Arc::new),
        metrics: Arc::clone(metrics),
        follow_for: args.follow,
    };
    let router = http::router(shared);
    let drain = Box::new(move || {
        let _ = events.send(Event::Drain);
    });
    let ends = Ends { signals, fatal, drain, drained };
    runtime.block_on(listen::serve(listener, router, ends))?;
    // Without the handlers nobody asks any more, so each thread ends after what it has.
    drop(runtime);
    for thread in threads {
        thread.join().map_err(|_| Fault::internal("a thread of the server has ended badly"))?;
    }
    Ok(())
}

fn thread(name: &str, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, Fault> {
    let begun = std::thread::Builder::new().name(name.to_owned()).spawn(work);
    begun.map_err(|error| Fault::host(error.to_string()))
}

fn answer(app: &mut App, ended: Result<(), Fault>, metrics: &Metrics) -> Answer {
    let accepted = metrics.operations(Became::Accepted);
    let (requests, converged) = (metrics.requests(), metrics.looks(Went::Converged));
    let is_recorded = accepted > 0 || converged > 0;
    let answer = match ended {
        Ok(()) => Answer::ok(),
        Err(fault) => Answer::failed(app.problem(fault)),
    };
    let recorded = match answer.problem().map(|problem| problem.recorded) {
        Some(Recorded::Unknown) => Recorded::Unknown,
        _ if is_recorded => Recorded::Yes,
        _ => Recorded::No,
    };
    let served = json!({
        "requests": requests,
        "accepted": accepted,
        "replayed": metrics.operations(Became::Replayed),
        "refused": metrics.operations(Became::Refused),
        "failed": metrics.operations(Became::Failed),
    });
    let mut answer = answer
        .recorded(recorded)
        .applied(if converged > 0 { Applied::Yes } else { Applied::No })
        .noun("served", &served)
        .line(format!(
            "served {}, accepted {}",
            counted(requests, "request"),
            counted(accepted, "operation")
        ));
    answer.changed = is_recorded;
    answer
}
