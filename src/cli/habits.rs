//! What other tools call it: the line of ours for the words of kubectl, terraform, git and gh.
//!
//! Only suggests. Every line is one that is parsed; a word in capitals is filled in by a person.

use super::NOUNS;
use crate::domain::id::ServiceName;

/// Where a person says why.
const WHY: [&str; 2] = ["--reason", "TEXT"];

/// A hint, and the line that it introduces.
pub(super) type Suggestion = (String, Vec<String>);

/// What is meant by a line whose word at `at` is no command of ours.
pub(super) fn of_word(words: &[String], at: usize) -> Option<Suggestion> {
    let rest: Vec<&str> = words[at + 1..].iter().map(String::as_str).collect();
    let subject = subject(&rest);
    let name = subject.as_deref().unwrap_or("SERVICE");
    let key = rest.iter().copied().find(|word| !word.starts_with('-')).unwrap_or("KEY");
    let (hint, line): (&str, Vec<&str>) = match words[at].as_str() {
        "get" | "ls" | "list" => {
            let (hint, line) = listed(&rest, subject.as_deref());
            return Some((hint.to_owned(), typed(words, at, line)));
        }
        "describe" | "show" | "inspect" | "why" => match &subject {
            Some(name) => ("what is known and what to do is told by", vec!["explain", name]),
            None => ("how all services stand is told by", vec!["status"]),
        },
        "rollout" if rest.first() == Some(&"status") => {
            ("how it stands is told by", with("status", subject.as_deref()))
        }
        "rollout" if rest.first() == Some(&"undo") => undone(name),
        "undo" | "rollback" | "revert" => undone(name),
        "rollout" | "history" | "audit" | "events" | "logs" => {
            ("what has happened is told by", with("log", subject.as_deref()))
        }
        "top" | "watch" => ("how it stands is told by", with("status", subject.as_deref())),
        "apply" | "create" => {
            match rest.iter().position(|word| ["-f", "--filename"].contains(word)) {
                Some(place) => (
                    "a wish that is written down is put by",
                    vec!["intent", "put", "--file", rest.get(place + 1).unwrap_or(&"FILE")],
                ),
                None => ("a count is wished by", vec!["scale", "SERVICE=N", WHY[0], WHY[1]]),
            }
        }
        "set" | "resize" | "up" | "down" | "start" | "stop" => {
            ("a count is wished by", vec!["scale", "SERVICE=N", WHY[0], WHY[1]])
        }
        "delete" | "remove" | "rm" | "destroy" => (
            "what it has done stays; it is ended by",
            vec!["service", "retire", name, WHY[0], WHY[1]],
        ),
        "register" | "add" | "edit" => {
            ("a service is registered, or changed, by", vec!["service", "put", name])
        }
        "cancel" | "abort" => {
            ("a wish that has not started is taken back by", vec!["intent", "withdraw", key])
        }
        "retry" | "recover" | "resolve" => {
            ("what became of a call is found out by", vec!["replay", key])
        }
        "wait" => ("a wish is confirmed by", vec!["observe", key, "--wait"]),
        "diff" | "dry-run" => ("what a wish would meet is told by", vec!["plan", "SERVICE=N"]),
        "lint" | "validate" => {
            ("a policy is checked by", vec!["policy", "lint", rest.first().unwrap_or(&"FILE")])
        }
        "docs" | "usage" => ("each command explains itself, such as", vec!["help", "scale"]),
        "config" | "context" => {
            ("which files and which ledger are in use is told by", vec!["doctor"])
        }
        word => of_people(word, name, key)?,
    };
    // A wish that was written in our form is taken over.
    let wish = rest.iter().copied().find(|word| wish_of(word).is_some());
    let line =
        line.into_iter().map(|word| if word == "SERVICE=N" { wish.unwrap_or(word) } else { word });
    Some((hint.to_owned(), typed(words, at, line)))
}

