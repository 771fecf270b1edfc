//! `placement plan` and `placement change`.

use clap::Args;
use serde_json::json;

use super::super::app::App;
use super::super::args::{wait as wait_of, whole_number};
use super::super::fault::Fault;
use super::super::noun::Outcome;
use super::super::operation::{carry, ended, with_next};
use super::super::output::{Answer, Out, Recorded};
use super::super::problem::Problem;
use super::show::reservations;
use crate::actuator::host::Deadline;
use crate::domain::id::{CellName, EnvironmentName, IdempotencyKey, ProfileName};
use crate::domain::placement::decide::Planned;
use crate::domain::placement::environment::RuntimeMode;
use crate::domain::placement::operation::Operation;
use crate::domain::placement::protocol::Generation;
use crate::domain::placement::request::{ChangeRequest, KeyedRequest, LocationWish, StandbyWish};
use crate::domain::scale::decide::Reply;
use crate::domain::time::{DurationMs, Timestamp};
use crate::ops::operation_wait::operation_wait;
use crate::ops::placement_change::{PlacementPlan, placement_change, placement_plan};

#[derive(Args)]
pub(super) struct WishArgs {
    /// The environment
    name: EnvironmentName,
    /// The revision of the environment that this is wished after; placement show tells it
    #[arg(long, value_name = "N", value_parser = whole_number)]
    expect_revision: u64,
    /// The revision of its placement policy that this is wished against; placement show tells it
    #[arg(long, value_name = "N", value_parser = whole_number)]
    policy_revision: u64,
    /// Another profile
    #[arg(long, value_name = "PROFILE")]
    profile: Option<ProfileName>,
    /// Another location, or auto for a cell that is eligible; the one that it is in, while it is
    #[arg(long, value_name = "LOCATION|auto")]
    location: Option<LocationWish>,
    /// Exactly this cell
    #[arg(long, value_name = "CELL")]
    cell: Option<CellName>,
    /// The location of its recovery copy, or none
    #[arg(long, value_name = "LOCATION|none")]
    standby: Option<StandbyWish>,
    /// Make its recovery copy anew where it is
    #[arg(long)]
    refresh_standby: bool,
    /// Whether it may sleep: on-demand or always-on
    #[arg(long, value_name = "MODE")]
    runtime_mode: Option<RuntimeMode>,
    /// Remove the workspace that this older copy has left, and nothing else; placement show lists
    /// them
    #[arg(long, value_name = "EPOCH-OPERATION", conflicts_with_all = [
        "profile", "location", "cell", "standby", "refresh_standby", "runtime_mode",
    ])]
    retire_workspace: Option<Generation>,
}

impl WishArgs {
    fn request(&self) -> ChangeRequest {
        ChangeRequest {
            environment: self.name.clone(),
            expected_revision: self.expect_revision,
            policy_revision: self.policy_revision,
            profile: self.profile.clone(),
            location: self.location.clone(),
            cell: self.cell.clone(),
            standby: self.standby.clone(),
            refresh_standby: self.refresh_standby,
            runtime_mode: self.runtime_mode,
            retire_workspace: self.retire_workspace.clone(),
        }
    }

    /// A line that wishes nothing is a mistake.
    fn check(&self) -> Result<(), Fault> {
        let request = self.request();
        if request.says_something() || request.retire_workspace.is_some() {
            return Ok(());
        }
        Err(Problem::usage("nothing_wished", "nothing is wished of the placement")
            .hint(
                "add --profile, --location, --cell, --standby, --refresh-standby, --runtime-mode \
                 or --retire-workspace",
            )
            .into())
    }
}

#[derive(Args)]
pub(super) struct PlanArgs {
    #[command(flatten)]
    wish: WishArgs,
    /// The key that the change is to have; where it is taken, the plan is what became of it
    #[arg(long, value_name = "KEY")]
    key: Option<IdempotencyKey>,
}

#[derive(Args)]
pub(super) struct ChangeArgs {
    #[command(flatten)]
    wish: WishArgs,
    /// The key of this change: the same line again under it is the same change
    #[arg(long, value_name = "KEY")]
    key: IdempotencyKey,
    /// Carry it out on this host, too
    #[arg(long)]
    run: bool,
    /// Wait until it is over; giving up the wait ends nothing
    #[arg(long)]
    wait: bool,
    /// How long to wait
    #[arg(long, value_name = "DURATION", value_parser = wait_of, default_value = "10m")]
    timeout: DurationMs,
}

