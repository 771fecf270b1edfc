//! Operations: the order of their steps, who may do them, and the way back.
//!
//! Source: facts/placement.md, sections 5 and 6.

use scalectl::domain::placement::command::{Command, StepEnd};
use scalectl::domain::placement::operation::{Course, Step, Trouble};
use scalectl::domain::placement::protocol::{Refusal, WorkspaceState};
use scalectl::domain::scale::result::Detail;
use scalectl::domain::time::DurationMs;

use super::receipts::{inventory, receipt_of, refused_with};
use super::world::World;
use crate::rules::support::id;
use scalectl::domain::id::{FenceToken, OperationId};

fn moving() -> (World, OperationId, FenceToken) {
    let mut world = World::new();
    world.adopt("shop", "a1", "small");
    let operation = world.change("k1", "shop", "location=b").expect("room");
    let token = world.lease_as(&operation, false).expect("a lease");
    (world, operation, token)
}

fn full() -> Refusal {
    let (cell, needed_bytes, limit_bytes, used_bytes) = (id("b1"), 9, 5, 4);
    let missing_bytes = 8;
    Refusal::CapacityExhausted { cell, needed_bytes, limit_bytes, used_bytes, missing_bytes }
}

fn fail(world: &mut World, operation: &OperationId, token: FenceToken, refusal: Refusal) -> Course {
    let step = world.start(operation, token).expect("it starts");
    world.end(operation, token, step, refused_with(refusal)).expect("it is recorded");
    world.operation(operation).course
}

#[test]
fn a_move_goes_in_the_one_order_and_commits_one_epoch_further() {
    use Step::{Commit, Drain, Fence, Inventory, Retire, Route, Transfer, Verify};
    let (mut world, operation, token) = moving();
    let order = [Inventory, Drain, Fence, Transfer, Verify, Commit, Route, Retire];
    assert_eq!(world.operation(&operation).steps, order);
    for step in order {
        let before = world.env("shop").effective.clone();
        assert_eq!(world.until(&operation, token, Some(step)), [step]);
        let after = world.env("shop").effective.clone();
        assert_eq!(after.cell != before.cell, step == Commit, "{step:?}");
        let away = matches!(step, Drain | Fence | Transfer | Verify | Commit);
        assert_eq!(world.operation(&operation).keeps_away(), away, "{step:?}");
    }
    let shop = world.env("shop");
    assert_eq!((shop.effective.cell.as_str(), shop.effective.epoch.get()), ("b1", 2));
    assert_eq!(shop.effective.generation.to_string(), "2-op-k1");
    assert_eq!(shop.operation, None);
    assert_eq!(shop.reservations.len(), 1);
    assert_eq!(shop.kept_workspaces.len(), 1, "the older workspace is retired by name alone");
    assert_eq!(world.operation(&operation).course, Course::Succeeded);
}

#[test]
fn a_failback_is_another_move_of_what_is_there_now() {
    let (mut world, operation, token) = moving();
    world.until(&operation, token, None);
    let back = world.change("k2", "shop", "cell=a1").expect("room");
    let it = world.operation(&back);
    assert_eq!(it.from.copy().to_string(), "2-op-k1 in cell b1");
    assert_eq!(it.to.copy().to_string(), "3-op-k2 in cell a1", "never an older copy");
    let again = world.lease_as(&back, false).expect("a lease");
    assert!(again > token, "each lease of an environment is higher than all before");
    world.until(&back, again, None);
    assert_eq!(world.env("shop").effective.epoch.get(), 3);
}

