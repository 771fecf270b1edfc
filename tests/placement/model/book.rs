//! The ledger of the model: the real rules and the real fold, asked once for each pair of a state
//! and an order, and held against what must be so of every decision.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

use scalectl::domain::id::{FenceToken, LedgerId, OperationId};
use scalectl::domain::placement::command::{Change, Command, Context, StepEnd};
use scalectl::domain::placement::decide::{Decision, decide};
use scalectl::domain::placement::environment::Environment;
use scalectl::domain::placement::event::{PlacementBody, PlacementEvent};
use scalectl::domain::placement::invariant;
use scalectl::domain::placement::operation::{Course, Operation, Step};
use scalectl::domain::placement::protocol::Refusal;
use scalectl::domain::placement::state::PlacementState;
use scalectl::domain::scale::lease::Holder;
use scalectl::domain::scale::result::Detail;
use scalectl::domain::time::DurationMs;

use super::super::receipts::{receipt_of, refused_with};
use super::super::world::World;
use super::Mutant;
use super::calls::No;
use crate::rules::support::id;

/// The keys of the move and of the way back, which is a move of its own.
const KEYS: [&str; 2] = ["k1", "k2"];

/// What somebody asks of the ledger; operations by their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Order {
    Move(u8),
    Acquire { worker: u8, is_gone: bool, supersede: bool },
    Start { operation: u8, token: u64 },
    Done { operation: u8, token: u64, step: Step },
    Refused { operation: u8, token: u64, step: Step, no: No },
    Lost { operation: u8, token: u64, step: Step },
    Commit { operation: u8, token: u64 },
    Release { operation: u8, token: u64 },
    Abandon { is_gone: bool },
    Retry,
}

