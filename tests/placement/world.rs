//! A placement with a clock and a log. Every step is checked against the whole log.

use std::collections::BTreeSet;

use scalectl::domain::id::{FenceToken, LedgerId, OperationId};
use scalectl::domain::placement::command::{
    AdoptEnvironment, Change, Command, Context, Put, Sighting, StepEnd,
};
use scalectl::domain::placement::decide::{Decision, decide};
use scalectl::domain::placement::environment::Environment;
use scalectl::domain::placement::event::PlacementEvent;
use scalectl::domain::placement::invariant;
use scalectl::domain::placement::operation::{Operation, Step};
use scalectl::domain::placement::protocol::{OPS, Receipt};
use scalectl::domain::placement::registry::{
    Cell, Overheads, PlaceLocation, PlacementPolicy, Profile,
};
use scalectl::domain::placement::rejection::PlacementRejection;
use scalectl::domain::placement::request::{ChangeRequest, KeyedRequest};
use scalectl::domain::placement::state::PlacementState;
use scalectl::domain::scale::lease::Holder;
use scalectl::domain::scale::provenance::{Claim, Provenance};
use scalectl::domain::scale::result::Detail;
use scalectl::domain::time::{DurationMs, Timestamp};

use super::receipts::{inventory, receipt_of, relocator};
use crate::rules::support::{Denying, id};

pub(super) type Refused = PlacementRejection;

pub(super) struct World {
    pub(super) state: PlacementState,
    pub(super) log: Vec<PlacementEvent>,
    pub(super) now: Timestamp,
    pub(super) incarnation: u64,
    pub(super) policy: Denying,
    pub(super) host: String,
    calls: u64,
}

pub(super) fn amounts(text: &str) -> scalectl::domain::placement::capacity::Amounts {
    text.parse().expect("the test's own amounts")
}

pub(super) fn cell(name: &str, location: &str, allocatable: &str, at: Timestamp) -> Cell {
    Cell {
        name: id(name),
        revision: id_number(1),
        location: id(location),
        allocatable: amounts(allocatable),
        measured_at: at,
        fresh_for_ms: None,
        cordon: None,
    }
}

pub(super) fn id_number<T: TryFrom<u64, Error: std::fmt::Debug>>(number: u64) -> T {
    T::try_from(number).expect("the test's own number")
}

pub(super) fn profile(name: &str, floor: &str, maximum: &str) -> Profile {
    let nothing = amounts("cpu=0,memory=0,storage=0");
    Profile {
        name: id(name),
        floor: amounts(floor),
        maximum: amounts(maximum),
        overheads: Overheads {
            rollout_overlap: nothing,
            queue_proxy: amounts("cpu=100m,memory=0,storage=0"),
        },
        isolation: id("shared"),
    }
}

/// `small` is half of `large`. Three cells: `a1` and `a2` in location `a`, `b1` in `b`.
impl World {
    pub(super) fn new() -> Self {
        let mut world = Self::empty();
        let now = world.now;
        for location in ["a", "b"] {
            let about = Detail::cut("a place");
            let setting = PlaceLocation { name: id(location), revision: id_number(1), about };
            world.must(&Command::PutLocation(Put { setting, expected: Some(0) }));
        }
        for (name, location) in [("a1", "a"), ("a2", "a"), ("b1", "b")] {
            let setting = cell(name, location, "cpu=4,memory=8GiB,storage=100GiB", now);
            world.must(&Command::PutCell(Box::new(Put { setting, expected: Some(0) })));
        }
        for (name, floor, maximum) in [
            ("small", "cpu=900m,memory=1GiB,storage=1GiB", "cpu=2,memory=2GiB,storage=6GiB"),
            ("large", "cpu=1900m,memory=2GiB,storage=2GiB", "cpu=4,memory=4GiB,storage=12GiB"),
            ("huge", "cpu=4,memory=2GiB,storage=2GiB", "cpu=4,memory=4GiB,storage=12GiB"),
        ] {
            world.must(&Command::PutProfile(Box::new(profile(name, floor, maximum))));
        }
        world.put_policy(|_| {});
        world.must(&Command::RegisterRelocator(Box::new(relocator(&OPS))));
        world
    }

    /// A world in which just this is known.
    pub(super) fn knowing(state: PlacementState, now: Timestamp) -> Self {
        Self { state, now, log: Vec::new(), ..Self::empty() }
    }

