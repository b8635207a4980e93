"""All calls of the interface."""

from __future__ import annotations

from collections.abc import Sequence

from memory_pipeline.web import (
    context_calls,
    draft_calls,
    forget_calls,
    memory_calls,
    run_calls,
    settings_calls,
    task_calls,
)
from memory_pipeline.web.endpoints import Endpoint

ENDPOINTS: Sequence[Endpoint] = (
    *settings_calls.ENDPOINTS,
    *task_calls.ENDPOINTS,
    *context_calls.ENDPOINTS,
    *run_calls.ENDPOINTS,
    *memory_calls.ENDPOINTS,
    *draft_calls.ENDPOINTS,
    *forget_calls.ENDPOINTS,
)
