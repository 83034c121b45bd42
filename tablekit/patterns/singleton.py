"""The singleton: one row under a constant key, which holds state for the whole application."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from typing_extensions import Self, dataclass_transform

from tablekit._types import UNSET, Unset
from tablekit.api.aio_face import BoundClass, class_verb
from tablekit.api.table import Table
from tablekit.definition.entity import BASE, EntityBase, schema_of
from tablekit.definition.fields import field, ttl
from tablekit.definition.registry import TableDefinition
from tablekit.definition.schema import EntitySchema
from tablekit.errors import DefinitionError, RequestError, TablekitError
from tablekit.expressions.actions import Action
from tablekit.operations.driver import run
from tablekit.operations.explain import Explanation
from tablekit.operations.session import Session, session_for
from tablekit.patterns import migration, reading, writing
from tablekit.patterns.cache import Cache, State
from tablekit.patterns.entries import SEEN, Seen, Source
from tablekit.patterns.options import NAMES, OnFailure, Options, check_literal, check_shape, read_options

__all__ = ["AioSingleton", "Singleton"]

S = TypeVar("S", bound="Singleton")


class AioSingleton(BoundClass[S], Generic[S]):
    """The verbs on a singleton, awaited; they share the cache with the others."""

    get = class_verb(reading.get)
    load = class_verb(reading.load)
    update = class_verb(writing.update)
    edit = class_verb(writing.edit)
    ensure = class_verb(writing.ensure)
    delete = class_verb(writing.delete)
    migrate = class_verb(migration.migrate)


class _Aio:
    """Gives the awaited verbs of a class."""

    def __get__(self, obj: Any, owner: type[S]) -> AioSingleton[S]:
        return AioSingleton(owner)


@dataclass_transform(kw_only_default=True, field_specifiers=(field, ttl))
class Singleton(EntityBase, root=True):
    """One row of a table: feature flags, settings, a kill switch, a schema version.

    ::

        class AppFlags(Singleton, table=app, pk="SETTINGS#APP", sk="FLAGS#V1", cache_seconds=30):
            signup_enabled: Field[bool] = field(default=False)  # the safe value
            maintenance_mode: Field[bool] = field(default=True)

            schema_version = version()

    The key is a constant, and each field has a default: the safe value, which is in force while the row is missing
    or cannot be read. What `get` gives is a copy of its own at every depth; changing it changes nothing but itself.

    Class options, beside those of `Entity`: those of `tablekit.patterns.options.Options`.
    """

    aio: ClassVar[_Aio] = _Aio()
    __cache__: ClassVar[Cache]
    __table__: ClassVar[Table]

    def __init_subclass__(
        cls,
        *,
        table: TableDefinition | None = None,
        pk: str | None = None,
        sk: str | None = None,
        type: str | None = None,
        aliases: tuple[str, ...] = (),
        abstract: bool = False,
        cache_seconds: float | Unset = UNSET,
        jitter: float | Unset = UNSET,
        consistent: bool | Unset = UNSET,
        on_failure: OnFailure | Unset = UNSET,
        max_stale: float | Unset | None = UNSET,
        retry_after: float | Unset = UNSET,
        refresh_before: float | Unset = UNSET,
        attempts: int | Unset = UNSET,
        writes_per_minute: int | Unset = UNSET,
        migrates_from: Any = UNSET,
        clock: Callable[[], float] | Unset = UNSET,
    ) -> None:
        check_literal(cls, "pk", pk)
        check_literal(cls, "sk", sk)
        given = {
            "cache_seconds": cache_seconds,
            "jitter": jitter,
            "consistent": consistent,
            "on_failure": on_failure,
            "max_stale": max_stale,
            "retry_after": retry_after,
            "refresh_before": refresh_before,
            "attempts": attempts,
            "writes_per_minute": writes_per_minute,
            "migrates_from": migrates_from,
            "clock": clock,
        }
        options: dict[str, Any] = {name: value for name, value in given.items() if value is not UNSET}
        super().__init_subclass__(table=table, pk=pk, sk=sk, type=type, aliases=aliases, abstract=abstract, **options)

    @classmethod
    def __defined__(cls, schema: EntitySchema, options: dict[str, Any]) -> None:
        super().__defined__(schema, {name: value for name, value in options.items() if name not in NAMES})
        if not isinstance(schema.registry, Table):
            raise DefinitionError(f"{cls.__name__}: table={schema.registry!r} is no Table.", owner=cls.__name__)
        read: Options = read_options(cls, options)
        check_shape(cls, schema, read, Singleton)
        for item in schema.fields:
            # A field that is newer than the row must not make the row unreadable, and with it every other field.
            if item.missing is None:
                item.missing = (
                    item.factory if callable(item.factory) else _no_version if item.kind == "version" else _none
                )
        schema.refusal = _refusal(cls.__name__)
        schema.creating = f"{cls.__name__}.ensure() writes the safe values"
        cls.__cache__ = Cache(cls, read)
        cls.__table__ = schema.registry

    # Reading

    @classmethod
    def get(cls) -> Self:
        """The values: from memory for `cache_seconds`, else by one GetItem for all threads and tasks that ask.

        It gives the safe values when the row is missing or cannot be used, and the last good ones when it cannot be
        read; `source` and `problem` say so. Raises only with ``on_failure="raise"``.
        """
        try:
            cache, table = cls.__cache__, cls.__table__
        except AttributeError:
            schema_of(cls)  # says that the class is abstract
            raise
        # This is what every request of an application does first, so it is written for speed.
        binding = table.binding
        recent = cache.recent
        if recent is not None and recent[0] is binding and recent[1] is binding.given_name:
            state: State | None = recent[2]
        else:
            state = cache.states.find(binding.port, binding.name)
        if state is not None:
            entry = state.entry
            if entry is not None and cache.clock() < entry.due and not entry.raises:
                return entry.copy()  # type: ignore[no-any-return]
        session = binding.session()
        if isinstance(binding.given_name, str):
            cache.recent = (binding, binding.given_name, cache.state(binding.port, session.name))
        return run(reading.get(session, cls))

    @classmethod
    def load(cls) -> Self:
        """The values by a strongly consistent read, past the cache, which takes them over."""
        return run(reading.load(_session(cls), cls))

    # Writing

    @classmethod
    def update(cls, /, *actions: Action, **values: Any) -> Self:
        """Change some fields on the server, and give back the row as it is then.

        ``AppFlags.update(signup_enabled=True)`` sets values by name; ``AppFlags.update(AppFlags.limit.add(1))``
        does actions, whose values the type checker knows. Only these are sent, under the condition that the version
        is still the one that is known; when another writer was first it is tried again. A missing row is created,
        with the safe values in the other fields.

        There is no ``condition=``: whether to write is for `edit` to say, whose function raises what it likes.

        Raises `RequestError` for a field that is not there, `EncodeError`, `WrongEntityType`, `VersionConflict` when
        other writers were first each time, `WriteOutcomeUnknown`.
        """
        return run(writing.update(_session(cls), cls, *actions, **values))

    @classmethod
    def edit(cls, change: Callable[[Self], Self | None], /) -> Self:
        """Read the row, let `change` work on a copy, and write what it changed, if no other writer was first.

        Parameters:
            change: is given a fresh copy; it changes it, or returns another. After a lost race it is called again,
                with the newer values, so it must have no other effects.

        Raises what `update` raises, and what `change` raises; then nothing is written.
        """
        return run(writing.edit(_session(cls), cls, change))

    @classmethod
    def ensure(cls) -> Self:
        """Write the safe values when there is no row; gives what is there then. Two at once are fine."""
        return run(writing.ensure(_session(cls), cls))

    @classmethod
    def delete(cls) -> None:
        """Delete the row: the safe values are in force."""
        run(writing.delete(_session(cls), cls))

    @classmethod
    def migrate(cls) -> Self:
        """Write this row from the values of `migrates_from`, once; a row that is there already stays as it is.

        One transaction writes it and asserts that the old row did not move; when it did, the new values are
        transformed. The old row stays, for processes that still read it.
        """
        return run(migration.migrate(_session(cls), cls))

    # The cache

    @classmethod
    def invalidate(cls) -> None:
        """Forget what is cached in this process; the next read asks the table, consistently."""
        writing.invalidate(_session(cls), cls)

    @classmethod
    def on_change(cls, listener: Callable[[Self, Self], Any]) -> Callable[[], None]:
        """Call ``listener(before, after)`` when a read or a write of this process finds other values.

        It runs in the thread that noticed. The result takes it off again.
        """
        return reading.cache_of(cls).on_change(listener)

    @classmethod
    def explain(cls) -> Explanation:
        """The request that a read sends, in DynamoDB's names, what it costs, and what the cache holds."""
        return reading.explain(_session(cls), cls)

    # How a snapshot came to be

    @property
    def source(self) -> Source:
        """``"table"``; ``"default"``: the safe values; ``"stale"``: the last good ones, after a failed read."""
        seen = self._seen
        if seen is not None:
            return seen.source
        return "table" if BASE in self.__dict__ else "default"

    @property
    def cached(self) -> bool:
        """Whether the values were in memory already."""
        seen = self._seen
        return seen is not None and seen.cached

    @property
    def age(self) -> float | None:
        """Seconds since these values were asked for; None for an instance that was not read."""
        seen = self._seen
        return None if seen is None else seen.age

    @property
    def problem(self) -> TablekitError | None:
        """What kept the row from being read or used, if anything did."""
        seen = self._seen
        return None if seen is None else seen.problem

    @property
    def version(self) -> int | None:
        """The row's version, 0 where there is no row; None for a class without ``version()``."""
        item = type(self).__schema__.version
        return None if item is None else self.__dict__.get(item.name, 0)

    @property
    def _seen(self) -> Seen | None:
        return self.__dict__.get(SEEN)

    # What a singleton is not. Type checkers see no such names, and so find these calls; at run time they are refused.

    if not TYPE_CHECKING:

        @classmethod
        def query(cls, *_: Any, **__: Any) -> None:
            """Refused: a singleton is read by its key."""
            raise _refused(cls, "query")

        @classmethod
        def scan(cls, *_: Any, **__: Any) -> None:
            """Refused: a singleton is read by its key."""
            raise _refused(cls, "scan")

        @classmethod
        def key(cls, *_: Any, **__: Any) -> None:
            """Refused: the key is a constant, and batches are for entities."""
            raise _refused(cls, "key")


def _no_version() -> int:
    return 0


def _none() -> None:
    return None


def _session(cls: type[Singleton]) -> Session:
    return session_for(schema_of(cls))


def _refusal(name: str) -> str:
    return (
        f"{name} is a singleton, one row under a constant key: it is read by GetItem, {name}.get(), or load() past the "
        f"cache, and changed by update() and edit(). A transaction can check it, tx.check({name}, condition), and does "
        "not write it. Queries, scans and batches are for rows of which there are several: those are an Entity."
    )


def _refused(cls: type[Singleton], verb: str) -> RequestError:
    return RequestError(f"{cls.__name__}.{verb}() is not there: {_refusal(cls.__name__)}")
