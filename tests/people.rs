//! People: who may answer, who is known by what, what is counted before a yes, and the glass that
//! is broken at night.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod counts;
mod evidence;
mod glass;
mod group;
mod hands;
mod journeys;
mod leave;
mod policies;
mod recipe;
mod settings;
mod signatures;
mod upon;

use crate::support::World;

/// Small steps up need nobody; everything else is proposed and answered.
const TWO_PERSON: &str = r#"
@id("up") permit (principal, action == Action::"scale_up", resource is Service);
@id("ask")
permit (principal, action in [Action::"propose", Action::"approve"], resource is Service);
@id("night")
permit (principal, action in [Action::"break_glass", Action::"settle"], resource is Service);
@id("admin")
permit (
  principal,
  action in [Action::"register", Action::"set_policy", Action::"administer"],
  resource is Ledger
);
"#;

/// Makes a policy hold.
#[track_caller]
fn hold(world: &World, text: &str) {
    world.write("rules.cedar", text);
    world.run("policy put rules.cedar --reason test").exits(0);
}

/// The fake actuator, `web` at 5 replicas, and a policy of two persons.
pub(crate) fn two_persons(mut world: World) -> World {
    world.init_fake();
    world.run(&format!("{} --backoff 0s", crate::support::SERVICE)).exits(0);
    world.be("ci:1001");
    world.run("scale web=5 --reason begin --timeout 20s").exits(0);
    hold(&world, TWO_PERSON);
    world
}
