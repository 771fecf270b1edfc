//! What a model is made of: the settings of the service, who may do what, and how often.

use super::people::Consent;

/// One wish that the operator may put. Its key is its letter.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wish {
    pub(super) replicas: u8,
    /// `queue`, `supersede`, `dry`, `bob` for another actor, `high` and `low` for fences of the
    /// writer's own, `asks` for one that may wait for a colleague, `glass0` for a broken glass.
    pub(super) words: &'static str,
}

/// One model. A tick is 150 s: half of what clocks may be apart.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setup {
    /// Words for the registration and the actuator, as the rules have them.
    pub(super) settings: &'static str,
    pub(super) wishes: &'static [Wish],
    /// `withdraw`, `abandon`, `simulate`, `settle`, `lie`, `leases`, `slow`, `partial`, `terminal`,
    /// `unspawned`, `mistakes`, `outsider`, `torn`, `rivals`; and those of `deeds.rs`.
    pub(super) may: &'static str,
    pub(super) hosts: u8,
    pub(super) ticks: i8,
    /// How often the wall clock steps by a tick, either way.
    pub(super) steps: u8,
    /// How many processes die and answers are lost.
    pub(super) mishaps: u8,
    /// How many readings are recorded.
    pub(super) looks: u8,
    pub(super) timeout: i8,
    pub(super) quiet: i8,
    /// How long a fence lives.
    pub(super) valid: u64,
    pub(super) lookup: bool,
    pub(super) fence: bool,
    pub(super) consent: Consent,
}

impl Setup {
    /// One host, one wish, three ticks, one mishap.
    pub(super) const BASE: Self = Self {
        settings: "",
        wishes: &[Wish { replicas: 5, words: "" }],
        may: "",
        hosts: 1,
        ticks: 3,
        steps: 0,
        mishaps: 1,
        looks: 3,
        timeout: 1,
        quiet: 1,
        valid: 24,
        lookup: false,
        fence: false,
        consent: Consent::NONE,
    };

    pub(super) fn may(&self, word: &str) -> bool {
        self.may.split_whitespace().any(|known| known == word)
    }

    /// Whether several persons live in it.
    pub(super) fn has_people(&self) -> bool {
        !self.consent.people.is_empty()
    }

    /// The controller on a host; the writer, unless the hosts are rivals.
    pub(super) fn controller(&self, host: u8) -> &'static str {
        if self.may("rivals") && host == 1 { "rival" } else { "writer" }
    }

    pub(super) fn key(wish: u8) -> String {
        char::from(b'a' + wish).to_string()
    }

    pub(super) fn has(&self, word: &str) -> bool {
        self.settings.split_whitespace().any(|known| known == word)
    }
}

const BASE: Setup = Setup::BASE;

/// The second waits behind the first.
const QUEUE: &[Wish] = &[Wish { replicas: 5, words: "" }, Wish { replicas: 6, words: "queue" }];

const OTHERS: &[Wish] = &[
    Wish { replicas: 5, words: "" },
    Wish { replicas: 6, words: "bob" },
    Wish { replicas: 7, words: "bob queue supersede" },
];

/// The second comes with a fence that is over.
const FENCED: &[Wish] =
    &[Wish { replicas: 5, words: "high" }, Wish { replicas: 6, words: "low queue" }];

const DRY: &[Wish] = &[Wish { replicas: 5, words: "" }, Wish { replicas: 6, words: "dry" }];

