"""The sharded counter: a number that many write at once, kept in several rows and summed when it is read."""

from __future__ import annotations

import inspect
import re
from datetime import timedelta
from string import Formatter
from typing import Any, ClassVar, Generic, TypeVar

from tablekit.api.aio_face import BoundClass, class_verb
from tablekit.definition.entity import EntityBase, schema_of
from tablekit.definition.fields import Field, field
from tablekit.definition.registry import TableDefinition
from tablekit.definition.schema import EntitySchema
from tablekit.errors import DefinitionError
from tablekit.operations.driver import run
from tablekit.operations.session import session_for
from tablekit.patterns import counting
from tablekit.patterns.counting import Counting

__all__ = ["AioCounter", "ShardedCounter"]

C = TypeVar("C", bound="ShardedCounter")

OWN = ("shard", "count")
OPTIONS = ("shards", "remember", "ttl_attribute")
MOST_SHARDS = 1000


class AioCounter(BoundClass[C], Generic[C]):
    """The verbs on a counter, awaited."""

    add = class_verb(counting.add)
    value = class_verb(counting.value)


class _Aio:
    """Gives the awaited verbs of a class."""

    def __get__(self, obj: Any, owner: type[C]) -> AioCounter[C]:
        return AioCounter(owner)


class ShardedCounter(EntityBase, root=True):
    """A counter over several rows, for what is bumped on every request.

    ::

        class PageViews(ShardedCounter, table=app, pk="COUNTER#views#{page}", shards=16): ...


        PageViews.add(page="home")
        PageViews.value(page="home")

    One row takes about 1,000 writes a second, since it lies in one partition; the number of the shard stands in the
    partition key, so that `shards` rows take that many times more. The parts of `pk` are texts, unless the body
    declares them otherwise (``day: Field[date]``). `shards` may be raised and lowered at any time.
    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-sharding.html

    Class options: `table`, `pk` (without the shard), `sk` (a constant, ``"COUNTER"`` otherwise), `type`, `aliases`,
    `shards` (1 to 1000), `remember` (how long an ``operation_id`` is known, a day otherwise), `ttl_attribute` (by
    which DynamoDB deletes what is remembered; the table's own otherwise).
    """

    aio: ClassVar[_Aio] = _Aio()
    __counting__: ClassVar[Counting]

    def __init_subclass__(
        cls,
        *,
        table: TableDefinition | None = None,
        pk: str | None = None,
        sk: str | None = None,
        type: str | None = None,
        aliases: tuple[str, ...] = (),
        shards: int | None = None,
        remember: timedelta | None = None,
        ttl_attribute: str | None = None,
    ) -> None:
        if pk is None or table is None:
            raise DefinitionError(
                f"{cls.__name__} is a counter and needs table= and pk=, such as pk='COUNTER#views#{{page}}'.",
                owner=cls.__name__,
            )
        separator = table.separator or "#"
        if sk is None and table.sk is not None:
            sk = "COUNTER"
        _declare(cls, pk)
        given = (("shards", shards), ("remember", remember), ("ttl_attribute", ttl_attribute))
        options: dict[str, Any] = {name: value for name, value in given if value is not None}
        super().__init_subclass__(
            table=table, pk=f"{pk}{separator}{{shard}}", sk=sk, type=type, aliases=aliases, **options
        )

    @classmethod
    def __defined__(cls, schema: EntitySchema, options: dict[str, Any]) -> None:
        super().__defined__(schema, {name: value for name, value in options.items() if name not in OPTIONS})
        if schema.sk is not None and schema.sk.names:
            raise _wrong(cls, f"sk={schema.sk.template.text!r} must be a constant; what tells counters apart is in pk")
        extra = [item.name for item in schema.fields if item.name not in (*OWN, *schema.key_fields)]
        if extra:
            raise _wrong(cls, f"has the field {extra[0]!r}, which is no part of its key. A counter holds a number only")
        shards, remember = options.get("shards", 16), options.get("remember", timedelta(days=1))
        if not isinstance(shards, int) or isinstance(shards, bool) or not 1 <= shards <= MOST_SHARDS:
            raise _wrong(cls, f"shards={shards!r} must be a number from 1 to {MOST_SHARDS}")
        if not isinstance(remember, timedelta) or remember <= timedelta(0):
            raise _wrong(cls, f"remember={remember!r} must be a timedelta, such as timedelta(days=1)")
        schema.internal = True
        schema.refusal = (
            f"{cls.__name__} is a counter, whose rows are shards: {cls.__name__}.add() and {cls.__name__}.value() "
            "write and read them. Queries, batches and transactions do not take it."
        )
        cls.__counting__ = Counting(shards, remember, options.get("ttl_attribute"))

    @classmethod
    def add(cls, n: int = 1, /, *, operation_id: str | None = None, **key: Any) -> bool:
        """Add to the counter; a negative number takes away.

        Parameters:
            n: how much. key: the parts of the counter's key.
            operation_id: a text by which this addition is known, such as a request's id. However often the call is
                repeated with it, the addition is made once, for as long as `remember` says. It costs a transaction
                of two writes, four units in all, in place of one.

        Returns whether the addition was made now; False when it had been made before.

        Raises `WriteOutcomeUnknown` when the answer was lost: without an ``operation_id`` nobody knows whether it
        counted; with one, call again. `RequestError` when the same id was used for another number.
        """
        return run(counting.add(session_for(schema_of(cls)), cls, n, operation_id=operation_id, **key))

    @classmethod
    def value(cls, /, *, consistent: bool = True, **key: Any) -> int:
        """The sum of all shards, by one BatchGetItem for up to 99 of them; 0 for a counter that nothing was added to.

        Parameters:
            consistent: count each addition that had returned; False costs half, and may miss the last second's.
        """
        return run(counting.value(session_for(schema_of(cls)), cls, consistent=consistent, **key))


def _declare(cls: type, pk: str) -> None:
    """Declare what every shard holds, and the parts of the key that the body does not declare."""
    names = [match.group() for _, name, _, _ in Formatter().parse(pk) if (match := re.match(r"\w+", name or ""))]
    taken = {*OWN, "operation_id", "consistent"} & set(names)
    if taken:
        raise _wrong(cls, f"pk={pk!r} has a part {min(taken)!r}, which is a word of the counter's own. Rename it")
    declared = {name for base in cls.__mro__[:-1] for name in inspect.get_annotations(base)}
    annotations: dict[str, Any] = dict(inspect.get_annotations(cls))
    annotations.update({name: Field[str] for name in names if name not in declared})
    annotations.update(shard=Field[int], count=Field[int])
    setattr(cls, "count", field(default=0))  # noqa: B010  (a declaration that the body did not write)
    cls.__annotations__ = annotations


def _wrong(cls: type, message: str) -> DefinitionError:
    return DefinitionError(f"{cls.__name__}: {message}.", owner=cls.__name__)
