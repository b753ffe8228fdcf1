"""Common work on trees of small files, compared with filesystems that do not compress. One group
has the stored files in the disk's page cache. Another group reads from and writes to the disk."""

import contextlib
import functools
import random
import shutil
import sqlite3
import time
from pathlib import Path

import make_data
import mounts
from bench_run import Goal, Group, Table, alternate, part_of, ratio
from commands import need_program, run, seconds

TITLE = "Work on small files"
DISK_TITLE = "Work on small files from and to a disk"
FILES, SMALLEST, LARGEST, PER_DIRECTORY = 5000, 1 << 10, 20 << 10, 100
SOURCES = 60  # files that `make` compiles
TRANSACTIONS = 1000
DROP = Path("/proc/sys/vm/drop_caches")
OWN, BINDFS, PASSTHROUGH = "bloscfs", "bindfs", "FUSE passthrough"
TIME, PROCESSOR = "time", "processor"
# Relative to the time of bindfs.
WARM_GOALS = {"untar": 0.8, "grep -rc, the first": 0.9, "grep -rc": 0.9, "cp -a": 0.9, "ls -lR": 0.9,
              "rm -rf": 1.0}
WRITING = ["untar", "rsync in", "git clone", "cp -a", "sed -i", "rm -rf", "make -j2"]
LOOKING = ["git status", "grep -r"]
FIRST_STATUS = "git status, the first"
SQLITE = f"sqlite, {TRANSACTIONS} transactions"


def shell(command):
    return seconds("sh", "-c", command)


def git(*arguments):
    who = ["-c", "user.name=Bench", "-c", "user.email=bench@localhost", "-c", "gc.auto=0"]
    return run("git", *who, *arguments)


def material(bench):
    """Makes, only once, a tree of text, an archive of it, a repository, and the sources of a
    program."""
    top = bench.data / f"small-files-{FILES}"
    done = top / "complete"
    if done.exists():
        return top
    shutil.rmtree(top, ignore_errors=True)
    tree = top / "tree"
    text = make_data.make(bench.data, "mixed", bench.size).read_bytes()
    draw = random.Random(1)
    for number in range(FILES):
        directory = tree / f"d{number // PER_DIRECTORY:02}"
        directory.mkdir(parents=True, exist_ok=True)
        size = draw.randint(SMALLEST, LARGEST)
        begin = draw.randrange(len(text) - size)
        (directory / f"file{number:04}.txt").write_bytes(text[begin:begin + size])
    run("tar", "-C", top, "-cf", top / "tree.tar", "tree")
    shutil.copytree(tree, top / "repository")
    git("-C", top / "repository", "init", "-q")
    git("-C", top / "repository", "add", ".")
    git("-C", top / "repository", "commit", "-qm", "all")
    program = top / "program"
    program.mkdir()
    for number in range(SOURCES):
        (program / f"part{number}.c").write_text(
            f"#include <stdio.h>\nint part{number}(int x) {{ return printf(\"%d\", x + {number}); }}\n")
    names = " ".join(f"part{number}.o" for number in range(SOURCES))
    (program / "Makefile").write_text(f"all: {names}\n")
    done.touch()
    return top


def transact(path):
    begin = time.monotonic()
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as base:
        base.execute("create table t (number integer, text text)")
        for number in range(TRANSACTIONS):
            base.execute("insert into t values (?, ?)", (number, f"row {number}"))
    return time.monotonic() - begin


