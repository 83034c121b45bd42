"""What one query gives, printed: the stored rows, the objects, the index, and the requests behind them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.syntax import Syntax
from rich.table import Table as Grid
from rich.text import Text

from examples.workspace.files import Problem
from examples.workspace.models import AppFlags, Comment, Document, Member, PageViews, Workspace, app
from tablekit import Explanation, Meter
from tablekit.wire.sizes import item_size

__all__ = ["show_feed", "show_flags", "show_partition", "show_problems"]

HEAD, TAIL, NEWEST = 12, 4, 8
Anything = Workspace | Document | Comment | Member


def show_partition(console: Console, workspace_id: str) -> None:
    """One query of a workspace's partition: rows as they are stored, and the objects that they came back as."""
    console.rule("One query of a partition that holds four kinds of rows")
    query = app.query(Workspace, Document, Comment, Member, workspace_id=workspace_id)
    with app.meter() as meter:
        found = query.all()
    _code(console, f"app.query(Workspace, Document, Comment, Member, workspace_id={workspace_id!r}).all()")
    console.print(_rows(found))
    console.print(_objects(found))
    counts = Counter(type(entity).__name__ for entity in found)
    console.print(Text(f"Classes: {', '.join(f'{count} {name}' for name, count in sorted(counts.items()))}"))
    _request(console, query.explain(), meter, found)


def show_feed(console: Console, workspace_id: str) -> None:
    """The documents of a workspace by their last change, from an index that holds nothing else."""
    console.rule("The feed: an index that only documents have a key in")
    query = Document.feed.query(workspace_id=workspace_id).reverse().limit(NEWEST)
    with app.meter() as meter:
        found = query.all()
    _code(console, f"Document.feed.query(workspace_id={workspace_id!r}).reverse().limit({NEWEST}).all()")
    grid = _grid("updated_at", "revision", "words", "title")
    for document in found:
        changed = f"{document.updated_at:%Y-%m-%d %H:%M:%S.%f}"
        grid.add_row(changed, str(document.revision), str(document.words), Text(document.title))
    console.print(grid)
    _request(console, query.explain(), meter, found)


def show_flags(console: Console) -> None:
    """The switches of the app, where their values came from, and the views of the feed's first page."""
    console.rule("The settings row: one GetItem, cached in the process")
    flags = AppFlags.get()
    grid = _grid("flag", "value")
    for name in ("signup_enabled", "maintenance_mode", "ai_search_enabled"):
        grid.add_row(name, str(getattr(flags, name)))
    console.print(grid)
    console.print(Text(f"From {flags.source}, version {flags.version}, {'cached' if flags.cached else 'just read'}."))
    PageViews.add(page="feed")
    console.print(Text(f"Looks at the feed so far: {PageViews.value(page='feed')}."))


def show_problems(console: Console, problems: Sequence[Problem]) -> None:
    """What was left out, and why."""
    for problem in problems:
        console.print(Text(f"Left out: {problem}", style="yellow"), soft_wrap=True)


def _rows(found: Sequence[Anything]) -> Grid:
    grid = _grid("PK", "SK", "Type", title="Rows, as they are stored")
    for entity in _ends(found):
        if isinstance(entity, int):
            grid.add_row("", f"... {entity} more ...", "")
            continue
        item = entity.to_item()
        grid.add_row(*(Text(item[name]["S"]) for name in (app.pk, app.sk or "", app.type_attribute)))
    return grid


def _objects(found: Sequence[Anything]) -> Grid:
    grid = _grid("Class", "What it is", title="The same rows, as objects")
    for entity in _ends(found):
        if isinstance(entity, int):
            grid.add_row("", f"... {entity} more ...")
        else:
            grid.add_row(type(entity).__name__, Text(_described(entity)))
    return grid


def _described(entity: Anything) -> str:
    match entity:
        case Document(title=title, words=words, revision=revision):
            return f"{title!r}, {words} words, revision {revision}"
        case Comment(author=author, body=body):
            return f"{author}: {body}"
        case Member(name=name, role=role):
            return f"{name}, {role}"
        case Workspace(name=name):
            return f"the workspace {name!r}"


def _ends(found: Sequence[Anything]) -> list[Anything | int]:
    """The first and the last entities, with the number of those between them."""
    if len(found) <= HEAD + TAIL + 1:
        return list(found)
    return [*found[:HEAD], len(found) - HEAD - TAIL, *found[-TAIL:]]


def _grid(*columns: str, title: str | None = None) -> Grid:
    grid = Grid(title=title, title_justify="left")
    for column in columns:
        grid.add_column(column, overflow="fold")
    return grid


def _code(console: Console, source: str) -> None:
    console.print(Syntax(source, "python", background_color="default", word_wrap=True))


def _request(console: Console, explanation: Explanation, meter: Meter, found: Sequence[Anything]) -> None:
    console.print(Text("The request:", style="bold"))
    console.print(Text(explanation.text))
    size = sum(item_size(entity.to_item()) for entity in found)
    rules = explanation.estimate(items=meter.items, item_bytes=-(-size // max(1, len(found))))
    times = f"Sent {meter.requests} time{'s' if meter.requests > 1 else ''}, {meter.items} rows read."
    reported = (
        f"Capacity: {meter.units:g} units reported here; {rules.read_units:g} by DynamoDB's rules for {size:,} bytes."
    )
    console.print(Text(f"{times} {reported}", style="bold"))
