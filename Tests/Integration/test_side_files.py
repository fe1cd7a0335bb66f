"""Whatever else but a segment is lost, old or full of noise in a queue's directory costs no event; and other oddities.

UPLINKD_SIDE_STARTS=30 kills so many starts.
"""
import concurrent.futures
import os
import random
import re
import shutil
import subprocess

import pytest

from harness import until
from queue_box import ALL, ONCE, OPTIONS, REACHABILITY, SECTIONS, Copies, Past, event, numbers_in, segments
from test_startup import fails, tree

STARTS = int(os.environ.get("UPLINKD_SIDE_STARTS", "10"))
AT_ONCE = 4


@pytest.fixture(scope="module")
def past(tmp_path_factory):
    return Past(str(tmp_path_factory.mktemp("past")))


@pytest.fixture
def copies(home):
    made = Copies(home)
    yield made
    made.close()


def run_all(jobs):
    """Runs (name, job) a few at once; tells all that failed."""
    failed = []
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        for name, future in [(name, pool.submit(job)) for name, job in jobs]:
            try:
                future.result()
            except Exception as error:  # noqa: BLE001
                failed.append(f"{name}: {type(error).__name__}: {error}")
    assert not failed, f"{len(failed)} failed:\n" + "\n\n".join(failed)


def noise(path, size):
    with open(path, "wb") as file:
        file.write(random.Random(path).randbytes(size))


def replaced(path, make):
    os.unlink(path)
    make(path)


