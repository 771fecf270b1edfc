//! `notify`: a command of this host that is told what a person should hear of, at once.
//!
//! Owns what is told, and that telling neither holds up a write nor makes a command fail: a child
//! for each event, started after its COMMIT beside the command, bounded in time, whose failure is
//! one warning. After a crash nobody is told again: it is a word to people, and the ledger is the
//! truth.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};

use super::session::Session;
use super::signals::handed_on;
pub use crate::actuator::notify::NotifySettings;
use crate::actuator::notify::Topic;
use crate::actuator::process::{ChildEnd, ChildSpec, Limits, Tick, Watch, run_aside};
use crate::actuator::signals;
use crate::domain::id::ServiceName;
use crate::domain::scale::consent::approval_id;
use crate::domain::scale::event::{Event, EventBody, Stamped};
use crate::domain::scale::execution::{Execution, Phase};
use crate::domain::scale::state::ServiceState;

/// The version of the document.
const FORMAT_VERSION: u32 = 1;
/// More than that are not under way at the same time.
const UNDER_WAY_MAX: usize = 16;
/// How much of what the command says is kept: a line of it is shown.
const OUTPUT_BYTES_MAX: usize = 4096;

/// What is known of who is told, and those who are being told.
#[derive(Default)]
pub(super) struct Notifier {
    /// Whether the settings were read: at the first event that somebody may want to hear of.
    is_read: bool,
    settings: Option<Arc<NotifySettings>>,
    under_way: Vec<JoinHandle<Option<String>>>,
}

/// Whoever is told may be told to hurry: by the second signal to us.
struct Patience;

impl Watch for Patience {
    fn tick(&mut self) -> Tick {
        let asked = signals::installed().map_or(0, signals::Signals::count);
        if asked >= 2 { Tick::End } else { Tick::Continue }
    }

    fn next_tick(&self) -> Option<Duration> {
        Some(Duration::from_millis(100))
    }
}

/// What an event is to be told as; none for what nobody is told of.
fn topic_of(body: &EventBody) -> Option<Topic> {
    if let EventBody::IntentProposed { .. } = body {
        Some(Topic::Approval)
    } else if let EventBody::AttemptLost { .. } = body {
        Some(Topic::Unknown)
    } else if let EventBody::AuthorizationGranted { .. } = body {
        Some(Topic::BreakGlass)
    } else {
        None
    }
}

impl Session {
    /// Tells of what has just become durable.
    pub(super) fn notify(&mut self, events: &[Event], state: &ServiceState) {
        for event in events {
            let Some(topic) = topic_of(&event.body) else { continue };
            let key = match &event.body {
                EventBody::IntentProposed { intent, .. } => Some(&intent.wish.execution_key),
                body => body.execution_key(),
            };
            let execution = key.and_then(|key| state.executions.get(key));
            let service = state.head.registration.as_ref().map(|it| &it.service);
            self.tell(topic, event, service, execution);
        }
    }

    /// Tells of a wish that was put in a write with others, and has become durable with them.
    pub(super) fn notify_of_put(&mut self, execution: &Execution) {
        let Phase::Proposed { until } = execution.phase else { return };
        let Some(asked) = execution.asked.clone() else { return };
        let event = Stamped {
            at: execution.put_at,
            by: execution.put_by.clone(),
            body: EventBody::IntentProposed { intent: execution.intent.clone(), until, asked },
        };
        self.tell(Topic::Approval, &event, Some(&execution.intent.service), Some(execution));
    }

    fn tell(
        &mut self,
        topic: Topic,
        event: &Event,
        service: Option<&ServiceName>,
        execution: Option<&Execution>,
    ) {
        let Some(settings) = self.notify_settings().filter(|it| it.is_for(topic)) else { return };
        let (done, open): (Vec<_>, Vec<_>) = std::mem::take(&mut self.notifier.under_way)
            .into_iter()
            .partition(JoinHandle::is_finished);
        self.notifier.under_way = open;
        self.end(done);
        if self.notifier.under_way.len() >= UNDER_WAY_MAX {
            let text = format!("{}: {UNDER_WAY_MAX} are under way already", topic.as_str());
            return self.notice(CODE, text);
        }
        let document = format!("{}\n", self.told(topic, event, service, execution));
        let spec = ChildSpec {
            program: settings.program().to_owned(),
            args: settings.arguments().iter().map(Into::into).collect(),
            env: handed_on(&self.place),
            current_dir: None,
        };
        let tells = move || run(&settings, &spec, topic, &document);
        match std::thread::Builder::new().name("notify".to_owned()).spawn(tells) {
            Ok(handle) => self.notifier.under_way.push(handle),
            Err(error) => self.notice(CODE, format!("{}: {error}", topic.as_str())),
        }
    }

