
# Names of the ledger: services, keys, actuators.
function __scalectl_values
    set -l words (commandline -opc) (commandline -ct)
    $words[1] complete -- $words[2..] 2>/dev/null
end
complete -c scalectl -f -a '(__scalectl_values)'
