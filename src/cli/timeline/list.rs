//! What the marks of the chart stand for: a line for each, by time.

use super::axis::Axis;
use super::words::{after, ascii, came_to, change, rests_on, rules, who, why};
use crate::cli::table::{Cell, Column, Table};
use crate::domain::scale::timeline::{Glass, Refused, Story, Timeline};
use crate::domain::time::{DurationMs, Timestamp};

/// Up to this long the time of the day tells instants apart.
const ONE_DAY: DurationMs = DurationMs::from_secs(25 * 3600);

/// Narrower than that, the rule is left to the page and to JSON.
const WITH_RULE: usize = 72;

/// One line: the cells, and what is left out where the screen is narrow.
struct Line {
    at: Timestamp,
    texts: [String; 7],
}

/// The table; without rows where nothing happened.
pub(super) fn table(
    timeline: &Timeline,
    axis: &Axis,
    columns: Option<usize>,
    is_ascii: bool,
) -> Table {
    let mut lines: Vec<Line> =
        timeline.intents.iter().map(|it| intent(it, timeline, axis)).collect();
    lines.extend(timeline.refusals.iter().map(|it| refusal(it, axis)));
    let is_told = |glass: &Glass| {
        let mut stories = timeline.intents.iter();
        stories.any(|story| story.authorization_id.as_ref() == Some(&glass.authorization_id))
    };
    lines.extend(timeline.broken_glass.iter().filter(|it| !is_told(it)).map(|it| glass(it, axis)));
    lines.sort_by_key(|line| line.at);
    let has_rule = columns.is_none_or(|columns| columns >= WITH_RULE);
    let mut all = vec![
        Column::right("NO"),
        Column::left("TIME"),
        Column::left("WHO"),
        Column::left("COUNT"),
        Column::left("CAME TO"),
    ];
    all.extend(has_rule.then_some(Column::left("RULE").wraps()));
    all.push(Column::left("WHY").wraps());
    let mut table = Table::new(all);
    for Line { texts, .. } in lines {
        let texts = texts.into_iter().enumerate().filter(|(at, _)| has_rule || *at != 5);
        let texts = texts.map(|(_, text)| if is_ascii { ascii(&text) } else { text });
        table.row(texts.map(Cell::new).collect::<Vec<_>>());
    }
    table
}

fn intent(story: &Story, timeline: &Timeline, axis: &Axis) -> Line {
    let mut glasses = timeline.broken_glass.iter();
    let glass = glasses.find(|it| story.authorization_id.as_ref() == Some(&it.authorization_id));
    let mark = if story.authorization_id.is_some() { "!" } else { "" };
    let rule = match glass {
        Some(glass) => format!("{} [{}], {}", rests_on(story), glass.incident, after(glass)),
        None => rests_on(story),
    };
    let texts = [
        format!("{mark}{}", story.intent_revision),
        when(story.at, axis),
        who(story),
        change(story),
        came_to(story),
        rule,
        why(&story.reason, &story.by),
    ];
    Line { at: story.at, texts }
}

fn refusal(refused: &Refused, axis: &Axis) -> Line {
    let texts = [
        "x".to_owned(),
        when(refused.at, axis),
        refused.by.actor.to_string(),
        String::new(),
        refused.code.clone(),
        refused.answer.as_ref().map_or_else(String::new, rules),
        why(&refused.message, &refused.by),
    ];
    Line { at: refused.at, texts }
}

/// A broken glass under which nothing was wished in the span.
fn glass(glass: &Glass, axis: &Axis) -> Line {
    let texts = [
        "!".to_owned(),
        when(glass.at, axis),
        glass.by.actor.to_string(),
        format!("→ {}", glass.desired_replicas),
        "-".to_owned(),
        format!("BROKEN GLASS {} [{}], {}", glass.authorization_id, glass.incident, after(glass)),
        glass.reason.clone(),
    ];
    Line { at: glass.at, texts }
}

fn when(at: Timestamp, axis: &Axis) -> String {
    if axis.until.since(axis.since) > ONE_DAY || !axis.has(at) {
        axis.zone.date_minute(at)
    } else {
        axis.zone.second(at)
    }
}