pub(super) fn plan(args: &PlanArgs, app: &mut App) -> Outcome {
    args.wish.check()?;
    app.session()?.refuse_unwritable()?;
    let planned = match placement_plan(app.session()?, args.key.clone(), args.wish.request())? {
        PlacementPlan::Of(planned) => planned,
        PlacementPlan::Replayed(operation) => {
            let now = app.session()?.now();
            let mut answer = standing(app, &operation, now);
            answer.replayed = true;
            return Ok(answer);
        }
    };
    let Planned { kind, desired, from, to, steps, .. } = &*planned;
    let words: Vec<&str> = steps.iter().map(|step| step.as_str()).collect();
    let answer = Answer::ok()
        .noun(
            "plan",
            &json!({
                "environment": args.wish.name,
                "kind": kind,
                "desired": desired,
                "from": from,
                "to": to,
                "snapshot": planned.snapshot,
                "steps": steps,
                "reserved_meanwhile": planned.reservations,
                "reserved_afterwards": planned.reservations_after,
                "changes_nothing": planned.is_there,
            }),
        )
        .name(args.wish.name.as_str());
    if planned.is_there {
        return Ok(answer.line(format!("{} is so already", args.wish.name)));
    }
    let name = &args.wish.name;
    let mut answer = answer.line(if to.cell == from.cell {
        format!("{name}  {} → {} in cell {}", from.profile, to.profile, from.cell)
    } else {
        format!(
            "{name}  cell {} → {} ({}), {} → {}, epoch {} → {}",
            from.cell, to.cell, to.location, from.profile, to.profile, from.epoch, to.epoch
        )
    });
    if let Some(snapshot) = &planned.snapshot {
        answer = answer.line(format!("  recovery   a copy in cell {}", snapshot.cell));
    }
    let steps =
        if words.is_empty() { "none: it is so at once".to_owned() } else { words.join(", ") };
    Ok(answer
        .line(format!("  steps      {steps}"))
        .line(String::new())
        .table(reservations(&planned.reservations)))
}

pub(super) fn change(args: &ChangeArgs, app: &mut App, out: &mut Out) -> Outcome {
    args.wish.check()?;
    let asked = KeyedRequest { key: args.key.clone(), request: args.wish.request() };
    let placed = placement_change(app.session()?, &asked)?;
    let now = app.session()?.now();
    let environment = &placed.state.environments[&args.wish.name];
    let Some(operation) = placed.operation().cloned() else {
        let line = format!("{} is so already: no key was taken", args.wish.name);
        return Ok(Answer::ok()
            .noun("environment", &super::environment_view(&placed.state, environment, now))
            .name(args.wish.name.as_str())
            .line(line));
    };
    let (changed, replayed) = (placed.committed.is_some(), placed.reply == Reply::Replayed);
    let after = followed(&operation, args, app, out)?;
    let now = app.session()?.now();
    let mut answer =
        if args.run || args.wait { ended(app, &after, now) } else { standing(app, &after, now) };
    let state = app.session()?.placement()?;
    if let Some(environment) = state.environments.get(&args.wish.name) {
        answer = answer.noun("environment", &super::environment_view(&state, environment, now));
    }
    answer.changed = changed || after != operation;
    answer.replayed = replayed;
    let is_recorded = answer.changed;
    Ok(if is_recorded { answer.recorded(Recorded::Yes) } else { answer })
}

/// An operation that nobody was asked to carry out now.
fn standing(app: &mut App, operation: &Operation, now: Timestamp) -> Answer {
    if operation.course.is_over() {
        return ended(app, operation, now);
    }
    with_next(Answer::ok(), app, operation, now)
}

/// The operation after it was carried out or waited for, as far as that was asked.
fn followed(
    operation: &Operation,
    args: &ChangeArgs,
    app: &mut App,
    out: &mut Out,
) -> Result<Operation, Fault> {
    let id = &operation.operation_id;
    let mut after = operation.clone();
    if args.run && !after.course.is_over() {
        after = carry(id, false, app, out)?;
    }
    if args.wait && !after.course.is_over() {
        super::super::install_signals()?;
        let until = Deadline::after(args.timeout);
        after = operation_wait(app.session()?, id, until, &mut |operation| {
            out.progress(&format!("waiting for {id}: {}", super::phase_of(operation)));
        })?;
    }
    Ok(after)
}
