//! Every refusal: what goes before it, and the line that is refused.

/// A refusal: its code, its exit, the lines before it, and the line that is refused.
pub(super) struct Row {
    pub(super) code: &'static str,
    pub(super) exit: i32,
    pub(super) before: &'static [&'static str],
    pub(super) line: &'static str,
}

const fn row(
    code: &'static str,
    exit: i32,
    before: &'static [&'static str],
    line: &'static str,
) -> Row {
    Row { code, exit, before, line }
}

pub(super) const PUT: &str = "intent put web --replicas 3 --key k1 --reason r";
const PUT_2: &str = "intent put web --replicas 4 --key k2 --reason r";

const GRANT: &str = "approval grant web@1 --reason r";
// What was read last is of that instant: a reading that is new is recorded beside a refusal.
const AND_EXPIRED: &[&str] =
    &["proposed", "at 2026-01-07T10:00:00Z", "service bind web", "person bob:1002"];
const AND_MOVED: &[&str] = &["proposed", "counts 7", "service bind web", "person bob:1002"];
const REVIEW: &str = "break-glass review bg-1 --reason r";
const GLASS: &str = "break-glass authorize web=3 --incident INC-1 --reason r";
const SIGNED: &[&str] = &[
    "proposed",
    "keys ann",
    "ledger signers put signers --required --reason r",
    "keys bob",
    "person bob:1002",
];

