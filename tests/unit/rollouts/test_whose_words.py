"""Whose words a user line holds, where logs are old, odd or cut: in doubt they are not the person's."""

from __future__ import annotations

import json
from typing import Any

import pytest
from log_homes import THREAD, Logs

AT = "2026-01-02T03:04:05.000Z"
RULE = "From now on always use uv."
META: dict[str, Any] = {
    "timestamp": AT,
    "type": "session_meta",
    "payload": {"id": THREAD, "timestamp": AT, "cwd": "/work/calc", "source": "cli"},
}


def message(*texts: str, **more: Any) -> dict[str, Any]:
    """Give a user message of Codex without marks."""
    content = [{"type": "input_text", "text": text} for text in texts]
    payload = {"type": "message", "role": "user", "content": content, **more}
    return {"timestamp": AT, "type": "response_item", "payload": payload}


def told(text: str) -> dict[str, Any]:
    """Give the event of Codex that repeats a prompt."""
    return {"timestamp": AT, "type": "event_msg", "payload": {"type": "user_message", "message": text}}


def line(content: Any, *, role: str = "user", kind: str = "user", number: int = 1, **more: Any) -> dict[str, Any]:
    """Give a line of Claude Code."""
    return {
        "type": kind,
        "message": {"role": role, "content": content},
        "uuid": f"00000000-0000-4000-8000-{number:012d}",
        "timestamp": AT,
        "cwd": "/work/calc",
        **more,
    }


def prompts(logs: Logs, *lines: dict[str, Any]) -> list[str]:
    """Return what a log has a person say."""
    return [event.text for event in logs.events(lines) if event.kind == "prompt"]


UNKNOWN_WRAPPERS = [
    f"<some-new-hint>\nUse <Tab> and <b. {RULE}\n</some-new-hint>",
    f"<recommended_plugins>\n{RULE}\n</recommended_plugins>",
    f'<codex_internal_context source="goal">\n{RULE}\n</codex_internal_context>',
    f"<some-new-hint>{RULE}</some-new-hint>",
    f"<tool notes>{RULE}</tool notes>",
    f"<first_part>\n{RULE}\n</first_part>\n\n<second_part>\nx\n</second_part>",
    f"<environment_context>\n<cwd>/x</cwd>\n</environment_context>\n<user_instructions>\n{RULE}\n</user_instructions>",
]
OF_THE_HARNESS = [
    f"# AGENTS.md instructions for /work/calc\n\n<INSTRUCTIONS>\n{RULE}",
    f"# AGENTS.md instructions\n\n<INSTRUCTIONS>\n{RULE}",
    f"# AGENTS.md instructions for /work/calc\n\n{RULE}",
    f"# AGENTS.md instructions\n<INSTRUCTIONS>\nx\n</INSTRUCTIONS>\n<some_new_hint>\n{RULE}\n</some_new_hint>",
    f"<user_instructions>\n{RULE}",
    f"# Context from my IDE setup:\n\n## Active selection:\n{RULE}",
]
OF_THE_PERSON = [
    f"<div>{RULE}</div>",
    f"<note>{RULE}</note>",
    f"<error_log>boom</error_log> {RULE}",
    f"{RULE} <error_log>boom</error_log>",
    f"<error_log> is what we call it. {RULE}",
    f"<MyComponent>{RULE}</MyComponent>",
    f"<my-component>\n  <button>{RULE}</button>\n</my-component>",
    f'<my-component title="x">{RULE}</my-component>',
    f'<my-component :items="rows" @click="go()">\n{RULE}\n</my-component>',
    "<my-component></my-component>",
    f"# AGENTS.md instructions are ignored here. {RULE}",
    f"<skill> is not read. {RULE}",
]


@pytest.mark.parametrize("text", [*UNKNOWN_WRAPPERS, *OF_THE_HARNESS])
def test_a_message_that_is_wholly_wrapped_is_the_harness(codex: Logs, text: str) -> None:
    """Without marks a block between tags that no person types is the harness's, whatever it is called, cut or not."""
    assert prompts(codex, META, message(text), message("wish")) == ["wish"]
    assert prompts(codex, META, message(text, "wish")) == ["wish"]


@pytest.mark.parametrize("text", UNKNOWN_WRAPPERS)
def test_a_wholly_wrapped_line_of_a_transcript_is_the_programs(claude: Logs, text: str) -> None:
    """The same holds for transcripts without marks; a line that is marked as typed is believed."""
    assert prompts(claude, line(text), line("wish", number=2)) == ["wish"]
    assert prompts(claude, line(text, promptSource="typed")) == [text]


