//! Exit codes: one row per number, and the only place where a class becomes a number.
//!
//! Owns the promise about the target that each number makes, and `docs/exit-codes.md`, which is
//! generated from here. Never decides which row an answer gets. A number once released keeps its
//! meaning for ever, because scripts branch on it.

pub mod standing;

use std::fmt::Write as _;
use std::process::ExitCode;

use super::output::Applied;
use crate::domain::scale::rejection::Class;

/// How a command ends: a row of the exit table (design, section 10).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Exit {
    /// 0: as said.
    Ok,
    /// 1: a fault of this tool.
    Internal,
    /// 2: the line or the document is wrong.
    Usage,
    /// 10: what was believed is not so.
    Conflict,
    /// 11: somebody else is at it, or one may not.
    Held,
    /// 12: policy says no.
    Denied,
    /// 13: a colleague must agree.
    ApprovalRequired,
    /// 14: too soon after the last change.
    Cooldown,
    /// 15: there is no room.
    Capacity,
    /// 16: nobody knows whether the target changed.
    Unknown,
    /// 17: it failed for good.
    Failed,
    /// 18: it failed, and may be tried again.
    RetryLater,
    /// 19: as wished so far.
    NotYet,
    /// 20: locked or unreachable.
    Unavailable,
    /// 21: the ledger cannot be used as it is.
    LedgerUnusable,
    /// 22: somebody else owns the count.
    ExternalOwner,
    /// 23: the target is not as wished.
    Diverged,
    /// 24: there is no such thing.
    NotFound,
    /// 25: a fact could not be read or proved.
    FactUnknown,
    /// 26: something needs a person.
    Attention,
    /// 129: the terminal went away (SIGHUP).
    HungUp,
    /// 130: Ctrl-C (SIGINT).
    Interrupted,
    /// 143: asked to end (SIGTERM).
    Terminated,
}

/// What an exit promises of the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Promise {
    AsSaid,
    SeeApplied,
    Untouched,
    UntouchedByYou,
    UntouchedAndRecorded,
    MayHaveChanged,
    Unchanged,
    UnchangedOrSeeApplied,
    AsWishedSoFar,
    Differs,
    AsRecorded,
}

impl Promise {
    /// The words of the page, in Markdown.
    const fn text(self) -> &'static str {
        match self {
            Self::AsSaid => "as said",
            Self::SeeApplied => "see `applied`",
            Self::Untouched => "untouched",
            Self::UntouchedByYou => "untouched by you",
            Self::UntouchedAndRecorded => "untouched, recorded",
            Self::MayHaveChanged => "**may have changed**",
            Self::Unchanged => "unchanged",
            Self::UnchangedOrSeeApplied => "unchanged, or see `applied`",
            Self::AsWishedSoFar => "as wished so far",
            Self::Differs => "differs from the wish",
            Self::AsRecorded => "as recorded",
        }
    }

    /// Whether it is broken where the command, or an earlier call of its key, has done something.
    const fn is_untouched(self) -> bool {
        match self {
            Self::Untouched | Self::UntouchedByYou | Self::UntouchedAndRecorded => true,
            Self::AsSaid
            | Self::SeeApplied
            | Self::MayHaveChanged
            | Self::Unchanged
            | Self::UnchangedOrSeeApplied
            | Self::AsWishedSoFar
            | Self::Differs
            | Self::AsRecorded => false,
        }
    }
}

struct Row {
    code: u8,
    word: &'static str,
    promise: Promise,
    advice: &'static str,
}

const fn row(code: u8, word: &'static str, promise: Promise, advice: &'static str) -> Row {
    Row { code, word, promise, advice }
}

impl Exit {
    /// Every row, in the order of the numbers.
    pub const ALL: [Self; 23] = [
        Self::Ok,
        Self::Internal,
        Self::Usage,
        Self::Conflict,
        Self::Held,
        Self::Denied,
        Self::ApprovalRequired,
        Self::Cooldown,
        Self::Capacity,
        Self::Unknown,
        Self::Failed,
        Self::RetryLater,
        Self::NotYet,
        Self::Unavailable,
        Self::LedgerUnusable,
        Self::ExternalOwner,
        Self::Diverged,
        Self::NotFound,
        Self::FactUnknown,
        Self::Attention,
        Self::HungUp,
        Self::Interrupted,
        Self::Terminated,
    ];

