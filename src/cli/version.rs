//! `version`: which scalectl this is.

use clap::{ArgMatches, Command};

use super::app::App;
use super::noun::{Noun, Outcome};
use super::output::{Answer, Out};
use crate::actuator::protocol::PROTOCOL;

pub(super) const NOUN: Noun = Noun {
    name: "version",
    group: "About",
    about: "Which scalectl this is",
    augment: |command: Command| command,
    run,
    hidden: false,
};

#[expect(clippy::unnecessary_wraps, reason = "the form of every verb")]
fn run(_matches: &ArgMatches, _app: &mut App, _out: &mut Out) -> Outcome {
    let version = env!("CARGO_PKG_VERSION");
    Ok(Answer::ok()
        .noun(
            "version",
            &serde_json::json!({
                "scalectl": version,
                "actuator_protocol": PROTOCOL,
                "contract": "1",
            }),
        )
        .name(version)
        .line(format!("scalectl {version}  ({PROTOCOL})")))
}
