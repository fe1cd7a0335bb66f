"""A queue of the least size: what can never fit is told so at once, and what is used is little over many starts."""
import json
import os

from harness import Script, until

LEAST = "MaxSize=1M\nKeepFree=0%\n"


def test_what_an_empty_queue_cannot_hold_is_413(daemons, collector):
    """503 would have the client try again for ever; what is not refused so fits once the queue has drained."""
    daemon = daemons(url=collector.url, options="FlushSpread=0", sections=LEAST)
    daemon.start()
    codes = {}
    for lane in ("normal", "bulk", "urgent"):
        for size in list(range(640_000, 1_048_576, 30_000)) + [1_048_000]:
            events = [{"n": number, "x": "x" * 100_000} for number in range(size // 100_020)]
            events.append({"x": "x" * max(1, size - len(json.dumps(events)) - 20)})
            until(lambda: daemon.assert_ledger()["queued"] == 0, 20, "it has drained")
            code, headers, answer = daemon.post(events, lane=lane)
            assert code in (202, 413), (lane, size, code, answer)
            codes[lane, size] = code
            if code == 413:
                assert "MaxSize" in answer["detail"] and "retry-after" not in {name.lower() for name in headers.keys()}, answer
    assert codes["normal", 640_000] == codes["bulk", 640_000] == codes["urgent", 640_000] == 202
    assert codes["normal", 1_048_000] == codes["bulk", 820_000] == 413
    # Small events cost more than their bytes.
    assert daemon.post([{}] * 16_000)[0] == 413
    assert daemon.stop() == 0


def test_many_starts(daemons, collector):
    """A machine that is offline and starts often: each start costs a few blocks, as `du` sees it."""
    starts = int(os.environ.get("UPLINKD_STARTS", "40"))
    collector.script = Script(close=True)
    daemon = daemons(url=collector.url, options="RetryMin=250ms\nRetryMax=1s\nFlushSpread=0",
                     sections="MaxSize=16M\nKeepFree=0%\n")

    def used():
        return sum(os.stat(os.path.join(folder, name)).st_blocks * 512
                   for folder, _, names in os.walk(daemon.queue) for name in names)

    for number in range(starts):
        daemon.start()
        code, _, answer = daemon.post([{"n": number}])
        assert code == 202, (number, answer)
        daemon.stop() if number % 2 else daemon.kill()
    assert used() < (1 << 20) + starts * 24 * 1024, used()
    collector.script = Script()
    daemon.start()
    until(lambda: sorted(set(collector.numbers())) == list(range(starts)), 30, lambda: daemon.read_log())
    until(lambda: daemon.assert_ledger()["delivered"] >= starts, 10, "it is counted")
    assert daemon.stop() == 0
