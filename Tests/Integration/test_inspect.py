"""uplinkctl verify and export, and a reader made from Documentation/queue-format.md, on whole, damaged and live queues.

UPLINKD_FLIPS=2000 flips that many places; UPLINKD_EXPORT_MB=4000 exports that much.
"""
import collections
import concurrent.futures
import json
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import threading
import time

import pytest

from harness import ROOT, UPLINKCTL, Collector, Daemon, LineClient, Script, request, until

FLIPS = int(os.environ.get("UPLINKD_FLIPS", "500"))
SEED = int(os.environ.get("UPLINKD_SEED", "4"))
MEGABYTES = int(os.environ.get("UPLINKD_EXPORT_MB", "64"))
FIXTURE = os.path.join(ROOT, "Tests", "Fixtures", "queues", "1")
READER = os.path.join(ROOT, "Tests", "reader", "read_queue.py")
SMALL = "[Queue]\nMaxSize=4M\nKeepFree=0%\nBlock=512"


def uplinkctl(*words, **options):
    return subprocess.run([UPLINKCTL, *words], capture_output=True, timeout=60, **options)


def verify(queue):
    """The exit status and the report."""
    done = uplinkctl("--json", "verify", queue)
    assert done.stdout, done.stderr
    report = json.loads(done.stdout)
    assert report["sound"] == (done.returncode == 0) == (not report["damage"]), done
    return done.returncode, report


def export(queue, *words):
    """The exit status, the events by log and id, and the summary."""
    done = uplinkctl("export", queue, *words)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    events = {(each["log"], each["id"]): each["event"] for each in lines[:-1]}
    summary = lines[-1]["summary"]
    assert len(events) == len(lines) - 1 == summary["events"], "each event once"
    assert done.returncode == (1 if summary["unreadable"] else 0), done
    return done.returncode, events, summary


def read(queue):
    """What the reader in Python makes of it: events by log and id, and the cursors."""
    text = subprocess.run([sys.executable, READER, queue], capture_output=True, timeout=120, check=True).stdout.decode()
    events, cursors = {}, []
    for line in text.splitlines():
        kind, rest = line.split(" ", 1)
        if kind == "event":
            log, name, event = rest.split(" ", 2)
            assert (log, name) not in events, "each event once"
            events[log, name] = json.loads(event)
        else:
            destination, log, *numbers = rest.split(" ")
            cursors.append((destination, log, *map(int, numbers)))
    return events, sorted(cursors)


def cursors_of(report):
    names = ("delivered", "dead", "expired", "evicted", "purged", "quarantined")
    return sorted(
        (each["destination"], each["log"], each["low"], each["origin"], *[each["ledger"][name] for name in names])
        for each in report["cursors"]
    )


def overwrite(path, offset, data):
    with open(path, "r+b") as file:
        file.seek(offset)
        file.write(data)


def segments_of(queue, log="normal"):
    folder = os.path.join(queue, "logs", log)
    return [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.endswith(".segment")]


