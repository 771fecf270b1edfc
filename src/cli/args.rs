//! Words of a line that several verbs take apart in the same way.

use clap::ArgMatches;
use clap::parser::ValueSource;

/// A whole number in digits. A sign would look like a relative count, and there are none.
pub(super) fn whole_number(text: &str) -> Result<u64, String> {
    let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_plain {
        return Err("a whole number in digits; counts are absolute".to_owned());
    }
    text.parse().map_err(|_| "a number that is too large".to_owned())
}

/// Whether a line says nothing that only a new wish can have: it may then go on with an older one.
pub(super) fn may_resume(matches: &ArgMatches) -> bool {
    ["valid_for", "queue", "supersede"]
        .iter()
        .all(|flag| matches.value_source(flag) != Some(ValueSource::CommandLine))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_digits_alone() {
        assert_eq!(whole_number("0"), Ok(0));
        assert_eq!(whole_number("007"), Ok(7));
        for bad in ["", "+2", "-2", " 2", "2 ", "2.0", "0x2", "1e3", "٣", "18446744073709551616"] {
            assert!(whole_number(bad).is_err(), "{bad:?}");
        }
    }
}
