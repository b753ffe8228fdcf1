#!/usr/bin/env python3
"""Checks references between files:
- Each document that a file names exists, and has the sections that are quoted with it.
- The target of each link in a document exists.
- Each bloscfs name in tests/tsan.supp is in the sources. A name that was changed would suppress nothing.
- The Debian package and CHANGELOG.md have the version of meson.build.

A document is named by its path from the root. In a document, the path may also start at that document's folder.
Sections follow in quotes: frame/formats/cframe.md, "Index" and "Trailer".
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Documents that a program writes, and that therefore need not exist.
WRITTEN = {"results.md"}

NOT_TEXT = {".bin", ".blp", ".b2frame", ".b2nd", ".cdata", ".chunk", ".json", ".svg"}

LEADER = re.compile(r"\n[ \t]*(?:///?<?|#)?[ \t]*")  # the beginning of a comment's next line
TITLES = r'"[^"]+"(?:(?:,| and|, and) "[^"]+")*'
LINK = re.compile(r"\]\((?![a-z]+://)([^)#\s]*)(?:#([^)\s]+))?\)")
NAMED = re.compile(r'(?<![\w./-])([\w./-]+\.md)\b[`)]?(?:, (' + TITLES + "))?")


def texts(root):
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"],
                            cwd=root, check=True, capture_output=True, text=True).stdout.splitlines()
    for name in (root / n for n in listed):
        if name.is_file() and name.suffix not in NOT_TEXT:
            try:
                yield name, name.read_text()
            except UnicodeDecodeError:
                pass


def titles(document):
    return {match[1] for match in re.finditer(r"^#+ (.*?) *$", document.read_text(), re.MULTILINE)}


def anchors(document):
    """Returns the anchors that GitHub and others give to the document's sections."""
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles(document)}


def links(root):
    for name, text in texts(root):
        if name.suffix != ".md":
            continue
        for path, section in LINK.findall(text):
            target = name.parent / path if path else name
            if not target.exists():
                yield f"{name.relative_to(root)}: there is no {path}"
            elif section and section not in anchors(target):
                yield f"{name.relative_to(root)}: {path or 'it'} has no section #{section}"


def problems(root):
    for name, text in texts(root):
        for match in NAMED.finditer(LEADER.sub(" ", text)):
            if match[1] in WRITTEN:
                continue
            places = [root / match[1]] + ([name.parent / match[1]] if name.suffix == ".md" else [])
            document = next((place for place in places if place.is_file()), None)
            if document is None:
                yield f"{name.relative_to(root)}: there is no {match[1]}"
                continue
            for title in re.findall(r'"([^"]+)"', match[2] or ""):
                if title not in titles(document):
                    yield f'{name.relative_to(root)}: {match[1]} has no section "{title}"'


def unknown_to_sources(root):
    sources = "\n".join(path.read_text() for room in ("codec", "frame", "fs", "tools")
                        for path in (root / room).rglob("*.[ch]pp"))
    for name in re.findall(r"^race:bloscfs::[a-z]+::([\w:]*\w)", (root / "tests/tsan.supp").read_text(), re.M):
        if not re.search(rf"\b{re.escape(name)}\b", sources):
            yield f"tests/tsan.supp: there is no {name}"


def other_versions(root):
    version = re.search(r"^ *version: '([^']+)'", (root / "meson.build").read_text(), re.M)[1]
    for name, line in (("tools/packaging/debian/changelog", f"bloscfs ({version}) "), ("CHANGELOG.md", f"## {version}\n")):
        first = re.search(r"^(bloscfs \(|## ).*\n", (root / name).read_text(), re.M)
        if not first or not first[0].startswith(line):
            yield f"{name}: its first entry is not of version {version}"


if __name__ == "__main__":
    checks = (problems, links, unknown_to_sources, other_versions)
    sys.exit("\n".join(p for check in checks for p in check(ROOT)) or 0)
