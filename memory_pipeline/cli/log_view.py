"""The chronicle as a person reads it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click

from memory_pipeline.cli.output import printable
from memory_pipeline.clock import iso
from memory_pipeline.records import ChronicleLine, ConsolidationLine
from memory_pipeline.redact import redact
from memory_pipeline.seeing.words import consolidation_in_words, line_in_words

Line = ChronicleLine | ConsolidationLine


def merged(lines: Sequence[ChronicleLine], consolidations: Sequence[ConsolidationLine]) -> list[Line]:
    """Put two lists, each newest first, into one."""
    together: list[Line] = [*consolidations, *lines]
    return sorted(together, key=lambda line: line.at, reverse=True)


def log_document(line: Line) -> dict[str, Any]:
    """Return one line as ``log --json`` prints it."""
    if isinstance(line, ConsolidationLine):
        return {
            "at": iso(line.at),
            "thread_id": None,
            "consolidation": line.consolidation_id,
            "what": line.state,
            "kind": line.kind,
            "operations": dict(line.operations),
            "reason": line.reason,
            "words": consolidation_in_words(line),
        }
    return {
        "at": iso(line.at),
        "thread_id": line.thread_id,
        "consolidation": None,
        "what": line.what,
        "gate": line.gate,
        "count": line.count,
        "reason": line.reason,
        "words": line_in_words(line),
    }


def print_log(lines: Sequence[Line], command: Callable[[str], str], *, thread_id: str | None = None) -> None:
    """Print one line each; with a ``thread_id``, which all of them are about, without it."""
    if not lines:
        click.echo(f"Nothing is told of that. `{command('run')}` makes a pass.")
        return
    for line in lines:
        when = (iso(line.at) or "")[:19].replace("T", " ")
        if isinstance(line, ConsolidationLine):
            subject, words = f"{f'consolidation {line.consolidation_id}':36}", consolidation_in_words(line)
        else:
            subject, words = f"{line.thread_id:36}", line_in_words(line)
        told = [when, words] if thread_id else [when, subject, words]
        click.echo(printable(redact("  ".join(told)).text))
