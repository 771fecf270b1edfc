//! Tables for people: aligned, two spaces between columns, `-` for none.
//!
//! Owns the layout and the few colours. Never wraps and never leaves spaces at the end of a line;
//! cuts only a column that allows it, and only on a terminal that is too narrow. Every cell is
//! escaped here, so that nothing foreign can move the cursor or fake a row. A colour is never the
//! only sign: it repeats what a word or a mark of the same cell says.

use std::fmt;
use std::io::IsTerminal;

use unicode_width::UnicodeWidthStr;

use super::escape::escape;

/// The narrowest that a column is cut to.
const SHRUNK_WIDTH_MIN: usize = 8;
const GAP: usize = 2;

/// What the reader's screen can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Look {
    width: Option<usize>,
    colour: bool,
    moves: bool,
}

impl Look {
    /// A pipe or a file: no colour, no cut.
    pub const PLAIN: Self = Self { width: None, colour: false, moves: false };

    /// Decides from the facts. `no_color` and `term` are the environment's `NO_COLOR` and `TERM`:
    /// an empty `NO_COLOR` counts as absent (no-color.org), an absent `TERM` as `dumb`.
    pub fn new(
        is_terminal: bool,
        width: Option<usize>,
        no_color: Option<&str>,
        term: Option<&str>,
    ) -> Self {
        let may_colour = no_color.is_none_or(str::is_empty) && term.is_some_and(|t| t != "dumb");
        Self {
            width: width.filter(|width| is_terminal && *width > 0),
            colour: is_terminal && may_colour,
            moves: is_terminal && term.is_some_and(|term| term != "dumb"),
        }
    }

    /// Whether the cursor can be moved: on a terminal that is not `dumb`.
    pub const fn can_move(&self) -> bool {
        self.moves
    }

    /// How wide the screen is; none where there is none.
    pub const fn width(&self) -> Option<usize> {
        self.width
    }

    /// As [`Look::new`], after asking the standard output whether it is a terminal and how wide.
    pub fn of_stdout(no_color: Option<&str>, term: Option<&str>) -> Self {
        let stdout = std::io::stdout();
        let width = rustix::termios::tcgetwinsize(&stdout).ok().map(|size| size.ws_col.into());
        Self::new(stdout.is_terminal(), width, no_color, term)
    }
}

/// What a cell says, for the eye.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tone {
    /// Nothing special.
    #[default]
    Plain,
    /// As wished.
    Good,
    /// Under way, or worth a look.
    Warn,
    /// Needs a person.
    Bad,
}

impl Tone {
    const fn sgr(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Good => Some("32"),
            Self::Warn => Some("33"),
            Self::Bad => Some("31"),
        }
    }
}

/// One cell: a text, and beside it an optional mark such as `!`, which is kept out of alignment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cell {
    text: String,
    mark: &'static str,
    tone: Tone,
}

impl Cell {
    /// A cell with a text; an empty one is shown as `-`.
    pub fn new(text: impl fmt::Display) -> Self {
        let text = text.to_string();
        let text = if text.is_empty() { "-".to_owned() } else { escape(&text).into_owned() };
        Self { text, mark: "", tone: Tone::Plain }
    }

    /// The text of a value, or `-` for none.
    pub fn maybe(value: Option<impl fmt::Display>) -> Self {
        value.map_or_else(Self::none, Self::new)
    }

    /// `-`.
    pub fn none() -> Self {
        Self::new("")
    }

    /// With a mark behind the text.
    #[must_use]
    pub fn mark(self, mark: &'static str) -> Self {
        Self { mark, ..self }
    }

    /// With a tone.
    #[must_use]
    pub fn tone(self, tone: Tone) -> Self {
        Self { tone, ..self }
    }
}

/// One column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    header: &'static str,
    right: bool,
    shrinks: bool,
}

impl Column {
    /// A column of words. The header is given in upper case.
    pub const fn left(header: &'static str) -> Self {
        Self { header, right: false, shrinks: false }
    }

    /// A column of numbers.
    pub const fn right(header: &'static str) -> Self {
        Self { header, right: true, shrinks: false }
    }

    /// The column may be cut where the terminal is too narrow.
    #[must_use]
    pub const fn shrinks(self) -> Self {
        Self { shrinks: true, ..self }
    }
}

