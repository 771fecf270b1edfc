//! Reading a service, and proving that it is the one of the target.

use serde::Deserialize;

use super::DockerConfig;
use super::engine::{AskError, DOCKER, Engine};
use super::http::Answer;
use super::service::{Mode, Service, Update};
use crate::actuator::host::Deadline;
use crate::actuator::protocol::Inspection;
use crate::adapters::child::{RunError, is_present};
use crate::adapters::refusal::Refusal;
use crate::adapters::{is_word, now};
use crate::domain::id::{ClusterId, Replicas, RuntimeId, TargetUid, WorkloadId};
use crate::domain::scale::intent::TargetBinding;

/// The one runtime.
pub(super) const RUNTIME: &str = "docker-swarm";

/// What of `GET /info` is read.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Info {
    swarm: Option<Swarm>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Swarm {
    cluster: Option<Cluster>,
}

#[derive(Debug, Deserialize)]
struct Cluster {
    #[serde(rename = "ID")]
    id: Option<String>,
}

/// What of a task of `GET /tasks` is read.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Task {
    desired_state: String,
    status: TaskStatus,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct TaskStatus {
    state: String,
}

#[derive(Debug, Deserialize)]
struct Message {
    message: String,
}

/// The id of the swarm that an engine manages, by its `GET /info`; none where it manages none.
pub fn swarm_in(body: &[u8]) -> serde_json::Result<Option<String>> {
    let info: Info = serde_json::from_slice(body)?;
    let id = info.swarm.and_then(|swarm| swarm.cluster).and_then(|cluster| cluster.id);
    Ok(id.filter(|id| !id.is_empty()))
}

/// How many tasks should run and do, by `GET /tasks`.
pub fn running_in(body: &[u8]) -> serde_json::Result<usize> {
    let tasks: Vec<Task> = serde_json::from_slice(body)?;
    let runs = |task: &&Task| task.desired_state == "running" && task.status.state == "running";
    Ok(tasks.iter().filter(runs).count())
}

/// What an engine says of an answer that is none of those asked for.
pub(super) fn said(answer: &Answer) -> String {
    let text = serde_json::from_slice::<Message>(&answer.body).map_or_else(
        |_| String::from_utf8_lossy(&answer.body[..answer.body.len().min(400)]).into_owned(),
        |message| message.message,
    );
    format!("{} {}", answer.status, text.trim())
}

/// Reads one service through one context, until a deadline.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    config: &'a DockerConfig,
    workload: &'a WorkloadId,
    pub(super) engine: Engine<'a>,
    pub(super) until: Deadline,
}

impl<'a> Reader<'a> {
    /// Of a typed target: nothing is read yet.
    pub(super) fn of(
        config: &'a DockerConfig,
        workload: &'a WorkloadId,
        runtime: Option<&RuntimeId>,
        until: Deadline,
    ) -> Result<Self, Refusal> {
        if !is_present(DOCKER) {
            return Err(Refusal::of_run(DOCKER, &RunError::Missing(DOCKER)));
        }
        if !is_word(workload.as_str(), b"._-") {
            let detail = format!("unsafe target: {workload:?} is no name of a service");
            return Err(Refusal::terminal("unsafe_target", detail));
        }
        check_runtime(runtime)?;
        Ok(Self { config, workload, engine: Engine::of(&config.context, until), until })
    }

    /// The service as it is now.
    pub(super) fn service(&mut self) -> Result<Service, Refusal> {
        let path = format!("/services/{}", self.workload);
        let body = body(&mut self.engine, &path)?;
        Service::read(&body).map_err(|error| unreadable(&path, &error))
    }

    /// Which swarm the context leads to, and whether it is that of the target.
    pub(super) fn check_cluster(
        &mut self,
        asked: Option<&ClusterId>,
    ) -> Result<ClusterId, Refusal> {
        check_cluster(&mut self.engine, &self.config.context, asked)
    }

    /// Whether what was read is the service that was asked for, whatever its version.
    pub(super) fn check_service(
        &self,
        service: &Service,
        uid: Option<&TargetUid>,
    ) -> Result<(), Refusal> {
        let asked = self.workload;
        let name = service.name().map_err(|error| unreadable("its name", &error))?;
        // The engine also takes an id, and the beginning of one.
        if name.as_deref() != Some(asked.as_str()) {
            let found = name.unwrap_or_default();
            let detail = format!("service {asked} was asked for, and {found:?} came");
            return Err(Refusal::terminal("other_object", detail));
        }
        if !service.id.as_str().bytes().all(|b| b.is_ascii_alphanumeric()) {
            let detail = format!("the id of the service is {:?}", service.id.as_str());
            return Err(Refusal::retryable("read_failed", detail));
        }
        if let Some(uid) = uid.filter(|uid| **uid != service.id) {
            let detail = format!(
                "service {asked} was recreated: its id is {}, the target's is {uid}",
                service.id
            );
            return Err(Refusal::terminal("other_target", detail));
        }
        Ok(())
    }

    /// The count that a service declares; unknown is not 1.
    pub(super) fn declared(&self, service: &Service) -> Result<Replicas, Refusal> {
        let name = self.workload;
        match service.mode().map_err(|error| unreadable("its mode", &error))? {
            Mode::Replicated(count) => Ok(count),
            Mode::Uncounted => {
                let detail = format!("service {name} declares no count of replicas");
                Err(Refusal::retryable("count_unknown", detail))
            }
            Mode::Other(mode) => {
                let detail = format!("service {name} is of mode {mode}: it has no count to set");
                Err(Refusal::terminal("not_replicated", detail))
            }
        }
    }

