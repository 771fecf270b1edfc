//! Where a target is: the context, the namespace, the kind and the name. Pure.

use std::fmt;

use super::KubectlConfig;
use crate::adapters::is_word;
use crate::adapters::refusal::Refusal;
use crate::domain::id::{RuntimeId, WorkloadId};

/// The kinds of objects whose count is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Deployment,
    StatefulSet,
}

impl Kind {
    /// Each of them.
    pub(super) const ALL: [Self; 2] = [Self::Deployment, Self::StatefulSet];

    /// The kind of a word in any case, in the singular or the plural.
    fn of(word: &str) -> Option<Self> {
        match word.to_ascii_lowercase().as_str() {
            "deployment" | "deployments" => Some(Self::Deployment),
            "statefulset" | "statefulsets" => Some(Self::StatefulSet),
            _ => None,
        }
    }

    /// As documents of the API name it.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Deployment => "Deployment",
            Self::StatefulSet => "StatefulSet",
        }
    }

    const fn lower(self) -> &'static str {
        match self {
            Self::Deployment => "deployment",
            Self::StatefulSet => "statefulset",
        }
    }

    /// What a list of them is asked for by.
    pub(super) const fn resource(self) -> &'static str {
        match self {
            Self::Deployment => "deployments.apps",
            Self::StatefulSet => "statefulsets.apps",
        }
    }
}

/// An object, as kubectl is told it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) namespace: String,
    pub(super) kind: Kind,
    pub(super) name: String,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.namespace, self.kind.lower(), self.name)
    }
}

impl Place {
    /// The object of a typed target, in the order of the rule book: the name first, then whether
    /// the identity is whole and what is meant may be meant here.
    pub(super) fn of(
        config: &KubectlConfig,
        workload: &WorkloadId,
        runtime: Option<&RuntimeId>,
    ) -> Result<Self, Refusal> {
        let unknown = || {
            let detail = format!(
                "{workload} is no workload of Kubernetes: write deployment/NAME or statefulset/NAME"
            );
            Refusal::terminal("unknown_workload", detail)
        };
        let (kind, name) = workload.as_str().split_once('/').ok_or_else(unknown)?;
        if !is_name(name) {
            let detail = format!("unsafe target: {name:?} is no name of an object");
            return Err(Refusal::terminal("unsafe_target", detail));
        }
        let kind = Kind::of(kind).ok_or_else(unknown)?;
        let Some(namespace) = namespace_of(config, runtime)? else {
            let detail = "identity is incomplete: name the namespace with --runtime, or bind the \
                          actuator with --namespace";
            return Err(Refusal::terminal("incomplete_target", detail.to_owned()));
        };
        Ok(Self { namespace, kind, name: name.to_owned() })
    }

    /// The object as an argument of kubectl.
    pub(super) fn argument(&self) -> String {
        format!("{}/{}", self.kind.lower(), self.name)
    }
}

/// The one namespace that is meant; none where neither the actuator nor the target names one.
pub(super) fn namespace_of(
    config: &KubectlConfig,
    runtime: Option<&RuntimeId>,
) -> Result<Option<String>, Refusal> {
    let namespace = match (&config.namespace, runtime.map(RuntimeId::as_str)) {
        (Some(own), Some(asked)) if own != asked => {
            let detail = format!("this actuator acts in namespace {own} only, not in {asked}");
            return Err(Refusal::terminal("other_namespace", detail));
        }
        (Some(own), _) => own.clone(),
        (None, Some(asked)) => asked.to_owned(),
        (None, None) => return Ok(None),
    };
    if !is_name(&namespace) {
        let detail = format!("unsafe target: {namespace:?} is no namespace");
        return Err(Refusal::terminal("unsafe_target", detail));
    }
    Ok(Some(namespace))
}

/// Whether a text may be the name of an object or of a namespace: it cannot be read as an option,
/// as a path or as two words (facts: 6.1(2)).
pub(super) fn is_name(text: &str) -> bool {
    is_word(text, b"._-")
}

/// Whether a text may name a context (facts: 6.1(3)).
pub(super) fn is_context(text: &str) -> bool {
    text.len() <= 256 && is_word(text, b"._:/@-")
}
