//! The service file and the password file, as PostgreSQL's own library reads them.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tokio_postgres::Config;
use tokio_postgres::config::Host;

use crate::files;

use super::{AddressError, Surroundings, known, wrong};

/// What a service says; `PGSERVICEFILE`, else `~/.pg_service.conf`, else the one of
/// `PGSYSCONFDIR`.
pub(super) fn service(
    name: &str,
    around: &Surroundings<'_>,
) -> Result<Vec<(&'static str, String)>, AddressError> {
    let own = around.variable("PGSERVICEFILE").map(PathBuf::from);
    let own = own.or_else(|| around.home().map(|home| home.join(".pg_service.conf")));
    let system = around.variable("PGSYSCONFDIR").unwrap_or("/etc/postgresql-common");
    let system = Path::new(system).join("pg_service.conf");
    let files: Vec<PathBuf> = own.into_iter().chain([system]).collect();
    for file in &files {
        let text = match files::read_settings_text(file) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => return Err(unreadable("service", file, &error)),
        };
        if let Some(found) = section(&text, name, file)? {
            return Ok(found);
        }
    }
    let files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    Err(wrong(format!("there is no service {name:?} in {}", files.join(" or "))))
}

fn unreadable(what: &str, file: &Path, error: &std::io::Error) -> AddressError {
    wrong(format!("the {what} file {} cannot be read: {error}", file.display()))
}

fn section(
    text: &str,
    name: &str,
    file: &Path,
) -> Result<Option<Vec<(&'static str, String)>>, AddressError> {
    let mut found: Option<Vec<_>> = None;
    let mut is_inside = false;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if let Some(title) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            is_inside = title == name;
            if is_inside {
                found.get_or_insert_default();
            }
        } else if is_inside && !line.is_empty() && !line.starts_with('#') {
            let place = || format!("{}:{}", file.display(), index + 1);
            let (word, value) = line
                .split_once('=')
                .ok_or_else(|| wrong(format!("{}: not WORD=VALUE", place())))?;
            // It is not shown: what stands there may be the rest of a password.
            let word = known(word.trim())
                .filter(|word| *word != "service")
                .ok_or_else(|| wrong(format!("{}: before = is no word of an address", place())))?;
            found.get_or_insert_default().push((word, value.trim().to_owned()));
        }
    }
    Ok(found)
}

/// The password for the first host that the file knows: the named file, else `~/.pgpass`. A file
/// that others may read is refused, not skipped: its owner would look for the fault elsewhere.
pub(super) fn password(
    config: &Config,
    named: Option<&str>,
    around: &Surroundings<'_>,
) -> Result<Option<String>, AddressError> {
    let file = named.map(PathBuf::from);
    let Some(file) = file.or_else(|| around.home().map(|home| home.join(".pgpass"))) else {
        return Ok(None);
    };
    let text = match files::read_settings_text(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable("password", &file, &error)),
    };
    let mode = fs::metadata(&file).map_or(0, |found| found.permissions().mode());
    if mode & 0o077 != 0 {
        return Err(wrong(format!(
            "others may read the password file {}: chmod 600 it",
            file.display()
        )));
    }
    let ports = config.get_ports();
    let hosts = config.get_hosts().iter().enumerate();
    let found = hosts.into_iter().find_map(|(index, host)| {
        let host = match host {
            Host::Tcp(name) => name.clone(),
            Host::Unix(path) => path.display().to_string(),
        };
        let port = ports.get(index).or(ports.first()).copied().unwrap_or(5432).to_string();
        let wanted =
            [&host, &port, config.get_dbname().unwrap_or(""), config.get_user().unwrap_or("")];
        text.lines().find_map(|line| password_of(line, wanted))
    });
    Ok(found)
}

/// The fifth field of a line whose first four fit; `*` fits everything, `\` keeps the next letter.
fn password_of(line: &str, wanted: [&str; 4]) -> Option<String> {
    if line.starts_with('#') {
        return None;
    }
    let mut fields = vec![String::new()];
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match letter {
            ':' if fields.len() < 5 => fields.push(String::new()),
            '\\' => fields.last_mut()?.extend(letters.next()),
            other => fields.last_mut()?.push(other),
        }
    }
    let [host, port, database, user, password] = <[String; 5]>::try_from(fields).ok()?;
    let is_socket = wanted[0].starts_with('/');
    let fits = |field: &str, wanted: &str| field == "*" || field == wanted;
    let host_fits = fits(&host, wanted[0]) || (is_socket && host == "localhost");
    let fit =
        host_fits && fits(&port, wanted[1]) && fits(&database, wanted[2]) && fits(&user, wanted[3]);
    fit.then_some(password)
}
