//! What is really there: copies, their fences, the route, the newest token; and what a relocator
//! does to them, by the rules of `docs/relocator-protocol.md`. It knows nothing of the ledger.

use scalectl::domain::placement::operation::Step;

use super::Mutant;
use super::calls::{Call, Came, No, Writes};

/// Whether the database of a copy takes writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Gate {
    Open,
    Fenced,
    Left,
}

/// The paper beside a fence: under which token it was set, and the number of its seal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Paper {
    token: u64,
    seal: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Copy {
    /// The acknowledged rows that it has, a bit each.
    pub(super) rows: u8,
    pub(super) gate: Gate,
    pub(super) paper: Option<Paper>,
    seals: u8,
    /// Something was written since the paper was.
    is_broken: bool,
    /// Of which seal of its source it is a copy.
    of_seal: u8,
    pub(super) is_verified: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Route {
    To(u8),
    /// Taken away by an operation; accepted requests may still run until it is drained.
    Away {
        was: u8,
        by: u8,
        is_drained: bool,
    },
}

/// The copy of epoch `n` is at `n - 1`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Truth {
    pub(super) copies: [Option<Copy>; 3],
    pub(super) route: Route,
    newest: u64,
    /// The rows that were acknowledged.
    pub(super) rows: u8,
}

type Part = Result<Came, No>;

impl Truth {
    pub(super) fn new() -> Self {
        let first = Copy {
            rows: 0,
            gate: Gate::Open,
            paper: None,
            seals: 0,
            is_broken: false,
            of_seal: 0,
            is_verified: true,
        };
        Self { copies: [Some(first), None, None], route: Route::To(0), newest: 0, rows: 0 }
    }

    /// The application has a row acknowledged by a copy that takes it, whatever the route says.
    pub(super) fn write(&mut self, at: usize) {
        let row = 1 << self.rows.count_ones();
        self.rows |= row;
        if let Some(copy) = &mut self.copies[at] {
            copy.rows |= row;
            copy.is_broken = true;
        }
    }

    /// Takes the lock with a token, unless a newer one was there.
    fn hold(&mut self, call: &Call, mutant: Mutant) -> Result<(), No> {
        if call.token < self.newest && mutant != Mutant::ForgetsTokens {
            return Err(No::Stale);
        }
        self.newest = self.newest.max(call.token);
        Ok(())
    }

    fn copy(&self, at: usize) -> Result<Copy, No> {
        self.copies[at].ok_or(No::NotThere)
    }

    /// The next part of a call; dies before its write number `dies_at`, where there is that.
    pub(super) fn part(&mut self, call: &mut Call, dies_at: Option<u8>, mutant: Mutant) -> Part {
        let mut writes = Writes { left: dies_at };
        if call.step == Step::Inventory {
            return self.copy(call.source()).map(|_| Came::Done);
        }
        self.hold(call, mutant)?;
        let came = match call.step {
            Step::Drain => self.drain(call),
            Step::Fence => self.fence(call, &mut writes),
            Step::Transfer => self.transfer(call, mutant),
            Step::Verify => self.verify(call, mutant),
            Step::Route => self.lead(call, &mut writes, mutant),
            Step::Retire => self.retire(call, mutant),
            Step::Unfence => self.unfence(call, &mut writes),
            Step::Undrain => self.undrain(call),
            Step::Discard => self.discard(call),
            other => panic!("the model has no {other:?}"),
        };
        call.part += 1;
        came
    }

    fn drain(&mut self, call: &Call) -> Part {
        self.copy(call.source())?;
        let (source, by) = (call.operation, call.operation);
        match self.route {
            Route::To(at) if at == source => {
                self.route = Route::Away { was: source, by, is_drained: false };
                Ok(Came::On)
            }
            Route::Away { was, by: of, is_drained } if was == source && of == by => {
                if !is_drained && call.part == 0 {
                    return Ok(Came::On);
                }
                self.route = Route::Away { was, by, is_drained: true };
                Ok(Came::Done)
            }
            Route::To(at) if at > source => Err(No::Committed),
            Route::To(_) | Route::Away { .. } => Err(No::OtherGeneration),
        }
    }

