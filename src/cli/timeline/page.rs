//! The page: one file that needs nothing else, no script and no network.
//!
//! Owns that nothing foreign becomes markup. Looks right in light and dark, on a narrow screen and
//! on paper: `page.css` says how.

use std::borrow::Cow;
use std::fmt::Write as _;

use super::Drawn;
use super::svg::svg;
use super::words::{after, came_to, change, is_bad, rules, who, why};
use crate::cli::escape::escape;
use crate::cli::log::known_as;
use crate::domain::scale::policy::PolicyAnswer;
use crate::domain::scale::provenance::Provenance;
use crate::domain::scale::timeline::{Glass, Refused, Story, Turn};
use crate::domain::time::Timestamp;

const STYLE: &str = include_str!("page.css");

/// A foreign text as text: what is invisible is shown, and nothing in it is markup.
pub(super) fn escaped(text: &str) -> String {
    let shown: Cow<'_, str> = escape(text);
    let mut out = String::with_capacity(shown.len() + 16);
    for c in shown.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

struct Page<'a> {
    drawn: &'a Drawn,
    out: String,
}

/// The whole page.
pub(super) fn page(drawn: &Drawn) -> String {
    let mut page = Page { drawn, out: String::new() };
    page.head();
    page.chart();
    page.intents();
    page.refusals();
    page.glass();
    page.heads();
    page.out.push_str("</main>\n</body>\n</html>\n");
    page.out
}

