//! The ledger of the model: every state of the service that was ever reached, once, and what each
//! order came to in it.
//!
//! A state is known by its whole JSON, so that two ways to the same state meet. What must hold of
//! one transition is checked here, once for each.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

use scalectl::domain::id::LedgerId;
use scalectl::domain::scale::command::{Command, Context, Premise};
use scalectl::domain::scale::decide::{Decision, Reply};
use scalectl::domain::scale::event::Event;
use scalectl::domain::scale::execution::{Execution, Phase};
use scalectl::domain::scale::invariant;
use scalectl::domain::scale::rejection::Rejection;
use scalectl::domain::scale::state::ServiceState;

use super::consent::{self, Scene};
use super::forged;
use super::laid;
use super::mutants::{Mutant, decide_as};
use super::orders::{self, Order};
use super::setup::Setup;
use super::snapshot::Snapshot;
use super::transition;
use crate::rules::support::{Denying, World, id, loaded_for};

/// What an order came to.
#[derive(Clone, Debug)]
pub(super) enum Said {
    /// The next state of the service; the same one where nothing changed.
    Done(u32, Reply),
    Refused(&'static str),
    /// A rule is broken.
    Broken(&'static str),
}

struct Page {
    state: Arc<ServiceState>,
    log: Arc<Vec<Event>>,
}

/// What was met on the way.
pub(super) struct Met {
    /// How many states of the service have a key in each phase.
    pub(super) phases: BTreeMap<String, usize>,
    /// How many questions were answered so.
    pub(super) codes: BTreeMap<&'static str, usize>,
    pub(super) replies: BTreeMap<&'static str, usize>,
    /// How many states of the service.
    pub(super) pages: usize,
}

pub(super) struct Book {
    setup: Setup,
    mutant: Mutant,
    /// Whether the rules' own check of a state is asked, too.
    asks_invariants: bool,
    world: World,
    policies: Vec<Denying>,
    pages: Mutex<Pages>,
}

/// When and under which policy an order is given, and on what.
struct Moment {
    page: u32,
    wall: i8,
    policy: u8,
}

#[derive(Default)]
struct Pages {
    all: Vec<Page>,
    by_text: HashMap<String, u32>,
    said: HashMap<(u32, Order, i8, u8), Said>,
    phases: BTreeMap<String, usize>,
    codes: BTreeMap<&'static str, usize>,
    replies: BTreeMap<&'static str, usize>,
}

impl Book {
    pub(super) fn new(setup: Setup, mutant: Mutant, asks_invariants: bool) -> Self {
        let quiet = u64::from(setup.quiet.unsigned_abs()) * orders::TICK;
        let defaults = format!("match=replicas quiet={quiet}s backoff=0ms");
        let world = World::new(&format!("{defaults} {}", setup.settings));
        let policies =
            if setup.has_people() { setup.consent.policies() } else { vec![world.policy.clone()] };
        let pages = Mutex::default();
        let book = Self { setup, mutant, asks_invariants, world, policies, pages };
        let (state, log) = (&book.world.state, book.world.log.iter().flatten().cloned());
        book.pages.lock().expect("one thread").intern(state.clone(), log.collect());
        book
    }

    pub(super) fn state(&self, page: u32) -> Arc<ServiceState> {
        let pages = self.pages.lock().expect("one thread");
        Arc::clone(&pages.all[page as usize].state)
    }

    /// Everything that led to a page.
    pub(super) fn log(&self, page: u32) -> Arc<Vec<Event>> {
        let pages = self.pages.lock().expect("one thread");
        Arc::clone(&pages.all[page as usize].log)
    }

    /// What an order comes to at an instant of the wall clock.
    pub(super) fn ask(&self, now: &Snapshot, order: &Order, wall: i8) -> Said {
        let mut pages = self.pages.lock().expect("one thread");
        let question = (now.page, order.clone(), wall, now.policy);
        if let Some(said) = pages.said.get(&question) {
            return said.clone();
        }
        let moment = Moment { page: now.page, wall, policy: now.policy };
        let said = self.decide(&mut pages, order, &moment);
        pages.said.insert(question, said.clone());
        said
    }

    fn decide(&self, pages: &mut Pages, order: &Order, now: &Moment) -> Said {
        let page = now.page;
        let before = Arc::clone(&pages.all[page as usize].state);
        let log = Arc::clone(&pages.all[page as usize].log);
        let command = orders::command(&self.setup, &before, order, now.wall);
        let decision = self.decision(&before, &command, order, now);
        let decision = match decision {
            Ok(decision) => decision,
            Err(rejection) => {
                let code = code_of(&rejection);
                if self.setup.has_people() && self.mutant == Mutant::None {
                    let loaded = self.loaded_for(&before, &command);
                    if self.decision(&loaded, &command, order, now) != Err(rejection) {
                        return Said::Broken("a partial state decides otherwise");
                    }
                }
                *pages.codes.entry(code).or_default() += 1;
                return Said::Refused(code);
            }
        };
        *pages.replies.entry(word(decision.reply)).or_default() += 1;
        if decision.events.is_empty() {
            return Said::Done(page, decision.reply);
        }
        if let Err(rule) = premises(&before, &command, &decision, now) {
            return Said::Broken(rule);
        }
        if self.setup.has_people() {
            let policy = &self.policies[usize::from(now.policy)].0;
            let scene = Scene { before: &before, log: &log, command: &command, policy };
            let checked = consent::check(&scene, &decision.events);
            if let Err(rule) = checked.and_then(|()| laid::check(&scene, &decision.events)) {
                return Said::Broken(rule);
            }
        }
        let mut log: Vec<Event> = log.iter().chain(&decision.events).cloned().collect();
        forged::log(self.mutant, &mut log);
        let reread = |text| forged::reread(self.mutant, text);
        if let Err(rule) = transition::check_events(&before, order, &decision.events, &reread) {
            return Said::Broken(rule);
        }
        let Ok(mut after) = (*before).clone().fold(&decision.events) else {
            return Said::Broken("an event was decided that cannot follow");
        };
        forged::fold(self.mutant, &before, &mut after, &decision.events);
        if let Err(rule) = transition::history(&before, &after) {
            return Said::Broken(rule);
        }
        let pages_before = pages.all.len();
        let next = pages.intern(after, log);
        if pages.all.len() > pages_before
            && let Err(rule) = self.check_page(&pages.all[next as usize])
        {
            return Said::Broken(rule);
        }
        if matches!(self.mutant, Mutant::None | Mutant::Loading)
            && self.decision(&self.loaded_for(&before, &command), &command, order, now)
                != Ok(decision.clone())
        {
            return Said::Broken("a partial state decides otherwise");
        }
        Said::Done(next, decision.reply)
    }

    fn decision(
        &self,
        state: &ServiceState,
        command: &Command,
        order: &Order,
        now: &Moment,
    ) -> Result<Decision, Rejection> {
        let mut by = self.world.by();
        let mut actor = order.actor(&self.setup);
        if self.setup.has_people() {
            let person = order.person(&self.setup);
            actor = person.claim();
            person.user().clone_into(&mut by.os_user);
            by.uid = person.uid();
            by.signed_by = order.sign().key_of(person);
        }
        by.actor = actor.to_owned().try_into().expect("a claim");
        let ledger_id: LedgerId = id("ledger-1");
        let context = Context {
            by: &by,
            ledger_id: &ledger_id,
            actuator: Some(&self.world.actuator),
            policy: &self.policies[usize::from(now.policy)],
            recent: None,
            placed: None,
        };
        decide_as(self.mutant, state, command, &context, orders::at(now.wall))
    }

    pub(super) fn met(&self) -> Met {
        let pages = self.pages.lock().expect("one thread");
        let (phases, codes) = (pages.phases.clone(), pages.codes.clone());
        Met { phases, codes, replies: pages.replies.clone(), pages: pages.all.len() }
    }

    fn loaded_for(&self, state: &ServiceState, command: &Command) -> ServiceState {
        let mut loaded = loaded_for(state, command);
        if self.mutant == Mutant::Loading {
            loaded.executions.retain(|_, it| !matches!(it.phase, Phase::Failed { .. }));
        }
        loaded
    }

    fn check_page(&self, page: &Page) -> Result<(), &'static str> {
        if self.asks_invariants {
            invariant::check(&page.state).map_err(|violation| violation.rule)?;
        }
        if self.setup.has_people() {
            consent::check_page(self.mutant, &page.state, &page.log)?;
        }
        transition::check_log(&page.state, &page.log)
    }
}

impl Pages {
    fn intern(&mut self, state: ServiceState, log: Vec<Event>) -> u32 {
        let executions: Vec<_> = state.executions.values().collect();
        let text = serde_json::to_string(&(&state.head, executions)).expect("a state is JSON");
        if let Some(page) = self.by_text.get(&text) {
            return *page;
        }
        for execution in state.executions.values() {
            let outcome = execution.outcome().map(|outcome| format!("({})", outcome.as_str()));
            let drift = if execution.drift { "!" } else { "" };
            let (word, outcome) = (execution.phase.as_str(), outcome.unwrap_or_default());
            *self.phases.entry(format!("{word}{outcome}{drift}")).or_default() += 1;
        }
        for met in consent::met(&state).into_iter().chain(laid::met(&state)) {
            *self.phases.entry(met).or_default() += 1;
        }
        let page = u32::try_from(self.all.len()).expect("few states");
        self.by_text.insert(text, page);
        self.all.push(Page { state: Arc::new(state), log: Arc::new(log) });
        page
    }
}

/// What must hold of a command that was not refused.
fn premises(
    before: &ServiceState,
    command: &Command,
    decision: &Decision,
    now: &Moment,
) -> Result<(), &'static str> {
    let is_replay = decision.reply == Reply::Replayed;
    if is_replay && !matches!(command, Command::Observe { .. }) {
        return Err("a replay changed something");
    }
    let Command::Put(put) = command else { return Ok(()) };
    let is_in_flight = |e: &Execution| e.is_live() && e.is_in_flight(orders::at(now.wall));
    if !put.queue && !put.dry_run && before.executions.values().any(is_in_flight) {
        return Err("a wish was accepted while another is in flight");
    }
    if put.premise == Premise::Revision(99) {
        return Err("a premise that does not hold was believed");
    }
    Ok(())
}

/// What a refusal is counted as: of an authorization, why it does not permit it.
fn code_of(rejection: &Rejection) -> &'static str {
    match rejection {
        Rejection::NotAuthorized { why, .. } => why.as_str(),
        other => other.code(),
    }
}

const fn word(reply: Reply) -> &'static str {
    match reply {
        Reply::Done => "done",
        Reply::Replayed => "replayed",
        Reply::Unchanged => "unchanged",
        Reply::StaleReading => "stale_reading",
        Reply::Late => "late",
        Reply::Evaluated => "evaluated",
    }
}
