"""A process that edits one flag of a shared row again and again; run as a program by the tests.

``python -m tests.patterns.writer ENDPOINT TABLE FIELD TIMES`` prints how often it has written. TIMES 0 is for ever.
"""

from __future__ import annotations

import itertools
import sys

from tablekit import Capabilities, Field, Singleton, Table, field, version

app = Table("counters")


class Switches(Singleton, table=app, pk="SETTINGS#APP", sk="SWITCHES", attempts=1000, writes_per_minute=1_000_000):
    """One number for each of eight writers, and a text that each replaces together with its number."""

    a: Field[int] = field(default=0)
    b: Field[int] = field(default=0)
    c: Field[int] = field(default=0)
    d: Field[int] = field(default=0)
    e: Field[int] = field(default=0)
    f: Field[int] = field(default=0)
    g: Field[int] = field(default=0)
    h: Field[int] = field(default=0)
    seen: Field[dict[str, str]] = field(factory=dict)

    revision = version()


def connect(endpoint: str, table: str, *, old_item: bool = True) -> None:
    """Reach the engine of the tests."""
    app.connect(
        endpoint_url=endpoint,
        name=table,
        region="us-east-1",
        aws_access_key_id="local",
        aws_secret_access_key="local",
        capabilities=Capabilities(old_item=old_item),
    )


def bump(flags: Switches, name: str) -> None:
    """One more in the writer's own field, and the same number in the dict."""
    number = getattr(flags, name) + 1
    setattr(flags, name, number)
    flags.seen[name] = str(number)


def main() -> None:
    """Edit, and say how far it has come."""
    endpoint, table, name, times = sys.argv[1:]
    connect(endpoint, table)
    numbers = range(int(times)) if int(times) else itertools.count()
    for number in numbers:
        Switches.edit(lambda flags: bump(flags, name))
        if not int(times):
            sys.stdout.write(f"{number + 1}\n")
            sys.stdout.flush()
    sys.stdout.write("done\n")


if __name__ == "__main__":
    main()
