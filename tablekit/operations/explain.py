"""What a read will ask of DynamoDB, and what it costs, told before it is sent."""

from __future__ import annotations

from collections.abc import Sequence

from tablekit._types import WireRequest
from tablekit.operations.estimates import Estimate, ReadFacts, estimate_read
from tablekit.operations.queryplan import QueryPlan
from tablekit.operations.shown import Shown

__all__ = ["Explanation", "explain_get", "explain_query"]


class Explanation(Shown):
    """What a read will ask of DynamoDB, without asking it. ``print(query.explain())`` shows it whole.

    Attributes:
        operation: DynamoDB's name of the operation. request: the request as it is sent, secret values masked.
        text, aws_cli, boto3: the request for reading, as a command, as code.
        narrowing: how the classes are told from others: ``"key"``, ``"filter"``, ``"hydrate"`` or ``"none"``.
    """

    def __init__(
        self, source: WireRequest, table: str, facts: ReadFacts, *, reveal: bool = False, notes: Sequence[str] = ()
    ) -> None:
        super().__init__(source, table, reveal=reveal, notes=notes)
        self.facts = facts

    @property
    def narrowing(self) -> str:
        """How the classes are told from others: ``"key"``, ``"filter"``, ``"hydrate"`` or ``"none"``."""
        return self.facts.narrowing

    def estimate(self, *, items: int = 1, item_bytes: int, matching: int | None = None) -> Estimate:
        """What the read is billed, and what other ways to the same rows would be.

        Parameters:
            items: rows where it reads, of all classes: of the partition, or of the whole table for a scan.
            item_bytes: bytes of each, on average; in an index, of what it projects.
            matching: how many of them are of the classes that are asked for; None for all.
        """
        return estimate_read(self.facts, items, item_bytes, matching)


def explain_query(plan: QueryPlan, request: WireRequest, table: str, *, reveal: bool = False) -> Explanation:
    """The explanation of a query's next request."""
    spec = plan.spec
    facts = ReadFacts(
        operation=request.operation,
        narrowing=plan.narrowing,
        filtered=plan.filtered or plan.checked,
        consistent=spec.reads_consistently,
        limit=spec.limit,
        page_size=spec.page_size,
        index=spec.index is not None,
        sorted=not spec.scan and len(spec.key_attributes) > 1,
        hydrate=spec.hydrate,
    )
    return Explanation(request, table, facts, reveal=reveal, notes=_notes(plan))


def explain_get(request: WireRequest, table: str, *, reveal: bool = False) -> Explanation:
    """The explanation of a GetItem."""
    consistent = bool(request.to_wire(table).get("ConsistentRead"))
    notes = ["The row is billed whole, in blocks of 4 KB, whatever is selected; a missing row as one block."]
    facts = ReadFacts(operation="GetItem", consistent=consistent)
    return Explanation(request, table, facts, reveal=reveal, notes=notes)


def _notes(plan: QueryPlan) -> list[str]:
    """What to know of a query's cost."""
    spec = plan.spec
    notes = [_NARROWED[plan.narrowing](plan)]
    if spec.where or (plan.filtered and plan.narrowing != "filter"):
        notes.append("The filter drops rows after they are read and billed.")
    if plan.strays():
        notes.append(
            f"The range may take in rows of {_names(plan)} that were not asked for; they are billed as well, dropped "
            "here, and counted."
        )
    if spec.hydrate:
        notes.append("Each page is followed by a BatchGetItem of the full rows, billed by itself.")
    if spec.select is not None:
        notes.append("The projection saves transfer; DynamoDB bills whole rows.")
    return notes


def _names(plan: QueryPlan) -> str:
    return ", ".join(schema.name for schema in plan.spec.schemas or ())


def _by_key(plan: QueryPlan) -> str:
    whole = "table" if plan.spec.scan else "partition"
    return (
        f"Narrowed by key: no row of another type can lie where the key condition reads, so that only rows of "
        f"{_names(plan)} are billed. A filter on {plan.spec.registry.type_attribute} would be billed for the whole "
        f"{whole}."
    )


def _by_filter(plan: QueryPlan) -> str:
    others = ", ".join(schema.name for schema in plan.neighbours())
    remedy = "an index whose key only they write (sparse)"
    if not plan.spec.scan and len(plan.spec.key_attributes) > 1:
        remedy += ", or sort keys with a prefix of their own,"
    return (
        f"Narrowed by filter: rows of {others} may lie where this reads, and DynamoDB bills what it reads before it "
        f"filters on {plan.spec.registry.type_attribute}. For {_names(plan)} alone, {remedy} would bill only the rows "
        "that are returned; estimate() compares."
    )


def _not_at_all(plan: QueryPlan) -> str:
    return "Not narrowed: no class is named, and every row read is returned as what it is."


def _by_full_rows(plan: QueryPlan) -> str:
    others = ", ".join(schema.name for schema in plan.neighbours())
    return (
        f"Narrowed by the full rows: the index holds no {plan.spec.registry.type_attribute}, so that rows of {others} "
        "are read from the table as well, one by one, and dropped here. Project the attribute into the index."
    )


_NARROWED = {"key": _by_key, "filter": _by_filter, "hydrate": _by_full_rows, "none": _not_at_all}