#[test]
fn a_new_lease_fences_first_and_the_older_one_can_do_nothing_more() {
    for last in [Step::Fence, Step::Transfer, Step::Verify, Step::Commit] {
        let (mut world, operation, old) = moving();
        world.until(&operation, old, Some(last));
        let held = world.lease_as(&operation, false).expect_err("it lives");
        assert_eq!(held.code(), "operation_held");
        world.wait(61);
        let new = world.lease_as(&operation, false).expect("it has run out");
        assert!(new > old);
        assert_eq!(world.operation(&operation).next_step(), Some(Step::Fence), "{last:?}");
        let mut refused = vec![world.start(&operation, old).expect_err("stale").code()];
        refused.push(world.commit(&operation, old).expect_err("stale").code());
        let (operation_id, ttl) = (operation.clone(), DurationMs::from_secs(60));
        let renew = Command::RenewLease { operation_id, token: old, ttl };
        refused.push(world.run(&renew).expect_err("stale").code());
        assert_eq!(refused, ["lease_lost"; 3], "{last:?}");
        assert_eq!(world.commit(&operation, new).expect_err("not fenced").code(), "wrong_state");
        let done = world.until(&operation, new, None);
        // What was copied under the older fence is copied and read back again, before the commit.
        let copied = done.contains(&Step::Transfer) && done.contains(&Step::Verify);
        assert_eq!(copied, last != Step::Commit, "{last:?}: {done:?}");
        assert_eq!(world.env("shop").effective.epoch.get(), 2);
    }
}

#[test]
fn the_end_of_a_call_under_an_older_lease_or_another_step_is_refused() {
    let (mut world, operation, old) = moving();
    world.until(&operation, old, Some(Step::Drain));
    assert_eq!(world.start(&operation, old).expect("it starts"), Step::Fence);
    let receipt = world.receipt(&operation, Step::Fence);
    let wrong = world.end(&operation, old, Step::Transfer, StepEnd::Done(receipt.clone()));
    assert_eq!(wrong.expect_err("another step").code(), "wrong_state");
    assert_eq!(world.start(&operation, old).expect_err("one call").code(), "wrong_state");
    let new = world.lease_as(&operation, true).expect("superseded");
    let late = world.end(&operation, old, Step::Fence, StepEnd::Done(receipt.clone()));
    assert_eq!(late.expect_err("late").code(), "lease_lost");
    // The receipt of the older token is none of this one.
    assert_eq!(world.start(&operation, new).expect("again"), Step::Fence);
    world.end(&operation, new, Step::Fence, StepEnd::Done(receipt)).expect("it is recorded");
    assert!(!world.operation(&operation).is_done(Step::Fence));
    let trouble = world.operation(&operation).trouble.as_ref().map(Trouble::code);
    assert_eq!(trouble, Some("call_lost"));
}

#[test]
fn a_lease_that_has_run_out_starts_nothing_and_still_records_what_was_begun() {
    let (mut world, operation, token) = moving();
    assert_eq!(world.start(&operation, token).expect("it starts"), Step::Inventory);
    world.wait(61);
    let receipt = world.receipt(&operation, Step::Inventory);
    world.end(&operation, token, Step::Inventory, StepEnd::Done(receipt)).expect("nobody else is");
    assert_eq!(world.start(&operation, token).expect_err("over").code(), "lease_lost");
    let (operation_id, ttl) = (operation.clone(), DurationMs::from_secs(60));
    world.must(&Command::RenewLease { operation_id, token, ttl });
    assert_eq!(world.start(&operation, token).expect("renewed"), Step::Drain);
}

#[test]
fn before_the_commit_a_failure_goes_back_in_the_other_order() {
    use Step::{Discard, Drain, Fence, Inventory, Transfer, Undrain, Unfence, Verify};
    let rows: [(Option<Step>, &[Step]); 5] = [
        (None, &[]),
        (Some(Inventory), &[Undrain]),
        (Some(Drain), &[Unfence, Undrain]),
        (Some(Fence), &[Unfence, Undrain, Discard]),
        (Some(Transfer), &[Unfence, Undrain, Discard]),
    ];
    for (last, back) in rows {
        let (mut world, operation, token) = moving();
        if let Some(last) = last {
            world.until(&operation, token, Some(last));
        }
        let before = world.env("shop").desired.clone();
        let why = "no".to_owned();
        let course = fail(&mut world, &operation, token, Refusal::UnprovableFencing { why });
        let expected = if back.is_empty() { Course::Failed } else { Course::Back };
        assert_eq!(course, expected, "{last:?}");
        assert_eq!(world.operation(&operation).steps, back, "{last:?}");
        assert_ne!(last, Some(Verify));
        assert_eq!(world.until(&operation, token, None), back, "{last:?}");
        let shop = world.env("shop");
        assert_eq!(world.operation(&operation).course, Course::Failed);
        assert_eq!((shop.effective.cell.as_str(), shop.effective.epoch.get()), ("a1", 1));
        assert_eq!((shop.operation.is_none(), shop.reservations.len()), (true, 1));
        assert_ne!(shop.desired, before);
        assert_eq!(shop.revision.get(), 2, "a change that failed is one all the same");
    }
}

