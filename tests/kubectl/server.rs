//! A small API server of Kubernetes on loopback: enough of it for the real kubectl.
//!
//! It keeps Deployments, StatefulSets, budgets and autoscalers as documents; it honours uid and
//! resourceVersion preconditions, counts generations, remembers who manages a field, and plays the
//! controller. It has faults on order, and a log of all that it was asked.

use std::collections::BTreeMap;
use std::io::BufReader;
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;

use serde_json::{Value, json};

use super::discovery;
use super::http::{Answer, Request, close, hang, read_request, respond};

/// What happens to one request instead of, or around, its usual course.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fault {
    /// Nothing is done and nothing is answered, for as long as the client waits.
    HangBefore,
    /// It is done and nothing is answered, for as long as the client waits.
    HangAfter,
    /// Nothing is done, and the connection is closed.
    DropBefore,
    /// It is done, and the connection is closed without an answer.
    DropAfter,
    /// Nothing is done, and this is answered.
    Refuse(u16, &'static str),
    /// Its status moves the version of every object first, as on a busy day.
    Churn,
    /// Somebody else sets the count of the object first.
    OtherCount(u64),
}

#[derive(Default)]
struct State {
    /// Documents by path.
    objects: BTreeMap<String, Value>,
    version: u64,
    log: Vec<String>,
    /// Faults by a part of `METHOD path`, each for the next such request.
    faults: Vec<(String, Fault)>,
    /// Parts of paths that nobody may read.
    forbidden: Vec<String>,
    /// Groups that the API does not have.
    absent: Vec<String>,
}

/// The server; it ends with this value.
pub(super) struct ApiServer {
    port: u16,
    state: Arc<Mutex<State>>,
}

impl ApiServer {
    /// A cluster with its namespace kube-system, whose uid is given.
    pub(super) fn start(cluster_uid: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port of loopback");
        let port = listener.local_addr().expect("an address").port();
        let state = Arc::new(Mutex::new(State { version: 100, ..State::default() }));
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = Arc::clone(&shared);
                thread::spawn(move || serve(&stream, &state));
            }
        });
        let server = Self { port, state };
        let metadata = json!({"name": "kube-system", "uid": cluster_uid, "resourceVersion": "1"});
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata});
        server.lock().objects.insert("/api/v1/namespaces/kube-system".to_owned(), namespace);
        server
    }

    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no thread of the server panicked")
    }

    /// Stores a document as its path says, new or changed by somebody else.
    pub(super) fn put(&self, path: &str, mut document: Value) {
        let mut state = self.lock();
        state.stamp(&mut document);
        state.objects.insert(path.to_owned(), document);
    }

    /// Changes a document as somebody else would.
    pub(super) fn edit(&self, path: &str, change: impl FnOnce(&mut Value)) {
        let mut state = self.lock();
        let mut document = state.objects.get(path).cloned().expect(path);
        change(&mut document);
        state.stamp(&mut document);
        state.objects.insert(path.to_owned(), document);
    }

    pub(super) fn get(&self, path: &str) -> Value {
        self.lock().objects.get(path).cloned().expect(path)
    }

    /// The next request whose `METHOD path` has this part goes wrong.
    pub(super) fn fault(&self, part: &str, fault: Fault) {
        self.lock().faults.push((part.to_owned(), fault));
    }

    /// Whether no fault is left that was not met.
    pub(super) fn met_all_faults(&self) -> bool {
        self.lock().faults.is_empty()
    }

    /// Nobody may read what has this part in its path.
    pub(super) fn forbid(&self, part: &str) {
        self.lock().forbidden.push(part.to_owned());
    }

    /// The API does not have this group.
    pub(super) fn without_group(&self, group: &str) {
        self.lock().absent.push(group.to_owned());
    }

    /// Every request so far, as `METHOD path`.
    pub(super) fn log(&self) -> Vec<String> {
        self.lock().log.clone()
    }

    /// Every request so far that may have changed something.
    pub(super) fn mutations(&self) -> Vec<String> {
        let is_mutation = |line: &String| !line.starts_with("GET ");
        self.log().into_iter().filter(is_mutation).collect()
    }
}

