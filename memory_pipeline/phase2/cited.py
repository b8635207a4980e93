"""Which memories the cited lines of MEMORY.md told: only where it is certain which text the citing session read."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher

from memory_pipeline.phase2.baseline import Baseline
from memory_pipeline.phase2.person import lines_of
from memory_pipeline.store.citations import CitedLine


def cited_memories(
    lines: Sequence[CitedLine], baseline: Baseline, on_disk: bytes | None, *, published_at: float | None
) -> dict[CitedLine, str]:
    """Return the memory that each cited line tells, where that is certain.

    It is when the session began after the last publication and MEMORY.md is still as it was published then: no other
    text can have had these line numbers for it.
    """
    if published_at is None or not baseline.exists or on_disk != baseline.published:
        return {}
    told = _memories_by_number(baseline)
    return {
        line: told[line.number]
        for line in lines
        if line.session_began_at is not None and line.session_began_at >= published_at and line.number in told
    }


def _memories_by_number(baseline: Baseline) -> dict[int, str]:
    rendered, published = lines_of(baseline.rendered), lines_of(baseline.published)
    if len(rendered) != len(baseline.line_memories):
        return {}
    told: dict[int, str] = {}
    for block in SequenceMatcher(None, rendered, published, autojunk=False).get_matching_blocks():
        for step in range(block.size):
            memory_id = baseline.line_memories[block.a + step]
            if memory_id is not None:
                told[block.b + step + 1] = memory_id
    return told
