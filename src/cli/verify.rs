//! `verify`: whether the ledger is what its events say.

use std::path::{Path, PathBuf};

use clap::{ArgMatches, Args, FromArgMatches as _};
use serde_json::json;

use super::app::App;
use super::exit::Exit;
use super::fault::Fault;
use super::noun::{Noun, Outcome};
use super::output::{Answer, Out};
use super::problem::Problem;
use super::record::read_bounded;
use super::view;
use crate::domain::canonical::read_document;
use crate::ledger::{Depth, Head, Verification};
use crate::ops::OpError;
use crate::ops::verify_signatures::{Signatures, verify_signatures};

pub(super) const NOUN: Noun = Noun {
    name: "verify",
    group: "Ledger",
    about: "Walk every chain, fold every event, compare every projection",
    augment: VerifyArgs::augment_args,
    run,
    hidden: false,
};

/// The word for a signature that is not good for what its event says.
const BAD_SIGNATURE: &str = "bad_signature";

#[derive(Args)]
struct VerifyArgs {
    /// Heads that an earlier verify printed with -o json (.heads), or that whole answer: proves that
    /// nothing was cut off or rewritten since
    #[arg(long, value_name = "FILE")]
    since: Option<PathBuf>,
    /// Check the indexes of the database too
    #[arg(long)]
    thorough: bool,
}

#[derive(serde::Deserialize)]
#[serde(untagged, expecting = "neither a list of heads, nor an answer of verify that has one")]
enum Kept {
    Heads(Vec<Head>),
    Answer { heads: Vec<Head> },
}

/// Every ledger has a chain from the start, so no heads are those of no ledger.
fn no_heads(file: &Path, app: &App) -> Problem {
    Problem::usage(
        "no_heads",
        format!("{} has no heads, so nothing would be compared with them", file.display()),
    )
    .hint("keep what this prints, and give it to --since later")
    .run(app.problem_context().command(&["verify", "-o", "json"]))
}

/// What is there is sound, and is not what followed the kept heads.
fn restored_since(found: &Verification, app: &App) -> Problem {
    let chains = found.given_up.len();
    let mut problem = Problem::new(
        "restored_since",
        Exit::Attention,
        format!(
            "the ledger is sound, and was restored since: {}",
            view::number(chains, "chain has lost its end", "chains have lost their ends")
        ),
    )
    .hint("who has restored it and why is told by")
    .run(app.problem_context().command(&["log", "--event", "ledger_restored"]));
    for lost in found.given_up.iter().take(10) {
        problem = problem.fact(lost.code(), lost.to_string());
    }
    problem
}

/// The heads that an earlier run has printed; none where none are given.
fn kept_heads(file: Option<&Path>, app: &App) -> Result<Vec<Head>, Fault> {
    let Some(file) = file else { return Ok(Vec::new()) };
    let kept: Kept = read_document(&read_bounded(file)?).map_err(|source| OpError::Document {
        what: format!("the heads in {}", file.display()),
        source,
    })?;
    let (Kept::Heads(heads) | Kept::Answer { heads }) = kept;
    if heads.is_empty() {
        return Err(no_heads(file, app).into());
    }
    Ok(heads)
}

fn run(matches: &ArgMatches, app: &mut App, _out: &mut Out) -> Outcome {
    let args = VerifyArgs::from_arg_matches(matches).map_err(super::parse_fault)?;
    let since = kept_heads(args.since.as_deref(), app)?;
    let depth = if args.thorough { Depth::Thorough } else { Depth::Quick };
    let found = app.session()?.verified(&since, depth)?;
    // What is damaged below says nothing of who signed it.
    let signatures =
        if found.is_sound() { verify_signatures(app.session()?)? } else { Signatures::default() };
    let bad = signatures.bad.iter().map(|text| json!({"code": BAD_SIGNATURE, "text": text}));
    let findings: Vec<_> = found
        .findings
        .iter()
        .chain(&found.given_up)
        .map(|finding| json!({"code": finding.code(), "text": finding.to_string()}))
        .chain(bad)
        .collect();
    let is_sound = found.is_sound() && signatures.bad.is_empty();
    let mut answer = if is_sound && found.given_up.is_empty() {
        Answer::ok()
    } else if is_sound {
        Answer::failed(restored_since(&found, app))
    } else {
        let mut problem = Problem::new(
            "ledger_damaged",
            Exit::LedgerUnusable,
            format!(
                "the ledger is not what its events say: {} findings",
                findings.len().max(usize::try_from(found.findings_count).unwrap_or(usize::MAX))
            ),
        )
        .hint("keep a copy of the file before anything else, then restore from a backup");
        for finding in found.findings.iter().take(10) {
            problem = problem.fact(finding.code(), finding.to_string());
        }
        for bad in signatures.bad.iter().take(10) {
            problem = problem.fact(BAD_SIGNATURE, bad.clone());
        }
        Answer::failed(problem)
    };
    answer = answer
        .noun("heads", &found.heads)
        .noun("events", &found.events)
        .noun("executions", &found.executions)
        .noun("findings", &findings)
        .noun("signatures", &signatures.good)
        .line(format!(
            "{} in {}, {}: {}",
            view::counted(usize::try_from(found.events).unwrap_or(usize::MAX), "event"),
            view::counted(found.heads.len(), "chain"),
            view::counted(usize::try_from(found.executions).unwrap_or(usize::MAX), "execution"),
            match (is_sound, found.given_up.is_empty()) {
                (true, true) => "sound",
                (true, false) => "sound, and restored since",
                (false, _) => "DAMAGED",
            }
        ));
    if signatures.good > 0 {
        let good = view::counted(signatures.good, "signature");
        answer = answer.line(format!("{good}, each good when it was made"));
    }
    if let Some(why) = &signatures.unchecked {
        answer = answer.warning("signatures_not_checked", why);
    }
    for head in &found.heads {
        answer = answer
            .line(format!("  {}  {}  {}", head.hash, head.sequence, head.stream))
            .name(format!("{} {} {}", head.stream, head.sequence, head.hash));
    }
    Ok(answer)
}
