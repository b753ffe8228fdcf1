"""Mounts filesystems as context managers, which always unmount at the end."""

import contextlib
import json
import os
import subprocess
import time
from pathlib import Path

from commands import Missing, need_program, run

MOUNT_SECONDS = 30


# KiB that the kernel reads ahead in a bloscfs that root has mounted.
OWN_READ_AHEAD = 1024


class Mount:
    def __init__(self, point, process=None):
        self.point, self.process = point, process
        self.sets_read_ahead = False

    @property
    def data(self):
        """The file with the contents, which every frame and image has."""
        return self.point / "data"

    def set_read_ahead(self, kibibytes):
        """Sets the readahead of filesystems that do not set it. A bloscfs keeps its own setting."""
        setting = _backing_device(self.point).joinpath("read_ahead_kb")
        if not self.sets_read_ahead:
            setting.write_text(str(kibibytes))
        elif int(setting.read_text()) != OWN_READ_AHEAD:
            raise RuntimeError(f"{setting} is not what a bloscfs sets")

    def stats(self):
        """Returns the counters of a bloscfs."""
        return json.loads(os.getxattr(self.point, "user.bloscfs.stats"))

    def processor_time(self):
        """Returns the seconds of processor time that the daemon has used, or None without a
        daemon."""
        if self.process is None:
            return None
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def wait_for_commits(self):
        """Waits until a bloscfs has committed everything."""
        while self.sets_read_ahead and self.stats()["dirty_bytes"] > 0:
            time.sleep(0.1)

    def memory(self, field):
        """Returns a number of bytes from the daemon's status in /proc, such as VmHWM or VmRSS."""
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith(field + ":"):
                return int(line.split()[1]) << 10
        raise Missing(f"no {field} in /proc")


def _backing_device(point):
    """Returns the directory in /sys with the kernel's settings for the mount's pages."""
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        before, after = line.split(" - ")
        if before.split()[4] == str(point):
            device, (kind, source) = before.split()[2], after.split()[:2]
    if kind == "btrfs":
        entry = next(Path("/sys/fs/btrfs").glob(f"*/devices/{Path(source).name}"))
        return entry.parent.parent / "bdi"
    return Path("/sys/class/bdi") / device


def _unmount(point, command):
    """Unmounts. Tries again, since a program may still use the mount for a moment."""
    for _ in range(50):
        if subprocess.run([*command, str(point)], capture_output=True).returncode == 0:
            return
        time.sleep(0.1)
    run(*command, "-l" if command == ["umount"] else "-z", point)


def end(point):
    """Unmounts what a program in the background has mounted."""
    _unmount(point, ["fusermount3", "-u"])


@contextlib.contextmanager
def served(point, *command):
    """A mount of a program that stays in the foreground."""
    # In a session of its own, like a daemon: the kernel divides processor time among sessions.
    process = subprocess.Popen([str(word) for word in command], stderr=subprocess.PIPE, text=True,
                               start_new_session=True)
    try:
        deadline = time.monotonic() + MOUNT_SECONDS
        while not point.is_mount():
            if process.poll() is not None:
                raise Missing(f"{command[0]}: {process.stderr.read().strip()}")
            if time.monotonic() > deadline:
                raise Missing(f"{command[0]} did not mount")
            time.sleep(0.002)
        yield Mount(point, process)
    finally:
        if point.is_mount():
            _unmount(point, ["fusermount3", "-u"])
        else:
            process.kill()
        process.wait()
        process.stderr.close()


@contextlib.contextmanager
def loop(point, kind, image, *options):
    """A mount of an image by the kernel."""
    try:
        run("mount", "-t", kind, "-o", ",".join(["loop", *options]), image, point)
    except RuntimeError as error:
        raise Missing(str(error)) from error
    try:
        yield Mount(point)
    finally:
        _unmount(point, ["umount"])


def bloscfs(bench, source, *options):
    words = ["-o", ",".join(options)] if options else []
    return _remembering_peak(
        bench, served(bench.point, bench.build / "tools/bloscfs", "-f", *words, source, bench.point))


@contextlib.contextmanager
def _remembering_peak(bench, mounting):
    with mounting as mount:
        mount.sets_read_ahead = True
        try:
            yield mount
        finally:
            if mount.process.poll() is None:
                bench.peak_memory = max(bench.peak_memory, mount.memory("VmHWM"))


def null_fuse(bench, size):
    return served(bench.point, bench.build / "tests/bench/null_fuse", bench.point, size)


def squashfuse(bench, image):
    return served(bench.point, need_program("squashfuse"), "-f", image, bench.point)


def erofsfuse(bench, image):
    return served(bench.point, need_program("erofsfuse"), "-f", image, bench.point)


def new_btrfs(bench, size, *options):
    """A new btrfs that is removed after its mount."""
    image = bench.scratch / "image.btrfs"
    return _with_new_image(image, size, lambda: loop(bench.point, "btrfs", image, *options))


@contextlib.contextmanager
def _with_new_image(image, size, mounting):
    try:
        with open(image, "wb") as file:
            file.truncate(size)
        run(need_program("mkfs.btrfs"), "-q", image)
        with mounting() as mount:
            yield mount
    finally:
        image.unlink()


def passthrough(bench, directory):
    return served(bench.point, bench.program("passthrough_fuse"), directory, bench.point)


def bindfs(bench, directory):
    return served(bench.point, need_program("bindfs"), "-f", "--multithreaded", directory, bench.point)
