"""What changed last in a workspace, page by page."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from examples.workspace.models import Document, PageViews, Workspace
from examples.workspace.web.errors import NotFound
from examples.workspace.web.members import signed_in
from examples.workspace.web.rendering import render

__all__ = ["show"]

SIZE = 8


def show(request: Request) -> Response:
    """A page of the feed, from an index that holds documents alone; cursors lead to the pages around it."""
    workspace_id: str = request.path_params["workspace_id"]
    workspace = Workspace.get(workspace_id=workspace_id)
    if workspace is None:
        raise NotFound("workspace of this name")
    query = Document.feed.query(workspace_id=workspace_id).reverse()
    asked = request.query_params
    # Both are texts that this query gave; it refuses those of another workspace before anything is sent.
    page = query.page(SIZE, cursor=asked.get("after"), before=None if "after" in asked else asked.get("before"))
    PageViews.add(page=f"feed-{workspace_id}")
    values: dict[str, Any] = {
        "workspace": workspace,
        "page": page,
        "views": PageViews.value(page=f"feed-{workspace_id}", consistent=False),
        "request_made": query.limit(SIZE + 1).explain(),
    }
    return render(request, "feed.html", person=signed_in(request, workspace_id), **values)
