"""Small writes into an existing file and at its end, with and without fsync."""

import functools
import os
import random
import shutil
import statistics
import time

import make_data
import mounts
from bench_run import Goal, Group, Table, alternate, ratio

TITLE = "Small writes"
FIELD = "field.f32"
LARGEST = 256 << 20  # of the file in bytes
WRITE_SIZE = 4096
WRITES, SYNCED_WRITES = 2000, 300
SEED = 20240229
BTRFS_ROOM = 1 << 30
SYNCED = "4K overwritten and fsync"
FLUSHES = "a chunk and a header, each flushed"
CHUNK, HEADER = 48 << 10, 97  # of the float32 field, as a mount stores it with LZ4


def write_each(file, offsets, data, sync):
    """Returns the median time of a write in microseconds."""
    times = []
    for offset in offsets:
        begin = time.perf_counter()
        os.pwrite(file, data, offset)
        if sync:
            os.fsync(file)
        times.append(1e6 * (time.perf_counter() - begin))
    return statistics.median(times)


def write_into(bench, mount):
    path = mount.point / "file"
    with open(make_data.make(bench.data, FIELD, bench.size), "rb") as field:
        with open(path, "wb") as out:
            while out.tell() < LARGEST and (piece := field.read(1 << 20)):
                out.write(piece)
            os.fsync(out.fileno())
        field.seek(0)
        data = field.read(WRITE_SIZE)
    size = path.stat().st_size
    places = random.Random(SEED)
    file = os.open(path, os.O_RDWR)
    try:
        def anywhere(count):
            return [places.randrange(size // WRITE_SIZE) * WRITE_SIZE for _ in range(count)]

        def at_end(count):
            end = os.fstat(file).st_size
            return [end + i * WRITE_SIZE for i in range(count)]

        return {"4K overwritten": write_each(file, anywhere(WRITES), data, False),
                SYNCED: write_each(file, anywhere(SYNCED_WRITES), data, True),
                "4K appended": write_each(file, at_end(WRITES), data, False),
                "4K appended and fsync": write_each(file, at_end(SYNCED_WRITES), data, True)}
    finally:
        os.close(file)


def into_bloscfs(bench, *options):
    source = bench.new_directory("source")
    with mounts.bloscfs(bench, source, *options) as mount:
        measured = write_into(bench, mount)
    shutil.rmtree(source)
    return measured


def into_directory(bench):
    directory = bench.new_directory("plain")
    measured = write_into(bench, mounts.Mount(directory))
    shutil.rmtree(directory)
    return measured


def into_btrfs(bench, compression):
    size = 2 * min(bench.size, LARGEST) + BTRFS_ROOM
    with mounts.new_btrfs(bench, size, f"compress={compression}") as mount:
        return write_into(bench, mount)


def flush_twice(bench):
    """Measures what every commit needs from the disk: a chunk must be flushed before the header
    names it."""
    path = bench.new_directory("flushed") / "file"
    data, places = os.urandom(CHUNK), random.Random(SEED)
    with open(path, "wb") as out:
        while out.tell() < LARGEST // 4:
            out.write(data)
        os.fsync(out.fileno())
    file, size = os.open(path, os.O_RDWR), path.stat().st_size
    times = []
    for _ in range(SYNCED_WRITES):
        begin = time.perf_counter()
        for piece, offset in ((data, places.randrange(size - CHUNK)), (data[:HEADER], 0)):
            os.pwrite(file, piece, offset)
            os.fdatasync(file)
        times.append(1e6 * (time.perf_counter() - begin))
    os.close(file)
    shutil.rmtree(path.parent)
    return {SYNCED: statistics.median(times)}


def through_fuse(bench):
    directory = bench.new_directory("passed")
    with mounts.passthrough(bench, directory) as mount:
        measured = write_into(bench, mount)
    shutil.rmtree(directory)
    return measured


def measure(bench):
    subjects = {"bloscfs zstd": functools.partial(into_bloscfs, bench),
                "bloscfs lz4": functools.partial(into_bloscfs, bench, "codec=lz4", "clevel=5"),
                "backing filesystem": functools.partial(into_directory, bench),
               FLUSHES: functools.partial(flush_twice, bench),
               "FUSE passthrough": functools.partial(through_fuse, bench),
                "btrfs zstd:3": functools.partial(into_btrfs, bench, "zstd:3"),
                "btrfs lzo": functools.partial(into_btrfs, bench, "lzo")}
    latency = Table("Median of each", "µs", alternate(bench, TITLE, subjects))
    goals = [Goal(f"{SYNCED}, {name}: to the backing filesystem's",
                  ratio(latency.median(name, SYNCED), latency.median("backing filesystem", SYNCED)), 3.5,
                  at_least=False)
             for name in ("bloscfs zstd", "bloscfs lz4")]
    return Group(TITLE, [latency], goals)


GROUPS = {"overwriting": measure}