/// What people lay upon a service, and answer.
fn of_people<'n>(word: &str, name: &'n str, key: &'n str) -> Option<(&'static str, Vec<&'n str>)> {
    Some(match word {
        "approve" | "accept" => {
            ("a proposal is answered by", vec!["approval", "grant", key, WHY[0], WHY[1]])
        }
        "reject" | "deny" | "refuse" => {
            ("a proposal is answered by", vec!["approval", "deny", key, WHY[0], WHY[1]])
        }
        "lock" | "freeze" | "pause" => {
            ("a count is held by", vec!["hold", "set", name, "--until", "2h", WHY[0], WHY[1]])
        }
        "unlock" | "unfreeze" | "unpause" | "resume" => {
            ("a hold is ended by", vec!["hold", "lift", name, WHY[0], WHY[1]])
        }
        "pin" => (
            "a count is pinned by",
            vec!["override", "set", "SERVICE=N", "--until", "2h", WHY[0], WHY[1]],
        ),
        "unpin" => ("that is ended by", vec!["override", "clear", name, WHY[0], WHY[1]]),
        _ => return None,
    })
}

/// What is meant by a word behind a noun of ours, where it is none of its verbs.
pub(super) fn of_verb(words: &[String], at: usize) -> Option<Suggestion> {
    let noun = NOUNS.iter().find(|noun| noun.name == words[at])?;
    let word = words.get(at + 1)?;
    let meant: &[&str] = match word.as_str() {
        "get" | "describe" | "inspect" | "view" => &["show", "list"],
        "ls" | "all" => &["list", "show"],
        "create" | "add" | "register" | "set" | "apply" | "update" | "edit" | "put" | "take" => {
            &["put", "set", "acquire", "authorize"]
        }
        "approve" | "accept" | "yes" => &["grant"],
        "reject" | "refuse" | "no" => &["deny"],
        "delete" | "remove" | "rm" | "cancel" | "end" | "drop" | "unset" | "clear" | "lift"
        | "release" | "undo" => &["retire", "withdraw", "lift", "clear", "release", "revoke"],
        "validate" | "check" | "verify" => &["lint", "check"],
        _ => return None,
    };
    let command = noun.command();
    let verb = meant.iter().find(|verb| command.find_subcommand(verb).is_some())?;
    let mut line = words.to_vec();
    "scalectl".clone_into(line.first_mut()?);
    (*verb).clone_into(&mut line[at + 1]);
    Some((format!("{} calls it {verb}", noun.name), line))
}

/// `scale web --replicas 3`, `scale --replicas=3 deployment/web` and `scale web=3 --wait ready`, in
/// the form that `scale` and `plan` take.
pub(super) fn of_scale(words: &[String], noun: usize) -> Option<Vec<String>> {
    let mut line = words.to_vec();
    "scalectl".clone_into(line.first_mut()?);
    let points = ["applied", "verified", "ready"];
    let is_point = |word: Option<&String>| word.is_some_and(|it| points.contains(&it.as_str()));
    if let Some(place) = line.iter().position(|word| word == "--wait")
        && is_point(line.get(place + 1))
    {
        let point = line.remove(place + 1);
        line[place] = format!("--wait={point}");
        return Some(line);
    }
    let place = line.iter().position(|word| word.starts_with("--replicas"))?;
    let count = match line[place].strip_prefix("--replicas")?.strip_prefix('=') {
        Some(count) => count.to_owned(),
        None => line.get(place + 1).cloned()?,
    };
    if count.is_empty() || !count.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let taken = if line[place].contains('=') { place..place + 1 } else { place..place + 2 };
    line.drain(taken);
    let is_name = |word: &&String| !word.starts_with('-') && service_in(word).is_some();
    let place = noun + 1 + line[noun + 1..].iter().position(|word| is_name(&word))?;
    let name = service_in(&line.remove(place))?;
    line.insert(noun + 1, format!("{name}={count}"));
    if words[noun] == "scale" && !line.iter().any(|word| word.starts_with("--reason")) {
        line.extend(WHY.map(str::to_owned));
    }
    Some(line)
}

