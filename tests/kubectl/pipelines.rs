//! The recipes for pipelines, `github-actions.md` and `gitlab.md`: their YAML is read as a runner
//! reads it, and each script in it is run with the variables that a runner sets, against a ledger
//! on PostgreSQL that is reached over TLS and by a password only, and the real kubectl.

mod github;
mod gitlab;
mod yaml;

use std::path::{Path, PathBuf};

use serde_json::json;

use super::world::{Kube, object};
use crate::postgres::{certificates, roles_of_the_recipe};
use crate::recipes::page::{Block, blocks, ends};
use crate::support::postgres::{Cluster, give};
use crate::support::{SCALECTL, World};

const BATCH: &str = "/apis/apps/v1/namespaces/shop/deployments/batch";
const SCALE: &str = "PUT /apis/apps/v1/namespaces/shop/deployments/batch/scale";
/// What the pipeline's role must say to be let in.
const PASSWORD: &str = "hunter2-of-the-pipeline";

/// A cluster, a server, and the ledger's side as the page says: `batch` at 6.
struct Shop {
    /// Where anna sits.
    kube: Kube,
    server: Cluster,
    folder: PathBuf,
}

/// What a runner is given: `LEDGER_HOST`, the files of `LEDGER_CA` and `KUBECONFIG`.
struct Given {
    host: String,
    ca: PathBuf,
    kubeconfig: PathBuf,
}

/// What one job came to.
#[derive(Debug)]
struct Ended {
    exit: i32,
    /// What it printed, both streams.
    said: String,
}

fn of_kind(page: &str, kind: &str) -> Vec<Block> {
    blocks(page).into_iter().filter(|block| block.kind == kind).collect()
}

/// A server that speaks TLS alone, and asks the pipeline for its password.
fn server_with_tls() -> (Cluster, PathBuf) {
    let server = Cluster::start(&[]);
    let folder = server.folder_for("certificates");
    certificates(&folder);
    give(&folder.join("127.0.0.1.key"));
    server.admits("hostnossl all all all reject\nhostssl all ci_shop all scram-sha-256");
    server.psql(
        "postgres",
        &format!(
            "ALTER SYSTEM SET ssl_cert_file = '{0}/127.0.0.1.crt';
             ALTER SYSTEM SET ssl_key_file = '{0}/127.0.0.1.key';
             ALTER SYSTEM SET ssl = on",
            folder.display()
        ),
    );
    server.psql("postgres", "SELECT pg_reload_conf()");
    (server, folder)
}

impl Shop {
    fn new() -> Self {
        let (server, folder) = server_with_tls();
        let [administrator, owners] = roles_of_the_recipe();
        for statement in administrator.split(";\n").filter(|text| !text.trim().is_empty()) {
            server.psql("postgres", statement);
        }
        let mut kube = Kube::new();
        kube.server.put(BATCH, object("Deployment", "batch", "ba7cba7c-1111-4222-8333", 6));
        kube.world.set("SCALECTL_LEDGER", server.address("scalectl_owner", "scalectl"));
        kube.world.run("init").exits(0);
        server.try_psql("scalectl_owner", "scalectl", &owners).unwrap();
        for block in of_kind("github-actions.md", "sql") {
            server.psql("postgres", &block.text);
        }
        server.psql("postgres", &format!("ALTER ROLE ci_shop PASSWORD '{PASSWORD}'"));
        kube.world.set("SCALECTL_LEDGER", server.address("anna", "scalectl"));
        let rules = of_kind("github-actions.md", "cedar");
        kube.world.write("pipeline.cedar", &rules[0].text);
        let shop = Self { kube, server, folder };
        assert_eq!(shop.typed_by_anna(0), 3);
        shop
    }

    /// Types the lines of a console of the page, and says how many there were.
    fn typed_by_anna(&self, console: usize) -> usize {
        let lines = of_kind("github-actions.md", "console")[console].lines();
        for typed in &lines {
            assert_eq!(typed.who, "anna", "{typed:?}");
            ends(&self.kube.world, typed);
        }
        lines.len()
    }

    fn anna(&self) -> &World {
        &self.kube.world
    }

    fn given(&self) -> Given {
        Given {
            host: format!("127.0.0.1:{}", self.server.port()),
            ca: self.folder.join("right.crt"),
            kubeconfig: self.anna().path("kube.json"),
        }
    }

    fn await_question(&self) {
        self.anna().until("it asks", || self.anna().run("approval list --check").code == Some(26));
    }

    /// The counts that were written to the cluster, by how often.
    fn scales(&self) -> usize {
        self.kube.server.mutations().iter().filter(|line| *line == SCALE).count()
    }

    fn count(&self) -> u64 {
        self.kube.server.get(BATCH)["spec"]["replicas"].as_u64().unwrap()
    }

    /// A deploy that says how many of `batch` were there.
    fn deploy(&self) -> String {
        let get =
            "kubectl --context prod -n shop get deployment/batch -o jsonpath={.spec.replicas}";
        format!(
            "#!/bin/sh\nset -e\nKUBECONFIG={} {get} >>{}\necho \" $1\" >>{1}\n",
            self.anna().path("kube.json").display(),
            self.anna().path("deploys").display(),
        )
    }

    /// What was deployed, and with how many of `batch` beside it.
    fn deploys(&self) -> String {
        std::fs::read_to_string(self.anna().path("deploys")).unwrap_or_default()
    }

    /// Nothing that was printed or kept shows the password, and the ledger is sound.
    fn is_well(&self, jobs: &[&Ended]) {
        for job in jobs {
            assert!(!job.said.contains(PASSWORD), "{job:?}");
        }
        let events = self.server.psql("scalectl", "SELECT body FROM scalectl.event");
        assert!(!events.contains(PASSWORD), "{events}");
        self.anna().run("verify").exits(0);
    }
}