    const fn row(self) -> Row {
        match self {
            Self::Ok => row(0, "ok", Promise::AsSaid, "go on"),
            Self::Internal => row(1, "internal", Promise::SeeApplied, "report it"),
            Self::Usage => row(
                2,
                "usage",
                Promise::Untouched,
                "fix the line or the document; out of bounds, too",
            ),
            Self::Conflict => {
                row(10, "conflict", Promise::Untouched, "read again, decide again; never loop")
            }
            Self::Held => row(
                11,
                "held",
                Promise::UntouchedByYou,
                "same line later; after `not_writer` or `fence_lost`: stop",
            ),
            Self::Denied => row(12, "denied", Promise::Untouched, "a person"),
            Self::ApprovalRequired => row(
                13,
                "approval_required",
                Promise::UntouchedAndRecorded,
                "a colleague, then the same line",
            ),
            Self::Cooldown => row(14, "cooldown", Promise::Untouched, "same line later"),
            Self::Capacity => row(15, "capacity", Promise::Untouched, "another wish"),
            Self::Unknown => {
                row(16, "unknown", Promise::MayHaveChanged, "`scalectl replay`; never a new key")
            }
            Self::Failed => row(17, "failed", Promise::Unchanged, "a person"),
            Self::RetryLater => {
                row(18, "retry_later", Promise::UnchangedOrSeeApplied, "same line later")
            }
            Self::NotYet => row(19, "not_yet", Promise::AsWishedSoFar, "same line"),
            Self::Unavailable => {
                row(20, "unavailable", Promise::Untouched, "locked or unreachable: same line later")
            }
            Self::LedgerUnusable => {
                row(21, "ledger_unusable", Promise::Untouched, "`scalectl verify`")
            }
            Self::ExternalOwner => row(22, "external_owner", Promise::Untouched, "the owner"),
            Self::Diverged => row(23, "diverged", Promise::Differs, "`scalectl explain`"),
            Self::NotFound => {
                row(24, "not_found", Promise::Untouched, "fix the name or the ledger")
            }
            Self::FactUnknown => row(
                25,
                "fact_unknown",
                Promise::Untouched,
                "a fact could not be read or proved: same line once it can",
            ),
            Self::Attention => row(26, "attention", Promise::AsRecorded, "a person"),
            Self::HungUp => row(129, "interrupted", Promise::SeeApplied, "`scalectl replay`"),
            Self::Interrupted => row(130, "interrupted", Promise::SeeApplied, "`scalectl replay`"),
            Self::Terminated => row(143, "interrupted", Promise::SeeApplied, "`scalectl replay`"),
        }
    }

    /// The number that the shell sees.
    pub const fn code(self) -> u8 {
        self.row().code
    }

    /// The word in tables and texts.
    pub const fn word(self) -> &'static str {
        self.row().word
    }

    /// What holds for the target, in Markdown.
    pub const fn target(self) -> &'static str {
        self.row().promise.text()
    }

    /// The exit of a command that ends so after it has done this to the target: a row that promises
    /// an untouched target is never answered where it was touched.
    #[must_use]
    pub fn after(self, applied: Applied) -> Self {
        match applied {
            Applied::Yes if self == Self::Unavailable => Self::NotYet,
            Applied::Yes | Applied::Partial if self.row().promise.is_untouched() => Self::Diverged,
            Applied::Unknown if self.row().promise.is_untouched() => Self::Unknown,
            Applied::No | Applied::Yes | Applied::Partial | Applied::Unknown => self,
        }
    }

    /// What to do next, in Markdown.
    pub const fn advice(self) -> &'static str {
        self.row().advice
    }
}

