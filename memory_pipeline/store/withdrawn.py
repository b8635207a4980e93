"""In SQL: whether a gate withdraws what a thread said, as IndexedThread.is_withdrawn tells it of one."""

from __future__ import annotations

from memory_pipeline.records import WITHDRAWING_GATES

#: A condition on a row ``t`` of the threads; never null.
WITHDRAWN = (
    f"coalesce(t.gate IN ({', '.join(map(repr, sorted(map(str, WITHDRAWING_GATES))))}) AND t.keeps_words = 0, 0)"
)
