//! What a command answers for a key that it meets in a state: the one table of it (design, ruling
//! 13.5).
//!
//! Owns the section of `docs/exit-codes.md`. `tests/standing.rs` produces every state, runs every
//! command on it, and holds the exit code and the effect on the target against this table.

use std::fmt::Write as _;

/// The commands, in the order of the columns.
pub const COMMANDS: [&str; 9] = [
    "intent put",
    "lease acquire",
    "actuate",
    "observe",
    "replay",
    "settle --not-applied",
    "intent withdraw",
    "intent abandon",
    "scale",
];

/// The states, and the exit code of each command.
pub const ROWS: [(&str, [u8; 9]); 24] = [
    ("accepted", [0, 0, 0, 10, 19, 10, 0, 10, 0]),
    ("accepted, behind another", [0, 19, 19, 10, 19, 10, 0, 10, 19]),
    ("started, call alive", [0, 0, 11, 11, 11, 11, 11, 11, 11]),
    ("started, call dead", [0, 16, 16, 16, 0, 0, 16, 16, 0]),
    ("recovery_pending, nobody can tell", [0, 16, 16, 16, 16, 0, 16, 16, 16]),
    ("recovery_pending, halt", [0, 16, 16, 16, 16, 0, 16, 16, 16]),
    ("failed, before retry_at", [0, 0, 18, 18, 18, 18, 10, 0, 18]),
    ("failed, after retry_at", [0, 0, 0, 18, 0, 18, 10, 0, 0]),
    ("failed, target changed", [0, 0, 0, 18, 0, 18, 23, 0, 0]),
    ("succeeded", [0, 0, 0, 0, 0, 10, 10, 10, 0]),
    ("observed", [0, 0, 0, 0, 0, 10, 10, 10, 0]),
    ("verified, converged", [0, 0, 0, 0, 0, 10, 10, 10, 0]),
    ("verified, converged, a newer intent holds", [0, 0, 0, 23, 0, 10, 10, 10, 23]),
    ("verified, converged, the target differs now", [0, 0, 0, 23, 0, 10, 10, 10, 23]),
    ("verified, failed: terminal", [0, 17, 17, 17, 17, 17, 10, 10, 17]),
    ("verified, failed: terminal, target changed", [0, 23, 23, 23, 23, 23, 23, 23, 23]),
    ("verified, failed: exhausted", [0, 17, 17, 17, 17, 17, 10, 10, 17]),
    ("verified, failed: mismatch", [0, 23, 23, 23, 23, 23, 23, 23, 23]),
    ("verified, failed: abandoned", [0, 17, 17, 17, 17, 17, 10, 0, 17]),
    ("verified, simulated, as put", [0, 0, 0, 0, 0, 0, 10, 10, 10]),
    ("verified, simulated by actuate --simulate", [10, 0, 10, 0, 0, 0, 10, 10, 10]),
    ("withdrawn", [0, 10, 10, 10, 10, 10, 0, 10, 10]),
    ("superseded, never started", [0, 10, 10, 10, 10, 10, 10, 10, 10]),
    ("superseded, unconfirmed", [0, 10, 10, 10, 10, 10, 10, 10, 10]),
];

const INTRODUCTION: &str = "
## What a command answers for a key in each state

Every cell is produced and run by `tests/standing.rs`, on an actuator whose readings agree with what
it was told. `intent put` and `scale` are the same line again, under the same key. `started, call
dead` is a call whose command and process group are gone, on an actuator that can be asked what
became of it. `withdraw` and `abandon` answer 0 only where that is what stands: they never take a
success for their own.

";

/// The section of the page.
pub(super) fn markdown(rows: &[(&str, [u8; 9])]) -> String {
    let mut page = INTRODUCTION.to_owned();
    page.push_str("| state |");
    for command in COMMANDS {
        write!(page, " `{command}` |").expect("BUG: a String takes every text");
    }
    page.push_str("\n| --- |");
    page.push_str(&" ---: |".repeat(COMMANDS.len()));
    page.push('\n');
    for (state, exits) in rows {
        write!(page, "| {state} |").expect("BUG: a String takes every text");
        for exit in exits {
            write!(page, " {exit} |").expect("BUG: a String takes every text");
        }
        page.push('\n');
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::exit::Exit;

    #[test]
    fn every_exit_of_a_standing_is_a_row_of_the_exit_table() {
        let known = Exit::ALL.map(Exit::code);
        for (state, exits) in ROWS {
            assert!(exits.iter().all(|exit| known.contains(exit)), "{state}: {exits:?}");
        }
    }
}
