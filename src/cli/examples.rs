//! Examples: the first that the help of a command shows, because that is what people look for.
//!
//! Every line is one that is parsed; a test holds that every command has one.

use clap::Command;

use super::exit_codes;

/// A command's words, and lines of it.
const EXAMPLES: &[(&str, &[&str])] = &[
    (
        "scale",
        &[
            "scalectl scale web=5 --reason \"launch\"",
            "scalectl scale web=5 --key release-418-up --wait=ready --reason \"release 418\"",
            "scalectl scale web=3 api=4 --reason \"quiet night\"",
            "scalectl scale web --undo --reason \"it did not help\"",
            "scalectl scale web=20 --break-glass --incident INC-4711 --reason \"a full queue\"",
        ],
    ),
    (
        "status",
        &["scalectl status", "scalectl status web", "scalectl status -l tier=front --check"],
    ),
    ("plan", &["scalectl plan web=50"]),
    ("explain", &["scalectl explain web@latest", "scalectl explain web=50"]),
    ("gate", &["scalectl gate web=5 api --ready --wait", "scalectl gate -l tier=front --reviewed"]),
    (
        "log",
        &[
            "scalectl log web",
            "scalectl log -l tier=front --since 7d --no-refused",
            "scalectl log --key release-418-up",
        ],
    ),
    (
        "timeline",
        &[
            "scalectl timeline web --since 7d",
            "scalectl timeline web --on yesterday --html web.html",
        ],
    ),
    ("cooldown", &["scalectl cooldown web"]),
    ("intent put", &["scalectl intent put web --replicas 5 --key k1 --reason \"launch\""]),
    ("intent show", &["scalectl intent show web@latest"]),
    ("intent list", &["scalectl intent list web --unfinished"]),
    ("intent withdraw", &["scalectl intent withdraw web@latest"]),
    ("intent abandon", &["scalectl intent abandon k1 --reason \"not any more\""]),
    ("lease acquire", &["scalectl lease acquire k1 --ttl 60s"]),
    ("lease renew", &["scalectl lease renew k1 --lease lease-0123456789 --ttl 60s"]),
    ("lease release", &["scalectl lease release k1 --lease lease-0123456789"]),
    ("lease show", &["scalectl lease show k1"]),
    ("actuate", &["scalectl actuate k1"]),
    ("observe", &["scalectl observe k1 --wait"]),
    ("replay", &["scalectl replay web@latest --wait", "scalectl replay --all"]),
    ("settle", &["scalectl settle web@latest --not-applied --reason \"it still runs 3\""]),
    ("attempt show", &["scalectl attempt show web@latest"]),
    ("batch", &["scalectl batch --file steps.ndjson"]),
    ("init", &["scalectl init --starter-policy local"]),
    (
        "actuator put",
        &[
            "scalectl actuator put k8s -- scalectl actuator run kubectl --context prod",
            "scalectl actuator put procs -- scalectl actuator run local --command 'sleep 3600'",
        ],
    ),
    (
        "actuator bind",
        &["scalectl actuator bind k8s -- scalectl actuator run kubectl --context prod"],
    ),
    ("actuator list", &["scalectl actuator list"]),
    ("actuator show", &["scalectl actuator show k8s"]),
    ("actuator run local", &["scalectl actuator run local --command 'sleep 3600'"]),
    ("actuator run kubectl", &["scalectl actuator run kubectl --context prod --namespace shop"]),
    ("actuator run docker", &["scalectl actuator run docker --context swarm"]),
    ("actuator run exec", &["scalectl actuator run exec --apply '/opt/scale {desired_replicas}'"]),
    ("actuator check", &["scalectl actuator check k8s"]),
    (
        "service put",
        &[
            "scalectl service put web --actuator k8s --workload web --max 20 --label tier=front",
            "scalectl service put --file web.json",
        ],
    ),
    ("service show", &["scalectl service show web"]),
    ("service list", &["scalectl service list"]),
    ("service discover", &["scalectl service discover k8s"]),
    ("service bind", &["scalectl service bind web"]),
    ("service mode", &["scalectl service mode search native --reason \"sale\""]),
    ("service retire", &["scalectl service retire web --reason \"replaced by shop\""]),
    ("policy put", &["scalectl policy put policy.cedar --reason \"reviewed\""]),
    ("policy show", &["scalectl policy show"]),
    ("policy diff", &["scalectl policy diff policy.cedar"]),
    ("policy lint", &["scalectl policy lint policy.cedar"]),
    ("policy test", &["scalectl policy test web=0"]),
    ("policy template", &["scalectl policy template kubernetes"]),
    ("approval list", &["scalectl approval list"]),
    ("approval show", &["scalectl approval show web@latest"]),
    ("approval grant", &["scalectl approval grant web@latest --reason \"quiet night\""]),
    ("approval deny", &["scalectl approval deny web@latest --reason \"not on a Friday\""]),
    (
        "break-glass authorize",
        &["scalectl break-glass authorize web=20 --incident INC-4711 --reason \"for the night\""],
    ),
    ("break-glass list", &["scalectl break-glass list"]),
    ("break-glass show", &["scalectl break-glass show bg-0123456789"]),
    ("break-glass revoke", &["scalectl break-glass revoke bg-0123456789 --reason \"not needed\""]),
    ("break-glass review", &["scalectl break-glass review bg-0123456789 --reason \"looked at\""]),
    ("hold set", &["scalectl hold set web --until 2h --reason \"migration\""]),
    ("hold lift", &["scalectl hold lift web --reason \"done\""]),
    ("hold list", &["scalectl hold list"]),
    ("override set", &["scalectl override set web=4 --until 2h --reason \"sale\""]),
    ("override clear", &["scalectl override clear web --reason \"sale is over\""]),
    ("adopt", &["scalectl adopt web --reason \"scaled by hand\""]),
    (
        "autoscale",
        &[
            "scalectl autoscale --prometheus http://127.0.0.1:9090",
            "scalectl autoscale --signals signals.json",
        ],
    ),
    ("reconcile", &["scalectl reconcile"]),
    ("gateway observe", &["scalectl gateway observe web"]),
    ("gateway apply", &["scalectl gateway apply --file operation.json"]),
    ("gateway finalize", &["scalectl gateway finalize --file operation.json"]),
    ("gateway import", &["scalectl gateway import scale-authority.json"]),
    ("serve", &["scalectl serve --listen 127.0.0.1:9090 --pool 100"]),
    ("capacity location put", &["scalectl capacity location put eu --about \"Frankfurt\""]),
    ("capacity location show", &["scalectl capacity location show eu"]),
    ("capacity location list", &["scalectl capacity location list"]),
    (
        "capacity cell put",
        &[concat!(
            "scalectl capacity cell put eu-1 --location eu --allocatable ",
            "cpu=4,memory=8GiB,storage=10GiB"
        )],
    ),
    (
        "capacity cell cordon",
        &["scalectl capacity cell cordon eu-1 --reason \"a disk is to be replaced\""],
    ),
    ("capacity cell uncordon", &["scalectl capacity cell uncordon eu-1"]),
    ("capacity cell show", &["scalectl capacity cell show eu-1"]),
    ("capacity cell list", &["scalectl capacity cell list"]),
    (
        "capacity profile put",
        &[concat!(
            "scalectl capacity profile put small --floor ",
            "cpu=1,memory=1GiB,storage=1GiB --maximum cpu=2,memory=2GiB,storage=4GiB"
        )],
    ),
    ("capacity profile show", &["scalectl capacity profile show small"]),
    ("capacity profile list", &["scalectl capacity profile list"]),
    (
        "capacity policy put",
        &[concat!(
            "scalectl capacity policy put standard --offer small=1 --offer large=2 ",
            "--cell eu-1 --cell eu-2 --budget 4"
        )],
    ),
    ("capacity policy show", &["scalectl capacity policy show standard"]),
    ("capacity policy list", &["scalectl capacity policy list"]),
    ("capacity pool put", &["scalectl capacity pool put front --max 40"]),
    ("capacity pool show", &["scalectl capacity pool show front"]),
    ("capacity pool list", &["scalectl capacity pool list"]),
    (
        "capacity usage put",
        &["scalectl capacity usage put shop --used cpu=1,memory=1GiB,storage=2GiB"],
    ),
    ("capacity usage show", &["scalectl capacity usage show shop"]),
    ("capacity usage list", &["scalectl capacity usage list"]),
    (
        "capacity fit",
        &["scalectl capacity fit", "scalectl capacity fit --profile large --policy standard"],
    ),
    (
        "placement adopt",
        &[concat!(
            "scalectl placement adopt shop --policy standard --cell eu-1 ",
            "--generation 1-first --profile small --relocator mover --reason \"it is there\""
        )],
    ),
    (
        "placement plan",
        &["scalectl placement plan shop --expect-revision 3 --policy-revision 1 --location auto"],
    ),
    (
        "placement change",
        &[
            concat!(
                "scalectl placement change shop --expect-revision 3 --policy-revision ",
                "1 --location eu --key move-7 --run"
            ),
            concat!(
                "scalectl placement change shop --expect-revision 4 --policy-revision ",
                "1 --standby eu-1 --key copy-1"
            ),
        ],
    ),
    ("placement show", &["scalectl placement show shop"]),
    ("placement list", &["scalectl placement list"]),
    ("placement locations", &["scalectl placement locations shop"]),
    ("operation show", &["scalectl operation show op-0123456789"]),
    ("operation list", &["scalectl operation list shop --all"]),
    ("operation run", &["scalectl operation run op-0123456789"]),
    ("operation wait", &["scalectl operation wait op-0123456789 --timeout 30m"]),
    (
        "operation retry",
        &["scalectl operation retry op-0123456789 --reason \"the disk is free again\""],
    ),
    (
        "operation abandon",
        &["scalectl operation abandon op-0123456789 --reason \"not on a Friday\""],
    ),
    (
        "relocator put",
        &["scalectl relocator put mover -- scalectl relocator run local --root /srv/cells"],
    ),
    (
        "relocator bind",
        &["scalectl relocator bind mover -- scalectl relocator run local --root /srv/cells"],
    ),
    ("relocator list", &["scalectl relocator list"]),
    ("relocator show", &["scalectl relocator show mover"]),
    ("relocator run local", &["scalectl relocator run local --root ./cells"]),
    ("recovery verify", &["scalectl recovery verify ./package"]),
    ("recovery restore", &["scalectl recovery restore ./package --into ./cells/b"]),
    ("verify", &["scalectl verify"]),
    ("backup", &["scalectl backup --to ledger-backup.db"]),
    ("restore", &["scalectl restore --from ledger-backup.db --reason \"the disk is gone\""]),
    ("ledger copy", &["scalectl ledger copy --to postgres://ops@db.example/scale --reason move"]),
    ("ledger signers put", &["scalectl ledger signers put allowed_signers --reason team"]),
    ("ledger signers show", &["scalectl ledger signers show"]),
    ("ledger migrate", &["scalectl ledger migrate"]),
    ("doctor", &["scalectl doctor"]),
    ("clock accept", &["scalectl clock accept web --reason \"the clock was ahead\""]),
    ("metrics", &["scalectl metrics --textfile /var/lib/node_exporter/scalectl.prom"]),
    ("quickstart", &["scalectl quickstart", "scalectl quickstart --remove"]),
    ("schema", &["scalectl schema intent"]),
    ("exit-codes", &["scalectl exit-codes"]),
    (
        "completions",
        &["scalectl completions bash > ~/.local/share/bash-completion/completions/scalectl"],
    ),
    ("man", &["scalectl man scale | man -l -", "scalectl man --dir ~/.local/share/man/man1"]),
    ("version", &["scalectl version"]),
];

