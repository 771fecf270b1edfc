//! What the targets of this host, of servers and of streams begin with.

/// A self-signed certificate of `localhost` and its key, made for this file alone.
const PEM: &str = include_str!("../../fixtures/tls/localhost.pem");

const STAT: [&str; 4] = [
    "42 (a) b (c)) S 1 40 39 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 777 1 2\n",
    "43 (scalectl) Z 1 43 43 0 -1 4227084 0 0 0 0 0 0 0 0 20 0 1 0 88123 0 0 18446744073709551615",
    "44 (x y) T 1 44 44 34816 44 1077936128 1 0 0 0 0 0 0 0 20 0 3 0 88123 1 2 3 4 5 6 7 8 9",
    "45 () R 0 0 0 0 -1 69238880 0 0 0 0 0 0 0 0 20 0 1 0 9 0 0",
];

const PASSWD: [&str; 3] = [
    "root:x:0:0:root:/root:/bin/bash\nann:x:1000:1000:Ann,,,:/home/ann:/bin/zsh\n",
    "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n+::::::\n#a:x:0:0::/:\n",
    "a:x:1000:1:b\u{e9}:/:/bin/sh\nb:x:1000:1::/:\n:x:0:0::/:\nroot:*:0:0::/:\n",
];

const MOUNTS: [&str; 2] = [
    "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue\n\
     40 35 0:52 / /home/a/far rw,nosuid shared:3 - fuse.sshfs b@host:/ rw\n",
    "41 35 0:52 / /a\\040b rw - fuse.s3fs s3fs rw\n\
     42 35 0:53 / /- rw shared:4 master:1 - tmpfs - rw\n",
];

const STATUS: [&str; 2] = [
    "Name:\tscalectl\nUmask:\t0022\nState:\tR (running)\nSigBlk:\t0000000000000000\n\
     SigIgn:\t0000000000001000\nSigCgt:\t0000000000000440\n",
    "SigIgn:\tffffffffffffffff\n",
];

const GROUPS: [&str; 2] =
    ["root:x:0:\nops:x:1001:ann,bob\n", "ops:x:\nops:*:7\ncafé:x:12:\nroot:!:0:ann"];

const SIGNERS: [&str; 2] = [
    "ann@acme ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIA ann\n",
    "# people\n\nbob@acme,*@ops namespaces=\"scalectl\" sk-ssh-ed25519@openssh.com AAAAGnNr\r\n",
];

const LOCKS: [&str; 3] = [
    "1: POSIX  ADVISORY  WRITE 42 fe:01:77 120 120\n",
    "1: -> POSIX  ADVISORY  WRITE 42 fe:01:77 0 EOF\n2: FLOCK  ADVISORY  WRITE 7 fe:01:77 0 EOF\n",
    "9: POSIX  ADVISORY  READ 3 00:2d:77 0 0\n12: POSIX  ADVISORY  WRITE 42 00:2d:1 0 EOF\n",
];

const MACHINE: [&str; 3] = [
    "0123456789abcdef0123456789abcdef\n0b5f8c4e-9f5d-4c0e-8a68-5b7d7f0a3a11\n",
    "0123456789ABCDEF0123456789abcdef\nanother-boot",
    "uninitialized\nx",
];

const ADDRESSES: [&str; 14] = [
    "postgres://",
    "postgresql:///e",
    "postgres://ann:geheimnis@localhost:8/e",
    "postgres://ann:geheimnis@[::1]:5432/e?schema=s_1",
    "postgres://%2Ftmp%2Fpg/e?port=9",
    "postgres:///e?host=localhost,127.0.0.2&port=1,2&user=app",
    "postgres://ops@localhost/e?password=geheimnis&connect_timeout=9&application_name=ci",
    "postgres://localhost/d?hostaddr=127.0.0.1&target_session_attrs=any",
    "postgres://localhost/d?hostaddr=10.0.0.1&sslmode=disable",
    "postgres://10.0.0.1,localhost/d?sslmode=disable&channel_binding=disable",
    "postgres://10.0.0.1/d?sslmode=prefer",
    "postgres://localhost/d?hostaddr=10.0.0.1&sslmode=allow",
    "https://ann:geheimnis@localhost/",
    "postgres://a%40b@localhost/d%2Fe?schema=x&dbname=f",
];

