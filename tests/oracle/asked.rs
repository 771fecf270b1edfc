//! The outside of several persons, as a table sees it: wishes that are asked for, answered and
//! carried out, and glasses that are broken and looked at.

use std::collections::BTreeSet;

use super::answers::TABLE;
use super::table::Row;

pub(super) const KEYS: usize = 4;
pub(super) const GLASSES: usize = 2;
pub(super) const ATTEMPTS: u64 = 2;
/// Policy lets nobody wish more than this alone.
pub(super) const ALONE_MAX: u64 = 3;

/// One step of a walk: who does what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) verb: &'static str,
    pub(super) person: usize,
    pub(super) key: usize,
    pub(super) glass: usize,
    pub(super) count: u64,
    pub(super) script: &'static str,
}

/// What is known of one wish.
#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is one fact of its own")]
pub(super) struct Wish {
    pub(super) phase: &'static str,
    by: usize,
    desired: u64,
    /// The count when it was put.
    base: u64,
    place: u64,
    attempts: u64,
    was_asked: bool,
    lapsed: bool,
    granted: bool,
    glass: Option<usize>,
    happened: bool,
    /// Whether it was carried out.
    done: bool,
}

impl Wish {
    pub(super) const fn is_happened(&self) -> bool {
        self.happened
    }

    /// Where its question stands.
    pub(super) fn answer(&self) -> Option<&'static str> {
        self.was_asked.then_some(match self.phase {
            "asked" if self.lapsed => "expired",
            "asked" => "pending",
            "denied" => "denied",
            _ if self.done => "used",
            "accepted" | "failed" | "unknown" => "granted",
            _ => "ended",
        })
    }
}

/// What is known of one authorization.
#[derive(Clone, Debug, Default)]
pub(super) struct Glass {
    pub(super) phase: &'static str,
    count: u64,
    /// The count when it was given.
    from: u64,
    lapsed: bool,
    pub(super) uses: BTreeSet<usize>,
    hands: BTreeSet<usize>,
    looked: Option<usize>,
}

impl Glass {
    fn is_over(&self) -> bool {
        self.phase != "open" || self.lapsed
    }

    /// Whether it permits a key nothing.
    fn is_dead_for(&self, key: usize) -> bool {
        self.is_over() || (!self.uses.is_empty() && !self.uses.contains(&key))
    }
}

#[derive(Clone, Debug)]
pub(super) struct Outside {
    pub(super) wishes: Vec<Wish>,
    pub(super) glasses: Vec<Glass>,
    pub(super) count: u64,
    known: u64,
    places: u64,
    /// The wishes that were accepted, the newest last.
    newest: Vec<usize>,
    pub(super) effects: usize,
    pub(super) used: BTreeSet<Row>,
}

impl Outside {
    pub(super) fn new() -> Self {
        Self {
            wishes: vec![Wish { phase: "absent", ..Wish::default() }; KEYS],
            glasses: vec![Glass { phase: "new", ..Glass::default() }; GLASSES],
            count: 0,
            known: 0,
            places: 0,
            newest: Vec::new(),
            effects: 0,
            used: BTreeSet::new(),
        }
    }

    fn others(&self, key: usize) -> impl Iterator<Item = &Wish> {
        let others = self.wishes.iter().enumerate().filter(move |(other, _)| *other != key);
        others.map(|(_, other)| other)
    }

    fn holds(&self, fact: &str, step: &Step) -> bool {
        let (wish, glass) = (&self.wishes[step.key], &self.glasses[step.glass]);
        match fact {
            "busy" => {
                let mut others = self.others(step.key);
                others.any(|it| matches!(it.phase, "unknown" | "failed"))
            }
            "asks" => step.count > ALONE_MAX,
            "same" => wish.desired == step.count,
            "lapsed" => wish.lapsed,
            "own" => wish.by == step.person,
            "granted" => wish.granted,
            "strayed" => wish.base != self.count,
            "moved" => self.premise(wish) != self.count,
            "behind" => self.others(step.key).any(|other| {
                other.phase == "unknown"
                    || (matches!(other.phase, "accepted" | "failed") && other.place > wish.place)
            }),
            "dead" => glass.is_dead_for(step.key),
            "dead-itself" => glass.is_dead_for(KEYS),
            "other-count" if step.verb == "smash" => glass.count != step.count,
            "other-count" => glass.count != wish.desired,
            "elsewhere" => glass.from != self.count && self.count != step.count,
            "last" => wish.attempts + u64::from(wish.phase != "unknown") == ATTEMPTS,
            "as-wished" => wish.desired == self.count,
            "newest" => self.newest.last() == Some(&step.key),
            "happened" => wish.happened,
            "under-way" => {
                glass.uses.iter().any(|key| matches!(self.wishes[*key].phase, "unknown" | "failed"))
            }
            "hand" => glass.hands.contains(&step.person),
            "looked" => glass.looked == Some(step.person),
            word => step.script == word,
        }
    }

    const fn premise(&self, wish: &Wish) -> u64 {
        if wish.attempts == 0 { wish.base } else { self.known }
    }

    fn row(&mut self, step: &Step) -> (i32, &'static str) {
        let of_glass = matches!(step.verb, "authorize" | "revoke" | "review");
        let phase =
            if of_glass { self.glasses[step.glass].phase } else { self.wishes[step.key].phase };
        let has = |words: &str, word: &str| words == "*" || words.split(' ').any(|it| it == word);
        let fits = |(verbs, phases, facts, ..): &&Row| {
            has(verbs, step.verb)
                && has(phases, phase)
                && facts.split_whitespace().all(|fact| match fact.strip_prefix('!') {
                    Some(fact) => !self.holds(fact, step),
                    None => self.holds(fact, step),
                })
        };
        let row = *TABLE.iter().find(fits).expect("the table has a row for everything");
        self.used.insert(row);
        let (.., exit, next) = row;
        (exit, if next == "=" { phase } else { next })
    }

