"""Reads at random places of one file, which continue until the page cache has the file."""

import functools
import statistics

import peers
from bench_run import Goal, Group, Table, alternate, ratio
from commands import run_json

TITLE = "Random reading that stays in one file"
FIELD = "field.f32"
SECONDS, SETTLED = 10, 5
EARLY, LATE = "the first second", f"from second {SETTLED + 1} to {SECONDS}"
OWN = {"bloscfs lz4": peers.LZ4, "bloscfs zstd": peers.ZSTD}
SQUASHFS = {"bloscfs lz4": "squashfs lz4 128K", "bloscfs zstd": "squashfs zstd 128K"}


def read_on(bench, mounting):
    with mounting() as mount:
        rates = run_json(bench.program("read_bench"), "stay", mount.data, SECONDS)["rates"]
    return {EARLY: rates[0], LATE: statistics.median(rates[SETTLED:])}


def measure(bench):
    mounted = {name: peers.bloscfs(bench, FIELD, settings) for name, settings in OWN.items()}
    mounted["null FUSE"] = peers.null_fuse(bench)
    for codec in ("lz4", "zstd"):
        mounted |= {name: mounting for name, mounting in peers.squashfs(bench, FIELD, codec).items()
                    if name.endswith(peers.SIZE_NAMES[peers.SMALL])}
    subjects = {name: functools.partial(read_on, bench, mounting)
                for name, mounting in mounted.items()}
    rates = Table("Reads of 4 KiB per second", "1/s", alternate(bench, TITLE, subjects))
    goals = [Goal(f"{own}, {LATE}: to {peer}", ratio(rates.median(own, LATE),
                                                     rates.median(peer, LATE)), 0.5)
             for own, peer in SQUASHFS.items()]
    return Group(TITLE, [rates], goals)


GROUPS = {"staying": measure}
