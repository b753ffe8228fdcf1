"""Frames of very many chunks, and directories of very many frames."""

import functools
import os
import time

import images
import many_chunks
import mounts
from bench_run import Goal, Group, Table, alternate, part_of, ratio
from commands import seconds

CHUNKS = {"1 chunk": 1, "1,000 chunks": 1000, "1 million chunks": 10**6,
          "10 million chunks": 10**7}
FEW_CHUNKS, MOST_CHUNKS = "1 chunk", "10 million chunks"
FILES = {"1 file": 1, "1,000 files": 1000, "100,000 files": 10**5}
MOST_FILES = "100,000 files"
MOUNT, UNMOUNT = "mount", "unmount"
FIRST_BYTES, LAST_BYTES = "first 16 bytes", "last 16 bytes"
RESIDENT = "resident"
HEADER_SIZE = 512
LIST, READ_HEADERS = "ls -l", "one read of each header"
OWN, PASSTHROUGH = "bloscfs", "bindfs"


def frame_of(bench, count):
    directory = bench.data / f"chunks-{count}"
    frame = directory / "data.b2frame"
    if not frame.exists():
        directory.mkdir(exist_ok=True)
        part = directory / "part"
        many_chunks.write_frame(bench, part, count)
        part.rename(frame)
    return frame


def read_at(file, offset):
    begin = time.monotonic()
    descriptor = os.open(file, os.O_RDONLY)
    try:
        if len(os.pread(descriptor, 16, offset)) != 16:
            raise RuntimeError(f"{file} is too short")
    finally:
        os.close(descriptor)
    return time.monotonic() - begin


def mount_frame(bench, count):
    """Returns {(unit, workload): value}."""
    frame = frame_of(bench, count)
    images.warm(frame)
    begin = time.monotonic()
    with mounts.bloscfs(bench, frame, "ro") as mount:
        measured = {("ms", MOUNT): 1e3 * (time.monotonic() - begin),
                    ("ms", FIRST_BYTES): 1e3 * read_at(mount.data, 0),
                    ("ms", LAST_BYTES): 1e3 * read_at(mount.data, (count - 1) * 16),
                    ("MiB", RESIDENT): mount.memory("VmRSS") / (1 << 20)}
        begin = time.monotonic()
    measured["ms", UNMOUNT] = 1e3 * (time.monotonic() - begin)
    return measured


def chunks(bench):
    title = "Number of chunks"
    cells = alternate(bench, title, {name: functools.partial(mount_frame, bench, count)
                                     for name, count in CHUNKS.items()})
    tables = {unit: Table(name, unit, part_of(cells, unit))
              for unit, name in (("ms", "Time"), ("MiB", "Memory after reading at both ends"))}
    goals = [Goal(f"{workload}: {MOST_CHUNKS} to {FEW_CHUNKS}",
                  ratio(tables[unit].median(MOST_CHUNKS, workload),
                        tables[unit].median(FEW_CHUNKS, workload)), 1.5, at_least=False)
             for unit, workload in (("ms", MOUNT), ("ms", UNMOUNT), ("MiB", RESIDENT))]
    return Group(title, list(tables.values()), goals)


def directory_of(bench, count):
    directory = bench.data / f"files-{count}"
    if not directory.exists():
        part = bench.new_directory("part")
        contents = frame_of(bench, 1).read_bytes()
        for number in range(count):
            (part / f"f{number}.b2frame").write_bytes(contents)
        part.rename(directory)
    return directory


def list_frames(bench, count):
    directory = directory_of(bench, count)
    seconds("ls", "-l", directory)  # fills the backing filesystem's caches
    begin = time.monotonic()
    with mounts.bloscfs(bench, directory, "ro") as mount:
        measured = {("ms", MOUNT): 1e3 * (time.monotonic() - begin)}
        before = mount.memory("VmRSS")
        measured["ms", LIST] = 1e3 * seconds("ls", "-l", mount.point)
        measured["bytes", "for each file seen"] = (mount.memory("VmRSS") - before) / count
        begin = time.monotonic()
    measured["ms", UNMOUNT] = 1e3 * (time.monotonic() - begin)
    return measured


def list_passthrough(bench, count):
    directory = directory_of(bench, count)
    with mounts.bindfs(bench, directory) as mount:
        return {("ms", LIST): 1e3 * seconds("ls", "-l", mount.point)}


def read_headers(bench, count):
    begin = time.monotonic()
    for entry in os.scandir(directory_of(bench, count)):
        descriptor = os.open(entry.path, os.O_RDONLY)
        os.pread(descriptor, HEADER_SIZE, 0)
        os.close(descriptor)
    return {("ms", READ_HEADERS): 1e3 * (time.monotonic() - begin)}


def files(bench):
    title = "Number of files"
    subjects = {}
    for name, count in FILES.items():
        subjects[f"{OWN}, {name}"] = functools.partial(list_frames, bench, count)
        subjects[f"{PASSTHROUGH}, {name}"] = functools.partial(list_passthrough, bench, count)
        subjects[f"headers, {name}"] = functools.partial(read_headers, bench, count)
    cells = alternate(bench, title, subjects)
    times, memory = Table("Time", "ms", part_of(cells, "ms")), Table("Memory", "bytes",
                                                                     part_of(cells, "bytes"))
    own = times.median(f"{OWN}, {MOST_FILES}", LIST)
    passthrough = times.median(f"{PASSTHROUGH}, {MOST_FILES}", LIST)
    headers = times.median(f"headers, {MOST_FILES}", READ_HEADERS)
    limit = 1.5 * passthrough + headers if passthrough and headers else None
    goals = [Goal(f"{LIST} of {MOST_FILES}: to 1.5 {PASSTHROUGH} + {READ_HEADERS}",
                  ratio(own, limit), 1, at_least=False),
             Goal("bytes of memory for each file seen",
                  memory.median(f"{OWN}, {MOST_FILES}", "for each file seen"), 300, at_least=False)]
    return Group(title, [times, memory], goals)


GROUPS = {"scale-chunks": chunks, "scale-files": files}
