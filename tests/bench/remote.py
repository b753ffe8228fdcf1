"""Reading over a network: from a web server with a round-trip delay of 20 ms and 100 MB/s.

The link is a program that carries bytes between two sockets of the loopback, so the kernel needs no
support for delays. The peer is a filesystem that shows a server's files. A bloscfs is mounted on
that."""

import contextlib
import functools
import os
import random
import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import images
import mounts
import web
from bench_run import MB, Goal, Group, Table, alternate, part_of, ratio
from commands import need_program, seconds

TITLE = "Behind a network"
DELAY, WIDTH = 20, 100_000_000  # milliseconds, bytes per second
NOISE, FIELD = "noise.u8", "field.f32"
STORED = images.FrameSettings("lz4", 1, "none", 1)
ZSTD = images.FrameSettings("zstd", 5, "bitshuffle", 4)
SPARSE = images.FrameSettings("lz4", 1, "none", 1, ("--sparse", "--chunk-size", "4M"))
PLAIN = "what does not compress"
# Contents, settings, and by how much the contents are larger than the frame.
FRAMES = {PLAIN: (NOISE, STORED, 1), "zstd": (FIELD, ZSTD, 3),
          "sparse frame, chunks of 4 MiB": (NOISE, SPARSE, 1)}
FILES = (PLAIN, "zstd")  # the peer takes minutes for the objects of a sparse frame
MOST_BYTES = 256 << 20  # of a frame
READS, READERS, PAGE = 60, 4, 4096
SEED = 7
CACHE_SIZE, OUTSIDE_CACHE, REMOTE = 256 << 20, 48 << 20, 16 << 20
OWN, LINK = "bloscfs", "the link, by curl"
PEER = "rclone and a bloscfs"
# The second peer fetches whole files as soon as they are used. In order it is as fast as the link.
# At random it reads what has arrived so far.
PEERS = {PEER: (), "rclone that keeps files, and a bloscfs": ("--vfs-cache-mode", "full")}


def stored_frame(bench, name):
    content, settings, factor = FRAMES[name]
    size = factor * min(bench.size, MOST_BYTES)
    data = bench.data.parent / str(size)
    data.mkdir(exist_ok=True)
    return images.frame(replace(bench, size=size, data=data), content, settings)


def files_of(frame):
    return sorted(frame.iterdir()) if frame.is_dir() else [frame]


def stored_bytes(bench, name):
    return sum(file.stat().st_size for file in files_of(stored_frame(bench, name)))


def served_folder(bench):
    """Makes a directory with a link to each frame."""
    folder = bench.new_directory("www")
    folder.chmod(0o755)
    for name in FRAMES:
        frame = stored_frame(bench, name)
        for file in files_of(frame):
            images.warm(file)
        (folder / file_name(name)).symlink_to(frame)
    return folder


def shown_name(frame):
    return frame.replace(" ", "-").replace(",", "")


def file_name(frame):
    return shown_name(frame) + ".b2frame"


@contextlib.contextmanager
def behind_link(bench):
    with web.nginx(bench, served_folder(bench)) as port:
        with web.slow_link(bench, port, DELAY, WIDTH) as far_port:
            yield far_port


@contextlib.contextmanager
def own_mount(bench, port, frame):
    url = f"http://127.0.0.1:{port}/{file_name(frame)}"
    with mounts.bloscfs(bench, url, f"cache_size={CACHE_SIZE >> 20}M") as mount:
        yield mount.point / shown_name(frame)


@contextlib.contextmanager
def peer_mount(bench, options, port, frame):
    with web.rclone(bench, port, *options) as files:
        with mounts.served(bench.point, bench.build / "tools/bloscfs", "-f", "-o", "ro",
                           files.point / file_name(frame), bench.point) as mount:
            yield mount.point / shown_name(frame)


def read_in_order(data):
    begin = time.monotonic()
    seconds("dd", f"if={data}", "of=/dev/null", "bs=1M")
    return time.monotonic() - begin


