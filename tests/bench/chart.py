"""Draws bar charts in SVG: a panel for each table of a group, a cluster of bars for each
workload."""

import itertools
import statistics
from html import escape

from report import number

WIDTH, LABEL_WIDTH, VALUE_WIDTH = 900, 230, 80
BAR, GAP, HEADING, MARGIN = 13, 10, 26, 12
COLORS = ["#1b6ca8", "#7f8c8d", "#b5651d", "#2e8b57", "#8e44ad", "#c0392b", "#16a085", "#d4a017",
          "#5d6d7e", "#a04070", "#6b8e23", "#4682b4", "#aa8844", "#444444"]


def text(x, y, words, size=11, anchor="start", weight="normal"):
    return (f'<text x="{x:.0f}" y="{y:.0f}" font-size="{size}" text-anchor="{anchor}" '
            f'font-weight="{weight}">{escape(words)}</text>')


def bar(y, values, scale, color):
    middle = statistics.median(values)
    low, high = scale * min(values), scale * max(values)
    centre = y + BAR / 2
    return [f'<rect x="{LABEL_WIDTH}" y="{y}" width="{scale * middle:.1f}" height="{BAR - 2}" '
            f'fill="{color}"/>',
            f'<line x1="{LABEL_WIDTH + low:.1f}" x2="{LABEL_WIDTH + high:.1f}" y1="{centre - 1}" '
            f'y2="{centre - 1}" stroke="#222"/>',
            text(LABEL_WIDTH + high + 5, y + BAR - 3, number(middle), 10)]


def panel(table, y):
    """Returns the elements of a panel, and the position of the next one."""
    elements = [text(MARGIN, y + 14, f"{table.title} ({table.unit})", 13, weight="bold")]
    y += HEADING
    workloads = table.in_chart or table.workloads()
    largest = max((max(row[name]) for row in table.cells.values() for name in workloads
                   if name in row), default=0)
    scale = (WIDTH - LABEL_WIDTH - VALUE_WIDTH) / largest if largest else 0
    for workload in workloads:
        elements.append(text(MARGIN, y + BAR - 3, workload, weight="bold"))
        y += BAR + 2
        for subject, color in zip(table.cells, itertools.cycle(COLORS)):
            row = table.cells[subject]
            if workload not in row:
                continue
            elements.append(text(LABEL_WIDTH - 6, y + BAR - 3, subject, anchor="end"))
            elements += bar(y, row[workload], scale, color)
            y += BAR
        y += GAP
    return elements, y + MARGIN


def svg(group):
    elements, y = [text(MARGIN, 22, group.title, 16, weight="bold")], 40
    for table in group.tables:
        if table.cells and table.in_chart is not None:
            drawn, y = panel(table, y)
            elements += drawn
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{y}" '
        f'viewBox="0 0 {WIDTH} {y}" font-family="sans-serif">',
        f'<rect width="{WIDTH}" height="{y}" fill="white"/>', *elements, "</svg>", ""])
