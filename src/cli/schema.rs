//! `schema`: the shapes that machines rely on.

use clap::{ArgMatches, Args, FromArgMatches as _};

use super::app::App;
use super::noun::{Noun, Outcome};
use super::output::{Answer, Out};

pub(super) const NOUN: Noun = Noun {
    name: "schema",
    group: "About",
    about: "Print the JSON schema of a document, or the Cedar schema",
    augment: SchemaArgs::augment_args,
    run,
    hidden: false,
};

#[derive(Args)]
struct SchemaArgs {
    /// Which document
    #[arg(value_parser = ["intent", "result", "request", "answer", "registration", "signals",
        "cedar"])]
    document: Option<String>,
}

/// The documents and their schemas, as `fixtures/schemas/` holds them.
pub(super) const SCHEMAS: [(&str, &str); 6] = [
    ("intent", include_str!("../../fixtures/schemas/intent.json")),
    ("result", include_str!("../../fixtures/schemas/result.json")),
    ("request", include_str!("../../fixtures/schemas/request.json")),
    ("answer", include_str!("../../fixtures/schemas/answer.json")),
    ("registration", include_str!("../../fixtures/schemas/registration.json")),
    ("signals", include_str!("../../fixtures/schemas/signals.json")),
];

fn run(matches: &ArgMatches, _app: &mut App, out: &mut Out) -> Outcome {
    let args = SchemaArgs::from_arg_matches(matches).map_err(super::parse_fault)?;
    let Some(name) = &args.document else {
        let mut answer = Answer::ok();
        for (name, _) in SCHEMAS {
            answer = answer.name(name).line(name);
        }
        return Ok(answer.name("cedar").line("cedar"));
    };
    let text = if name == "cedar" {
        crate::policy::schema::SCHEMA
    } else {
        SCHEMAS.iter().find(|(known, _)| known == name).map_or("", |(_, text)| *text)
    };
    out.data(text);
    Ok(Answer::ok().streamed())
}
