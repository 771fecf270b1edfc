//! The way of one wish, whole: the transcript that the README promises.

use crate::support::World;

#[test]
fn the_transcript_of_the_readme_works_as_typed() {
    let world = World::with_local();
    let put =
        world.json("intent put web --replicas 3 --expect-revision 0 --key k1 --reason launch");
    let put = put.exits(0);
    assert_eq!(put.at("/intent/intent_revision"), 1);
    assert_eq!(put.at("/execution/state"), "accepted");
    world.run("lease acquire --key k1 --controller ops").exits(0);
    let actuated = world.json("actuate --key k1 --controller ops").exits(0);
    assert_eq!(actuated.at("/execution/state"), "succeeded");
    assert_eq!(actuated.at("/applied"), "yes");
    let observed = world.json("observe --key k1").exits(0);
    assert_eq!(observed.at("/execution/state"), "verified");
    assert_eq!(observed.at("/observation/status"), "converged");
    world.run("scale web=1 --reason less --wait").exits(0);
    world.run("verify").exits(0);
}
