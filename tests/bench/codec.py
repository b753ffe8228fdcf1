#!/usr/bin/env python3
"""The codec against C-Blosc2: encoding, decoding and filters, in memory and in one thread.

usage: codec.py BUILD_DIR WORK_DIR --library LIBBLOSC2 [--size BYTES] [--rounds N]

Prints both in MB/s and how much faster ours is, against the targets.
"""

import argparse
import json
import subprocess
from pathlib import Path

# What C-Blosc2 has vector code for.
PEER_VECTOR_TYPESIZES = (1, 2, 4, 8, 16)


def target_of(row):
    """The least ratio wanted; None where none is."""
    if row["kind"] == "memcpy":
        return None
    if row["kind"] == "filter":
        shuffles = "shuffle" in row["name"]
        return 2.0 if shuffles and row["typesize"] not in PEER_VECTOR_TYPESIZES else 1.0
    return 1.3 if row["codec"] == "zlib" and row["kind"] == "decode" else 1.0


def run(build_dir, work_dir, library, size=1 << 20, rounds=15, only=""):
    """All rows of tests/bench/codec_bench, each with its target. Also left in codec.json."""
    program = Path(build_dir) / "tests/bench/codec_bench"
    done = subprocess.run([program, library, str(size), str(rounds), only], check=True,
                          stdout=subprocess.PIPE)
    result = json.loads(done.stdout)
    for row in result["rows"]:
        row["target"] = target_of(row)
    (Path(work_dir) / "codec.json").write_text(json.dumps(result, indent=1))
    return result


def verdict(row):
    if row["target"] is None:
        return ""
    return "met" if row["ratio"] >= row["target"] else "missed"


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1].removeprefix("usage: "))
    parser.add_argument("build")
    parser.add_argument("work")
    parser.add_argument("--library", required=True)
    parser.add_argument("--size", type=int, default=1 << 20)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", default="", help="part of the names of the rows wanted")
    options = parser.parse_args()
    rows = run(options.build, options.work, options.library, options.size, options.rounds,
               options.only)["rows"]
    print(f"{'':44}{'ours':>9}{'theirs':>9}{'ratio':>7}{'target':>7}")
    for row in rows:
        size = f"  size {row['size_ratio']:.3f}" if "size_ratio" in row else ""
        print(f"{row['name']:44}{row['ours']:9.0f}{row['theirs']:9.0f}{row['ratio']:7.2f}"
              f"{row['target'] or '-':>7} {verdict(row):6}{size}")
    met = [verdict(row) for row in rows]
    print(f"{met.count('met')} met, {met.count('missed')} missed")


if __name__ == "__main__":
    main()
