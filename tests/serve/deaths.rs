//! Deaths of a server at its commits.

use super::client::{Server, post_of};
use super::operation_of;
use crate::gateway::{observed, operation, world};

/// How many operations come at once.
const TOGETHER: usize = 6;

#[test]
fn a_server_that_dies_at_a_commit_leaves_operations_that_are_answered_or_judged() {
    for point in ["before_commit#2", "after_commit#2"] {
        let mut world = world();
        let mark = world.path("mark");
        world.set("SCALECTL_TEST_CRASH", point);
        world.set("SCALECTL_TEST_CRASH_MARK", mark.to_str().unwrap());
        let mut server = Server::start(&world, &["--pool", "1000"]);
        server.post("api", operation("a", 0, 0, 2)).is(200);
        let operations: Vec<_> = (0..TOGETHER)
            .map(|number| operation_of(&format!("s{number}"), &format!("op-{number}"), 0, 0, 3))
            .collect();
        let mut clients: Vec<_> = operations.iter().map(|_| server.client()).collect();
        for (number, (client, operation)) in clients.iter_mut().zip(&operations).enumerate() {
            // It may be dead before the last one is written.
            let _ = client.write(&post_of(&format!("s{number}"), &operation.to_string()));
        }
        let answered = clients.iter_mut().filter_map(|client| client.read(false).ok()).count();
        assert!(answered < TOGETHER, "{point}: {answered} were answered");
        assert_eq!(server.ended().code, None, "{point}");
        assert!(mark.exists(), "{point}: it did not die there");
        world.unset("SCALECTL_TEST_CRASH").unset("SCALECTL_TEST_CRASH_MARK");
        let there = (0..TOGETHER).filter(|it| observed(&world, &format!("s{it}")).0 == 3).count();
        assert_eq!(there > 0, point.starts_with("after"), "{point}: {there} are there");
        let mut server = Server::start(&world, &["--pool", "1000"]);
        for (number, operation) in operations.iter().enumerate() {
            let told = server.post(&format!("s{number}"), operation).is(200);
            assert_eq!(told["revision"], "1", "{point}");
        }
        let log = world.run("log --limit 1000").exits(0).stdout;
        assert_eq!(log.matches("intent_accepted").count(), TOGETHER + 1, "{point}: {log}");
        world.run("verify").exits(0);
    }
}
