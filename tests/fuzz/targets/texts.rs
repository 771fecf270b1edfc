//! Short texts: instants, durations, identifiers, digests, chains, selectors.

use std::collections::BTreeMap;

use scalectl::actuator::host::whereabouts;
use scalectl::domain::digest::Digest;
use scalectl::domain::id::{ExecutionKey, HostKey};
use scalectl::domain::measure::Measure;
use scalectl::domain::scale::consent::Incident;
use scalectl::domain::scale::scaling::SignalWord;
use scalectl::domain::selector::Selector;
use scalectl::domain::time::{DurationMs, Timestamp};
use scalectl::ledger::Stream;
use scalectl::ops::ledger_signers::{SIGNERS_BYTES_MAX, check};

/// Every short text is read as one of these or as none; what is read says the same again.
pub fn texts(data: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(data) else { return false };
    let taken = [
        instant(text),
        duration(text),
        identifier(text),
        digest(text),
        stream(text),
        measure(text),
        words(text),
    ];
    taken.contains(&true)
}

/// A measured number is finite, and comes back bit by bit from what is stored of it.
fn measure(text: &str) -> bool {
    let Ok(read) = text.parse::<Measure>() else { return false };
    assert!(read.get().is_finite(), "{text:?}");
    assert!(read.get() != 0.0 || read.get().is_sign_positive(), "{text:?}");
    let stored = serde_json::to_string(&read).expect("a finite number is JSON");
    assert_eq!(serde_json::from_str::<Measure>(&stored).ok(), Some(read), "{stored}");
    true
}

/// A selector says the same again. Of services it takes the same whichever way it is written, and a
/// part that asks for a label and for its absence at once takes none.
pub fn selector(data: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(data) else { return false };
    let Ok(read) = text.parse::<Selector>() else { return false };
    let again = read.to_string();
    assert_eq!(again.parse().as_ref(), Ok(&read), "{text:?} came back as {again:?}");
    assert!(!again.chars().any(char::is_control), "{again:?}");
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let front = BTreeMap::from([pair("tier", "front"), pair("team", "shop")]);
    let bare = BTreeMap::new();
    for (labels, other) in [(&front, "!tier"), (&bare, "tier")] {
        let both: Selector = format!("{text},{other}").parse().expect("two selectors are one");
        assert!(!both.matches(labels), "{both}");
        let own = if other == "tier" { "!tier" } else { "tier" };
        let both: Selector = format!("{own},{text}").parse().expect("two selectors are one");
        assert_eq!(both.matches(labels), read.matches(labels), "{both}");
    }
    true
}

/// The words of a signal and of an incident are shown to people as they are.
fn words(text: &str) -> bool {
    let is_plain = !text.trim().is_empty() && !text.chars().any(char::is_control);
    let is_short = text.chars().count() <= 128;
    let (signal, incident) = (text.parse::<SignalWord>(), text.parse::<Incident>());
    assert_eq!((signal.is_ok(), incident.is_ok()), (is_plain && is_short, is_plain && is_short));
    incident.is_ok()
}

fn instant(text: &str) -> bool {
    let Ok(read) = text.parse::<Timestamp>() else { return false };
    let micros = micros_of(text).unwrap_or_else(|| panic!("{text:?} was taken as {read}"));
    assert_eq!(read.as_micros(), micros, "{text:?}");
    let again = read.to_string();
    assert_eq!(again.parse::<Timestamp>(), Ok(read), "{again}");
    assert!([20, 27].contains(&again.len()) && again.ends_with('Z'), "{again}");
    assert_eq!(read.plus(DurationMs::ZERO), read);
    assert!(read.minus(DurationMs::from_millis(u64::MAX)) <= read);
    assert!(read.plus(DurationMs::from_millis(u64::MAX)) >= read);
    assert!(read.truncated_to_millis() <= read);
    true
}

