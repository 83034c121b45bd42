"""What is measured, and how often."""

from __future__ import annotations

from benchmarks.data import CACHED_READS, PAGE, PAGES, RECORDS

__all__ = ["FULL", "MEMORY_PAGES", "ONCE", "QUICK", "RARE", "ROWS", "UNITS", "WORKLOADS"]

WORKLOADS = (
    "query",
    "query 20 pages",
    "get",
    "put",
    "save",
    "batch write",
    "batch get",
    "transaction",
    "streams",
    "singleton",
    "threads 1",
    "threads 4",
    "threads 16",
    "tasks 50",
    "import",
    "first call",
    "memory",
)
"""What is measured. Rows are counted where a workload has many: a figure is for one row, one call or one process."""

UNITS = {
    "query": "us for one row",
    "query 20 pages": "us for one row",
    "batch write": "us for one row",
    "batch get": "us for one row",
    "transaction": "us for one action",
    "streams": "us for one record",
    "singleton": "us for one read",
    "import": "us for one process",
    "first call": "us for one process, import and connecting included",
    "memory": "bytes for one entity",
}

ONCE = ("import", "first call", "memory")
"""Measured in processes of their own."""

RARE = ("query 20 pages", "streams")
"""Long ones, of which a quick run takes one sample, and a full run one in every other round."""

ROWS = {"query": PAGE, "query 20 pages": PAGE * PAGES, "streams": RECORDS, "singleton": CACHED_READS}
FULL = {"query": 4, "query 20 pages": 1, "batch write": 2, "batch get": 2, "transaction": 10, "streams": 1}
QUICK = {"query": 2, "query 20 pages": 1, "batch write": 1, "batch get": 1, "transaction": 4, "streams": 1}
CALLS = {False: 100, True: 40}
"""Times that a workload is done in one sample, where the others do not say, by whether the run is quick."""

MEMORY_PAGES = {False: 100, True: 10}
