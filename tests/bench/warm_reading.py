"""Reading what the page cache has, for which no filesystem is asked."""

import functools

import peers
import reading
from bench_run import MB, Goal, Group, Table, alternate, part_of, ratio
from commands import run_json, seconds

TITLE = "Warm reading"
WAYS = ("dd bs=1M", "dd bs=128K", "mmap")
RANDOM = {"4K pread": "pread", "4K from mmap": "mmap"}


def read_warm(bench, mounting):
    """{(unit, workload): value}"""
    measured = {}
    with mounting() as mount:
        seconds("cat", mount.data)
        for how in WAYS:
            taken = seconds(*reading.command(bench, how, mount.data))
            measured["MB/s", how] = bench.size / taken / MB
        for name, how in RANDOM.items():
            took = run_json(bench.program("read_bench"), "random", mount.data, how, 4096, 1)
            measured["1/s", name] = took["reads"] / took["seconds"]
    return measured


def measure(bench):
    field = reading.FIELD
    mounted = {"bloscfs": peers.bloscfs(bench, field, peers.LZ4),
               "null FUSE": peers.null_fuse(bench), **peers.ext4(bench, field),
               **peers.squashfs(bench, field, "lz4"), **peers.erofs(bench, field)}
    subjects = {name: functools.partial(read_warm, bench, mounting)
                for name, mounting in mounted.items()}
    cells = alternate(bench, TITLE, subjects)
    tables = [Table(title, unit, part_of(cells, unit))
              for title, unit in (("Throughput", "MB/s"), ("Reads per second", "1/s"))]
    goals = [Goal(f"{workload}: to {limit}",
                  ratio(table.median("bloscfs", workload), table.median(limit, workload)), 0.95)
             for table in tables for workload in table.workloads() for limit in ("null FUSE", "ext4")]
    return Group(TITLE, tables, goals)


GROUPS = {"warm": measure}
