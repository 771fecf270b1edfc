//! The allowed signers: few events of the registry, read from their chain.

use std::ops::ControlFlow;

use super::columns::{EventRow, json, number};
use super::error::LedgerError;
use super::read::ReadTxn;
use super::sql::Value;
use super::statements as sql;
use crate::domain::registry::{AllowedSigners, RegistryBody, RegistryEvent};

impl ReadTxn<'_> {
    /// Those whose signatures are taken; none before anybody has said so.
    pub fn allowed_signers(&self) -> Result<Option<AllowedSigners>, LedgerError> {
        let mut newest = None;
        self.each_signers(true, &mut |_, signers| {
            newest = Some(signers);
            ControlFlow::Break(())
        })?;
        Ok(newest)
    }

    /// Every list that ever held, the oldest first, with the position of its event.
    pub fn signers_history(&self) -> Result<Vec<(u64, AllowedSigners)>, LedgerError> {
        let mut history = Vec::new();
        self.each_signers(false, &mut |position, signers| {
            history.push((position, signers));
            ControlFlow::Continue(())
        })?;
        Ok(history)
    }

    fn each_signers(
        &self,
        newest_first: bool,
        take: &mut dyn FnMut(u64, AllowedSigners) -> ControlFlow<()>,
    ) -> Result<(), LedgerError> {
        let statement = if newest_first { sql::READ_STREAM_NEWEST_FIRST } else { sql::READ_STREAM };
        self.engine().each(statement, &[Value::Text("registry")], &mut |row| {
            let row = EventRow::of(row)?;
            if row.kind != "signers_set" {
                return Ok(ControlFlow::Continue(()));
            }
            let event: RegistryEvent = json(self.path(), || row.place(), row.body)?;
            let position = number(self.path(), || row.place(), row.position)?;
            Ok(match event.body {
                RegistryBody::SignersSet { signers, .. } => take(position, signers),
                _ => ControlFlow::Continue(()),
            })
        })
    }
}
