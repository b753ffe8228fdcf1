"""Cold reads at random places, each in a block that was not read before."""

import functools
import os

import images
import peers
from bench_run import Goal, Group, Table, alternate, part_of, ratio
from commands import run_json

TITLE = "Cold random reading"
FIELD = "field.f32"
SIZES = {4096: "4K", 65536: "64K"}
READERS = (1, 4)
# KiB, for all but bloscfs, which sets its own. The kernel reads this much around a page of a
# mapping.
READ_AHEAD = 128
QUANTITIES = {"p50": "Median latency", "p99": "99th percentile", "p999": "99.9th percentile"}
# Blocks of the size that squashfs uses.
LZ4_128K = images.FrameSettings("lz4", 5, "shuffle", 4, ("--block-size", "128K"))
OWN, OWN_128K, NULL = "bloscfs lz4", "bloscfs lz4, blocks of 128K", "null FUSE"
BLOCK, SOURCE = "one block by C-Blosc2", "one cached pread"


def row(size, how, readers):
    return f"{SIZES[size]} {how}, {readers} reader{'s'[: readers - 1]}"


IN_CHART = tuple(row(4096, how, 1) for how in ("pread", "direct", "mmap"))


def can_read_directly(file):
    try:
        os.close(os.open(file, os.O_RDONLY | os.O_DIRECT))
    except OSError:
        return False
    return True


def read_randomly(bench, mounting):
    """Returns {(quantity, workload): value} for one workload after another."""
    for how in ("pread", "direct", "mmap"):
        for size in SIZES:
            for readers in READERS:
                with mounting() as mount:
                    mount.set_read_ahead(READ_AHEAD)
                    if how == "direct" and not can_read_directly(mount.data):
                        continue
                    took = run_json(bench.program("read_bench"), "random", mount.data, how, size,
                                    readers)
                workload = row(size, how, readers)
                yield {**{(quantity, workload): took[quantity] for quantity in QUANTITIES},
                       ("rate", workload): took["reads"] / took["seconds"]}


def one_block(bench, settings):
    """Measures the least cost of a cold read: decoding its block, and reading the block's stored
    bytes."""
    frame = images.frame(bench, FIELD, settings)
    images.warm(frame)
    block = run_json(*bench.blosc2("block", frame))
    pages = max(1, round(block["stored"] / 4096))
    source = run_json(bench.program("read_bench"), "random", frame, "pread",
                      min(pages, 32) * 4096, 1)
    return {("p50", BLOCK): block["microseconds"], ("p50", SOURCE): source["p50"]}


def goals(tables):
    latency, rate = tables["p50"], tables["rate"]
    workload = row(4096, "pread", 1)
    parts = [latency.median(NULL, workload), latency.median("limits", BLOCK),
             latency.median("limits", SOURCE)]
    least = parts[0] + 1.2 * parts[1] + parts[2] if all(parts) else None
    found = [Goal(f"p50 of {workload}: to null FUSE + 1.2 C-Blosc2's block + cached pread",
                  ratio(latency.median(OWN, workload), least), 1, at_least=False)]
    tails = [ratio(tables["p99"].median(name, workload), latency.median(name, workload))
             for name in (OWN, NULL)]
    found.append(Goal(f"p99 / p50 of {workload}: to null FUSE's", ratio(*tails), 1, at_least=False))
    for readers in READERS:
        workload = row(4096, "pread", readers)
        for peer, target in (("squashfs lz4 128K", 2), ("squashfuse lz4 128K", 4)):
            value = ratio(rate.median(OWN_128K, workload), rate.median(peer, workload))
            found.append(Goal(f"{workload}, blocks of 128K: reads per second to {peer}", value, target))
    return found


def measure(bench):
    mounted = {OWN: peers.bloscfs(bench, FIELD, peers.LZ4),
               OWN_128K: peers.bloscfs(bench, FIELD, LZ4_128K),
               "bloscfs zstd": peers.bloscfs(bench, FIELD, peers.ZSTD),
               NULL: peers.null_fuse(bench),
               **peers.squashfs(bench, FIELD, "lz4"),
               **peers.squashfs(bench, FIELD, "zstd"),
               **peers.erofs(bench, FIELD), **peers.btrfs(bench, FIELD, "lzo"),
               **peers.btrfs(bench, FIELD, "zstd:3"), **peers.ext4(bench, FIELD)}
    subjects = {name: functools.partial(read_randomly, bench, mounting)
                for name, mounting in mounted.items()}
    subjects["limits"] = functools.partial(one_block, bench, peers.LZ4)
    cells = alternate(bench, TITLE, subjects)
    tables = {quantity: Table(title, "µs", part_of(cells, quantity), in_chart=IN_CHART)
              for quantity, title in QUANTITIES.items()}
    tables["rate"] = Table("Reads per second", "1/s", part_of(cells, "rate"), in_chart=IN_CHART)
    return Group(TITLE, list(tables.values()), goals(tables))


GROUPS = {"random": measure}
