//! The worlds of what is laid upon a service: a hold, a quorum that is asked for, acts that are
//! signed; and what is known of each when a command is given.

use scalectl::domain::digest::Digest;
use scalectl::domain::id::{AuthorizationId, ExecutionKey, LedgerId};
use scalectl::domain::scale::command::Authorize;
use scalectl::domain::scale::observation::Evidence;
use scalectl::domain::scale::provenance::Signer;
use scalectl::domain::scale::result::Detail;
use scalectl::domain::scale::signed::{SignedAct, Signing};
use scalectl::domain::scale::state::ServiceState;

use super::Pins;
use super::deeds::why;
use super::orders::{Look, at};
use super::people::{ASKS, BASE, BROKEN, Consent, FIVE, Glass, ONE, Person};
use super::setup::{Setup, Wish};
use crate::rules::support::{count, id};

/// How an act is signed. That a signature is one is seen before the rules are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Sign {
    /// Not at all.
    Nothing,
    /// With the person's own key.
    Own,
    /// With Ann's key, whoever it is.
    Anns,
    /// With their own, and what was signed is another act.
    Other,
    /// With their own, under a list of signers that was replaced meanwhile.
    Old,
}

impl Sign {
    /// The key that was seen.
    pub(super) fn key_of(self, person: Person) -> Option<Signer> {
        let owner = match self {
            Self::Nothing => return None,
            Self::Anns => Person::Ann.user(),
            Self::Own | Self::Other | Self::Old => person.user(),
        };
        Some(Signer {
            principal: owner.to_owned(),
            fingerprint: format!("SHA256:{owner}"),
            signature: "a signature".to_owned(),
        })
    }
}

/// What is known of the safety of a reduction where it is to start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Proof {
    /// Nothing.
    Nothing,
    /// It is drained, and a quorum survives.
    Safe,
    /// It is drained, and none survives.
    Unsafe,
    /// It is drained, and nothing is said of a quorum.
    Silent,
    /// It was safe a tick ago.
    Old,
    /// Another count would be safe.
    Other,
    /// Nothing, and a person vouches for what is not drained.
    Word,
}

impl Proof {
    pub(super) fn evidence(self, look: Look, desired: u8) -> Option<Evidence> {
        let quorum_safe = match self {
            Self::Nothing | Self::Word => return None,
            Self::Safe | Self::Old | Self::Other => Some(true),
            Self::Unsafe => Some(false),
            Self::Silent => None,
        };
        let remaining = u64::from(desired) + u64::from(self == Self::Other);
        Some(Evidence {
            drained: true,
            stabilized: true,
            resource_version: id(&format!("v{}", look.version)),
            observed_replicas: count(look.replicas.into()),
            remaining_replicas: count(remaining),
            quorum_safe,
            read_at: at(look.began - i8::from(self == Self::Old)),
        })
    }
}

fn ledger() -> LedgerId {
    id("ledger-1")
}

/// What is known of the signature of an act with that content.
fn signing(setup: &Setup, sign: Sign, content: String, other: String) -> Signing {
    let list = Digest::of(b"the signers");
    let signed = match sign {
        Sign::Nothing => None,
        Sign::Own | Sign::Anns => Some((content, list)),
        Sign::Other => Some((other, list)),
        Sign::Old => Some((content, Digest::of(b"the signers of before"))),
    };
    Signing { signed, list: Some(list), is_required: setup.may("signed") }
}

/// Of an answer; the other act is the other answer.
pub(super) fn of_answer(
    setup: &Setup,
    state: &ServiceState,
    key: &ExecutionKey,
    grants: bool,
    sign: Sign,
) -> Signing {
    let execution = &state.executions[key];
    let content = |grants| {
        execution.asked.as_ref().map_or_else(String::new, |asked| {
            SignedAct::answer(&ledger(), execution, asked, grants, &why()).content()
        })
    };
    signing(setup, sign, content(grants), content(!grants))
}

/// Of an authorization; the other act is of one more replica.
pub(super) fn signed(setup: &Setup, state: &ServiceState, ask: Authorize, sign: Sign) -> Authorize {
    let head = &state.head;
    let registration = head.registration.as_ref().expect("a registered service");
    let uid = &head.binding.as_ref().expect("a bound service").target_uid;
    let content =
        |ask: &Authorize| SignedAct::authorize(&ledger(), ask, registration, uid).content();
    let more = count(ask.desired_replicas.get() + 1);
    let other = Authorize { desired_replicas: more, ..ask.clone() };
    let signing = signing(setup, sign, content(&ask), content(&other));
    Authorize { signing, ..ask }
}

/// Of a review; the other act found something else.
pub(super) fn of_review(
    setup: &Setup,
    state: &ServiceState,
    glass: &AuthorizationId,
    sign: Sign,
) -> Signing {
    let content = |found: &Detail| {
        state.head.authorizations.get(glass).map_or_else(String::new, |open| {
            SignedAct::review(&ledger(), &open.authorization, found).content()
        })
    };
    signing(setup, sign, content(&why()), content(&Detail::cut("another finding")))
}

const LESS: &[Wish] = &[Wish { replicas: 2, words: "" }];
const LESS_GLASS: &[Wish] = &[Wish { replicas: 2, words: "glass0" }];
const GLASS_FIRST: &[Wish] =
    &[Wish { replicas: 5, words: "glass0" }, Wish { replicas: 6, words: "queue" }];
