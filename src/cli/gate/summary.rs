//! What a CI system shows beside its log: a summary in Markdown, and annotations.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use super::Told;
use super::words::{read_text, verdict, why, wish_text};
use crate::cli::app::App;
use crate::cli::exit::Exit;
use crate::cli::output::{Answer, Format, Out};
use crate::cli::problem::Problem;
use crate::domain::id::ServiceName;
use crate::domain::scale::passage::Passage;
use crate::files;

/// Says, in the way of the CI system that runs this, which services are closed.
pub(super) fn annotate(problems: &[(ServiceName, Problem)], app: &App, out: &mut Out) {
    let is = |name: &str| app.environment.text(name).is_some_and(|word| word == "true");
    for (service, problem) in problems {
        let is_soft = problem.exit == Exit::NotYet;
        if is("GITHUB_ACTIONS") {
            let level = if is_soft { "warning" } else { "error" };
            let title = property(&format!("gate {service}"));
            out.progress(&format!("::{level} title={title}::{}", data(&problem.message)));
        } else if is("GITLAB_CI") {
            let level = if is_soft { "WARNING" } else { "ERROR" };
            out.progress(&format!("{level}: gate: {}", problem.message));
        }
    }
}

/// A text as the runner of GitHub reads it after `::`.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// The same between the words before it.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

/// Adds the summary where it is asked: to a file, or in the place of the table.
pub(super) fn add(told: Told, file: Option<&Path>, app: &App, format: Format) -> Told {
    let text = markdown(&told);
    let usual = app.environment.get("GITHUB_STEP_SUMMARY").map(Path::new);
    let Some(path) = file.or(usual) else {
        let answer = match format {
            Format::Table => text.lines().fold(told.answer.without_lines(), Answer::line),
            Format::Json | Format::Ndjson | Format::Name => told.answer.noun("summary", &text),
        };
        return Told { answer, ..told };
    };
    let written = files::append_to(path).and_then(|mut file| file.write_all(text.as_bytes()));
    match written {
        Ok(()) => told,
        // The verdict stands without it, and whoever looks for it is told.
        Err(error) => {
            let text = format!("the summary was not written to {}: {error}", path.display());
            let answer = told.answer.warning("summary_not_written", text);
            Told { answer, ..told }
        }
    }
}

fn markdown(told: &Told) -> String {
    let mut text = format!("### {}\n\n", cell(&told.last));
    text.push_str("| service | wanted | read | wish | gate | why |\n");
    text.push_str("| --- | ---: | --- | --- | --- | --- |\n");
    for row in &told.rows {
        let wanted = row.asked.or(row.wanted).map_or_else(String::new, |count| count.to_string());
        let read = read_text(row, told.now).unwrap_or_default();
        let wish = row.wish.as_ref().map(wish_text).unwrap_or_default();
        let reason = if row.passage == Passage::Open { String::new() } else { why(row) };
        let cells = [row.service.as_str(), &wanted, &read, &wish, verdict(row), &reason];
        let cells: Vec<String> = cells.iter().map(|text| cell(text)).collect();
        writeln!(text, "| {} |", cells.join(" | ")).expect("BUG: a String takes every text");
    }
    text
}

/// A text that neither ends its cell nor is taken for markup.
fn cell(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '|' | '`' | '*' | '_' | '[' | ']' | '\\' => out.extend(['\\', c]),
            '<' => out.push_str("&lt;"),
            '&' => out.push_str("&amp;"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_ends_neither_a_cell_nor_a_command() {
        assert_eq!(cell("a|b <img> `x`\n| c"), "a\\|b &lt;img> \\`x\\` \\| c");
        assert_eq!(data("50%\n::error::x"), "50%25%0A::error::x");
        assert_eq!(property("a,b:c"), "a%2Cb%3Ac");
    }
}
