"""Writes a large file: through a mount, with b2frame, with C-Blosc2, to btrfs, and to a filesystem
that does nothing."""

import functools
import os
from dataclasses import dataclass

import images
import make_data
import mounts
import stored
from bench_run import MB, Goal, Group, Table, alternate, part_of, ratio
from commands import run, run_json, seconds

FIELD = "field.f32"
TYPESIZE = 4
SHUFFLE = 1
THREADS = 2
# The sizes that a mount gives new files. The others use them too.
CHUNK_SIZE, BLOCK_SIZE = 128 << 10, 32 << 10
PEER_CHUNK_SIZE = 4 << 20
BTRFS_ROOM = 1 << 30
WAYS = {"cp": None, "dd bs=1M": ("bs=1M",), "dd bs=4K": ("bs=4K",),
        "dd bs=1M and fsync": ("bs=1M", "conv=fsync")}
IN_MEMORY, TO_FILE, STORED = "memory to memory", "to a frame", "what is stored"
OWN, CREATE, CREATE_AS_MOUNT = "bloscfs", "b2frame create", "b2frame create, as the mount"
PEER, NULL = "C-Blosc2", "null FUSE"


@dataclass(frozen=True)
class Codec:
    name: str
    number: int  # in the format
    level: int


CODECS = {"lz4": Codec("lz4", 1, 5), "zstd": Codec("zstd", 5, 3), "zstd1": Codec("zstd", 5, 1)}


def write(field, target, how):
    words = WAYS[how]
    if words is None:
        return seconds("cp", field, target)
    return seconds("dd", f"if={field}", f"of={target}", *words)


def into(bench, mount):
    """Returns {("MB/s", workload): value}. Writes one file at a time, and leaves the last one."""
    field = make_data.make(bench.data, FIELD, bench.size)
    measured = {}
    for how in WAYS:
        target = mount.point / "written"
        target.unlink(missing_ok=True)
        measured["MB/s", how] = bench.size / write(field, target, how) / MB
    return measured


def through_mount(bench, codec):
    source = bench.new_directory("source")
    with mounts.bloscfs(bench, source, f"codec={codec.name}", f"clevel={codec.level}") as mount:
        measured = into(bench, mount)
    frame = source / "written.b2frame"
    measured["ratio", STORED] = bench.size / frame.stat().st_size
    frame.unlink()
    return measured


def through_null(bench):
    with mounts.null_fuse(bench, 0) as mount:
        return into(bench, mount)


def through_btrfs(bench, compression):
    with mounts.new_btrfs(bench, 2 * bench.size + BTRFS_ROOM, f"compress={compression}") as mount:
        measured = into(bench, mount)
        run("sync", "-f", mount.point)
        measured["ratio", STORED] = bench.size / stored.data_of_btrfs(mount.point)
    return measured


def through_ext4(bench):
    directory = bench.new_directory("plain")
    measured = into(bench, mounts.Mount(directory))
    (directory / "written").unlink()
    return measured


def create(bench, codec, *sizes):
    field, out = make_data.make(bench.data, FIELD, bench.size), bench.scratch / "created.b2frame"
    taken = seconds(bench.build / "tools/b2frame", "create", "--codec", codec.name, "--clevel",
                    codec.level, "--filters", "shuffle", "--typesize", TYPESIZE, "--threads", THREADS,
                    *sizes, field, "-o", out)
    measured = {("MB/s", TO_FILE): bench.size / taken / MB,
                ("ratio", STORED): bench.size / out.stat().st_size}
    out.unlink()
    return measured


def peer(bench, codec):
    field, out = make_data.make(bench.data, FIELD, bench.size), bench.scratch / "peer.b2frame"
    settings = [codec.number, codec.level, SHUFFLE, TYPESIZE, PEER_CHUNK_SIZE, 0, THREADS]
    encoded = run_json(*bench.blosc2("encode", field, *settings))
    taken = seconds(*bench.blosc2("create", field, out, *settings))
    measured = {("MB/s", IN_MEMORY): bench.size / encoded["seconds"] / MB,
                ("MB/s", TO_FILE): bench.size / taken / MB,
                ("ratio", STORED): bench.size / os.path.getsize(out)}
    out.unlink()
    return measured


def limit(null, codec):
    """Returns the smaller of two rates: that of null FUSE, and that of the codec on the processors
    that null FUSE leaves free. The codec's rate was measured on THREADS processors. Null FUSE uses
    one, on which the writer and the daemon alternate."""
    if null is None or codec is None:
        return None
    return min(null, THREADS / (1 / null + THREADS / codec))


def goals(rates, ratios, codec):
    found = []
    for how in ("cp", "dd bs=1M"):
        most = limit(rates.median(NULL, how), rates.median(CREATE_AS_MOUNT, TO_FILE))
        found.append(Goal(f"{how}: to null FUSE, and b2frame create beside it",
                          ratio(rates.median(OWN, how), most), 0.8))
    for where, target in ((TO_FILE, 1), (IN_MEMORY, 0.9)):
        found.append(Goal(f"b2frame create: to C-Blosc2 {where}, 2 threads",
                          ratio(rates.median(CREATE, TO_FILE), rates.median(PEER, where)), target))
    if codec.name == "zstd":
        how, btrfs = "dd bs=1M and fsync", "btrfs zstd:3"
        found += [Goal(f"{how}: to {btrfs}", ratio(rates.median(OWN, how), rates.median(btrfs, how)),
                       1),
                  Goal(f"how much smaller the file is than in {btrfs}",
                       ratio(ratios.median(OWN, STORED), ratios.median(btrfs, STORED)), 1)]
    return found


def measure(bench, codec):
    title = f"Writing, {codec.name} level {codec.level} + shuffle, float32"
    images.warm(make_data.make(bench.data, FIELD, bench.size))
    subjects = {
        OWN: functools.partial(through_mount, bench, codec),
        NULL: functools.partial(through_null, bench),
        CREATE: functools.partial(create, bench, codec, "--chunk-size", PEER_CHUNK_SIZE),
        CREATE_AS_MOUNT: functools.partial(create, bench, codec, "--chunk-size", CHUNK_SIZE,
                                           "--block-size", BLOCK_SIZE),
        PEER: functools.partial(peer, bench, codec),
        "btrfs zstd:3": functools.partial(through_btrfs, bench, "zstd:3"),
        "btrfs lzo": functools.partial(through_btrfs, bench, "lzo"),
        "no compression": functools.partial(through_ext4, bench),
    }
    cells = alternate(bench, title, subjects)
    rates = Table("Throughput", "MB/s", part_of(cells, "MB/s"))
    ratios = Table("Contents to what is stored", "ratio", part_of(cells, "ratio"))
    return Group(title, [rates, ratios], goals(rates, ratios, codec))


GROUPS = {f"writing-{name}": functools.partial(measure, codec=codec)
          for name, codec in CODECS.items()}
