"""The table: where entities live, and how it is reached."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from typing_extensions import Self

from tablekit._types import KeyType, Port
from tablekit.api.aio_table import AioTable
from tablekit.api.table_reads import TableReads
from tablekit.api.table_writes import TableWrites
from tablekit.definition.indexes import Index
from tablekit.definition.registry import UnknownPolicy, UntypedPolicy
from tablekit.operations import ddl
from tablekit.operations.binding import Binding, bound_to, current_binding
from tablekit.operations.deadline import Deadline, deadline
from tablekit.operations.driver import run
from tablekit.operations.observe import DryRun, Meter, Observation, holding, metering
from tablekit.operations.session import Capabilities, Session
from tablekit.operations.settings import Settings, Transport

__all__ = ["Table"]


class Table(TableReads, TableWrites):
    """One DynamoDB table and the entities in it.

    Parameters:
        name: the physical table's name, or a function that gives it; `connect` and `bound` can say another.
        pk, sk: the attributes of the primary key; ``sk=None`` for a table without a sort key.
        type_attribute: the attribute that holds each row's type.
        indexes: global and local secondary indexes.
        separator: what stands between the parts of a key, and so may stand in no part.
        key_types: the scalar type, ``"S"``, ``"N"`` or ``"B"``, of key attributes, where the entities do not tell.
        unknown: what a query that names no class does with a row of a type that no class has: ``"raise"`` or
            ``"skip"``.
        untyped: what reads do with a row without a type: ``"raise"``, ``"skip"``, or ``"infer"`` by its key.
        cursor_secret: a secret, or several with the newest first, with which cursors are encrypted.
        consistent_reads: whether reads that do not say are strongly consistent, at twice the units; those of global
            indexes never are.
    """

    def __init__(
        self,
        name: str | Callable[[], str],
        *,
        pk: str = "PK",
        sk: str | None = "SK",
        type_attribute: str = "EntityType",
        indexes: Sequence[Index] = (),
        separator: str | None = "#",
        key_types: Mapping[str, KeyType] | None = None,
        unknown: UnknownPolicy = "raise",
        untyped: UntypedPolicy = "raise",
        cursor_secret: str | bytes | Sequence[str | bytes] = (),
        consistent_reads: bool = False,
    ) -> None:
        super().__init__(
            name,
            pk=pk,
            sk=sk,
            type_attribute=type_attribute,
            indexes=indexes,
            separator=separator,
            key_types=key_types,
            unknown=unknown,
            untyped=untyped,
        )
        self.cursor_secrets = _secrets(cursor_secret)
        self.consistent_reads = consistent_reads
        self._binding: Binding | None = None
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"Table({self.label!r}, {len(self.entities)} entities)"

    # Reaching it

    def connect(
        self,
        *,
        name: str | Callable[[], str] | None = None,
        region: str | None = None,
        endpoint_url: str | None = None,
        session: Any = None,
        profile: str | None = None,
        aws_access_key_id: str | None = None,
        aws_secret_access_key: str | None = None,
        aws_session_token: str | None = None,
        connect_timeout: float = 5.0,
        read_timeout: float = 30.0,
        max_attempts: int = 4,
        max_pool_connections: int = 32,
        transport: Transport = "pynamodb",
        capabilities: Capabilities | None = None,
        port: Port | None = None,
    ) -> Self:
        """Say how DynamoDB is reached; nothing is sent. Without it botocore's own configuration decides.

        Parameters:
            name: the physical table's name. region, endpoint_url, session, profile: as in botocore; a session of
                boto3 or botocore. aws_access_key_id, aws_secret_access_key, aws_session_token: static keys.
            connect_timeout, read_timeout: seconds for each attempt. max_attempts: attempts of one request.
            max_pool_connections: connections kept open; as many as threads that use the table at once.
            transport: ``"pynamodb"``, or ``"direct"``, which costs a fraction a call (docs/explanation/performance.md).
            capabilities: what an engine that is not DynamoDB can do. port: a transport of your own.
        """
        settings = Settings(
            region=region,
            endpoint_url=endpoint_url,
            session=session,
            profile=profile,
            aws_access_key_id=aws_access_key_id,
            aws_secret_access_key=aws_secret_access_key,
            aws_session_token=aws_session_token,
            connect_timeout=connect_timeout,
            read_timeout=read_timeout,
            max_attempts=max_attempts,
            max_pool_connections=max_pool_connections,
            transport=transport,
        )
        self._binding = self._bind(name, settings, capabilities, port)
        return self

    def _bind(
        self,
        name: str | Callable[[], str] | None,
        settings: Settings,
        capabilities: Capabilities | None = None,
        port: Port | None = None,
    ) -> Binding:
        chosen = name if name is not None else self._name
        return Binding(self, chosen, settings, capabilities or Capabilities(), port=port)

    @contextmanager
    def bound(
        self,
        *,
        name: str | Callable[[], str] | None = None,
        capabilities: Capabilities | None = None,
        port: Port | None = None,
        **settings: Any,
    ) -> Generator[Self]:
        """Reach the table in another way inside a ``with`` block, in this thread or task only.

        It takes what `connect` takes. What is left out is as it was outside.
        """
        outer = self.binding
        chosen = name if name is not None else outer.given_name
        kept = capabilities if capabilities is not None else outer.capabilities
        if not settings and port is None:
            binding = Binding(self, chosen, outer.settings, kept, port=outer.port)
        else:
            binding = Binding(self, chosen, Settings(**settings) if settings else outer.settings, kept, port=port)
        try:
            with bound_to(self, binding):
                yield self
        finally:
            if binding.port is not outer.port and port is None:
                binding.close()

    @property
    def binding(self) -> Binding:
        """How the table is reached in this context."""
        found = current_binding(self) or self._binding
        if found is None:
            with self._lock:
                if self._binding is None:
                    self._binding = self._bind(None, Settings())
                found = self._binding
        return found

    @property
    def name(self) -> str:
        """The physical table's name in this context."""
        return self.binding.name

    def session(self) -> Session:
        """The session of synchronous calls, for tools that send requests of their own."""
        return self.binding.session()

    def aio_session(self) -> Session:
        """The session of awaited calls; one client for each event loop."""
        return self.binding.session(self.binding.aio_port)

    @property
    def aio(self) -> AioTable:
        """The same verbs, awaited."""
        return AioTable(self)

    def on_request(self, listener: Callable[[str, dict[str, Any]], Any]) -> Callable[[], None]:
        """Call `listener(operation, wire)` before each request in this context; the result takes it off again."""
        listeners = self.binding.listeners
        listeners.append(listener)
        return lambda: listeners.remove(listener)

    def close(self) -> None:
        """Close the connections; they open again when the table is used."""
        self.binding.close()

    # Being seen

    @contextmanager
    def meter(self, callback: Callable[[Observation], Any] | None = None) -> Generator[Meter]:
        """Add up what the requests of a block consume: ``with app.meter() as m``.

        Parameters:
            callback: called with an `Observation` of each request.
        """
        with metering(self, Meter(callback)) as meter:
            yield meter

    @contextmanager
    def dry_run(self) -> Generator[DryRun]:
        """Record the writes of a block and send none of them: ``with app.dry_run() as plan``. Reads are sent."""
        with holding(self) as plan:
            yield plan

    @contextmanager
    def deadline(self, *, seconds: float) -> Generator[Deadline]:
        """Give the calls of a block so much time in all: ``with app.deadline(seconds=2)``, awaited or not.

        Time-outs, retries, pauses, pages and chunks fit into it; inside another such block the nearer end counts. When
        it is over, a read raises `DeadlineExceeded` (a ``TimeoutError``), and so does a write that was not sent;
        a write that was on its way raises `WriteOutcomeUnknown`. It holds for calls on other tables in the block too.

        Raises ``ValueError`` for a time that is not above 0.
        """
        with deadline(seconds) as ends:
            yield ends

    # The physical table

    def create_table(
        self,
        *,
        wait: bool = True,
        timeout: float = 300.0,
        billing: ddl.Billing = "PAY_PER_REQUEST",
        ttl: str | None = None,
        stream: str | None = None,
        deletion_protection: bool = False,
        tags: Mapping[str, str] | None = None,
    ) -> bool:
        """Create the physical table with its indexes, unless it is there; gives whether it was created.

        Parameters:
            wait: until the table can be used. timeout: seconds to wait. billing: ``"PAY_PER_REQUEST"``, or read
                and write units. ttl: the attribute by which rows expire, where no ttl() field names it.
            stream: a stream view type, such as ``"NEW_AND_OLD_IMAGES"``. deletion_protection: refuse to delete
                the table. tags: names and values.
        """
        return run(
            ddl.create_table(
                self.session(),
                wait=wait,
                timeout=timeout,
                ttl=ttl,
                billing=billing,
                stream=stream,
                deletion_protection=deletion_protection,
                tags=tags,
            )
        )

    def describe_table(self) -> dict[str, Any]:
        """DynamoDB's description of the table. Raises `TableNotFound`."""
        return run(ddl.describe_table(self.session()))

    def delete_table(self, *, wait: bool = True) -> bool:
        """Delete the physical table with all that is in it; gives whether it was there."""
        return run(ddl.delete_table(self.session(), wait=wait))


def _secrets(given: str | bytes | Sequence[str | bytes]) -> tuple[bytes, ...]:
    each = (given,) if isinstance(given, (str, bytes)) else tuple(given)
    return tuple(secret.encode() if isinstance(secret, str) else secret for secret in each if secret)