/// `plan web=1 api=1`: several wishes are planned by `scale --dry-run`.
pub(super) fn of_plan(words: &[String], noun: usize) -> Option<Vec<String>> {
    let wishes = words[noun + 1..].iter().filter(|word| wish_of(word).is_some()).count();
    if words[noun] != "plan" || wishes < 2 {
        return None;
    }
    let mut line = words.to_vec();
    "scalectl".clone_into(line.first_mut()?);
    "scale".clone_into(&mut line[noun]);
    line.push("--dry-run".to_owned());
    Some(line)
}

fn undone(name: &str) -> (&'static str, Vec<&str>) {
    let line = vec!["scale", name, "--undo", WHY[0], WHY[1]];
    ("the newest wish that converged is taken back by", line)
}

fn with<'l>(verb: &'l str, subject: Option<&'l str>) -> Vec<&'l str> {
    std::iter::once(verb).chain(subject).collect()
}

/// A line of ours with the flags that stood before the word: the ledger that is asked, above all.
fn typed<'w>(
    words: &'w [String],
    at: usize,
    line: impl IntoIterator<Item = &'w str>,
) -> Vec<String> {
    let before = words[1..at].iter().map(String::as_str);
    std::iter::once("scalectl").chain(before).chain(line).map(str::to_owned).collect()
}

/// `get services`, `get web`, `ls`.
fn listed<'s>(rest: &[&str], subject: Option<&'s str>) -> (&'static str, Vec<&'s str>) {
    let noun = rest.iter().find_map(|word| {
        let noun = word.strip_suffix('s').unwrap_or(word);
        ["service", "intent", "approval", "actuator", "hold"].into_iter().find(|it| *it == noun)
    });
    match (noun, subject) {
        (Some(noun), _) => ("those of this ledger are listed by", vec![noun, "list"]),
        (None, Some(name)) => ("how it stands is told by", vec!["status", name]),
        (None, None) => ("how all services stand is told by", vec!["status"]),
    }
}

/// The name in `web`, `deployment/web`, `web=3`; none in words of kubectl's kinds and in flags.
fn service_in(word: &str) -> Option<String> {
    let name = word.rsplit('/').next().unwrap_or(word);
    let name = name.split('=').next().unwrap_or(name);
    name.parse::<ServiceName>().ok().map(|_| name.to_owned())
}

fn wish_of(word: &str) -> Option<(&str, &str)> {
    let (name, count) = word.split_once('=')?;
    let is_count = !count.is_empty() && count.bytes().all(|byte| byte.is_ascii_digit());
    (name.parse::<ServiceName>().is_ok() && is_count).then_some((name, count))
}