impl From<Class> for Exit {
    fn from(class: Class) -> Self {
        match class {
            Class::Usage => Self::Usage,
            Class::Conflict => Self::Conflict,
            Class::Held => Self::Held,
            Class::Denied => Self::Denied,
            Class::ApprovalRequired => Self::ApprovalRequired,
            Class::Cooldown => Self::Cooldown,
            Class::Unknown => Self::Unknown,
            Class::Failed => Self::Failed,
            Class::RetryLater => Self::RetryLater,
            Class::NotYet => Self::NotYet,
            Class::ExternalOwner => Self::ExternalOwner,
            Class::Diverged => Self::Diverged,
            Class::NotFound => Self::NotFound,
            Class::Capacity => Self::Capacity,
            Class::FactUnknown => Self::FactUnknown,
            Class::Attention => Self::Attention,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

const INTRODUCTION: &str = "\
# Exit codes

Generated from `src/cli/exit.rs`; a test holds this page equal to it.

The column *the target* is a promise. `applied` is a member of the JSON answer and a line of every
error text: `no`, `yes`, `partial` or `unknown`.

*Untouched* is said of this line: it has called nobody, and no earlier call of the same key is
unknown or half done. Where one is, the exit is 16 or 23 whatever the line itself failed by, and
`applied` says `unknown` or `partial`; only 2, 11, 12, 21, and 10 where the key names another wish
already (`key_conflict`), are about the line alone. A wish that was carried out and then superseded
is 10: what holds is the newer one. A wish that waits for its turn, or that `replay` does not start,
is 19 with an untouched target.

`recorded` says whether the ledger changed: an intent, a reading, a setting. The row that keeps a
refusal for whoever looks later does not count.

";

const SCRIPTS: &str = "
In scripts: `set -o pipefail`, or `scalectl … | tee log` answers with the exit code of `tee`. The
codes 11, 14, 18, 19, 20 and 25 are worth the same line again, and `retry_after_ms` says when it is
known. No other code gets better by repeating alone. After 16 a new key could scale twice:
`scalectl replay` finds out what became of the old one.

A wait ends with its `--timeout`, and a few seconds later where it is just then asking: an actuator
has 5 s to answer then, a server 3 s for each question, also for the first connection and for a
COMMIT (`commit_unknown`, 16, where that has not answered); what a call came to is recorded all the
same, with the usual patience. A call that the wait has come to is made.

Where the answer itself cannot be written (a full disk behind stdout), the work is done: stderr says
what was done, with `applied` (`answer_not_written`). A success is then 20 where the target was not
touched and 19 where it was; every other exit stays.
";

/// The text of `docs/exit-codes.md`.
pub fn exit_codes_markdown() -> String {
    let mut page = INTRODUCTION.to_owned();
    page.push_str("| exit | word | the target | what to do |\n| --- | --- | --- | --- |\n");
    for exit in Exit::ALL {
        let Row { code, word, promise, advice } = exit.row();
        writeln!(page, "| {code} | {word} | {} | {advice} |", promise.text())
            .expect("BUG: a String takes every text");
    }
    page.push_str(SCRIPTS);
    page.push_str(&standing::markdown(&standing::ROWS));
    page
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn numbers_and_words_are_unique_and_sorted() {
        let codes: Vec<u8> = Exit::ALL.map(Exit::code).to_vec();
        assert!(codes.is_sorted(), "{codes:?}");
        assert_eq!(codes.iter().collect::<BTreeSet<_>>().len(), Exit::ALL.len());
        // The three signals share their word.
        let words = Exit::ALL.map(Exit::word);
        assert_eq!(words.iter().collect::<BTreeSet<_>>().len(), codes.len() - 2);
        assert_eq!(codes[3..20], (10..=26).collect::<Vec<u8>>());
    }

    #[test]
    fn no_exit_denies_what_was_done_to_the_target() {
        for exit in Exit::ALL {
            let promises = exit.target().starts_with("untouched");
            // What could not be asked any more contradicts no success.
            let after_success = match exit {
                Exit::Unavailable => Exit::NotYet,
                _ if promises => Exit::Diverged,
                _ => exit,
            };
            for (applied, told) in [
                (Applied::No, exit),
                (Applied::Yes, after_success),
                (Applied::Partial, if promises { Exit::Diverged } else { exit }),
                (Applied::Unknown, if promises { Exit::Unknown } else { exit }),
            ] {
                assert_eq!(exit.after(applied), told, "{exit:?} {applied:?}");
            }
        }
    }

    #[test]
    fn the_page_of_exit_codes_is_the_generated_one() {
        let committed = include_str!("../../docs/exit-codes.md");
        crate::cli::problem::hold_committed(
            "docs/exit-codes.md",
            committed,
            &exit_codes_markdown(),
        );
    }
}
