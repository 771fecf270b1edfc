# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_scalectl_global_optspecs
    string join \n ledger= o/output= actor= ref= lock-timeout= h/help V/version
end

function __fish_scalectl_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_scalectl_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_scalectl_using_subcommand
    set -l cmd (__fish_scalectl_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c scalectl -n "__fish_scalectl_needs_command" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_needs_command" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_needs_command" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_needs_command" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_needs_command" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_needs_command" -s V -l version -d 'Print version'
complete -c scalectl -n "__fish_scalectl_needs_command" -f -a "scale" -d 'Scale a service and wait until it is verified'
complete -c scalectl -n "__fish_scalectl_needs_command" -f -a "status" -d 'What is wished, what was read, and what needs a person'
complete -c scalectl -n "__fish_scalectl_needs_command" -f -a "plan" -d 'Walk every gate of a wish; write nothing, exit as the real one would'
complete -c scalectl -n "__fish_scalectl_needs_command" -f -a "explain" -d 'What happened to a wish, what is known, and the ways out'
complete -c scalectl -n "__fish_scalectl_needs_command" -f -a "gate" -d 'Whether a deployment may go on: 0 where every service is as wished'
complete -c scalectl -n "__fish_scalectl_needs_command" -f -a "log" -d 'What happened, when, by whom and why; the newest last'
complete -c scalectl -n "__fish_scalectl_needs_command" -f -a "timeline" -d 'How a count went, drawn: at the terminal, or as one page for a browser'
complete -c scalectl -n "__fish_scalectl_needs_command" -f -a "cooldown" -d 'How long a service still cools: 0 clear, 14 active, 25 unknown'
complete -c scalectl -n "__fish_scalectl_needs_command" -f -a "intent" -d 'Wishes: put, show, list, withdraw, abandon'
complete -c scalectl -n "__fish_scalectl_needs_command" -f -a "lease" -d 'Permission for one attempt: acquire, renew, release, show'
complete -c scalectl -n "__fish_scalectl_needs_command" -f -a "actuate" -d 'Carry out the next attempt of a wish'
complete -c scalectl -n "__fish_scalectl_needs_command" -f -a "observe" -d 'Read the target and confirm what became of a wish'
complete -c scalectl -n "__fish_scalectl_needs_command" -f -a "replay" -d 'Find out what became of a call, and go on from there'
complete -c scalectl -n "__fish_scalectl_needs_command" -f -a "settle" -d 'Say what became of a call that nobody else can tell'
complete -c scalectl -n "__fish_scalectl_needs_command" -f -a "attempt" -d 'What the calls of a wish were, and what they said'
complete -c scalectl -n "__fish_scalectl_needs_command" -f -a "batch" -d 'Many keyed steps, a JSON line each, an answer each'
complete -c scalectl -n "__fish_scalectl_needs_command" -f -a "init" -d 'Make a new ledger; nothing else makes one'
complete -c scalectl -n "__fish_scalectl_needs_command" -f -a "actuator" -d 'Who carries wishes out: put, bind, list, show, run, check'
complete -c scalectl -n "__fish_scalectl_needs_command" -f -a "service" -d 'Things with replicas and one writer: put, show, list, discover, bind, mode, retire'
complete -c scalectl -n "__fish_scalectl_needs_command" -f -a "policy" -d 'Who may do what: put, show, diff, lint, test, template'
complete -c scalectl -n "__fish_scalectl_needs_command" -f -a "approval" -d 'Wishes that wait for a colleague: list, show, grant, deny'
complete -c scalectl -n "__fish_scalectl_needs_command" -f -a "break-glass" -d 'Pass policy once in an emergency, and review it afterwards'
complete -c scalectl -n "__fish_scalectl_needs_command" -f -a "hold" -d 'Let nothing but a broken glass change the count of a service for a time'
complete -c scalectl -n "__fish_scalectl_needs_command" -f -a "override" -d 'Pin the count of a service for a time: set, clear'
complete -c scalectl -n "__fish_scalectl_needs_command" -f -a "adopt" -d 'Take what runs for what is wished: by a reading, and nobody is called'
complete -c scalectl -n "__fish_scalectl_needs_command" -f -a "autoscale" -d 'One tick: wish what follows from the newest samples, and call nobody'
complete -c scalectl -n "__fish_scalectl_needs_command" -f -a "reconcile" -d 'One pass: carry out what was accepted, confirm it, find out what was lost'
complete -c scalectl -n "__fish_scalectl_needs_command" -f -a "gateway" -d 'Speak the gateway\'s scale contract: observe, apply, finalize, import'
complete -c scalectl -n "__fish_scalectl_needs_command" -f -a "serve" -d 'Serve the gateway\'s scale contract over HTTP'
complete -c scalectl -n "__fish_scalectl_needs_command" -f -a "capacity" -d 'What there is to place into: location, cell, profile, policy, pool, usage, fit'
complete -c scalectl -n "__fish_scalectl_needs_command" -f -a "placement" -d 'Which cell an environment lives in: adopt, plan, change, show, list, locations'
complete -c scalectl -n "__fish_scalectl_needs_command" -f -a "operation" -d 'Changes of a placement, step by step: show, list, run, wait, retry, abandon'
complete -c scalectl -n "__fish_scalectl_needs_command" -f -a "relocator" -d 'Who moves environments between cells: put, bind, list, show, run'
complete -c scalectl -n "__fish_scalectl_needs_command" -f -a "recovery" -d 'Read a recovery package back, and make a copy of it, with no ledger at hand'
complete -c scalectl -n "__fish_scalectl_needs_command" -f -a "verify" -d 'Walk every chain, fold every event, compare every projection'
complete -c scalectl -n "__fish_scalectl_needs_command" -f -a "backup" -d 'Copy the ledger while it is in use, and hold the copy against its events'
complete -c scalectl -n "__fish_scalectl_needs_command" -f -a "restore" -d 'Put a backup in place: another incarnation, higher fences, open calls unknown'
complete -c scalectl -n "__fish_scalectl_needs_command" -f -a "ledger" -d 'Move the ledger, say whose signatures it takes, bring its tables up to this program'
complete -c scalectl -n "__fish_scalectl_needs_command" -f -a "doctor" -d 'Look at everything that a ledger rests on: 0 well, 26 a person, 21 unusable'
complete -c scalectl -n "__fish_scalectl_needs_command" -f -a "clock" -d 'Take this clock for right after a host with a wrong one has written'
complete -c scalectl -n "__fish_scalectl_needs_command" -f -a "metrics" -d 'How the services stand, as Prometheus text: for a node exporter\'s textfile directory'
complete -c scalectl -n "__fish_scalectl_needs_command" -f -a "quickstart" -d 'See it work: real processes, a crash on purpose, a recovery'
complete -c scalectl -n "__fish_scalectl_needs_command" -f -a "schema" -d 'Print the JSON schema of a document, or the Cedar schema'
complete -c scalectl -n "__fish_scalectl_needs_command" -f -a "exit-codes" -d 'The exit codes, what each says of the target, and what to do'
complete -c scalectl -n "__fish_scalectl_needs_command" -f -a "completions" -d 'Print the completions for a shell'
complete -c scalectl -n "__fish_scalectl_needs_command" -f -a "version" -d 'Which scalectl this is'
complete -c scalectl -n "__fish_scalectl_using_subcommand scale" -l reason -d 'Why: 1 to 512 characters [env: SCALECTL_REASON]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand scale" -l key -d 'The key that names this wish for ever; minted where none is given' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand scale" -l expect-revision -d 'The newest intent revision that you know of (0 for none), or latest' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand scale" -l current-replicas -d 'The count that you believe runs now' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand scale" -l max-attempts -d 'How many attempts this wish may use, 1 to 8; left out under a known key: as recorded' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand scale" -l backoff -d 'How long to wait between attempts, up to 1h; left out under a known key: as recorded' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand scale" -l fence -d 'A fence of the writer\'s own' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand scale" -l valid-for -d 'How long the fence of this wish lives [default: 1h]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand scale" -l attest -d 'Vouch that what is not drained may go' -r -f -a "not-drained\t''"
complete -c scalectl -n "__fish_scalectl_using_subcommand scale" -l approve-within -d 'How long it may wait for a colleague where policy leaves it to one, at most 7d; 0s for none' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand scale" -l rolls-back -d 'Undo this wish of the service: the count is yours to name. One that failed and may be tried again ends as abandoned in the same transaction; one that was carried out, or is over, stays as it is, and its end is named with this one. Refused while its call runs (11), while nobody knows what became of it (16: `replay` first), and where it changed nothing (10)' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand scale" -l wait -d 'Until when to go on: applied, verified or ready' -r -f -a "applied\t''
verified\t''
ready\t''"
complete -c scalectl -n "__fish_scalectl_using_subcommand scale" -l timeout -d 'How long to wait for all of it' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand scale" -l controller -d 'Who acts; the registered writer by default' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand scale" -l break-glass -d 'Pass policy, approval, cooldown, hold: under an authorization of that name, or a new one' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand scale" -l incident -d 'The incident that it is for, 1 to 128 characters' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand scale" -l authorized-for -d 'How long the authorization lasts, at most 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand scale" -l sign-with -d 'Sign it with this SSH key, by ssh-keygen: a private one, or a public one that the agent has [env: SCALECTL_SIGN_WITH]' -r -F
complete -c scalectl -n "__fish_scalectl_using_subcommand scale" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand scale" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand scale" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand scale" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand scale" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand scale" -l queue -d 'Wait behind what is in flight instead of being refused'
complete -c scalectl -n "__fish_scalectl_using_subcommand scale" -l supersede -d 'End a waiting wish of somebody else'
complete -c scalectl -n "__fish_scalectl_using_subcommand scale" -l override-cooldown -d 'Ask policy to pass the cooldown (action override_cooldown)'
complete -c scalectl -n "__fish_scalectl_using_subcommand scale" -l no-wait -d 'Take each step once and wait for nothing'
complete -c scalectl -n "__fish_scalectl_using_subcommand scale" -l dry-run -d 'Walk every gate, write nothing, exit as the real one would'
complete -c scalectl -n "__fish_scalectl_using_subcommand scale" -l wait-approval -d 'Wait for a colleague, too, where policy leaves it to one'
complete -c scalectl -n "__fish_scalectl_using_subcommand scale" -l raise-max -d 'Raise the registered upper bound to the count, under the same authorization'
complete -c scalectl -n "__fish_scalectl_using_subcommand scale" -l yes -d 'Do not ask; needs --current-replicas'
complete -c scalectl -n "__fish_scalectl_using_subcommand scale" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand status" -l every -d 'How long after one look of --watch the next one comes' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand status" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand status" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand status" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand status" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand status" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand status" -l check -d 'Exit 26 if anything needs a person'
complete -c scalectl -n "__fish_scalectl_using_subcommand status" -l live -d 'Read every target now, several at once; nothing is recorded'
complete -c scalectl -n "__fish_scalectl_using_subcommand status" -l watch -d 'Show it again and again in the same place, until the line is ended'
complete -c scalectl -n "__fish_scalectl_using_subcommand status" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand plan" -l reason -d 'Why: 1 to 512 characters [env: SCALECTL_REASON]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand plan" -l key -d 'The key that names this wish for ever; minted where none is given' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand plan" -l expect-revision -d 'The newest intent revision that you know of (0 for none), or latest' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand plan" -l current-replicas -d 'The count that you believe runs now' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand plan" -l max-attempts -d 'How many attempts this wish may use, 1 to 8; left out under a known key: as recorded' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand plan" -l backoff -d 'How long to wait between attempts, up to 1h; left out under a known key: as recorded' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand plan" -l fence -d 'A fence of the writer\'s own' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand plan" -l valid-for -d 'How long the fence of this wish lives [default: 1h]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand plan" -l attest -d 'Vouch that what is not drained may go' -r -f -a "not-drained\t''"
complete -c scalectl -n "__fish_scalectl_using_subcommand plan" -l approve-within -d 'How long it may wait for a colleague where policy leaves it to one, at most 7d; 0s for none' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand plan" -l rolls-back -d 'Undo this wish of the service: the count is yours to name. One that failed and may be tried again ends as abandoned in the same transaction; one that was carried out, or is over, stays as it is, and its end is named with this one. Refused while its call runs (11), while nobody knows what became of it (16: `replay` first), and where it changed nothing (10)' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand plan" -l controller -d 'Who would act; the registered writer by default' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand plan" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand plan" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand plan" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand plan" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand plan" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand plan" -l queue -d 'Wait behind what is in flight instead of being refused'
complete -c scalectl -n "__fish_scalectl_using_subcommand plan" -l supersede -d 'End a waiting wish of somebody else'
complete -c scalectl -n "__fish_scalectl_using_subcommand plan" -l override-cooldown -d 'Ask policy to pass the cooldown (action override_cooldown)'
complete -c scalectl -n "__fish_scalectl_using_subcommand plan" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand explain" -l reason -d 'Why: 1 to 512 characters [env: SCALECTL_REASON]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand explain" -l key -d 'The key that names this wish for ever; minted where none is given' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand explain" -l expect-revision -d 'The newest intent revision that you know of (0 for none), or latest' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand explain" -l current-replicas -d 'The count that you believe runs now' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand explain" -l max-attempts -d 'How many attempts this wish may use, 1 to 8; left out under a known key: as recorded' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand explain" -l backoff -d 'How long to wait between attempts, up to 1h; left out under a known key: as recorded' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand explain" -l fence -d 'A fence of the writer\'s own' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand explain" -l valid-for -d 'How long the fence of this wish lives [default: 1h]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand explain" -l attest -d 'Vouch that what is not drained may go' -r -f -a "not-drained\t''"
complete -c scalectl -n "__fish_scalectl_using_subcommand explain" -l approve-within -d 'How long it may wait for a colleague where policy leaves it to one, at most 7d; 0s for none' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand explain" -l rolls-back -d 'Undo this wish of the service: the count is yours to name. One that failed and may be tried again ends as abandoned in the same transaction; one that was carried out, or is over, stays as it is, and its end is named with this one. Refused while its call runs (11), while nobody knows what became of it (16: `replay` first), and where it changed nothing (10)' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand explain" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand explain" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand explain" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand explain" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand explain" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand explain" -l queue -d 'Wait behind what is in flight instead of being refused'
complete -c scalectl -n "__fish_scalectl_using_subcommand explain" -l supersede -d 'End a waiting wish of somebody else'
complete -c scalectl -n "__fish_scalectl_using_subcommand explain" -l override-cooldown -d 'Ask policy to pass the cooldown (action override_cooldown)'
complete -c scalectl -n "__fish_scalectl_using_subcommand explain" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand gate" -l max-age -d 'What was read so long ago at most need not be read again [default: 0s; 5m with --recorded]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand gate" -l timeout -d 'How long to wait for that' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand gate" -l summary -d 'Add the verdict in Markdown to FILE [default file: $GITHUB_STEP_SUMMARY, else stdout]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand gate" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand gate" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand gate" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand gate" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand gate" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand gate" -l ready -d 'All replicas must be ready'
complete -c scalectl -n "__fish_scalectl_using_subcommand gate" -l reviewed -d 'Every broken glass of the service must have been reviewed'
complete -c scalectl -n "__fish_scalectl_using_subcommand gate" -l recorded -d 'Read no target: what is recorded must do'
complete -c scalectl -n "__fish_scalectl_using_subcommand gate" -l wait -d 'Look again while time alone may open it'
complete -c scalectl -n "__fish_scalectl_using_subcommand gate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand log" -l on -d 'Only of this day: YYYY-MM-DD, today or yesterday' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand log" -l since -d 'Only from here on: RFC 3339, a date, or how long ago, such as 3h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand log" -l until -d 'Only before this; a date is when it begins' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand log" -l zone -d 'The zone of dates, and of the times that are shown: UTC, local, +02:00, Europe/Berlin' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand log" -l key -d 'Only about this key (a key, SERVICE@REVISION or SERVICE@latest)' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand log" -l command -d 'Only what one run of a command wrote' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand log" -l event -d 'Only these kinds of events, with commas between them' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand log" -l outcome -d 'Only what says that a wish came to this: converged, failed, unknown …' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand log" -l by -d 'Only by this actor (a claim); --actor says the same here, and --ref picks by reference' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand log" -l after -d 'Only after this position, from the oldest on; 0 begins with the first event' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand log" -s n -l limit -d 'The newest so many; with --after, the oldest' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand log" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand log" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand log" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand log" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand log" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand log" -l no-refused -d 'Leave refusals out'
complete -c scalectl -n "__fish_scalectl_using_subcommand log" -l break-glass -d 'Only what is about a broken glass'
complete -c scalectl -n "__fish_scalectl_using_subcommand log" -s f -l follow -d 'Go on with what happens from now on, until the line is ended'
complete -c scalectl -n "__fish_scalectl_using_subcommand log" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand timeline" -l on -d 'Only of this day: YYYY-MM-DD, today or yesterday' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand timeline" -l since -d 'Only from here on: RFC 3339, a date, or how long ago, such as 3h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand timeline" -l until -d 'Only before this; a date is when it begins' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand timeline" -l zone -d 'The zone of dates, and of the times that are shown: UTC, local, +02:00, Europe/Berlin' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand timeline" -l width -d 'How many columns wide [default: the terminal\'s, else 80]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand timeline" -l html -d 'Write one page for a browser, complete in itself, to FILE (- for stdout)' -r -F
complete -c scalectl -n "__fish_scalectl_using_subcommand timeline" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand timeline" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand timeline" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand timeline" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand timeline" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand timeline" -l ascii -d 'Draw with ASCII letters alone (so does TERM=dumb at a terminal)'
complete -c scalectl -n "__fish_scalectl_using_subcommand timeline" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand cooldown" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand cooldown" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand cooldown" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand cooldown" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand cooldown" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand cooldown" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand intent; and not __fish_seen_subcommand_from put show list withdraw abandon" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand intent; and not __fish_seen_subcommand_from put show list withdraw abandon" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand intent; and not __fish_seen_subcommand_from put show list withdraw abandon" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand intent; and not __fish_seen_subcommand_from put show list withdraw abandon" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand intent; and not __fish_seen_subcommand_from put show list withdraw abandon" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand intent; and not __fish_seen_subcommand_from put show list withdraw abandon" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand intent; and not __fish_seen_subcommand_from put show list withdraw abandon" -f -a "put" -d 'Record a wish for a count; nothing is called'
complete -c scalectl -n "__fish_scalectl_using_subcommand intent; and not __fish_seen_subcommand_from put show list withdraw abandon" -f -a "show" -d 'Show one intent whole'
complete -c scalectl -n "__fish_scalectl_using_subcommand intent; and not __fish_seen_subcommand_from put show list withdraw abandon" -f -a "list" -d 'List intents, the newest first'
complete -c scalectl -n "__fish_scalectl_using_subcommand intent; and not __fish_seen_subcommand_from put show list withdraw abandon" -f -a "withdraw" -d 'Take back a wish that has not started'
complete -c scalectl -n "__fish_scalectl_using_subcommand intent; and not __fish_seen_subcommand_from put show list withdraw abandon" -f -a "abandon" -d 'End a failure that could be tried again'
complete -c scalectl -n "__fish_scalectl_using_subcommand intent; and __fish_seen_subcommand_from put" -l replicas -d 'How many replicas are wished' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand intent; and __fish_seen_subcommand_from put" -l file -d 'The whole record as JSON, from a file or from - (stdin)' -r -F
complete -c scalectl -n "__fish_scalectl_using_subcommand intent; and __fish_seen_subcommand_from put" -l reason -d 'Why: 1 to 512 characters [env: SCALECTL_REASON]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand intent; and __fish_seen_subcommand_from put" -l key -d 'The key that names this wish for ever; minted where none is given' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand intent; and __fish_seen_subcommand_from put" -l expect-revision -d 'The newest intent revision that you know of (0 for none), or latest' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand intent; and __fish_seen_subcommand_from put" -l current-replicas -d 'The count that you believe runs now' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand intent; and __fish_seen_subcommand_from put" -l max-attempts -d 'How many attempts this wish may use, 1 to 8; left out under a known key: as recorded' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand intent; and __fish_seen_subcommand_from put" -l backoff -d 'How long to wait between attempts, up to 1h; left out under a known key: as recorded' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand intent; and __fish_seen_subcommand_from put" -l fence -d 'A fence of the writer\'s own' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand intent; and __fish_seen_subcommand_from put" -l valid-for -d 'How long the fence of this wish lives [default: 1h]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand intent; and __fish_seen_subcommand_from put" -l attest -d 'Vouch that what is not drained may go' -r -f -a "not-drained\t''"
complete -c scalectl -n "__fish_scalectl_using_subcommand intent; and __fish_seen_subcommand_from put" -l approve-within -d 'How long it may wait for a colleague where policy leaves it to one, at most 7d; 0s for none' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand intent; and __fish_seen_subcommand_from put" -l rolls-back -d 'Undo this wish of the service: the count is yours to name. One that failed and may be tried again ends as abandoned in the same transaction; one that was carried out, or is over, stays as it is, and its end is named with this one. Refused while its call runs (11), while nobody knows what became of it (16: `replay` first), and where it changed nothing (10)' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand intent; and __fish_seen_subcommand_from put" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand intent; and __fish_seen_subcommand_from put" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand intent; and __fish_seen_subcommand_from put" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand intent; and __fish_seen_subcommand_from put" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand intent; and __fish_seen_subcommand_from put" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand intent; and __fish_seen_subcommand_from put" -l dry-run -d 'Declare a simulation: it is recorded, and never calls anybody'
complete -c scalectl -n "__fish_scalectl_using_subcommand intent; and __fish_seen_subcommand_from put" -l queue -d 'Wait behind what is in flight instead of being refused'
complete -c scalectl -n "__fish_scalectl_using_subcommand intent; and __fish_seen_subcommand_from put" -l supersede -d 'End a waiting wish of somebody else'
complete -c scalectl -n "__fish_scalectl_using_subcommand intent; and __fish_seen_subcommand_from put" -l override-cooldown -d 'Ask policy to pass the cooldown (action override_cooldown)'
complete -c scalectl -n "__fish_scalectl_using_subcommand intent; and __fish_seen_subcommand_from put" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand intent; and __fish_seen_subcommand_from show" -l key -d 'The same as a flag' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand intent; and __fish_seen_subcommand_from show" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand intent; and __fish_seen_subcommand_from show" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand intent; and __fish_seen_subcommand_from show" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand intent; and __fish_seen_subcommand_from show" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand intent; and __fish_seen_subcommand_from show" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand intent; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand intent; and __fish_seen_subcommand_from list" -l limit -d 'At most so many' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand intent; and __fish_seen_subcommand_from list" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand intent; and __fish_seen_subcommand_from list" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand intent; and __fish_seen_subcommand_from list" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand intent; and __fish_seen_subcommand_from list" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand intent; and __fish_seen_subcommand_from list" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand intent; and __fish_seen_subcommand_from list" -l unfinished -d 'Only what is under way'
complete -c scalectl -n "__fish_scalectl_using_subcommand intent; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand intent; and __fish_seen_subcommand_from withdraw" -l key -d 'The same as a flag' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand intent; and __fish_seen_subcommand_from withdraw" -l reason -d 'Why' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand intent; and __fish_seen_subcommand_from withdraw" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand intent; and __fish_seen_subcommand_from withdraw" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand intent; and __fish_seen_subcommand_from withdraw" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand intent; and __fish_seen_subcommand_from withdraw" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand intent; and __fish_seen_subcommand_from withdraw" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand intent; and __fish_seen_subcommand_from withdraw" -l supersede -d 'It is a wish of somebody else, and is meant'
complete -c scalectl -n "__fish_scalectl_using_subcommand intent; and __fish_seen_subcommand_from withdraw" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand intent; and __fish_seen_subcommand_from abandon" -l key -d 'The same as a flag' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand intent; and __fish_seen_subcommand_from abandon" -l reason -d 'Why [env: SCALECTL_REASON]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand intent; and __fish_seen_subcommand_from abandon" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand intent; and __fish_seen_subcommand_from abandon" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand intent; and __fish_seen_subcommand_from abandon" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand intent; and __fish_seen_subcommand_from abandon" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand intent; and __fish_seen_subcommand_from abandon" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand intent; and __fish_seen_subcommand_from abandon" -l supersede -d 'It is a wish of somebody else, and is meant'
complete -c scalectl -n "__fish_scalectl_using_subcommand intent; and __fish_seen_subcommand_from abandon" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand lease; and not __fish_seen_subcommand_from acquire renew release show" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand lease; and not __fish_seen_subcommand_from acquire renew release show" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand lease; and not __fish_seen_subcommand_from acquire renew release show" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand lease; and not __fish_seen_subcommand_from acquire renew release show" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand lease; and not __fish_seen_subcommand_from acquire renew release show" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand lease; and not __fish_seen_subcommand_from acquire renew release show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand lease; and not __fish_seen_subcommand_from acquire renew release show" -f -a "acquire" -d 'Take the permission for the next attempt of a key'
complete -c scalectl -n "__fish_scalectl_using_subcommand lease; and not __fish_seen_subcommand_from acquire renew release show" -f -a "renew" -d 'Keep a lease longer, never past the fence'
complete -c scalectl -n "__fish_scalectl_using_subcommand lease; and not __fish_seen_subcommand_from acquire renew release show" -f -a "release" -d 'Give a lease back'
complete -c scalectl -n "__fish_scalectl_using_subcommand lease; and not __fish_seen_subcommand_from acquire renew release show" -f -a "show" -d 'Show who holds the lease of a key'
complete -c scalectl -n "__fish_scalectl_using_subcommand lease; and __fish_seen_subcommand_from acquire" -l key -d 'The same as a flag' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand lease; and __fish_seen_subcommand_from acquire" -l controller -d 'Who acts; the registered writer by default' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand lease; and __fish_seen_subcommand_from acquire" -l ttl -d 'How long, 1s to 900s' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand lease; and __fish_seen_subcommand_from acquire" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand lease; and __fish_seen_subcommand_from acquire" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand lease; and __fish_seen_subcommand_from acquire" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand lease; and __fish_seen_subcommand_from acquire" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand lease; and __fish_seen_subcommand_from acquire" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand lease; and __fish_seen_subcommand_from acquire" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand lease; and __fish_seen_subcommand_from renew" -l key -d 'The same as a flag' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand lease; and __fish_seen_subcommand_from renew" -l lease -d 'The lease that is yours' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand lease; and __fish_seen_subcommand_from renew" -l ttl -d 'How long from now, 1s to 900s' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand lease; and __fish_seen_subcommand_from renew" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand lease; and __fish_seen_subcommand_from renew" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand lease; and __fish_seen_subcommand_from renew" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand lease; and __fish_seen_subcommand_from renew" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand lease; and __fish_seen_subcommand_from renew" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand lease; and __fish_seen_subcommand_from renew" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand lease; and __fish_seen_subcommand_from release" -l key -d 'The same as a flag' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand lease; and __fish_seen_subcommand_from release" -l lease -d 'The lease that is yours' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand lease; and __fish_seen_subcommand_from release" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand lease; and __fish_seen_subcommand_from release" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand lease; and __fish_seen_subcommand_from release" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand lease; and __fish_seen_subcommand_from release" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand lease; and __fish_seen_subcommand_from release" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand lease; and __fish_seen_subcommand_from release" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand lease; and __fish_seen_subcommand_from show" -l key -d 'The same as a flag' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand lease; and __fish_seen_subcommand_from show" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand lease; and __fish_seen_subcommand_from show" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand lease; and __fish_seen_subcommand_from show" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand lease; and __fish_seen_subcommand_from show" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand lease; and __fish_seen_subcommand_from show" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand lease; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand actuate" -l key -d 'The same as a flag' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand actuate" -l controller -d 'Who acts; the registered writer by default' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand actuate" -l lease -d 'The lease that is yours; one is taken where none is held' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand actuate" -l ttl -d 'How long a lease lasts, 1s to 900s' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand actuate" -l attest -d 'Vouch that what is not drained may go' -r -f -a "not-drained\t''"
complete -c scalectl -n "__fish_scalectl_using_subcommand actuate" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand actuate" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand actuate" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand actuate" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand actuate" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand actuate" -l simulate -d 'Record a simulation instead: nobody is called, and the key never calls anybody'
complete -c scalectl -n "__fish_scalectl_using_subcommand actuate" -l override-cooldown -d 'Ask policy to pass the cooldown (action override_cooldown)'
complete -c scalectl -n "__fish_scalectl_using_subcommand actuate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand observe" -l key -d 'The same as a flag' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand observe" -l timeout -d 'How long to wait for that' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand observe" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand observe" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand observe" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand observe" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand observe" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand observe" -l wait -d 'Read again until enough readings agree'
complete -c scalectl -n "__fish_scalectl_using_subcommand observe" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand replay" -l key -d 'The same as a flag' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand replay" -l timeout -d 'How long to wait for that' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand replay" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand replay" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand replay" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand replay" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand replay" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand replay" -l all -d 'Everything that is under way; one bad row never stops the rest'
complete -c scalectl -n "__fish_scalectl_using_subcommand replay" -l dry-run -d 'Say what would be done first, and do nothing'
complete -c scalectl -n "__fish_scalectl_using_subcommand replay" -l wait -d 'Wait for what has a known end: a lease, a quiet time, a backoff'
complete -c scalectl -n "__fish_scalectl_using_subcommand replay" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand settle" -l key -d 'The same as a flag' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand settle" -l attempt -d 'The attempt that did not take effect [default: the one that is unknown now]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand settle" -l break-glass -d 'Under this authorization, where policy does not let you' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand settle" -l reason -d 'Why [env: SCALECTL_REASON]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand settle" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand settle" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand settle" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand settle" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand settle" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand settle" -l applied -d 'It took effect; a reading of the wished count must agree'
complete -c scalectl -n "__fish_scalectl_using_subcommand settle" -l not-applied -d 'It did not and will not take effect; the same key may then be tried again'
complete -c scalectl -n "__fish_scalectl_using_subcommand settle" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand attempt; and not __fish_seen_subcommand_from show" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand attempt; and not __fish_seen_subcommand_from show" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand attempt; and not __fish_seen_subcommand_from show" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand attempt; and not __fish_seen_subcommand_from show" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand attempt; and not __fish_seen_subcommand_from show" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand attempt; and not __fish_seen_subcommand_from show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand attempt; and not __fish_seen_subcommand_from show" -f -a "show" -d 'Show the attempts of a key'
complete -c scalectl -n "__fish_scalectl_using_subcommand attempt; and __fish_seen_subcommand_from show" -l key -d 'The same as a flag' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand attempt; and __fish_seen_subcommand_from show" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand attempt; and __fish_seen_subcommand_from show" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand attempt; and __fish_seen_subcommand_from show" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand attempt; and __fish_seen_subcommand_from show" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand attempt; and __fish_seen_subcommand_from show" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand attempt; and __fish_seen_subcommand_from show" -l stderr -d 'Print what the last call wrote to stderr; kept on the host that made the call'
complete -c scalectl -n "__fish_scalectl_using_subcommand attempt; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand batch" -l file -d 'Where the lines come from; - is stdin' -r -F
complete -c scalectl -n "__fish_scalectl_using_subcommand batch" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand batch" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand batch" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand batch" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand batch" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand batch" -l fail-fast -d 'Stop after the first line that does not end with 0'
complete -c scalectl -n "__fish_scalectl_using_subcommand batch" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand init" -l starter-policy -d 'Set a policy to start with; without one, whatever touches a target is denied' -r -f -a "local\t''"
complete -c scalectl -n "__fish_scalectl_using_subcommand init" -l group -d 'Share the file with a group of the operating system: files 0660, directory 2770' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand init" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand init" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand init" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand init" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand init" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand init" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand actuator; and not __fish_seen_subcommand_from put bind list show run check" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand actuator; and not __fish_seen_subcommand_from put bind list show run check" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand actuator; and not __fish_seen_subcommand_from put bind list show run check" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand actuator; and not __fish_seen_subcommand_from put bind list show run check" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand actuator; and not __fish_seen_subcommand_from put bind list show run check" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand actuator; and not __fish_seen_subcommand_from put bind list show run check" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand actuator; and not __fish_seen_subcommand_from put bind list show run check" -f -a "put" -d 'Register an actuator and bind its command on this host'
complete -c scalectl -n "__fish_scalectl_using_subcommand actuator; and not __fish_seen_subcommand_from put bind list show run check" -f -a "bind" -d 'Bind a registered actuator to a command of this host'
complete -c scalectl -n "__fish_scalectl_using_subcommand actuator; and not __fish_seen_subcommand_from put bind list show run check" -f -a "list" -d 'List the registered actuators'
complete -c scalectl -n "__fish_scalectl_using_subcommand actuator; and not __fish_seen_subcommand_from put bind list show run check" -f -a "show" -d 'Show one actuator'
complete -c scalectl -n "__fish_scalectl_using_subcommand actuator; and not __fish_seen_subcommand_from put bind list show run check" -f -a "run" -d 'Be a bundled actuator: reads one request from stdin, writes one answer to stdout'
complete -c scalectl -n "__fish_scalectl_using_subcommand actuator; and not __fish_seen_subcommand_from put bind list show run check" -f -a "check" -d 'Hold an actuator against the protocol, on a workload that is for checks only'
complete -c scalectl -n "__fish_scalectl_using_subcommand actuator; and __fish_seen_subcommand_from put" -l timeout -d 'How long one call may take, up to 870s [default: 60s]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand actuator; and __fish_seen_subcommand_from put" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand actuator; and __fish_seen_subcommand_from put" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand actuator; and __fish_seen_subcommand_from put" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand actuator; and __fish_seen_subcommand_from put" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand actuator; and __fish_seen_subcommand_from put" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand actuator; and __fish_seen_subcommand_from put" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand actuator; and __fish_seen_subcommand_from bind" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand actuator; and __fish_seen_subcommand_from bind" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand actuator; and __fish_seen_subcommand_from bind" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand actuator; and __fish_seen_subcommand_from bind" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand actuator; and __fish_seen_subcommand_from bind" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand actuator; and __fish_seen_subcommand_from bind" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand actuator; and __fish_seen_subcommand_from list" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand actuator; and __fish_seen_subcommand_from list" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand actuator; and __fish_seen_subcommand_from list" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand actuator; and __fish_seen_subcommand_from list" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand actuator; and __fish_seen_subcommand_from list" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand actuator; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand actuator; and __fish_seen_subcommand_from show" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand actuator; and __fish_seen_subcommand_from show" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand actuator; and __fish_seen_subcommand_from show" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand actuator; and __fish_seen_subcommand_from show" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand actuator; and __fish_seen_subcommand_from show" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand actuator; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand actuator; and __fish_seen_subcommand_from run" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand actuator; and __fish_seen_subcommand_from run" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand actuator; and __fish_seen_subcommand_from run" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand actuator; and __fish_seen_subcommand_from run" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand actuator; and __fish_seen_subcommand_from run" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand actuator; and __fish_seen_subcommand_from run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand actuator; and __fish_seen_subcommand_from run" -f -a "local" -d 'Replicas are processes of this host'
complete -c scalectl -n "__fish_scalectl_using_subcommand actuator; and __fish_seen_subcommand_from run" -f -a "kubectl" -d 'Deployments and StatefulSets of Kubernetes, through kubectl'
complete -c scalectl -n "__fish_scalectl_using_subcommand actuator; and __fish_seen_subcommand_from run" -f -a "docker" -d 'Replicated services of a Swarm, through the Docker CLI'
complete -c scalectl -n "__fish_scalectl_using_subcommand actuator; and __fish_seen_subcommand_from run" -f -a "exec" -d 'Commands of yours, with the members of the target and the wish filled in'
complete -c scalectl -n "__fish_scalectl_using_subcommand actuator; and __fish_seen_subcommand_from run" -f -a "local-replica" -d 'Internal: becomes one replica'
complete -c scalectl -n "__fish_scalectl_using_subcommand actuator; and __fish_seen_subcommand_from check" -l workload -d 'A workload that the check may scale up, down and to nothing, and that no service will use [default: scalectl-check]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand actuator; and __fish_seen_subcommand_from check" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand actuator; and __fish_seen_subcommand_from check" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand actuator; and __fish_seen_subcommand_from check" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand actuator; and __fish_seen_subcommand_from check" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand actuator; and __fish_seen_subcommand_from check" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand actuator; and __fish_seen_subcommand_from check" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and not __fish_seen_subcommand_from put show list discover bind mode retire" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and not __fish_seen_subcommand_from put show list discover bind mode retire" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and not __fish_seen_subcommand_from put show list discover bind mode retire" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and not __fish_seen_subcommand_from put show list discover bind mode retire" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and not __fish_seen_subcommand_from put show list discover bind mode retire" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and not __fish_seen_subcommand_from put show list discover bind mode retire" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and not __fish_seen_subcommand_from put show list discover bind mode retire" -f -a "put" -d 'Register a service, or change what is named; the rest stays'
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and not __fish_seen_subcommand_from put show list discover bind mode retire" -f -a "show" -d 'Show one service'
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and not __fish_seen_subcommand_from put show list discover bind mode retire" -f -a "list" -d 'List the services'
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and not __fish_seen_subcommand_from put show list discover bind mode retire" -f -a "discover" -d 'List what an actuator could scale, with the line that registers each of it'
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and not __fish_seen_subcommand_from put show list discover bind mode retire" -f -a "bind" -d 'Read the target of a service and record what it is'
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and not __fish_seen_subcommand_from put show list discover bind mode retire" -f -a "mode" -d 'Give the count another owner, from what it is read as now'
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and not __fish_seen_subcommand_from put show list discover bind mode retire" -f -a "retire" -d 'End a service; its history stays'
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from put" -l expect-revision -d 'The unit revision that you know of; 0 for none' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from put" -l file -d 'All settings as JSON, from a file or from - (stdin); other settings cannot be said beside it' -r -F
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from put" -l actuator -d 'Who carries a wish out' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from put" -l mode -d 'Who may change the count: native, delegated, external_hpa (hpa), external_keda (keda)' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from put" -l writer -d 'The one controller that may act [default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from put" -l min -d 'The least that may be wished [default: 0; of a new service that a signal scales: 1]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from put" -l max -d 'The most that may be wished' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from put" -l workload -d 'What the target is called [default: the service\'s name]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from put" -l cluster -d 'The cluster [default: as inspected]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from put" -l runtime -d 'The runtime [default: as inspected]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from put" -l target-uid -d 'The identity of the object, where nobody can inspect it' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from put" -l target-version -d 'The version of the object, where nobody can inspect it' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from put" -l target-match -d 'What of the target must not have moved since the put' -r -f -a "version\t''
generation\t''
replicas\t''"
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from put" -l readings -d 'How many readings must agree, as N or N/INTERVAL [default: 2 where the actuator can inspect]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from put" -l converge-on -d 'Which count must be the wished one' -r -f -a "ready\t''
declared\t''"
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from put" -l on-unknown -d 'What may happen after an unknown outcome' -r -f -a "retry_same_key\t''
observe_first\t''
halt\t''"
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from put" -l quiet -d 'How long a late effect is waited for after an unknown call [default: 60s; local: 0s]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from put" -l drain -d 'Whether a reduction needs evidence' -r -f -a "required\t''
none\t''"
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from put" -l cooldown -d 'How long a change cools, or none' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from put" -l fences -d 'Who makes the fences' -r -f -a "minted\t''
external\t''"
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from put" -l max-attempts -d 'How many attempts a wish may use, 1 to 8 [default: 3]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from put" -l backoff -d 'How long to wait between attempts, up to 1h [default: 5s]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from put" -l replicas -d 'Declare the count of a static service, one that no signal scales: reconcile brings it back to that; none: only wishes move it' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from put" -l quorum -d 'Whether evidence for a reduction must say that a quorum survives' -r -f -a "required\t''
none\t''"
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from put" -l signal -d 'The signal, 1 to 128 characters; none takes the scaling away' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from put" -l signal-target -d 'What its value per replica should be: above 0, at most 1e12' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from put" -l signal-aggregation -d 'What the value is about: fleet_total or per_replica [default: fleet_total]' -r -f -a "fleet_total\t''
per_replica\t''"
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from put" -l signal-unit -d 'What the value is counted in; a sample must say the same' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from put" -l signal-scope -d 'What part of the service it is measured over; a sample must say the same' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from put" -l scale-up-step -d 'How many more one step may make, 1 to 100000 [default: 1]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from put" -l scale-down-step -d 'How many fewer one step may make, 1 to 100000 [default: 1]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from put" -l deadband -d 'How far from the target nothing is done, as a part of it, 0 to 1 [default: 0.05]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from put" -l scale-up-samples -d 'How many samples in a row must ask for more, 1 to 60 [default: 1]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from put" -l scale-down-samples -d 'How many samples in a row must ask for less, 1 to 60 [default: 3]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from put" -l label -d 'A label NAME=VALUE; an empty value takes it away; may be repeated' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from put" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from put" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from put" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from put" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from put" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from put" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from show" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from show" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from show" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from show" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from show" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from list" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from list" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from list" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from list" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from list" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from discover" -l runtime -d 'Only in this runtime: a namespace of Kubernetes' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from discover" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from discover" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from discover" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from discover" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from discover" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from discover" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from bind" -l accept-uid -d 'The identity of the new object, where it was recreated and the new one is meant' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from bind" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from bind" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from bind" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from bind" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from bind" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from bind" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from mode" -l expect-revision -d 'The unit revision that you know of' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from mode" -l actuator -d 'Who carries wishes out from now on [default: who does now]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from mode" -l owner -d 'What the other controller is called [default: as found]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from mode" -l owners-unread -d 'What of owners that the actuator may not read: refuse, or accept that none of them drives the count, which is recorded' -r -f -a "refuse\t''
accept\t''"
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from mode" -l reason -d 'Why [env: SCALECTL_REASON]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from mode" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from mode" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from mode" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from mode" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from mode" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from mode" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from retire" -l reason -d 'Why [env: SCALECTL_REASON]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from retire" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from retire" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from retire" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from retire" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from retire" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand service; and __fish_seen_subcommand_from retire" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand policy; and not __fish_seen_subcommand_from put show diff lint test template" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand policy; and not __fish_seen_subcommand_from put show diff lint test template" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand policy; and not __fish_seen_subcommand_from put show diff lint test template" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand policy; and not __fish_seen_subcommand_from put show diff lint test template" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand policy; and not __fish_seen_subcommand_from put show diff lint test template" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand policy; and not __fish_seen_subcommand_from put show diff lint test template" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand policy; and not __fish_seen_subcommand_from put show diff lint test template" -f -a "put" -d 'Check a policy and let it hold from now on'
complete -c scalectl -n "__fish_scalectl_using_subcommand policy; and not __fish_seen_subcommand_from put show diff lint test template" -f -a "show" -d 'Show the policy that holds'
complete -c scalectl -n "__fish_scalectl_using_subcommand policy; and not __fish_seen_subcommand_from put show diff lint test template" -f -a "diff" -d 'What another policy would change: its rules, and answers to what was asked lately'
complete -c scalectl -n "__fish_scalectl_using_subcommand policy; and not __fish_seen_subcommand_from put show diff lint test template" -f -a "lint" -d 'Check a policy without a ledger: 2 invalid, 26 valid and most likely not meant'
complete -c scalectl -n "__fish_scalectl_using_subcommand policy; and not __fish_seen_subcommand_from put show diff lint test template" -f -a "test" -d 'Ask the policy about a wish, and see every rule'
complete -c scalectl -n "__fish_scalectl_using_subcommand policy; and not __fish_seen_subcommand_from put show diff lint test template" -f -a "template" -d 'Print a policy to start from'
complete -c scalectl -n "__fish_scalectl_using_subcommand policy; and __fish_seen_subcommand_from put" -l expect-digest -d 'The digest that you believe holds, or its beginning; empty for none' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand policy; and __fish_seen_subcommand_from put" -l reason -d 'Why [env: SCALECTL_REASON]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand policy; and __fish_seen_subcommand_from put" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand policy; and __fish_seen_subcommand_from put" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand policy; and __fish_seen_subcommand_from put" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand policy; and __fish_seen_subcommand_from put" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand policy; and __fish_seen_subcommand_from put" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand policy; and __fish_seen_subcommand_from put" -l allow-lockout -d 'It does not let you replace it again, and is meant'
complete -c scalectl -n "__fish_scalectl_using_subcommand policy; and __fish_seen_subcommand_from put" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand policy; and __fish_seen_subcommand_from show" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand policy; and __fish_seen_subcommand_from show" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand policy; and __fish_seen_subcommand_from show" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand policy; and __fish_seen_subcommand_from show" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand policy; and __fish_seen_subcommand_from show" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand policy; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand policy; and __fish_seen_subcommand_from diff" -l last -d 'How many of the newest recorded decisions are asked again' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand policy; and __fish_seen_subcommand_from diff" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand policy; and __fish_seen_subcommand_from diff" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand policy; and __fish_seen_subcommand_from diff" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand policy; and __fish_seen_subcommand_from diff" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand policy; and __fish_seen_subcommand_from diff" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand policy; and __fish_seen_subcommand_from diff" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand policy; and __fish_seen_subcommand_from lint" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand policy; and __fish_seen_subcommand_from lint" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand policy; and __fish_seen_subcommand_from lint" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand policy; and __fish_seen_subcommand_from lint" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand policy; and __fish_seen_subcommand_from lint" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand policy; and __fish_seen_subcommand_from lint" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand policy; and __fish_seen_subcommand_from test" -l action -d 'Another action than the ones that the change asks for' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand policy; and __fish_seen_subcommand_from test" -l current -d 'The count to take for the current one' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand policy; and __fish_seen_subcommand_from test" -l os-user -d 'The operating system\'s user to ask for' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand policy; and __fish_seen_subcommand_from test" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand policy; and __fish_seen_subcommand_from test" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand policy; and __fish_seen_subcommand_from test" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand policy; and __fish_seen_subcommand_from test" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand policy; and __fish_seen_subcommand_from test" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand policy; and __fish_seen_subcommand_from test" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand policy; and __fish_seen_subcommand_from template" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand policy; and __fish_seen_subcommand_from template" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand policy; and __fish_seen_subcommand_from template" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand policy; and __fish_seen_subcommand_from template" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand policy; and __fish_seen_subcommand_from template" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand policy; and __fish_seen_subcommand_from template" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand approval; and not __fish_seen_subcommand_from list show grant deny" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand approval; and not __fish_seen_subcommand_from list show grant deny" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand approval; and not __fish_seen_subcommand_from list show grant deny" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand approval; and not __fish_seen_subcommand_from list show grant deny" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand approval; and not __fish_seen_subcommand_from list show grant deny" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand approval; and not __fish_seen_subcommand_from list show grant deny" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand approval; and not __fish_seen_subcommand_from list show grant deny" -f -a "list" -d 'List what waits for an answer'
complete -c scalectl -n "__fish_scalectl_using_subcommand approval; and not __fish_seen_subcommand_from list show grant deny" -f -a "show" -d 'Show what is asked, what runs now, and what would be agreed to'
complete -c scalectl -n "__fish_scalectl_using_subcommand approval; and not __fish_seen_subcommand_from list show grant deny" -f -a "grant" -d 'Agree: it may be carried out, while the count is what it was asked about'
complete -c scalectl -n "__fish_scalectl_using_subcommand approval; and not __fish_seen_subcommand_from list show grant deny" -f -a "deny" -d 'Refuse, for good: that key never runs. A wish under another key asks anew'
complete -c scalectl -n "__fish_scalectl_using_subcommand approval; and __fish_seen_subcommand_from list" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand approval; and __fish_seen_subcommand_from list" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand approval; and __fish_seen_subcommand_from list" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand approval; and __fish_seen_subcommand_from list" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand approval; and __fish_seen_subcommand_from list" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand approval; and __fish_seen_subcommand_from list" -l all -d 'Those that were answered or are over, too'
complete -c scalectl -n "__fish_scalectl_using_subcommand approval; and __fish_seen_subcommand_from list" -l check -d 'Exit 26 while one waits that may still be answered'
complete -c scalectl -n "__fish_scalectl_using_subcommand approval; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand approval; and __fish_seen_subcommand_from show" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand approval; and __fish_seen_subcommand_from show" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand approval; and __fish_seen_subcommand_from show" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand approval; and __fish_seen_subcommand_from show" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand approval; and __fish_seen_subcommand_from show" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand approval; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand approval; and __fish_seen_subcommand_from grant" -l reason -d 'Why [env: SCALECTL_REASON]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand approval; and __fish_seen_subcommand_from grant" -l sign-with -d 'Sign it with this SSH key, by ssh-keygen: a private one, or a public one that the agent has [env: SCALECTL_SIGN_WITH]' -r -F
complete -c scalectl -n "__fish_scalectl_using_subcommand approval; and __fish_seen_subcommand_from grant" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand approval; and __fish_seen_subcommand_from grant" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand approval; and __fish_seen_subcommand_from grant" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand approval; and __fish_seen_subcommand_from grant" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand approval; and __fish_seen_subcommand_from grant" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand approval; and __fish_seen_subcommand_from grant" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand approval; and __fish_seen_subcommand_from deny" -l reason -d 'Why [env: SCALECTL_REASON]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand approval; and __fish_seen_subcommand_from deny" -l sign-with -d 'Sign it with this SSH key, by ssh-keygen: a private one, or a public one that the agent has [env: SCALECTL_SIGN_WITH]' -r -F
complete -c scalectl -n "__fish_scalectl_using_subcommand approval; and __fish_seen_subcommand_from deny" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand approval; and __fish_seen_subcommand_from deny" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand approval; and __fish_seen_subcommand_from deny" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand approval; and __fish_seen_subcommand_from deny" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand approval; and __fish_seen_subcommand_from deny" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand approval; and __fish_seen_subcommand_from deny" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand break-glass; and not __fish_seen_subcommand_from authorize list show revoke review" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand break-glass; and not __fish_seen_subcommand_from authorize list show revoke review" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand break-glass; and not __fish_seen_subcommand_from authorize list show revoke review" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand break-glass; and not __fish_seen_subcommand_from authorize list show revoke review" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand break-glass; and not __fish_seen_subcommand_from authorize list show revoke review" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand break-glass; and not __fish_seen_subcommand_from authorize list show revoke review" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand break-glass; and not __fish_seen_subcommand_from authorize list show revoke review" -f -a "authorize" -d 'Permit one count of one target; scale NAME=N --break-glass ID uses it'
complete -c scalectl -n "__fish_scalectl_using_subcommand break-glass; and not __fish_seen_subcommand_from authorize list show revoke review" -f -a "list" -d 'List what nobody has reviewed'
complete -c scalectl -n "__fish_scalectl_using_subcommand break-glass; and not __fish_seen_subcommand_from authorize list show revoke review" -f -a "show" -d 'Show an authorization and what was done under it'
complete -c scalectl -n "__fish_scalectl_using_subcommand break-glass; and not __fish_seen_subcommand_from authorize list show revoke review" -f -a "revoke" -d 'Take an authorization back: nothing starts under it any more'
complete -c scalectl -n "__fish_scalectl_using_subcommand break-glass; and not __fish_seen_subcommand_from authorize list show revoke review" -f -a "review" -d 'Say that somebody else has looked at what was done'
complete -c scalectl -n "__fish_scalectl_using_subcommand break-glass; and __fish_seen_subcommand_from authorize" -l incident -d 'The incident that it is for, 1 to 128 characters' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand break-glass; and __fish_seen_subcommand_from authorize" -l authorized-for -d 'How long the authorization lasts, at most 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand break-glass; and __fish_seen_subcommand_from authorize" -l sign-with -d 'Sign it with this SSH key, by ssh-keygen: a private one, or a public one that the agent has [env: SCALECTL_SIGN_WITH]' -r -F
complete -c scalectl -n "__fish_scalectl_using_subcommand break-glass; and __fish_seen_subcommand_from authorize" -l max-uses -d 'How many wishes may be carried out under it, 1 to 255' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand break-glass; and __fish_seen_subcommand_from authorize" -l reason -d 'Why [env: SCALECTL_REASON]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand break-glass; and __fish_seen_subcommand_from authorize" -l attest -d 'Vouch that what is not drained may lose its work' -r -f -a "not-drained\t''"
complete -c scalectl -n "__fish_scalectl_using_subcommand break-glass; and __fish_seen_subcommand_from authorize" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand break-glass; and __fish_seen_subcommand_from authorize" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand break-glass; and __fish_seen_subcommand_from authorize" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand break-glass; and __fish_seen_subcommand_from authorize" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand break-glass; and __fish_seen_subcommand_from authorize" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand break-glass; and __fish_seen_subcommand_from authorize" -l raise-max -d 'Raise the registered upper bound to the count, under the same authorization'
complete -c scalectl -n "__fish_scalectl_using_subcommand break-glass; and __fish_seen_subcommand_from authorize" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand break-glass; and __fish_seen_subcommand_from list" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand break-glass; and __fish_seen_subcommand_from list" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand break-glass; and __fish_seen_subcommand_from list" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand break-glass; and __fish_seen_subcommand_from list" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand break-glass; and __fish_seen_subcommand_from list" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand break-glass; and __fish_seen_subcommand_from list" -l all -d 'What was reviewed, too'
complete -c scalectl -n "__fish_scalectl_using_subcommand break-glass; and __fish_seen_subcommand_from list" -l check -d 'Exit 26 while there is any'
complete -c scalectl -n "__fish_scalectl_using_subcommand break-glass; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand break-glass; and __fish_seen_subcommand_from show" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand break-glass; and __fish_seen_subcommand_from show" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand break-glass; and __fish_seen_subcommand_from show" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand break-glass; and __fish_seen_subcommand_from show" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand break-glass; and __fish_seen_subcommand_from show" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand break-glass; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand break-glass; and __fish_seen_subcommand_from revoke" -l reason -d 'Why [env: SCALECTL_REASON]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand break-glass; and __fish_seen_subcommand_from revoke" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand break-glass; and __fish_seen_subcommand_from revoke" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand break-glass; and __fish_seen_subcommand_from revoke" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand break-glass; and __fish_seen_subcommand_from revoke" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand break-glass; and __fish_seen_subcommand_from revoke" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand break-glass; and __fish_seen_subcommand_from revoke" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand break-glass; and __fish_seen_subcommand_from review" -l reason -d 'Why [env: SCALECTL_REASON]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand break-glass; and __fish_seen_subcommand_from review" -l sign-with -d 'Sign it with this SSH key, by ssh-keygen: a private one, or a public one that the agent has [env: SCALECTL_SIGN_WITH]' -r -F
complete -c scalectl -n "__fish_scalectl_using_subcommand break-glass; and __fish_seen_subcommand_from review" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand break-glass; and __fish_seen_subcommand_from review" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand break-glass; and __fish_seen_subcommand_from review" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand break-glass; and __fish_seen_subcommand_from review" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand break-glass; and __fish_seen_subcommand_from review" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand break-glass; and __fish_seen_subcommand_from review" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand hold; and not __fish_seen_subcommand_from set lift list" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand hold; and not __fish_seen_subcommand_from set lift list" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand hold; and not __fish_seen_subcommand_from set lift list" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand hold; and not __fish_seen_subcommand_from set lift list" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand hold; and not __fish_seen_subcommand_from set lift list" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand hold; and not __fish_seen_subcommand_from set lift list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand hold; and not __fish_seen_subcommand_from set lift list" -f -a "set" -d 'Hold the count of a service'
complete -c scalectl -n "__fish_scalectl_using_subcommand hold; and not __fish_seen_subcommand_from set lift list" -f -a "lift" -d 'End a hold before its time'
complete -c scalectl -n "__fish_scalectl_using_subcommand hold; and not __fish_seen_subcommand_from set lift list" -f -a "list" -d 'List the holds and the overrides that are in force'
complete -c scalectl -n "__fish_scalectl_using_subcommand hold; and __fish_seen_subcommand_from set" -l until -d 'When it ends by itself: an instant, or how long from now; at most a month' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand hold; and __fish_seen_subcommand_from set" -l reason -d 'Why [env: SCALECTL_REASON]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand hold; and __fish_seen_subcommand_from set" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand hold; and __fish_seen_subcommand_from set" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand hold; and __fish_seen_subcommand_from set" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand hold; and __fish_seen_subcommand_from set" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand hold; and __fish_seen_subcommand_from set" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand hold; and __fish_seen_subcommand_from set" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand hold; and __fish_seen_subcommand_from lift" -l reason -d 'Why [env: SCALECTL_REASON]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand hold; and __fish_seen_subcommand_from lift" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand hold; and __fish_seen_subcommand_from lift" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand hold; and __fish_seen_subcommand_from lift" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand hold; and __fish_seen_subcommand_from lift" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand hold; and __fish_seen_subcommand_from lift" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand hold; and __fish_seen_subcommand_from lift" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand hold; and __fish_seen_subcommand_from list" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand hold; and __fish_seen_subcommand_from list" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand hold; and __fish_seen_subcommand_from list" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand hold; and __fish_seen_subcommand_from list" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand hold; and __fish_seen_subcommand_from list" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand hold; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand override; and not __fish_seen_subcommand_from clear set" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand override; and not __fish_seen_subcommand_from clear set" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand override; and not __fish_seen_subcommand_from clear set" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand override; and not __fish_seen_subcommand_from clear set" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand override; and not __fish_seen_subcommand_from clear set" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand override; and not __fish_seen_subcommand_from clear set" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand override; and not __fish_seen_subcommand_from clear set" -f -a "clear" -d 'End an override before its time; the count stays as it is'
complete -c scalectl -n "__fish_scalectl_using_subcommand override; and not __fish_seen_subcommand_from clear set" -f -a "set" -d 'Scale a service, and let no tick move it until then'
complete -c scalectl -n "__fish_scalectl_using_subcommand override; and __fish_seen_subcommand_from clear" -l reason -d 'Why [env: SCALECTL_REASON]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand override; and __fish_seen_subcommand_from clear" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand override; and __fish_seen_subcommand_from clear" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand override; and __fish_seen_subcommand_from clear" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand override; and __fish_seen_subcommand_from clear" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand override; and __fish_seen_subcommand_from clear" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand override; and __fish_seen_subcommand_from clear" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand override; and __fish_seen_subcommand_from set" -l until -d 'When it ends by itself: an instant, or how long from now; at most a month' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand override; and __fish_seen_subcommand_from set" -l reason -d 'Why: 1 to 512 characters [env: SCALECTL_REASON]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand override; and __fish_seen_subcommand_from set" -l key -d 'The key that names this wish for ever; minted where none is given' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand override; and __fish_seen_subcommand_from set" -l expect-revision -d 'The newest intent revision that you know of (0 for none), or latest' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand override; and __fish_seen_subcommand_from set" -l current-replicas -d 'The count that you believe runs now' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand override; and __fish_seen_subcommand_from set" -l max-attempts -d 'How many attempts this wish may use, 1 to 8; left out under a known key: as recorded' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand override; and __fish_seen_subcommand_from set" -l backoff -d 'How long to wait between attempts, up to 1h; left out under a known key: as recorded' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand override; and __fish_seen_subcommand_from set" -l fence -d 'A fence of the writer\'s own' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand override; and __fish_seen_subcommand_from set" -l valid-for -d 'How long the fence of this wish lives [default: 1h]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand override; and __fish_seen_subcommand_from set" -l attest -d 'Vouch that what is not drained may go' -r -f -a "not-drained\t''"
complete -c scalectl -n "__fish_scalectl_using_subcommand override; and __fish_seen_subcommand_from set" -l rolls-back -d 'Undo this wish of the service: the count is yours to name. One that failed and may be tried again ends as abandoned in the same transaction; one that was carried out, or is over, stays as it is, and its end is named with this one. Refused while its call runs (11), while nobody knows what became of it (16: `replay` first), and where it changed nothing (10)' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand override; and __fish_seen_subcommand_from set" -l timeout -d 'How long to wait for all of it' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand override; and __fish_seen_subcommand_from set" -l approve-within -d 'How long it may wait for a colleague where policy leaves it to one, at most 7d; 0s for none' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand override; and __fish_seen_subcommand_from set" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand override; and __fish_seen_subcommand_from set" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand override; and __fish_seen_subcommand_from set" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand override; and __fish_seen_subcommand_from set" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand override; and __fish_seen_subcommand_from set" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand override; and __fish_seen_subcommand_from set" -l queue -d 'Wait behind what is in flight instead of being refused'
complete -c scalectl -n "__fish_scalectl_using_subcommand override; and __fish_seen_subcommand_from set" -l supersede -d 'End a waiting wish of somebody else'
complete -c scalectl -n "__fish_scalectl_using_subcommand override; and __fish_seen_subcommand_from set" -l override-cooldown -d 'Ask policy to pass the cooldown (action override_cooldown)'
complete -c scalectl -n "__fish_scalectl_using_subcommand override; and __fish_seen_subcommand_from set" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand adopt" -l reason -d 'Why: 1 to 512 characters [env: SCALECTL_REASON]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand adopt" -l key -d 'The key that names this adoption for ever; minted where none is given' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand adopt" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand adopt" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand adopt" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand adopt" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand adopt" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand adopt" -l supersede -d 'End a waiting wish of somebody else'
complete -c scalectl -n "__fish_scalectl_using_subcommand adopt" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand autoscale" -l signals -d 'The samples, as a document; - is stdin' -r -F
complete -c scalectl -n "__fish_scalectl_using_subcommand autoscale" -l prometheus -d 'The samples, as Prometheus says them: http://HOST:PORT' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand autoscale" -l query -d 'What Prometheus is asked about a service [default: its label prometheus-query]; may be repeated' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand autoscale" -l timeout -d 'How long the command or Prometheus may take, at most 5m' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand autoscale" -l budget -d 'How much a service may cost an hour; only more replicas are capped' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand autoscale" -l replica-cost -d 'What one replica costs an hour [default: 0.05]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand autoscale" -l health -d 'A document that says whether it may act: two booleans, autoscaling_ready and convergence_ready; - is stdin, none is no gate' -r -F
complete -c scalectl -n "__fish_scalectl_using_subcommand autoscale" -l max-actions -d 'How many calls and wishes it may make, at least 1' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand autoscale" -l valid-for -d 'How long the fence of a wish of its own lives' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand autoscale" -l approve-within -d 'How long a wish of its own may wait for a colleague where policy leaves it to one, at most 7d; 0s: not at all' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand autoscale" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand autoscale" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand autoscale" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand autoscale" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand autoscale" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand autoscale" -l provider -d 'The samples, as printed by the command after --'
complete -c scalectl -n "__fish_scalectl_using_subcommand autoscale" -l dry-run -d 'Walk every step, write nothing, say what would come of it'
complete -c scalectl -n "__fish_scalectl_using_subcommand autoscale" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand reconcile" -l health -d 'A document that says whether it may act: two booleans, autoscaling_ready and convergence_ready; - is stdin, none is no gate' -r -F
complete -c scalectl -n "__fish_scalectl_using_subcommand reconcile" -l max-actions -d 'How many calls and wishes it may make, at least 1' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand reconcile" -l valid-for -d 'How long the fence of a wish of its own lives' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand reconcile" -l approve-within -d 'How long a wish of its own may wait for a colleague where policy leaves it to one, at most 7d; 0s: not at all' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand reconcile" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand reconcile" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand reconcile" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand reconcile" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand reconcile" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand reconcile" -l static -d 'Only bring static services, and what a person has pinned, back to their counts'
complete -c scalectl -n "__fish_scalectl_using_subcommand reconcile" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand gateway; and not __fish_seen_subcommand_from observe apply finalize import" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand gateway; and not __fish_seen_subcommand_from observe apply finalize import" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand gateway; and not __fish_seen_subcommand_from observe apply finalize import" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand gateway; and not __fish_seen_subcommand_from observe apply finalize import" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand gateway; and not __fish_seen_subcommand_from observe apply finalize import" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand gateway; and not __fish_seen_subcommand_from observe apply finalize import" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand gateway; and not __fish_seen_subcommand_from observe apply finalize import" -f -a "observe" -d 'Print where a service stands, as the contract says it'
complete -c scalectl -n "__fish_scalectl_using_subcommand gateway; and not __fish_seen_subcommand_from observe apply finalize import" -f -a "apply" -d 'Accept or refuse one operation of the contract'
complete -c scalectl -n "__fish_scalectl_using_subcommand gateway; and not __fish_seen_subcommand_from observe apply finalize import" -f -a "finalize" -d 'Give an accepted operation the answer that whoever converged has'
complete -c scalectl -n "__fish_scalectl_using_subcommand gateway; and not __fish_seen_subcommand_from observe apply finalize import" -f -a "import" -d 'Take over the journal of a gateway\'s own authority, as a whole or not at all'
complete -c scalectl -n "__fish_scalectl_using_subcommand gateway; and __fish_seen_subcommand_from observe" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand gateway; and __fish_seen_subcommand_from observe" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand gateway; and __fish_seen_subcommand_from observe" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand gateway; and __fish_seen_subcommand_from observe" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand gateway; and __fish_seen_subcommand_from observe" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand gateway; and __fish_seen_subcommand_from observe" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand gateway; and __fish_seen_subcommand_from apply" -l file -d 'The operation as JSON, from a file or from - (stdin); at most 64 KiB' -r -F
complete -c scalectl -n "__fish_scalectl_using_subcommand gateway; and __fish_seen_subcommand_from apply" -l pool -d 'How many replicas all services that the gateway scales may have together' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand gateway; and __fish_seen_subcommand_from apply" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand gateway; and __fish_seen_subcommand_from apply" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand gateway; and __fish_seen_subcommand_from apply" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand gateway; and __fish_seen_subcommand_from apply" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand gateway; and __fish_seen_subcommand_from apply" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand gateway; and __fish_seen_subcommand_from apply" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand gateway; and __fish_seen_subcommand_from finalize" -l file -d '{"request": …, "response": …} as JSON, from a file or from - (stdin)' -r -F
complete -c scalectl -n "__fish_scalectl_using_subcommand gateway; and __fish_seen_subcommand_from finalize" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand gateway; and __fish_seen_subcommand_from finalize" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand gateway; and __fish_seen_subcommand_from finalize" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand gateway; and __fish_seen_subcommand_from finalize" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand gateway; and __fish_seen_subcommand_from finalize" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand gateway; and __fish_seen_subcommand_from finalize" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand gateway; and __fish_seen_subcommand_from import" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand gateway; and __fish_seen_subcommand_from import" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand gateway; and __fish_seen_subcommand_from import" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand gateway; and __fish_seen_subcommand_from import" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand gateway; and __fish_seen_subcommand_from import" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand gateway; and __fish_seen_subcommand_from import" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand serve" -l listen -d 'Where to listen. Any address but a loopback one needs --token-file; port 0 is a free one' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand serve" -l pool -d 'How many replicas all services that the gateway scales may have together' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand serve" -l token-file -d 'A file with the token that clients show: Authorization: Bearer TOKEN' -r -F
complete -c scalectl -n "__fish_scalectl_using_subcommand serve" -l follow -d 'How long an operation that is carried out is followed before it is answered as not yet' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand serve" -l again -d 'How long after a failure for good its count is wished anew; it doubles up to 1h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand serve" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand serve" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand serve" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand serve" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand serve" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand serve" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand capacity; and not __fish_seen_subcommand_from location cell profile policy pool usage fit" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand capacity; and not __fish_seen_subcommand_from location cell profile policy pool usage fit" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand capacity; and not __fish_seen_subcommand_from location cell profile policy pool usage fit" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand capacity; and not __fish_seen_subcommand_from location cell profile policy pool usage fit" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand capacity; and not __fish_seen_subcommand_from location cell profile policy pool usage fit" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand capacity; and not __fish_seen_subcommand_from location cell profile policy pool usage fit" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand capacity; and not __fish_seen_subcommand_from location cell profile policy pool usage fit" -f -a "location" -d 'Where cells are: put, show, list'
complete -c scalectl -n "__fish_scalectl_using_subcommand capacity; and not __fish_seen_subcommand_from location cell profile policy pool usage fit" -f -a "cell" -d 'Places with capacity of their own: put, cordon, uncordon, show, list'
complete -c scalectl -n "__fish_scalectl_using_subcommand capacity; and not __fish_seen_subcommand_from location cell profile policy pool usage fit" -f -a "profile" -d 'How much an environment is promised, and may take at most: put, show, list'
complete -c scalectl -n "__fish_scalectl_using_subcommand capacity; and not __fish_seen_subcommand_from location cell profile policy pool usage fit" -f -a "policy" -d 'Which profiles and cells an environment may have, and what it may cost: put, show, list'
complete -c scalectl -n "__fish_scalectl_using_subcommand capacity; and not __fish_seen_subcommand_from location cell profile policy pool usage fit" -f -a "pool" -d 'How many replicas several services may have together: put, show, list'
complete -c scalectl -n "__fish_scalectl_using_subcommand capacity; and not __fish_seen_subcommand_from location cell profile policy pool usage fit" -f -a "usage" -d 'What environments were measured to take: put, show, list'
complete -c scalectl -n "__fish_scalectl_using_subcommand capacity; and not __fish_seen_subcommand_from location cell profile policy pool usage fit" -f -a "fit" -d 'Show what would fit where, and what limits it'
complete -c scalectl -n "__fish_scalectl_using_subcommand capacity; and __fish_seen_subcommand_from location" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand capacity; and __fish_seen_subcommand_from location" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand capacity; and __fish_seen_subcommand_from location" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand capacity; and __fish_seen_subcommand_from location" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand capacity; and __fish_seen_subcommand_from location" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand capacity; and __fish_seen_subcommand_from location" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand capacity; and __fish_seen_subcommand_from location" -f -a "put" -d 'Make a location, or change what is named'
complete -c scalectl -n "__fish_scalectl_using_subcommand capacity; and __fish_seen_subcommand_from location" -f -a "show" -d 'Show one location and its cells'
complete -c scalectl -n "__fish_scalectl_using_subcommand capacity; and __fish_seen_subcommand_from location" -f -a "list" -d 'List the locations'
complete -c scalectl -n "__fish_scalectl_using_subcommand capacity; and __fish_seen_subcommand_from cell" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand capacity; and __fish_seen_subcommand_from cell" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand capacity; and __fish_seen_subcommand_from cell" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand capacity; and __fish_seen_subcommand_from cell" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand capacity; and __fish_seen_subcommand_from cell" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand capacity; and __fish_seen_subcommand_from cell" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand capacity; and __fish_seen_subcommand_from cell" -f -a "put" -d 'Make or measure a cell, or change what is named'
complete -c scalectl -n "__fish_scalectl_using_subcommand capacity; and __fish_seen_subcommand_from cell" -f -a "cordon" -d 'Let nobody else into a cell; who is there stays'
complete -c scalectl -n "__fish_scalectl_using_subcommand capacity; and __fish_seen_subcommand_from cell" -f -a "uncordon" -d 'Let environments into a cell again'
complete -c scalectl -n "__fish_scalectl_using_subcommand capacity; and __fish_seen_subcommand_from cell" -f -a "show" -d 'Show one cell: what it has, what is reserved and for whom'
complete -c scalectl -n "__fish_scalectl_using_subcommand capacity; and __fish_seen_subcommand_from cell" -f -a "list" -d 'List the cells with what is free'
complete -c scalectl -n "__fish_scalectl_using_subcommand capacity; and __fish_seen_subcommand_from profile" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand capacity; and __fish_seen_subcommand_from profile" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand capacity; and __fish_seen_subcommand_from profile" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand capacity; and __fish_seen_subcommand_from profile" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand capacity; and __fish_seen_subcommand_from profile" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand capacity; and __fish_seen_subcommand_from profile" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand capacity; and __fish_seen_subcommand_from profile" -f -a "put" -d 'Register a profile; it is never changed'
complete -c scalectl -n "__fish_scalectl_using_subcommand capacity; and __fish_seen_subcommand_from profile" -f -a "show" -d 'Show one profile'
complete -c scalectl -n "__fish_scalectl_using_subcommand capacity; and __fish_seen_subcommand_from profile" -f -a "list" -d 'List the profiles'
complete -c scalectl -n "__fish_scalectl_using_subcommand capacity; and __fish_seen_subcommand_from policy" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand capacity; and __fish_seen_subcommand_from policy" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand capacity; and __fish_seen_subcommand_from policy" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand capacity; and __fish_seen_subcommand_from policy" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand capacity; and __fish_seen_subcommand_from policy" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand capacity; and __fish_seen_subcommand_from policy" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand capacity; and __fish_seen_subcommand_from policy" -f -a "put" -d 'Make a placement policy, or change what is named'
complete -c scalectl -n "__fish_scalectl_using_subcommand capacity; and __fish_seen_subcommand_from policy" -f -a "show" -d 'Show one placement policy'
complete -c scalectl -n "__fish_scalectl_using_subcommand capacity; and __fish_seen_subcommand_from policy" -f -a "list" -d 'List the placement policies'
complete -c scalectl -n "__fish_scalectl_using_subcommand capacity; and __fish_seen_subcommand_from pool" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand capacity; and __fish_seen_subcommand_from pool" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand capacity; and __fish_seen_subcommand_from pool" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand capacity; and __fish_seen_subcommand_from pool" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand capacity; and __fish_seen_subcommand_from pool" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand capacity; and __fish_seen_subcommand_from pool" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand capacity; and __fish_seen_subcommand_from pool" -f -a "put" -d 'Make a pool, or change what is named'
complete -c scalectl -n "__fish_scalectl_using_subcommand capacity; and __fish_seen_subcommand_from pool" -f -a "show" -d 'Show one pool'
complete -c scalectl -n "__fish_scalectl_using_subcommand capacity; and __fish_seen_subcommand_from pool" -f -a "list" -d 'List the pools'
complete -c scalectl -n "__fish_scalectl_using_subcommand capacity; and __fish_seen_subcommand_from usage" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand capacity; and __fish_seen_subcommand_from usage" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand capacity; and __fish_seen_subcommand_from usage" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand capacity; and __fish_seen_subcommand_from usage" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand capacity; and __fish_seen_subcommand_from usage" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand capacity; and __fish_seen_subcommand_from usage" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand capacity; and __fish_seen_subcommand_from usage" -f -a "put" -d 'Record what an environment was measured to take'
complete -c scalectl -n "__fish_scalectl_using_subcommand capacity; and __fish_seen_subcommand_from usage" -f -a "show" -d 'Show what one environment takes'
complete -c scalectl -n "__fish_scalectl_using_subcommand capacity; and __fish_seen_subcommand_from usage" -f -a "list" -d 'List what every environment takes'
complete -c scalectl -n "__fish_scalectl_using_subcommand capacity; and __fish_seen_subcommand_from fit" -l profile -d 'Only this profile' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand capacity; and __fish_seen_subcommand_from fit" -l policy -d 'Only what this policy offers, in the cells that it lets in' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand capacity; and __fish_seen_subcommand_from fit" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand capacity; and __fish_seen_subcommand_from fit" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand capacity; and __fish_seen_subcommand_from fit" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand capacity; and __fish_seen_subcommand_from fit" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand capacity; and __fish_seen_subcommand_from fit" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand capacity; and __fish_seen_subcommand_from fit" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand placement; and not __fish_seen_subcommand_from adopt plan change show list locations" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand placement; and not __fish_seen_subcommand_from adopt plan change show list locations" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand placement; and not __fish_seen_subcommand_from adopt plan change show list locations" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand placement; and not __fish_seen_subcommand_from adopt plan change show list locations" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand placement; and not __fish_seen_subcommand_from adopt plan change show list locations" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand placement; and not __fish_seen_subcommand_from adopt plan change show list locations" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand placement; and not __fish_seen_subcommand_from adopt plan change show list locations" -f -a "adopt" -d 'Know an environment that is there, as it is; nothing is moved'
complete -c scalectl -n "__fish_scalectl_using_subcommand placement; and not __fish_seen_subcommand_from adopt plan change show list locations" -f -a "plan" -d 'Show what a change would do, and write nothing'
complete -c scalectl -n "__fish_scalectl_using_subcommand placement; and not __fish_seen_subcommand_from adopt plan change show list locations" -f -a "change" -d 'Change where an environment lives, how much it has, or its recovery copy'
complete -c scalectl -n "__fish_scalectl_using_subcommand placement; and not __fish_seen_subcommand_from adopt plan change show list locations" -f -a "show" -d 'Show one environment: what is wished, what is, and what is under way'
complete -c scalectl -n "__fish_scalectl_using_subcommand placement; and not __fish_seen_subcommand_from adopt plan change show list locations" -f -a "list" -d 'List the environments'
complete -c scalectl -n "__fish_scalectl_using_subcommand placement; and not __fish_seen_subcommand_from adopt plan change show list locations" -f -a "locations" -d 'List the locations and cells that an environment may have; what is asked at a change is the policy as it is then'
complete -c scalectl -n "__fish_scalectl_using_subcommand placement; and __fish_seen_subcommand_from adopt" -l policy -d 'The placement policy that it is under' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand placement; and __fish_seen_subcommand_from adopt" -l cell -d 'The cell that it serves in' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand placement; and __fish_seen_subcommand_from adopt" -l generation -d 'The copy that serves there, such as 1-first' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand placement; and __fish_seen_subcommand_from adopt" -l profile -d 'What it is promised there' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand placement; and __fish_seen_subcommand_from adopt" -l relocator -d 'Who moves its copies; none where nobody does' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand placement; and __fish_seen_subcommand_from adopt" -l runtime-mode -d 'Whether it may sleep: on-demand or always-on' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand placement; and __fish_seen_subcommand_from adopt" -l expect-revision -d 'The revision that it must have; 0 where it must not be known' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand placement; and __fish_seen_subcommand_from adopt" -l reason -d 'Why [env: SCALECTL_REASON]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand placement; and __fish_seen_subcommand_from adopt" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand placement; and __fish_seen_subcommand_from adopt" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand placement; and __fish_seen_subcommand_from adopt" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand placement; and __fish_seen_subcommand_from adopt" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand placement; and __fish_seen_subcommand_from adopt" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand placement; and __fish_seen_subcommand_from adopt" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand placement; and __fish_seen_subcommand_from plan" -l expect-revision -d 'The revision of the environment that this is wished after; placement show tells it' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand placement; and __fish_seen_subcommand_from plan" -l policy-revision -d 'The revision of its placement policy that this is wished against; placement show tells it' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand placement; and __fish_seen_subcommand_from plan" -l profile -d 'Another profile' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand placement; and __fish_seen_subcommand_from plan" -l location -d 'Another location, or auto for a cell that is eligible; the one that it is in, while it is' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand placement; and __fish_seen_subcommand_from plan" -l cell -d 'Exactly this cell' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand placement; and __fish_seen_subcommand_from plan" -l standby -d 'The location of its recovery copy, or none' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand placement; and __fish_seen_subcommand_from plan" -l runtime-mode -d 'Whether it may sleep: on-demand or always-on' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand placement; and __fish_seen_subcommand_from plan" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand placement; and __fish_seen_subcommand_from plan" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand placement; and __fish_seen_subcommand_from plan" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand placement; and __fish_seen_subcommand_from plan" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand placement; and __fish_seen_subcommand_from plan" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand placement; and __fish_seen_subcommand_from plan" -l refresh-standby -d 'Make its recovery copy anew where it is'
complete -c scalectl -n "__fish_scalectl_using_subcommand placement; and __fish_seen_subcommand_from plan" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand placement; and __fish_seen_subcommand_from change" -l expect-revision -d 'The revision of the environment that this is wished after; placement show tells it' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand placement; and __fish_seen_subcommand_from change" -l policy-revision -d 'The revision of its placement policy that this is wished against; placement show tells it' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand placement; and __fish_seen_subcommand_from change" -l profile -d 'Another profile' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand placement; and __fish_seen_subcommand_from change" -l location -d 'Another location, or auto for a cell that is eligible; the one that it is in, while it is' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand placement; and __fish_seen_subcommand_from change" -l cell -d 'Exactly this cell' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand placement; and __fish_seen_subcommand_from change" -l standby -d 'The location of its recovery copy, or none' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand placement; and __fish_seen_subcommand_from change" -l runtime-mode -d 'Whether it may sleep: on-demand or always-on' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand placement; and __fish_seen_subcommand_from change" -l key -d 'The key of this change: the same line again under it is the same change' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand placement; and __fish_seen_subcommand_from change" -l timeout -d 'How long to wait' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand placement; and __fish_seen_subcommand_from change" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand placement; and __fish_seen_subcommand_from change" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand placement; and __fish_seen_subcommand_from change" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand placement; and __fish_seen_subcommand_from change" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand placement; and __fish_seen_subcommand_from change" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand placement; and __fish_seen_subcommand_from change" -l refresh-standby -d 'Make its recovery copy anew where it is'
complete -c scalectl -n "__fish_scalectl_using_subcommand placement; and __fish_seen_subcommand_from change" -l run -d 'Carry it out on this host, too'
complete -c scalectl -n "__fish_scalectl_using_subcommand placement; and __fish_seen_subcommand_from change" -l wait -d 'Wait until it is over; giving up the wait ends nothing'
complete -c scalectl -n "__fish_scalectl_using_subcommand placement; and __fish_seen_subcommand_from change" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand placement; and __fish_seen_subcommand_from show" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand placement; and __fish_seen_subcommand_from show" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand placement; and __fish_seen_subcommand_from show" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand placement; and __fish_seen_subcommand_from show" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand placement; and __fish_seen_subcommand_from show" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand placement; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand placement; and __fish_seen_subcommand_from list" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand placement; and __fish_seen_subcommand_from list" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand placement; and __fish_seen_subcommand_from list" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand placement; and __fish_seen_subcommand_from list" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand placement; and __fish_seen_subcommand_from list" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand placement; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand placement; and __fish_seen_subcommand_from locations" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand placement; and __fish_seen_subcommand_from locations" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand placement; and __fish_seen_subcommand_from locations" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand placement; and __fish_seen_subcommand_from locations" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand placement; and __fish_seen_subcommand_from locations" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand placement; and __fish_seen_subcommand_from locations" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand operation; and not __fish_seen_subcommand_from show list run wait retry abandon" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand operation; and not __fish_seen_subcommand_from show list run wait retry abandon" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand operation; and not __fish_seen_subcommand_from show list run wait retry abandon" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand operation; and not __fish_seen_subcommand_from show list run wait retry abandon" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand operation; and not __fish_seen_subcommand_from show list run wait retry abandon" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand operation; and not __fish_seen_subcommand_from show list run wait retry abandon" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand operation; and not __fish_seen_subcommand_from show list run wait retry abandon" -f -a "show" -d 'Show one operation: its steps, its receipts, and what comes next'
complete -c scalectl -n "__fish_scalectl_using_subcommand operation; and not __fish_seen_subcommand_from show list run wait retry abandon" -f -a "list" -d 'List the operations that are not over'
complete -c scalectl -n "__fish_scalectl_using_subcommand operation; and not __fish_seen_subcommand_from show list run wait retry abandon" -f -a "run" -d 'Carry an operation out on this host, as far as it goes'
complete -c scalectl -n "__fish_scalectl_using_subcommand operation; and not __fish_seen_subcommand_from show list run wait retry abandon" -f -a "wait" -d 'Wait until an operation is over; giving up the wait ends nothing'
complete -c scalectl -n "__fish_scalectl_using_subcommand operation; and not __fish_seen_subcommand_from show list run wait retry abandon" -f -a "retry" -d 'Let an operation that is stuck be tried again'
complete -c scalectl -n "__fish_scalectl_using_subcommand operation; and not __fish_seen_subcommand_from show list run wait retry abandon" -f -a "abandon" -d 'Give an operation up: what was done of it is undone'
complete -c scalectl -n "__fish_scalectl_using_subcommand operation; and __fish_seen_subcommand_from show" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand operation; and __fish_seen_subcommand_from show" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand operation; and __fish_seen_subcommand_from show" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand operation; and __fish_seen_subcommand_from show" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand operation; and __fish_seen_subcommand_from show" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand operation; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand operation; and __fish_seen_subcommand_from list" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand operation; and __fish_seen_subcommand_from list" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand operation; and __fish_seen_subcommand_from list" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand operation; and __fish_seen_subcommand_from list" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand operation; and __fish_seen_subcommand_from list" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand operation; and __fish_seen_subcommand_from list" -l all -d 'Those that are over, too'
complete -c scalectl -n "__fish_scalectl_using_subcommand operation; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand operation; and __fish_seen_subcommand_from run" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand operation; and __fish_seen_subcommand_from run" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand operation; and __fish_seen_subcommand_from run" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand operation; and __fish_seen_subcommand_from run" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand operation; and __fish_seen_subcommand_from run" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand operation; and __fish_seen_subcommand_from run" -l supersede -d 'Take it from whoever carries it out now'
complete -c scalectl -n "__fish_scalectl_using_subcommand operation; and __fish_seen_subcommand_from run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand operation; and __fish_seen_subcommand_from wait" -l timeout -d 'How long to wait' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand operation; and __fish_seen_subcommand_from wait" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand operation; and __fish_seen_subcommand_from wait" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand operation; and __fish_seen_subcommand_from wait" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand operation; and __fish_seen_subcommand_from wait" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand operation; and __fish_seen_subcommand_from wait" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand operation; and __fish_seen_subcommand_from wait" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand operation; and __fish_seen_subcommand_from retry" -l reason -d 'Why [env: SCALECTL_REASON]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand operation; and __fish_seen_subcommand_from retry" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand operation; and __fish_seen_subcommand_from retry" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand operation; and __fish_seen_subcommand_from retry" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand operation; and __fish_seen_subcommand_from retry" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand operation; and __fish_seen_subcommand_from retry" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand operation; and __fish_seen_subcommand_from retry" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand operation; and __fish_seen_subcommand_from abandon" -l reason -d 'Why [env: SCALECTL_REASON]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand operation; and __fish_seen_subcommand_from abandon" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand operation; and __fish_seen_subcommand_from abandon" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand operation; and __fish_seen_subcommand_from abandon" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand operation; and __fish_seen_subcommand_from abandon" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand operation; and __fish_seen_subcommand_from abandon" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand operation; and __fish_seen_subcommand_from abandon" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand relocator; and not __fish_seen_subcommand_from put bind list show run" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand relocator; and not __fish_seen_subcommand_from put bind list show run" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand relocator; and not __fish_seen_subcommand_from put bind list show run" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand relocator; and not __fish_seen_subcommand_from put bind list show run" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand relocator; and not __fish_seen_subcommand_from put bind list show run" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand relocator; and not __fish_seen_subcommand_from put bind list show run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand relocator; and not __fish_seen_subcommand_from put bind list show run" -f -a "put" -d 'Register a relocator and bind its command on this host'
complete -c scalectl -n "__fish_scalectl_using_subcommand relocator; and not __fish_seen_subcommand_from put bind list show run" -f -a "bind" -d 'Bind a registered relocator to a command of this host'
complete -c scalectl -n "__fish_scalectl_using_subcommand relocator; and not __fish_seen_subcommand_from put bind list show run" -f -a "list" -d 'List the registered relocators'
complete -c scalectl -n "__fish_scalectl_using_subcommand relocator; and not __fish_seen_subcommand_from put bind list show run" -f -a "show" -d 'Show one relocator'
complete -c scalectl -n "__fish_scalectl_using_subcommand relocator; and not __fish_seen_subcommand_from put bind list show run" -f -a "run" -d 'Be a bundled relocator: reads one request from stdin, writes one answer to stdout'
complete -c scalectl -n "__fish_scalectl_using_subcommand relocator; and __fish_seen_subcommand_from put" -l timeout -d 'How long one call may take, up to 1d [default: 1h]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand relocator; and __fish_seen_subcommand_from put" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand relocator; and __fish_seen_subcommand_from put" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand relocator; and __fish_seen_subcommand_from put" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand relocator; and __fish_seen_subcommand_from put" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand relocator; and __fish_seen_subcommand_from put" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand relocator; and __fish_seen_subcommand_from put" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand relocator; and __fish_seen_subcommand_from bind" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand relocator; and __fish_seen_subcommand_from bind" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand relocator; and __fish_seen_subcommand_from bind" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand relocator; and __fish_seen_subcommand_from bind" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand relocator; and __fish_seen_subcommand_from bind" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand relocator; and __fish_seen_subcommand_from bind" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand relocator; and __fish_seen_subcommand_from list" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand relocator; and __fish_seen_subcommand_from list" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand relocator; and __fish_seen_subcommand_from list" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand relocator; and __fish_seen_subcommand_from list" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand relocator; and __fish_seen_subcommand_from list" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand relocator; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand relocator; and __fish_seen_subcommand_from show" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand relocator; and __fish_seen_subcommand_from show" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand relocator; and __fish_seen_subcommand_from show" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand relocator; and __fish_seen_subcommand_from show" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand relocator; and __fish_seen_subcommand_from show" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand relocator; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand relocator; and __fish_seen_subcommand_from run" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand relocator; and __fish_seen_subcommand_from run" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand relocator; and __fish_seen_subcommand_from run" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand relocator; and __fish_seen_subcommand_from run" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand relocator; and __fish_seen_subcommand_from run" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand relocator; and __fish_seen_subcommand_from run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand relocator; and __fish_seen_subcommand_from run" -f -a "local" -d 'Cells are folders of this host'
complete -c scalectl -n "__fish_scalectl_using_subcommand recovery; and not __fish_seen_subcommand_from verify restore" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand recovery; and not __fish_seen_subcommand_from verify restore" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand recovery; and not __fish_seen_subcommand_from verify restore" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand recovery; and not __fish_seen_subcommand_from verify restore" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand recovery; and not __fish_seen_subcommand_from verify restore" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand recovery; and not __fish_seen_subcommand_from verify restore" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand recovery; and not __fish_seen_subcommand_from verify restore" -f -a "verify" -d 'Read back every byte and hash of a package, and its database as a database'
complete -c scalectl -n "__fish_scalectl_using_subcommand recovery; and not __fish_seen_subcommand_from verify restore" -f -a "restore" -d 'Make a copy of a package in an empty cell; the same line again goes on after a crash'
complete -c scalectl -n "__fish_scalectl_using_subcommand recovery; and __fish_seen_subcommand_from verify" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand recovery; and __fish_seen_subcommand_from verify" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand recovery; and __fish_seen_subcommand_from verify" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand recovery; and __fish_seen_subcommand_from verify" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand recovery; and __fish_seen_subcommand_from verify" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand recovery; and __fish_seen_subcommand_from verify" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand recovery; and __fish_seen_subcommand_from restore" -l into -d 'The cell: a folder that is not there or has nothing but its limit.json' -r -F
complete -c scalectl -n "__fish_scalectl_using_subcommand recovery; and __fish_seen_subcommand_from restore" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand recovery; and __fish_seen_subcommand_from restore" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand recovery; and __fish_seen_subcommand_from restore" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand recovery; and __fish_seen_subcommand_from restore" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand recovery; and __fish_seen_subcommand_from restore" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand recovery; and __fish_seen_subcommand_from restore" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand verify" -l since -d 'Heads that an earlier verify printed with -o json (.heads), or that whole answer: proves that nothing was cut off or rewritten since' -r -F
complete -c scalectl -n "__fish_scalectl_using_subcommand verify" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand verify" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand verify" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand verify" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand verify" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand verify" -l thorough -d 'Check the indexes of the database too'
complete -c scalectl -n "__fish_scalectl_using_subcommand verify" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand backup" -l to -d 'The file: it appears whole and verified, or not at all' -r -F
complete -c scalectl -n "__fish_scalectl_using_subcommand backup" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand backup" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand backup" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand backup" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand backup" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand backup" -l force -d 'Replace an older backup of the same ledger'
complete -c scalectl -n "__fish_scalectl_using_subcommand backup" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand restore" -l from -d 'The backup' -r -F
complete -c scalectl -n "__fish_scalectl_using_subcommand restore" -l reason -d 'Why [env: SCALECTL_REASON]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand restore" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand restore" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand restore" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand restore" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand restore" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand restore" -l replace -d 'Put the ledger that is there aside, under a dated name'
complete -c scalectl -n "__fish_scalectl_using_subcommand restore" -l in-place -d 'The ledger was put back already, by its server or with its disk: go on from there'
complete -c scalectl -n "__fish_scalectl_using_subcommand restore" -l unseal -d 'Open a ledger that has moved to another place, because that place is lost'
complete -c scalectl -n "__fish_scalectl_using_subcommand restore" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand ledger; and not __fish_seen_subcommand_from copy signers migrate" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand ledger; and not __fish_seen_subcommand_from copy signers migrate" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand ledger; and not __fish_seen_subcommand_from copy signers migrate" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand ledger; and not __fish_seen_subcommand_from copy signers migrate" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand ledger; and not __fish_seen_subcommand_from copy signers migrate" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand ledger; and not __fish_seen_subcommand_from copy signers migrate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand ledger; and not __fish_seen_subcommand_from copy signers migrate" -f -a "copy" -d 'Move the ledger to another place or engine, and seal it where it was; the same line again goes on after a crash'
complete -c scalectl -n "__fish_scalectl_using_subcommand ledger; and not __fish_seen_subcommand_from copy signers migrate" -f -a "signers" -d 'Whose signatures are taken, and whether nothing is taken without one'
complete -c scalectl -n "__fish_scalectl_using_subcommand ledger; and not __fish_seen_subcommand_from copy signers migrate" -f -a "migrate" -d 'Bring the tables of an older ledger up to this program; older programs are refused after it'
complete -c scalectl -n "__fish_scalectl_using_subcommand ledger; and __fish_seen_subcommand_from copy" -l from -d 'Where it is: a path, a name of config.toml, or an address [default: the chosen ledger]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand ledger; and __fish_seen_subcommand_from copy" -l to -d 'Where it goes: the same forms' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand ledger; and __fish_seen_subcommand_from copy" -l reason -d 'Why [env: SCALECTL_REASON]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand ledger; and __fish_seen_subcommand_from copy" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand ledger; and __fish_seen_subcommand_from copy" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand ledger; and __fish_seen_subcommand_from copy" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand ledger; and __fish_seen_subcommand_from copy" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand ledger; and __fish_seen_subcommand_from copy" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand ledger; and __fish_seen_subcommand_from copy" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand ledger; and __fish_seen_subcommand_from signers" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand ledger; and __fish_seen_subcommand_from signers" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand ledger; and __fish_seen_subcommand_from signers" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand ledger; and __fish_seen_subcommand_from signers" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand ledger; and __fish_seen_subcommand_from signers" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand ledger; and __fish_seen_subcommand_from signers" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand ledger; and __fish_seen_subcommand_from signers" -f -a "put" -d 'Let another list hold from now on'
complete -c scalectl -n "__fish_scalectl_using_subcommand ledger; and __fish_seen_subcommand_from signers" -f -a "show" -d 'Show the list that holds'
complete -c scalectl -n "__fish_scalectl_using_subcommand ledger; and __fish_seen_subcommand_from migrate" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand ledger; and __fish_seen_subcommand_from migrate" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand ledger; and __fish_seen_subcommand_from migrate" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand ledger; and __fish_seen_subcommand_from migrate" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand ledger; and __fish_seen_subcommand_from migrate" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand ledger; and __fish_seen_subcommand_from migrate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand doctor" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand doctor" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand doctor" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand doctor" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand doctor" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand doctor" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand clock; and not __fish_seen_subcommand_from accept" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand clock; and not __fish_seen_subcommand_from accept" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand clock; and not __fish_seen_subcommand_from accept" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand clock; and not __fish_seen_subcommand_from accept" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand clock; and not __fish_seen_subcommand_from accept" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand clock; and not __fish_seen_subcommand_from accept" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand clock; and not __fish_seen_subcommand_from accept" -f -a "accept" -d 'Take the time of a service back to now, where it is more than 300 s ahead: look at this clock first'
complete -c scalectl -n "__fish_scalectl_using_subcommand clock; and __fish_seen_subcommand_from accept" -l reason -d 'Why [env: SCALECTL_REASON]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand clock; and __fish_seen_subcommand_from accept" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand clock; and __fish_seen_subcommand_from accept" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand clock; and __fish_seen_subcommand_from accept" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand clock; and __fish_seen_subcommand_from accept" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand clock; and __fish_seen_subcommand_from accept" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand clock; and __fish_seen_subcommand_from accept" -l all -d 'Every service of the ledger'
complete -c scalectl -n "__fish_scalectl_using_subcommand clock; and __fish_seen_subcommand_from accept" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand metrics" -l textfile -d 'Replace this file as a whole, and print nothing' -r -F
complete -c scalectl -n "__fish_scalectl_using_subcommand metrics" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand metrics" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand metrics" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand metrics" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand metrics" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand metrics" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand quickstart" -l dir -d 'The directory that it makes [default: ~/scalectl-quickstart]' -r -F
complete -c scalectl -n "__fish_scalectl_using_subcommand quickstart" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand quickstart" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand quickstart" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand quickstart" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand quickstart" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand quickstart" -l remove -d 'Stop what it started and delete its directory'
complete -c scalectl -n "__fish_scalectl_using_subcommand quickstart" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand schema" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand schema" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand schema" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand schema" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand schema" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand schema" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand exit-codes" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand exit-codes" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand exit-codes" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand exit-codes" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand exit-codes" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand exit-codes" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand completions" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand completions" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand completions" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand completions" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand completions" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand completions" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c scalectl -n "__fish_scalectl_using_subcommand version" -l ledger -d 'The ledger: a path, or a name of config.toml [env: SCALECTL_LEDGER]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand version" -s o -l output -d 'How to print the answer' -r -f -a "table\t'For people'
json\t'One JSON document'
ndjson\t'One JSON document a line'
name\t'Names only'"
complete -c scalectl -n "__fish_scalectl_using_subcommand version" -l actor -d 'Who you say you are; a claim [env: SCALECTL_ACTOR; default: the OS user]' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand version" -l ref -d 'What varies between runs of the same wish: a commit, a ticket. Never compared' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand version" -l lock-timeout -d 'How long to wait for another writer of the ledger, up to 24h' -r
complete -c scalectl -n "__fish_scalectl_using_subcommand version" -s h -l help -d 'Print help (see more with \'--help\')'
