"""All calls of the interface."""

from __future__ import annotations

from collections.abc import Sequence

from memory_pipeline.web import draft_calls, forget_calls, memory_calls, run_calls, task_calls
from memory_pipeline.web.endpoints import Endpoint

ENDPOINTS: Sequence[Endpoint] = (
    *task_calls.ENDPOINTS,
    *run_calls.ENDPOINTS,
    *memory_calls.ENDPOINTS,
    *draft_calls.ENDPOINTS,
    *forget_calls.ENDPOINTS,
)
