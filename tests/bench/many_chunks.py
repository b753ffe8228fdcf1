"""Makes frames of any number of tiny chunks within seconds. The chunks differ only in their
place."""

import numpy as np

from commands import run

NBYTES = 16  # bytes of contents in a chunk
HEADER_SIZE = 97
TRAILER_SIZE = 35
# Offsets of big-endian numbers in a frame's header.
FRAME_LENGTH_AT, NBYTES_AT, CBYTES_AT = 0x10, 0x1E, 0x27
PIECE = 1 << 20


def _created(bench, contents, *options):
    """Returns the bytes of a frame that b2frame creates from an array."""
    raw, frame = bench.scratch / "chunk.raw", bench.scratch / "chunk.b2frame"
    contents.tofile(raw)
    run(bench.build / "tools/b2frame", "create", "--typesize", 8, *options, raw, "-o", frame)
    bytes_of_frame = frame.read_bytes()
    for path in (raw, frame):
        path.unlink()
    return bytes_of_frame


def _only_chunk(frame):
    """Returns the only chunk. It is behind the space that is reserved for an empty frame's
    trailer."""
    begin = HEADER_SIZE + TRAILER_SIZE
    size = int.from_bytes(frame[begin + 12 : begin + 16], "little")
    return frame[begin : begin + size]


def write_frame(bench, path, count):
    template = _created(bench, np.arange(NBYTES // 8), "--codec", "lz4", "--filters", "none",
                        "--chunk-size", NBYTES)
    chunk = np.frombuffer(_only_chunk(template), np.uint8)
    index = _only_chunk(_created(bench, np.arange(count, dtype=np.int64) * chunk.size, "--codec",
                                 "blosclz", "--clevel", 5, "--filters", "shuffle", "--chunk-size",
                                 8 * count, "--block-size", min(8 * count, 16 << 10)))
    length = HEADER_SIZE + count * chunk.size + len(index) + TRAILER_SIZE
    header = bytearray(template[:HEADER_SIZE])
    for at, value in ((FRAME_LENGTH_AT, length), (NBYTES_AT, count * NBYTES),
                      (CBYTES_AT, count * chunk.size)):
        header[at : at + 8] = value.to_bytes(8, "big")
    with open(path, "wb") as out:
        out.write(header)
        for begin in range(0, count, PIECE):
            out.write(np.tile(chunk, min(PIECE, count - begin)).tobytes())
        out.write(index)
        out.write(template[-TRAILER_SIZE:])
