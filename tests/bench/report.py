"""Writes the results as text for a terminal, as Markdown and as JSON."""

import json
import os
import platform
import statistics
from dataclasses import asdict
from pathlib import Path

from mounts import OWN_READ_AHEAD


def number(value):
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def spread(values):
    return f"{number(statistics.median(values))} ({number(min(values))} to {number(max(values))})"


def goal_words(goal):
    """Returns the goal's name, its value, its target, and whether it is met."""
    relation = "at least" if goal.at_least else "at most"
    state = {None: "not measured", True: "met", False: "missed"}[goal.is_met()]
    value = "-" if goal.value is None else f"{goal.value:.2f}"
    return goal.what, value, f"{relation} {goal.target:g}", state


def machine():
    model = next((line.split(":")[1].strip() for line in
                  Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")),
                 platform.machine())
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 30
    return f"{os.cpu_count()} processors of {model}, {memory} GiB, Linux {platform.release()}"


def conditions(bench):
    return (f"{machine()}. Contents of {bench.size >> 20} MiB; medians of {bench.rounds} rounds, "
            "with minimum and maximum. Each bloscfs has the kernel's readahead that it sets for itself, "
            f"{OWN_READ_AHEAD} KiB, also where a row names another one for all others.")


def markdown_table(table):
    subjects = list(table.cells)
    lines = [f"**{table.title}** ({table.unit})", "", "| | " + " | ".join(table.workloads()) + " |",
             "|---" * (len(table.workloads()) + 1) + "|"]
    for subject in subjects:
        row = table.cells[subject]
        values = [spread(row[name]) if name in row else "" for name in table.workloads()]
        lines.append(f"| {subject} | " + " | ".join(values) + " |")
    return "\n".join(lines)


def markdown_goals(goals):
    lines = ["| ratio | value | target | |", "|---|---|---|---|"]
    return "\n".join(lines + ["| " + " | ".join(goal_words(goal)) + " |" for goal in goals])


def markdown_group(name, group):
    parts = [f"## {group.title}", f"![{group.title}]({name}.svg)"]
    parts += [markdown_table(table) for table in group.tables]
    if group.goals:
        parts.append(markdown_goals(group.goals))
    return "\n\n".join(parts)


def markdown(bench, groups):
    parts = [conditions(bench), *[markdown_group(*named) for named in groups.items()]]
    if bench.missing:
        parts.append("Not there on this machine: " + "; ".join(sorted(set(bench.missing))) + ".")
    return "\n\n".join(parts) + "\n"


def print_group(group):
    print(f"\n{group.title}")
    for table in group.tables:
        width = max((len(name) for name in table.cells), default=0)
        for workload in table.workloads():
            print(f"  {table.title}, {workload} ({table.unit}):")
            for subject, row in table.cells.items():
                if workload in row:
                    print(f"    {subject:{width}}  {spread(row[workload])}")
    for what, value, target, state in map(goal_words, group.goals):
        print(f"  {state:12} {value:>7}  ({target})  {what}", flush=True)


def as_json(bench, groups):
    return json.dumps({"machine": machine(), "bytes": bench.size, "rounds": bench.rounds,
                       "missing": sorted(set(bench.missing)),
                       "groups": {name: asdict(group) for name, group in groups.items()}}, indent=1)
