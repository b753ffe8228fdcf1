#!/usr/bin/env python3
"""Checks the direction of includes: between layers, between the rooms of a layer, and who may know what is outside."""

import re
import subprocess
import sys
from pathlib import Path

# A line includes from itself and from those below.
LAYERS = ["tools", "fs", "frame", "codec"]

# From the top: a room includes from itself and from the lines below its own.
ROOMS = {
    "fs": """
        fuse
        sandbox
        mount
        names
        commit tree
        content
        encoding
        view source
        numpy options
        support
        """,
    "frame": """
        open
        cframe sframe
        editing
        reading
        header array bloscpack
        container
        stored
        store python
        """,
}

# Headers of libraries that one room alone may know.
KEPT_IN = {"fuse_lowlevel.h": "fs/fuse", "linux/fuse.h": "fs/fuse", "seccomp.h": "fs/sandbox", "linux/landlock.h": "fs/sandbox"}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def levels():
    """How far down each room is, by its folder: the same for neighbours, which do not know each other."""
    return {f"{layer}/{room}": number
            for layer, picture in ROOMS.items()
            for number, line in enumerate(picture.split("\n"))
            for room in line.split()}


def room_of(path):
    parts = path.split("/")
    return "/".join(parts[:2]) if parts[0] in ROOMS else parts[0]


def problem(name, target, level):
    """What is wrong with a file's include of a file of ours; None if nothing is."""
    own, other = room_of(name), room_of(target)
    own_layer, other_layer = own.split("/")[0], other.split("/")[0]
    if other_layer not in LAYERS:
        return "does not start at the root"
    if other_layer in ROOMS and other not in level:
        return f"is in no room that {Path(__file__).name} knows"
    if own_layer != other_layer:
        return None if LAYERS.index(other_layer) > LAYERS.index(own_layer) else f"is above {own_layer}"
    return None if own == other or level[other] > level[own] else f"is not below {own}"


def problems(root):
    level = levels()
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *LAYERS],
                            cwd=root, check=True, capture_output=True, text=True).stdout.split("\n")
    for name in (n for n in listed if n.endswith((".cpp", ".hpp")) and (root / n).is_file()):
        if name.split("/")[0] in ROOMS and room_of(name) not in level:
            yield f"{name}: is in no room"
            continue
        for number, line in enumerate((root / name).read_text().splitlines(), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            if match[1] == '"':
                wrong = problem(name, match[2], level)
            else:
                keeper = KEPT_IN.get(match[2], room_of(name))
                wrong = None if keeper == room_of(name) else f"is for {keeper} alone"
            if wrong:
                yield f'{name}:{number}: "{match[2]}" {wrong}'


def main():
    found = list(problems(Path(__file__).resolve().parent.parent))
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
