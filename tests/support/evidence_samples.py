"""Invented evidence for tests: rows by speaker and text."""

from __future__ import annotations

from typing import Any

from memory_pipeline.records import Agent, Coverage, EventKind, Evidence, EvidenceRow, Speaker

_KINDS = {
    Speaker.USER: EventKind.PROMPT,
    Speaker.ASSISTANT: EventKind.COMMENTARY,
    Speaker.TOOL: EventKind.TOOL_RESULT,
    Speaker.HARNESS: EventKind.CONTEXT,
    Speaker.OTHER_AGENT: EventKind.REPORT,
}


def row(number: int, speaker: Speaker, text: str, **fields: Any) -> EvidenceRow:
    """Make one row; its kind follows from the speaker unless given."""
    known: dict[str, Any] = {
        "kind": _KINDS[speaker],
        "at": 1_700_000_000.0 + number,
        "turn": 0,
        "byte_start": number * 1000,
        "byte_end": number * 1000 + 900,
        "line_sha256": f"{number:064d}",
    }
    return EvidenceRow(number=number, speaker=speaker, text=text, **(known | fields))


def evidence(*rows: EvidenceRow, **fields: Any) -> Evidence:
    """Make the evidence of one thread."""
    known: dict[str, Any] = {
        "thread_id": "00000000-0000-4000-8000-000000000001",
        "agent": Agent.CODEX,
        "rollout_path": "/home/sample/.codex/sessions/rollout-sample.jsonl",
        "cwd": "/home/sample/shop",
        "scope": "project:example.org/sample/shop",
        "git_branch": "main",
        "updated_at": 1_700_000_000.0,
        "omitted_after": {},
        "coverage": Coverage.HIGH,
        "redactions": {},
    }
    return Evidence(rows=rows, **(known | fields))
