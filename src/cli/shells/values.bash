
# Names of the ledger: services, keys, actuators.
_scalectl_and_values() {
    _scalectl "$@"
    # Labels are neither names nor files.
    if [[ $3 == -l || $3 == --selector ]]; then
        COMPREPLY=()
        compopt +o default +o bashdefault 2>/dev/null
        return 0
    fi
    local value values=()
    while IFS= read -r value; do
        values+=("$value")
    done < <("${COMP_WORDS[0]}" complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
    [[ ${#values[@]} -gt 0 ]] || return 0
    COMPREPLY=("${values[@]}")
    if [[ ${values[0]} == *= ]]; then
        compopt -o nospace 2>/dev/null
    fi
    return 0
}

if [[ "${BASH_VERSINFO[0]}" -eq 4 && "${BASH_VERSINFO[1]}" -ge 4 || "${BASH_VERSINFO[0]}" -gt 4 ]]; then
    complete -F _scalectl_and_values -o nosort -o bashdefault -o default scalectl
else
    complete -F _scalectl_and_values -o bashdefault -o default scalectl
fi
