//! Where a server is: addresses, service files, password files, certificates.
//!
//! What must hold of every address: a password is never shown, what is not encrypted stays on this
//! host or is said to be in clear, and the address as it is shown leads to the same place.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::net::IpAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use scalectl::cli::address::without_password;
use scalectl::ledger::{ServerAddress, Surroundings};

use super::files::directory;

fn read(text: &str, pairs: &[(&str, &Path)]) -> Result<ServerAddress, String> {
    let environment: BTreeMap<OsString, OsString> =
        pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    let around =
        Surroundings { environment: &environment, os_user: "ops", application: "scalectl" };
    ServerAddress::parse(text, &around).map_err(|error| error.to_string())
}

/// The hosts of a shown address, told from its text.
fn are_here(shown: &str) -> bool {
    let rest = shown.split_once("://").map_or("", |(_, rest)| rest);
    let (before, query) = rest.split_once('?').unwrap_or((rest, ""));
    let hosts = before.rsplit_once('@').map_or("", |(_, hosts)| hosts);
    let hosts = hosts.split_once('/').map_or(hosts, |(hosts, _)| hosts);
    let is_loopback = |text: &str| text.parse().is_ok_and(|ip: IpAddr| ip.is_loopback());
    let is_here = |host: &str| {
        if let Some((address, _)) = host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            return address.contains(':') && is_loopback(address);
        }
        let name = host.split_once(':').map_or(host, |(name, _)| name);
        name == "localhost" || is_loopback(name)
    };
    let addresses = query.split('&').find_map(|pair| pair.strip_prefix("hostaddr="));
    hosts.split(',').all(is_here)
        && addresses.is_none_or(|addresses| addresses.split(',').all(is_loopback))
}

const SECRET: &str = "geheimnis";

/// An address, in which a password may stand where passwords stand.
pub fn server_address(data: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(data) else { return false };
    // The file words of an address would read this host's files.
    if ["sslrootcert", "sslcert", "sslkey", "passfile", "service"].iter().any(|w| text.contains(w))
    {
        return false;
    }
    let shown = without_password(text);
    let is_said = |told: &str| told.contains(SECRET);
    let secret = format!(":{SECRET}@");
    if let Some((before, after)) = text.split_once(&secret) {
        // Only there, and behind a user's name.
        let is_login = before
            .strip_prefix("postgres://")
            .is_some_and(|user| !user.contains(['/', '?', '@', ':', '&', '=']));
        if is_login && !is_said(after) && !is_said(before) {
            assert!(!is_said(&shown), "{shown} shows the password");
            match read(text, &[]) {
                Ok(address) => assert!(!is_said(&format!("{address:?}")), "{address:?}"),
                Err(error) => assert!(!is_said(&error), "{error}"),
            }
        }
    }
    // Without this host's own certificates nothing can be said of TLS to elsewhere.
    let Ok(address) = read(text, &[]) else { return false };
    assert!(text.starts_with("postgres://") || text.starts_with("postgresql://"), "{text:?}");
    holds_of(&address, text.contains("sslmode="))
}

fn holds_of(address: &ServerAddress, has_mode: bool) -> bool {
    let shown = address.shown();
    assert!(shown.starts_with("postgres://"), "{shown}");
    let schema = address.schema();
    assert!((1..=63).contains(&schema.len()), "{schema:?}");
    assert!(schema.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_'));
    if !has_mode {
        assert!(!address.is_in_clear(), "{shown} is in clear and nobody asked for it");
    }
    // What is shown is for people, and its names are not encoded: where they need it, it is not
    // a second address.
    let is_plain = |c: char| c.is_ascii_alphanumeric() || ":/@.,_-[]?=&".contains(c);
    let count = |mark: char| shown.matches(mark).count();
    if shown.chars().all(is_plain) && count('@') == 1 && count('/') == 3 && count('?') <= 1 {
        if address.is_in_clear() {
            assert!(!are_here(shown), "{shown} is on this host");
        } else if !address.is_encrypted() {
            assert!(are_here(shown), "{shown} is elsewhere, in clear, and nobody is told");
        }
    }
    true
}

const ADDRESS: &str = "postgres:///?service=prod";

/// The lines of the section of a service, by hand.
fn section(data: &[u8]) -> Option<Vec<String>> {
    let text = std::str::from_utf8(data).ok()?;
    let mut found = None;
    let mut is_inside = false;
    for line in text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line).trim()) {
        if line.len() > 1 && line.starts_with('[') && line.ends_with(']') {
            is_inside = line == "[prod]";
            if is_inside {
                found.get_or_insert_with(Vec::new);
            }
        } else if is_inside && !line.is_empty() && !line.starts_with('#') {
            found.get_or_insert_with(Vec::new).push(line.to_owned());
        }
    }
    found
}

