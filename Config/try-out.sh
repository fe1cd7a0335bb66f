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
events=$sockets/events.sock
control=$sockets/control.sock
configuration=$folder/uplinkd.conf
# A socket left from before would look as if the daemon were there.
rm -f "$events" "$control"
cat > "$configuration" <<END
[Intake]
Socket=$events
[Control]
Socket=$control
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
"$bin/uplinkd" --config "$configuration" &
daemon=$!
running+=("$daemon")

answers() { "$bin/uplinkctl" --socket "$control" status >/dev/null 2>&1; }
for _ in {1..100}; do
    for process in "${running[@]}"; do
        kill -0 "$process" 2>/dev/null && continue
        status=0
        wait "$process" || status=$?
        # What the other says at its end comes before the advice.
        trap - EXIT
        stop
        echo "One of the two has ended, with status $status." >&2
        [[ $process == "$daemon" ]] || echo "Another port for the collector: make run PORT=8081" >&2
        exit $((status == 0 ? 1 : status))
    done
    answers && break
    sleep 0.1
done
cat <<END

uplinkd is running, with its files in $folder. In another terminal say where, once:

    export PATH=${bin@Q}:"\$PATH" UPLINKD_CONFIG=${configuration@Q}
    export UPLINKD_SOCKET=${events@Q}
    export UPLINKCTL_SOCKET=${control@Q}

Then post an event there, and see it come out here:

    curl --unix-socket "\$UPLINKD_SOCKET" -d '{"event":"hello"}' http://localhost/v1/events
    echo '{"event":"boot"}' | nc -N -U "\$UPLINKD_SOCKET"
    echo '{"event":"door"}' | uplinkctl send
    uplinkctl status

To try an outage end the collector, post, and start a collector again:

    kill $collector
    uplinkctl collector --listen 127.0.0.1:$port

Ctrl-C stops both.

END
ended=
status=0
wait -n -p ended "${running[@]}" || status=$?
if [[ $ended == "$collector" ]]; then
    running=("$daemon")
    cat <<END

The collector has ended. uplinkd goes on and keeps what is posted. Start a collector again from another terminal:

    uplinkctl collector --listen 127.0.0.1:$port

END
    status=0
    wait "$daemon" || status=$?
fi
echo "uplinkd has ended, with status $status." >&2
exit $((status == 0 ? 1 : status))
