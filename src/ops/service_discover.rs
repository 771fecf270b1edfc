//! `service discover`: what an actuator could scale, and which of it is a service already. Writes
//! nothing.

use std::collections::BTreeSet;

use super::error::OpError;
use super::session::Session;
use crate::actuator::protocol::{Discovery, Found};
use crate::domain::id::{ActuatorName, Replicas, RuntimeId, ServiceName};
use crate::domain::scale::intent::TargetBinding;
use crate::domain::scale::state::ServiceHead;
use crate::domain::time::Timestamp;

/// What could be scaled.
pub struct Discovered {
    /// When it was read, by the ledger's clock.
    pub read_at: Timestamp,
    /// What there is, by runtime and workload.
    pub targets: Vec<Discoverable>,
    /// Whether there is more than is listed.
    pub more: bool,
    /// What may not be read or not be understood, for people.
    pub unread: Vec<String>,
}

/// One thing that could be scaled.
pub struct Discoverable {
    /// As the actuator says it.
    pub found: Found,
    /// Whose target it is in this ledger; none where it is nobody's.
    pub service: Option<Known>,
    /// As what it could be registered; none where it is somebody's, or another controller drives it
    /// that no service can be registered under.
    pub proposed: Option<Proposed>,
}

/// A service whose target was found.
pub struct Known {
    /// The service.
    pub name: ServiceName,
    /// Whether the object is the one that it is bound to.
    pub is_same_object: bool,
    /// Whether it was retired: then it may be registered anew.
    pub is_retired: bool,
}

/// A registration that would be taken.
pub struct Proposed {
    /// A name that no other service has.
    pub service: ServiceName,
    /// The most that may be wished: what runs now, and at least 1; none where nobody knows that.
    pub max: Option<Replicas>,
}

/// Asks an actuator what it could scale, everywhere or in one runtime.
pub fn service_discover(
    session: &mut Session,
    name: &ActuatorName,
    runtime: Option<&RuntimeId>,
) -> Result<Discovered, OpError> {
    let actuator = session.actuator(name)?;
    if !actuator.capabilities.discover {
        return Err(OpError::usage(
            "cannot_discover",
            format!("{name} is registered as one that cannot list what it could scale"),
        ));
    }
    let began_at = session.now();
    let discovery = session.asker(&actuator)?.discover(runtime, began_at)?;
    let heads = session.ledger.read()?.service_heads()?;
    Ok(discovered(discovery, &heads))
}

fn discovered(discovery: Discovery, heads: &[(ServiceName, ServiceHead)]) -> Discovered {
    let Discovery { read_at, found, more, unread } = discovery;
    let mut taken: BTreeSet<ServiceName> = heads.iter().map(|(name, _)| name.clone()).collect();
    let targets = found.into_iter().map(|found| {
        let service = known(&found.target, heads);
        let is_theirs = !found.owners.is_empty() && found.mode.is_none();
        let is_ours = service.as_ref().is_some_and(|known| !known.is_retired);
        let proposed = (!is_theirs && !is_ours).then(|| Proposed {
            service: match &service {
                Some(retired) => retired.name.clone(),
                None => free_name(&found.target, &mut taken),
            },
            max: found.replicas.map(|count| count.max(Replicas::from(1))),
        });
        Discoverable { found, service, proposed }
    });
    Discovered { read_at, targets: targets.collect(), more, unread }
}

/// The service of such a target: of this very object, or else of this place.
fn known(target: &TargetBinding, heads: &[(ServiceName, ServiceHead)]) -> Option<Known> {
    let mut of_place = None;
    for (name, head) in heads {
        let Some(registration) = &head.registration else { continue };
        if registration.cluster_id != target.cluster_id
            || registration.runtime_id != target.runtime_id
        {
            continue;
        }
        let bound = head.binding.as_ref().map(|binding| &binding.target_uid);
        let is_same_object = bound.is_none_or(|uid| *uid == target.target_uid);
        let is_retired = head.authority.retired.is_some();
        let known = Known { name: name.clone(), is_same_object, is_retired };
        if bound == Some(&target.target_uid) && !is_retired {
            return Some(known);
        }
        if registration.workload_id == target.workload_id {
            of_place = Some(known);
        }
    }
    of_place
}

/// A name for a service of such a target that nobody has yet: the shortest that tells it apart.
fn free_name(target: &TargetBinding, taken: &mut BTreeSet<ServiceName>) -> ServiceName {
    let (runtime, workload) = (target.runtime_id.as_str(), target.workload_id.as_str());
    let short = workload.rsplit('/').next().unwrap_or(workload);
    let names = [
        short.to_owned(),
        format!("{runtime}-{short}"),
        format!("{runtime}/{workload}"),
        format!("{}/{runtime}/{workload}", target.cluster_id),
    ];
    let mut names = names.iter().filter_map(|name| name.parse::<ServiceName>().ok());
    let free = names.find(|name| !taken.contains(name)).unwrap_or_else(|| {
        ServiceName::derived("target", &format!("{}/{runtime}/{workload}", target.cluster_id))
    });
    taken.insert(free.clone());
    free
}
