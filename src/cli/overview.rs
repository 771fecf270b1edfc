//! What is printed where nothing is asked.

use super::{ABOUT, GROUPS, NOUNS};

/// `scalectl` alone.
pub(super) fn page() -> String {
    let mut text = format!("{ABOUT}\n");
    for group in GROUPS {
        text.extend(["\n", group, "\n"]);
        for noun in NOUNS.iter().filter(|noun| noun.group == group && !noun.hidden) {
            text.extend([format!("  {:<12} {}\n", noun.name, noun.about)]);
        }
    }
    text.push_str(
        "\nStart: scalectl quickstart        Help: scalectl help COMMAND, scalectl help \
         exit-codes | keys | unknown | ledgers\n",
    );
    text
}
