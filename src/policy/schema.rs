//! The shapes that rules may look at (design, section 4 and ruling 13.7).
//!
//! Owns the names of entities, actions and context members. Policies are validated against them
//! once, at `policy put`; the engine itself never sees the schema, because reading it costs more
//! than everything else that a decision does.

use cedar_policy_core::extensions::Extensions;
use cedar_policy_core::validator::ValidatorSchema;

use crate::domain::scale::policy::{Counted, PolicyAction};

/// The schema in Cedar's own words, as `policy schema` prints it.
///
/// `weekday` is 1 for Monday to 7 for Sunday (ISO 8601); `hour_utc` is 0 to 23, and
/// `minute_of_day_utc` is 60 × hour + minute. `delta` is desired less current. An optional member is
/// absent where it is not known, never zero and never empty.
pub const SCHEMA: &str = r#"// Who asks, by claim: Actor::"ci". A claim proves nothing; prefer context.os_user.
entity Actor;

// What has replicas. Labels are tags: resource.hasTag("tier") && resource.getTag("tier") == "front".
entity Service = {
  actuator?: String,  // the name of its actuator
  adapter?: String,   // the kind of its actuator: local, kubectl, docker, exec
  mode: String,       // native, delegated, external_hpa, external_keda
  writer: String,     // the one controller that may act on it
  min: Long,
  max: Long,
} tags String;

// What is placed into a cell as a whole.
entity Environment = {
  policy: String,     // its placement policy
  cell: String,       // the cell that it serves in
  location: String,   // the location of that
  profile: String,    // what it is promised
};

// The ledger itself.
entity Ledger;

// A question about a count that is named.
type Count = {
  desired: Long,
  current?: Long,     // absent where nobody has read it lately
  delta?: Long,       // desired - current, where both are known
  source: String,     // cli, override, adopt, autoscaler, reconciler, gateway
  hour_utc: Long,     // 0 to 23
  minute_of_day_utc: Long, // 0 to 1439
  weekday: Long,      // 1 is Monday, 7 is Sunday
  reason?: String,
  controller?: String,
  os_user?: String,   // what the operating system says
  db_role?: String,   // what the database says
  signed_by?: String, // whose key signed it, by the ledger's allowed signers
  service_changes_last_hour?: Long, // live intents of this service, this one not counted
  ledger_changes_last_hour?: Long,  // the same of all services
  services_changed_last_hour?: Long, // how many services, this one always counted
};

// A question that may name no count.
type Fact = {
  desired?: Long,
  current?: Long,
  delta?: Long,
  source: String,
  hour_utc: Long,
  minute_of_day_utc: Long,
  weekday: Long,
  reason?: String,
  controller?: String,
  os_user?: String,
  db_role?: String,
  signed_by?: String,
  service_changes_last_hour?: Long,
  ledger_changes_last_hour?: Long,
  services_changed_last_hour?: Long,
};

// A question about the ledger.
type Care = {
  source: String,
  hour_utc: Long,
  minute_of_day_utc: Long,
  weekday: Long,
  reason?: String,
  os_user?: String,
  db_role?: String,
  signed_by?: String,
};

// A question about where an environment lives. Where it would be is absent for retry and abandon.
type Move = {
  source: String,
  hour_utc: Long,
  minute_of_day_utc: Long,
  weekday: Long,
  reason?: String,
  os_user?: String,
  db_role?: String,
  signed_by?: String,
  to_cell?: String,
  to_location?: String,
  to_profile?: String,
};

action scale_up, scale_down, scale_to_zero, propose, approve, override
  appliesTo { principal: Actor, resource: Service, context: Count };
action override_cooldown, break_glass, settle, attest
  appliesTo { principal: Actor, resource: Service, context: Fact };
action relocate
  appliesTo { principal: Actor, resource: Environment, context: Move };
action register, set_policy, administer
  appliesTo { principal: Actor, resource: Ledger, context: Care };
"#;

/// Every member of any context.
pub(crate) const CONTEXT_MEMBERS: [&str; 18] = [
    "desired",
    "current",
    "delta",
    "source",
    "hour_utc",
    "minute_of_day_utc",
    "weekday",
    "reason",
    "controller",
    "os_user",
    "db_role",
    "signed_by",
    "service_changes_last_hour",
    "ledger_changes_last_hour",
    "services_changed_last_hour",
    "to_cell",
    "to_location",
    "to_profile",
];

/// What of the recent changes a member of the context needs.
pub(crate) fn counted(member: &str) -> Counted {
    match member {
        "service_changes_last_hour" => Counted::OfService,
        "ledger_changes_last_hour" | "services_changed_last_hour" => Counted::OfLedger,
        _ => Counted::Nothing,
    }
}

/// Every attribute of a service, and of an environment.
pub(crate) const RESOURCE_ATTRIBUTES: [&str; 10] = [
    "actuator", "adapter", "mode", "writer", "min", "max", "policy", "cell", "location", "profile",
];

/// What an action is about, and whether the question must name a count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// A service, with a wished count.
    Count,
    /// A service.
    Fact,
    /// An environment.
    Move,
    /// The ledger.
    Care,
}

/// The shape that [`SCHEMA`] gives to an action.
pub(crate) const fn shape(action: PolicyAction) -> Shape {
    match action {
        PolicyAction::ScaleUp
        | PolicyAction::ScaleDown
        | PolicyAction::ScaleToZero
        | PolicyAction::Propose
        | PolicyAction::Approve
        | PolicyAction::Override => Shape::Count,
        PolicyAction::OverrideCooldown
        | PolicyAction::BreakGlass
        | PolicyAction::Settle
        | PolicyAction::Attest => Shape::Fact,
        PolicyAction::Relocate => Shape::Move,
        PolicyAction::Register | PolicyAction::SetPolicy | PolicyAction::Administer => Shape::Care,
    }
}

/// Reads [`SCHEMA`]: about a millisecond, so only where policies are checked.
pub(crate) fn validator_schema() -> ValidatorSchema {
    ValidatorSchema::from_cedarschema_str(SCHEMA, Extensions::all_available())
        .map(|(schema, _warnings)| schema)
        .expect("BUG: our own schema, read by every test of the check")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_is_read_without_warnings() {
        let (_, warnings) =
            ValidatorSchema::from_cedarschema_str(SCHEMA, Extensions::all_available())
                .expect("BUG: our own schema");
        assert_eq!(warnings.count(), 0);
    }

    #[test]
    fn every_name_here_is_in_the_schema() {
        for name in CONTEXT_MEMBERS.iter().chain(&RESOURCE_ATTRIBUTES) {
            let declared = [format!("  {name}: "), format!("  {name}?: ")];
            assert!(declared.iter().any(|text| SCHEMA.contains(text)), "{name}");
        }
        let members = SCHEMA
            .lines()
            .filter(|line| line.starts_with("  ") && !line.contains("appliesTo"))
            .filter_map(|line| line.trim().split([':', '?']).next());
        for member in members {
            let known = CONTEXT_MEMBERS.contains(&member) || RESOURCE_ATTRIBUTES.contains(&member);
            assert!(known, "{member}");
        }
        for action in PolicyAction::ALL {
            let line = SCHEMA
                .split("action ")
                .skip(1)
                .find(|part| {
                    let names = part.split("appliesTo").next().unwrap_or("");
                    names.split(',').any(|name| name.trim() == action.as_str())
                })
                .unwrap_or_else(|| panic!("{} is not in the schema", action.as_str()));
            assert!(line.contains(&format!("context: {:?}", shape(action))), "{line}");
        }
    }
}
