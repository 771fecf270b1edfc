//! `ledger signers`: those whose signatures are taken.

use super::administer::may_administer_in;
use super::error::OpError;
use super::lock_wait::write_to;
use super::session::Session;
use super::transition::Deciding;
use crate::domain::registry::{AllowedSigners, RegistryBody};
use crate::domain::scale::event::Stamped;
use crate::domain::scale::policy::PolicyAction;
use crate::domain::scale::result::Detail;
use crate::ledger::Reach;

/// The longest list, in bytes.
pub const SIGNERS_BYTES_MAX: usize = 64 * 1024;

/// Lets another list hold; answers whether anything changed.
pub fn signers_put(
    session: &mut Session,
    signers: &AllowedSigners,
    reason: &Detail,
) -> Result<bool, OpError> {
    check(&signers.text)?;
    let by = session.by.clone();
    session.load_policy()?;
    let mut txn = write_to(&mut session.ledger, &session.lock_wait, Reach::registry())?;
    let at = session.clock.read(txn.now());
    let mut with = Deciding { by: &by, policy: &mut session.policy, now: at };
    let (action, why) = (PolicyAction::Administer, Some(reason.as_str()));
    let decision = may_administer_in(&txn, &mut with, action, "the allowed signers", why)?;
    if txn.allowed_signers()?.as_ref() == Some(signers) {
        drop(txn);
        session.ledger.confirm()?;
        return Ok(false);
    }
    let (signers, reason) = (signers.clone(), reason.clone());
    let body = RegistryBody::SignersSet { signers, reason, decision };
    txn.append_registry(&Stamped { at, by, body })?;
    let _committed = txn.commit()?;
    session.note_recorded();
    Ok(true)
}

/// The list that holds.
pub fn signers(session: &mut Session) -> Result<Option<AllowedSigners>, OpError> {
    Ok(session.ledger.read()?.allowed_signers()?)
}

/// A list is lines of principals, options, a type of key and a key. What it means is for
/// `ssh-keygen` to say; a file of something else is refused.
pub fn check(text: &str) -> Result<(), OpError> {
    let refused = |message: String| OpError::Usage {
        code: "signers_invalid",
        message,
        hint: Some("a line is PRINCIPAL KEY-TYPE KEY; see ssh-keygen(1), ALLOWED SIGNERS".into()),
    };
    if text.len() > SIGNERS_BYTES_MAX || text.contains('\0') {
        return Err(refused(format!("a list has at most {SIGNERS_BYTES_MAX} bytes and no U+0000")));
    }
    let mut lines = text.lines().enumerate().filter(|(_, line)| {
        let line = line.trim();
        !line.is_empty() && !line.starts_with('#')
    });
    let is_type = |word: &str| {
        ["ssh-", "sk-ssh-", "ecdsa-", "sk-ecdsa-"].iter().any(|begin| word.starts_with(begin))
    };
    let is_key = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words.windows(2).skip(1).any(|pair| is_type(pair[0]) && pair[1].starts_with("AAAA"))
    };
    match lines.find(|(_, line)| !is_key(line)) {
        Some((number, _)) => {
            Err(refused(format!("line {} of the list names no key of anybody", number + 1)))
        }
        None => Ok(()),
    }
}