/// `pg_service.conf`: only the section that was asked for counts, its first word of each name wins,
/// and no password of it is shown.
pub fn service_file(data: &[u8]) -> bool {
    let lines = section(data);
    // These would read other files of this host.
    let names_file = |line: &String| {
        let word = line.split('=').next().unwrap_or_default().trim();
        ["sslrootcert", "sslcert", "sslkey", "passfile"].contains(&word)
    };
    if lines.iter().flatten().any(names_file) {
        return false;
    }
    let home = directory();
    let file = home.path().join("services");
    fs::write(&file, data).expect("written");
    let nowhere = home.path().join("none");
    let around = [("PGSERVICEFILE", file.as_path()), ("PGSYSCONFDIR", nowhere.as_path())];
    let read = read(ADDRESS, &around);
    let said = |told: &str| assert!(!told.contains(SECRET), "{told} shows the password");
    let is_only_password = |line: &String| !line.contains(SECRET) || line.starts_with("password");
    let is_secret = lines.iter().flatten().all(is_only_password);
    match (lines, read) {
        (None, Ok(address)) => panic!("{address:?} out of no section"),
        (_, Err(error)) => {
            if is_secret && !error.contains("is not a word") {
                said(&error);
            }
            false
        }
        (Some(lines), Ok(address)) => {
            if is_secret {
                said(&format!("{address:?}"));
            }
            let pairs: Vec<(&str, &str)> =
                lines.iter().map(|line| line.split_once('=').expect("it was taken")).collect();
            let first = |word: &str| {
                let is_it = |pair: &&(&str, &str)| pair.0.trim() == word;
                pairs.iter().find(is_it).map(|pair| pair.1.trim())
            };
            let schema = first("schema").unwrap_or("scalectl");
            assert_eq!(address.schema(), schema);
            holds_of(&address, first("sslmode").is_some())
        }
    }
}

/// The fields of a line of `.pgpass`, by hand: `\` keeps the next letter, whatever it is.
fn fields(line: &str) -> Vec<String> {
    let (mut fields, mut field, mut is_kept) = (Vec::new(), String::new(), false);
    for letter in line.chars() {
        match letter {
            _ if is_kept => {
                field.push(letter);
                is_kept = false;
            }
            '\\' => is_kept = true,
            ':' if fields.len() < 4 => fields.push(std::mem::take(&mut field)),
            _ => field.push(letter),
        }
    }
    fields.push(field);
    fields
}

/// `.pgpass`: the first line that fits gives the password, others give none, and it is not shown.
pub fn password_file(data: &[u8]) -> bool {
    let home = directory();
    let file = home.path().join(".pgpass");
    fs::write(&file, data).expect("written");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("set");
    let address = match read("postgres://app@localhost:6543/d", &[("HOME", home.path())]) {
        Ok(address) => address,
        Err(error) => {
            let is_unreadable = std::str::from_utf8(data).is_err() || data.len() > 1 << 20;
            assert!(is_unreadable, "{error}");
            return false;
        }
    };
    let text = std::str::from_utf8(data).expect("it was read");
    let fits = |line: &str| {
        let fields = fields(line);
        let wanted = ["localhost", "6543", "d", "app"];
        let is_it = fields.len() == 5
            && fields.iter().zip(wanted).all(|(field, wanted)| field == "*" || field == wanted);
        (is_it && !line.starts_with('#')).then(|| fields[4].clone())
    };
    let lines = text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line));
    let first = lines.into_iter().find_map(fits);
    assert_eq!(address.has_password(), first.is_some(), "{first:?}");
    let first = first.unwrap_or_default();
    if first.len() > 7 {
        assert!(!format!("{address:?}").contains(&first), "{address:?} shows the password");
    }
    address.has_password()
}

/// Certificates and a key in one file: taken or refused, and an error that names the file shows
/// nothing of what is in it.
pub fn certificates(data: &[u8]) -> bool {
    let home = directory();
    let file = home.path().join("all.pem");
    fs::write(&file, data).expect("written");
    let file = file.to_str().expect("UTF-8");
    let words = format!("sslrootcert={file}&sslcert={file}&sslkey={file}");
    let text = format!("postgres://localhost/d?sslmode=verify-full&{words}");
    match read(&text, &[]) {
        Ok(address) => {
            assert!(address.is_encrypted() && !address.is_in_clear());
            let has = |mark: &[u8]| data.windows(mark.len()).any(|window| window == mark);
            assert!(has(b"-----BEGIN CERTIFICATE-----") && has(b"PRIVATE KEY-----"));
            true
        }
        Err(error) => {
            assert!(error.starts_with("ssl") && error.contains(file), "{error}");
            // Neither as text nor as a list of its bytes: it may be a key.
            let told = error.replace(file, "");
            for shown in data.windows(12).filter(|part| part.iter().all(u8::is_ascii_alphanumeric))
            {
                let text = String::from_utf8_lossy(shown);
                let list = format!("{shown:?}");
                let is_shown =
                    told.contains(&*text) || told.contains(list.trim_matches(['[', ']']));
                assert!(!is_shown, "{told}");
            }
            assert!(told.len() < 200, "{told}");
            false
        }
    }
}
