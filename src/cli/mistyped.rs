//! What was probably meant, where a word is not one: the nearest name, the line in its right form.
//!
//! Only suggests. What it suggests is a line that can be typed as it stands.

use std::ffi::OsString;

use super::app::App;
use super::problem::Problem;
use super::{NOUNS, first_word, habits};
use crate::domain::id::{ExecutionKey, ServiceName};
use crate::domain::near::nearest;
use crate::ledger::ExecutionFilter;

/// A wrong line with the line that helps: its right form where that can be told, else the help of
/// its verb.
pub(super) fn said(problem: Problem, args: &[OsString]) -> Problem {
    let words: Vec<String> = args.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let Some(at) = first_word(args) else {
        return problem
            .hint("the commands are listed by")
            .run(vec!["scalectl".into(), "help".into()]);
    };
    let Some(noun) = NOUNS.iter().find(|noun| noun.name == words[at]) else {
        if let Some((hint, line)) = habits::of_word(&words, at) {
            return instead(problem, hint, line);
        }
        let names = NOUNS.iter().filter(|noun| !noun.hidden).map(|noun| noun.name);
        let problem = match nearest(&words[at], names) {
            // The nearest alone: a list in another order would be read as one.
            Some(near) => {
                let facts = problem.facts.into_iter().filter(|(label, _)| label != "tip").collect();
                Problem { facts, ..problem }.fact("did you mean", near)
            }
            None => problem,
        };
        return problem
            .hint("the commands are listed by")
            .run(vec!["scalectl".into(), "help".into()]);
    };
    if let Some(line) = form_of(&words, at) {
        return instead(problem, "it is written like this", line);
    }
    let command = noun.command();
    let is_verb = |word: &String| command.find_subcommand(word).is_some();
    if command.has_subcommands()
        && !words.get(at + 1).is_some_and(is_verb)
        && let Some((hint, line)) = habits::of_verb(&words, at)
    {
        return instead(problem, hint, line);
    }
    let verb = words[at + 1..].iter().find(|word| command.find_subcommand(word).is_some());
    let of_lease = ["renew", "release"].map(Some).contains(&verb.map(String::as_str));
    if noun.name == "lease" && of_lease && problem.message.contains("--lease") {
        let key = words.last().filter(|word| !word.starts_with('-') && Some(*word) != verb);
        let key = key.map_or("KEY", String::as_str);
        let line = ["scalectl", "lease", "show", key].map(str::to_owned);
        return problem.hint("the id of a lease was its answer, and is shown by").run(line.into());
    }
    let mut line = vec!["scalectl".to_owned(), noun.name.to_owned()];
    line.extend(verb.cloned());
    line.push("--help".to_owned());
    problem.hint("every flag is shown by").run(line)
}

/// A line that says what was meant, instead of a guess at a word.
fn instead(problem: Problem, hint: impl Into<String>, line: Vec<String>) -> Problem {
    let facts = problem.facts.into_iter().filter(|(label, _)| label != "tip").collect();
    Problem { facts, ..problem }.hint(hint).run(line)
}

/// The line in its right form, where that can be told.
pub(super) fn in_right_form(line: &[String]) -> Option<Vec<String>> {
    let words: Vec<OsString> = line.iter().map(OsString::from).collect();
    form_of(line, first_word(&words)?)
}

/// `scale web 2` as `scale web=2`, and `intent put web=3` as `intent put web --replicas 3`.
fn form_of(words: &[String], noun: usize) -> Option<Vec<String>> {
    let is_number = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    let mut line = words.to_vec();
    "scalectl".clone_into(line.first_mut()?);
    let is_name = |word: &str| word.parse::<ServiceName>().is_ok() && !word.starts_with('-');
    match words[noun].as_str() {
        "scale" | "plan" => {
            if let Some(line) = habits::of_scale(words, noun) {
                return Some(line);
            }
            if let Some(line) = habits::of_plan(words, noun) {
                return Some(line);
            }
            let [name, count] = words.get(noun + 1..noun + 3)? else { return None };
            (is_name(name) && is_number(count)).then_some(())?;
            line[noun + 1] = format!("{name}={count}");
            line.remove(noun + 2);
        }
        "hold" | "override" if words.get(noun + 1)? == "set" => {
            let place =
                words.iter().position(|word| word == "--for" || word.starts_with("--for="))?;
            line[place] = line[place].replacen("--for", "--until", 1);
        }
        "intent" if words.get(noun + 1)? == "put" => {
            let (name, count) = words.get(noun + 2)?.split_once('=')?;
            (is_name(name) && is_number(count)).then_some(())?;
            let right = [name, "--replicas", count].map(str::to_owned);
            line.splice(noun + 2..noun + 3, right);
        }
        _ => return None,
    }
    Some(line)
}

