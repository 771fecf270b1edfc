//! Addresses as they are shown: never with what may be a password, however they were typed.
//!
//! Whoever mistypes an address has its password in a place where nobody expects one. So what only
//! resembles an address is refused as one, and nothing after its first words is shown.

use std::borrow::Cow;

/// The words of a string of PostgreSQL's own library, which is no address of ours.
const LIBRARY_WORDS: [&str; 9] =
    ["host", "hostaddr", "port", "dbname", "user", "password", "passfile", "service", "sslmode"];

/// Whether a text that is no address is more like one than like a path.
pub(super) fn resembles_address(text: &str) -> bool {
    let text = text.trim_start().to_ascii_lowercase();
    if ["/", "./", "../", "~"].iter().any(|start| text.starts_with(start)) {
        return text.contains("password=");
    }
    let is_word = |word: &str| LIBRARY_WORDS.contains(&word.trim());
    let names_word = text.split_once('=').is_some_and(|(word, _)| is_word(word));
    let has_login = text.rsplit_once('@').is_some_and(|(login, _)| login.contains(':'));
    names_word || has_login || is_plainly_one(&text)
}

/// Whether a text is an address, or was to be one, wherever it stands in a line.
fn is_plainly_one(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    let is_letter = |c: char| c.is_ascii_alphanumeric() || "+.-".contains(c);
    let rest = text.trim_start_matches(is_letter);
    let scheme = &text[..text.len() - rest.len()];
    let is_scheme = scheme.starts_with("postgres") || ["psql", "pgsql", "pg"].contains(&scheme);
    text.contains("password=")
        || text.contains("://")
        || (is_scheme && (rest.starts_with(':') || rest.starts_with("//")))
}

/// A ledger's address, or an argument with one in it, without its password.
///
/// `postgres://user:secret@host/db?password=secret` becomes `postgres://user@host/db`. The line
/// still works for whoever keeps the password where `libpq` looks for it. Where it is not clear
/// what is the password, only the beginning is shown.
pub fn without_password(text: &str) -> Cow<'_, str> {
    hidden(text, resembles_address)
}

/// The arguments of a line without passwords. What stands where no ledger does may have an `=`, a
/// colon and an `@` of its own, and is left as it is.
pub(super) fn line_without_passwords(argv: &[String]) -> Vec<String> {
    let is_place = |at: usize| {
        let names = ["--ledger", "--from", "--to"];
        let before = at.checked_sub(1).map_or("", |at| &argv[at]);
        names.contains(&before) || names.contains(&argv[at].split('=').next().unwrap_or(""))
    };
    let shown = |(at, arg): (usize, &String)| {
        let is_one = if is_place(at) { resembles_address } else { is_plainly_one };
        hidden(arg, is_one).into_owned()
    };
    argv.iter().enumerate().map(shown).collect()
}

fn hidden(text: &str, is_one: fn(&str) -> bool) -> Cow<'_, str> {
    let value = flag_len(text);
    let Some(at) = text.find("://") else {
        return if is_one(&text[value..]) { cut(text, value) } else { text.into() };
    };
    let (before, rest) = (&text[..at], &text[at + 3..]);
    let scheme = before.to_ascii_lowercase();
    if !scheme.ends_with("postgres") && !scheme.ends_with("postgresql") {
        let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
        let is_web = scheme.ends_with("http") || scheme.ends_with("https");
        let may_hide = if is_web { authority } else { rest };
        let is_secret = may_hide.contains('@') || scheme.contains("postgres");
        return if is_secret { format!("{before}://…").into() } else { text.into() };
    }
    let (address, query) = rest.split_once('?').unwrap_or((rest, ""));
    if is_unclear(rest) {
        return Cow::Owned(format!("{before}://…"));
    }
    let shown = match address.rsplit_once('@') {
        Some((user, host)) => {
            let user = user.split_once(':').map_or(user, |(user, _)| user);
            format!("{user}@{host}")
        }
        None => address.to_owned(),
    };
    let kept: Vec<&str> = query.split('&').filter(|pair| is_open(pair)).collect();
    let mark = if kept.is_empty() { "" } else { "?" };
    Cow::Owned(format!("{before}://{shown}{mark}{}", kept.join("&")))
}

