#!/usr/bin/env python3
"""The table of DESIGN's budgets, each figure with its bar.

    bench.py --bin DIR [--rounds N] [--events N] [--scratch DIR] [--only REGEX]

DIR holds uplinkd and uplinkctl. The first rows stand beside the C twin (refd -e raw), round by round: `ratio` is
events/s over the twin's in the same round, `cpu` the daemon's CPU time in seconds per million events, `its` the twin's;
each is the median of its rounds. Bars of absolute speed hold for a quiet machine. Rows that need root say so without it.
"""
import argparse
import os
import re
import shutil
import statistics
import sys
import tempfile

import budgets
from rig import Rig, free_port

CHECKS = "[Reachability]\nCheckInterval=1s"
PLAIN, GZIP = "Compression=none", "Compression=gzip"


def median(values):
    return statistics.median(values)


def beside_the_twin(name, ours, twin, ratio, rate="", cpu=""):
    """One row: a bar is a text such as `>=0.5`, empty where DESIGN has none."""
    ratios = [a[0] / b[0] for a, b in zip(ours, twin)]
    speeds, times = ([median([each[column] for each in rounds]) for rounds in (ours, twin)] for column in (0, 1))
    print(
        f"{name:<38}{speeds[0]:>11,.0f}{rate:>12}{speeds[1]:>11,.0f}"
        f"{median(ratios):>7.2f}{ratio:>7}{times[0]:>7.2f}{cpu:>7}{times[1]:>9.2f}",
        flush=True,
    )


def twin_rows(rig, options, wanted):
    unreachable = f"http://127.0.0.1:{free_port()}/"
    print(f"{'':<38}{'uplinkd/s':>11}{'bar':>12}{'twin/s':>11}{'ratio':>7}{'bar':>7}{'cpu':>7}{'bar':>7}{'its':>9}")
    shapes = [
        ("intake, 1 client, 1 outstanding", (">=0.9",), 20_000, 1, 1),
        ("intake, 16 clients, 1 outstanding", (">=0.9",), 100_000, 16, 1),
        ("intake, 64 clients, 1 outstanding", (">=0.9",), 200_000, 64, 1),
        ("intake, 4 clients, 1000 outstanding", (">=0.5", ">=1,500,000", "<=0.6"), options.events, 4, 1000),
    ]
    for name, bars, count, clients, outstanding in shapes:
        ours, twin = [], []
        for _ in range(options.rounds if wanted(name) else 0):
            ours.append(rig.intake(lambda: rig.daemon(unreachable), min(count, options.events), clients, outstanding))
            twin.append(rig.intake(lambda: rig.twin(free_port()), min(count, options.events), clients, outstanding))
        if ours:
            beside_the_twin(name, ours, twin, *bars)
    name = f"drain of {options.events:,}, plain"
    ours, twin = [], []
    for _ in range(options.rounds if wanted(name) else 0):
        ours.append(rig.drain(
            lambda port: rig.daemon(f"http://127.0.0.1:{port}/", CHECKS, PLAIN), options.events))
        twin.append(rig.drain(rig.twin, options.events))
    if ours:
        beside_the_twin(name, ours, twin, ">=0.4", ">=1,000,000", "<=0.8")
    name = f"drain of {options.events:,}, gzip"
    if wanted(name):
        alone = budgets.zlib_alone(rig)
        ours = [rig.drain(lambda port: rig.daemon(f"http://127.0.0.1:{port}/", CHECKS, GZIP), options.events)
                for _ in range(options.rounds)]
        beside_the_twin(name + " (twin: zlib)", ours, [alone] * options.rounds, ">=0.9")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--scratch")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    made = options.scratch is None
    options.bin = os.path.abspath(options.bin)
    options.scratch = os.path.abspath(options.scratch or tempfile.mkdtemp(prefix="uplinkd-bench-", dir=os.getcwd()))
    rig = Rig(options)

    def wanted(name):
        return re.search(options.only, name) is not None

    try:
        twin_rows(rig, options, wanted)
        print(f"\n{'':<64}{'measured':>16}  bar")
        for name, bar, needs_root, measure in budgets.ROWS:
            if not wanted(name):
                continue
            if needs_root and os.geteuid():
                print(f"{name:<64}{'needs root':>16}  {bar}", flush=True)
                continue
            print(f"{name:<64}{measure(rig):>16}  {bar}", flush=True)
    finally:
        if made:
            shutil.rmtree(options.scratch, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
