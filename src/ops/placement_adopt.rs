//! `placement adopt`: an environment that is there becomes known as it is.

use super::error::OpError;
use super::placing::Placed;
use super::session::Session;
use super::sight::sighting_before;
use crate::domain::placement::command::{AdoptEnvironment, Command, Sighting};

/// Knows an environment as it is. Nothing is moved. Its relocator looks at the copy before; where
/// nobody could, the session says so.
pub fn placement_adopt(session: &mut Session, ask: AdoptEnvironment) -> Result<Placed, OpError> {
    let sighting = sighting_before(session, &ask)?;
    if let Some(Sighting::Unasked(why)) = &sighting {
        let name = &ask.environment;
        session.notice("copy_unseen", format!("nobody has looked at the copy of {name}: {why}"));
    }
    let ask = AdoptEnvironment { sighting, ..ask };
    session.place(&[], None, |_, _| Ok(Command::Adopt(Box::new(ask))))
}
