"""What a Codex session says about itself: how it ran, and its rate limits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memory_pipeline.records import RateLimit, Source
from memory_pipeline.rollouts.grammar import Record, table, text_or_none
from memory_pipeline.rollouts.times import to_seconds

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
    """Read one window of a rate-limit snapshot, None when it tells no use."""
    used = window.get("used_percent")
    if isinstance(used, bool) or not isinstance(used, int | float):
        return None
    minutes = window.get("window_minutes")
    resets_at = to_seconds(window.get("resets_at"))
    after = window.get("resets_in_seconds")
    if resets_at is None and isinstance(after, int | float) and not isinstance(after, bool):
        resets_at = seen_at + after
    return RateLimit(
        used_percent=float(used),
        window_minutes=minutes if isinstance(minutes, int) else None,
        resets_at=resets_at,
        seen_at=seen_at,
    )
