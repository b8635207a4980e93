"""What is worth keeping of a task that another program submitted: what came of it, in its own first words."""

from __future__ import annotations

import re

from memory_pipeline.records import (
    ECHO,
    WITHHELD,
    EntryDraft,
    EntryKind,
    EventKind,
    Evidence,
    ExtractionAnswer,
    TaskDraft,
    TaskOutcome,
)
from memory_pipeline.statements import clean_statement, one_line

_TITLE_CHARS = 80
_SUMMARY_CHARS = 600
_NOTHING = ExtractionAnswer(rollout_summary="", rollout_slug="", tasks=())


def answer_of_task(evidence: Evidence) -> ExtractionAnswer:
    """Return the one statement of a task; nothing where its result says nothing, or is withheld."""
    goal = next((row.text for row in evidence.rows if row.kind is EventKind.PROMPT), "")
    result = next((row for row in evidence.rows if row.kind is EventKind.TOOL_RESULT), None)
    title = one_line(goal, _TITLE_CHARS)
    if result is None or not title or result.text in (WITHHELD, ECHO):
        return _NOTHING
    statement = clean_statement(_first_words(result.text))
    if statement is None:
        return _NOTHING
    entry = EntryDraft(
        kind=EntryKind.KNOWLEDGE, scope="project", condition="", statement=statement, evidence=(result.number,)
    )
    return ExtractionAnswer(
        rollout_summary=f"- {title}: {one_line(result.text, _SUMMARY_CHARS)}",
        rollout_slug=title,
        tasks=(TaskDraft(title=title, outcome=TaskOutcome.SUCCESS, entries=(entry,)),),
    )


def _first_words(text: str) -> str:
    """Return the first paragraph that says something."""
    paragraphs = re.split(r"\n\s*\n", text)
    return next((one for one in paragraphs if clean_statement(one) is not None), text)
