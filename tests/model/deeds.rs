//! What persons do about consent, and what happens to the world meanwhile.

use scalectl::domain::id::ExecutionKey;
use scalectl::domain::scale::command::{AuthorityCommand, Authorize, Command, RegisterService};
use scalectl::domain::scale::event::EventBody;
use scalectl::domain::scale::execution::Phase;
use scalectl::domain::scale::observation::Reading;
use scalectl::domain::scale::others::Others;
use scalectl::domain::scale::owners::Owners;
use scalectl::domain::scale::result::Detail;
use scalectl::domain::scale::signed::Signing;
use scalectl::domain::scale::state::ServiceState;
use scalectl::domain::time::{DurationMs, Timestamp};

use super::guarded::{self, Sign};
use super::machine::{Act, Machine, REPLICAS};
use super::orders::{Look, Order, TICK, Word, reading, settlement};
use super::people::Person;
use super::setup::Setup;
use super::snapshot::{Effect, Snapshot};
use crate::rules::support::{count, id};

/// What one person does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Deed {
    /// Yes or no to a proposal.
    Answer {
        key: u8,
        grants: bool,
        by: Person,
        sign: Sign,
    },
    Authorize {
        glass: u8,
        sign: Sign,
    },
    Revoke {
        glass: u8,
        by: Person,
    },
    Review {
        glass: u8,
        by: Person,
        sign: Sign,
    },
    /// Lets nothing change the count for a time, or ends that.
    Hold {
        begins: bool,
        by: Person,
    },
    /// Raises the upper bound under it, to what it says or above that.
    Raise {
        glass: u8,
        by: Person,
        more: u8,
    },
    /// A person's word under the glass of that number.
    Say {
        key: u8,
        glass: u8,
        word: Word,
    },
    /// Other settings than before.
    Resettle,
    /// What the target is.
    Bind(Look),
    /// Takes another object under the same name for the target.
    Recreate(Look),
}

/// What happens to the world.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Turn {
    /// Another policy holds.
    Policy,
    /// Somebody else moves the count away.
    Move,
}

impl Deed {
    pub(super) const fn key(self) -> u8 {
        match self {
            Self::Answer { key, .. } | Self::Say { key, .. } => key,
            _ => 0,
        }
    }

    pub(super) const fn by(self) -> Person {
        match self {
            Self::Answer { by, .. }
            | Self::Revoke { by, .. }
            | Self::Review { by, .. }
            | Self::Hold { by, .. }
            | Self::Raise { by, .. } => by,
            _ => Person::Ann,
        }
    }
}

impl Deed {
    /// How it is signed.
    pub(super) const fn sign(self) -> Sign {
        match self {
            Self::Answer { sign, .. }
            | Self::Authorize { sign, .. }
            | Self::Review { sign, .. } => sign,
            _ => Sign::Nothing,
        }
    }
}

pub(super) fn glass_id(glass: u8) -> String {
    format!("bg-{glass}")
}

/// The number of the glass that a wish names.
pub(super) fn glass_of(words: &str) -> Option<u8> {
    words.split_whitespace().find_map(|word| word.strip_prefix("glass")?.parse().ok())
}

pub(super) fn why() -> Detail {
    Detail::cut("model")
}

pub(super) fn command(setup: &Setup, state: &ServiceState, deed: Deed, now: Timestamp) -> Command {
    let service = || id("web");
    Command::Authority(Box::new(match deed {
        Deed::Answer { key, grants, sign, .. } => {
            let key: ExecutionKey = id(&Setup::key(key));
            let signing = guarded::of_answer(setup, state, &key, grants, sign);
            AuthorityCommand::Answer { key, grants, reason: why(), signing }
        }
        Deed::Authorize { glass, sign } => AuthorityCommand::Authorize(guarded::signed(
            setup,
            state,
            authorize(setup, glass),
            sign,
        )),
        Deed::Hold { begins, .. } => AuthorityCommand::Hold {
            service: service(),
            until: begins.then(|| now.plus(DurationMs::from_secs(setup.consent.hold * TICK))),
            reason: why(),
        },
        Deed::Revoke { glass, .. } => AuthorityCommand::RevokeAuthorization {
            service: service(),
            authorization_id: id(&glass_id(glass)),
            reason: why(),
        },
        Deed::Review { glass, sign, .. } => AuthorityCommand::ReviewAuthorization {
            service: service(),
            authorization_id: id(&glass_id(glass)),
            reason: why(),
            signing: guarded::of_review(setup, state, &id(&glass_id(glass)), sign),
        },
        Deed::Raise { glass, more, .. } => {
            let max = setup.consent.glasses[usize::from(glass)].replicas;
            return register(state, max + more, Some(glass));
        }
        Deed::Resettle => return register(state, 9, None),
        Deed::Say { key, glass, word } => {
            let name = Setup::key(key);
            let settlement = Box::new(settlement(state, &name, word));
            let authorization = Some(id(&glass_id(glass)));
            return Command::Settle { key: id(&name), settlement, authorization };
        }
        Deed::Bind(look) => return bind(state, reading(look), look.serial),
        Deed::Recreate(look) => {
            let other = Reading { target_uid: id("uid-2"), ..reading(look) };
            return bind(state, other, look.serial);
        }
    }))
}

fn bind(state: &ServiceState, reading: Reading, began_after_serial: u64) -> Command {
    Command::BindTarget {
        service: id("web"),
        accept_uid: Some(reading.target_uid.clone()),
        reading,
        began_after_serial,
        bound_before: state.head.binding.clone(),
        others: Others::default(),
    }
}

