//! What a bundled actuator lists: in order, and no more than is read of one answer.

use super::now;
use crate::actuator::protocol::{DiscoverRequest, Discovery, FOUND_MAX, Found, LIST_ITEMS_MAX};
use crate::domain::id::LedgerId;
use crate::domain::scale::intent::TargetBinding;
use crate::domain::time::Timestamp;

/// The most bytes of what was found, so that the whole answer is within the 1 MiB that are read.
const FOUND_BYTES_MAX: usize = 900 * 1024;

/// What is being gathered.
pub(super) struct Gathered {
    read_at: Timestamp,
    found: Vec<Found>,
    unread: Vec<String>,
}

impl Gathered {
    /// Nothing yet: what is added was read from now on.
    pub(super) fn new() -> Self {
        Self { read_at: now(), found: Vec::new(), unread: Vec::new() }
    }

    pub(super) fn found(&mut self, one: Found) {
        self.found.push(one);
    }

    /// What could not be read or understood, by a name for people.
    pub(super) fn unread(&mut self, name: String) {
        self.unread.push(name);
    }

    /// In order, and cut to what an answer may say; then it says that there is more.
    pub(super) fn told(mut self) -> Discovery {
        self.found.sort_by(|one, next| place(&one.target).cmp(&place(&next.target)));
        let mut bytes = 0;
        let fits = |one: &&Found| {
            bytes += serde_json::to_string(one).map_or(FOUND_BYTES_MAX, |text| text.len() + 1);
            bytes <= FOUND_BYTES_MAX
        };
        let fitting = self.found.iter().take(FOUND_MAX).take_while(fits).count();
        let more = fitting < self.found.len() || self.unread.len() > LIST_ITEMS_MAX;
        self.found.truncate(fitting);
        self.unread.truncate(LIST_ITEMS_MAX);
        Discovery { read_at: self.read_at, found: self.found, more, unread: self.unread }
    }
}

fn place(target: &TargetBinding) -> [&str; 3] {
    [target.cluster_id.as_str(), target.runtime_id.as_str(), target.workload_id.as_str()]
}

/// What takes orders from another ledger, as an owner for people. Nobody knows which one is another
/// where nobody says who asks.
pub(super) fn other_ledger(request: &DiscoverRequest, takes: Option<&LedgerId>) -> Option<String> {
    let (asks, takes) = (&request.ledger.as_ref()?.id, takes?);
    (asks != takes).then(|| format!("scalectl ledger {takes}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(workload: &str, owner: &str) -> Found {
        let word = |text: &str| text.parse().expect("valid");
        let target = TargetBinding {
            cluster_id: "c".parse().expect("valid"),
            runtime_id: "r".parse().expect("valid"),
            workload_id: workload.parse().expect("valid"),
            target_uid: "u".parse().expect("valid"),
            target_resource_version: word("1"),
        };
        Found {
            target,
            replicas: None,
            ready_replicas: None,
            owners: vec![owner.to_owned(); 20],
            managers: Vec::new(),
            owners_unread: Vec::new(),
            mode: None,
        }
    }

    #[test]
    fn a_list_is_sorted_and_cut_to_what_is_read_of_an_answer() {
        let gathered = |count: usize, owner: &str| {
            let mut gathered = Gathered::new();
            for number in (0..count).rev() {
                gathered.found(one(&format!("w{number:04}"), owner));
            }
            gathered.told()
        };
        let few = gathered(3, "x");
        assert_eq!((few.found.len(), few.more), (3, false));
        assert!(few.found.is_sorted_by_key(|one| one.target.workload_id.as_str().to_owned()));
        let many = gathered(FOUND_MAX + 1, "x");
        assert_eq!((many.found.len(), many.more), (FOUND_MAX, true));
        let long = gathered(FOUND_MAX, &"x".repeat(200));
        assert!(long.more && long.found.len() < FOUND_MAX, "{}", long.found.len());
        let whole = serde_json::to_string(&long).expect("JSON").len();
        assert!((800 * 1024..1024 * 1024).contains(&whole), "{whole}");
        let mut unread = Gathered::new();
        (0..=LIST_ITEMS_MAX).for_each(|number| unread.unread(number.to_string()));
        let told = unread.told();
        assert_eq!((told.unread.len(), told.more), (LIST_ITEMS_MAX, true));
    }
}