def work(point, top):
    """Yields the steps in an order in which each has what it needs."""
    yield "untar", lambda: seconds("tar", "-C", point, "-xf", top / "tree.tar")
    yield "rsync in", lambda: seconds("rsync", "-a", top / "tree/", point / "synced")
    yield "git clone", lambda: seconds("git", "clone", "-q", "--no-hardlinks", top / "repository",
                                       point / "clone")
    for name in (FIRST_STATUS, "git status"):
        yield name, lambda: seconds("git", "-C", point / "clone", "status")
    yield "grep -r", lambda: shell(f"grep -r 'no such words' {point}/tree || true")
    yield "cp -a", lambda: seconds("cp", "-a", point / "tree", point / "copy")
    yield "sed -i", lambda: shell(f"sed -i s/a/b/ {point}/tree/d0*/*.txt")
    yield "rm -rf", lambda: seconds("rm", "-rf", point / "copy")
    shutil.copytree(top / "program", point / "program")
    yield "make -j2", lambda: seconds("make", "-s", "-j2", "-C", point / "program")
    yield SQLITE, lambda: transact(point / "base.sqlite")


def through(bench, mounting):
    for program in ("rsync", "git", "make", "cc"):
        need_program(program)
    top = material(bench)
    measured = {}
    with mounting() as mount:
        for name, do in work(mount.point, top):
            # Work that is left of the previous step must not count for this one. The kernel also
            # drops its inodes, for each of which a passthrough has a descriptor.
            run("sync")
            DROP.write_text("2")
            measured[name] = do()
    return measured


def warm_work(point, top):
    yield "untar", lambda: seconds("tar", "-C", point, "-xf", top / "tree.tar")
    for name in ("grep -rc, the first", "grep -rc"):
        yield name, lambda: shell(f"grep -rc 'no such words' {point}/tree || true")
    yield "cp -a", lambda: seconds("cp", "-a", point / "tree", point / "copy")
    yield "ls -lR", lambda: seconds("ls", "-lR", point / "tree")
    yield "rm -rf", lambda: seconds("rm", "-rf", point / "copy")


def through_warm(bench, mounting):
    """Returns the seconds of each step. (PROCESSOR, step) has the daemon's processor time for one
    file, including the commits after the step."""
    top = material(bench)
    measured = {}
    with mounting() as mount:
        for name, do in warm_work(mount.point, top):
            begin = mount.processor_time()
            measured[TIME, name] = do()
            mount.wait_for_commits()
            if begin is not None:
                measured[PROCESSOR, name] = (mount.processor_time() - begin) / FILES * 1000
    return measured


def subjects_of(bench, through_steps):
    def subject(mounting):
        return lambda: through_steps(
            bench, functools.partial(mounting, bench, bench.new_directory("source")))

    def in_directory(_, directory):
        return contextlib.nullcontext(mounts.Mount(directory))

    return {OWN: subject(mounts.bloscfs), BINDFS: subject(mounts.bindfs),
            PASSTHROUGH: subject(mounts.passthrough), "backing filesystem": subject(in_directory)}


def measure_warm(bench):
    cells = alternate(bench, TITLE, subjects_of(bench, through_warm))
    files = f"{FILES} files of 1 to 20 KiB"
    times = Table(files, "s", part_of(cells, TIME))
    processor = Table(f"{files}: the daemon's processor time of each", "ms",
                      part_of(cells, PROCESSOR), in_chart=None)
    goals = [Goal(f"{name}: time to that of {BINDFS}",
                  ratio(times.best(OWN, name), times.best(BINDFS, name)), most, at_least=False)
             for name, most in WARM_GOALS.items()]
    return Group(TITLE, [times, processor], goals)


def measure_with_disk(bench):
    times = Table(f"{FILES} files of 1 to 20 KiB", "s",
                  alternate(bench, DISK_TITLE, subjects_of(bench, through)))

    def goal(name, other, target):
        value = ratio(times.median(OWN, name), times.median(other, name))
        return Goal(f"{name}: time to that of {other}", value, target, at_least=False)

    goals = [goal(name, BINDFS, 0.8) for name in WRITING + LOOKING]
    goals += [goal(name, PASSTHROUGH, 1.3) for name in WRITING]
    goals += [goal(name, PASSTHROUGH, 1.1) for name in LOOKING]
    goals.append(goal(SQLITE, "backing filesystem", 2))
    return Group(DISK_TITLE, [times], goals)


GROUPS = {"small-files": measure_warm, "small-files-disk": measure_with_disk}