const SERVICES: [&str; 3] = [
    "[other]\nhost=10.0.0.9\n\n# ours\n[prod]\nhost = localhost\nport=6543\nuser=app\n\
     password=geheimnis\n[last]\n",
    "[prod]\r\nhost=127.0.0.1\r\ndbname=d\r\nschema=s\r\n[prod]\nuser=b\n",
    "[prod]\nhost=10.0.0.1\nsslmode=disable\nhost=localhost\nservice=prod\n",
];

const PASSWORDS: [&str; 4] = [
    "# none\nlocalhost:1:*:*:no\nlocalhost:6543:d:app:se\\:cret and more\n*:*:*:*:last\n",
    "*:*:*:*:a long:password: of \\\\ letters\r\n",
    "local\\host:6543:*:app:geheimnis",
    "localhost:6543:d:app\nlocalhost:6543:d:ap\\p:\n",
];

const BATCH: [&str; 5] = [
    "{\"id\":1,\"command\":[\"intent\",\"put\",\"web\",\"5\",\"--key\",\"k1\"]}\n\
     {\"id\":\"b\",\"command\":[\"lease\",\"acquire\",\"k1\",\"--controller\",\"c\"]}\n",
    "{\"intent_put\":{\"service\":\"web\",\"replicas\":5,\"key\":\"k2\",\"expect_revision\":\"latest\",\
     \"valid_for_ms\":60000,\"queue\":true}}",
    "{\"id\":2.5,\"intent_put\":{\"service\":\"web\",\"replicas\":5,\"expect_revision\":0,\
     \"dry_run\":true}}\n\n",
    "{\"id\":null,\"command\":[]}\r\n{\"command\":[\"x\"],\"intent_put\":null}",
    "{\"id\":[],\"command\":[\"x\"]}\n{\"id\":3,\"command\":[\"x\"],\"intent_put\":{}}\n\"id\"",
];

const PRINTED: [&str; 7] = [
    "[5]",
    "5\n",
    "{\"replicas\":5,\"ready\":4,\"uid\":\"u-1\",\"resource_version\":\" 9 \"}",
    "{\"replicas\":0,\"ready\":null,\"more\":[1]}",
    "5 replicas",
    "\"5\"",
    "5.0",
];

const TEMPLATES: [&str; 5] = [
    "kubectl scale deploy/{workload_id} --replicas={desired_replicas}",
    "sh -c 'echo \"{{\" {target_uid}' a\\ b \"c \\\" d\"",
    "/opt/scale {cluster_id} {runtime_id} {target_resource_version} {execution_key}",
    "'' {",
    "echo {unknown}",
];

const SHOWN: [&str; 5] = [
    "scalectl scale web=5 --reason it's $HOME; rm -rf `x`!",
    "\u{1b}[2J\u{202e}user\u{2066} \u{9b}1m a\\b\r\n\t",
    "=ls ~root \u{2026} gr\u{f6}\u{df}e \u{1f469}\u{200d}\u{1f469}",
    "\u{e0041}\u{feff} \u{7f}1",
    "",
];

const CONFIGS: [&str; 5] = [
    "[ledgers]\nprod = \"postgres://ops@db.example/scalectl\"\nhere = '/var/lib/l.db'\n",
    "ledgers = { prod = \"a\\nb\", \"x.y\" = \"\" }",
    "# none\n",
    "[ledgers]\nprod = 5\n",
    "ledgers.prod = \"/l.db\"\n",
];

const SLOTS: [&str; 6] = [
    // A pid that is used again, and one of another boot.
    r#"{"state":"running","identity":{"pid":PID,"start_ticks":7,
    "host":{"boot_id":"BOOT","pid_namespace":"SPACE"}}}"#,
    r#"{"state":"running","identity":{"pid":PID,"start_ticks":TICKS,
    "host":{"boot_id":"b","pid_namespace":"SPACE"}}}"#,
    r#"{"state":"running","identity":{"pid":PID,"start_ticks":TICKS,
    "host":{"boot_id":"BOOT","pid_namespace":"SPACE"}}}"#,
    r#"{"state":"stopping","identity":{"pid":PID,"start_ticks":TICKS,
    "host":{"boot_id":"BOOT","pid_namespace":"SPACE"}},"more":1}"#,
    r#"{"state":"failed","pid":PID,"reason":"executing x: No such file"}"#,
    r#"{"state":"running","identity":{"pid":1,"start_ticks":TICKS,
    "host":{"boot_id":"BOOT","pid_namespace":"pid:[1]"}}}"#,
];

