//! What is over, or stale by the time of the call, or in a state that nobody knows: answered, told,
//! and never called.

use super::Fleet;

/// The keys that were called.
fn called(fleet: &Fleet) -> Vec<String> {
    let calls = fleet.world.fake_log("calls");
    calls.iter().map(|call| call.split(' ').next().expect("a key").to_owned()).collect()
}

/// Section 5.4 (9): every step on a key that is over is the stored answer, with its own exit.
#[test]
fn rule_5_4_9_what_is_over_is_answered_by_every_verb_and_called_by_none() {
    for (script, prepare, exits) in [
        ("ok", "scale web=5 --key k1 --reason r", [0, 0, 0]),
        ("fail terminal no", "scale web=5 --key k1 --reason r", [17, 17, 17]),
        ("ok", "actuate k1 --simulate", [10, 10, 0]),
        ("ok", "intent withdraw k1", [10, 10, 10]),
        ("ok", "intent put web --replicas 6 --key k2 --reason r", [10, 10, 10]),
    ] {
        let mut fleet = Fleet::plain();
        fleet.world.script(&[script]);
        fleet.wish(5, "k1");
        fleet.world.run(prepare);
        let (state, before) = (fleet.state("k1"), called(&fleet));
        let mut told = Vec::new();
        for line in ["actuate k1", "scale web=5 --key k1 --reason r", "replay k1"] {
            fleet.later(1);
            told.push(fleet.world.json(line).code.expect("an exit"));
            assert_eq!(fleet.state("k1"), state, "{prepare}: {line}");
            assert_eq!(called(&fleet), before, "{prepare}: {line}: it was called again");
        }
        assert_eq!(told, exits, "{prepare}");
        fleet.settle();
        let own = |keys: &[String]| keys.iter().filter(|key| *key == "k1").count();
        assert_eq!(own(&called(&fleet)), own(&before), "{prepare}: it was called by a pass");
        assert_eq!(fleet.state("k1"), state, "{prepare}");
    }
}

/// Section 5.2 (6): nothing of these is carried out, whatever runs.
#[test]
fn rule_5_2_6_what_was_refused_ended_or_is_verified_is_left_as_it_is() {
    let asks = "@id(\"all\")\npermit(principal, action, resource);\n@id(\"no\")\n\
                @unless(\"approved\")\n\
                forbid(principal, action == Action::\"scale_up\", resource);\n";
    // A colleague has said no.
    let mut fleet = Fleet::plain();
    fleet.policy(asks);
    fleet.world.run("intent put web --replicas 5 --key k1 --reason r").exits(13);
    fleet.world.be("bob:4242");
    fleet.world.run("approval deny web@1 --reason r").exits(0);
    fleet.world.be_oneself();
    assert_eq!(fleet.pass(""), "nothing: nothing is under way");
    assert_eq!(fleet.state("k1"), "rejected");
    assert!(called(&fleet).is_empty());

    // A newer wish has ended it: that one is carried out, and this one never is.
    let mut fleet = Fleet::plain();
    fleet.wish(5, "k1");
    fleet.wish(6, "k2");
    assert_eq!(fleet.state("k1"), "superseded");
    fleet.settle();
    assert_eq!(
        (called(&fleet), fleet.state("k1")),
        (vec!["k2".to_owned()], "superseded".to_owned())
    );

    // It was verified, and the count has moved since: nobody declares it.
    fleet.counts(1);
    assert_eq!(fleet.pass(""), "nothing: nothing is under way");
    assert_eq!((called(&fleet).len(), fleet.state("k2")), (1, "verified converged".to_owned()));

    // It was taken back, or its service is over.
    let mut fleet = Fleet::plain();
    fleet.wish(5, "k1");
    fleet.world.run("intent withdraw k1").exits(0);
    assert_eq!(fleet.pass(""), "nothing: nothing is under way");
    fleet.wish(5, "k2");
    fleet.world.run("service retire web --reason r").exits(0);
    assert_eq!(fleet.pass(""), "nothing: it is retired");
    assert!(called(&fleet).is_empty());
}

/// Section 5.3 (3): whatever makes it stale between the look of a pass and its start.
#[test]
fn rule_5_3_3_whatever_makes_it_stale_keeps_it_from_being_called() {
    for (meanwhile, state) in [
        ("intent withdraw k1", "withdrawn"),
        ("intent put web --replicas 6 --key k2 --reason r", "superseded"),
        ("intent put web --replicas 5 --key k2 --reason r", "superseded"),
        ("service put web --max 9", "accepted"),
        ("service put web --writer other", "accepted"),
        ("hold set web --until 1h --reason r", "accepted"),
        ("service mode web hpa --owner them --reason r", "withdrawn"),
        ("service retire web --reason r", "withdrawn"),
    ] {
        let mut fleet = Fleet::plain();
        fleet.wish(5, "k1");
        fleet.meanwhile(meanwhile);
        let said = fleet.pass("");
        assert!(called(&fleet).is_empty(), "{meanwhile}: {said}");
        assert_eq!(fleet.state("k1"), state, "{meanwhile}: {said}");
        assert!(fleet.world.fake_dir().join("done").exists(), "{meanwhile} was not run");
    }
    // The count has moved: what was wished from another one is not carried out either.
    let mut fleet = Fleet::plain();
    fleet.wish(5, "k1");
    fleet.counts(4);
    fleet.later(1);
    fleet.world.json("reconcile").exits(10);
    assert!(called(&fleet).is_empty());
}

/// Section 5.2 (10): a state that nobody knows is damage or a newer program's, and is told as that.
#[test]
fn rule_5_2_10_a_state_that_nobody_knows_is_told_and_not_acted_upon() {
    crate::support::postgres::sqlite_only!("the row is written by hand");
    let mut fleet = Fleet::plain();
    fleet.wish(5, "k1");
    let ledger = rusqlite::Connection::open(fleet.world.ledger()).expect("a database");
    let sql = "UPDATE execution SET document = replace(document, 'accepted', 'dreamt_of')";
    assert_eq!(ledger.execute(sql, []).expect("changed"), 1);
    drop(ledger);
    fleet.later(1);
    for line in ["reconcile", "actuate k1", "replay k1"] {
        let ran = fleet.world.json(line).exits(21);
        assert_eq!(ran.at("/applied"), "no", "{line}");
        assert!(ran.stderr.contains("dreamt_of"), "{line}: {ran:#?}");
    }
    assert!(called(&fleet).is_empty());
}
