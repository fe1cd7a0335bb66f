"""What every command prints with --json, against the shapes that Documentation/control.md describes."""
import json
import os
import re
import signal
import subprocess

import pytest

from harness import UPLINKCTL, Collector, Script, until
from shapes import Shapes

SHAPES = Shapes()
HELP = subprocess.check_output([UPLINKCTL, "--help"], text=True)
COMMANDS = re.findall(r"^  ([a-z]+(?: [a-z]+)?)(?= )", HELP.split("Commands:")[1].split("\n\n")[0], re.M)


def ctl(daemon, *words, stdin="", expected=0):
    environment = dict(os.environ, UPLINKCTL_SOCKET=daemon.control, UPLINKD_SOCKET=daemon.events)
    done = subprocess.run([UPLINKCTL, "--json", *words], input=stdin, capture_output=True, text=True, timeout=30,
                          env=environment)
    assert done.returncode == expected, (words, done)
    return done.stdout


def check(command, output, least=1):
    """The documents of an output, each as the page says."""
    documents = [json.loads(line) for line in output.splitlines()]
    assert len(documents) >= least and (command in SHAPES.lines or len(documents) == 1), (command, output)
    for document in documents:
        fault = SHAPES.fault(document, SHAPES.commands[command])
        assert fault is None, f"{command}: {fault}\n{output}"
    return documents


def test_every_command_has_a_shape_and_no_other():
    assert len(COMMANDS) > 15 and "dead ls" in COMMANDS, COMMANDS
    assert sorted(COMMANDS) == sorted(SHAPES.commands)


@pytest.mark.parametrize("command, document", [
    ("status", {"version": "1"}), ("dead drop", {"count": -1}), ("dead drop", {"count": 1, "more": 1}),
    ("dead drop", {"count": "1"}), ("reload", {"changed": [1], "needs_restart": [], "warnings": []}), ("flush", []),
    ("queue ls", {"logs": {"normal": {"events": 1, "bytes": 1, "oldest": {"id": "x", "age_s": 1}}}}),
])
def test_other_shapes_are_found(command, document):
    assert SHAPES.fault(document, SHAPES.commands[command])


def listening(process):
    return int(re.search(rb":(\d+)/", process.stderr.readline())[1])


def test_every_command_prints_its_shape(daemons, collector):
    """A destination that refuses, one that is away, one that is removed; each command is run, and none left out."""
    gone = Collector()
    gone.stop()
    collector.script = Script(status=400, body=b"never")
    daemon = daemons(destinations={"main": collector.url, "old": gone.url}).start()
    ran = {}

    def run(command, *words, **options):
        ran[command] = ran.get(command, []) + check(command, ctl(daemon, *command.split(), *words, **options))
        return ran[command][-1]

    watching = subprocess.Popen([UPLINKCTL, "--json", "--socket", daemon.control, "monitor"], stdout=subprocess.PIPE)
    printing = subprocess.Popen([UPLINKCTL, "--json", "collector", "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)
    try:
        port = listening(printing)
        first = run("send", stdin='{"n":1}\n{"n":2}\n')["first"]
        until(lambda: daemon.destination()["ledger"]["dead"] == 2, 10, "both are refused")
        letters = run("dead ls")["dead"]
        assert {each["id"] for each in letters} == {first, first[:-1] + "2"} and letters[0]["detail"] == "never"
        assert run("dead show", first)["dead"][0]["event"] == {"n": 1}
        kept = run("queue peek", first)
        assert kept["event"] == {"n": 1} and kept["log"] == "normal" and kept["destinations"] == ["old"]
        assert run("queue ls")["logs"]["normal"]["oldest"]["id"] == first
        assert run("queue ls")["logs"]["normal"]["events"] == 2
        run("pause", "old", "--for", "1h")
        run("resume")
        run("flush")
        assert run("status")["queue"]["room_s"] is None
        collector.script = Script()
        assert run("dead retry", first)["count"] == 1
        until(lambda: collector.numbers() == [1], 10, "the letter arrives")
        until(lambda: len(run("dead ls")["dead"]) == 1, 10, "and is no letter any more")
        assert run("dead drop", "--all", "--yes")["count"] == 1
        assert run("probe", "main")["reason"] == "none"
        assert run("consent set", "ads", "hold") == {"state": "hold", "purged": 0}
        run("send", "--consent", "ads", stdin='{"n":9}')
        assert run("consent show")["consent"] == {"ads": "hold"} == run("status")["consent"]
        assert run("purge", "--consent", "ads", "--yes")["purged"] == 1
        assert run("verify")["sound"]
        assert run("export")["summary"]["events"] == 2 and len(ran["export"]) == 3
        daemon.destinations = {"main": f"http://127.0.0.1:{port}/x"}
        daemon.write_configuration("BatchMaxEvents=7")
        assert "main" in str(run("reload")["changed"])
        assert ctl(daemon, "config", "show", daemon.configuration)
        settings = run("config show", daemon.configuration)["settings"]
        assert ["7"] == next(each for each in settings if each["key"] == "BatchMaxEvents")["values"]
        assert run("config check", daemon.configuration)["errors"] == 0
        run("destination rename", "old", "new")
        assert run("destination forget", "new", "--yes")["count"] == 2
        run("send", stdin='{"n":3}')
        line = printing.stdout.readline()
        ran["collector"] = check("collector", line.decode())
        assert ran["collector"][0]["n"] == 3
        daemon.stop()
        ran["monitor"] = check("monitor", watching.communicate(timeout=10)[0].decode(), least=3)
        assert set(ran) == set(COMMANDS)
    finally:
        for process in (watching, printing):
            process.send_signal(signal.SIGKILL)
            process.wait()
