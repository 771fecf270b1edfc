//! `complete`: what a completion script asks while a line is typed: services, keys, actuators.
//!
//! Answers names and nothing else, also where something is wrong: a shell that completes has no
//! place for a problem. Reads the ledger that the line names, and waits for nobody.

use clap::{Arg, ArgMatches, Args, Command, FromArgMatches as _};

use super::app::{App, Globals};
use super::noun::{Noun, Outcome};
use super::output::{Answer, Out};
use super::{Fault, whole_command};
use crate::domain::time::DurationMs;
use crate::ledger::ExecutionFilter;

pub(super) const NOUN: Noun = Noun {
    name: "complete",
    group: "About",
    about: "Print the names that may go on with a line: for the completions of shells",
    augment: CompleteArgs::augment_args,
    run,
    hidden: true,
};

#[derive(Args)]
struct CompleteArgs {
    /// The words of the line without the program, the last one as far as it is typed
    #[arg(last = true)]
    words: Vec<String>,
}

/// How many of the newest keys are offered.
const KEYS_MAX: usize = 50;
/// How long a ledger is waited for: somebody looks at the cursor meanwhile.
const WAIT: DurationMs = DurationMs::from_millis(1500);

/// What names stand in a place of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A service; `is_wish` where a count follows.
    Service { is_wish: bool },
    /// The key of a wish.
    Key,
    /// A registered actuator.
    Actuator,
}

/// A place in a line that names complete.
#[derive(Debug, PartialEq, Eq)]
struct Place {
    kind: Kind,
    begun: String,
    ledger: Option<String>,
}

fn run(matches: &ArgMatches, app: &mut App, out: &mut Out) -> Outcome {
    let args = CompleteArgs::from_arg_matches(matches).map_err(super::parse_fault)?;
    if let Some(place) = place_of(&args.words) {
        let ledger = place.ledger.clone().or_else(|| app.globals.ledger.clone());
        let globals = Globals { ledger, lock_timeout: WAIT, ..app.globals.clone() };
        let mut sub = App::new(globals, app.environment.clone(), app.verb.clone(), Vec::new());
        sub.waits_at_most(WAIT);
        let names = names(place.kind, &mut sub).unwrap_or_default();
        let mut fitting: Vec<String> =
            names.into_iter().filter(|name| name.starts_with(&place.begun)).collect();
        fitting.sort();
        fitting.dedup();
        out.data(&fitting.iter().flat_map(|name| [name, "\n"]).collect::<String>());
    }
    Ok(Answer::ok().streamed())
}

fn names(kind: Kind, app: &mut App) -> Result<Vec<String>, Fault> {
    let session = app.session()?;
    Ok(match kind {
        Kind::Service { is_wish } => {
            let end = if is_wish { "=" } else { "" };
            session.service_names()?.iter().map(|name| format!("{name}{end}")).collect()
        }
        Kind::Actuator => {
            session.actuators()?.iter().map(|actuator| actuator.name.to_string()).collect()
        }
        Kind::Key => {
            let filter = ExecutionFilter { limit: Some(KEYS_MAX), ..ExecutionFilter::default() };
            let wishes = session.wishes(&filter)?;
            let both = wishes.iter().flat_map(|wish| {
                let numbered = format!("{}@{}", wish.intent.service, wish.revision());
                [wish.key().to_string(), numbered]
            });
            both.collect()
        }
    })
}

/// The place of the last word; none where no name of ours stands there.
fn place_of(words: &[String]) -> Option<Place> {
    let (begun, before) = words.split_last()?;
    let root = whole_command();
    let mut walk = Walk { root: &root, at: &root, path: Vec::new(), taken: 0, open: None };
    let (mut ledger, mut is_undo, mut is_plain) = (None, false, false);
    for word in before {
        // bash takes --key=k apart.
        if word == "=" {
            continue;
        }
        if let Some(option) = walk.open.take() {
            if option.get_long() == Some("ledger") {
                ledger = Some(word.clone());
            }
        } else if word == "--" {
            is_plain = true;
        } else if word.starts_with('-') && word.len() > 1 && !is_plain {
            is_undo |= word == "--undo";
            walk.open = walk.option(word);
            if let Some(named) = word.strip_prefix("--ledger=") {
                ledger = Some(named.to_owned());
            }
        } else {
            walk.word(word);
        }
    }
    let (kind, begun) = match (walk.open.take(), begun.split_once('=')) {
        (Some(option), _) => (kind_of(&walk.path, option)?, begun.trim_start_matches('=')),
        (None, Some((option, begun))) if option.starts_with("--") => {
            let option = walk.named(option)?;
            (kind_of(&walk.path, option)?, begun)
        }
        (None, _) if begun.starts_with('-') && !is_plain => return None,
        (None, _) => (kind_of(&walk.path, walk.positional()?)?, begun.as_str()),
    };
    let kind = match kind {
        Kind::Service { is_wish } => Kind::Service { is_wish: is_wish && !is_undo },
        other => other,
    };
    Some(Place { kind, begun: begun.to_owned(), ledger })
}