/// How many of the newest keys are looked at for the one that was probably meant.
const KEYS_MAX: usize = 200;
/// How many keys of one line are named.
const PARTS_MAX: usize = 3;

impl App {
    /// The newest keys of the ledger; none where it cannot be read.
    fn newest_keys(&mut self) -> Vec<ExecutionKey> {
        let newest = ExecutionFilter { limit: Some(KEYS_MAX), ..ExecutionFilter::default() };
        let found = self.session().ok().and_then(|session| session.wishes(&newest).ok());
        found.unwrap_or_default().iter().map(|execution| execution.key().clone()).collect()
    }

    /// A problem about a name that is not there, with the name or the key that was probably meant.
    pub(super) fn meant(&mut self, problem: Problem) -> Problem {
        let word = match problem.code.as_str() {
            "service_not_found" | "key_not_found" => problem.subject.clone(),
            _ => None,
        };
        let (Some(word), true) = (word, self.opened().is_some()) else {
            return problem;
        };
        let heads = self.session().ok().and_then(|session| session.heads().ok());
        let heads = heads.unwrap_or_default();
        let names: Vec<&str> = heads.iter().map(|(name, _)| name.as_str()).collect();
        if problem.code == "service_not_found" {
            return match nearest(&word, names) {
                Some(name) => problem.fact("did you mean", name),
                None => problem,
            };
        }
        if names.contains(&word.as_str()) {
            let newest = format!("{word}@latest");
            let line = self.line.iter().map(|own| if *own == word { &newest } else { own });
            let line: Vec<String> = line.cloned().collect();
            return Problem { next: vec![line], ..problem }
                .hint(format!("{word} is a service; its newest wish is meant by"));
        }
        let keys = self.newest_keys();
        // The key of a line with several wishes is the begin of the key of each.
        let begin = format!("{word}.");
        let keys = keys.iter().map(ExecutionKey::as_str);
        let mut parts: Vec<&str> = keys.clone().filter(|key| key.starts_with(&begin)).collect();
        parts.sort_unstable();
        parts.truncate(PARTS_MAX);
        let problem = match nearest(&word, keys.chain(names)) {
            _ if !parts.is_empty() => problem.fact("did you mean", parts.join(", ")),
            Some(name) => problem.fact("did you mean", name),
            None => problem,
        };
        if self.verb.first().is_some_and(|verb| verb == "approval") {
            let all = self.problem_context().command(&["approval", "list", "--all"]);
            return Problem { next: vec![all], ..problem }
                .hint("fix the name or the ledger; what was ever asked is listed by");
        }
        problem
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_put_into_its_right_form() {
        for (typed, right) in [
            ("/bin/scalectl scale web 2 --reason x", Some("scalectl scale web=2 --reason x")),
            ("x -o json plan web 0", Some("scalectl -o json plan web=0")),
            ("x intent put web=3 --key k", Some("scalectl intent put web --replicas 3 --key k")),
            ("x hold set web --for 1h", Some("scalectl hold set web --until 1h")),
            ("x override set web=3 --for=1h", Some("scalectl override set web=3 --until=1h")),
            ("x plan web=1 api=2", Some("scalectl scale web=1 api=2 --dry-run")),
            ("x plan web=1 --key k api", None),
            ("x scale web two", None),
            ("x scale web", None),
            ("x intent put web=", None),
            ("x intent put", None),
            ("x log web 2", None),
        ] {
            let words: Vec<String> = typed.split(' ').map(str::to_owned).collect();
            let args: Vec<OsString> = words.iter().map(OsString::from).collect();
            let found = first_word(&args).and_then(|at| form_of(&words, at));
            assert_eq!(found.map(|line| line.join(" ")).as_deref(), right, "{typed}");
        }
    }
}
