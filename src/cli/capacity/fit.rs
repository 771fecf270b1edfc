//! `capacity fit`: what would fit where, and what limits it.

use clap::Args;
use serde_json::{Value, json};

use super::super::app::App;
use super::super::noun::Outcome;
use super::super::output::Answer;
use super::super::table::{Cell, Column, Table, Tone};
use crate::domain::id::{PlacementPolicyName, ProfileName};
use crate::domain::placement::capacity::Axis;
use crate::domain::placement::decide::{Fit, fits};

#[derive(Args)]
pub(super) struct FitArgs {
    /// Only this profile
    #[arg(long, value_name = "PROFILE")]
    profile: Option<ProfileName>,
    /// Only what this policy offers, in the cells that it lets in
    #[arg(long, value_name = "POLICY")]
    policy: Option<PlacementPolicyName>,
}

pub(super) fn run(args: &FitArgs, app: &mut App) -> Outcome {
    app.session()?.tell_standing()?;
    let now = app.session()?.now();
    let state = app.session()?.placement()?;
    let policy = match &args.policy {
        None => None,
        Some(name) => {
            Some(state.policies.get(name).ok_or_else(|| super::no_such("placement policy", name))?)
        }
    };
    if let Some(profile) = args.profile.as_ref().filter(|it| !state.profiles.contains_key(it)) {
        return Err(super::no_such("profile", profile));
    }
    let mut found = fits(&state, policy, now);
    found.retain(|fit| args.profile.as_ref().is_none_or(|profile| fit.profile == *profile));
    let mut table = Table::new([
        Column::left("CELL"),
        Column::left("PROFILE"),
        Column::right("FIT"),
        Column::left("LIMITED BY").wraps(),
        Column::left("FREE"),
    ]);
    for fit in &found {
        let count = Cell::new(fit.copies);
        table.row([
            Cell::new(&fit.cell),
            Cell::new(&fit.profile),
            if fit.copies == 0 { count.tone(Tone::Warn) } else { count },
            Cell::new(limit(fit)),
            Cell::new(fit.free),
        ]);
    }
    let views: Vec<Value> = found.iter().map(view).collect();
    let answer = Answer::ok().noun("fits", &views);
    Ok(answer.table_or(table, "no cell and no profile is registered that would fit together"))
}

fn limit(fit: &Fit) -> String {
    match (&fit.unfit, fit.limited_by) {
        (Some(unfit), _) => unfit.to_string(),
        (None, Some(axis)) => axis.as_str().to_owned(),
        (None, None) => "nothing".to_owned(),
    }
}

fn view(fit: &Fit) -> Value {
    json!({
        "cell": fit.cell,
        "profile": fit.profile,
        "fits": fit.copies,
        "limited_by": fit.limited_by.map(Axis::as_str),
        "unfit": fit.unfit,
        "free": fit.free,
    })
}
