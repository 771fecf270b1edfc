//! What the contract counts of a service.

use serde::{Deserialize, Serialize};

use super::wire::{Receipt, ScaleObservation};
use crate::domain::digest::Digest;
use crate::domain::id::{NUMBER_MAX, Replicas, counted};
use crate::domain::scale::state::ServiceHead;

/// What the contract counts of a service, from its first operation or its import on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GatewayHead {
    /// The gateway revision: how many live intents were accepted, whoever made them, on top of what
    /// was imported. Never goes back.
    #[serde(deserialize_with = "counted")]
    pub revision: u64,
    /// What was imported; none where nothing was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<Imported>,
}

/// What a service was when its journal was imported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Imported {
    /// The gateway revision before its first receipt.
    #[serde(deserialize_with = "counted")]
    pub revision: u64,
    /// The desired count before its first receipt.
    pub replicas: u32,
    /// The digest of the journal.
    pub journal: Digest,
}

impl GatewayHead {
    /// What it is after one more live acceptance. A receipt says which revision it is for: the next
    /// one, or, where nothing was counted yet, the first that is.
    pub(in crate::domain) fn accepted(
        counted: Option<Self>,
        receipt: Option<&Receipt>,
    ) -> Result<Option<Self>, &'static str> {
        let Some(receipt) = receipt else {
            return Ok(counted.map(|it| Self { revision: it.next(), ..it }));
        };
        let revision = receipt.revision().filter(|it| (1..=NUMBER_MAX).contains(it));
        let revision = revision.ok_or("a receipt without its revision")?;
        match counted {
            Some(it) if it.next() != revision => Err("a receipt of another revision"),
            Some(it) => Ok(Some(Self { revision, ..it })),
            None => Ok(Some(Self { revision, imported: None })),
        }
    }

    fn next(&self) -> u64 {
        self.revision.saturating_add(1).min(NUMBER_MAX)
    }
}

impl ServiceHead {
    /// The desired count that the contract knows: of the highest live intent that was ever
    /// accepted, whatever became of it; before the first, what was imported, else 0.
    pub fn gateway_replicas(&self) -> Replicas {
        let imported = self.gateway.as_ref().and_then(|gateway| gateway.imported.as_ref());
        match (&self.current, imported) {
            (Some(current), _) => current.desired_replicas,
            (None, Some(imported)) => Replicas::from(imported.replicas),
            (None, None) => Replicas::MIN,
        }
    }

    /// Where the service stands at that revision, as the contract says it; none where its count is
    /// one that the contract cannot say.
    ///
    /// How many are ready is what was read last, unless a call of ours may have changed it since.
    pub fn gateway_observation(&self, revision: u64) -> Option<ScaleObservation> {
        let replicas = u32::try_from(self.gateway_replicas().get()).ok()?;
        let read = self.binding.as_ref().filter(|binding| !binding.outdated.count);
        let ready = read.and_then(|binding| binding.ready_replicas).map_or(0, Replicas::get);
        Some(ScaleObservation {
            replicas,
            revision: Some(revision.to_string()),
            ready_replicas: u32::try_from(ready).unwrap_or(u32::MAX).min(replicas),
            endpoints: Vec::new(),
        })
    }
}