def used(path):
    """Every byte of a segment that is not padding, and the events by the bytes that only they stand in."""
    data = open(path, "rb").read()
    places, events = list(range(512)), {}
    at = 512
    while data[at : at + 4] == b"UPB1":
        first, count, _, size, context = struct.unpack_from("<QIIIH", data, at + 32)
        padded = (context + 7) // 8 * 8
        places += range(at, at + 128 + context)
        places += range(at + 128 + padded, at + 128 + padded + 8 * count)
        here = at + 128 + padded + 8 * count
        for sequence in range(first, first + count):
            end = here + 48 + struct.unpack_from("<I", data, here + 4)[0]
            places += range(here, end)
            events.update(dict.fromkeys(range(here, end), sequence))
            here = (end + 7) // 8 * 8
        places += range(at + size - 136 - padded, at + size - 136 - padded + context)
        places += range(at + size - 136, at + size)
        at += size
    return places, events


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A queue that the daemon wrote at two starts, in three segments of `normal`, and all events in it."""
    nowhere = "http://127.0.0.1:1/"
    daemon = Daemon(str(tmp_path_factory.mktemp("inspect")), destinations={"a": nowhere, "b": nowhere}, sections=SMALL)
    link = None
    for turn in range(2):
        daemon.start()
        link = LineClient(daemon.events)
        for number in range(40):
            link.send(b"".join(b'{"n":%d,"x":"%s"}\n' % (each, b"y" * 500) for each in range(number % 4 + 1)))
            until(lambda: link.answer() is not None, 5, "an answer")
        daemon.post([{"n": turn}], lane="urgent")
        daemon.kill()
    assert len(segments_of(daemon.queue)) >= 3
    return daemon.queue


@pytest.fixture
def queue(written, home):
    return shutil.copytree(written, os.path.join(home, "queue"))


def test_whole_queue(queue):
    status, report = verify(queue)
    assert status == 0
    status, events, summary = export(queue, "--all")
    assert summary["unreadable"] == 0 and len(events) == sum(log["events"] for log in report["logs"].values()) == 202
    assert export(queue)[1] == events, "nothing is settled"
    assert read(queue) == (events, cursors_of(report))
    text = uplinkctl("verify", queue).stdout.decode().splitlines()
    assert text[-1] == "sound: 202 events can be read", text


def test_flips(queue):
    """One flipped bit anywhere: verify tells, and export gives every other event."""
    print(f"UPLINKD_SEED={SEED}")
    chance = random.Random(SEED)
    _, events, _ = export(queue, "--all")
    files = {path: used(path) for log in ("normal", "urgent") for path in segments_of(queue, log)}
    for name in ("FORMAT", "cursors"):
        data = open(os.path.join(queue, name), "rb").read()
        sheets = [at for at in range(0, len(data), 512) if any(data[at : at + 512])]
        files[os.path.join(queue, name)] = [at + each for at in sheets for each in range(512)], {}
    everywhere = [(path, place) for path, (places, _) in files.items() for place in places]
    # A start commits the newest events again.
    copies = collections.Counter(
        (path.split("/")[-2], sequence) for path, (_, events) in files.items() for sequence in set(events.values()))
    costs = [0, 0]
    for turn in range(FLIPS):
        path, place = chance.choice(everywhere) if turn % 4 else chance.choice(
            [(path, place) for path in [chance.choice(sorted(files))] for place in files[path][0]])
        before = open(path, "rb").read()[place]
        overwrite(path, place, bytes([before ^ 1 << chance.randrange(8)]))
        where = f"{path} at {place}"
        status, report = verify(queue)
        assert status == 1 and {each["file"] for each in report["damage"]} == {os.path.relpath(path, queue)}, where
        log, hit = path.split("/")[-2], files[path][1].get(place)
        hit = hit if copies[log, hit] == 1 else None
        status, left, summary = export(queue, "--all")
        lost = set(events) - set(left)
        assert {int(name.split("-")[1]) for _, name in lost} == ({hit} if hit else set()), where
        assert not lost or lost.pop()[0] == log
        assert all(events[each] == event for each, event in left.items()), where
        assert summary["unreadable"] == len(summary["damage"]) == (1 if hit else 0), (where, summary)
        if turn % 20 == 0:
            assert read(queue)[0] == left, where
        costs[1 if hit else 0] += 1
        overwrite(path, place, bytes([before]))
    assert min(costs) > FLIPS // 20, costs
    assert verify(queue)[0] == 0


def wipe(size, fill):
    def damage(queue, chance):
        path = chance.choice(segments_of(queue))
        places, _ = used(path)
        overwrite(path, chance.choice(places) // 512 * 512, fill(size))

    return damage


def cut(queue, chance):
    path = chance.choice(segments_of(queue))
    os.truncate(path, chance.choice(used(path)[0]))


DAMAGES = {
    "zeros": wipe(1536, bytes),
    "noise": wipe(1536, random.Random(1).randbytes),
    "cut": cut,
    "segment": lambda queue, chance: os.unlink(segments_of(queue)[1]),
    "format": lambda queue, chance: overwrite(os.path.join(queue, "FORMAT"), 0, bytes(4096)),
    "no format": lambda queue, chance: os.unlink(os.path.join(queue, "FORMAT")),
    "no cursors": lambda queue, chance: os.unlink(os.path.join(queue, "cursors")),
}


@pytest.mark.parametrize("kind", DAMAGES)
def test_damaged_queue(written, home, kind):
    """All that can be read is exported, and the reader in Python reads the same."""
    _, all_events, _ = export(written, "--all")
    for seed in range(4):
        copy = shutil.copytree(written, os.path.join(home, f"queue-{seed}"))
        DAMAGES[kind](copy, random.Random(seed))
        _, events, summary = export(copy, "--all")
        assert all(all_events[each] == event for each, event in events.items())
        assert len(events) + summary["unreadable"] <= len(all_events)
        assert read(copy)[0] == events, f"{kind}, seed {seed}"
        status, report = verify(copy)
        assert status == 1 or kind in ("zeros", "noise"), (kind, seed, report)
        if len(events) + summary["unreadable"] < len(all_events):
            assert report["unfinished"] or report["damage"], "the end of a log that was cut off is told"


def test_nothing_is_written(queue, home):
    def state():
        return {
            path: (os.stat(path).st_mtime_ns, os.stat(path).st_size)
            for folder, _, names in os.walk(queue) for path in [folder] + [os.path.join(folder, name) for name in names]
        }

    before = state()
    overwrite(segments_of(queue)[0], 700, b"damage")
    before = state()
    calls = "openat,open,creat,unlink,unlinkat,rename,renameat,renameat2,mkdir,mkdirat,link,symlink,truncate,ftruncate"
    calls += ",flock,fcntl,fallocate,fsync,fdatasync,pwrite64,pwritev,utimensat,setxattr,chmod,fchmod,chown"
    for words in (["verify"], ["export"], ["export", "--all"]):
        trace = os.path.join(home, "trace")
        subprocess.run(["strace", "-f", "-y", "-e", f"trace={calls}", "-o", trace, UPLINKCTL, *words, queue],
                       capture_output=True, check=False)
        lines = [line for line in open(trace) if queue in line]
        assert len(lines) > 5
        for line in lines:
            assert "openat(" in line and "O_RDONLY" in line and "O_CREAT" not in line, line
    assert state() == before


def test_a_live_daemon(daemons, collector):
    """Beside a daemon that writes, delivers, retires and recycles, nothing is ever called damaged."""
    daemon = daemons(destinations={"a": collector.url}, sections=SMALL, options="BatchMaxEvents=50\nFlushSpread=0")
    daemon.start()
    ended = threading.Event()
    posted = [0]

    def post():
        link = LineClient(daemon.events)
        while not ended.is_set():
            count = posted[0] % 7 + 1
            link.send(b"".join(b'{"n":%d,"x":"%s"}\n' % (posted[0] + each, b"y" * 900) for each in range(count)))
            if "accepted" not in link.answer():
                break
            posted[0] += count

    thread = threading.Thread(target=post)
    thread.start()
    try:
        until(lambda: posted[0], 20, "the first events are accepted, so that the log exists")
        looks, names = 0, set()
        deadline = time.monotonic() + 60
        while looks < 25 or len(names) <= 5:
            assert time.monotonic() < deadline, f"segments come and go: {looks} looks, {sorted(names)}"
            status, report = verify(daemon.queue)
            assert status == 0, report
            status, events, summary = export(daemon.queue)
            assert status == 0, summary
            looks, names = looks + 1, names | {os.path.basename(path) for path in segments_of(daemon.queue)}
    finally:
        ended.set()
        thread.join()
    until(lambda: daemon.assert_ledger("a")["queued"] == 0, 20, "all is delivered")
    assert export(daemon.queue)[1] == {}
    collector.script = Script(status=503)
    daemon.post([{"n": number} for number in range(20)])
    _, report = verify(daemon.queue)
    status, events, _ = export(daemon.queue, "--all")
    assert read(daemon.queue) == (events, cursors_of(report))
    assert len(export(daemon.queue)[1]) == 20
    assert daemon.stop() == 0


def test_a_daemon_that_is_killed_and_started(daemons, collector):
    """Beside starts, which commit the newest events again and take away earlier copies, nothing is called damaged."""
    daemon = daemons(destinations={"a": collector.url}, sections=SMALL, options="BatchMaxEvents=50\nFlushSpread=0")
    daemon.start()
    daemon.post([{"n": 0}])
    ended = threading.Event()

    def look():
        looks = 0
        while not ended.is_set():
            for status, *_, said in (verify(daemon.queue), export(daemon.queue), export(daemon.queue, "--all")):
                assert status == 0, said
            looks += 1
        return looks

    with concurrent.futures.ThreadPoolExecutor() as pool:
        looker = pool.submit(look)
        try:
            for turn in range(30):
                collector.script = Script(status=503) if turn % 3 == 0 else Script()
                for _ in range(5):
                    daemon.post([{"n": turn, "x": "y" * 900}] * 30)
                daemon.kill()
                daemon.start()
        finally:
            ended.set()
    assert looker.result() > 5


def test_a_write_that_was_cut_off_is_no_damage(queue):
    path = segments_of(queue)[-1]
    data = open(path, "rb").read()
    starts = [at for at in range(512, len(data), 512) if data[at : at + 4] == b"UPB1"]
    size = struct.unpack_from("<I", data, starts[-1] + 48)[0]
    total = len(export(queue, "--all")[1])
    for written in range(0, size, 512):
        overwrite(path, starts[-1], data[starts[-1] : starts[-1] + written] + bytes(size - written))
        status, report = verify(queue)
        assert status == 0, (written, size, report)
        text = uplinkctl("verify", queue).stdout.decode()
        said = "no damage: a write that was cut off, of which nothing was acknowledged: logs/normal/" in text
        assert said == bool(report["unfinished"]) and text.splitlines()[-1].startswith("sound"), text
        status, events, _ = export(queue, "--all")
        assert status == 0 and total - 4 <= len(events) <= total
        assert read(queue)[0] == events


def test_the_first_format(home):
    """The directory that this format's first version wrote: looked at, read by the reader, delivered by the daemon."""
    expected = json.load(open(os.path.join(FIXTURE, "expected.json")))
    queue = shutil.copytree(os.path.join(FIXTURE, "queue"), os.path.join(home, "queue"))
    events = {(each["log"], each["id"]): each["event"] for each in expected["events"]}
    status, report = verify(queue)
    assert status == 1 and len(report["damage"]) == 1 and report["damage"][0]["kind"] == "corrupted"
    status, found, summary = export(queue, "--all")
    assert status == 1 and found == events and summary["unreadable"] == 1
    assert read(queue) == (events, cursors_of(report))
    assert [each["low"] for each in report["cursors"]] == [
        next(cursor["low"] for cursor in expected["cursors"]
             if (cursor["destination"], cursor["log"]) == (each["destination"], each["log"]))
        for each in report["cursors"]
    ]
    collectors = {name: Collector() for name in ("collector", "archive")}
    daemon = Daemon(home, destinations={name: each.url for name, each in collectors.items()}, options="FlushSpread=0")
    daemon.start()
    # It has a log of a category and, being older, no file that says what may be done with it.
    assert daemon.status()["consent"] == {"ads": "hold"}
    assert request(daemon.control, "PUT", "/v1/consent/ads", '{"state":"allow"}')[0] == 200
    try:
        for name, collector in collectors.items():
            due = [
                each["id"] for each in expected["events"] for cursor in expected["cursors"]
                if (cursor["destination"], cursor["log"]) == (name, each["log"])
                and int(each["id"].split("-")[1]) >= cursor["low"]
                and (name, each["id"]) != ("collector", expected["dead"])
            ]
            until(lambda: len(collector.taken) >= len(due), 20, f"all of {name} arrives")
            assert sorted(each["event_id"] for each in collector.taken) == sorted(due)
            ledger = daemon.assert_ledger(name)
            assert (ledger["quarantined"], ledger["purged"], ledger["dead"]) == (1, 1, int(name == "collector")), ledger
    finally:
        daemon.stop()
        for each in collectors.values():
            each.stop()


