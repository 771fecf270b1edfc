//! The worlds of several persons: who they are, what they are asked, and what is met there.

use std::collections::BTreeSet;

use scalectl::domain::scale::policy::PolicyAction;

use super::Pins;
use super::guarded::{ALL, Proof, Sign};
use super::setup::{Setup, Wish};
use crate::rules::support::{Denying, id};

/// Somebody who answers, permits or looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Person {
    Ann,
    Bob,
    Cid,
    /// Ann, who says that she is Bob.
    Mask,
}

impl Person {
    /// What the system knows.
    pub(super) const fn user(self) -> &'static str {
        match self {
            Self::Ann | Self::Mask => "ann",
            Self::Bob => "bob",
            Self::Cid => "cid",
        }
    }

    pub(super) fn uid(self) -> u32 {
        self.user().bytes().map(u32::from).sum()
    }

    /// What they say.
    pub(super) const fn claim(self) -> &'static str {
        match self {
            Self::Ann => "ann",
            Self::Bob | Self::Mask => "bob",
            Self::Cid => "cid",
        }
    }
}

/// An authorization that Ann may give, for so many ticks. Its name is its number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Glass {
    pub(super) replicas: u8,
    pub(super) uses: u8,
    pub(super) valid: u64,
    pub(super) raises: bool,
    pub(super) attests: bool,
}

/// What a world has beside its wishes, where several persons live in it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Consent {
    /// Who answers, takes back and reviews; nobody where the world knows one person only.
    pub(super) people: &'static [Person],
    pub(super) glasses: &'static [Glass],
    /// The policies that follow each other: who may not do what. The first may be none.
    pub(super) policies: &'static [&'static str],
    /// How many ticks a proposal waits, and a hold lasts.
    pub(super) within: u64,
    pub(super) hold: u64,
    /// How acts are signed.
    pub(super) signs: &'static [Sign],
    /// What is known where a call is to start.
    pub(super) proofs: &'static [Proof],
}

impl Consent {
    pub(super) const NONE: Self = Self {
        people: &[],
        glasses: &[],
        policies: &[""],
        within: 1,
        hold: 1,
        signs: &[Sign::Nothing],
        proofs: &[Proof::Nothing],
    };

    pub(super) fn policies(&self) -> Vec<Denying> {
        let denied = |word: &str| -> (String, PolicyAction) {
            let (who, what) = word.split_once(':').expect("WHO:WHAT");
            (who.to_owned(), id(what))
        };
        let all = |text: &&str| Denying(text.split_whitespace().map(denied).collect());
        self.policies.iter().map(all).collect()
    }
}

/// Whether somebody may do something by a policy.
pub(super) fn may(
    policy: &BTreeSet<(String, PolicyAction)>,
    who: &str,
    what: PolicyAction,
) -> bool {
    !policy.contains(&(who.to_owned(), what)) && !policy.contains(&("*".to_owned(), what))
}

pub(super) const BASE: Setup = Setup { ticks: 1, mishaps: 0, looks: 1, ..Setup::BASE };
pub(super) const ASKS: Consent =
    Consent { people: ALL, policies: &["ann:scale_up"], ..Consent::NONE };

pub(super) const ONE: &[Wish] = &[Wish { replicas: 5, words: "asks" }];
const TWO: &[Wish] =
    &[Wish { replicas: 5, words: "asks" }, Wish { replicas: 6, words: "asks supersede" }];
const AFTER: &[Wish] =
    &[Wish { replicas: 2, words: "" }, Wish { replicas: 5, words: "asks" }, BOBS];
const BOBS: Wish = Wish { replicas: 6, words: "bob supersede queue" };
const GLASS: &[Wish] =
    &[Wish { replicas: 5, words: "glass0" }, Wish { replicas: 5, words: "glass0 queue" }];
const OTHER: &[Wish] = &[
    Wish { replicas: 5, words: "bob glass0" },
    Wish { replicas: 6, words: "glass0 supersede queue" },
];
const RAISED: &[Wish] = &[Wish { replicas: 12, words: "glass0" }];
pub(super) const FIVE: Glass =
    Glass { replicas: 5, uses: 1, valid: 2, raises: false, attests: false };

