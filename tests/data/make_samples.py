#!/usr/bin/env python3
"""Makes tests/data/samples, and manifest.json beside it that says what is in them, with C-Blosc2 (libblosc2.so.4, found by the loader or given).

usage: make_samples.py OUTPUT_DIRECTORY [LIBRARY]
"""

import ctypes as c
import hashlib
import io
import json
import math
import random
import struct
import sys
from pathlib import Path

import numpy

SHUFFLE = 1
LZ4, ZSTD = 1, 5


class Compression(c.Structure):
    """blosc2_cparams"""
    _fields_ = [
        ("compcode", c.c_uint8), ("compcode_meta", c.c_uint8), ("clevel", c.c_uint8), ("use_dict", c.c_int),
        ("typesize", c.c_int32), ("nthreads", c.c_int16), ("blocksize", c.c_int32), ("splitmode", c.c_int32),
        ("schunk", c.c_void_p), ("filters", c.c_uint8 * 6), ("filters_meta", c.c_uint8 * 6),
        ("prefilter", c.c_void_p), ("preparams", c.c_void_p), ("tuner_params", c.c_void_p), ("tuner_id", c.c_int),
        ("instr_codec", c.c_bool), ("codec_params", c.c_void_p), ("filter_params", c.c_void_p * 6),
    ]


class Storage(c.Structure):
    """blosc2_storage"""
    _fields_ = [("contiguous", c.c_bool), ("urlpath", c.c_char_p), ("cparams", c.POINTER(Compression)),
                ("dparams", c.c_void_p), ("io", c.c_void_p)]


def compression(codec, typesize, blocksize, *filters):
    split_forward_compatible = 4
    result = Compression(compcode=codec, clevel=5, typesize=typesize, nthreads=1, blocksize=blocksize,
                         splitmode=split_forward_compatible)
    for slot, (filter_id, meta) in enumerate(filters, 6 - len(filters)):
        result.filters[slot] = filter_id
        result.filters_meta[slot] = meta
    return result


class Blosc2:
    def __init__(self, library):
        self.lib = c.CDLL(library)
        self.lib.blosc2_init()
        self.lib.blosc2_schunk_new.restype = c.c_void_p
        self.lib.blosc2_schunk_append_buffer.restype = c.c_int64
        self.lib.b2nd_create_ctx.restype = c.c_void_p

    def frame(self, path, contiguous, params, chunks, metalayers, vlmetalayers):
        storage = Storage(contiguous, str(path).encode(), c.pointer(params), None, None)
        schunk = c.c_void_p(self.lib.blosc2_schunk_new(c.byref(storage)))
        assert schunk.value, path
        for name, content in metalayers.items():
            assert self.lib.blosc2_meta_add(schunk, name.encode(), content, c.c_int32(len(content))) >= 0
        for chunk in chunks:
            assert self.lib.blosc2_schunk_append_buffer(schunk, chunk, c.c_int32(len(chunk))) > 0
        self.add_vlmetalayers(schunk, vlmetalayers)
        self.lib.blosc2_schunk_free(schunk)

    def add_vlmetalayers(self, schunk, vlmetalayers):
        for name, content in vlmetalayers.items():
            assert self.lib.blosc2_vlmeta_add(schunk, name.encode(), content, c.c_int32(len(content)), None) >= 0

    def array(self, path, params, values, chunkshape, blockshape, vlmetalayers):
        storage = Storage(True, str(path).encode(), c.pointer(params), None, None)
        ndim = values.ndim
        context = c.c_void_p(self.lib.b2nd_create_ctx(
            c.byref(storage), c.c_int8(ndim), (c.c_int64 * ndim)(*values.shape), (c.c_int32 * ndim)(*chunkshape),
            (c.c_int32 * ndim)(*blockshape), values.dtype.str.encode(), c.c_int8(0), None, c.c_int32(0)))
        array = c.c_void_p()
        content = values.tobytes()
        assert self.lib.b2nd_from_cbuffer(context, c.byref(array), content, c.c_int64(len(content))) == 0
        self.add_vlmetalayers(c.cast(array, c.POINTER(c.c_void_p))[0], vlmetalayers)
        self.lib.b2nd_free(array)
        self.lib.b2nd_free_ctx(context)


