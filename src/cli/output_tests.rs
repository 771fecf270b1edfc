use std::sync::{Arc, Mutex};

use serde_json::json;

use super::*;
use crate::cli::table::{Cell, Column};

#[derive(Clone, Default)]
struct Page(Arc<Mutex<Vec<u8>>>);

impl Page {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().expect("one thread").clone()).expect("UTF-8")
    }
}

impl Write for Page {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("one thread").write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn printed(format: Format, answer: &Answer) -> (String, String, Exit) {
    let (stdout, stderr) = (Page::default(), Page::default());
    let mut out = Out::to_writers(format, Look::PLAIN, stdout.clone(), stderr.clone());
    let exit = out.answer(answer);
    let exit = out.finish(exit);
    (stdout.text(), stderr.text(), exit)
}

fn answer() -> Answer {
    let mut table = Table::new([Column::left("SERVICE"), Column::right("WANT")]);
    table.row([Cell::new("web"), Cell::new(5)]);
    let mut answer = Answer::ok()
        .recorded(Recorded::Yes)
        .applied(Applied::Yes)
        .noun("intent", &json!({"intent_revision": 18}))
        .line("web@18  3 → 5\u{1b}")
        .table(table)
        .name("web@18")
        .warning("argocd", "argocd\nalso sets it");
    answer.changed = true;
    answer.ledger =
        Some(LedgerShown::new("l-1".parse().expect("id"), "postgres://a:pw@db/x", "postgres"));
    answer
}

fn failure() -> Answer {
    let problem = Problem::new("stale_revision", Exit::Conflict, "web is at 8\u{9b}, not 7")
        .hint("look at it with")
        .run(vec!["scalectl".into(), "intent".into(), "show".into(), "web@8".into()]);
    Answer::failed(problem).name("web@8").line("never printed twice")
}

#[test]
fn an_answer_is_one_document_with_all_its_members() {
    let (stdout, stderr, exit) = printed(Format::Json, &answer());
    assert_eq!(
        serde_json::from_str::<Value>(&stdout).expect("one document"),
        json!({
            "format_version": 1,
            "ok": true,
            "exit": 0,
            "recorded": "yes",
            "applied": "yes",
            "replayed": false,
            "changed": true,
            "ledger": {"id": "l-1", "name": "postgres://a@db/x", "engine": "postgres"},
            "current": null,
            "warnings": [{"code": "argocd", "message": "argocd\nalso sets it"}],
            "error": null,
            "intent": {"intent_revision": 18},
        })
    );
    assert_eq!((stderr.as_str(), exit), ("warning: argocd\\nalso sets it\n", Exit::Ok));
    let places: Vec<_> =
        FIXED_MEMBERS.iter().map(|name| stdout.find(&format!("\n  \"{name}\":"))).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{stdout}");
}

#[test]
fn a_failure_is_one_document_too_and_its_text_goes_to_stderr() {
    let text = "error[stale_revision]: web is at 8\\u{9b}, not 7
  applied   no: nothing was written or called
hint: look at it with:
        scalectl intent show web@8
";
    for format in [Format::Json, Format::Ndjson] {
        let (stdout, stderr, exit) = printed(format, &failure());
        let document: Value = serde_json::from_str(&stdout).expect("one document");
        assert_eq!(document["ok"], json!(false));
        assert_eq!(document["exit"], json!(10));
        assert_eq!(document["error"]["message"], json!("web is at 8\u{9b}, not 7"));
        assert!(stdout.contains("\\u009b"), "{stdout}");
        assert_eq!(stdout.lines().count() == 1, format == Format::Ndjson);
        assert_eq!((stderr.as_str(), exit), (text, Exit::Conflict));
    }
    let (stdout, stderr, _) = printed(Format::Name, &failure());
    assert_eq!((stdout.as_str(), stderr.as_str()), ("", text));
}

#[test]
fn people_see_lines_and_tables_and_names() {
    let (stdout, _, _) = printed(Format::Table, &answer());
    assert_eq!(stdout, "web@18  3 → 5\\u{1b}\nSERVICE  WANT\nweb         5\n");
    assert_eq!(printed(Format::Name, &answer()).0, "web@18\n");
}

#[test]
fn what_is_said_later_about_a_failure_is_said_everywhere() {
    let (stdout, stderr, _) = printed(Format::Ndjson, &failure().applied(Applied::Unknown));
    assert!(stdout.contains("\"applied\":\"unknown\""), "{stdout}");
    assert!(stderr.contains("applied   unknown: "), "{stderr}");
}

#[test]
fn a_closed_reader_is_no_error() {
    let (reader, stdout) = io::pipe().expect("a pipe");
    let (reader_of_errors, stderr) = io::pipe().expect("a pipe");
    drop((reader, reader_of_errors));
    let mut out = Out::to_writers(Format::Json, Look::PLAIN, stdout, stderr);
    out.progress("waiting");
    out.row(&json!({"row": 1}));
    assert!(out.is_closed());
    out.lines("more");
    assert_eq!(out.answer(&answer()), Exit::Ok);
    assert_eq!(out.answer(&failure()), Exit::Conflict);
    assert_eq!(out.finish(Exit::Ok), Exit::Ok);
}

#[test]
fn a_full_disk_behind_stdout_is_an_error() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    for (exit, applied, ends, said) in [
        (Exit::Ok, Applied::No, Exit::Unavailable, "applied   no"),
        (Exit::Ok, Applied::Yes, Exit::NotYet, "applied   yes"),
        (Exit::Ok, Applied::Partial, Exit::Diverged, "applied   partial"),
        (Exit::Ok, Applied::Unknown, Exit::Unknown, "applied   unknown"),
        (Exit::Conflict, Applied::No, Exit::Conflict, "applied   no"),
    ] {
        let stderr = Page::default();
        let mut out = Out::to_writers(Format::Json, Look::PLAIN, Full, stderr.clone());
        out.answer(&answer().applied(applied));
        assert_eq!(out.finish(exit), ends);
        assert!(stderr.text().contains(said), "{}", stderr.text());
        assert!(stderr.text().contains("error[answer_not_written]: "), "{}", stderr.text());
    }
}

#[test]
fn lines_of_a_stream_end_once() {
    let (stdout, stderr) = (Page::default(), Page::default());
    let mut out = Out::to_writers(Format::Table, Look::PLAIN, stdout.clone(), stderr.clone());
    out.lines("a\nb\u{7}");
    out.data("raw\u{7}");
    out.progress("waits\n");
    assert_eq!(stdout.text(), "a\nb\\u{7}\nraw\u{7}");
    assert_eq!(stderr.text(), "waits\n");
}
