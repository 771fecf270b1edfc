//! What is fuzzed: every reader of texts that another program wrote, with what must hold of it.
//!
//! A target takes any bytes, panics if a property does not hold, and answers whether the reader
//! took them: a run in which nothing was taken has shown nothing. Two drivers share them: the
//! bounded run of `tests/fuzz.rs` and the coverage-guided one of `fuzz/`.

mod answers;
mod cluster;
mod documents;
mod files;
mod gateway;
mod host;
mod json;
mod relocator;
mod server;
mod sources;
mod stored;
mod streams;
mod swarm;
mod texts;

#[cfg(test)]
pub use stored::sound_policy;

/// Takes bytes, and answers whether the reader accepted them.
pub type Target = fn(&[u8]) -> bool;

/// Every target by its name.
pub const ALL: [(&str, Target); 54] = [
    ("strict_json", documents::strict_json),
    ("intent_record", documents::intent_record),
    ("registration_document", documents::registration_document),
    ("actuator_request", documents::actuator_request),
    ("answer_apply", answers::apply),
    ("answer_describe", answers::describe),
    ("answer_inspect", answers::inspect),
    ("answer_lookup", answers::lookup),
    ("answer_fence", answers::fence),
    ("answer_evidence", answers::evidence),
    ("answer_discover", answers::discover),
    ("events", stored::events),
    ("fold", stored::fold),
    ("policy", stored::policy),
    ("stored_policy", stored::stored_policy),
    ("texts", texts::texts),
    ("selector", texts::selector),
    ("actuators_toml", files::actuators_toml),
    ("call_file", files::call_file),
    ("local_state", files::local_state),
    ("local_slot", files::local_slot),
    ("config_toml", files::config_toml),
    ("proc_stat", host::proc_stat),
    ("passwd", host::passwd),
    ("mountinfo", host::mountinfo),
    ("proc_status", host::proc_status),
    ("group", host::group),
    ("allowed_signers", texts::allowed_signers),
    ("proc_locks", host::proc_locks),
    ("machine_id", host::machine_id),
    ("server_address", server::server_address),
    ("service_file", server::service_file),
    ("password_file", server::password_file),
    ("certificates", server::certificates),
    ("batch_lines", streams::batch_lines),
    ("exec_output", streams::exec_output),
    ("exec_template", streams::exec_template),
    ("shown", streams::shown),
    ("signals_document", sources::signals_document),
    ("health_document", sources::health_document),
    ("prometheus_answer", sources::prometheus_answer),
    ("prometheus_address", sources::prometheus_address),
    ("kubectl_object", cluster::kubectl_object),
    ("kubectl_autoscalers", cluster::kubectl_autoscalers),
    ("kubectl_list", cluster::kubectl_list),
    ("kubectl_fence", cluster::kubectl_fence),
    ("docker_answer", swarm::docker_answer),
    ("docker_service", swarm::docker_service),
    ("docker_facts", swarm::docker_facts),
    ("docker_applied", swarm::docker_applied),
    ("gateway_operation", gateway::operation),
    ("gateway_journal", gateway::journal),
    ("relocator_request", relocator::request),
    ("relocator_answer", relocator::answer),
];

/// The target of a name.
///
/// # Panics
/// Where there is none.
#[must_use]
pub fn named(name: &str) -> Target {
    ALL.iter().find(|(it, _)| *it == name).expect("a target of that name").1
}
