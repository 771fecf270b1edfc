//! The way back of an operation: what undoes what was begun of it, and whether there is one.

use super::operation::{Operation, OperationKind, Step};

impl Operation {
    /// What undoes what was begun, in its order; none where it is committed, and there is only
    /// forward. A recovery copy alone can be given up later, too.
    pub fn way_back(&self) -> Option<Vec<Step>> {
        let is_standby_left = self.steps.contains(&Step::CommitStandby);
        let may_go_back = match (self.kind, self.is_committed()) {
            (OperationKind::Relocation, false) => true,
            (OperationKind::Relocation, true) => self.is_done(Step::Retire) && is_standby_left,
            (OperationKind::Standby, _) => is_standby_left,
            (OperationKind::Workspace, _) => !self.has_begun(Step::RetireWorkspace),
            (OperationKind::InPlace, _) => false,
        };
        if self.course.is_over() || !may_go_back {
            return None;
        }
        let undone = [
            (Step::Unfence, Step::Fence),
            (Step::Undrain, Step::Drain),
            (Step::Discard, Step::Transfer),
        ];
        let undone =
            undone.into_iter().filter(|(_, of)| !self.is_committed() && self.has_begun(*of));
        let undone = undone.map(|(step, _)| step);
        let snapshot = self.has_begun(Step::Snapshot).then_some(Step::DiscardSnapshot);
        Some(undone.chain(snapshot).collect())
    }
}
