"""How soon programs start, and how soon mounts can be used."""

import shutil
import statistics
import time
from pathlib import Path

import mounts
from bench_run import Goal, Group, Table, alternate
from commands import need_program, run, seconds

TITLE = "Beginning"
SAMPLES = Path(__file__).parents[1] / "data/samples"
TIMES = 20  # in each round; the median counts
MOUNT, VERSION, INFO = "mount", "--version", "info FILE"
OWN = "bloscfs"


def milliseconds(once):
    return statistics.median(once() for _ in range(TIMES)) * 1000


def until_mounted(mounting):
    """Returns the seconds until a foreground program has mounted. Checks every 2 ms."""
    begin = time.monotonic()
    with mounting():
        return time.monotonic() - begin


def until_returned(bench, *command):
    """Returns the seconds until a command returns that mounts in the background."""
    taken = seconds(*command)
    mounts.end(bench.point)
    return taken


def measure(bench):
    source = bench.new_directory("source")
    shutil.copytree(SAMPLES, source, dirs_exist_ok=True)
    b2frame, bloscfs = bench.build / "tools/b2frame", bench.build / "tools/bloscfs"

    def program(*command):
        return lambda: {VERSION: milliseconds(lambda: seconds(*command))}

    def own():
        return {VERSION: milliseconds(lambda: seconds(b2frame, VERSION)),
                INFO: milliseconds(lambda: seconds(b2frame, "info", source / "temperature.b2nd")),
                MOUNT: milliseconds(lambda: until_returned(bench, bloscfs, "-o", "ro", source, bench.point))}

    def null_fuse():
        return {MOUNT: milliseconds(lambda: until_mounted(lambda: mounts.null_fuse(bench, 4096)))}

    def squashfuse():
        program, image = need_program("squashfuse"), bench.scratch / "image.squashfs"
        if not image.exists():
            run(need_program("mksquashfs"), source, image, "-quiet", "-no-progress")
        return {MOUNT: milliseconds(lambda: until_returned(bench, program, image, bench.point))}

    subjects = {OWN: own, "an empty program": program("true"), "null FUSE": null_fuse,
                "squashfuse": squashfuse}
    times = Table("Until a program has ended, or a mount can be used", "ms",
                  alternate(bench, TITLE, subjects))
    goals = [Goal(f"{what}: milliseconds", times.median(OWN, what), limit, at_least=False)
             for what, limit in ((VERSION, 3), (MOUNT, 15))]
    return Group(TITLE, [times], goals)


GROUPS = {"start": measure}
