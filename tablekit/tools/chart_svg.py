"""The entity chart as a picture: a box for each entity, with its keys, its index keys and its fields."""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape

from tablekit.tools.chart_rows import EntityRow
from tablekit.tools.printing import printable, text_width

__all__ = ["chart_svg"]

LINE = 18
"""Pixels from a line to the next."""
CHARACTER = 7.4
"""Pixels that a character takes at most, in the fonts that are named."""
PADDING = 12
GAP = 24
ACROSS = 3
"""Boxes side by side."""

_STYLE = (
    "text{font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#1f2933}"
    ".type{font-weight:bold;fill:#fff}.note{fill:#616e7c}.key{fill:#0b5394}"
    ".box{fill:#fff;stroke:#9aa5b1}.head{fill:#33658a}.rule{stroke:#d5dbe1}"
)


def chart_svg(rows: Sequence[EntityRow]) -> str:
    """The chart as a picture in SVG that needs no other file.

    Parameters:
        rows: what `tablekit.tools.chart_rows.chart` gives.
    """
    boxes = [_Box(row) for row in rows]
    pieces: list[str] = []
    x = y = float(GAP)
    width = 0.0
    for start in range(0, len(boxes), ACROSS):
        line = boxes[start : start + ACROSS]
        x = float(GAP)
        for box in line:
            pieces += box.draw(x, y)
            x += box.width + GAP
        width = max(width, x)
        y += max(box.height for box in line) + GAP
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width or GAP:.0f}" height="{y:.0f}" role="img">'
    title = f"<title>{_text('Entities: ' + ', '.join(row.type for row in rows))}</title>"
    return "\n".join([head, title, f"<style>{_STYLE}</style>", *pieces, "</svg>", ""])


class _Box:
    """One entity."""

    def __init__(self, row: EntityRow) -> None:
        aliases = f" ({', '.join(row.aliases)})" if row.aliases else ""
        self.title = row.type + aliases
        self.keys = [f"{name}  {template}" for name, template in row.keys.items()]
        for index, keys in row.index_keys.items():
            when = f" when {row.when[index]}" if index in row.when else ""
            self.keys.append(f"{index}  {' / '.join(keys.values())}{when}")
        wide = max((text_width(name) for name, _, _ in row.fields), default=0)
        self.fields = [(f"{name:{wide}}  {kind}", notes) for name, kind, notes in row.fields]
        lines = [self.title, *self.keys, *(f"{text}  {notes}" for text, notes in self.fields)]
        self.width = max(text_width(line) for line in lines) * CHARACTER + 2 * PADDING
        self.height = (1 + len(self.keys) + len(self.fields)) * LINE + 3 * PADDING

    def draw(self, x: float, y: float) -> list[str]:
        """The elements of the box, its upper left corner at a point."""
        head = LINE + PADDING
        pieces = [
            f'<rect class="box" x="{x:.0f}" y="{y:.0f}" width="{self.width:.0f}" height="{self.height:.0f}" rx="4"/>',
            f'<rect class="head" x="{x:.0f}" y="{y:.0f}" width="{self.width:.0f}" height="{head}" rx="4"/>',
            _line("type", x + PADDING, y + LINE + 2, self.title),
        ]
        at = y + head + LINE
        for key in self.keys:
            pieces.append(_line("key", x + PADDING, at, key))
            at += LINE
        across = f'x1="{x:.0f}" x2="{x + self.width:.0f}"'
        pieces.append(f'<line class="rule" {across} y1="{at - PADDING:.0f}" y2="{at - PADDING:.0f}"/>')
        at += PADDING / 2
        for text, notes in self.fields:
            note = f'<tspan class="note">{_text(f"  {notes}")}</tspan>' if notes else ""
            pieces.append(_line("field", x + PADDING, at, text, note))
            at += LINE
        return pieces


def _line(kind: str, x: float, y: float, text: str, more: str = "") -> str:
    return f'<text class="{kind}" x="{x:.0f}" y="{y:.0f}" xml:space="preserve">{_text(text)}{more}</text>'


def _text(text: str) -> str:
    return escape(printable(text))
