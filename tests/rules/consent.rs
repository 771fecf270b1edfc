//! Answers to proposals beside simulations, pins and leases.

use scalectl::domain::scale::consent::{ApprovalStatus, approval_status};

use super::script::run;

const ASKED: &str = "put a 2 within=24h\n person bob\n";

/// Nobody was called for a simulation, so what was agreed to is not done.
#[test]
fn an_approval_is_used_by_what_was_carried_out_and_by_nothing_else() {
    use ApprovalStatus::{Denied, Ended, Expired, Granted, Pending, Used};
    let rows = [
        ("", Pending),
        ("wait 24h", Expired),
        ("deny-it a", Denied),
        ("grant a", Granted),
        ("grant a\n simulate a", Ended),
        ("grant a\n start a", Granted),
        ("grant a\n start a\n fail a", Granted),
        ("grant a\n start a\n lose a", Granted),
        ("grant a\n start a\n fatal a", Ended),
        ("grant a\n start a\n fail a\n person ann\n abandon a", Ended),
        ("grant a\n start a\n ok a", Used),
        ("grant a\n start a\n ok a\n observe a", Used),
        ("grant a\n start a\n ok a\n person ann\n put b 5", Used),
        ("grant a\n person ann\n withdraw a", Ended),
        ("person ann\n put b 5", Ended),
    ];
    for (then, status) in rows {
        let world = run("deny=scale_down", &format!("{ASKED}{then}"));
        let found = approval_status(world.execution("a"), world.now);
        assert_eq!(found, Some(status), "{then}");
    }
    let world = run("", "put a 2");
    assert_eq!(approval_status(world.execution("a"), world.now), None, "it never waited");
}

/// A grant would know nothing of the pin: what waits for a colleague pins nothing meanwhile.
#[test]
fn a_pinned_wish_does_not_wait_for_a_colleague() {
    let pinned = "put a 2 pin=3600 source=override within=24h";
    run("deny=scale_down", &format!("{pinned} : denied"));
    run("deny=override", &format!("{pinned} : denied"));
    run("", &format!("{pinned} : done accepted"));
}

#[test]
fn a_grant_does_not_end_what_is_about_to_start() {
    let held = "put a 5\n put b 2 within=24h : done proposed\n acquire a\n person bob\n";
    run("deny=scale_down", &format!("{held} grant b : held\n is a accepted\n is b proposed"));
    run(
        "deny=scale_down",
        &format!("{held} release a\n grant b : done accepted\n is a superseded"),
    );
    run("deny=scale_down", &format!("{held} wait 61s\n grant b : done accepted"));
    // A no ends nothing.
    run("deny=scale_down", &format!("{held} deny-it b : done rejected\n is a accepted"));
}
