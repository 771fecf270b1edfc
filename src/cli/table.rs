//! Tables for people: aligned, two spaces between columns, `-` for none.
//!
//! Owns the layout and the few colours. Never leaves spaces at the end of a line. Only on a
//! terminal that is too narrow it wraps sentences between words, cuts a column that allows it, and
//! puts what then still has no room below its row; a command to paste is never broken. Every cell
//! is escaped here, so that nothing foreign can move the cursor or fake a row. A colour is never
//! the only sign: it repeats what a word or a mark of the same cell says.

use std::fmt;
use std::io::IsTerminal;
use std::os::fd::AsFd;

use unicode_width::UnicodeWidthStr;

use super::escape::escape;
use fit::{Strip, strips};

pub(super) use fit::{cut, wrapped};

mod fit;

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
        Self::new(stdout.is_terminal(), width_of(&stdout), no_color, term)
    }
}

/// How many columns the screen behind a stream has; none where there is no screen.
pub(super) fn width_of(stream: impl AsFd) -> Option<usize> {
    rustix::termios::tcgetwinsize(stream).ok().map(|size| size.ws_col.into())
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

/// What becomes of a column where the terminal is too narrow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fit {
    Whole,
    Cut,
    CutBefore,
    Wrapped,
}

/// One column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    header: &'static str,
    right: bool,
    fit: Fit,
}

impl Column {
    /// A column of words. The header is given in upper case.
    pub const fn left(header: &'static str) -> Self {
        Self { header, right: false, fit: Fit::Whole }
    }

    /// A column of numbers.
    pub const fn right(header: &'static str) -> Self {
        Self { header, right: true, fit: Fit::Whole }
    }

    /// The column may be cut where the terminal is too narrow.
    #[must_use]
    pub const fn shrinks(self) -> Self {
        Self { fit: Fit::Cut, ..self }
    }

    /// The same of names whose end tells more than their beginning.
    #[must_use]
    pub const fn keeps_end(self) -> Self {
        Self { fit: Fit::CutBefore, ..self }
    }

    /// The column is of sentences, which go on in the next line where the terminal is too narrow.
    #[must_use]
    pub const fn wraps(self) -> Self {
        Self { fit: Fit::Wrapped, ..self }
    }
}

/// A table under construction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
    is_headed: bool,
    indent: usize,
}

impl Table {
    /// A table without rows.
    pub fn new(columns: impl Into<Vec<Column>>) -> Self {
        Self { columns: columns.into(), rows: Vec::new(), is_headed: true, indent: 0 }
    }

    /// A list below a heading: moved in, and without headers of its own.
    pub fn list(columns: impl Into<Vec<Column>>) -> Self {
        Self { is_headed: false, indent: GAP, ..Self::new(columns) }
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
        let natural: Vec<usize> = (0..self.columns.len()).map(|at| self.text_width(at)).collect();
        let screen = look.width.map(|width| width.saturating_sub(self.indent));
        let mut strips = strips(&self.columns, &natural, &marks, screen);
        let is_empty =
            |strip: &Strip, row: &[Cell]| strip.columns.iter().all(|(at, _)| row[*at].text == "-");
        // What is said of no row has no header below the others either.
        let is_said = |strip: &Strip| self.rows.iter().any(|row| !is_empty(strip, row));
        strips.retain(|strip| strip.indent == 0 || is_said(strip));
        let header = |column: &Column| Cell { text: column.header.to_owned(), ..Cell::default() };
        let headers: Vec<Cell> = self.columns.iter().map(header).collect();
        let mut out = String::new();
        for row in self.is_headed.then_some(&headers).into_iter().chain(&self.rows) {
            for strip in strips.iter().filter(|strip| strip.indent == 0 || !is_empty(strip, row)) {
                self.push_strip(&mut out, strip, row, &marks, look.colour);
            }
        }
        out
    }

    /// The lines of a row in one strip: as many as its longest sentence has.
    fn push_strip(
        &self,
        out: &mut String,
        strip: &Strip,
        row: &[Cell],
        marks: &[usize],
        colour: bool,
    ) {
        let texts = strip.columns.iter().map(|(at, width)| match self.columns[*at].fit {
            Fit::Wrapped => wrapped(&row[*at].text, *width).into_iter().map(Into::into).collect(),
            Fit::Cut => vec![cut(&row[*at].text, *width)],
            Fit::CutBefore => vec![fit::end_of(&row[*at].text, *width)],
            Fit::Whole => vec![row[*at].text.as_str().into()],
        });
        let texts: Vec<Vec<std::borrow::Cow<'_, str>>> = texts.collect();
        for number in 0..texts.iter().map(Vec::len).max().unwrap_or(0) {
            let start = out.len();
            out.push_str(&" ".repeat(self.indent + strip.indent));
            for (place, ((at, width), texts)) in strip.columns.iter().zip(&texts).enumerate() {
                if place > 0 {
                    out.push_str(&" ".repeat(GAP));
                }
                let text = texts.get(number).map_or("", |text| text);
                let cell = &row[*at];
                let mark = if number == 0 { cell.mark } else { "" };
                let tone = cell.tone.sgr().filter(|_| colour && !text.is_empty());
                let right = self.columns[*at].right;
                push_cell(out, right, (text, mark), tone, (*width, marks[*at]));
            }
            out.truncate(start + out[start..].trim_end_matches(' ').len());
            out.push('\n');
        }
    }

    /// How much room the marks of a column take, the space before them included.
    fn mark_width(&self, at: usize) -> usize {
        let widest = self.rows.iter().map(|row| row[at].mark.width()).max().unwrap_or(0);
        if widest == 0 { 0 } else { widest + 1 }
    }

    /// How wide the texts of a column are, its header included.
    fn text_width(&self, at: usize) -> usize {
        let header = if self.is_headed { self.columns[at].header.width() } else { 0 };
        self.rows.iter().map(|row| row[at].text.width()).max().unwrap_or(0).max(header)
    }
}

/// A text and its mark, in the room for both.
fn push_cell(
    out: &mut String,
    right: bool,
    (text, mark): (&str, &str),
    sgr: Option<&str>,
    (text_width, mark_width): (usize, usize),
) {
    let padding = " ".repeat(text_width.saturating_sub(text.width()));
    if right {
        out.push_str(&padding);
    }
    let suffix = if mark.is_empty() { String::new() } else { format!(" {mark}") };
    match sgr {
        Some(sgr) => out.extend(["\u{1b}[", sgr, "m", text, &suffix, "\u{1b}[0m"]),
        None => out.extend([text, &suffix]),
    }
    out.push_str(&" ".repeat(mark_width.saturating_sub(suffix.width())));
    if !right {
        out.push_str(&padding);
    }
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
        assert!(status().render(&tiny).contains("\n    shop/de…\n"), "each below the one before");
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
