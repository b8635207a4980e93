"""Lines that are JSON of a known type, but don't say what they should; and records on the line of a torn one."""

from __future__ import annotations

import json
from typing import Any

import pytest
from log_homes import THREAD, Logs

from memory_pipeline.records import EventKind

AT = "2026-01-02T03:04:05.000Z"


def row(line_type: Any, payload: Any) -> dict[str, Any]:
    """Give a line of a Codex rollout."""
    return {"timestamp": AT, "type": line_type, "payload": payload}


def message(content: Any, role: Any = "user") -> dict[str, Any]:
    """Give a message of Codex."""
    return row("response_item", {"type": "message", "role": role, "content": content})


def said(text: Any, role: Any = "user") -> dict[str, Any]:
    """Give a message of Codex with one block of text."""
    kind = "input_text" if role == "user" else "output_text"
    return message([{"type": kind, "text": text}], role)


def told(text: Any) -> dict[str, Any]:
    """Give the event that repeats a prompt."""
    return row("event_msg", {"type": "user_message", "message": text})


def talk(kind: Any, content: Any, **more: Any) -> dict[str, Any]:
    """Give a line of talk of Claude Code."""
    return {"type": kind, "timestamp": AT, "message": {"role": kind, "content": content}, **more}


META = row("session_meta", {"id": THREAD, "timestamp": AT, "cwd": "/home/dev/calc", "source": "cli"})


def packed(line: dict[str, Any], *, spaced: bool = False) -> str:
    """Write a line, as the programs do or with blanks."""
    return json.dumps(line, separators=None if spaced else (",", ":"))


def prompts(logs: Logs, lines: Any) -> list[str]:
    """Give what the person said."""
    return [event.text for event in logs.events(lines) if event.kind is EventKind.PROMPT]


# --- payloads


@pytest.mark.parametrize(
    "broken",
    [
        row("response_item", "x"),
        row("response_item", None),
        {"timestamp": AT, "type": "response_item"},
        row("response_item", {"type": None, "role": "user", "content": "x"}),
        row("response_item", {}),
        row("event_msg", ["x"]),
        row("event_msg", {"type": 5}),
        row(None, {"type": "message", "role": "user", "content": "x"}),
        message(None),
        message([5]),
        message(None, "assistant"),
        message([None], "developer"),
        said("x", None),
        said(5),
        said(None, "assistant"),
        told(None),
        row("event_msg", {"type": "item_completed", "item": {"type": "UserMessage", "content": 5}}),
        row("event_msg", {"type": "item_completed", "item": "x"}),
        {"type": "message", "role": "user", "content": None},
    ],
    ids=packed,
)
def test_a_broken_payload_of_codex_is_a_loss_at_its_line(codex: Logs, broken: dict[str, Any]) -> None:
    """It is counted once, by line, in either reading; what stands around it is read."""
    lines = [META, said("a"), said("Done.", "assistant"), broken, said("b")]
    events, reading = codex.reading(lines)
    assert [event.text for event in events] == ["a", "Done.", "b"]
    assert reading.skipped_places == ((4, "bad_payload"),)
    assert reading.unknown_types == {}
    facts = codex.facts(lines)
    assert (facts.skipped_places, facts.prompt_count) == (((4, "bad_payload"),), 2)


def call(**fields: Any) -> dict[str, Any]:
    """Give a call of a tool of Codex."""
    return row("response_item", {"type": "function_call", "name": "f", "arguments": "{}", "call_id": "c"} | fields)


def output(value: Any, kind: str = "function_call_output") -> dict[str, Any]:
    """Give what a call of Codex gave."""
    return row("response_item", {"type": kind, "call_id": "c", "output": value})


@pytest.mark.parametrize(
    "broken",
    [
        call(arguments=5),
        call(arguments=None),
        call(arguments=["x"]),
        call(name=None),
        call(type="custom_tool_call", input=5),
        row("response_item", {"type": "local_shell_call", "call_id": "c", "action": {"command": 5}}),
        output(5),
        output(None),
        output([5]),
        output([{"type": "output_text", "text": 5}]),
        output({"content": 5}),
        output(True, "custom_tool_call_output"),
    ],
    ids=packed,
)
def test_a_call_or_output_with_something_else_in_its_place_is_counted(codex: Logs, broken: dict[str, Any]) -> None:
    """What of it can be read is told, and that some could not is a loss at its line."""
    events, reading = codex.reading([META, said("a"), broken, said("b")])
    assert [event.text for event in events if event.kind is EventKind.PROMPT] == ["a", "b"]
    assert len(events) == 3
    assert reading.skipped_places == ((3, "bad_payload"),)


