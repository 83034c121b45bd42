"""Stream routing under the name of the tools: `StreamRouter` and `StreamChange`, as ``tablekit`` has them."""

from __future__ import annotations

from tablekit.api.streams import StreamChange, StreamRouter

__all__ = ["StreamChange", "StreamRouter"]
