"""Blosc2 frames as files: mounts them, and lists what a mount would show.

    import bloscfs

    with bloscfs.mount("/data/frames", ro=True, cache_size="1G") as files:
        text = (files / "run.log").read_text()

    for entry in bloscfs.ls("https://example.org/data/"):
        print(entry.shown, entry.shape, entry.contents)

The work is done by the programs bloscfs and b2frame, which are searched for on PATH. The environment variables BLOSCFS
and B2FRAME name other programs to run instead.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import json
import logging
import os
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Iterator, List, Mapping, Optional, Tuple, Union

__all__ = ["CommitError", "Entry", "MountError", "UnmountError", "ls", "mount"]

Source = Union[str, "os.PathLike[str]"]
OptionValue = Union[None, bool, int, str, "os.PathLike[str]"]

_HELD_ELSEWHERE = 3  # exit status of `bloscfs --unmount`: committed, but other mount namespaces have the mount
_NOT_COMMITTED = re.compile(
    r"^.*: (stays mounted: .*(could not be committed|could not commit|has committed nothing)"
    r"|not committed, kept in |unmounted; its daemon had died|unmounted; another program changed )", re.MULTILINE)

_log = logging.getLogger(__name__)


class MountError(OSError):
    """Nothing was mounted. The message is that of the program bloscfs."""


class UnmountError(OSError):
    """The mount could not be ended, or had ended before.

    Nothing is forced: a mount that is in use stays, with its mountpoint, and the message names the processes. Once they
    have closed their files, `bloscfs --unmount MOUNTPOINT` ends it. A temporary mountpoint then is an empty directory,
    which `rmdir` removes.
    """


class CommitError(UnmountError):
    """Something that was written is not in the source under its name.

    The message has a line for each such file. It says where the contents are:
    - If the mount stays, they are in the mount. Remove the cause, and `bloscfs --unmount MOUNTPOINT` commits them.
    - If the source keeps them under another name, `b2frame recover SOURCE` gives them the right one.
    - If another program changed a file meanwhile, they are beside it, in a file NAME.conflict-TIME.
    - If the daemon has died, they are lost; which files these are is not known.
    """


@dataclasses.dataclass(frozen=True)
class Entry:
    """A file or directory that a mount would show. What does not apply, or is not known, is None."""

    file: str  # path or URL of what is stored
    status: str  # "ok", "damaged", "unsupported" or "unreadable"
    reason: Optional[str] = None  # why it is not "ok"
    shown: Optional[str] = None  # path or URL with the name that a mount shows
    kind: Optional[str] = None  # of a frame, or "plain", "directory", "ctable", "symlink", "special"
    shape: Optional[Tuple[int, ...]] = None  # of an array
    dtype: Optional[str] = None  # of an array, as NumPy writes it
    typesize: Optional[int] = None  # bytes of an item
    items: Optional[int] = None
    codec: Optional[str] = None
    clevel: Optional[int] = None
    filters: Optional[str] = None  # separated by commas
    contents: Optional[int] = None  # bytes, without a header of NPY
    stored: Optional[int] = None  # bytes
    ratio: Optional[float] = None  # of contents to stored
    modified: Optional[datetime.datetime] = None  # in UTC


@contextlib.contextmanager
def mount(source: Source, mountpoint: Optional[Source] = None, **options: OptionValue) -> Iterator[Path]:
    """Mounts `source` while a `with` block runs, and gives the mountpoint.

    `source` is a directory, a URL, or one frame, which the mount shows as its only file. Without `mountpoint` a
    temporary directory is made, and removed at the end. `options` are those of bloscfs(1), by their names there:
    `cache_size="1G"` gives `-o cache_size=1G`, `ro=True` gives `-o ro`, and False or None leave an option out.

    The end of the block commits everything that was written, and unmounts. Close all files before. Raises MountError,
    UnmountError or CommitError. If the block raises an exception, that one is raised, with the others chained to it.
    """
    point = Path(tempfile.mkdtemp(prefix="bloscfs-") if mountpoint is None else mountpoint).absolute()
    try:
        _start(_operand(source), str(point), options)
        try:
            yield point
        except BaseException as error:
            _chain(error, _end(str(point), mountpoint is None))
            raise
        failure = _end(str(point), mountpoint is None)
        if failure is not None:
            raise failure
    finally:
        if mountpoint is None:
            # Fails while something is mounted there, and removes no contents.
            with contextlib.suppress(OSError):
                point.rmdir()


def ls(source: Source, recursive: bool = False, **options: OptionValue) -> List[Entry]:
    """Lists what a mount of `source`, a path or a URL, would show, from the headers of frames: see b2frame-ls(1).

    `recursive` enters subdirectories. `options` are the program's options for URLs: `endpoint="https://HOST"`,
    `anonymous=True`. What cannot be read has an entry whose status is not "ok". Raises OSError if that is `source`.
    """
    words = ["--" + name.replace("_", "-") + ("" if value is None else f"={value}") for name, value in _given(options)]
    target = _operand(source)
    done = _run("b2frame", "ls", "--json", *(["--recursive"] if recursive else []), *words, target)
    entries = [_entry(line) for line in done.stdout.splitlines()]
    if done.returncode not in (0, 1) or (done.returncode == 1 and not entries):
        raise OSError(_message(done))
    if len(entries) == 1 and entries[0].kind is None and _without_query(entries[0].file) == _without_query(target):
        raise OSError(f"{entries[0].file}: {entries[0].reason}")
    return entries


def _start(source: str, mountpoint: str, options: Mapping[str, OptionValue]) -> None:
    """Returns when the mount works: until then bloscfs stays in the foreground."""
    words = []
    for name, value in _given(options):
        # A comma would end the option.
        words += ["-o", name if value is None else name + "=" + re.sub(r"([\\,])", r"\\\1", value)]
    done = _run("bloscfs", *words, source, mountpoint)
    if done.returncode != 0:
        raise MountError(_message(done))
    if done.stderr:
        _log.warning("%s", _message(done))


def _end(mountpoint: str, is_temporary: bool) -> Optional[UnmountError]:
    """Commits everything and unmounts.

    Returns what went wrong: raised here, it would get the exception of the block for its context, and _chain() would
    close a circle.
    """
    done = _run("bloscfs", "--unmount", mountpoint)
    message = _message(done)
    if ": stays mounted: " in done.stderr:
        message += f"\nTo end the mount later, run: bloscfs --unmount {mountpoint}"
        if is_temporary:
            message += f" && rmdir {mountpoint}"
    if "no bloscfs is mounted there" in done.stderr:
        message += "\nThe mount ended before the block did; if its daemon was killed, what was not committed is lost"
    # The status is 0 even if the daemon had died.
    if _NOT_COMMITTED.search(done.stderr):
        return CommitError(message)
    if done.returncode not in (0, _HELD_ELSEWHERE):
        return UnmountError(message)
    if done.stderr:
        _log.warning("%s", message)
    return None


def _run(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    program = os.environ.get(name.upper()) or name
    command = [program, *arguments]
    try:
        return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8",
                              errors="surrogateescape", check=False)
    except OSError as error:
        # With the status that a shell gives.
        return subprocess.CompletedProcess(
            command, 127, "", f"cannot run {program}: {error.strerror}; install {name} or set {name.upper()}")


def _message(done: subprocess.CompletedProcess[str]) -> str:
    """What the program said, without its name."""
    said = re.sub(r"^(bloscfs|b2frame): ", "", done.stderr, flags=re.MULTILINE).strip()
    return said or f"{done.args[0]} ended with status {done.returncode}"


def _given(options: Mapping[str, OptionValue]) -> Iterator[Tuple[str, Optional[str]]]:
    """Names of options and their values; None for those that have no value."""
    for name, value in options.items():
        if value is not None and value is not False:
            yield name, None if value is True else str(value)


def _operand(source: Source) -> str:
    """A path or URL that the programs do not take for an option."""
    text = os.fsdecode(source)
    return "./" + text if text.startswith("-") else text


def _entry(line: str) -> Entry:
    known = {field.name for field in dataclasses.fields(Entry)}
    values = {name: value for name, value in json.loads(line).items() if name in known}
    if "shape" in values:
        values["shape"] = tuple(values["shape"])
    if "modified" in values:
        values["modified"] = datetime.datetime.strptime(values["modified"], "%Y-%m-%dT%H:%M:%S%z")
    return Entry(**values)


def _without_query(url: str) -> str:
    """Messages do not show the query of a URL, which may hold a token."""
    return url.partition("?")[0]


def _chain(error: BaseException, failure: Optional[UnmountError]) -> None:
    """Adds `failure` to what the traceback of `error` shows."""
    if failure is None:
        return
    while True:
        earlier = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
        if earlier is None:
            break
        error = earlier
    error.__context__ = failure
    error.__suppress_context__ = False
