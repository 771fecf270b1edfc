//! What a relocator is asked for each step of an operation, and of which copies.

use super::operation::{Operation, Step};
use super::protocol::{CopyPlace, Order};

impl Operation {
    /// The copy that serves, as far as this operation is committed.
    pub fn owner_now(&self) -> CopyPlace {
        if self.is_committed() { self.to.copy() } else { self.from.copy() }
    }

    /// What a relocator is asked for a step; none where the ledger does it alone.
    pub fn order(&self, step: Step) -> Option<Order> {
        let (source, target) = (self.from.copy(), self.to.copy());
        let older = self.standby_before.as_ref().map(|standby| standby.copy.clone());
        let made = self.snapshot.clone();
        Some(match step {
            Step::Commit | Step::CommitStandby => return None,
            Step::Inventory => Order::Inventory { source: self.owner_now() },
            Step::Drain => Order::Drain { source },
            Step::Fence => Order::Fence { source },
            Step::Transfer => Order::Transfer { source, target },
            Step::Verify => Order::Verify { target },
            Step::Route => Order::Route { source, target },
            Step::Retire => Order::Retire { source, target, workspace: false },
            Step::Snapshot => Order::Snapshot { source: self.owner_now(), target: made? },
            Step::RetireStandby => match made {
                Some(target) => Order::Retire { source: older?, target, workspace: true },
                None => Order::Discard { target: older? },
            },
            Step::RetireWorkspace => {
                let (source, target) = (self.workspace.clone()?, self.owner_now());
                Order::Retire { source, target, workspace: true }
            }
            Step::Unfence => Order::Unfence { source },
            Step::Undrain => Order::Undrain { source },
            Step::Discard => Order::Discard { target },
            Step::DiscardSnapshot => Order::Discard { target: made? },
        })
    }
}
