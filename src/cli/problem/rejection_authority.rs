//! Refusals that rest on a person's word: owners, holds, answers and authorizations.

use super::rejection::at;
use super::rejection_missing::named;
use super::{Problem, ProblemContext};
use crate::domain::id::{AuthorizationId, ServiceName, TargetUid};
use crate::domain::scale::authority::{Hold, Override};
use crate::domain::scale::consent::Unauthorized;
use crate::domain::scale::owners::TakeAway;
use crate::domain::scale::rejection::Rejection;

/// Where a person says why.
const SAY_WHY: &str = "TEXT";

/// The rows of those refusals; any other is left as it is.
pub(super) fn about(p: Problem, rejection: &Rejection, c: &ProblemContext) -> Problem {
    match rejection {
        Rejection::ExternalOwner { service, mode, owner, is_retired } => {
            let p = match owner {
                Some(owner) => p.fact("mode", mode.as_str()).fact("owner", owner.clone()),
                None => p.fact("mode", mode.as_str()),
            };
            external_owner(p, service, mode.as_str(), *is_retired, c)
        }
        Rejection::StillOwned { service, owners, take_away } => {
            still_owned(named(p, "owner", owners), service, take_away, c)
        }
        Rejection::ApprovalRequired { .. } if c.is_supposed => p.hint(
            "nothing is proposed yet: the same wish by scale proposes it, for a colleague to \
             answer",
        ),
        Rejection::ApprovalRequired { service, revision, until } => p
            .fact("proposal", format!("open for {}", until.since(c.now)))
            .hint("a colleague looks at it and answers it, then run this same line again")
            .run(c.command(&["approval", "show", &at(service, *revision)]))
            .run(c.command(&["approval", "grant", &at(service, *revision), "--reason", SAY_WHY]))
            .again(c),
        Rejection::OnHold { service, hold } => on_hold(p, service, hold, c),
        Rejection::Pinned { service, pinned } => is_pinned(p, service, pinned, c),
        Rejection::SamePerson { service, revision, .. } => p
            .hint("another key, database role or OS user must answer it; what is asked is shown by")
            .run(c.command(&["approval", "show", &at(service, *revision)])),
        Rejection::SameReviewer { authorization_id, .. } => {
            let hint = "somebody who had no hand in it must review it: another key, database role \
                        or OS user; all of it is shown by";
            story(p.hint(hint), c, authorization_id)
        }
        Rejection::SignatureMissing { .. } => p
            .hint(
                "sign it: run this same line again with --sign-with KEYFILE; whose are taken says",
            )
            .run(c.command(&["ledger", "signers", "show"])),
        Rejection::SignatureRefused { .. } => p
            .hint("sign with a key of the list that is good now and for this use; the list is")
            .run(c.command(&["ledger", "signers", "show"])),
        Rejection::NotAuthorized { why, authorization_id, .. } => {
            not_authorized(p, c, Some(authorization_id).filter(|_| *why != Unauthorized::NoSuch))
        }
        Rejection::NoSuchAuthorization { .. } => not_authorized(p, c, None),
        Rejection::Reviewed { authorization_id, .. } => {
            story(p.hint("its story is over; all of it is shown by"), c, authorization_id)
        }
        Rejection::AuthorizationOpen { authorization_id, until, .. } => p
            .fact("left", until.since(c.now).to_string())
            .hint("review it once it is over, or take it back first with")
            .run(c.command(&revoke(authorization_id))),
        Rejection::ApprovalExpired { service, revision, until } => p
            .fact("over", format!("{} ago", c.now.since(*until)))
            .hint("wish it anew under a new key, with a longer --approve-within; it is shown by")
            .run(c.command(&["approval", "show", &at(service, *revision)])),
        Rejection::ApprovalMoved { service, revision, base, actual, has_started, .. } => {
            let p = match actual {
                Some(actual) => p.values(base.get(), actual.get()),
                None => p,
            };
            another_count(p, c, &at(service, *revision), *has_started)
        }
        Rejection::Retired { service, .. } => retired(p, c, service.as_str()),
        _ => p,
    }
}

fn another_count(p: Problem, c: &ProblemContext, name: &str, has_started: bool) -> Problem {
    let p = p.hint("that was another count: wish anew under a new key; end this one with");
    if has_started {
        p.run(c.command(&["intent", "abandon", name, "--reason", SAY_WHY]))
    } else {
        p.run(c.command(&["intent", "withdraw", name]))
    }
}

/// Whose hold it is, it is ended by; anybody else asks them.
fn on_hold(p: Problem, service: &ServiceName, hold: &Hold, c: &ProblemContext) -> Problem {
    let is_own = c.told.as_ref().is_some_and(|(name, _)| *name == hold.actor);
    p.fact("since", format!("{} ago", c.now.since(hold.set_at)))
        .fact("left", hold.until.since(c.now).to_string())
        .hint(if is_own {
            "it is your own: end it, then run this same line again"
        } else if c.verb.first().is_some_and(|verb| verb == "service") {
            "ask them: no glass that is broken passes it for this; they end it with"
        } else {
            "ask them, or break the glass (--break-glass --incident ID); they end it with"
        })
        .run(c.command(&["hold", "lift", service.as_str(), "--reason", SAY_WHY]))
}

