//! `placement adopt`: an environment that is there becomes known as it is.

use super::error::OpError;
use super::placing::Placed;
use super::session::Session;
use crate::domain::placement::command::{AdoptEnvironment, Command};

/// Knows an environment as it is. Nothing is moved and nobody is called.
pub fn placement_adopt(session: &mut Session, ask: AdoptEnvironment) -> Result<Placed, OpError> {
    session.place(&[], None, |_, _| Ok(Command::Adopt(Box::new(ask))))
}
