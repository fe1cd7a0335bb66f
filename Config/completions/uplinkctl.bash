# Completion of uplinkctl for bash: commands and options are those of its --help.
_uplinkctl() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command='' each
    local commands
    commands=$("${COMP_WORDS[0]}" --help 2>/dev/null | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\).*/\1/p')
    for each in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        [[ " ${commands//$'\n'/ } " == *" $each "* ]] && command=$each && break
    done
    COMPREPLY=()
    case $before in
        --lane) mapfile -t COMPREPLY < <(compgen -W 'urgent normal bulk' -- "$word"); return ;;
        --socket) mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    esac
    if [[ $word == -* ]]; then
        # shellcheck disable=SC2086
        mapfile -t COMPREPLY < <(compgen -W "$("${COMP_WORDS[0]}" $command --help 2>/dev/null |
            sed -n '/^Options:/,/^$/s/^  \(--[a-z-]*\).*/\1/p')" -- "$word")
    elif [[ -z $command ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$word")
    else
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
    fi
}
complete -o filenames -F _uplinkctl uplinkctl
