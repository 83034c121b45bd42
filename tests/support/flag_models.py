"""An app with a singleton, for the commands that list and change flags."""

from __future__ import annotations

import enum

from tablekit import Entity, Field, Singleton, Table, field, version


class Mode(enum.Enum):
    """How the site is run."""

    OPEN = "open"
    CLOSED = "closed"


app = Table("flags-app")


class AppFlags(Singleton, table=app, pk="SETTINGS#APP", sk="FLAGS#V1"):
    """Switches of the whole app."""

    signup_enabled: Field[bool] = field(default=False)
    limit: Field[int] = field(default=10)
    mode: Field[Mode] = field(default=Mode.CLOSED)
    names: Field[set[str]] = field(factory=set)
    token: Field[str] = field(default="none", secret=True)
    schema_version = version()


class Account(Entity, table=app, pk="A#{account_id}", sk="META"):
    """A row with a secret."""

    account_id: Field[str]
    password: Field[str] = field(secret=True)