/// Who may answer: two persons, and one of them under the name of the other.
pub(super) const ALL: &[Person] = &[Person::Ann, Person::Bob, Person::Mask];
const BOB: &[Person] = &[Person::Bob];
const ALL_SIGNS: &[Sign] = &[Sign::Nothing, Sign::Own, Sign::Anns, Sign::Other, Sign::Old];
const ALL_PROOFS: &[Proof] = &[
    Proof::Nothing,
    Proof::Safe,
    Proof::Unsafe,
    Proof::Silent,
    Proof::Old,
    Proof::Other,
    Proof::Word,
];
/// Everybody may do everything.
const FREE: Consent = Consent { people: BOB, ..Consent::NONE };

/// Name, setup, and how many states there are: of the model, and of the service.
pub(super) const GUARDED: &[(&str, Setup, usize, usize)] = &[
    // Somebody holds the count before a wish, between its put and its start, and its attempts.
    (
        "held",
        Setup { settings: "tries=2 readings=1", may: "hold", ticks: 2, consent: FREE, ..BASE },
        2752,
        582,
    ),
    // The same where a colleague must agree.
    (
        "held asked",
        Setup {
            wishes: ONE,
            settings: "tries=1 readings=1",
            may: "hold",
            consent: Consent { people: BOB, ..ASKS },
            ..BASE
        },
        236,
        69,
    ),
    // A glass is broken past a hold; a wish behind it is not carried out under one.
    (
        "held glass",
        Setup {
            wishes: GLASS_FIRST,
            settings: "tries=1 readings=1",
            may: "hold",
            consent: Consent { glasses: &[FIVE], ..FREE },
            looks: 0,
            ..BASE
        },
        6574,
        3206,
    ),
    // A reduction where a quorum is asked for, by whatever is known of it.
    (
        "quorum",
        Setup {
            wishes: LESS,
            settings: "tries=2 readings=1 quorum evidence drain=required",
            consent: Consent { proofs: ALL_PROOFS, ..FREE },
            ..BASE
        },
        194,
        46,
    ),
    // A broken glass vouches for what is not drained, and for no quorum.
    (
        "quorum glass",
        Setup {
            wishes: LESS_GLASS,
            settings: "tries=1 readings=1 quorum evidence drain=required",
            consent: Consent {
                people: BOB,
                glasses: &[Glass { replicas: 2, attests: true, ..FIVE }],
                policies: &["ann:scale_down ann:propose ann:attest"],
                proofs: ALL_PROOFS,
                ..Consent::NONE
            },
            ..BASE
        },
        298,
        104,
    ),
    // Answers where the ledger takes none without a signature.
    (
        "signed",
        Setup {
            wishes: ONE,
            settings: "tries=1 readings=1",
            may: "signed",
            consent: Consent { people: &[Person::Ann, Person::Bob], signs: ALL_SIGNS, ..ASKS },
            ..BASE
        },
        146,
        37,
    ),
    // The same where it takes them, too, and holds those that there are to what they say.
    (
        "signed at will",
        Setup {
            wishes: ONE,
            settings: "tries=1 readings=1",
            ticks: 0,
            consent: Consent { people: BOB, signs: ALL_SIGNS, ..ASKS },
            ..BASE
        },
        59,
        21,
    ),
    // Authorizations and reviews.
    (
        "signed glass",
        Setup {
            wishes: &[Wish { replicas: 5, words: "glass0" }],
            settings: "tries=1 readings=1",
            may: "signed",
            consent: Consent {
                people: BOB,
                glasses: &[Glass { valid: 1, ..FIVE }],
                signs: ALL_SIGNS,
                ..BROKEN
            },
            ..BASE
        },
        224,
        79,
    ),
];

/// How often each is met there: a call under a hold only with a broken glass, a reduction only with
/// a proof, an act that counts only as it was signed.
pub(super) const PINS: Pins = Pins {
    phases: &[
        "accepted 585 approval: denied 6 approval: ended 14 approval: expired 2",
        "approval: granted 28 approval: pending 4 approval: used 67 failed 35",
        "glass: it has expired 7 glass: it was taken back 1575",
        "glass: it was used as often as it may be 876 glass: new 115",
        "hold: a call after it 196 hold: a call under a broken glass 25 hold: in force 1356",
        "hold: over 1145 hold: set under a call 217 proposed 6",
        "quorum: a reduction that is proved 16 recovery_pending(unknown) 171 rejected 6",
        "signed: a glass 56 signed: a yes 46 started 708 succeeded 875 superseded 311",
        "superseded(unconfirmed) 768 verified(converged) 2107 verified(failed) 1473",
    ],
    codes: &[
        "approval_expired 33 approval_required 4 authorization_open 147 count_unknown 4",
        "evidence_missing 120 in_flight 175 it has expired 2 it was taken back 44 on_hold 270",
        "outcome_unknown 414 quiet_time 78 same_person 4 same_reviewer 56 signature_missing 62",
        "signature_refused 128 there is no such authorization that is open 1935 waits_behind 54",
        "wrong_state 1347",
    ],
    replies: &["done 10347 replayed 11579 unchanged 3232"],
};
