//! What the targets begin with: the fixtures, what this program writes itself, and known nuisances.

use std::path::Path;

use super::seeds;
use super::targets::sound_policy;

/// Texts that every reader must survive.
pub(super) fn nuisances() -> Vec<Vec<u8>> {
    let mut rows: Vec<Vec<u8>> = [
        &b""[..],
        b" \n\t",
        b"\0",
        b"\xff\xfe{\0}\0",
        b"\xef\xbb\xbf{}",
        b"\xc3",
        b"{\"a\":1,\"a\":2}",
        b"{\"a\":1,\"\\u0061\":2}",
        b"{} {}",
        b"\"\\ud800\"",
        b"[18446744073709551616]",
        b"-9223372036854775809",
        b"1e999",
        b"\"\\u0000\"",
    ]
    .map(<[u8]>::to_vec)
    .into();
    for open in ["[", "{\"a\":", "(", "a=[", "[a.b.", "!", "\"", "0:{"] {
        rows.push(open.repeat(100_000).into_bytes());
    }
    rows.push(format!("[{}1{}]", "[".repeat(126), "]".repeat(126)).into_bytes());
    rows.push(format!("[{}1{}]", "[".repeat(127), "]".repeat(127)).into_bytes());
    rows.push("9".repeat(100_000).into_bytes());
    rows.push(vec![b' '; (1 << 20) + 1]);
    rows
}

/// The files of a folder of `fixtures/` whose names begin so.
fn fixtures(folder: &str, prefix: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(folder);
    let mut paths: Vec<_> = std::fs::read_dir(folder)
        .expect("a folder of fixtures")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| {
            path.file_name()
                .is_some_and(|name| name.to_str().is_some_and(|name| name.starts_with(prefix)))
        })
        .collect();
    paths.sort();
    paths.into_iter().map(|path| std::fs::read(path).expect("a fixture")).collect()
}

/// The same after each of the ways in which a process can end.
fn ended(answers: &[Vec<u8>]) -> Vec<Vec<u8>> {
    // All but the last three are exit 0.
    let ends = b"02341st";
    let with = |end: u8| answers.iter().map(move |answer| [&[end], answer.as_slice()].concat());
    ends.iter().flat_map(|end| with(*end)).collect()
}

/// The bodies of every event of a ledger, one text per stream.
fn histories() -> Vec<Vec<u8>> {
    let home = tempfile::tempdir().expect("a directory");
    let path = home.path().join("v1.db");
    let ledger = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/ledgers/v1.db");
    std::fs::copy(ledger, &path).expect("a copy");
    let database = rusqlite::Connection::open(&path).expect("a database");
    let text = "SELECT group_concat(body, char(10) ORDER BY sequence) FROM event GROUP BY stream";
    let mut statement = database.prepare(text).expect("a statement");
    let rows = statement.query_map([], |row| row.get::<_, String>(0)).expect("rows");
    rows.map(|row| row.expect("a text").into_bytes()).collect()
}

/// The event whose member is left out where it is false, with that member.
fn with_rollback() -> Vec<Vec<u8>> {
    let with = |text: &Vec<u8>| {
        let text = String::from_utf8_lossy(text);
        text.replace("\"call_ended\"", "\"call_ended\",\"rollback_required\":true").into_bytes()
    };
    fixtures("events", "call_ended").iter().map(with).collect()
}

fn texts(rows: &[&str]) -> Vec<Vec<u8>> {
    rows.iter().map(|row| row.as_bytes().to_vec()).collect()
}

const RECORD: &str = r#"{"schema_version":"1","intent_id":"scale-intent-1","intent_revision":1,
"expected_unit_revision":7,"desired_replicas":3,"min_replicas":1,"max_replicas":5,
"controller_mode":"native","replica_writer_id":"writer-1","execution_key":"scale-execution-1",
"fence":{"lease_id":"intent-fence-1","lease_epoch":4,"fence_token":9,
"expires_at":"2026-01-01T12:10:00Z"},"target":{"cluster_id":"cluster-1","runtime_id":"runtime-1",
"workload_id":"workload-1","target_uid":"target-uid-1","target_resource_version":"rv-1"},
"reason":"bounded reconciliation fixture","retry_policy":{"max_attempts":3,"backoff_s":2},
"created_at":"2026-01-01T12:00:00Z"}"#;

