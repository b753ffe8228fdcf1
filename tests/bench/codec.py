"""Compares the codec with C-Blosc2: encoding, decoding and filters, in memory and in one thread."""

from bench_run import Goal, Group, Table
from commands import run_json

TITLE = "The codec alone"
CHUNK_SIZE = 1 << 20
# A chunk takes little time, so there are more rounds, in order to see small differences.
ROUNDS_FOR_EACH = 3
# Item sizes for which C-Blosc2 has vector code.
PEER_VECTOR_TYPESIZES = (1, 2, 4, 8, 16)
KINDS = {"encode": "Encoding", "decode": "Decoding", "filter": "Filters",
         "memcpy": "Filters beside memcpy"}


def target_of(row):
    """Returns the least ratio that is wanted, or None."""
    if row["kind"] == "memcpy":
        return None
    if row["kind"] == "filter":
        shuffles = "shuffle" in row["name"]
        return 2.0 if shuffles and row["typesize"] not in PEER_VECTOR_TYPESIZES else 1.0
    return 1.3 if row["codec"] == "zlib" and row["kind"] == "decode" else 1.0


def overview(rows):
    """Returns the ratios by kind of work and by codec or filter, over all levels, filters and
    typesizes."""
    cells = {}
    for row in rows:
        if row["kind"] != "memcpy":
            subject = row.get("codec") or row["name"].split()[0]
            cells.setdefault(subject, {}).setdefault(KINDS[row["kind"]], []).append(row["ratio"])
    return Table("Rates to those of C-Blosc2", "ratio", cells)


def measure(bench):
    """Runs codec_bench, which alternates on its own. Its ratios are medians over its rounds."""
    if bench.peer_library is None:
        bench.missing.append("the codec alone: C-Blosc2 is not to be had")
        return Group(TITLE, [], [])
    rows = run_json(bench.program("codec_bench"), bench.peer_library, CHUNK_SIZE,
                    ROUNDS_FOR_EACH * bench.rounds, "")["rows"]
    tables, goals = [overview(rows)], []
    for kind, title in KINDS.items():
        of_kind = [row for row in rows if row["kind"] == kind]
        tables.append(Table(title, "MB/s", {row["name"]: {"bloscfs": [row["ours"]],
                                                          "peer": [row["theirs"]]}
                                            for row in of_kind}, in_chart=None))
        goals += [Goal(row["name"], row["ratio"], target_of(row)) for row in of_kind
                  if target_of(row) is not None]
    return Group(TITLE, tables, goals)


GROUPS = {"codec": measure}