    fn notify_settings(&mut self) -> Option<Arc<NotifySettings>> {
        if !self.notifier.is_read {
            let found = NotifySettings::read(&self.place.config_dir.join("config.toml"));
            let found = found.unwrap_or_else(|error| {
                self.notice(CODE, format!("nobody is told: {error}"));
                None
            });
            self.notifier.settings = found.map(Arc::new);
            self.notifier.is_read = true;
        }
        self.notifier.settings.clone()
    }

    /// Waits for whoever is being told, each within its own bound, and says who could not be.
    pub fn end_notifications(&mut self) {
        let under_way = std::mem::take(&mut self.notifier.under_way);
        self.end(under_way);
    }

    fn end(&mut self, handles: Vec<JoinHandle<Option<String>>>) {
        for handle in handles {
            let failed = handle.join().unwrap_or_else(|_| Some("a bug in telling".to_owned()));
            if let Some(text) = failed {
                self.notice(CODE, text);
            }
        }
    }

    /// What the command gets on its stdin.
    fn told(
        &self,
        topic: Topic,
        event: &Event,
        service: Option<&ServiceName>,
        execution: Option<&Execution>,
    ) -> Value {
        let identity = self.identity();
        let (text, next) = words(event, service, execution);
        json!({
            "format_version": FORMAT_VERSION,
            "topic": topic.as_str(),
            "text": text,
            "next": next,
            "ledger": {
                "id": identity.ledger_id,
                "name": identity.path.display().to_string(),
                "engine": identity.engine,
            },
            "service": service,
            "execution_key": execution.map(Execution::key),
            "intent_revision": execution.map(Execution::revision),
            "current_replicas": execution.and_then(|it| it.intent.current),
            "desired_replicas": execution.map(Execution::desired),
            "reason": execution.map(|it| it.intent.wish.reason.as_str()),
            "at": event.at,
            "by": event.by,
            "event": event.body,
        })
    }
}

/// The word for machines of every warning here.
const CODE: &str = "not_notified";

/// What happened in one line, and the line that looks at it.
fn words(
    event: &Event,
    service: Option<&ServiceName>,
    execution: Option<&Execution>,
) -> (String, Vec<String>) {
    let actor = event.by.actor.as_str();
    let service = service.map_or("?", ServiceName::as_str);
    let name = execution.map_or_else(
        || service.to_owned(),
        |it| {
            let from = it.intent.current.map_or_else(|| "?".to_owned(), |from| from.to_string());
            format!("{service}@{} ({from} → {})", it.revision(), it.desired())
        },
    );
    let key = execution.map_or("", |it| it.key().as_str());
    let line = |words: &[&str]| {
        std::iter::once("scalectl").chain(words.iter().copied()).map(str::to_owned).collect()
    };
    if let EventBody::IntentProposed { intent, until, .. } = &event.body {
        let id = approval_id(&intent.wish.execution_key);
        let reason = intent.wish.reason.as_str();
        let text = format!("{name} by {actor} waits for approval {id} until {until}: {reason}");
        return (text, line(&["approval", "show", id.as_str()]));
    }
    if let EventBody::AuthorizationGranted { authorization: it } = &event.body {
        let text = format!(
            "{actor} has broken the glass for {service}={} [{}]: {}",
            it.desired_replicas,
            it.incident,
            it.reason.as_str()
        );
        return (text, line(&["break-glass", "show", it.authorization_id.as_str()]));
    }
    let text = format!("nobody knows what became of {name}, carried out by {actor}");
    (text, line(&["replay", key, "--wait"]))
}

/// Runs the command; the words of its failure.
fn run(
    settings: &NotifySettings,
    spec: &ChildSpec,
    topic: Topic,
    document: &str,
) -> Option<String> {
    let limits = Limits {
        stdout_bytes_max: OUTPUT_BYTES_MAX,
        stderr_bytes_max: OUTPUT_BYTES_MAX,
        ..Limits::within(settings.timeout())
    };
    let what = match run_aside(spec, document.as_bytes(), &limits, &mut Patience) {
        Ok(captured) => {
            let what = match captured.end {
                ChildEnd::Exited(0) => return None,
                ChildEnd::Exited(code) => format!("it ended with exit {code}"),
                ChildEnd::Signalled(signal) | ChildEnd::Interrupted(signal) => {
                    format!("it ended by signal {signal}")
                }
                ChildEnd::TimedOut => format!("it was ended after {}", settings.timeout()),
                ChildEnd::Stopped => "it was ended by a second signal".to_owned(),
            };
            let stderr = String::from_utf8_lossy(&captured.stderr);
            let first = stderr.lines().find(|line| !line.trim().is_empty());
            let first: String = first.unwrap_or_default().chars().take(200).collect();
            if first.is_empty() { what } else { format!("{what} ({first:?})") }
        }
        Err(error) => error.to_string(),
    };
    Some(format!("{} was not told: {what}", topic.as_str()))
}
