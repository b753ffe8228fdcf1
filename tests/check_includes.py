#!/usr/bin/env python3
"""Checks the direction of includes: tools -> fs -> frame -> codec, nothing points up."""

import re
import subprocess
import sys
from pathlib import Path

LAYERS = ["codec", "frame", "fs", "tools"]
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def problems(root):
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *LAYERS],
                            cwd=root, check=True, capture_output=True, text=True).stdout.split("\n")
    for name in (n for n in listed if n.endswith((".cpp", ".hpp")) and (root / n).is_file()):
        own = LAYERS.index(name.split("/")[0])
        for number, line in enumerate((root / name).read_text().splitlines(), 1):
            match = INCLUDE.match(line)
            if not match or match[1] == "<":
                continue
            top = match[2].split("/")[0]
            if top not in LAYERS:
                yield f'{name}:{number}: "{match[2]}" does not start at the root'
            elif LAYERS.index(top) > own:
                yield f'{name}:{number}: {LAYERS[own]} must not include "{match[2]}"'


def main():
    found = list(problems(Path(__file__).resolve().parent.parent))
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
