"""All calls of the interface."""

from __future__ import annotations

from collections.abc import Sequence

from memory_pipeline.web import memory_calls
from memory_pipeline.web.endpoints import Endpoint

ENDPOINTS: Sequence[Endpoint] = (*memory_calls.ENDPOINTS,)
