"""Runs many readers and writers at once. Shows what their requests wait for, and how many
processors the lock that is held longest would let work."""

import mmap
import multiprocessing
import os
import random
import struct
import subprocess
from pathlib import Path

import images
import mounts
import peers
from bench_run import Goal, Group, Table, alternate

TITLE = "Sixteen at once"
PROCESSES, WANTED_PROCESSORS = 16, 16
READS, FILES = 2000, 200  # of each process
SMALL, LARGE, STEP = 4096, 16 << 20, 128 << 10
TAKEN, WAITS = "locks taken", "waits for one"
SWITCHES, CPU = "context switches", "time of a processor, µs"
HELD = "the most needed lock held alone, µs"
# As in lock_counts.cpp: address, site, taken, waits, nanoseconds of exclusive holds.
LOCK = struct.Struct("5Q")


def read_at_random(file, number, flags=0, most=None):
    draw, page = random.Random(number), mmap.mmap(-1, SMALL)
    descriptor = os.open(file, os.O_RDONLY | flags)
    pages = min(os.fstat(descriptor).st_size, most or 1 << 62) // SMALL
    for _ in range(READS):
        os.preadv(descriptor, [page], draw.randrange(pages) * SMALL)
    os.close(descriptor)


def read_from_cache(file, number):
    read_at_random(file, number, os.O_DIRECT, LARGE)


def read_in_order(file, number):
    size = os.path.getsize(file) // PROCESSES
    with open(file, "rb", buffering=0) as opened:
        opened.seek(number * size)
        for _ in range(size // STEP):
            opened.read(STEP)


def files_of(top, number):
    directory = top / f"of{number}"
    return [directory / f"file{index}" for index in range(FILES)]


def create_files(top, number):
    (top / f"of{number}").mkdir()
    for path in files_of(top, number):
        path.write_bytes(b"some words of text\n" * 250)


def read_files(top, number):
    for path in files_of(top, number):
        path.read_bytes()


def together(work, where):
    processes = [multiprocessing.Process(target=work, args=(where, number))
                 for number in range(PROCESSES)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    if any(process.exitcode for process in processes):
        raise RuntimeError(f"{work.__name__} failed")


class Daemon:
    """A bloscfs whose locks are counted."""

    def __init__(self, mount, counts):
        self.directory, self.counts = Path(f"/proc/{mount.process.pid}"), counts

    def state(self):
        table = self.counts.read_bytes()
        locks = {lock[0]: lock[1:] for lock in LOCK.iter_unpack(table[8:]) if lock[0]}
        status = [path.read_text() for path in self.directory.glob("task/*/status")]
        switches = sum(int(line.split()[1]) for text in status for line in text.splitlines()
                       if line.startswith("voluntary_ctxt_switches"))
        ticks = sum(map(int, self.directory.joinpath("stat").read_text().split()[13:15]))
        return locks, switches, ticks * 1e6 / os.sysconf("SC_CLK_TCK")

    def during(self, work, where, operations):
        """Returns {quantity: value for one operation}, and the place in the program of the most
        needed lock."""
        locks_before, switches_before, cpu_before = self.state()
        together(work, where)
        locks, switches, cpu = self.state()
        grown = {address: [after - before for after, before in
                           zip(lock[1:], locks_before.get(address, (0, 0, 0, 0))[1:])]
                 for address, lock in locks.items()}
        most = max(grown, key=lambda address: grown[address][2])
        program, = struct.unpack("Q", self.counts.read_bytes()[:8])
        values = {TAKEN: sum(lock[0] for lock in grown.values()),
                  WAITS: sum(lock[1] for lock in grown.values()),
                  SWITCHES: switches - switches_before, CPU: cpu - cpu_before,
                  HELD: grown[most][2] / 1000}
        return {name: value / operations for name, value in values.items()}, \
            locks[most][0] - program - 1


def function_at(program, site):
    named = subprocess.run(["addr2line", "-Cfe", program, hex(site)], capture_output=True, text=True)
    return named.stdout.split("(")[0].strip().removeprefix("bloscfs::") or "?"


def counted(bench, source, *options):
    counts = bench.scratch / "lock-counts"
    counts.unlink(missing_ok=True)
    program = bench.build / "tools/bloscfs"
    words = ["env", f"LD_PRELOAD={bench.program('liblock_counts.so')}", f"LOCK_COUNTS={counts}",
             program, "-f", *options, source, bench.point]
    return mounts.served(bench.point, *words), counts


def measure_once(bench, holders):
    """Returns {work: {quantity: value}}. Adds the function that holds the most needed lock to
    `holders`."""
    field = images.frame(bench, "field.f32", peers.LZ4)
    images.warm(field)
    small = bench.new_directory("source")
    in_field = {"4 KiB at random": (read_at_random, PROCESSES * READS),
                "the same from the block cache": (read_from_cache, PROCESSES * READS),
                "in order, 128 KiB": (read_in_order, bench.size // STEP)}
    in_files = {"create a small file": (create_files, PROCESSES * FILES),
                "open and read it": (read_files, PROCESSES * FILES)}
    for source, works in ((field, in_field), (small, in_files)):
        for name, (work, operations) in works.items():
            mounting, counts = counted(bench, source)
            with mounting as mount:
                where = mount.data if source == field else mount.point
                values, site = Daemon(mount, counts).during(work, where, operations)
            holders[name] = function_at(bench.build / "tools/bloscfs", site)
            yield {(name, quantity): value for quantity, value in values.items()}


def measure(bench):
    holders = {}
    cells = alternate(bench, TITLE, {"bloscfs": lambda: measure_once(bench, holders)})["bloscfs"]
    rows = {}
    for (name, quantity), values in cells.items():
        rows.setdefault(name, {})[quantity] = values
    table = Table("Of one operation", "", rows, in_chart=None)
    goals = [Goal(f"{name}: processors that {holder}'s lock lets work",
                  table.median(name, CPU) / max(table.median(name, HELD), 1e-9), WANTED_PROCESSORS)
             for name, holder in holders.items()]
    return Group(TITLE, [table], goals)


GROUPS = {"contention": measure}
