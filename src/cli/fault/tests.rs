//! Every error of the ledger and of an operation has its reviewed text in
//! `fixtures/texts/faults.txt`.

use std::fmt::Write as _;
use std::path::PathBuf;

use super::*;
use crate::actuator::error::{BindingError, CallError, HostError};
use crate::cli::problem::hold_committed;
use crate::domain::scale::attempt::UnknownWhy;
use crate::domain::time::DurationMs;
use crate::ledger::LockedBy;
use crate::ops::error::ActuatorProblem;
use crate::ops::report::Effect;

fn id<T: std::str::FromStr>(text: &str) -> T
where
    T::Err: std::fmt::Debug,
{
    text.parse().expect("a good id")
}

fn words(line: &str) -> Vec<String> {
    line.split(' ').map(str::to_owned).collect()
}

fn context() -> ProblemContext {
    ProblemContext {
        program: words("scalectl --ledger prod"),
        verb: words("intent put"),
        line: words("scalectl --ledger prod scale web=5 --key k-1 --reason up"),
        ledger: Some("prod, chosen by --ledger".to_owned()),
        ..ProblemContext::at(id("2026-11-24T14:02:40Z"))
    }
}

fn path() -> PathBuf {
    PathBuf::from("/srv/ledger.db")
}

fn of_files() -> Vec<LedgerError> {
    let (problem, doing) = ("the words of the system".to_owned(), "read");
    vec![
        LedgerError::Missing { path: path(), why: "" },
        LedgerError::NoBackup { path: path(), why: "" },
        LedgerError::Exists { path: path() },
        LedgerError::NameUnknown { path: path(), problem: problem.clone() },
        LedgerError::MadeUnopened { path: path(), problem: problem.clone() },
        LedgerError::SideFile { path: path() },
        LedgerError::NotAFile { path: path() },
        LedgerError::HardLinked { path: path(), other: Some(PathBuf::from("/home/a/l.db")) },
        LedgerError::Exhausted { doing, path: path() },
        LedgerError::NotShared { path: path(), problem: problem.clone() },
        LedgerError::NetworkFileSystem { path: path(), file_system: "nfs4".to_owned() },
        LedgerError::ReadOnly { doing, path: path(), culprit: PathBuf::from("/srv") },
        LedgerError::Foreign { path: path(), problem: problem.clone() },
        LedgerError::Newer { path: path(), found: 3, known: 1 },
        LedgerError::Older { path: path(), found: 1, known: 3 },
        LedgerError::Sealed { path: path(), to: "postgres://db/scalectl".to_owned() },
        LedgerError::Gone { path: path(), to: "postgres://db/scalectl".to_owned() },
        LedgerError::IsBackup { path: path() },
        LedgerError::Unfinished { path: path() },
        LedgerError::Reincarnated { path: path(), found: 2, known: 1 },
        LedgerError::OtherLedger { doing: "copy to", path: path(), problem: problem.clone() },
        LedgerError::Unsound { path: path(), problem: problem.clone() },
        LedgerError::EngineTooOld { found: "3.51.2".to_owned() },
        LedgerError::Corrupt { doing, path: path(), problem },
    ]
}

