//! `recovery`: verify a recovery package, and restore it into an empty cell. Opens no ledger.

use std::path::PathBuf;

use clap::{ArgMatches, Args, FromArgMatches as _, Subcommand};
use serde_json::{Value, json};

use super::app::App;
use super::exit::Exit;
use super::noun::{Noun, Outcome};
use super::output::{Answer, Out};
use super::problem::Problem;
use crate::adapters::relocator::Fault as RelocatorFault;
use crate::adapters::relocator::recovery::{Package, restore_package, verify_package};
use crate::domain::placement::protocol::Refusal;

pub(super) const NOUN: Noun = Noun {
    name: "recovery",
    group: "Placement",
    about: "Read a recovery package back, and make a copy of it, with no ledger at hand",
    augment: |command| Verb::augment_subcommands(command).subcommand_required(true),
    run,
    hidden: false,
};

#[derive(Subcommand)]
enum Verb {
    /// Read back every byte and hash of a package, and its database as a database
    Verify(VerifyArgs),
    /// Make a copy of a package in an empty cell; the same line again goes on after a crash
    Restore(RestoreArgs),
}

#[derive(Args)]
struct VerifyArgs {
    /// The package: a folder with a manifest.json
    #[arg(value_name = "DIR")]
    package: PathBuf,
}

#[derive(Args)]
struct RestoreArgs {
    /// The package: a folder with a manifest.json
    #[arg(value_name = "DIR")]
    package: PathBuf,
    /// The cell: a folder that is not there or has nothing but its limit.json
    #[arg(long, value_name = "CELL_DIR")]
    into: PathBuf,
}

fn run(matches: &ArgMatches, app: &mut App, _out: &mut Out) -> Outcome {
    match Verb::from_arg_matches(matches).map_err(super::parse_fault)? {
        Verb::Verify(args) => {
            let package = verify_package(&args.package).map_err(|fault| problem(&fault, app))?;
            Ok(shown(Answer::ok(), &package))
        }
        Verb::Restore(args) => {
            let restored =
                restore_package(&args.package, &args.into).map_err(|fault| problem(&fault, app))?;
            let path = restored.path.display().to_string();
            let mut answer =
                shown(Answer::ok().noun("restored", &json!({"path": path})), &restored.package)
                    .line(if restored.was_there {
                        format!("  is there   {path}, read back")
                    } else {
                        format!("  restored   {path}, read back")
                    });
            answer.changed = !restored.was_there;
            answer.replayed = restored.was_there;
            Ok(answer)
        }
    }
}

fn shown(answer: Answer, package: &Package) -> Answer {
    let copy = &package.copy;
    let noun: Value = json!({
        "environment": package.environment,
        "cell": copy.cell,
        "generation": copy.generation,
        "captured_at": package.captured_at,
        "bytes": package.bytes,
        "files": package.files,
        "rows": package.rows,
        "manifest_sha256": package.manifest_sha256,
    });
    answer
        .noun("package", &noun)
        .name(copy.generation.to_string())
        .line(format!("{} of {} is whole", copy.generation, package.environment))
        .line(format!("  captured   {}", package.captured_at))
        .line(format!(
            "  read       {} bytes, {}, {}",
            package.bytes,
            files(package),
            rows(package)
        ))
        .line(format!("  manifest   {}", package.manifest_sha256))
}

fn files(package: &Package) -> String {
    super::view::number(package.files, "file", "files")
}

fn rows(package: &Package) -> String {
    super::view::number(package.rows, "row", "rows")
}

fn problem(fault: &RelocatorFault, app: &App) -> Problem {
    let refusal = fault.refusal();
    let (exit, hint) = match refusal {
        Refusal::NotThere { .. } => (Exit::NotFound, "name the folder that has the manifest.json"),
        Refusal::CapacityExhausted { .. } => (
            Exit::Capacity,
            "make room there, or name a larger cell, then run this same line again",
        ),
        Refusal::OtherGeneration { .. } => {
            (Exit::Conflict, "nothing was changed there; name a cell in which nothing is")
        }
        Refusal::TimedOut { .. } | Refusal::Io { .. } => {
            (Exit::Unavailable, "once that is mended, run this same line again")
        }
        Refusal::Damaged { .. }
        | Refusal::Unusable { .. }
        | Refusal::MissingDependency { .. }
        | Refusal::WorkspaceRunning
        | Refusal::UnprovableFencing { .. }
        | Refusal::StaleToken { .. }
        | Refusal::NotFenced { .. }
        | Refusal::Committed { .. }
        | Refusal::BadRequest { .. } => {
            (Exit::Attention, "nothing was made of it; use an earlier package")
        }
    };
    let problem = Problem::new(refusal.code(), exit, fault.message()).hint(hint);
    if refusal.is_retryable() { problem.again(&app.problem_context()) } else { problem }
}
