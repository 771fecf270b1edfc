//! What must hold in every state of the model: of the ledger and of what is really there.

use scalectl::domain::placement::operation::Course;

use super::book::{at_work, shop};
use super::machine::{Machine, Snapshot, Worker};
use super::truth::{Gate, Route};

impl Machine {
    /// The first promise that is broken.
    pub(super) fn broken(&self, now: &Snapshot) -> Option<&'static str> {
        let (truth, state) = (&now.truth, self.book.at(now.page));
        let owner = usize::try_from(shop(&state).effective.epoch.get()).expect("few") - 1;
        let copies = truth.copies.iter().enumerate();
        let open: Vec<usize> = copies
            .filter(|(_, it)| it.is_some_and(|it| it.gate == Gate::Open))
            .map(|it| it.0)
            .collect();
        if open.len() > 1 {
            return Some("two copies take writes");
        }
        if open.iter().any(|at| *at != owner) {
            return Some("another copy than the owner's takes writes");
        }
        let Some(owned) = truth.copies[owner] else { return Some("the owner's copy is gone") };
        if owned.rows != truth.rows {
            return Some("an acknowledged row is lost");
        }
        if let Route::To(at) = truth.route {
            // Between the commit and the route nobody is led anywhere.
            if usize::from(at) != owner {
                return Some("a route leads to another copy than the owner's");
            }
        }
        if at_work(&state).is_none() {
            if truth.route != Route::To(u8::try_from(owner).expect("few")) || open.is_empty() {
                return Some("it is over, and the owner does not serve");
            }
            if truth.copies.iter().flatten().count() > 1 {
                return Some("it is over, and something is left of it");
            }
        }
        let is_still = now.calls.is_empty() && now.workers == [Worker::Idle; 2];
        let is_sure = |back: bool| {
            self.budget.refusals == 0
                || back && (self.budget.refusals, self.budget.abandons) == (1, 0)
        };
        let is_stuck = at_work(&state)
            .is_some_and(|it| it.course == Course::Stuck && is_sure(it.is_going_back));
        (is_still && is_stuck).then_some("it is stuck, and nothing is in the way")
    }
}
