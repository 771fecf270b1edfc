//! What is fuzzed: every reader of texts that another program wrote, with what must hold of it.
//!
//! A target takes any bytes, panics if a property does not hold, and answers whether the reader
//! took them: a run in which nothing was taken has shown nothing. Two drivers share them: the
//! bounded run of `tests/fuzz.rs` and the coverage-guided one of `fuzz/`.

mod answers;
mod documents;
mod files;
mod json;
mod stored;
mod texts;

pub use stored::sound_policy;

/// Takes bytes, and answers whether the reader accepted them.
pub type Target = fn(&[u8]) -> bool;

/// Every target by its name.
pub const ALL: [(&str, Target); 17] = [
    ("strict_json", documents::strict_json),
    ("intent_record", documents::intent_record),
    ("actuator_request", documents::actuator_request),
    ("answer_apply", answers::apply),
    ("answer_describe", answers::describe),
    ("answer_inspect", answers::inspect),
    ("answer_lookup", answers::lookup),
    ("answer_fence", answers::fence),
    ("answer_evidence", answers::evidence),
    ("events", stored::events),
    ("fold", stored::fold),
    ("policy", stored::policy),
    ("stored_policy", stored::stored_policy),
    ("texts", texts::texts),
    ("actuators_toml", files::actuators_toml),
    ("call_file", files::call_file),
    ("local_state", files::local_state),
];

/// The target of a name.
///
/// # Panics
/// Where there is none.
#[must_use]
#[cfg_attr(test, expect(dead_code, reason = "only the coverage-guided driver runs one target"))]
pub fn named(name: &str) -> Target {
    ALL.iter().find(|(it, _)| *it == name).expect("a target of that name").1
}
