#!/usr/bin/env python3
"""Makes the files for the benchmark. The bytes depend only on the seed and the size.

usage: make_data.py DIRECTORY BYTES

Each file has about BYTES bytes:
  field.f32   a smooth float32 field with noise in its last bits, flat
  plane.npy   the same field as a 2-d array
  volume.npy  int16, 3-d: a scanner's volume, smooth with a few bits of noise
  grid.npy    float64, 4-d: waves over time
  mixed       text and machine code, as on a disk
  noise.u8    random bytes, which no codec makes smaller
Also makes a file of each kind in kinds.py.
"""

import functools
import sys
import zlib
from pathlib import Path

import numpy as np

import kinds

SEED = 20240229
PIECE = 1 << 22  # items that are made at a time


def field_items(begin, end, random):
    x = np.arange(begin, end, dtype=np.float64)
    smooth = 280 + 20 * np.sin(x / 40000) + 5 * np.sin(x / 700) + np.cos(x / 9000)
    return (smooth + random.normal(0, 2e-4, x.size)).astype(np.float32)


def write_field(path, size):
    random = np.random.default_rng(SEED)
    items = size // 4
    with open(path, "wb") as out:
        for begin in range(0, items, PIECE):
            out.write(field_items(begin, min(begin + PIECE, items), random).tobytes())


def shape_of(size, itemsize, dimensions):
    """Returns the shape of nearly a cube. Its extents are no multiples of chunk extents."""
    side = int((size / itemsize) ** (1 / dimensions))
    return (side,) * dimensions


def write_plane(path, size):
    random = np.random.default_rng(SEED)
    shape = shape_of(size, 4, 2)
    out = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=shape)
    for y in range(shape[0]):
        out[y] = field_items(y * shape[1], (y + 1) * shape[1], random)


def write_volume(path, size):
    random = np.random.default_rng(SEED + 1)
    shape = shape_of(size, 2, 3)
    out = np.lib.format.open_memmap(path, mode="w+", dtype=np.int16, shape=shape)
    y, x = np.ogrid[: shape[1], : shape[2]]
    for z in range(shape[0]):
        plane = 1000 * np.sin(x / 60 + z / 90) * np.cos(y / 75) + 8 * np.sin(x * y / 4000)
        out[z] = (plane + random.integers(-4, 5, shape[1:])).astype(np.int16)


def write_grid(path, size):
    random = np.random.default_rng(SEED + 2)
    shape = shape_of(size, 8, 4)
    out = np.lib.format.open_memmap(path, mode="w+", dtype=np.float64, shape=shape)
    z, y, x = np.ogrid[: shape[1], : shape[2], : shape[3]]
    for t in range(shape[0]):
        waves = np.sin(x / 9 + t / 5) + np.cos(y / 7) * np.sin(z / 11)
        out[t] = np.round(waves + random.normal(0, 1e-5, shape[1:]), 7)


def write_mixed(path, size):
    """Writes words of an invented language, logs, and machine code from this system."""
    random = np.random.default_rng(SEED + 3)
    words = [bytes(random.integers(97, 123, random.integers(2, 11), dtype=np.uint8))
             for _ in range(4000)]
    weights = 1 / np.arange(1, len(words) + 1)
    weights /= weights.sum()
    code = b"".join(p.read_bytes() for p in sorted(Path("/usr/bin").glob("*"))[:400]
                    if p.is_file() and not p.is_symlink() and p.stat().st_size < 1 << 22)
    code = code or zlib.compress(b"no programs")
    written = 0
    with open(path, "wb") as out:
        while written < size:
            text = b" ".join(words[i] for i in random.choice(len(words), 60000, p=weights))
            begin = int(random.integers(0, max(1, len(code) - (1 << 19))))
            for part in (text, code[begin : begin + (1 << 19)]):
                part = part[: size - written]
                out.write(part)
                written += len(part)


def write_noise(path, size):
    random = np.random.default_rng(SEED + 4)
    with open(path, "wb") as out:
        for begin in range(0, size, PIECE):
            out.write(random.bytes(min(PIECE, size - begin)))


MAKERS = {
    "field.f32": write_field,
    "plane.npy": write_plane,
    "volume.npy": write_volume,
    "grid.npy": write_grid,
    "mixed": write_mixed,
    "noise.u8": write_noise,
}
MAKERS |= {name: functools.partial(kinds.write, name) for name in kinds.KINDS}


def make(directory, name, size):
    """Returns the path of the file with that name. Makes the file if it does not exist."""
    path = directory / name
    if not path.exists():
        part = path.with_name(name + ".part.npy")  # NumPy adds a suffix to other names
        MAKERS[name](part, size)
        part.rename(path)
    return path


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.splitlines()[2])
    for name in MAKERS:
        make(Path(sys.argv[1]), name, int(sys.argv[2]))


if __name__ == "__main__":
    main()
