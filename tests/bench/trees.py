"""Makes, lists, reads and removes many small files. Each step has a new mount."""

import contextlib
import functools
import os
import time

import make_data
import mounts
from bench_run import Goal, Group, Table, alternate, ratio
from commands import run, seconds

TITLE = "A tree of small files"
FIELD = "field.f32"
FILES, FILE_SIZE, PER_DIRECTORY = 20_000, 4096, 1000
BTRFS_SIZE = 1 << 30
CREATE, LIST, READ, REMOVE = "create, durably", "ls -lR", "read all", "remove"
OWN, PASSTHROUGH = "bloscfs", "bindfs"


def create(bench, top):
    count = min(FILES, bench.size // FILE_SIZE)
    with open(make_data.make(bench.data, FIELD, bench.size), "rb") as field:
        contents = [field.read(FILE_SIZE) for _ in range(count)]
    begin = time.monotonic()
    for number, content in enumerate(contents):
        directory = top / f"d{number // PER_DIRECTORY}"
        if number % PER_DIRECTORY == 0:
            directory.mkdir()
        with open(directory / f"f{number}", "wb", buffering=0) as file:
            file.write(content)
    return time.monotonic() - begin


def read_all(top):
    begin = time.monotonic()
    for directory, _, names in os.walk(top):
        for name in names:
            with open(os.path.join(directory, name), "rb", buffering=0) as file:
                file.read()
    return time.monotonic() - begin


def commit_directories(top):
    """Syncs the directories, which makes all files of a bloscfs durable."""
    for directory in [*top.iterdir(), top]:
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def through_steps(bench, mounting, make_durable):
    with mounting() as mount:
        taken = create(bench, mount.point)
        begin = time.monotonic()
        make_durable(mount.point)
        measured = {CREATE: taken + time.monotonic() - begin}
    with mounting() as mount:
        measured[LIST] = seconds("ls", "-lR", mount.point)
    with mounting() as mount:
        measured[READ] = read_all(mount.point)
    with mounting() as mount:
        measured[REMOVE] = seconds("find", mount.point, "-mindepth", 1, "-delete")
    return measured


def through_bloscfs(bench):
    source = bench.new_directory("source")
    return through_steps(bench, lambda: mounts.bloscfs(bench, source), commit_directories)


def sync(directory):
    run("sync", "-f", directory)


def through_bindfs(bench):
    directory = bench.new_directory("plain")
    return through_steps(bench, lambda: mounts.bindfs(bench, directory), lambda _: sync(directory))


def in_directory(bench):
    directory = bench.new_directory("plain")
    mounting = functools.partial(contextlib.nullcontext, mounts.Mount(directory))
    return through_steps(bench, mounting, sync)


def through_btrfs(bench):
    with mounts.new_btrfs(bench, BTRFS_SIZE, "compress=zstd:3") as mount:
        return through_steps(bench, functools.partial(contextlib.nullcontext, mount), sync)


def measure(bench):
    subjects = {OWN: functools.partial(through_bloscfs, bench),
                PASSTHROUGH: functools.partial(through_bindfs, bench),
                "backing filesystem": functools.partial(in_directory, bench),
                "btrfs zstd:3": functools.partial(through_btrfs, bench)}
    times = Table(f"{min(FILES, bench.size // FILE_SIZE)} files of 4 KiB", "s",
                  alternate(bench, TITLE, subjects))
    goals = [Goal(f"{step}: to {PASSTHROUGH}, in files per second",
                  ratio(times.median(PASSTHROUGH, step), times.median(OWN, step)), 0.5)
             for step in (CREATE, READ)]
    return Group(TITLE, [times], goals)


GROUPS = {"trees": measure}
