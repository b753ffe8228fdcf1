"""Cold sequential reads: each mount is a new one, so that its page cache is empty."""

import functools

import images
import peers
from bench_run import MB, Goal, Group, Table, alternate, ratio
from commands import run_json, seconds

NAME, TITLE = "reading", "Cold sequential reading"
READ_AHEADS = (128, 1024)  # of the kernel, in KiB
WAYS = ("cat", "dd bs=1M", "dd bs=128K", "dd bs=4K", "mmap")
FIELD, MIXED = "field.f32", "mixed"
IN_MEMORY = "memory to memory"


def row(how, read_ahead):
    return f"{how}, readahead {read_ahead}K"


def command(bench, how, file):
    if how == "cat":
        return ["cat", file]
    if how == "mmap":
        return [bench.program("read_bench"), "scan", file]
    return [*how.split(), f"if={file}", "of=/dev/null"]


def read_cold(bench, mounting):
    measured = {}
    for read_ahead in READ_AHEADS:
        for how in WAYS:
            with mounting() as mount:
                mount.set_read_ahead(read_ahead)
                taken = seconds(*command(bench, how, mount.data))
            measured[row(how, read_ahead)] = bench.size / taken / MB
    return measured


def decode(bench, content, settings, threads):
    frame = images.frame(bench, content, settings)
    took = run_json(*bench.blosc2("decode", frame, threads))
    return {IN_MEMORY: took["nbytes"] / took["seconds"] / MB}


def copy(bench):
    took = run_json(bench.program("read_bench"), "copy", bench.size)
    return {IN_MEMORY: took["nbytes"] / took["seconds"] / MB}


def table(bench, title, content, settings, others):
    """Of bloscfs, what limits it, and peers."""
    mounted = {"bloscfs": peers.bloscfs(bench, content, settings),
               "null FUSE": peers.null_fuse(bench), **others}
    subjects = {name: functools.partial(read_cold, bench, mounting)
                for name, mounting in mounted.items()}
    for threads in (1, 2):
        subjects[f"C-Blosc2, {threads} thread{'s'[: threads - 1]}"] = functools.partial(
            decode, bench, content, settings, threads)
    subjects["memcpy"] = functools.partial(copy, bench)
    return Table(title, "MB/s", alternate(bench, title, subjects))


def without_overlap(results, workload):
    """The rate at which delivering and decoding follow each other: L."""
    null = results.median("null FUSE", workload)
    decoding = results.median("C-Blosc2, 1 thread", IN_MEMORY)
    return 1 / (1 / null + 1 / decoding) if null and decoding else None


def goals_beside_limit(results):
    goals = []
    for how in ("cat", "dd bs=1M"):
        for read_ahead in READ_AHEADS:
            workload = row(how, read_ahead)
            value = ratio(results.median("bloscfs", workload), without_overlap(results, workload))
            goals.append(Goal(f"{results.title}, {workload}: to L", value, 1.1))
    return goals


def goals_beside_peers(results, targets):
    """Each target is for the fastest of some peers."""
    goals = []
    for names, target in targets:
        for read_ahead in READ_AHEADS:
            workload = row("dd bs=1M", read_ahead)
            rates = [rate for name in names if (rate := results.median(name, workload))]
            value = ratio(results.median("bloscfs", workload), max(rates, default=None))
            goals.append(Goal(f"{results.title}, {workload}: to {' or '.join(names)}", value, target))
    return goals


def measure(bench):
    lz4 = table(bench, "lz4-5 + shuffle, float32", FIELD, peers.LZ4,
                {**peers.squashfs(bench, FIELD, "lz4"), **peers.erofs(bench, FIELD),
                 **peers.btrfs(bench, FIELD, "lzo"), **peers.ext4(bench, FIELD)})
    zstd = table(bench, "zstd-5 + bitshuffle, float32", FIELD, peers.ZSTD,
                 {**peers.squashfs(bench, FIELD, "zstd"), **peers.btrfs(bench, FIELD, "zstd:3")})
    mixed = table(bench, "zstd-5, text and programs", MIXED, peers.MIXED,
                  {**peers.squashfs(bench, MIXED, "zstd"), **peers.btrfs(bench, MIXED, "zstd:3")})
    zlib = table(bench, "zlib-5 + shuffle, float32", FIELD, peers.ZLIB, {})
    goals = [
        *goals_beside_limit(lz4),
        *goals_beside_peers(lz4, [(["squashfuse lz4 128K"], 3), (["squashfs lz4 128K"], 2),
                                  (["erofs lz4 128K"], 1.5)]),
        *goals_beside_limit(zstd),
        *goals_beside_peers(zstd, [(["squashfuse zstd 128K"], 4),
                                   (["squashfs zstd 128K", "squashfs zstd 1M"], 2.5)]),
        *goals_beside_limit(mixed),
    ]
    decoding = zlib.median("C-Blosc2, 1 thread", IN_MEMORY)
    for read_ahead in READ_AHEADS:
        workload = row("dd bs=1M", read_ahead)
        goals.append(Goal(f"{zlib.title}, {workload}: to C-Blosc2's decoding",
                          ratio(zlib.median("bloscfs", workload), decoding), 1.3))
    return Group(NAME, TITLE, [lz4, zstd, mixed, zlib], goals)