def test_what_is_no_queue_is_said_in_a_sentence(queue, home):
    empty = os.path.join(home, "empty")
    os.mkdir(empty)
    newer = shutil.copytree(queue, os.path.join(home, "newer"))
    sheet = bytearray(open(os.path.join(queue, "FORMAT"), "rb").read(512))
    sheet[12] = 2
    crc = subprocess.run(
        [sys.executable, "-c", "import sys; sys.argv = ['', '/']; source = open(%r).read().split('def get')[0]; "
         "exec(source); print(crc(bytes.fromhex(%r)))" % (READER, bytes(sheet[12:]).hex())],
        capture_output=True, check=True).stdout
    sheet[8:12] = struct.pack("<I", int(crc))
    overwrite(os.path.join(newer, "FORMAT"), 0, bytes(sheet))
    overwrite(os.path.join(newer, "FORMAT"), 2048, bytes(sheet))
    for directory, sentence in [
        (os.path.join(home, "none"), "no such directory"),
        (os.path.join(queue, "FORMAT"), "not a queue of this daemon: not a directory"),
        (empty, "not a queue of this daemon: it holds no FORMAT"),
        (newer, "FORMAT: format 2 with features 0 is not known to this version"),
    ]:
        for command in ("verify", "export"):
            done = uplinkctl(command, directory)
            assert done.returncode == 1 and not done.stdout, done
            assert sentence in done.stderr.decode() and done.stderr.count(b"\n") == 1, done
    done = uplinkctl("verify", queue, "more")
    assert done.returncode == 2