impl State {
    /// A new version for a document that was changed.
    fn stamp(&mut self, document: &mut Value) {
        self.version += 1;
        document["metadata"]["resourceVersion"] = json!(self.version.to_string());
    }

    /// Stores a change of a document: another spec is another generation, which the controller
    /// then makes true.
    fn store(&mut self, path: &str, mut document: Value) -> Value {
        let before = self.objects.get(path).cloned().unwrap_or_default();
        if before["spec"] != document["spec"] {
            let generation = before["metadata"]["generation"].as_u64().unwrap_or(0) + 1;
            document["metadata"]["generation"] = json!(generation);
        }
        self.stamp(&mut document);
        self.objects.insert(path.to_owned(), document.clone());
        if before["spec"] != document["spec"] {
            let mut seen = document.clone();
            seen["status"] = status_of(&document);
            self.stamp(&mut seen);
            self.objects.insert(path.to_owned(), seen);
        }
        document
    }

    fn fault_of(&mut self, line: &str) -> Option<Fault> {
        let at = self.faults.iter().position(|(part, _)| line.contains(part.as_str()))?;
        Some(self.faults.remove(at).1)
    }

    /// What others do right before a request.
    fn interfere(&mut self, path: &str, fault: &Fault) {
        let path = path.trim_end_matches("/scale").to_owned();
        let Some(mut document) = self.objects.get(&path).cloned() else { return };
        match fault {
            Fault::Churn => {
                self.stamp(&mut document);
                self.objects.insert(path, document);
            }
            Fault::OtherCount(count) => {
                document["spec"]["replicas"] = json!(count);
                self.store(&path, document);
            }
            _ => {}
        }
    }

    fn answer(&mut self, request: &Request) -> Answer {
        let path = request.path.as_str();
        if self.forbidden.iter().any(|part| path.contains(part.as_str())) {
            return refusal(403, "Forbidden");
        }
        if let Some(document) = discovery::document(path, &self.absent) {
            return (200, document);
        }
        match (request.method.as_str(), path.strip_suffix("/scale")) {
            ("GET", Some(object)) => self.found(object, |object| (200, scale_of(object))),
            ("PUT" | "PATCH", Some(object)) => self.scale(object, request),
            ("PATCH", None) => self.patch(path, request),
            ("POST", None) => self.create(path, request),
            ("DELETE", None) => {
                self.objects.remove(path).map_or_else(|| refusal(404, "NotFound"), |it| (200, it))
            }
            ("GET", None) if self.objects.contains_key(path) => (200, self.objects[path].clone()),
            ("GET", None) => self.list(path),
            _ => refusal(405, "MethodNotAllowed"),
        }
    }

    fn found(&self, path: &str, answer: impl FnOnce(&Value) -> Answer) -> Answer {
        self.objects.get(path).map_or_else(|| refusal(404, "NotFound"), answer)
    }

    fn list(&self, path: &str) -> Answer {
        let Some(list) = discovery::list_kind(path, &self.absent) else {
            return refusal(404, "NotFound");
        };
        let items: Vec<&Value> =
            self.objects.iter().filter(|(own, _)| list.has(own)).map(|o| o.1).collect();
        let metadata = json!({"resourceVersion": self.version.to_string()});
        let (kind, version) = (format!("{}List", list.kind), list.version);
        (200, json!({"kind": kind, "apiVersion": version, "metadata": metadata, "items": items}))
    }

    /// The update of a count, on the conditions that it names.
    fn scale(&mut self, path: &str, request: &Request) -> Answer {
        let Some(mut document) = self.objects.get(path).cloned() else {
            return refusal(404, "NotFound");
        };
        if has_moved(&document, &request.body) {
            return refusal(409, "Conflict");
        }
        // A client leaves out a count of 0.
        let count = request.body["spec"]["replicas"].as_u64().unwrap_or(0);
        if document["spec"]["replicas"] != count {
            document["spec"]["replicas"] = json!(count);
            let manager = request.agent.split('/').next().unwrap_or("").to_owned();
            manage(&mut document, &manager);
            document = self.store(path, document);
        }
        (200, scale_of(&document))
    }