/// A table under construction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    /// A table without rows.
    pub fn new(columns: impl Into<Vec<Column>>) -> Self {
        Self { columns: columns.into(), rows: Vec::new() }
    }

    /// Adds a row. Missing cells are `-`; there are never more cells than columns.
    pub fn row(&mut self, cells: impl Into<Vec<Cell>>) {
        let mut cells = cells.into();
        cells.resize_with(self.columns.len(), Cell::none);
        self.rows.push(cells);
    }

    /// Whether it has no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The lines of the table, each with its line feed.
    pub fn render(&self, look: &Look) -> String {
        let marks: Vec<usize> = (0..self.columns.len()).map(|at| self.mark_width(at)).collect();
        let widths = self.widths(&marks, look.width);
        let header = |column: &Column| Cell { text: column.header.to_owned(), ..Cell::default() };
        let headers: Vec<Cell> = self.columns.iter().map(header).collect();
        let mut out = String::new();
        for row in std::iter::once(&headers).chain(&self.rows) {
            let start = out.len();
            for (at, (column, cell)) in self.columns.iter().zip(row).enumerate() {
                if at > 0 {
                    out.push_str(&" ".repeat(GAP));
                }
                push_cell(&mut out, column.right, cell, widths[at], marks[at], look.colour);
            }
            out.truncate(start + out[start..].trim_end_matches(' ').len());
            out.push('\n');
        }
        out
    }

    /// How much room the marks of a column take, the space before them included.
    fn mark_width(&self, at: usize) -> usize {
        let widest = self.rows.iter().map(|row| row[at].mark.width()).max().unwrap_or(0);
        if widest == 0 { 0 } else { widest + 1 }
    }

    /// The widths of the texts, after the columns that may shrink have made room.
    fn widths(&self, marks: &[usize], screen: Option<usize>) -> Vec<usize> {
        let natural = |(at, column): (usize, &Column)| {
            let cells = self.rows.iter().map(|row| row[at].text.width());
            cells.chain([column.header.width()]).max().unwrap_or(0)
        };
        let mut widths: Vec<usize> = self.columns.iter().enumerate().map(natural).collect();
        let gaps = GAP * self.columns.len().saturating_sub(1);
        let total = widths.iter().sum::<usize>() + marks.iter().sum::<usize>() + gaps;
        let mut excess = screen.map_or(0, |screen| total.saturating_sub(screen));
        for (width, _) in widths.iter_mut().zip(&self.columns).filter(|(_, c)| c.shrinks) {
            let given = excess.min(width.saturating_sub(SHRUNK_WIDTH_MIN));
            *width -= given;
            excess -= given;
        }
        widths
    }
}

fn push_cell(out: &mut String, right: bool, cell: &Cell, width: usize, mark: usize, colour: bool) {
    let text = cut(&cell.text, width);
    let padding = " ".repeat(width.saturating_sub(text.width()));
    if right {
        out.push_str(&padding);
    }
    let suffix = if cell.mark.is_empty() { String::new() } else { format!(" {}", cell.mark) };
    match cell.tone.sgr().filter(|_| colour) {
        Some(sgr) => out.extend(["\u{1b}[", sgr, "m", &text, &suffix, "\u{1b}[0m"]),
        None => out.extend([&*text, &suffix]),
    }
    out.push_str(&" ".repeat(mark.saturating_sub(suffix.width())));
    if !right {
        out.push_str(&padding);
    }
}

/// The longest start of a text that fits, with `…` where something is left out.
pub(super) fn cut(text: &str, width: usize) -> std::borrow::Cow<'_, str> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn status() -> Table {
        let mut table = Table::new([
            Column::left("SERVICE"),
            Column::right("WANT"),
            Column::right("READ"),
            Column::left("TARGET").shrinks(),
            Column::left("OUTCOME"),
        ]);
        table.row([
            Cell::new("web"),
            Cell::new(3),
            Cell::new(13).mark("!").tone(Tone::Bad),
            Cell::new("shop/deployment/web"),
            Cell::maybe(None::<&str>),
        ]);
        table.row([
            Cell::new("größe"),
            Cell::new(12),
            Cell::maybe(Some(4)),
            Cell::new("日本語/デプロイ/ウェブ"),
            Cell::new("converged").tone(Tone::Good),
        ]);
        table
    }

    #[test]
    fn a_piped_table_is_aligned_and_whole() {
        let plain = "\
SERVICE  WANT  READ    TARGET                  OUTCOME
web         3    13 !  shop/deployment/web     -
größe      12     4    日本語/デプロイ/ウェブ  converged
";
        assert_eq!(status().render(&Look::PLAIN), plain);
        let piped = Look::new(false, Some(20), None, Some("xterm"));
        assert_eq!(status().render(&piped), plain);
    }

    #[test]
    fn a_narrow_terminal_cuts_only_what_may_be_cut() {
        let narrow = Look::new(true, Some(49), None, Some("dumb"));
        assert_eq!(
            status().render(&narrow),
            "\
SERVICE  WANT  READ    TARGET           OUTCOME
web         3    13 !  shop/deploymen…  -
größe      12     4    日本語/デプロ…   converged
"
        );
        let tiny = Look::new(true, Some(5), None, None);
        assert!(status().render(&tiny).contains("  shop/de…  -\n"));
        let wide = Look::new(true, Some(200), Some("1"), Some("xterm"));
        assert_eq!(status().render(&wide), status().render(&Look::PLAIN));
    }

    #[test]
    fn colour_needs_a_terminal_that_wants_it() {
        for (is_terminal, no_color, term, coloured) in [
            (true, None, Some("xterm"), true),
            (true, Some(""), Some("xterm"), true),
            (true, Some("1"), Some("xterm"), false),
            (true, None, Some("dumb"), false),
            (true, None, None, false),
            (false, None, Some("xterm"), false),
        ] {
            let look = Look::new(is_terminal, None, no_color, term);
            let text = status().render(&look);
            assert_eq!(text.contains('\u{1b}'), coloured, "{look:?}");
            let bare = text.replace("\u{1b}[31m", "").replace("\u{1b}[32m", "");
            assert_eq!(bare.replace("\u{1b}[0m", ""), status().render(&Look::PLAIN));
        }
    }

    #[test]
    fn a_cell_cannot_fake_a_row() {
        let mut table = Table::new([Column::left("REASON"), Column::left("BY")]);
        table.row([Cell::new("x\nweb  5  \u{1b}[2J")]);
        assert_eq!(
            table.render(&Look::PLAIN),
            "REASON                BY\nx\\nweb  5  \\u{1b}[2J  -\n"
        );
    }
}
