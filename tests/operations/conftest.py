"""The scripted DynamoDB and the request recorder, for the tests of operations."""

from __future__ import annotations

from tests.support.stub import quick_retries, stub
from tests.support.validation import recorder

__all__ = ["quick_retries", "recorder", "stub"]