const SIGNALS: [&str; 5] = [
    r#"{"format_version":1,"signals":[{"service":"web","signal":{"name":"depth"},"value":2,
    "observed_at":"2026-01-01T00:00:00Z"},{"service":"web","signal":{"name":"depth"},"value":3,
    "observed_at":"2026-01-01T00:00:00Z"}]}"#,
    r#"{"format_version":1,"signals":[{"service":"web","signal":{"name":"depth"},"value":12.5,
    "observed_at":"2026-01-01T00:00:00Z"},{"service":"api","signal":{"name":"cpu"},"value":1,
    "observed_at":"2026-01-01T00:00:00Z"}]}"#,
    r#"{"format_version":1,"signals":[{"service":"web","signal":{"name":"depth"},"value":2,
    "observed_at":"2026-01-01T00:00:00Z"},{"service":"web","signal":{"name":"depth","unit":"s"},
    "value":3,"observed_at":"2026-01-01T00:00:00Z"}]}"#,
    r#"{"format_version":1,"signals":[]}"#,
    r#"{"format_version":1,"signals":[{"service":"web"}]}"#,
];

const HEALTH: [&str; 4] = [
    r#"{"autoscaling_ready":true,"convergence_ready":false,"peers":3}"#,
    r#"{"autoscaling_ready":true,"convergence_ready":true,"observed_at":"2025-12-31T23:59:00Z"}"#,
    r#"{"autoscaling_ready":false,"convergence_ready":true,"reason":"late","observed_at":null}"#,
    r#"{"autoscaling_ready":true,"convergence_ready":true,"observed_at":"2025-12-31T23:57:59Z"}"#,
];

const PROMETHEUS: [&str; 6] = [
    r#"{"status":"success","data":{"resultType":"vector","result":[{"value":[1,"2"]}]},
    "warnings":["half of it"]}"#,
    r#"{"status":"success","data":{"resultType":"vector","result":[{"value":[1,"2"]},
    {"value":[1,"3"]}]}}"#,
    r#"{"status":"success","data":{"resultType":"vector","result":[{"metric":{"a":"b"},
    "value":[1767225600.781,"12.5"]}]}}"#,
    r#"{"status":"success","data":{"resultType":"vector","result":[]},"warnings":[]}"#,
    r#"{"status":"success","data":{"resultType":"vector","result":[{"value":[1,"1e3"]}]},
    "infos":["x"]}"#,
    r#"{"status":"error","errorType":"bad_data","error":"parse"}"#,
];

const SERVERS: [&str; 5] = [
    "http://localhost:9090",
    "http://10.0.0.1/prometheus/",
    "http://[::1]:9090//a@b",
    "https://localhost",
    "http://user:geheimnis@localhost:9090",
];

const OBJECTS: [&str; 6] = [
    r#"{"metadata":{"name":"web","uid":"u-3","resourceVersion":"2","managedFields":[
    {"manager":"keda","subresource":"scale","fieldsV1":{"f:spec":{"f:replicas":{}}}}]}}"#,
    r#"{"metadata":{"name":"web","uid":"u-3","resourceVersion":"2","managedFields":[
    {"manager":"helm","fieldsV1":{"f:spec":{"f:replicas":{}}}},
    {"manager":"helm","fieldsV1":{"f:spec":{"f:replicas":{}}},"time":"t"}]}}"#,
    r#"[null,{"name":"web","uid":"u","resourceVersion":"1"},{},{}]"#,
    r#"{"metadata":{"name":"web","uid":"u-2","resourceVersion":"1"},"new":1,"new":2}"#,
    r#"{"kind":"Deployment","metadata":{"name":"web","namespace":"prod","uid":"u-1",
    "resourceVersion":"41","generation":3,"annotations":{"scalectl.io/fence":"l/1.2.3"},
    "managedFields":[{"manager":"helm","fieldsV1":{"f:spec":{"f:replicas":{}}}},
    {"manager":"kubectl","subresource":"scale","fieldsV1":{"f:spec":{"f:replicas":{}}}}]},
    "spec":{"replicas":6,"template":{"metadata":{"labels":{"app":"web"}}}},
    "status":{"observedGeneration":3,"replicas":6,"readyReplicas":5}}"#,
    r#"{"metadata":{"name":"web","uid":"u-2","resourceVersion":"1"}}"#,
];

