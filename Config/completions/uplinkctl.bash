# Completion of uplinkctl for bash: uplinkctl itself says what fits.
_uplinkctl() {
    local word='' each offered=() words=()
    COMPREPLY=()
    # Bash takes --lane=bulk for three words.
    for each in "${COMP_WORDS[@]:1:COMP_CWORD}"; do
        if [[ ${#words[@]} -gt 0 && ${words[-1]} == --* && ($each == = || ${words[-1]} == *=) ]]; then
            words[-1]+=$each
        else
            words+=("$each")
        fi
    done
    word=${COMP_WORDS[COMP_CWORD]#=}
    mapfile -t offered < <("${COMP_WORDS[0]}" --complete "${words[@]}" 2>/dev/null)
    case ${offered[0]-} in
        files) mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
        directories) mapfile -t COMPREPLY < <(compgen -d -- "$word") ;;
        words) COMPREPLY=("${offered[@]:1}"); COMPREPLY=("${COMPREPLY[@]%%$'\t'*}"); return ;;
    esac
    compopt -o filenames 2>/dev/null
}
complete -F _uplinkctl uplinkctl