fn of_writes() -> Vec<LedgerError> {
    let (problem, doing) = ("the words of the system".to_owned(), "write");
    let command_id = id::<crate::domain::id::CommandId>("cmd-1");
    vec![
        LedgerError::Nonsense {
            path: path(),
            place: "event 3 of service:web".to_owned(),
            problem: problem.clone(),
        },
        LedgerError::Full { doing, path: path() },
        LedgerError::Busy {
            doing,
            path: path(),
            waited: DurationMs::from_secs(5),
            by: LockedBy::Somebody,
        },
        LedgerError::Busy { doing, path: path(), waited: DurationMs::ZERO, by: LockedBy::Somebody },
        LedgerError::Unreachable { doing, path: path(), problem: problem.clone() },
        LedgerError::NotPermitted { doing, path: path(), problem: problem.clone() },
        LedgerError::UnsafeServer { path: path(), problem: problem.clone() },
        LedgerError::NotCommitted {
            command_id: command_id.clone(),
            path: path(),
            problem: problem.clone(),
        },
        LedgerError::Failed { doing, path: path(), problem: problem.clone() },
        LedgerError::CommitUnknown {
            command_id: command_id.clone(),
            path: path(),
            problem: problem.clone(),
            was_moved: false,
        },
        LedgerError::CommitUnknown {
            command_id: command_id.clone(),
            path: path(),
            problem: problem.clone(),
            was_moved: true,
        },
        LedgerError::Unconfirmed { path: path(), problem: problem.clone() },
        LedgerError::Poisoned { command_id: command_id.clone(), path: path() },
        LedgerError::Incomplete { command_id, path: path() },
        LedgerError::Illegal { path: path(), stream: "service:web".to_owned(), problem },
        LedgerError::Stale { path: path(), service: id("web"), what: "the head".to_owned() },
    ]
}

fn of_operations() -> Vec<OpError> {
    let problem = "the words of the system".to_owned();
    vec![
        OpError::Unrecorded {
            key: id("k-1"),
            said: format!("success, then {}", UnknownWhy::Unrecorded.as_str()),
            effect: Effect::Applied,
            source: Box::new(LedgerError::Full { doing: "write", path: path() }.into()),
        },
        OpError::PolicyMoved { expected: "4b1e".to_owned(), actual: "91ab".to_owned() },
        OpError::Binding(BindingError::Unsafe {
            path: PathBuf::from("/home/a/.config/scalectl/actuators.toml"),
            why: "has mode 666: others may write it".to_owned(),
        }),
        OpError::Actuator {
            actuator: id("k8s-prod"),
            op: "inspect",
            problem: ActuatorProblem::TimedOut(DurationMs::from_secs(30)),
            stderr: "net/http: TLS handshake timeout\nmore\n".to_owned(),
        },
        OpError::Call(CallError::Unsafe {
            path: PathBuf::from("/home/a/.local/state/scalectl/calls"),
            why: "may be written by others",
        }),
        OpError::Host(HostError {
            what: "the machine id",
            source: std::io::Error::other(problem.clone()),
        }),
        OpError::TimedOut {
            what: "web@18 is not confirmed".to_owned(),
            waited: DurationMs::from_secs(60),
            key: Some(id("k-1")),
        },
        OpError::Internal { what: problem },
    ]
}

#[test]
fn every_fault_has_its_reviewed_text() {
    let ledger = of_files().into_iter().chain(of_writes()).map(OpError::from);
    let mut page = String::new();
    for error in ledger.chain(of_operations()) {
        let problem = Fault::from(error).into_problem(&context());
        let again = if problem.retryable { ", same line later" } else { "" };
        let (code, word) = (problem.exit.code(), problem.exit.word());
        write!(page, "# exit {code} {word}{again}\n{}\n", problem.text())
            .expect("BUG: a String takes every text");
        assert!(problem.hint.is_some() || !problem.next.is_empty(), "no way on: {problem:?}");
    }
    let committed = include_str!("../../../fixtures/texts/faults.txt");
    hold_committed("fixtures/texts/faults.txt", committed, &page);
}

#[test]
fn no_error_of_the_ledger_is_without_a_row() {
    let source = include_str!("../../ledger/error.rs");
    let (_, source) = source.split_once("pub const fn code(").expect("the words");
    let (source, _) = source.split_once("pub const fn class(").expect("the classes follow");
    let rows: Vec<&str> = of_files().iter().chain(&of_writes()).map(LedgerError::code).collect();
    let words = source.split("=> \"").skip(1).filter_map(|rest| rest.split('"').next());
    let missing: Vec<&str> = words.filter(|word| !rows.contains(word)).collect();
    assert_eq!(missing, Vec::<&str>::new());
    assert!(rows.len() > 35, "{rows:?}");
}