/// The folders in which a runner finds programs: ours first.
fn path_of_runner() -> String {
    let binaries = Path::new(SCALECTL).parent().unwrap();
    format!("{}:/usr/local/bin:/usr/bin:/bin", binaries.display())
}

#[test]
fn a_workflow_of_github_waits_for_a_colleague_and_deploys() {
    let shop = Shop::new();
    let workflow = github::Workflow::of_the_page(&shop, |text| text);
    let (shown, jobs) = std::thread::scope(|scope| {
        let running = scope.spawn(|| workflow.run("987"));
        shop.await_question();
        let shown = shop.anna().run("approval show batch@latest").exits(0).stdout;
        assert_eq!((shop.scales(), shop.deploys().as_str()), (0, ""), "it waits");
        assert_eq!(shop.typed_by_anna(1), 3);
        (shown, running.join().unwrap())
    });
    for part in ["6 → 2", "ci (claim)", "acme/shop/actions/runs/987", "release v1.4.0", "ci_shop"]
    {
        assert!(shown.contains(part), "no {part:?} in {shown}");
    }
    let exits: Vec<_> = jobs.iter().map(|(name, job)| (name.as_str(), job.exit)).collect();
    assert_eq!(exits, [("shrink", 0), ("deploy", 0), ("restore", 0)], "{jobs:#?}");
    assert_eq!(shop.deploys(), "2 v1.4.0\n", "deployed once, while batch was at 2");
    assert_eq!((shop.scales(), shop.count()), (2, 6));
    shop.is_well(&jobs.iter().map(|(_, job)| job).collect::<Vec<_>>());
}

#[test]
fn a_workflow_without_an_answer_deploys_nothing_and_goes_on_when_it_is_run_again() {
    let shop = Shop::new();
    let workflow = github::Workflow::of_the_page(&shop, |text| text.replace("1h", "2s"));
    let jobs = workflow.run("988");
    assert_eq!(jobs.len(), 1, "the others need it: {jobs:#?}");
    assert_eq!(jobs[0].1.exit, 13, "{jobs:#?}");
    assert_eq!((shop.scales(), shop.deploys().as_str()), (0, ""));
    assert_eq!(shop.typed_by_anna(1), 3);
    // "Re-run failed jobs": the same number of the run.
    let again = workflow.run("988");
    assert!(again.len() == 3 && again.iter().all(|(_, job)| job.exit == 0), "{again:#?}");
    assert_eq!((shop.scales(), shop.deploys().as_str()), (2, "2 v1.4.0\n"));
    shop.is_well(&[&jobs[0].1, &again[0].1, &again[2].1]);
}

#[test]
fn a_workflow_that_is_refused_or_meets_another_server_changes_nothing() {
    let shop = Shop::new();
    let workflow = github::Workflow::of_the_page(&shop, |text| text.replace("1h", "2s"));
    assert_eq!(workflow.run("989")[0].1.exit, 13);
    shop.anna().run("approval deny batch@latest --reason sale").exits(0);
    for _again in 0..2 {
        let jobs = workflow.run("989");
        assert_eq!((jobs.len(), jobs[0].1.exit), (1, 12), "{jobs:#?}");
    }
    // Whoever is not signed by the right authority is not spoken to, and gets no password.
    let wrong = workflow.with_ca(&shop.folder.join("wrong.crt"));
    let jobs = wrong.run("990");
    assert_eq!((jobs.len(), jobs[0].1.exit), (1, 21), "{jobs:#?}");
    assert!(jobs[0].1.said.contains("certificate"), "{jobs:#?}");
    // A runner without the password is not let in.
    let jobs = workflow.without_password().run("991");
    assert_eq!((jobs.len(), jobs[0].1.exit), (1, 21), "{jobs:#?}");
    assert_eq!((shop.scales(), shop.deploys().as_str()), (0, ""));
    shop.is_well(&[&jobs[0].1]);
}

#[test]
fn a_pipeline_of_gitlab_waits_for_a_colleague_and_deploys() {
    let shop = Shop::new();
    let pipeline = gitlab::Pipeline::of_the_page(&shop, |text| text);
    let jobs = std::thread::scope(|scope| {
        let running = scope.spawn(|| pipeline.run("77"));
        shop.await_question();
        let shown = shop.anna().run("approval show batch@latest").exits(0).stdout;
        assert!(shown.contains("https://gitlab.example/acme/shop/-/jobs/"), "{shown}");
        assert_eq!((shop.scales(), shop.deploys().as_str()), (0, ""), "it waits");
        assert_eq!(shop.typed_by_anna(1), 3);
        running.join().unwrap()
    });
    let exits: Vec<_> = jobs.iter().map(|(name, job)| (name.as_str(), job.exit)).collect();
    assert_eq!(exits, [("shrink", 0), ("deploy", 0), ("restore", 0)], "{jobs:#?}");
    assert_eq!((shop.deploys().as_str(), shop.scales(), shop.count()), ("2 v1.4.0\n", 2, 6));
    // Another pipeline is another wish, and without an answer nothing of it is done.
    let impatient = gitlab::Pipeline::of_the_page(&shop, |text| text.replace("1h", "2s"));
    let jobs = impatient.run("78");
    assert_eq!((jobs.len(), jobs[0].1.exit), (1, 13), "{jobs:#?}");
    assert_eq!((shop.deploys().as_str(), shop.count()), ("2 v1.4.0\n", 6));
    assert_eq!(shop.anna().json("status batch").at("/services/0/desired_replicas"), json!(6));
    shop.is_well(&[&jobs[0].1]);
}
