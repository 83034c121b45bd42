"""What a table writes: batches and transactions over several classes."""

from __future__ import annotations

from tablekit.definition.registry import TableDefinition

__all__ = ["TableWrites"]


class TableWrites(TableDefinition):
    """The writing half of `Table`."""