/// The same of every word of a text: what a library says of a line shows parts of it.
pub(super) fn without_passwords(text: &str) -> String {
    let is_edge = |c: char| c.is_whitespace() || "'\"`".contains(c);
    let mut shown = String::with_capacity(text.len());
    for word in text.split_inclusive(is_edge) {
        let bare = word.trim_end_matches(is_edge);
        shown.push_str(&without_password(bare));
        shown.push_str(&word[bare.len()..]);
    }
    shown
}

/// How long `--NAME=` is, where a text begins with it.
fn flag_len(text: &str) -> usize {
    let end = text.starts_with("--").then(|| text.find('=')).flatten();
    end.map_or(0, |end| end + 1)
}

/// What stands up to the first mark after `from`.
fn cut(text: &str, from: usize) -> Cow<'_, str> {
    let end = text[from..].find([':', '=', '/', '@', ' ']).map_or(from, |end| from + end + 1);
    Cow::Owned(format!("{}…", &text[..end]))
}

/// Whether a `/`, a `?` or a missing `@` leaves open what belongs to the password.
fn is_unclear(rest: &str) -> bool {
    let authority = rest.split(['/', '?']).next().unwrap_or(rest);
    let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    let hosts = authority.rsplit_once('@').map_or(authority, |(_, hosts)| hosts);
    let ports_are_numbers = hosts.split(',').all(|host| match host.rsplit_once([':', ']']) {
        Some((_, port)) => is_port(port.trim_start_matches(':')),
        None => true,
    });
    rest[authority.len()..].contains('@') || !ports_are_numbers
}

/// Whether a word of a query may be shown.
fn is_open(pair: &str) -> bool {
    let name = pair.split('=').next().unwrap_or(pair).to_ascii_lowercase();
    let is_secret = ["pass", "pwd", "pw", "secret", "token", "%"].iter().any(|s| name.contains(s));
    !pair.is_empty() && pair.contains('=') && (!is_secret || name == "passfile")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_not_shown() {
        for (text, shown) in [
            ("prod", "prod"),
            ("/var/lib/a:b@c.db", "/var/lib/a:b@c.db"),
            ("postgres/ledger.db", "postgres/ledger.db"),
            ("web@18", "web@18"),
            ("--key=a:b", "--key=a:b"),
            ("postgres://ops@db/x", "postgres://ops@db/x"),
            ("postgres://ops:s3:cr@et@db:5432/x", "postgres://ops@db:5432/x"),
            ("--ledger=postgres://ops:pw@db/x?a=1&PassWord=pw", "--ledger=postgres://ops@db/x?a=1"),
            ("postgres://db/x?password=p%40w", "postgres://db/x"),
            ("postgres://db/x?passfile=/p&pw=p", "postgres://db/x?passfile=/p"),
            ("postgresql://ops:p?w@db/x", "postgresql://…"),
            ("postgres://db/x?pass%77ord=pw&sslpassword=pw", "postgres://db/x"),
            ("postgres://[::1]:5432,[::2]/x", "postgres://[::1]:5432,[::2]/x"),
            ("https://ci/run?who=a@b", "https://ci/run?who=a@b"),
            ("https://u:token@ci/run", "https://…"),
            ("postgres://ops:p/w@db/x", "postgres://…"),
            ("postgres://ops:secret", "postgres://…"),
            ("postgresql+x://u:p@h", "postgresql+x://…"),
            ("mysql://u:p/w@h", "mysql://…"),
            ("postgres:/u:p@h", "postgres:…"),
            ("postgres//u:p@h", "postgres/…"),
            ("postgres:u:p@h", "postgres:…"),
            ("psql:u:p", "psql:…"),
            ("u:p@h/d", "u:…"),
            ("host=h user=u password=p w", "host=…"),
            ("--ledger=password=p", "--ledger=password=…"),
        ] {
            assert_eq!(without_password(text), shown);
        }
        let line = ["scalectl", "--ledger", "u:p@h", "observe", "a:b@c", "--ref=host=x", "pg:u:p"];
        let shown = ["scalectl", "--ledger", "u:…", "observe", "a:b@c", "--ref=host=x", "pg:…"];
        assert_eq!(line_without_passwords(&line.map(str::to_owned)), shown);
        let said = "unexpected argument '--to=postgres://u:p@h/d' found, \"password=p\"";
        let shown = "unexpected argument '--to=postgres://u@h/d' found, \"password=…\"";
        assert_eq!(without_passwords(said), shown);
    }
}
