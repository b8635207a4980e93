"""The call that runs a pass."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from memory_pipeline.pipeline import PassOptions
from memory_pipeline.web import documents
from memory_pipeline.web.endpoints import Call, Endpoint

if TYPE_CHECKING:
    from memory_pipeline.app import App


class RunBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How to run."""

    force: bool = False  # pass over idle time, duration and length; never over switches, external context and quota


def run(app: App, call: Call) -> documents.RunDocument:
    """Run both phases once."""
    body: RunBody = call.body
    return documents.run_document(app.run_once(PassOptions(force=body.force)))


ENDPOINTS = (
    Endpoint(
        name="runAutoMemory",
        method="POST",
        path="/users/me/auto-memory/run",
        summary="Run both phases once, and say what they did. One at a time.",
        body=RunBody,
        answer=documents.RunDocument,
        faults={409: "A run of yours is in progress."},
        is_run=True,
        run=run,
    ),
)