#[test]
fn after_the_commit_there_is_only_forward() {
    let (mut world, operation, token) = moving();
    world.until(&operation, token, Some(Step::Commit));
    let file = "database.sqlite".to_owned();
    let (expected, actual) = ("1".to_owned(), "2".to_owned());
    let damaged = Refusal::Damaged { file, expected, actual };
    assert_eq!(fail(&mut world, &operation, token, damaged), Course::Stuck);
    let refusal = world.start(&operation, token).expect_err("it waits for a person");
    assert_eq!(refusal.code(), "stuck");
    assert_eq!(
        refusal.to_string(),
        "operation op-k1 is stuck at route: database.sqlite is damaged: 1 is expected, found is 2"
    );
    world.wait(61);
    assert_eq!(world.lease_as(&operation, false).expect_err("stuck").code(), "stuck");
    let reason = Detail::cut("mended");
    let abandon =
        Command::Abandon { operation_id: operation.clone(), reason: reason.clone(), gone: None };
    assert_eq!(world.run(&abandon).expect_err("committed").code(), "only_forward");
    world.must(&Command::Retry { operation_id: operation.clone(), reason });
    let token = world.lease_as(&operation, false).expect("a lease");
    assert_eq!(world.until(&operation, token, None), [Step::Fence, Step::Route, Step::Retire]);
    assert_eq!(world.env("shop").effective.cell, id("b1"));
}

#[test]
fn the_way_back_is_stuck_where_it_cannot_be_gone_and_goes_on_after_a_retry() {
    let (mut world, operation, token) = moving();
    world.until(&operation, token, Some(Step::Fence));
    assert_eq!(fail(&mut world, &operation, token, full()), Course::Back, "nobody waits for room");
    let what = "route".to_owned();
    assert_eq!(fail(&mut world, &operation, token, Refusal::NotThere { what }), Course::Stuck);
    let reason = Detail::cut("it is there again");
    world.must(&Command::Retry { operation_id: operation.clone(), reason });
    assert_eq!(world.operation(&operation).course, Course::Back);
    let done = world.until(&operation, token, None);
    assert_eq!(done, [Step::Unfence, Step::Undrain, Step::Discard]);
}

#[test]
fn what_may_pass_is_tried_again_but_not_for_long_while_nothing_serves() {
    let (mut world, operation, token) = moving();
    let slow = || Refusal::TimedOut { waited_for: "the lock".to_owned() };
    for _ in 0..9 {
        assert_eq!(fail(&mut world, &operation, token, slow()), Course::Forward, "it serves");
    }
    world.until(&operation, token, Some(Step::Drain));
    assert_eq!(fail(&mut world, &operation, token, slow()), Course::Forward);
    let step = world.start(&operation, token).expect("it starts");
    let lost = StepEnd::Lost(Detail::cut("killed"));
    world.end(&operation, token, step, lost).expect("it is recorded");
    assert_eq!(world.operation(&operation).course, Course::Forward);
    // Its call may still act: nothing more is begun under that lease.
    let refusal = world.start(&operation, token).expect_err("it is not sure");
    assert_eq!(refusal.code(), "wrong_state");
    let token = world.lease_as(&operation, true).expect("a newer one");
    assert_eq!(fail(&mut world, &operation, token, slow()), Course::Back);
    assert_eq!(world.until(&operation, token, None), [Step::Unfence, Step::Undrain]);
}

