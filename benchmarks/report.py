"""The figures as a table, and their ratios to the targets' peers."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["ratios", "table"]

Figures = dict[str, dict[str, dict[str, float]]]

PEER = "pynamodb"
OURS = ("tablekit", "tablekit direct", "tablekit 3.13", "tablekit direct 3.13")
FLOOR = "floor: json and decoders"


def value(figure: dict[str, float]) -> float:
    """The figure that counts: CPU, and for memory the bytes of one entity."""
    return figure["cpu_us"] if "cpu_us" in figure else figure["bytes_each"]


def ratios(figures: Figures) -> dict[str, dict[str, float]]:
    """For each workload: each library of ours as a multiple of each other one."""
    found: dict[str, dict[str, float]] = {}
    for workload, by_library in figures.items():
        for ours in OURS:
            for other, figure in by_library.items():
                if ours in by_library and other != ours and value(figure):
                    ratio = value(by_library[ours]) / value(figure)
                    found.setdefault(workload, {})[f"{ours} / {other}"] = round(ratio, 3)
    return found


def table(figures: Figures, libraries: Sequence[str], workloads: Sequence[str]) -> str:
    """A table of one line for each library: CPU in microseconds, and as a multiple of tablekit's."""
    lines: list[str] = []
    for workload in workloads:
        by_library = figures.get(workload)
        if not by_library:
            continue
        unit = "bytes for one entity" if workload == "memory" else UNITS.get(workload, "us for one call")
        lines += ["", f"{workload} ({unit})", f"  {'':26}{'CPU' if workload != 'memory' else 'bytes':>12}{'wall':>12}"]
        ours = by_library.get("tablekit")
        for name in sorted(by_library, key=lambda each: value(by_library[each])):
            figure = by_library[name]
            times = f"{value(figure) / value(ours):8.2f} x" if ours and value(ours) else ""
            wall = f"{figure['wall_us']:12,.1f}" if "wall_us" in figure else " " * 12
            lines.append(f"  {name:26}{value(figure):12,.1f}{wall}{times}")
    return "\n".join(lines)


UNITS = {
    "query": "us for one row",
    "query 20 pages": "us for one row",
    "batch write": "us for one row",
    "batch get": "us for one row",
    "transaction": "us for one action",
    "streams": "us for one record",
    "import": "us for one process",
    "first call": "us for one process, import and connecting included",
}
