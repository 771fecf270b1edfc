//! The way on of a wish: every standing has one, and what nothing can carry on is ended.

use scalectl::domain::scale::next::{Next, next_of};
use scalectl::domain::scale::standing::EndedBy;

use super::script::run;

const fn word(next: Next) -> &'static str {
    match next {
        Next::Over => "over",
        Next::EndStranded(EndedBy::Withdraw) => "withdraw, stranded",
        Next::EndStranded(EndedBy::Abandon) => "abandon, stranded",
        Next::Answer => "answer",
        Next::Unanswered => "unanswered",
        Next::Start => "start",
        Next::FenceOver => "fence over",
        Next::CallEnds => "call ends",
        Next::FindOut { is_quiet: false, .. } => "find out",
        Next::FindOut { is_quiet: true, .. } => "find out, quiet",
        Next::Settle => "settle",
        Next::Retry { .. } => "retry",
        Next::Overtaken { .. } => "overtaken",
        Next::Confirm => "confirm",
        Next::Drifted => "drifted",
    }
}

#[test]
fn every_standing_has_its_way_on() {
    for (settings, script, next) in [
        ("", "put a 5", "start"),
        ("", "put a 5 valid=1m\n wait 59s", "start"),
        ("", "put a 5 valid=1m\n wait 1m", "fence over"),
        ("", "put a 5\n set max=9\n register", "withdraw, stranded"),
        ("deny=scale_up", "put a 5 within=1h", "answer"),
        ("deny=scale_up", "put a 5 within=1h\n wait 1h", "unanswered"),
        ("", "put a 5\n start a", "call ends"),
        ("", "put a 5\n start a\n lose a", "find out"),
        ("", "put a 5\n start a\n lose a\n wait 60s", "find out, quiet"),
        ("", "put a 5\n start a\n lose a\n wait 60s\n target 4\n settle a reading", "settle"),
        ("on_unknown=halt", "put a 5\n start a\n lose a", "find out"),
        ("on_unknown=halt", "put a 5\n start a\n lose a\n wait 60s", "settle"),
        ("", "put a 5\n start a\n fail a", "retry"),
        ("", "put a 5\n start a\n fail a\n put b 6 queue", "overtaken"),
        ("", "put a 5\n start a\n fail a\n put b 6 queue\n withdraw b", "retry"),
        ("", "put a 5\n start a\n fatal a", "over"),
        ("readings=2", "put a 5\n start a\n ok a", "confirm"),
        ("readings=2", "put a 5\n start a\n ok a\n target 4\n observe a", "drifted"),
        (
            "readings=2",
            "put a 5\n start a\n ok a\n target 4\n observe a\n target 5\n observe a\n observe a",
            "over",
        ),
        ("readings=3", "put a 5\n start a\n ok a\n observe a", "confirm"),
        ("readings=2", "put a 5\n start a\n ok a\n observe a", "over"),
        ("", "put a 5\n withdraw a", "over"),
        ("", "put a 5\n put b 6", "over"),
    ] {
        let world = run(settings, &script.replace('\n', " : ?\n"));
        let told = next_of(world.execution("a"), &world.state.head, world.now);
        assert_eq!(word(told), next, "{script}");
    }
}
