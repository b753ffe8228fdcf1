"""Memory of a mount after several kinds of work, and after a minute of idleness."""

import shutil
import time

import images
import mounts
import overwriting
import peers
import reading
import writing
from bench_run import Goal, Group, Table
from commands import run_json, seconds

TITLE = "Memory"
IDLE_SECONDS = 60
CACHE_SIZE, OUTSIDE_CACHE = 256 << 20, 48 << 20  # the default, and what a mount may use in addition
PEAK, IDLE = "peak", "after a minute of idleness"


def read_sequentially(bench, mount):
    for how in reading.WAYS:
        seconds(*reading.command(bench, how, mount.point / "field"))


def read_randomly(bench, mount):
    for how in ("pread", "direct", "mmap"):
        run_json(bench.program("read_bench"), "random", mount.point / "field", how, 65536, 4)


WORK = {"sequential reading": read_sequentially, "random reading": read_randomly,
        "small writes": overwriting.write_into, "writing": writing.into}


def measure_once(bench):
    """Returns {workload: {moment: MiB}}. The peak covers all work so far."""
    source = bench.new_directory("source")
    shutil.copyfile(images.frame(bench, reading.FIELD, peers.ZSTD), source / "field.b2frame")
    measured = {}
    with mounts.bloscfs(bench, source, f"cache_size={CACHE_SIZE >> 20}M") as mount:
        for name, work in WORK.items():
            work(bench, mount)
            measured[name] = {PEAK: [mount.memory("VmHWM") / (1 << 20)]}
        time.sleep(IDLE_SECONDS)
        measured["all"] = {IDLE: [mount.memory("VmRSS") / (1 << 20)]}
    return measured


def measure(bench):
    table = Table("Resident", "MiB", measure_once(bench))
    limit = (CACHE_SIZE + OUTSIDE_CACHE) / (1 << 20)
    goals = [Goal(f"{name}: peak to cache_size + 48 MiB", table.median(name, PEAK) / limit, 1,
                  at_least=False) for name in WORK]
    goals.append(Goal(f"{IDLE}: to cache_size + 48 MiB", table.median("all", IDLE) / limit, 0.5,
                      at_least=False))
    return Group(TITLE, [table], goals)


GROUPS = {"memory": measure}
