//! The drawing of the page: SVG, in numbers of ours and words that are escaped.

use std::fmt::Write as _;

use super::Drawn;
use super::axis::{at, counts, round_counts};
use super::page::escaped;
use super::words::{after, came_to, change, who};
use crate::domain::scale::timeline::{Level, Stretch};
use crate::domain::time::Timestamp;

/// The drawing's own units.
const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 372.0;
const LEFT: f64 = 56.0;
const RIGHT: f64 = 984.0;
const TOP: f64 = 20.0;
/// Where the count is 0.
const BOTTOM: f64 = 280.0;
/// Where the names of instants stand, the refusals, the intents, and their numbers.
const NAMES: f64 = 304.0;
const REFUSALS: f64 = 316.0;
const INTENTS: f64 = 334.0;
const NUMBERS: f64 = 364.0;

struct Svg<'a> {
    drawn: &'a Drawn,
    top_count: u64,
    out: String,
}

/// The drawing.
pub(super) fn svg(drawn: &Drawn) -> String {
    let timeline = &drawn.told.timeline;
    let most = counts(timeline).last().copied().unwrap_or(0).max(1);
    let rows = round_counts(most, 6);
    let top_count = rows.last().copied().unwrap_or(1).max(1);
    let mut svg = Svg { drawn, top_count, out: String::new() };
    svg.add(format_args!(
        "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-labelledby=\"chart-title\">\n\
         <title id=\"chart-title\">The count of {} over time</title>\n\
         <defs><pattern id=\"unknown\" width=\"8\" height=\"8\" patternUnits=\"userSpaceOnUse\" \
         patternTransform=\"rotate(45)\"><rect class=\"unknown-ground\" width=\"8\" height=\"8\"/>\
         <rect class=\"unknown-line\" width=\"3\" height=\"8\"/></pattern>\
         <pattern id=\"differs\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\">\
         <rect class=\"differs-ground\" width=\"6\" height=\"6\"/>\
         <circle class=\"differs-dot\" cx=\"3\" cy=\"3\" r=\"1.4\"/></pattern></defs>\n",
        escaped(drawn.service.as_str())
    ));
    svg.grid(&rows);
    for stretch in &timeline.unknown {
        svg.unknown(stretch);
    }
    for stretch in &timeline.differs {
        svg.differs(stretch);
    }
    svg.steps(&timeline.read, "read");
    svg.steps(&timeline.wished, "wished");
    svg.marks();
    svg.out.push_str("</svg>\n");
    svg.out
}