def test_the_configured_directory_is_the_default(queue, home):
    configuration = os.path.join(home, "uplinkd.conf")
    with open(configuration, "w") as file:
        file.write(f"[Queue]\nDirectory={queue}\n")
    done = uplinkctl("verify", env={"UPLINKD_CONFIG": configuration, "UPLINKCTL_SOCKET": os.path.join(home, "none")})
    assert done.returncode == 0 and done.stdout.startswith(queue.encode()), done
    assert done.stderr.decode() == f"uplinkctl: looking at {queue}, as {configuration} says\n"


def test_a_running_daemon_says_where_its_queue_is(daemons):
    daemon = daemons().start()
    daemon.post([{"n": 1}])
    for command in ("verify", "export"):
        done = uplinkctl(command, env={"UPLINKCTL_SOCKET": daemon.control, "UPLINKD_CONFIG": "/none"})
        assert done.returncode == 0 and daemon.queue.encode() in done.stdout, done
        assert done.stderr.decode() == f"uplinkctl: looking at {daemon.queue}, the daemon's\n"
    assert daemon.stop() == 0
    done = uplinkctl("verify", env={"UPLINKCTL_SOCKET": daemon.control, "UPLINKD_CONFIG": "/none"})
    assert b"/var/lib/uplinkd, the default" in done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_destinations_are_listed_in_their_order(daemons):
    names = [f"d{number}" for number in range(6)]
    daemon = daemons(destinations={name: "http://127.0.0.1:1/x" for name in names}).start()
    for lane in ("bulk", "normal", "urgent"):
        assert daemon.post([{"n": 1}], lane=lane)[0] == 202
    daemon.stop()
    found = [(each["destination"], each["log"]) for each in verify(daemon.queue)[1]["cursors"]]
    assert found == [(name, lane) for name in names for lane in ("urgent", "normal", "bulk")]


