"""The table as an operator looks at it: a partition, an index or a scan, with the type of each row first.

The address of the page is its state, and nothing is scanned that was not asked for by name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import attrs
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response
from typing_extensions import Self

from examples.workspace.models import app
from examples.workspace.web.rendering import path, render
from tablekit import Entity, RequestError
from tablekit.tools.browse import BrowsePage, BrowseRow, browse, browse_query

__all__ = ["Pattern", "View", "show"]

SIZES = (10, 25, 50, 100)


@attrs.frozen
class View:
    """What the page shows, as its address says it.

    Attributes:
        index: an index's name, ``""`` for the table itself. pk: the partition key, as it is stored. type: rows of this
            type only. scan: read everything, since somebody pressed the button that says so. limit: rows on the page.
            reverse: in descending order. cursor, before: from the page before or after.
    """

    index: str = ""
    pk: str = ""
    type: str = ""
    scan: bool = False
    limit: int = 25
    reverse: bool = False
    cursor: str = ""
    before: str = ""

    @classmethod
    def of(cls, asked: QueryParams) -> Self:
        """The view of an address."""
        limit = asked.get("limit", "")
        texts = {name: asked.get(name, "") for name in ("index", "pk", "type", "cursor", "before")}
        size = int(limit) if limit in map(str, SIZES) else 25
        return cls(**texts, limit=size, scan=asked.get("scan") == "1", reverse=asked.get("reverse") == "1")

    def url(self, **changes: Any) -> str:
        """The address of this view with some changes; the first page, unless they say otherwise."""
        view = attrs.evolve(self, **{"cursor": "", "before": "", **changes})
        return path("table", **{name: value for name, value in attrs.asdict(view).items() if value != 25})

    @property
    def word(self) -> str:
        """What it takes: a Query where a partition is named, else a Scan."""
        return "Query" if self.pk else "Scan"

    @property
    def runs(self) -> bool:
        """Whether it is run: a Scan only when it was asked for."""
        return bool(self.pk) or self.scan

    def asked(self) -> dict[str, Any]:
        """The arguments of `browse_query`."""
        return {"pk": self.pk or None, "index": self.index or None, "type": self.type or None, "scan": not self.pk}

    def page(self) -> BrowsePage:
        """Read the page."""
        cursor, before = self.cursor or None, None if self.cursor else self.before or None
        return browse(app, **self.asked(), limit=self.limit, reverse=self.reverse, cursor=cursor, before=before)


@attrs.frozen
class Pattern:
    """How the keys of one type are spelt in the table, or in an index.

    Attributes:
        type: the type. pk, sk: the key templates. url: the view where these rows are; a template needs filling in.
    """

    type: str
    pk: str
    sk: str
    url: str


def show(request: Request) -> Response:
    """The table, with the request behind what is shown; or the request alone, while nobody has asked for a scan."""
    view = View.of(request.query_params)
    values: dict[str, Any] = {
        "view": view,
        "sizes": SIZES,
        "indexes": list(app.indexes),
        "patterns": list(_patterns(view.index)),
    }
    # A singleton or a counter is no answer of a query of its class; its rows are found by their keys.
    several = {name for name, schema in app.by_type.items() if issubclass(schema.entity, Entity)}
    values.update(types=sorted({pattern.type for pattern in values["patterns"]} & several), page=None, problem="")
    try:
        query = browse_query(app, **view.asked()).limit(view.limit + 1)
        values["request_made"] = (query.reverse() if view.reverse and view.pk else query).explain()
        if view.runs:
            values.update(_shown(view.page()))
    except RequestError as error:
        values.update(problem=str(error), request_made=None)
        return render(request, "table.html", status=400, **values)
    return render(request, "table.html", **values)


def _shown(page: BrowsePage) -> dict[str, Any]:
    counts = Counter(row.label for row in page.rows)
    return {"page": page, "columns": _columns(page.rows), "counts": sorted(counts.items())}


def _columns(rows: tuple[BrowseRow, ...]) -> list[str]:
    """The fields that any of the rows has, in the order in which they turn up."""
    return list(dict.fromkeys(name for row in rows for name in row.values if name not in app.key_names))


def _patterns(index: str) -> Iterator[Pattern]:
    """The types that are in the table, or in an index, and their key templates there."""
    for schema in app.entities.values():
        if not index:
            keys = [(schema.pk, schema.sk)]
        else:
            found = [key for key in schema.index_keys.values() if key.index.name == index]
            keys = [(key.pk[0], key.sk[0] if key.sk else None) for key in found]
        for pk, sk in keys:
            constant = "{" not in pk.template.text
            url = View(index=index, pk=pk.template.text if constant else "").url()
            yield Pattern(schema.type, pk.template.text, sk.template.text if sk else "", url if constant else "")
