#!/bin/bash
# Starts a collector and the daemon on files in .run, until Ctrl-C: try-out.sh DIRECTORY-OF-THE-PROGRAMS
# The collector listens on port 8080, or on $PORT.
set -euo pipefail
cd "$(dirname "$0")/.."
bin=$1
port=${PORT:-8080}
folder=$PWD/.run
mkdir -p "$folder/queue"
chmod 700 "$folder/queue"
sockets=$folder
# A Unix socket's path has at most 107 bytes.
if ((${#sockets} > 90)); then
    sockets=$(mktemp -d /tmp/uplinkd-run.XXXXXX)
fi
cat > "$folder/uplinkd.conf" <<END
[Intake]
Socket=$sockets/events.sock
[Control]
Socket=$sockets/control.sock
[Queue]
Directory=$folder/queue
[Destination "main"]
URL=http://127.0.0.1:$port/
END

running=()
stop() {
    trap '' INT TERM
    for process in "${running[@]}"; do kill -TERM "$process" 2>/dev/null || true; done
    for process in "${running[@]}"; do wait "$process" 2>/dev/null || true; done
    [[ $sockets == "$folder" ]] || rm -rf "$sockets"
}
trap 'stop; exit 0' INT TERM
trap stop EXIT

"$bin/uplinkctl" collector --listen "127.0.0.1:$port" &
running+=($!)
"$bin/uplinkd" --config "$folder/uplinkd.conf" &
running+=($!)
for _ in {1..100}; do
    [[ -S $sockets/events.sock ]] && break
    kill -0 "${running[@]}" 2>/dev/null || break
    sleep 0.1
done
if kill -0 "${running[@]}" 2>/dev/null; then
    cat <<END

uplinkd is running, with its files in $folder. From another terminal post an event, and see it come out here:

    curl --unix-socket $sockets/events.sock -d '{"event":"hello"}' http://localhost/v1/events
    echo '{"event":"boot"}' | nc -N -U $sockets/events.sock
    $bin/uplinkctl --socket $sockets/control.sock status

Ctrl-C stops both.

END
fi
status=0
wait -n "${running[@]}" || status=$?
echo "One of the two has ended, with status $status." >&2
exit $((status == 0 ? 1 : status))
