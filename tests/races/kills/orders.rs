//! What a round is told to do: a command, what the actuator does in it, who dies.

/// SplitMix64: a run's orders follow from its seed.
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % bound
    }

    pub(super) fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        let count = u64::try_from(all.len()).expect("a few");
        all[usize::try_from(self.below(count)).expect("a few")]
    }
}

/// Who is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Victim {
    Command,
    Guard,
    Actuator,
    /// The command and, in the same moment, its guard.
    Both,
}

const VERBS: &[&str] = &[
    "put", "again", "scale", "scale", "actuate", "actuate", "actuate", "observe", "replay",
    "lease", "settle", "settle", "withdraw", "withdraw", "service", "service", "policy", "policy",
];
/// What the actuator does in the call that may be killed, in the words of its script.
const SCRIPT: &[&str] =
    &["ok", "ok", "late 0.05", "late 0.1", "fail retryable busy", "unknown", "hang"];
/// The same where a child is killed, which must be there for a while.
const LONG_SCRIPT: &[&str] = &["late 0.05", "late 0.1", "hang", "hang"];
const VICTIMS: &[Victim] = &[
    Victim::Command,
    Victim::Command,
    Victim::Command,
    Victim::Guard,
    Victim::Actuator,
    Victim::Both,
];
/// Those that make calls: only these have a guard.
pub(super) const CALLERS: &[&str] = &["scale", "actuate", "replay"];

/// What a round is told to do.
pub(super) struct Order {
    pub(super) verb: &'static str,
    pub(super) script: &'static str,
    pub(super) victim: Victim,
}

pub(super) fn order(dice: &mut Dice) -> Order {
    let verb = dice.one_of(VERBS);
    let mut victim = dice.one_of(VICTIMS);
    if !CALLERS.contains(&verb) {
        victim = Victim::Command;
    }
    let is_long = victim != Victim::Command;
    let script = dice.one_of(if is_long { LONG_SCRIPT } else { SCRIPT });
    Order { verb, script, victim }
}
