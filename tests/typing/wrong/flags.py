"""Wrong uses of singletons: each marked line is an error in the checkers that the mark names."""

from __future__ import annotations

from tablekit import Field, Singleton, Table, field, version

app = Table("t")


class AppFlags(Singleton, table=app, pk="SETTINGS#APP", sk="FLAGS#V1"):
    """A class to misuse."""

    signup: Field[bool] = field(default=False)
    limit: Field[int] = field(default=0)

    schema_version = version()


def change(flags: AppFlags) -> None:
    """A change of what is not there, and of what is kept."""
    flags.limits = 3  # E: attr-defined | reportAttributeAccessIssue
    flags.schema_version = 3  # E: assignment | reportAttributeAccessIssue


AppFlags(sign_up=True)  # E: call-arg | reportCallIssue
AppFlags.signup.set(3)  # E: arg-type | reportArgumentType
AppFlags.query()  # E: attr-defined | reportAttributeAccessIssue
AppFlags.key()  # E: attr-defined | reportAttributeAccessIssue
AppFlags.edit(lambda flags: flags.limit)  # E: arg-type,return-value | reportArgumentType


async def wait() -> None:
    """A forgotten await."""
    AppFlags.aio.get()  # E: unused-coroutine | reportUnusedCoroutine
