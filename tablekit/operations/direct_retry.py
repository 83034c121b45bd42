"""Which attempts are repeated, when, and how often in all: botocore's standard retry mode.

https://docs.aws.amazon.com/sdkref/latest/guide/feature-retry-behavior.html
"""

from __future__ import annotations

import random
import threading
from typing import Any, Final, Protocol

__all__ = ["Quota", "Retries", "is_retryable", "pause", "retry_cost"]

_TRANSIENT_STATUS: Final = frozenset({500, 502, 503, 504})
_THROTTLES: Final = frozenset(
    {
        "BandwidthLimitExceeded",
        "EC2ThrottledException",
        "LimitExceededException",
        "PriorRequestNotComplete",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "RequestThrottled",
        "RequestThrottledException",
        "SlowDown",
        "Throttling",
        "ThrottlingException",
        "ThrottledException",
        "TooManyRequestsException",
        "TransactionInProgressException",
    }
)
_TRANSIENT: Final = frozenset({"ReplicatedWriteConflictException", "RequestTimeout", "RequestTimeoutException"})

# AWS's figures: a throttled client waits a second and more, another failure of DynamoDB's is over sooner.
_THROTTLE_SCALE, _TRANSIENT_SCALE, _LONGEST = 1.0, 0.025, 20.0
_CAPACITY, _COST, _TIMEOUT_COST = 500, 5, 10


def is_retryable(status: int, code: str) -> bool:
    """Whether an error answer is worth another attempt."""
    return status in _TRANSIENT_STATUS or code in _THROTTLES or code in _TRANSIENT


def pause(attempt: int, code: str) -> float:
    """The seconds to wait after a failed attempt, the first being 1: random up to a limit that doubles each time.

    Clients that fail together would else come back together.
    """
    scale = _THROTTLE_SCALE if code in _THROTTLES else _TRANSIENT_SCALE
    # It spreads load, and keeps no secret.
    return random.random() * min(scale * 2.0 ** (attempt - 1), _LONGEST)  # noqa: S311


def retry_cost(*, timeout: bool) -> int:
    """What a retry takes from the quota."""
    return _TIMEOUT_COST if timeout else _COST


class Quota:
    """What retries are paid from: when much fails at once, a client stops adding load by its retries.

    Each retry takes some; a success gives back what its last retry took, or a little.
    """

    def __init__(self) -> None:
        self._left = _CAPACITY
        self._lock = threading.Lock()

    def take(self, cost: int) -> bool:
        """Take the cost of a retry; False when too little is left."""
        with self._lock:
            if cost > self._left:
                return False
            self._left -= cost
            return True

    def give_back(self, amount: int) -> None:
        """Return what a success gives back."""
        if self._left == _CAPACITY:  # as nearly always
            return
        with self._lock:
            self._left = min(_CAPACITY, self._left + amount)


class Failed(Protocol):
    """How an attempt failed."""

    @property
    def retryable(self) -> bool:
        """Whether another attempt is worth it."""
        ...

    @property
    def code(self) -> str:
        """Why it failed."""
        ...

    @property
    def timeout(self) -> bool:
        """Whether it took too long."""
        ...


class Retries:
    """The attempts of one call: whether another one follows, and when. Whoever sends does the waiting.

    Parameters:
        most: how many attempts there are.
    """

    __slots__ = ("_most", "_number", "_taken")

    def __init__(self, most: int) -> None:
        self._most = most
        self._number = 0
        self._taken = 0

    def begin(self) -> str:
        """Count an attempt; gives what its ``amz-sdk-request`` header says."""
        self._number += 1
        return f"attempt={self._number}; max={self._most}"

    def succeeded(self, body: dict[str, Any], quota: Quota) -> dict[str, Any]:
        """The answer, with the number of retries in it as botocore has it."""
        quota.give_back(self._taken or 1)
        body["ResponseMetadata"]["RetryAttempts"] = self._number - 1
        return body

    def pause_after(self, failure: Failed, quota: Quota) -> float | None:
        """The seconds to wait before the next attempt; None when there is none."""
        self._taken = retry_cost(timeout=failure.timeout)
        if not failure.retryable or self._number >= self._most or not quota.take(self._taken):
            return None
        return pause(self._number, failure.code)
