#!/usr/bin/env python3
"""Checks that no test sleeps. A test has other means:
- It polls until a condition holds (tests/support/comes_true.hpp).
- It moves a clock (tests/support/set_clock.hpp, DaemonTime).
- It simulates something slow, or a race (tests/support/pause.hpp).
"""

import re
import subprocess
import sys
from pathlib import Path

MAY_SLEEP = {"tests/support/comes_true.hpp", "tests/support/pause.hpp"}
# How often each of these files still sleeps, because it depends on a time that another program chooses. Add no file.
LEFT = {
    "tests/remote/hosts_test.cpp": 1,  # the store sets the ages of objects
    "tests/remote/mount_requests_test.cpp": 3,  # the mount sends no requests by itself
    "tests/remote/mounted.cpp": 1,  # the kernel's knowledge of names, and the mount's of objects, expires
    "tests/remote/nginx.cpp": 2,  # the server writes its log after its answers
    "tests/remote/sparse_reading_test.cpp": 1,  # the reader drops unused readahead
    "tests/remote/two_networks_test.cpp": 1,  # hosts are killed at random
}
SLEEP = re.compile(r"\b(?:sleep_for|sleep_until|usleep|nanosleep|sleep)\(")


def problems(root):
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "tests"], cwd=root,
                            check=True, capture_output=True, text=True).stdout.split()
    left = dict(LEFT)
    for name in listed:
        if not name.endswith((".cpp", ".hpp")) or name.startswith("tests/bench/") or name in MAY_SLEEP:
            continue
        lines = [number for number, line in enumerate((root / name).read_text().splitlines(), 1)
                 if SLEEP.search(line)]
        if len(lines) != left.pop(name, 0):
            yield from (f"{name}:{number}: a test does not sleep (tests/README.md)" for number in lines)
            if not lines:
                yield f"tests/check_sleeps.py: {name} does not sleep any more"
    yield from (f"tests/check_sleeps.py: there is no {name}" for name in left)


def main():
    found = list(problems(Path(__file__).resolve().parent.parent))
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