    /// The exit of a step, and what is so afterwards.
    pub(super) fn perform(&mut self, step: &Step) -> i32 {
        self.effects = 0;
        let before = self.wishes[step.key].phase;
        let (exit, next) = self.row(step);
        match step.verb {
            "outsider" => self.count = step.count,
            "pass" => self.pass(),
            "authorize" => {
                let hands = BTreeSet::from([step.person]);
                let (count, from) = (step.count, self.count);
                self.known = self.count;
                self.glasses[step.glass] =
                    Glass { phase: next, count, from, hands, ..Glass::default() };
            }
            "revoke" | "review" => {
                let glass = &mut self.glasses[step.glass];
                if next == "reviewed" && glass.phase != "reviewed" {
                    glass.looked = Some(step.person);
                }
                glass.phase = next;
            }
            "smash" if before == "absent" && next != "absent" => self.smash(step, next),
            "put" if before == "absent" && next != "absent" => self.put(step, next),
            _ => self.change(step, before, next, exit),
        }
        exit
    }

    /// What a step on a key that is there changes.
    fn change(&mut self, step: &Step, before: &'static str, next: &'static str, exit: i32) {
        // Whoever agrees, breaks the glass or observes has looked.
        let has_looked = match step.verb {
            "grant" => before != "absent",
            "smash" => true,
            "observe" => matches!(before, "succeeded" | "over" | "converged" | "superseded"),
            _ => false,
        };
        let was_called = self.wishes[step.key].attempts > 0;
        if has_looked && (step.verb != "observe" || was_called) {
            self.known = self.count;
        }
        let starts = step.verb == "actuate" && matches!(before, "accepted" | "failed");
        if starts && !matches!(exit, 10 | 12 | 19) {
            self.start(step);
        }
        let is_said = matches!(step.verb, "say" | "say-under") && before == "unknown";
        if is_said && exit == 0 {
            self.known = self.count;
            if step.verb == "say-under" {
                self.mark(step.glass, step);
            }
        }
        if step.verb == "grant" && before == "asked" && next == "accepted" {
            self.accept(step.key);
            self.wishes[step.key].granted = true;
        }
        if next == "simulated" && before == "accepted" {
            self.newest.retain(|key| *key != step.key);
        }
        let wish = &mut self.wishes[step.key];
        wish.done |= next == "succeeded";
        wish.phase = next;
    }

    /// An hour, and somebody who looks: questions and authorizations are over.
    fn pass(&mut self) {
        self.known = self.count;
        let asked = self.wishes.iter_mut().filter(|wish| wish.phase == "asked");
        asked.for_each(|wish| wish.lapsed = true);
        let open = self.glasses.iter_mut().filter(|glass| glass.phase != "new");
        open.for_each(|glass| glass.lapsed = true);
    }

    /// The same line goes on until it is over.
    fn smash(&mut self, step: &Step, next: &'static str) {
        self.known = self.count;
        self.put(step, "accepted");
        self.wishes[step.key].glass = Some(step.glass);
        let attempts = if next == "over" { ATTEMPTS } else { 1 };
        (0..attempts).for_each(|_| self.start(step));
        let wish = &mut self.wishes[step.key];
        (wish.phase, wish.done) = (next, next == "converged");
    }

    fn put(&mut self, step: &Step, phase: &'static str) {
        self.places += 1;
        self.wishes[step.key] = Wish {
            phase,
            by: step.person,
            desired: step.count,
            base: self.known,
            place: self.places,
            was_asked: phase == "asked",
            ..Wish::default()
        };
        if phase == "accepted" {
            return self.accept(step.key);
        }
        let asked = |(key, wish): &(usize, &mut Wish)| *key != step.key && wish.phase == "asked";
        let older = self.wishes.iter_mut().enumerate().filter(asked);
        older.for_each(|(_, wish)| wish.phase = "superseded");
    }

    /// Only acceptance supersedes.
    fn accept(&mut self, key: usize) {
        for (other, wish) in self.wishes.iter_mut().enumerate() {
            if other != key && matches!(wish.phase, "asked" | "accepted" | "succeeded") {
                wish.phase = "superseded";
            }
        }
        self.newest.push(key);
    }

    fn mark(&mut self, glass: usize, step: &Step) {
        let wisher = self.wishes[step.key].by;
        let glass = &mut self.glasses[glass];
        glass.uses.insert(step.key);
        glass.hands.extend([step.person, wisher]);
    }

    /// A start ends what it overtakes; the actuator does what its script says.
    fn start(&mut self, step: &Step) {
        for (other, wish) in self.wishes.iter_mut().enumerate() {
            if other != step.key {
                wish.phase = match wish.phase {
                    "failed" => "over",
                    "succeeded" => "superseded",
                    phase => phase,
                };
            }
        }
        if let Some(glass) = self.wishes[step.key].glass {
            self.mark(glass, step);
        }
        let wish = &mut self.wishes[step.key];
        wish.attempts += 1;
        if matches!(step.script, "ok" | "died") {
            (wish.happened, self.count, self.effects) = (true, wish.desired, 1);
        }
        if step.script == "ok" {
            self.known = self.count;
        }
    }
}