/// What the line is about: its last word that is no flag, no kind and no verb of another tool.
fn subject(rest: &[&str]) -> Option<String> {
    const KINDS: [&str; 16] = [
        "service",
        "services",
        "svc",
        "deployment",
        "deployments",
        "deploy",
        "statefulset",
        "sts",
        "intent",
        "intents",
        "approval",
        "pr",
        "status",
        "undo",
        "history",
        "all",
    ];
    let word = rest.iter().take_while(|word| !word.starts_with('-')).last()?;
    service_in(word).filter(|word| !KINDS.contains(&word.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::whole_command;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn what_other_tools_call_it_leads_to_a_line_that_is_one() {
        for (typed, meant) in [
            ("x describe web", "scalectl explain web"),
            ("x describe deployment web", "scalectl explain web"),
            ("x get services", "scalectl service list"),
            ("x get deployments", "scalectl status"),
            ("x get web", "scalectl status web"),
            ("x ls", "scalectl status"),
            ("x list intents", "scalectl intent list"),
            ("x rollout status deployment/web", "scalectl status web"),
            ("x rollout undo deployment/web", "scalectl scale web --undo --reason TEXT"),
            ("x rollback", "scalectl scale SERVICE --undo --reason TEXT"),
            ("x logs web", "scalectl log web"),
            ("x apply -f web.json", "scalectl intent put --file web.json"),
            ("x apply", "scalectl scale SERVICE=N --reason TEXT"),
            ("x set web=3", "scalectl scale web=3 --reason TEXT"),
            ("x approve a-0123456789", "scalectl approval grant a-0123456789 --reason TEXT"),
            ("x deny web@4", "scalectl approval deny web@4 --reason TEXT"),
            ("x lock web", "scalectl hold set web --until 2h --reason TEXT"),
            ("x resume web", "scalectl hold lift web --reason TEXT"),
            ("x pin web=4", "scalectl override set web=4 --until 2h --reason TEXT"),
            ("x unpin web", "scalectl override clear web --reason TEXT"),
            ("x delete web", "scalectl service retire web --reason TEXT"),
            ("x edit web", "scalectl service put web"),
            ("x cancel k1", "scalectl intent withdraw k1"),
            ("x retry k1", "scalectl replay k1"),
            ("x wait k1", "scalectl observe k1 --wait"),
            ("x diff web=3", "scalectl plan web=3"),
            ("x lint p.cedar", "scalectl policy lint p.cedar"),
            ("x config view", "scalectl doctor"),
            ("x --ledger prod get web", "scalectl --ledger prod status web"),
        ] {
            let at = if typed.contains("--ledger") { 3 } else { 1 };
            let (_, line) = of_word(&words(typed), at).unwrap_or_else(|| panic!("{typed}"));
            assert_eq!(line.join(" "), meant, "{typed}");
            // A place that a person fills in is a name, too, but for a count.
            let line = line.iter().map(|word| word.replace("=N", "=1"));
            whole_command()
                .try_get_matches_from(line)
                .unwrap_or_else(|why| panic!("{typed}: {why}"));
        }
        assert_eq!(of_word(&words("x nonsense web"), 1), None);
        for noun in NOUNS {
            assert_eq!(of_word(&words(&format!("x {} web", noun.name)), 1), None, "{}", noun.name);
        }
    }

    #[test]
    fn a_verb_of_another_tool_is_the_nouns_own() {
        for (typed, meant) in [
            ("x service get web", "scalectl service show web"),
            ("x service delete web --reason x", "scalectl service retire web --reason x"),
            ("x service ls", "scalectl service list"),
            ("x approval approve k1 --reason x", "scalectl approval grant k1 --reason x"),
            ("x hold clear web --reason x", "scalectl hold lift web --reason x"),
            ("x override lift web --reason x", "scalectl override clear web --reason x"),
            ("x intent cancel k1", "scalectl intent withdraw k1"),
            ("x policy validate p.cedar", "scalectl policy lint p.cedar"),
        ] {
            let (_, line) = of_verb(&words(typed), 1).unwrap_or_else(|| panic!("{typed}"));
            assert_eq!(line.join(" "), meant, "{typed}");
            whole_command()
                .try_get_matches_from(line)
                .unwrap_or_else(|why| panic!("{typed}: {why}"));
        }
        assert_eq!(of_verb(&words("x verify get"), 1), None);
    }

    #[test]
    fn a_count_as_kubectl_takes_it_is_put_into_our_form() {
        for (typed, meant) in [
            ("x scale web --replicas 5", Some("scalectl scale web=5 --reason TEXT")),
            ("x scale --replicas=5 deployment/web", Some("scalectl scale web=5 --reason TEXT")),
            (
                "x -o json scale web --replicas=5 --reason x",
                Some("scalectl -o json scale web=5 --reason x"),
            ),
            ("x plan web --replicas 5", Some("scalectl plan web=5")),
            (
                "x scale web=3 --wait ready --reason x",
                Some("scalectl scale web=3 --wait=ready --reason x"),
            ),
            ("x scale web --replicas more", None),
            ("x scale --replicas 5", None),
            ("x scale web=3 --wait soon", None),
        ] {
            let words = words(typed);
            let at =
                words.iter().position(|word| ["scale", "plan"].contains(&word.as_str())).unwrap();
            let found = of_scale(&words, at).map(|line| line.join(" "));
            assert_eq!(found.as_deref(), meant, "{typed}");
        }
    }
}
