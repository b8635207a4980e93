"""What a Codex log says twice, as a message and as an event, is told once, and also when one of the two is lost."""

from __future__ import annotations

import json
from typing import Any

import pytest
from log_homes import THREAD, Logs

AT = "2026-01-02T03:04:05.000Z"


def row(kind: str, **payload: Any) -> dict[str, Any]:
    """Give a line of a Codex rollout."""
    return {"timestamp": AT, "type": kind, "payload": payload}


def answered(text: str, phase: str = "final_answer") -> dict[str, Any]:
    """Give the message in which the agent says something."""
    return row(
        "response_item",
        type="message",
        role="assistant",
        content=[{"type": "output_text", "text": text}],
        phase=phase,
    )


def item(text: str, phase: str = "final_answer") -> dict[str, Any]:
    """Give the item that repeats it."""
    told = {"type": "AgentMessage", "id": "m", "content": [{"type": "Text", "text": text}], "phase": phase}
    return row("event_msg", type="item_completed", thread_id=THREAD, turn_id="t", item=told, completed_at_ms=1)


def said(text: str) -> dict[str, Any]:
    """Give a message of which its log does not say whose it is."""
    return row("response_item", type="message", role="user", content=[{"type": "input_text", "text": text}])


def told(text: str) -> dict[str, Any]:
    """Give the event that repeats a prompt."""
    return row("event_msg", type="user_message", message=text)


def torn(line: dict[str, Any]) -> str:
    """Give a line that a kill broke off."""
    return json.dumps(line, separators=(",", ":"))[:-25]


META = row("session_meta", id=THREAD, timestamp=AT, cwd="/work/calc", source="cli")
CALL = row("response_item", type="function_call", name="f", arguments="{}", call_id="c")
DONE = row("event_msg", type="task_complete")


@pytest.mark.parametrize("order", ["item first", "message first"])
def test_an_answer_that_is_there_twice_counts_once(codex: Logs, order: str) -> None:
    """Whichever comes first, and whatever silent line stands between."""
    pair = [item("Fixed."), row("event_msg", type="token_count", info=None), answered("Fixed.")]
    lines = [META, said("fix it"), *(pair if order == "item first" else reversed(pair)), DONE]
    assert codex.told(lines)[1:] == [("final_answer", "assistant", "Fixed.")]


@pytest.mark.parametrize("lost", [[torn(answered("Fixed."))], []], ids=["torn", "missing"])
def test_an_answer_whose_message_is_lost_is_told_by_its_item(codex: Logs, lost: list[Any]) -> None:
    """The words stand, with the item's own line as evidence, in either reading."""
    lines = [META, said("fix it"), item("Fixed."), *lost, DONE, said("next")]
    events = codex.events(lines)
    assert [event.text for event in events] == ["fix it", "Fixed.", "next"]
    raw = codex.path.read_bytes()[events[1].byte_start : events[1].byte_end]
    assert json.loads(raw)["payload"]["item"]["type"] == "AgentMessage"
    assert codex.facts(lines).result_chars == len("Fixed.")


def test_a_comment_whose_message_was_torn_stands_before_what_follows_it(codex: Logs) -> None:
    """The order of the log is kept."""
    lines = [META, said("go"), item("I look.", "commentary"), torn(answered("I look.", "commentary")), CALL, DONE]
    assert [event.text for event in codex.events(lines)] == ["go", "I look.", "{}"]


def test_an_answer_whose_item_was_torn_is_told_by_its_message(codex: Logs) -> None:
    """Nothing is lost but the repetition."""
    lines = [META, said("fix it"), torn(item("Fixed.")), answered("Fixed."), DONE]
    assert [event.text for event in codex.events(lines)] == ["fix it", "Fixed."]


def test_a_prompt_whose_event_was_torn_before_it_is_the_persons(codex: Logs) -> None:
    """In a log whose events stand before the messages, the loss of one makes no harness's words of a prompt."""
    lines = [META, told("first"), said("first"), answered("ok"), torn(told("second")), said("second"), answered("ok")]
    prompts = [text for kind, _, text in codex.told(lines) if kind == "prompt"]
    assert prompts == ["first", "second"]
    assert codex.facts(lines).prompt_count == 2