impl Svg<'_> {
    fn add(&mut self, what: std::fmt::Arguments<'_>) {
        self.out.write_fmt(what).expect("BUG: a String takes every text");
    }

    fn x(&self, at: Timestamp) -> f64 {
        LEFT + self.drawn.axis.place(at) * (RIGHT - LEFT)
    }

    #[expect(clippy::cast_precision_loss, reason = "it is a place in a drawing")]
    fn y(&self, count: u64) -> f64 {
        BOTTOM - count.min(self.top_count) as f64 / self.top_count as f64 * (BOTTOM - TOP)
    }

    fn grid(&mut self, rows: &[u64]) {
        for row in rows {
            let y = self.y(*row);
            self.add(format_args!(
                "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
                 <text class=\"label\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{row}</text>\n",
                LEFT - 10.0,
                y + 5.0
            ));
        }
        for (at, word) in self.drawn.axis.ticks(13) {
            let x = self.x(at);
            self.add(format_args!(
                "<line class=\"grid\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{BOTTOM}\" y2=\"{:.1}\"/>\
                 <text class=\"label\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"{}\">{word}</text>\n",
                BOTTOM + 6.0,
                NAMES,
                if x > RIGHT - 30.0 { "end" } else { "middle" }
            ));
        }
        if self.drawn.axis.has(self.drawn.now) {
            let x = self.x(self.drawn.now);
            self.add(format_args!(
                "<line class=\"now\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{TOP}\" y2=\"{BOTTOM}\"/>\
                 <text class=\"label\" x=\"{x:.1}\" y=\"{:.1}\" \
                 text-anchor=\"middle\">now</text>\n",
                TOP - 6.0
            ));
        }
    }

    /// From where to where a stretch is drawn; none where it lies outside.
    fn reach(&self, stretch: &Stretch) -> Option<(f64, f64)> {
        let axis = &self.drawn.axis;
        let until = stretch.until.unwrap_or_else(|| axis.end());
        let is_seen = until > axis.since && stretch.from < axis.until;
        // So wide at least that it is seen.
        is_seen.then(|| (self.x(stretch.from), (self.x(until) - self.x(stretch.from)).max(3.0)))
    }

    fn unknown(&mut self, stretch: &Stretch) {
        let Some((x, width)) = self.reach(stretch) else { return };
        let height = BOTTOM - TOP;
        self.add(format_args!(
            "<rect class=\"unknown\" x=\"{x:.1}\" y=\"{TOP}\" width=\"{width:.1}\" \
             height=\"{height}\"><title>nobody knew what had become of the call</title></rect>\
             <text class=\"question\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">?</text>\n",
            x + width / 2.0,
            TOP + 22.0
        ));
    }

    fn differs(&mut self, stretch: &Stretch) {
        let wished = at(&self.drawn.told.timeline.wished, stretch.from);
        let (Some((x, width)), Some(read), Some(wished)) =
            (self.reach(stretch), stretch.replicas, wished)
        else {
            return;
        };
        let (one, other) = (self.y(read.get()), self.y(wished));
        let (top, height) = (one.min(other), (one - other).abs().max(4.0));
        self.add(format_args!(
            "<rect class=\"differs\" x=\"{x:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" \
             height=\"{height:.1}\"><title>{read} were read, {wished} were wished</title></rect>\n",
        ));
    }

    /// A line in steps; it is interrupted where there is no count.
    fn steps(&mut self, levels: &[Level], class: &str) {
        let axis = &self.drawn.axis;
        let mut path = String::new();
        let mut is_down = false;
        for (number, level) in levels.iter().enumerate().filter(|(_, it)| it.at < axis.until) {
            let Some(count) = level.replicas else {
                is_down = false;
                continue;
            };
            let next = levels.get(number + 1).map_or_else(|| axis.end(), |next| next.at);
            let (from, to, y) = (self.x(level.at), self.x(next), self.y(count.get()));
            let word = if is_down { "V" } else { "M" };
            let begin =
                if is_down { format!("{word}{y:.1}") } else { format!("{word}{from:.1} {y:.1}") };
            write!(path, "{begin}H{to:.1}").expect("BUG: a String takes every text");
            is_down = true;
        }
        if !path.is_empty() {
            self.add(format_args!("<path class=\"{class}\" d=\"{path}\"/>\n"));
        }
    }

    fn marks(&mut self) {
        let drawn = self.drawn;
        let timeline = &drawn.told.timeline;
        let mut numbered_to = 0.0;
        for story in timeline.intents.iter().filter(|story| drawn.axis.has(story.at)) {
            let (x, number) = (self.x(story.at), story.intent_revision);
            let title = escaped(&format!(
                "@{number} {}, {}, {}",
                change(story),
                who(story),
                came_to(story)
            ));
            let class = if story.authorization_id.is_some() { "glass" } else { "intent" };
            self.add(format_args!(
                "<a href=\"#i{number}\"><title>{title}</title><path class=\"{class}\" \
                 d=\"M{x:.1} {INTENTS:.1}l7 13h-14z\"/>"
            ));
            if x >= numbered_to {
                self.add(format_args!(
                    "<text class=\"label\" x=\"{x:.1}\" y=\"{NUMBERS:.1}\" \
                     text-anchor=\"middle\">{number}</text>"
                ));
                numbered_to = x + 34.0;
            }
            self.out.push_str("</a>\n");
        }
        for (row, refused) in timeline.refusals.iter().enumerate() {
            // It lies in the span, or it would not be here.
            let x = self.x(refused.at);
            let title = escaped(&format!("refused, {}: {}", refused.code, refused.by.actor));
            self.add(format_args!(
                "<a href=\"#r{row}\"><title>{title}</title><path class=\"refused\" \
                 d=\"M{:.1} {:.1}l10 10m0 -10l-10 10\"/></a>\n",
                x - 5.0,
                REFUSALS
            ));
        }
        for (row, glass) in timeline.broken_glass.iter().enumerate() {
            if !drawn.axis.has(glass.at) {
                continue;
            }
            let x = self.x(glass.at);
            let title = escaped(&format!(
                "broken glass {}, {}: {}",
                glass.authorization_id,
                glass.by.actor,
                after(glass)
            ));
            self.add(format_args!(
                "<a href=\"#g{row}\"><title>{title}</title><path class=\"glass\" \
                 d=\"M{x:.1} {TOP}V{BOTTOM}\" stroke-dasharray=\"5 4\"/><path class=\"diamond\" \
                 d=\"M{x:.1} {:.1}l8 9l-8 9l-8 -9z\"/></a>\n",
                TOP - 9.0
            ));
        }
    }
}