@pytest.mark.parametrize("text", OF_THE_PERSON)
def test_a_tag_in_a_prompt_stays_the_persons(codex: Logs, claude: Logs, text: str) -> None:
    """Markup of one word, and a tag with words of the person beside it, are theirs."""
    assert prompts(codex, META, message(text)) == [text]
    assert prompts(claude, line(text)) == [text]


def test_an_event_that_names_a_wrapped_prompt_is_believed(codex: Logs) -> None:
    """A block with an unknown tag is the person's where the log says so, and not where it names others."""
    block = f"<error_log>{RULE}</error_log>"
    assert prompts(codex, META, message(block), told(block)) == [block]
    assert prompts(codex, META, message(block), message("wish"), told("wish")) == ["wish"]


def test_instructions_before_a_request_are_taken_off_it(codex: Logs) -> None:
    """Of one block with the project's instructions and what was typed, only that is the person's."""
    block = f"# AGENTS.md instructions for /work/calc\n\n<INSTRUCTIONS>\n{RULE}\n</INSTRUCTIONS>\n\nFix the tests."
    assert prompts(codex, META, message(block)) == ["Fix the tests."]


def test_a_prompt_that_only_an_event_tells_loses_the_editors_wrapping(codex: Logs) -> None:
    """The event repeats the wrapping too."""
    wrapped = f"# Context from my IDE setup:\n\n## Active file: a.py\n\n## My request for Codex:\n{RULE}\n"
    assert prompts(codex, META, told(wrapped)) == [RULE]


def test_marks_that_do_not_fit_the_blocks_still_tell_what_none_is(codex: Logs) -> None:
    """When no mark speaks of a person's text, none of the blocks is one, however many there are."""
    marks = {"content_item_kinds": ["some_plugin.instructions"]}
    harness = message(RULE, "more", internal_chat_message_metadata_passthrough=marks)
    assert prompts(codex, META, harness, message("wish")) == ["wish"]


SET = [True, 1, "true", "True", "yes", [1], {"why": "hook"}]
UNSET = [False, 0, "", "false", "0", None]


@pytest.mark.parametrize("mark", ["isMeta", "isSidechain", "isCompactSummary"])
def test_a_mark_counts_however_it_is_spelled(claude: Logs, mark: str) -> None:
    """Any value that means yes makes a line the program's; one that means no leaves it the person's."""
    for value in SET:
        assert prompts(claude, line(RULE, **{mark: value}), line("wish", number=2)) == ["wish"]
    for value in UNSET:
        assert prompts(claude, line(RULE, **{mark: value})) == [RULE]


@pytest.mark.parametrize(
    "record",
    [
        line(RULE, role="assistant"),
        line(RULE, role="system"),
        line(RULE, kind="assistant"),
        line(RULE, origin="task-notification"),
        line(RULE, promptSource={"kind": "hook"}),
    ],
)
def test_a_line_that_contradicts_itself_is_not_the_persons(claude: Logs, record: dict[str, Any]) -> None:
    """The type says user and the role says assistant, or the origin is spelled oddly: nobody typed it for sure."""
    assert prompts(claude, record, line("wish", number=2)) == ["wish"]


def test_a_refusal_on_a_line_of_another_role_is_nobodys(claude: Logs) -> None:
    """Words with a refusal are the person's only where the line is."""
    refusal = f"The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\n{RULE}"
    call = [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "make"}}]
    result = [{"type": "tool_result", "tool_use_id": "t1", "content": refusal, "is_error": True}]
    called = line(call, role="assistant", kind="assistant", number=2)
    assert prompts(claude, called, line(result, number=3)) == [RULE]
    assert prompts(claude, called, line(result, number=3, role="assistant")) == []


def test_arguments_of_a_command_are_not_taken_for_a_prompt(claude: Logs) -> None:
    """The agent runs commands too, and the log writes both alike: their arguments speak for nobody."""
    asked = f"<command-message>review</command-message>\n<command-name>/review</command-name>\n<command-args>{RULE}"
    assert prompts(claude, line(f"{asked}</command-args>")) == []


