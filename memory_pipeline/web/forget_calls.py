"""The call that forgets: first what would go, then for good."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec

from memory_pipeline.errors import UsageError
from memory_pipeline.web import documents
from memory_pipeline.web.answers import not_found
from memory_pipeline.web.endpoints import Call, Endpoint, Id
from memory_pipeline.web.memory_calls import Scope

if TYPE_CHECKING:
    from memory_pipeline.app import App
    from memory_pipeline.forget.selection import Selector


class ForgetBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to forget: exactly one of thread, entry, memory, scope and match."""

    thread: Id | None = None
    entry: Id | None = None
    memory: Id | None = None
    scope: Scope | None = None
    match: Annotated[str, msgspec.Meta(min_length=1, max_length=1_000)] | None = None
    dry_run: bool = True  # say what would go, and change nothing


def forget(app: App, call: Call) -> documents.ForgetAnswer:
    """Delete words from everywhere they are kept, for good; or say what would go."""
    body: ForgetBody = call.body
    selector = _selector(app, body)
    forgetting = app.forgetting()
    plan = forgetting.plan(selector)
    return documents.forget_answer(plan, None if body.dry_run else forgetting.forget(selector))


def _selector(app: App, body: ForgetBody) -> Selector:
    from memory_pipeline.forget.selection import Selector, check_match

    named = (body.thread, body.entry, body.memory, body.scope, body.match)
    if sum(value is not None for value in named) != 1:
        raise UsageError("name one of thread, entry, memory, scope and match")
    kept = app.store.forgetting.kept()
    if body.match is not None:
        check_match(body.match)
    groups = (kept.entries, kept.memories, kept.threads)
    is_known = (
        body.thread is None or body.thread in kept.threads,
        body.entry is None or body.entry in kept.entries,
        body.memory is None or body.memory in kept.memories,
        body.scope is None or any(one.scope == body.scope for group in groups for one in group.values()),
    )
    if not all(is_known):
        raise not_found("there is nothing of this name")
    return Selector(thread=body.thread, entry=body.entry, memory=body.memory, scope=body.scope, match=body.match)


ENDPOINTS = (
    Endpoint(
        name="forget",
        method="POST",
        path="/forget",
        summary="Forget for good, with a receipt; by default only say what would go.",
        body=ForgetBody,
        answer=documents.ForgetAnswer,
        faults={404: "There is nothing of this name.", 409: "Another run holds the memories; nothing was forgotten."},
        run=forget,
    ),
)