/// What a relocator is asked: of itself, of one copy, and of two.
const RELOCATOR_REQUESTS: [&str; 3] = [
    r#"{"protocol":"scalectl.relocator/1","op":"describe"}"#,
    concat!(
        r#"{"protocol":"scalectl.relocator/1","call_id":"call-1","deadline_ms":1000,"#,
        r#""environment":"shop","operation":"op-1","token":3,"epoch":1,"op":"fence","#,
        r#""source":{"cell":"a","generation":"1-op-0"}}"#,
    ),
    concat!(
        r#"{"protocol":"scalectl.relocator/1","call_id":"call-1","deadline_ms":1000,"#,
        r#""environment":"shop","operation":"op-1","token":3,"epoch":1,"op":"transfer","#,
        r#""source":{"cell":"a","generation":"1-op-0"},"target":{"cell":"b","#,
        r#""generation":"2-op-1"}}"#,
    ),
];

/// What it answers: a receipt, and refusals.
const RELOCATOR_ANSWERS: [&str; 3] = [
    concat!(
        r#"{"protocol":"scalectl.relocator/1","ok":true,"receipt":{"op":"describe","#,
        r#""name":"x","version":"1","ops":[]}}"#,
    ),
    concat!(
        r#"{"protocol":"scalectl.relocator/1","ok":true,"receipt":{"op":"discard","#,
        r#""target":{"cell":"b","generation":"2-op-1"}}}"#,
    ),
    concat!(
        r#"{"protocol":"scalectl.relocator/1","ok":false,"#,
        r#""error":{"code":"workspace_running","facts":{},"message":"m","retryable":false,"#,
        r#""applied":"no"}}"#,
    ),
];

const OPERATION: &str = r#"{"schema_version":1,"operation_id":"op-1","service":"api",
"expected_revision":"0","direction":"Up","current_replicas":0,"desired_replicas":2,
"reason":"load"} and what comes after"#;
const OPERATION_LISTED: &str = r#"[1,"op-1","api",null,"Down",2,0,"less"]"#;
const JOURNAL: &str = r#"{"schema_version":1,"targets":{"a":2,"db":4},"revisions":{"a":6,"db":2},
"receipts":[{"request":{"schema_version":1,"operation_id":"x","service":"a",
"expected_revision":"5","direction":"Up","current_replicas":0,"desired_replicas":2,"reason":""},
"response":{"accepted":true,"actual_replicas":1,"revision":"6","message":"elsewhere"}}]}"#;

const ACTUATORS: &str = r#"format_version = 1
[ledger.ledger-1.fake]
program = "/bin/sh"
args = ["/opt/fake.sh", "--zone", "a \"b\"\n"]
[ledger.ledger-1.fake.environment]
ZONE = "eu"
[ledger.ledger-1.fake.file]
size_bytes = 125688
inode = 7
mtime_s = 1767268800
mtime_ns = 5
ctime_s = 1767268800
ctime_ns = 6
sha256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
"#;

const BUNDLED: &str = r#"format_version = 1
[ledger.ledger-1.fake]
program = "scalectl"
args = ["actuator", "run", "local"]
[ledger.ledger-1.fake.bundled]
protocol = "scalectl.actuator/1"
adapter_version = "1"
"#;

const STATE: &str = r#"{"format":1,"uid":"local:7f3c0a","version":41,"ledger":null,
"seen":{"epoch":1,"token":7},
"fenced":{"rank":{"epoch":1,"token":6},"attempt":1},"forgotten":{"epoch":0,"token":0},
"journal":[{"key":"k-1","rank":{"epoch":1,"token":7},"attempt":1,
"outcome":{"outcome":"begun","desired":3,"version_before":40,"version_after":41}},
{"key":"k-0","rank":{"epoch":1,"token":5},"attempt":2,"outcome":{"outcome":"refused"}}]}"#;

