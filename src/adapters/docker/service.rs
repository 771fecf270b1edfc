//! A service of a swarm, as the engine says it, and the one that is written back.

use std::fmt;
use std::str::FromStr;

use serde::Deserialize;

use super::members::Members;
use crate::actuator::protocol::ApplyRequest;
use crate::adapters::mark::Mark;
use crate::domain::id::{ExecutionKey, LedgerId, Replicas, TargetResourceVersion, TargetUid};

/// The label that holds the newest fence.
pub(super) const FENCE_LABEL: &str = "scalectl.fence";
/// The label that says what was applied last.
pub(super) const APPLIED_LABEL: &str = "scalectl.applied";
/// The label by which `docker stack` knows what is its own.
const STACK_LABEL: &str = "com.docker.stack.namespace";

/// What `GET /services/NAME` answers.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Service {
    #[serde(rename = "ID")]
    pub(super) id: TargetUid,
    version: Version,
    spec: Members,
    previous_spec: Option<Members>,
    update_status: Option<UpdateStatus>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
struct Version {
    #[serde(rename = "Index")]
    index: u64,
}

#[derive(Debug, Clone, Deserialize)]
struct UpdateStatus {
    #[serde(rename = "State")]
    state: Option<String>,
}

/// What an update of the service is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Update {
    /// There is none, or it is over.
    Over,
    /// It is under way, or rolled back, or in a state that is not known here.
    UnderWay,
    /// It waits for a person.
    Paused,
}

/// The count that a service declares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Mode {
    /// So many.
    Replicated(Replicas),
    /// It is replicated, and says no count: unknown is not 1.
    Uncounted,
    /// Its tasks are not counted by a wish: global, or a job.
    Other(String),
}

impl Service {
    pub(super) fn read(body: &[u8]) -> serde_json::Result<Self> {
        serde_json::from_slice(body)
    }

    /// The index by which the engine knows the newest write of the service.
    pub(super) const fn index(&self) -> u64 {
        self.version.index
    }

    pub(super) fn version(&self) -> TargetResourceVersion {
        let text = self.version.index.to_string();
        text.parse().expect("BUG: the text of a number is an identifier")
    }

    pub(super) fn name(&self) -> serde_json::Result<Option<String>> {
        self.spec.get("Name")
    }

    pub(super) fn mode(&self) -> serde_json::Result<Mode> {
        let mode: Members = self.spec.get("Mode")?.unwrap_or_default();
        let Some(replicated) = mode.get::<Members>("Replicated")? else {
            let name = mode.first_name().unwrap_or("none");
            return Ok(Mode::Other(crate::adapters::shown_name(name)));
        };
        Ok(replicated.get("Replicas")?.map_or(Mode::Uncounted, Mode::Replicated))
    }

    pub(super) fn label(&self, name: &str) -> serde_json::Result<Option<String>> {
        label(&self.spec, name)
    }

    pub(super) fn update(&self) -> Update {
        let state = self.update_status.as_ref().and_then(|status| status.state.as_deref());
        match state {
            None | Some("" | "completed" | "rollback_completed") => Update::Over,
            Some("paused" | "rollback_paused") => Update::Paused,
            Some(_) => Update::UnderWay,
        }
    }

    /// Who else sets the count: a stack, by its file.
    pub(super) fn managers(&self) -> serde_json::Result<Vec<String>> {
        let stack = self.label(STACK_LABEL)?;
        Ok(stack
            .map(|name| format!("docker stack {}", crate::adapters::shown_name(&name)))
            .into_iter()
            .collect())
    }

    /// What was applied last, by the service as it is and as it was before the newest write. What
    /// is not of our form is nothing.
    pub(super) fn applied(&self) -> serde_json::Result<Vec<Applied>> {
        let mut found = Vec::new();
        for spec in [Some(&self.spec), self.previous_spec.as_ref()].into_iter().flatten() {
            found.extend(label(spec, APPLIED_LABEL)?.and_then(|text| text.parse().ok()));
        }
        Ok(found)
    }

    /// The service with other labels and perhaps another count, and every other member as it came.
    pub(super) fn written(
        &self,
        labels: &[(&str, &str)],
        replicas: Option<Replicas>,
    ) -> serde_json::Result<String> {
        let mut spec = self.spec.clone();
        let mut all: Members = spec.get("Labels")?.unwrap_or_default();
        for (name, text) in labels {
            all.set(name, text);
        }
        spec.set("Labels", &all);
        if let Some(replicas) = replicas {
            let mut mode: Members = spec.get("Mode")?.unwrap_or_default();
            let mut replicated: Members = mode.get("Replicated")?.unwrap_or_default();
            replicated.set("Replicas", &replicas);
            mode.set("Replicated", &replicated);
            spec.set("Mode", &mode);
        }
        serde_json::to_string(&spec)
    }
}

fn label(spec: &Members, name: &str) -> serde_json::Result<Option<String>> {
    match spec.get::<Members>("Labels")? {
        Some(labels) => labels.get(name),
        None => Ok(None),
    }
}

/// Which call has set the count, and to what: `LEDGER/EPOCH.TOKEN.ATTEMPT COUNT KEY`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Applied {
    pub(super) mark: Mark,
    pub(super) replicas: Replicas,
    key: ExecutionKey,
}

impl Applied {
    pub(super) fn of(apply: &ApplyRequest) -> Self {
        Self {
            mark: Mark::of_apply(apply),
            replicas: apply.request.desired_replicas,
            key: apply.request.execution_key.clone(),
        }
    }

    /// What a result says of it, at once and by a later look-up.
    pub(super) fn told(&self) -> String {
        format!("label {APPLIED_LABEL}: {self}")
    }

    /// Whether it is about this key of this ledger.
    pub(super) fn is_of(&self, ledger: &LedgerId, key: &ExecutionKey) -> bool {
        self.mark.is_of(ledger) && self.key == *key
    }
}

impl fmt::Display for Applied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.mark, self.replicas, self.key)
    }
}

impl FromStr for Applied {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut words = text.splitn(3, ' ');
        let mut next = || words.next().ok_or(());
        let mark = next()?.parse()?;
        let replicas = next()?.parse::<u64>().ok().and_then(|n| Replicas::try_from(n).ok());
        let key = next()?.parse().map_err(|_| ())?;
        let applied = Self { mark, replicas: replicas.ok_or(())?, key };
        // What was written otherwise was not written here.
        if applied.to_string() == text { Ok(applied) } else { Err(()) }
    }
}

/// What a label says: the ledger, the key and the count; none for what is none.
pub fn applied_in(text: &str) -> Option<(String, String, u64)> {
    let Applied { mark, replicas, key } = text.parse().ok()?;
    Some((mark.ledger().to_string(), key.to_string(), replicas.get()))
}

/// What a service says and what would be written: its count, and the text with another one.
pub fn rewritten(body: &[u8], replicas: u64) -> serde_json::Result<(Option<u64>, String)> {
    let service = Service::read(body)?;
    let count = match service.mode()? {
        Mode::Replicated(count) => Some(count.get()),
        Mode::Uncounted | Mode::Other(_) => None,
    };
    let wished = Replicas::try_from(replicas).unwrap_or(Replicas::MIN);
    Ok((count, service.written(&[(FENCE_LABEL, "L/1.2.3")], Some(wished))?))
}
