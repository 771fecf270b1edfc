//! What a policy may rest on, what another one would change, and why it was put.

use super::{hold, two_persons};
use crate::support::World;

const ADMIN: &str = "@id(\"admin\")\npermit (principal, action in [Action::\"register\", \
                     Action::\"set_policy\", Action::\"administer\"], resource is Ledger);\n";

#[test]
fn why_a_policy_was_put_is_recorded_and_may_be_asked_for() {
    let world = World::with_fake();
    let demands = "@id(\"with-a-ticket\")\npermit (principal, action in [Action::\"set_policy\", \
                   Action::\"administer\"], resource is Ledger)\n\
                   when { context has reason && context.reason like \"OPS-*\" };\n";
    world.write("rules.cedar", demands);
    // Whoever could not replace it with the same reason is told.
    world.run("policy put rules.cedar --reason because").exits(2).says("policy_lockout");
    world.run("policy put rules.cedar --reason OPS-1").exits(0);
    let log = world.json("log --event policy_set").exits(0);
    let events = log.at("/events");
    let last = events.as_array().unwrap().last().unwrap();
    assert_eq!(last["body"]["reason"], "OPS-1");
    world.run("policy put all.cedar --reason because").exits(12);
    world.run("policy put all.cedar --reason OPS-2").exits(0);
    world.run("verify").exits(0);
}

#[test]
fn a_rule_may_rest_on_the_role_of_the_server() {
    let world = World::on_postgres();
    world.init_fake();
    world.run(crate::support::SERVICE).exits(0);
    let rule = |role: &str| {
        format!(
            "{ADMIN}@id(\"role\")\npermit (principal, action, resource is Service)\n\
             when {{ context has db_role && context.db_role == \"{role}\" }};\n"
        )
    };
    hold(&world, &rule("somebody"));
    world.run("intent put web --replicas 1 --key k1 --reason r").exits(12);
    hold(&world, &rule("scalectl"));
    world.run("intent put web --replicas 1 --key k1 --reason r").exits(0);
}

/// Where there is no server, there is no role: the member is absent, and the rule does not apply.
#[test]
fn without_a_server_there_is_no_role() {
    crate::support::postgres::sqlite_only!("here there is one");
    let world = World::with_fake();
    hold(
        &world,
        &format!(
            "{ADMIN}@id(\"role\")\npermit (principal, action, resource is Service)\n\
             when {{ context has db_role }};\n"
        ),
    );
    world.run("intent put web --replicas 1 --key k1 --reason r").exits(12);
}

/// A window over midnight, its end not included.
#[test]
fn a_window_turns_at_its_minutes() {
    let mut world = World::with_fake();
    let window = world.run("policy template window").exits(0);
    hold(&world, &window.stdout);
    for (at, exit) in [
        ("2026-01-05T22:29:59.999999Z", 12),
        ("2026-01-05T22:30:00Z", 0),
        ("2026-01-06T00:00:00Z", 0),
        ("2026-01-06T05:14:59.999999Z", 0),
        ("2026-01-06T05:15:00Z", 12),
    ] {
        world.still(at);
        world.run("policy test web=3 --current 1").exits(exit);
    }
}

#[test]
fn what_another_policy_would_change_is_told_before_it_holds() {
    let world = two_persons(World::new());
    world.run("scale web=2 --key down --reason nightly").exits(13);
    world.run("intent withdraw web@latest --reason enough").exits(0);
    world.run("policy diff rules.cedar").exits(0);
    let before = world.events();
    let strict = "@id(\"up\") permit (principal, action == Action::\"scale_up\", \
                  resource is Service) when { context.desired <= 4 };\n\
                  @id(\"down\") permit (principal, action == Action::\"scale_down\", \
                  resource is Service);\n";
    world.write("strict.cedar", format!("{strict}{ADMIN}"));
    let ran = world.json("policy diff strict.cedar").exits(26);
    assert_eq!(ran.at("/error/code"), "policy_differs");
    let rules = ran.at("/rules");
    let change = |id: &str| {
        let row = rules.as_array().unwrap().iter().find(|rule| rule["id"] == id);
        row.map_or_else(String::new, |row| row["change"].as_str().unwrap().to_owned())
    };
    assert_eq!((change("up"), change("down")), ("changed".into(), "added".into()), "{ran:#?}");
    assert_eq!((change("ask"), change("admin")), ("removed".into(), "changed".into()), "{ran:#?}");
    let decisions = ran.at("/decisions");
    let said: Vec<(&str, &str)> = decisions
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["before"].as_str().unwrap(), row["after"].as_str().unwrap()))
        .collect();
    // The proposal of a shrink, and the first wish, which was for five.
    assert_eq!(said, [("proposed", "allowed"), ("allowed", "denied")], "{ran:#?}");
    let newest = world.json("policy diff strict.cedar --last 1").exits(26);
    assert_eq!(newest.at("/decisions").as_array().unwrap().len(), 1);
    let shown = world.run("policy diff strict.cedar").exits(26);
    assert!(shown.stdout.contains("web 5 → 2"), "{shown:#?}");
    assert_eq!(world.events(), before, "nothing is written");
    // A forbid that leaves no last word is final, as the gate has it.
    let all = "@id(\"all\") permit (principal, action, resource);\n";
    let never = "@id(\"no\") forbid (principal, action == Action::\"scale_down\", resource);\n";
    world.write("final.cedar", format!("{all}{never}"));
    let ran = world.json("policy diff final.cedar").exits(26);
    let of = |at: &str| ran.at(at);
    assert_eq!(
        (of("/decisions/0/before"), of("/decisions/0/after")),
        ("proposed".into(), "denied".into())
    );
    // The line that it suggests is refused once another policy holds.
    let digest = ran.at("/digests/before");
    hold(&world, ADMIN);
    let stale = ["policy", "put", "strict.cedar", "--reason", "r", "--expect-digest"];
    world.run_args(&[&stale[..], &[digest.as_str().unwrap()]].concat()).exits(10);
}

/// What cannot be evaluated is no, whatever else would say yes, and whichever way round.
#[test]
fn any_rule_that_cannot_be_evaluated_is_a_no() {
    let overflow = "context.desired * 9223372036854775807 == 2";
    for effect in ["permit", "forbid"] {
        let world = World::with_fake();
        hold(
            &world,
            &format!(
                "@id(\"all\")\npermit (principal, action, resource);\n@id(\"odd\")\n{effect} \
                 (principal, action == Action::\"scale_up\", resource is Service)\n\
                 when {{ {overflow} }};\n"
            ),
        );
        let ran = world.json("intent put web --replicas 3 --key k1 --reason r").exits(12);
        assert!(ran.stderr.contains("odd"), "{effect}: {ran:#?}");
        // Neither may it be proposed, although another rule would let it.
        world.run("intent show k1").exits(24);
    }
}