const CALLS: [&str; 7] = [
    "session 4711 88123\ngroup 4712 88124\nended exit 0 boot:86400123\n",
    "session 4711 88123\ngroup 4712 88124\nended signal 9 1767268800123456\n",
    "session 4711 88123\ngroup 4712 88124\n",
    "session 4711 88123\nended spawn_failed no such file 1767268800123456\n",
    "ended deadline boot:0\n",
    "session 4711 88123\ngroup 47\ngroup 4712 88124\nended orphaned 1767268800123456\n",
    "session 4711 88123\ngro\nended killed 1767268800123456\n",
];

const SHORT: [&str; 16] = [
    "2026-01-01T12:00:00Z",
    "2024-02-29T23:59:59.000001+02:00",
    "1999-12-31t23:59:59.5-23:59",
    "0001-01-01T00:00:00Z",
    "9999-12-30T22:00:00.000Z",
    "1970-01-01T00:00:00z",
    "90s",
    "18446744073709551615ms",
    "213503982334d",
    "5m",
    "scale-execution-1",
    " web ",
    "machine:boot:4026531836",
    "service:web",
    "refusals",
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
];

const SELECTORS: [&str; 6] = [
    "tier=front",
    "tier!=front,team==shop",
    " tier in (front, back),!team",
    "team notin (shop),tier",
    "! tier",
    "in in (a),notin",
];

/// What a target begins with.
pub(super) fn of(target: &str) -> Vec<Vec<u8>> {
    let mut rows = match target {
        "gateway_operation" => texts(&[OPERATION, OPERATION_LISTED]),
        "gateway_journal" => texts(&[JOURNAL, &JOURNAL.replace("\"a\"", "\"b\"")]),
        "intent_record" => texts(&[RECORD, &RECORD.replace('\n', "")]),
        "strict_json" => {
            [texts(&[RECORD, "[1.5,-2e-3,\"\u{1F600}\\ud83d\\ude00\"]"]), fixtures("protocol", "")]
                .concat()
        }
        "actuator_request" => fixtures("protocol", "")
            .into_iter()
            .filter(|text| text.windows(5).any(|window| window == b"\"op\":"))
            .collect(),
        "events" => [
            fixtures("events", ""),
            with_rollback(),
            histories()
                .iter()
                .flat_map(|text| {
                    text.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect::<Vec<_>>()
                })
                .collect(),
        ]
        .concat(),
        "fold" => histories(),
        "policy" => ["ci", "kubernetes", "local", "two-person", "break-glass", "business-hours"]
            .into_iter()
            .filter_map(|name| {
                let path = format!("src/policy/templates/{name}.cedar");
                std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).ok()
            })
            .chain(fixtures("policies/refused", ""))
            .collect(),
        "stored_policy" => {
            vec![serde_json::to_vec(&sound_policy()).expect("JSON")]
        }
        "texts" => texts(&SHORT),
        "selector" => texts(&SELECTORS),
        "actuators_toml" => {
            // The last one is refused, and a step away from the first.
            texts(&[ACTUATORS, BUNDLED, &ACTUATORS.replace("\"/bin/sh\"", "\"bin/sh\"")])
        }
        "call_file" => texts(&CALLS),
        "local_state" => texts(&[&STATE.replace('\n', "")]),
        "relocator_request" => texts(&RELOCATOR_REQUESTS),
        "relocator_answer" => texts(&RELOCATOR_ANSWERS),
        name if !name.starts_with("answer_") => texts(seeds::of(name)),
        answer => {
            let op = answer.strip_prefix("answer_").expect("an operation");
            let mut answers = fixtures("protocol", &format!("{op}."));
            answers.retain(|text| !text.windows(5).any(|window| window == b"\"op\":"));
            ended(&[answers, fixtures("protocol", "error")].concat())
        }
    };
    rows.sort();
    rows.dedup();
    rows
}
