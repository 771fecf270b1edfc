//! How a table finds room on a screen: which columns stand in the row, which go below it, how wide
//! each is, and where a sentence breaks.

use std::borrow::Cow;

use unicode_width::UnicodeWidthStr;

use super::{Column, Fit, GAP};

/// The narrowest that a column is cut to.
const CUT_WIDTH_MIN: usize = 8;
/// The narrowest that a column of sentences is wrapped to, before it goes below its row.
const SENTENCE_WIDTH_MIN: usize = 28;
/// How far in is what goes below its row.
const BELOW: usize = 4;

/// One line of a row: how far in it begins, and its columns with their widths.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Strip {
    pub(super) indent: usize,
    pub(super) columns: Vec<(usize, usize)>,
}

/// The lines of which each row is made. `natural` are the widths of the widest cells, `marks` those
/// of the marks beside them.
pub(super) fn strips(
    columns: &[Column],
    natural: &[usize],
    marks: &[usize],
    screen: Option<usize>,
) -> Vec<Strip> {
    let least = |at: usize| match columns[at].fit {
        Fit::Whole => natural[at],
        Fit::Cut | Fit::CutBefore => natural[at].min(CUT_WIDTH_MIN),
        Fit::Wrapped => natural[at].min(SENTENCE_WIDTH_MIN),
    };
    let mut strips: Vec<Strip> = Vec::new();
    let mut used = 0;
    for at in 0..columns.len() {
        let more = GAP + least(at) + marks[at];
        let has_room = screen.is_none_or(|screen| used + more <= screen);
        if let Some(strip) = strips.last_mut().filter(|_| has_room) {
            used += more;
            strip.columns.push((at, natural[at]));
        } else {
            let indent = if strips.is_empty() { 0 } else { BELOW };
            used = indent + least(at) + marks[at];
            strips.push(Strip { indent, columns: vec![(at, natural[at])] });
        }
    }
    if let Some(screen) = screen {
        for strip in &mut strips {
            strip.shrink(columns, marks, &least, screen);
        }
    }
    strips
}

impl Strip {
    /// Makes room: the widest sentence first, then what may be cut, from the left.
    fn shrink(
        &mut self,
        columns: &[Column],
        marks: &[usize],
        least: &dyn Fn(usize) -> usize,
        screen: usize,
    ) {
        let widths = self.columns.iter().map(|(at, width)| width + marks[*at] + GAP);
        let mut excess = (self.indent + widths.sum::<usize>()).saturating_sub(GAP + screen);
        while excess > 0 {
            let sentences = self.columns.iter_mut();
            let sentences = sentences
                .filter(|(at, width)| columns[*at].fit == Fit::Wrapped && *width > least(*at));
            let Some((_, width)) = sentences.max_by_key(|(_, width)| *width) else { break };
            *width -= 1;
            excess -= 1;
        }
        for (at, width) in &mut self.columns {
            if matches!(columns[*at].fit, Fit::Cut | Fit::CutBefore) {
                let given = excess.min(width.saturating_sub(least(*at)));
                *width -= given;
                excess -= given;
            }
        }
    }
}

/// The longest start of a text that fits, with `…` where something is left out.
pub(in crate::cli) fn cut(text: &str, width: usize) -> Cow<'_, str> {
    if text.width() <= width {
        return text.into();
    }
    let mut end = 0;
    for (at, c) in text.char_indices() {
        if text[..at + c.len_utf8()].width() >= width {
            break;
        }
        end = at + c.len_utf8();
    }
    format!("{}…", &text[..end]).into()
}

/// The longest end of a text that fits, with `…` where something is left out.
pub(super) fn end_of(text: &str, width: usize) -> Cow<'_, str> {
    if text.width() <= width {
        return text.into();
    }
    let fits = |at: &usize| text[*at..].width() < width;
    let begin = text.char_indices().map(|(at, _)| at).find(fits).unwrap_or(text.len());
    format!("…{}", &text[begin..]).into()
}

/// A sentence in lines of such a width, broken between words; a word that is wider is left whole,
/// because it is a name, an address or a command that somebody copies.
pub(in crate::cli) fn wrapped(text: &str, width: usize) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut rest = text;
    while rest.width() > width {
        let mut end = None;
        for (at, _) in rest.match_indices(' ') {
            let line = rest[..at].trim_end_matches(' ');
            if line.is_empty() || (line.width() > width && end.is_some()) {
                continue;
            }
            end = Some(at);
            if line.width() >= width {
                break;
            }
        }
        let Some(end) = end else { break };
        lines.push(rest[..end].trim_end_matches(' '));
        rest = rest[end..].trim_start_matches(' ');
    }
    if !rest.is_empty() || lines.is_empty() {
        lines.push(rest);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_breaks_between_words_and_loses_none() {
        for (text, width, lines) in [
            ("", 5, &[""][..]),
            ("four", 4, &["four"]),
            ("one two three", 7, &["one two", "three"]),
            ("one two three", 8, &["one two", "three"]),
            ("one  two", 5, &["one", "two"]),
            ("a-very-long-name is whole", 6, &["a-very-long-name", "is", "whole"]),
            ("is a-very-long-name", 6, &["is", "a-very-long-name"]),
            ("日本 語デ プロ", 5, &["日本", "語デ", "プロ"]),
            (" at the start", 8, &[" at the", "start"]),
        ] {
            assert_eq!(wrapped(text, width), lines, "{text:?} in {width}");
        }
    }

    #[test]
    fn the_end_of_a_name_is_kept() {
        for (text, width, end) in
            [("a/b", 3, "a/b"), ("a/b/c", 4, "…b/c"), ("日本", 3, "…本"), ("日本", 2, "…")]
        {
            assert_eq!(end_of(text, width), end, "{text:?} in {width}");
        }
    }

    #[test]
    fn what_has_no_room_goes_below_its_row() {
        let columns = [Column::left("A"), Column::left("B").shrinks(), Column::left("C").wraps()];
        let of = |screen| {
            let strips = strips(&columns, &[10, 20, 60], &[0, 2, 0], Some(screen));
            strips.into_iter().map(|strip| strip.columns).collect::<Vec<_>>()
        };
        assert_eq!(of(96), [[(0, 10), (1, 20), (2, 60)]]);
        assert_eq!(of(70), [[(0, 10), (1, 20), (2, 34)]]);
        assert_eq!(of(55), [[(0, 10), (1, 11), (2, 28)]]);
        assert_eq!(of(52), [[(0, 10), (1, 8), (2, 28)]]);
        assert_eq!(of(51), [vec![(0, 10), (1, 20)], vec![(2, 47)]]);
        assert_eq!(of(20), [vec![(0, 10)], vec![(1, 14)], vec![(2, 28)]]);
        assert_eq!(strips(&[], &[], &[], Some(80)), []);
    }
}
