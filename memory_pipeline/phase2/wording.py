"""What a person or an agent writes by hand, made fit for the journal: one harmless line, without secrets."""

from __future__ import annotations

from memory_pipeline.errors import UsageError
from memory_pipeline.redact import redact
from memory_pipeline.statements import STATEMENT_MAX_CHARS, one_line, statement_fault

_CONDITION_CHARS = 200


def statement_from(text: str) -> str:
    """Return a text as a statement, secrets masked.

    Raises:
        UsageError: it can't be one; the message says why.
    """
    statement = redact(" ".join(text.split())).text
    fault = statement_fault(statement)
    if fault == "too_long":
        raise UsageError(
            f"a memory has at most {STATEMENT_MAX_CHARS} characters, and this has {len(statement)}; say it shorter"
        )
    if fault is not None:
        raise UsageError(f"this can't be a memory ({fault.replace('_', ' ')}); write one plain sentence")
    return statement


def condition_from(text: str) -> str:
    """Return a text as the condition of a statement, secrets masked."""
    return one_line(redact(text).text, _CONDITION_CHARS)
