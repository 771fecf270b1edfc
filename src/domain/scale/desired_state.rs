//! Services that are nothing but a desired count, and what their targets are called.

use super::service::{RegisteredMode, Registration};
use crate::domain::gateway;
use crate::domain::id::TargetUid;

impl Registration {
    /// Whether the desired count is all that there is of it: nobody is called, and nobody reads it.
    pub fn is_desired_state(&self) -> bool {
        self.actuator.is_none()
            && self.mode == RegisteredMode::Native
            && self.cluster_id.as_str() == gateway::CLUSTER
            && self.runtime_id.as_str() == gateway::RUNTIME
    }

    /// Whether a target is one that the gateway gives to another service. Its targets are called as
    /// their services, so whoever has another name there stands in the way of a service that is yet
    /// to come.
    pub fn is_anothers(&self, uid: &TargetUid) -> bool {
        let (cluster, runtime) = (self.cluster_id.as_str(), self.runtime_id.as_str());
        cluster == gateway::CLUSTER
            && runtime == gateway::RUNTIME
            && uid.as_str() != self.service.as_str()
    }
}
