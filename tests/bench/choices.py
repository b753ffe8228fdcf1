"""Compares settings that are chosen by contents with usual ones: stored size, and time for
choosing."""

import dataclasses
import time

import images
import make_data
import mounts
import peers
from bench_run import Goal, Group, Table, alternate, ratio
from commands import Missing, run, run_json
from kinds import KINDS

SIZE = 16 << 20  # bytes of each kind
USUAL = "zstd 5, shuffle"
TIMES = 5
GOALS = ["ratio", "balanced", "speed"]
IN_CHART = ("float32, two decimals", "float64, smooth", "int32, counters", "text, a table")
FIELD = "field.f32"


def small(bench):
    data = bench.build / "bench-data" / str(SIZE)
    data.mkdir(parents=True, exist_ok=True)
    return dataclasses.replace(bench, size=SIZE, data=data)


def created(bench, raw, *options):
    """Returns the size of a frame that b2frame creates."""
    path = bench.new_directory("created") / "data.b2frame"
    run(bench.build / "tools/b2frame", "create", "--flat", *options, raw, "-o", path)
    return path.stat().st_size


def copied(bench, raw, *options):
    """Returns the size of a frame that a mount creates."""
    source = bench.new_directory("source")
    with mounts.bloscfs(bench, source, *options) as mount:
        run("cp", raw, mount.point / "data")
    return (source / "data.b2frame").stat().st_size


def usual_options(name):
    return "--codec", "zstd", "--clevel", "5", "--filters", "shuffle", "--typesize", str(
        KINDS[name].typesize)


def stored(bench):
    """Returns {name: {kind: ratio of contents to stored bytes}}."""
    cells = {}

    def note(subject, kind, size):
        cells.setdefault(subject, {})[kind] = [SIZE / size]

    for kind in KINDS:
        raw = make_data.make(bench.data, kind, SIZE)
        note(USUAL, kind, created(bench, raw, *usual_options(kind)))
        for goal in GOALS:
            note(f"auto:{goal}", kind, created(bench, raw, "--codec", f"auto:{goal}"))
        note("mount, zstd 5", kind, copied(bench, raw, "clevel=5"))
        for goal in GOALS:
            note(f"mount, auto:{goal}", kind, copied(bench, raw, f"codec=auto:{goal}"))
        try:
            image = images.squashfs(bench, kind, "zstd", peers.LARGE)
            note("squashfs zstd 1M", kind, image.stat().st_size)
        except Missing as reason:
            bench.missing.append(f"squashfs zstd 1M: {reason}")
    return cells


def worst(cells, subject, usual):
    """Returns by what factor the subject stores more than `usual`, at most."""
    return max(usual_ratio[0] / cells[subject][kind][0] for kind, usual_ratio in cells[usual].items())


def chosen_by_mount(bench, raw, goal):
    """Returns the mount options that `goal` chooses for the contents."""
    source = bench.new_directory("source")
    with mounts.bloscfs(bench, source, f"codec=auto:{goal}") as mount:
        run("cp", raw, mount.point / "data")
    info = run_json(bench.build / "tools/b2frame", "info", "--json", source / "data.b2frame")
    filters = "+".join(info["filters"]) or "none"
    return f"codec={info['codec']}", f"clevel={info['clevel']}", f"filters={filters}"


def writing(bench, raw, options):
    """Returns the seconds until a new file is on disk."""
    source = bench.new_directory("source")
    with mounts.bloscfs(bench, source, *options) as mount:
        begin = time.monotonic()
        run("dd", f"if={raw}", f"of={mount.point / 'data'}", "bs=1M", "conv=fsync")
        return time.monotonic() - begin


def choices(bench):
    bench = small(bench)
    cells = stored(bench)
    tables = [Table(f"Contents of {SIZE >> 20} MiB to what is stored", "ratio", cells, IN_CHART)]
    goals = [
        Goal("auto:ratio: stored, to zstd 5 with shuffle, at worst",
             worst(cells, "auto:ratio", USUAL), 1.02, at_least=False),
        Goal("the same through a mount", worst(cells, "mount, auto:ratio", "mount, zstd 5"), 1.02,
             at_least=False),
    ]
    raw = make_data.make(bench.data, FIELD, SIZE)
    often = dataclasses.replace(bench, rounds=TIMES * bench.rounds)  # short, with small differences
    for goal in GOALS:
        chosen = chosen_by_mount(bench, raw, goal)
        subjects = {name: lambda options=options: {"dd and fsync": writing(bench, raw, options)}
                    for name, options in (("chosen", (f"codec=auto:{goal}",)), ("given", chosen))}
        table = Table(f"Writing {FIELD} with auto:{goal}: {', '.join(chosen)}", "s",
                      alternate(often, goal, subjects), None)
        tables.append(table)
        goals.append(Goal(f"time of writing with auto:{goal}, to that with the same settings given",
                          ratio(table.median("chosen", "dd and fsync"),
                                table.median("given", "dd and fsync")), 1.05, at_least=False))
    return Group("Settings by contents", tables, goals)


GROUPS = {"choices": choices}
