//! The document of signals, as a file or a command brings it.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::{Said, Samples, Wanted};
use crate::domain::canonical::{from_value, read_document};
use crate::domain::id::ServiceName;
use crate::domain::scale::scaling::Sample;

/// The one version of the document.
pub(super) const FORMAT_VERSION: u64 = 1;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    format_version: u64,
    signals: Vec<Value>,
}

/// Whom an element is about, whatever else is wrong with it.
#[derive(Deserialize)]
struct About {
    service: ServiceName,
}

/// Reads a document. An element that is no sample takes its own service's word away and nobody
/// else's; one that nobody can say whose it is takes the whole document.
pub fn samples(bytes: &[u8], wanted: &[Wanted]) -> Samples {
    let document: Document = match read_document(bytes) {
        Ok(document) => document,
        Err(error) => return Samples::failed(format!("the signals: {error}")),
    };
    if document.format_version != FORMAT_VERSION {
        let version = document.format_version;
        return Samples::failed(format!("the signals: format_version is {version}, not 1"));
    }
    let mut found: BTreeMap<ServiceName, Vec<Result<Sample, String>>> = BTreeMap::new();
    for (at, element) in document.signals.into_iter().enumerate() {
        let Ok(About { service }) = from_value(element.clone()) else {
            return Samples::failed(format!("the signals: signals[{at}] names no service"));
        };
        let sample = from_value(element).map_err(|error| format!("signals[{at}].{error}"));
        found.entry(service).or_default().push(sample);
    }
    let said = wanted.iter().filter_map(|wanted| {
        let said = said_of(wanted, found.remove(&wanted.service)?);
        Some((wanted.service.clone(), said))
    });
    Samples { said: said.collect(), failure: None }
}

/// What of all that is said about one service is its sample. Other signals of it are nobody's
/// business, but where there is nothing else the rules say that they do not match.
fn said_of(wanted: &Wanted, found: Vec<Result<Sample, String>>) -> Said {
    let mut others = None;
    let mut own = None;
    for sample in found {
        match sample {
            Err(why) => return Said::Unreadable(why),
            Ok(sample) if sample.signal != wanted.signal => others = Some(sample),
            Ok(_) if own.is_some() => {
                return Said::Unreadable("two samples of its signal".to_owned());
            }
            Ok(sample) => own = Some(sample),
        }
    }
    own.or(others).map_or_else(|| Said::Nothing("the source has none".to_owned()), Said::Sample)
}
