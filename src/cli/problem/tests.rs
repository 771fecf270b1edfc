use std::fmt::Write as _;

use serde_json::json;

use super::*;
use crate::domain::digest::Digest;
use crate::domain::id::Replicas;
use crate::domain::scale::attempt::{Base, Call, Pending, UnknownWhy};
use crate::domain::scale::execution::Phase;
use crate::domain::scale::intent::Fence;
use crate::domain::scale::lease::{ControllerLease, Holder};
use crate::domain::scale::policy::{PolicyAction, PolicyAnswer, PolicyRule};
use crate::domain::scale::rejection::{Difference, MissingFact, Rejection, TargetPart};
use crate::domain::scale::result::Detail;
use crate::domain::scale::state::{CurrentIntent, Direction, LastEffect};

pub(super) fn id<T: std::str::FromStr>(text: &str) -> T
where
    T::Err: std::fmt::Debug,
{
    text.parse().expect("a good id")
}

pub(super) fn number<T: TryFrom<u64>>(value: u64) -> T
where
    T::Error: std::fmt::Debug,
{
    value.try_into().expect("a good number")
}

pub(super) fn clock(time: &str) -> Timestamp {
    id(&format!("2026-11-24T{time}Z"))
}

pub(super) fn context() -> ProblemContext {
    let words = |line: &str| line.split(' ').map(str::to_owned).collect();
    ProblemContext {
        program: words("scalectl --ledger prod"),
        verb: words("intent put"),
        line: words("scalectl --ledger prod scale web=5 --key k-1 --reason up"),
        wish: Some("web=5".to_owned()),
        ledger: Some("postgres://ops:secret@db/prod".to_owned()),
        ..ProblemContext::at(clock("14:02:40"))
    }
}

fn holder() -> Holder {
    Holder { host: "gha-7".to_owned(), host_key: id("machine:boot:ns"), pid: 812 }
}

fn held() -> Box<HeldLease> {
    let fence = Fence {
        lease_id: id("ledger:l-1"),
        lease_epoch: number(4),
        fence_token: number(17),
        expires_at: clock("15:00:00"),
    };
    let lease = ControllerLease {
        lease_instance_id: id("lease-1"),
        controller_id: id("ops"),
        fence,
        attempt: number(1),
        acquired_at: clock("14:02:31"),
        expires_at: clock("14:03:31"),
    };
    Box::new(HeldLease { lease, holder: holder() })
}

fn call() -> Call {
    Call {
        call_id: id("call-1"),
        attempt: number(1),
        lease_instance_id: id("lease-1"),
        holder: holder(),
        started_at: clock("14:02:31"),
        deadline_boot_ms: 90_000,
        deadline_at: clock("14:03:31"),
        base: Base {
            outdated: false,
            target_uid: id("7f3c"),
            target_resource_version: id("88123"),
            generation: None,
            replicas: None,
        },
    }
}

fn current() -> CurrentIntent {
    CurrentIntent {
        execution_key: id("k-8"),
        intent_revision: number(8),
        desired_replicas: Replicas::from(5),
        accepted_at: clock("14:00:37"),
        actor: "sre".to_owned(),
        reason: "queue is\nbacking up\u{1b}[2J".to_owned(),
    }
}

fn policy_answer(rules: &[(&str, &str, u32)], errors: &[&str], is_set: bool) -> PolicyAnswer {
    let rule = |(id, effect, line): &(&str, &str, u32)| PolicyRule {
        id: (*id).to_owned(),
        effect: (*effect).to_owned(),
        file: "prod.cedar".to_owned(),
        line: *line,
        unless_approved: false,
    };
    PolicyAnswer {
        allowed: false,
        action: PolicyAction::ScaleToZero,
        rules: rules.iter().map(rule).collect(),
        errors: errors.iter().map(|error| (*error).to_owned()).collect(),
        policy_digest: is_set.then_some(Digest::ZERO),
    }
}

fn bad_lines() -> Vec<Rejection> {
    let service = || id("web");
    let bounds = |desired: u32| Rejection::OutOfBounds {
        service: service(),
        desired: Replicas::from(desired),
        min: Replicas::from(1),
        max: Replicas::from(10),
        unit_revision: number(4),
    };
    vec![
        bounds(20),
        bounds(0),
        Rejection::FenceMissing { service: service() },
        Rejection::FenceTooFar {
            service: service(),
            epoch: 99,
            token: 5_000_000_000,
            mark_epoch: 4,
            mark_token: 17,
        },
        Rejection::Contradiction("retry_same_key needs an actuator that deduplicates".to_owned()),
    ]
}