/// A new object is under the word that was laid upon the old one: it is bound by the service that
/// has its name, and the word is ended as ever.
pub(super) fn workload_taken(
    p: Problem,
    c: &ProblemContext,
    uid: &TargetUid,
    holder: &ServiceName,
    why: &Rejection,
) -> Problem {
    let name = holder.as_str();
    let p = p.fact("uid", format!("{uid} is there now, and {holder} was registered with another"));
    let bind = c.command(&["service", "bind", name, "--accept-uid", uid.as_str()]);
    let ends = |verbs: [&str; 2]| c.command(&[verbs[0], verbs[1], name, "--reason", SAY_WHY]);
    let (end, how) = match why {
        Rejection::OnHold { .. } => (ends(["hold", "lift"]), "the hold stays until it is lifted"),
        Rejection::Pinned { .. } => {
            (ends(["override", "clear"]), "the pin stays until it is cleared")
        }
        _ => (take_over(holder, c), "its owner stays until the count is taken over"),
    };
    let hint = format!("a new object ends nothing: bind {holder} to it with the first; {how} with");
    let p = match why {
        Rejection::ExternalOwner { is_retired: true, mode, .. } => {
            p.hint(format!("{hint} the last")).run(register_as(holder, mode.as_str(), c))
        }
        _ => p.hint(format!("{hint} the second")),
    };
    p.run(bind).run(end)
}

/// Whose pin it is, it is ended by; anybody else asks them.
fn is_pinned(p: Problem, service: &ServiceName, pinned: &Override, c: &ProblemContext) -> Problem {
    let is_own = c.told.as_ref().is_some_and(|(name, _)| *name == pinned.actor);
    p.fact("left", pinned.until.since(c.now).to_string())
        .hint(if is_own {
            "it is your own: end it, then run this same line again"
        } else {
            "ask them: a pin is ended by itself, or knowingly; that is done with"
        })
        .run(c.command(&["override", "clear", service.as_str(), "--reason", SAY_WHY]))
}

fn external_owner(
    p: Problem,
    service: &ServiceName,
    mode: &str,
    is_retired: bool,
    c: &ProblemContext,
) -> Problem {
    if is_retired {
        return p
            .hint(
                "its owner may still be there: register another service for the other target, or \
                 this one as it was, and take its count over, with",
            )
            .run(register_as(service, mode, c))
            .run(take_over(service, c));
    }
    let moves = c.verb == ["service", "put"];
    p.hint(if moves {
        "what somebody else owns is not left in passing: register another service for the other \
         target, or take the count over first with"
    } else {
        "change the count where it is owned, or take it over with"
    })
    .run(take_over(service, c))
}

/// Another mode than the registered one. What is over has no hand-over until it is registered as it
/// was.
pub(super) fn mode_mismatch(
    p: Problem,
    service: &ServiceName,
    (registered, submitted): (&str, &str),
    is_retired: bool,
    c: &ProblemContext,
) -> Problem {
    let hand_over = ["service", "mode", service.as_str(), submitted, "--reason", SAY_WHY];
    if is_retired {
        return p
            .hint(
                "it is retired, and its owner may still be there: register it as it was with the \
                 first, then hand the count over with the second",
            )
            .run(register_as(service, registered, c))
            .run(c.command(&hand_over));
    }
    p.hint("make the record for the registered mode, or hand the count over with the second")
        .run(c.command(&["service", "show", service.as_str()]))
        .run(c.command(&hand_over))
}

fn register_as(service: &ServiceName, mode: &str, c: &ProblemContext) -> Vec<String> {
    c.command(&["service", "put", service.as_str(), "--mode", mode])
}

fn take_over(service: &ServiceName, c: &ProblemContext) -> Vec<String> {
    c.command(&["service", "mode", service.as_str(), "native", "--reason", SAY_WHY])
}

fn still_owned(
    p: Problem,
    service: &ServiceName,
    take_away: &[TakeAway],
    c: &ProblemContext,
) -> Problem {
    let p = p.hint(if take_away.is_empty() {
        "take it away there first, and keep a copy of it; then run this same line again"
    } else {
        "keep a copy of it and take it away there with the first lines; then run this same line \
         again"
    });
    let lines = take_away.iter().flat_map(|one| &one.lines);
    let p = lines.fold(p, |p, line| p.run(line.clone()));
    p.again(c).run(c.command(&["service", "show", service.as_str()]))
}

fn story(p: Problem, c: &ProblemContext, id: &AuthorizationId) -> Problem {
    p.run(c.command(&["break-glass", "show", id.as_str()]))
}

/// One that is known has its own story; the open ones are a way in either case.
fn not_authorized(p: Problem, c: &ProblemContext, known: Option<&AuthorizationId>) -> Problem {
    let p = match known {
        Some(id) => {
            let hint = "all of it is shown by the first, and what else is open by the second";
            story(p.hint(hint), c, id)
        }
        None => p.hint("the authorizations that are open are listed by"),
    };
    p.run(c.command(&["break-glass", "list"]))
}

fn revoke(id: &AuthorizationId) -> [&str; 5] {
    ["break-glass", "revoke", id.as_str(), "--reason", SAY_WHY]
}

fn retired(p: Problem, c: &ProblemContext, service: &str) -> Problem {
    p.hint("its history is told by the first; it is registered anew with the second")
        .run(c.command(&["log", service]))
        .run(c.command(&["help", "service", "put"]))
}
