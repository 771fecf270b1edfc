//! One of each refusal that rests on a person's word.

use super::tests::{clock, id, number};
use crate::domain::id::{Replicas, ServiceName};
use crate::domain::scale::authority::{Hold, Override};
use crate::domain::scale::consent::Unauthorized;
use crate::domain::scale::owners::TakeAway;
use crate::domain::scale::provenance::PersonEvidence;
use crate::domain::scale::rejection::{MissingFact, Rejection};
use crate::domain::scale::service::RegisteredMode;

fn on_hold() -> Rejection {
    let hold = Hold {
        until: clock("16:00:00"),
        reason: "database upgrade\u{7}".to_owned(),
        actor: "sre".to_owned(),
        set_at: clock("14:00:00"),
    };
    Rejection::OnHold { service: id("web"), hold: Box::new(hold) }
}

fn is_pinned() -> Rejection {
    let pinned = Override {
        execution_key: id("k-1"),
        replicas: Replicas::from(4),
        until: clock("16:00:00"),
        actor: "sre".to_owned(),
    };
    Rejection::Pinned { service: id("web"), pinned: Box::new(pinned) }
}

fn owned_by_nobody(is_retired: bool) -> Rejection {
    let mode = RegisteredMode::ExternalHpa;
    Rejection::ExternalOwner { service: id("search"), mode, owner: None, is_retired }
}

fn name_taken(why: Rejection) -> Rejection {
    let holder = if matches!(why, Rejection::ExternalOwner { .. }) { "search" } else { "web" };
    Rejection::WorkloadTaken {
        service: id("api"),
        uid: id("91ab"),
        workload: id("shop/deployment/web"),
        holder: id(holder),
        why: Box::new(why),
    }
}

/// What is asked of a service as a whole: what is laid upon it, its owner, its quorum.
fn of_the_whole() -> Vec<Rejection> {
    let service = || id("web");
    let quorum = |may_come| Rejection::FactUnknown {
        service: service(),
        fact: MissingFact::Quorum { may_come },
    };
    vec![
        quorum(true),
        quorum(false),
        Rejection::Relocating {
            service: id("web"),
            environment: id("shop"),
            operation_id: id("op-7"),
        },
        Rejection::AlwaysOn { service: id("web"), environment: id("shop") },
        on_hold(),
        is_pinned(),
        owned_by_nobody(true),
        name_taken(on_hold()),
        name_taken(is_pinned()),
        name_taken(owned_by_nobody(false)),
        name_taken(owned_by_nobody(true)),
        Rejection::ModeMismatch {
            service: service(),
            registered: "external_hpa",
            submitted: "native",
            is_retired: true,
        },
    ]
}

pub(super) fn rows() -> Vec<Rejection> {
    let (service, revision) = (|| id("web"), number(18));
    let glass = || id("bg-12");
    let not_authorized = |why, is_for: Option<u64>| Rejection::NotAuthorized {
        service: service(),
        authorization_id: glass(),
        why,
        is_for: is_for.map(|count| Replicas::new(count).expect("a count")),
    };
    let moved = |actual| Rejection::ApprovalMoved {
        service: service(),
        revision,
        base: Replicas::from(8),
        desired: Replicas::from(2),
        actual,
        has_started: false,
    };
    let owned = |owner| Rejection::ExternalOwner {
        service: id("search"),
        mode: RegisteredMode::ExternalHpa,
        owner,
        is_retired: false,
    };
    let others = vec![
        Rejection::SamePerson {
            service: service(),
            revision,
            evidence: PersonEvidence::DatabaseRole,
            name: "ci_runner".to_owned(),
        },
        Rejection::SameReviewer {
            authorization_id: glass(),
            evidence: PersonEvidence::OsUser,
            name: "oncall".to_owned(),
        },
        Rejection::SignatureMissing { subject: "a-31".to_owned() },
        Rejection::SignatureRefused {
            subject: "bg-12".to_owned(),
            why: "something else was signed\u{7}".to_owned(),
        },
        not_authorized(Unauthorized::NoSuch, None),
        not_authorized(Unauthorized::OtherCount, Some(4)),
        not_authorized(Unauthorized::UsedUp, Some(4)),
        not_authorized(Unauthorized::UsedUp, None),
        Rejection::NoSuchAuthorization { authorization_id: glass() },
        Rejection::Reviewed {
            authorization_id: glass(),
            by: "carol".to_owned(),
            at: clock("15:00:00"),
        },
        Rejection::AuthorizationOpen {
            service: service(),
            authorization_id: glass(),
            until: clock("15:00:00"),
        },
        Rejection::ApprovalExpired { service: service(), revision, until: clock("14:00:00") },
        moved(Some(Replicas::from(50))),
        moved(None),
        owned(None),
        owned(Some("hpa shop/search".to_owned())),
        still_owned(&["HorizontalPodAutoscaler shop/search"], &[]),
        still_owned(
            &["HorizontalPodAutoscaler shop/search", "ScaledObject shop/queue"],
            &["kubectl -n shop delete scaledobject/queue"],
        ),
        Rejection::Retired { service: service(), at: clock("12:00:00") },
    ];
    of_the_whole().into_iter().chain(others).collect()
}

fn still_owned(owners: &[&str], lines: &[&str]) -> Rejection {
    let words = |line: &&str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let lines: Vec<_> = lines.iter().map(words).collect();
    let owner = owners.last().map_or_else(String::new, |owner| (*owner).to_owned());
    Rejection::StillOwned {
        service: id("search"),
        owners: owners.iter().map(|owner| (*owner).to_owned()).collect(),
        take_away: if lines.is_empty() { Vec::new() } else { vec![TakeAway { owner, lines }] },
    }
}

pub(super) fn relocating(service: ServiceName) -> Rejection {
    let (environment, operation_id) = (id("shop"), id("op-k1"));
    Rejection::Relocating { service, environment, operation_id }
}
