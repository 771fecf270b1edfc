//! One of each refusal of the placement, with its reviewed text.

use std::fmt::Write as _;

use super::tests::{clock, context, id, number};
use super::{Problem, hold_committed};
use crate::domain::placement::capacity::{Amounts, Axis, Totals};
use crate::domain::placement::environment::Role;
use crate::domain::placement::operation::{Course, OperationLease, Step};
use crate::domain::placement::rejection::{Limit, PlacementRejection as No, Unfit};
use crate::domain::scale::lease::Holder;
use crate::domain::scale::policy::{PolicyAction, PolicyAnswer, PolicyRule};
use crate::domain::scale::rejection::Difference;
use crate::domain::time::DurationMs;

fn amounts(text: &str) -> Amounts {
    text.parse().expect("good amounts")
}

fn short() -> Unfit {
    let mut used = Totals::default();
    used.add(amounts("cpu=3,memory=7GiB,storage=1GiB"));
    let more = amounts("cpu=1,memory=2GiB,storage=1GiB");
    Unfit::Short { missing: used.shortages(more, amounts("cpu=4,memory=8GiB,storage=9GiB")) }
}

fn premises() -> Vec<No> {
    let environment = || id("shop");
    let difference = Difference {
        field: "location".to_owned(),
        stored: "eu".to_owned(),
        submitted: "us".to_owned(),
    };
    vec![
        No::Contradiction("cell a1 is in location a, not in b".to_owned()),
        No::NotFound { noun: "cell", name: "z\u{7}".to_owned() },
        No::NotFound { noun: "placement policy", name: "std".to_owned() },
        No::NotFound { noun: "environment", name: "shp".to_owned() },
        No::NotFound { noun: "operation", name: "op-1".to_owned() },
        No::NotFound { noun: "relocator", name: "mover".to_owned() },
        No::NoRelocator { environment: environment(), what: "a move" },
        No::StaleSetting { noun: "placement policy", name: "std".into(), expected: 1, actual: 2 },
        No::StaleRevision { environment: environment(), expected: 3, actual: 4 },
        No::StalePolicy { environment: environment(), policy: id("std"), expected: 1, actual: 2 },
        No::KeyConflict {
            key: id("move-7"),
            operation_id: id("op-7"),
            differences: vec![difference],
        },
        No::ProfileConflict {
            profile: id("small"),
            part: "maximum",
            stored: "cpu=2,memory=2GiB,storage=6GiB".to_owned(),
            submitted: "cpu=2,memory=3GiB,storage=6GiB".to_owned(),
        },
        No::OlderUsage {
            environment: environment(),
            recorded: clock("14:00:00"),
            given: clock("13:00:00"),
        },
        No::OlderEpoch { environment: environment(), given: 1, actual: 2 },
    ]
}

fn room() -> Vec<No> {
    let environment = || id("shop");
    let unavailable = |limits| No::CapacityUnavailable {
        environment: id("shop"),
        role: Role::Primary,
        needed: amounts("cpu=1,memory=2GiB,storage=1GiB"),
        limits,
    };
    let limit = |cell: &str, unfit| Limit { cell: id(cell), unfit };
    vec![
        No::ProfileNotOffered {
            environment: environment(),
            policy: id("std"),
            profile: id("huge"),
            offered: vec![id("large"), id("small")],
        },
        unavailable(vec![limit("a1", short())]),
        unavailable(vec![
            limit("a1", Unfit::Cordoned { reason: "disk".to_owned() }),
            limit("a2", Unfit::Stale { measured_at: clock("12:00:00") }),
            limit("b1", Unfit::NotEligible),
            limit("b2", Unfit::Taken),
        ]),
        unavailable(Vec::new()),
        No::CostExceeded { environment: environment(), policy: id("std"), cost: 40, budget: 30 },
        No::UnsafeShrink {
            environment: environment(),
            profile: id("small"),
            axis: Axis::StorageBytes,
            used: 7 << 30,
            maximum: 6 << 30,
            measured_at: clock("14:02:00"),
        },
        No::UsageMissing { environment: environment(), usage: None },
        No::UsageStale {
            environment: environment(),
            measured_at: clock("13:00:00"),
            fresh_for: DurationMs::from_secs(300),
            now: clock("14:02:40"),
        },
        No::MissingDependency {
            environment: environment(),
            missing: vec!["credentials/mail".to_owned()],
        },
        No::UnprovableFencing {
            environment: environment(),
            why: "table t is virtual: no trigger can guard it".to_owned(),
        },
        No::InventoryUnknown { environment: environment(), why: "no answer within 2m".into() },
        No::WorkspaceRunning { environment: environment() },
    ]
}

fn at_work() -> Vec<No> {
    let (operation_id, environment) = (|| id("op-7"), || id("shop"));
    let lease = OperationLease {
        lease_instance_id: id("lease-1"),
        token: number(7),
        holder: Holder { host: "gha-7".to_owned(), host_key: id("m:b:1"), pid: 812 },
        acquired_at: clock("14:02:31"),
        expires_at: clock("14:03:31"),
    };
    let rule = PolicyRule {
        id: "far-by-day".to_owned(),
        effect: "forbid".to_owned(),
        file: "placement.cedar".to_owned(),
        line: 12,
        unless_approved: false,
    };
    let answer = PolicyAnswer {
        allowed: false,
        action: PolicyAction::Relocate,
        rules: vec![rule],
        errors: Vec::new(),
        policy_digest: None,
    };
    vec![
        No::WrongCourse {
            operation_id: operation_id(),
            course: Course::Succeeded,
            why: "it is over",
        },
        No::OnlyForward { operation_id: operation_id(), epoch: 2 },
        No::OperationInFlight {
            environment: environment(),
            operation_id: operation_id(),
            course: Course::Forward,
            step: Some(Step::Transfer),
        },
        No::ServiceInFlight { environment: environment(), services: vec![id("web")] },
        No::OperationHeld { operation_id: operation_id(), lease: Box::new(lease) },
        No::LeaseLost { operation_id: operation_id(), given: number(7), current: Some(number(8)) },
        No::Stuck {
            operation_id: operation_id(),
            step: Step::Route,
            why: "database.sqlite is damaged".to_owned(),
        },
        No::Denied {
            actor: "ci".to_owned(),
            subject: "environment shop".to_owned(),
            answer: Box::new(answer),
        },
    ]
}

#[test]
fn every_refusal_of_the_placement_has_its_reviewed_text() {
    let mut page = String::new();
    for rejection in premises().into_iter().chain(room()).chain(at_work()) {
        let problem = Problem::from_placement(&rejection, &context());
        let again = if problem.retryable { ", same line later" } else { "" };
        let (code, word) = (problem.exit.code(), problem.exit.word());
        write!(page, "# exit {code} {word}{again}\n{}\n", problem.text())
            .expect("BUG: a String takes every text");
    }
    let committed = include_str!("../../../fixtures/texts/placement.txt");
    hold_committed("fixtures/texts/placement.txt", committed, &page);
}
