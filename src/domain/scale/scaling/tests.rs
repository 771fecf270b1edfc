use super::*;

fn measure(value: f64) -> Measure {
    value.try_into().expect("BUG: finite")
}

fn spec(aggregation: Aggregation, target: f64) -> ScalingSpec {
    ScalingSpec {
        signal: Signal {
            name: "queue_depth".parse().expect("BUG: a word"),
            aggregation,
            unit: None,
            scope: None,
        },
        target: measure(target),
        scale_up_step: Replicas::from(100),
        scale_down_step: Replicas::from(100),
        deadband: measure(DEADBAND_DEFAULT),
        scale_up_samples: UP_SAMPLES_DEFAULT,
        scale_down_samples: DOWN_SAMPLES_DEFAULT,
    }
}

/// facts/fleet-authority.md, 4.2.
#[test]
fn the_count_follows_the_target_within_bounds_and_steps() {
    use Aggregation::{FleetTotal, PerReplica};
    let rows = [
        // what, target, current, value, min, max, wanted
        (FleetTotal, 10.0, 3, 55.0, 1, 20, 6),
        (FleetTotal, 10.0, 3, 30.0, 1, 20, 3),
        (FleetTotal, 10.0, 3, 30.1, 1, 20, 4),
        (FleetTotal, 10.0, 0, 0.0, 0, 20, 0),
        (FleetTotal, 10.0, 0, 55.0, 0, 20, 6),
        (FleetTotal, 0.1, 3, 0.7, 1, 20, 7),
        (FleetTotal, 10.0, 3, 1e300, 1, 20, 20),
        (PerReplica, 10.0, 3, 20.0, 1, 20, 6),
        (PerReplica, 1.1, 3, 1.1, 1, 20, 3),
        // Nothing runs: tracked as if one did.
        (PerReplica, 10.0, 0, 40.0, 0, 20, 4),
        (PerReplica, 10.0, 4, 5.0, 3, 20, 3),
    ];
    for (aggregation, target, current, value, min, max, wanted) in rows {
        let spec = spec(aggregation, target);
        let bounds = (Replicas::from(min), Replicas::from(max));
        let found = spec.wanted(bounds, Replicas::from(current), measure(value));
        assert_eq!(found, Replicas::from(wanted), "{aggregation:?} {target} {current} {value}");
    }
}

/// The bounds come last, so a service outside them comes back to the nearest, whatever a step is.
#[test]
fn the_bounds_hold_after_the_cap_of_a_step() {
    let mut spec = spec(Aggregation::FleetTotal, 1.0);
    (spec.scale_up_step, spec.scale_down_step) = (Replicas::from(2), Replicas::from(3));
    let bounds = (Replicas::from(1), Replicas::from(10));
    let wanted =
        |current, value| spec.wanted(bounds, Replicas::from(current), measure(value)).get();
    assert_eq!(wanted(4, 9.0), 6);
    assert_eq!(wanted(9, 1.0), 6);
    assert_eq!(wanted(50, 1.0), 10);
    assert_eq!(wanted(12, 1.0), 9);
    assert_eq!(wanted(0, 0.0), 1);
}

#[test]
fn the_deadband_is_a_part_of_the_target_and_does_not_hold_at_nothing() {
    let spec = spec(Aggregation::PerReplica, 100.0);
    let bounds = (Replicas::from(0), Replicas::from(10));
    let within =
        |current, value| spec.is_within_deadband(bounds, Replicas::from(current), measure(value));
    assert!(within(3, 105.0) && within(3, 95.0));
    assert!(!within(3, 105.01) && !within(3, 94.99));
    assert!(!within(0, 100.0));
    // Outside the bounds no value is right.
    assert!(within(10, 100.0) && !within(11, 100.0));
    let bounds = (Replicas::from(4), Replicas::from(10));
    assert!(!spec.is_within_deadband(bounds, Replicas::from(3), measure(100.0)));
}

#[test]
fn only_a_fresh_sample_of_the_same_signal_is_used_and_only_once() {
    let signal = spec(Aggregation::FleetTotal, 1.0).signal;
    let service: ServiceName = "web".parse().expect("BUG: a name");
    let at = |text: &str| text.parse::<Timestamp>().expect("BUG: an instant");
    let now = at("2026-01-01T12:02:00Z");
    let sample = |observed_at| Sample {
        service: service.clone(),
        signal: signal.clone(),
        value: measure(5.0),
        observed_at: at(observed_at),
    };
    let ask = |sample: Option<&Sample>, consumed: Option<&str>| {
        usable(&service, &signal, sample, consumed.map(at), now).err()
    };
    assert_eq!(ask(None, None), Some(NoData::Missing));
    for (observed_at, answer) in [
        ("2026-01-01T12:00:00Z", None),
        ("2026-01-01T11:59:59.999999Z", Some(NoData::Stale)),
        ("2026-01-01T12:02:30Z", None),
        ("2026-01-01T12:02:30.000001Z", Some(NoData::Future)),
    ] {
        assert_eq!(ask(Some(&sample(observed_at)), None), answer, "{observed_at}");
    }
    let one = sample("2026-01-01T12:01:00Z");
    assert_eq!(ask(Some(&one), Some("2026-01-01T12:00:59.999999Z")), None);
    assert_eq!(ask(Some(&one), Some("2026-01-01T12:01:00Z")), Some(NoData::Consumed));
    let negative = Sample { value: measure(-0.001), ..one.clone() };
    assert_eq!(ask(Some(&negative), None), Some(NoData::Negative));
    let nothing = Sample { value: measure(-0.0), ..one.clone() };
    assert_eq!(ask(Some(&nothing), None), None);
    let word = |text: &str| Some(text.parse::<SignalWord>().expect("BUG: a word"));
    let others: [fn(&mut Sample, Option<SignalWord>); 5] = [
        |it, _| it.service = "api".parse().expect("BUG: a name"),
        |it, word| it.signal.name = word.expect("BUG: given"),
        |it, _| it.signal.aggregation = Aggregation::PerReplica,
        |it, word| it.signal.unit = word,
        |it, word| it.signal.scope = word,
    ];
    for change in others {
        let mut other = one.clone();
        change(&mut other, word("other"));
        assert_eq!(ask(Some(&other), None), Some(NoData::Mismatched), "{other:?}");
    }
}

#[test]
fn a_budget_caps_only_more_replicas() {
    let cap = CostCap { budget_per_hour: measure(0.52), replica_cost: measure(0.05) };
    let capped =
        |current, desired| cap.capped(Replicas::from(current), Replicas::from(desired)).get();
    assert_eq!(capped(3, 8), 8);
    assert_eq!(capped(3, 12), 10);
    // What is there already is not taken away.
    assert_eq!(capped(11, 12), 11);
    assert_eq!(capped(20, 15), 15);
}

#[test]
fn words_of_a_signal_are_not_blank_and_bounded() {
    assert!("x".repeat(128).parse::<SignalWord>().is_ok());
    for bad in ["", "  ", "a\nb", &"x".repeat(129)] {
        assert!(bad.parse::<SignalWord>().is_err(), "{bad:?}");
    }
}