/// Who broke the glass, and who looks at it: neither policy nor a colleague would let Ann.
pub(super) const BROKEN: Consent = Consent {
    people: &[Person::Ann, Person::Bob, Person::Cid],
    glasses: &[FIVE],
    policies: &["ann:scale_up ann:propose ann:settle"],
    ..Consent::NONE
};

/// Name, setup, and how many states there are: of the model, and of the service.
pub(super) const PEOPLE: &[(&str, Setup, usize, usize)] = &[
    // A proposal, its answers, its end; a process dies between the grant, the start and the call.
    (
        "asked",
        Setup {
            wishes: ONE,
            settings: "tries=2",
            may: "withdraw abandon again unspawned",
            ticks: 2,
            mishaps: 1,
            consent: Consent { within: 2, ..ASKS },
            ..BASE
        },
        3210,
        249,
    ),
    // Two hosts, one of them Bob's, and a process that sleeps between its look and its start.
    (
        "asked slowly",
        Setup {
            wishes: ONE,
            settings: "tries=2 readings=1",
            may: "slow",
            hosts: 2,
            consent: ASKS,
            ..BASE
        },
        2586,
        58,
    ),
    // A fence of the writer's own, which may end before somebody answers.
    (
        "own fence",
        Setup {
            wishes: &[Wish { replicas: 5, words: "high asks" }],
            settings: "tries=1 readings=1 fences=external",
            ticks: 2,
            valid: 1,
            consent: Consent { people: &[Person::Bob], within: 2, ..ASKS },
            ..BASE
        },
        125,
        29,
    ),
    // Two proposals, of which the newer ends the older.
    (
        "two asked",
        Setup {
            wishes: TWO,
            settings: "tries=1 readings=1",
            may: "withdraw again",
            ticks: 0,
            consent: ASKS,
            ..BASE
        },
        331,
        129,
    ),
    // A proposal between a wish that needs nobody, and one of somebody who may.
    (
        "asked after",
        Setup {
            wishes: AFTER,
            settings: "tries=1 readings=1",
            may: "leases",
            ticks: 0,
            looks: 0,
            consent: Consent { people: &[Person::Bob], ..ASKS },
            ..BASE
        },
        736,
        428,
    ),
    // The count moves while somebody is asked, and after they have agreed.
    (
        "moved",
        Setup {
            wishes: ONE,
            settings: "tries=2 readings=1",
            may: "mover bind partial",
            ticks: 0,
            looks: 2,
            mishaps: 1,
            consent: Consent { people: &[Person::Bob], ..ASKS },
            ..BASE
        },
        1528,
        250,
    ),
    // Policy and settings change between the proposal, the grant and the start.
    (
        "ruled",
        Setup {
            wishes: ONE,
            settings: "tries=2 readings=1",
            may: "resettle",
            consent: Consent {
                people: &[Person::Bob],
                policies: &[
                    "ann:scale_up",
                    "ann:scale_up bob:approve",
                    "ann:scale_up ann:propose",
                    "",
                ],
                ..ASKS
            },
            ..BASE
        },
        2794,
        270,
    ),
    // What was agreed to is simulated.
    (
        "rehearsed",
        Setup {
            wishes: TWO,
            settings: "tries=1 readings=1",
            may: "simulate",
            ticks: 0,
            consent: Consent { people: &[Person::Bob], ..ASKS },
            ..BASE
        },
        277,
        107,
    ),
    // A call under an approval is lost, and called again by whoever deduplicates.
    (
        "lost",
        Setup {
            wishes: ONE,
            settings: "tries=2 readings=1 on_unknown=retry_same_key dedupes",
            may: "bind",
            quiet: 0,
            mishaps: 1,
            consent: Consent { people: &[Person::Bob], ..ASKS },
            ..BASE
        },
        2953,
        415,
    ),
    // One use, two wishes of its count; whoever carries out and whoever looks; it ends.
    (
        "glass",
        Setup {
            wishes: GLASS,
            settings: "tries=2 readings=1",
            may: "again",
            hosts: 2,
            consent: BROKEN,
            ..BASE
        },
        3852,
        917,
    ),
    // It ends while a wish waits and between attempts.
    (
        "glass ends",
        Setup {
            wishes: &[Wish { replicas: 5, words: "bob glass0" }],
            settings: "tries=2 readings=1",
            may: "abandon unspawned",
            hosts: 2,
            ticks: 2,
            consent: Consent { glasses: &[Glass { valid: 1, ..FIVE }], ..BROKEN },
            ..BASE
        },
        8238,
        1920,
    ),
    // Two uses, and a policy that comes to refuse the glass itself.
    (
        "two uses",
        Setup {
            wishes: &[
                Wish { replicas: 5, words: "glass0" },
                Wish { replicas: 5, words: "glass0 queue" },
                Wish { replicas: 5, words: "bob glass0 queue supersede" },
            ],
            settings: "tries=1 readings=1",
            may: "",
            ticks: 0,
            looks: 0,
            consent: Consent {
                people: &[Person::Cid],
                glasses: &[Glass { uses: 2, ..FIVE }],
                policies: &["*:scale_up *:propose", "*:scale_up *:propose ann:break_glass"],
                ..BROKEN
            },
            ..BASE
        },
        1122,
        345,
    ),
    // A wish of another count than was permitted, and of somebody else.
    (
        "other count",
        Setup {
            wishes: OTHER,
            settings: "tries=1 readings=1",
            may: "recreate",
            consent: Consent { glasses: &[Glass { uses: 2, ..FIVE }], ..BROKEN },
            ..BASE
        },
        430,
        215,
    ),
    // What is unknown is ended by a person's word under a broken glass.
    (
        "word",
        Setup {
            wishes: ONE,
            settings: "tries=1 readings=1 on_unknown=halt",
            may: "word",
            quiet: 0,
            mishaps: 1,
            consent: Consent {
                people: &[Person::Bob],
                glasses: &[Glass { valid: 1, ..FIVE }],
                policies: &["ann:scale_up ann:settle bob:settle"],
                ..BROKEN
            },
            ..BASE
        },
        1086,
        195,
    ),
    // The upper bound is raised under one.
    (
        "raised",
        Setup {
            wishes: RAISED,
            settings: "tries=1 readings=1",
            may: "raise",
            ticks: 2,
            consent: Consent {
                glasses: &[Glass { replicas: 12, valid: 1, raises: true, ..FIVE }],
                policies: &["*:scale_up *:propose *:register"],
                ..BROKEN
            },
            ..BASE
        },
        698,
        234,
    ),
];

