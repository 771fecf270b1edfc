//! `service mode` and `service retire`: who owns a count, and its end.

use clap::Args;
use serde_json::json;

use crate::cli::app::App;
use crate::cli::args::whole_number;
use crate::cli::hold::{Why, told};
use crate::cli::noun::Outcome;
use crate::cli::output::{Answer, Recorded};
use crate::cli::view;
use crate::domain::id::{ActuatorName, AuthorizationId, ServiceName};
use crate::domain::scale::service::RegisteredMode;
use crate::ops::lay::service_retire;
use crate::ops::service_mode::{HandedOver, ModeChange, service_mode};

#[derive(Args)]
pub(super) struct ModeArgs {
    /// The service
    name: ServiceName,
    /// Who owns the count from now on: native, delegated, external_hpa (hpa), external_keda (keda)
    mode: String,
    /// The unit revision that you know of
    #[arg(long, value_name = "N", value_parser = whole_number)]
    expect_revision: Option<u64>,
    /// Who carries wishes out from now on [default: who does now]
    #[arg(long, value_name = "NAME")]
    actuator: Option<ActuatorName>,
    /// What the other controller is called [default: as found]
    #[arg(long, value_name = "TEXT")]
    owner: Option<String>,
    /// What of owners that the actuator may not read: refuse, or accept that none of them drives
    /// the count, which is recorded
    #[arg(long, value_name = "WHAT", value_parser = ["refuse", "accept"],
        default_value = "refuse")]
    owners_unread: String,
    #[command(flatten)]
    why: Why,
}

#[derive(Args)]
pub(super) struct RetireArgs {
    /// The service
    name: ServiceName,
    #[command(flatten)]
    why: Why,
}

pub(super) fn mode(args: &ModeArgs, app: &mut App) -> Outcome {
    let change = ModeChange {
        service: args.name.clone(),
        mode: super::mode(&args.mode)?,
        expected: args.expect_revision,
        actuator: args.actuator.clone(),
        owner: args.owner.clone(),
        accepts_unread: args.owners_unread == "accept",
        reason: args.why.detail(app)?,
    };
    crate::cli::install_signals()?;
    let done = service_mode(app.session()?, &change)?;
    Ok(answer(&args.name, &done))
}

fn answer(name: &ServiceName, done: &HandedOver) -> Answer {
    let mut answer = Answer::ok()
        .recorded(if done.changed { Recorded::Yes } else { Recorded::No })
        .whole_noun("service", view::service(&done.head))
        .whole_noun("baseline", json!(done.baseline))
        .name(name.as_str());
    answer.changed = done.changed;
    answer.current = view::current(&done.head);
    let Some(after) = &done.head.registration else {
        return answer;
    };
    if !done.changed {
        return answer.line(format!("{name} is {} already", after.mode.as_str()));
    }
    let baseline = match &done.baseline {
        Some(reading) => {
            format!("baseline {} (read now, {})", reading.replicas, view::reading_text(reading))
        }
        None => "no baseline: nobody can read it".to_owned(),
    };
    let (from, to) = (done.before.mode.as_str(), after.mode.as_str());
    let registration = after.unit_revision;
    let mut answer =
        answer.line(format!("{name}  {from} → {to}   {baseline}   registration {registration}"));
    if after.mode.record_mode().is_some() {
        for manager in &done.owners.managers {
            let text = format!(
                "{manager} has set the count of {name} too, and does so again with the next \
                 version that it applies: take spec.replicas out of that"
            );
            answer = answer.warning("other_manager", text);
        }
        for unread in &done.owners.unread {
            let text = format!("{unread} could not be read: that it does not drive is your word");
            answer = answer.warning("owners_unread", text);
        }
    }
    let is_ours = |mode: RegisteredMode| mode.record_mode().is_some();
    if is_ours(done.before.mode) && !is_ours(after.mode) {
        let wanted = done.head.wanted.as_ref().map_or_else(
            || "nothing was wished before".to_owned(),
            |wanted| {
                format!(
                    "last wanted {} ({name}@{})",
                    wanted.desired_replicas, wanted.intent_revision
                )
            },
        );
        return answer.line(format!("  {wanted}")).line(
            "  scalectl no longer writes; nobody does until the new owner is there".to_owned(),
        );
    }
    answer
}

pub(super) fn retire(args: &RetireArgs, app: &mut App) -> Outcome {
    let reason = args.why.detail(app)?;
    let laid = service_retire(app.session()?, &args.name, &reason)?;
    let so = "retired; its history stays, and service put registers it anew";
    let answer = told(&args.name, &laid, so, "is retired already");
    let open: Vec<&str> = laid.head.authorizations.keys().map(AuthorizationId::as_str).collect();
    if open.is_empty() {
        return Ok(answer);
    }
    let text = format!(
        "nobody has reviewed {}: nothing starts under a retired service, and a review is still due \
         (break-glass review)",
        open.join(", ")
    );
    Ok(answer.warning("unreviewed", text))
}
