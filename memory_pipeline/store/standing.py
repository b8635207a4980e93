"""In SQL: what counts of what was said, and what a memory is worth that rests on it.

By itself, since a new task waits for it: see kinds. The conditions hold for rows ``t`` of the threads, ``e`` of the
entries and ``m`` of the memories.
"""

from __future__ import annotations

from memory_pipeline.kinds import WITHDRAWING_GATES, MemoryStatus

#: Whether a gate withdraws what a thread said, as IndexedThread.is_withdrawn tells it of one; never null.
WITHDRAWN = (
    f"coalesce(t.gate IN ({', '.join(map(repr, sorted(map(str, WITHDRAWING_GATES))))}) AND t.keeps_words = 0, 0)"
)

#: An entry that is said: its thread still says it, and no gate withdraws what the thread said.
SAID = f"e.withdrawn_at IS NULL AND NOT {WITHDRAWN}"

#: An entry that stands: it is said, and the review did not hold it back, put it off or reject it.
STANDING = f"""
    {SAID}
    AND NOT EXISTS (SELECT 1 FROM drafts AS d WHERE d.entry_id = e.entry_id AND d.review_status <> 'approved')
"""

#: The status of a memory by what stands now: one that rests on nothing any more is retired, though only the next
#: consolidation writes that down. What a person switched off, or rejected, is not told until then. The way to
#: find it out is fixed: by what SQLite noted while there were few memories, it would scan tables for each of many.
STATUS_NOW = f"""
    iif(
        EXISTS (
            SELECT 1 FROM memory_entries AS r INDEXED BY sqlite_autoindex_memory_entries_1
            CROSS JOIN entries AS e INDEXED BY sqlite_autoindex_entries_1 ON e.entry_id = r.entry_id
            CROSS JOIN threads AS t INDEXED BY sqlite_autoindex_threads_1 ON t.thread_id = e.thread_id
            WHERE r.memory_id = m.memory_id AND {STANDING}
        ),
        m.status, '{MemoryStatus.RETIRED}'
    )
"""

#: A memory that may be told as current. The first condition is for the index by status.
TOLD = f"m.status = '{MemoryStatus.ACTIVE}' AND {STATUS_NOW} = '{MemoryStatus.ACTIVE}'"