    fn empty() -> Self {
        Self {
            state: PlacementState::default(),
            log: Vec::new(),
            now: "2026-01-01T12:00:00Z".parse().expect("an instant"),
            incarnation: 1,
            policy: Denying::default(),
            host: "h1".to_owned(),
            calls: 0,
        }
    }

    /// The policy, with something changed.
    pub(super) fn put_policy(&mut self, change: impl FnOnce(&mut PlacementPolicy)) {
        let mut setting = self.state.policies.values().next().cloned().unwrap_or_else(|| {
            let offers = [("small", 10), ("large", 20)];
            let offers = offers.map(|(name, cost)| (id(name), id_number(cost)));
            PlacementPolicy {
                name: id("standard"),
                revision: id_number(1),
                offers: offers.into(),
                cells: ["a1", "a2", "b1"].map(id).into(),
                locations: BTreeSet::new(),
                budget: id_number(40),
                usage_fresh_for_ms: DurationMs::from_secs(300),
            }
        });
        change(&mut setting);
        self.must(&Command::PutPolicy(Box::new(Put { setting, expected: None })));
    }

    pub(super) fn by(&self) -> Provenance {
        Provenance {
            actor: Claim::try_from("ann".to_owned()).expect("a claim"),
            uid: 1000,
            os_user: "ann".to_owned(),
            host: self.host.clone(),
            pid: 7,
            run_url: None,
            reference: None,
            db_role: None,
            signed_by: None,
        }
    }

    /// Decides, folds, and holds the fold and the invariants against the whole log.
    pub(super) fn run(&mut self, command: &Command) -> Result<Decision, Refused> {
        let (by, ledger_id) = (self.by(), id::<LedgerId>("ledger-1"));
        let context = Context {
            by: &by,
            ledger_id: &ledger_id,
            incarnation: self.incarnation,
            policy: &self.policy,
        };
        let decision = decide(&self.state, command, &context, self.now)?;
        let after = self.state.clone().fold(&decision.events).expect("a decision can be folded");
        invariant::check(&self.state, &decision.events, &after).expect("the invariants hold");
        self.state = after;
        self.log.extend(decision.events.iter().cloned());
        // A long log is folded anew now and then.
        if self.log.len() < 60 || self.log.len().is_multiple_of(16) {
            self.fold_anew();
        }
        Ok(decision)
    }

    fn fold_anew(&self) {
        let stored = self.log.iter().map(|event| {
            let text = serde_json::to_string(event).expect("JSON");
            serde_json::from_str(&text).expect("what was stored can be read")
        });
        let stored: Vec<PlacementEvent> = stored.collect();
        assert_eq!(PlacementState::default().fold(&stored).expect("the log"), self.state);
    }

    pub(super) fn must(&mut self, command: &Command) -> Decision {
        self.run(command).unwrap_or_else(|refusal| panic!("{command:?}: {refusal}"))
    }

    pub(super) fn wait(&mut self, seconds: u64) {
        self.now = self.now.plus(DurationMs::from_secs(seconds));
    }

    pub(super) fn adopt(&mut self, environment: &str, cell: &str, profile: &str) {
        let ask = self.adoption(environment, cell, profile);
        self.must(&Command::Adopt(Box::new(ask)));
    }

    pub(super) fn adoption(
        &self,
        environment: &str,
        cell: &str,
        profile: &str,
    ) -> AdoptEnvironment {
        let known = self.state.environments.get(&id(environment));
        AdoptEnvironment {
            environment: id(environment),
            expected_revision: known.map_or(0, |it| it.revision.get()),
            policy: id("standard"),
            relocator: Some(id("mover")),
            cell: id(cell),
            generation: id("1-op0"),
            profile: id(profile),
            runtime_mode: scalectl::domain::placement::environment::RuntimeMode::OnDemand,
            reason: scalectl::domain::scale::intent::Reason::cut("it is there"),
            sighting: None,
        }
    }

    pub(super) fn env(&self, name: &str) -> &Environment {
        &self.state.environments[&id(name)]
    }

    /// A change as it would be submitted now: `profile=large location=b cell=b1 standby=none`.
    pub(super) fn request(&self, environment: &str, words: &str) -> ChangeRequest {
        let known = self.state.environments.get(&id(environment));
        let policy = self.state.policies.values().next().expect("a policy");
        let mut request = ChangeRequest {
            environment: id(environment),
            expected_revision: known.map_or(0, |it| it.revision.get()),
            policy_revision: policy.revision.get(),
            profile: None,
            location: None,
            cell: None,
            standby: None,
            refresh_standby: false,
            runtime_mode: None,
            retire_workspace: None,
        };
        for word in words.split_whitespace() {
            let (field, value) = word.split_once('=').unwrap_or((word, ""));
            match field {
                "profile" => request.profile = Some(id(value)),
                "location" => request.location = Some(id(value)),
                "cell" => request.cell = Some(id(value)),
                "standby" => request.standby = Some(id(value)),
                "refresh" => request.refresh_standby = true,
                "mode" => request.runtime_mode = Some(value.parse().expect("a mode")),
                "revision" => request.expected_revision = value.parse().expect("a number"),
                "policy" => request.policy_revision = value.parse().expect("a number"),
                other => panic!("{other:?} is no field"),
            }
        }
        request
    }

