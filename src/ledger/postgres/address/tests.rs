//! Addresses: where each word comes from, what is refused, and that no password is shown.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::*;

fn environment(pairs: &[(&str, &str)]) -> BTreeMap<OsString, OsString> {
    pairs.iter().map(|(name, value)| (name.into(), value.into())).collect()
}

fn read(text: &str, pairs: &[(&str, &str)]) -> Result<ServerAddress, String> {
    let environment = environment(pairs);
    let around =
        Surroundings { environment: &environment, os_user: "ops", application: "scalectl" };
    ServerAddress::parse(text, &around).map_err(|error| error.to_string())
}

fn password(address: &ServerAddress) -> Option<&str> {
    address.config().get_password().map(|bytes| std::str::from_utf8(bytes).expect("UTF-8"))
}

#[test]
fn an_address_says_more_than_the_environment() {
    let around = [("PGHOST", "127.0.0.1"), ("PGUSER", "ci"), ("PGDATABASE", "d"), ("PGPORT", "7")];
    for (text, shown) in [
        ("postgres://", "postgres://ci@127.0.0.1:7/d"),
        ("postgresql:///e", "postgres://ci@127.0.0.1:7/e"),
        ("postgres://a:p%40@localhost:8/e", "postgres://a@localhost:8/e"),
        ("postgres://[::1]:5432/e?schema=s_1", "postgres://ci@[::1]/e?schema=s_1"),
        ("postgres://%2Ftmp%2Fpg/e?port=9", "postgres://ci@%2Ftmp%2Fpg:9/e"),
        (
            "postgres:///e?host=localhost,127.0.0.2&port=1,2",
            "postgres://ci@localhost:1,127.0.0.2:2/e",
        ),
        // Where it leads is a part of it.
        (
            "postgres://localhost/e?hostaddr=127.0.0.3&schema=s",
            "postgres://ci@localhost:7/e?hostaddr=127.0.0.3&schema=s",
        ),
        ("postgres:///e?host=::1&hostaddr=::1", "postgres://ci@[::1]:7/e"),
    ] {
        assert_eq!(read(text, &around).expect(text).shown(), shown);
    }
    let address = read("postgres://a:p%40%3a@localhost/e", &around).expect("read");
    assert_eq!(password(&address), Some("p@:"));
    assert!(!format!("{address:?}").contains("p@"));
    let alone = read("postgres://localhost", &[]).expect("read");
    assert_eq!(alone.shown(), "postgres://ops@localhost/ops");
}

#[test]
fn a_word_that_is_wrong_is_named_without_a_password() {
    for (text, problem) in [
        ("postgres://u:geheim@h/d?nonsense=1", "\"nonsense\" is not a word"),
        ("postgres://u:ge?heim@h/d", "in a password write / as %2F"),
        ("postgres://u:ge/heim@h/d", "in a password write / as %2F"),
        ("postgres://u@h/d?heim", "what follows ? is not WORD=VALUE"),
        ("postgres://u:geheim", "the port is no number"),
        ("postgresql+x://u:geheim@h", "postgres://USER@HOST:PORT/DATABASE"),
        ("postgres://u:geheim%2@h/d", "password: a % is not followed by two hex digits"),
        ("postgres://u:geheim@localhost:0/d", "the port is \"0\""),
        ("postgres://localhost:1,localhost:2,localhost/d?port=1,2", "2 ports for 3 hosts"),
        ("postgres://localhost/d?hostaddr=::1,::1", "2 addresses in hostaddr for 1 hosts"),
        (
            "postgres://localhost/d?hostaddr=10.0.0.1&sslmode=prefer",
            "a stranger can turn into no TLS",
        ),
        ("postgres://localhost/d?schema=public", "the schema is \"public\""),
        ("postgres://localhost/d?schema=a%22b", "the schema is"),
        ("postgres://localhost/d?connect_timeout=0", "1 to 3600 seconds"),
        ("postgres://localhost/d?sslmode=maybe", "sslmode is \"maybe\""),
        ("postgres://db.example/d?sslmode=prefer", "a stranger can turn into no TLS"),
        ("postgres://localhost/d?target_session_attrs=standby", "read-write, primary or any"),
        ("postgres://localhost/d?service=none", "there is no service \"none\" in"),
        ("postgres://localhost/d?sslmode=require&sslrootcert=/none", "sslrootcert /none"),
    ] {
        let error = read(text, &[]).expect_err(text);
        assert!(error.contains(problem) && !error.contains("geheim"), "{text}: {error}");
    }
}

#[test]
fn tls_is_left_out_only_on_this_host_or_by_word() {
    for (text, is_encrypted, is_in_clear) in [
        ("postgres://localhost/d", false, false),
        ("postgres://%2Ftmp/d", false, false),
        ("postgres://127.0.0.9/d?sslmode=prefer", false, false),
        ("postgres://10.0.0.1/d?sslmode=disable", false, true),
        // Without a word, whoever is elsewhere is reached by TLS.
        ("postgres://10.0.0.1/d?sslrootcert=fixtures/tls/localhost.pem", true, false),
        ("postgres://db.example/d?sslrootcert=fixtures/tls/localhost.pem", true, false),
        ("postgres://localhost,db.example/d?sslrootcert=fixtures/tls/localhost.pem", true, false),
        // One of the hosts is elsewhere.
        ("postgres://localhost,10.0.0.1/d?sslmode=disable", false, true),
        // A host that is called as this one is, and is somewhere else.
        ("postgres://localhost/d?hostaddr=10.0.0.1&sslmode=disable", false, true),
        ("postgres://%2Ftmp/d?hostaddr=10.0.0.1&sslmode=disable", false, true),
        ("postgres://localhost/d?hostaddr=127.0.0.1", false, false),
    ] {
        let address = read(text, &[]).expect(text);
        assert_eq!((address.is_encrypted(), address.is_in_clear()), (is_encrypted, is_in_clear));
    }
}

