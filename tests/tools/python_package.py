#!/usr/bin/env python3
"""Tests the Python package tools/python/bloscfs with real mounts. tests/tools/python_package_test.cpp runs them.

usage: python_package.py [CLASS[.test_NAME]]; BLOSCFS and B2FRAME in the environment are the programs.
"""
import contextlib
import errno
import functools
import http.server
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
import traceback
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools/python"))
import bloscfs  # noqa: E402

SAMPLES = ROOT / "tests/data/samples"
NPY = b"\x93NUMPY\1\0\x76\0" + b"{'descr': '|u1', 'fortran_order': False, 'shape': (5,), }".ljust(117) + b"\n"


def run(variable, *arguments):
    return subprocess.run([os.environ[variable], *map(str, arguments)], check=True, capture_output=True).stdout


def contents(frame):
    return run("B2FRAME", "extract", frame, "-o", "-")


def kill_daemon(mountpoint):
    number = json.loads(os.getxattr(mountpoint, "user.bloscfs.stats"))["pid"]
    process = os.pidfd_open(number)
    os.kill(number, signal.SIGKILL)
    select.select([process], [], [], 20)
    os.close(process)


class BodyFailed(Exception):
    """Raised by the block of a mount."""


def raise_alone():
    raise BodyFailed


def raise_from(cause):
    raise BodyFailed from cause


class MountCase(unittest.TestCase):
    def setUp(self):
        self.home = Path(self.enter(tempfile.TemporaryDirectory()))
        self.source = self.home / "source"
        self.source.mkdir()
        # Temporary mountpoints are made here.
        self.points = self.home / "points"
        self.points.mkdir()
        self.enter(mock.patch.object(tempfile, "tempdir", str(self.points)))

    def enter(self, context):
        result = context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)
        return result

    def tearDown(self):
        for point in (self.home / "point", *self.points.iterdir()):
            subprocess.run(["fusermount3", "-u", "-z", point], check=False, capture_output=True)

    def assert_points(self, *expected):
        """Checks which temporary mountpoints exist."""
        self.assertEqual(sorted(self.points.iterdir()), sorted(expected))

    def shares_an_array(self):
        """Makes t.b2nd, which must stay an array because it has a hard link. So a mount cannot commit other bytes to
        it."""
        (self.home / "t.npy").write_bytes(NPY + bytes(5))
        run("B2FRAME", "create", self.home / "t.npy", "-o", self.source / "t.b2nd")
        os.link(self.source / "t.b2nd", self.source / "u.b2nd")


