"""However a log is made, little of it is held: what is in doubt is bounded, and so is what can be undone."""

from __future__ import annotations

import json
import re
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
from log_homes import THREAD, Logs

from memory_pipeline.records import Agent, EventKind
from memory_pipeline.rollouts.discover import find_rollouts
from memory_pipeline.rollouts.grammar import MAX_UNDOABLE_TURNS, MAX_WAITING_BYTES
from memory_pipeline.rollouts.jsonl import MAX_TEXT_CHARS
from memory_pipeline.rollouts.reading import read_events, read_facts

AT = "2026-01-02T03:04:05.000Z"


def row(kind: str, **payload: Any) -> dict[str, Any]:
    """Give a line of a Codex rollout."""
    return {"timestamp": AT, "type": kind, "payload": payload}


def said(text: str, role: str = "user") -> dict[str, Any]:
    """Give a message of which its log does not say whose it is, or whether it was the last."""
    return row("response_item", type="message", role=role, content=[{"type": "input_text", "text": text}])


META = row("session_meta", id=THREAD, timestamp=AT, cwd="/home/dev/calc", source="cli")


def peak_bytes(codex: Logs, read: Callable[[Logs], object]) -> int:
    """Give the most memory that a reading of the log takes at once."""
    tracemalloc.start()
    try:
        read(codex)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def all_events(codex: Logs) -> int:
    """Read the log of a home as events, one by one, and count them."""
    (file,) = find_rollouts(Agent.CODEX, str(codex.home))
    return sum(1 for _ in read_events(file, str(codex.home), max_bytes=1 << 30))


def all_facts(codex: Logs) -> int:
    """Read the log of a home for its facts, and count the prompts."""
    (file,) = find_rollouts(Agent.CODEX, str(codex.home))
    return read_facts(
        file, str(codex.home), max_bytes=1 << 30, gives_direction=lambda _: False, redact_text=str
    ).prompt_count


@pytest.mark.parametrize(("read", "most"), [(all_events, MAX_WAITING_BYTES + (12 << 20)), (all_facts, 34 << 20)])
@pytest.mark.parametrize("role", ["user", "assistant"])
def test_long_messages_do_not_pile_up(codex: Logs, read: Callable[[Logs], int], most: int, role: str) -> None:
    """Of 150 messages of 1.2 MB each, whose the log does not say they are, few are held at once."""
    codex.write([META, *[said(f"{number} " + "word " * 240_000, role) for number in range(150)]])
    assert peak_bytes(codex, read) < most


def test_events_that_wait_make_room_for_a_long_line(codex: Logs) -> None:
    """Before a line of megabytes is decoded, what may be undone is let go: both together would take too much."""
    crowd = [said(f"{number} " + "word " * 100_000) for number in range(80)]
    codex.write([META, *crowd, said("\U0001f600" + "word " * 1_600_000)])
    assert peak_bytes(codex, all_events) < 150 << 20


@pytest.mark.parametrize("read", [all_events, all_facts])
def test_many_messages_in_doubt_do_not_pile_up(codex: Logs, read: Callable[[Logs], int]) -> None:
    """Twelve thousand prompts that no event names are all the person's, and few of them are held at once."""
    codex.write([META, *[said(f"wish {number}") for number in range(12_000)]])
    assert read(codex) == 12_000
    assert peak_bytes(codex, read) < 7 << 20


def test_both_readings_decide_alike_when_too_much_is_in_doubt(codex: Logs) -> None:
    """Words of the harness between prompts that events name stay its own, and the facts agree with the events."""
    told = row("event_msg", type="user_message", message="wish")
    crowd = [said(f"reminder {number}") for number in range(9_000)]
    lines = [META, said("wish"), told, said("Done.", "assistant"), *crowd, said("wish"), told, said("ok", "assistant")]
    events = codex.events(lines)
    assert [event.text for event in events if event.kind is EventKind.PROMPT] == ["wish", "wish"]
    facts = codex.facts(lines)
    answers = [event.text for event in events if event.kind is EventKind.FINAL_ANSWER]
    assert (facts.prompt_count, facts.result_chars, answers) == (2, 7, ["Done.", "ok"])


def test_a_text_beyond_all_use_keeps_its_beginning_and_end(codex: Logs) -> None:
    """What is cut out of it is said in its place; byte range and hash are those of the whole line."""
    text = "first " + "word " * 400_000 + "last"
    (event,) = codex.events([META, said(text)])
    assert event.text.startswith("first word")
    assert event.text.endswith("word last")
    (mark,) = re.findall(r"\n\[(\d+) characters left out\]\n", event.text)
    assert int(mark) == len(text) - len(event.text) + len(mark) + len("\n[ characters left out]\n")
    assert MAX_TEXT_CHARS - 100 < len(event.text) <= MAX_TEXT_CHARS
    start = len(json.dumps(META, separators=(",", ":"))) + 1
    assert (event.byte_start, event.byte_end) == (start, codex.path.stat().st_size - 1)


def test_a_rollback_reaches_far_but_not_for_ever(codex: Logs) -> None:
    """More turns than are remembered are not undone; both readings stop at the same one."""
    lines = [META]
    for number in range(MAX_UNDOABLE_TURNS + 3):
        lines += [said(f"wish {number}"), said("ok", "assistant")]
    lines.append(row("event_msg", type="thread_rolled_back", num_turns=MAX_UNDOABLE_TURNS + 3))
    left = [event.text for event in codex.events(lines) if event.kind is EventKind.PROMPT]
    assert left == ["wish 0", "wish 1", "wish 2"]
    facts = codex.facts(lines)
    assert (facts.prompt_count, facts.title, facts.result_chars) == (3, "wish 0", 6)


@pytest.mark.parametrize("part", [{"": 0}, [""], '"\\'])
def test_a_line_of_too_many_values_is_skipped_and_one_of_much_text_is_not(codex: Logs, part: object) -> None:
    """Empty objects take fifty times their bytes; quotes, commas and colons in a text take none."""
    many = row("response_item", type="message", role="user", content=[part] * 310_000)
    _, reading = codex.reading([META, many, said('",:\\' * 400_000)])
    assert reading.skipped_places == ((2, "too_long"),)
    assert reading.understood_lines == 2