@pytest.mark.parametrize("tool", ["ReadMcpResourceTool", "ListMcpResourcesTool", "mcp__notes__read"])
def test_resources_of_a_server_come_from_outside(claude: Logs, tool: str) -> None:
    """What an MCP server holds is as foreign as what its tools answer."""
    call = [{"type": "tool_use", "id": "t1", "name": tool, "input": {"uri": "notes://1"}}]
    result = [{"type": "tool_result", "tool_use_id": "t1", "content": RULE}]
    events = claude.events([line(call, role="assistant", kind="assistant"), line(result, number=2)])
    assert [event.external for event in events] == [True, True]


@pytest.mark.parametrize(
    "call",
    [
        {"type": "function_call", "name": "read_mcp_resource", "arguments": "{}"},
        {"type": "function_call", "name": "list_mcp_resources", "arguments": "{}"},
        {"type": "function_call", "name": "list_mcp_resource_templates", "arguments": "{}"},
        {"type": "custom_tool_call", "name": "exec", "input": 'await tools["mcp__notes__read"]({})'},
        {"type": "custom_tool_call", "name": "exec", "input": "await tools.read_mcp_resource({})"},
    ],
    ids=json.dumps,
)
def test_resources_of_a_server_come_from_outside_in_codex_too(codex: Logs, call: dict[str, Any]) -> None:
    """The same for Codex, also when a script reads them."""
    kind = "custom_tool_call_output" if call["type"] == "custom_tool_call" else "function_call_output"
    lines = [
        META,
        {"timestamp": AT, "type": "response_item", "payload": call | {"call_id": "c"}},
        {"timestamp": AT, "type": "response_item", "payload": {"type": kind, "call_id": "c", "output": RULE}},
    ]
    assert [event.external for event in codex.events(lines)] == [True, True]


def test_a_call_tells_where_it_runs_and_what_it_goes_on_with(codex: Logs) -> None:
    """The folder of a command, and the running command that an output leaves and a later call polls."""

    def item(**payload: Any) -> dict[str, Any]:
        return {"timestamp": AT, "type": "response_item", "payload": payload}

    def called(name: str, **arguments: Any) -> dict[str, Any]:
        return item(type="function_call", name=name, arguments=json.dumps(arguments), call_id=name)

    header = "Chunk ID: c0ffee\nWall time: 1.0 seconds\nProcess running with session ID 71\nOutput:\nhalf"
    ended = "Chunk ID: c0ffee\nProcess exited with code 0\nOutput:\nProcess running with session ID 9"
    lines = [
        META,
        called("exec_command", cmd="cat big.md", workdir="/home/sam/notes"),
        item(type="function_call_output", call_id="exec_command", output=header),
        called("write_stdin", session_id=71, chars=""),
        item(type="function_call_output", call_id="write_stdin", output=ended),
        item(
            type="custom_tool_call", name="exec", call_id="s", input='tools.exec_command({cmd: "ls", workdir: "/x/y"})'
        ),
        item(type="local_shell_call", call_id="l", action={"command": ["ls"], "working_directory": "/w"}),
    ]
    told = [(event.kind.value, event.places, event.session) for event in codex.events(lines)]
    assert told == [
        ("tool_call", ("/home/sam/notes",), None),
        ("tool_result", (), "71"),
        ("tool_call", (), "71"),
        ("tool_result", (), None),
        ("tool_call", ("ls", "/x/y"), None),
        ("tool_call", ("/w",), None),
    ]


def test_a_call_in_the_background_is_joined_with_what_reads_it(claude: Logs) -> None:
    """A result names the running command, in words or beside them; the call that reads it names it too."""

    def ran(name: str, given: dict[str, Any], text: str, number: int, **beside: Any) -> list[dict[str, Any]]:
        use = [{"type": "tool_use", "id": f"t{number}", "name": name, "input": given}]
        outcome = [{"type": "tool_result", "tool_use_id": f"t{number}", "content": text}]
        called = line(use, role="assistant", kind="assistant", number=number)
        return [called, line(outcome, number=number + 1, **beside)]

    lines = [
        *ran("Bash", {"command": "make"}, "Command running in background with ID: b1a2c3", 1),
        *ran("Bash", {"command": "make"}, "started", 3, toolUseResult={"backgroundTaskId": "b9"}),
        *ran("BashOutput", {"bash_id": "b1a2c3"}, "done", 5),
    ]
    assert [event.session for event in claude.events(lines)] == [None, "b1a2c3", None, "b9", "b1a2c3", None]


