//! `postgres://…` taken apart into its words.

use super::{AddressError, Said, known, wrong};

/// What the address itself says.
pub(super) fn parse(text: &str) -> Result<Said, AddressError> {
    let rest = text
        .strip_prefix("postgres://")
        .or_else(|| text.strip_prefix("postgresql://"))
        .ok_or_else(|| {
            wrong(
                "an address of a server is postgres://USER@HOST:PORT/DATABASE, its password is in \
                 ~/.pgpass or PGPASSWORD; a file of such a name is ./NAME",
            )
        })?;
    if rest.find(['/', '?']).is_some_and(|end| rest[end..].contains('@')) {
        // Nothing is shown: what stands before may be the beginning of a password.
        return Err(wrong(
            "an @ after the first / or ?: in a password write / as %2F, ? as %3F and @ as %40",
        ));
    }
    let (before, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, database) = before.split_once('/').unwrap_or((before, ""));
    let mut said = Said::new();
    let (login, hosts) = authority.rsplit_once('@').unwrap_or(("", authority));
    let (user, password) = match login.split_once(':') {
        Some((user, password)) => (user, Some(password)),
        None => (login, None),
    };
    say(&mut said, "user", user)?;
    say(&mut said, "password", password.unwrap_or(""))?;
    say(&mut said, "dbname", database)?;
    if !hosts.is_empty() {
        let (mut names, mut ports) = (Vec::new(), Vec::new());
        for host in hosts.split(',') {
            let (name, port) = host_and_port(host)?;
            if port.bytes().any(|byte| !byte.is_ascii_digit()) {
                // Without an @ it may be a password.
                return Err(wrong("the port is no number: after HOST: comes 1 to 65535"));
            }
            names.push(decoded("host", name)?);
            ports.push(port);
        }
        said.insert("host", names.join(","));
        if ports.iter().any(|port| !port.is_empty()) {
            said.insert("port", ports.join(","));
        }
    }
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').ok_or_else(|| {
            // Not shown: it may be the rest of a password that nobody has percent-encoded.
            wrong("what follows ? is not WORD=VALUE&…; in a password write ? as %3F and @ as %40")
        })?;
        let word = known(name).ok_or_else(|| {
            let is_plain = |c: char| c.is_ascii_lowercase() || c == '_';
            let shown = Some(name).filter(|name| name.len() <= 40 && name.chars().all(is_plain));
            wrong(format!("{:?} is not a word of an address", shown.unwrap_or("…")))
        })?;
        say(&mut said, word, value)?;
    }
    Ok(said)
}

fn say(said: &mut Said, word: &'static str, value: &str) -> Result<(), AddressError> {
    if !value.is_empty() {
        said.insert(word, decoded(word, value)?);
    }
    Ok(())
}

fn host_and_port(text: &str) -> Result<(&str, &str), AddressError> {
    if let Some(rest) = text.strip_prefix('[') {
        let (address, after) =
            rest.split_once(']').ok_or_else(|| wrong("a host begins with [ and has no ]"))?;
        return Ok((address, after.strip_prefix(':').unwrap_or(after)));
    }
    Ok(text.rsplit_once(':').unwrap_or((text, "")))
}

/// Takes `%41` as `A`. The value is not shown: it may be a password.
fn decoded(word: &str, text: &str) -> Result<String, AddressError> {
    let unclear = || wrong(format!("{word}: a % is not followed by two hex digits of UTF-8 text"));
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || char::from(rest.next()?).to_digit(16);
        let (Some(high), Some(low)) = (digit(), digit()) else {
            return Err(unclear());
        };
        bytes.push(u8::try_from(high * 16 + low).map_err(|_| unclear())?);
    }
    let text = String::from_utf8(bytes).map_err(|_| unclear())?;
    if text.contains('\0') { Err(unclear()) } else { Ok(text) }
}
