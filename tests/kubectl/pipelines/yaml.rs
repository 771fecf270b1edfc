//! YAML as JSON, whose pointers the tests know. What has no JSON fails.

use saphyr::{LoadableYamlNode as _, Scalar, Yaml};
use serde_json::{Value, json};

/// The one document of a text.
pub(super) fn document(text: &str) -> Value {
    let documents = Yaml::load_from_str(text).unwrap_or_else(|why| panic!("{why}: {text}"));
    let [document] = &documents[..] else { panic!("{} documents", documents.len()) };
    value(document)
}

fn value(node: &Yaml<'_>) -> Value {
    match node {
        Yaml::Mapping(members) => {
            let name = |key: &Yaml<'_>| key.as_str().expect("a name is text").to_owned();
            Value::Object(members.iter().map(|(key, node)| (name(key), value(node))).collect())
        }
        Yaml::Sequence(elements) => elements.iter().map(value).collect(),
        Yaml::Value(Scalar::String(text)) => json!(text),
        Yaml::Value(Scalar::Integer(number)) => json!(number),
        Yaml::Value(Scalar::Boolean(truth)) => json!(truth),
        other => panic!("this has no JSON here: {other:?}"),
    }
}

/// The text of a member.
pub(super) fn text<'v>(of: &'v Value, name: &str) -> &'v str {
    of[name].as_str().unwrap_or_else(|| panic!("no text {name} in {of:#}"))
}

/// The members of an object, all of which the runner of the tests must know.
pub(super) fn known(of: &Value, names: &[&str]) {
    for name in of.as_object().unwrap_or_else(|| panic!("no object: {of}")).keys() {
        assert!(names.contains(&name.as_str()), "the runner of the tests knows no {name}: {of:#}");
    }
}

/// The texts of an array.
pub(super) fn texts(of: &Value) -> Vec<&str> {
    let elements = of.as_array().unwrap_or_else(|| panic!("no array: {of}"));
    elements.iter().map(|it| it.as_str().expect("text")).collect()
}

#[test]
fn yaml_is_read_as_a_runner_reads_it() {
    let read =
        document("on:\n  push: { tags: [\"v*\"] }\nrun: |\n  a\n  b\nn: 90\noff: false # no\n");
    assert_eq!(
        read,
        json!({"on": {"push": {"tags": ["v*"]}}, "run": "a\nb\n", "n": 90, "off": false})
    );
}
