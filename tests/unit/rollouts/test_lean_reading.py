"""The facts, read from bytes where that is enough, are those that the events tell."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from log_homes import THREAD, Logs

from memory_pipeline.records import Agent, EventKind, ThreadFacts

BIG = "line of output\n" * 400
TEXTS = st.sampled_from(["", "ok", "always x", BIG, 'a "quoted" }{ {"timestamp":"x" \\ é 测试', "user said: no\n"])
ODD: list[Any] = [None, True, 5, 1.5, "x", "", [], ["x"], {}, {"type": "x"}]
ENDS = st.sampled_from([b"\n", b"\r\n", b"", b'"\n', b"\xff\n", b"\x00\n"])


def stamp(number: int) -> str:
    """Give the time of a record."""
    return f"2026-01-02T03:{number % 60:02d}:05.{number % 1000:03d}Z"


def codex_line(number: int, kind: str, text: str) -> dict[str, Any]:
    """Give one line of a paginated rollout."""
    call_id = f"call_{number // 3}"
    marks = {"internal_chat_message_metadata_passthrough": {"turn_id": "t"}}
    run = {
        "type": "CommandExecution",
        "id": call_id,
        "command": ["bash", "-lc", "ls"],
        "source": "user_shell" if text == "ok" else "agent",
        "status": "completed",
        "aggregated_output": text,
        "exit_code": 0,
        "duration": {"secs": 0, "nanos": 1},
    }
    name = {"ok": "request_user_input", "always x": "mcp__files__read"}.get(text, "exec_command")
    limits = {"primary": {"used_percent": number, "window_minutes": 300}} if text else None
    payloads: dict[str, tuple[str, dict[str, Any]]] = {
        "prompt": ("response_item", {"type": "message", "role": "user", "content": [{"text": text}]}),
        "answer": ("response_item", {"type": "message", "role": "assistant", "content": [{"text": text}]}),
        "call": (
            "response_item",
            {"type": "function_call", "id": "f", "name": name, "arguments": "{}", "call_id": call_id, **marks},
        ),
        "output": (
            "response_item",
            {"type": "function_call_output", "id": "o", "call_id": call_id, "output": text, **marks},
        ),
        "run": (
            "event_msg",
            {
                "type": "item_completed",
                "thread_id": THREAD,
                "turn_id": "t",
                "item": run,
                "started_at_ms": 1,
                "completed_at_ms": 2,
            },
        ),
        "told": ("event_msg", {"type": "user_message", "message": text}),
        "item": (
            "event_msg",
            {"type": "item_completed", "item": {"type": "AgentMessage", "content": [{"type": "Text", "text": text}]}},
        ),
        "count": ("event_msg", {"type": "token_count", "info": None, "rate_limits": limits}),
        "reasoning": ("response_item", {"type": "reasoning", "summary": [], "encrypted_content": text}),
        "world": ("world_state", {"full": True, "state": text}),
        "compacted": ("compacted", {"message": text, "replacement_history": []}),
        "started": ("event_msg", {"type": "task_started", "turn_id": f"t{number}"}),
        "undone": ("event_msg", {"type": "thread_rolled_back", "num_turns": 1 + number % 2}),
        "broken": ("event_msg", {"type": "stream_error", "message": text}),
    }
    line_type, payload = payloads[kind]
    return {"timestamp": stamp(number), "ordinal": number, "type": line_type, "payload": payload}


CODEX_KINDS = [
    "prompt", "answer", "call", "output", "run", "told", "count", "reasoning", "world", "compacted", "started",
    "undone", "broken", "item",
]  # fmt: skip


def claude_line(number: int, kind: str, text: str) -> dict[str, Any]:
    """Give one line of a transcript."""
    call_id = f"toolu_{number // 3}"
    name = {"ok": "AskUserQuestion", "always x": "WebFetch", "": "Task"}.get(text, "Bash")
    uuid = f"{number % 50:08x}-0000-4000-8000-{number % 50:012x}"
    result = {"tool_use_id": call_id, "type": "tool_result", "content": text, "is_error": text.startswith("user said")}
    content: dict[str, tuple[str, Any]] = {
        "prompt": ("user", text),
        "answer": ("assistant", [{"type": "text", "text": text}]),
        "call": ("assistant", [{"type": "tool_use", "id": call_id, "name": name, "input": {}}]),
        "output": ("user", [result]),
        "words": ("user", [result, {"type": "text", "text": text}]),
    }
    tail = {"uuid": uuid, "timestamp": stamp(number), "cwd": "/work/calc"}
    if kind == "attachment":
        return {
            "parentUuid": None,
            "isSidechain": False,
            "attachment": {"type": "queued_command" if text == "ok" else "date", "prompt": text},
            "type": "attachment",
            **tail,
        }
    if kind == "request":
        return {"type": "api-request", "params": text}
    line_type, blocks = content[kind]
    return {
        "parentUuid": uuid,
        "isSidechain": False,
        "type": line_type,
        "message": {"role": line_type, "content": blocks},
        **tail,
        "toolUseResult": {"stdout": text, "answers": {"q": text} if text == "ok" else {}},
    }


CLAUDE_KINDS = ["prompt", "answer", "call", "output", "words", "attachment", "request"]


def written(agent: Agent, parts: list[tuple[str, str, bytes]]) -> bytes:
    """Write lines as the programs do, some of them damaged at their end."""
    make = codex_line if agent is Agent.CODEX else claude_line
    lines = [
        json.dumps(make(number, kind, text), ensure_ascii=False, separators=(",", ":")).encode() + end
        for number, (kind, text, end) in enumerate(parts)
    ]
    return b"".join(lines)


def told_by_events(logs: Logs, content: bytes) -> dict[str, Any]:
    """Count from the events what the facts should say."""
    events, reading = logs.reading(content)
    prompts = [event for event in events if event.kind is EventKind.PROMPT]
    answers = [event for event in events if event.kind is EventKind.FINAL_ANSWER]
    return {
        "prompt_count": len(prompts),
        "result_chars": sum(len(event.text) for event in answers),
        "gives_direction": any("always" in event.text for event in prompts),
        "external_context": any(event.external for event in events),
        "started_at": reading.notes.started_at,
        "updated_at": reading.notes.last_at,
        "rate_limits": reading.notes.rate_limits,
        "understood_lines": reading.understood_lines,
        "total_lines": reading.total_lines,
        "skipped_lines": reading.skipped_lines,
        "unknown_types": reading.unknown_types,
        "record_hashes": reading.record_hashes,
    }


@pytest.mark.parametrize(("agent", "kinds"), [(Agent.CODEX, CODEX_KINDS), (Agent.CLAUDE, CLAUDE_KINDS)])
def test_facts_are_what_the_events_tell(agent: Agent, kinds: list[str], tmp_path: Path) -> None:
    """Whatever lines a log is made of, and however they are damaged, both readings agree on every fact."""
    logs = Logs(agent, tmp_path / "home")
    part = st.tuples(st.sampled_from(kinds), TEXTS, st.one_of(st.just(b"\n"), st.just(b"\n"), ENDS))

    @settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(st.lists(part, max_size=14))
    def agree(parts: list[tuple[str, str, bytes]]) -> None:
        content = written(agent, parts)
        facts: ThreadFacts = logs.facts(content)
        told = told_by_events(logs, content)
        assert {name: getattr(facts, name) for name in told} == told

    agree()


def test_turns_that_a_crash_ran_together_on_one_line_are_undone_together(tmp_path: Path) -> None:
    """Both readings agree on that, and on what another rollback leaves."""
    logs = Logs(Agent.CODEX, tmp_path / "home")
    said = [("prompt", "ok", b""), ("prompt", "ok", b"\n"), ("undone", "", b"\n"), ("answer", "ok", b"\n")]
    content = written(Agent.CODEX, [*said, ("undone", "", b"\n")])
    told = told_by_events(logs, content)
    facts: ThreadFacts = logs.facts(content)
    assert {name: getattr(facts, name) for name in told} == told
    assert (facts.prompt_count, facts.result_chars) == (0, 2)


def odd_variants(value: Any) -> Iterator[Any]:
    """Give a value with one of its parts, each in turn, replaced by what nobody expects there."""
    yield from ODD
    if isinstance(value, dict):
        for key, part in value.items():
            yield {name: other for name, other in value.items() if name != key}
            yield from ({**value, key: odd} for odd in odd_variants(part))
    elif isinstance(value, list):
        for number, part in enumerate(value):
            yield from ([*value[:number], odd, *value[number + 1 :]] for odd in odd_variants(part))


@pytest.mark.parametrize(
    ("agent", "kind"), [(Agent.CODEX, kind) for kind in CODEX_KINDS] + [(Agent.CLAUDE, kind) for kind in CLAUDE_KINDS]
)
def test_whatever_stands_in_a_line_both_readings_agree(agent: Agent, kind: str, tmp_path: Path) -> None:
    """A part of another type, in any place of a known line, raises nothing and counts the same in both."""
    logs = Logs(agent, tmp_path / "home")
    make = codex_line if agent is Agent.CODEX else claude_line
    before = [make(number, name, "a") for number, name in enumerate(("prompt", "call"))]
    lines = [*before, *odd_variants(make(2, kind, "a")), make(2, "answer", "b")]
    content = b"".join(orjson.dumps(line) + b"\n" for line in lines)
    facts, told = logs.facts(content), told_by_events(logs, content)
    assert {name: getattr(facts, name) for name in told} == told


def test_an_ordinary_result_changes_the_digest_wherever_it_changes(codex: Logs) -> None:
    """A long result that is not decoded still counts as said: one other byte in its middle is another digest."""
    parts = [("prompt", "wish", b"\n"), ("prompt", "x", b"\n"), ("prompt", "x", b"\n"), ("call", BIG, b"\n")]
    before = written(Agent.CODEX, [*parts, ("output", BIG, b"\n"), ("answer", "x", b"\n")])
    after = before[:-3000] + b"L" + before[-2999:]
    assert codex.facts(before).content_digest != codex.facts(after).content_digest
    assert codex.facts(after).skipped_lines == {}


def test_the_digest_does_not_depend_on_whether_media_was_left_out(codex: Logs) -> None:
    """The same lines behind a longer beginning fall into other chunks, and say the same."""
    image = json.dumps(
        {
            "timestamp": stamp(9),
            "type": "response_item",
            "payload": {
                "type": "message",
                "role": "user",
                "content": [{"type": "input_image", "image_url": "data:image/png;base64," + "iVBO" * 60_000}],
            },
        },
        separators=(",", ":"),
    ).encode()
    silent = json.dumps(codex_line(1, "world", "x" * 100_000), separators=(",", ":")).encode()
    digests = {
        codex.facts(silent[:-2] + b" " * blanks + b"}}\n" + image + b"\n").content_digest for blanks in (0, 60_000)
    }
    assert len(digests) == 1
