//! The documents that a person or a source writes: registrations and signals.

use scalectl::domain::scale::scaling::{Sample, Signal};
use scalectl::ops::service_put::registration;
use scalectl::ops::signals::{Said, Wanted, samples};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use super::{BOOLEANS, COUNTS, IDENTIFIERS, INSTANTS, agree, changed, long, walk};
use crate::support::World;
use crate::support::schema::Schema;

/// A registration that is read from a value.
struct Registration;

impl<'de> Deserialize<'de> for Registration {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(reader)?;
        registration(value.to_string().as_bytes()).map(|_| Self).map_err(D::Error::custom)
    }
}

/// Signals that are read from a value, with all of their samples.
struct Signals;

impl<'de> Deserialize<'de> for Signals {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(reader)?;
        let wanted: Vec<Wanted> = services(&value)
            .into_iter()
            .map(|(service, signal)| Wanted { service, signal, query: None })
            .collect();
        let read = samples(value.to_string().as_bytes(), &wanted);
        if let Some(why) = read.failure {
            return Err(D::Error::custom(why));
        }
        for wanted in &wanted {
            if let Said::Unreadable(why) = read.of(&wanted.service) {
                return Err(D::Error::custom(why));
            }
        }
        Ok(Self)
    }
}

/// Whom the elements of a document are about, where they say it.
fn services(document: &Value) -> Vec<(scalectl::domain::id::ServiceName, Signal)> {
    let elements = document["signals"].as_array().cloned().unwrap_or_default();
    let named = |it: &Value| it["service"].as_str().and_then(|name| name.parse().ok());
    let sound = |it: &Value| serde_json::from_value::<Sample>(it.clone()).ok();
    let any: Signal = serde_json::from_value(json!({ "name": "any" })).expect("a signal");
    let of = |it: &Value| sound(it).map_or_else(|| any.clone(), |sample| sample.signal);
    elements.iter().filter_map(|it| Some((named(it)?, of(it)))).collect()
}

const SERVICE: &str = "service put web --actuator fake --writer ops --min 1 --max 10 --drain none \
    --label team=shop --signal depth --signal-target 5 --signal-unit jobs --signal-scope all";

#[test]
fn what_a_service_shows_fits_its_schema_and_is_put_back() {
    let world = World::new();
    world.init_fake();
    world.run(SERVICE).exits(0);
    let shown = |world: &World| world.json("service show web").exits(0).at("/registration");
    let good = shown(&world);
    let schema = Schema::named("registration");
    let words = [("\"a b\"", true), ("\" \"", false), ("\"\\u0085\"", false), ("1", false)];
    let (most, over) = (long(128), long(129));
    let lengths = [(&*most, true), (&*over, false)];
    let steps = [("1", true), ("100000", true), ("0", false), ("100001", false), ("1.5", false)];
    let samples = [("1", true), ("60", true), ("0", false), ("61", false), ("300", false)];
    let targets = [("0.1", true), ("1e12", true), ("0", false), ("-1", false), ("1e13", false)];
    let lasting = [("0", true), ("86400000", true), ("86400001", false), ("1.5", false)];
    let nothing = [("null", true)];
    let readings = [("1", true), ("10", true), ("0", false), ("11", false), ("null", false)];
    let refused = walk::<Registration>(
        &schema,
        &good,
        &[
            (&IDENTIFIERS, &["/service", "/writer", "/cluster_id", "/runtime_id", "/workload_id"]),
            (&IDENTIFIERS[..7], &["/actuator"]),
            (&nothing, &["/actuator", "/cooldown_ms", "/scaling", "/scaling/signal/unit"]),
            (&COUNTS, &["/min_replicas", "/max_replicas"]),
            (&BOOLEANS, &["/quorum_required", "/quorum"]),
            (&[("true", true), ("\"yes\"", false)], &["/quorum_required"]),
            (&[("\"hpa\"", true), ("\"\"", false), ("null", false)], &["/mode"]),
            (&[("\"required\"", true), ("\"no\"", false)], &["/terms/drain"]),
            (&lasting, &["/cooldown_ms", "/terms/quiet_ms", "/terms/reading_interval_ms"]),
            (&readings, &["/terms/required_readings"]),
            (&[("0", false), ("2", true)], &["/unit_revision", "/retry_policy/max_attempts"]),
            (&[("0.5", true), ("3600.5", false)], &["/retry_policy/backoff_s"]),
            (&[("\"x\"", true), ("\"\"", false), ("7", false)], &["/labels/team"]),
            (&words, &["/scaling/signal/name", "/scaling/signal/scope", "/scaling/signal"]),
            (&lengths, &["/scaling/signal/name", "/scaling/signal"]),
            (&steps, &["/scaling/scale_up_step", "/scaling/scale_down_step"]),
            (&samples, &["/scaling/scale_up_samples", "/scaling/scale_down_samples"]),
            (&targets, &["/scaling/target"]),
            (&[("0", true), ("1", true), ("1.01", false)], &["/scaling/deadband"]),
        ],
    );
    let put = "service put web --file -";
    let same = world.run_with(&format!("{put} -o json"), good.to_string().as_bytes()).exits(0);
    assert_eq!((same.at("/changed"), same.at("/recorded")), (json!(false), json!("no")));
    for document in refused.iter().step_by(5) {
        world.run_with(put, document.to_string().as_bytes()).exits(2);
    }
    assert_eq!(shown(&world), good, "a refused document changes nothing");
    let flat = json!({ "max": 9, "drain": "none", "readings": 1, "cooldown_s": 0.5 });
    walk::<Registration>(
        &schema,
        &flat,
        &[
            (&[("\"required\"", true), ("\"no\"", false)], &["/drain"]),
            (&readings, &["/readings"]),
            (&[("0.25", true), ("86400", true), ("86401", false)], &["/cooldown_s"]),
        ],
    );
    // What the schema cannot say: two names of one thing.
    let twice = changed(&good, "/min", Some("2"));
    assert!(schema.problems(&twice).is_empty());
    world.run_with(put, twice.to_string().as_bytes()).exits(2).says("its other name, says 1");
}

