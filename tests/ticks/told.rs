//! What a tick came to, for people: in plain words, and later where they look.

use super::Fleet;

#[test]
fn what_the_last_tick_did_is_told_in_plain_words_where_people_look() {
    let mut fleet = Fleet::scaled();
    let told = |fleet: &Fleet, line: &str| fleet.world.run(line).exits(0).stdout;
    let shown = told(&fleet, "status web");
    assert!(shown.contains("by a signal, 10 queue for each replica"), "{shown}");
    assert!(shown.contains("none has used a sample yet"), "{shown}");
    assert!(told(&fleet, "service list").contains("signal queue"));

    assert_eq!(fleet.tick("", 10.0), "skipped: stabilizing down (1/3)");
    let plain = "1 of 3 samples in a row ask for fewer";
    for line in ["status web", "service show web"] {
        let shown = told(&fleet, line);
        assert!(shown.contains(&format!("10 read: 3 → 1, nothing: {plain}")), "{line}: {shown}");
        assert!(shown.contains("scalectl log web --event autoscale_evaluated"), "{line}: {shown}");
    }
    // The same sample again: a person reads what that means, a machine the rule's word.
    let sample = fleet.sample("web", 10.0);
    let line = "autoscale --signals -";
    let document = super::document(&[sample]);
    let ran = fleet.world.run_with(line, document.as_bytes()).exits(0);
    let plain = "the sample is no newer than the last one that was used";
    assert!(ran.stdout.contains(plain), "{ran:#?}");
    let ran = fleet.world.run_with(&format!("-o json {line}"), document.as_bytes()).exits(0);
    assert_eq!(ran.at("/evaluations/0/reason"), "no data: consumed");

    // A count that a person moves is told to be the signal's.
    let ran = fleet.world.run("intent put web --replicas 5 --key k1 --reason r").exits(0);
    ran.says("web is scaled by its signal queue: the next autoscale may wish another count");
}

#[test]
fn signals_that_cannot_be_read_lead_to_what_is_to_be_mended() {
    let fleet = Fleet::scaled();
    for (line, mend) in [
        ("autoscale --provider -- /nowhere/signals", "run the command after -- by hand"),
        ("autoscale --signals nowhere.json", "write the samples there"),
    ] {
        let ran = fleet.world.json(line).exits(25);
        assert_eq!(ran.at("/error/code"), "signals_unreadable");
        let hint = ran.at("/error/hint");
        assert!(hint.as_str().is_some_and(|hint| hint.contains(mend)), "{ran:#?}");
        let again = ran.at("/error/next/0");
        let again: Vec<&str> =
            again.as_array().expect("words").iter().filter_map(|word| word.as_str()).collect();
        assert_eq!(again.join(" "), format!("scalectl -o json {line}"));
    }
}
