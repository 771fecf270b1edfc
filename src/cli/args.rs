//! Words of a line that several verbs take apart in the same way.

use super::fault::Fault;
use super::problem::Problem;
use crate::domain::scale::service::LASTS_MAX;
use crate::domain::time::{DurationMs, InvalidDuration, Timestamp};

/// A whole number in digits. A sign would look like a relative count, and there are none.
pub(super) fn whole_number(text: &str) -> Result<u64, String> {
    let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_plain {
        return Err("a whole number in digits; counts are absolute".to_owned());
    }
    text.parse().map_err(|_| "a number that is too large".to_owned())
}

/// A duration of a flag that has a longest one.
pub(super) fn up_to(max: DurationMs, text: &str) -> Result<DurationMs, String> {
    let duration: DurationMs = text.parse().map_err(|error: InvalidDuration| error.to_string())?;
    if duration > max {
        return Err(format!("at most {max}"));
    }
    Ok(duration)
}

/// What of a service lasts a day at most.
pub(super) fn day(text: &str) -> Result<DurationMs, String> {
    up_to(LASTS_MAX, text)
}

/// How long a line may wait for what it is about: a month is for ever.
pub(super) fn wait(text: &str) -> Result<DurationMs, String> {
    up_to(DurationMs::from_secs(31 * 86_400), text)
}

/// When something ends: an instant, or how long from now, at most a month ahead.
pub(super) fn until(word: &str, now: Timestamp) -> Result<Timestamp, Fault> {
    let refuse = |why: String| {
        Fault::from(
            Problem::usage("invalid_time", format!("--until {word}: {why}"))
                .hint("write how long, such as 2h, or when, such as 2026-01-01T12:00:00Z"),
        )
    };
    let instant = match (word.parse::<Timestamp>(), word.parse::<DurationMs>()) {
        (Ok(instant), _) => instant,
        (Err(_), Ok(duration)) => now.plus(duration),
        // Digits with a - between them were meant for a date.
        (Err(instant), Err(_)) if looks_like_a_date(word) => {
            return Err(refuse(instant.to_string()));
        }
        (Err(_), Err(duration)) if word.starts_with(|c: char| c.is_ascii_digit()) => {
            return Err(refuse(duration.to_string()));
        }
        (Err(_), Err(_)) => return Err(refuse("that is neither how long nor when".to_owned())),
    };
    if instant <= now {
        return Err(refuse("that is over".to_owned()));
    }
    if instant > now.plus(UNTIL_MAX) {
        return Err(refuse(format!("that is more than {UNTIL_MAX} from now")));
    }
    Ok(instant)
}

fn looks_like_a_date(word: &str) -> bool {
    let mut letters = word.chars();
    letters.by_ref().take(4).filter(char::is_ascii_digit).count() == 4
        && letters.next() == Some('-')
}

/// The furthest end that a person may set: a month. What lasts longer is a setting.
const UNTIL_MAX: DurationMs = DurationMs::from_secs(31 * 86_400);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_that_is_none_is_told_for_what_it_was_meant() {
        let now = "2026-01-01T00:00:00Z".parse().expect("an instant");
        let said = |word: &str| match until(word, now) {
            Err(Fault::Problem(problem)) => problem.message,
            other => panic!("{word}: {other:?}"),
        };
        assert!(
            said("2026-13-01T00:00:00Z").contains("instant"),
            "{}",
            said("2026-13-01T00:00:00Z")
        );
        for word in ["tomorrow", "", "noon", "-2h"] {
            assert_eq!(said(word), format!("--until {word}: that is neither how long nor when"));
        }
        assert!(said("60").contains("60 what?"), "{}", said("60"));
        assert!(said("2026-01-13").contains("instant"), "{}", said("2026-01-13"));
        assert_eq!(said("2025-12-31T00:00:00Z"), "--until 2025-12-31T00:00:00Z: that is over");
    }

    #[test]
    fn a_number_is_digits_alone() {
        assert_eq!(whole_number("0"), Ok(0));
        assert_eq!(whole_number("007"), Ok(7));
        for bad in ["", "+2", "-2", " 2", "2 ", "2.0", "0x2", "1e3", "٣", "18446744073709551616"] {
            assert!(whole_number(bad).is_err(), "{bad:?}");
        }
    }
}
