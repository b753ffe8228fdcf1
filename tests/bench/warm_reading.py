"""Reads that the page cache serves without the filesystem."""

import functools
import statistics

import peers
import reading
from bench_run import MB, Goal, Group, Table, alternate, part_of, ratio
from commands import run_json, seconds

TITLE = "Warm reading"
WAYS = ("dd bs=1M", "dd bs=128K", "mmap")
PASSES = 5  # each is short
RANDOM = {"4K pread": "pread", "4K from mmap": "mmap"}


def read_warm(bench, mounting):
    """Returns {(unit, workload): value}."""
    measured = {}
    with mounting() as mount:
        seconds("cat", mount.data)
        for how in WAYS:
            command = reading.command(bench, how, mount.data)
            taken = statistics.median(seconds(*command) for _ in range(PASSES))
            measured["MB/s", how] = bench.size / taken / MB
        for name, how in RANDOM.items():
            command = [bench.program("read_bench"), "random", mount.data, how, 4096, 1]
            took = [run_json(*command) for _ in range(PASSES)]
            measured["µs", name] = statistics.median(one["p50"] for one in took)
    return measured


def measure(bench):
    field = reading.FIELD
    mounted = {"bloscfs": peers.bloscfs(bench, field, peers.LZ4),
               "null FUSE": peers.null_fuse(bench), **peers.ext4(bench, field),
               **peers.squashfs(bench, field, "lz4"), **peers.erofs(bench, field)}
    subjects = {name: functools.partial(read_warm, bench, mounting)
                for name, mounting in mounted.items()}
    cells = alternate(bench, TITLE, subjects)
    rates = Table("Throughput", "MB/s", part_of(cells, "MB/s"))
    latencies = Table("Median latency", "µs", part_of(cells, "µs"))
    goals = []
    for limit in ("null FUSE", "ext4"):
        goals += [Goal(f"{how}: to {limit}", ratio(rates.median("bloscfs", how),
                                                   rates.median(limit, how)), 0.95) for how in WAYS]
        goals += [Goal(f"{name}, reads per second: to {limit}",
                       ratio(latencies.median(limit, name), latencies.median("bloscfs", name)), 0.95)
                  for name in RANDOM]
    return Group(TITLE, [rates, latencies], goals)


GROUPS = {"warm": measure}
