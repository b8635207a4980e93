"""The pages of memories: by scope, one with its evidence and history, changes by hand, search."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from itertools import groupby
from typing import TYPE_CHECKING, Any

from memory_pipeline.errors import UsageError
from memory_pipeline.phase2.wording import condition_from, statement_from
from memory_pipeline.records import EntryKind, JournalAction, JournalRecord, Memory, MemoryStatus, Phase2Outcome
from memory_pipeline.rollouts.journal import record_id_of
from memory_pipeline.web import memory_calls
from memory_pipeline.web.answers import HttpFault, not_found
from memory_pipeline.web.pages.page import Asked, Elsewhere, Page, Shown, fitting, given

if TYPE_CHECKING:
    from memory_pipeline.app import App

LISTING = "/page/memories"
_MEMORY = f"{LISTING}/{{memory_id}}"
_PER_PAGE = 50
#: What may be chosen to see: the status, or all of them.
_STATUSES = (*(status.value for status in MemoryStatus), "all")
_PLAIN = {
    "pin": JournalAction.PIN,
    "unpin": JournalAction.UNPIN,
    "retire": JournalAction.RETIRE,
    "restore": JournalAction.RESTORE,
}
_TOLD = {
    "pin": "Pinned: neither age nor a curator takes it out.",
    "unpin": "The pin is taken away.",
    "retire": "Retired: it is no longer told, and does not come back by itself.",
    "restore": "Told again.",
    "edit": "Worded anew.",
    "locked": "Written down. Another run holds the memories; it, or the next one, takes this in.",
    "waits": "Written down. It could not be taken in now; the next run does it.",
}


def show_memories(app: App, asked: Asked) -> Shown | Elsewhere:
    """List memories by scope."""
    chosen = asked.query.get("status", "active")
    status = chosen if chosen in _STATUSES else "active"
    asked_for = given(asked.query, "scope", "kind", "offset")
    if status != "all":
        asked_for["status"] = status
    query = fitting({**asked_for, "limit": str(_PER_PAGE)}, memory_calls.MemoriesQuery)
    found = memory_calls.list_memories(app, asked.call(query=query))
    groups = [(scope, list(group)) for scope, group in groupby(found.memories, key=lambda one: one.scope)]
    return Shown(
        template="memories",
        values={
            "groups": groups,
            "total": found.total,
            "offset": query.offset,
            "per_page": _PER_PAGE,
            "scopes": app.store.memories.scopes(),
            "kinds": [kind.value for kind in EntryKind],
            "statuses": _STATUSES,
            "chosen": {"scope": query.scope or "", "kind": query.kind or "", "status": status},
        },
    )


def show_memory(app: App, asked: Asked) -> Shown | Elsewhere:
    """Show one memory, what it rests on, and how it came to be."""
    return _shown(app, asked, told=_TOLD.get(asked.query.get("told", "")))


def change_memory(app: App, asked: Asked) -> Shown | Elsewhere:
    """Pin, unpin, retire or restore one memory."""
    what = asked.form.get("what", "")
    if what not in _PLAIN:
        raise HttpFault(HTTPStatus.UNPROCESSABLE_ENTITY, "unfit", "this form asks for nothing that can be done here")
    return _changed(app, asked, what, lambda memory: _record(app, _PLAIN[what], memory, _said(memory)))


def edit_memory(app: App, asked: Asked) -> Shown | Elsewhere:
    """Word one memory anew; what can't be a memory is shown again as it was typed, with the reason."""
    typed = {name: asked.form.get(name, "") for name in ("statement", "condition")}

    def changed(memory: Memory) -> JournalRecord:
        said = {
            "statement": statement_from(typed["statement"]),
            "condition": condition_from(typed["condition"]),
        }
        was = {"was": memory.statement, "was_condition": memory.condition}
        return _record(app, JournalAction.EDIT, memory, {**said, **was})

    try:
        return _changed(app, asked, "edit", changed)
    except UsageError as error:
        return _shown(app, asked, typed=typed, fault=str(error))


def search_memories(app: App, asked: Asked) -> Shown | Elsewhere:
    """Search; an empty query finds nothing."""
    asked_for = given(asked.query, "q", "scope", "kind")
    found = None
    if "q" in asked_for:
        query = fitting({**asked_for, "all": "all" in asked.query, "limit": "30"}, memory_calls.SearchQuery)
        found = memory_calls.search_memories(app, asked.call(query=query)).found
    return Shown(
        template="search",
        values={
            "q": asked_for.get("q", ""),
            "found": found,
            "scopes": app.store.memories.scopes(),
            "chosen": {"scope": asked_for.get("scope", ""), "all": "all" in asked.query},
        },
    )


def _shown(app: App, asked: Asked, *, told: str | None = None, typed: Any = None, fault: str | None = None) -> Shown:
    details = memory_calls.show_memory(app, asked.call())
    memory = details.memory
    return Shown(
        template="memory",
        values={
            "details": details,
            "memory": memory,
            "told": told,
            "typed": typed or {"statement": memory.statement, "condition": memory.condition},
            "fault": fault,
        },
        status=HTTPStatus.OK if fault is None else HTTPStatus.UNPROCESSABLE_ENTITY,
    )


def _changed(app: App, asked: Asked, what: str, record: Callable[[Memory], JournalRecord]) -> Elsewhere:
    """Write down what the person does to a memory, take it in, and go back to it."""
    memory = app.store.memories.get(asked.path["memory_id"])
    if memory is None:
        raise not_found("there is no memory of this id")
    outcome = app.take_in_hand([record(memory)]).outcome
    told = what if outcome in (Phase2Outcome.CONSOLIDATED, Phase2Outcome.NO_CHANGES) else "waits"
    if outcome is Phase2Outcome.LOCKED:
        told = "locked"
    return Elsewhere(path=f"{LISTING}/{memory.memory_id}", query={"told": told})


def _record(app: App, action: JournalAction, memory: Memory, said: dict[str, str]) -> JournalRecord:
    """Return what the journal says of a deed.

    Raises:
        UsageError: it holds words that were forgotten.
    """
    if app.forgets_words(said["statement"], said["condition"]):
        raise UsageError("this holds words that you had forgotten for good, so they are not taken in again")
    now = app.clock.now()
    fields: dict[str, Any] = {
        "memory_id": memory.memory_id,
        "kind": memory.kind,
        "scope": memory.scope,
        **said,
    }
    return JournalRecord(
        record_id=record_id_of("page", action, now, *fields.values()), action=action, at=now, origin="page", **fields
    )


def _said(memory: Memory) -> dict[str, str]:
    return {"statement": memory.statement, "condition": memory.condition}


PAGES = (
    Page(name="pageMemories", path=LISTING, answer=show_memories),
    Page(name="pageMemory", path=_MEMORY, answer=show_memory, back=LISTING),
    Page(
        name="pageChange",
        path=f"{_MEMORY}/change",
        method="POST",
        answer=change_memory,
        back=_MEMORY,
    ),
    Page(
        name="pageEdit",
        path=f"{_MEMORY}/edit",
        method="POST",
        answer=edit_memory,
        back=_MEMORY,
    ),
    Page(name="pageSearch", path="/page/search", answer=search_memories, back="/page/search"),
)
