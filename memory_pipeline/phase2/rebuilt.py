"""What MEMORY.md tells and the database does not know any more: a damaged or deleted one was made anew.

The logs give most of it back, but not what their agents have deleted meanwhile. So what was published last is written
into the journal, as what it is: words of ours that once rested on a session. Sessions that say the same join it.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping

from memory_pipeline.phase2.baseline import Baseline
from memory_pipeline.phase2.edits import SECTIONS, told_by
from memory_pipeline.phase2.layout import MEMORY_FILE
from memory_pipeline.phase2.person import lines_of
from memory_pipeline.phase2.places import Places
from memory_pipeline.phase2.render import Saying
from memory_pipeline.records import EntryKind, JournalAction, JournalRecord, Memory, MemoryStatus, Speaker, Usage
from memory_pipeline.rollouts.journal import record_id_of
from memory_pipeline.store.memories import LastConsolidation

#: Where such a record of the journal comes from. It supports a memory only as long as nothing else is known of it.
REBUILT_ORIGIN = f"{MEMORY_FILE} as it was published"

_NEEDS_PERSON = frozenset({EntryKind.PREFERENCE, EntryKind.DECISION, EntryKind.PROCEDURE})


def is_made_anew(baseline: Baseline, last: LastConsolidation | None) -> bool:
    """Whether the database was made anew, or is of an older time, since ``baseline`` was published."""
    return baseline.exists and (last is None or last.consolidation_id < baseline.consolidation_id)


def published_at(places: Places) -> float:
    """Return when the baseline was written; what was said since may contradict it, and is newer."""
    try:
        return os.stat(places.baseline / "manifest.json").st_mtime  # noqa: PTH116 - read once, of one file
    except OSError:
        return 0.0


def told_memories(baseline: Baseline, known: Collection[str], *, at: float) -> dict[str, Memory]:
    """Return the memories that the published MEMORY.md tells and that are not ``known``, as far as its lines tell."""
    found: dict[str, Memory] = {}
    lines = lines_of(baseline.rendered)
    if not len(lines) == len(baseline.line_memories) == len(baseline.line_scopes):
        return found
    sayings = baseline.line_sayings if len(baseline.line_sayings) == len(lines) else [None] * len(lines)
    section: EntryKind | None = None
    for number, raw in enumerate(lines):
        line = raw.decode("utf-8", "replace").rstrip("\n")
        if line.startswith("#"):
            section = SECTIONS.get(line)
        memory_id, scope = baseline.line_memories[number], baseline.line_scopes[number]
        if memory_id is None or scope is None or memory_id in known or memory_id in found:
            continue
        saying = sayings[number] or _saying_in(line, section, at)
        if saying is not None:
            found[memory_id] = _memory(memory_id, scope, saying)
    return found


def records_of_rebuilt(memories: Mapping[str, Memory]) -> list[JournalRecord]:
    """Write what is told and not known as records of the journal; the same lines give the same records."""
    return [
        JournalRecord(
            record_id=record_id_of("rebuilt", memory.scope, memory.kind, memory.condition, memory.statement),
            action=JournalAction.ADD,
            at=memory.last_confirmed,
            origin=REBUILT_ORIGIN,
            kind=memory.kind,
            scope=memory.scope,
            condition=memory.condition,
            statement=memory.statement,
            speaker=Speaker.USER if memory.kind in _NEEDS_PERSON else Speaker.TOOL,
        )
        for memory in memories.values()
    ]


def _saying_in(line: str, section: EntryKind | None, at: float) -> Saying | None:
    """Read a line of a baseline that an earlier version wrote: as much as it tells."""
    told = told_by(line)
    if told is None or section is None:
        return None
    kind = told.kind if told.kind and section is EntryKind.PREFERENCE else section
    return Saying(kind=kind, condition=told.condition, statement=told.statement, at=at)


def _memory(memory_id: str, scope: str, saying: Saying) -> Memory:
    return Memory(
        memory_id=memory_id,
        kind=saying.kind,
        scope=scope,
        condition=saying.condition,
        statement=saying.statement,
        status=MemoryStatus.ACTIVE,
        pinned=False,
        first_seen=saying.at,
        last_confirmed=saying.at,
        learned_at=saying.at,
        superseded_by=None,
        reason="",
        entry_ids=(),
        thread_ids=(),
        supersedes=(),
        usage=Usage(),
    )
