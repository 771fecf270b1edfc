//! The power fails at any operation of the scenario; what was acknowledged before is there.

use super::disk::{Disk, Keep, Record};
use super::scenario::{self, LINES, Told};
use super::shim::Shim;
use crate::support::World;

/// The whole scenario, as the disk has seen it.
pub(super) struct Film {
    pub(super) records: Vec<Record>,
    shots: Vec<Shot>,
    events: Vec<Told>,
    /// The world before each line, and at the end.
    worlds: Vec<World>,
}

/// One line of it.
struct Shot {
    /// How many records there are when its answer has been given.
    answered: usize,
    /// How many records there are when it is over.
    end: usize,
    /// How many events there are then.
    events: usize,
    bindings: Option<Vec<u8>>,
    /// Where all may stand when it has come to its end.
    ends: Vec<Vec<String>>,
}

/// The power fails after so many records.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cut {
    pub(super) at: usize,
    pub(super) keep: Keep,
}

const BINDINGS: &str = ".config/scalectl/actuators.toml";

fn bindings(world: &World) -> Option<Vec<u8>> {
    std::fs::read(world.path(BINDINGS)).ok()
}

pub(super) fn film(shim: &Shim) -> Film {
    let mut world = scenario::world();
    world.set("SCALECTL_TEST_BOOT", "the-first");
    let root = world.path("").to_str().expect("UTF-8").trim_end_matches('/').to_owned();
    let mut film =
        Film { records: Vec::new(), shots: Vec::new(), events: Vec::new(), worlds: vec![] };
    for (exit, text) in LINES {
        film.worlds.push(world.copy());
        let words = scenario::typed(&world.copy(), text);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let on = shim.run(&world, &words, "watch", 0);
        on.ran.exits(exit);
        let records = Record::all(&on.writes, &root);
        let answer = records.iter().position(|record| record.class == 'A').expect("an answer");
        let start = film.records.len();
        film.records.extend(records);
        // Asked of a copy: the disk must not change where it is not watched.
        let copy = world.copy();
        film.events = scenario::events(&copy);
        film.shots.push(Shot {
            answered: start + answer + 1,
            end: film.records.len(),
            events: film.events.len(),
            bindings: bindings(&copy),
            ends: scenario::ends(&copy, exit),
        });
    }
    film.worlds.push(world.copy());
    film
}

impl Film {
    /// How many lines were answered before the cut.
    fn answered(&self, cut: Cut) -> usize {
        self.shots.iter().take_while(|shot| shot.answered <= cut.at).count()
    }

    /// The line under way, or the one that would have been next.
    fn line(&self, cut: Cut) -> usize {
        self.shots.iter().take_while(|shot| shot.end <= cut.at).count()
    }

    /// The event that recorded the newest call whose guard may have started something by then.
    fn newest_call(&self, cut: Cut) -> Option<usize> {
        let is_session = |record: &&Record| {
            record.path.contains("/calls/") && record.data.starts_with(b"session ")
        };
        let session = self.records[..cut.at].iter().rfind(is_session)?;
        let call = session.path.rsplit('/').next();
        let its = |event: &Told| event.call.as_deref() == call;
        Some(self.events.iter().position(its).expect("a call is recorded"))
    }

    /// The world after a power cut, on another boot.
    fn restored(&self, cut: Cut, lies: bool) -> World {
        let mut world = scenario::world();
        world.set("SCALECTL_TEST_BOOT", "the-second");
        Disk::after(&self.records[..cut.at], lies).restore(&world.path(""), cut.keep);
        let line = self.line(cut);
        // The target has a life of its own: whatever may have been called was.
        let begun = line.checked_sub(1).map_or(0, |before| self.shots[before].events);
        let has_called = self.newest_call(cut).is_some_and(|call| call >= begun);
        let target = &self.worlds[line + usize::from(has_called)];
        for entry in std::fs::read_dir(target.fake_dir()).expect("a target").flatten() {
            let to = world.fake_dir().join(entry.file_name());
            std::fs::copy(entry.path(), to).expect("copied");
        }
        world
    }

    /// Lets the power fail and holds what is there against what was acknowledged.
    pub(super) fn check(&self, cut: Cut, lies: bool) -> Result<World, String> {
        let world = self.restored(cut, lies);
        let answered = self.answered(cut);
        let last = answered.checked_sub(1).map(|index| &self.shots[index]);
        let called = self.newest_call(cut).map_or(0, |index| index + 1);
        let least = last.map_or(0, |shot| shot.events).max(called);
        let bound = bindings(&world);
        let versions = self.shots[answered.saturating_sub(1)..].iter().map(|shot| &shot.bindings);
        if answered > 0 && !versions.clone().any(|version| *version == bound) {
            return Err(format!("the bindings are {bound:?}"));
        }
        if answered == 0 && bound.is_some() {
            return Err("bindings from nowhere".to_owned());
        }
        if !world.ledger().exists() {
            return if least == 0 { Ok(world) } else { Err("the ledger is gone".to_owned()) };
        }
        let verified = world.run("verify");
        if verified.code != Some(0) {
            return Err(format!("{verified:#?}"));
        }
        let found = scenario::events(&world);
        let count = found.len();
        if count < least {
            return Err(format!("{least} events were acknowledged and {count} are there"));
        }
        if self.events.get(..count) != Some(&found[..]) {
            return Err(format!("other events than those that were written: {found:#?}"));
        }
        let is_torn = self
            .events
            .get(count)
            .is_some_and(|next| found.last().is_some_and(|last| last.command == next.command));
        if is_torn { Err(format!("half a transaction: {found:#?}")) } else { Ok(world) }
    }

    /// The person comes back, says the line again, and the target is as wished.
    pub(super) fn go_on(&self, world: &World, cut: Cut) {
        let line = self.line(cut);
        let Some((exit, text)) = LINES.get(line) else { return };
        if line > 0 && world.ledger().exists() {
            world.run("replay --all --wait --timeout 5s");
        }
        scenario::converge(world, text, *exit);
        let (standing, ends) = (scenario::standing(world), &self.shots[line].ends);
        assert!(ends.contains(&standing), "{cut:?} {text}: {standing:?} {ends:?}");
        scenario::check_effects(world);
        world.run("verify").exits(0);
        world.await_no_children();
    }
}
