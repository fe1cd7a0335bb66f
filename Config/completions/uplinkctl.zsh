#compdef uplinkctl
# Completion of uplinkctl for zsh: uplinkctl itself says what fits.
local -a offered described
local each
offered=("${(@f)$("$words[1]" --complete "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
[[ $PREFIX != --*=* ]] || compset -P '*='
case $offered[1] in
    files) _files ;;
    directories) _files -/ ;;
    words)
        for each in "${(@)offered[2,-1]}"; do
            described+=("${${each%%$'\t'*}//:/\\:}:${each#*$'\t'}")
        done
        _describe 'uplinkctl' described
        ;;
esac
