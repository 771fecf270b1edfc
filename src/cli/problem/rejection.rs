//! Refusals as problems: one arm for each, so that none is forgotten.

use super::placement::placed;
use super::rejection_authority as authority;
use super::rejection_facts as facts;
use super::rejection_missing as missing;
use super::rejection_times as times;
use super::{Problem, ProblemContext};
use crate::cli::exit::Exit;
use crate::cli::output::Applied;
use crate::domain::id::{IntentRevision, ServiceName};
use crate::domain::scale::execution::Phase;
use crate::domain::scale::rejection::Rejection;

impl Problem {
    /// A refusal with its facts and the way on.
    pub fn from_rejection(rejection: &Rejection, context: &ProblemContext) -> Self {
        let problem = Self {
            retryable: rejection.is_retryable(),
            ..Self::new(rejection.code(), Exit::from(rejection.class()), rejection.to_string())
        };
        let problem = problem.applied(context).retry_at(context, rejection.retry_at());
        about(problem, rejection, context)
    }

    /// Says which name is not there.
    #[must_use]
    pub(in crate::cli) fn about(self, name: &str) -> Self {
        Self { subject: Some(name.to_owned()), ..self }
    }

    /// Adds a line with a reason to fill in, where the line is known. What is behind `--` is not
    /// ours.
    #[must_use]
    pub(in crate::cli) fn with_reason(self, line: &[String]) -> Self {
        if line.is_empty() {
            return self;
        }
        let end = line.iter().position(|it| it == "--").unwrap_or(line.len());
        let (own, others) = line.split_at(end);
        let reason = ["--reason", "TEXT"].map(str::to_owned);
        self.run(own.iter().cloned().chain(reason).chain(others.iter().cloned()).collect())
    }

    /// Adds this command line with a person's word for what is not drained, where the verb takes
    /// it.
    #[must_use]
    pub(in crate::cli) fn attested(self, context: &ProblemContext) -> Self {
        let verb = context.verb.first().map_or("", String::as_str);
        let takes_it = ["scale", "actuate", "intent", "plan"].contains(&verb);
        if context.line.is_empty() || !takes_it {
            return self;
        }
        let flag = ["--attest", "not-drained"].map(str::to_owned);
        self.run(context.line.iter().cloned().chain(flag).collect())
    }
}

/// How a person names an intent: `web@18`.
pub(super) fn at(service: &ServiceName, revision: IntentRevision) -> String {
    format!("{service}@{revision}")
}

