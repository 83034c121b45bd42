"""The figures as a table, and their ratios: each taken side by side, within one round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from benchmarks.workloads import UNITS

__all__ = ["Figures", "Samples", "figures_of", "ratios", "table", "value"]

Figures = dict[str, dict[str, dict[str, float]]]
Samples = Mapping[tuple[str, str], Mapping[int, Mapping[str, float]]]
"""By workload and library, then by the number of the round."""


def value(figure: Mapping[str, float]) -> float:
    """The figure that counts: CPU, and for memory the bytes of one entity."""
    return figure["cpu_us"] if "cpu_us" in figure else figure["bytes_each"]


def figures_of(samples: Samples) -> Figures:
    """The medians over the rounds."""
    figures: Figures = {}
    for (workload, library), rounds in samples.items():
        found = list(rounds.values())
        middle = {name: round(median(each[name] for each in found), 3) for name in found[0]}
        figures.setdefault(workload, {})[library] = middle
    return figures


def ratios(samples: Samples) -> dict[str, dict[str, float]]:
    """For each workload: each library of ours as a multiple of each other one, the median of the rounds' ratios.

    Both were measured within seconds in a round, so that what else the machine did counts for both.
    """
    found: dict[str, dict[str, float]] = {}
    for (workload, ours), mine in samples.items():
        for (of, other), theirs in samples.items():
            both = mine.keys() & theirs.keys()
            if of == workload and other != ours and ours.startswith("tablekit") and both:
                ratio = median(value(mine[number]) / max(value(theirs[number]), 1e-9) for number in both)
                found.setdefault(workload, {})[f"{ours} / {other}"] = round(ratio, 3)
    return found


def table(figures: Figures, found: Mapping[str, Mapping[str, float]], workloads: Sequence[str]) -> str:
    """A table of one line for each library: CPU in microseconds, the clock, and tablekit's CPU as a multiple of it."""
    lines: list[str] = []
    for workload in workloads:
        by_library = figures.get(workload)
        if not by_library:
            continue
        unit, counted = UNITS.get(workload, "us for one call"), "bytes" if workload == "memory" else "CPU"
        lines += ["", f"{workload} ({unit})", f"  {'':26}{counted:>12}{'wall':>12}{'tablekit/':>11}{'direct/':>10}"]
        for name in sorted(by_library, key=lambda each: value(by_library[each])):
            figure = by_library[name]
            wall = f"{figure['wall_us']:12,.1f}" if "wall_us" in figure else " " * 12
            times = "".join(
                f"{ratio:{width}.2f}" if ratio is not None else " " * width
                for width, ours in ((11, "tablekit"), (10, "tablekit direct"))
                for ratio in [found.get(workload, {}).get(f"{ours} / {name}")]
            )
            lines.append(f"  {name:26}{value(figure):12,.1f}{wall}{times}".rstrip())
    return "\n".join(lines)