def test_who_may_not_look_is_told_so(queue, home):
    os.chmod(home, 0o711)
    program = shutil.copy(UPLINKCTL, home)
    os.chmod(program, 0o755)
    for command in ("verify", "export"):
        done = subprocess.run([program, command, queue], capture_output=True, user=65534, group=65534, extra_groups=[])
        assert done.returncode == 77 and b"EACCES" in done.stderr and not done.stdout, done


def test_memory_is_bounded(home):
    daemon = Daemon(home, sections="[Queue]\nMaxSize=%dM\nKeepFree=0%%" % (2 * MEGABYTES + 64)).start()
    link = LineClient(daemon.events)
    line = b'{"x":"%s"}\n' % (b"y" * 990)
    for turn in range(MEGABYTES):
        link.send(line * 1000)
        until(lambda: link.answer()["accepted"] == (turn + 1) * 1000, 20, "a megabyte is taken")
    assert daemon.stop() == 0
    for words in (["verify"], ["export"]):
        # A small process between: the peak of one that forks counts for its child, too.
        code = (
            "import resource, subprocess, sys; subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True); "
            "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
        )
        command = [sys.executable, "-c", code, UPLINKCTL, *words, daemon.queue]
        done = subprocess.run(command, capture_output=True, check=True)
        print(words, int(done.stdout), "KiB")
        assert int(done.stdout) < 64 * 1024


@pytest.mark.parametrize("heading,source,fields", [
    ("## FORMAT", "Format/FormatPage", 8),
    ("## Segments", "Format/SegmentHeader", 23),
    ("### Batches", "Format/BatchHeader", 19),
    ("### Records", "Log/RecordLayout", 7),
    ("## cursors", "Format/CursorSlot", 15),
    ("## Dead letters", "DeadLetter/DeadLetter", 14),
])
def test_the_page_says_what_the_sources_say(heading, source, fields):
    """The tables of Documentation/queue-format.md and the drawings in the sources have the same fields."""
    page = open(os.path.join(ROOT, "Documentation", "queue-format.md")).read()
    section = page.split("\n" + heading, 1)[1].split("\n#", 1)[0]
    kinds = r"u8|u16|u32|u64|i64|\d+ B"
    told = set(re.findall(rf"^\| (\d+) \| ({kinds}) \|", section, re.M))
    text = open(os.path.join(ROOT, "Sources", "Queue", source + ".swift")).read()
    drawn = set(re.findall(rf"^/// +(\d+) +({kinds})\b", text, re.M))
    # The batch's own parts and its trailer are told in words.
    drawn -= {("0", "128 B"), ("4", "128 B"), ("132", "u32")} if source.endswith("BatchHeader") else set()
    drawn -= {("0", "512 B"), ("2048", "512 B")} if source.endswith("FormatPage") else set()
    assert told == drawn and len(told) == fields