@pytest.mark.parametrize(
    "fine",
    [
        call(),
        call(arguments={"cmd": "ls"}),
        call(type="custom_tool_call", input=""),
        call(type="tool_search_call", arguments=None),
        output(""),
        output([]),
        output([{"type": "input_image", "image_url": "x"}]),
        output({"content": "x", "success": True}),
        output({"any": 1}),
    ],
    ids=packed,
)
def test_calls_and_outputs_of_every_known_shape_are_no_loss(codex: Logs, fine: dict[str, Any]) -> None:
    """Empty ones are whole."""
    assert codex.reading([META, said("a"), fine, said("b")])[1].skipped_lines == {}


@pytest.mark.parametrize(
    "block",
    [
        {"type": "tool_use", "id": "c", "name": "Bash", "input": 5},
        {"type": "tool_use", "id": "c", "name": 5, "input": {}},
        {"type": "tool_result", "tool_use_id": "c", "content": 5},
        {"type": "tool_result", "tool_use_id": "c", "content": [5]},
    ],
    ids=packed,
)
def test_a_broken_call_or_result_of_claude_is_counted(claude: Logs, block: dict[str, Any]) -> None:
    """The same holds for the blocks of a transcript; a result without content is whole."""
    kind = "assistant" if block["type"] == "tool_use" else "user"
    events, reading = claude.reading([talk("user", "a"), talk(kind, [block]), talk("user", "b")])
    assert [event.text for event in events if event.kind is EventKind.PROMPT] == ["a", "b"]
    assert reading.skipped_places == ((2, "bad_payload"),)
    bare = talk("user", [{"type": "tool_result", "tool_use_id": "c"}])
    assert claude.reading([talk("user", "a"), bare])[1].skipped_lines == {}


@pytest.mark.parametrize(
    "broken",
    [
        {"type": "user", "message": "x"},
        {"type": "user", "message": None},
        {"type": "assistant"},
        talk("user", None),
        talk("user", [5]),
        talk("user", [{"type": "text", "text": 5}]),
        talk("assistant", None),
        talk("assistant", [None]),
        talk("assistant", [{"type": "text"}]),
        talk("assistant", [{"type": None}]),
        {"type": None, "message": {"role": "user", "content": "x"}},
    ],
    ids=packed,
)
def test_a_broken_message_of_claude_is_a_loss_at_its_line(claude: Logs, broken: dict[str, Any]) -> None:
    """It is counted once, by line, in either reading; what stands around it is read."""
    lines = [talk("user", "a"), broken, talk("user", "b")]
    events, reading = claude.reading(lines)
    assert [event.text for event in events] == ["a", "b"]
    assert reading.skipped_places == ((2, "bad_payload"),)
    assert reading.unknown_types == {}
    assert claude.facts(lines).skipped_places == ((2, "bad_payload"),)


def test_what_stands_beside_a_broken_block_is_read(codex: Logs, claude: Logs) -> None:
    """The loss is counted, the words are kept."""
    events, reading = codex.reading([META, message([{"type": "input_text", "text": "a"}, 5])])
    assert ([event.text for event in events], reading.skipped_places) == (["a"], ((2, "bad_payload"),))
    events, reading = claude.reading([talk("user", [{"type": "text", "text": "a"}, 5, 6])])
    assert ([event.text for event in events], reading.skipped_places) == (["a"], ((1, "bad_payload"),))


def test_what_is_empty_or_silent_or_unknown_is_not_broken(codex: Logs, claude: Logs) -> None:
    """Empty text, no blocks, images, silent lines of any content and unknown types are no such loss."""
    fine = [message([]), message(""), said(""), said("", "assistant"), message([{"type": "input_image"}])]
    silent = [row("world_state", "x"), row("compacted", "x"), row("response_item", {"type": "reasoning", "content": 5})]
    _, reading = codex.reading([META, *fine, *silent, row("new_kind", "x"), row("response_item", {"type": "new_item"})])
    assert reading.skipped_lines == {}
    assert reading.unknown_types == {"new_kind": 1, "response_item/new_item": 1}
    empty = [talk("user", ""), talk("user", []), talk("assistant", []), talk("assistant", "")]
    _, reading = claude.reading([*empty, {"type": "summary", "message": 5}, {"type": "new_kind", "message": 5}])
    assert (reading.skipped_lines, reading.unknown_types) == ({}, {"new_kind": 1})


def test_a_file_of_broken_payloads_alone_is_not_understood(codex: Logs, claude: Logs) -> None:
    """Nothing of it was read, so that it is a failure and no empty success."""
    assert codex.facts([row("response_item", "x")] * 3).understood_lines == 0
    assert claude.facts([{"type": "user", "message": "x"}] * 3).understood_lines == 0


def test_a_repeated_or_a_sub_agents_broken_line_is_no_loss(claude: Logs) -> None:
    """It would not have counted either when whole."""
    lines = [talk("user", "a", uuid="u"), talk("user", None, uuid="u"), talk("user", None, uuid="v", isSidechain=True)]
    assert claude.facts(lines).skipped_lines == {}


# --- records behind torn ones

