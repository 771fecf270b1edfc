//! The flags of a wish: `intent put`, `scale` and `plan` take the same.
//!
//! Names them, and makes the one wish of a line of them; `intent` makes its record.

use clap::Args;

use super::app::App;
use super::args::{up_to, wait, whole_number};
use super::fault::Fault;
use super::intent::put_of_flags;
use crate::domain::id::{ExecutionKey, ServiceName};
use crate::domain::scale::command::PutIntent;
use crate::domain::scale::consent::APPROVE_WITHIN_MAX;
use crate::domain::time::DurationMs;
use crate::ops::breaking::Breaking;
use crate::ops::resume::{Again, Wished};

/// What of a wish comes from flags; `scale` and `plan` take the same.
#[derive(Debug, Clone, Args)]
pub(super) struct WishArgs {
    /// Why: 1 to 512 characters [env: SCALECTL_REASON]
    #[arg(long, value_name = "TEXT")]
    pub(super) reason: Option<String>,
    /// The key that names this wish for ever; minted where none is given
    #[arg(long, value_name = "KEY")]
    pub(super) key: Option<String>,
    /// The newest intent revision that you know of (0 for none), or latest
    #[arg(long, value_name = "N|latest")]
    pub(super) expect_revision: Option<String>,
    /// The count that you believe runs now
    #[arg(long, value_name = "N", value_parser = whole_number)]
    pub(super) current_replicas: Option<u64>,
    /// How many attempts this wish may use, 1 to 8; left out under a known key: as recorded
    #[arg(long, value_name = "N", value_parser = whole_number)]
    pub(super) max_attempts: Option<u64>,
    /// How long to wait between attempts, up to 1h; left out under a known key: as recorded
    #[arg(long, value_name = "DURATION")]
    pub(super) backoff: Option<DurationMs>,
    /// A fence of the writer's own
    #[arg(long, value_name = "EPOCH.TOKEN")]
    pub(super) fence: Option<String>,
    /// How long the fence of this wish lives [default: 1h]
    #[arg(long, value_name = "DURATION", value_parser = wait)]
    pub(super) valid_for: Option<DurationMs>,
    /// Wait behind what is in flight instead of being refused
    #[arg(long)]
    pub(super) queue: bool,
    /// End a waiting wish of somebody else
    #[arg(long)]
    pub(super) supersede: bool,
    /// Ask policy to pass the cooldown (action override_cooldown)
    #[arg(long)]
    pub(super) override_cooldown: bool,
    /// Vouch that what is not drained may go
    #[arg(long, value_name = "FACT", value_parser = ["not-drained"])]
    pub(super) attest: Option<String>,
    /// How long it may wait for a colleague where policy leaves it to one, at most 7d; 0s for none
    #[arg(long, value_name = "DURATION", value_parser = approve_within, default_value = "24h")]
    pub(super) approve_within: DurationMs,
    /// Undo this wish of the service, by the count that is named
    ///
    /// One that failed and may be tried again ends as abandoned in the same transaction. One that
    /// was carried out, or is over, stays as it is; this one names it. Refused while its call runs
    /// (11), while nobody knows what became of it (16: `replay` first), and where it has changed
    /// nothing (10). A count that is not the one before it is told, and wished.
    #[arg(long, value_name = "KEY")]
    pub(super) rolls_back: Option<String>,
}

fn approve_within(text: &str) -> Result<DurationMs, String> {
    up_to(APPROVE_WITHIN_MAX, text)
}

/// How long the fence of a wish lives where nobody says.
pub(super) const VALID_FOR_DEFAULT: DurationMs = DurationMs::from_secs(3600);

/// A wish, and the glass that is broken for it.
pub(super) type Glazed = (PutIntent, Option<Breaking>);

impl WishArgs {
    /// The wish of a line `NAME=N`: the one place for every line that goes on to its target.
    /// `glaze` says what is broken for it, or what else the line says.
    pub(super) fn wished(
        &self,
        (service, replicas): &(ServiceName, u64),
        app: &mut App,
        glaze: impl FnOnce(&mut App, PutIntent) -> Result<Glazed, Fault>,
    ) -> Result<Wished, Fault> {
        let put = put_of_flags(service, *replicas, self, app, false)?;
        let put = self.undoing(put, app)?;
        super::install_signals()?;
        let (put, breaking) = glaze(app, put)?;
        let again = self.again(&put);
        Ok(Wished { put, breaking, again })
    }

