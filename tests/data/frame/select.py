#!/usr/bin/env python3
"""Copies a small selection of a conformance corpus to this directory, with its manifest entries.

usage: select.py CORPUS
"""
import json
import os
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
# Bytes for each folder and expectation: enough for one file of each idea, small ones first.
BUDGETS = {
    ("b2nd", "ok"): 60_000,
    ("b2nd-sframe", "ok"): 20_000,
    ("cframe", "ok"): 110_000,
    ("sframe", "ok"): 40_000,
    ("malformed/b2nd", "error"): 60_000,
    ("malformed/b2nd", "any"): 12_000,
    ("malformed/cframe", "error"): 110_000,
    ("malformed/cframe", "any"): 35_000,
    ("malformed/sframe", "error"): 50_000,
    ("malformed/sframe", "any"): 11_000,
    ("malformed/flip", "any"): 12_000,
    ("malformed/lazy", "valid-lazy"): 10_000,
    ("upstream", "ok"): 7_000,
}


def size(path):
    if not os.path.isdir(path):
        return os.path.getsize(path)
    return sum(os.path.getsize(os.path.join(d, f)) for d, _, fs in os.walk(path) for f in fs)


def spread(entries, corpus, budget):
    """Some of `entries`, evenly over their names, whose sizes add up to `budget` at most."""
    entries = sorted(entries, key=lambda entry: entry["path"])
    small = [entry for entry in entries if size(os.path.join(corpus, entry["path"])) < 10_000]
    for step in range(1, len(small) + 1):
        chosen = small[::step]
        if sum(size(os.path.join(corpus, entry["path"])) for entry in chosen) <= budget:
            return chosen
    return []


def main(corpus):
    with open(os.path.join(corpus, "manifest.json")) as file:
        manifest = json.load(file)
    selected = []
    for (folder, expect), budget in BUDGETS.items():
        group = [
            entry
            for entry in manifest
            if entry["container"] in ("cframe", "sframe")
            and os.path.dirname(entry["path"]) == folder
            and entry["expect"] == expect
            and not os.path.basename(entry["path"]).startswith("empty-dir")  # git keeps none
        ]
        selected += spread(group, corpus, budget)
    for entry in selected:
        source, target = (os.path.join(root, entry["path"]) for root in (corpus, HERE))
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if os.path.isdir(source):
            shutil.copytree(source, target, dirs_exist_ok=True)
        else:
            shutil.copyfile(source, target)
    with open(os.path.join(HERE, "manifest.json"), "w") as file:
        file.write("[\n" + ",\n".join(json.dumps(entry) for entry in selected) + "\n]\n")


if __name__ == "__main__":
    main(sys.argv[1])
