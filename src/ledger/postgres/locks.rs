//! One advisory lock per chain: its number, and the statement that takes them in their order.

use crate::domain::digest::Digest;
use crate::ledger::sql::Lock;

/// One lock after the other, in the order of the list: `x` alone, `s` shared.
pub(super) const LOCKS: &str = "SELECT CASE WHEN l LIKE 'x%'
    THEN CAST(pg_advisory_xact_lock(CAST(substr(l, 2) AS BIGINT)) AS TEXT)
    ELSE CAST(pg_advisory_xact_lock_shared(CAST(substr(l, 2) AS BIGINT)) AS TEXT) END
    FROM unnest(string_to_array($1, ' ')) AS l";

/// The locks as [`LOCKS`] takes them. The number of a lock is a hash, so that two chains may share
/// one: they wait for each other, and nothing worse.
pub(super) fn advisory(schema: &str, locks: &[Lock]) -> String {
    let mut words = Vec::with_capacity(locks.len());
    for lock in locks {
        let digest = Digest::of(format!("scalectl {schema} {}", lock.name).as_bytes());
        let (first, _) = digest.as_bytes().split_first_chunk().expect("BUG: 32 bytes are over 8");
        let number = i64::from_be_bytes(*first);
        words.push(format!("{}{number}", if lock.alone { 'x' } else { 's' }));
    }
    words.join(" ")
}
