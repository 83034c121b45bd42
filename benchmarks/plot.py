"""The figures as a drawing: bars of CPU for a few workloads, written as SVG by hand.

``python -m benchmarks.plot FIGURES.json DRAWING.svg`` draws those of an earlier run.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from benchmarks.workloads import UNITS

__all__ = ["plot"]

SHOWN = ("query", "get", "put", "save", "batch write", "batch get", "transaction", "streams")
HIDDEN = ("tablekit 3.13", "tablekit aio direct 3.13", "floor: json")
"""Left out of the drawing, which is of the rivals: they differ little from their neighbours."""
COLUMN, COLUMNS, NAMES, NUMBERS, BAR, GAP, HEAD = 540, 2, 165, 70, 13, 4, 28
OURS, THEIRS, FLOOR, INK, PAPER = "#2f6f9f", "#b9b4aa", "#ddd8cd", "#222222", "#ffffff"


def plot(whole: Mapping[str, Any]) -> str:
    """The drawing of a run's JSON: one panel for each workload, the least CPU first."""
    parts: list[str] = []
    tops = [40] * COLUMNS
    for workload in SHOWN:
        if workload in whole:
            column = tops.index(min(tops))
            lines, height = _panel(workload, whole[workload], column * COLUMN, tops[column])
            parts += lines
            tops[column] += height
    about = whole.get("environment", {})
    title = (
        f"CPU, median of {about.get('rounds', '?')} rounds, {about.get('cores', '?')} cores, {about.get('date', '')}"
    )
    width, height = COLUMN * COLUMNS, max(tops)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'font-family="system-ui, sans-serif" font-size="12" role="img" aria-label="{escape(title)}">'
    )
    paper = f'<rect width="{width}" height="{height}" fill="{PAPER}"/>'
    return "\n".join([head, paper, _text(12, 24, title, weight="bold"), *parts, "</svg>", ""])


def _panel(workload: str, by_library: Mapping[str, Mapping[str, float]], left: int, top: int) -> tuple[list[str], int]:
    unit = UNITS.get(workload, "us for one call").replace("us", "µs")
    lines = [_text(left + 12, top + 16, f"{workload}, {unit}", weight="bold")]
    shown = {name: figure["cpu_us"] for name, figure in by_library.items() if name not in HIDDEN}
    found = sorted(shown.items(), key=lambda pair: pair[1])
    scale = (COLUMN - NAMES - NUMBERS) / max(shown.values())
    at = top + HEAD - 4
    for name, cpu in found:
        colour = OURS if name.startswith("tablekit") else FLOOR if name.startswith("floor") else THEIRS
        bar = f'x="{left + NAMES}" y="{at}" width="{cpu * scale:.1f}" height="{BAR}" fill="{colour}"'
        lines.append(_text(left + NAMES - 8, at + BAR - 2, name, anchor="end"))
        lines.append(f"<rect {bar}/>")
        lines.append(_text(left + NAMES + cpu * scale + 6, at + BAR - 2, _number(cpu)))
        at += BAR + GAP
    return lines, at - top + 12


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def _text(x: float, y: float, text: str, *, anchor: str = "start", weight: str = "normal") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-weight="{weight}" fill="{INK}"'
    return f"<text {place}>{escape(text)}</text>"


if __name__ == "__main__":
    figures, drawing = map(Path, sys.argv[1:])
    drawing.write_text(plot(json.loads(figures.read_text(encoding="utf-8"))), encoding="utf-8")