const AUTOSCALERS: [&str; 4] = [
    r#"{"items":[{"metadata":{"name":"web-so","namespace":"prod"},"spec":{"scaleTargetRef":
    {"name":"web"},"minReplicaCount":1,"maxReplicaCount":9}},{"metadata":{"name":"b",
    "annotations":{"autoscaling.keda.sh/paused":"true"}},"spec":{"scaleTargetRef":{"name":"web",
    "kind":"Deployment"}}}]}"#,
    r#"{"items":[]}"#,
    r#"{"items":[{"metadata":{"name":"keda-hpa-q","ownerReferences":[{"kind":"ScaledObject",
    "name":"q"}]},"spec":{"scaleTargetRef":{"name":"web"},"maxReplicas":"9"}},{"metadata":{}},
    {"metadata":{"name":"-o"},"spec":{"scaleTargetRef":{"name":"web"}}}]}"#,
    r#"{"items":[{"metadata":{"name":"c"},"spec":{"scaleTargetRef":{"kind":"StatefulSet",
    "name":"web"},"minReplicas":2}}]}"#,
];

const LISTS: [&str; 3] = [
    r#"{"kind":"List","items":[{"kind":"Deployment","metadata":{"name":"web","namespace":"shop",
    "uid":"u-1","resourceVersion":"41"},"spec":{"replicas":6}},{"metadata":{"name":"-o",
    "namespace":"shop","uid":"u-2","resourceVersion":"1"}},{"metadata":{"name":"api",
    "namespace":"shop","uid":"u-3","resourceVersion":"2","generation":2},"spec":{},"status":{}}]}"#,
    r#"{"items":[]}"#,
    r#"{"items":[null,{"metadata":{"name":"web","namespace":"a/b","uid":"u",
    "resourceVersion":"1"}}]}"#,
];

const FENCES: [&str; 5] = [
    "ledger-1/1.2.3",
    "a/b/0.0.18446744073709551615",
    " ledger-1/1.2.3",
    "ledger-1/+1.02.3",
    "ledger-1/1.2",
];

const REGISTRATIONS: [&str; 5] = [
    r#"{"service":"web","mode":"native","min":1,"max":10,"actuator":"procs","drain":"none"}"#,
    r#"{"name":"web","controller_mode":"HPA","controller":"hpa","max_replicas":4,"actuator":null,
        "cluster":"c","runtime":"r","uid":"u","resourceVersion":"1","owner":"hpa/web"}"#,
    r#"{"max":9,"scaling":{"signal":"depth","target":5,"min":1,"max":9,"cooldown_s":60,
        "mode":"native","scale_up_stabilization_samples":2},"cooldown_ms":60000}"#,
    r#"{"scaling":{"signal":{"name":"depth","unit":"jobs","scope":null,"aggregation":
        "per_replica"},"target":0.5,"deadband":0.1,"scale_up_step":3},"labels":{"team":"shop"}}"#,
    r#"{"unit_revision":3,"terms":{"target_match":"generation","on_unknown":"halt","drain":"none",
        "required_readings":2,"reading_interval_ms":10000,"converge_on":"ready","quiet_ms":0},
        "retry_policy":{"max_attempts":3,"backoff_s":5.0},"fences":"minted","scaling":null,
        "quorum":true,"replicas":null,"labels":{}}"#,
];

const ANSWERS: [&str; 6] = [
    "HTTP/1.1 200 OK\r\nApi-Version: 1.41\r\nContent-Type: application/json\r\n\
     Content-Length: 11\r\n\r\n{\"ID\":\"ab\"}",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"ID\"\r\n\
     6;x=y\r\n:\"ab\"}\r\n0\r\nTrailer: x\r\n\r\n",
    "HTTP/1.1 500 Internal Server Error\r\nconnection: close\r\n\r\n\
     {\"message\":\"rpc error: code = Unknown desc = update out of sequence\"}",
    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
    "HTTP/1.0 404 Not Found\r\nContent-Length: 2\r\n\r\n{}",
    "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}",
];