class Mounts(MountCase):
    def test_directory_is_read(self):
        with bloscfs.mount(SAMPLES, ro=True, cache_size="64M") as files:
            self.assertIsInstance(files, Path)
            self.assert_points(files)
            self.assertEqual({path.name for path in files.iterdir()}, {"counts", "station.log", "temperature.npy"})
            self.assertEqual((files / "station.log").read_bytes(), contents(SAMPLES / "station.log.b2frame"))
        self.assert_points()

    def test_frame_is_read(self):
        with bloscfs.mount(str(SAMPLES / "station.log.b2frame"), ro=True) as files:
            self.assertEqual([path.name for path in files.iterdir()], ["station.log"])
            self.assertEqual((files / "station.log").stat().st_size, 900000)

    def test_writes_are_committed_at_the_end(self):
        with bloscfs.mount(self.source, codec="lz4", commit=3600) as files:
            (files / "new").write_bytes(b"contents")
            (files / "directory").mkdir()
            (files / "directory/t.npy").write_bytes(NPY + b"12345")
        self.assertEqual(contents(self.source / "new.b2frame"), b"contents")
        [new] = bloscfs.ls(self.source / "new.b2frame")
        self.assertEqual((new.codec, new.contents), ("lz4", 8))
        [array] = bloscfs.ls(self.source / "directory")
        self.assertEqual((array.shape, array.dtype), ((5,), "|u1"))

    def test_mountpoint_that_is_given_stays(self):
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.home)
        os.mkdir("-ro")
        Path("-ro/note").write_text("read me")
        os.mkdir("point")
        with bloscfs.mount("-ro", "point") as files:
            os.chdir("/")
            self.assertEqual(files, self.home / "point")
            self.assertEqual((files / "note").read_text(), "read me")
            self.assert_points()
        self.assertEqual(list((self.home / "point").iterdir()), [])

    def test_options_are_passed_on(self):
        log = self.home / "a,b\\c.log"
        with bloscfs.mount(self.source, ro=True, raw=False, codec=None, log=log, threads=2) as files:
            with self.assertRaises(OSError) as raised:
                (files / "new").touch()
            self.assertEqual(raised.exception.errno, errno.EROFS)
            self.assertTrue(log.exists())

    def test_two_mounts_at_once(self):
        with bloscfs.mount(SAMPLES, ro=True) as samples, bloscfs.mount(self.source) as files:
            self.assert_points(samples, files)
            (files / "copy").write_bytes((samples / "counts").read_bytes())
        self.assert_points()
        self.assertEqual(contents(self.source / "copy.b2frame"), contents(SAMPLES / "counts.b2frame"))

    def test_urls_are_mounted_and_listed(self):
        handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(SAMPLES))
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server, \
                mock.patch.object(http.server.SimpleHTTPRequestHandler, "log_message"):
            threading.Thread(target=server.serve_forever).start()
            try:
                url = f"http://127.0.0.1:{server.server_port}/"
                with bloscfs.mount(url) as files:
                    self.assertEqual((files / "station.log").read_bytes(), contents(SAMPLES / "station.log.b2frame"))
                with bloscfs.mount(url + "temperature.b2nd", raw=True) as files:
                    self.assertEqual(len((files / "temperature").read_bytes()), 840960)
                listed = {entry.shown: entry for entry in bloscfs.ls(url, retry_time=5)}
                self.assertEqual(listed[url + "temperature.npy"].shape, (40, 73, 72))
                for call in (bloscfs.ls, lambda missing: bloscfs.mount(missing).__enter__()):
                    with self.assertRaises(OSError) as raised:
                        call(url + "missing?token=secret")
                    self.assertIn(f"{url}missing", str(raised.exception))
                    self.assertNotIn("secret", str(raised.exception))
            finally:
                server.shutdown()
        self.assert_points()


class Refusals(MountCase):
    def test_refused_mounts_tell_why(self):
        nowhere = self.home / "nowhere"
        for source, point, options, reason in (
                (nowhere, None, {}, f"{nowhere}: No such file or directory"),
                (self.source, nowhere, {}, f"{nowhere}: no such directory; make it first"),
                (self.source, None, {"cache_size": "x"}, "option cache_size=x: wanted a size"),
                (self.source, None, {"nonsense": True}, "unknown option nonsense; the nearest are"),
                (self.source, None, {"raw": "x"}, "option raw takes no value")):
            with self.assertRaises(bloscfs.MountError) as raised:
                with bloscfs.mount(source, point, **options):
                    self.fail("mounted")
            self.assertTrue(str(raised.exception).startswith(reason), raised.exception)
            self.assert_points()

    def test_missing_programs_are_named(self):
        for variable, call in (("BLOSCFS", bloscfs.mount(self.source).__enter__),
                               ("B2FRAME", functools.partial(bloscfs.ls, self.source))):
            with mock.patch.dict(os.environ, {variable: "/nowhere/program"}), self.assertRaises(OSError) as raised:
                call()
            self.assertEqual(str(raised.exception), "cannot run /nowhere/program: No such file or directory; install "
                             f"{variable.lower()} or set {variable}")
        self.assert_points()


