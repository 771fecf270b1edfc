//! The tables of users and groups, `/etc/passwd` and `/etc/group`, which other programs write.
//!
//! Owns who somebody is called. A line that cannot be read hides no other line.

use super::app::Environment;
use crate::domain::scale::provenance::Claim;

/// Who runs this, as the operating system knows; a test may say it.
#[cfg_attr(
    not(feature = "testing"),
    expect(unused_variables, reason = "only a test's environment names another")
)]
pub(super) fn this_user(environment: &Environment) -> (String, u32) {
    #[cfg(feature = "testing")]
    if let Some((name, uid)) =
        environment.text("SCALECTL_TEST_USER").and_then(|word| word.split_once(':'))
        && let Ok(uid) = uid.parse()
    {
        return (name.to_owned(), uid);
    }
    let uid = rustix::process::getuid().as_raw();
    (os_user(uid), uid)
}

/// The name of a user id on this host; the number where there is none.
pub(super) fn os_user(uid: u32) -> String {
    let table = std::fs::read("/etc/passwd").unwrap_or_default();
    name_of(&table, uid).map_or_else(|| format!("uid-{uid}"), str::to_owned)
}

/// The first name of a user id in a table of passwd(5), whatever else stands there: other texts
/// need not be UTF-8. A name that nobody could claim, a comment and a line of NIS are none.
pub fn name_of(table: &[u8], uid: u32) -> Option<&str> {
    table.split(|byte| *byte == b'\n').find_map(|line| {
        let mut fields = line.split(|byte| *byte == b':');
        let name = std::str::from_utf8(fields.next()?).ok()?;
        let id: u32 = std::str::from_utf8(fields.nth(1)?).ok()?.parse().ok()?;
        let is_name =
            !name.starts_with(['#', '+', '-']) && Claim::try_from(name.to_owned()).is_ok();
        (id == uid && is_name).then_some(name)
    })
}

/// The number of a group on this host.
pub(super) fn number_of_group(name: &str) -> Option<u32> {
    group_of(&std::fs::read("/etc/group").unwrap_or_default(), name)
}

/// The number of the first group of that name in a table of group(5), whatever else stands there.
pub fn group_of(table: &[u8], name: &str) -> Option<u32> {
    table.split(|byte| *byte == b'\n').find_map(|line| {
        let mut fields = line.split(|byte| *byte == b':');
        if fields.next()? != name.as_bytes() {
            return None;
        }
        std::str::from_utf8(fields.nth(1)?).ok()?.parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_cannot_be_read_hides_no_other() {
        let table = b"r\xe9n\xe9:x:1:1:R\xe9n\xe9:/:/bin/sh\nann:x:1000:1000:Andr\xe9:/:/bin/sh\n\
                      nobody\n#old:x:7:7::/:\n+@all:x:8::::\n:x:9:9::/:\nbob:x:7:7::/:/bin/sh";
        for (uid, name) in
            [(1, None), (1000, Some("ann")), (7, Some("bob")), (8, None), (9, None), (2, None)]
        {
            assert_eq!(name_of(table, uid), name, "{uid}");
        }
    }

    #[test]
    fn a_group_is_found_behind_lines_that_cannot_be_read() {
        let table = b"caf\xe9:x:5:\nops:x::\nops:x:1001:ann,bob\nops:x:7:\n";
        assert_eq!(group_of(table, "ops"), Some(1001));
        assert_eq!((group_of(table, "op"), group_of(table, "x")), (None, None));
    }
}