    fn fence(&mut self, call: &Call, writes: &mut Writes) -> Part {
        let mut copy = self.copy(call.source())?;
        if copy.gate == Gate::Open {
            copy.gate = Gate::Fenced;
        }
        if !writes.may() {
            return Ok(Came::Died);
        }
        self.copies[call.source()] = Some(copy);
        if !writes.may() {
            return Ok(Came::Died);
        }
        if copy.paper.is_none() || copy.is_broken {
            copy.seals += 1;
        }
        copy.is_broken = false;
        copy.paper = Some(Paper { token: call.token, seal: copy.seals });
        self.copies[call.source()] = Some(copy);
        Ok(Came::Done)
    }

    /// The seal of a source that this token has fenced and that nothing has broken.
    fn proved(&self, call: &Call, mutant: Mutant) -> Result<u8, No> {
        let copy = self.copy(call.source())?;
        let paper = copy.paper.ok_or(No::NotFenced)?;
        match paper.token.cmp(&call.token) {
            std::cmp::Ordering::Greater if mutant != Mutant::ForgetsTokens => Err(No::Stale),
            std::cmp::Ordering::Less => Err(No::NotFenced),
            _ if copy.is_broken => Err(No::Unprovable),
            _ => Ok(paper.seal),
        }
    }

    fn transfer(&mut self, call: &mut Call, mutant: Mutant) -> Part {
        if self.copies[call.target()].is_some() {
            return if call.part == 0 { Ok(Came::Done) } else { Err(No::OtherGeneration) };
        }
        let source = self.copy(call.source())?;
        let seal = match self.proved(call, mutant) {
            Err(No::NotFenced) if mutant == Mutant::NeverFences => 0,
            proved => proved?,
        };
        if call.part == 0 {
            let rows = if mutant == Mutant::CopiesWhatWas { 0 } else { source.rows };
            call.read = Some((rows, seal));
            return Ok(Came::On);
        }
        let (rows, of_seal) = call.read.expect("it has read");
        if seal != of_seal {
            return Err(No::Unprovable);
        }
        self.copies[call.target()] = Some(Copy {
            rows,
            gate: Gate::Fenced,
            paper: Some(Paper { token: call.token, seal: 0 }),
            seals: 0,
            is_broken: false,
            of_seal,
            is_verified: false,
        });
        Ok(Came::Done)
    }

    /// Whether the source is still as it was when it was copied.
    fn is_as_copied(&self, call: &Call, target: Copy, mutant: Mutant) -> Result<(), No> {
        let Ok(source) = self.copy(call.source()) else { return Err(No::Unprovable) };
        let is_same = source.paper.is_some_and(|paper| paper.seal == target.of_seal);
        match source.gate {
            Gate::Left => Ok(()),
            Gate::Open if mutant == Mutant::NeverFences => Ok(()),
            _ if is_same && !source.is_broken => Ok(()),
            _ => Err(No::Unprovable),
        }
    }

    fn verify(&mut self, call: &Call, mutant: Mutant) -> Part {
        let mut copy = self.copy(call.target())?;
        if copy.gate != Gate::Fenced {
            return if copy.is_verified { Ok(Came::Done) } else { Err(No::NotThere) };
        }
        self.is_as_copied(call, copy, mutant)?;
        if call.part == 0 {
            return Ok(Came::On);
        }
        copy.is_verified = true;
        self.copies[call.target()] = Some(copy);
        Ok(Came::Done)
    }

