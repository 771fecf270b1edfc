//! Looking at the copy that serves: what a change would have to copy. The shared step of
//! `placement plan` and `placement change`. Changes nothing.

use super::error::OpError;
use super::session::Session;
use crate::domain::id::{EnvironmentName, ServiceName};
use crate::domain::placement::command::Sighting;
use crate::domain::placement::environment::Environment;
use crate::domain::placement::state::PlacementState;

/// What the environment's relocator says of the copy that serves.
pub(super) fn sighting_of(
    _session: &mut Session,
    _state: &PlacementState,
    environment: &Environment,
) -> Result<Sighting, OpError> {
    Ok(Sighting::Unasked(format!("nobody on this host moves {}", environment.name)))
}

impl Session {
    /// The services of an environment of which something is in flight.
    pub(super) fn in_flight_in(
        &mut self,
        _environment: &EnvironmentName,
    ) -> Result<Vec<ServiceName>, OpError> {
        Ok(Vec::new())
    }
}
