//! The chart at a terminal: a row for each count, a column for each piece of time.
//!
//! Owns the letters. Every line fits the width, and with `--ascii` every letter is ASCII.

use super::axis::{Axis, at, counts, round_counts};
use crate::domain::id::Replicas;
use crate::domain::scale::timeline::{Stretch, Timeline};
use crate::domain::time::{DurationMs, Timestamp};

/// More counts than that do not get a row each.
const ROWS_MAX: usize = 9;
/// The narrowest and the widest chart, in columns.
pub(super) const WIDTH_MIN: usize = 40;
/// The same.
pub(super) const WIDTH_MAX: usize = 400;

/// What is drawn with.
pub(super) struct Letters {
    flat: char,
    upright: char,
    /// A fall begins, a fall ends, a rise begins, a rise ends.
    corners: [char; 4],
    differs: char,
    tick: char,
    origin: char,
    beam: char,
    notch: char,
    intent: char,
}

const BOXES: Letters = Letters {
    flat: '─',
    upright: '│',
    corners: ['┐', '└', '┘', '┌'],
    differs: '░',
    tick: '┤',
    origin: '└',
    beam: '─',
    notch: '┬',
    intent: '▲',
};
const ASCII: Letters = Letters {
    flat: '-',
    upright: '|',
    corners: ['+', '+', '+', '+'],
    differs: ':',
    tick: '|',
    origin: '+',
    beam: '-',
    notch: '+',
    intent: '^',
};

/// A mark below the axis: where, how loud, and with which number.
struct Mark {
    column: usize,
    letter: char,
    number: String,
}

struct Chart<'a> {
    axis: &'a Axis,
    timeline: &'a Timeline,
    letters: &'static Letters,
    columns: usize,
    rows: Vec<u64>,
}

/// What the letters mean, in lines that fit.
pub(super) fn legend(width: usize, ascii: bool) -> Vec<String> {
    let letters = if ascii { &ASCII } else { &BOXES };
    let words = [
        format!("{} wished", letters.flat),
        format!("{} read differs", letters.differs),
        "? unknown".to_owned(),
        "x refused".to_owned(),
        "! broken glass".to_owned(),
    ];
    let mut lines: Vec<String> = Vec::new();
    for word in words {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 3 + word.chars().count() <= width => {
                line.extend(["   ", &word]);
            }
            Some(_) | None => lines.push(word),
        }
    }
    lines
}

/// The lines of the chart.
pub(super) fn lines(timeline: &Timeline, axis: &Axis, width: usize, ascii: bool) -> Vec<String> {
    let counts = counts(timeline);
    let most = counts.last().copied().unwrap_or(0);
    let rows = if counts.len() <= ROWS_MAX { counts } else { round_counts(most, 8) };
    let label = rows.iter().map(|row| row.to_string().len()).max().unwrap_or(1);
    let columns = width.clamp(WIDTH_MIN, WIDTH_MAX) - label - 3;
    let letters = if ascii { &ASCII } else { &BOXES };
    let chart = Chart { axis, timeline, letters, columns, rows };
    let grid = chart.grid();
    let mut lines = Vec::new();
    for (number, row) in chart.rows.iter().enumerate().rev() {
        let drawn: String = grid[number].iter().collect();
        lines.push(format!(" {row:>label$} {}{drawn}", letters.tick));
    }
    let ticks = axis.ticks(columns / 8);
    let mut beam = vec![letters.beam; columns];
    let mut words = vec![' '; columns];
    for (instant, word) in &ticks {
        let column = chart.column(*instant);
        beam[column] = letters.notch;
        write(&mut words, column, word);
    }
    let beam: String = beam.iter().collect();
    lines.push(format!(" {:>label$} {}{beam}", "", letters.origin));
    lines.push(format!(" {:>label$}  {}", "", words.iter().collect::<String>()));
    lines.push(format!(" {:>label$}  {}", "", chart.marks()));
    lines.into_iter().map(|line| line.trim_end().to_owned()).collect()
}

/// Writes a word from a column on; what does not fit is left out whole.
fn write(into: &mut [char], from: usize, word: &str) {
    let length = word.chars().count();
    if from + length <= into.len() && into[from..from + length].iter().all(|it| *it == ' ') {
        into[from..from + length].iter_mut().zip(word.chars()).for_each(|(to, it)| *to = it);
    }
}