    fn lead(&mut self, call: &Call, writes: &mut Writes, mutant: Mutant) -> Part {
        let mut target = self.copy(call.target())?;
        let (source, by) = (call.operation, call.operation);
        match self.route {
            Route::To(at) if at == source + 1 => return Ok(Came::Done),
            Route::Away { was, by: of, is_drained: true } if was == source && of == by => {}
            Route::Away { is_drained: false, .. } => return Err(No::TimedOut),
            Route::To(_) | Route::Away { .. } => return Err(No::OtherGeneration),
        }
        let mut from = self.copy(call.source())?;
        if from.gate != Gate::Left {
            self.proved(call, mutant)?;
            if !target.is_verified {
                return Err(No::NotThere);
            }
            self.is_as_copied(call, target, mutant)?;
            from.gate = if mutant == Mutant::LetsSourceIn { Gate::Open } else { Gate::Left };
        }
        if !writes.may() {
            return Ok(Came::Died);
        }
        self.copies[call.source()] = Some(from);
        if !writes.may() {
            return Ok(Came::Died);
        }
        (target.gate, target.paper) = (Gate::Open, None);
        self.copies[call.target()] = Some(target);
        if !writes.may() {
            return Ok(Came::Died);
        }
        let is_back = mutant == Mutant::RoutesBack;
        self.route = Route::To(if is_back { source } else { source + 1 });
        Ok(Came::Done)
    }

    fn owner(&self) -> u8 {
        match self.route {
            Route::To(at) | Route::Away { was: at, .. } => at,
        }
    }

    fn retire(&mut self, call: &Call, mutant: Mutant) -> Part {
        if self.owner() == call.operation {
            return Err(No::OtherGeneration);
        }
        let target = self.copy(call.target())?;
        if !target.is_verified || usize::from(self.owner()) != call.target() {
            return Err(No::OtherGeneration);
        }
        if call.part == 0 {
            return Ok(Came::On);
        }
        let is_other = mutant == Mutant::RetiresTheNewer;
        self.copies[if is_other { call.target() } else { call.source() }] = None;
        Ok(Came::Done)
    }

    fn unfence(&mut self, call: &Call, writes: &mut Writes) -> Part {
        let mut copy = self.copy(call.source())?;
        if copy.gate == Gate::Left {
            return Err(No::Committed);
        }
        copy.gate = Gate::Open;
        if !writes.may() {
            return Ok(Came::Died);
        }
        self.copies[call.source()] = Some(copy);
        if !writes.may() {
            return Ok(Came::Died);
        }
        copy.paper = None;
        self.copies[call.source()] = Some(copy);
        Ok(Came::Done)
    }

    fn undrain(&mut self, call: &Call) -> Part {
        match self.copy(call.source())?.gate {
            Gate::Open => {}
            Gate::Left => return Err(No::Committed),
            Gate::Fenced => return Err(No::Unusable),
        }
        let (source, by) = (call.operation, call.operation);
        match self.route {
            Route::To(at) if at == source => Ok(Came::Done),
            Route::Away { was, by: of, .. } if was == source && of == by => {
                self.route = Route::To(source);
                Ok(Came::Done)
            }
            Route::To(at) if at > source => Err(No::Committed),
            Route::To(_) | Route::Away { .. } => Err(No::OtherGeneration),
        }
    }

    fn discard(&mut self, call: &Call) -> Part {
        if usize::from(self.owner()) == call.target() {
            return Err(No::Committed);
        }
        if self.copies[call.target()].is_some_and(|copy| copy.gate != Gate::Fenced) {
            return Err(No::Committed);
        }
        self.copies[call.target()] = None;
        Ok(Came::Done)
    }

    /// Whether a copy was made and read back of a source that is closed since.
    pub(super) fn is_ready(&self, source: usize) -> bool {
        let (Some(from), Some(to)) = (self.copies[source], self.copies[source + 1]) else {
            return false;
        };
        let is_same = from.paper.is_some_and(|paper| paper.seal == to.of_seal);
        from.gate == Gate::Fenced && to.is_verified && is_same
    }
}
