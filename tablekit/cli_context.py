"""What every command of `tablekit` shares: the app, the report's format, errors, progress."""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, cast

import click
from typing_extensions import Self

from tablekit.api.table import Table
from tablekit.errors import TablekitError
from tablekit.tools.printing import OutputFormat, format_rows

__all__ = ["Context", "Tick", "load_app", "pass_context", "reporting"]

F = TypeVar("F", bound=Callable[..., Any])


class Context:
    """What the options before the command said."""

    def __init__(self, app: str | None, format: OutputFormat, connection: Mapping[str, str | None]) -> None:
        self.app_path = app
        self.format: OutputFormat = format
        self.connection = {name: value for name, value in connection.items() if value is not None}

    def app(self) -> Table:
        """The table that --app names, connected as the options say."""
        if self.app_path is None:
            raise click.UsageError("Say which table: --app package.module:table (or TABLEKIT_APP).")
        table = load_app(self.app_path)
        if self.connection:
            options: dict[str, Any] = dict(self.connection)
            table.connect(**options)
        return table

    def show(self, rows: Sequence[Mapping[str, Any]], columns: Sequence[str] | None = None) -> None:
        """Print a report in the chosen format."""
        click.echo(format_rows(rows, self.format, columns), nl=False)


def load_app(path: str) -> Table:
    """The `Table` at ``package.module:name``."""
    module_name, _, name = path.partition(":")
    if not name:
        raise click.UsageError(f"--app {path!r} is not package.module:table.")
    # A command is run beside the package that it is about.
    if "" not in sys.path and "." not in sys.path:
        sys.path.insert(0, "")
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        raise click.UsageError(f"--app {path!r}: there is no module {error.name!r} here.") from None
    found = getattr(module, name, None)
    if not isinstance(found, Table):
        tables = ", ".join(sorted(key for key, value in vars(module).items() if isinstance(value, Table))) or "none"
        raise click.UsageError(f"--app {path!r}: {module_name} has no Table {name!r} (it has: {tables}).")
    return found


def reporting(command: F) -> F:
    """Turn tablekit's errors into a line on the error stream and exit code 2."""

    @functools.wraps(command)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        try:
            return command(*args, **kwargs)
        except TablekitError as error:
            click.echo(f"error: {error}", err=True)
            raise SystemExit(2) from None

    return cast(F, wrapped)


pass_context = click.make_pass_decorator(Context)


class Tick:
    """Moves a progress bar on the error stream; silent where nobody looks."""

    def __init__(self, unit: str) -> None:
        self.unit = unit
        self.total = 0
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            progress = importlib.import_module("rich.progress")
            console = importlib.import_module("rich.console").Console(stderr=True)
            self._bar = progress.Progress(console=console, transient=True)
            self._task = self._bar.add_task(self.unit, total=None)
            self._bar.start()
        return self

    def __call__(self, done: int, of: int) -> None:
        if self._bar is not None:
            self._bar.update(self._task, completed=done, total=max(of, done))

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()
