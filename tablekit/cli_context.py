"""What every command of `tablekit` shares: options, the app, the report's format, errors, progress."""

from __future__ import annotations

import functools
import importlib
import operator
import os
import shutil
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

import attrs
import click
from typing_extensions import Self

from tablekit.api.table import Table
from tablekit.errors import TablekitError
from tablekit.tools.printing import OutputFormat, format_blocks, format_rows, printable

__all__ = ["Commands", "Context", "Tick", "load_app", "pass_context", "reporting", "say", "shared_options", "was_given"]

F = TypeVar("F", bound=Callable[..., Any])

INTERRUPTED = 130
"""What a shell gives for a program that Ctrl-C ended."""
PIPE_CLOSED = 141
"""What a shell gives for a program whose reader was gone: `tablekit ... | head`."""


def say(text: object) -> None:
    """Print to the error stream, with escapes for what would move a terminal's cursor."""
    click.echo("\n".join(printable(line) for line in str(text).split("\n")), err=True)


# Options that every command takes, before its name or after it


def shared_options() -> list[click.Option]:
    """The options of every command: of `tablekit` itself, where they may come from the environment as well."""
    return [
        click.Option(["--app"], metavar="MODULE:TABLE", envvar="TABLEKIT_APP", help="The Table, as shop.models:app."),
        click.Option(
            ["--table", "name"], metavar="NAME", envvar=["TABLEKIT_TABLE", "TABLEKIT_NAME"],
            help="The physical table's name.",
        ),
        click.Option(
            ["--endpoint", "endpoint_url"], metavar="URL", envvar=["TABLEKIT_ENDPOINT", "TABLEKIT_ENDPOINT_URL"],
            help="Another endpoint than AWS's.",
        ),
        click.Option(["--profile"], envvar="TABLEKIT_PROFILE", help="A profile of AWS's configuration."),
        click.Option(["--region"], envvar="TABLEKIT_REGION", help="An AWS region."),
        click.Option(
            ["--format"], type=click.Choice(["table", "json", "jsonl", "csv"]), envvar="TABLEKIT_FORMAT",
            help="How reports are printed; as a table by default.",
        ),
        click.Option(["--traceback"], is_flag=True, help="Show where in the code an error came from."),
    ]  # fmt: skip


