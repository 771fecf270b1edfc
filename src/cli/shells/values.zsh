# Names of the ledger: services, keys, actuators. What completes nothing here is a file.
(( $+functions[_scalectl_values] )) ||
_scalectl_values() {
    local -a found
    found=(${(f)"$("${_scalectl_line[1]}" complete -- "${(@)_scalectl_line[2,-1]}" 2>/dev/null)"})
    if (( $#found == 0 )); then
        _default "$@"
        return
    fi
    compadd -S '' -- ${(M)found:#*=}
    compadd -- ${found:#*=}
}

