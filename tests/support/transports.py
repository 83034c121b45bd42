"""Which transport the tests send through: ``TABLEKIT_TEST_TRANSPORT=direct`` runs every test over the direct one.

With ``aio`` and ``aio-direct`` the tables of the fixtures send through an awaited transport; see
`tests.support.loop_port`.
"""

from __future__ import annotations

import os
from typing import Literal, cast

from tablekit.operations.direct import DirectPort
from tablekit.operations.transport import Settings, SyncPort

__all__ = ["AWAITED", "TRANSPORT", "TRANSPORTS", "make_port"]

TRANSPORTS: tuple[Literal["pynamodb", "direct"], ...] = ("pynamodb", "direct")
_ASKED = os.environ.get("TABLEKIT_TEST_TRANSPORT", "pynamodb")
AWAITED = _ASKED.startswith("aio")
TRANSPORT = cast("Literal['pynamodb', 'direct']", {"aio": "pynamodb", "aio-direct": "direct"}.get(_ASKED, _ASKED))


def make_port(**settings: object) -> SyncPort:
    """A port of the transport that the settings name, or else of the one that the run is for."""
    made = Settings(**{"transport": TRANSPORT, **settings})  # type: ignore[arg-type]
    return DirectPort(made) if made.transport == "direct" else SyncPort(made)