/// A fence that is made again for a newer lease is no step further.
#[test]
fn calls_that_are_lost_again_and_again_turn_it_back_whatever_lease_they_are_under() {
    for step in [Step::Transfer, Step::Verify] {
        let (mut world, operation, mut token) = moving();
        let before = if step == Step::Transfer { Step::Fence } else { Step::Transfer };
        world.until(&operation, token, Some(before));
        for number in 1..=3 {
            let mut begun = world.start(&operation, token).expect("it starts");
            while begun != step {
                let receipt = StepEnd::Done(world.receipt(&operation, begun));
                world.end(&operation, token, begun, receipt).expect("it ends");
                begun = world.start(&operation, token).expect("it starts");
            }
            let lost = StepEnd::Lost(Detail::cut("timed out"));
            world.end(&operation, token, step, lost).expect("it is recorded");
            let course = if number == 3 { Course::Back } else { Course::Forward };
            assert_eq!(world.operation(&operation).course, course, "{step:?} {number}");
            token = world.lease_as(&operation, true).expect("a newer one");
        }
    }
}

#[test]
fn a_world_that_is_ahead_of_the_ledger_waits_for_a_person() {
    let (mut world, operation, token) = moving();
    world.until(&operation, token, Some(Step::Inventory));
    let ahead = Refusal::Committed { epoch: super::world::id_number(7) };
    assert_eq!(fail(&mut world, &operation, token, ahead), Course::Stuck);
}

#[test]
fn a_running_workspace_or_a_missing_dependency_stops_before_any_effect() {
    let (mut world, operation, token) = moving();
    let step = world.start(&operation, token).expect("it starts");
    let mut seen = inventory(world.env("shop").effective.copy());
    seen.workspace = WorkspaceState::Running;
    let receipt = scalectl::domain::placement::protocol::Receipt::Inventory(seen);
    world.end(&operation, token, step, StepEnd::Done(Box::new(receipt))).expect("recorded");
    assert_eq!(world.operation(&operation).course, Course::Failed);
    let trouble = world.operation(&operation).trouble.as_ref().map(Trouble::code);
    assert_eq!(trouble, Some("workspace_running"));
    let (mut world, operation, token) = moving();
    let missing = vec!["credentials/mail".to_owned()];
    let course = fail(&mut world, &operation, token, Refusal::MissingDependency { missing });
    assert_eq!(course, Course::Failed);
}

#[test]
fn a_recovery_copy_is_made_while_it_serves_and_waits_for_room() {
    use Step::{CommitStandby, Inventory, RetireStandby, Snapshot};
    let mut world = World::new();
    world.adopt("shop", "a1", "small");
    let operation = world.change("k1", "shop", "standby=b").expect("room");
    assert_eq!(world.operation(&operation).steps, [Inventory, Snapshot, CommitStandby]);
    let token = world.lease_as(&operation, false).expect("a lease");
    world.until(&operation, token, Some(Inventory));
    for _ in 0..5 {
        assert_eq!(fail(&mut world, &operation, token, full()), Course::Forward);
        assert!(!world.operation(&operation).keeps_away());
    }
    assert_eq!(world.until(&operation, token, None), [Snapshot, CommitStandby]);
    let first = world.env("shop").standby.clone().expect("a recovery copy");
    assert_eq!((first.copy.cell.as_str(), first.captured_at), ("b1", world.now));
    assert_eq!(world.env("shop").effective.epoch.get(), 1, "no owner was changed");

    // Made anew, the older one counts until the newer one was read back.
    let operation = world.change("k2", "shop", "refresh").expect("room");
    assert_eq!(
        world.operation(&operation).steps,
        [Inventory, Snapshot, CommitStandby, RetireStandby]
    );
    let token = world.lease_as(&operation, false).expect("a lease");
    world.until(&operation, token, Some(Inventory));
    assert_eq!(fail(&mut world, &operation, token, full()), Course::Forward);
    assert_eq!(world.env("shop").standby.as_ref(), Some(&first));
    world.wait(61);
    let reason = Detail::cut("no room will come");
    let abandon = Command::Abandon { operation_id: operation.clone(), reason, gone: None };
    world.must(&abandon);
    let token = world.lease_as(&operation, false).expect("a lease");
    assert_eq!(world.until(&operation, token, None), [Step::DiscardSnapshot]);
    assert_eq!(world.env("shop").standby.as_ref(), Some(&first));
    let operation = world.change("k3", "shop", "refresh").expect("room");
    let token = world.lease_as(&operation, false).expect("a lease");
    world.until(&operation, token, Some(CommitStandby));
    let second = world.env("shop").standby.clone().expect("a recovery copy");
    assert_ne!(first.copy, second.copy);
    world.until(&operation, token, None);
    assert_eq!(world.env("shop").reservations.len(), 2);
}