fn authorize(setup: &Setup, glass: u8) -> Authorize {
    let asked = setup.consent.glasses[usize::from(glass)];
    Authorize {
        service: id("web"),
        authorization_id: id(&glass_id(glass)),
        desired_replicas: count(asked.replicas.into()),
        current: None,
        incident: id("INC-1"),
        reason: why(),
        valid_for: DurationMs::from_secs(asked.valid * TICK),
        max_uses: asked.uses,
        attests_not_drained: asked.attests,
        raises_max_to: asked.raises.then(|| count(asked.replicas.into())),
        signing: Signing::default(),
    }
}

fn register(state: &ServiceState, max: u8, glass: Option<u8>) -> Command {
    let mut registration = state.head.registration.clone().expect("a registered service");
    registration.max_replicas = count(max.into());
    Command::RegisterService(Box::new(RegisterService {
        registration,
        binding: None,
        expected: None,
        owners: Owners::default(),
        accept_uid: None,
        others: Others::default(),
        authorization: glass.map(|glass| id(&glass_id(glass))),
    }))
}

impl Machine {
    /// What several persons may do.
    pub(super) fn people(&self, snapshot: &Snapshot, acts: &mut Vec<Act>) {
        let setup = &self.setup;
        if usize::from(snapshot.policy) + 1 < setup.consent.policies.len() {
            acts.push(Act::World(Turn::Policy));
        }
        if setup.may("mover") && snapshot.mishaps > 0 && snapshot.replicas == REPLICAS {
            acts.push(Act::World(Turn::Move));
        }
        let mut deeds = Vec::new();
        let state = self.book.state(snapshot.page);
        if setup.may("resettle") && state.head.registration.as_ref().is_some_and(is_first) {
            deeds.push(Deed::Resettle);
        }
        let bound = state.head.binding.as_ref().map(|bound| bound.target_uid.as_str());
        if setup.may("recreate") && snapshot.looks > 0 && bound == Some("uid-1") {
            deeds.push(Deed::Recreate(self.look(snapshot)));
        }
        if setup.may("bind") && snapshot.looks > 0 {
            deeds.push(Deed::Bind(self.look(snapshot)));
        }
        for key in self.known(snapshot) {
            let execution = &state.executions[&id(&Setup::key(key))];
            let people = setup.consent.people.iter().filter(|_| execution.asked.is_some());
            for by in people.copied() {
                for sign in setup.consent.signs.iter().copied() {
                    deeds.push(Deed::Answer { key, grants: true, by, sign });
                    deeds.push(Deed::Answer { key, grants: false, by, sign });
                }
            }
            if setup.may("again") {
                acts.push(Act::Ask { host: None, order: Order::Put { wish: key } });
            }
            if setup.may("word") && matches!(execution.phase, Phase::RecoveryPending { .. }) {
                self.say(snapshot, key, &mut deeds);
            }
        }
        if setup.may("hold") {
            let begins = state.head.authority.hold.is_none();
            let people = setup.consent.people.iter().copied();
            deeds.extend(people.map(|by| Deed::Hold { begins, by }));
        }
        self.glasses(snapshot, &mut deeds);
        let asked = |deed| Act::Ask { host: None, order: Order::Person(deed) };
        acts.extend(deeds.into_iter().map(asked));
    }

    /// A word that is so, under each glass.
    fn say(&self, snapshot: &Snapshot, key: u8, deeds: &mut Vec<Deed>) {
        let calls = || snapshot.calls.iter().filter(|call| call.key == key);
        let is_untouched = calls().all(|call| call.effect == Effect::Never);
        for glass in self.all_glasses() {
            if is_untouched {
                deeds.push(Deed::Say { key, glass, word: Word::NotApplied });
            } else if snapshot.looks > 0 {
                deeds.push(Deed::Say { key, glass, word: Word::Applied(self.look(snapshot)) });
            }
        }
    }

    fn all_glasses(&self) -> impl Iterator<Item = u8> + use<> {
        0..u8::try_from(self.setup.consent.glasses.len()).expect("few glasses")
    }

    fn glasses(&self, snapshot: &Snapshot, deeds: &mut Vec<Deed>) {
        for glass in self.all_glasses() {
            let is_given = self.book.log(snapshot.page).iter().any(|event| {
                matches!(&event.body, EventBody::AuthorizationGranted { authorization }
                    if authorization.authorization_id == id(&glass_id(glass)))
            });
            let signs = || self.setup.consent.signs.iter().copied();
            if !is_given {
                deeds.extend(signs().map(|sign| Deed::Authorize { glass, sign }));
                continue;
            }
            for by in self.setup.consent.people.iter().copied() {
                deeds.push(Deed::Revoke { glass, by });
                deeds.extend(signs().map(|sign| Deed::Review { glass, by, sign }));
                if self.setup.may("raise") {
                    deeds.push(Deed::Raise { glass, by, more: 0 });
                    deeds.push(Deed::Raise { glass, by, more: 1 });
                }
            }
        }
    }

    pub(super) fn turn(next: &mut Snapshot, turn: Turn) {
        match turn {
            Turn::Policy => next.policy += 1,
            Turn::Move => {
                (next.replicas, next.version) = (2, next.version + 1);
                next.mishaps -= 1;
            }
        }
    }
}

fn is_first(registration: &scalectl::domain::scale::service::Registration) -> bool {
    registration.unit_revision.get() == 1
}
