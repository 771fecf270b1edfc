//! Names of entities and of their types, without Cedar's parser.

use std::sync::OnceLock;

use cedar_policy_core::FromNormalizedStr;
use cedar_policy_core::ast::{Eid, EntityType, EntityUID, Name, UnreservedId};
use cedar_policy_core::parser::Node;
use cedar_policy_core::parser::cst::Ident;

/// The types of our schema, made once.
static KNOWN_TYPES: [(&str, OnceLock<EntityType>); 4] = [
    ("Action", OnceLock::new()),
    ("Actor", OnceLock::new()),
    ("Ledger", OnceLock::new()),
    ("Service", OnceLock::new()),
];

/// A type of entities, without Cedar's parser.
pub(crate) fn entity_type(name: &str) -> Result<EntityType, String> {
    let Some((_, known)) = KNOWN_TYPES.iter().find(|(known, _)| *known == name) else {
        return new_entity_type(name);
    };
    if let Some(made) = known.get() {
        return Ok(made.clone());
    }
    let made = known_type(name)?;
    Ok(known.get_or_init(|| made).clone())
}

/// A type of our schema. Made of what Cedar's parser would have found: its own check of a name
/// compiles a regular expression, and these names are known to be right.
fn known_type(name: &str) -> Result<EntityType, String> {
    let ident = Node::new(Some(Ident::Ident(name.into())));
    let id = ident.to_valid_ident().map_err(|error| error.to_string())?;
    let id = UnreservedId::try_from(id).map_err(|error| error.to_string())?;
    Ok(Name::unqualified_name(id).into())
}

fn new_entity_type(name: &str) -> Result<EntityType, String> {
    Name::from_normalized_str(name).map(EntityType::from).map_err(|error| error.to_string())
}

/// An entity, without Cedar's parser. Any text is an id.
pub(crate) fn entity(type_name: &str, id: &str) -> Result<EntityUID, String> {
    Ok(EntityUID::from_components(entity_type(type_name)?, Eid::new(id), None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_type_is_what_cedar_makes_of_its_name() {
        for (name, _) in &KNOWN_TYPES {
            assert_eq!(known_type(name), new_entity_type(name), "{name}");
        }
    }
}
