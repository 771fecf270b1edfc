//! A runner of GitHub Actions, as far as the page needs one: contexts in `${{ }}`, variables from
//! the outside in, `GITHUB_ENV`, `needs`, and `bash -eo pipefail` for `shell: bash`.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::yaml::{document, known, text};
use super::{Ended, Given, PASSWORD, Shop, of_kind, path_of_runner};
use crate::support::World;

type Variables = BTreeMap<String, String>;

/// A workflow, and what the settings of its repository say.
#[derive(Clone)]
pub(super) struct Workflow {
    document: Value,
    contexts: Variables,
    deploy: String,
}

impl Workflow {
    /// The workflow of the page; `change` may shorten its waits.
    pub(super) fn of_the_page(shop: &Shop, change: fn(String) -> String) -> Self {
        let blocks = of_kind("github-actions.md", "yaml");
        let [block] = &blocks[..] else { panic!("{} workflows", blocks.len()) };
        let document = document(&change(block.text.clone()));
        let names = ["name", "on", "permissions", "concurrency", "env", "defaults", "jobs"];
        known(&document, &names);
        assert_eq!(document.pointer("/defaults/run/shell"), Some(&"bash".into()));
        assert_eq!(document.pointer("/concurrency/cancel-in-progress"), Some(&false.into()));
        let Given { host, ca, kubeconfig } = shop.given();
        let read = |path: &Path| std::fs::read_to_string(path).unwrap();
        let contexts = [
            ("vars.LEDGER_HOST", host),
            ("vars.LEDGER_CA", read(&ca)),
            ("secrets.LEDGER_PASSWORD", PASSWORD.to_owned()),
            ("secrets.KUBECONFIG", read(&kubeconfig)),
            ("github.ref_name", "v1.4.0".to_owned()),
        ];
        let contexts = contexts.map(|(name, value)| (name.to_owned(), value)).into();
        Self { document, contexts, deploy: shop.deploy() }
    }

    /// The same with another certificate to trust.
    pub(super) fn with_ca(&self, ca: &Path) -> Self {
        let mut other = self.clone();
        other.contexts.insert("vars.LEDGER_CA".to_owned(), std::fs::read_to_string(ca).unwrap());
        other
    }

    /// The same where nobody has set the secret: it is the empty text.
    pub(super) fn without_password(&self) -> Self {
        let mut other = self.clone();
        other.contexts.insert("secrets.LEDGER_PASSWORD".to_owned(), String::new());
        other
    }

    /// Runs the jobs whose needs are met, one after the other, and says how each of them ended.
    pub(super) fn run(&self, run_id: &str) -> Vec<(String, Ended)> {
        let jobs = self.document["jobs"].as_object().unwrap();
        let mut ended: Vec<(String, Ended)> = Vec::new();
        loop {
            let is_met = |job: &Value| {
                let need = job["needs"].as_str();
                need.is_none_or(|need| ended.iter().any(|(name, it)| name == need && it.exit == 0))
            };
            let is_new = |name: &str| ended.iter().all(|(done, _)| done != name);
            let next = jobs.iter().find(|(name, job)| is_new(name) && is_met(job));
            let Some((name, job)) = next else { return ended };
            ended.push((name.clone(), self.job(job, run_id)));
        }
    }

    /// One job, on a machine of its own.
    fn job(&self, job: &Value, run_id: &str) -> Ended {
        known(job, &["needs", "runs-on", "container", "timeout-minutes", "env", "steps"]);
        let machine = World::on_sqlite();
        let outer = self.variables(&[&self.document["env"], &job["env"]]);
        let mut of_job: Variables =
            own_variables(&machine, run_id).into_iter().chain(outer).collect();
        let mut said = String::new();
        for step in job["steps"].as_array().unwrap() {
            known(step, &["name", "uses", "env", "run"]);
            if let Some(action) = step["uses"].as_str() {
                assert_eq!(action, "actions/checkout@v4", "an action that nobody knows");
                let path = machine.write("deploy.sh", &self.deploy);
                let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
                std::fs::set_permissions(path, mode).unwrap();
                continue;
            }
            let mut of_step = of_job.clone();
            of_step.extend(self.variables(&[&step["env"]]));
            let script = machine.write("step.sh", self.filled_in(text(step, "run")));
            let mut bash = Command::new("/bin/bash");
            bash.args(["--noprofile", "--norc", "-eo", "pipefail"]).arg(script);
            bash.env_clear().envs(&of_step).current_dir(machine.path(""));
            let output = bash.output().unwrap();
            said.push_str(&String::from_utf8_lossy(&output.stdout));
            said.push_str(&String::from_utf8_lossy(&output.stderr));
            let exit = output.status.code().unwrap_or(-1);
            if exit != 0 {
                return Ended { exit, said };
            }
            let file = std::fs::read_to_string(&of_job["GITHUB_ENV"]).unwrap();
            let lines = file.lines().map(|line| line.split_once('=').expect("NAME=VALUE"));
            of_job.extend(lines.map(|(name, value)| (name.to_owned(), value.to_owned())));
        }
        Ended { exit: 0, said }
    }

    /// Variables of several places, the later ones above the earlier.
    fn variables(&self, places: &[&Value]) -> Variables {
        let members = places.iter().filter_map(|place| place.as_object()).flatten();
        members
            .map(|(name, value)| (name.clone(), self.filled_in(value.as_str().expect("text"))))
            .collect()
    }

    /// A text with what stands in `${{ }}` put into its place.
    fn filled_in(&self, text: &str) -> String {
        let mut parts = text.split("${{");
        let mut filled = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (name, rest) = part.split_once("}}").expect("an end of ${{");
            let value = self.contexts.get(name.trim());
            filled.push_str(value.unwrap_or_else(|| panic!("nobody says {name}")));
            filled.push_str(rest);
        }
        filled
    }
}

/// What a runner sets by itself.
fn own_variables(machine: &World, run_id: &str) -> Variables {
    let file = machine.write("github.env", "");
    let (home, path) = (machine.path("").display().to_string(), path_of_runner());
    let own = [
        ("CI", "true"),
        ("GITHUB_ACTIONS", "true"),
        ("GITHUB_SERVER_URL", "https://github.com"),
        ("GITHUB_REPOSITORY", "acme/shop"),
        ("GITHUB_RUN_ID", run_id),
        ("GITHUB_REF_NAME", "v1.4.0"),
        ("GITHUB_SHA", "5d0c6f0e11114222833394444555566677778888"),
        ("GITHUB_ENV", file.to_str().unwrap()),
        ("HOME", home.as_str()),
        ("PATH", path.as_str()),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()));
    own.into()
}