def read_at_random(data, readers):
    """Returns the milliseconds of each read, all in different parts of the file, and the reads per
    second."""
    size = os.path.getsize(data)
    offsets = list(range(0, size - PAGE, size // READS))[:READS]
    random.Random(SEED).shuffle(offsets)
    with open(data, "rb", buffering=0) as file:
        def read(offset):
            begin = time.monotonic()
            os.pread(file.fileno(), PAGE, offset)
            return 1000 * (time.monotonic() - begin)

        read(offsets[0])  # fetches the index
        begin = time.monotonic()
        with ThreadPoolExecutor(readers) as pool:
            took = list(pool.map(read, offsets[1:]))
        return took, (READS - 1) / (time.monotonic() - begin)


def read_through(bench, mounting, frames):
    for frame in frames:
        stored = stored_bytes(bench, frame)
        with behind_link(bench) as port:
            with mounting(port, frame) as data:
                size = os.path.getsize(data)
                took = read_in_order(data)
            yield {("stored", frame): stored / took / MB, ("contents", frame): size / took / MB}
            with mounting(port, frame) as data:
                took, _ = read_at_random(data, 1)
            yield {("p50", frame): statistics.median(took)}
            with mounting(port, frame) as data:
                _, rate = read_at_random(data, READERS)
            yield {("rate", frame): rate}


def carried(bench):
    """Yields the link's rate, measured by a transfer of a whole frame."""
    for frame in FILES:
        stored = stored_bytes(bench, frame)
        with behind_link(bench) as port:
            took = seconds(need_program("curl"), "-s", "-o", "/dev/null",
                           f"http://127.0.0.1:{port}/{file_name(frame)}")
        yield {("stored", frame): stored / took / MB}


def goals(bench, tables):
    stored, latency, rate = tables["stored"], tables["p50"], tables["rate"]
    found = []
    for frame in FRAMES:
        carried_bytes = stored.median(LINK, frame) or stored.median(LINK, PLAIN)
        found.append(Goal(f"{frame}, in order: to the link",
                          ratio(stored.median(OWN, frame), carried_bytes), 0.9))
        found.append(Goal(f"{frame}, 4 KiB at random: round trips",
                          ratio(latency.median(OWN, frame), DELAY), 1.2, at_least=False))
        if frame not in FILES:
            continue
        found.append(Goal(f"{frame}, in order: to {PEER}",
                          ratio(stored.median(OWN, frame), stored.median(PEER, frame)), 3))
        # With one reader the peer needs 2.6 round trips. One round trip is the minimum.
        found.append(Goal(f"{frame}, at random: {PEER} takes times as long",
                          ratio(latency.median(PEER, frame), latency.median(OWN, frame)), 2))
        found.append(Goal(f"{frame}, {READERS} readers at random: to {PEER}",
                          ratio(rate.median(OWN, frame), rate.median(PEER, frame)), 3))
    limit = CACHE_SIZE + OUTSIDE_CACHE + REMOTE
    found.append(Goal("peak memory: to cache_size + 64 MiB", ratio(bench.peak_memory, limit), 1,
                      at_least=False))
    return found


def measure(bench):
    bench = replace(bench)  # a copy, since its peak of memory has its own limit
    own = functools.partial(own_mount, bench)
    subjects = {OWN: functools.partial(read_through, bench, own, FRAMES)}
    for name, options in PEERS.items():
        peer = functools.partial(peer_mount, bench, options)
        subjects[name] = functools.partial(read_through, bench, peer, FILES)
    subjects[LINK] = functools.partial(carried, bench)
    cells = alternate(bench, TITLE, subjects)
    tables = {"stored": Table("Stored bytes in order", "MB/s", part_of(cells, "stored")),
              "contents": Table("Contents in order", "MB/s", part_of(cells, "contents")),
              "p50": Table("4 KiB at random, median", "ms", part_of(cells, "p50")),
              "rate": Table(f"4 KiB at random, {READERS} readers", "1/s", part_of(cells, "rate"))}
    return Group(TITLE, list(tables.values()), goals(bench, tables))


GROUPS = {"remote": measure}
