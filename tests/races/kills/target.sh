#!/bin/sh
# The target of the kill loop. All that it knows is in logs in $FAKE_ACTUATOR_DIR, and whatever it
# does is one line of one of them, so that a kill comes before it or after it and never into it.
#
#   next          N WORDS: what the N-th `apply` does; every other one is `ok`
#   calls.log     KEY ATTEMPT DESIRED PID of every apply, written when it begins
#   effects.log   the same of every change, written before any answer; the last line is the count
#   refused.log   KEY ATTEMPT that lookup has promised to refuse
#
# Words: ok, unknown, hang (change, then never end), late SECONDS (wait, then ok),
# fail retryable CODE.
set -eu
read -r request

string() { # string NAME -> $value
    rest=${request#*\""$1"\":\"}
    if [ "$rest" = "$request" ]; then value=; else value=${rest%%\"*}; fi
}
number() { # number NAME -> $value
    rest=${request#*\""$1"\":}
    if [ "$rest" = "$request" ]; then value=; else value=${rest%%[!0-9]*}; fi
}
answer() { printf '{"protocol":"scalectl.actuator/1",%s}\n' "$1"; }
result() { # result STATE SCALED COUNT RETRYABLE CODE -> $value
    value="\"result\":{\"execution_key\":\"$key\",\"target\":$target,\"state\":\"$1\",\"scaled\":$2"
    value="$value,\"observed_replicas\":$3,\"retryable\":$4,\"error_code\":$5}"
}
look() { # -> $count, $version, and of this key $found, $found_count
    count=0 version=1 found='' found_count=''
    [ -e effects.log ] || return 0
    while read -r its_key its_attempt its_count _; do
        count=$its_count version=$((version + 1))
        if [ "$its_key" = "$key" ]; then found=$its_attempt found_count=$its_count; fi
    done <effects.log
}
refuse_stale() {
    [ -e refused.log ] || return 0
    while read -r its_key its_attempt; do
        if [ "$its_key" = "$key" ] && [ "$its_attempt" -ge "$attempt" ]; then
            result failed false null false '"stale_fence"'
            answer "$value"
            exit 0
        fi
    done <refused.log
}
effect() {
    refuse_stale
    echo "$key $attempt $desired $$" >>effects.log
}
succeed() {
    look
    result succeeded true "$desired" false null
    answer "$value,\"resource_version_after\":\"$version\""
}
apply() {
    echo "$key $attempt $desired $$" >>calls.log
    mine=0
    while read -r _; do mine=$((mine + 1)); done <calls.log
    words=ok
    if [ -e next ]; then
        read -r number its_words <next
        if [ "$number" = $mine ]; then words=$its_words; fi
    fi
    case $words in
    ok) effect && succeed ;;
    'late '*) sleep "${words#late }" && effect && succeed ;;
    hang) effect && exec sleep 3600 ;;
    unknown)
        effect
        result failed false null true '"connection_lost"'
        answer "$value,\"outcome_unknown\":true"
        ;;
    'fail retryable '*)
        result failed false null true "\"${words##* }\""
        answer "$value"
        ;;
    *) echo "next says: $words" >&2 && exit 64 ;;
    esac
}

string op && op=$value
if [ "$op" = describe ]; then
    environment='"environment":["FAKE_ACTUATOR_DIR","PATH"]'
    answer "\"name\":\"log\",\"version\":\"1\",$environment,\"capabilities\":{\"inspect\":true,\"lookup\":true}"
    exit 0
fi
cd "$FAKE_ACTUATOR_DIR"
string execution_key && key=$value
string workload_id && workload=$value
number attempt && attempt=$value
number desired_replicas && desired=$value
target=${request#*\"target\":} target=${target%%\}*}\}

case $op in
inspect)
    look
    value="\"target\":{\"cluster_id\":\"fake\",\"runtime_id\":\"sh\",\"workload_id\":\"$workload\""
    value="$value,\"target_uid\":\"fake:$workload\",\"target_resource_version\":\"$version\"}"
    value="$value,\"replicas\":$count,\"ready_replicas\":$count"
    answer "$value,\"read_at\":\"$(date -u +%Y-%m-%dT%H:%M:%S.%6NZ)\",\"owners\":[]"
    ;;
apply) apply ;;
lookup)
    look
    if [ -n "$found" ]; then
        result succeeded true "$found_count" false null
        answer "\"outcome\":\"applied\",$value"
    else
        echo "$key $attempt" >>refused.log
        answer '"outcome":"never"'
    fi
    ;;
*) answer '"error":{"code":"unknown_op"}' ;;
esac