@pytest.mark.parametrize(
    "fields",
    [
        {"isVisibleInTranscriptOnly": True},
        {"isSynthetic": 1},
        {"sourceToolUseID": "t1"},
        {"sourceToolAssistantUUID": "a1"},
        {"toolUseResult": {"stdout": RULE}},
        {"agentId": "a1"},
        {"isApiErrorMessage": "true"},
        {"origin": {"type": "hook"}},
    ],
    ids=str,
)
def test_a_line_with_the_marks_of_a_tool_or_an_agent_is_the_programs(claude: Logs, fields: dict[str, Any]) -> None:
    """What came out of a tool or of another agent says so, though its type is user."""
    assert prompts(claude, line(RULE, **fields), line("wish", number=2)) == ["wish"]


@pytest.mark.parametrize("name", ["system-reminder", "task-notification", "session-start-hook"])
def test_a_block_of_the_program_that_was_cut_is_the_programs(claude: Logs, name: str) -> None:
    """A block whose end is missing is its own still; the same tag in a sentence is a person's."""
    assert prompts(claude, line(f"<{name}>\n{RULE}"), line("wish", number=2)) == ["wish"]
    asked = f"<{name}> is what I see. {RULE}"
    assert prompts(claude, line(asked)) == [asked]


def test_only_text_blocks_are_spoken(codex: Logs, claude: Logs) -> None:
    """A document that was attached to a prompt was not typed, though it holds text."""
    typed = {"type": "text", "text": "Sum it up."}
    assert prompts(claude, line([{"type": "document", "text": RULE}, typed])) == ["Sum it up."]
    content = [{"type": "input_file", "text": RULE}, {"type": "input_text", "text": "Sum it up."}]
    assert prompts(codex, META, message(content=content)) == ["Sum it up."]


def test_marks_of_an_unreadable_shape_leave_nothing_to_the_person(codex: Logs) -> None:
    """A log that marks its blocks, in a way that can't be read, does not say that they were typed."""
    marks = {"content_item_kinds": {"0": "user.text"}}
    assert prompts(codex, META, message(RULE, internal_chat_message_metadata_passthrough=marks)) == []


def test_a_secret_in_a_name_that_a_log_uses_is_masked(codex: Logs, claude: Logs) -> None:
    """Folders name scopes and unknown types are shown, so neither keeps a token."""
    token = "gh" + "p_" + "Fake0123456789" * 3
    folder, masked = f"/work/{token}", "/work/[redacted:github-token]"
    facts = codex.facts(
        [META | {"payload": META["payload"] | {"cwd": folder}}, message("wish"), {"type": token, "payload": {}}]
    )
    assert (facts.cwd, facts.unknown_types) == (masked, {"[redacted:github-token]": 1})
    assert claude.facts([line("wish", cwd=folder)]).cwd == masked


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("<relevant-memories>\n- use npm\n</relevant-memories>\n\nFix the tests.", "Fix the tests."),
        ("Fix the tests.\n<memory_context source='x'>\n- use npm\n</memory_context>", "Fix the tests."),
        ("<memory>a</memory><memory>b</memory>Fix it.", "Fix it."),
        ("Why does <memory>a</memory> appear?", "Why does <memory>a</memory> appear?"),
        ("Free <memory> sooner.", "Free <memory> sooner."),
        ("<memory> leaks here", "<memory> leaks here"),
    ],
)
def test_what_a_memory_tool_put_around_a_prompt_is_taken_off(codex: Logs, claude: Logs, text: str, left: str) -> None:
    """Blocks before and behind a prompt were not typed, even where all of it is marked so; a tag inside one was."""
    marks = {"content_item_kinds": ["user.text"]}
    assert prompts(codex, META, message(text)) == [left]
    assert prompts(codex, META, message(text, internal_chat_message_metadata_passthrough=marks), told(text)) == [left]
    assert prompts(claude, line(text)) == [left]
    assert prompts(claude, line(text, promptSource="typed")) == [left]


def test_a_prompt_of_memories_alone_is_none(codex: Logs, claude: Logs) -> None:
    """Where a memory tool said everything, nobody said anything; the title is what a person typed first."""
    block = f"<memories>\n- {RULE}\n</memories>"
    assert codex.facts([META, message(block), message("wish")]).title == "wish"
    assert prompts(claude, line(block, promptSource="typed"), line("wish", number=2)) == ["wish"]
