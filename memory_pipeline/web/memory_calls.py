"""The calls about memories: list, show, search."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import UNSET, UnsetType

from memory_pipeline.records import EntryKind, Memory, MemoryStatus
from memory_pipeline.web import documents
from memory_pipeline.web.answers import not_found
from memory_pipeline.web.endpoints import Call, Endpoint

if TYPE_CHECKING:
    from memory_pipeline.app import App

Scope = Annotated[str, msgspec.Meta(min_length=1, max_length=1_000, description="user, or project:KEY")]
Limit = Annotated[int, msgspec.Meta(ge=1, le=1_000)]
Offset = Annotated[int, msgspec.Meta(ge=0, le=1_000_000_000)]


class MemoriesQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which memories to list."""

    scope: Scope | UnsetType = UNSET
    kind: EntryKind | UnsetType = UNSET
    status: MemoryStatus | UnsetType = UNSET
    limit: Limit = 200
    offset: Offset = 0


class SearchQuery(msgspec.Struct, frozen=True, kw_only=True):
    """What to search for; any text is a query."""

    q: Annotated[str, msgspec.Meta(min_length=1, max_length=4_000)]
    scope: Scope | UnsetType = UNSET
    kind: EntryKind | UnsetType = UNSET
    all: bool = False
    limit: Limit = 10


def list_memories(app: App, call: Call) -> documents.MemoryList:
    """List the memories by scope, also those superseded or retired."""
    query: MemoriesQuery = call.query
    found = [memory for memory in app.store.memories.every() if _fits(memory, query)]
    part = found[query.offset : query.offset + query.limit]
    return documents.MemoryList(memories=[documents.memory_document(one) for one in part], total=len(found))


def show_memory(app: App, call: Call) -> documents.MemoryDetails:
    """Show one memory with its history and its evidence, read back from the logs."""
    name = call.path["memory_id"]
    explanation = app.why(name) if app.store.memories.get(name) is not None else None
    if explanation is None or not explanation.memories:
        raise not_found("there is no memory of this id")
    return documents.memory_details(explanation.memories[0])


def search_memories(app: App, call: Call) -> documents.FoundList:
    """Search the memories."""
    from memory_pipeline.recall.search import search

    query: SearchQuery = call.query
    found = search(
        app.store,
        query.q,
        now=app.clock.now(),
        limit=query.limit,
        scopes=[query.scope] if query.scope else None,
        kinds=[query.kind] if query.kind else None,
        statuses=list(MemoryStatus) if query.all else [MemoryStatus.ACTIVE],
    )
    return documents.found_list(found)


def _fits(memory: Memory, query: MemoriesQuery) -> bool:
    asked = ((memory.scope, query.scope), (memory.kind, query.kind), (memory.status_now, query.status))
    return all(wanted is UNSET or value == wanted for value, wanted in asked)


ENDPOINTS = (
    Endpoint(
        name="listMemories",
        method="GET",
        path="/memories",
        summary="List memories by scope, those superseded or retired included.",
        query=MemoriesQuery,
        answer=documents.MemoryList,
        run=list_memories,
    ),
    Endpoint(
        name="showMemory",
        method="GET",
        path="/memories/{memory_id}",
        summary="Show one memory with its history and its evidence, read back from the logs.",
        answer=documents.MemoryDetails,
        faults={404: "There is no memory of this id."},
        run=show_memory,
    ),
    Endpoint(
        name="search",
        method="GET",
        path="/search",
        summary="Search the memories: words, parts of identifiers, paths and flags as typed, Chinese.",
        query=SearchQuery,
        answer=documents.FoundList,
        run=search_memories,
    ),
)
