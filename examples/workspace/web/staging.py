"""Edits of rows that wait until they are sent, under the condition that what was edited is still as it was seen."""

from __future__ import annotations

import json
import secrets
import threading
from collections import OrderedDict
from typing import Any

import attrs
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from examples.workspace.models import app
from examples.workspace.web.handling import Form, notice, see
from examples.workspace.web.rendering import render, shown
from examples.workspace.web.rows import cells, editable, show_row
from tablekit import ConditionFailed, ItemNotFound, PlannedRequest, RequestError, TablekitError, UniqueViolation
from tablekit.definition.schema import EntitySchema
from tablekit.tools.browse import browse_row
from tablekit.tools.flags import parse_value

__all__ = ["drop", "send", "show", "stage", "switch"]

MOST_STAGES, MOST_EDITS = 100, 50
Place = tuple[str, str]


@attrs.frozen
class Change:
    """A new value of one field.

    Attributes:
        name: the field. was, value: the value that was seen, and the new one. was_text, text: both as text.
    """

    name: str
    was: Any
    value: Any
    was_text: str
    text: str


@attrs.frozen
class Edit:
    """Changes of one row.

    Attributes:
        type: the row's type. place: its key. changes: what is to change.
    """

    type: str
    place: Place
    changes: tuple[Change, ...]

    def send(self) -> None:
        """Write the new values, if each field still holds what was seen. Raises `ConditionFailed`."""
        schema = app.by_type[self.type]
        entity: Any = schema.entity
        parts = schema.spelled(_key(self.place))
        assert parts is not None, "the row was read as its class"
        unmoved: Any = None
        for change in self.changes:
            as_seen = getattr(entity, change.name) == change.was
            unmoved = as_seen if unmoved is None else unmoved & as_seen
        actions = [getattr(entity, change.name).set(change.value) for change in self.changes]
        entity.key(**parts).update(*actions, condition=unmoved)

    def plan(self) -> list[PlannedRequest]:
        """What would be sent."""
        with app.dry_run() as planned:
            self.send()
        return planned.requests


@attrs.frozen
class Refused:
    """An edit that was not written.

    Attributes:
        edit: the edit. reason: why. moved: what changed meanwhile: the field, what was seen, what is there now.
    """

    edit: Edit
    reason: str
    moved: tuple[tuple[str, str, str], ...] = ()


class Stages:
    """The edits of each session, in the memory of this process: they end with it, and are no one else's."""

    def __init__(self) -> None:
        self._stages: OrderedDict[str, dict[Place, Edit]] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, request: Request) -> dict[Place, Edit]:
        """The edits of a session, by the key of their row."""
        name: str = request.session.setdefault("stage", secrets.token_urlsafe(12))
        with self._lock:
            stage = self._stages.setdefault(name, {})
            self._stages.move_to_end(name)
            if len(self._stages) > MOST_STAGES:
                self._stages.popitem(last=False)
        return stage


STAGES = Stages()


def switch(request: Request, form: Form) -> Response:
    """Switch edits on or off; a new session only looks."""
    request.session["writing"] = form.line("writing") == "on"
    state = "may be edited now; nothing is sent before you send it" if request.session["writing"] else "are read only"
    notice(request, f"Rows {state}.")
    return see("table")


def stage(request: Request, form: Form) -> Response:
    """Keep the changes of a row's form until they are sent."""
    _must_be_writing(request)
    pk, sk = request.query_params.get("pk", ""), request.query_params.get("sk", "")
    row = browse_row(app, pk=pk, sk=sk) if pk and sk else None
    schema = app.by_type.get(row.type) if row is not None else None
    if row is None or schema is None:
        raise HTTPException(409, "The row is gone, or is of no known type any more. Nothing was staged.")
    changes, problems = _changes(schema, form, [cell.name for cell in cells(row)])
    if problems:
        given = {name: form.text(name) for name in problems}
        return show_row(request, given, problems, status=400)
    edits = STAGES.of(request)
    if changes and len(edits) < MOST_EDITS:
        edits[pk, sk] = Edit(row.type, (pk, sk), changes)
        return see("table", "staged")
    notice(request, "Send or drop some edits first." if changes else "Nothing was changed, so nothing is staged.")
    return see("table", "row", pk=pk, sk=sk)


def show(request: Request) -> Response:
    """The edits that wait, and the requests that would send them."""
    return _staged(request, [])


def send(request: Request, form: Form) -> Response:
    """Send the edits, row by row; those that are refused wait on, with what changed meanwhile."""
    _must_be_writing(request)
    edits, refused, sent = STAGES.of(request), list[Refused](), 0
    for edit in list(edits.values()):
        try:
            edit.send()
        except (ConditionFailed, ItemNotFound, RequestError) as error:
            refused.append(_refused(edit, error))
        else:
            sent += 1
            edits.pop(edit.place, None)
    if refused:
        return _staged(request, refused, sent=sent)
    notice(request, f"Sent: {sent} of {sent} rows written.")
    return see("table", "staged")


def drop(request: Request, form: Form) -> Response:
    """Drop an edit, or all of them."""
    edits = STAGES.of(request)
    if "all" in form:
        edits.clear()
    else:
        edits.pop((form.text("pk"), form.text("sk")), None)
    return see("table", "staged")


def _staged(request: Request, refused: list[Refused], *, sent: int = 0) -> Response:
    edits = list(STAGES.of(request).values())
    late = {each.edit.place: each for each in refused}
    planned = [(edit, edit.plan(), late.get(edit.place)) for edit in edits]
    status = 409 if refused else 200
    return render(request, "staged.html", status=status, planned=planned, sent=sent, refused=refused)


def _refused(edit: Edit, error: TablekitError) -> Refused:
    if isinstance(error, UniqueViolation):
        return Refused(edit, f"Another row has this {' and '.join(error.fields)}: no two may share one.")
    if isinstance(error, RequestError):
        return Refused(edit, f"It was not sent. {error}")
    stored = error.stored if isinstance(error, ConditionFailed) else None
    if stored is None:
        return Refused(edit, "The row is gone.")
    now = [(change, getattr(stored, change.name)) for change in edit.changes]
    moved = tuple((change.name, change.was_text, shown(value)) for change, value in now if value != change.was)
    return Refused(edit, "The row was changed meanwhile.", moved)


def _changes(schema: EntitySchema, form: Form, names: list[str]) -> tuple[tuple[Change, ...], dict[str, str]]:
    """What a row's form changes, and what in it is no value of its field."""
    changes, problems = list[Change](), dict[str, str]()
    for field in schema.fields:
        if field.name not in names or not editable(schema, field) or field.name not in form:
            continue
        was, text = _seen(form, field.name), form.text(field.name)
        if was.replace("\r\n", "\n") == text:
            continue
        try:
            changes.append(Change(field.name, parse_value(field, was), parse_value(field, text), was, text))
        except RequestError as error:
            problems[field.name] = str(error)
    return tuple(changes), problems


def _seen(form: Form, name: str) -> str:
    """The text that the form was filled with; as JSON, since a browser changes the ends of lines."""
    try:
        return str(json.loads(form.text(f"was.{name}")))
    except ValueError:
        raise HTTPException(400, f"The form does not say what {name} was. Nothing was staged.") from None


def _key(place: Place) -> dict[str, dict[str, str]]:
    names = [name for name in (app.pk, app.sk) if name is not None]
    return {name: {app.key_type(name): text} for name, text in zip(names, place, strict=True)}


def _must_be_writing(request: Request) -> None:
    if not request.session.get("writing"):
        raise HTTPException(403, "The table is read only here. Switch edits on first; nothing was written.")
