//! `gate`: whether a deployment may go on. Reads the targets, or what is recorded of them; writes
//! nothing, so that a runner whose role may only read can ask.

use super::error::OpError;
use super::read::Read;
use super::session::Session;
use super::wait::{pause, refuse_after_signal};
use crate::actuator::host::Deadline;
use crate::domain::id::{Replicas, ServiceName};
use crate::domain::scale::execution::Execution;
use crate::domain::scale::passage::{Demand, Passage, Seen, Sight, passage, wanted};
use crate::domain::scale::rejection::Rejection;
use crate::domain::scale::state::ServiceHead;
use crate::domain::time::DurationMs;

/// How long the first wait between two looks is; it doubles up to [`LOOK_MAX`].
const LOOK_MIN: DurationMs = DurationMs::from_millis(500);
/// The longest such wait.
const LOOK_MAX: DurationMs = DurationMs::from_secs(5);

/// What is asked of every service.
#[derive(Debug, Clone, Copy)]
pub struct GateRequest {
    /// Whether all of it must be ready.
    pub ready: bool,
    /// Whether every broken glass must have been reviewed.
    pub reviewed: bool,
    /// How old what is recorded may be where the target need not be read; zero reads it always.
    pub age_max: DurationMs,
    /// Whether no target is read at all.
    pub is_recorded: bool,
    /// Until when a gate that time may open is looked at again; none looks once.
    pub until: Option<Deadline>,
}

/// What one service answers.
pub struct Gated {
    /// The service.
    pub service: ServiceName,
    /// The count that was asked for.
    pub asked: Option<Replicas>,
    /// The service as it stands.
    pub head: ServiceHead,
    /// The wish that is wanted.
    pub wish: Option<Execution>,
    /// The count that is wished.
    pub wanted: Option<Replicas>,
    /// What was seen of the target.
    pub seen: Option<Seen>,
    /// Whether it lets a deployment go on.
    pub passage: Passage,
    /// Why the target could not be read, where that is an error of its own.
    pub failure: Option<OpError>,
}

impl Gated {
    /// Whether it may open without anybody's doing: with time, or once its actuator answers again.
    pub fn may_open(&self) -> bool {
        self.passage.may_open() || matches!(self.failure, Some(OpError::Actuator { .. }))
    }
}

/// Looks at services until every gate is open, one is closed by more than time, or the time is
/// over.
/// `say` is told what is waited for, with how long is left.
pub fn gate(
    session: &mut Session,
    services: &[(ServiceName, Option<Replicas>)],
    request: GateRequest,
    say: &mut dyn FnMut(&[Gated], DurationMs),
) -> Result<Vec<Gated>, OpError> {
    if let Some(until) = request.until {
        session.wait_no_longer_than(until);
    }
    let mut pace = LOOK_MIN;
    loop {
        refuse_after_signal()?;
        let mut rows = Vec::new();
        for (service, asked) in services {
            rows.push(session.gated(service, *asked, request)?);
        }
        let mut closed = rows.iter().filter(|row| row.passage != Passage::Open).peekable();
        let is_worth_waiting = closed.peek().is_some() && closed.all(Gated::may_open);
        let Some(until) = request.until.filter(|until| is_worth_waiting && !until.is_past()) else {
            return Ok(rows);
        };
        let left = u64::try_from(until.remaining().as_millis()).unwrap_or(u64::MAX);
        say(&rows, DurationMs::from_millis(left));
        pause(pace, until)?;
        pace = DurationMs::from_millis(pace.as_millis() * 2).min(LOOK_MAX);
    }
}

impl Session {
    fn gated(
        &mut self,
        service: &ServiceName,
        asked: Option<Replicas>,
        request: GateRequest,
    ) -> Result<Gated, OpError> {
        self.load_service(service)?;
        let shown = self.shown(std::slice::from_ref(service))?.into_iter().next();
        let (head, live) =
            shown.ok_or_else(|| Rejection::NoSuchService { service: service.clone() })?;
        if let Some(retired) = &head.authority.retired {
            return Err(Rejection::Retired { service: service.clone(), at: retired.at }.into());
        }
        let demand = Demand { count: asked, ready: request.ready, reviewed: request.reviewed };
        let is_lost = |session: &Self, execution: &Execution| {
            execution.open_call().is_some_and(|call| {
                session.call_seems_ended(execution, call) || session.call_is_silent(execution, call)
            })
        };
        let known = Sight::recorded(&head, request.age_max, self.now());
        // What is recorded decides first: no target is asked where that could open nothing.
        let supposed = Sight::Unseen { why: String::new() };
        let first = passage(&head, &live, |execution| is_lost(self, execution), &supposed, demand);
        let is_asked = matches!(first, Passage::Unseen { .. });
        let needs_reading = is_asked && !request.is_recorded && !matches!(known, Sight::Seen(_));
        let (head, sight, failure) =
            if needs_reading { self.sight_of(service, head)? } else { (head, known, None) };
        let now = passage(&head, &live, |execution| is_lost(self, execution), &sight, demand);
        let seen = match sight {
            Sight::Seen(seen) => Some(seen),
            Sight::TooOld { .. } | Sight::Unseen { .. } => None,
        };
        let key = head.wanted.as_ref().map(|wanted| &wanted.execution_key);
        let wish = live.into_iter().find(|execution| Some(execution.key()) == key);
        let failure = failure.filter(|_| matches!(now, Passage::Unseen { .. }));
        Ok(Gated {
            service: service.clone(),
            asked,
            wanted: wanted(&head),
            head,
            wish,
            seen,
            passage: now,
            failure,
        })
    }

    /// The target as it is now. What cannot be read is no end of the others.
    fn sight_of(
        &mut self,
        service: &ServiceName,
        head: ServiceHead,
    ) -> Result<(ServiceHead, Sight, Option<OpError>), OpError> {
        let unseen = |why: String| Sight::Unseen { why };
        let state = self.load_service(service)?;
        Ok(match self.read_now(state) {
            Ok(Read::Fresh(state)) => {
                let seen = Seen::of(&state.head);
                let sight = seen.map_or_else(|| unseen("it has no count".to_owned()), Sight::Seen);
                (state.head, sight, None)
            }
            Ok(Read::Stored(state)) => {
                (state.head, unseen("its actuator cannot read it".to_owned()), None)
            }
            Ok(Read::Refused(state, rejection)) => {
                let why = rejection.to_string();
                (state.head, unseen(why), Some(OpError::from(*rejection)))
            }
            Err(error) if error.is_of_target() => (head, unseen(error.to_string()), Some(error)),
            Err(error) => return Err(error),
        })
    }
}
