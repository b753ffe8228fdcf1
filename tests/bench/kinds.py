"""Typical kinds of scientific data, for which settings are chosen. The bytes are always the
same."""

from dataclasses import dataclass
from typing import Callable

import numpy as np

SEED = 20240301
RECORD = np.dtype([("id", "<i8"), ("x", "<f8"), ("station", "<i2"), ("flag", "<i2"), ("n", "<i4")])
LINES = 1 << 16  # lines that are made at a time


@dataclass(frozen=True)
class Kind:
    """`make(random, count)` returns `count` items, or about as many for bytes."""

    typesize: int
    make: Callable


def waves(count):
    at = np.arange(count)
    return np.sin(at * 1e-3) + 0.3 * np.sin(at * 3.7e-2)


def rounded(random, count):
    return np.round(15 + 10 * waves(count) + random.normal(0, 0.5, count), 2).astype(np.float32)


def smooth(_, count):
    return 1000 * waves(count)


def noisy(random, count):
    return (waves(count) + random.normal(0, 0.01, count)).astype(np.float32)


def audio(random, count):
    return (8000 * waves(count) + random.normal(0, 60, count)).astype(np.int16)


def counters(random, count):
    return (np.arange(count) * 3 + random.integers(0, 3, count)).astype(np.int32)


def times(random, count):
    return 1_700_000_000_000_000 + np.arange(count) * 20_000 + random.integers(0, 900, count)


def labels(_, count):
    y, x = np.divmod(np.arange(count), 1000)
    return ((x // 90 * 7 + y // 60 * 3) % 11).astype(np.uint8)


def table(random, count):
    values = waves(LINES) + random.normal(0, 0.1, LINES)
    text = "".join(f"{i},{i % 13},{value:.2f},{'ok' if i % 7 else 'bad'}\n"
                   for i, value in enumerate(values)).encode()
    return np.resize(np.frombuffer(text, np.uint8), count)


def noise(random, count):
    return random.integers(0, 256, count, dtype=np.uint8)


def records(random, count):
    made = np.zeros(count, RECORD)
    made["id"], made["x"] = 1000 + np.arange(count), waves(count)
    made["station"], made["n"] = np.arange(count) % 50, 7 * np.arange(count)
    made["flag"] = random.integers(0, 4, count)
    return made


def sparse(random, count):
    return np.where(random.random(count) < 0.02, random.random(count), 0).astype(np.float32)


def bases(random, count):
    return random.choice(np.frombuffer(b"ACGT", np.uint8), count)


KINDS = {
    "float32, two decimals": Kind(4, rounded),
    "float64, smooth": Kind(8, smooth),
    "float32, noisy": Kind(4, noisy),
    "int16, audio": Kind(2, audio),
    "int32, counters": Kind(4, counters),
    "int64, times": Kind(8, times),
    "uint8, labels": Kind(1, labels),
    "text, a table": Kind(1, table),
    "noise": Kind(1, noise),
    "records of 24 bytes": Kind(RECORD.itemsize, records),
    "float32, mostly 0": Kind(4, sparse),
    "bases of a genome": Kind(1, bases),
}


def write(name, path, size):
    kind = KINDS[name]
    random = np.random.default_rng(SEED)
    path.write_bytes(kind.make(random, size // kind.typesize).tobytes())