def test_a_prompt_whose_message_was_torn_behind_its_event_is_the_persons(codex: Logs) -> None:
    """The event is then the only record of it."""
    lines = [META, told("first"), said("first"), answered("ok"), told("second"), torn(said("second")), answered("ok")]
    assert [text for kind, _, text in codex.told(lines) if kind == "prompt"] == ["first", "second"]


def test_an_answer_and_a_prompt_that_only_events_tell_both_stand(codex: Logs) -> None:
    """Neither waits for the other."""
    lines = [META, said("fix it"), told("fix it"), item("Fixed."), told("next"), DONE]
    assert sorted(event.text for event in codex.events(lines)) == ["Fixed.", "fix it", "next"]


RUN = row("response_item", type="function_call", name="exec_command", arguments='{"cmd":"make"}', call_id="c1")
OTHER = row("response_item", type="function_call", name="exec_command", arguments='{"cmd":"ls"}', call_id="c2")


def ended(shape: str, call_id: str = "c1", text: str = "two warnings") -> dict[str, Any]:
    """Give the event, or the item, that tells how a command ended and what it printed."""
    report = {"aggregated_output": text, "exit_code": 2, "status": "failed", "command": ["bash", "-lc", "make"]}
    if shape == "event":
        return row("event_msg", type="exec_command_end", call_id=call_id, **report)
    command = {"type": "CommandExecution", "id": call_id, "source": "unified_exec_startup", **report}
    return row("event_msg", type="item_completed", item=command)


def printed(call_id: str = "c1", text: str = "two warnings") -> dict[str, Any]:
    """Give the output itself."""
    output = f"Process exited with code 2\nOutput:\n{text}"
    return row("response_item", type="function_call_output", call_id=call_id, output=output)


def results(events: list[Any]) -> list[tuple[str, str | None, int | None]]:
    """Tell what tools printed: the words, the call and the exit code."""
    return [(event.text, event.call_id, event.exit_code) for event in events if event.kind.value == "tool_result"]


@pytest.mark.parametrize("shape", ["event", "item"])
@pytest.mark.parametrize("lost", [[torn(printed())], []], ids=["torn", "missing"])
def test_an_output_whose_line_is_lost_is_told_by_its_event(codex: Logs, shape: str, lost: list[Any]) -> None:
    """The words and the exit code stand, with the event's own line as evidence."""
    events = codex.events([META, said("build it"), RUN, ended(shape), *lost, answered("It warns."), DONE])
    assert results(events) == [("two warnings", "c1", 2)]
    (result,) = (event for event in events if event.kind.value == "tool_result")
    raw = codex.path.read_bytes()[result.byte_start : result.byte_end]
    assert json.loads(raw)["payload"]["type"] in ("exec_command_end", "item_completed")


def test_an_output_whose_line_was_torn_stands_before_what_follows_it(codex: Logs) -> None:
    """The order of the log is kept."""
    lines = [META, said("go"), RUN, ended("item"), torn(printed()), answered("It warns."), DONE]
    assert [event.text for event in codex.events(lines)] == ["go", "make", "two warnings", "It warns."]


@pytest.mark.parametrize("shape", ["event", "item"])
def test_an_output_that_is_there_counts_once(codex: Logs, shape: str) -> None:
    """Also when another line was lost between the event and the output, of two commands that ran at once."""
    ends = [ended(shape), ended(shape, "c2", "a.txt")]
    lines = [
        META,
        said("go"),
        RUN,
        OTHER,
        *ends,
        torn(META),
        printed("c2", "a.txt"),
        printed(),
        answered("Done."),
        DONE,
    ]
    assert sorted(results(codex.events(lines))) == [("a.txt", "c2", 2), ("two warnings", "c1", 2)]


def test_a_command_that_ends_after_its_first_output_is_told_once(codex: Logs) -> None:
    """A command left running gives its output line first; the event that ends it later repeats nothing."""
    lines = [META, said("go"), RUN, printed(text="still running"), ended("item"), DONE, said("next")]
    assert [text for text, _, _ in results(codex.events(lines))] == ["still running"]