/// The rule book's minimum (1B) is that of a scaling; a static service begins at 0.
#[test]
fn a_new_service_that_a_signal_scales_keeps_one_replica_unless_it_says_otherwise() {
    let world = World::new();
    world.init_fake();
    let least = |name: &str, line: &str| {
        let put = format!("service put {name} --actuator fake --writer ops --max 9 {line}");
        world.run(&put).exits(0);
        world.json(&format!("service show {name}")).exits(0).at("/registration/min_replicas")
    };
    assert_eq!(least("scaled", "--signal depth --signal-target 5"), 1);
    assert_eq!(least("idle", "--signal depth --signal-target 5 --min 0"), 0);
    assert_eq!(least("plain", ""), 0);
    assert_eq!(least("plain", "--signal depth --signal-target 5"), 0, "what is there stays");
}

#[test]
fn signals_fit_their_schema_exactly_if_every_sample_is_read() {
    let schema = Schema::named("signals");
    let good = json!({ "format_version": 1, "signals": [{
        "service": "web", "signal": { "name": "depth", "unit": "jobs" }, "value": 7.5,
        "observed_at": "2026-01-05T10:00:00Z",
    }] });
    assert!(agree::<Signals>(&schema, &good));
    let with = |member: &str, to: &str| {
        let mut document = good.clone();
        document["signals"][0] = changed(&good["signals"][0], member, Some(to));
        document
    };
    let values = [("0", true), ("-1", true), ("1e3", true), ("\"1\"", false), ("null", false)];
    let words = [("\"per_replica\"", true), ("\"total\"", false), ("null", false)];
    let scopes = [("null", true), ("\"a\"", true), ("\"\"", false), ("1", false)];
    for (member, kinds) in [
        ("/service", &IDENTIFIERS[..]),
        ("/value", &values),
        ("/observed_at", &INSTANTS),
        ("/signal/aggregation", &words),
        ("/signal/scope", &scopes),
        ("/signal", &[("\"depth\"", false), ("{}", false)]),
        ("/stranger", &[("1", false)]),
        ("/signal/stranger", &[("1", false)]),
    ] {
        for (to, fits) in kinds {
            assert_eq!(agree::<Signals>(&schema, &with(member, to)), *fits, "{member} = {to}");
        }
    }
    for member in ["service", "signal", "value", "observed_at"] {
        let mut document = good.clone();
        document["signals"][0].as_object_mut().expect("a sample").remove(member);
        assert!(!agree::<Signals>(&schema, &document), "{member} is missing");
    }
    for (member, to) in [("/format_version", "2"), ("/signals", "{}"), ("/stranger", "1")] {
        assert!(!agree::<Signals>(&schema, &changed(&good, member, Some(to))), "{member}");
    }
    assert!(agree::<Signals>(&schema, &changed(&good, "/signals", Some("[]"))));
}
