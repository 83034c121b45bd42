"""What the tests of singletons share: a clock that is set by hand, a class, and its row as the stub answers it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tablekit import Field, Singleton, Table, field, version
from tests.support.stub import Reply, StubTransport, error, ok

KEY = {"PK": {"S": "SETTINGS#APP"}, "SK": {"S": "FLAGS#V1"}}


class Clock:
    """Monotonic seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def make_flags(table: Table, **options: Any) -> Any:
    """A singleton class of its own, with one field of each kind that matters."""

    class Flags(Singleton, table=table, pk="SETTINGS#APP", sk="FLAGS#V1", **options):
        signup: Field[bool] = field(default=False)
        maintenance: Field[bool] = field(default=True)
        limits: Field[dict[str, int]] = field(factory=dict)
        names: Field[list[str]] = field(factory=lambda: ["root"])
        hits: Field[int] = field(default=0)

        revision = version()

    return Flags


def row(**attributes: Any) -> dict[str, Any]:
    """A stored row of `make_flags`, version 1, signup on."""
    return {**KEY, "EntityType": {"S": "Flags"}, "signup": {"BOOL": True}, "revision": {"N": "1"}, **attributes}


def found(**attributes: Any) -> Reply:
    """The answer of a GetItem that finds the row."""
    return ok({"Item": row(**attributes)})


def throttled() -> Reply:
    """A throttle."""
    return error("ProvisionedThroughputExceededException")


def denied() -> Reply:
    """A refusal for want of permission."""
    return error("AccessDeniedException")


def stubbed(stub: StubTransport, **options: Any) -> tuple[Any, Clock]:
    """A class over scripted answers, and its clock; values expire after 30 seconds sharp, one attempt a request."""
    table, clock = Table("flags"), Clock()
    table.connect(port=stub.port(max_attempts=1))
    return make_flags(table, clock=clock, **{"jitter": 0.0, "cache_seconds": 30, **options}), clock


def same_place(table: Table) -> Table:
    """Another `Table` object for the same physical table, as another process has one."""
    settings = table.binding.settings
    return Table(table.name).connect(
        capabilities=table.binding.capabilities,
        endpoint_url=settings.endpoint_url,
        region=settings.region,
        aws_access_key_id=settings.aws_access_key_id,
        aws_secret_access_key=settings.aws_secret_access_key,
    )


def counted(table: Table) -> list[str]:
    """The operations that are sent from now on, in order."""
    sent: list[str] = []
    table.on_request(lambda operation, _wire: sent.append(operation))
    return sent


def in_threads(work: Callable[[int], Any], count: int) -> list[Any]:
    """Results of a function that `count` threads call at the same moment, each with its number."""
    import threading
    from concurrent.futures import ThreadPoolExecutor

    barrier = threading.Barrier(count)

    def start(number: int) -> Any:
        barrier.wait()
        return work(number)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(start, range(count)))