/// The examples of a command, by its words; none where it has none.
pub fn of(path: &str) -> &'static [&'static str] {
    EXAMPLES.iter().find(|(words, _)| *words == path).map_or(&[], |(_, lines)| lines)
}

/// What the signs in a table mean, by the words of the command; nothing where it has none.
pub(super) const fn signs(path: &str) -> &'static str {
    match path.as_bytes() {
        b"status" => {
            "READ   5 ! is not the count that is wished; 5 ? was read before a restore\n\
             READY  how many of those that were read are ready\n"
        }
        _ => "",
    }
}

/// A command with examples first, and all below it. Only for help: it costs a line that acts
/// nothing.
pub(super) fn first(command: Command, path: &str) -> Command {
    let names: Vec<String> =
        command.get_subcommands().map(|below| below.get_name().to_owned()).collect();
    let command = names.iter().fold(command, |command, name| {
        command.mut_subcommand(name, |below| first(below, &format!("{path} {name}")))
    });
    let lines = of(path);
    if lines.is_empty() {
        return command;
    }
    let lines: String = lines.iter().flat_map(|line| ["  ", line, "\n"]).collect();
    let codes = match (path, signs(path)) {
        ("exit-codes", _) => exit_codes::lines(),
        (_, "") => String::new(),
        (_, signs) => format!("{signs}\n"),
    };
    command.help_template(format!(
        "{{before-help}}{{about-with-newline}}\n{codes}Examples:\n{lines}\n\
         {{usage-heading}} {{usage}}\n\n{{all-args}}{{after-help}}"
    ))
}
