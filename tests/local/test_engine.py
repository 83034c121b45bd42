"""`LocalEngine`: starting, stopping, keeping data, and what it says when it cannot."""

from __future__ import annotations

import http.server
import os
import signal
import socket
import sys
import threading
from urllib.parse import urlsplit

import pytest

from tablekit.local import INSTALL_COMMAND, EngineError, EngineMissing, LocalEngine
from tests.support.engines import Engine


def client(engine: LocalEngine):
    """A plain botocore client of a running engine."""
    return Engine("ministack", engine.endpoint_url).client()


def create_table(engine: LocalEngine, name: str) -> None:
    """Create a table with one string key."""
    client(engine).create_table(
        TableName=name,
        AttributeDefinitions=[{"AttributeName": "PK", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "PK", "KeyType": "HASH"}],
        BillingMode="PAY_PER_REQUEST",
    )


def table_names(engine: LocalEngine) -> list[str]:
    """The tables that an engine has."""
    return client(engine).list_tables()["TableNames"]


@pytest.fixture
def stranger():
    """Another HTTP server on this machine, which answers every request; gives its port."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()

        def log_message(self, *arguments):
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


def test_two_engines_run_side_by_side():
    """Each engine has its own port and its own data."""
    with LocalEngine() as one, LocalEngine() as two:
        create_table(one, "of-one")
        assert one.endpoint_url != two.endpoint_url
        assert table_names(one) == ["of-one"]
        assert table_names(two) == []


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have one loopback address")
def test_it_listens_on_loopback_alone():
    """Another address of the machine gets no connection."""
    with LocalEngine() as engine:
        port = urlsplit(engine.endpoint_url).port
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.2", port))


def test_a_given_port_is_used_again_at_once():
    """An engine can be started on the port that an earlier one has just left."""
    with LocalEngine() as engine:
        table_names(engine)
        port = urlsplit(engine.endpoint_url).port
    with LocalEngine(port=port) as again:
        assert again.endpoint_url == f"http://127.0.0.1:{port}"
        assert table_names(again) == []


def test_a_stranger_on_the_port_is_not_taken_for_the_engine(stranger):
    """A port that somebody else answers on is an error that names it."""
    with pytest.raises(EngineError, match=f"Port {stranger} on 127.0.0.1 cannot be used.*Give another port"):
        LocalEngine(port=stranger).start()


def test_stopping_ends_the_process_and_removes_its_files():
    """After `stop` the process is gone, and so is its scratch folder."""
    engine = LocalEngine().start()
    pid, folder = engine.pid, engine._child.folder
    engine.stop()
    assert not engine.running
    assert not folder.exists()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_starting_and_stopping_twice_is_harmless():
    """A second `start` keeps the running engine; a second `stop` does nothing."""
    engine = LocalEngine().start()
    pid = engine.pid
    assert engine.start().pid == pid
    engine.stop()
    engine.stop()


def test_a_stopped_engine_can_start_again():
    """`start` after `stop` gives a new engine."""
    engine = LocalEngine().start()
    engine.stop()
    with engine:
        assert table_names(engine) == []


def test_asking_a_stopped_engine_for_its_address():
    """Without a running engine there is no address, and the error says what to do."""
    with pytest.raises(EngineError, match=r"not running. Call start\(\)"):
        _ = LocalEngine().endpoint_url


def test_an_engine_that_died_is_noticed():
    """The error for an engine that somebody killed tells its exit status."""
    with LocalEngine() as engine:
        os.kill(engine.pid, signal.SIGKILL)
        engine.wait()
        with pytest.raises(EngineError, match="ended with status -9"):
            _ = engine.endpoint_url


def test_data_is_discarded_by_default():
    """A table of one run is not there in the next."""
    engine = LocalEngine()
    with engine:
        create_table(engine, "gone")
    with engine:
        assert table_names(engine) == []


def test_data_can_be_kept(tmp_path):
    """With `keep`, tables and items outlive the engine."""
    with LocalEngine(keep=tmp_path / "data") as engine:
        create_table(engine, "kept")
        client(engine).put_item(TableName="kept", Item={"PK": {"S": "a"}, "blob": {"B": b"\x00\xff"}})
    with LocalEngine(keep=tmp_path / "data") as engine:
        assert client(engine).scan(TableName="kept")["Items"] == [{"PK": {"S": "a"}, "blob": {"B": b"\x00\xff"}}]


@pytest.mark.skipif(os.name != "posix", reason="the folder is locked with flock")
def test_one_folder_serves_one_engine(tmp_path):
    """A second engine in the same folder would overwrite the first one's data, and is refused."""
    with LocalEngine(keep=tmp_path), pytest.raises(EngineError, match="Another engine keeps its data in"):
        LocalEngine(keep=tmp_path).start()


