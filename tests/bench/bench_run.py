"""Measures in alternation, A B C A B C ..., so that changes of the machine's speed affect all
alike."""

import contextlib
import mmap
import shutil
import statistics
import sys
from dataclasses import dataclass, field
from pathlib import Path

from commands import Missing

MB = 1e6
TOUCHED = 128 << 20
MADV_POPULATE_WRITE = 23


@dataclass
class Bench:
    """The settings of a run, which every group of workloads gets."""

    build: Path
    data: Path  # for files that later runs use again
    scratch: Path  # empty, and removed at the end
    size: int  # bytes of each file of contents
    rounds: int
    peer_library: str | None  # C-Blosc2
    missing: list = field(default_factory=list)
    peak_memory: int = 0  # of all bloscfs mounts of the group

    @property
    def point(self):
        path = self.scratch / "mnt"
        path.mkdir(exist_ok=True)
        return path

    def new_directory(self, name):
        path = self.scratch / name
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir()
        return path

    def program(self, name):
        return self.build / "tests/bench" / name

    def blosc2(self, *arguments):
        """Returns the command that measures C-Blosc2 itself."""
        if self.peer_library is None:
            raise Missing("C-Blosc2 is not to be had")
        return [self.program("blosc2_bench"), self.peer_library, *arguments]


@dataclass
class Table:
    """The values of all rounds: cells[subject][workload]."""

    title: str
    unit: str
    cells: dict
    in_chart: tuple | None = ()  # workloads in the chart; (): all; None: no chart

    def median(self, subject, workload):
        values = self.cells.get(subject, {}).get(workload)
        return statistics.median(values) if values else None

    def best(self, subject, workload):
        values = self.cells.get(subject, {}).get(workload)
        return min(values) if values else None

    def workloads(self):
        names = {}  # in order of their first appearance
        for row in self.cells.values():
            names.update(dict.fromkeys(row))
        return list(names)


@dataclass
class Goal:
    """A measured ratio, and the value that it should reach. The ratio is None if a peer is
    missing."""

    what: str
    value: float | None
    target: float
    at_least: bool = True

    def is_met(self):
        if self.value is None:
            return None
        return self.value >= self.target if self.at_least else self.value <= self.target


@dataclass
class Group:
    title: str
    tables: list
    goals: list


def ratio(above, below):
    return above / below if above is not None and below else None


def _turns(measure):
    measured = measure()
    if isinstance(measured, dict):
        yield measured
    else:
        yield from measured


def touch_memory():
    """Takes memory from the host before measuring. A virtual machine's host reclaims free memory,
    and getting 2 MiB back takes 5 ms, which is longer than what is measured."""
    with mmap.mmap(-1, TOUCHED) as memory, contextlib.suppress(OSError):
        memory.madvise(mmap.MADV_HUGEPAGE)
        memory.madvise(MADV_POPULATE_WRITE)


def alternate(bench, title, subjects):
    """Measures all subjects in alternation. subjects[name]() returns {workload: value}, or yields
    several such dicts, with the other subjects measured in between. Returns {name: {workload:
    values of all rounds}}. A subject that this machine lacks is noted and left out."""
    cells = {}
    there = dict(subjects)
    for number in range(bench.rounds):
        print(f"{title}: round {number + 1} of {bench.rounds}", file=sys.stderr)
        running = {name: _turns(measure) for name, measure in there.items()}
        while running:
            for name, turns in list(running.items()):
                touch_memory()
                try:
                    measured = next(turns, None)
                except Missing as reason:
                    bench.missing.append(f"{name}: {reason}")
                    del there[name]
                    measured = None
                if measured is None:
                    del running[name]
                    continue
                for workload, value in measured.items():
                    cells.setdefault(name, {}).setdefault(workload, []).append(value)
    return cells


def part_of(cells, kind):
    """Returns the part of {name: {(kind, workload): values}} that has this kind."""
    chosen = {name: {workload: values for (what, workload), values in row.items() if what == kind}
              for name, row in cells.items()}
    return {name: row for name, row in chosen.items() if row}