fn conflicts() -> Vec<Rejection> {
    let service = || id("web");
    let stale = |actual, current| Rejection::StaleRevision {
        service: service(),
        expected: 7,
        actual,
        current,
    };
    let difference = |field: &str, stored: &str, submitted: &str| Difference {
        field: field.to_owned(),
        stored: stored.to_owned(),
        submitted: submitted.to_owned(),
    };
    vec![
        stale(8, Some(current())),
        stale(8, None),
        stale(0, None),
        Rejection::StaleUnitRevision { service: service(), expected: 3, actual: 4 },
        Rejection::KeyConflict {
            key: id("release-418-web-up"),
            service: service(),
            revision: number(18),
            differences: vec![
                difference("desired_replicas", "5", "6"),
                difference("reason", "\"up\"", "\"up \u{202e}\""),
            ],
        },
        Rejection::SimulatedKey { key: id("k-1") },
        Rejection::LiveKey { key: id("k-1"), state: "started" },
        Rejection::IntentIdConflict { intent_id: id("i-1"), revision: number(3), key: id("k-1") },
        Rejection::ModeMismatch {
            service: service(),
            registered: "delegated",
            submitted: "native",
            is_retired: false,
        },
        Rejection::TargetTaken { service: service(), uid: id("7f3c"), holder: id("web-old") },
        Rejection::PremiseMoved {
            service: service(),
            expected: Replicas::from(3),
            actual: Replicas::from(5),
        },
        Rejection::OthersIntent {
            service: service(),
            revision: number(9),
            actor: "sre\r".to_owned(),
        },
    ]
}

fn moved_targets() -> impl Iterator<Item = Rejection> {
    [
        (TargetPart::Uid, "7f3c", "91ab"),
        (TargetPart::Version, "1", "2"),
        (TargetPart::Cluster, "a", "b"),
    ]
    .into_iter()
    .map(|(part, expected, actual)| Rejection::TargetChanged {
        service: id("web"),
        part,
        basis: "registered",
        expected: expected.to_owned(),
        actual: actual.to_owned(),
    })
}

fn wrong_states() -> impl Iterator<Item = Rejection> {
    let pending = Pending {
        call: call(),
        why: UnknownWhy::Lost,
        detail: Detail::default(),
        ended_at: None,
        fenced: false,
        touched: false,
    };
    [
        Phase::Proposed { until: clock("16:00:00") },
        Phase::Accepted,
        Phase::Started { call: call() },
        Phase::RecoveryPending { pending },
        Phase::Failed { retry_at: clock("14:02:45") },
        Phase::Succeeded,
        Phase::Superseded { by: number(19), outcome: None },
        Phase::Withdrawn,
    ]
    .into_iter()
    .map(|phase| Rejection::WrongState {
        service: id("web"),
        revision: number(18),
        phase: Box::new(phase),
        why: "that needs another state",
    })
}

fn holds() -> Vec<Rejection> {
    let (service, revision) = (|| id("web"), number(18));
    let in_flight = |state, held| Rejection::InFlight {
        service: service(),
        revision,
        key: id("k-18"),
        state,
        held,
        until: None,
    };
    let expires_at = clock("14:03:00");
    vec![
        in_flight("started", Some(*held())),
        in_flight("recovery_pending", None),
        in_flight("failed", None),
        Rejection::InProgress { service: service(), revision, held: held() },
        Rejection::LeaseHeld { service: service(), revision, held: held() },
        Rejection::NotWriter { service: service(), given: id("ci"), writer: id("ops") },
        Rejection::FenceLost {
            service: service(),
            epoch: 4,
            token: 16,
            mark_epoch: 4,
            mark_token: 17,
        },
        Rejection::FenceExpired { service: service(), revision, expires_at: clock("14:00:00") },
        Rejection::FenceTooShort {
            service: service(),
            revision,
            expires_at,
            needed: DurationMs::from_secs(60),
        },
        Rejection::LeaseLost { key: id("k-18"), given: id("lease-0"), held: Some(held()) },
        Rejection::LeaseLost { key: id("k-18"), given: id("lease-0"), held: None },
    ]
}

