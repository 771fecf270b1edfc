//! Zones: how an instant is shown to people, and from when to when a date lasts.
//!
//! Owns the words of `--zone`. Rules of zones are those of the system; where it has none, those
//! that were built in. What a machine reads is in UTC, always.

use jiff::civil::Date;
use jiff::tz::{Offset, TimeZone};

use crate::domain::time::Timestamp;

/// A zone, and how it is named.
#[derive(Debug, Clone)]
pub(super) struct Zone {
    zone: TimeZone,
    name: String,
}

/// What is said of a word that names none.
const WORDS: &str = "it is UTC, local, an offset such as +02:00, or a name such as Europe/Berlin";

impl Zone {
    /// Of a word: `UTC`, `local`, an offset or a name of the zone database.
    pub(super) fn parse(word: &str) -> Result<Self, String> {
        if ["utc", "z"].contains(&word.to_ascii_lowercase().as_str()) {
            return Ok(Self { zone: TimeZone::UTC, name: "UTC".to_owned() });
        }
        if word == "local" {
            let zone = TimeZone::try_system().map_err(|_| "this host tells no zone".to_owned())?;
            let name = zone.iana_name().unwrap_or("local").to_owned();
            return Ok(Self { zone, name });
        }
        if let Some(seconds) = offset(word) {
            let fixed = Offset::from_seconds(seconds).map_err(|_| WORDS.to_owned())?;
            return Ok(Self { zone: TimeZone::fixed(fixed), name: word.to_owned() });
        }
        // The database would take a path, and a name without regard to case.
        let is_name = |c: char| c.is_ascii_alphanumeric() || "/_+-".contains(c);
        let is_one =
            word.starts_with(|c: char| c.is_ascii_alphabetic()) && word.chars().all(is_name);
        let zone = is_one.then(|| TimeZone::get(word).ok()).flatten();
        let zone = zone.ok_or_else(|| WORDS.to_owned())?;
        let name = zone.iana_name().unwrap_or(word).to_owned();
        Ok(Self { zone, name })
    }

    /// As people name it.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// From when to when a date of the form `YYYY-MM-DD` lasts; none where the word is no date.
    pub(super) fn day(&self, word: &str) -> Option<(Timestamp, Timestamp)> {
        let is_plain = word.len() == 10 && word.bytes().all(|it| it.is_ascii_digit() || it == b'-');
        let date: Date = is_plain.then(|| word.parse().ok()).flatten()?;
        Some((self.midnight(date)?, self.midnight(date.tomorrow().ok()?)?))
    }

    /// The day that an instant is in, or so many days before it.
    pub(super) fn day_of(&self, at: Timestamp, before: u8) -> Option<(Timestamp, Timestamp)> {
        let mut date = self.zoned(at)?.date();
        for _ in 0..before {
            date = date.yesterday().ok()?;
        }
        Some((self.midnight(date)?, self.midnight(date.tomorrow().ok()?)?))
    }

    fn midnight(&self, date: Date) -> Option<Timestamp> {
        let begins = date.to_zoned_datetime(self.zone.clone()).ok()?;
        Timestamp::from_micros(begins.timestamp().as_microsecond())
    }

    fn zoned(&self, at: Timestamp) -> Option<jiff::ZonedDateTime> {
        let instant = jiff::Timestamp::from_microsecond(at.as_micros()).ok()?;
        Some(instant.to_zoned_datetime(self.zone.clone()))
    }

    fn said(&self, at: Timestamp, form: &str) -> String {
        self.zoned(at).map_or_else(|| at.to_string(), |zoned| zoned.strftime(form).to_string())
    }

    /// `2026-11-24T09:14:02.113Z`, or with the offset of the zone; whole seconds without a
    /// fraction.
    pub(super) fn instant(&self, at: Timestamp) -> String {
        let offset = if self.name == "UTC" { "Z" } else { "%:z" };
        self.said(at, &format!("%Y-%m-%dT%H:%M:%S{}{offset}", fraction(at)))
    }

    /// `09:14:02.113`: the time of the day alone, as long for every instant.
    pub(super) fn time(&self, at: Timestamp) -> String {
        self.said(at, if at.as_micros() % 1000 == 0 { "%H:%M:%S.%3f" } else { "%H:%M:%S.%6f" })
    }

    /// `09:14`.
    pub(super) fn minute(&self, at: Timestamp) -> String {
        self.said(at, "%H:%M")
    }

