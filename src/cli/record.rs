//! A wish that comes as a whole record of the contract.

use std::path::Path;

use super::app::App;
use super::fault::Fault;
use super::intent::{PutArgs, WishArgs};
use super::problem::Problem;
use crate::domain::canonical::{DOCUMENT_BYTES_MAX, DocumentError, read_document};
use crate::domain::id::ServiceName;
use crate::domain::scale::command::{PutForm, PutIntent};
use crate::domain::scale::intent::IntentRecord;
use crate::ops::OpError;
use crate::ops::wait::{read_given, refuse_after_signal};

/// The wish of the record in a file.
pub(super) fn put_of_file(file: &Path, args: &PutArgs, app: &mut App) -> Result<PutIntent, Fault> {
    if let Some(flag) = args.wish.beside_a_record() {
        return Err(said_twice("usage", flag));
    }
    let bytes = read_bounded(file)?;
    let record: IntentRecord = read_document(&bytes).map_err(|source| OpError::Document {
        what: format!("the intent in {}", file.display()),
        source,
    })?;
    put_of_record(record, args.service.as_ref(), &args.wish, args.dry_run, app)
}

fn said_twice(code: &'static str, flag: &str) -> Fault {
    let message = format!("a record says all of the wish itself, and {flag} is said beside it");
    Problem::usage(code, message).hint(format!("leave {flag} away, or change the record")).into()
}

/// The wish of a whole record. It names its target, not our service: a service is named by the
/// line, or found by the workload that its target has.
pub(super) fn put_of_record(
    record: IntentRecord,
    service: Option<&ServiceName>,
    wish: &WishArgs,
    dry_run: bool,
    app: &mut App,
) -> Result<PutIntent, Fault> {
    if let Some(flag) = wish.beside_a_record() {
        return Err(said_twice("contradiction", flag));
    }
    let service = match service {
        Some(service) => service.clone(),
        None => service_of_record(&record, app)?,
    };
    let form = PutForm::Record(Box::new(record));
    let put = PutIntent { dry_run, ..PutIntent::new(service, form) };
    Ok(wish.applied_to(put))
}

fn service_of_record(record: &IntentRecord, app: &mut App) -> Result<ServiceName, Fault> {
    let target = &record.wish().target;
    let heads = app.session()?.heads()?;
    let mut found = heads.into_iter().filter(|(_, head)| {
        head.registration.as_ref().is_some_and(|registration| {
            registration.cluster_id == target.cluster_id
                && registration.runtime_id == target.runtime_id
                && registration.workload_id == target.workload_id
        })
    });
    match (found.next(), found.next()) {
        (Some((service, _)), None) => Ok(service),
        (None, _) => Err(Fault::usage(
            "service_unclear",
            format!(
                "no service has the target {}/{}/{}; name the service before --file",
                target.cluster_id, target.runtime_id, target.workload_id
            ),
        )),
        (Some(_), Some(_)) => Err(Fault::usage(
            "service_unclear",
            "several services have this target; name one before --file",
        )),
    }
}

/// A document that the system does not give.
pub(super) fn unreadable(file: &std::path::Path, error: &std::io::Error) -> Fault {
    let text = format!("reading {}: {error}", file.display());
    Problem::usage("document_unreadable", text)
        .hint("name a file that this user can read, or - for stdin")
        .into()
}

/// Reads a document, at most one byte more than may be read of it.
pub(super) fn read_bounded(file: &std::path::Path) -> Result<Vec<u8>, Fault> {
    let bytes = read_given(file, DOCUMENT_BYTES_MAX).map_err(|error| {
        if let Err(interrupted) = refuse_after_signal() {
            return interrupted.into();
        }
        unreadable(file, &error)
    })?;
    if bytes.len() > DOCUMENT_BYTES_MAX {
        return Err(OpError::Document {
            what: file.display().to_string(),
            source: DocumentError::TooLong,
        }
        .into());
    }
    Ok(bytes)
}