    /// Any write starts a paused update again and ends a way back, so none is made then.
    pub(super) fn check_update(&self, service: &Service) -> Result<(), Refusal> {
        let name = self.workload;
        let (code, detail) = match service.update() {
            Update::Over => return Ok(()),
            Update::Paused => (
                "update_paused",
                format!("an update of service {name} is paused, and a write would start it again"),
            ),
            Update::UnderWay => {
                ("update_under_way", format!("service {name} is being updated or rolled back"))
            }
        };
        Err(Refusal::retryable(code, detail))
    }

    /// How many of its tasks should run and do.
    pub(super) fn running(&mut self, service: &Service) -> Result<Replicas, Refusal> {
        let path = format!(
            "/tasks?filters=%7B%22desired-state%22%3A%7B%22running%22%3Atrue%7D%2C\
             %22service%22%3A%7B%22{}%22%3Atrue%7D%7D",
            service.id
        );
        let body = body(&mut self.engine, &path)?;
        let count = running_in(&body).map_err(|error| unreadable("its tasks", &error))?;
        let count = u64::try_from(count).unwrap_or(u64::MAX);
        Replicas::new(count)
            .map_err(|error| Refusal::retryable("count_unknown", format!("its tasks: {error}")))
    }

    /// The whole reading.
    pub(super) fn inspection(
        &mut self,
        cluster: Option<&ClusterId>,
    ) -> Result<Inspection, Refusal> {
        let read_at = now();
        let service = self.service()?;
        let cluster_id = self.check_cluster(cluster)?;
        self.check_service(&service, None)?;
        let replicas = self.declared(&service)?;
        let ready_replicas = Some(self.running(&service)?);
        let managers = service.managers().map_err(|error| unreadable("its labels", &error))?;
        Ok(Inspection {
            replicas,
            ready_replicas,
            generation: None,
            managers,
            owners: Vec::new(),
            owners_unread: Vec::new(),
            take_away: Vec::new(),
            read_at,
            target: TargetBinding {
                cluster_id,
                runtime_id: RUNTIME.parse().expect("BUG: the runtime is an identifier"),
                workload_id: self.workload.clone(),
                target_resource_version: service.version(),
                target_uid: service.id,
            },
        })
    }

    /// Writes the service back, on condition that it is still the one that was read.
    pub(super) fn write(&mut self, service: &Service, body: &str) -> Result<Answer, AskError> {
        let path = format!("/services/{}/update?version={}", service.id, service.index());
        self.engine.post(&path, body)
    }
}

/// Whether a target is of the one runtime.
pub(super) fn check_runtime(runtime: Option<&RuntimeId>) -> Result<(), Refusal> {
    let Some(runtime) = runtime.filter(|runtime| runtime.as_str() != RUNTIME) else {
        return Ok(());
    };
    let detail = format!("this actuator acts on runtime {RUNTIME}, not on {runtime}");
    Err(Refusal::terminal("other_runtime", detail))
}

/// The body of an answer that says 200.
pub(super) fn body(engine: &mut Engine<'_>, path: &str) -> Result<Vec<u8>, Refusal> {
    let answer = engine.get(path).map_err(|error| of_ask(path, &error))?;
    match answer.status {
        200 => Ok(answer.body),
        404 => Err(Refusal::terminal("no_such_object", said(&answer))),
        _ => {
            let detail = format!("GET {path}: {}", said(&answer));
            Err(Refusal::retryable("read_failed", detail))
        }
    }
}

/// Which swarm a context leads to, and whether it is the one that is asked for.
pub(super) fn check_cluster(
    engine: &mut Engine<'_>,
    context: &str,
    asked: Option<&ClusterId>,
) -> Result<ClusterId, Refusal> {
    let body = body(engine, "/info")?;
    let id = swarm_in(&body).map_err(|error| unreadable("/info", &error))?;
    let Some(id) = id else {
        let detail = format!("context {context} leads to an engine that manages no swarm");
        return Err(Refusal::retryable("cluster_unproved", detail));
    };
    let found: ClusterId = id
        .parse()
        .map_err(|_| Refusal::retryable("read_failed", format!("the id of the swarm is {id:?}")))?;
    if let Some(asked) = asked.filter(|asked| **asked != found) {
        let detail = format!("context {context} leads to swarm {found}, not to {asked}");
        return Err(Refusal::terminal("other_cluster", detail));
    }
    Ok(found)
}

/// What cannot be understood was not read.
pub(super) fn unreadable(what: &str, error: &serde_json::Error) -> Refusal {
    Refusal::retryable("read_failed", format!("{what} cannot be read: {error}"))
}

/// A reading that got no answer.
fn of_ask(path: &str, error: &AskError) -> Refusal {
    match error {
        AskError::NotStarted(error) => Refusal::of_run(DOCKER, error),
        AskError::Late { .. } => Refusal::retryable("timeout", format!("GET {path}: {error}")),
        AskError::NotSent { .. } | AskError::Lost { .. } => {
            Refusal::retryable("read_failed", format!("GET {path}: {error}"))
        }
    }
}