def test_a_folder_that_cannot_be_made(tmp_path):
    """A `keep` that is a file is an error that names it."""
    (tmp_path / "file").write_text("")
    with pytest.raises(EngineError, match="file cannot be used"):
        LocalEngine(keep=tmp_path / "file").start()


def test_reset_removes_every_table(tmp_path):
    """`reset` empties the engine and what it keeps, and no other file of the folder."""
    (tmp_path / "mine.json").write_text("{}")
    with LocalEngine(keep=tmp_path) as engine:
        create_table(engine, "removed")
        engine.reset()
        assert table_names(engine) == []
    assert (tmp_path / "mine.json").exists()
    with LocalEngine(keep=tmp_path) as engine:
        assert table_names(engine) == []


def test_the_missing_package_is_named(monkeypatch):
    """Without ministack the error gives the command that installs it."""
    monkeypatch.setitem(sys.modules, "ministack", None)
    with pytest.raises(EngineMissing) as caught:
        LocalEngine().start()
    assert caught.value.command == INSTALL_COMMAND
    assert 'pip install "tablekit[local]"' in str(caught.value)


def test_another_version_is_warned_of(monkeypatch):
    """An engine that tablekit is not tested with runs, with a warning."""
    monkeypatch.setattr("tablekit.local.ENGINE_VERSION", "0.0.1")
    with pytest.warns(RuntimeWarning, match=r"tested with 0\.0\.1"), LocalEngine() as engine:
        assert engine.running


def test_an_engine_that_fails_to_start_shows_its_last_lines(monkeypatch, tmp_path):
    """The error carries what the engine wrote before it ended."""
    (tmp_path / "ministack").mkdir()
    (tmp_path / "ministack" / "__init__.py").write_text("raise RuntimeError('no room')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(EngineError, match="ended with status 1 before it answered") as caught:
        LocalEngine().start()
    assert "RuntimeError: no room" in caught.value.log


@pytest.mark.parametrize("module", ["ministack", "argparse"], ids=["after its report", "before its report"])
def test_an_engine_that_hangs_is_given_up(monkeypatch, tmp_path, module):
    """After `timeout` seconds without an answer the child is ended and the error says so."""
    (tmp_path / module).mkdir()
    (tmp_path / module / "__init__.py").write_text("import time; time.sleep(60)")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("tablekit.local.SHUTDOWN_SECONDS", 0.2)
    with pytest.raises(EngineError, match="did not answer within 1 seconds"):
        LocalEngine(timeout=1).start()


def test_the_user_s_environment_does_not_reach_it(monkeypatch):
    """Variables of other emulators and of AWS change nothing."""
    for name, value in {"USE_SSL": "1", "SERVICES": "s3", "BIND_HOST": "192.0.2.1", "MINISTACK_REGION": "x"}.items():
        monkeypatch.setenv(name, value)
    with LocalEngine() as engine:
        assert table_names(engine) == []


def test_the_address_stands_in_the_repr():
    """`repr` tells whether it runs, and where."""
    with LocalEngine() as engine:
        assert repr(engine) == f"<LocalEngine {engine.endpoint_url}>"
    assert repr(engine) == "<LocalEngine stopped>"
