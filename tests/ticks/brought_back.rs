//! Section 5.3(2) of the rule book: declared and pinned counts, and what brings them back.

use super::{Fleet, row_of};

#[test]
fn rule_5_3_2_a_static_service_is_brought_back_by_a_wish_of_its_own() {
    let mut fleet = Fleet::plain();
    fleet.world.run("service put web --replicas 5").exits(0);
    fleet.later(1);
    let ran = fleet.world.json("reconcile --static").exits(0);
    assert_eq!(row_of(&ran, "web"), "bring_back succeeded");
    assert_eq!(ran.at("/actions"), 1);
    assert_eq!(ran.at("/converged/0/reason"), "declared 5, 3 run");
    // Only its own half was asked for.
    assert_eq!(fleet.pass("--static"), "nothing: web@1 is succeeded");
    assert_eq!(fleet.pass(""), "observe verified");
    assert_eq!(fleet.pass(""), "nothing: declared 5, and so it is");
    assert_eq!(fleet.intents(), 1);
    let log = fleet.world.json("log --limit 100").exits(0).stdout;
    assert!(log.contains("\"source\": \"reconciler\""), "{log}");
    // Somebody has changed it behind our back.
    fleet.counts(1);
    assert_eq!(fleet.pass(""), "bring_back succeeded");
    assert_eq!(fleet.settle(), 1);
    // A hold is a person's, and so is what waits.
    fleet.counts(2);
    fleet.world.run("hold set web --until 1h --reason r").exits(0);
    assert!(fleet.pass("").contains("holds it until"));
    fleet.world.run("hold lift web --reason r").exits(0);
    fleet.world.run("reconcile --static --max-actions 1").exits(0);
    fleet.settle();
    // What nobody declares stays.
    fleet.world.run("service put web --replicas none").exits(0);
    fleet.counts(1);
    assert_eq!(fleet.pass(""), "nothing: nothing is under way");
}

#[test]
fn rule_5_3_2_policy_gates_a_wish_of_its_own_and_a_persons_proposal_is_never_ended() {
    let source = "context has source && context.source == \"reconciler\"";
    let deny = |actions: &str| {
        format!(
            "@id(\"all\")\npermit(principal, action, resource);\n@id(\"no\")\n\
             @unless(\"approved\")\nforbid(principal, \
             action in [{actions}], resource) when {{ {source} }};\n"
        )
    };
    let mut fleet = Fleet::plain();
    fleet.world.run("service put web --replicas 5").exits(0);
    fleet.policy(&deny("Action::\"scale_up\", Action::\"propose\""));
    fleet.world.json("reconcile").exits(12);
    assert_eq!(fleet.intents(), 0);
    fleet.policy(&deny("Action::\"scale_up\""));
    assert_eq!(fleet.pass(""), "bring_back proposed");
    assert!(fleet.pass("").starts_with("nothing: web@1 waits for a colleague until"));
    assert_eq!(fleet.intents(), 1);

    let mut fleet = Fleet::plain();
    fleet.world.run("service put web --replicas 5").exits(0);
    fleet.policy(
        "@id(\"all\")\npermit(principal, action, resource);\n@id(\"no\")\n\
         @unless(\"approved\")\nforbid(principal, action == Action::\"scale_down\", resource);\n",
    );
    fleet.world.run("intent put web --replicas 1 --key k1 --reason r").exits(13);
    assert!(fleet.pass("").starts_with("nothing: web@1 waits for a colleague"));
    assert_eq!(fleet.state("k1"), "proposed");
}

#[test]
fn rule_5_2_what_is_down_is_not_brought_back_by_a_count() {
    let mut fleet = Fleet::plain();
    fleet.world.run("service put web --replicas 5").exits(0);
    fleet.on_inspect(
        "inspection() { value=\"\\\"target\\\":{\\\"cluster_id\\\":\\\"fake\\\",\\\"runtime_id\\\":\
         \\\"sh\\\",\\\"workload_id\\\":\\\"web\\\",\\\"target_uid\\\":\\\"fake:web\\\",\
         \\\"target_resource_version\\\":\\\"1\\\"},\\\"replicas\\\":3,\\\"ready_replicas\\\":0,\
         \\\"read_at\\\":\\\"$(cat now)\\\",\\\"owners\\\":[]\"; }\n",
    );
    assert_eq!(fleet.pass(""), "nothing: down: none of 3 is ready");
}