fn answers_of_others() -> Vec<Rejection> {
    let denied = |answer| Rejection::Denied {
        actor: "ci; rm".to_owned(),
        subject: "web from 5 to 0".to_owned(),
        answer: Box::new(answer),
    };
    let rules = [("no-zero-by-ci", "forbid", 14), ("hours", "forbid", 20)];
    let last = LastEffect {
        execution_key: id("k-17"),
        intent_revision: number(17),
        from: Some(Replicas::from(5)),
        to: Replicas::from(3),
        direction: Direction::Down,
        actor: "sre".to_owned(),
        ended_at: clock("14:00:52"),
    };
    vec![
        denied(policy_answer(&rules, &[], true)),
        denied(policy_answer(&[], &["rule \"x\": no attribute current"], true)),
        denied(policy_answer(&[], &[], false)),
        Rejection::ApprovalRequired {
            service: id("batch"),
            revision: number(9),
            until: clock("16:00:00"),
        },
        Rejection::Cooldown {
            service: id("web"),
            last: Box::new(last),
            cooldown: DurationMs::from_secs(180),
            until: clock("14:03:52.5"),
            now: clock("14:02:40"),
        },
    ]
}

fn waits_and_gaps() -> Vec<Rejection> {
    let (service, revision) = (|| id("worker"), number(9));
    let unknown = |why, until| Rejection::OutcomeUnknown {
        service: service(),
        revision,
        attempt: 1,
        why,
        until,
    };
    let behind =
        |state| Rejection::WaitsBehind { service: service(), revision, behind: number(8), state };
    let missing = |fact| Rejection::FactUnknown { service: service(), fact };
    let (two, four) = (Replicas::from(2), Replicas::from(4));
    let (expected, actual) = ("true".to_owned(), "false".to_owned());
    vec![
        unknown(UnknownWhy::TimedOut, Some(clock("14:03:40"))),
        unknown(UnknownWhy::Garbled, None),
        Rejection::RetryLater { service: service(), revision, retry_at: clock("14:02:44.000001") },
        Rejection::QuietTime { service: service(), revision, until: clock("14:02:00") },
        behind("started"),
        behind("recovery_pending"),
        Rejection::ReadingDiffers { service: service(), revision, desired: two, actual: four },
        Rejection::OtherObject { service: service(), revision, expected: id("a"), actual: id("b") },
        Rejection::NoSuchService { service: id("wep") },
        Rejection::NoSuchKey { key: "k\u{202e}9".to_owned() },
        Rejection::NoSuchActuator { name: "k8s-prod".to_owned() },
        Rejection::NotActuated { service: service() },
        super::authority_rows::relocating(service()),
        Rejection::AlwaysOn { service: service(), environment: id("shop") },
        missing(MissingFact::Evidence),
        missing(MissingFact::EvidenceSays { part: "drained", expected, actual }),
        missing(MissingFact::Count { why: "connection refused".to_owned() }),
        missing(MissingFact::Owners { unread: vec!["ScaledObject".to_owned()] }),
        missing(MissingFact::Cooldown { by: number(8) }),
        missing(MissingFact::Reading),
        Rejection::ClockSkew {
            service: service(),
            now: clock("14:02:40"),
            mark: clock("15:02:40"),
        },
    ]
}

fn rejections() -> Vec<Rejection> {
    let mut all = bad_lines();
    all.extend(conflicts());
    all.extend(moved_targets());
    all.extend(wrong_states());
    all.extend(holds());
    all.extend(answers_of_others());
    all.extend(super::authority_rows::rows());
    all.extend(waits_and_gaps());
    all
}

#[test]
fn every_refusal_has_its_reviewed_text() {
    let mut page = String::new();
    for rejection in rejections() {
        let problem = Problem::from_rejection(&rejection, &context());
        let again = if problem.retryable { ", same line later" } else { "" };
        let wait = problem.retry_after_ms.map_or_else(String::new, |ms| format!(" in {ms} ms"));
        let (code, word) = (problem.exit.code(), problem.exit.word());
        write!(page, "# exit {code} {word}{again}{wait}\n{}\n", problem.text())
            .expect("BUG: a String takes every text");
    }
    let committed = include_str!("../../../fixtures/texts/rejections.txt");
    hold_committed("fixtures/texts/rejections.txt", committed, &page);
}