class Ends(MountCase):
    def test_mount_in_use_stays(self):
        (self.source / "note").write_text("read me")
        with self.assertRaises(bloscfs.UnmountError) as raised:
            with bloscfs.mount(self.source) as files:
                note = open(files / "note", encoding="utf-8")
        with note:
            self.assertNotIsInstance(raised.exception, bloscfs.CommitError)
            message = str(raised.exception)
            self.assertIn(f"{files}: stays mounted: it is in use\n", message)
            self.assertIn(f"(process {os.getpid()}): open file {files}/note", message)
            self.assertTrue(message.endswith(f"\nTo end the mount later, run: bloscfs --unmount {files} && "
                                             f"rmdir {files}"),
                            message)
            self.assert_points(files)
            self.assertEqual(note.read(), "read me")
        run("BLOSCFS", "--unmount", files)

    def test_mount_that_has_gone_is_raised(self):
        with self.assertRaises(bloscfs.UnmountError) as raised:
            with bloscfs.mount(self.source) as files:
                run("BLOSCFS", "--unmount", files)
        self.assertEqual(str(raised.exception), f"{files}: no bloscfs is mounted there\nThe mount ended before the block "
                         "did; if its daemon was killed, what was not committed is lost")
        self.assert_points()

    def test_what_another_program_has_overtaken_is_raised(self):
        stored = self.source / "note.b2frame"
        other = self.source / "other.b2frame"
        with bloscfs.mount(self.source) as files:
            (files / "note").write_text("old")
            (files / "other").write_text("theirs")
        with self.assertRaises(bloscfs.CommitError) as raised:
            with bloscfs.mount(self.source, commit=3600) as files:
                (files / "note").write_text("mine")
                other.rename(stored)
        self.assertIn("another program changed a file that had been written here", str(raised.exception))
        self.assertEqual(contents(stored), b"theirs")
        kept, = self.source.glob("note.conflict-*")
        self.assertEqual(contents(kept), b"mine")

    def test_what_is_not_committed_is_raised(self):
        self.shares_an_array()
        with self.assertRaises(bloscfs.CommitError) as raised:
            with bloscfs.mount(self.source) as files:
                (files / "t.npy").write_bytes(b"no array")
        message = str(raised.exception)
        self.assertIn(f"{files}: stays mounted: a file could not be committed\n  t.b2nd: ", message)
        self.assertIn("; 8 bytes wait in the mount", message)
        self.assertEqual((files / "t.npy").read_bytes(), b"no array")
        # Does what the documentation says.
        (self.source / "u.b2nd").unlink()
        run("BLOSCFS", "--unmount", files)
        self.assertEqual(contents(self.source / "t.npy.b2frame"), b"no array")

    def test_what_is_kept_in_source_is_raised(self):
        """Uses a program in place of bloscfs, as if a file were written between the last commit and the end of a
        mount."""
        program = self.home / "program"
        program.write_text('#!/bin/sh\n[ "$1" = --unmount ] || exit 0\n'
                           'echo "bloscfs: $2: a.b2frame: not committed, kept in /source as .t" >&2\nexit 1\n')
        program.chmod(0o755)
        with mock.patch.dict(os.environ, {"BLOSCFS": str(program)}), self.assertRaises(bloscfs.CommitError) as raised:
            with bloscfs.mount(self.source) as files:
                pass
        self.assertEqual(str(raised.exception), f"{files}: a.b2frame: not committed, kept in /source as .t")

    def test_exception_of_the_block_is_raised(self):
        with self.assertRaises(BodyFailed) as raised:
            with bloscfs.mount(self.source) as files:
                (files / "new").write_bytes(b"contents")
                raise BodyFailed
        self.assertIsNone(raised.exception.__context__)
        self.assert_points()
        self.assertEqual(contents(self.source / "new.b2frame"), b"contents")

    def test_failed_end_is_chained_to_the_exception_of_the_block(self):
        self.shares_an_array()
        first = KeyError("first")
        for raise_it, last in ((raise_alone, None), (lambda: raise_from(None), None),
                               (lambda: raise_from(first), first)):
            with self.assertRaises(BodyFailed) as raised:
                with bloscfs.mount(self.source) as files:
                    (files / "t.npy").write_bytes(b"no array")
                    raise_it()
            self.assertIs(raised.exception.__cause__, last)
            self.assertIsInstance((last or raised.exception).__context__, bloscfs.CommitError)
            self.assertIn("t.b2nd", "".join(traceback.format_exception(None, raised.exception, None)))
            subprocess.run(["fusermount3", "-u", files], check=True)
            # This command waits until the mount has ended.
            run("B2FRAME", "recover", self.source)


