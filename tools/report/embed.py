#!/usr/bin/env python3
"""Writes files as C++ constants: embed.py OUT.cpp NAME=FILE... . Of a script also what a Content-Security-Policy calls
it by."""

import base64
import hashlib
import sys
from pathlib import Path

HEAD = """// Made by tools/report/embed.py.
#include "tools/report/assets.hpp"

namespace bloscfs::tools::assets {
"""


def literal(text):
    """Pieces that no compiler finds too long."""
    lines = text.splitlines(keepends=True)
    escapes = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})
    return "\n".join(f'    "{line.translate(escapes)}"' for line in lines)


def main(out, *named_files):
    made = [HEAD]
    for named in named_files:
        name, file = named.split("=", 1)
        text = Path(file).read_text(encoding="ascii")
        # They stand in elements of XHTML as they are.
        for character in "<&":
            if character in text:
                sys.exit(f"{file}: {character} would be markup")
        made.append(f"const std::string_view {name} =\n{literal(text)};\n")
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        made.append(f'const std::string_view {name}_digest = "sha256-{digest}";\n')
    made.append("}  // namespace bloscfs::tools::assets\n")
    Path(out).write_text("\n".join(made), encoding="ascii")


main(*sys.argv[1:])