const SWARM_SERVICES: [&str; 4] = [
    r#"{"ID":"abc","Version":{"Index":41},"Spec":{"Name":"web","Labels":{"a":"1"},"Mode":
    {"Replicated":{"Replicas":6}},"TaskTemplate":{"RestartPolicy":{"Delay":9007199254740993,
    "MaxAttempts":18446744073709551615}},"UpdateConfig":{"MaxFailureRatio":0.30000001}}}"#,
    r#"{"ID":"abc","Version":{"Index":41},"Spec":{"Name":"web","Mode":{"Global":{}}},
    "PreviousSpec":{"Labels":{"scalectl.applied":"L/1.2.3 4 k"}},
    "UpdateStatus":{"State":"paused"}}"#,
    r#"{"ID":"abc","Version":{"Index":41},"Spec":{"Labels":null,"New":[1e400,{"a":null}],"Mode":
    {"Replicated":{}}}}"#,
    r#"{"ID":"abc","Version":{"Index":41},"Spec":{"Name":"web","Name":"db"}}"#,
];

const SWARM_FACTS: [&str; 6] = [
    r#"{"ID":"x","Swarm":{"NodeID":"n","Cluster":{"ID":"abc","Version":{"Index":10}}}}"#,
    r#"{"Swarm":{"NodeID":"","LocalNodeState":"inactive"}}"#,
    r#"[{"ID":"t","DesiredState":"running","Status":{"State":"running"}},
    {"DesiredState":"shutdown","Status":{"State":"running"}},
    {"DesiredState":"running","Status":{"State":"pending"}}]"#,
    "[]",
    r#"[{"DesiredState":"running"}]"#,
    r#"[{"ID":"abc","Version":{"Index":41},"Spec":{"Name":"web","Mode":{"Replicated":
    {"Replicas":6}}},"ServiceStatus":{"RunningTasks":5,"DesiredTasks":6}},{"ID":"b","Version":
    {"Index":1},"Spec":{"Name":"agent","Mode":{"Global":{}}}},{"ID":"c","Spec":{}}]"#,
];

const APPLIED: [&str; 5] = [
    "ledger-1/1.2.3 6 deploy-42",
    "a/b/0.0.18446744073709551615 0 k:1/x",
    "ledger-1/1.2.3 06 k",
    "ledger-1/1.2.3 6 k k",
    "ledger-1/1.2.3 6",
];

/// What a target begins with.
pub(super) fn of(target: &str) -> &'static [&'static str] {
    match target {
        "proc_stat" => &STAT,
        "passwd" => &PASSWD,
        "mountinfo" => &MOUNTS,
        "proc_status" => &STATUS,
        "proc_locks" => &LOCKS,
        "group" => &GROUPS,
        "allowed_signers" => &SIGNERS,
        "machine_id" => &MACHINE,
        "server_address" => &ADDRESSES,
        "service_file" => &SERVICES,
        "password_file" => &PASSWORDS,
        "certificates" => &[PEM],
        "batch_lines" => &BATCH,
        "exec_output" => &PRINTED,
        "exec_template" => &TEMPLATES,
        "shown" => &SHOWN,
        "registration_document" => &REGISTRATIONS,
        "signals_document" => &SIGNALS,
        "health_document" => &HEALTH,
        "prometheus_answer" => &PROMETHEUS,
        "prometheus_address" => &SERVERS,
        "kubectl_object" => &OBJECTS,
        "kubectl_autoscalers" => &AUTOSCALERS,
        "kubectl_list" => &LISTS,
        "kubectl_fence" => &FENCES,
        "docker_answer" => &ANSWERS,
        "docker_service" => &SWARM_SERVICES,
        "docker_facts" => &SWARM_FACTS,
        "docker_applied" => &APPLIED,
        "config_toml" => &CONFIGS,
        "local_slot" => &SLOTS,
        other => panic!("{other} begins with nothing"),
    }
}