def _take(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    """Keep an option that was given, before the command or after it; the later one counts."""
    taken = context.ensure_object(Context)
    if value not in (None, False):
        taken.take(parameter.name or "", value)


class Commands(click.Group):
    """Commands that take the shared options after their own name as well, where they are looked for first."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params += _taken(shared_options())

    def add_command(self, cmd: click.Command, name: str | None = None) -> None:
        """Add a command, with the shared options."""
        for each in (cmd, *(cmd.commands.values() if isinstance(cmd, click.Group) else ())):
            own = {option for parameter in each.params for option in parameter.opts}
            later = [option for option in shared_options() if not own & set(option.opts)]
            for option in later:
                option.hidden, option.envvar, option.allow_from_autoenv = True, None, False
            each.params += _taken(later)
        super().add_command(cmd, name)


def _taken(options: list[click.Option]) -> list[click.Option]:
    for option in options:
        option.expose_value, option.callback, option.is_eager = False, _take, True
    return options


class Context:
    """What the shared options said."""

    def __init__(self) -> None:
        self.app_path: str | None = None
        self.format: OutputFormat = "table"
        self.traceback = False
        self.connection: dict[str, str] = {}

    @property
    def is_table(self) -> bool:
        """Whether the report is for a person."""
        return self.format == "table"

    def take(self, name: str, value: Any) -> None:
        """Keep the value of an option."""
        if name == "app":
            self.app_path = value
        elif name in ("format", "traceback"):
            setattr(self, name, value)
        else:
            self.connection[name] = value

    def app(self) -> Table:
        """The table that --app names, connected as the options say."""
        if self.app_path is None:
            raise click.UsageError("Say which table: --app package.module:table (or TABLEKIT_APP).")
        table = load_app(self.app_path)
        if self.connection:
            _connect(table, self.connection)
        return table

    def show(self, rows: Sequence[Mapping[str, Any]], columns: Sequence[str] | None = None) -> None:
        """Print a report in the chosen format."""
        # A file gets the texts as they are stored; a terminal gets none of them raw.
        click.echo(format_rows(rows, self.format, columns, raw=not sys.stdout.isatty()), nl=False)

    def show_blocks(self, rows: Sequence[Mapping[str, Any]], head: Sequence[str], body: Sequence[str]) -> None:
        """Print a report whose texts are too long for columns."""
        if not self.is_table:
            self.show(rows)
            return
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
        click.echo(format_blocks(rows, head, body, width=width), nl=False)


def _connect(table: Table, given: Mapping[str, str]) -> None:
    """Connect a table as the options say, and else as its module did."""
    binding = table.binding
    name = given.get("name", binding.given_name)
    changed: dict[str, Any] = {key: value for key, value in given.items() if key != "name"}
    if not changed:
        # The same client: a module that chose an endpoint keeps it.
        table.connect(name=name, capabilities=binding.capabilities, port=binding.port, **_kept(binding.settings))
        return
    kept = _kept(binding.settings)
    if "profile" in changed:
        for credential in ("session", "aws_access_key_id", "aws_secret_access_key", "aws_session_token"):
            kept[credential] = None
    table.connect(name=name, capabilities=binding.capabilities, **{**kept, **changed})


def _kept(settings: Any) -> dict[str, Any]:
    values = attrs.asdict(settings, recurse=False)
    return {key: value for key, value in values.items() if key not in ("retry_mode", "fast_parse")}


def was_given(name: str) -> bool:
    """Whether an option stands on the command line; the environment may have it for other commands."""
    return click.get_current_context().get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE


def load_app(path: str) -> Table:
    """The `Table` at ``package.module:name``."""
    module_name, _, name = path.partition(":")
    if not name or not all(part.isidentifier() for part in (*module_name.split("."), *name.split("."))):
        raise click.UsageError(f"--app {path!r} is not package.module:table.")
    module = load_module(module_name, f"--app {path!r}")
    try:
        found = operator.attrgetter(name)(module)
    except AttributeError:
        found = None
    if not isinstance(found, Table):
        named = cast("dict[str, Any]", vars(module))
        tables = ", ".join(sorted(key for key, value in named.items() if isinstance(value, Table))) or "none"
        raise click.UsageError(f"--app {path!r}: {module_name} has no Table {name!r} (it has: {tables}).")
    return found


def load_module(name: str, told: str) -> Any:
    """A module of the user's; what it raises is told in one line.

    Parameters:
        told: the option that named it.
    """
    # A command is run beside the package that it is about.
    if "" not in sys.path and "." not in sys.path:
        sys.path.insert(0, "")
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise click.UsageError(f"{told}: there is no module {error.name!r} here.") from None
    except TablekitError:
        raise
    except (Exception, SystemExit) as error:
        place = _place_of(error)
        raise click.UsageError(f"{told}: importing {name} raised {type(error).__name__}: {error}{place}") from error


def _place_of(error: BaseException) -> str:
    """The last line of the user's code that an error passed."""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith("<frozen") and Path(__file__).parent not in Path(frame.filename).parents
    ]
    return f" ({frames[-1].filename}, line {frames[-1].lineno})" if frames else ""


def reporting(command: F) -> F:
    """Turn what a command raises into a line on the error stream and an exit code, without a traceback."""

    @functools.wraps(command)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        try:
            return command(*args, **kwargs)
        except (click.ClickException, click.exceptions.Exit) as error:
            if isinstance(error.__cause__, Exception) and _wants_traceback():
                traceback.print_exception(error.__cause__)
            raise
        except TablekitError as error:
            raise _ended(error, f"error: {error}") from None
        except KeyboardInterrupt:
            say("interrupted")
            raise SystemExit(INTERRUPTED) from None
        except BrokenPipeError:
            # The reader is gone, as `head` is; what is left in the buffer has nowhere to go.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise SystemExit(PIPE_CLOSED) from None
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            raise _ended(error, f"error: {where}{error.strerror or type(error).__name__}") from None
        except Exception as error:
            # Code of the user's (codecs, hooks, an infer function), whose message may hold what rows hold.
            text = f"error: {type(error).__name__}{_place_of(error)}. --traceback shows the whole."
            raise _ended(error, text) from None

    return cast(F, wrapped)


def _wants_traceback() -> bool:
    context = click.get_current_context(silent=True)
    taken = None if context is None else context.find_object(Context)
    return taken is not None and taken.traceback


def _ended(error: BaseException, text: str) -> SystemExit:
    if _wants_traceback():
        traceback.print_exception(error)
    say(text)
    return SystemExit(2)


pass_context = click.make_pass_decorator(Context, ensure=True)


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
            columns = (
                progress.TextColumn("{task.description}"),
                progress.BarColumn(),
                progress.MofNCompleteColumn(),
                progress.TimeRemainingColumn(),
            )
            self._bar = progress.Progress(*columns, console=console, transient=True)
            self._task = self._bar.add_task(self.unit, total=None)
            self._bar.start()
        return self

    def __call__(self, done: int, of: int) -> None:
        if self._bar is not None:
            self._bar.update(self._task, completed=done, total=max(of, done))

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()
