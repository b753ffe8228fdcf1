#!/usr/bin/env python3
"""Checks the direction of includes between layers, between the rooms of a layer, and between modules. A module is a
header with the source of the same name. Checks also which room may include the headers of a library, and that each room
of frame has a namespace of its own."""

import re
import subprocess
import sys
from pathlib import Path

# A layer may include headers of itself and of the layers after it.
LAYERS = ["tools", "fs", "frame", "codec"]

# The rooms of a layer, from the top: a room may include headers of itself and of rooms in lower lines.
ROOMS = {
    "fs": """
        fuse
        sandbox
        mount
        source/local source/objects
        source/local/names source/local/archives
        source/local/tree
        source/local/files source/archives
        source
        commit
        content
        encoding survey
        view
        numpy options
        support
        """,
    "frame": """
        pystore
        open
        cframe sframe repair
        editing
        reading
        header array bloscpack
        container
        stored remote
        store python choosing
        """,
}

# Layers whose modules must not include each other in a circle. In codec, the table of compressors and its rows do.
WITHOUT_CIRCLES = ["tools", "fs", "frame"]

# Headers of libraries that only one room may include.
KEPT_IN = {"fuse_lowlevel.h": "fs/fuse", "linux/fuse.h": "fs/fuse", "seccomp.h": "fs/sandbox", "linux/landlock.h": "fs/sandbox",
           "minizip/zip.h": "frame/pystore", "curl/curl.h": "frame/remote",
           "libxml/HTMLparser.h": "frame/remote", "libxml/parser.h": "frame/remote",
           "pugixml.hpp": "frame/remote"}

# Two rooms may define the same name. In one namespace, the linker would use one definition for both.
NAMESPACE = re.compile(r"^namespace bloscfs::frame\b[^{]*", re.MULTILINE)

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def levels():
    """Returns the line number of each room, by its folder. Rooms of the same line must not include each other."""
    return {f"{layer}/{room}": number
            for layer, picture in ROOMS.items()
            for number, line in enumerate(picture.split("\n"))
            for room in line.split()}


def room_of(path):
    """Returns the room of a file, which is its folder. In codec and tools, the layer is one room."""
    folder, layer = path.rpartition("/")[0], path.split("/")[0]
    return folder if layer in ROOMS else layer


def problem(name, target, level):
    """Returns what is wrong if the file `name` includes the project's file `target`, or None."""
    own, other = room_of(name), room_of(target)
    own_layer, other_layer = own.split("/")[0], other.split("/")[0]
    if other_layer not in LAYERS:
        return "does not start at the root"
    if other_layer in ROOMS and other not in level:
        return f"is in no room that {Path(__file__).name} knows"
    if own_layer != other_layer:
        return None if LAYERS.index(other_layer) > LAYERS.index(own_layer) else f"is above {own_layer}"
    return None if own == other or level[other] > level[own] else f"is not below {own}"


def module_of(name):
    return name.rsplit(".", 1)[0]


def circles(includes):
    """Returns the lists of modules that include each other in a circle, by Tarjan's algorithm. `includes` maps each
    module to the modules that it includes."""
    number, lowest, path, found = {}, {}, [], []

    def visit(module):
        number[module] = lowest[module] = len(number)
        path.append(module)
        for other in sorted(includes.get(module, ())):
            if other not in number:
                visit(other)
            if other in path:
                lowest[module] = min(lowest[module], lowest[other])
        if lowest[module] == number[module]:
            start = path.index(module)
            if len(path) - start > 1:
                found.append(sorted(path[start:]))
            del path[start:]

    for module in sorted(includes):
        if module not in number:
            visit(module)
    return found


def problems(root):
    level = levels()
    includes = {}
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *LAYERS],
                            cwd=root, check=True, capture_output=True, text=True).stdout.split("\n")
    for name in (n for n in listed if n.endswith((".cpp", ".hpp")) and (root / n).is_file()):
        if name.split("/")[0] in ROOMS and room_of(name) not in level:
            yield f"{name}: is in no room"
            continue
        text = (root / name).read_text()
        own = f"namespace bloscfs::frame::inline {room_of(name).split('/')[-1]} "
        opened = NAMESPACE.findall(text) if name.startswith("frame/") else []
        if opened and own not in opened:
            yield f"{name}: has no {own}"
        for number, line in enumerate(text.splitlines(), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            if match[1] == '"':
                wrong = problem(name, match[2], level)
                if name.split("/")[0] in WITHOUT_CIRCLES and module_of(match[2]) != module_of(name):
                    includes.setdefault(module_of(name), set()).add(module_of(match[2]))
            else:
                keeper = KEPT_IN.get(match[2], room_of(name))
                wrong = None if keeper == room_of(name) else f"is for {keeper} alone"
            if wrong:
                yield f'{name}:{number}: "{match[2]}" {wrong}'
    for circle in circles(includes):
        yield f"these include each other in a circle: {', '.join(circle)}"


def main():
    found = list(problems(Path(__file__).resolve().parent.parent))
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
