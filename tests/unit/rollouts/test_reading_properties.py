"""What holds for every log: cut, flipped or torn, nothing is raised and the intact lines' words are kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from log_homes import THREAD, Logs, as_bytes

from memory_pipeline.records import Agent, EventKind

AT = "2026-01-02T03:04:05.000Z"


def codex_prompt(number: int) -> dict[str, Any]:
    """Give a line with words that no other line has."""
    content = [{"type": "input_text", "text": f"wish {number} é测"}]
    payload = {
        "type": "message",
        "role": "user",
        "content": content,
        "internal_chat_message_metadata_passthrough": {"content_item_kinds": ["user.text"]},
    }
    return {"timestamp": AT, "ordinal": number, "type": "response_item", "payload": payload}


def codex_bulk(number: int) -> dict[str, Any]:
    """Give a line that is passed by."""
    kinds = ("token_count", "agent_reasoning", "item_started")
    payload = {"type": kinds[number % 3], "text": '}{ "quoted"', "rate_limits": {"primary": {"used_percent": number}}}
    return {"timestamp": AT, "type": "event_msg", "payload": payload}


def claude_prompt(number: int) -> dict[str, Any]:
    """Give a line with words that no other line has."""
    return {
        "parentUuid": None,
        "isSidechain": False,
        "type": "user",
        "message": {"role": "user", "content": f"wish {number} é测"},
        "uuid": f"0a1b2c3d-1111-4222-8333-{number:012d}",
        "timestamp": AT,
        "promptSource": "typed",
    }


def claude_bulk(number: int) -> dict[str, Any]:
    """Give a line that is passed by."""
    attachment = {"type": "date", "date": '}{ "quoted"'}
    tail = {"type": "attachment", "uuid": f"0a1b2c3d-1111-4222-9333-{number:012d}", "timestamp": AT}
    request = {"type": "api-request", "timestamp": AT, "params": {"a": [number]}}
    return request if number % 2 else {"parentUuid": None, "isSidechain": False, "attachment": attachment, **tail}


MAKERS = {Agent.CODEX: (codex_prompt, codex_bulk), Agent.CLAUDE: (claude_prompt, claude_bulk)}


def log_of(agent: Agent, size: int) -> list[bytes]:
    """Write a log in which every second line has words."""
    prompt, bulk = MAKERS[agent]
    return [as_bytes([prompt(number) if number % 2 else bulk(number)])[:-1] for number in range(1, size + 1)]


def words(logs: Logs, content: bytes) -> list[str]:
    """Give what the person said; the facts of the same content must agree on how much it was."""
    said = [event.text for event in logs.events(content) if event.kind is EventKind.PROMPT]
    assert logs.facts(content).prompt_count == len(said)
    return said


@pytest.fixture(params=[Agent.CODEX, Agent.CLAUDE])
def logs(request: pytest.FixtureRequest, tmp_path: Path) -> Logs:
    """A home of each agent."""
    return Logs(request.param, tmp_path / "home")


def test_any_prefix_keeps_every_intact_lines_words(logs: Logs) -> None:
    """Wherever a log is cut off, what stands whole before the cut is read."""
    lines = log_of(logs.agent, 9)
    content = b"".join(line + b"\n" for line in lines)

    @settings(max_examples=100, deadline=None)
    @given(st.integers(0, len(content)))
    def holds(cut: int) -> None:
        kept = content[:cut].count(b"\n")
        said = words(logs, content[:cut])
        whole = [f"wish {number} é测" for number in range(1, kept + 1) if number % 2]
        assert said[: len(whole)] == whole
        assert len(said) <= len(whole) + 1

    holds()


def test_a_flipped_byte_costs_at_most_the_lines_it_touches(logs: Logs) -> None:
    """Whatever byte changes into whatever other, the words of the other lines are kept."""
    lines = log_of(logs.agent, 7)
    content = b"".join(line + b"\n" for line in lines)

    @settings(max_examples=100, deadline=None)
    @given(st.integers(0, len(content) - 1), st.integers(0, 255))
    def holds(position: int, byte: int) -> None:
        hit = content[:position].count(b"\n") + 1
        flipped = content[:position] + bytes([byte]) + content[position + 1 :]
        said = words(logs, flipped)
        for number in range(1, len(lines) + 1):
            if number % 2 and number not in (hit, hit + 1):
                assert f"wish {number} é测" in said

    holds()


def test_any_order_of_torn_pieces_keeps_the_whole_lines_words(logs: Logs) -> None:
    """Torn pieces of records between whole lines, in any order, take nothing from the whole ones."""
    lines = log_of(logs.agent, 7)
    piece = st.tuples(st.integers(0, len(lines) - 1), st.integers(0, 400), st.integers(0, 400))

    @settings(max_examples=100, deadline=None)
    @given(st.permutations(range(len(lines))), st.lists(piece, max_size=5), st.randoms(use_true_random=False))
    def holds(order: list[int], pieces: list[tuple[int, int, int]], chance: Any) -> None:
        mixed = [lines[position] for position in order]
        for source, start, length in pieces:
            mixed.insert(chance.randint(0, len(mixed)), lines[source][start : start + length])
        said = words(logs, b"".join(line + b"\n" for line in mixed))
        assert set(said) >= {f"wish {number} é测" for number in range(1, len(lines) + 1) if number % 2}

    holds()


@settings(max_examples=100, deadline=None)
@given(content=st.binary(max_size=300))
def test_no_bytes_raise(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    """What is no log at all is read to its end."""
    for agent in (Agent.CODEX, Agent.CLAUDE):
        logs = Logs(agent, tmp_path_factory.mktemp("bytes") / "home")
        _, reading = logs.reading(content)
        assert 0 <= reading.understood_lines <= reading.total_lines
        assert logs.facts(content).total_lines == reading.total_lines


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=8)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(
        ["type", "payload", "message", "content", "text", "role", "output", "call_id", "id", "item", "source", "uuid"]
    ), inner, max_size=4)),
    max_leaves=12,
)  # fmt: skip
TYPES = st.sampled_from(
    ["session_meta", "turn_context", "response_item", "event_msg", "compacted", "user", "assistant", "system", THREAD]
)


@settings(max_examples=100, deadline=None)
@given(lines=st.lists(st.tuples(TYPES, JSON), max_size=5))
def test_no_values_raise(tmp_path_factory: pytest.TempPathFactory, lines: list[tuple[str, Any]]) -> None:
    """Any JSON in the place of payload, message and attachment is read, counted or passed over."""
    for agent in (Agent.CODEX, Agent.CLAUDE):
        logs = Logs(agent, tmp_path_factory.mktemp("values") / "home")
        rows = [{"timestamp": AT, "type": kind, "payload": value, "message": value} for kind, value in lines]
        _, reading = logs.reading(rows)
        assert reading.total_lines == len(rows)
        assert logs.facts(rows).total_lines == len(rows)
