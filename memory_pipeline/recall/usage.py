"""Uses of memories and threads, written down as they happen: in the journal first, so that a lost database keeps them.

A use is a memory that an agent cited, or that was opened by a search or a tool, and what others report. What was put
into a session, or only listed, was not used.
"""

from __future__ import annotations

from collections.abc import Sequence

from memory_pipeline.records import JournalAction, JournalRecord
from memory_pipeline.rollouts.journal import Journal, record_id_of
from memory_pipeline.store.store import Store


def use_of(
    *, origin: str, distinct: object, at: float, memory_id: str | None = None, thread_id: str | None = None
) -> JournalRecord:
    """Return one use of a memory or a thread. Uses of one thing that are not ``distinct`` are the same use."""
    return JournalRecord(
        record_id=record_id_of("use", origin, distinct, memory_id or "", thread_id or ""),
        action=JournalAction.USE,
        at=at,
        origin=origin,
        memory_id=memory_id,
        thread_id=thread_id,
    )


def record_uses(uses: Sequence[JournalRecord], *, journal: Journal, store: Store, now: float) -> None:
    """Write uses down, and count them. What can't be counted now, the next run counts.

    Raises:
        OSError, LockedError: the journal can't be written; nothing was recorded.
        StoreError: they are written down, and were not counted yet.
    """
    journal.append(uses)
    store.uses.take_in(uses, now=now)
