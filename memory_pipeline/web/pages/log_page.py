"""The page of the log: what was decided for each session, what the consolidations did, what became of tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from memory_pipeline.records import TASK_THREAD_PREFIX, ChronicleLine, ConsolidationLine
from memory_pipeline.seeing.words import consolidation_in_words, line_in_words
from memory_pipeline.web import task_calls
from memory_pipeline.web.pages.page import Asked, Elsewhere, Page, Shown

if TYPE_CHECKING:
    from memory_pipeline.app import App

PATH = "/page/log"
_LENGTHS = (50, 200, 1_000)
_MOST_TASKS = 100


class Line(Struct, frozen=True, kw_only=True):
    """One line of the log."""

    at: float
    about: str
    words: str


def show_log(app: App, asked: Asked) -> Shown | Elsewhere:
    """Show the log, the newest first."""
    wanted = asked.query.get("lines", "")
    limit = next((length for length in _LENGTHS if str(length) == wanted), _LENGTHS[0])
    chronicle = app.store.chronicle
    told: list[ChronicleLine | ConsolidationLine] = [*chronicle.consolidations(limit=limit)]
    told += chronicle.lines(limit=limit)
    tasks = task_calls.show_log(app, asked.call(query=task_calls.LogQuery(limit=_MOST_TASKS)))
    return Shown(
        template="log",
        values={
            "lines": [_line(one) for one in sorted(told, key=lambda one: one.at, reverse=True)[:limit]],
            "limit": limit,
            "lengths": _LENGTHS,
            "tasks": tasks.tasks,
            "tasks_total": tasks.total,
        },
    )


def _line(line: ChronicleLine | ConsolidationLine) -> Line:
    if isinstance(line, ConsolidationLine):
        about = f"consolidation {line.consolidation_id}"
        return Line(at=line.at, about=about, words=consolidation_in_words(line))
    noun = "task" if line.thread_id.startswith(TASK_THREAD_PREFIX) else "session"
    return Line(
        at=line.at, about=f"{noun} {line.thread_id.removeprefix(TASK_THREAD_PREFIX)}", words=line_in_words(line)
    )


PAGES = (Page(name="pageLog", path=PATH, answer=show_log),)