/// How often each is met, as in the worlds of one person; of questions and authorizations, too.
pub(super) const PINS: Pins = Pins {
    phases: &[
        "accepted 384 approval: denied 146 approval: ended 578 approval: expired 6",
        "approval: granted 640 approval: pending 58 approval: used 743 failed 202 failed! 5",
        "glass: it has expired 357 glass: it was taken back 2122",
        "glass: it was used as often as it may be 609 glass: new 83 glass: used, and open 82",
        "proposed 64 recovery_pending(unknown) 486 recovery_pending(unknown)! 12 rejected 146",
        "started 639 started! 15 succeeded 928 superseded 958 superseded(unconfirmed) 244",
        "verified(converged) 2219 verified(failed) 1286 verified(failed)! 43",
        "verified(simulated) 25 withdrawn 58",
    ],
    codes: &[
        "approval_expired 100 approval_moved 20 approval_required 93 authorization_open 434",
        "count_unknown 20 denied 45 fence_expired 3 held 2 in_flight 2545 in_progress 975",
        "it has expired 255 it is for another count 68 it is for another target 31",
        "it was taken back 1347 it was used as often as it may be 276 live_key 100",
        "out_of_bounds 22 outcome_unknown 1524 quiet_time 476 reading_missing 63 same_person 66",
        "same_reviewer 4963 simulated_key 23 stale_unit_revision 58 target_changed 36",
        "there is no such authorization that is open 4414 wrong_state 8382",
    ],
    replies: &["done 15133 replayed 26047 stale_reading 85 unchanged 9750"],
};
