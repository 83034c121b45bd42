"""An engine never outlives the process that started it, and a fork never ends it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tablekit.local import LocalEngine
from tests.support.engines import Engine

ROOT = Path(__file__).parent.parent.parent
STARTS_ONE = "from tablekit.local import LocalEngine; engine = LocalEngine().start(); print(engine.pid, flush=True);"

pytestmark = pytest.mark.skipif(os.name != "posix", reason="uses the signals and the fork of POSIX")


def run_until_it_prints(*arguments: str) -> tuple[subprocess.Popen[str], str]:
    """Start this Python with arguments, and return the process and its first line."""
    process = subprocess.Popen(
        [sys.executable, *arguments], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    return process, process.stdout.readline().strip()


def ends(pid: int, seconds: float = 10) -> bool:
    """Whether a process is gone within some seconds."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        if Path(f"/proc/{pid}/stat").exists() and " Z " in Path(f"/proc/{pid}/stat").read_text():
            return True  # ended, and nobody has asked for its status: its parent is gone
        time.sleep(0.02)
    return False


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_it_ends_when_its_parent_is_killed(number):
    """Whatever signal ends the parent, the engine ends too."""
    process, pid = run_until_it_prints("-c", STARTS_ONE + "import time; time.sleep(60)")
    process.send_signal(number)
    process.communicate()
    assert ends(int(pid))


@pytest.mark.parametrize("ending", ["pass", "raise SystemExit(3)", "1 / 0", "import os; os._exit(0)"])
def test_it_ends_when_its_parent_ends_without_stopping_it(ending):
    """A program that forgets the engine leaves none behind."""
    process, pid = run_until_it_prints("-c", f"{STARTS_ONE} {ending}")
    process.communicate()
    assert ends(int(pid))


def test_it_ends_with_its_parent_while_a_fork_lives_on():
    """A forked process does not hold the engine after its parent was killed."""
    process, pid = run_until_it_prints("-c", STARTS_ONE + "import os, time; os.fork(); time.sleep(4)")
    process.kill()
    assert ends(int(pid), seconds=3)
    process.communicate()


def test_a_fork_that_exits_leaves_it_running():
    """A forked process that runs its exit handlers, or stops the engine, does not end its parent's."""
    with LocalEngine() as engine:
        program = f"""
import os, sys, tablekit.local
engine = tablekit.local.LocalEngine().start()
if os.fork() == 0:
    engine.stop()
    sys.exit()
os.wait()
print(engine.running, engine.endpoint_url != {engine.endpoint_url!r}, flush=True)
"""
        process, line = run_until_it_prints("-c", program)
        process.communicate()
        assert line == "True True"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_command_stops_in_order(number, tmp_path):
    """`python -m tablekit.local` prints its endpoint, and on Ctrl-C and SIGTERM keeps the data and ends with 0."""
    process, line = run_until_it_prints("-m", "tablekit.local", "--keep", str(tmp_path))
    Engine("ministack", line).client().create_table(
        TableName="kept",
        AttributeDefinitions=[{"AttributeName": "PK", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "PK", "KeyType": "HASH"}],
        BillingMode="PAY_PER_REQUEST",
    )
    process.send_signal(number)
    _, errors = process.communicate(timeout=20)
    assert f"The data is kept in {tmp_path}" in errors
    assert process.returncode == 0
    with LocalEngine(keep=tmp_path) as engine:
        assert Engine("ministack", engine.endpoint_url).client().list_tables()["TableNames"] == ["kept"]


def test_the_command_says_why_it_cannot():
    """A port that is taken ends the command with status 1 and a message, without a traceback."""
    with LocalEngine() as engine:
        port = engine.endpoint_url.rpartition(":")[2]
        command = [sys.executable, "-m", "tablekit.local", "--port", port]
        result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert f"Port {port} on 127.0.0.1 cannot be used" in result.stderr
    assert "Traceback" not in result.stderr