    /// The key of a wish, where the caller has named it.
    pub(super) fn own_key(&self, put: &PutIntent) -> Option<ExecutionKey> {
        self.key.is_some().then(|| put.key().clone())
    }

    /// What the same line again is. What only a new wish can have is not said of an older one.
    fn again(&self, put: &PutIntent) -> Again {
        let is_new = put.authorization.is_some()
            || self.valid_for.is_some()
            || self.queue
            || self.supersede
            || self.rolls_back.is_some();
        if self.key.is_some() {
            Again::Same
        } else if put.pin_until.is_some() {
            Again::Anew
        } else if is_new {
            Again::Another
        } else {
            Again::GoesOn
        }
    }

    /// What of a wish the flags say beside its form: the one place, for flags and records alike.
    pub(super) fn applied_to(&self, put: PutIntent) -> PutIntent {
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
    pub(super) fn undoing(&self, put: PutIntent, app: &mut App) -> Result<PutIntent, Fault> {
        let rolls_back = self.rolls_back.as_deref().map(|word| app.key(word)).transpose()?;
        Ok(PutIntent { rolls_back, ..put })
    }

    /// The first flag that says what a whole record says itself, or what only a wish from flags is
    /// held to: beside a record it would be dropped silently.
    pub(super) fn beside_a_record(&self) -> Option<&'static str> {
        let Self {
            reason,
            key,
            expect_revision,
            current_replicas,
            max_attempts,
            backoff,
            fence,
            valid_for,
            queue: _,
            supersede: _,
            override_cooldown: _,
            attest: _,
            approve_within: _,
            rolls_back: _,
        } = self;
        [
            (reason.is_some(), "--reason"),
            (key.is_some(), "--key"),
            (expect_revision.is_some(), "--expect-revision"),
            (current_replicas.is_some(), "--current-replicas"),
            (max_attempts.is_some(), "--max-attempts"),
            (backoff.is_some(), "--backoff"),
            (fence.is_some(), "--fence"),
            (valid_for.is_some(), "--valid-for"),
        ]
        .into_iter()
        .find_map(|(is_said, flag)| is_said.then_some(flag))
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::domain::id::Replicas;
    use crate::domain::scale::command::PutForm;
    use crate::domain::scale::intent::{Reason, RetryAsked};

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        put: WishArgs,
    }

    fn wish() -> PutIntent {
        let form = PutForm::Flags {
            replicas: Replicas::from(3),
            reason: Reason::cut("a test"),
            retry: RetryAsked::default(),
            key: "k".parse().expect("a key"),
            fence: None,
            valid_for: VALID_FOR_DEFAULT,
        };
        PutIntent::new("web".parse().expect("a service"), form)
    }

    #[test]
    fn what_only_a_new_wish_can_have_is_not_said_of_an_older_one() {
        let under_a_glass =
            PutIntent { authorization: Some("bg-1".parse().expect("an id")), ..wish() };
        let pinned = PutIntent { pin_until: Some(crate::domain::time::Timestamp::MAX), ..wish() };
        for (flags, put, again) in [
            ("", wish(), Again::GoesOn),
            ("--reason why --max-attempts 2 --expect-revision 3", wish(), Again::GoesOn),
            ("--override-cooldown --attest not-drained", wish(), Again::GoesOn),
            ("--queue", wish(), Again::Another),
            ("--supersede", wish(), Again::Another),
            ("--valid-for 1h", wish(), Again::Another),
            ("--rolls-back k0", wish(), Again::Another),
            ("", under_a_glass.clone(), Again::Another),
            ("", pinned.clone(), Again::Anew),
            ("--queue", pinned.clone(), Again::Anew),
            ("--key k", wish(), Again::Same),
            ("--key k --queue", under_a_glass, Again::Same),
            ("--key k", pinned, Again::Same),
        ] {
            let words = std::iter::once("scalectl").chain(flags.split_whitespace());
            let line = Line::try_parse_from(words).expect("flags of a wish");
            assert_eq!(line.put.again(&put), again, "{flags}");
            assert_eq!(line.put.own_key(&put).is_some(), again == Again::Same, "{flags}");
        }
    }
}
