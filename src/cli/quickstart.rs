//! `quickstart`: the first five minutes, on a ledger of its own.
pub(super) const NOUN: super::noun::Noun = super::noun::Noun {
    name: "quickstart",
    group: "About",
    about: "x",
    augment: |c| c,
    run: |_, _, _| Ok(super::output::Answer::ok()),
    hidden: false,
};
