#!/usr/bin/env python3
"""Writing a large file: through a mount, by b2frame, by C-Blosc2 and into a filesystem that does
nothing, in alternation.

usage: writing.py BUILD_DIR WORK_DIR [--size BYTES] [--rounds N] [--library LIBBLOSC2]

Prints for each setting the medians of all rounds with minimum and maximum, in seconds, and ratios of
medians: how much faster than C-Blosc2 `b2frame create` is, and what part of the smaller of
create's and the null filesystem's throughput cp and dd into a mount reach.
"""

import argparse
import contextlib
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

import make_data

TYPESIZE = 4
SHUFFLE = 1
# Codec by name and by number, level; what b2frame and the mount choose for themselves apart.
SETTINGS = [("lz4", 1, 5), ("zstd", 5, 3), ("zstd", 5, 1)]
# What a mount gives new files, also for the others.
CHUNK_SIZE, BLOCK_SIZE = 128 << 10, 32 << 10
PEER_CHUNK_SIZE = 4 << 20
THREADS = 2


def timed(*command):
    begin = time.monotonic()
    subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    return time.monotonic() - begin


@contextlib.contextmanager
def mounted(point, *command):
    """Runs a filesystem in the foreground until the block ends."""
    daemon = subprocess.Popen([str(word) for word in command])
    try:
        while not point.is_mount():
            if daemon.poll() is not None:
                sys.exit(f"{command[0]} did not mount")
            time.sleep(0.02)
        yield point
    finally:
        subprocess.run(["fusermount3", "-u", str(point)], check=True)
        daemon.wait()


class Writing:
    def __init__(self, build, work, shared_object, field):
        self.build, self.work = build, work
        self.shared_object, self.field = shared_object, field
        self.point, self.source = work / "mnt", work / "source"
        self.point.mkdir(exist_ok=True)
        self.source.mkdir(exist_ok=True)

    def into(self, point):
        copied = timed("cp", self.field, point / "cp")
        (point / "cp").unlink()
        return copied, timed("dd", f"if={self.field}", f"of={point / 'dd'}", "bs=1M")

    def mount(self, codec, level):
        with mounted(self.point, self.build / "tools/bloscfs", "-f", "-o",
                     f"codec={codec},clevel={level}", self.source, self.point):
            times = self.into(self.point)
        for file in self.source.iterdir():
            file.unlink()
        return times

    def null(self):
        with mounted(self.point, self.build / "tests/bench/null_fuse", self.point, "0"):
            return self.into(self.point)

    def create(self, codec, level, *sizes):
        out = self.work / "created.b2frame"
        taken = timed(self.build / "tools/b2frame", "create", "--codec", codec, "--clevel", level,
                      "--filters", "shuffle", "--typesize", TYPESIZE, "--threads", THREADS, *sizes,
                      self.field, "-o", out)
        size = out.stat().st_size
        out.unlink()
        return taken, size

    def peer(self, codec_number, level):
        out = self.work / "peer.b2frame"
        taken = timed(self.build / "tests/bench/blosc2_bench", self.shared_object, "create", self.field,
                      out, codec_number, level, SHUFFLE, TYPESIZE, PEER_CHUNK_SIZE, 0, THREADS)
        size = out.stat().st_size
        out.unlink()
        return taken, size

    def round(self, codec, number, level):
        result = {}
        result["mount cp"], result["mount dd"] = self.mount(codec, level)
        result["create"], own_size = self.create(codec, level, "--chunk-size", PEER_CHUNK_SIZE)
        result["C-Blosc2"], peer_size = self.peer(number, level)
        result["create as mount"], _ = self.create(codec, level, "--chunk-size", CHUNK_SIZE,
                                                   "--block-size", BLOCK_SIZE)
        result["null cp"], result["null dd"] = self.null()
        return result, own_size / peer_size


def spread(times):
    return f"{statistics.median(times):6.2f} ({min(times):.2f} to {max(times):.2f})"


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1].removeprefix("usage: "))
    parser.add_argument("build", type=lambda text: Path(text).absolute())
    parser.add_argument("work", type=lambda text: Path(text).absolute())
    parser.add_argument("--size", type=int, default=1 << 30)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--library", dest="shared_object", required=True)
    options = parser.parse_args()
    field = options.work / "field.f32"
    if not field.exists() or field.stat().st_size != options.size:
        make_data.write_field(field, options.size)
    field.read_bytes()  # so that the page cache has it
    bench = Writing(options.build, options.work, options.shared_object, field)
    results = {}
    for codec, number, level in SETTINGS:
        rounds = [bench.round(codec, number, level) for _ in range(options.rounds)]
        times = {name: [r[name] for r, _ in rounds] for name in rounds[0][0]}
        median = {name: statistics.median(values) for name, values in times.items()}
        print(f"{codec} level {level}, {options.size} bytes of float32:")
        for name, values in times.items():
            print(f"  {name:16} {spread(values)} s")
        limit = {how: max(median["create as mount"], median[f"null {how}"]) for how in ("cp", "dd")}
        ratios = {
            "create to C-Blosc2": median["C-Blosc2"] / median["create"],
            "its size to C-Blosc2's": rounds[0][1],
            "cp to the limit": limit["cp"] / median["mount cp"],
            "dd to the limit": limit["dd"] / median["mount dd"],
        }
        for name, value in ratios.items():
            print(f"  {name:24} {value:.3f}", flush=True)
        results[f"{codec}-{level}"] = {"seconds": times, "ratios": ratios}
    (options.work / "writing.json").write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
