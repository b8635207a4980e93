"""What the tools take. Each is told to the agent as a schema, and checked by the same rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

import msgspec

from memory_pipeline.errors import UsageError

MOST_FOUND = 50
_MOST_QUERY_CHARS = 10_000
_MOST_REPORTED = 100

A = TypeVar("A", bound=msgspec.Struct)

_Cwd = Annotated[
    str, msgspec.Meta(description="The folder that you work in, absolute. Its project's memories are told.")
]
_Kind = Literal["preference", "decision", "procedure", "knowledge", "failure"]
_Ids = Annotated[
    list[Annotated[str, msgspec.Meta(min_length=1, max_length=200)]], msgspec.Meta(max_length=_MOST_REPORTED)
]


class SearchMemories(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Search the memories: words, parts of identifiers, paths and flags as typed, Chinese. Any text is a query."""

    query: Annotated[str, msgspec.Meta(min_length=1, max_length=_MOST_QUERY_CHARS)]
    cwd: _Cwd | None = None
    scope: Annotated[
        str, msgspec.Meta(description="here (the project and what holds everywhere), user, project:KEY, or all")
    ] = "here"
    kind: _Kind | None = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=MOST_FOUND)] = 10


class ReadMemory(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Read one memory with the evidence that it rests on, read back from the session logs. Counts as a use of it."""

    memory_id: Annotated[str, msgspec.Meta(min_length=1, max_length=200, description="Its id, or the beginning of it.")]
    cwd: _Cwd | None = None


class MemoryContext(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Get what is worth knowing at the beginning of a task, the most useful first, within a budget."""

    cwd: _Cwd | None = None
    task: Annotated[str, msgspec.Meta(max_length=_MOST_QUERY_CHARS, description="What the task is about.")] = ""
    thread: Annotated[str, msgspec.Meta(max_length=200, description="The id of your session.")] | None = None
    budget_tokens: Annotated[int, msgspec.Meta(ge=50, le=20_000)] = 1_500


class NoteMemory(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Note a fact about the project for later. It becomes a draft, and is remembered only once the person approves."""

    statement: Annotated[str, msgspec.Meta(min_length=1, max_length=2_000, description="One plain sentence.")]
    kind: Literal["knowledge", "failure"] = "knowledge"
    condition: Annotated[str, msgspec.Meta(max_length=500, description="Under which it holds.")] = ""
    cwd: _Cwd | None = None


class ReportMemoryUsage(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Report which memories or sessions helped you, so that they are told first and kept. Once a session each."""

    memory_ids: _Ids = []
    thread_ids: _Ids = []
    cwd: _Cwd | None = None


def schema_of(arguments: type[msgspec.Struct]) -> dict[str, Any]:
    """Return the schema of a tool's arguments, as an agent is told it."""
    _, components = msgspec.json.schema_components([arguments])
    whole: dict[str, Any] = components[arguments.__name__]
    return {name: value for name, value in whole.items() if name not in ("title", "description")}


def read_arguments(tool: str, kind: type[A], given: Mapping[str, Any] | None) -> A:
    """Check what an agent gave; null stands for what was not given.

    Raises:
        UsageError: it does not fit; the message names the argument.
    """
    try:
        present = {name: value for name, value in (given or {}).items() if value is not None}
        return msgspec.convert(present, kind, strict=False)
    except msgspec.ValidationError as error:
        raise UsageError(f"{tool}: {error}") from None
