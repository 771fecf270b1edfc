//! The two axes that both drawings share: where an instant lies, and which counts are named.

use crate::cli::span::Span;
use crate::cli::zone::Zone;
use crate::domain::id::Replicas;
use crate::domain::scale::timeline::{Level, Timeline};
use crate::domain::time::{DurationMs, Timestamp};

const MINUTE: u64 = 60_000;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// How far apart two ticks may be, in milliseconds.
const STEPS: [u64; 20] = [
    1000,
    5000,
    15_000,
    MINUTE,
    2 * MINUTE,
    5 * MINUTE,
    10 * MINUTE,
    30 * MINUTE,
    HOUR,
    2 * HOUR,
    3 * HOUR,
    6 * HOUR,
    12 * HOUR,
    DAY,
    2 * DAY,
    7 * DAY,
    14 * DAY,
    30 * DAY,
    91 * DAY,
    365 * DAY,
];

/// The span that is drawn.
#[derive(Debug, Clone)]
pub(super) struct Axis {
    pub(super) since: Timestamp,
    pub(super) until: Timestamp,
    pub(super) zone: Zone,
    now: Timestamp,
}

impl Axis {
    pub(super) fn of(span: &Span, since: Timestamp, until: Timestamp, now: Timestamp) -> Self {
        Self { since, until, zone: span.zone.clone(), now }
    }

    /// Up to when anything is known: nothing is drawn after now.
    pub(super) fn end(&self) -> Timestamp {
        self.until.min(self.now.max(self.since))
    }

    /// Where an instant lies, from 0 at the begin to 1 at the end.
    #[expect(clippy::cast_precision_loss, reason = "it is a place in a drawing")]
    pub(super) fn place(&self, at: Timestamp) -> f64 {
        let (from, to) = (self.since.as_micros(), self.until.as_micros());
        let whole = (to - from).max(1) as f64;
        ((at.as_micros() - from) as f64 / whole).clamp(0.0, 1.0)
    }

    /// Whether an instant is drawn.
    pub(super) fn has(&self, at: Timestamp) -> bool {
        at >= self.since && at < self.until
    }

    /// At most so many instants that are worth a word, and the word: an hour, a minute, or a day.
    pub(super) fn ticks(&self, count_max: usize) -> Vec<(Timestamp, String)> {
        let length = self.until.since(self.since).as_millis();
        let count_max = u64::try_from(count_max.max(1)).unwrap_or(1);
        let step = STEPS.iter().copied().find(|step| length / step < count_max);
        let step = step.unwrap_or_else(|| length / count_max + 1);
        let begin = self.zone.day_of(self.since, 0).map_or(self.since, |(begin, _)| begin);
        let mut ticks = Vec::new();
        let mut number = self.since.since(begin).as_millis() / step;
        loop {
            let at = self.tick(begin, number, step);
            if at >= self.until {
                return ticks;
            }
            if at >= self.since {
                let word = match step {
                    ..MINUTE => self.zone.second(at),
                    MINUTE..DAY => self.zone.minute(at),
                    _ => self.zone.month_day(at),
                };
                ticks.push((at, word));
            }
            number += 1;
        }
    }

    /// Days of a zone are not all as long: from a day on, a tick is a midnight.
    fn tick(&self, begin: Timestamp, number: u64, step: u64) -> Timestamp {
        let at = begin.plus(DurationMs::from_millis(number.saturating_mul(step)));
        if step < DAY {
            return at;
        }
        let noon = at.plus(DurationMs::from_millis(DAY / 2));
        self.zone.day_of(noon, 0).map_or(at, |(begin, _)| begin)
    }
}

/// The counts that occur, 0 among them, the smallest first.
pub(super) fn counts(timeline: &Timeline) -> Vec<u64> {
    let of = |level: &Level| level.replicas.map(Replicas::get);
    let levels = timeline.wished.iter().chain(&timeline.read).filter_map(of);
    let read = timeline.differs.iter().filter_map(|it| it.replicas.map(Replicas::get));
    let mut counts: Vec<u64> = levels.chain(read).chain([0]).collect();
    counts.sort_unstable();
    counts.dedup();
    counts
}

/// Whole numbers from 0 to at least `most`, in steps that people count in; at most so many.
pub(super) fn round_counts(most: u64, count_max: u64) -> Vec<u64> {
    let mut step = 1_u64;
    let mut factors = [2_u64, 5, 10].iter().cycle();
    let mut decade = 1_u64;
    while most / step >= count_max {
        let factor = *factors.next().unwrap_or(&10);
        step = decade.saturating_mul(factor);
        if factor == 10 {
            decade = step;
        }
    }
    let mut counts: Vec<u64> = (0..=most / step).map(|number| number * step).collect();
    if counts.last().is_some_and(|last| *last < most) {
        counts.extend(counts.last().and_then(|last| last.checked_add(step)));
    }
    counts
}

/// The level that holds at an instant.
pub(super) fn at(levels: &[Level], at: Timestamp) -> Option<u64> {
    let last = levels.iter().rev().find(|level| level.at <= at)?;
    last.replicas.map(Replicas::get)
}
