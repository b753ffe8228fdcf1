#!/usr/bin/env python3
"""Makes random stores in the directory form, and packs them with b2frame. Reads the result with Python's zipfile, and
checks members and their order, local headers, keys, and the contents of each leaf, external or embedded.

usage: random_stores.py B2FRAME COUNT SEED
"""
import json
import os
import random
import struct
import subprocess
import sys
import tempfile
import zipfile

PARTS = ["a", "b", "temp", "x.1", "größe", "two words", ".hidden"]
SUFFIXES = [".b2nd", ".b2f", ".b2b", ".frame", ""]


class Tool:
    def __init__(self, program):
        self.program = program

    def __call__(self, *arguments, stdin=b""):
        done = subprocess.run([self.program, *arguments], input=stdin, capture_output=True)
        if done.returncode != 0:
            raise SystemExit(f"b2frame {arguments}: {done.stderr.decode()}")
        return done.stdout


def random_contents(draw):
    size = draw.choice([0, 1, 100, draw.randrange(20_000)])
    return draw.randbytes(size) if draw.random() < 0.3 else bytes(draw.choice(b"abc") for _ in range(size))


def key_of(path):
    """Returns the key that python-blosc2 gives a path: without its last suffix."""
    return "/" + os.path.splitext(path)[0]


def make_store(tool, draw, root):
    """Makes a random store. Returns the contents of its leaves by key."""
    leaves = {}
    kind = draw.choice(["b2dict", "b2tree"])
    for _ in range(draw.randrange(6)):
        parts = draw.choices(PARTS, k=draw.randrange(1, 4))
        path = "/".join(parts) + draw.choice(SUFFIXES)
        if key_of(path) in leaves or os.path.isdir(f"{root}/{path}") or os.path.isfile(f"{root}/{parts[0]}") or \
                os.path.isfile(f"{root}/{'/'.join(parts[:2])}") or path == "embed.b2e":
            continue
        os.makedirs(os.path.dirname(f"{root}/{path}") or root, exist_ok=True)
        leaves[key_of(path)] = random_contents(draw)
        tool("create", "--flat", "-", "-o", f"{root}/{path}", "--chunk-size", "4K", stdin=leaves[key_of(path)])
    heap, embedded = b"", {}
    for number in range(draw.randrange(5)):
        key = f"/{draw.choice(['a', 'b', 'e/f'])}/{number}"
        contents = random_contents(draw)
        tool("create", "-", "-o", f"{root}.part", stdin=contents)
        with open(f"{root}.part", "rb") as part:
            frame = part.read()
        heap += draw.randbytes(draw.randrange(9))  # dead space
        embedded[key] = {"offset": len(heap), "length": len(frame)}
        heap += frame
        leaves.setdefault(key, contents)
    if draw.random() < 0.3:
        embedded["/far"] = {"urlbase": "http://localhost/", "path": "root/far.b2nd"}
    tool("create", "-", "-o", f"{root}/embed.b2e", "--chunk-size", "8K", "--meta", kind + ':={"version":1}', "--vlmeta",
         "estore_metadata:=" + json.dumps({"embed_map": embedded, "current_offset": len(heap)}), stdin=heap)
    return leaves


def check_zip(path, root):
    with zipfile.ZipFile(path) as packed, open(path, "rb") as raw:
        names = packed.namelist()
        files = [os.path.relpath(os.path.join(place, name), root) for place, _, found in os.walk(root) for name in found]
        assert sorted(names) == sorted(files), (names, files)
        assert packed.testzip() is None
        assert names[-1] == "embed.b2e"
        sizes = [member.file_size for member in packed.infolist()][:-1]
        assert sizes == sorted(sizes, reverse=True), sizes
        for member in packed.infolist():
            with open(f"{root}/{member.filename}", "rb") as file:
                contents = file.read()
            assert member.compress_type == zipfile.ZIP_STORED and member.compress_size == len(contents)
            raw.seek(member.header_offset)
            head = struct.unpack("<4s5H3L2H", raw.read(30))
            assert head[0] == b"PK\3\4" and head[3] == 0 and head[7] == head[8] == len(contents), head
            # Readers find a member's bytes by this rule.
            raw.seek(member.header_offset + 30 + head[9] + head[10])
            assert raw.read(len(contents)) == contents


def check_leaves(tool, path, leaves):
    lines = [json.loads(line) for line in tool("ls", "--json", path).splitlines()]
    # References are shown as symlinks.
    shown = [line["file"].removeprefix(path + ":") for line in lines if line["kind"] != "symlink"]
    assert sorted(shown) == sorted(leaves), (shown, leaves)
    for key, contents in leaves.items():
        assert tool("extract", f"{path}:{key}", "-o", "-") == contents, key
    tool("verify", path)


def main(program, count, seed):
    tool, draw = Tool(program), random.Random(int(seed))
    for number in range(int(count)):
        with tempfile.TemporaryDirectory() as place:
            root, packed, unpacked = (f"{place}/{name}" for name in ("s.b2d", "s.b2z", "t.b2d"))
            os.mkdir(root)
            leaves = make_store(tool, draw, root)
            tool("pack", root, "-o", packed)
            try:
                check_zip(packed, root)
                check_leaves(tool, packed, leaves)
                tool("unpack", packed, "-o", unpacked)
                subprocess.run(["diff", "-r", root, unpacked], check=True)
            except (AssertionError, zipfile.BadZipFile, subprocess.CalledProcessError) as error:
                raise SystemExit(f"seed {seed}, store {number}: {error!r}")


if __name__ == "__main__":
    main(*sys.argv[1:])
