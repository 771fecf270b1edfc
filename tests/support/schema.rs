//! A validator for `fixtures/schemas/`: the keywords of JSON Schema 2020-12 that they use, and no
//! others. An unknown keyword is a failure, so nothing in a schema is without effect.

use std::path::Path;

use regex::Regex;
use serde_json::{Map, Value};

/// One of our schemas.
pub(crate) struct Schema(Value);

/// Keywords that say nothing about a document.
const SILENT: [&str; 5] = ["$schema", "$defs", "title", "description", "default"];

impl Schema {
    /// The schema of `fixtures/schemas/NAME.json`.
    pub(crate) fn named(name: &str) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"));
        let path = path.join("fixtures/schemas").join(format!("{name}.json"));
        let text = std::fs::read_to_string(path).expect("the schema is there");
        Self(serde_json::from_str(&text).expect("a schema is JSON"))
    }

    /// What in a document is not as the schema says; nothing where it fits.
    pub(crate) fn problems(&self, document: &Value) -> Vec<String> {
        let mut found = Vec::new();
        self.check(&self.0, document, "", &mut found);
        found
    }

    fn fits(&self, schema: &Value, value: &Value) -> bool {
        let mut found = Vec::new();
        self.check(schema, value, "", &mut found);
        found.is_empty()
    }

    fn check(&self, schema: &Value, value: &Value, at: &str, found: &mut Vec<String>) {
        let schema = schema.as_object().expect("a schema is an object");
        for (keyword, wanted) in schema {
            let mut refuse = |why: String| found.push(format!("{at}: {why}"));
            match keyword.as_str() {
                "$ref" => {
                    let name = wanted.as_str().and_then(|name| name.strip_prefix('#'));
                    let target = self.0.pointer(name.expect("a local reference"));
                    self.check(target.expect("it is defined"), value, at, found);
                }
                "type" if !is_of_type(wanted, value) => refuse(format!("{value} is no {wanted}")),
                "const" if value != wanted => refuse(format!("{value} is not {wanted}")),
                "enum" if !array(wanted).contains(value) => {
                    refuse(format!("{value} is none of {wanted}"));
                }
                "pattern" if value.as_str().is_some_and(|text| !matches(wanted, text)) => {
                    refuse(format!("{value} does not match {wanted}"));
                }
                "minLength" | "maxLength" | "minimum" | "exclusiveMinimum" | "maximum"
                | "minItems" => {
                    if !is_within(keyword, wanted, value) {
                        refuse(format!("{value} breaks {keyword} {wanted}"));
                    }
                }
                "required" => {
                    for name in array(wanted).iter().filter_map(Value::as_str) {
                        if value.is_object() && value.get(name).is_none() {
                            found.push(format!("{at}: {name} is missing"));
                        }
                    }
                }
                "properties" => {
                    for (name, schema) in object(wanted) {
                        if let Some(value) = value.get(name) {
                            self.check(schema, value, &format!("{at}/{name}"), found);
                        }
                    }
                }
                "additionalProperties" => self.others(schema, wanted, value, at, found),
                "items" => {
                    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                        self.check(wanted, item, &format!("{at}/{index}"), found);
                    }
                }
                "anyOf" if !array(wanted).iter().any(|schema| self.fits(schema, value)) => {
                    refuse(format!("{value} fits none of {wanted}"));
                }
                "allOf" => {
                    for schema in array(wanted) {
                        self.check(schema, value, at, found);
                    }
                }
                "if" => {
                    let branch = if self.fits(wanted, value) { "then" } else { "else" };
                    if let Some(schema) = schema.get(branch) {
                        self.check(schema, value, at, found);
                    }
                }
                "type" | "const" | "enum" | "pattern" | "anyOf" | "then" | "else" => {}
                silent if SILENT.contains(&silent) => {}
                unknown => panic!("the validator does not know the keyword {unknown}"),
            }
        }
    }

    fn others(
        &self,
        schema: &Map<String, Value>,
        wanted: &Value,
        value: &Value,
        at: &str,
        found: &mut Vec<String>,
    ) {
        let known = schema.get("properties").and_then(Value::as_object);
        for (name, value) in value.as_object().into_iter().flatten() {
            if known.is_some_and(|known| known.contains_key(name)) {
                continue;
            }
            match wanted {
                Value::Bool(true) => {}
                Value::Bool(false) => found.push(format!("{at}: {name} is not known")),
                schema => self.check(schema, value, &format!("{at}/{name}"), found),
            }
        }
    }
}

fn array(value: &Value) -> &Vec<Value> {
    value.as_array().expect("the keyword takes an array")
}

fn object(value: &Value) -> &Map<String, Value> {
    value.as_object().expect("the keyword takes an object")
}

fn matches(pattern: &Value, text: &str) -> bool {
    let pattern = pattern.as_str().expect("a pattern is a text");
    Regex::new(pattern).expect("a pattern is a regular expression").is_match(text)
}

/// Stricter than the standard: 3.0 is no integer, because the readers of the contract refuse it.
fn is_of_type(wanted: &Value, value: &Value) -> bool {
    let is = |name: &str| match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        other => panic!("{other} is no type"),
    };
    match wanted {
        Value::String(name) => is(name),
        names => array(names).iter().filter_map(Value::as_str).any(is),
    }
}

fn is_within(keyword: &str, bound: &Value, value: &Value) -> bool {
    let bound = bound.as_f64().expect("a bound is a number");
    #[expect(clippy::cast_precision_loss, reason = "lengths are small")]
    let length = match value {
        Value::String(text) => Some(text.chars().count() as f64),
        Value::Array(items) => Some(items.len() as f64),
        _ => None,
    };
    match (keyword, value) {
        ("minLength", Value::String(_)) | ("minItems", Value::Array(_)) => length >= Some(bound),
        ("maxLength", Value::String(_)) => length <= Some(bound),
        ("minimum", Value::Number(number)) => number.as_f64() >= Some(bound),
        ("exclusiveMinimum", Value::Number(number)) => number.as_f64() > Some(bound),
        ("maximum", Value::Number(number)) => number.as_f64() <= Some(bound),
        _ => true,
    }
}
