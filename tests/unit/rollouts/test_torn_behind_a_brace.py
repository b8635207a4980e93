"""A line that broke off right behind a brace is torn, also where lines of its type are only glanced at."""

from __future__ import annotations

import json
from typing import Any

import pytest
from log_homes import THREAD, Logs

AT = "2026-01-02T03:04:05.000Z"
MARKS = {"internal_chat_message_metadata_passthrough": {"turn_id": "t"}}
TEXT = 'a {"b": {"c": "d"}} } }} e "}} \\'


def row(kind: str, payload: dict[str, Any]) -> dict[str, Any]:
    """Give a line of a Codex rollout."""
    return {"timestamp": AT, "type": kind, "payload": payload}


def record(number: int, kind: str, **fields: Any) -> dict[str, Any]:
    """Give a line of a transcript."""
    uuid = f"0a1b2c3d-1111-4222-8333-{number:012d}"
    head = {"parentUuid": None, "isSidechain": False}
    return {**head, **fields, "type": kind, "uuid": uuid, "timestamp": AT, "cwd": "/work/calc"}


USAGE = {"total_token_usage": {"input_tokens": 5}, "last_token_usage": {"input_tokens": 5}}
CALL = {"type": "function_call", "name": "exec_command", "arguments": TEXT, "call_id": "c", **MARKS}
OUTPUT = {"type": "function_call_output", "call_id": "c", "output": TEXT}
CODEX = [
    row("world_state", {"full": True, "state": {"files": {"a": {"b": 1}}, "c": {"d": {}}}}),
    row("event_msg", {"type": "token_count", "info": USAGE, "rate_limits": {"primary": {"used_percent": 5}}}),
    row("event_msg", {"type": "turn_diff", "unified_diff": TEXT}),
    row("response_item", {"type": "reasoning", "summary": [{"text": TEXT}], "encrypted_content": TEXT, **MARKS}),
    row("compacted", {"message": TEXT, "replacement_history": [{"type": "message", "content": [{"text": TEXT}]}]}),
    row("response_item", CALL),
    row("response_item", {**OUTPUT, **MARKS}),
]
RESULT = [{"tool_use_id": "c", "type": "tool_result", "content": TEXT, "is_error": False}]
CLAUDE = [
    {"type": "file-history-snapshot", "messageId": "m", "snapshot": {"files": {"a": {"b": 1}}, "c": {"d": {}}}},
    {"type": "progress", "data": {"text": TEXT, "more": {"x": {}}}},
    record(7, "attachment", attachment={"type": "date", "content": {"a": {"b": TEXT}}}),
    {
        **record(8, "user", message={"role": "user", "content": RESULT}),
        "toolUseResult": {"stdout": TEXT, "more": {"x": {}}},
    },
]


def tears(line: dict[str, Any]) -> list[bytes]:
    """Give every piece of a line that ends in a brace and is not all of it."""
    raw = json.dumps(line, separators=(",", ":")).encode()
    return [raw[:end] for end in range(1, len(raw)) if raw[end - 1 : end] == b"}"]


@pytest.mark.parametrize("learned", [True, False])
@pytest.mark.parametrize("line", CODEX, ids=lambda line: str(line["payload"].get("type", line["type"])))
def test_a_torn_line_of_codex_is_counted(codex: Logs, line: dict[str, Any], learned: bool) -> None:
    """Wherever it is torn, whether or not a whole one came before, in either reading."""
    meta = row("session_meta", {"id": THREAD, "timestamp": AT, "cwd": "/work/calc", "source": "cli"})
    before = [meta, row("response_item", CALL), row("response_item", {**CALL, "call_id": "d"})]
    before += [line] if learned else []
    torn = tears(line)
    assert torn
    for piece in torn:
        lines = [*before, piece, line]
        _, reading = codex.reading(lines)
        assert reading.skipped_places == ((len(before) + 1, "torn"),), piece
        assert codex.facts(lines).skipped_places == reading.skipped_places


@pytest.mark.parametrize("line", CLAUDE, ids=lambda line: str(line["type"]))
def test_a_torn_line_of_claude_is_counted(claude: Logs, line: dict[str, Any]) -> None:
    """The same holds for the lines of a transcript that are bulk."""
    use = {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "Bash", "input": {}}]}
    before = [record(1, "assistant", message=use), {**line, "uuid": "0a1b2c3d-1111-4222-8333-000000000009"}]
    torn = tears(line)
    assert torn
    for piece in torn:
        lines = [*before, record(2, "assistant", message=use), piece, line]
        _, reading = claude.reading(lines)
        assert reading.skipped_places == ((4, "torn"),), piece
        assert claude.facts(lines).skipped_places == reading.skipped_places
