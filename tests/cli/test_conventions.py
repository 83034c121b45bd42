"""What holds for every command: options, help, exit codes, errors in one line, and text that a terminal can bear."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from tablekit import Table
from tablekit.cli import main
from tests.support.cli_models import Reading, numbers
from tests.support.engines import Engine
from tests.support.flag_models import app as flags_app
from tests.support.models import Document, Member
from tests.support.tables import Connect

ROOT = Path(__file__).parent.parent.parent
APP = ("--app", "tests.support.models:app")


def run(*arguments: str | Path, **options: Any) -> Result:
    """A command, in this process."""
    return CliRunner().invoke(main, [str(argument) for argument in arguments], **options)


def leaves(group: click.Group = main, path: str = "") -> Iterator[tuple[str, click.Command]]:
    """Every command with its name, those of groups as well."""
    for name, command in group.commands.items():
        yield f"{path}{name}", command
        if isinstance(command, click.Group):
            yield from leaves(command, f"{path}{name} ")


COMMANDS = dict(leaves())


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_and_every_option_has_help(name: str) -> None:
    """What the reference shows of it is whole."""
    command = COMMANDS[name]

    assert command.help
    options = [each for each in command.params if isinstance(each, click.Option)]
    assert [each.name for each in options if not each.help] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_the_reference_names_every_command_and_option(name: str) -> None:
    """docs/reference/cli.md is made from the commands; nothing is left out of it."""
    from docs.generated import GENERATED

    text = GENERATED["command-line"]().partition(f"## tablekit {name}\n")[2].partition("\n## ")[0]

    assert text
    visible = [each for each in COMMANDS[name].params if not getattr(each, "hidden", False)]
    words = [word for each in visible for word in (each.opts if isinstance(each, click.Option) else [])]
    assert [word for word in words if f"`{word}`" not in text] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_the_shared_options_stand_after_every_command_as_well(name: str) -> None:
    """`tablekit types --app ...` is what people type."""
    accepted = {option for each in COMMANDS[name].params for option in each.opts}

    assert {"--app", "--table", "--endpoint", "--profile", "--region", "--format"} <= accepted


@pytest.mark.parametrize("name", ["backfill", "doctor", "flags set", "lock"])
def test_every_command_that_writes_has_a_dry_run(name: str) -> None:
    """A table, or a file that is kept with the code."""
    assert "--dry-run" in {option for each in COMMANDS[name].params for option in each.opts}


def test_an_option_after_the_command_counts_over_one_before_it() -> None:
    """The nearer one was meant."""
    result = run("--format", "csv", "types", *APP, "--format", "json")

    assert json.loads(result.stdout)[0]["type"] == "Document"


def test_an_app_may_stand_within_another_object() -> None:
    """``package.module:registry.app``."""
    assert run("types", "--app", "tests.support.cli_models:registry.app").exit_code == 0


BROKEN = {
    "raises": ("x = 1 / 0\n", "importing broken raised ZeroDivisionError: division by zero"),
    "exits": ("import sys\nsys.exit(0)\n", "importing broken raised SystemExit"),
    "syntax": ("def (:\n", "importing broken raised SyntaxError"),
    "import": ("import no_such_thing\n", "no module 'no_such_thing'"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_module_that_does_not_import_is_told_in_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Exit code 2, what it raised and where; no traceback unless it is asked for."""
    source, message = BROKEN[kind]
    (tmp_path / "broken.py").write_text(source, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    sys.modules.pop("broken", None)

    result = run("types", "--app", "broken:app")

    assert result.exit_code == 2
    assert message in result.stderr
    assert "Traceback" not in result.stderr


@pytest.fixture
def connected(full_app: Table) -> Iterator[Table]:
    """The workspace app, whose connection a command of this process changes."""
    binding = full_app.binding
    yield full_app
    full_app._binding = binding


@pytest.mark.parametrize(
    "arguments",
    [
        ("--endpoint", "http://127.0.0.1:9", "doctor"),
        ("--profile", "no-such-profile", "doctor"),
        ("--endpoint", "nonsense", "doctor"),
        ("--table", "not a name", "doctor"),
        ("lock", "--file", "no/such/folder/lock.json"),
        ("check", "--file", "no/such/lock.json"),
        ("cost", "--item-bytes", "10", "--matching", "2"),
        ("explain", "Document", "nothing=1"),
        ("explain", "Nothing"),
        ("explain", "Document", "workspace_id=a", "--matching", "3"),
        ("browse", "--pk", "x", "--index", "nothing"),
        ("browse", "--pk", "x", "--cursor", "nonsense"),
        ("browse", "--sk", "x"),
        ("browse", "--pk", "x", "--type", "Nothing"),
        ("backfill", "--segments", "9-1/4", "--no-recovery"),
        ("backfill", "--rate", "0", "--no-recovery"),
        ("backfill", "--infer", "nonsense"),
        ("backfill", "--infer", "tests.support.cli_models:nothing"),
        ("doctor", "--sample", "7"),
        ("doctor", "--dry-run"),
        ("doctor", "--no-recovery"),
        ("types", "--sample", "0.5"),
        ("flags", "set", "Nothing", "a=1"),
        ("schema", "--tag", "nonsense"),
        ("workbench", "no/such/folder/model.json"),
    ],
    ids=" ".join,
)
def test_what_goes_wrong_is_a_line_and_exit_code_2(connected: Table, arguments: tuple[str, ...]) -> None:
    """On the error stream, with nothing on the output; never a traceback."""
    result = run(*APP, *arguments)

    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert "rror" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_table_that_is_not_there_is_named(connected: Table) -> None:
    """Exit code 2; --table alone keeps the endpoint that the module chose."""
    result = run(*APP, "doctor", "--table", "no-such-table")

    assert result.exit_code == 2
    assert "no-such-table" in result.stderr


def test_an_error_of_the_users_code_shows_its_place_and_no_values(full_app: Table, ministack: Engine) -> None:
    """Its message may hold what rows hold; --traceback shows it to who asks."""
    _old_row(full_app, ministack, "ODD", secret="s3cret")
    command = (*APP, "backfill", "--no-recovery", "--infer", "tests.support.cli_models:failing")

    result = run(*command)

    assert result.exit_code == 2
    assert "error: ValueError (" in result.stderr
    assert "cli_models.py, line" in result.stderr
    assert "s3cret" not in result.output
    assert "s3cret" in run(*command, "--traceback").stderr


def _old_row(app: Table, engine: Engine, sk: str, **attributes: str) -> None:
    plain = {name: {"S": value} for name, value in attributes.items()}
    engine.client().put_item(TableName=app.name, Item={"PK": {"S": "WS#acme"}, "SK": {"S": sk}, **plain})


def test_a_function_may_tell_the_types(full_app: Table, ministack: Engine) -> None:
    """Rows that it does not know are listed, and exit code is 1."""
    _old_row(full_app, ministack, "PERSON#a@b", email="a@b", workspace_id="acme")
    _old_row(full_app, ministack, "ODD")

    result = run(*APP, "--format", "json", "backfill", "--no-recovery", "--infer", "tests.support.cli_models:member")

    (report,) = json.loads(result.stdout)
    assert (result.exit_code, report["by_type"]) == (1, {"Member": 1})
    assert report["rows_left"] == [{"pk": "WS#acme", "sk": "ODD", "reason": "the function does not tell its type"}]
    assert "left: PK='WS#acme' SK='ODD'" in result.stderr


EVIL = "\x1b]0;owned\x07\x1b[2J\u202e\x9b31m"


@pytest.mark.parametrize("format", ["table", "json", "jsonl"])
@pytest.mark.parametrize("options", [("browse", "--pk", "WS#acme"), ("doctor",), ("types", "--count"), ("sizes",)])
def test_no_escape_sequence_of_a_row_reaches_the_terminal(
    full_app: Table, ministack: Engine, options: tuple[str, ...], format: str
) -> None:
    """In keys, types, names and values: they are shown as escapes, and JSON still has them."""
    item = {"PK": {"S": "WS#acme"}, "SK": {"S": EVIL}, "EntityType": {"S": EVIL}, EVIL: {"S": EVIL}}
    ministack.client().put_item(TableName=full_app.name, Item=item)

    result = run(*APP, "--format", format, *options)

    assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(result.output)
    assert "owned" in result.output
    if format == "json":
        assert EVIL in "".join(_texts(json.loads(result.stdout)))


def _texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return _texts([*value.keys(), *value.values()])
    return [text for inner in value for text in _texts(inner)] if isinstance(value, list) else [str(value)]


@pytest.mark.parametrize(
    "text",
    ["x' OR '1'='1", "a = :b", ":pk", "a) OR attribute_exists(PK", "${jndi:x}", "$(touch x)", '"; rm -rf /'],
)
def test_what_is_typed_is_a_value_and_never_an_expression(text: str) -> None:
    """Names come from the classes, values go where values go; a shell command is quoted."""
    request = json.loads(run(*APP, "--format", "json", "explain", "Document", f"workspace_id={text}").stdout)
    wire = request[0]["request"]

    assert text not in wire["KeyConditionExpression"]
    command = run(*APP, "explain", "Document", f"workspace_id={text}", "--as", "cli").stdout
    shell = subprocess.run(
        ["/bin/sh", "-c", f"aws() {{ printf '%s\\0' \"$@\"; }}; {command}"], capture_output=True, text=True, check=True
    )
    assert f"WS#{text}" in json.loads(_argument(shell.stdout, "--expression-attribute-values"))[_pk_name(wire)]["S"]


def _argument(text: str, name: str) -> str:
    words = text.split("\0")
    return words[words.index(name) + 1]


def _pk_name(wire: dict[str, Any]) -> str:
    found: str = wire["KeyConditionExpression"].split("= ")[1].split()[0]
    return found


def test_the_value_of_a_secret_field_is_in_no_message(connect_full: Connect) -> None:
    """Neither old nor new, nor one that was refused."""
    connect_full(flags_app)
    command = ("--app", "tests.support.flag_models:app", "flags", "set", "AppFlags")

    assert "hunter2" not in run(*command, "token=hunter2").output
    assert "hunter3" not in run(*command, "token=hunter3", "limit=x").output
    assert "hunter4" not in run(*command, "token", "hunter4").output


def test_a_secret_is_masked_in_a_row_that_nobody_can_tell(connect_full: Connect, ministack: Engine) -> None:
    """A row without a type still has the attribute of a secret field."""
    app = connect_full(flags_app)
    item = {"PK": {"S": "A#a1"}, "SK": {"S": "META"}, "password": {"S": "hunter2"}, "EntityType": {"S": "Old"}}
    ministack.client().put_item(TableName=app.name, Item=item)

    result = run("--app", "tests.support.flag_models:app", "browse", "--pk", "A#a1", "--full")

    assert "***" in result.stdout
    assert "hunter2" not in result.output


def test_flags_set_in_a_dry_run_writes_nothing(connect_full: Connect) -> None:
    """Old and new are shown, and the units."""
    connect_full(flags_app)
    command = ("--app", "tests.support.flag_models:app", "--format", "json", "flags")

    result = run(*command, "set", "AppFlags", "limit=25", "--dry-run")

    assert json.loads(result.stdout) == [{"name": "limit", "old": 10, "new": 25}]
    assert "would take about 1 write units" in result.stderr
    assert [row["value"] for row in json.loads(run(*command).stdout) if row["name"] == "limit"] == [10]


def test_a_number_is_a_partition_key_too(connect_full: Connect) -> None:
    """--pk is read by the key's type; a text that is none is told."""
    connect_full(numbers)
    Reading(number=7, place="kitchen").create()
    command = ("--app", "tests.support.cli_models:numbers", "--format", "json", "browse")

    assert json.loads(run(*command, "--pk", "7").stdout)[0]["place"] == "kitchen"
    assert json.loads(run(*command, "--pk", "7", "--sk", "kitchen").stdout)[0]["number"] == 7
    assert "is not a number" in run(*command, "--pk", "seven").stderr


def test_one_row_is_shown_in_full(full_app: Table) -> None:
    """By its whole key; exit code 1 when there is none."""
    Document(workspace_id="acme", doc_id="d1", title="x" * 300).create()

    assert "x" * 300 in run(*APP, "browse", "--pk", "WS#acme", "--sk", "DOC#d1").stdout
    assert run(*APP, "browse", "--pk", "WS#acme", "--sk", "DOC#d2").exit_code == 1


def test_rows_of_any_kind_can_be_looked_at(full_app: Table, ministack: Engine) -> None:
    """Untyped, unknown, undecodable, binary and huge rows, each with its mark; the table stays narrow."""
    Member(workspace_id="acme", email="ok").create()
    rows: list[dict[str, Any]] = [
        {"SK": {"S": "1"}, "blob": {"B": b"\x00\xff"}},
        {"SK": {"S": "2"}, "EntityType": {"S": "Invoice"}, "list": {"L": [{"M": {"a": {"BS": [b"x"]}}}]}},
        {"SK": {"S": "MEMBER#bad"}, "EntityType": {"S": "Member"}, "role": {"N": "7"}},
        {"SK": {"S": "3"}, "pad": {"S": "x" * 390_000}},
    ]
    for row in rows:
        ministack.client().put_item(TableName=full_app.name, Item={"PK": {"S": "WS#acme"}, **row})

    result = run(*APP, "browse", "--pk", "WS#acme")

    assert result.exit_code == 0, result.output
    labels = [line.split("WS#acme")[0].strip() for line in result.stdout.splitlines()[2:]]
    assert labels == ["(untyped)", "Invoice (unknown)", "(untyped)", "Member", "Member"]
    assert max(map(len, result.stdout.splitlines())) < 160
    shown = json.loads(run(*APP, "--format", "json", "browse", "--pk", "WS#acme").stdout)
    assert (len(shown), shown[0]["blob"]) == (5, {"B": "AP8="})


def test_types_can_be_counted(full_app: Table, ministack: Engine) -> None:
    """Rows and bytes by type; exit code 1 when nobody knows some of them."""
    for number in range(3):
        Member(workspace_id="acme", email=str(number)).create()
    command = (*APP, "--format", "json", "types", "--count")

    result = run(*command)

    (row,) = json.loads(result.stdout)
    assert (result.exit_code, row["Type"], row["rows"]) == (0, "Member", 3)
    assert "read units" in result.stderr
    _old_row(full_app, ministack, "ODD")
    assert run(*command).exit_code == 1


def test_sizes_names_the_heavy_attributes(full_app: Table) -> None:
    """By type, the heaviest first."""
    Document(workspace_id="acme", doc_id="d1", title="x" * 5_000).create()

    rows = json.loads(run(*APP, "--format", "json", "sizes", "--top", "2").stdout)

    assert rows[0]["attribute"] == "title"
    assert rows[0]["bytes a row"] == 5_005
    assert (rows[0]["write units"], len(rows)) == (6.0, 2)


def test_a_sample_multiplies_no_singleton(connect_full: Connect) -> None:
    """Rows of a sample stand for more of their kind; the one row of a singleton does not."""
    connect_full(flags_app)
    given = ("--app", "tests.support.flag_models:app", "doctor", "--sample", "0.1")

    (found,) = json.loads(run(*given, "--format", "json").stdout)

    assert (found["kind"], found["rows"], found["rows_in_all"]) == ("singleton-missing", 1, 1)
    assert "in all" not in run(*given).stdout


def test_doctor_fixes_in_a_dry_run_without_writing(full_app: Table, ministack: Engine) -> None:
    """What would be mended is counted."""
    _old_row(full_app, ministack, "MEMBER#a", workspace_id="acme", email="a")

    result = run(*APP, "doctor", "--fix", "--dry-run")

    assert "would be mended: 1 types, 0 index keys" in result.stderr
    assert run(*APP, "doctor").exit_code == 1


def start(*arguments: str, **options: Any) -> subprocess.Popen[str]:
    """A command, in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x"}
    return subprocess.Popen(
        [sys.executable, "-m", "tablekit.cli", *arguments],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def test_a_reader_that_is_gone_ends_a_command_quietly() -> None:
    """As in `tablekit types | head -1`: nothing on the error stream, and the shell's code for it."""
    process = start("types", *APP)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()

    errors = process.stderr.read()

    assert (process.wait(), errors) == (141, "")
    process.stderr.close()


def test_without_the_extra_the_command_says_what_to_install() -> None:
    """One line and exit code 2, and no traceback."""
    hidden = "import sys; sys.modules['click'] = None; from tablekit.__main__ import main; main()"
    done = subprocess.run([sys.executable, "-c", hidden], cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 2
    assert done.stderr == 'tablekit: the command needs the extra: pip install "tablekit[cli]"\n'


def test_the_package_is_a_command_too() -> None:
    """`python -m tablekit` is `tablekit`."""
    done = subprocess.run([sys.executable, "-m", "tablekit", "--version"], cwd=ROOT, capture_output=True, check=False)
    assert done.returncode == 0


def test_an_interrupted_backfill_ends_at_once_and_goes_on_from_there(
    full_app: Table, ministack: Engine, tmp_path: Path
) -> None:
    """Ctrl-C: exit code 130, no traceback; the same command then types the rest."""
    for number in range(120):
        _old_row(full_app, ministack, f"MEMBER#{number}", workspace_id="acme", email=str(number))
    checkpoint = tmp_path / "checkpoint.json"
    command = (
        "--app", "tests.support.models:app", "--endpoint", ministack.endpoint_url, "--region", "us-east-1",
        "--table", full_app.name, "--format", "json", "backfill", "--no-recovery", "--checkpoint", str(checkpoint),
    )  # fmt: skip
    process = start(*command, "--rate", "20")
    _wait_until(lambda: any("EntityType" in row for row in _rows(full_app, ministack)))

    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    _, errors = process.communicate(timeout=30)

    assert (process.returncode, time.monotonic() - began < 5) == (130, True)
    assert "interrupted" in errors
    assert "with the same --checkpoint" in errors
    assert "Traceback" not in errors
    assert not all("EntityType" in row for row in _rows(full_app, ministack))
    second, errors = start(*command).communicate(timeout=60)
    assert all("EntityType" in row for row in _rows(full_app, ministack)), errors
    assert json.loads(second)[0]["typed"] == 120


def _rows(app: Table, engine: Engine) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = engine.client().scan(TableName=app.name)["Items"]
    return found


def _wait_until(true: Callable[[], bool]) -> None:
    until = time.monotonic() + 30
    while not true():
        assert time.monotonic() < until, "the run does not get on"
        time.sleep(0.05)


def test_no_colour_is_no_colour(full_app: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """NO_COLOR holds also where the output is a terminal."""
    Member(workspace_id="acme", email="a").create()
    command = (*APP, "browse", "--pk", "WS#acme")
    assert "\x1b[" in run(*command, color=True).stdout

    monkeypatch.setenv("NO_COLOR", "1")

    assert "\x1b[" not in run(*command, color=True).stdout