/// 4.6: an override's count counts, for a static service and for one that is scaled.
#[test]
fn rule_4_6_an_overrides_count_is_kept_while_it_lasts() {
    for mut fleet in [Fleet::plain(), Fleet::scaled()] {
        fleet.world.run("override set web=4 --until 1h --reason r").exits(0);
        fleet.settle();
        fleet.counts(2);
        fleet.later(1);
        let ran = fleet.world.json("reconcile").exits(0);
        assert_eq!(row_of(&ran, "web"), "bring_back succeeded");
        assert_eq!(ran.at("/converged/0/reason"), "pinned to 4, 2 run");
        fleet.settle();
        // It lasts: what only brought it back has not ended it.
        fleet.counts(3);
        assert_eq!(fleet.pass(""), "bring_back succeeded");
        fleet.settle();
        fleet.later(3600);
        fleet.counts(2);
        assert_eq!(fleet.pass(""), "nothing: nothing is under way");
    }
}

/// Another pass wishes the same between this one's look and its wish: there is one wish.
#[test]
fn rule_5_3_2_a_wish_of_another_pass_is_not_made_twice() {
    let mut fleet = Fleet::plain();
    fleet.world.run("service put web --replicas 5").exits(0);
    fleet.policy(
        "@id(\"all\")\npermit(principal, action, resource);\n@id(\"no\")\n\
         @unless(\"approved\")\nforbid(principal, action == Action::\"scale_up\", resource);\n",
    );
    fleet.meanwhile("reconcile");
    let said = fleet.pass("");
    assert!(said.starts_with("nothing: stale: web is at intent revision 1"), "{said}");
    assert_eq!(fleet.intents(), 1);
    assert_eq!(fleet.state("web@1"), "proposed");
}

/// A count that is kept is kept also before its wish is confirmed: it was read as another one, and
/// then it is brought back. What nobody keeps is told, again and again.
#[test]
fn rule_5_2_3_a_kept_count_that_drifts_before_its_confirmation_is_brought_back() {
    let declared = || {
        let mut fleet = Fleet::plain();
        fleet.world.run("service put web --replicas 5").exits(0);
        fleet.later(1);
        assert_eq!(fleet.pass(""), "bring_back succeeded");
        fleet.counts(2);
        fleet
    };
    let mut fleet = declared();
    fleet.later(1);
    let ran = fleet.world.json("reconcile").exits(23);
    assert_eq!(row_of(&ran, "web"), "observe succeeded", "what is so is told first");
    assert_eq!(fleet.pass(""), "bring_back succeeded");
    assert_eq!(fleet.state("web@1"), "superseded drifted");
    assert_eq!(fleet.pass(""), "observe verified");
    assert_eq!(fleet.pass(""), "nothing: declared 5, and so it is");

    // Whoever only brings back confirms nothing, and finds it by itself.
    let mut fleet = declared();
    fleet.later(1);
    let ran = fleet.world.json("reconcile --static").exits(0);
    assert_eq!(row_of(&ran, "web"), "bring_back succeeded");
    assert_eq!(ran.at("/converged/0/reason"), "declared 5, 2 run");
    assert_eq!(fleet.pass("--static"), "nothing: web@2 is succeeded");

    // It has come back by itself: that confirms it.
    let mut fleet = declared();
    fleet.later(1);
    fleet.world.json("reconcile").exits(23);
    fleet.counts(5);
    assert_eq!(fleet.pass(""), "observe observed");
    assert_eq!(fleet.settle(), 1);
    assert_eq!(fleet.intents(), 1);

    // A hold keeps it where it is, and hides nothing.
    let mut fleet = declared();
    fleet.later(1);
    fleet.world.json("reconcile").exits(23);
    fleet.world.run("hold set web --until 1h --reason r").exits(0);
    fleet.later(1);
    fleet.world.json("reconcile").exits(23).says("nothing but a broken glass brings it back");
    assert_eq!(fleet.intents(), 1);

    // What nothing keeps is a person's to decide about.
    let mut fleet = Fleet::plain();
    fleet.world.run("intent put web --replicas 4 --key k1 --reason r").exits(0);
    fleet.world.run("actuate k1").exits(0);
    fleet.counts(2);
    for _ in 0..2 {
        fleet.later(1);
        fleet.world.json("reconcile").exits(23);
    }
    assert_eq!(fleet.intents(), 1);
}

