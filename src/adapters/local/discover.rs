//! Every workload of the state directory.

use super::process::Host;
use super::state::{Folder, Workload, folders};
use super::{LocalConfig, LocalError, inspection};
use crate::actuator::protocol::{DiscoverRequest, Discovery, Found, Inspection};
use crate::adapters::discovery::{Gathered, other_ledger};
use crate::adapters::shown_name;
use crate::domain::time::DurationMs;

/// How long one workload is waited for while another call works on it: the list is for a person.
const LOCK_WAIT: DurationMs = DurationMs::from_millis(500);

pub(super) fn discover(
    config: &LocalConfig,
    request: &DiscoverRequest,
) -> Result<Discovery, LocalError> {
    let host = Host::read()?;
    let mut gathered = Gathered::new();
    for folder in folders(&config.state_dir)? {
        let id = match folder {
            Folder::Of(id) => id,
            Folder::Unnamed(folder) => {
                gathered.unread(shown_name(&format!("{folder} (it does not say its name)")));
                continue;
            }
        };
        let opened = Workload::open_existing(config, &id, LOCK_WAIT);
        let read = opened.and_then(|open| match open {
            Some(workload) => Ok(Some((inspection(&host, &workload)?, workload))),
            // A copy of a folder is no workload until it is read as one.
            None => Ok(None),
        });
        match read {
            Ok(Some((inspection, workload))) => {
                let takes = workload.state.ledger.as_ref().map(|ledger| &ledger.id);
                let owner = other_ledger(request, takes);
                gathered.found(found(inspection, owner));
            }
            Ok(None) => {}
            Err(error) => gathered.unread(shown_name(&format!("{id} ({})", error.code()))),
        }
    }
    Ok(gathered.told())
}

fn found(read: Inspection, owner: Option<String>) -> Found {
    Found {
        target: read.target,
        replicas: Some(read.replicas),
        ready_replicas: read.ready_replicas,
        owners: owner.into_iter().collect(),
        managers: Vec::new(),
        owners_unread: Vec::new(),
        mode: None,
    }
}
