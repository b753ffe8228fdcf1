#!/usr/bin/env python3
"""Compares bloscfs with its peers and its limits. tests/bench/run.sh builds and calls this.

usage: run.py BUILD_DIR [--size SIZE] [--rounds N] [--group NAME ...] [--library LIBBLOSC2]

Writes results.md, results.json and a chart for each group to BUILD_DIR/results. Prints the medians,
with minimum and maximum, and the ratios with their targets. Contents and images stay in
BUILD_DIR/bench-data for the next run.
"""

import argparse
import importlib
import signal
import sys
import tempfile
from pathlib import Path

import chart
import report
from bench_run import Bench, Goal

# Each module has GROUPS: a dict from names to functions, which take a Bench and return a Group.
MODULES = ["reading", "random_reading", "random_staying", "warm_reading", "parallel_reading",
           "arrays", "writing", "overwriting", "trees", "small_files", "scale", "memory", "start",
           "contention", "codec", "choices", "remote", "objects"]
CACHE_SIZE, MEMORY_OUTSIDE_CACHE = 256 << 20, 48 << 20


def number_of_bytes(text):
    """Parses a number of bytes. K, M, G or T at its end means KiB, MiB, GiB or TiB."""
    unit = "KMGT".find(text[-1:]) + 1 if text else 0
    digits = text[:-1] if unit else text
    if not (digits.isascii() and digits.isdigit()):
        raise argparse.ArgumentTypeError(f"'{text}' is not a size, such as 256M")
    return int(digits) << 10 * unit


def arguments():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1].removeprefix("usage: "))
    parser.add_argument("build", type=lambda text: Path(text).absolute())
    parser.add_argument("--size", type=number_of_bytes, default=1 << 30)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--group", dest="groups", nargs="+", action="extend", default=[])
    parser.add_argument("--library", dest="peer_library")
    return parser.parse_args()


def chosen_groups(wanted):
    """Returns the wanted groups. `reading` selects all groups whose names begin with `reading-`."""
    every = {name: measure for module in map(importlib.import_module, MODULES)
             for name, measure in module.GROUPS.items()}
    for word in wanted:
        if not any(f"{name}-".startswith(f"{word}-") for name in every):
            sys.exit(f"no group {word}; there are {', '.join(every)}")
    return {name: measure for name, measure in every.items()
            if not wanted or any(f"{name}-".startswith(f"{word}-") for word in wanted)}


def measured(bench, measure):
    bench.peak_memory = 0
    group = measure(bench)
    if bench.peak_memory:
        limit = CACHE_SIZE + MEMORY_OUTSIDE_CACHE
        group.goals.append(Goal("peak memory: to cache_size + 48 MiB", bench.peak_memory / limit, 1,
                                at_least=False))
    return group


def main():
    # Exit normally on SIGTERM, so that everything is unmounted.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    options = arguments()
    chosen = chosen_groups(options.groups)
    data = options.build / "bench-data" / str(options.size)
    results = options.build / "results"
    for directory in (data, results):
        directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="bloscfs-bench.", dir=options.build) as scratch:
        bench = Bench(options.build, data, Path(scratch), options.size, options.rounds,
                      options.peer_library)
        groups = {}
        for name, measure in chosen.items():
            groups[name] = measured(bench, measure)
            report.print_group(groups[name])
            (results / f"{name}.svg").write_text(chart.svg(groups[name]))
            # After each group, so that a failing group does not lose the results of earlier ones.
            (results / "results.md").write_text(report.markdown(bench, groups))
            (results / "results.json").write_text(report.as_json(bench, groups))
    if bench.missing:
        print("\nNot there on this machine: " + "; ".join(sorted(set(bench.missing))))


if __name__ == "__main__":
    main()
