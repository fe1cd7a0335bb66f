#compdef uplinkctl
# Completion of uplinkctl for zsh: commands and options are those of its --help.
local -a commands options
local command='' each
commands=(${(f)"$(_call_program commands $words[1] --help 2>/dev/null |
    sed -n '/^Commands:/,/^$/s/^  \([a-z]*\)[^ ]*\( \[[^]]*\]\)*  *\(.*\)/\1:\3/p')"})
for each in ${words[2,CURRENT-1]}; do
    [[ -n ${(M)commands:#$each:*} ]] && command=$each && break
done
if [[ $words[CURRENT-1] == --lane ]]; then
    compadd urgent normal bulk
elif [[ $PREFIX == -* ]]; then
    options=(${(f)"$(_call_program options $words[1] $command --help 2>/dev/null |
        sed -n '/^Options:/,/^$/s/^  \(--[a-z-]*\)\( [A-Z:]*\)*  *\(.*\)/\1:\3/p')"})
    _describe option options
elif [[ -z $command ]]; then
    _describe command commands
else
    _files
fi