    /// `09:14:02`.
    pub(super) fn second(&self, at: Timestamp) -> String {
        self.said(at, "%H:%M:%S")
    }

    /// `2026-11-24 09:14`.
    pub(super) fn date_minute(&self, at: Timestamp) -> String {
        self.said(at, "%Y-%m-%d %H:%M")
    }

    /// `11-24`: the day in its year.
    pub(super) fn month_day(&self, at: Timestamp) -> String {
        self.said(at, "%m-%d")
    }

    /// `Tuesday 2026-11-24`.
    pub(super) fn weekday(&self, at: Timestamp) -> String {
        self.said(at, "%A %Y-%m-%d")
    }
}

/// As many digits of a second as an instant has: none, three or six.
fn fraction(at: Timestamp) -> &'static str {
    let micros = at.as_micros();
    match (micros % 1_000_000 == 0, micros % 1000 == 0) {
        (true, _) => "",
        (false, true) => ".%3f",
        (false, false) => ".%6f",
    }
}

/// The seconds of `+02:00`, `-0530` or `+02`.
fn offset(word: &str) -> Option<i32> {
    let sign = match word.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let digits = word[1..].replace(':', "");
    let is_plain = digits.bytes().all(|it| it.is_ascii_digit()) && matches!(digits.len(), 2 | 4);
    let number: i32 = is_plain.then(|| format!("{digits:0<4}").parse().ok()).flatten()?;
    let (hours, minutes) = (number / 100, number % 100);
    (hours < 24 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().expect("an instant")
    }

    #[test]
    fn a_date_lasts_as_long_as_its_zone_says() {
        for (zone, date, from, until) in [
            ("UTC", "2026-11-24", "2026-11-24T00:00:00Z", "2026-11-25T00:00:00Z"),
            ("+02:00", "2026-11-24", "2026-11-23T22:00:00Z", "2026-11-24T22:00:00Z"),
            ("-0530", "2026-11-24", "2026-11-24T05:30:00Z", "2026-11-25T05:30:00Z"),
            // 23 and 25 hours.
            ("Europe/Berlin", "2026-03-29", "2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z"),
            ("Europe/Berlin", "2026-10-25", "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"),
            // There was no midnight on this day.
            ("America/Sao_Paulo", "2018-11-04", "2018-11-04T03:00:00Z", "2018-11-05T02:00:00Z"),
        ] {
            let zone = Zone::parse(zone).expect("a zone");
            assert_eq!(zone.day(date), Some((at(from), at(until))), "{date} {}", zone.name());
        }
        let utc = Zone::parse("utc").expect("a zone");
        for bad in ["2026-13-01", "2026-02-30", "20261124", "2026-1-01", "tomorrow", "", "-"] {
            assert_eq!(utc.day(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn an_instant_is_shown_with_its_zone() {
        let (whole, millis) = (at("2026-11-24T09:14:02Z"), at("2026-11-24T23:14:02.113Z"));
        for (zone, name, shown, time, day) in [
            ("UTC", "UTC", "2026-11-24T23:14:02.113Z", "23:14:02.113", "Tuesday 2026-11-24"),
            (
                "europe/berlin",
                "Europe/Berlin",
                "2026-11-25T00:14:02.113+01:00",
                "00:14:02.113",
                "Wednesday 2026-11-25",
            ),
            (
                "+0530",
                "+0530",
                "2026-11-25T04:44:02.113+05:30",
                "04:44:02.113",
                "Wednesday 2026-11-25",
            ),
        ] {
            let zone = Zone::parse(zone).expect("a zone");
            assert_eq!(zone.name(), name);
            assert_eq!(zone.instant(millis), shown);
            assert_eq!((zone.time(millis), zone.weekday(millis)), (time.into(), day.into()));
        }
        let utc = Zone::parse("Z").expect("a zone");
        assert_eq!(utc.instant(whole), "2026-11-24T09:14:02Z");
        assert_eq!(utc.time(whole), "09:14:02.000");
    }

    #[test]
    fn what_names_no_zone_is_refused() {
        for bad in [
            "",
            "+",
            "+2",
            "+24:00",
            "+02:60",
            "+0a:00",
            "Mars/Base",
            "/etc/passwd",
            "../../etc/x",
            "Europe/Berlin\0",
            "posix/../x",
            "EST5EDT,M3.2.0,M11.1.0",
        ] {
            assert!(Zone::parse(bad).is_err(), "{bad:?}");
        }
    }
}
