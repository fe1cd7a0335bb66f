"""A log that the disk does not give at the start is delivered as soon as it does."""
import errno
import os
import time

from harness import until
from shim import Shim


def stopped_with_five_queued(daemons, collector, shim):
    """A daemon that has stopped, and will find the collector at its next start."""
    daemon = daemons(url="http://127.0.0.1:1/", environment=shim.environment)
    daemon.start()
    daemon.post_numbers(range(5))
    daemon.stop()
    daemon.destinations = {"main": collector.url}
    return daemon


def test_it_is_delivered_though_nothing_new_comes(daemons, collector, home):
    shim = Shim(home)
    daemon = stopped_with_five_queued(daemons, collector, shim)
    daemon.write_configuration("RetryMin=250ms\nRetryMax=1s\nFlushSpread=0")
    shim.fail("pread", ".segment", errno.EIO)
    daemon.start(wait=False)
    until(lambda: shim.hits >= 2, 10, "the log is tried")
    assert collector.numbers() == []
    shim.heal()
    until(lambda: sorted(collector.numbers()) == list(range(5)), 10, lambda: daemon.read_log())
    with collector.lock:
        assert all(each["was_queued"] == "true" for each in collector.taken), collector.taken
        assert all(each["queue_reason"] in ("connectivity", "restart") for each in collector.taken), collector.taken
    until(lambda: daemon.assert_ledger()["delivered"] == 5, 5, "it is counted")
    daemon.post_numbers([5])
    until(lambda: sorted(collector.numbers()) == list(range(6)), 10, "it goes on")
    assert daemon.stop() == 0


def test_it_is_delivered_though_the_loop_is_slow_to_begin(daemons, collector, home):
    """The disk's thread has read it before the loop's thread has taken up that the queue is open."""
    shim = Shim(home)
    daemon = stopped_with_five_queued(daemons, collector, shim)
    daemon.write_configuration("FlushSpread=0")
    daemon.wrap = ["strace", "-f", "-q", "-o", os.path.join(daemon.home, "trace"), "-e", "trace=poll",
                   "-e", "inject=poll:delay_exit=2000000"]
    shim.fail("pread", ".segment", errno.EIO, count=1)
    daemon.start()
    assert shim.hits == 1
    until(lambda: collector.numbers() == list(range(5)), 20, lambda: daemon.read_log())
    until(lambda: daemon.assert_ledger()["delivered"] == 5, 5, "it is counted")
    assert daemon.stop() == 0
