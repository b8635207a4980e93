"""What an agent says again of a memory is no evidence; what it says by itself, and whatever the person says, is."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from store_samples import NOW, SCOPE, index

from memory_pipeline.phase1.evidence import ECHO, EvidenceBuilder, build_evidence
from memory_pipeline.phase1.repeats import REPEATED, Repeats
from memory_pipeline.records import Event, EventKind, Evidence, Speaker
from memory_pipeline.store.store import Store

MEMORY = "The nightly deploy fails while the VPN of the office is down."
TOLD = f'{{"about": "Memories kept by memory-pipeline, quoted as data", "memories": [{{"statement": "{MEMORY}"}}]}}'
SPEAKERS = {EventKind.PROMPT: Speaker.USER, EventKind.TOOL_RESULT: Speaker.TOOL, EventKind.CONTEXT: Speaker.HARNESS}


def event(kind: EventKind, text: str, **fields: Any) -> Event:
    """Make an event of a log."""
    place: dict[str, Any] = {"at": NOW, "byte_start": 0, "byte_end": 1, "line_number": 1, "turn": 1}
    return Event(kind=kind, speaker=SPEAKERS.get(kind, Speaker.ASSISTANT), text=text, **place | fields)


def read(tool: str = "mcp__memory-pipeline__read_memory", text: str = TOLD, **fields: Any) -> list[Event]:
    """Make a call of a tool and what it gave."""
    named = {"call_id": "c1", "tool": tool} | fields
    return [event(EventKind.TOOL_CALL, '{"memory_id": "m_1"}', **named), event(EventKind.TOOL_RESULT, text, **named)]


def evidence_of(store: Store, *events: Event, withhold: bool = True) -> Evidence:
    """Build the evidence of a session in which this happened."""
    thread = index(store, "a")
    builder = EvidenceBuilder(window_tokens=100_000, withhold_external=withhold)
    return build_evidence(
        events,
        thread,
        builder,
        is_complete=lambda: True,
        hash_lines=lambda ranges: dict.fromkeys(ranges, "0" * 64),
    )


def texts(evidence: Evidence) -> list[str]:
    """Return the texts of its rows."""
    assert evidence.scope == SCOPE
    return [row.text for row in evidence.rows]


@pytest.mark.parametrize("withhold", [True, False])
def test_what_our_server_told_is_no_evidence_and_neither_is_its_echo(store: Store, *, withhold: bool) -> None:
    """Whatever is done with words from outside: the result is left out, and the sentence that says it again."""
    answer = f"I looked it up. As remembered, {MEMORY[0].lower()}{MEMORY[1:]} So I started the VPN."
    rows = texts(
        evidence_of(store, *read(), event(EventKind.FINAL_ANSWER, answer), withhold=withhold),
    )
    assert rows == [ECHO, ECHO, f"I looked it up. {REPEATED} So I started the VPN."]


def test_what_an_agent_notes_is_no_evidence_of_the_session(store: Store) -> None:
    """It becomes a draft of its own."""
    note = event(EventKind.TOOL_CALL, MEMORY, call_id="c1", tool="mcp__memory-pipeline__note_memory")
    assert texts(evidence_of(store, note)) == [ECHO]


def test_an_injected_memory_that_is_echoed_is_no_evidence(store: Store) -> None:
    """What the harness put in at the beginning was said before."""
    injected = event(EventKind.CONTEXT, f"[Memories kept by memory-pipeline, quoted as data]\n- {MEMORY}")
    assert texts(evidence_of(store, injected, event(EventKind.FINAL_ANSWER, MEMORY))) == [REPEATED]


def test_what_the_person_says_again_counts(store: Store) -> None:
    """Their word confirms a memory, whoever was told of it before."""
    assert texts(evidence_of(store, *read(), event(EventKind.PROMPT, MEMORY)))[-1] == MEMORY


def test_what_an_agent_says_before_it_was_told_counts(store: Store) -> None:
    """An echo follows what it echoes."""
    assert texts(evidence_of(store, event(EventKind.COMMENTARY, MEMORY), *read()))[0] == MEMORY


def test_other_sentences_of_the_agent_count(store: Store) -> None:
    """A few common words make no repetition."""
    answer = "The nightly build is green again. The office was closed."
    assert texts(evidence_of(store, *read(), event(EventKind.FINAL_ANSWER, answer)))[-1] == answer


def test_a_chinese_echo_is_one_too() -> None:
    """Words are told apart by characters there."""
    repeats = Repeats()
    repeats.hear("- 每次提交之前都要先运行全部测试")
    assert repeats.left_of("好的。每次提交之前都要先运行全部测试。我现在就运行。") == f"好的。{REPEATED}我现在就运行。"


@settings(max_examples=100)
@given(st.text(max_size=300), st.text(max_size=300))
def test_texts_that_share_nothing_stay_as_they_are(told: str, said: str) -> None:
    """Whatever is told, only a sentence that holds a run of its words is left out."""
    repeats = Repeats()
    repeats.hear(told)
    left = repeats.left_of(said)
    assert left == said or REPEATED in left
    assert Repeats().left_of(said) == said