    pub(super) fn seen(&self, environment: &str) -> Sighting {
        let known = self.state.environments.get(&id(environment));
        let source = known.map(|it| it.effective.copy());
        let Some(source) = source else { return Sighting::Unasked("nobody is there".to_owned()) };
        Sighting::Seen(Box::new(inventory(source)))
    }

    pub(super) fn change_of(&self, key: &str, environment: &str, words: &str) -> Change {
        let request = self.request(environment, words);
        Change {
            asked: KeyedRequest { key: id(key), request },
            operation_id: id(&format!("op-{key}")),
            sighting: Some(self.seen(environment)),
            in_flight: Vec::new(),
        }
    }

    pub(super) fn change(
        &mut self,
        key: &str,
        environment: &str,
        words: &str,
    ) -> Result<OperationId, Refused> {
        let change = self.change_of(key, environment, words);
        self.run(&Command::Change(Box::new(change))).map(|it| it.operation_id.expect("is named"))
    }

    pub(super) fn operation(&self, id: &OperationId) -> &Operation {
        &self.state.operations[id]
    }

    pub(super) fn lease_as(
        &mut self,
        operation_id: &OperationId,
        supersede: bool,
    ) -> Result<FenceToken, Refused> {
        self.calls += 1;
        let holder = Holder { host: self.host.clone(), host_key: id("boot-1"), pid: 7 };
        self.run(&Command::AcquireLease {
            operation_id: operation_id.clone(),
            lease_instance_id: id(&format!("lease-{}", self.calls)),
            holder,
            ttl: DurationMs::from_secs(60),
            supersede,
        })?;
        Ok(self.operation(operation_id).lease.as_ref().expect("a lease").token)
    }

    pub(super) fn start(
        &mut self,
        operation_id: &OperationId,
        token: FenceToken,
    ) -> Result<Step, Refused> {
        self.calls += 1;
        self.run(&Command::StartStep {
            operation_id: operation_id.clone(),
            token,
            call_id: id(&format!("call-{}", self.calls)),
            in_flight: Vec::new(),
        })?;
        Ok(self.operation(operation_id).started.as_ref().expect("it is started").step)
    }

    pub(super) fn end(
        &mut self,
        operation_id: &OperationId,
        token: FenceToken,
        step: Step,
        end: StepEnd,
    ) -> Result<Decision, Refused> {
        let operation_id = operation_id.clone();
        self.run(&Command::EndStep { operation_id, token, step, end })
    }

    pub(super) fn commit(
        &mut self,
        operation_id: &OperationId,
        token: FenceToken,
    ) -> Result<Decision, Refused> {
        let (operation_id, services) = (operation_id.clone(), Vec::new());
        self.run(&Command::Commit { operation_id, token, services })
    }

    /// Carries out steps until the named one is done; answers what was done.
    pub(super) fn until(
        &mut self,
        operation_id: &OperationId,
        token: FenceToken,
        last: Option<Step>,
    ) -> Vec<Step> {
        let mut done = Vec::new();
        while !self.operation(operation_id).course.is_over() {
            let step = self.operation(operation_id).next_step().expect("a step");
            if step.is_of_ledger() {
                self.commit(operation_id, token).expect("it commits");
            } else {
                assert_eq!(self.start(operation_id, token).expect("it starts"), step);
                let receipt = self.receipt(operation_id, step);
                self.end(operation_id, token, step, StepEnd::Done(receipt)).expect("it ends");
            }
            done.push(step);
            if Some(step) == last {
                break;
            }
        }
        done
    }

    /// The receipt of a step that went well.
    pub(super) fn receipt(&self, operation_id: &OperationId, step: Step) -> Box<Receipt> {
        let operation = self.operation(operation_id);
        let token = operation.lease.as_ref().expect("a lease").token;
        let order = operation.order(step).expect("an order");
        Box::new(receipt_of(order, token, operation.to.epoch, self.now))
    }
}
