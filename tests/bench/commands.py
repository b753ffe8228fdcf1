"""Running programs, and what is wrong with them."""

import json
import shutil
import subprocess
import time


class Missing(Exception):
    """Something that this machine does not have; what needs it is left out."""


def need_program(name):
    # Not every user's PATH has the places of mkfs programs.
    found = shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")
    if not found:
        raise Missing(f"{name} is not installed")
    return found


def run(*command, stdout=subprocess.PIPE):
    """The program's output; what it said on stderr is in the exception when it fails."""
    words = [str(word) for word in command]
    done = subprocess.run(words, stdout=stdout, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr.strip() or done.returncode}")
    return done.stdout


def run_json(*command):
    return json.loads(run(*command))


def seconds(*command):
    """How long the program takes; its output goes nowhere."""
    begin = time.monotonic()
    run(*command, stdout=subprocess.DEVNULL)
    return time.monotonic() - begin
