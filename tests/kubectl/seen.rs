//! What a person sees of J7 and J8, with the real kubectl, on a clock that stands still.

use std::path::Path;
use std::process::Command;

use scalectl::domain::time::Timestamp;

use super::hand_over::{HPA, kubectl, search_driven_in, set_by_argo};
use super::server::{ApiServer, Fault};
use super::world::Kube;
use crate::journeys::seen::Seen;
use crate::support::{SCALECTL, World};

/// A journey on a cluster: the ledger, the adapter and the person have the same clock.
struct Told {
    seen: Seen,
    server: ApiServer,
}

/// Builds a library whose wall clock is what a file says.
fn still_clock(library: &Path, file: &Path) {
    let built = Command::new("cc")
        .args(["-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o"])
        .arg(library)
        .arg(format!("-DFILE_OF_SECONDS=\"{}\"", file.display()))
        .arg(format!("{}/tests/kubectl/still.c", env!("CARGO_MANIFEST_DIR")))
        .output();
    match built {
        Ok(built) => assert!(built.status.success(), "the clock is not built: {built:?}"),
        Err(error) => panic!("cc is needed here (apt-get install gcc libc6-dev): {error}"),
    }
}

impl Told {
    /// A ledger with the actuator `k8s`, and everything permitted.
    fn begins(kube: Kube, timeout: &str) -> Self {
        let Kube { mut world, server } = kube;
        world.set("SCALECTL_TEST_HOST_NAME", "bastion-1");
        let (library, file) = (world.path("clock.so"), world.path("seconds"));
        still_clock(&library, &file);
        let mut told = Self { seen: Seen::of(world), server };
        told.at("2026-11-24T02:58:00Z", "dev:1001");
        let world = &told.seen.world;
        world.run("init").exits(0);
        world.write("all.cedar", "@id(\"all\")\npermit(principal, action, resource);\n");
        world.run("policy put all.cedar --reason test").exits(0);
        let put = format!(
            "actuator put k8s --timeout {timeout} -- /usr/bin/env LD_PRELOAD={} {SCALECTL} \
             actuator run kubectl --context prod --namespace shop --evidence rollout",
            library.display()
        );
        world.run(&put).exits(0);
        told
    }

    fn at(&mut self, instant: &str, who: &str) {
        let at: Timestamp = instant.parse().unwrap();
        self.seen.world.write("seconds", format!("{}\n", at.as_micros() / 1_000_000));
        self.seen.at(instant, who);
    }

    /// The real kubectl, as a person types it.
    fn kubectl(&mut self, line: &str) -> String {
        let printed = kubectl(&self.seen.world, line);
        let into = if printed.starts_with('{') { " > search-hpa.json" } else { "" };
        let line = format!("kubectl --context prod -n shop {line}{into}");
        self.seen.typed(&line, if into.is_empty() { &printed } else { "" });
        printed
    }
}

#[test]
fn j7_kubectl_gave_no_answer_in_time() {
    let kube = Kube::within(World::on_sqlite());
    let mut told = Told::begins(kube, "20s");
    let put = "service put worker --workload deployment/web --actuator k8s --writer ops --max 10";
    told.seen.world.run(put).exits(0);
    told.server.fault("PUT /apis/apps/v1/namespaces/shop/deployments/web/scale", Fault::HangBefore);
    let line = "scale worker=2 --key shrink-7 --reason \"after batch\"";
    told.seen.does(line, 16);
    told.at("2026-11-24T03:10:00Z", "oncall:1004");
    told.seen
        .looks("status", 0)
        .looks("explain shrink-7", 0)
        .looks("attempt show shrink-7 --stderr", 0)
        .does("scale worker=3 --key other --reason more --timeout 1s", 11)
        .does("replay shrink-7", 18);
    told.at("2026-11-24T03:12:00Z", "dev:1001");
    told.seen
        .does(line, 0)
        .looks("status", 0)
        .looks("explain shrink-7", 0)
        .looks("log worker --on 2026-11-24 --zone Europe/Berlin", 0);
    told.seen.hold("j7-kubectl");
}

#[test]
fn j8_from_an_autoscaler_to_us_and_back() {
    let mut told = Told::begins(search_driven_in(World::on_sqlite()), "60s");
    let put = "service put search --actuator k8s --workload deployment/search --writer ops";
    told.seen.world.run(&format!("{put} --max 20 --mode hpa")).exits(0);
    told.seen
        .looks("status", 0)
        .does("scale search=12 --reason sale", 22)
        .does("service mode search native --reason sale", 22);
    let kept = told.kubectl("get horizontalpodautoscaler/search -o json");
    told.seen.world.write("search-hpa.json", kept);
    told.kubectl("delete horizontalpodautoscaler/search");
    set_by_argo(&told.server);
    told.seen
        .does("service mode search native --reason sale", 0)
        .does("scale search=12 --reason sale --key sale", 0)
        .looks("status search", 0)
        .looks("service list", 0);
    told.at("2026-11-25T02:58:00Z", "dev:1001");
    told.seen.does("service mode search hpa --reason \"sale over\"", 0);
    told.kubectl("create -f search-hpa.json --validate=false");
    assert!(told.server.get(HPA).is_object(), "it is there again");
    told.seen
        .does("service bind search", 0)
        .looks("status", 0)
        .looks("log search --event service_handed_over,intent_accepted", 0);
    told.seen.hold("j8");
}
