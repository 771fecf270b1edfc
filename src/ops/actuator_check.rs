//! x
#![allow(missing_docs)]
use super::error::OpError;
use super::session::Session;
use crate::domain::id::{ActuatorName, WorkloadId};
#[derive(serde::Serialize)]
pub enum Checked {
    Passed,
    Skipped,
    Failed,
}
pub struct Check {
    pub name: &'static str,
    pub checked: Checked,
    pub seen: String,
}
pub fn actuator_check(
    _s: &mut Session,
    _n: &ActuatorName,
    _w: &WorkloadId,
) -> Result<Vec<Check>, OpError> {
    Ok(vec![])
}
