#compdef uplinkctl
# Completion of uplinkctl for zsh: commands and options are those of its --help.
local -a commands options next
local -A seen
local typed='' command='' before='' each name rest
for each in ${words[2,CURRENT-1]}; do
    [[ $each == -* || $before == --socket ]] || typed+="$each "
    before=$each
done
commands=(${(f)"$(_call_program commands $words[1] --help 2>/dev/null |
    sed -n '/^Commands:/,/^$/s/^  \([a-z]*\( [a-z][a-z]*\)*\).*  \(.*\)/\1:\3/p')"})
for each in $commands; do
    name=${each%%:*}
    [[ $typed == "$name "* ]] && command=$name
    [[ "$name " == "$typed"?* ]] || continue
    rest=${${name#$typed}%% *}
    [[ -n ${seen[$rest]} ]] || next+=("$rest:${each#*:}")
    seen[$rest]=1
done
if [[ $words[CURRENT-1] == --lane ]]; then
    compadd urgent normal bulk
elif [[ $PREFIX == -* ]]; then
    options=(${(f)"$(_call_program options $words[1] ${=command} --help 2>/dev/null |
        sed -n '/^Options:/,/^$/s/^  \(--[a-z-]*\).*  \(.*\)/\1:\2/p')"})
    _describe option options
elif (( $#next )); then
    _describe command next
elif [[ $(_call_program usage $words[1] ${=command} --help 2>/dev/null | head -n 1) == *(FILE|DIR)* ]]; then
    _files
fi