class EndsForRoot(MountCase):
    def test_what_a_full_disk_does_not_take_is_raised(self):
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4M", "none", self.source], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", self.source], check=True)
        with self.assertRaises(bloscfs.CommitError) as raised:
            with bloscfs.mount(self.source) as files:
                with self.assertRaises(OSError) as closed:
                    (files / "new").write_bytes(os.urandom(8 << 20))
                self.assertEqual(closed.exception.errno, errno.ENOSPC)
        self.assertRegex(str(raised.exception), r"\n  new\.b2frame: No space left on device.*; 8388608 bytes wait")

    def test_what_a_dead_daemon_had_is_raised(self):
        with self.assertRaises(bloscfs.CommitError) as raised:
            with bloscfs.mount(self.source, sandbox="off", commit=3600) as files:  # otherwise the janitor would unmount
                (files / "new").write_bytes(b"contents")
                kill_daemon(files)
        self.assertIn("unmounted; its daemon had died, so uncommitted writes are lost", str(raised.exception))
        self.assert_points()

    def test_copies_in_other_namespaces_are_no_failure(self):
        with contextlib.ExitStack() as stack, self.assertLogs("bloscfs") as logged:
            with bloscfs.mount(self.source) as files:
                (files / "new").write_bytes(b"contents")
                holder = stack.enter_context(subprocess.Popen(["unshare", "--mount", "sh", "-c", "echo; exec cat"],
                                                              stdin=subprocess.PIPE, stdout=subprocess.PIPE))
                holder.stdout.readline()
        self.assertIn("other mount namespaces still have it", logged.output[0])
        self.assertEqual(contents(self.source / "new.b2frame"), b"contents")


class Listings(MountCase):
    def test_ls_tells_what_a_mount_would_show(self):
        run("B2FRAME", "create", "--codec", "zstd", SAMPLES.parent / "make_samples.py", "-o", self.source / "a.b2frame")
        (self.source / "plain\u2028\n").write_text("note")
        (self.source / "sub").mkdir()
        (self.source / "sub/broken.b2frame").write_bytes(b"no frame")
        a, plain, sub = bloscfs.ls(self.source)
        self.assertEqual((a.file, a.shown), (str(self.source / "a.b2frame"), str(self.source / "a")))
        self.assertEqual((a.kind, a.status, a.codec, a.shape), ("cframe", "ok", "zstd", None))
        self.assertEqual(a.stored, (self.source / "a.b2frame").stat().st_size)
        self.assertEqual(int(a.modified.timestamp()), int((self.source / "a.b2frame").stat().st_mtime))
        self.assertEqual((plain.kind, plain.contents, plain.file), ("plain", 4, str(self.source / "plain\u2028\n")))
        self.assertEqual((sub.kind, sub.contents), ("directory", None))
        broken = bloscfs.ls(self.source, recursive=True)[2]
        self.assertEqual((broken.file, broken.status), (str(self.source / "sub/broken.b2frame"), "damaged"))
        self.assertEqual(bloscfs.ls(self.source / "sub"), [broken])
        for target, options, reason in ((self.source / "sub/broken.b2frame", {}, "b2frame repair may save it"),
                                        (self.home / "nowhere", {}, "No such file or directory"),
                                        (self.source, {"nonsense": True}, "unknown option --nonsense")):
            with self.assertRaises(OSError) as raised:
                bloscfs.ls(target, **options)
            self.assertIn(reason, str(raised.exception))


if __name__ == "__main__":
    unittest.main()
