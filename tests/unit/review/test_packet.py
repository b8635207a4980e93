"""A packet holds what was said, as data: no text breaks out of its fence, hides something or keeps a secret."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from memory_pipeline.records import Coverage, Event, EventKind, Speaker, ToolStatus
from memory_pipeline.review.packet import Packet, PacketBuilder, read_packet, render_packet

SPEAKERS = {EventKind.PROMPT: Speaker.USER, EventKind.SHELL: Speaker.USER, EventKind.TOOL_RESULT: Speaker.TOOL}


def event(kind: EventKind, text: str = "", *, turn: int = 1, **fields: Any) -> Event:
    """One event of a session."""
    speaker = SPEAKERS.get(kind, Speaker.ASSISTANT)
    known: dict[str, Any] = {"at": None, "byte_start": 0, "byte_end": 9, "line_number": 1}
    return Event(kind=kind, speaker=speaker, text=text, turn=turn, **(known | fields))


def packet(*events: Event, **fields: Any) -> Packet:
    """The packet of a session."""
    builder = PacketBuilder(**fields)
    for one in events:
        builder.add(one)
    return builder.build("session-1", skipped={})


PROMPT, ANSWER = event(EventKind.PROMPT, "Mend the build."), event(EventKind.FINAL_ANSWER, "Mended.")


def test_packet_has_its_shape() -> None:
    """Every heading, figure and fence, to the byte."""
    made = packet(
        PROMPT,
        event(EventKind.COMMENTARY, "Looking."),
        event(EventKind.TOOL_CALL, command="make build", call_id="1", paths=("Makefile",)),
        event(EventKind.TOOL_RESULT, "no rule", call_id="1", status=ToolStatus.FAILED, exit_code=2),
        event(EventKind.COMPACTED),
        ANSWER,
    )
    assert render_packet(made).decode() == (
        "# Session Packet: session-1\n\n## Packet Audit\n\n- Coverage: `high`\n- Turns rendered: 1\n"
        "- Invalid JSON lines skipped: 0\n- Orphan tool results: 0\n- Unfinished turns: 0\n- Compaction events: 1\n\n"
        "### Audit Warnings\n\n- none\n\n### Lossy Transforms\n\n"
        "- Outputs of tools are left out; a command tells how it ended.\n"
        "- Instructions and environment that the agent's program put in are left out.\n- Secrets are masked.\n\n"
        "## Turn 1\n\n- Turn id: `turn-1`\n\n### User Requests\n\n```text\nMend the build.\n```\n\n"
        "### Assistant Updates\n\n```text\nLooking.\n```\n\n### Final Answers\n\n```text\nMended.\n```\n\n"
        "### Commands\n\n- `make build (exit code 2)`\n\n### Referenced Files\n\n- `Makefile`\n\n"
        "### System Events\n\n- compacted\n"
    )


def test_audit_counts_what_is_unfinished_and_orphaned() -> None:
    """A turn without an answer, one that was stopped, and a result whose call is missing."""
    made = packet(
        PROMPT,
        event(EventKind.TOOL_RESULT, "x", call_id="gone"),
        event(EventKind.PROMPT, "Stop.", turn=2),
        event(EventKind.INTERRUPTED, turn=2),
        event(EventKind.PROMPT, "Go on.", turn=3),
        event(EventKind.FINAL_ANSWER, "Done.", turn=3),
    )
    audit = made.audit
    assert (audit.turns_rendered, audit.unfinished_turns, audit.orphan_tool_results) == (3, 2, 1)


def test_a_lost_line_makes_coverage_partial() -> None:
    """And is told with its reason."""
    builder = PacketBuilder()
    builder.add(PROMPT)
    audit = builder.build("session-1", skipped={"torn": 2}).audit
    assert (audit.coverage, audit.invalid_json_lines_skipped) == (Coverage.PARTIAL, 2)
    assert "torn" in audit.audit_warnings[0]


def test_a_long_session_keeps_its_beginning_and_end_within_bounds() -> None:
    """What is left out in the middle is counted."""
    events = [event(EventKind.PROMPT, f"prompt {number} " + "word " * 5_000, turn=number) for number in range(400)]
    made = packet(*events)
    assert len(render_packet(made)) < 3_000_000
    assert made.turns[0].number == 0
    assert made.turns[-1].number == 399
    assert made.audit.coverage is Coverage.PARTIAL
    assert f"{400 - len(made.turns)} turns" in made.audit.audit_warnings[0]
    assert any("long texts are cut" in told for told in made.audit.lossy_transforms)


def test_secrets_are_masked_everywhere_and_hidden_characters_shown() -> None:
    """In texts, commands, files and events."""
    key = "ghp_" + "0" * 36
    made = packet(
        event(EventKind.PROMPT, f"use {key} \u202eevil\u200b"),
        event(EventKind.SHELL, "", command=f"curl -H 'Authorization: Bearer {key}' x\nrm -rf `y`", call_id="1"),
        event(EventKind.TOOL_CALL, command=None, paths=(f"/tmp/{key}",)),
        event(EventKind.REPORT, f"see {key}"),
    )
    text = render_packet(made).decode()
    assert key not in text
    assert "⟨U+202E⟩evil⟨U+200B⟩" in text
    assert "\u202e" not in text
    assert "rm -rf `y` (run by the person)" in text


def test_what_was_forgotten_is_left_out_and_its_place_is_told() -> None:
    """No word of it; the audit says that something is missing."""
    made = packet(PROMPT, ANSWER, is_forgotten=lambda one: "Mended" in one.text)
    assert "Mended" not in render_packet(made).decode()
    assert made.audit.coverage is Coverage.PARTIAL


HOSTILE = st.text(alphabet=st.sampled_from("`#\n -ab<!>~\r\t\u202e\x1b你"), max_size=60)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(HOSTILE, HOSTILE, HOSTILE), min_size=1, max_size=4))
def test_no_text_breaks_out_of_its_place(rows: list[tuple[str, str, str]]) -> None:
    """Read back, a packet has the same turns with the same texts, whatever they hold; and writing it again too."""
    events = []
    for turn, (asked, command, answered) in enumerate(rows, start=1):
        events += [
            event(EventKind.PROMPT, f"a{asked}", turn=turn),
            event(EventKind.TOOL_CALL, command=f"run {command}", turn=turn),
            event(EventKind.FINAL_ANSWER, f"{answered}z", turn=turn),
        ]
    made = packet(*events)
    read = read_packet(render_packet(made))
    assert read is not None
    assert [(one.requests, one.answers) for one in read.turns] == [(one.requests, one.answers) for one in made.turns]
    assert [len(one.commands) for one in read.turns] == [1] * len(rows)
    again = read_packet(render_packet(read))
    assert again is not None
    assert again.turns == read.turns


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=300) | HOSTILE.map(str.encode))
def test_reading_what_is_no_packet_never_fails(content: bytes) -> None:
    """Nor what merely begins like one."""
    assert read_packet(content) is None
    begun = read_packet(b"# Session Packet: abc\n" + content)
    assert begun is not None
    assert begun.session_id == "abc"


def test_a_packet_of_another_tool_is_read_tolerantly() -> None:
    """Windows line ends, a mark at the front, an unknown section, a fence that nothing ends."""
    content = (
        "\ufeff# Session Packet: abc-1\r\n\r\n## Packet Audit\r\n- Coverage: `high`\r\n- Orphan tool results: 3\r\n"
        "### Audit Warnings\r\n- none\r\n## Turn 7\r\n- Turn id: `0199-x`\r\n### Mood\r\n- fine\r\n"
        "### User Requests\r\n```text\r\n## Turn 8\r\n```\r\n### Commands\r\n- `ls -la`\r\n- cat x\r\n"
        "### Final Answers\r\n```text\r\nopen end"
    )
    read = read_packet(content.encode())
    assert read is not None
    assert (read.audit.coverage, read.audit.orphan_tool_results, read.audit.audit_warnings) == (Coverage.HIGH, 3, ())
    (turn,) = read.turns
    assert (turn.number, turn.turn_id, turn.requests) == (7, "0199-x", ("## Turn 8",))
    assert (turn.commands, turn.answers) == (("ls -la", "cat x"), ("open end",))


def test_the_title_of_a_packet_names_no_path() -> None:
    """An id that could lead out of the folder makes it no packet."""
    assert read_packet(b"# Session Packet: ../../x\n## Turn 1\n") is None
    assert re.match(r"# Session Packet: session-1\n", render_packet(packet(PROMPT)).decode())