    fn create(&mut self, path: &str, request: &Request) -> Answer {
        let mut document = request.body.clone();
        self.stamp(&mut document);
        let name = document["metadata"]["name"].as_str().unwrap_or_default();
        self.objects.insert(format!("{path}/{name}"), document.clone());
        (201, document)
    }

    fn patch(&mut self, path: &str, request: &Request) -> Answer {
        let Some(document) = self.objects.get(path).cloned() else {
            return refusal(404, "NotFound");
        };
        if has_moved(&document, &request.body) {
            return refusal(409, "Conflict");
        }
        let mut patched = document.clone();
        merge(&mut patched, &request.body);
        if patched != document {
            patched = self.store(path, patched);
        }
        (200, patched)
    }
}

/// Whether a request is for another object, or for another version of it.
fn has_moved(document: &Value, body: &Value) -> bool {
    ["uid", "resourceVersion"].iter().any(|member| {
        let asked = &body["metadata"][member];
        !asked.is_null() && *asked != "" && *asked != document["metadata"][member]
    })
}

/// The status that a controller writes once it is done; a count of 0 is left out.
pub(super) fn status_of(document: &Value) -> Value {
    let mut status = json!({"observedGeneration": document["metadata"]["generation"]});
    let count = &document["spec"]["replicas"];
    if *count != 0 && !count.is_null() {
        for member in ["replicas", "readyReplicas", "updatedReplicas", "availableReplicas"] {
            status[member] = count.clone();
        }
    }
    if document["kind"] == "StatefulSet" {
        status["currentRevision"] = json!("web-1");
        status["updateRevision"] = json!("web-1");
    }
    status
}

/// Who writes a field by an update takes it from whoever managed it.
fn manage(document: &mut Value, manager: &str) {
    let mut fields = document["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    fields.retain(|entry| entry["fieldsV1"].pointer("/f:spec/f:replicas").is_none());
    fields.push(json!({
        "manager": manager, "operation": "Update", "subresource": "scale",
        "apiVersion": "apps/v1", "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": {"f:replicas": {}}},
    }));
    document["metadata"]["managedFields"] = json!(fields);
}

fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(members) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    for (name, value) in members {
        if value.is_null() {
            target.as_object_mut().expect("an object").remove(name);
        } else {
            merge(&mut target[name], value);
        }
    }
}

fn scale_of(document: &Value) -> Value {
    let from = &document["metadata"];
    json!({
        "kind": "Scale", "apiVersion": "autoscaling/v1",
        "metadata": {
            "name": from["name"], "namespace": from["namespace"], "uid": from["uid"],
            "resourceVersion": from["resourceVersion"],
        },
        "spec": {"replicas": document["spec"]["replicas"]},
        "status": {"replicas": document["status"]["replicas"].as_u64().unwrap_or(0)},
    })
}

fn refusal(code: u16, reason: &str) -> Answer {
    let message = format!("the test refuses: {reason}");
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": message, "reason": reason, "code": code,
    });
    (code, status)
}

/// Serves the requests of one connection until it ends.
fn serve(stream: &TcpStream, state: &Mutex<State>) {
    let mut reader = BufReader::new(stream);
    while let Some(request) = read_request(&mut reader) {
        let line = format!("{} {}", request.method, request.path);
        let fault = {
            let mut state = state.lock().expect("no thread of the server panicked");
            state.log.push(line.clone());
            state.fault_of(&line)
        };
        let answer = || {
            let mut state = state.lock().expect("no thread of the server panicked");
            if let Some(fault) = &fault {
                state.interfere(&request.path, fault);
            }
            state.answer(&request)
        };
        match &fault {
            Some(Fault::HangBefore) => return hang(stream),
            Some(Fault::DropBefore) => return close(stream),
            Some(Fault::HangAfter) => {
                answer();
                return hang(stream);
            }
            Some(Fault::DropAfter) => {
                answer();
                return close(stream);
            }
            Some(Fault::Refuse(code, reason)) => respond(stream, &refusal(*code, reason)),
            Some(Fault::Churn | Fault::OtherCount(_)) | None => respond(stream, &answer()),
        }
    }
}
