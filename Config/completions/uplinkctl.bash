# Completion of uplinkctl for bash: commands and options are those of its --help.
_uplinkctl() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} typed='' command='' next='' each rest
    COMPREPLY=()
    case $before in
        --lane) mapfile -t COMPREPLY < <(compgen -W 'urgent normal bulk' -- "$word"); return ;;
        --socket) mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    esac
    before=''
    for each in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        [[ $each == -* || $before == --socket ]] || typed+="$each "
        before=$each
    done
    while read -r each; do
        [[ $typed == "$each "* ]] && command=$each
        [[ "$each " == "$typed"?* ]] && rest=${each#"$typed"} && next+=" ${rest%% *}"
    done < <("${COMP_WORDS[0]}" --help 2>/dev/null |
        sed -n '/^Commands:/,/^$/s/^  \([a-z]*\( [a-z][a-z]*\)*\).*/\1/p' | sort -u)
    if [[ $word == -* ]]; then
        # shellcheck disable=SC2086
        mapfile -t COMPREPLY < <(compgen -W "$("${COMP_WORDS[0]}" $command --help 2>/dev/null |
            sed -n '/^Options:/,/^$/s/^  \(--[a-z-]*\).*/\1/p')" -- "$word")
    elif [[ -n $next ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$next" -- "$word" | uniq)
    else
        # shellcheck disable=SC2086
        rest=$("${COMP_WORDS[0]}" $command --help 2>/dev/null | head -n 1)
        [[ $rest != *@(FILE|DIR)* ]] || mapfile -t COMPREPLY < <(compgen -f -- "$word")
    fi
}
complete -o filenames -F _uplinkctl uplinkctl
