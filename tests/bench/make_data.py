"""Makes what the benchmarks work on: the same bytes for the same size."""

import numpy as np

SEED = 20240229
PIECE = 1 << 22  # items made at a time


def write_field(path, size):
    """A smooth float32 field with noise in its last bits, flat, of `size` bytes."""
    random = np.random.default_rng(SEED)
    items = size // 4
    with open(path, "wb") as out:
        for begin in range(0, items, PIECE):
            x = np.arange(begin, min(begin + PIECE, items), dtype=np.float64)
            smooth = 280 + 20 * np.sin(x / 40000) + 5 * np.sin(x / 700) + np.cos(x / 9000)
            noise = random.normal(0, 2e-4, x.size)
            out.write((smooth + noise).astype(np.float32).tobytes())