/// Name, setup, and how many states there are: of the model, and of the service.
pub(super) const MODELS: &[(&str, Setup, usize, usize)] = &[
    // One host: answers, retries, three readings, backoff.
    (
        "retries",
        Setup {
            settings: "tries=2 readings=3 backoff=150s",
            may: "terminal abandon unspawned",
            looks: 4,
            ..BASE
        },
        16_695,
        504,
    ),
    // A second wish waits behind the first.
    (
        "queue",
        Setup {
            wishes: QUEUE,
            settings: "tries=2 readings=1",
            may: "withdraw",
            ticks: 1,
            looks: 1,
            ..BASE
        },
        22_198,
        4062,
    ),
    // Wishes of two people, one of which may end the other's.
    (
        "others",
        Setup {
            wishes: OTHERS,
            settings: "tries=1",
            may: "withdraw",
            ticks: 1,
            looks: 1,
            mishaps: 0,
            ..BASE
        },
        5924,
        1631,
    ),
    // Two hosts, readings that take their time, effects in part, a target that can be fenced.
    (
        "fence",
        Setup {
            settings: "tries=2",
            may: "slow partial",
            hosts: 2,
            ticks: 1,
            looks: 1,
            fence: true,
            ..BASE
        },
        77_362,
        356,
    ),
    // Two hosts and an actuator that can be asked, also about calls that still run.
    (
        "lookup",
        Setup {
            settings: "tries=2",
            may: "partial",
            hosts: 2,
            ticks: 2,
            looks: 1,
            lookup: true,
            ..BASE
        },
        42_315,
        960,
    ),
    // Somebody else changes the count back, with and without a fence.
    (
        "outsider",
        Setup {
            settings: "tries=2 match=version",
            may: "outsider partial",
            ticks: 2,
            looks: 1,
            ..BASE
        },
        15_183,
        903,
    ),
    (
        "outsider fence",
        Setup {
            settings: "tries=2 match=version",
            may: "outsider partial",
            ticks: 1,
            looks: 1,
            fence: true,
            ..BASE
        },
        7229,
        569,
    ),
    // The same with one attempt: what is over says what it has left.
    (
        "last try",
        Setup {
            settings: "tries=1 match=version",
            may: "outsider partial",
            ticks: 1,
            looks: 1,
            ..BASE
        },
        551,
        55,
    ),
    // The same key again while nobody knows what became of it.
    (
        "same key",
        Setup {
            settings: "tries=2 on_unknown=retry_same_key dedupes",
            may: "partial unspawned",
            ticks: 2,
            looks: 1,
            mishaps: 2,
            ..BASE
        },
        14_529,
        537,
    ),
    // The same, where nobody can read and nothing comes late.
    (
        "blind",
        Setup {
            settings: "tries=2 readings=1 blind on_unknown=retry_same_key dedupes",
            quiet: 0,
            mishaps: 2,
            ..BASE
        },
        11_745,
        605,
    ),
    // Nobody can read, and nothing is repeated: a person says what happened.
    ("unread", Setup { settings: "tries=2 readings=1 blind", may: "settle", ..BASE }, 9587, 496),
    // Everything unknown is left to a person, who tells the truth.
    (
        "person",
        Setup { settings: "tries=2 on_unknown=halt", may: "settle", looks: 2, ..BASE },
        11_850,
        496,
    ),
    // A process sleeps over its lease and its settlement by a person who does not tell the truth.
    (
        "lie",
        Setup {
            settings: "tries=1 on_unknown=halt",
            may: "settle lie",
            hosts: 2,
            ticks: 4,
            looks: 0,
            mishaps: 0,
            ..BASE
        },
        1652,
        195,
    ),
    // The same on two hosts, where readings settle.
    (
        "elsewhere",
        Setup { settings: "tries=2", hosts: 2, ticks: 4, looks: 1, mishaps: 0, ..BASE },
        21_111,
        863,
    ),
    // A result that comes when the same key has been called again from elsewhere.
    (
        "overtaken",
        Setup {
            settings: "tries=2 on_unknown=retry_same_key dedupes",
            hosts: 2,
            ticks: 4,
            looks: 0,
            mishaps: 0,
            ..BASE
        },
        11_248,
        610,
    ),
    // Leases by hand, and a fence that ends.
    (
        "leases",
        Setup {
            settings: "tries=2",
            may: "leases",
            hosts: 2,
            ticks: 2,
            looks: 1,
            valid: 2,
            mishaps: 0,
            ..BASE
        },
        11_025,
        290,
    ),
    // The wall clock steps both ways, a fence ends, old premises and used keys are tried.
    (
        "mistakes",
        Setup {
            settings: "tries=2",
            may: "mistakes",
            steps: 2,
            ticks: 2,
            looks: 1,
            valid: 3,
            mishaps: 0,
            ..BASE
        },
        23_733,
        419,
    ),
    // Both kinds of simulation, and a cooldown.
    (
        "dry",
        Setup {
            wishes: DRY,
            settings: "tries=1 cooldown=150s",
            may: "simulate abandon",
            ticks: 2,
            looks: 1,
            ..BASE
        },
        4802,
        569,
    ),
    // Two hosts, a clock that steps both ways, and a mishap.
    (
        "steps",
        Setup { settings: "tries=2", hosts: 2, steps: 2, ticks: 1, looks: 1, ..BASE },
        102_752,
        543,
    ),
    // A target that can be fenced, and one that can be asked; a process may die between
    // the look, the fence and its record, and between the answer and its record.
    (
        "torn fence",
        Setup {
            settings: "tries=2",
            may: "torn",
            hosts: 2,
            ticks: 1,
            looks: 1,
            fence: true,
            ..BASE
        },
        38_444,
        250,
    ),
    (
        "torn lookup",
        Setup {
            settings: "tries=2",
            may: "torn",
            hosts: 2,
            steps: 1,
            ticks: 1,
            looks: 1,
            mishaps: 2,
            lookup: true,
            ..BASE
        },
        285_028,
        818,
    ),
    // A backoff and a fence that end while clocks step.
    (
        "steps retries",
        Setup {
            settings: "tries=2 backoff=150s",
            may: "unspawned simulate",
            steps: 2,
            ticks: 2,
            looks: 1,
            valid: 3,
            ..BASE
        },
        54_549,
        497,
    ),
    // Two controllers, one of which is the writer at a time, and fences of their own.
    (
        "rivals",
        Setup {
            wishes: FENCED,
            settings: "tries=2",
            may: "leases rivals",
            hosts: 2,
            ticks: 1,
            looks: 1,
            mishaps: 0,
            ..BASE
        },
        1180,
        273,
    ),
];
