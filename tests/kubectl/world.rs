//! A cluster, the settings of kubectl that lead to it, and calls of the adapter.

use std::process::Command;

use serde_json::{Value, json};

use super::server::{ApiServer, status_of};
use crate::support::World;
use crate::support::calls::answer;
pub(super) use crate::support::calls::{in_short, with};

/// The uid of namespace kube-system of the usual cluster.
pub(super) const CLUSTER: &str = "5d0c6f0e-1111-4222-8333-944445555666";
/// The uid of the usual object.
pub(super) const UID: &str = "7f3c6f0e-1111-4222-8333-944445555666";
/// The usual object in the server.
pub(super) const WEB: &str = "/apis/apps/v1/namespaces/shop/deployments/web";
/// A StatefulSet.
pub(super) const DB: &str = "/apis/apps/v1/namespaces/shop/statefulsets/db";

/// A world with a cluster that context `prod` leads to: Deployment `web` with 6 replicas and
/// StatefulSet `db` with 3, both in namespace `shop`, both done.
pub(super) struct Kube {
    pub(super) world: World,
    pub(super) server: ApiServer,
}

impl Kube {
    pub(super) fn new() -> Self {
        Self::within(World::new())
    }

    /// The same in a world that is there.
    pub(super) fn within(mut world: World) -> Self {
        let found = Command::new("kubectl").args(["version", "--client"]).output();
        assert!(
            found.is_ok_and(|output| output.status.success()),
            "kubectl is not in PATH: https://kubernetes.io/docs/tasks/tools/ says how to install it"
        );
        let server = ApiServer::start(CLUSTER);
        server.put(WEB, object("Deployment", "web", UID, 6));
        server.put(DB, object("StatefulSet", "db", "dbdbdbdb-1111-4222-8333-944445555666", 3));
        leads_to(&world, &server);
        let settings = world.path("kube.json").to_str().unwrap().to_owned();
        world.set("KUBECONFIG", settings);
        Self { world, server }
    }

    /// The answer of one call of the adapter that acts through context `prod`.
    pub(super) fn call(&self, flags: &[&str], request: &Value) -> Value {
        let mut words = vec!["actuator", "run", "kubectl", "--context", "prod"];
        words.extend(flags);
        let mut command = self.world.command(&words);
        Self::answer(&mut command, request)
    }

    pub(super) fn answer(command: &mut Command, request: &Value) -> Value {
        answer(command, request)
    }

    /// What `inspect` says of `deployment/web`.
    pub(super) fn inspect(&self) -> Value {
        self.call(&[], &inspect("deployment/web"))
    }

    /// An apply to the object as it is now.
    pub(super) fn apply_to(&self, path: &str, desired: u64) -> Value {
        let object = self.server.get(path);
        let kind = object["kind"].as_str().unwrap().to_lowercase();
        let workload = format!("{kind}/{}", object["metadata"]["name"].as_str().unwrap());
        let mut request = apply(desired);
        let version = &object["metadata"]["resourceVersion"];
        request["request"]["target"]["workload_id"] = json!(workload);
        request["request"]["target"]["target_uid"] = object["metadata"]["uid"].clone();
        request["request"]["target"]["target_resource_version"] = version.clone();
        request["base"] = json!({
            "replicas": object["spec"]["replicas"],
            "generation": object["metadata"]["generation"],
            "resource_version": version,
        });
        request
    }

    /// What such an apply comes to, in short.
    pub(super) fn scale(&self, desired: u64) -> String {
        in_short(&self.call(&[], &self.apply_to(WEB, desired)))
    }

    /// The declared count of `web`.
    pub(super) fn count(&self) -> u64 {
        self.server.get(WEB)["spec"]["replicas"].as_u64().unwrap()
    }
}

/// The settings of kubectl, whose context `prod` leads to a server.
pub(super) fn leads_to(world: &World, server: &ApiServer) {
    let settings = json!({
        "apiVersion": "v1", "kind": "Config",
        "clusters": [{"name": "eu-1", "cluster": {"server": server.url()}}],
        "users": [{"name": "ops", "user": {}}],
        "contexts": [{"name": "prod", "context": {"cluster": "eu-1", "user": "ops"}}],
    });
    world.write("kube.json", settings.to_string());
}

/// An object of namespace `shop` whose controller is done.
pub(super) fn object(kind: &str, name: &str, uid: &str, replicas: u64) -> Value {
    let mut object = json!({
        "apiVersion": "apps/v1", "kind": kind,
        "metadata": {"name": name, "namespace": "shop", "uid": uid, "generation": 1},
        "spec": {
            "replicas": replicas, "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name, "tier": "back"}},
                "spec": {"terminationGracePeriodSeconds": 30, "containers": []},
            },
        },
    });
    object["status"] = status_of(&object);
    object
}

pub(super) fn inspect(workload: &str) -> Value {
    json!({
        "protocol": "scalectl.actuator/1", "op": "inspect",
        "target": {"runtime_id": "shop", "workload_id": workload},
    })
}

fn target() -> Value {
    json!({
        "cluster_id": CLUSTER, "runtime_id": "shop", "workload_id": "deployment/web",
        "target_uid": UID, "target_resource_version": "101",
    })
}

pub(super) fn evidence(kube: &Kube, path: &str, desired: u64) -> Value {
    let apply = kube.apply_to(path, desired);
    json!({
        "protocol": "scalectl.actuator/1", "op": "evidence",
        "target": apply["request"]["target"], "current": apply["base"]["replicas"],
        "desired": desired,
    })
}

pub(super) fn fence(ledger: &str, epoch: u64, token: u64, attempt: u64) -> Value {
    json!({
        "protocol": "scalectl.actuator/1", "op": "fence", "target": target(),
        "ledger": {"id": ledger, "incarnation": 1},
        "epoch": epoch, "token": token, "attempt": attempt,
    })
}

/// An apply of ledger `L1` with fence 1.7 and attempt 1, without a base.
pub(super) fn apply(desired: u64) -> Value {
    json!({
        "protocol": "scalectl.actuator/1", "op": "apply",
        "ledger": {"id": "L1", "incarnation": 1}, "deadline_ms": 20000,
        "request": {
            "schema_version": "1", "intent_id": "scale-intent:0b5c", "intent_revision": 12,
            "expected_unit_revision": 3, "execution_key": "k1", "desired_replicas": desired,
            "controller_mode": "native", "replica_writer_id": "ops", "target": target(),
            "lease": {
                "lease_instance_id": "lease:1", "controller_id": "ops", "attempt": 1,
                "fence": {
                    "lease_id": "ledger:L1", "lease_epoch": 1, "fence_token": 7,
                    "expires_at": "2036-01-01T13:00:00Z",
                },
                "acquired_at": "2026-01-01T12:00:00Z", "expires_at": "2036-01-01T12:01:30Z",
            },
            "dry_run": false,
        },
        "base": {"replicas": null, "generation": null, "resource_version": null},
        "evidence": null,
    })
}