TORN = packed(
    row("response_item", {"type": "reasoning", "summary": [{"type": "text", "text": "a"}], "x": "some words"})
)
WISH = {"type": "input_text", "text": "wish"}
SPELLINGS = [
    {"type": "response_item", "payload": message([WISH])["payload"], "timestamp": AT},
    {"ordinal": 3, **message([WISH])},
    {"payload": message([WISH])["payload"], "type": "response_item"},
    message([WISH])["payload"],
]


@pytest.mark.parametrize("second", SPELLINGS, ids=["type first", "ordinal first", "payload first", "bare"])
@pytest.mark.parametrize("spaced", [False, True])
def test_a_second_record_behind_a_torn_one_is_read_however_it_is_spelled(
    codex: Logs, second: dict[str, Any], spaced: bool
) -> None:
    """Only the torn one is lost."""
    events, reading = codex.reading([META, TORN[:-6] + packed(second, spaced=spaced), said("next")])
    assert [event.text for event in events] == ["wish", "next"]
    assert reading.skipped_places == ((2, "torn"),)


@pytest.mark.parametrize("second", SPELLINGS[:3], ids=["type first", "ordinal first", "payload first"])
@pytest.mark.parametrize("spaced", [False, True])
@pytest.mark.parametrize("cut", [None, -6])
def test_a_silent_line_is_not_passed_by_when_it_holds_a_second_record(
    codex: Logs, second: dict[str, Any], spaced: bool, cut: int | None
) -> None:
    """A known beginning does not hide what another record on the line says."""
    silent = packed(row("world_state", {"full": True, "words": "some words"}))[:cut]
    assert prompts(codex, [META, silent + packed(second, spaced=spaced)]) == ["wish"]


@pytest.mark.parametrize("spaced", [False, True])
@pytest.mark.parametrize("cut", [None, -6])
def test_a_second_record_of_claude_is_read_however_it_is_spelled(claude: Logs, spaced: bool, cut: int | None) -> None:
    """Behind a silent record, whole or torn, with and without the keys of the newest version."""
    silent = packed({"type": "api-request", "params": {"words": "some words"}})[:cut]
    assert prompts(claude, [silent + packed(talk("user", "wish"))]) == ["wish"]
    later = {"isSidechain": False, "parentUuid": None, **talk("user", "wish", uuid="u")}
    assert prompts(claude, [silent + packed(later, spaced=spaced)]) == ["wish"]


def test_history_inside_a_torn_line_is_not_new_talk(codex: Logs) -> None:
    """A piece of a torn compaction that is whole in itself is no record of its own."""
    history = packed({"type": "compacted", "payload": {"replacement_history": [message([WISH])["payload"]]}})
    events, reading = codex.reading([META, history[: history.rindex("]")], said("next")])
    assert [event.text for event in events] == ["next"]
    assert reading.skipped_places == ((2, "torn"),)


# --- whose words, when the event that says so is lost


@pytest.mark.parametrize("lost", [packed(told("second"))[:-9], packed(told(None))], ids=["torn", "broken"])
def test_a_lost_event_leaves_the_prompt_before_it_the_persons(codex: Logs, lost: str) -> None:
    """Where events name the prompts, the loss of one does not make the harness's words of a prompt."""
    answer = said("Done.", "assistant")
    assert prompts(codex, [META, said("first"), told("first"), answer, said("second"), lost, answer]) == [
        "first",
        "second",
    ]
    lines = [META, said("first"), told("first"), answer, said("second"), lost, said("third"), told("third")]
    assert prompts(codex, lines) == ["first", "second", "third"]


def test_a_loss_elsewhere_leaves_the_harness_its_words(codex: Logs) -> None:
    """A message that no event names stays the harness's when nothing was lost right behind it, or it is a wrapper."""
    answer = said("Done.", "assistant")
    torn = packed(told("second"))[:-9]
    wrapper = said("<environment_context>\n<cwd>/home/dev/calc</cwd>\n</environment_context>")
    lines = [META, said("first"), told("first"), torn, answer, said("reminder"), answer, wrapper, torn, answer]
    assert prompts(codex, lines) == ["first"]


# --- answers to questions


def test_answers_in_blocks_of_text_are_the_persons(codex: Logs) -> None:
    """The newest versions write a tool's output as blocks, and an answer may span several."""
    written = json.dumps({"answers": {"db": {"answers": ["SQLite", "user_note: keep it small"]}}})
    call = {"type": "function_call", "name": "request_user_input", "arguments": "{}", "call_id": "c"}
    for cuts in ([written], [written[:20], written[20:]]):
        blocks = [{"type": "input_text", "text": text} for text in cuts]
        output = {"type": "function_call_output", "call_id": "c", "output": blocks}
        assert prompts(codex, [META, row("response_item", call), row("response_item", output)]) == [
            "SQLite\nkeep it small"
        ]