#[test]
fn no_refusal_is_without_a_row() {
    let source = include_str!("../../domain/scale/rejection.rs");
    let (_, source) = source.split_once("pub const fn code(").expect("the words of refusals");
    let rows: Vec<&str> = rejections().iter().map(Rejection::code).collect();
    let words = source.split("=> \"").skip(1).filter_map(|rest| rest.split('"').next());
    let words: Vec<&str> = words.collect();
    assert!(words.len() > 35, "{words:?}");
    for word in words {
        assert!(rows.contains(&word), "{word} has no row");
    }
}

#[test]
fn every_refusal_has_a_way_on_and_a_safe_text() {
    for rejection in rejections() {
        let problem = Problem::from_rejection(&rejection, &context());
        assert!(problem.hint.is_some(), "{rejection}");
        let text = problem.text();
        assert!(!text.contains(|c| c != '\n' && super::super::escape::is_unsafe(c)), "{text}");
        assert!(!text.contains("secret"), "{text}");
        let json = serde_json::to_value(&problem).expect("JSON");
        let facts = json["facts"].as_object().expect("facts").len();
        assert_eq!(facts, problem.facts.len(), "a label repeats: {:?}", problem.facts);
    }
}

#[test]
fn the_error_object_has_all_its_members() {
    let held = Rejection::InProgress { service: id("web"), revision: number(18), held: held() };
    let problem = Problem::from_rejection(&held, &ProblemContext::at(clock("14:02:40")));
    assert_eq!(
        serde_json::to_value(&problem).expect("JSON"),
        json!({
            "code": "in_progress",
            "message": "web@18 is being carried out by ops on gha-7 (pid 812) until 2026-11-24T14:03:31Z",
            "retryable": true,
            "retry_after_ms": 51_000,
            "expected": null,
            "actual": null,
            "facts": {"holder": "ops on gha-7, pid 812", "left": "51s"},
            "held_by": {
                "controller": "ops",
                "host": "gha-7",
                "pid": 812,
                "until": "2026-11-24T14:03:31Z",
            },
            "hint": "wait for it with the first, or run this same line again later",
            "next": [["scalectl", "observe", "web@18", "--wait"]],
        })
    );
}

#[test]
fn problems_that_are_no_refusals_have_their_texts() {
    let context = ProblemContext {
        recorded: Recorded::Yes,
        program: vec!["scalectl".into(), "--ledger=postgres://ops:secret@db/x".into()],
        ..context()
    };
    let prod = id("k8s-prod");
    let unknown = Problem::unknown_commit(&context, &id("cmd-1"), "COMMIT: disk full", false);
    let problems = [
        Problem::usage("duration_without_unit", "--ttl 60: 60 what? write 60s, 60ms, 60m or 60h"),
        Problem::internal("an answer has no exit"),
        Problem::ledger(
            "ledger_missing",
            Exit::LedgerUnusable,
            "no ledger at ~/.local/state/scalectl/ledger.db",
            vec![("chosen by".into(), "the default".into())],
            "make a first ledger with",
        )
        .run(context.command(&["init"])),
        unknown,
        Problem::unknown_commit(&context, &id("cmd-1"), "COMMIT: disk full", true),
        Problem::actuator_not_bound(&context, &prod),
        Problem::actuator_changed(
            &context,
            &prod,
            "\"/opt/my act\" is not what was bound",
            &["/bin/sh".to_owned(), "/opt/my act".to_owned()],
        ),
        Problem::actuator_unavailable(&context, &prod, "read the target", "timed out"),
        Problem::interrupted(&context, EndSignal::Hangup, Some("web@18")),
        Problem::interrupted(&context, EndSignal::Interrupt, None),
        Problem::interrupted(&context, EndSignal::Terminate, Some("web@18")),
    ];
    let told = |problem: &Problem| format!("# exit {}\n{}", problem.exit.code(), problem.text());
    let page = problems.iter().map(told).collect::<Vec<String>>().join("\n");
    assert!(!page.contains("secret"), "{page}");
    hold_committed(
        "fixtures/texts/problems.txt",
        include_str!("../../../fixtures/texts/problems.txt"),
        &page,
    );
}

#[test]
fn a_wait_is_never_too_short() {
    let now = clock("14:00:00");
    assert_eq!(ceil_millis(clock("14:00:00.000001"), now), DurationMs::from_millis(1));
    assert_eq!(ceil_millis(clock("14:00:01"), now), DurationMs::from_secs(1));
    assert_eq!(ceil_millis(clock("13:00:00"), now), DurationMs::ZERO);
}
