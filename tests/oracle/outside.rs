//! The outside as the table sees it: the few facts that it asks about, and what each row does.

use std::collections::BTreeSet;

use super::table::{Row, TABLE};

/// The count that is left where another one is made than the wished one.
const HALF: u64 = 7;
pub(super) const KEYS: usize = 4;
pub(super) const ATTEMPTS: u64 = 2;
pub(super) const READINGS: u64 = 3;

/// What a service is registered with, beside the rest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Terms {
    #[default]
    Usual,
    /// What is unknown is a person's.
    Halts,
    /// A change cools for longer than a walk takes.
    Cools,
}

/// One step of a walk.
#[derive(Clone, Copy)]
pub(super) struct Step {
    pub(super) verb: &'static str,
    pub(super) key: usize,
    pub(super) count: u64,
    pub(super) script: (&'static str, &'static str),
}

/// What is known of one key.
#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is one fact of its own")]
pub(super) struct Key {
    pub(super) phase: &'static str,
    dry: bool,
    desired: u64,
    attempts: u64,
    readings: u64,
    drifted: bool,
    /// Its place among the accepted wishes.
    place: u64,
    /// The count that its first attempt expects; none where it answers to what is known then.
    premise: Option<u64>,
    happened: bool,
    /// Whether an attempt failed after it had changed the target.
    halved: bool,
    /// Whether a lease is held for its next attempt; it outlasts the walk.
    leased: bool,
    /// Whether it is the wish of the other person.
    is_bobs: bool,
}

/// The whole outside: keys, the target, and what the ledger was last told of it.
#[derive(Clone, Debug)]
pub(super) struct Oracle {
    pub(super) keys: Vec<Key>,
    pub(super) count: u64,
    known: u64,
    places: u64,
    terms: Terms,
    /// The key whose change is the last one that is known: it cools.
    cooling: Option<usize>,
    /// The key of the newest wish, and of the one before it.
    newest: Vec<usize>,
    /// What this command has done to the target.
    pub(super) effects: usize,
    /// The rows that were used.
    pub(super) used: BTreeSet<Row>,
}

impl Oracle {
    pub(super) fn new(terms: Terms) -> Self {
        let keys = vec![Key { phase: "absent", ..Key::default() }; KEYS];
        Self {
            keys,
            count: 0,
            known: 0,
            places: 0,
            terms,
            cooling: None,
            newest: Vec::new(),
            effects: 0,
            used: BTreeSet::new(),
        }
    }

    fn others(&self, key: usize) -> impl Iterator<Item = &Key> {
        let others = self.keys.iter().enumerate().filter(move |(other, _)| *other != key);
        others.map(|(_, other)| other).filter(|other| !other.dry)
    }

    fn holds(&self, fact: &str, step: &Step) -> bool {
        let key = &self.keys[step.key];
        let in_flight = |other: &&Key| matches!(other.phase, "unknown" | "failed");
        match fact {
            "busy" => self.others(step.key).any(|other| in_flight(&other)),
            "leased" => self.others(step.key).any(|o| o.phase == "accepted" && o.leased),
            "queue" => step.verb == "queue",
            "theirs" => {
                let is_theirs = |o: &Key| o.phase == "accepted" && o.is_bobs != is_bobs(step.verb);
                self.others(step.key).any(is_theirs)
            }
            "over" => step.verb == "bob-over",
            "not-own" => key.is_bobs,
            "halts" => self.terms == Terms::Halts,
            "cools" => self.terms == Terms::Cools,
            "cooling" => self.cooling.is_some(),
            "cooled-by-another" => self.cooling.is_some_and(|last| last != step.key),
            "unsure" => self.others(step.key).any(|other| other.phase == "unknown"),
            "leased-itself" => key.leased,
            "dry" => key.dry,
            "same" => key.desired == step.count,
            "behind" => self.others(step.key).any(|other| {
                other.phase == "unknown"
                    || (matches!(other.phase, "accepted" | "failed") && other.place > key.place)
            }),
            "moved" => {
                key.premise.filter(|_| key.attempts == 0).unwrap_or(self.known) != self.count
            }
            "last" => key.attempts + 1 == ATTEMPTS,
            "spent" => key.attempts == ATTEMPTS,
            "as-wished" => key.desired == self.count,
            "enough" => key.readings + 1 >= READINGS,
            "newest" => self.newest.last() == Some(&step.key),
            "drifted" => key.drifted,
            "happened" => key.happened,
            "halved" => key.halved || self.has_moved_before(step),
            "left" => match key.phase {
                "failed" => key.halved,
                phase => matches!(phase, "mismatch" | "half-over" | "half-abandoned"),
            },
            word => self.script(step) == word,
        }
    }

