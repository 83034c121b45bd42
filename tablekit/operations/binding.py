"""What a table is bound to: a physical name, a port, and what the engine behind it can do."""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any

from tablekit._types import Port
from tablekit.definition.registry import TableDefinition, table_name_problem
from tablekit.errors import RequestError
from tablekit.operations.session import Capabilities, Session
from tablekit.operations.settings import Settings
from tablekit.operations.transport import SyncPort

__all__ = ["Binding", "aio_port_of", "bound_to", "current_binding"]

Listener = Callable[[str, dict[str, Any]], Any]


class Binding:
    """One way of reaching a table; its port is made once and shared by all threads.

    Parameters:
        registry: the table. name: the physical table's name, or a function that gives it, asked at each session.
        settings: how DynamoDB is reached. capabilities: what the engine can do.
        port, aio_port: ports in place of those that the settings make.
    """

    def __init__(
        self,
        registry: TableDefinition,
        name: str | Callable[[], str],
        settings: Settings,
        capabilities: Capabilities,
        *,
        port: Port | None = None,
        aio_port: Port | None = None,
    ) -> None:
        self.registry = registry
        self.given_name = name
        self.settings = settings
        self.capabilities = capabilities
        self.port: Port = port if port is not None else _port_of(settings)
        self.aio_port: Port = aio_port if aio_port is not None else aio_port_of(settings)
        self.listeners: list[Listener] = []

    @property
    def name(self) -> str:
        """The physical table's name."""
        name = self.given_name if isinstance(self.given_name, str) else self.given_name()
        if not isinstance(name, str) or not name:
            raise RequestError(
                f"The name of table {self.registry.label!r} is {name!r}; it must be a string, not empty."
            )
        problem = table_name_problem(name)
        if problem is not None:
            raise RequestError(f"The name of table {self.registry.label!r} is {name!r}: {problem}")
        return name

    def session(self, port: Port | None = None) -> Session:
        """A session through this binding's port, or through another."""
        chosen = port if port is not None else self.port
        awaited = chosen is self.aio_port
        return Session(self.registry, chosen, self.name, self.capabilities, self.listeners, awaited=awaited)

    def close(self) -> None:
        """Close the connections."""
        close = getattr(self.port, "close", None)
        if close is not None:
            close()

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        close = getattr(self.aio_port, "aclose", None)
        if close is not None:
            await close()


def _port_of(settings: Settings) -> Port:
    if settings.transport == "direct":
        # Who does not send this way does not import it.
        from tablekit.operations.direct import DirectPort

        return DirectPort(settings)
    return SyncPort(settings)


_bound: contextvars.ContextVar[Mapping[int, Binding]] = contextvars.ContextVar("tablekit_bound", default={})  # noqa: B039  (never changed, only replaced)


def current_binding(registry: TableDefinition) -> Binding | None:
    """The binding of a table that `bound_to` set in this context."""
    found = _bound.get()
    return found.get(id(registry)) if found else None


def aio_port_of(settings: Settings) -> Port:
    """The port of awaited calls that some settings ask for."""
    # With asyncio the import of tablekit would take a third longer.
    if settings.transport == "direct":
        from tablekit.operations.async_direct import AioDirectPort

        return AioDirectPort(settings)
    from tablekit.operations.async_transport import AioPort

    return AioPort(settings)


@contextmanager
def bound_to(registry: TableDefinition, binding: Binding) -> Generator[Binding]:
    """Let a table use a binding in this context, and in no other thread or task."""
    token = _bound.set({**_bound.get(), id(registry): binding})
    try:
        yield binding
    finally:
        _bound.reset(token)