/// The same by hand: the days of the civil calendar, as in RFC 3339.
fn micros_of(text: &str) -> Option<i64> {
    let number = |from: usize, to: usize| text.get(from..to)?.parse::<i64>().ok();
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    let is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    let february = if is_leap { 29 } else { 28 };
    let lengths = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let month_at = usize::try_from(month - 1).ok()?;
    if !(1..=*lengths.get(month_at)?).contains(&day) || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let years = year - 1;
    let days = years * 365 + years / 4 - years / 100
        + years / 400
        + lengths[..month_at].iter().sum::<i64>()
        + day
        - 719_163;
    let mut rest = &text[19..];
    let mut fraction = 0;
    if let Some(digits) = rest.strip_prefix('.') {
        let length = digits.bytes().take_while(u8::is_ascii_digit).count();
        fraction = format!("{:0<6}", &digits[..length]).parse::<i64>().ok()?;
        rest = &digits[length..];
    }
    let offset = match rest {
        "Z" | "z" => 0,
        _ => {
            let sign = if rest.starts_with('-') { -1 } else { 1 };
            let (hours, minutes) = (rest.get(1..3)?.parse::<i64>(), rest.get(4..6)?.parse::<i64>());
            let (hours, minutes) = (hours.ok()?, minutes.ok()?);
            if hours > 23 || minutes > 59 {
                return None;
            }
            sign * (hours * 60 + minutes)
        }
    };
    let seconds = days * 86_400 + hour * 3600 + (minute - offset) * 60 + second;
    Some(seconds * 1_000_000 + fraction)
}

fn duration(text: &str) -> bool {
    let Ok(read) = text.parse::<DurationMs>() else { return false };
    let units = [("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];
    let said = units.into_iter().find_map(|(unit, millis)| {
        let number = text.strip_suffix(unit)?;
        let is_whole = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        is_whole.then(|| number.parse::<u128>().ok()?.checked_mul(millis)).flatten()
    });
    assert_eq!(said, Some(u128::from(read.as_millis())), "{text:?}");
    assert!(!read.to_string().is_empty());
    true
}

fn identifier(text: &str) -> bool {
    // A host key is never judged wrongly for its shape: who is not like us is elsewhere.
    if let (Ok(key), Ok(own)) = (text.parse::<HostKey>(), "m:b:1".parse::<HostKey>()) {
        let _ = whereabouts(&own, &key);
    }
    let Ok(read) = text.parse::<ExecutionKey>() else { return false };
    let kept = read.as_str();
    assert_eq!(kept, text.trim(), "only the white space around it is left out");
    assert!((1..=256).contains(&kept.len()));
    assert!(kept.starts_with(|first: char| first.is_ascii_alphanumeric()));
    assert!(kept.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._:/-".contains(&byte)));
    assert_eq!(kept.parse::<ExecutionKey>().as_ref(), Ok(&read));
    true
}

fn digest(text: &str) -> bool {
    let Ok(read) = text.parse::<Digest>() else { return false };
    assert_eq!(read.to_string(), text, "a digest has one text");
    assert_eq!(Digest::from_bytes(read.as_bytes()), Some(read));
    true
}

fn stream(text: &str) -> bool {
    let Ok(read) = text.parse::<Stream>() else { return false };
    assert_eq!(read.to_string(), text, "a stream has one text");
    true
}

/// A list of allowed signers: each line that is no comment has, behind a name, a type of key and
/// the beginning of every key, which is the length of its type in base 64.
pub fn allowed_signers(data: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(data) else { return false };
    if check(text).is_err() {
        return false;
    }
    assert!(text.len() <= SIGNERS_BYTES_MAX && !text.contains('\0'));
    for line in text.split('\n').map(str::trim) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let at = (2..words.len()).find(|at| {
            let kind = words[at - 1].trim_start_matches("sk-");
            words[*at].starts_with("AAAA")
                && (kind.starts_with("ssh-") || kind.starts_with("ecdsa-"))
        });
        assert!(line.is_empty() || line.starts_with('#') || at.is_some(), "{line:?}");
    }
    true
}
