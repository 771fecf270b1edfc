//! What is laid upon a service, and whose its count is, is not got rid of by the way: by whoever
//! may register, and may neither hold nor pin nor hand over.

use super::script::run;

/// Another target: another name, and another object under it.
const ELSEWHERE: &str = "set workload=other\n recreate uid-2\n register";
const PINNED: &str = "put a 5 pin=3600 source=override\n start a\n ok a\n observe a\n";

/// docs/decisions/0032: a service may take another target, and then its old one is free.
#[test]
fn no_target_is_left_under_a_hold_or_a_pin() {
    run("", &format!("{ELSEWHERE} : done"));
    run("", &format!("hold 1h\n {ELSEWHERE} : on_hold\n lift\n register : done"));
    run("", &format!("hold 1h\n {ELSEWHERE} : on_hold\n wait 1h\n register : done"));
    run("", &format!("{PINNED} {ELSEWHERE} : pinned\n unpin\n register : done"));
    run("", &format!("{PINNED} wait 1h\n {ELSEWHERE} : done"));
    // What stays where it is may be set otherwise.
    run(
        "",
        &format!("hold 1h\n {PINNED}").replace("put a 5", "put a 5 : on_hold\n lift\n put a 5"),
    );
    run(
        "",
        "hold 1h\n set max=20\n register : done\n set workload=deployment/web\n register : done",
    );
}

/// design, section 7, *override*: whoever may register may end no pin.
#[test]
fn a_pin_is_ended_knowingly_or_by_its_time() {
    run("", &format!("{PINNED} retire : pinned\n unpin : done\n retire : done"));
    run("", &format!("{PINNED} retire : pinned\n wait 1h\n retire : done"));
    run("", &format!("{PINNED} set deny=override\n retire : pinned\n unpin : denied"));
    run("", &format!("{PINNED} hand-over external_hpa : pinned\n unpin\n hand-over external_hpa"));
    run("", "hold 1h\n hand-over external_hpa : on_hold\n lift\n hand-over external_hpa : done");
    // What is so already is told, whatever is laid upon it.
    run("", &format!("{PINNED} hand-over native : unchanged"));
}

/// An object that somebody else drives is taken over by a hand-over, which asks who drives it.
#[test]
fn what_somebody_else_owns_is_neither_left_nor_taken_by_a_move() {
    run(
        "mode=external_hpa",
        &format!("{ELSEWHERE} : external_owner\n hand-over native : target_changed"),
    );
    run(
        "mode=external_hpa",
        "hand-over native : done\n set mode=native workload=other\n recreate uid-2\n
         register found=hpa : still_owned\n register : done",
    );
    // A service of theirs that is new, or that is theirs already, names them.
    run("unregistered mode=external_hpa", "permit\n register found=hpa : done");
    // The end of the service is no way around.
    run("mode=external_hpa", &format!("retire : done\n {ELSEWHERE} : external_owner"));
    run(
        "mode=external_hpa",
        "retire : done\n set mode=native\n register : mode_mismatch\n set mode=external_hpa
         register : done\n hand-over native : done",
    );
}

/// docs/decisions/0058: the word upon a target is upon whatever has its name.
#[test]
fn no_recreated_object_is_taken_past_what_is_laid_upon_its_name() {
    const MAKE: &str = "unregistered";
    for (laid, over) in [("held", ""), ("pinned", ""), ("owned", ""), ("owned", " over")] {
        let refused = format!("namesake={laid}{over} : workload_taken");
        // A new service, one that moves there, and one that is bound to the new object.
        run(MAKE, &format!("permit\n register {refused}\n register : done"));
        run("", &format!("{ELSEWHERE} {refused}\n register : done"));
        run("", &format!("recreate uid-2\n bind accept=uid-2 {refused}\n bind accept=uid-2"));
        run("blind", &format!("recreate uid-2\n register accept=uid-2 {refused}"));
        // One that has had it all along stays, and is set otherwise; one that was over is new.
        run("", &format!("set max=20\n register namesake={laid}{over} : done"));
        run("", &format!("retire\n register {refused}\n register : done"));
    }
    // Nothing is laid upon it, or not any more.
    run(MAKE, "permit\n register namesake=free : done");
    run("", "recreate uid-2\n bind accept=uid-2 namesake=free : done");
    // The object itself comes first.
    run(MAKE, "permit\n register holder=old namesake=held : target_taken");
}

/// docs/decisions/0059: what nobody can read is another object by a person's word, and nothing else
/// of the service is changed by it.
#[test]
fn another_object_that_nobody_can_read_is_accepted_by_its_uid() {
    let said = "set blind uncounted\n recreate uid-2\n register";
    run("", &format!("{said} : target_changed\n register accept=uid-9 : target_changed"));
    run("", &format!("{said} accept=uid-2 : done\n register : unchanged"));
    run("", &format!("hold 1h\n {said} accept=uid-2 : done\n put a 5 : on_hold"));
    run("mode=external_hpa", &format!("{said} accept=uid-2 : done"));
    run("", &format!("put a 5\n start a\n {said} accept=uid-2 : in_flight"));
    run("", "set deny=register blind\n recreate uid-2\n register accept=uid-2 : denied");
    // It is for the same name only.
    run("", "hold 1h\n set workload=other\n recreate uid-2\n register accept=uid-2 : on_hold");
}
