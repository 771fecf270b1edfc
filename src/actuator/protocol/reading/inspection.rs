//! The bounds of a reading: about the place that was asked for, and with few, short names.

use super::{AnswerError, LIST_ITEMS_MAX, are_names, is_short_text, wrong_target};
use crate::actuator::protocol::PartialTarget;
use crate::actuator::protocol::answer::Inspection;
use crate::domain::scale::owners::TakeAway;

/// The most lines that take one owner away.
const LINES_MAX: usize = 8;
/// The most words of one such line.
const LINE_WORDS_MAX: usize = 32;

pub(super) fn check_inspection(
    found: &Inspection,
    asked: &PartialTarget,
) -> Result<(), AnswerError> {
    if !asked.is_place_of(&found.target) {
        return Err(wrong_target(&found.target));
    }
    for (list, problem) in [
        (&found.owners, "owners are at most 64 short names"),
        (&found.managers, "managers are at most 64 short names"),
        (&found.owners_unread, "owners_unread are at most 64 short names"),
    ] {
        if !are_names(list) {
            return Err(AnswerError::Bounds { problem });
        }
    }
    let is_line = |line: &Vec<String>| {
        (1..=LINE_WORDS_MAX).contains(&line.len()) && line.iter().all(|word| is_short_text(word))
    };
    let is_told = |one: &TakeAway| {
        is_short_text(&one.owner) && one.lines.len() <= LINES_MAX && one.lines.iter().all(is_line)
    };
    if found.take_away.len() > LIST_ITEMS_MAX || !found.take_away.iter().all(is_told) {
        let problem = "take_away is at most 64 owners, each with 8 lines of 1 to 32 short words";
        return Err(AnswerError::Bounds { problem });
    }
    Ok(())
}