    /// Whether another call of the key was made, and the count is not the one that was wished from.
    fn has_moved_before(&self, step: &Step) -> bool {
        let key = &self.keys[step.key];
        let is_next = key.phase == "failed" && matches!(step.verb, "actuate" | "replay");
        is_next && key.attempts > 0 && key.premise.is_some_and(|count| count != self.count)
    }

    /// What the actuator does. A failure that leaves the count as it was has changed nothing.
    fn script(&self, step: &Step) -> &'static str {
        match step.script.0 {
            "half" if self.count == HALF => "refused",
            "half-for-good" if self.count == HALF => "refused-for-good",
            word => word,
        }
    }

    /// The row of the table that fits: its exit and the next phase.
    /// The exit, and the next phase; none where nothing changes.
    fn row(&mut self, verb: &str, step: &Step) -> (i32, Option<&'static str>) {
        let phase = self.keys[step.key].phase;
        let verb = if matches!(verb, "queue" | "bob" | "bob-over") { "put" } else { verb };
        let fits = |(its_verb, phases, facts, ..): &&Row| {
            (*its_verb == verb || *its_verb == "*")
                && (*phases == "*" || phases.split(' ').any(|its_phase| its_phase == phase))
                && facts.split_whitespace().all(|fact| match fact.strip_prefix('!') {
                    Some(fact) => !self.holds(fact, step),
                    None => self.holds(fact, step),
                })
        };
        let row = TABLE.iter().find(fits).expect("the table has a row for everything");
        self.used.insert(*row);
        let (.., exit, next) = *row;
        (exit, (next != "=").then_some(next))
    }

    /// One row, and what comes with it.
    fn apply(&mut self, verb: &'static str, step: &Step) -> i32 {
        let before = self.keys[step.key].phase;
        let (exit, row_next) = self.row(verb, step);
        let next = row_next.unwrap_or(before);
        let is_started = verb == "actuate"
            && matches!(before, "accepted" | "failed")
            && !self.keys[step.key].dry
            && row_next.is_some();
        if is_started {
            self.start(step);
        }
        if before == "absent" && next == "accepted" {
            self.accept(verb, step);
        }
        if next == "simulated" && before == "accepted" && self.newest.last() == Some(&step.key) {
            self.newest.pop();
        }
        let (count, key) = (self.count, &mut self.keys[step.key]);
        match (verb, before) {
            ("observe", "succeeded" | "observed") => {
                let is_as_wished = key.desired == count;
                key.readings = if is_as_wished { key.readings + 1 } else { 0 };
                key.drifted = !is_as_wished;
                self.known = count;
            }
            // What is over is read as well, where anything was ever called for it.
            (
                "observe",
                "converged" | "over" | "abandoned" | "mismatch" | "half-over" | "half-abandoned"
                | "superseded",
            ) if key.attempts > 0 => {
                self.known = count;
                if before == "converged" {
                    let is_newest = self.newest.last() == Some(&step.key);
                    key.drifted = key.desired != count && (key.drifted || is_newest);
                }
            }
            ("settle-applied", "unknown") if next == "succeeded" => {
                (self.known, self.cooling) = (count, Some(step.key));
            }
            ("acquire", "accepted" | "failed") if exit == 0 => key.leased = true,
            ("release", _) if exit == 0 => key.leased = false,
            ("look-up", "unknown") if next == "succeeded" => {
                (self.known, self.cooling) = (key.desired, Some(step.key));
            }
            _ => {}
        }
        let key = &mut self.keys[step.key];
        if next == "succeeded" && before != "succeeded" && before != "observed" {
            (key.readings, key.drifted) = (1, false);
        }
        key.phase = next;
        exit
    }

    /// Only acceptance supersedes.
    fn accept(&mut self, verb: &str, step: &Step) {
        let is_dry = verb == "rehearse";
        let is_busy = self.holds("busy", step);
        if !is_dry {
            for other in self.keys.iter_mut().filter(|other| !other.dry) {
                if matches!(other.phase, "accepted" | "succeeded" | "observed") {
                    other.phase = "superseded";
                }
            }
            self.places += 1;
            self.newest.push(step.key);
        }
        self.keys[step.key] = Key {
            dry: is_dry,
            desired: step.count,
            place: self.places,
            premise: (!is_busy).then_some(self.known),
            is_bobs: is_bobs(verb),
            ..Key::default()
        };
    }

    /// A start ends what it overtakes; the actuator does what its script says.
    fn start(&mut self, step: &Step) {
        for (index, other) in self.keys.iter_mut().enumerate() {
            if index != step.key && !other.dry {
                other.phase = match other.phase {
                    "failed" if other.halved => "half-over",
                    "failed" => "over",
                    "succeeded" | "observed" => "superseded",
                    phase => phase,
                };
            }
        }
        let has_moved = self.has_moved_before(step);
        let key = &mut self.keys[step.key];
        key.halved |= has_moved;
        key.attempts += 1;
        key.leased = false;
        let after = match step.script.0 {
            "refused" | "refused-for-good" => {
                self.cooling = if has_moved { Some(step.key) } else { self.cooling };
                return;
            }
            "lost" => return,
            "other-count" | "half" | "half-for-good" => HALF,
            _ => key.desired,
        };
        if step.script.0.starts_with("half") {
            key.halved |= self.count != HALF;
        } else {
            key.happened = true;
        }
        self.effects += 1;
        self.count = after;
        if matches!(step.script.0, "ok" | "other-count" | "half" | "half-for-good") {
            self.known = after;
            if !step.script.0.starts_with("half") || key.halved {
                self.cooling = Some(step.key);
            }
        }
    }

    /// What `replay` does: one step after another, until nothing is due.
    fn replay(&mut self, step: &Step) -> i32 {
        let mut recorded = false;
        loop {
            let key = &self.keys[step.key];
            let (phase, readings) = (key.phase, key.readings);
            if key.dry {
                break;
            }
            match phase {
                "unknown" if self.terms == Terms::Halts => break,
                "unknown" => drop(self.apply("look-up", step)),
                "failed" => {
                    let attempts = key.attempts;
                    let exit = self.apply("actuate", step);
                    if self.keys[step.key].attempts == attempts {
                        return exit;
                    }
                }
                "succeeded" | "observed" => {
                    self.apply("observe", step);
                    let key = &self.keys[step.key];
                    if key.readings <= readings && key.phase != "converged" {
                        break;
                    }
                }
                _ => break,
            }
            recorded = true;
        }
        // What was confirmed just now holds, whatever else is wished.
        if recorded && self.keys[step.key].phase == "converged" {
            return 0;
        }
        self.row("replay", step).0
    }

    pub(super) fn perform(&mut self, step: &Step) -> i32 {
        self.effects = 0;
        match step.verb {
            "outsider" => {
                self.count = step.count;
                0
            }
            "replay" => self.replay(step),
            verb => self.apply(verb, step),
        }
    }
}

fn is_bobs(verb: &str) -> bool {
    verb.starts_with("bob")
}
