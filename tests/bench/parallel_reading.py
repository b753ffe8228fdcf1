"""Several processes read one cold file, or each process reads a file of its own."""

import dataclasses
import functools
import math
import os
import shutil
import subprocess
import time

import images
import mounts
import peers
from bench_run import MB, Goal, Group, Table, alternate, ratio

TITLE = "Eight processes"
PROCESSES = 8
READ_AHEAD = mounts.OWN_READ_AHEAD
FIELD = "field.f32"
ONE, ALL, EACH = "one reads a file", "eight read one file", "eight read a file each"
DECODED = "decodings of each block"


def read_together(files):
    """Returns the seconds until all processes are done."""
    begin = time.monotonic()
    processes = [subprocess.Popen(["cat", str(file)], stdout=subprocess.DEVNULL) for file in files]
    if any([process.wait() for process in processes]):
        raise RuntimeError(f"cat {files[0]} failed")
    return time.monotonic() - begin


def read_one_file(bench, mounting, readers):
    with mounting() as mount:
        mount.set_read_ahead(READ_AHEAD)
        return readers * bench.size / read_together([mount.data] * readers) / MB


def read_by_one_and_all(bench, mounting):
    return {ONE: read_one_file(bench, mounting, 1),
            ALL: read_one_file(bench, mounting, PROCESSES)}


def blocks_of(file):
    nbytes, block_size = (int(os.getxattr(file, f"user.blosc2.{name}"))
                          for name in ("nbytes", "blocksize"))
    return math.ceil(nbytes / block_size)


def count_decodings(bench):
    with peers.bloscfs(bench, FIELD, peers.LZ4)() as mount:
        read_together([mount.data] * PROCESSES)
        return {DECODED: mount.stats()["blocks_decoded"] / blocks_of(mount.data)}


def directory_of_eight(bench):
    """Makes eight frames, whose contents have the size of the one file in total."""
    part = dataclasses.replace(bench, data=bench.data / "part", size=bench.size // PROCESSES)
    part.data.mkdir(exist_ok=True)
    frame = images.frame(part, FIELD, peers.LZ4)
    directory = part.data / "eight"
    directory.mkdir(exist_ok=True)
    for number in range(PROCESSES):
        copy = directory / f"{number}.b2frame"
        if not copy.exists() or copy.stat().st_mtime < frame.stat().st_mtime:
            shutil.copyfile(frame, copy)
    return directory


def read_eight_files(bench):
    directory = directory_of_eight(bench)
    for file in directory.iterdir():
        images.warm(file)
    with mounts.bloscfs(bench, directory, "ro") as mount:
        return {EACH: bench.size / read_together(sorted(mount.point.iterdir())) / MB}


def measure(bench):
    mounted = {"bloscfs": peers.bloscfs(bench, FIELD, peers.LZ4),
               "null FUSE": peers.null_fuse(bench), **peers.squashfs(bench, FIELD, "lz4"),
               **peers.erofs(bench, FIELD), **peers.ext4(bench, FIELD)}
    subjects = {name: functools.partial(read_by_one_and_all, bench, mounting)
                for name, mounting in mounted.items()}
    subjects["bloscfs, eight frames"] = functools.partial(read_eight_files, bench)
    rates = Table("Throughput of all", "MB/s", alternate(bench, TITLE, subjects))
    counts = Table("Blocks", "ratio", alternate(
        bench, "Decodings", {"bloscfs": functools.partial(count_decodings, bench)}))
    goals = [Goal(f"{ALL}: to one", ratio(rates.median("bloscfs", ALL), rates.median("bloscfs", ONE)),
                  1),
             Goal(f"{ALL}: {DECODED}", counts.median("bloscfs", DECODED), 1, at_least=False)]
    return Group(TITLE, [rates, counts], goals)


GROUPS = {"parallel": measure}
