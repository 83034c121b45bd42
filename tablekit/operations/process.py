"""What belongs to one process: after a fork, the child begins with locks and connections of its own."""

from __future__ import annotations

import os
import threading
from typing import Any, ClassVar

__all__ = ["Process", "leave_behind"]


class Process:
    """A process: its identity, and the lock under which its clients are built.

    botocore's session is not safe for building clients from several threads, and two tables may share one.

    Attributes:
        current: the process that runs. What was made in another one, before a fork, is not to be used.
    """

    current: ClassVar[Process]

    def __init__(self) -> None:
        self.lock = threading.Lock()


Process.current = Process()

_left_behind: list[Any] = []


def leave_behind(connections: Any) -> None:
    """Keep a parent's connections alive in a forked child.

    Dropping them would run destructors that take locks, which another thread of the parent may have held at the
    moment of the fork.
    """
    _left_behind.append(connections)


def _after_fork_in_child() -> None:
    # One assignment, and every port builds its client anew under a lock that nobody can be holding.
    Process.current = Process()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_after_fork_in_child)
