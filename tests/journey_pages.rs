//! `docs/journeys/`: each `$` line of a page prints what stands below it.
//!
//! What sets the scene is in comments, `<!-- stage`, in the rows of the scenarios. Blocks of the
//! kind `console` are run; their answers are written anew by `SCALECTL_UPDATE_SCENARIOS=1`.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::PathBuf;

use crate::recipes::page::root;
use crate::scenarios::Stage;

/// A page with the answers that really came out.
fn walked(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let mut stage = Stage::new();
    let mut out = String::new();
    let mut at = 0;
    while at < lines.len() {
        let line = lines[at];
        at += 1;
        out.extend([line, "\n"]);
        if line == "<!-- stage" {
            while lines[at] != "-->" {
                let row = lines[at];
                at += 1;
                let body = lines[at..].iter().take_while(|line| line.starts_with("  "));
                let body: Vec<&str> = body.copied().collect();
                stage.row(row, &body);
                for line in std::iter::once(&row).chain(&body) {
                    out.extend([line, "\n"]);
                }
                at += body.len();
            }
        } else if line == "```console" {
            while lines[at] != "```" {
                let line = lines[at];
                at += 1;
                // What stands below a line is what came out the last time.
                let Some(command) = line.strip_prefix("$ ") else { continue };
                // The stages know an id by the word that stands for it.
                let command = command.replace(" bg-1 ", " <bg-1> ").replace(" op-", " <op-");
                let command = command.replace("/1-op-1", "/<1-op-1>").replace("<op-2", "<op-2>");
                out.extend([line, "\n", &answer(&stage.command(&command))]);
            }
        }
    }
    out
}

/// What a person sees, in its order: what goes on, the answer, what is wrong, and the exit where it
/// is not 0.
fn answer(transcript: &str) -> String {
    let (mut before, mut answer, mut after) = (String::new(), String::new(), String::new());
    for line in transcript.lines() {
        let said = line.strip_prefix("! ");
        let is_end = said.is_some_and(|it| it.starts_with("error[") || it.starts_with("warning"));
        match (line.strip_prefix("[exit ").and_then(|rest| rest.strip_suffix(']')), said) {
            (Some("0"), _) => {}
            (Some(exit), _) => after.extend(["# exit ", exit, "\n"]),
            (None, Some(said)) if is_end || !after.is_empty() => after.extend([said, "\n"]),
            (None, Some(said)) => before.extend([said, "\n"]),
            (None, None) => answer.extend([line.trim_end(), "\n"]),
        }
    }
    bare(&[before, answer, after].concat())
}

/// `<web-1>` as `web-1`: a line that is shown is one that can be typed.
fn bare(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('<') {
        out.push_str(before);
        let word = after.split_once('>').filter(|(word, _)| {
            word.rsplit_once('-').is_some_and(|(_, number)| number.parse::<u32>().is_ok())
        });
        let (word, after) = word.unwrap_or(("<", after));
        out.push_str(word);
        rest = after;
    }
    out + rest
}

fn pages() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root().join("docs/journeys")).unwrap();
    let mut pages: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    pages.sort();
    pages
}

#[test]
fn every_journey_prints_what_its_page_shows() {
    let update = std::env::var_os("SCALECTL_UPDATE_SCENARIOS").is_some();
    let mut wrong = Vec::new();
    let mut commands = 0;
    for page in pages() {
        let committed = std::fs::read_to_string(&page).unwrap();
        let found = walked(&committed);
        commands += found.lines().filter(|line| line.starts_with("$ scalectl ")).count();
        if update {
            std::fs::write(&page, found).unwrap();
            continue;
        }
        let mut pairs = committed.lines().zip(found.lines()).enumerate();
        let first = pairs.find(|(_, (old, new))| old != new);
        if let Some((number, (old, new))) = first {
            wrong.push(format!("{}:{}:\n- {old}\n+ {new}", page.display(), number + 1));
        } else if committed != found {
            wrong.push(format!("{}: another length", page.display()));
        }
    }
    assert!(commands >= 35, "only {commands} lines were run");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
