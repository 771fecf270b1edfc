//! What of a wish is said beside its count, by flags.

use clap::Args;

use crate::cli::app::App;
use crate::cli::args::{up_to, wait, whole_number};
use crate::cli::fault::Fault;
use crate::domain::scale::command::PutIntent;
use crate::domain::scale::consent::APPROVE_WITHIN_MAX;
use crate::domain::time::DurationMs;

/// What of a wish comes from flags; `scale` and `plan` take the same.
#[derive(Debug, Clone, Args)]
pub(in crate::cli) struct WishArgs {
    /// Why: 1 to 512 characters [env: SCALECTL_REASON]
    #[arg(long, value_name = "TEXT")]
    pub(in crate::cli) reason: Option<String>,
    /// The key that names this wish for ever; minted where none is given
    #[arg(long, value_name = "KEY")]
    pub(in crate::cli) key: Option<String>,
    /// The newest intent revision that you know of (0 for none), or latest
    #[arg(long, value_name = "N|latest")]
    pub(in crate::cli) expect_revision: Option<String>,
    /// The count that you believe runs now
    #[arg(long, value_name = "N", value_parser = whole_number)]
    pub(in crate::cli) current_replicas: Option<u64>,
    /// How many attempts this wish may use, 1 to 8
    #[arg(long, value_name = "N", value_parser = whole_number)]
    pub(in crate::cli) max_attempts: Option<u64>,
    /// How long to wait between attempts, up to 1h
    #[arg(long, value_name = "DURATION")]
    pub(in crate::cli) backoff: Option<DurationMs>,
    /// A fence of the writer's own
    #[arg(long, value_name = "EPOCH.TOKEN")]
    pub(in crate::cli) fence: Option<String>,
    /// How long the fence of this wish lives
    #[arg(long, value_name = "DURATION", value_parser = wait, default_value = "1h")]
    pub(in crate::cli) valid_for: DurationMs,
    /// Wait behind what is in flight instead of being refused
    #[arg(long)]
    pub(in crate::cli) queue: bool,
    /// End a waiting wish of somebody else
    #[arg(long)]
    pub(in crate::cli) supersede: bool,
    /// Ask policy to pass the cooldown (action override_cooldown)
    #[arg(long)]
    pub(in crate::cli) override_cooldown: bool,
    /// Vouch that what is not drained may go
    #[arg(long, value_name = "FACT", value_parser = ["not-drained"])]
    pub(in crate::cli) attest: Option<String>,
    /// How long it may wait for a colleague where policy leaves it to one, at most 7d; 0s for none
    #[arg(long, value_name = "DURATION", value_parser = approve_within, default_value = "24h")]
    pub(in crate::cli) approve_within: DurationMs,
    /// Undo this failed wish: it ends as abandoned in the same transaction
    #[arg(long, value_name = "KEY")]
    pub(in crate::cli) rolls_back: Option<String>,
}

fn approve_within(text: &str) -> Result<DurationMs, String> {
    up_to(APPROVE_WITHIN_MAX, text)
}

impl WishArgs {
    /// What of a wish the flags say beside its form: the one place, for flags and records alike.
    pub(in crate::cli) fn applied_to(&self, put: PutIntent) -> PutIntent {
        PutIntent {
            queue: self.queue,
            supersede: self.supersede,
            override_cooldown: self.override_cooldown,
            attest_not_drained: self.attest.is_some(),
            approve_within: Some(self.approve_within).filter(|it| *it > DurationMs::ZERO),
            ..put
        }
    }

    /// The wish with the one that it undoes, where it names one.
    pub(in crate::cli) fn undoing(
        &self,
        put: PutIntent,
        app: &mut App,
    ) -> Result<PutIntent, Fault> {
        let rolls_back = self.rolls_back.as_deref().map(|word| app.key(word)).transpose()?;
        Ok(PutIntent { rolls_back, ..put })
    }
}
