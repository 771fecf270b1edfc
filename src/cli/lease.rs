//! `lease`: acquire, renew, release, show.

use clap::{ArgMatches, Args, FromArgMatches as _, Subcommand};
use serde_json::json;

use super::app::App;
use super::exit::Exit;
use super::intent::KeyArg;
use super::noun::{Noun, Outcome};
use super::output::{Answer, Out};
use super::view;
use crate::domain::id::{ControllerId, LeaseInstanceId};
use crate::domain::scale::lease::LEASE_TTL_DEFAULT;
use crate::domain::time::DurationMs;
use crate::ops::lease_acquire::lease_acquire;
use crate::ops::lease_release::lease_release;
use crate::ops::lease_renew::lease_renew;
use crate::ops::report::Report;

pub(super) const NOUN: Noun = Noun {
    name: "lease",
    group: "Step by step",
    about: "Permission for one attempt: acquire, renew, release, show",
    augment: |command| Verb::augment_subcommands(command).subcommand_required(true),
    run,
    hidden: false,
};

#[derive(Subcommand)]
pub(super) enum Verb {
    /// Take the permission for the next attempt of a key
    Acquire(AcquireArgs),
    /// Keep a lease longer, never past the fence
    Renew(RenewArgs),
    /// Give a lease back
    Release(ReleaseArgs),
    /// Show who holds the lease of a key
    Show(ShowArgs),
}

#[derive(Args)]
pub(super) struct AcquireArgs {
    #[command(flatten)]
    pub(super) key: KeyArg,
    /// Who acts; the registered writer by default
    #[arg(long, value_name = "NAME")]
    pub(super) controller: Option<ControllerId>,
    /// How long, 1s to 900s
    #[arg(long, value_name = "DURATION")]
    pub(super) ttl: Option<DurationMs>,
}

#[derive(Args)]
pub(super) struct RenewArgs {
    #[command(flatten)]
    pub(super) key: KeyArg,
    /// The lease that is yours
    #[arg(long, value_name = "ID")]
    pub(super) lease: LeaseInstanceId,
    /// How long from now, 1s to 900s
    #[arg(long, value_name = "DURATION")]
    pub(super) ttl: Option<DurationMs>,
}

#[derive(Args)]
pub(super) struct ReleaseArgs {
    #[command(flatten)]
    pub(super) key: KeyArg,
    /// The lease that is yours
    #[arg(long, value_name = "ID")]
    pub(super) lease: LeaseInstanceId,
}

#[derive(Args)]
pub(super) struct ShowArgs {
    #[command(flatten)]
    key: KeyArg,
}

fn run(matches: &ArgMatches, app: &mut App, _out: &mut Out) -> Outcome {
    match Verb::from_arg_matches(matches).map_err(super::parse_fault)? {
        Verb::Acquire(args) => {
            let key = args.key.resolve(app)?;
            let ttl = args.ttl.unwrap_or(LEASE_TTL_DEFAULT);
            let report = lease_acquire(app.session()?, &key, args.controller.as_ref(), ttl)?;
            Ok(answer(app, &report))
        }
        Verb::Renew(args) => {
            let key = args.key.resolve(app)?;
            let ttl = args.ttl.unwrap_or(LEASE_TTL_DEFAULT);
            let report = lease_renew(app.session()?, &key, args.lease, ttl)?;
            Ok(answer(app, &report))
        }
        Verb::Release(args) => {
            let key = args.key.resolve(app)?;
            let report = lease_release(app.session()?, &key, args.lease)?;
            Ok(answer(app, &report))
        }
        Verb::Show(args) => show(&args, app),
    }
}

/// How a step on the lease of a key ends: as the key itself, where that is over.
pub(super) fn exit_of(report: &Report) -> Exit {
    if report.execution.phase.is_finished() { view::step_exit(report) } else { Exit::Ok }
}

fn answer(app: &App, report: &Report) -> Answer {
    let mut answer = view::answer(app, report, exit_of(report));
    if let Some(held) = &report.execution.lease {
        answer = answer.line(format!(
            "  lease      {} of {} on {} until {}",
            held.lease.lease_instance_id,
            held.lease.controller_id,
            held.holder.host,
            held.lease.expires_at
        ));
    }
    answer
}

fn show(args: &ShowArgs, app: &mut App) -> Outcome {
    let key = args.key.resolve(app)?;
    let session = app.session()?;
    let (_, execution) = session.load(&key)?;
    let now = session.now();
    let held = execution.lease.as_ref();
    let view = held.map_or(json!(null), |held| view::lease(held, now));
    let line = match held {
        Some(held) if held.is_alive(now) => format!(
            "{key}: {} of {} on {} (pid {}) until {}",
            held.lease.lease_instance_id,
            held.lease.controller_id,
            held.holder.host,
            held.holder.pid,
            held.lease.expires_at
        ),
        Some(held) => format!("{key}: none, the last one ran out at {}", held.lease.expires_at),
        None => format!("{key}: none"),
    };
    Ok(Answer::ok()
        .noun("lease", &view)
        .whole_noun("execution", view::execution(&execution))
        .name(key.as_str())
        .line(line))
}
