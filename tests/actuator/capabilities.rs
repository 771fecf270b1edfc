//! What a command can beside what it is registered with.

use super::binding::serviced;

/// A newer program of the same name can more: it is bound, and what is not registered is not used.
#[test]
fn a_command_that_can_more_is_bound_and_the_line_that_registers_it_is_told() {
    let world = serviced();
    world.write("fake/capabilities", "inspect\nlookup\ndiscover\n");
    let events = world.events();
    let ran = world.json("actuator bind mine -- ./mine.sh").exits(0);
    assert_eq!(world.events(), events, "a binding is the host's, not the ledger's");
    assert_eq!(ran.at("/warnings/0/code"), "more_capabilities");
    let text = ran.at("/warnings/0/message").as_str().unwrap().to_owned();
    assert!(text.starts_with("the command declares lookup, discover, and mine"), "{text}");
    world.script(&["die-after"]);
    world.run("actuate k1 --controller ops").exits(16);
    world.run("replay k1").exits(18);
    assert_eq!(world.fake_log("lookup").len(), 0, "it is not registered as one that looks up");
    world.run("intent abandon k1 --reason over").exits(0);
    let line = text.split_once("scalectl ").expect("a line").1;
    world.run(line).exits(0);
    let ran = world.json("actuator bind mine -- ./mine.sh").exits(0);
    assert_eq!(ran.at("/warnings"), serde_json::json!([]));
}

/// A list of what could be scaled is no promise that a call rests on.
#[test]
fn what_can_list_by_now_is_registered_while_a_call_is_in_flight() {
    let world = serviced();
    world.script(&["fail retryable later"]);
    world.run("actuate k1 --controller ops").exits(18);
    world.write("fake/capabilities", "inspect\nlookup\n");
    world.run("actuator put mine -- ./mine.sh").exits(11);
    world.write("fake/capabilities", "inspect\ndiscover\n");
    world.run("actuator put mine -- ./mine.sh").exits(0);
}
