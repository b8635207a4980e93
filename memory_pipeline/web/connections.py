"""Connections that say nothing. They are so few that whoever holds them open in silence would shut out everybody."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn import Config
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle
from uvicorn.server import ServerState

#: How long a connection may take to ask something, at the least; it is closed before twice as long, in seconds.
SILENT_SECONDS = 15.0


class Connection(H11Protocol):
    """One connection, closed where no request comes of it. One whose request is being answered stays."""

    silent_seconds = SILENT_SECONDS

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._looked_at: RequestResponseCycle | None = None
        self._next_look: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to look whether anything is asked."""
        super().connection_made(transport)
        self._look_later()

    def connection_lost(self, exc: Exception | None) -> None:
        """Look no more."""
        if self._next_look is not None:
            self._next_look.cancel()
        super().connection_lost(exc)

    def _look_later(self) -> None:
        self._next_look = self.loop.call_later(self.silent_seconds, self._look)

    def _look(self) -> None:
        is_answering = self.cycle is not None and not self.cycle.response_complete
        # Parts of a request count for nothing: they could go on to come, one by one, for ever.
        if not is_answering and self.cycle is self._looked_at:
            self.transport.abort()
            return
        self._looked_at = self.cycle
        self._look_later()
