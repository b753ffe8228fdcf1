#!/usr/bin/env python3
"""Makes random stores in the directory form, and edits each through a mount. Then reads the store with a separate
reader (tests/tools/frame_reader.py), and compares the result with the mount before and after a new start.

usage: random_store_edits.py BLOSCFS B2FRAME COUNT SEED EDITS
"""
import errno
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
from frame_reader import read_store  # noqa: E402

GROUPS = ["", "d0", "d1", "d0/d2", "d1/d2", "d3"]
DTYPES = {"<i4": 4, "<f8": 8, "|u1": 1}


def npy(dtype, shape, elements):
    """Returns the NPY file that NumPy writes for an array."""
    text = "(" + ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "") + ")"
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {text}, }}"
    header += " " * (63 - (len(header) + 10) % 64) + "\n"
    return b"\x93NUMPY\1\0" + len(header).to_bytes(2, "little") + header.encode() + elements


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, **options)
    if done.returncode != 0:
        raise SystemExit(f"{command}: {done.stderr.decode()}")
    return done.stdout


class Draw(random.Random):
    def contents(self, most=3000):
        size = self.choice([0, 1, 100, self.randrange(most)])
        return self.randbytes(size) if self.random() < 0.3 else bytes(self.choice(b"abc") for _ in range(size))

    def npy_file(self):
        dtype = self.choice(list(DTYPES))
        shape = [self.randrange(1, 6) for _ in range(self.randrange(1, 4))]
        size = DTYPES[dtype]
        for extent in shape:
            size *= extent
        return npy(dtype, shape, self.randbytes(size))

    def name(self):
        return self.choice([f"f{self.randrange(4)}", f"a{self.randrange(4)}.npy"])

    def file(self, name):
        return self.npy_file() if name.endswith(".npy") and self.random() < 0.8 else self.contents()


class Store:
    """The directory of a store, and the model of what a mount must show of it."""

    def __init__(self, b2frame, draw, root):
        self.files, self.groups = {}, set()
        self.shown_embedded = set()  # paths of embedded leaves that no file hides
        heap, entries = b"", {}
        os.mkdir(root)
        for group in GROUPS:
            for name in sorted({draw.name() for _ in range(draw.randrange(3))}):
                shown, stem = f"{group}/{name}".lstrip("/"), name.removesuffix(".npy")
                contents = draw.npy_file() if name.endswith(".npy") else draw.contents()
                with open(f"{root}.npy" if name.endswith(".npy") else f"{root}.part", "wb") as part:
                    part.write(contents)
                frame = f"{root}.b2frame"
                run(b2frame, "create", part.name, "-o", frame, "--codec", "blosclz")
                self.note(shown, contents)
                self.shown_embedded.add(shown)
                if draw.random() < 0.3:
                    self.shown_embedded.discard(shown)
                    os.makedirs(f"{root}/{group}", exist_ok=True)
                    shutil.move(frame, f"{root}/{group}/{stem}{'.b2nd' if name.endswith('.npy') else '.b2f'}")
                    if draw.random() < 0.7:
                        continue
                    # Embed a leaf with other contents, which the file hides.
                    run(b2frame, "create", "-", "-o", frame, "--codec", "blosclz", input=b"hidden")
                with open(frame, "rb") as file:
                    embedded = file.read()
                heap += draw.randbytes(draw.randrange(9))
                entries[f"/{shown}".removesuffix(".npy")] = {"offset": len(heap), "length": len(embedded)}
                heap += embedded
        self.embedded_keys = set(entries)
        run(b2frame, "create", "-", "-o", f"{root}/embed.b2e", "--codec", "blosclz", "--chunk-size", "8K", "--meta",
            draw.choice(["b2dict", "b2tree"]) + ':={"version":1}', "--vlmeta", "estore_metadata:=" +
            json.dumps({"embed_map": entries, "current_offset": len(heap)}), input=heap)

    def note(self, path, contents):
        self.files[path] = contents
        while "/" in path:
            path = path.rpartition("/")[0]
            self.groups.add(path)

    def has_embedded(self, path):
        """True if the key of that name is embedded, even if a file hides it."""
        return "/" + path.removesuffix(".npy") in self.embedded_keys

    def holds_embedded(self, group):
        return any(key.startswith(f"/{group}/") for key in self.embedded_keys)

    def taken(self, path):
        return path in self.files or path in self.groups


def refuses(number, change, *arguments):
    """Checks that the mount refuses the change with that errno."""
    try:
        change(*arguments)
    except OSError as error:
        assert error.errno == number, error
        return
    raise AssertionError(f"{change.__name__} {arguments} is not refused")