def msgpack_map(**items):
    """Short text and small numbers are all that is needed."""
    def text(value):
        return bytes([0xD9, len(value)]) + value.encode()

    def value(item):
        return text(item) if isinstance(item, str) else b"\xcb" + struct.pack(">d", item)
    return bytes([0x80 + len(items)]) + b"".join(text(k) + value(v) for k, v in items.items())


def station_log(random_numbers, size):
    lines = []
    clock = 0
    total = 0
    while total < size:
        clock += random_numbers.choice((1, 1, 1, 2, 5))
        line = (f"2024-03-{clock // 86400 + 1:02} {clock // 3600 % 24:02}:{clock // 60 % 60:02}:{clock % 60:02} "
                f"station-{random_numbers.randrange(4)} "
                f"{random_numbers.choice(('reading ok', 'reading ok', 'sensor drift', 'battery low'))} "
                f"t={15 + 8 * math.sin(clock / 4000):.1f}\n")
        lines.append(line)
        total += len(line)
    return "".join(lines).encode()[:size]


def temperatures():
    day, latitude, longitude = numpy.meshgrid(numpy.arange(40), numpy.linspace(-90, 90, 73),
                                              numpy.arange(0, 360, 5), indexing="ij")
    values = 28 * numpy.cos(numpy.radians(latitude)) - 12 + 3 * numpy.sin(day / 6 + numpy.radians(longitude) * 2)
    return (numpy.round(values * 4) / 4).astype("<f4")


def sha256(content):
    return hashlib.sha256(content).hexdigest()


def npy_sha256(values):
    file = io.BytesIO()
    numpy.save(file, values)
    return sha256(file.getvalue())


def pieces(content, size):
    return [content[i:i + size] for i in range(0, len(content), size)]


def main():
    output = Path(sys.argv[1])
    blosc2 = Blosc2(sys.argv[2] if len(sys.argv) > 2 else "libblosc2.so.4")
    output.mkdir(parents=True, exist_ok=True)
    random_numbers = random.Random(20240301)

    log = station_log(random_numbers, 900_000)
    blosc2.frame(output / "station.log.b2frame", True, compression(ZSTD, 1, 32 << 10), pieces(log, 128 << 10),
                 {"origin": msgpack_map(network="north", station="all")},
                 {"notes": msgpack_map(author="the bloscfs authors", quality="synthetic")})

    grid = temperatures()
    blosc2.array(output / "temperature.b2nd", compression(ZSTD, 4, 0, (SHUFFLE, 0)), grid,
                 (16, 40, 40), (8, 16, 16), {"attributes": msgpack_map(units="degC", scale=0.25)})

    counts = numpy.zeros(200_000, "<i4")
    counts[60_000:110_000] = numpy.cumsum([random_numbers.randrange(-3, 4) for _ in range(50_000)])
    blosc2.frame(output / "counts.b2frame", False, compression(LZ4, 4, 16 << 10, (SHUFFLE, 0)),
                 pieces(counts.tobytes(), 64 << 10), {"kind": msgpack_map(counter="visits")}, {})

    contents = {"station.log.b2frame": log, "temperature.b2nd": grid.tobytes(), "counts.b2frame": counts.tobytes()}
    entries = [{"path": f"{output.name}/{name}", "container": "sframe" if (output / name).is_dir() else "cframe",
                "expect": "ok", "nbytes": len(content), "sha256": sha256(content)}
               for name, content in contents.items()]
    entries[1] |= {"shape": grid.shape, "dtype": grid.dtype.str, "npy_sha256": npy_sha256(grid)}
    (output.parent / "manifest.json").write_text(json.dumps(entries, indent=1) + "\n")


if __name__ == "__main__":
    main()
