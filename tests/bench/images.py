"""Makes frames, and images of other filesystems with the same contents, once for each size of the
data. Makes frames again if b2frame is newer. Before a measurement, all files are read into the page
cache, so that the disk has no effect."""

import os
import shutil
from dataclasses import dataclass

import make_data
import mounts
from commands import need_program, run

BTRFS_ROOM = 256 << 20  # in addition to the contents; btrfs needs at least this
EXT4_ROOM = 64 << 20


@dataclass(frozen=True)
class FrameSettings:
    codec: str
    level: int
    filters: str
    typesize: int
    sizes: tuple = ()  # further options of b2frame create

    def name(self):
        words = [self.codec, self.level, self.filters, self.typesize, *self.sizes]
        return "-".join(str(word).strip("-") for word in words)


def _complete(path, make):
    """Calls `make` with a temporary path, and renames the file once it is complete."""
    part = path.with_name(path.name + ".part")
    part.unlink(missing_ok=True)
    make(part)
    part.rename(path)
    return path


def _frame(bench, content, path, *options):
    """Makes a frame, unless one exists that this b2frame has made."""
    raw = make_data.make(bench.data, content, bench.size)
    program = bench.build / "tools/b2frame"
    if not path.exists() or path.stat().st_mtime < program.stat().st_mtime:
        path.parent.mkdir(exist_ok=True)
        run(program, "create", *options, raw, "-o", path)
    return path


def frame(bench, content, settings):
    """Makes a frame of all bytes of the file, which a mount shows as `data`."""
    path = bench.data / f"frame-{content}-{settings.name()}" / "data.b2frame"
    return _frame(bench, content, path, "--flat", "--codec", settings.codec, "--clevel",
                  settings.level, "--filters", settings.filters, "--typesize", settings.typesize,
                  *settings.sizes)


def array_frame(bench, content, *options):
    """Makes a frame of an NPY file, with any options of b2frame create."""
    name = "-".join(str(word).strip("-") for word in options)
    return _frame(bench, content, bench.data / f"array-{content}-{name}" / "data.b2nd", *options)


def _directory_with(bench, content):
    """Makes a directory that has the file under the name `data`."""
    raw = make_data.make(bench.data, content, bench.size)
    directory = bench.data / f"tree-{content}"
    directory.mkdir(exist_ok=True)
    if not (directory / "data").exists():
        (directory / "data").hardlink_to(raw)
    return directory


def squashfs(bench, content, codec, block_size):
    def make(part):
        run(program, _directory_with(bench, content), part, "-comp", codec, "-b", block_size,
            "-noappend", "-no-progress")

    path = bench.data / f"{content}-{codec}-{block_size}.squashfs"
    program = need_program("mksquashfs")
    return path if path.exists() else _complete(path, make)


def erofs(bench, content, cluster_size):
    def make(part):
        run(program, "-zlz4", f"-C{cluster_size}", part, _directory_with(bench, content))

    path = bench.data / f"{content}-{cluster_size}.erofs"
    program = need_program("mkfs.erofs")
    return path if path.exists() else _complete(path, make)


def empty_image(bench, path, kind, *options):
    """Makes an empty filesystem with room for twice the contents."""
    room = BTRFS_ROOM if kind == "btrfs" else EXT4_ROOM
    with open(path, "wb") as image:
        image.truncate(2 * bench.size + room)
    run(need_program(f"mkfs.{kind}"), *options, path)


def filled_image(bench, content, kind, option=None):
    """Makes a filesystem that the kernel can write to, with the contents. `option` is a mount
    option."""
    options = [option] if option else []

    def make(part):
        empty_image(bench, part, kind, "-q")
        with mounts.loop(bench.point, kind, part, *options) as mount:
            shutil.copy(_directory_with(bench, content) / "data", mount.point / "data")

    name = "-".join([content, *options]).replace(":", "-").replace("=", "-")
    path = bench.data / f"{name}.{kind}"
    return path if path.exists() else _complete(path, make)


def warm(path):
    """Reads a file into the page cache, so that the disk is not measured. Skips holes, as images
    have."""
    buffer = bytearray(1 << 20)
    with open(path, "rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        end = 0
        while end < size:
            try:
                begin = file.seek(end, os.SEEK_DATA)
            except OSError:  # no data follows
                return
            end = file.seek(begin, os.SEEK_HOLE)
            file.seek(begin)
            while file.tell() < end and file.readinto(buffer):
                pass
