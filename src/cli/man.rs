//! `man`: the manual pages, one for each command, made of the same words as the help.

use std::path::PathBuf;

use clap::{ArgMatches, Args, Command, FromArgMatches as _};
use clap_mangen::Man;

use super::app::App;
use super::examples;
use super::exit::Exit;
use super::fault::Fault;
use super::noun::{Noun, Outcome};
use super::output::{Answer, Out};
use super::problem::Problem;
use super::topics::TOPICS;
use super::whole_command;
use crate::files;

pub(super) const NOUN: Noun = Noun {
    name: "man",
    group: "About",
    about: "Print a manual page, or write all of them into a folder",
    augment: ManArgs::augment_args,
    run,
    hidden: false,
};

#[derive(Args)]
struct ManArgs {
    /// The command whose page is printed; scalectl itself where none is named
    #[arg(value_name = "COMMAND")]
    words: Vec<String>,
    /// Write all pages into this folder, which must be there
    #[arg(long, value_name = "DIR", conflicts_with = "words")]
    dir: Option<PathBuf>,
}

fn run(matches: &ArgMatches, _app: &mut App, out: &mut Out) -> Outcome {
    let args = ManArgs::from_arg_matches(matches).map_err(super::parse_fault)?;
    let Some(dir) = &args.dir else {
        let name = std::iter::once("scalectl").chain(args.words.iter().map(String::as_str));
        let name = name.collect::<Vec<_>>().join("-");
        let found = pages().into_iter().find(|(page, _)| *page == format!("{name}.1"));
        let (_, text) = found.ok_or_else(|| no_page(&args.words))?;
        out.data(&text);
        return Ok(Answer::ok().streamed());
    };
    let mut answer = Answer::ok();
    for (name, text) in pages() {
        let path = dir.join(&name);
        files::replace(&path, text.as_bytes(), 0o644).map_err(|error| {
            Fault::host(format!("{} cannot be written: {error}", path.display()))
        })?;
        answer = answer.name(name);
    }
    Ok(answer.noun("dir", dir).line(format!("the pages are in {}", dir.display())))
}

fn no_page(words: &[String]) -> Fault {
    Problem::usage("no_page", format!("{:?} is no command", words.join(" ")))
        .hint("the commands are listed by")
        .run(vec!["scalectl".into(), "help".into()])
        .into()
}

/// Every page: the name of its file, and its text for man(1).
pub fn pages() -> Vec<(String, String)> {
    let mut root = whole_command();
    root.build();
    let mut pages = Vec::new();
    page(&root, "scalectl", "", &mut pages);
    pages
}

fn page(command: &Command, name: &str, path: &str, pages: &mut Vec<(String, String)>) {
    let below: Vec<&Command> = command.get_subcommands().filter(|it| !it.is_hide_set()).collect();
    let man = Man::new(command.clone()).title(name.to_uppercase()).section("1").manual("scalectl");
    let man = man.source(concat!("scalectl ", env!("CARGO_PKG_VERSION")));
    let mut bytes = Vec::new();
    let rendered = man
        .render_title(&mut bytes)
        .and_then(|()| man.render_name_section(&mut bytes))
        .and_then(|()| man.render_synopsis_section(&mut bytes));
    rendered.expect("BUG: a Vec takes every byte");
    let lines = examples::of(path);
    if !lines.is_empty() {
        section(&mut bytes, "EXAMPLES", &lines.join("\n"));
    }
    let signs = examples::signs(path);
    if !signs.is_empty() {
        section(&mut bytes, "TABLE", signs);
    }
    man.render_options_section(&mut bytes).expect("BUG: a Vec takes every byte");
    if !below.is_empty() {
        let list: Vec<String> = below.iter().map(|it| listed(name, it)).collect();
        section(&mut bytes, "COMMANDS", &list.join("\n"));
    }
    if path.is_empty() {
        let codes = Exit::ALL.iter().map(|exit| format!("{:>4}  {}", exit.code(), exit.word()));
        section(&mut bytes, "EXIT STATUS", &codes.collect::<Vec<_>>().join("\n"));
        for (topic, text) in TOPICS {
            section(&mut bytes, &topic.to_uppercase(), text.trim_end());
        }
    }
    let text = String::from_utf8(bytes).expect("BUG: a page is text");
    pages.push((format!("{name}.1"), in_ascii(&text)));
    for it in below {
        let word = it.get_name();
        let path = if path.is_empty() { word.to_owned() } else { format!("{path} {word}") };
        page(it, &format!("{name}-{word}"), &path, pages);
    }
}

/// A page whose letters beyond ASCII are named: troff reads bytes.
fn in_ascii(text: &str) -> String {
    let mut page = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_ascii() {
            page.push(c);
        } else {
            page.extend(["\\[u", &format!("{:04X}", u32::from(c)), "]"]);
        }
    }
    page
}

fn listed(name: &str, below: &Command) -> String {
    let about = below.get_about().map(ToString::to_string).unwrap_or_default();
    format!("{name}-{}(1)\n    {about}", below.get_name())
}

/// A section of lines that stay as they are.
fn section(bytes: &mut Vec<u8>, title: &str, text: &str) {
    let mut page = format!(".SH {title}\n.nf\n");
    for line in text.lines() {
        let line = line.replace('\\', "\\e").replace('-', "\\-");
        // What begins with a dot or a quote would be a request.
        let guard = if line.starts_with(['.', '\'']) { "\\&" } else { "" };
        page.extend([guard, &line, "\n"]);
    }
    page.push_str(".fi\n");
    bytes.extend(page.into_bytes());
}
