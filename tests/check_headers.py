#!/usr/bin/env python3
"""Compiles each header of the libraries and programs by itself, to find headers that lack an include.

Ordinary builds do not find these: a source may include other headers first, and so may a unity build's group.
usage: check_headers.py BUILD [FILE...]. The compiler and its options come from the build directory BUILD.
With FILEs, which may also be sources and tests, checks only these and the headers that include one of them.
"""

import json
import os
import re
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("codec", "frame", "fs", "tools", "tests")
OPTIONS = ("-std", "-I", "-isystem", "-D", "-m")


def command_of(build, folder):
    """Returns the compiler, and all options with which it compiles the sources of a folder."""
    words = []
    for entry in json.loads((build / "compile_commands.json").read_text()):
        if entry["output"].startswith(f"{folder}/"):
            words += shlex.split(entry["command"])
    compiler = [word for word in words[:2] if not word.startswith("-")]
    return compiler + sorted({word for word in words if word.startswith(OPTIONS)})


def complaint(build, command, name):
    """Returns the compiler's errors for a file, or an empty text if nothing is missing."""
    what = ["-include", str(ROOT / name), os.devnull] if name.endswith(".hpp") else [str(ROOT / name)]
    result = subprocess.run([*command, "-fsyntax-only", "-w", "-x", "c++", *what], cwd=build, capture_output=True,
                            text=True)
    return "" if result.returncode == 0 else f"{name}: cannot be compiled by itself\n{result.stderr[:2000]}"


def includes_one_of(header, files):
    included = re.findall(r'^#include "(.+)"$', (ROOT / header).read_text(), re.MULTILINE)
    return not files.isdisjoint(included)


def main():
    build = Path(sys.argv[1]).resolve()
    files = set(sys.argv[2:])
    listed = subprocess.run(["git", "ls-files", *(f"{folder}/*.hpp" for folder in FOLDERS if folder != "tests")],
                            cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    if files:
        listed = sorted(files | {name for name in listed if includes_one_of(name, files)})
    commands = {folder: command_of(build, folder) for folder in FOLDERS}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        complaints = [text for text in pool.map(
            lambda name: complaint(build, commands[name.partition("/")[0]], name), listed) if text]
    for text in complaints:
        print(text)
    print(f"{len(listed)} files, {len(complaints)} that lack something")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
