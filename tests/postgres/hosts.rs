//! Three hosts on one ledger: each has its own HOME, host key and clock, and one of them dies.

use serde_json::Value;

use super::{bind_fake, ended, with_fake};
use crate::support::World;

/// The clocks of the hosts, against the server's.
const SKEWS_MS: [&str; 3] = ["0", "3600000", "-7200000"];

/// Three hosts that see the same ledger and the same target.
fn hosts(world: &World) -> Vec<World> {
    let host = |(number, skew): (usize, &&str)| {
        let mut host = World::on_postgres();
        host.set("SCALECTL_LEDGER", world.schema().address());
        host.set("SCALECTL_TEST_HOST", format!("{number:032}"));
        host.set("SCALECTL_TEST_HOST_SKEW_MS", *skew);
        host.set("FAKE_ACTUATOR_DIR", world.fake_dir().to_str().unwrap());
        host.set("SCALECTL_ACTOR", format!("host-{number}"));
        bind_fake(&host).exits(0);
        host
    };
    SKEWS_MS.iter().enumerate().map(host).collect()
}

fn number(value: &Value) -> u64 {
    value.as_u64().expect("a number")
}

#[test]
fn three_hosts_with_wrong_clocks_agree_on_one_winner() {
    let world = with_fake();
    let hosts = hosts(&world);
    let mut fence = (0, 0);
    for revision in 1..=4_u64 {
        let line = |host: usize| {
            let expected = revision - 1;
            format!(
                "-o json intent put web --replicas {} --expect-revision {expected} \
                 --key r{revision}-{host} --reason r --supersede",
                revision + host as u64
            )
        };
        let puts: Vec<_> = (0..3).map(|at| hosts[at].start(&line(at))).collect();
        let puts: Vec<_> = puts.into_iter().map(|child| ended(child, "put")).collect();
        let won: Vec<_> = (0..3).filter(|at| puts[*at].code == Some(0)).collect();
        assert_eq!(won.len(), 1, "{puts:#?}");
        assert!((0..3).all(|at| won[0] == at || puts[at].code == Some(10)), "{puts:#?}");

        let key = format!("r{revision}-{}", won[0]);
        let lease = format!("-o json lease acquire {key} --ttl 30s");
        let leases: Vec<_> = hosts.iter().map(|host| host.start(&lease)).collect();
        let leases: Vec<_> = leases.into_iter().map(|child| ended(child, &lease)).collect();
        let granted: Vec<_> = leases.iter().filter(|ran| ran.at("/recorded") == "yes").collect();
        assert_eq!(granted.len(), 1, "{leases:#?}");

        let actuate = format!("-o json actuate {key}");
        let calls: Vec<_> = hosts.iter().map(|host| host.start(&actuate)).collect();
        let calls: Vec<_> = calls.into_iter().map(|child| ended(child, &actuate)).collect();
        assert!(calls.iter().any(|ran| ran.code == Some(0)), "{calls:#?}");
        let intent = hosts[0].json(&format!("intent show {key}")).exits(0);
        let at = |name: &str| number(&intent.at(&format!("/intent/fence/{name}")));
        let found = (at("lease_epoch"), at("fence_token"));
        assert!(found > fence, "a fence went back: {fence:?} to {found:?}");
        fence = found;
        assert_eq!(world.fake_log("effects").len(), usize::try_from(revision).unwrap());
        hosts[1].run(&format!("observe {key}")).exits(0);
    }
    for host in &hosts {
        host.run("verify").exits(0);
    }
}

/// What is recorded is by the server's clock, whatever a host believes.
#[test]
fn a_wrong_clock_is_told_and_decides_nothing() {
    let world = with_fake();
    let hosts = hosts(&world);
    for (at, host) in hosts.iter().enumerate() {
        let put = host.json(&format!(
            "intent put web --replicas {} --key k{at} --expect-revision latest --supersede \
             --reason r",
            at + 1
        ));
        let put = put.exits(0);
        let warned = put.stdout.contains("host_clock_skew");
        assert_eq!(warned, SKEWS_MS[at] != "0", "{put:#?}");
    }
    let apart = world.sql(
        "SELECT max(abs(extract(epoch FROM clock_timestamp()) * 1000000 - at)) < 60000000
         FROM event",
    );
    assert_eq!(apart, "t", "an event is by a host's clock");
    // Four seconds are nothing to speak of.
    let mut near = World::on_postgres();
    near.set("SCALECTL_LEDGER", world.schema().address());
    near.set("SCALECTL_TEST_HOST_SKEW_MS", "4000");
    assert!(!near.json("status").exits(0).stdout.contains("host_clock_skew"));
}

/// Journey J9: the laptop is gone in the middle of a call, and the bastion takes over.
#[test]
fn another_host_recovers_what_a_dead_one_has_left() {
    let world = with_fake();
    world.run("service put web --quiet 1s").exits(0);
    let hosts = hosts(&world);
    world.script(&["hang"]);
    hosts[1].run("intent put web --replicas 5 --key k1 --reason r").exits(0);
    let mut call = hosts[1].start("actuate k1 --ttl 40s");
    hosts[1].until("the effect is there", || !world.fake_log("effects").is_empty());
    let processes = hosts[1].call_file();
    for pid in [i32::try_from(call.id()).unwrap(), processes.guard, processes.group] {
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        let _gone = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
    call.wait().expect("ours");

    let status = hosts[2].json("status web").exits(0);
    assert!(status.stdout.contains("started"), "{status:#?}");
    // Its lease is not over: nobody else may say what became of it.
    let early = hosts[2].json("replay k1");
    assert!([11, 16].map(Some).contains(&early.code), "{early:#?}");
    assert_eq!(world.fake_log("effects").len(), 1);

    // The same, when its lease, the deadline of its call and the quiet time are over. The clock is
    // moved and not waited for: from elsewhere an end is only believed 300 s after the deadline of
    // the call, however short its lease is.
    let mut later = World::on_postgres();
    later.set("SCALECTL_LEDGER", world.schema().address());
    later.set("SCALECTL_TEST_HOST", format!("{:032}", 7));
    later.set("FAKE_ACTUATOR_DIR", world.fake_dir().to_str().unwrap());
    bind_fake(&later);
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime).tv_sec;
    let at = scalectl::domain::time::Timestamp::from_micros((now + 900) * 1_000_000).unwrap();
    // The target is asked then, too.
    std::fs::write(world.fake_dir().join("now"), format!("{at}\n")).unwrap();
    later.clock(&at.to_string());
    later.run("replay k1").exits(0);
    let shown = later.json("intent show k1").exits(0);
    assert_eq!(shown.at("/execution/outcome"), "converged");
    assert_eq!(world.fake_log("effects").len(), 1, "no second call");
    later.run("verify").exits(0);
    // Who was away comes back to what has been found out.
    hosts[1].run("replay k1").exits(0);
}
