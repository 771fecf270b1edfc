//! Errors and warnings on a narrow terminal: sentences go on below where they began, and a line to
//! paste is never broken.

use std::io::IsTerminal as _;

use unicode_width::UnicodeWidthStr as _;

use crate::cli::table::{width_of, wrapped};

/// Where the lines to paste begin.
const COMMAND: &str = "        ";
/// Where the values of facts begin, behind their labels.
const FACT: usize = 12;
const HINT: &str = "hint: ";
/// Narrower than that a sentence is left to the terminal.
const WIDTH_MIN: usize = 40;

/// How wide the screen is that shows stderr; none where there is none.
pub(super) fn width() -> Option<usize> {
    let stderr = std::io::stderr();
    width_of(&stderr).filter(|width| stderr.is_terminal() && *width >= WIDTH_MIN)
}

/// A text of stderr whose sentences break between words.
pub(super) fn narrowed(text: &str, width: Option<usize>) -> String {
    let Some(width) = width else { return text.to_owned() };
    text.lines().flat_map(|line| [fitted(line, width), "\n".to_owned()]).collect()
}

fn fitted(line: &str, width: usize) -> String {
    if line.width() <= width || line.starts_with(COMMAND) {
        return line.to_owned();
    }
    let begin = if line.starts_with(HINT) {
        HINT.len()
    } else if line.starts_with("  ") && line.is_char_boundary(FACT) {
        FACT
    } else {
        0
    };
    let indent = begin.max(2);
    let (head, sentence) = line.split_at(begin);
    let lines = wrapped(sentence, width.saturating_sub(indent));
    head.to_owned() + &lines.join(&format!("\n{}", " ".repeat(indent)))
}

#[cfg(test)]
mod tests {
    use super::narrowed;

    const TEXT: &str = "\
error[key_conflict]: key release-418 belongs to web@1 with another payload
  reason    release 418 stored, release 419 submitted
hint: a new wish needs a new key; the stored one is shown by:
        scalectl intent show web@1 --a-flag-that-is-long
";

    #[test]
    fn a_sentence_goes_on_below_and_a_command_is_whole() {
        assert_eq!(narrowed(TEXT, None), TEXT);
        assert_eq!(narrowed(TEXT, Some(80)), TEXT);
        assert_eq!(
            narrowed(TEXT, Some(42)),
            "\
error[key_conflict]: key release-418
  belongs to web@1 with another payload
  reason    release 418 stored, release
            419 submitted
hint: a new wish needs a new key; the
      stored one is shown by:
        scalectl intent show web@1 --a-flag-that-is-long
"
        );
    }
}
