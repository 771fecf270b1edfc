//! Arrows that are finer than the layers: what may be said in one place only, or not in some place.

use super::{code, hold, texts};

/// What the code below a folder does not say.
struct Shut {
    below: &'static str,
    words: &'static str,
    /// The files below it that say it all the same: its home.
    home: &'static [&'static str],
    why: &'static str,
}

const SHUT: [Shut; 5] = [
    Shut {
        below: "src/domain/scale/gates/",
        words: "decide",
        home: &[],
        why: "a gate is asked by whoever decides, and asks nobody back",
    },
    Shut {
        below: "src/cli/",
        words: ".after(",
        home: &["src/cli/exit.rs", "src/cli/output/end.rs"],
        why: "an answer is where an exit is held to what was done",
    },
    Shut {
        below: "src/",
        words: "axum::",
        home: &["src/cli/serve/http.rs", "src/cli/serve/listen.rs", "src/cli/serve/token.rs"],
        why: "only a server speaks HTTP to others",
    },
    Shut {
        below: "src/cli/",
        words: "hyper::",
        home: &["src/cli/serve/listen.rs"],
        why: "only a server speaks HTTP to others",
    },
    Shut {
        below: "src/cli/",
        words: "tokio::",
        home: &[
            "src/cli/serve.rs",
            "src/cli/serve/converger.rs",
            "src/cli/serve/converger/slot/tests.rs",
            "src/cli/serve/http.rs",
            "src/cli/serve/listen.rs",
            "src/cli/serve/reader.rs",
            "src/cli/serve/writer.rs",
        ],
        why: "only a server does many things at a time: every other verb is one after the other",
    },
];

#[test]
fn what_is_shut_is_said_at_home_only() {
    let mut wrong = Vec::new();
    for Shut { below, words, home, why } in SHUT {
        let files = texts(below, "rs");
        if files.is_empty() {
            wrong.push(format!("{below} is no folder with code"));
        }
        for (file, text) in &files {
            // However the formatter has broken the lines.
            let text: String = code(text).split_whitespace().collect();
            let (says, is_home) = (text.contains(words), home.contains(&file.as_str()));
            match (says, is_home) {
                (true, false) => wrong.push(format!("{file} says {words}: {why}")),
                (false, true) => wrong.push(format!("{file} no longer says {words}: take it off")),
                (true, true) | (false, false) => {}
            }
        }
        let found = home.iter().filter(|home| files.contains_key(**home)).count();
        if found != home.len() {
            wrong.push(format!("a home of {words} is not there"));
        }
    }
    hold(&wrong);
}
