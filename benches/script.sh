#!/bin/sh
# script.sh STATE KEY COUNT: what a careful person writes without scalectl. A lock, a JSON file with
# every key that was ever used, a new file that is synced before it takes the place of the old one.
set -eu
state=$1 key=$2 count=$3
exec 9>"$state.lock"
flock 9
[ -e "$state" ] || echo '{"revision":0,"replicas":0,"keys":{}}' >"$state"
known=$(jq -r --arg key "$key" '.keys[$key] // empty' "$state")
if [ -n "$known" ]; then
    echo "$known"
    exit 0
fi
jq -c --arg key "$key" --argjson count "$count" \
    '.revision += 1 | .replicas = $count | .keys[$key] = $count' "$state" >"$state.new"
sync "$state.new"
mv "$state.new" "$state"
sync "$(dirname "$state")"
