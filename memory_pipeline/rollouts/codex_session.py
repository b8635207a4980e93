"""What a Codex session says about itself: how it ran, and its rate limits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from memory_pipeline.clock import DAY_SECONDS
from memory_pipeline.records import RateLimit, Source
from memory_pipeline.rollouts.grammar import Record, table, text_or_none
from memory_pipeline.rollouts.times import to_seconds

#: Longer than any quota lasts: the longest known is a month's. A reset beyond it would hold paid work for years.
_LONGEST_WINDOW_SECONDS = 40 * DAY_SECONDS
_MOST_BELIEVED = 1e9
_OWN_SOURCES = frozenset({"memory_consolidation"})
_SUBAGENT_SOURCES = frozenset({"subagent", "guardian_review", "review", "guardian", "thread_spawn"})


def codex_source(meta: Record) -> Source:
    """Tell how a session ran from its meta. Before ``source`` existed only the originator says it."""
    source, thread_source = meta.get("source"), meta.get("thread_source")
    names = [*_names_in(source), *_names_in(thread_source)]
    if any(name in _OWN_SOURCES for name in names):
        return Source.OWN
    if any(name in _SUBAGENT_SOURCES for name in names) or text_or_none(meta.get("parent_thread_id")):
        return Source.SUBAGENT
    if source is None:
        source = {"codex_exec": "exec", "codex_mcp": "mcp", "codex_mcp_server": "mcp"}.get(
            str(meta.get("originator")), "cli"
        )
    if source in ("cli", "vscode"):
        return Source.INTERACTIVE
    return Source.HEADLESS if source in ("exec", "mcp") else Source.OTHER


def parent_of(meta: Record) -> str | None:
    """Name the thread that a fork was made of, by copy or by reference; None when it is no fork."""
    return text_or_none(meta.get("forked_from_id")) or text_or_none(table(meta.get("history_base")).get("thread_id"))


def _names_in(source: Any) -> Sequence[str]:
    if isinstance(source, str):
        return [source]
    if isinstance(source, dict):
        return [name for key, value in source.items() for name in (str(key), *_names_in(value))]
    return []


def rate_limit(window: Record, seen_at: float) -> RateLimit | None:
    """Read one window of a rate-limit snapshot, None when it tells no use; a reset too far off is none."""
    used = _number(window.get("used_percent"))
    if used is None:
        return None
    minutes = _number(window.get("window_minutes"))
    resets_at = to_seconds(window.get("resets_at"))
    after = _number(window.get("resets_in_seconds"))
    if resets_at is None and after is not None:
        resets_at = seen_at + after
    if resets_at is not None and resets_at > seen_at + _LONGEST_WINDOW_SECONDS:
        resets_at = None
    return RateLimit(
        used_percent=used,
        window_minutes=int(minutes) if minutes is not None else None,
        resets_at=resets_at,
        seen_at=seen_at,
    )


def _number(value: Any) -> float | None:
    """Return what can be calculated with: a log may say NaN, which is none, and stands in no database."""
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > _MOST_BELIEVED:
        return None
    return None if math.isnan(value) else float(value)
