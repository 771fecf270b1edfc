//! What a service is wished to be, and whether it still is (design, sections 3 and 8).

use super::script::run;

#[test]
fn the_current_count_is_that_of_the_highest_accepted_wish_and_no_simulation() {
    run("", "put a 5\n put b 6\n current 6\n withdraw b : done\n current 6\n wanted none");
    run("", "put a 5\n put b 6\n simulate b\n current 5\n put c 7\n simulate c\n current 5");
    run("", "put a 5 dry\n current none\n simulate a\n current none\n put b 6\n current 6");
    run(
        "",
        "put a 5\n start a\n put b 6 queue\n wanted 6\n withdraw b\n wanted 5\n current 6
         put c 7 queue\n wanted 7\n withdraw c\n wanted 5\n current 7",
    );
    run("", "put a 5\n start a\n ok a\n observe a\n put b 6\n withdraw b\n wanted 5\n current 6");
}

#[test]
fn drift_is_marked_on_the_newest_only_and_cleared_by_a_match() {
    run(
        "",
        "put a 5\n start a\n ok a\n observe a : done verified(converged)
         target 4\n observe a : replayed verified(converged)!
         target 5\n observe a : replayed verified(converged)
         put b 6\n start b\n ok b\n observe b
         observe a : replayed verified(converged)",
    );
}
