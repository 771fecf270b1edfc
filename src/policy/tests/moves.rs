//! Who may move an environment, and where to.

use super::{ask, engine};
use crate::domain::scale::policy::{
    MoveTo, PolicyAction, PolicyGate as _, PolicyQuery, PolicyResource,
};

pub(super) fn ask_environment() -> PolicyQuery {
    let resource = PolicyResource::Environment {
        name: "shop".parse().unwrap(),
        policy: "standard".into(),
        cell: "a1".into(),
        location: "eu".into(),
        profile: "small".into(),
        to: Some(Box::new(MoveTo {
            cell: "b1".into(),
            location: "us".into(),
            profile: "large".into(),
        })),
    };
    let plain = ask(PolicyAction::Relocate, None, 0);
    PolicyQuery { resource, desired: None, controller: None, ..plain }
}

#[test]
fn a_move_is_permitted_by_where_an_environment_is_and_where_it_goes() {
    let rule = |test: &str| {
        format!("permit(principal, action == Action::\"relocate\", resource) when {{ {test} }};")
    };
    for (test, expected) in [
        ("resource.location == \"eu\" && resource.profile == \"small\"", true),
        ("context has to_location && context.to_location == \"us\"", true),
        ("context has to_profile && context.to_profile == \"small\"", false),
        ("resource == Environment::\"shop\" && context has to_cell", true),
        ("resource.policy == \"other\"", false),
    ] {
        let answer = engine(&rule(test)).answer(&ask_environment());
        assert_eq!((answer.allowed, answer.errors.is_empty()), (expected, true), "{test}");
    }
}