/// The table of the refusals. Long on purpose: every arm is a row, and no row is a default.
fn about(p: Problem, rejection: &Rejection, c: &ProblemContext) -> Problem {
    match rejection {
        Rejection::OutOfBounds { service, desired, min, max, .. } => {
            facts::out_of_bounds(p, c, service, *desired, *min, *max)
        }
        Rejection::FenceMissing { service } => p
            .hint("add --fence EPOCH.TOKEN as the writer has it; the newest is shown by")
            .run(c.command(&["service", "show", service.as_str()])),
        Rejection::FenceTooFar { service, epoch, token, mark_epoch, mark_token } => p
            .values(format!("{mark_epoch}.{mark_token}"), format!("{epoch}.{token}"))
            .hint("such a jump would lock the next writers out; the newest fence is shown by")
            .run(c.command(&["service", "show", service.as_str()])),
        Rejection::Contradiction(_) => {
            p.hint("say one or the other; what goes together is told by").run(c.command(&help(c)))
        }
        Rejection::StaleRevision { service, expected, actual, current } => {
            facts::stale_revision(p, c, service, (*expected, *actual), current.as_ref())
        }
        Rejection::StaleUnitRevision { service, expected, actual } => {
            facts::stale_settings(p.values(*expected, *actual), c, service)
        }
        Rejection::KeyConflict { service, revision, differences, .. } => {
            facts::key_conflict(p, c, &at(service, *revision), differences)
        }
        Rejection::SimulatedKey { key } => p
            .hint("the live step needs a key of its own; the simulation is shown by")
            .run(c.command(&["intent", "show", key.as_str()])),
        Rejection::LiveKey { key, state } => p
            .values("accepted", *state)
            .hint("a simulation needs a key of its own; what this one came to is told by")
            .run(c.command(&["explain", key.as_str()])),
        Rejection::IntentIdConflict { key, .. } => p
            .hint("a new wish needs a new intent id or the next revision; look at the old one with")
            .run(c.command(&["intent", "show", key.as_str()])),
        Rejection::ModeMismatch { service, registered, submitted, is_retired } => {
            let p = p.values(*registered, *submitted);
            authority::mode_mismatch(p, service, (registered, submitted), *is_retired, c)
        }
        Rejection::TargetChanged { service, part, expected, actual, .. } => {
            facts::target_changed(p, c, service, *part, expected, actual)
        }
        Rejection::TargetTaken { holder, .. } => facts::target_taken(p, c, holder),
        Rejection::WorkloadTaken { uid, holder, why, .. } => {
            authority::workload_taken(p, c, uid, holder, why)
        }
        Rejection::PremiseMoved { service, expected, actual } => p
            .values(expected.get(), actual.get())
            .hint("look at it, then decide again on the count that is there")
            .run(c.command(&["status", service.as_str()])),
        Rejection::OthersIntent { service, revision, .. } => p
            .hint("ask them first; --supersede ends it knowingly; look at it with")
            .run(c.command(&["intent", "show", &at(service, *revision)])),
        Rejection::WrongState { service, revision, phase, .. } => {
            let is_unknown = matches!(**phase, Phase::RecoveryPending { .. });
            let p = if is_unknown { Problem { applied: Applied::Unknown, ..p } } else { p };
            facts::wrong_state(p, c, &at(service, *revision), phase)
        }
        Rejection::InFlight { service, revision, state, held, .. } => {
            facts::in_flight(p, c, &at(service, *revision), state, held.as_ref())
        }
        Rejection::InProgress { service, revision, held }
        | Rejection::LeaseHeld { service, revision, held } => {
            let may_end = matches!(rejection, Rejection::LeaseHeld { .. });
            facts::held_by_a_lease(p, c, &at(service, *revision), held, may_end)
        }
        Rejection::NotWriter { service, given, writer } => p
            .values(writer.as_str(), given.as_str())
            .hint("stop: only its writer may act on it; who that is and why is shown by")
            .run(c.command(&["service", "show", service.as_str()])),
        Rejection::FenceLost { service, epoch, token, mark_epoch, mark_token } => p
            .values(format!("{mark_epoch}.{mark_token}"), format!("{epoch}.{token}"))
            .hint("stop: a newer writer has taken over; what is wished now is told by")
            .run(c.command(&["status", service.as_str()])),
        Rejection::FenceExpired { service, revision, expires_at } => p
            .fact("ended", format!("{} ago", c.now.since(*expires_at)))
            .hint("wish it anew, with a longer --valid-for; what became of this one is told by")
            .run(c.command(&["explain", &at(service, *revision)])),
        Rejection::FenceTooShort { service, revision, expires_at, needed } => p
            .values(needed.as_millis(), expires_at.since(c.now).as_millis())
            .fact("left", expires_at.since(c.now).to_string())
            .hint("wish it anew, with a longer --valid-for; what became of this one is told by")
            .run(c.command(&["explain", &at(service, *revision)])),
        Rejection::LeaseLost { key, held, .. } => {
            facts::lease_lost(p, c, key.as_str(), held.as_deref())
        }
        Rejection::Denied { actor, answer, .. } => facts::denied(p, c, actor, answer),
        Rejection::Relocating { .. } | Rejection::AlwaysOn { .. } => placed(p, c, rejection),
        Rejection::Cooldown { service, last, until, .. } => {
            times::cooldown(p, c, service, last, *until)
        }
        Rejection::OutcomeUnknown { service, revision, why, until, .. } => times::outcome_unknown(
            Problem { applied: Applied::Unknown, ..p },
            c,
            service,
            *revision,
            *why,
            *until,
        ),
        Rejection::RetryLater { service, revision, retry_at } => {
            times::in_time(p, c, "due", *retry_at)
                .hint("run this same line again then, or let what is due be done by")
                .run(c.command(&["replay", &at(service, *revision)]))
        }
        Rejection::QuietTime { service, revision, until } => {
            times::in_time(Problem { applied: Applied::Unknown, ..p }, c, "quiet", *until)
                .hint("run this same line again then; or wait for it, and find out, with")
                .run(c.command(&["replay", &at(service, *revision), "--wait"]))
        }
        Rejection::WaitsBehind { service, behind, state, .. } => {
            facts::waits_behind(p, c, &at(service, *behind), state)
        }
        Rejection::ExternalOwner { .. }
        | Rejection::StillOwned { .. }
        | Rejection::ApprovalRequired { .. }
        | Rejection::OnHold { .. }
        | Rejection::Pinned { .. }
        | Rejection::SamePerson { .. }
        | Rejection::SameReviewer { .. }
        | Rejection::SignatureMissing { .. }
        | Rejection::SignatureRefused { .. }
        | Rejection::NotAuthorized { .. }
        | Rejection::NoSuchAuthorization { .. }
        | Rejection::AuthorizationOpen { .. }
        | Rejection::Reviewed { .. }
        | Rejection::ApprovalExpired { .. }
        | Rejection::ApprovalMoved { .. }
        | Rejection::Retired { .. } => authority::about(p, rejection, c),
        Rejection::ReadingDiffers { service, revision, .. } => {
            facts::reading_differs(p, c, rejection, &at(service, *revision))
        }
        Rejection::OtherObject { service, revision, expected, actual } => {
            facts::other_object(p, c, (service, *revision), (expected, actual))
        }
        Rejection::NoSuchService { service } => missing::no_service(p, c, service),
        Rejection::NoSuchKey { key } => missing::no_key(p, c, key),
        Rejection::NoSuchActuator { name } => missing::no_actuator(p, c, name),
        Rejection::NotActuated { service } => missing::not_actuated(p, c, service),
        Rejection::FactUnknown { service, fact } => missing::fact_unknown(p, c, service, fact),
        Rejection::ClockSkew { service, now, mark } => {
            times::clock_skew(p, c, service, *now, *mark)
        }
    }
}

fn help(context: &ProblemContext) -> Vec<&str> {
    std::iter::once("help").chain(context.verb.iter().map(String::as_str)).collect()
}
