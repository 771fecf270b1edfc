//! A runner of GitLab CI, as far as the page needs one: variables that name others, `extends`,
//! stages in their order, and one script of `before_script` and `script` by `bash -eo pipefail`.

use std::collections::BTreeMap;
use std::process::Command;

use serde_json::Value;

use super::yaml::{document, known, text, texts};
use super::{Ended, Given, PASSWORD, Shop, of_kind, path_of_runner};
use crate::support::World;

type Variables = BTreeMap<String, String>;

/// A pipeline, and what the settings of its project say.
pub(super) struct Pipeline {
    document: Value,
    settings: Variables,
    deploy: String,
}

impl Pipeline {
    /// The pipeline of the page; `change` may shorten its waits.
    pub(super) fn of_the_page(shop: &Shop, change: fn(String) -> String) -> Self {
        let blocks = of_kind("gitlab.md", "yaml");
        let [block] = &blocks[..] else { panic!("{} pipelines", blocks.len()) };
        let document = document(&change(block.text.clone()));
        assert_eq!(document.pointer("/workflow/rules/0/if"), Some(&"$CI_COMMIT_TAG".into()));
        assert_eq!(document.pointer("/default/interruptible"), Some(&false.into()));
        let Given { host, ca, kubeconfig } = shop.given();
        let settings = [
            ("LEDGER_HOST", host),
            // Of type file: the value is a path.
            ("LEDGER_CA", ca.display().to_string()),
            ("KUBECONFIG", kubeconfig.display().to_string()),
            ("PGPASSWORD", PASSWORD.to_owned()),
        ];
        let settings = settings.map(|(name, value)| (name.to_owned(), value)).into();
        Self { document, settings, deploy: shop.deploy() }
    }

    /// Runs the stages in their order until one fails, and says how each job ended.
    pub(super) fn run(&self, pipeline: &str) -> Vec<(String, Ended)> {
        const GLOBAL: [&str; 4] = ["stages", "workflow", "variables", "default"];
        let members = self.document.as_object().unwrap();
        let jobs = members.iter().filter(|(name, _)| !GLOBAL.contains(&name.as_str()));
        let jobs: Vec<_> = jobs.filter(|(name, _)| !name.starts_with('.')).collect();
        let mut ended = Vec::new();
        for stage in texts(&self.document["stages"]) {
            let of_stage = jobs.iter().filter(|(_, job)| job["stage"] == stage);
            for (number, (name, job)) in of_stage.enumerate() {
                assert_eq!(number, 0, "one job in each stage");
                ended.push(((*name).clone(), self.job(job, pipeline)));
            }
            let last = ended.last().map(|(_, it): &(String, Ended)| it.exit);
            if last != Some(0) {
                return ended;
            }
        }
        assert_eq!(ended.len(), jobs.len(), "a job of no stage");
        ended
    }

    /// One job, on a machine of its own.
    fn job(&self, job: &Value, pipeline: &str) -> Ended {
        let mut whole = match job["extends"].as_str() {
            Some(base) => self.document[base].clone(),
            None => Value::Object(serde_json::Map::new()),
        };
        let own = job.as_object().unwrap().clone();
        whole.as_object_mut().unwrap().extend(own);
        known(
            &whole,
            &["extends", "image", "resource_group", "timeout", "before_script", "stage", "script"],
        );
        assert_eq!(text(&whole, "resource_group"), "shop", "one at a time");
        let machine = World::on_sqlite();
        let path = machine.write("deploy.sh", &self.deploy);
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(path, mode).unwrap();
        let before = whole.get("before_script").map(texts).unwrap_or_default();
        let script: Vec<&str> = before.into_iter().chain(texts(&whole["script"])).collect();
        let mut bash = Command::new("/bin/bash");
        bash.args(["--noprofile", "--norc", "-eo", "pipefail", "-c", &script.join("\n")]);
        bash.env_clear().envs(self.variables(&machine, pipeline)).current_dir(machine.path(""));
        let output = bash.output().unwrap();
        let said = [&output.stdout, &output.stderr].map(|it| String::from_utf8_lossy(it));
        Ended { exit: output.status.code().unwrap_or(-1), said: said.concat() }
    }

    /// What a runner sets, then the settings, then the file, whose values may name the others.
    fn variables(&self, machine: &World, pipeline: &str) -> Variables {
        let (home, path) = (machine.path("").display().to_string(), path_of_runner());
        let own = [
            ("CI", "true"),
            ("GITLAB_CI", "true"),
            ("CI_PIPELINE_ID", pipeline),
            ("CI_JOB_URL", "https://gitlab.example/acme/shop/-/jobs/4711"),
            ("CI_COMMIT_TAG", "v1.4.0"),
            ("CI_COMMIT_SHA", "5d0c6f0e11114222833394444555566677778888"),
            ("HOME", home.as_str()),
            ("PATH", path.as_str()),
        ];
        let mut all: Variables = self.settings.clone();
        all.extend(own.map(|(name, value)| (name.to_owned(), value.to_owned())));
        for (name, value) in self.document["variables"].as_object().unwrap() {
            let value = expanded(value.as_str().expect("text"), &all);
            all.insert(name.clone(), value);
        }
        all
    }
}

/// A text with the values of `$NAME`. A name that nobody says fails.
fn expanded(text: &str, all: &Variables) -> String {
    let mut parts = text.split('$');
    let mut filled = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let end = part.find(|c: char| !is_letter(c)).unwrap_or(part.len());
        let value = all.get(&part[..end]);
        filled.push_str(value.unwrap_or_else(|| panic!("nobody says {part}")));
        filled.push_str(&part[end..]);
    }
    filled
}
