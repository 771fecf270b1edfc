//! Signals: the samples of one tick, read in one go from a document, a command or Prometheus.
//!
//! Owns what a source may say and what is taken for no data. Judges no age and no count: the rules
//! do. A source that fails says nothing of any service, and never that there is no load.

mod document;
mod prometheus;
mod provider;

pub(super) use provider::handed_on;

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Serialize;

use super::error::OpError;
use super::health::given;
use super::session::Place;
use crate::domain::id::ServiceName;
use crate::domain::scale::scaling::{Sample, Signal};

pub use document::samples;
pub use prometheus::{Prometheus, ServerAddress, number_in};
pub use provider::Provider;

/// Where samples come from.
pub enum SignalSource {
    /// A document in a file; `-` is stdin.
    Document(PathBuf),
    /// A command that prints such a document.
    Provider(Provider),
    /// A Prometheus, by its HTTP API.
    Prometheus(Prometheus),
}

/// What is asked for: the signal of a service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Wanted {
    /// The service.
    pub service: ServiceName,
    /// Its signal.
    pub signal: Signal,
    /// What it is called in a registration's own words for Prometheus.
    #[serde(skip)]
    pub query: Option<String>,
}

/// What a source says of one service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// A sample.
    Sample(Sample),
    /// That there is none.
    Nothing(String),
    /// What cannot be taken for a sample.
    Unreadable(String),
}

/// What a source says.
#[derive(Debug, Default)]
pub struct Samples {
    said: BTreeMap<ServiceName, Said>,
    /// Why it could not be read as a whole.
    pub failure: Option<String>,
}

impl Samples {
    fn failed(why: impl Into<String>) -> Self {
        Self { said: BTreeMap::new(), failure: Some(why.into()) }
    }

    /// What it says of a service.
    pub fn of(&self, service: &ServiceName) -> Said {
        match (self.said.get(service), &self.failure) {
            (Some(said), _) => said.clone(),
            (None, Some(why)) => Said::Unreadable(why.clone()),
            (None, None) => Said::Nothing("the source has none".to_owned()),
        }
    }
}

impl SignalSource {
    /// The word on the wire.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Document(_) => "document",
            Self::Provider(_) => "provider",
            Self::Prometheus(_) => "prometheus",
        }
    }

    /// Reads what is wanted. An error only where a signal has asked this process to end.
    pub fn read(&self, wanted: &[Wanted], place: &Place) -> Result<Samples, OpError> {
        match self {
            _ if wanted.is_empty() => Ok(Samples::default()),
            Self::Document(file) => Ok(match given(file) {
                Ok(bytes) => document::samples(&bytes, wanted),
                Err(why) => Samples::failed(why),
            }),
            Self::Provider(provider) => provider.read(wanted, place),
            Self::Prometheus(prometheus) => prometheus.read(wanted),
        }
    }
}