def edit(draw, store, top):
    """Makes one edit through the mount and in the model. The mount must refuse changes of embedded leaves."""
    files, groups = sorted(store.files), sorted(store.groups | {""})
    path = draw.choice(files) if files else None
    target = f"{draw.choice(groups)}/{draw.name()}".lstrip("/")
    kind = draw.choice(["make", "make", "write", "write", "append", "cut", "remove", "rename", "rename", "mkdir", "rmdir", "move group"])
    if kind == "make":
        contents = draw.file(target)
        if target in store.shown_embedded:
            return refuses(errno.EROFS, open, f"{top}/{target}", "wb")
        if store.has_embedded(target):
            if target not in store.files:
                refuses(errno.EEXIST, open, f"{top}/{target}", "wb")
            return
        with open(f"{top}/{target}", "wb") as file:
            file.write(contents)
        store.note(target, contents)
    elif kind == "mkdir":
        made = f"{draw.choice(groups)}/d{draw.randrange(4)}".lstrip("/")
        if not store.taken(made):
            os.mkdir(f"{top}/{made}")
            store.groups.add(made)
    elif kind in ("rmdir", "move group"):
        group = draw.choice(groups)
        inside = [p for p in [*store.files, *store.groups] if p.startswith(group + "/")]
        if group == "":
            return
        if kind == "rmdir":
            try:
                os.rmdir(f"{top}/{group}")
                assert not inside, (group, inside)
                store.groups.discard(group)
            except OSError as error:
                assert error.errno == errno.ENOTEMPTY and inside, (group, inside, error)
            return
        moved = group.rpartition("/")[0] + f"/d{draw.randrange(4, 8)}"
        moved = moved.lstrip("/")
        if store.taken(moved):
            return
        if store.holds_embedded(group):
            return refuses(errno.EROFS, os.rename, f"{top}/{group}", f"{top}/{moved}")
        os.rename(f"{top}/{group}", f"{top}/{moved}")
        for names in store.groups, store.files:
            for old in [p for p in names if p == group or p.startswith(group + "/")]:
                new = moved + old[len(group):]
                if names is store.files:
                    store.files[new] = store.files.pop(old)
                else:
                    names.remove(old)
                    names.add(new)
    elif path is None:
        return
    elif path in store.shown_embedded and kind in ("write", "append"):
        refuses(errno.EROFS, open, f"{top}/{path}", "r+b")
    elif path in store.shown_embedded and kind == "cut":
        refuses(errno.EROFS, os.truncate, f"{top}/{path}", 5)
    elif store.has_embedded(path) and kind == "remove":
        refuses(errno.EROFS, os.remove, f"{top}/{path}")
    elif store.has_embedded(path) and kind == "rename":
        if target != path and target not in store.groups:
            refuses(errno.EROFS, os.rename, f"{top}/{path}", f"{top}/{target}")
    elif store.has_embedded(path):
        return  # a file that hides an embedded leaf
    elif kind == "write":
        old = store.files[path]
        at, new = draw.randrange(len(old) + 1), draw.randbytes(draw.randrange(1, 50))
        if path.endswith(".npy") and draw.random() < 0.7:
            at = len(old) * 3 // 4
            new = new[:len(old) - at]
        with open(f"{top}/{path}", "r+b") as file:
            file.seek(at)
            file.write(new)
        store.files[path] = old[:at] + new + old[at + len(new):]
    elif kind == "append":
        new = draw.contents(200)
        with open(f"{top}/{path}", "ab") as file:
            file.write(new)
        store.files[path] += new
    elif kind == "cut":
        size = draw.randrange(len(store.files[path]) + 50)
        os.truncate(f"{top}/{path}", size)
        store.files[path] = store.files[path][:size].ljust(size, b"\0")
    elif kind == "remove":
        os.remove(f"{top}/{path}")
        del store.files[path]
    elif kind == "rename" and target not in store.groups:
        if store.has_embedded(target):
            return refuses(errno.EROFS if target in store.files else errno.EEXIST, os.rename,
                           f"{top}/{path}", f"{top}/{target}")
        os.rename(f"{top}/{path}", f"{top}/{target}")
        store.files[target] = store.files.pop(path)


def shown_in(top):
    files, groups = {}, set()
    for place, directories, names in os.walk(top):
        stem = os.path.relpath(place, top)
        stem = "" if stem == "." else stem + "/"
        groups |= {stem + name for name in directories}
        for name in names:
            with open(f"{place}/{name}", "rb") as file:
                files[stem + name] = file.read()
    return files, groups


def stored_in(root):
    leaves, groups = read_store(root)
    files = {}
    for key, (form, *value) in leaves.items():
        shown = key[1:] + ("" if form == "flat" or key.endswith(".npy") else ".npy")
        assert shown not in files, f"{shown} is there twice"
        files[shown] = npy(*value) if form == "array" else value[0]
    for path in files:
        while "/" in path:
            path = path.rpartition("/")[0]
            groups.add("/" + path)
    return files, {group[1:] for group in groups}


def compare(found, expected, where):
    for what, one, other in zip(("files", "groups"), found, expected):
        if one != other:
            names = [n for n in sorted({*one, *other}) if what == "groups" or one.get(n) != other.get(n)]
            raise AssertionError(f"{where}: {what} differ: {names}")


def test_store(bloscfs, b2frame, draw, edits, source, top):
    root = f"{source}/s.b2d"
    store = Store(b2frame, draw, root)
    expected = store.files, store.groups
    compare(stored_in(root), expected, "made")
    mounts = draw.choice([(source, f"{top}/s"), (root, top)])
    for tries in range(2):
        run(bloscfs, "-o", "rw,codec=blosclz", mounts[0], top)
        try:
            compare(shown_in(mounts[1]), expected, "mounted")
            for number in range(edits if tries == 0 else 0):
                try:
                    edit(draw, store, mounts[1])
                    if draw.random() < 0.1:
                        os.sync()
                except (OSError, AssertionError) as error:
                    raise AssertionError(f"edit {number}: {error!r}") from error
            compare(shown_in(mounts[1]), expected, "edited")
        finally:
            run("fusermount3", "-u", top)
            # Like the next mount, this command waits until the mount has ended.
            run(b2frame, "recover", mounts[0])
        compare(stored_in(root), expected, "stored")


def main(bloscfs, b2frame, count, seed, edits, sources):
    for number in range(int(count)):
        draw = Draw(f"{seed}.{number}")
        with tempfile.TemporaryDirectory(dir=sources) as source, tempfile.TemporaryDirectory() as top:
            try:
                test_store(bloscfs, b2frame, draw, int(edits), source, top)
            except (AssertionError, ValueError) as error:
                raise SystemExit(f"seed {seed}, store {number}: {error}")
    print(f"{count} stores")


if __name__ == "__main__":
    main(*sys.argv[1:])
