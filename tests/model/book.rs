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
use scalectl::domain::scale::execution::Phase;
use scalectl::domain::scale::invariant;
use scalectl::domain::scale::state::ServiceState;

use super::forged;
use super::mutants::{Mutant, decide_as};
use super::orders::{self, Order};
use super::setup::Setup;
use super::transition;
use crate::rules::support::{World, id, loaded_for};

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
    pages: Mutex<Pages>,
}

#[derive(Default)]
struct Pages {
    all: Vec<Page>,
    by_text: HashMap<String, u32>,
    said: HashMap<(u32, Order, i8), Said>,
    phases: BTreeMap<String, usize>,
    codes: BTreeMap<&'static str, usize>,
    replies: BTreeMap<&'static str, usize>,
}

impl Book {
    pub(super) fn new(setup: Setup, mutant: Mutant, asks_invariants: bool) -> Self {
        let quiet = u64::from(setup.quiet.unsigned_abs()) * orders::TICK;
        let defaults = format!("match=replicas quiet={quiet}s backoff=0ms");
        let world = World::new(&format!("{defaults} {}", setup.settings));
        let book = Self { setup, mutant, asks_invariants, pages: Mutex::default(), world };
        let (state, log) = (&book.world.state, book.world.log.iter().flatten().cloned());
        book.pages.lock().expect("one thread").intern(state.clone(), log.collect());
        book
    }

    pub(super) fn state(&self, page: u32) -> Arc<ServiceState> {
        let pages = self.pages.lock().expect("one thread");
        Arc::clone(&pages.all[page as usize].state)
    }

    /// What an order comes to at an instant of the wall clock.
    pub(super) fn ask(&self, page: u32, order: &Order, wall: i8) -> Said {
        let mut pages = self.pages.lock().expect("one thread");
        let question = (page, order.clone(), wall);
        if let Some(said) = pages.said.get(&question) {
            return said.clone();
        }
        let said = self.decide(&mut pages, page, order, wall);
        pages.said.insert(question, said.clone());
        said
    }

    fn decide(&self, pages: &mut Pages, page: u32, order: &Order, wall: i8) -> Said {
        let before = Arc::clone(&pages.all[page as usize].state);
        let log = Arc::clone(&pages.all[page as usize].log);
        let command = orders::command(&self.setup, &before, order);
        let decision = self.decision(&before, &command, order, wall);
        let is_outdated =
            matches!(&command, Command::Put(put) if put.premise == Premise::Revision(99));
        let decision = match decision {
            Ok(decision) => decision,
            Err(rejection) => {
                *pages.codes.entry(rejection.code()).or_default() += 1;
                return Said::Refused(rejection.code());
            }
        };
        *pages.replies.entry(word(decision.reply)).or_default() += 1;
        if decision.events.is_empty() {
            return Said::Done(page, decision.reply);
        }
        if let Command::Put(put) = &command
            && !put.queue
            && !put.dry_run
            && before.executions.values().any(|e| e.is_live() && e.is_in_flight(orders::at(wall)))
        {
            return Said::Broken("a wish was accepted while another is in flight");
        }
        if is_outdated {
            return Said::Broken("a premise that does not hold was believed");
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
            && self.decision(&self.loaded_for(&before, &command), &command, order, wall)
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
        wall: i8,
    ) -> Result<Decision, scalectl::domain::scale::rejection::Rejection> {
        let mut by = self.world.by();
        by.actor = order.actor(&self.setup).to_owned().try_into().expect("a claim");
        let ledger_id: LedgerId = id("ledger-1");
        let context = Context {
            by: &by,
            ledger_id: &ledger_id,
            actuator: Some(&self.world.actuator),
            policy: &self.world.policy,
            recent: None,
        };
        decide_as(self.mutant, state, command, &context, orders::at(wall))
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
        let page = u32::try_from(self.all.len()).expect("few states");
        self.by_text.insert(text, page);
        self.all.push(Page { state: Arc::new(state), log: Arc::new(log) });
        page
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