impl Order {
    /// The operation and the token of a worker's order.
    const fn of_worker(self) -> Option<(u8, u64)> {
        match self {
            Self::Start { operation, token }
            | Self::Done { operation, token, .. }
            | Self::Refused { operation, token, .. }
            | Self::Lost { operation, token, .. }
            | Self::Commit { operation, token } => Some((operation, token)),
            Self::Move(_)
            | Self::Acquire { .. }
            | Self::Release { .. }
            | Self::Abandon { .. }
            | Self::Retry => None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Said {
    Done(u32),
    Refused(&'static str),
    Broken(&'static str),
}

struct Pages {
    all: Vec<Arc<PlacementState>>,
    by_text: HashMap<String, u32>,
    said: HashMap<(u32, Order), Said>,
    met: BTreeMap<String, usize>,
}

pub(super) struct Book {
    world: World,
    mutant: Mutant,
    pages: Mutex<Pages>,
}

fn name(operation: u8) -> OperationId {
    id(&format!("op-{}", KEYS[usize::from(operation)]))
}

fn token_of(token: u64) -> FenceToken {
    FenceToken::new(token).expect("the model's own token")
}

impl Book {
    pub(super) fn new(mutant: Mutant) -> Self {
        let mut world = World::new();
        world.adopt("shop", "a1", "small");
        let pages = Pages {
            all: Vec::new(),
            by_text: HashMap::new(),
            said: HashMap::new(),
            met: BTreeMap::new(),
        };
        let book = Self { world, mutant, pages: Mutex::new(pages) };
        let first = book.world.state.clone();
        book.pages.lock().expect("one thread").intern(first);
        book
    }

    pub(super) fn met(&self) -> BTreeMap<String, usize> {
        self.pages.lock().expect("one thread").met.clone()
    }

    /// The environment, and the operation that is under way.
    pub(super) fn at(&self, page: u32) -> Arc<PlacementState> {
        Arc::clone(&self.pages.lock().expect("one thread").all[page as usize])
    }

    pub(super) fn ask(&self, page: u32, order: Order) -> Said {
        let mut pages = self.pages.lock().expect("one thread");
        if let Some(said) = pages.said.get(&(page, order)) {
            return *said;
        }
        let before = Arc::clone(&pages.all[page as usize]);
        let said = match self.decided(&before, order) {
            Err(said) => said,
            Ok(decision) if decision.events.is_empty() => Said::Done(page),
            Ok(decision) => match self.after(&before, order, &decision) {
                Ok(after) => Said::Done(pages.intern(after)),
                Err(rule) => Said::Broken(rule),
            },
        };
        if let Said::Refused(code) = said {
            *pages.met.entry(code.to_owned()).or_default() += 1;
        }
        pages.said.insert((page, order), said);
        said
    }

    fn decided(&self, before: &PlacementState, order: Order) -> Result<Decision, Said> {
        let (by, ledger_id) = (self.world.by(), id::<LedgerId>("ledger-1"));
        let (policy, incarnation) = (&self.world.policy, self.world.incarnation);
        let context = Context { by: &by, ledger_id: &ledger_id, incarnation, policy };
        let command = self.command(before, order);
        let decision = decide(before, &command, &context, self.world.now);
        decision.map_err(|refused| Said::Refused(refused.code()))
    }

    /// Folds a decision, and holds it against what must be so of every one.
    fn after(
        &self,
        before: &PlacementState,
        order: Order,
        decision: &Decision,
    ) -> Result<PlacementState, &'static str> {
        let events = &decision.events;
        for event in events {
            allowed(before, order, &event.body)?;
        }
        let unfolded = "an event was decided that cannot follow";
        let after = before.clone().fold(events).map_err(|_| unfolded)?;
        invariant::check(before, events, &after).map_err(|violation| violation.rule)?;
        is_read_back(before, events, &after)?;
        Ok(self.mutant.forget(before, after))
    }

    fn command(&self, state: &PlacementState, order: Order) -> Command {
        let token = |operation: u8, token: u64| {
            let held = state.operations[&name(operation)].lease.as_ref().map(|it| it.token);
            match (self.mutant, held) {
                (Mutant::BelievesAnyWorker, Some(held)) => held,
                _ => token_of(token),
            }
        };
        let ended = |operation: u8, of: u64, step: Step, end: StepEnd| Command::EndStep {
            operation_id: name(operation),
            token: token(operation, of),
            step,
            end,
        };
        let reason = || Detail::cut("it");
        match order {
            Order::Move(number) => Command::Change(Box::new(self.change(state, number))),
            Order::Acquire { worker, is_gone, supersede } => Command::AcquireLease {
                operation_id: at_work(state).expect("one").operation_id.clone(),
                lease_instance_id: id(&format!("lease-{}", shop(state).leases + 1)),
                holder: Holder {
                    host: "h1".to_owned(),
                    host_key: id("boot-1"),
                    pid: u32::from(worker) + 1,
                },
                ttl: DurationMs::from_secs(60),
                supersede: is_gone || supersede || self.mutant == Mutant::TakesALiveLease,
            },
            Order::Start { operation, token: of } => Command::StartStep {
                operation_id: name(operation),
                token: token(operation, of),
                call_id: id("call-1"),
                in_flight: Vec::new(),
            },
            Order::Done { operation, token: of, step } => {
                let known = &state.operations[&name(operation)];
                let asked = known.order(step).expect("a call has an order");
                let receipt = receipt_of(asked, token_of(of), known.to.epoch, self.world.now);
                ended(operation, of, step, StepEnd::Done(Box::new(receipt)))
            }
            Order::Refused { operation, token: of, step, no } => {
                ended(operation, of, step, refused_with(refusal(no, of)))
            }
            Order::Lost { operation, token: of, step } => {
                ended(operation, of, step, StepEnd::Lost(reason()))
            }
            Order::Commit { operation, token: of } => Command::Commit {
                operation_id: name(operation),
                token: token(operation, of),
                services: Vec::new(),
            },
            Order::Release { operation, token } => {
                Command::ReleaseLease { operation_id: name(operation), token: token_of(token) }
            }
            Order::Abandon { .. } | Order::Retry => {
                let operation = at_work(state).expect("one");
                let operation_id = operation.operation_id.clone();
                if order == Order::Retry {
                    return Command::Retry { operation_id, reason: reason() };
                }
                let held = operation.lease.as_ref().map(|lease| lease.token);
                let is_gone = order == Order::Abandon { is_gone: true };
                let gone = held.filter(|_| is_gone || self.mutant == Mutant::GivesUpUnderAWorker);
                Command::Abandon { operation_id, reason: reason(), gone }
            }
        }
    }

    fn change(&self, state: &PlacementState, number: u8) -> Change {
        let world = World::knowing(state.clone(), self.world.now);
        let cell = ["cell=b1", "cell=a1"][usize::from(number)];
        world.change_of(KEYS[usize::from(number)], "shop", cell)
    }
}

/// What must be so of an event, whoever asks for it.
fn allowed(
    before: &PlacementState,
    order: Order,
    body: &PlacementBody,
) -> Result<(), &'static str> {
    let operation = at_work(before);
    let held = operation.and_then(|it| it.lease.as_ref()).map(|lease| lease.token.get());
    if let Some((_, token)) = order.of_worker()
        && held != Some(token)
    {
        return Err("a worker whose lease is over has changed something");
    }
    match (order, body) {
        (
            Order::Acquire { is_gone: false, supersede: false, .. },
            PlacementBody::OperationLeased { lease, .. },
        ) => {
            let live = operation.and_then(|it| it.lease.as_ref());
            if live.is_some_and(|live| live.is_alive(lease.acquired_at)) {
                return Err("a second lease beside a live one");
            }
        }
        (_, PlacementBody::StepStarted { step: Step::Retire, .. })
            if operation.is_none_or(|it| !it.is_done(Step::Route)) =>
        {
            return Err("a copy is to go before the newer one serves");
        }
        (_, PlacementBody::StepStarted { step: Step::Route, .. })
            if operation.is_none_or(|it| !it.is_done(Step::Commit)) =>
        {
            return Err("a route is to change before the commit");
        }
        (Order::Abandon { is_gone: false }, PlacementBody::OperationAbandoned { .. }) => {
            let lease = operation.and_then(|it| it.lease.as_ref());
            if lease.is_some_and(|lease| lease.expires_at > lease.acquired_at) {
                return Err("it was given up under a worker that is at it");
            }
        }
        _ => {}
    }
    Ok(())
}

/// What is stored says the same when it is read.
fn is_read_back(
    before: &PlacementState,
    events: &[PlacementEvent],
    after: &PlacementState,
) -> Result<(), &'static str> {
    let text = serde_json::to_string(events).expect("JSON");
    let read: Vec<PlacementEvent> = serde_json::from_str(&text).map_err(|_| "it is not read")?;
    let again = before.clone().fold(&read).map_err(|_| "what was read cannot follow")?;
    if again == *after { Ok(()) } else { Err("what was read is another state") }
}

pub(super) fn shop(state: &PlacementState) -> &Environment {
    &state.environments[&id("shop")]
}

/// The operation that is under way.
pub(super) fn at_work(state: &PlacementState) -> Option<&Operation> {
    shop(state).operation.as_ref().map(|id| &state.operations[id])
}

/// What a relocator says to whom it refuses.
fn refusal(no: No, given: u64) -> Refusal {
    let (given, text) = (token_of(given), || "it".to_owned());
    match no {
        No::Stale => Refusal::StaleToken { given, current: token_of(given.get() + 1) },
        No::NotFenced => Refusal::NotFenced { given, current: None },
        No::Committed => Refusal::Committed { epoch: 2.try_into().expect("an epoch") },
        No::Unprovable => Refusal::UnprovableFencing { why: text() },
        No::OtherGeneration => Refusal::OtherGeneration { expected: text(), found: text() },
        No::NotThere => Refusal::NotThere { what: text() },
        No::Unusable => Refusal::Unusable { file: text(), problem: text() },
        No::TimedOut => Refusal::TimedOut { waited_for: text() },
    }
}

impl Mutant {
    /// What a fold with a fault comes to.
    fn forget(self, before: &PlacementState, mut after: PlacementState) -> PlacementState {
        let was = at_work(before).cloned();
        let Some(id) = shop(&after).operation.clone() else { return after };
        let Some(operation) = after.operations.get_mut(&id) else { return after };
        let is_admitted = was.is_none();
        let is_leased = was.as_ref().is_some_and(|was| was.lease != operation.lease);
        let is_failed = was.as_ref().is_some_and(|was| was.tries < operation.tries);
        match self {
            Self::NeverVerifies if is_admitted => {
                operation.steps.retain(|step| *step != Step::Verify);
            }
            Self::NeverFences if is_admitted => {
                operation.steps.retain(|step| *step != Step::Fence);
            }
            Self::RoutesFirst if is_admitted => operation.steps.swap(5, 6),
            Self::RetiresFirst if is_admitted => operation.steps.swap(6, 7),
            Self::TrustsOldFence if is_leased => {
                operation.fenced = operation.lease.as_ref().map(|lease| lease.token);
            }
            Self::ForgetsDrain => operation.begun.retain(|step| *step != Step::Drain),
            Self::ForgetsFence => operation.begun.retain(|step| *step != Step::Fence),
            Self::ForgetsCopy => operation.begun.retain(|step| *step != Step::Transfer),
            Self::GoesBackAfterCommit
                if is_failed && operation.is_committed() && !operation.is_done(Step::Route) =>
            {
                operation.steps = vec![Step::Unfence, Step::Undrain, Step::Discard];
                operation.course = Course::Back;
            }
            Self::KeepsLease => operation.unsure = None,
            _ => {}
        }
        after
    }
}

impl Pages {
    fn intern(&mut self, state: PlacementState) -> u32 {
        let operations: Vec<&Operation> = state.operations.values().collect();
        let text = serde_json::to_string(&(shop(&state), operations)).expect("JSON");
        if let Some(page) = self.by_text.get(&text) {
            return *page;
        }
        let words = state.operations.values().map(|it| it.course.as_str().to_owned());
        for word in words {
            *self.met.entry(word).or_default() += 1;
        }
        let page = u32::try_from(self.all.len()).expect("few states");
        self.by_text.insert(text, page);
        self.all.push(Arc::new(state));
        page
    }
}
