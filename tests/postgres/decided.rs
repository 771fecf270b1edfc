//! What is decided about the ledger itself is decided by the policy that holds when it is written.

use super::{ended, with_fake};

/// A policy that lets nobody change the ledger any more, in front of a command that was begun while
/// everybody might.
#[test]
fn a_policy_that_was_replaced_meanwhile_decides() {
    let fake = crate::support::fake_actuator();
    let fake = fake.to_str().expect("UTF-8");
    let put = "policy put other.cedar --reason r";
    let register = format!("actuator put fake --timeout 6s -- /bin/sh {fake}");
    let mut wrong = Vec::new();
    for line in [
        put,
        register.as_str(),
        "restore --in-place --reason r",
        "ledger copy --to moved.db --reason r",
    ] {
        let world = with_fake();
        world.write(
            "less.cedar",
            "@id(\"most\")\npermit(principal, action, resource) unless {\n\
             [Action::\"administer\", Action::\"set_policy\", Action::\"register\"]\
             .contains(action) };\n",
        );
        world.write("other.cedar", "@id(\"other\")\npermit(principal, action, resource);\n");
        let waiting = |count: usize| {
            let waits = |stream| world.schema().waiting_for(stream);
            world.until("they wait", || waits("policy") + waits("registry") >= count);
        };
        let held = world.schema().hold(&["policy"]);
        let less = "policy put less.cedar --allow-lockout --reason r --lock-timeout 20s";
        let first = world.start(less);
        waiting(1);
        let second = world.start(&format!("-o json --lock-timeout 20s {line}"));
        waiting(2);
        drop(held);
        ended(first, less).exits(0);
        let ran = ended(second, line);
        world.run("verify").exits(0);
        let newest = world.sql("SELECT kind FROM event ORDER BY position DESC LIMIT 1");
        // Nothing came after the policy that refuses it.
        let is_refused = ran.code == Some(12) && ran.at("/recorded") == "no";
        if !is_refused || newest != "policy_set" {
            wrong.push(format!("{line}: {newest}: {ran:#?}"));
        }
    }
    assert!(wrong.is_empty(), "{} of 4: {}", wrong.len(), wrong.join("\n"));
}