#[test]
fn a_copy_that_a_move_cannot_make_afterwards_can_be_given_up() {
    let mut world = World::new();
    world.adopt("shop", "a1", "small");
    let operation = world.change("k1", "shop", "location=b standby=a").expect("room");
    let token = world.lease_as(&operation, false).expect("a lease");
    world.until(&operation, token, Some(Step::Retire));
    assert_eq!(fail(&mut world, &operation, token, full()), Course::Forward);
    world.wait(61);
    let reason = Detail::cut("not now");
    world.must(&Command::Abandon { operation_id: operation.clone(), reason, gone: None });
    let token = world.lease_as(&operation, false).expect("a lease");
    assert_eq!(world.until(&operation, token, None), [Step::DiscardSnapshot]);
    let shop = world.env("shop");
    assert_eq!((shop.effective.cell.as_str(), shop.reservations.len()), ("b1", 1));
    assert_eq!(shop.desired.location.to_string(), "b", "what was committed stays wished");
    assert_eq!(shop.desired.standby.to_string(), "none");
}

#[test]
fn a_person_gives_up_what_nobody_carries_out() {
    let (mut world, operation, token) = moving();
    let reason = || Detail::cut("not tonight");
    let abandon = || Command::Abandon { operation_id: id("op-k1"), reason: reason(), gone: None };
    assert_eq!(world.run(&abandon()).expect_err("held").code(), "operation_held");
    world.must(&Command::ReleaseLease { operation_id: operation.clone(), token });
    world.must(&abandon());
    assert_eq!(world.operation(&operation).course, Course::Failed, "nothing was begun");
    assert_eq!(world.run(&abandon()).expect_err("over").code(), "wrong_state");
    let retry = Command::Retry { operation_id: operation, reason: reason() };
    assert_eq!(world.run(&retry).expect_err("over").code(), "wrong_state");
}

#[test]
fn a_token_rises_over_every_copy_of_the_ledger() {
    let (mut world, operation, first) = moving();
    world.incarnation = 2;
    let second = world.lease_as(&operation, true).expect("superseded");
    assert_eq!(first.get(), (1 << 32) + 1);
    assert_eq!(second.get(), (2 << 32) + 2);
}

#[test]
fn a_drain_waits_for_services_that_are_being_changed() {
    let (mut world, operation, token) = moving();
    world.until(&operation, token, Some(Step::Inventory));
    let start = Command::StartStep {
        operation_id: operation.clone(),
        token,
        call_id: id("call-x"),
        in_flight: vec![id("web")],
    };
    assert_eq!(world.run(&start).expect_err("in flight").code(), "service_in_flight");
}

#[test]
fn an_answer_about_another_copy_is_no_receipt() {
    let (mut world, operation, token) = moving();
    world.until(&operation, token, Some(Step::Fence));
    let step = world.start(&operation, token).expect("it starts");
    let it = world.operation(&operation);
    let mut order = it.order(step).expect("an order");
    if let scalectl::domain::placement::protocol::Order::Transfer { target, .. } = &mut order {
        target.generation = id("2-other");
    }
    let receipt = receipt_of(order, token, it.to.epoch, world.now);
    world.end(&operation, token, step, StepEnd::Done(Box::new(receipt))).expect("recorded");
    assert!(!world.operation(&operation).is_done(Step::Transfer));
}
