//! `gateway`: the gateway's scale contract over this ledger.
//!
//! For people and pipes stdout is exactly the body that the contract has on the wire; with
//! `-o json` it is the one document of every command, with that body in it.

use std::path::{Path, PathBuf};

use clap::{ArgMatches, FromArgMatches as _, Subcommand};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::app::App;
use super::escape::escape_json;
use super::fault::Fault;
use super::noun::{Noun, Outcome};
use super::output::{Answer, Out, Recorded};
use super::record::unreadable;
use super::table::{Cell, Column, Table};
use crate::domain::gateway::{
    JOURNAL_BYTES_MAX, OPERATION_BYTES_MAX, Receipt, ScaleConflict, ScaleOperation, Undecodable,
    code_of, read_lenient,
};
use crate::ops::OpError;
use crate::ops::gateway_apply::gateway_apply;
use crate::ops::gateway_finalize::gateway_finalize;
use crate::ops::gateway_import::gateway_import;
use crate::ops::gateway_observe::gateway_observe;
use crate::ops::wait::{read_given, refuse_after_signal};

pub(super) const NOUN: Noun = Noun {
    name: "gateway",
    group: "Fleet",
    about: "Speak the gateway's scale contract: observe, apply, finalize, import",
    augment: |command| Verb::augment_subcommands(command).subcommand_required(true),
    run,
    hidden: false,
};

#[derive(Subcommand)]
enum Verb {
    /// Print where a service stands, as the contract says it
    Observe {
        /// The service, by the contract's name: any text
        #[arg(value_name = "SERVICE")]
        service: String,
    },
    /// Accept or refuse one operation of the contract
    Apply {
        /// The operation as JSON, from a file or from - (stdin); at most 64 KiB
        #[arg(long, value_name = "FILE|-")]
        file: PathBuf,
        /// How many replicas all services that the gateway scales may have together
        #[arg(long, value_name = "MAX")]
        pool: Option<u32>,
    },
    /// Give an accepted operation the answer that whoever converged has
    Finalize {
        /// {"request": …, "response": …} as JSON, from a file or from - (stdin)
        #[arg(long, value_name = "FILE|-")]
        file: PathBuf,
    },
    /// Take over the journal of a gateway's own authority, as a whole or not at all
    Import {
        /// The journal, or - (stdin); at most 64 MiB
        #[arg(value_name = "FILE|-")]
        file: PathBuf,
    },
}

fn run(matches: &ArgMatches, app: &mut App, _out: &mut Out) -> Outcome {
    let verb = Verb::from_arg_matches(matches).map_err(super::parse_fault)?;
    super::install_signals()?;
    match verb {
        Verb::Observe { service } => match gateway_observe(app.session()?, &service) {
            Ok(observation) => Ok(said(Answer::ok(), 200, &observation)),
            Err(error) => refused(app, &service, error),
        },
        Verb::Apply { file, pool } => {
            let operation: ScaleOperation = read(&file, 1)?;
            match gateway_apply(app.session()?, &operation, pool) {
                Ok(done) => {
                    let mut answer = recorded(!done.replayed);
                    answer.replayed = done.replayed;
                    Ok(said(answer, 200, &done.answer))
                }
                Err(error) => refused(app, &operation.service, error),
            }
        }
        Verb::Finalize { file } => {
            // Both halves are bounded by what one request may be.
            let asked: Receipt = read(&file, 2)?;
            match gateway_finalize(app.session()?, &asked) {
                Ok(done) => {
                    let mut answer = recorded(done.changed);
                    answer.replayed = !done.changed;
                    Ok(said(answer, 200, &done.answer))
                }
                Err(error) => refused(app, &asked.request.service, error),
            }
        }
        Verb::Import { file } => import(app, &file),
    }
}

fn recorded(changed: bool) -> Answer {
    let mut answer = Answer::ok().recorded(if changed { Recorded::Yes } else { Recorded::No });
    answer.changed = changed;
    answer
}

/// The body of the contract: for people as it is, for machines inside of the one document.
fn said(answer: Answer, status: u16, body: &impl Serialize) -> Answer {
    let text = serde_json::to_string(body).expect("BUG: a body is JSON");
    answer.noun("gateway", &json!({"status": status, "body": body})).line(escape_json(&text))
}

/// A refusal in the contract's words. What is no refusal, such as a ledger that cannot be read, is
/// told as by every command.
fn refused(app: &mut App, service: &str, error: OpError) -> Outcome {
    let conflict = match &error {
        OpError::Gateway(conflict) => (**conflict).clone(),
        OpError::Rejected { rejection, .. } => {
            let holds = app.session()?.gateway_holds(service)?;
            holds.refuses(code_of(rejection), rejection.to_string())
        }
        _ => return Err(error.into()),
    };
    let ScaleConflict { code, .. } = conflict;
    let problem = app.problem(error.into());
    Ok(said(Answer::failed(app.meant(problem)), code.status(), &conflict))
}

/// Reads a document of the contract, of at most `times` the length of an operation.
fn read<T: DeserializeOwned>(file: &Path, times: usize) -> Result<T, Fault> {
    let max = OPERATION_BYTES_MAX * times;
    let bytes = read_bytes(file, max)?;
    read_lenient(&bytes, max).map_err(|error| {
        let code = match &error {
            Undecodable::TooLong { .. } => "document_too_long",
            Undecodable::Syntax(_) => "document_syntax",
            Undecodable::Shape(_) => "document_shape",
        };
        Fault::usage(code, format!("{}: {error}", file.display()))
    })
}

fn read_bytes(file: &Path, max: usize) -> Result<Vec<u8>, Fault> {
    read_given(file, max).map_err(|error| {
        if let Err(interrupted) = refuse_after_signal() {
            return interrupted.into();
        }
        unreadable(file, &error)
    })
}

fn import(app: &mut App, file: &Path) -> Outcome {
    let bytes = read_bytes(file, JOURNAL_BYTES_MAX)?;
    if bytes.len() > JOURNAL_BYTES_MAX {
        let text = format!("{}: it is longer than {JOURNAL_BYTES_MAX} bytes", file.display());
        return Err(Fault::usage("document_too_long", text));
    }
    let done = gateway_import(app.session()?, &bytes)?;
    let mut table = Table::new([
        Column::left("SERVICE"),
        Column::right("COUNT"),
        Column::right("REVISION"),
        Column::right("RECEIPTS"),
    ]);
    let mut answer = recorded(done.changed);
    let mut rows = Vec::new();
    for it in &done.services {
        table.row([
            Cell::new(&it.service),
            Cell::new(it.replicas),
            Cell::new(it.revision),
            Cell::new(it.receipts),
        ]);
        rows.push(json!({
            "service": it.service,
            "name": it.raw,
            "replicas": it.replicas,
            "revision": it.revision,
            "receipts": it.receipts,
        }));
        answer = answer.name(it.service.as_str());
    }
    let answer = answer.noun("imported", &rows).table(table);
    Ok(if done.changed { answer } else { answer.line("was imported before: nothing is recorded") })
}