#[test]
fn a_service_and_a_password_file_say_the_rest() {
    let home = tempfile::tempdir().expect("a directory");
    let services =
        "[other]\nhost=10.0.0.9\n\n# ours\n[prod]\nhost = localhost\nport=6543\nuser=app\n";
    fs::write(home.path().join(".pg_service.conf"), services).expect("written");
    let passwords = "# none\nlocalhost:1:*:*:no\nlocalhost:6543:d:app:se\\:cret\n*:*:*:*:last\n";
    let file = home.path().join(".pgpass");
    fs::write(&file, passwords).expect("written");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("set");
    let home = home.path().to_str().expect("UTF-8");
    let around = [("HOME", home), ("PGSERVICE", "prod"), ("PGUSER", "env"), ("PGDATABASE", "d")];
    let address = read("postgres://", &around).expect("read");
    assert_eq!(address.shown(), "postgres://app@localhost:6543/d");
    assert_eq!(password(&address), Some("se:cret"));
    let other = read("postgres://x@localhost:5/d?service=prod", &around).expect("read");
    assert_eq!(password(&other), Some("last"));
    let named = read("postgres://localhost/d?passfile=/none", &around).expect("read");
    assert_eq!(password(&named), None);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).expect("set");
    let error = read("postgres://", &around).expect_err("others may read it");
    assert!(error.contains("chmod 600"), "{error}");
}

/// A FIFO would be waited for until somebody writes it, and a device is read without end.
#[test]
fn a_certificate_that_is_no_file_is_refused_at_once() {
    let home = tempfile::tempdir().expect("a directory");
    let fifo = home.path().join("fifo");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &fifo,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .expect("a FIFO");
    let fifo = fifo.to_str().expect("UTF-8");
    for file in [fifo, "/dev/zero"] {
        for words in [format!("sslrootcert={file}"), format!("sslcert={file}&sslkey={file}")] {
            let text = format!("postgres://localhost/d?sslmode=require&{words}");
            let error = read(&text, &[]).expect_err("no file");
            assert!(error.contains("not a regular file"), "{error}");
        }
    }
}

/// The library's own words show the line that is wrong, byte by byte.
#[test]
fn a_damaged_key_is_told_and_not_shown() {
    let home = tempfile::tempdir().expect("a directory");
    let whole = include_str!("../../../../fixtures/tls/localhost.pem");
    let (certificate, key) = whole.split_at(whole.find("-----BEGIN PRIVATE").expect("a key"));
    let write = |name: &str, text: &str| {
        let path = home.path().join(name);
        fs::write(&path, text).expect("written");
        path.to_str().expect("UTF-8").to_owned()
    };
    let certificate = write("cert.pem", certificate);
    for (damaged, problem) in [
        (key.replacen("KEY-----\n", "KEY", 1), "a BEGIN line is not whole"),
        (key.replace("-----END PRIVATE KEY-----", ""), "a BEGIN line has no END line"),
        (key.replace("MC4C", "M!4C"), "is not base64"),
        (String::new(), "there is none in it"),
    ] {
        let file = write("key.pem", &damaged);
        let words = format!("sslrootcert={certificate}&sslcert={certificate}&sslkey={file}");
        let text = format!("postgres://localhost/d?sslmode=require&{words}");
        let error = read(&text, &[]).expect_err(problem);
        assert!(error.contains("sslkey") && error.contains(problem), "{error}");
        let is_shown = ["HVUx4tINjfsN6", "77, 67, 52, 67", "72, 86, 85, 120"];
        assert!(!is_shown.iter().any(|part| error.contains(part)), "{error}");
    }
}

#[test]
fn a_place_is_named_in_full() {
    let around = [("PGHOST", "db1"), ("PGUSER", "ci"), ("PGDATABASE", "d"), ("PGPORT", "7")];
    for (text, place) in [
        ("postgres://", "postgres://db1:7/d?schema=scalectl"),
        ("postgres://a:p%40@localhost:8/e", "postgres://localhost:8/e?schema=scalectl"),
        ("postgres://[::1]:5432/e?schema=s_1", "postgres://[::1]:5432/e?schema=s_1"),
        ("postgres://%2Ftmp%2Fpg/e?port=9", "postgres://%2Ftmp%2Fpg:9/e?schema=scalectl"),
        (
            "postgres:///e?host=localhost,127.0.0.2&port=1,2",
            "postgres://localhost:1,127.0.0.2:2/e?schema=scalectl",
        ),
        (
            "postgres://localhost/e?hostaddr=127.0.0.3",
            "postgres://localhost:7/e?schema=scalectl&hostaddr=127.0.0.3",
        ),
    ] {
        let address = read(text, &around).expect(text);
        assert_eq!(address.place(), place);
        // Whatever the environment says, it leads there.
        let elsewhere = [("PGHOST", "db2"), ("PGPORT", "9"), ("PGDATABASE", "x")];
        assert_eq!(read(place, &elsewhere).expect(place).place(), place);
    }
}
