//! Minted ids: random, because two hosts must never mint the same one.

use std::fmt::Write as _;
use std::str::FromStr;

use super::error::OpError;
use crate::domain::id::{ExecutionKey, ServiceName};

/// A new id: a prefix and 128 random bits in hex.
pub fn mint<T: FromStr>(prefix: &str) -> Result<T, OpError> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).map_err(|error| OpError::Internal {
        what: format!("the system gives no random numbers: {error}"),
    })?;
    let mut text = prefix.to_owned();
    for byte in bytes {
        write!(text, "{byte:02x}").expect("BUG: writing to a string failed");
    }
    text.parse().map_err(|_| OpError::Internal { what: format!("minted {text}") })
}

/// A new key of a service that says where it comes from: as much of the name as there is room for.
pub(super) fn mint_key(service: &ServiceName, from: &str) -> Result<ExecutionKey, OpError> {
    let name: String = service.as_str().chars().take(150).collect();
    mint(&format!("{name}-{from}-"))
}