impl Chart<'_> {
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is a place in a drawing, and bounded"
    )]
    fn column(&self, instant: Timestamp) -> usize {
        let place = self.axis.place(instant) * self.columns as f64;
        (place as usize).min(self.columns - 1)
    }

    /// When a column begins.
    fn begins(&self, column: usize) -> Timestamp {
        let whole = self.axis.until.since(self.axis.since).as_millis();
        let part = u128::from(whole) * column as u128 / self.columns as u128;
        self.axis.since.plus(DurationMs::from_millis(u64::try_from(part).unwrap_or(whole)))
    }

    /// The row of a count: its own, or the highest below it.
    fn row(&self, count: u64) -> usize {
        self.rows.iter().rposition(|row| *row <= count).unwrap_or(0)
    }

    fn grid(&self) -> Vec<Vec<char>> {
        let mut grid = vec![vec![' '; self.columns]; self.rows.len()];
        for column in 0..self.columns {
            self.draw_wished(&mut grid, column);
        }
        for stretch in &self.timeline.differs {
            if let Some(count) = stretch.replicas {
                self.fill(&mut grid, stretch, self.letters.differs, |_| Some(count.get()));
            }
        }
        for stretch in &self.timeline.unknown {
            self.fill(&mut grid, stretch, '?', |chart_at| at(&self.timeline.wished, chart_at));
        }
        grid
    }

    /// The line of what is wished in one column: flat, or from where it was to where it is.
    fn draw_wished(&self, grid: &mut [Vec<char>], column: usize) {
        let levels = &self.timeline.wished;
        let (from, to) = (self.begins(column), self.begins(column + 1));
        if from > self.axis.end() {
            return;
        }
        let before = from.minus(DurationMs::from_millis(1)).max(self.axis.since);
        let before = if column == 0 { from } else { before };
        let (first, last) = (at(levels, before), at(levels, to.minus(DurationMs::from_millis(1))));
        let within = levels.iter().filter(|level| level.at >= from && level.at < to);
        let within = within.filter_map(|level| level.replicas.map(Replicas::get));
        let all: Vec<usize> =
            first.into_iter().chain(within).chain(last).map(|count| self.row(count)).collect();
        let (Some(low), Some(high)) = (all.iter().min(), all.iter().max()) else { return };
        for row in grid.iter_mut().take(*high + 1).skip(*low) {
            row[column] = if low == high { self.letters.flat } else { self.letters.upright };
        }
        if low == high {
            return;
        }
        let [falls, fell, rises, risen] = self.letters.corners;
        let (first, last) = (first.map(|it| self.row(it)), last.map(|it| self.row(it)));
        if let Some(first) = first {
            grid[first][column] = match first {
                first if first == *high => falls,
                first if first == *low => rises,
                _ => self.letters.tick,
            };
        }
        if let Some(last) = last.filter(|last| Some(*last) != first) {
            grid[last][column] = match last {
                last if last == *low => fell,
                last if last == *high => risen,
                _ => self.letters.tick,
            };
        }
    }

    fn fill(
        &self,
        grid: &mut [Vec<char>],
        stretch: &Stretch,
        letter: char,
        count: impl Fn(Timestamp) -> Option<u64>,
    ) {
        let until = stretch.until.unwrap_or_else(|| self.axis.end());
        if until <= self.axis.since || stretch.from >= self.axis.until {
            return;
        }
        let last = self.column(until.minus(DurationMs::from_millis(1)).max(stretch.from));
        let first = self.column(stretch.from);
        for column in first..=last {
            let instant = self.begins(column + 1).min(until.max(stretch.from));
            let row = count(instant.minus(DurationMs::from_millis(1))).map(|it| self.row(it));
            if let Some(cell) = row.and_then(|row| grid.get_mut(row)?.get_mut(column)) {
                *cell = letter;
            }
        }
    }

    /// The line of marks: what is loudest wins its column, and a number stands where there is room.
    fn marks(&self) -> String {
        let mut marks: Vec<Mark> = Vec::new();
        let mut push = |instant: Timestamp, letter: char, number: String| {
            if self.axis.has(instant) {
                marks.push(Mark { column: self.column(instant), letter, number });
            }
        };
        for story in &self.timeline.intents {
            let letter = if story.authorization_id.is_some() { '!' } else { self.letters.intent };
            push(story.at, letter, story.intent_revision.to_string());
        }
        for refused in &self.timeline.refusals {
            push(refused.at, 'x', String::new());
        }
        for glass in &self.timeline.broken_glass {
            push(glass.at, '!', String::new());
        }
        let loudness = |letter: char| match letter {
            '!' => 2,
            'x' => 1,
            _ => 0,
        };
        let mut line = vec![' '; self.columns];
        marks.sort_by_key(|mark| (mark.column, loudness(mark.letter), mark.number.len()));
        for mark in &marks {
            line[mark.column] = mark.letter;
        }
        for mark in &marks {
            if line[mark.column] != mark.letter {
                continue;
            }
            let end = mark.column + 1 + mark.number.len();
            // With a gap, so that it is never read as part of what follows.
            if line.get(end).is_none_or(|it| *it == ' ') {
                write(&mut line, mark.column + 1, &mark.number);
            }
        }
        line.into_iter().collect()
    }
}
