//! A span of time in the words of a line: `--on`, `--since`, `--until`, `--zone`.

use clap::Args;

use super::fault::Fault;
use super::problem::Problem;
use super::zone::Zone;
use crate::domain::time::{DurationMs, Timestamp};

/// The flags.
#[derive(Args)]
pub(super) struct SpanArgs {
    /// Only of this day: YYYY-MM-DD, today or yesterday
    #[arg(long, value_name = "DATE", conflicts_with_all = ["since", "until"])]
    on: Option<String>,
    /// Only from here on: RFC 3339, a date, or how long ago, such as 3h
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Only before this; a date is when it begins
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// The zone of dates, and of the times that are shown: UTC, local, +02:00, Europe/Berlin
    #[arg(long, value_name = "ZONE", default_value = "UTC")]
    zone: String,
}

/// What they come to.
#[derive(Debug, Clone)]
pub(super) struct Span {
    /// From this instant on.
    pub(super) since: Option<Timestamp>,
    /// Before this instant.
    pub(super) until: Option<Timestamp>,
    /// Whether it is one day of the zone.
    pub(super) is_day: bool,
    /// The zone.
    pub(super) zone: Zone,
}

impl SpanArgs {
    /// Reads the words. `now` is the ledger's clock.
    pub(super) fn read(&self, now: Timestamp) -> Result<Span, Fault> {
        let zone = Zone::parse(&self.zone).map_err(|why| {
            Problem::usage("invalid_zone", format!("--zone {:?}: {why}", self.zone))
                .hint("times are in UTC without it; a zone is named as in --zone Europe/Berlin")
        })?;
        if let Some(word) = &self.on {
            let day = match word.as_str() {
                "today" => zone.day_of(now, 0),
                "yesterday" => zone.day_of(now, 1),
                word => zone.day(word),
            };
            let (since, until) = day.ok_or_else(|| {
                Problem::usage("invalid_time", format!("--on {word:?}: that is no date"))
                    .hint("write it as YYYY-MM-DD, such as 2026-11-24, or today, or yesterday")
            })?;
            return Ok(Span { since: Some(since), until: Some(until), is_day: true, zone });
        }
        let instant = |flag: &str, word: &Option<String>| match word {
            Some(word) => instant(flag, word, now, &zone).map(Some),
            None => Ok(None),
        };
        let since = instant("--since", &self.since)?;
        let until = instant("--until", &self.until)?;
        if let (Some(from), Some(to)) = (since, until)
            && to <= from
        {
            let text = format!("--until {to} is not after --since {from}");
            return Err(Problem::usage("invalid_time", text)
                .hint("the span is from --since on, and before --until")
                .into());
        }
        Ok(Span { since, until, is_day: false, zone })
    }
}

/// An instant, the begin of a date in the zone, or how long ago.
fn instant(flag: &str, word: &str, now: Timestamp, zone: &Zone) -> Result<Timestamp, Fault> {
    if let Ok(ago) = word.parse::<DurationMs>() {
        return Ok(now.minus(ago));
    }
    if let Some((begins, _)) = zone.day(word) {
        return Ok(begins);
    }
    word.parse().map_err(|_| {
        let text = format!("{flag} {word:?} is no instant (RFC 3339), no date and no duration");
        Problem::usage("invalid_time", text)
            .hint("write an instant (2026-01-05T10:00:00Z), a date, or how long ago (3h)")
            .into()
    })
}

impl Span {
    /// The span in words, for a header: `Tuesday 2026-11-24 UTC`.
    pub(super) fn said(&self) -> String {
        let zone = self.zone.name();
        match (self.since, self.until) {
            (Some(since), Some(_)) if self.is_day => {
                format!("{} {zone}", self.zone.weekday(since))
            }
            (Some(since), Some(until)) => {
                format!("{} to {} {zone}", self.shown(since), self.shown(until))
            }
            (Some(since), None) => format!("since {} {zone}", self.shown(since)),
            (None, Some(until)) => format!("until {} {zone}", self.shown(until)),
            (None, None) => format!("times in {zone}"),
        }
    }

    fn shown(&self, at: Timestamp) -> String {
        self.zone.date_minute(at)
    }

    /// An instant in a table under that header.
    pub(super) fn stamp(&self, at: Timestamp) -> String {
        if self.is_day { self.zone.time(at) } else { self.zone.instant(at) }
    }
}
