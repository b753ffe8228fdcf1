#!/usr/bin/env python3
"""Checks that bloscfs-troubleshooting(7) explains every message of tools, fs and frame/remote.

Messages are string literals: those that CALLS get, and all others with four words between two values. Of each literal,
the longest piece between values must occur in the page. An item of the page that ends in "..." covers all messages that
begin in the same way.

In turn, a literal must have at least half of the longest piece of each item. Items of one or two words, and the
symptoms, are not looked for.

With --list, prints the messages.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = "tools/pages/bloscfs-troubleshooting.7"

# Functions and exceptions whose texts are errors or log lines.
CALLS = re.compile(r"throw_\w+|refuse\w*|fail|complain|require|must|verdict|wrong|notice_?|[A-Z]?\w*Error|RequestEnded|"
                   r"LockedByOthers|runtime_error|invalid_argument|system_error|info|warn|error|perror|apply")
# What else gets texts of several words: help, tables, pictures, metrics, and results on standard output.
NO_MESSAGE = re.compile(r"add\w*|OwnOption|description|footer|set_\w+_flag|Metric|with_default|say|option_text|"
                        r"push_back|rows|kMarks|logic_error|assert")
NO_MESSAGES = ("tools/report/", "tools/advice_picture.cpp", "tools/help_layout", "tools/command_line_",
               "tools/command_line.hpp", "tools/prometheus_text.cpp", "tools/repair_report.cpp",
               "tools/storage_options.cpp")
# Literals that are no messages by themselves, with the reason.
INTERNAL = {
    "bloscfs probe, to be refused": "contents of an object that tests a store",
    "page of another state": "the kernel gets ESTALE alone",
    "what is far away would be waited for": "ends an attempt that another thread repeats",
    "stored for its links: ": "a key",
    "a lock of level '%s' would be taken behind one of level '%s'\\n": "debug builds alone",
    "As in mount(8) and mount.fuse(8):\\n": "help",
    "{:14} none of the others is better in size and both speeds\\n": "output of b2frame advise",
    "\\nTried on {}, of which sizes are estimated.": "output of b2frame advise",
    "\\n{}: unchanged: it already has the settings {}\\n": "output of b2frame advise",
}

TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|R"\((?P<raw>.*?)\)"|"(?P<text>(?:\\.|[^"\\\n])*)"|\'(?:\\.|[^\'\\\n])+\'|'
                   r"(?P<name>[A-Za-z_]\w*)|(?P<space>\s+)|.", re.DOTALL)
VALUE = re.compile(r"\{(?!\{)[^{}]*\}|\\n|%[sd]")
ESCAPES = {"\\(aq": "'", "\\(dq": '"', "\\(ga": "`", "\\(ti": "~", "\\(ha": "^", "\\e": "\\", "\\-": "-", "\\&": ""}


def literals(text):
    """Yields the line of each string literal, the literal, and the names of the calls and blocks around it."""
    around, name, line, found = [], "", 1, None
    for match in TOKEN.finditer(text):
        token = match[0]
        first, line = line, line + token.count("\n")
        if match["space"] or token.startswith(("//", "/*")):
            continue
        if match["text"] is not None or match["raw"] is not None:
            more = (match["raw"] or "").strip("\n") or match["text"] or ""
            found = (found[0], found[1] + more, found[2]) if found else (first, more, list(around))
            continue
        if found:
            yield found
            found = None
        if token in "([{":
            around.append(name)
        elif token in ")]}" and around:
            around.pop()
        name = match["name"] or ""


def pieces(literal):
    """Returns the texts between the values of a literal."""
    found = VALUE.split(literal.replace('\\"', '"').replace("\\\\", "\\"))
    return [" ".join(piece.split()).strip(" :;,'") for piece in found]


def sources(root, *folders):
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", *folders], cwd=root,
                            check=True, capture_output=True, text=True).stdout.split()
    for file in listed:
        if file.endswith((".cpp", ".hpp")) and (root / file).is_file():
            yield file, (root / file).read_text()


def messages(root):
    """Yields file, line, literal and its longest piece."""
    for file, text in sources(root, "tools", "fs", "frame/remote"):
        for line, literal, around in () if file.startswith(NO_MESSAGES) else literals(text):
            piece = max(pieces(literal), key=len)
            calls = [name for name in around if name]
            words = len(re.findall(r"[A-Za-z]{2,}", piece)) if " " in piece else 0
            is_given = any(CALLS.fullmatch(name) for name in calls) and words >= 2
            is_text = words >= 4 and not any(NO_MESSAGE.fullmatch(name) for name in calls)
            if (is_given or is_text) and not any(NO_MESSAGE.fullmatch(name) for name in calls[-1:]):
                yield file, line, literal, piece


def plain(line):
    """Returns a line of the page without macros and escapes. A NUL stands for each change of the font."""
    if line.startswith("."):
        line = re.sub(r'^\.|(?:(?<=^\.)|(?<= ))[A-Z][a-z](?= |$)|"', "", line)
    for escape, character in ESCAPES.items():
        line = line.replace(escape, character)
    return re.sub(r"\\f[A-Z]", "\0", line)


def problems(root):
    page = (root / PAGE).read_text()
    text = " ".join(" ".join(map(plain, page.splitlines())).replace("\0", "").split())
    covered = tuple(re.findall(r'^\.It Li "([^"\\]+)\.\.\."$', page, re.MULTILINE))
    unused = set(INTERNAL)
    for file, line, literal, piece in messages(root):
        unused.discard(literal)
        if literal not in INTERNAL and piece not in text and not literal.startswith(covered):
            yield f"{file}:{line}: {PAGE} does not have: {piece}"
    yield from (f"tests/check_messages.py: no source has: {literal}" for literal in sorted(unused))
    known = {piece.rstrip(" .") for _, source in sources(root, "codec", "frame", "fs", "tools")
             for _, literal, _ in literals(source) for piece in pieces(literal) if " " in piece}
    is_symptom = True
    for number, line in enumerate(page.splitlines(), 1):
        is_symptom &= line != ".Ss Mounting"
        if line.startswith(".It Li ") and not is_symptom:
            item = max(re.split("\0.*?\0", plain(line).removesuffix("...")), key=len).strip(" :;,'")
            is_known = any(2 * len(piece) >= len(item) and piece in item for piece in known)
            if len(item.split()) > 2 and not is_known:
                yield f"{PAGE}:{number}: no source has: {item}"


def main():
    if sys.argv[1:] == ["--list"]:
        found = [f"{file}:{line}: {literal}" for file, line, literal, _ in messages(ROOT)]
    else:
        found = list(problems(ROOT))
    print("\n".join(found), end="\n" if found else "")
    return 1 if found and not sys.argv[1:] else 0


if __name__ == "__main__":
    sys.exit(main())
