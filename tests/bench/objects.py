"""Object stores behind a network: Ceph's gateway with a round-trip delay of 20 ms and 100 MB/s. The
peer copies the same files as plain objects."""

import contextlib
import os
import shutil
import subprocess
import time

import mounts
import web
from bench_run import MB, Goal, Group, Table, alternate, part_of, ratio
from commands import need_program, run, seconds

TITLE = "Object stores"
DELAY, FAR, WIDTH = 20, 200, 100_000_000  # milliseconds, milliseconds, bytes per second
FILES, FILE_SIZE, SMALL, FEW, LARGE = 1000, 50_000, 2000, 40, 512 << 20
OWN, PEER = "bloscfs", "rclone"
KEYS = {"AWS_ACCESS_KEY_ID": "TESTACCESSKEY", "AWS_SECRET_ACCESS_KEY": "test/secret+key"}
UP, DOWN, COPY = f"{FILES} files up", f"{FILES} files down", "a file of 512 MiB up"
LIST, LIST_AGAIN, END = (f"ls -lR of {SMALL} frames", "a second later again",
                         f"unmount with {FEW} files, {FAR} ms")


@contextlib.contextmanager
def store(bench):
    """Runs a gateway with the empty bucket "bench". Yields its port."""
    process = subprocess.Popen([bench.program("object_store")], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True)
    try:
        yield int(process.stdout.readline())
    finally:
        process.stdin.close()
        process.wait()
        process.stdout.close()


def make_files(bench, count, size):
    folder = bench.new_directory("files")
    for number in range(count):
        (folder / f"f{number:04}").write_bytes(os.urandom(size))
    return folder


@contextlib.contextmanager
def own_mount(bench, port, prefix, *options):
    command = [bench.build / "tools/bloscfs", "-f", "-o",
               ",".join([f"endpoint=http://127.0.0.1:{port}", *options]), f"s3://bench/{prefix}",
               bench.point]
    with mounts.served(bench.point, *command) as mount:
        yield mount


def end_own(bench, mount):
    """Unmounts. Returns the seconds until everything is stored."""
    begin = time.monotonic()
    # The command also fails if another mount namespace has the mount. The daemon's exit status
    # counts.
    subprocess.run([bench.build / "tools/bloscfs", "--unmount", bench.point], capture_output=True)
    if mount.process.wait() != 0:
        raise RuntimeError("the daemon could not store all")
    return time.monotonic() - begin


def rclone(port, *words):
    settings = {"type": "s3", "provider": "Ceph", "access_key_id": KEYS["AWS_ACCESS_KEY_ID"],
                "secret_access_key": KEYS["AWS_SECRET_ACCESS_KEY"],
                "endpoint": f"http://127.0.0.1:{port}"}
    for name, value in settings.items():
        os.environ[f"RCLONE_CONFIG_S_{name.upper()}"] = value
    return seconds(need_program("rclone"), "--config", "/dev/null", *words)


def walk(mount):
    """Returns the seconds and network requests of `ls -lR`."""
    before, begin = mount.stats()["network_requests"], time.monotonic()
    seconds("ls", "-lR", mount.point)
    return time.monotonic() - begin, mount.stats()["network_requests"] - before


def own(bench):
    found = {}
    with store(bench) as port, web.slow_link(bench, port, DELAY, WIDTH) as far:
        files = make_files(bench, FILES, FILE_SIZE)
        with own_mount(bench, far, "many", "rw", "create") as mount:
            took = seconds("cp", "-r", files, mount.point / "d") + end_own(bench, mount)
        found["rate", UP] = FILES / took
        with own_mount(bench, far, "many", "ro") as mount:
            copy = bench.new_directory("copy")
            found["rate", DOWN] = FILES / seconds("cp", "-r", mount.point / "d", copy)
            found["requests", DOWN] = mount.stats()["network_requests"]
        with own_mount(bench, port, "small", "rw", "create") as mount:
            run("cp", "-r", make_files(bench, SMALL, 2000), mount.point / "d")
            end_own(bench, mount)
        with own_mount(bench, far, "small", "ro") as mount:
            found["time", LIST], found["requests", LIST] = walk(mount)
            time.sleep(1.5)
            found["time", LIST_AGAIN], found["requests", LIST_AGAIN] = walk(mount)
        with web.slow_link(bench, port, FAR, WIDTH) as very_far:
            with own_mount(bench, very_far, "few", "rw", "create") as mount:
                run("cp", "-r", make_files(bench, FEW, FILE_SIZE), mount.point / "d")
                found["time", END] = end_own(bench, mount)
        (large := bench.scratch / "large").write_bytes(os.urandom(LARGE))
        with own_mount(bench, far, "large", "rw", "create") as mount:
            took = seconds("cp", large, mount.point / "large") + end_own(bench, mount)
        found["width", COPY] = LARGE / took / MB
    yield found


def peer(bench):
    found = {}
    with store(bench) as port, web.slow_link(bench, port, DELAY, WIDTH) as far:
        files, copy = make_files(bench, FILES, FILE_SIZE), bench.scratch / "copy"
        found["rate", UP] = FILES / rclone(far, "copy", files, "S:bench/many")
        shutil.rmtree(copy, ignore_errors=True)
        found["rate", DOWN] = FILES / rclone(far, "copy", "S:bench/many", copy)
        (large := bench.scratch / "large").write_bytes(os.urandom(LARGE))
        found["width", COPY] = LARGE / rclone(far, "copyto", large, "S:bench/large") / MB
    yield found


def goals(tables):
    rate, width, took = tables["rate"], tables["width"], tables["time"]
    return [
        Goal(f"{UP}: to {PEER}", ratio(rate.median(OWN, UP), rate.median(PEER, UP)), 1),
        Goal(f"{COPY}: to {PEER}", ratio(width.median(OWN, COPY), width.median(PEER, COPY)), 0.8),
        Goal(f"{LIST}: seconds", took.median(OWN, LIST), 5, at_least=False),
        Goal(f"{END}: seconds", took.median(OWN, END), 3, at_least=False),
    ]


def measure(bench):
    os.environ.update(KEYS)
    os.environ.pop("AWS_CA_BUNDLE", None)  # otherwise rclone does not start
    cells = alternate(bench, TITLE, {OWN: lambda: own(bench), PEER: lambda: peer(bench)})
    tables = {"rate": Table("Files a second", "1/s", part_of(cells, "rate")),
              "width": Table("Stored bytes", "MB/s", part_of(cells, "width")),
              "time": Table("Listing and unmounting", "s", part_of(cells, "time"), None),
              "requests": Table("Requests", "", part_of(cells, "requests"), None)}
    return Group(TITLE, list(tables.values()), goals(tables))


GROUPS = {"objects": measure}
