//! What leads on from an error in a ledger's life: it depends on what was being done.

use crate::cli::problem::ProblemContext;
use crate::ledger::LedgerError;

/// The hint and the line after it, which is empty where there is none; none where what is said of
/// the error everywhere else is said here, too.
pub(super) fn advice(
    error: &LedgerError,
    context: &ProblemContext,
) -> Option<(String, Vec<String>)> {
    let verb: Vec<&str> = context.verb.iter().map(String::as_str).collect();
    let with = |flag: &str| {
        let mut line = context.line.clone();
        if !line.is_empty() {
            line.push(flag.to_owned());
        }
        line
    };
    let said = |hint: &str| (hint.to_owned(), Vec::new());
    Some(match (error, verb.as_slice()) {
        (LedgerError::NoBackup { .. }, _) => {
            said("name the file that scalectl backup --to FILE has made")
        }
        (LedgerError::Exists { .. }, ["restore", ..]) => {
            let hint = "nothing was changed; to put what is there aside, under a dated name";
            (hint.to_owned(), with("--replace"))
        }
        (LedgerError::Exists { .. }, ["backup", ..]) => {
            let hint = "nothing was changed; to replace an older backup of the same ledger";
            (hint.to_owned(), with("--force"))
        }
        (LedgerError::SideFile { .. }, ["restore", ..]) => {
            let hint = "it is what is left of a ledger that is not there; to put it aside";
            (hint.to_owned(), with("--replace"))
        }
        (LedgerError::Missing { .. } | LedgerError::SideFile { .. }, _) if error.is_log_alone() => {
            said(
                "keep the log, it may be of use to somebody who finds the file; a backup is put in \
                 its place with scalectl restore --from FILE --replace --reason TEXT",
            )
        }
        (LedgerError::Gone { .. }, _) => said(
            "give it its name back there; where it is lost for good, restore a backup of it, or \
             open the old one again with scalectl restore --in-place --unseal",
        ),
        (LedgerError::OtherLedger { path, .. }, ["ledger", "copy"])
            if path.to_string_lossy().starts_with("postgres://") =>
        {
            said(
                "name another schema (?schema=NAME); or have the owner move what is there away: \
                 ALTER SCHEMA, as in docs/recipes/backup.md under \"Restore to PostgreSQL\"",
            )
        }
        _ => return None,
    })
}