DAMAGES = {
    "deleted": os.unlink,
    "emptied": lambda path: os.truncate(path, 0),
    "cut to 10 bytes": lambda path: os.truncate(path, 10),
    "cut in half": lambda path: os.truncate(path, os.path.getsize(path) // 2),
    "zeroed": lambda path: open(path, "r+b").write(bytes(os.path.getsize(path))),
    "noise": lambda path: noise(path, os.path.getsize(path)),
    "noise, longer": lambda path: noise(path, 2 * os.path.getsize(path) + 1000),
    "a folder": lambda path: replaced(path, os.mkdir),
    "a dangling link": lambda path: replaced(path, lambda path: os.symlink("nowhere", path)),
}


def test_each_file_that_is_no_segment(past, copies):
    """Damaged in all ways, it costs no event; without cursors, all that is kept is sent again."""
    paths = [path for path in past.side_files() if path != "FORMAT"]
    assert {"LOCK", "cursors"} <= set(paths) and any(path.endswith("/spare") for path in paths), paths
    assert any(path.startswith("quarantine/") for path in paths), paths

    def job(path, damage):
        def run():
            daemon = copies.make(past)
            DAMAGES[damage](os.path.join(daemon.queue, path))
            if path == "cursors":
                _, log = copies.assert_bears(past, daemon, may_repeat=ALL if damage == "a folder" else ONCE)
                # Zeros are what it holds without destinations; half of it is more than its slots.
                assert damage in ("zeroed", "cut in half") or "is unknown; it starts again at event" in log
            else:
                copies.assert_bears(past, daemon)

        return run

    # Without its lock a daemon takes nothing: the next test.
    run_all([(f"{path} {damage}", job(path, damage)) for path in paths for damage in DAMAGES
             if (path, damage) != ("LOCK", "a dangling link")])


def test_lock_that_leads_elsewhere(past, copies):
    """Events are refused with the reason, until the lock can be taken; then by itself nothing has been lost."""
    daemon = copies.make(past)
    lock = os.path.join(daemon.queue, "LOCK")
    DAMAGES["a dangling link"](lock)
    daemon.start()
    code, _, answer = daemon.post([event(0)])
    assert code == 503, answer
    assert lock in daemon.read_log()
    assert not os.path.exists(os.path.join(daemon.queue, "nowhere"))
    os.unlink(lock)
    until(lambda: daemon.post([{"n": "new", "x": ""}])[0] == 202, 10, "events are taken again")
    until(lambda: past.queued - {past.broken} <= set(daemon.arrived()), 20, "all arrives")
    until(lambda: daemon.assert_ledger()["queued"] == 0, 10, "nothing is queued")
    assert daemon.stop() == 0


def test_format_cut_in_half(past, copies):
    """One of its two copies is enough."""
    daemon = copies.make(past)
    DAMAGES["cut in half"](os.path.join(daemon.queue, "FORMAT"))
    copies.assert_bears(past, daemon)


@pytest.mark.parametrize("damage", [each for each in DAMAGES if each != "cut in half"])
def test_format(past, copies, damage):
    """Without its FORMAT a directory with segments is refused, and nothing in it is touched."""
    daemon = copies.make(past)
    DAMAGES[damage](os.path.join(daemon.queue, "FORMAT"))
    before = tree(daemon.queue)
    said = fails(daemon, 74)
    assert "FORMAT" in said and daemon.queue in said
    assert tree(daemon.queue) == before


def test_folders(past, copies):
    """A folder that is gone costs what it held, no more: the set-aside copies, or a log."""
    def quarantine():
        daemon = copies.make(past)
        shutil.rmtree(os.path.join(daemon.queue, "quarantine"))
        copies.assert_bears(past, daemon)

    def log(name):
        def run():
            daemon = copies.make(past)
            shutil.rmtree(os.path.join(daemon.queue, "logs", name))
            theirs = {number for number in past.queued if past.lanes[number] == name}
            # Nothing else in a queue says how many events a log had accepted.
            lost, log = copies.assert_bears(past, daemon, unnamed=theirs)
            assert theirs <= lost

        return run

    run_all([("quarantine", quarantine), ("urgent", log("urgent")), ("bulk", log("bulk"))])


def test_older_cursors(past, copies):
    """Cursors of before the last segments went: the daemon starts at the oldest event kept, and loses nothing."""
    daemon = copies.make(past)
    shutil.copy(os.path.join(past.folder, "older-cursors"), os.path.join(daemon.queue, "cursors"))
    copies.assert_bears(past, daemon, may_repeat=ONCE)


def test_end_of_the_newest_segment_zeroed(past, copies):
    """As after a power cut that took what was said to be written: the rest arrives, and all goes on."""
    daemon = copies.make(past)
    path = [each for each in segments(daemon.queue) if "/normal/" in each and numbers_in(each)][-1]
    held = numbers_in(path)
    with open(path, "r+b") as file:
        data = file.read()
        last = data.rfind(b"UPT1")
        start = max(0, last - (64 << 10))
        file.seek(start)
        file.write(bytes(len(data) - start))
    gone = set(held) - set(numbers_in(path))
    gone |= {number for number in held if data.find(b'{"n": %d, "x' % number) + 3500 > start}
    assert gone
    copies.assert_bears(past, daemon, unnamed=gone)


def test_things_named_like_segments(past, copies):
    """Noise, an empty file, a folder and a link with names of segments are left alone, and told."""
    daemon = copies.make(past)
    folder = os.path.join(daemon.queue, "logs", "normal")
    names = [f"{number:016x}-{first:020d}.segment" for number, first in
             ((9001, 900_001), (9002, 900_002), (9003, 900_003), (9004, 900_004))]
    noise(os.path.join(folder, names[0]), 131072)
    open(os.path.join(folder, names[1]), "w").close()
    os.mkdir(os.path.join(folder, names[2]))
    os.symlink("/etc/passwd", os.path.join(folder, names[3]))
    noise(os.path.join(folder, "notes.txt"), 100)
    _, log = copies.assert_bears(past, daemon, keeps=[os.path.join(folder, name) for name in names])
    for name in [*names, "notes.txt"]:
        assert name in log, name


def test_headers_of_segments(past, copies):
    """The first block of each segment full of noise: nothing is lost, and no file goes before it was read."""
    def job(place):
        def run():
            daemon = copies.make(past)
            with open(os.path.join(daemon.queue, place), "r+b") as file:
                file.write(random.Random(place).randbytes(512))
            copies.assert_bears(past, daemon)

        return run

    places = [os.path.relpath(path, past.queue) for path in segments(past.queue)]
    run_all([(place, job(place)) for place in places])


# Less than what is stored: events are refused then.
SMALLER = "MaxSize=1M"
SETTINGS = ["MaxSize=8M\nBlock=4096", "MaxSize=8M\nBlock=65536", "MaxSize=64M\nBlock=512", SMALLER, "MaxSize=1G"]


def test_settings_changed_between_runs(past, copies):
    """A backlog is read under any block and size, also one that is written under several."""
    def job(order):
        def run():
            daemon = copies.make(past)
            daemon.destinations, url = {"main": "http://127.0.0.1:1/"}, daemon.destinations["main"]
            more = []
            for turn, settings in enumerate(order):
                daemon.write_configuration(OPTIONS, settings + "\nKeepFree=0%\n" + REACHABILITY)
                daemon.start()
                for _ in range(20):
                    number = f"{turn}-{len(more)}"
                    code, _, answer = daemon.post([event(0) | {"n": number}])
                    if code == 202:
                        more.append(number)
                    else:
                        assert code == 503 and settings == SMALLER, (settings, answer)
                daemon.kill() if turn % 2 else daemon.stop()
            daemon.destinations = {"main": url}
            # What is kept is perhaps more than what 8 MiB allow.
            daemon.write_configuration(OPTIONS, "MaxSize=1G\nKeepFree=0%\n" + REACHABILITY)
            assert len(more) >= 80
            copies.assert_bears(past, daemon, more=more)

        return run

    chance = random.Random(1)
    orders = [chance.sample(SETTINGS, len(SETTINGS)) for _ in range(4)]
    run_all([(" / ".join(order).replace("\n", " "), job(order)) for order in orders])


def test_killed_while_it_starts(past, copies):
    """Starts that are killed at a random moment lose nothing and give nothing away."""
    daemon = copies.make(past)
    url, daemon.destinations = daemon.destinations, {"main": "http://127.0.0.1:1/"}
    daemon.write_configuration(OPTIONS, SECTIONS)
    chance = random.Random(int(os.environ.get("UPLINKD_SEED", "1")))
    for _ in range(STARTS):
        daemon.start(wait=False)
        try:
            daemon.process.wait(chance.uniform(0.005, 0.12))
        except subprocess.TimeoutExpired:
            daemon.process.kill()
            daemon.process.wait(10)
    daemon.destinations = url
    daemon.write_configuration(OPTIONS, SECTIONS)
    lost, log = copies.assert_bears(past, daemon)
    assert log.count("cannot be read, damaged") <= 1, "damage is named once"


def test_quarantine_is_full(past, copies):
    """Where set-aside files take all that they may, what is damaged is still named, and what they take is counted."""
    daemon = copies.make(past)
    url, daemon.destinations = daemon.destinations, {"main": "http://127.0.0.1:1/"}
    daemon.write_configuration(OPTIONS, "MaxSize=128M\nKeepFree=0%\n" + REACHABILITY)
    with open(os.path.join(daemon.queue, "quarantine", "0000000000000001-512.bin"), "wb") as file:
        file.truncate(64 << 20)
    number = sorted(number for number in past.queued if past.lanes[number] == "normal")[50]
    path = next(path for path in segments(daemon.queue) if number in numbers_in(path))
    with open(path, "r+b") as file:
        data = file.read()
        file.seek(data.find(b'{"n": %d, "x' % number) + 20)
        file.write(b"~")
    files = sorted(os.listdir(os.path.join(daemon.queue, "quarantine")))
    daemon.start()
    assert daemon.status()["queue"]["bytes"] > 64 << 20
    daemon.kill()
    daemon.destinations = url
    daemon.write_configuration(OPTIONS, "MaxSize=128M\nKeepFree=0%\n" + REACHABILITY)
    lost, log = copies.assert_bears(
        past, daemon, may_miss={number}, keeps=[os.path.join(daemon.queue, "quarantine", name) for name in files])
    assert number in lost and re.search(r"cannot be read, damaged: .*, logs/\w+/[0-9a-f]{16}-\*\.segment at \d", log)