/// 4.6: the same of a pinned count, whoever scales the service otherwise.
#[test]
fn rule_4_6_a_pin_that_drifts_before_its_confirmation_is_brought_back_and_lasts() {
    let mut fleet = Fleet::scaled();
    fleet.world.run("service put web --readings 5/1m").exits(0);
    fleet.world.run("override set web=4 --until 1h --key k1 --reason r --timeout 1s").exits(19);
    assert_eq!(fleet.state("k1"), "observed");
    fleet.counts(2);
    fleet.later(1);
    fleet.world.json("reconcile").exits(23);
    assert_eq!(fleet.pass(""), "bring_back succeeded");
    fleet.settle();
    assert_eq!(fleet.pass(""), "nothing: pinned to 4, and so it is");
    assert_eq!(fleet.world.json("status").exits(0).at("/services/0/override/replicas"), 4);
}

/// A count that nothing keeps is a person's to bring back (5.2: *executed*, and another count is
/// observed: nothing); so each pass that tells of it says how, and each way ends it.
#[test]
fn rule_5_2_8_a_count_that_nothing_keeps_and_that_drifts_is_told_with_its_ways() {
    for way in 0..2 {
        let mut fleet = Fleet::plain();
        fleet.world.run("scale web=5 --key k1 --reason r --wait=applied").exits(0);
        fleet.counts(2);
        for _ in 0..2 {
            let ran = fleet.world.json("reconcile").exits(23);
            assert_eq!(ran.at("/converged/0/reason"), "read 2, not 5: wish it anew, or adopt it");
            assert_eq!(ran.at("/actions"), 0, "it is nobody's but a person's");
        }
        let ran = fleet.world.json("reconcile").exits(23);
        let next: Vec<Vec<String>> = serde_json::from_value(ran.at("/error/next")).unwrap();
        assert_eq!(next[0][1..3], ["scale", "web=5"]);
        assert_eq!(next[1][1..3], ["adopt", "web"]);
        let observed = fleet.world.json("observe k1").exits(23);
        assert_eq!(observed.at("/error/next"), ran.at("/error/next"));
        let shown = fleet.world.run("status").exits(0).stdout;
        assert!(shown.contains("scalectl explain web@1"), "no wait that cannot end: {shown}");
        let told = fleet.world.run("explain web").exits(0).stdout;
        assert!(told.contains("1  scalectl scale web=5 --reason TEXT"), "{told}");
        let words: Vec<&str> = next[way][1..].iter().map(String::as_str).collect();
        fleet.later(1);
        fleet.world.run_args(&words).exits(0);
        fleet.settle();
        assert_eq!(fleet.pass(""), "nothing: nothing is under way", "{words:?}");
    }
    // Where it is kept, the pass itself is the way.
    let mut fleet = Fleet::plain();
    fleet.world.run("service put web --replicas 5").exits(0);
    fleet.world.run("scale web=5 --key k1 --reason r --wait=applied").exits(0);
    fleet.counts(2);
    let ran = fleet.world.json("observe k1").exits(23);
    assert_eq!(ran.at("/error/next/0/1"), "reconcile");
    assert_eq!(fleet.pass(""), "bring_back succeeded");
}
