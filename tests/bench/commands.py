"""Runs programs, and reports their errors."""

import json
import shutil
import subprocess
import time


class Missing(Exception):
    """Something that this machine lacks. The measurements that need it are left out."""


def need_program(name):
    # The PATH of ordinary users often lacks the directories of mkfs programs.
    found = shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")
    if not found:
        raise Missing(f"{name} is not installed")
    return found


def run(*command, stdout=subprocess.PIPE):
    """Returns the program's output. If it fails, the exception has its error output."""
    words = [str(word) for word in command]
    done = subprocess.run(words, stdout=stdout, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr.strip() or done.returncode}")
    return done.stdout


def run_json(*command):
    return json.loads(run(*command))


def seconds(*command):
    """Returns how long the program takes. Discards its output."""
    begin = time.monotonic()
    run(*command, stdout=subprocess.DEVNULL)
    return time.monotonic() - begin
