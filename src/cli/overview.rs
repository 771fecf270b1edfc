//! What is printed where nothing is asked.

use clap::Arg;
use clap::builder::PossibleValue;

use super::{GROUPS, NOUNS, base};

/// `scalectl` alone.
pub(super) fn page() -> String {
    let mut text = "scalectl: the durable authority for replica counts\n".to_owned();
    text.push_str("\nUsage: scalectl [OPTIONS] COMMAND\n");
    for group in GROUPS {
        text.extend(["\n", group, "\n"]);
        for noun in NOUNS.iter().filter(|noun| noun.group == group && !noun.hidden) {
            text.extend([format!("  {:<12} {}\n", noun.name, noun.about)]);
        }
    }
    text.push_str("\nEverywhere\n");
    for arg in base().get_arguments() {
        text.push_str(&listed(arg));
    }
    text.push_str(
        "\nStart: scalectl quickstart        Help: scalectl help COMMAND, scalectl help \
         exit-codes | keys | unknown | ledgers\n",
    );
    text
}

/// A flag that every command takes.
fn listed(arg: &Arg) -> String {
    let short = arg.get_short().map_or_else(String::new, |short| format!("-{short}, "));
    let long = arg.get_long().unwrap_or_default();
    let values = arg.get_value_names().unwrap_or_default();
    let value = values.first().map_or_else(String::new, |value| format!(" <{value}>"));
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let flag = format!("{short}--{long}{value}");
    let words = arg.get_possible_values();
    let words: Vec<&str> = words.iter().map(PossibleValue::get_name).collect();
    let words = if words.is_empty() { String::new() } else { format!(": {}", words.join(", ")) };
    format!("  {flag:<26} {help}{words}\n")
}