/// `can WORDS`, `does WORDS`, `counts N`, `uid ID` and `at INSTANT` are about the fake and the
/// clock; `& LINE` is under way while the last line is refused. A `+` stands for `service put web`.
pub(super) const ROWS: &[Row] = &[
    row("out_of_bounds", 2, &[], "intent put web --replicas 11 --key k1 --reason r"),
    row("fence_missing", 2, &["+ --fences external"], PUT),
    row(
        "fence_too_far",
        2,
        &[],
        "intent put web --replicas 3 --key k1 --reason r --fence 1.4294967297",
    ),
    row("contradiction", 2, &[], "service put web --min 9 --max 4"),
    row(
        "stale_revision",
        10,
        &[],
        "intent put web --replicas 3 --key k1 --reason r --expect-revision 5",
    ),
    row("stale_unit_revision", 10, &[], "service put web --max 9 --expect-revision 7"),
    row("key_conflict", 10, &[PUT], "intent put web --replicas 4 --key k1 --reason r"),
    row(
        "simulated_key",
        10,
        &["intent put web --replicas 3 --key k1 --reason r --dry-run"],
        "lease acquire k1",
    ),
    row("live_key", 10, &[PUT, "actuate k1"], "actuate k1 --simulate"),
    row("target_changed", 10, &[PUT, "counts 9"], "actuate k1"),
    row("premise_moved", 10, &[], "scale web=3 --key k1 --reason r --current-replicas 4"),
    row("others_intent", 10, &[PUT], "intent put web --replicas 4 --key k2 --reason r --actor bob"),
    row("wrong_state", 10, &[PUT], "intent abandon k1 --reason r"),
    row(
        "target_taken",
        10,
        &[],
        "service put api --actuator fake --workload web --max 9 --writer ops",
    ),
    row(
        "workload_taken",
        12,
        &["hold set web --until 1h --reason r", "uid another"],
        "service put api --actuator fake --workload web --max 9 --writer ops",
    ),
    row("ledger_exists", 10, &[], "init"),
    row("in_flight", 11, &[PUT, "does fail retryable busy", "actuate k1"], PUT_2),
    row("in_progress", 11, &[PUT, "does gate", "& actuate k1"], "actuate k1"),
    row(
        "held",
        11,
        &[PUT, "lease acquire k1", "+ --writer other"],
        "lease acquire k1 --controller other",
    ),
    row("not_writer", 11, &[PUT], "lease acquire k1 --controller other"),
    row(
        "fence_lost",
        11,
        &["intent put web --replicas 3 --key k1 --reason r --fence 4.1"],
        "intent put web --replicas 4 --key k2 --reason r --fence 3.9",
    ),
    row(
        "fence_expired",
        11,
        &[
            "intent put web --replicas 3 --key k1 --reason r --valid-for 1m",
            "at 2026-01-05T10:02:00Z",
        ],
        "actuate k1",
    ),
    row(
        "fence_too_short",
        11,
        &["intent put web --replicas 3 --key k1 --reason r --valid-for 2s"],
        "actuate k1",
    ),
    row("lease_lost", 11, &[PUT], "lease renew k1 --lease lease:none"),
    row("denied", 12, &["policy put no.cedar --reason r"], PUT),
    row("cooldown", 14, &["+ --cooldown 5m", PUT, "actuate k1"], PUT_2),
    row("outcome_unknown", 16, &["can nothing", "does die", PUT, "actuate k1"], "lease acquire k1"),
    row("retry_later", 18, &[PUT, "does fail retryable busy", "actuate k1"], "actuate k1"),
    row(
        "quiet_time",
        16,
        &["can nothing", "+ --quiet 60s --readings 1", "does die", PUT, "actuate k1"],
        "settle k1 --not-applied --reason r",
    ),
    row(
        "waits_behind",
        19,
        &[
            "can nothing",
            "does die",
            PUT,
            "actuate k1",
            "intent put web --replicas 4 --key k2 --reason r --queue",
        ],
        "actuate k2",
    ),
    row(
        "external_owner",
        22,
        &["service put hpa --mode external_hpa --writer ops --max 9 --cluster c --runtime r \
           --workload w --target-uid u --target-version 1"],
        "intent put hpa --replicas 3 --key k1 --reason r",
    ),
    row(
        "reading_differs",
        23,
        &["can inspect", "+ --on-unknown halt", "does die", PUT, "actuate k1", "counts 9"],
        "settle k1 --applied --reason r",
    ),
    row(
        "always_on",
        15,
        &[
            "placed",
            PUT,
            "actuate k1",
            "placement change shop --expect-revision 1 --policy-revision 1 --runtime-mode
             always-on --key m1",
        ],
        "intent put web --replicas 0 --key k2 --reason r",
    ),
    row(
        "relocating",
        11,
        &[
            "placed",
            "placement change shop --expect-revision 1 --policy-revision 1 --cell b --key m1 --run",
        ],
        PUT,
    ),
    row("no_actuator", 24, &["wished"], "actuate api@latest"),
    row("service_not_found", 24, &[], "intent put nope --replicas 3 --key k1 --reason r"),
    row("key_not_found", 24, &[], "actuate nope"),
    row("actuator_not_found", 24, &[], "service put api --actuator nope --writer ops"),
    row("evidence_missing", 25, &["+ --drain required", "counts 9", "service bind web"], PUT),
    row("count_unknown", 25, &[PUT, "unreadable"], "actuate k1"),
    row(
        "cooldown_unknown",
        25,
        &["can nothing", "+ --cooldown 5m --readings 1", "does die", PUT, "actuate k1"],
        "intent put web --replicas 4 --key k2 --reason r --dry-run",
    ),
    row(
        "clock_skew",
        25,
        &["at 2026-01-05T11:00:00Z", PUT, "at 2026-01-05T10:00:00Z"],
        "intent withdraw k1",
    ),
    row("on_hold", 12, &["hold set web --until 1h --reason r"], PUT),
    row(
        "pinned",
        12,
        &["override set web=3 --until 1h --key k1 --reason r"],
        "service retire web --reason r",
    ),
    row("service_retired", 24, &["service retire web --reason r"], PUT),
    row(
        "still_owned",
        22,
        &["service mode web external_hpa --reason r", "owners [\"HorizontalPodAutoscaler a/b\"]"],
        "service mode web native --reason r",
    ),
    row(
        "owners_unknown",
        25,
        &["service mode web external_hpa --reason r", "owners [],\"owners_unread\":[\"X\"]"],
        "service mode web native --reason r",
    ),
    row("same_person", 12, &["proposed"], GRANT),
    row("approval_expired", 10, AND_EXPIRED, GRANT),
    row("approval_moved", 10, AND_MOVED, GRANT),
    row("authorization_not_found", 24, &[], "break-glass revoke bg-none --reason r"),
    row("not_authorized", 12, &[], "scale web=3 --key k1 --reason r --break-glass bg-none"),
    row("authorization_open", 10, &[GLASS], REVIEW),
    row("same_reviewer", 12, &[GLASS, "at 2026-01-05T12:00:00Z"], REVIEW),
    row("reviewed", 10, &[GLASS, "at 2026-01-05T12:00:00Z", "reviewed"], REVIEW),
    row("signature_refused", 12, SIGNED, "approval grant web@1 --reason r --sign-with bob"),
    row("signature_missing", 12, SIGNED, GRANT),
];