/// Where a line has come to.
struct Walk<'c> {
    root: &'c Command,
    at: &'c Command,
    path: Vec<&'c str>,
    /// How many words without a flag there were since the command.
    taken: usize,
    /// The option that waits for its value.
    open: Option<&'c Arg>,
}

impl<'c> Walk<'c> {
    fn word(&mut self, word: &str) {
        match self.at.find_subcommand(word).filter(|_| self.taken == 0) {
            Some(below) => {
                self.at = below;
                self.path.push(below.get_name());
            }
            None => self.taken += 1,
        }
    }

    /// The option of a word that is one, without its value.
    fn named(&self, word: &str) -> Option<&'c Arg> {
        let mut all = self.at.get_arguments().chain(self.root.get_arguments());
        if let Some(long) = word.strip_prefix("--") {
            return all.find(|arg| arg.get_long() == Some(long));
        }
        let short = word.chars().nth(1)?;
        all.find(|arg| arg.get_short() == Some(short))
    }

    /// The option whose value is the next word; none where it takes none, or has it.
    fn option(&self, word: &str) -> Option<&'c Arg> {
        let is_short_with_value = !word.starts_with("--") && word.len() > 2;
        let arg = self.named(word).filter(|_| !word.contains('=') && !is_short_with_value)?;
        (arg.get_action().takes_values() && !arg.is_require_equals_set()).then_some(arg)
    }

    /// The argument of the next word without a flag.
    fn positional(&self) -> Option<&'c Arg> {
        let mut all = self.at.get_positionals();
        let last = self.at.get_positionals().last();
        let is_many = |arg: &&Arg| matches!(arg.get_action(), clap::ArgAction::Append);
        all.nth(self.taken).or_else(|| last.filter(is_many))
    }
}

/// What stands in an argument: by the word that the help has for it.
fn kind_of(path: &[&str], arg: &Arg) -> Option<Kind> {
    let word = arg.get_value_names().and_then(|names| names.first());
    let word = word.map_or(arg.get_id().as_str(), |name| name.as_str());
    let noun = path.first().copied().unwrap_or_default();
    match word {
        "KEY" | "APPROVAL|KEY" | "KEY|NAME=N" => Some(Kind::Key),
        "NAME=N" => Some(Kind::Service { is_wish: true }),
        "SERVICE" | "SERVICES" | "SERVICE[=N]" => Some(Kind::Service { is_wish: false }),
        "ACTUATOR" => Some(Kind::Actuator),
        "NAME" if arg.get_long() == Some("actuator") => Some(Kind::Actuator),
        "NAME" if arg.get_long().is_none() => match noun {
            "actuator" => Some(Kind::Actuator),
            "service" | "hold" | "override" | "adopt" => Some(Kind::Service { is_wish: false }),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_found_by_the_words_before_it() {
        const SERVICE: Option<Kind> = Some(Kind::Service { is_wish: false });
        const WISH: Option<Kind> = Some(Kind::Service { is_wish: true });
        let (key, actuator) = (Some(Kind::Key), Some(Kind::Actuator));
        for (line, kind, begun) in [
            ("status ", SERVICE, ""),
            ("status web a", SERVICE, "a"),
            ("gate w", SERVICE, "w"),
            ("scale w", WISH, "w"),
            ("scale web=3 a", WISH, "a"),
            ("scale --undo w", SERVICE, "w"),
            ("scale w --undo", None, ""),
            ("scale web=3 --key k", key, "k"),
            ("scale web=3 --key=k", key, "k"),
            ("scale web=3 --key = k", key, "k"),
            ("scale web=3 --key =", key, ""),
            ("scale web=3 --reason x", None, ""),
            ("scale --wait w", WISH, "w"),
            ("-o json explain w", key, "w"),
            ("intent show ", key, ""),
            ("intent put w", SERVICE, "w"),
            ("intent sh", None, ""),
            ("actuator show p", actuator, "p"),
            ("actuator put p", actuator, "p"),
            ("service put web --actuator p", actuator, "p"),
            ("service put w", SERVICE, "w"),
            ("service discover ", actuator, ""),
            ("hold set --until 2h w", SERVICE, "w"),
            ("approval grant a", key, "a"),
            ("policy template ", None, ""),
            ("service put web --writer w", None, ""),
            ("sta", None, ""),
            ("", None, ""),
        ] {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let found = place_of(&words);
            let found = found.as_ref().map(|place| (place.kind, place.begun.as_str()));
            assert_eq!(found, kind.map(|kind| (kind, begun)), "{line}");
        }
        let words = ["--ledger", "prod", "status", ""].map(str::to_owned);
        assert_eq!(place_of(&words).and_then(|place| place.ledger).as_deref(), Some("prod"));
    }
}