impl Page<'_> {
    fn add(&mut self, what: std::fmt::Arguments<'_>) {
        self.out.write_fmt(what).expect("BUG: a String takes every text");
    }

    fn head(&mut self) {
        let drawn = self.drawn;
        let service = escaped(drawn.service.as_str());
        let span = escaped(&drawn.span.said());
        let timeline = &drawn.told.timeline;
        self.add(format_args!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <meta name=\"referrer\" content=\"no-referrer\">\n\
             <meta http-equiv=\"Content-Security-Policy\" \
             content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
             <title>{service}: {span}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n\
             <header>\n<h1>{service}</h1>\n<p class=\"span\">{span}</p>\n\
             <p class=\"about\">ledger <code>{}</code>, read at {} by scalectl {}</p>\n</header>\n",
            escaped(&drawn.ledger),
            self.drawn.axis.zone.instant(drawn.now.truncated_to_millis()),
            env!("CARGO_PKG_VERSION"),
        ));
        let glass = timeline.broken_glass.len();
        let open = timeline.broken_glass.iter().filter(|it| it.review.is_none()).count();
        let bad = timeline.intents.iter().filter(|story| is_bad(story)).count();
        self.out.push_str("<ul class=\"sums\">");
        for (number, one, more, needs) in [
            (timeline.intents.len(), "intent", "intents", false),
            (bad, "failed, drifted or unknown", "failed, drifted or unknown", bad > 0),
            (timeline.refusals.len(), "refusal", "refusals", false),
            (glass, "broken glass", "broken glasses", false),
            (open, "not reviewed", "not reviewed", open > 0),
        ] {
            let class = if needs { " class=\"needs\"" } else { "" };
            let word = if number == 1 { one } else { more };
            self.add(format_args!("<li{class}><b>{number}</b> {word}</li>"));
        }
        self.out.push_str("</ul>\n");
    }

    fn chart(&mut self) {
        let svg = svg(self.drawn);
        self.add(format_args!(
            "<figure>\n<div class=\"scroll\" tabindex=\"0\">\n{svg}</div>\n<figcaption>\
             <span><i class=\"key wished\"></i>wished</span>\
             <span><i class=\"key read\"></i>read</span>\
             <span><i class=\"key differs\"></i>read differs</span>\
             <span><i class=\"key unknown\"></i>unknown</span>\
             <span><b class=\"intent\">▲</b> intent</span>\
             <span><b class=\"refused\">✕</b> refused</span>\
             <span><b class=\"glass\">◆</b> broken glass</span>\
             </figcaption>\n</figure>\n"
        ));
    }

    fn instant(&self, at: Timestamp) -> String {
        let shown = self.drawn.axis.zone.instant(at.truncated_to_millis());
        let (date, time) = shown.split_once('T').unwrap_or((&shown, ""));
        format!("<time datetime=\"{at}\"><span>{date}</span> <span>{time}</span></time>")
    }

    fn intents(&mut self) {
        self.out.push_str("<section>\n<h2>Intents</h2>\n");
        if self.drawn.told.timeline.intents.is_empty() {
            self.out.push_str("<p>None.</p>\n</section>\n");
            return;
        }
        self.out.push_str(
            "<table>\n<thead><tr><th>No</th><th>When</th><th>Count</th><th>Who</th><th>Why</th>\
             <th>Rule</th><th>What became of it</th></tr></thead>\n<tbody>\n",
        );
        for story in &self.drawn.told.timeline.intents {
            self.intent(story);
        }
        self.out.push_str("</tbody>\n</table>\n</section>\n");
    }

    fn intent(&mut self, story: &Story) {
        let number = story.intent_revision;
        let class = match (story.authorization_id.is_some(), is_bad(story)) {
            (true, _) => " class=\"glass\"",
            (false, true) => " class=\"bad\"",
            (false, false) => "",
        };
        let turns: String = story.turns.iter().map(|turn| self.turn(turn)).collect();
        let mut rule = match &story.authorization_id {
            Some(id) => format!("<b class=\"glass\">broken glass</b> {}", escaped(id.as_str())),
            None => rule_of(&story.decision),
        };
        if let Some(approval) = &story.approval {
            write!(
                rule,
                "<br>approved by <b>{}</b> ({}): {}",
                escaped(approval.by.actor.as_str()),
                escaped(&known_as(&approval.by)),
                escaped(&approval.reason)
            )
            .expect("BUG: a String takes every text");
        }
        self.add(format_args!(
            "<tr id=\"i{number}\"{class}><td data-label=\"No\" \
            class=\"no\"><div><b>@{number}</b></div></td>\
             <td data-label=\"When\"><div>{}</div></td><td data-label=\"Count\" \
             class=\"count\"><div>{}</div></td>\
             <td data-label=\"Who\"><div>{}</div></td>\
             <td data-label=\"Why\"><div>{}<br><code>{}</code></div></td><td \
             data-label=\"Rule\"><div>{rule}</div></td>\
             <td data-label=\"What became of it\"><div><b>{}</b>{turns}</div></td></tr>\n",
            self.instant(story.at),
            escaped(&change(story)),
            person(&who(story), &story.by),
            escaped(&why(&story.reason, &story.by)),
            escaped(story.execution_key.as_str()),
            escaped(&came_to(story)),
        ));
    }

    fn turn(&self, turn: &Turn) -> String {
        let detail = if turn.detail.is_empty() { "" } else { ": " };
        format!(
            "<div class=\"turn\">{} {}{detail}{}</div>",
            self.drawn.axis.zone.time(turn.at.truncated_to_millis()),
            turn.word,
            escaped(&turn.detail)
        )
    }

    fn refusals(&mut self) {
        self.out.push_str("<section>\n<h2>Refusals</h2>\n");
        if self.drawn.told.timeline.refusals.is_empty() {
            self.out.push_str("<p>None.</p>\n</section>\n");
            return;
        }
        self.out.push_str(
            "<table>\n<thead><tr><th>When</th><th>Who</th>\
             <th>Refused</th><th>Rule</th></tr></thead>\
             \n<tbody>\n",
        );
        for (row, refused) in self.drawn.told.timeline.refusals.iter().enumerate() {
            self.refusal(row, refused);
        }
        self.out.push_str("</tbody>\n</table>\n</section>\n");
    }

    fn refusal(&mut self, row: usize, refused: &Refused) {
        let rule = refused.answer.as_ref().map_or_else(|| "-".to_owned(), rule_of);
        self.add(format_args!(
            "<tr id=\"r{row}\"><td data-label=\"When\"><div>{}</div></td><td \
            data-label=\"Who\"><div>{}</div></td>\
             <td data-label=\"Refused\"><div><b class=\"refused\">{}</b> {}</div></td>\
             <td data-label=\"Rule\"><div>{rule}</div></td></tr>\n",
            self.instant(refused.at),
            person(refused.by.actor.as_str(), &refused.by),
            escaped(&refused.code),
            escaped(&refused.message),
        ));
    }

    fn glass(&mut self) {
        self.out.push_str("<section>\n<h2>Broken glass</h2>\n");
        if self.drawn.told.timeline.broken_glass.is_empty() {
            self.out.push_str("<p>None.</p>\n</section>\n");
            return;
        }
        self.out.push_str(
            "<table>\n<thead><tr><th>Name</th><th>When</th><th>Count</th><th>Who</th><th>Why</th>\
             <th>Rule</th><th>After</th></tr></thead>\n<tbody>\n",
        );
        for (row, glass) in self.drawn.told.timeline.broken_glass.iter().enumerate() {
            self.broken(row, glass);
        }
        self.out.push_str("</tbody>\n</table>\n</section>\n");
    }

    fn broken(&mut self, row: usize, glass: &Glass) {
        let class = if glass.review.is_none() { " class=\"bad\"" } else { "" };
        self.add(format_args!(
            "<tr id=\"g{row}\"{class}><td data-label=\"Name\" \
            class=\"no\"><div><code>{}</code></div></td>\
             <td data-label=\"When\"><div>{}</div></td><td data-label=\"Count\" \
             class=\"count\"><div>→ {}</div></td>\
             <td data-label=\"Who\"><div>{}</div></td><td data-label=\"Why\"><div>{} \
             [{}]</div></td>\
             <td data-label=\"Rule\"><div>{}</div></td><td \
             data-label=\"After\"><div>{}</div></td></tr>\n",
            escaped(glass.authorization_id.as_str()),
            self.instant(glass.at),
            glass.desired_replicas,
            person(glass.by.actor.as_str(), &glass.by),
            escaped(&glass.reason),
            escaped(&glass.incident),
            rule_of(&glass.decision),
            escaped(&after(glass)),
        ));
    }

    fn heads(&mut self) {
        self.out.push_str(
            "<section>\n<h2>Chain heads</h2>\n<p>The ends of the chains when this was made. Kept \
             elsewhere, they prove later that nothing of this was rewritten: <code>scalectl verify \
             -o json</code> prints all heads, and <code>scalectl verify --since FILE</code> \
             compares.\
             </p>\n<table>\n<thead><tr><th>Chain</th><th>Events</th><th>Hash</th></tr></thead>\n\
             <tbody>\n",
        );
        for head in &self.drawn.told.heads {
            self.add(format_args!(
                "<tr><td data-label=\"Chain\"><div>{}</div></td><td \
                data-label=\"Events\"><div>{}</div></td>\
                 <td data-label=\"Hash\"><div><code>{}</code></div></td></tr>\n",
                escaped(&head.stream.to_string()),
                head.sequence,
                head.hash
            ));
        }
        self.out.push_str("</tbody>\n</table>\n</section>\n");
    }
}

/// Who somebody says they are, and what is known of them without that.
fn person(claim: &str, by: &Provenance) -> String {
    let mut text =
        format!("<b class=\"name\">{}</b><br>{}", escaped(claim), escaped(&known_as(by)));
    if let Some(url) = &by.run_url {
        let shown = escaped(url);
        let is_web = url.starts_with("https://") || url.starts_with("http://");
        if is_web {
            write!(text, "<br><a href=\"{shown}\" rel=\"noreferrer noopener\">{shown}</a>")
        } else {
            write!(text, "<br>{shown}")
        }
        .expect("BUG: a String takes every text");
    }
    text
}

/// The rules that decided, each with its place.
fn rule_of(decision: &PolicyAnswer) -> String {
    if decision.rules.is_empty() {
        return escaped(&rules(decision));
    }
    let rules: Vec<String> = decision
        .rules
        .iter()
        .map(|rule| {
            format!(
                "<b>{}</b> {} <code>{}:{}</code>",
                escaped(&rule.id),
                escaped(&rule.effect),
                escaped(&rule.file),
                rule.line
            )
        })
        .collect();
    rules.join("<br>")
}
