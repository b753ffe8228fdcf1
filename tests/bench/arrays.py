"""Reads NPY files of several dimensions, whole and as NumPy slices. Chunks cut every dimension."""

import functools
import math
import time
from dataclasses import dataclass

import numpy as np

import images
import mounts
from bench_run import MB, Goal, Group, Table, alternate, part_of, ratio
from commands import seconds

TITLE = "Arrays"
WHOLE = "whole, dd bs=1M"


@dataclass(frozen=True)
class Cut:
    """A file of make_data, and the chunks and blocks of its array."""

    content: str
    itemsize: int
    chunk: tuple
    block: tuple

    def blocks_of(self, shape):
        """Returns how many blocks have any of the array's items."""
        def along(extent, chunk, block):
            whole, rest = divmod(extent, chunk)
            return whole * math.ceil(chunk / block) + math.ceil(rest / block)

        return math.prod(map(along, shape, self.chunk, self.block))


CUTS = {
    "2 dimensions": Cut("plane.npy", 4, (256, 1024), (64, 256)),
    "3 dimensions": Cut("volume.npy", 2, (64, 128, 128), (16, 32, 64)),
    "4 dimensions": Cut("grid.npy", 8, (8, 32, 32, 32), (4, 16, 16, 16)),
}


def comma(shape):
    return ",".join(map(str, shape))


def chunked_frame(bench, cut):
    return images.array_frame(bench, cut.content, "--codec", "lz4", "--clevel", 5, "--filters",
                              "shuffle", "--chunk-shape", comma(cut.chunk), "--block-shape",
                              comma(cut.block))


def flat_frame(bench, cut):
    return images.array_frame(bench, cut.content, "--flat", "--codec", "lz4", "--clevel", 5,
                              "--filters", "shuffle", "--typesize", cut.itemsize)


def file_in(mount):
    return next(mount.point.iterdir())


def read_slice(file, axis):
    """Reads the middle slice along an axis through NumPy's mapping. Returns the seconds."""
    array = np.load(file, mmap_mode="r")
    index = [slice(None)] * array.ndim
    index[axis] = array.shape[axis] // 2
    begin = time.monotonic()
    np.array(array[tuple(index)])
    return time.monotonic() - begin


def read_array(bench, cut, make_frame):
    """Returns {(quantity, workload): value}."""
    frame = make_frame(bench, cut)
    images.warm(frame)
    measured = {}

    def count(mount, workload):
        blocks = cut.blocks_of(np.load(file_in(mount), mmap_mode="r").shape)
        measured["decoded", workload] = mount.stats()["blocks_decoded"] / blocks

    with mounts.bloscfs(bench, frame, "ro") as mount:
        file = file_in(mount)
        taken = seconds("dd", f"if={file}", "of=/dev/null", "bs=1M")
        measured["rate", WHOLE] = file.stat().st_size / taken / MB
        count(mount, WHOLE)
    for axis in range(len(cut.chunk)):
        workload = f"slice at axis {axis}"
        with mounts.bloscfs(bench, frame, "ro") as mount:
            measured["slices", workload] = 1e3 * read_slice(file_in(mount), axis)
            count(mount, workload)
    return measured


def measure(bench):
    subjects = {}
    for name, cut in CUTS.items():
        subjects[name] = functools.partial(read_array, bench, cut, chunked_frame)
        subjects[f"{name}, flat"] = functools.partial(read_array, bench, cut, flat_frame)
    cells = alternate(bench, TITLE, subjects)
    rates = Table("Throughput", "MB/s", part_of(cells, "rate"))
    slices = Table("Slices through numpy.memmap", "ms", part_of(cells, "slices"))
    # A flat frame has other blocks.
    decoded = Table("Blocks decoded, to those that there are", "ratio",
                    {name: row for name, row in part_of(cells, "decoded").items() if name in CUTS})
    goals = []
    for name, cut in CUTS.items():
        last = f"slice at axis {len(cut.chunk) - 1}"
        goals += [
            Goal(f"{name}, {WHOLE}: to the flat frame",
                 ratio(rates.median(name, WHOLE), rates.median(f"{name}, flat", WHOLE)), 0.8),
            Goal(f"{name}, {WHOLE}: decodings of each block", decoded.median(name, WHOLE), 1,
                 at_least=False),
            Goal(f"{name}, {last}: blocks decoded, to those that there are",
                 decoded.median(name, last), 1, at_least=False)]
    return Group(TITLE, [rates, slices, decoded], goals)


GROUPS = {"arrays": measure}
