"""The tools of a model as curator: it reads memories, and proposes operations that are checked one by one."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from memory_pipeline.entries import is_persons_word
from memory_pipeline.errors import CapReachedError
from memory_pipeline.llm.port import Tool, ToolCall, ToolResult
from memory_pipeline.llm.quoted import quote
from memory_pipeline.phase2.curators.material import Sight, as_line, can_meet
from memory_pipeline.phase2.operations import MemoryBook, memory_id_of
from memory_pipeline.phase2.placing import Shelves, settle
from memory_pipeline.records import Actor, Entry, Memory, Operation, OperationKind

#: More calls than this in one conversation are those of a model that has lost its way.
MOST_CALLS = 500
MOST_FLAGS = 20
#: What one answer of a reading tool may have.
MOST_CHARS_READ = 16_000

_MOST_LISTED = 100
_MOST_GROUPED = 8
_TEXT = {"type": "string"}
#: Why a memory may be retired, and what is then kept as the reason: our words, since a model's may repeat a session.
_RETIRE_REASONS = {"outdated": "a model found it outdated", "no_use": "a model found it of no use"}

TOOLS: Sequence[Tool] = (
    Tool(
        name="list_memories",
        description="List the memories of one scope, by when they were first seen.",
        parameters={"scope": _TEXT},
    ),
    Tool(
        name="read_memory",
        description="Read one memory with the entries and quotes that it rests on.",
        parameters={"memory_id": _TEXT},
    ),
    Tool(
        name="read_thread",
        description="Read what was kept of one session: its summary and its raw memory.",
        parameters={"thread_id": _TEXT},
    ),
    Tool(
        name="search_memories",
        description="Find memories of any scope that hold a text, or are like it.",
        parameters={"text": _TEXT},
    ),
    Tool(
        name="add",
        description="Make a memory that says what a new entry says, in its words. Returns the memory's id.",
        parameters={"entry_id": _TEXT},
    ),
    Tool(
        name="merge",
        description="Let a new entry confirm a memory that says the same; the memory's wording stays.",
        parameters={"memory_id": _TEXT, "entry_id": _TEXT},
    ),
    Tool(
        name="reword",
        description="Word a memory anew, in words of its own entries. With entry_id, a new entry joins it; without, "
        "an empty string. The condition is the empty string if it always holds.",
        parameters={"memory_id": _TEXT, "entry_id": _TEXT, "statement": _TEXT, "condition": _TEXT},
    ),
    Tool(
        name="supersede",
        description="Let what the person said later take the place of a memory that it contradicts.",
        parameters={"memory_id": _TEXT, "by_memory_id": _TEXT},
    ),
    Tool(
        name="retire",
        description="No longer tell a memory, because of a new entry about the same thing.",
        parameters={
            "memory_id": _TEXT,
            "entry_id": _TEXT,
            "reason": {"type": "string", "enum": list(_RETIRE_REASONS)},
        },
    ),
    Tool(
        name="group",
        description="Tell memories of one scope next to one another, because they belong to one task or topic.",
        parameters={"memory_ids": {"type": "array", "items": _TEXT}},
    ),
    Tool(
        name="flag_contradiction",
        description="Note for the person that a memory and a new entry, or another memory, can't both hold.",
        parameters={"memory_id": _TEXT, "other_id": _TEXT},
    ),
    Tool(name="finish", description="End the work.", parameters={}),
)


class _Wrong(Exception):  # noqa: N818 - not an error of the program: a proposal that is answered with its reason
    """A call that can't be carried out."""

    def __init__(self, *, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Desk:
    """Carries out the calls of one conversation on a book. Nothing is stored, and nothing else can be reached."""

    def __init__(self, book: MemoryBook, entries: Sequence[Entry], shelves: Shelves, sight: Sight) -> None:
        """Take the book to work on, and the new entries that were shown."""
        self._book = book
        self._entries = {entry.entry_id: entry for entry in entries}
        self._shelves = shelves
        self._sight = sight
        self._calls = 0
        self.accepted = 0
        self.refused = 0
        self.has_finished = False
        self.set_aside: set[str] = set()
        self.flags: list[tuple[str, Memory | Entry]] = []
        self._tools: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
            "list_memories": self._list_memories,
            "read_memory": self._read_memory,
            "read_thread": self._read_thread,
            "search_memories": self._search_memories,
            "add": self._add,
            "merge": self._merge,
            "reword": self._reword,
            "supersede": self._supersede,
            "retire": self._retire,
            "group": self._group,
            "flag_contradiction": self._flag_contradiction,
            "finish": self._finish,
        }

    def carry_out(self, calls: Sequence[ToolCall]) -> list[ToolResult]:
        """Carry out the calls of one turn in order; each has a result, if only the reason of its refusal.

        Raises:
            CapReachedError: there were more than MOST_CALLS by now; those of this turn are not carried out.
        """
        self._calls += len(calls)
        if self._calls > MOST_CALLS:
            raise CapReachedError(f"the model made more than {MOST_CALLS} tool calls")
        return [ToolResult(call_id=call.call_id, text=self._carry_out(call)) for call in calls]

    def _carry_out(self, call: ToolCall) -> str:
        tool = next((tool for tool in TOOLS if tool.name == call.name), None)
        if tool is None:
            return _refusal(f"there is no such tool; there are {', '.join(self._tools)}")
        try:
            return self._tools[tool.name](_arguments(tool, call.arguments))
        except _Wrong as wrong:
            self.refused += 1
            return _refusal(wrong.reason)

    # --- reading ---

    def _list_memories(self, given: Mapping[str, Any]) -> str:
        return self._listed(self._sight.memories(given["scope"]))

    def _search_memories(self, given: Mapping[str, Any]) -> str:
        return self._listed(self._sight.search(given["text"]))

    def _listed(self, memories: Sequence[Memory]) -> str:
        lines: list[str] = []
        room = MOST_CHARS_READ
        for memory in memories[:_MOST_LISTED]:
            line = as_line(self._sight.memory_document(memory))
            room -= len(line)
            if room < 0:
                break
            lines.append(line)
        more = len(memories) - len(lines)
        told = f"{len(lines)} memories{f', and {more} more that are not shown' if more else ''}"
        quoted = quote("\n".join(lines), name="memories")
        return f"{told}\n{quoted}"

    def _read_memory(self, given: Mapping[str, Any]) -> str:
        return _quoted(self._sight.whole_memory(self._memory(given["memory_id"])), name="memory")

    def _read_thread(self, given: Mapping[str, Any]) -> str:
        item = self._sight.thread(given["thread_id"])
        if item is None:
            raise _Wrong(reason="there is no such thread")
        extraction = item.extraction
        document = {
            "thread": item.thread.thread_id,
            "scope": item.thread.scope,
            "rollout_summary": extraction.rollout_summary[: MOST_CHARS_READ // 2],
            "raw_memory": extraction.raw_memory[: MOST_CHARS_READ // 2],
        }
        return _quoted(document, name="thread")

    # --- operations ---

    def _add(self, given: Mapping[str, Any]) -> str:
        entry = self._entry(given["entry_id"])
        return self._apply(OperationKind.ADD, memory_id_of(entry), "new", entry_id=entry.entry_id)

    def _merge(self, given: Mapping[str, Any]) -> str:
        memory, entry = self._memory(given["memory_id"]), self._entry(given["entry_id"])
        reason = "a model found that it says the same"
        return self._apply(OperationKind.MERGE, memory.memory_id, reason, entry_id=entry.entry_id)

    def _reword(self, given: Mapping[str, Any]) -> str:
        memory = self._memory(given["memory_id"])
        if given["entry_id"] and given["entry_id"] not in memory.entry_ids:
            entry_id = self._entry(given["entry_id"]).entry_id
        else:
            entry_id = given["entry_id"] or memory.entry_ids[0]
        return self._apply(
            OperationKind.REWORD,
            memory.memory_id,
            "a model worded it anew",
            entry_id=entry_id,
            statement=given["statement"].strip(),
            condition=given["condition"].strip(),
        )

    def _supersede(self, given: Mapping[str, Any]) -> str:
        memory, other = self._memory(given["memory_id"]), self._memory(given["by_memory_id"])
        reason = "the person said otherwise later, as a model found"
        return self._apply(OperationKind.SUPERSEDE, memory.memory_id, reason, other_memory_id=other.memory_id)

    def _retire(self, given: Mapping[str, Any]) -> str:
        memory, entry = self._memory(given["memory_id"]), self._entry(given["entry_id"])
        reason = _RETIRE_REASONS.get(given["reason"])
        if reason is None:
            raise _Wrong(reason=f"the reason must be one of {', '.join(_RETIRE_REASONS)}")
        return self._apply(OperationKind.RETIRE, memory.memory_id, reason, entry_id=entry.entry_id)

    def _group(self, given: Mapping[str, Any]) -> str:
        members = [self._memory(memory_id) for memory_id in dict.fromkeys(given["memory_ids"])]
        if not 2 <= len(members) <= _MOST_GROUPED:
            raise _Wrong(reason=f"a group has two to {_MOST_GROUPED} memories")
        if len({memory.scope for memory in members}) > 1:
            raise _Wrong(reason="mixes scopes")
        first = min(members, key=lambda memory: (memory.first_seen, memory.memory_id))
        apart = [memory for memory in members if memory.group != first.memory_id]
        if not apart:
            raise _Wrong(reason="they stand in one group already")
        reason = "a model found that they belong together"
        for memory in apart:
            answer = self._apply(OperationKind.GROUP, memory.memory_id, reason, other_memory_id=first.memory_id)
        return answer

    def _flag_contradiction(self, given: Mapping[str, Any]) -> str:
        memory = self._memory(given["memory_id"])
        entry = self._entries.get(given["other_id"])
        other = self._entry(given["other_id"]) if entry is not None else self._memory(given["other_id"])
        if other == memory or not can_meet(memory, other):
            raise _Wrong(reason="they have no word in common, or hold in different scopes")
        if len(self.flags) >= MOST_FLAGS:
            raise _Wrong(reason=f"no more than {MOST_FLAGS} contradictions can be noted at once")
        self.flags.append((memory.memory_id, other))
        if entry is not None and not is_persons_word(entry):
            # What the person said is never kept back; what a tool or an agent said waits for them.
            self.set_aside.add(entry.entry_id)
        return as_line({"noted": "a person will look at it"})

    def _finish(self, _given: Mapping[str, Any]) -> str:
        self.has_finished = True
        return as_line({"finished": True})

    def _apply(self, kind: OperationKind, memory_id: str, reason: str, **fields: str) -> str:
        operation = Operation(kind=kind, memory_id=memory_id, reason=reason, actor=Actor.MODEL, **fields)
        refusal = self._book.apply(operation)
        if refusal is not None:
            raise _Wrong(reason=refusal)
        self.accepted += 1
        self._shelves.put(self._book.memories[memory_id])
        # Whatever a model does, the newest of a person's contradicting statements stands.
        settle(self._book, memory_id, self._shelves)
        return as_line({"applied": kind.value, "memory": memory_id})

    def _memory(self, memory_id: str) -> Memory:
        memory = self._sight.memory(memory_id)
        if memory is None:
            raise _Wrong(reason="there is no such memory, or it is no longer told")
        return memory

    def _entry(self, entry_id: str) -> Entry:
        entry = self._entries.get(entry_id)
        if entry is None or entry_id in self.set_aside:
            raise _Wrong(reason="that is no new entry")
        return entry


def _arguments(tool: Tool, written: str) -> Mapping[str, Any]:
    try:
        given = json.loads(written or "{}")
    except (ValueError, RecursionError):
        raise _Wrong(reason="the arguments are not valid JSON") from None
    wanted = ", ".join(tool.parameters) or "nothing"
    if not isinstance(given, dict):
        raise _Wrong(reason=f"the arguments must be an object with {wanted}")
    for name, schema in tool.parameters.items():
        value = given.get(name)
        fits = isinstance(value, str)
        if schema["type"] == "array":
            fits = isinstance(value, list) and all(isinstance(item, str) for item in value)
        if not fits:
            kind = "a list of strings" if schema["type"] == "array" else "a string"
            raise _Wrong(reason=f"{name} must be {kind}; the arguments are {wanted}")
    return given


def _quoted(document: Mapping[str, Any], *, name: str) -> str:
    return str(quote(as_line(document), name=name))


def _refusal(reason: str) -> str:
    return as_line({"refused": reason})
