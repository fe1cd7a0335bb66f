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
# Both programs inherit the lock, so that it lasts as long as they do.
exec 9> "$folder/lock"
flock -n 9 || {
    echo "uplinkd is still running on the files in $folder: end that one first." >&2
    exit 1
}
sockets=$folder
# A Unix socket's path has at most 107 bytes.
if ((${#sockets} > 90)); then
    sockets=$(mktemp -d /tmp/uplinkd-run.XXXXXX)
fi
# A socket left from before would look as if the daemon were there.
rm -f "$sockets/events.sock" "$sockets/control.sock"
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
collector=$!
running+=("$collector")
"$bin/uplinkd" --config "$folder/uplinkd.conf" &
daemon=$!
running+=("$daemon")

answers() { "$bin/uplinkctl" --socket "$sockets/control.sock" status >/dev/null 2>&1; }
for _ in {1..100}; do
    for process in "${running[@]}"; do
        kill -0 "$process" 2>/dev/null && continue
        status=0
        wait "$process" || status=$?
        echo "One of the two has ended, with status $status." >&2
        [[ $process == "$daemon" ]] || echo "Another port for the collector: make run PORT=8081" >&2
        exit $((status == 0 ? 1 : status))
    done
    answers && break
    sleep 0.1
done
cat <<END

uplinkd is running, with its files in $folder. From another terminal post an event, and see it come out here:

    curl --unix-socket $sockets/events.sock -d '{"event":"hello"}' http://localhost/v1/events
    echo '{"event":"boot"}' | nc -N -U $sockets/events.sock
    echo '{"event":"door"}' | $bin/uplinkctl --socket $sockets/events.sock send
    $bin/uplinkctl --socket $sockets/control.sock status

To try an outage end the collector, post, and start a collector again:

    kill $collector
    $bin/uplinkctl collector --listen 127.0.0.1:$port

Ctrl-C stops both.

END
ended=
status=0
wait -n -p ended "${running[@]}" || status=$?
if [[ $ended == "$collector" ]]; then
    running=("$daemon")
    cat <<END

The collector has ended. uplinkd goes on and keeps what is posted. Start a collector again from another terminal:

    $bin/uplinkctl collector --listen 127.0.0.1:$port

END
    status=0
    wait "$daemon" || status=$?
fi
echo "uplinkd has ended, with status $status." >&2
exit $((status == 0 ? 1 : status))
