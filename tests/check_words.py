#!/usr/bin/env python3
"""Checks words. Of fs/GLOSSARY.md: no word stands there twice, what it names is in the code, and words that were given up
for one of its own do not come back. Of comments: they have none of the commonest phrases of a private register.
"""

import re
import subprocess
import sys
from pathlib import Path

# Words that had several meanings, or a hidden one, and the words that replace them.
GIVEN_UP = {
    "settle": "give_name, record_outcome, resolve, or set",
    "doomed": "removed",
    "succession": "replacement",
    "glance": "small_read",
    "spare_memory": "page_pool",
    "cell_memory": "dirty buffer",
}

# What comments in plain English do not need, and what to write instead. Names in backticks do not count.
PHRASES = {
    r"\bwhoever\b": "the thread, the caller, the program",
    r"\bthe same of\b": "the name of the thing",
    r"\blikewise\b": "the sentence again",
    r"\bbeside\b": "next to, or in addition to",
    r"\baside\b": "away, or except for",
    r"\bmeanwhile\b": "during what",
    r"\bin vain\b": "without success",
    r"\bis there, and no\b": "exists, and is not",
    r"\bas there[.,;]": "the name of the place",
    r"^Who ": "a noun for the actor",
    r"\b(heir|refuge|patience)\b": "the field's word",
}
COMMENT = re.compile(r"^\s*///?<? ?(.*)|\s///?<? ?(.*)$")

ROW = re.compile(r"^\| ([^|]+) \|(.*)\|$", re.MULTILINE)
QUOTED = re.compile(r"`([^`]+)`")
NAME = re.compile(r"[A-Z]\w+(?:::\w+)?")
PATH = re.compile(r"[\w./-]+/[\w.-]+")


def sources(root, *folders):
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard",
                             *(folders or ("codec", "frame", "fs", "tools"))],
                            cwd=root, check=True, capture_output=True, text=True).stdout.split()
    return {name: (root / name).read_text() for name in listed if name.endswith((".cpp", ".hpp")) and
            (root / name).is_file()}


def words(glossary):
    for match in ROW.finditer(glossary):
        if match[1].strip() not in ("word", "---"):
            for word in match[1].split(", "):
                yield word.strip(), match[2]


def problems(root):
    code = sources(root)
    all_code = "\n".join(code.values())
    seen = set()
    for word, text in words((root / "fs/GLOSSARY.md").read_text()):
        if word.lower() in seen:
            yield f"fs/GLOSSARY.md: '{word}' stands there twice"
        seen.add(word.lower())
        for quoted in QUOTED.findall(text):
            if PATH.fullmatch(quoted) and not any((root / top / quoted).exists() for top in ("fs", ".")):
                yield f"fs/GLOSSARY.md: {word}: there is no {quoted}"
            elif NAME.fullmatch(quoted) and not quoted.isupper():
                if not re.search(rf"\b{quoted.split('::')[-1]}\b", all_code):
                    yield f"fs/GLOSSARY.md: {word}: the code has no {quoted}"
    if not seen:
        yield "fs/GLOSSARY.md: no words"
    for name, text in code.items():
        for old, new in GIVEN_UP.items():
            if re.search(old, text, re.IGNORECASE):
                yield f"{name}: '{old}' was given up for {new}"
    for name, text in {**code, **sources(root, "tests")}.items():
        for number, line in enumerate(text.split("\n"), 1):
            comment = COMMENT.search(line)
            said = re.sub(r"`[^`]*`", "", comment[1] or comment[2] or "") if comment else ""
            for phrase, plain in PHRASES.items():
                if found := re.search(phrase, said, re.IGNORECASE):
                    yield f"{name}:{number}: '{found[0].strip()}' in a comment; say {plain}"


def main():
    found = list(problems(Path(__file__).resolve().parent.parent))
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
