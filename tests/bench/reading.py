"""Cold sequential reads. Each mount is a new one, so its page cache is empty."""

import functools

import images
import mounts
import peers
import stored
from bench_run import MB, Goal, Group, Table, alternate, ratio
from commands import run_json, seconds

# The kernel's readahead in KiB. A bloscfs keeps its own setting, and is listed with both.
READ_AHEADS = (128, mounts.OWN_READ_AHEAD)
WAYS = ("cat", "dd bs=1M", "dd bs=128K", "dd bs=4K", "mmap")
FIELD, MIXED = "field.f32", "mixed"
IN_MEMORY, ONE_THREAD = "memory to memory", "C-Blosc2, 1 thread"
OWN, NULL, LIMIT = "bloscfs", "null FUSE", "L"


def row(how, read_ahead):
    return f"{how}, readahead {read_ahead}K"


PEER_GOAL_ROWS = [row("dd bs=1M", read_ahead) for read_ahead in READ_AHEADS]
GOAL_ROWS = [row("cat", read_ahead) for read_ahead in READ_AHEADS] + PEER_GOAL_ROWS
# Null FUSE is a limit for a bloscfs only with the same readahead.
LIMIT_GOAL_ROWS = [row(how, mounts.OWN_READ_AHEAD) for how in ("cat", "dd bs=1M")]


def command(bench, how, file):
    if how == "cat":
        return ["cat", file]
    if how == "mmap":
        return [bench.program("read_bench"), "scan", file]
    return [*how.split(), f"if={file}", "of=/dev/null"]


def read_cold(bench, mounting):
    for read_ahead in READ_AHEADS:
        for how in WAYS:
            with mounting() as mount:
                mount.set_read_ahead(read_ahead)
                taken = seconds(*command(bench, how, mount.data))
            yield {row(how, read_ahead): bench.size / taken / MB}


def decode(bench, content, settings, threads):
    """Yields the decoding rate for each way of reading, although the work is always the same."""
    frame = images.frame(bench, content, settings)
    for read_ahead in READ_AHEADS:
        for how in WAYS:
            took = run_json(*bench.blosc2("decode", frame, threads))
            yield {row(how, read_ahead): took["nbytes"] / took["seconds"] / MB}


def copy(bench):
    took = run_json(bench.program("read_bench"), "copy", bench.size)
    return {IN_MEMORY: took["nbytes"] / took["seconds"] / MB}


def rates(bench, title, content, settings, others):
    """Measures the rates of bloscfs, of its limits, and of peers."""
    mounted = {OWN: peers.bloscfs(bench, content, settings),
               NULL: peers.null_fuse(bench), **others}
    subjects = {name: functools.partial(read_cold, bench, mounting)
                for name, mounting in mounted.items()}
    for threads, name in ((1, ONE_THREAD), (2, "C-Blosc2, 2 threads")):
        subjects[name] = functools.partial(decode, bench, content, settings, threads)
    subjects["memcpy"] = functools.partial(copy, bench)
    results = Table(title, "MB/s", alternate(bench, title, subjects), in_chart=tuple(GOAL_ROWS))
    add_limit(results)
    return results


def add_limit(results):
    """Adds the rate that follows if delivery and decoding do not overlap."""
    limits = {}
    for workload in results.cells[NULL]:
        delivery, decoding = results.median(NULL, workload), results.median(ONE_THREAD, workload)
        if decoding:
            limits[workload] = [1 / (1 / delivery + 1 / decoding)]
    if limits:
        results.cells[LIMIT] = limits


def goals_relative_to_limit(results):
    goals = []
    for workload in LIMIT_GOAL_ROWS:
        value = ratio(results.median(OWN, workload), results.median(LIMIT, workload))
        goals.append(Goal(f"{workload}: to {LIMIT}", value, 1.1))
    return goals


def goals_relative_to(results, names, target):
    """Returns goals against the fastest of some peers."""
    goals = []
    for workload in PEER_GOAL_ROWS:
        rates = [rate for name in names if (rate := results.median(name, workload))]
        value = ratio(results.median(OWN, workload), max(rates, default=None))
        goals.append(Goal(f"{workload}: to {' or '.join(names)}", value, target))
    return goals


def lz4_peers(bench, content):
    return {**peers.squashfs(bench, content, "lz4"), **peers.erofs(bench, content),
            **peers.btrfs(bench, content, "lzo"), **peers.ext4(bench, content)}


def zstd_peers(bench, content):
    return {**peers.squashfs(bench, content, "zstd"), **peers.btrfs(bench, content, "zstd:3")}


def beside_lz4(bench, title, content, settings):
    results = rates(bench, title, content, settings, lz4_peers(bench, content))
    return Group(title, [results, stored.table(bench, content, settings, "lz4", "lzo")],
                 [*goals_relative_to_limit(results), *goals_relative_to(results, [NULL], 0.75),
                  *goals_relative_to(results, ["squashfuse lz4 128K"], 1.5),
                  *goals_relative_to(results, ["squashfs lz4 128K"], 1.5),
                  *goals_relative_to(results, ["erofs lz4 128K"], 1.5)])


def beside_zstd(bench, title, content, settings):
    results = rates(bench, title, content, settings, zstd_peers(bench, content))
    return Group(title, [results, stored.table(bench, content, settings, "zstd", "zstd:3")],
                 [*goals_relative_to_limit(results), *goals_relative_to(results, ["squashfuse zstd 128K"], 4),
                  *goals_relative_to(results, ["squashfs zstd 128K", "squashfs zstd 1M"], 2.5)])


def lz4(bench):
    title = "Cold sequential reading, lz4-5 + shuffle, float32"
    return beside_lz4(bench, title, FIELD, peers.LZ4)


def lz4_mixed(bench):
    """In text and programs the peers must decode, too: their LZ4 cannot compress noisy numbers."""
    title = "Cold sequential reading, lz4-5, text and programs"
    return beside_lz4(bench, title, MIXED, peers.MIXED_LZ4)


def zstd(bench):
    title = "Cold sequential reading, zstd-5 + bitshuffle, float32"
    return beside_zstd(bench, title, FIELD, peers.ZSTD)


def zstd_mixed(bench):
    title = "Cold sequential reading, zstd-5, text and programs"
    return beside_zstd(bench, title, MIXED, peers.MIXED_ZSTD)


def zlib(bench):
    title = "Cold sequential reading, zlib-5 + shuffle, float32"
    results = rates(bench, title, FIELD, peers.ZLIB, {})
    goals = [Goal(f"{workload}: to C-Blosc2's decoding by one thread",
                  ratio(results.median(OWN, workload), results.median(ONE_THREAD, workload)), 1.3)
             for workload in PEER_GOAL_ROWS]
    return Group(title, [results], goals)


GROUPS = {"reading-lz4": lz4, "reading-mixed-lz4": lz4_mixed, "reading-zstd": zstd,
          "reading-mixed-zstd": zstd_mixed, "reading-zlib": zlib}
