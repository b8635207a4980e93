"""The grammar of Codex: each shape, and the events it stands for."""

from __future__ import annotations

import json
from typing import Any

import pytest
from log_homes import THREAD, Logs

from memory_pipeline.records import EventKind, Source, Speaker, ToolStatus
from memory_pipeline.rollouts.codex_session import codex_source

AT = "2026-01-02T03:04:05.000Z"


def line(kind: str, **payload: Any) -> dict[str, Any]:
    """Give a line of the enveloped shape."""
    return {"timestamp": AT, "type": kind, "payload": payload}


def item(kind: str, **fields: Any) -> dict[str, Any]:
    """Give a response item line."""
    return line("response_item", type=kind, **fields)


def event(kind: str, **fields: Any) -> dict[str, Any]:
    """Give an event line."""
    return line("event_msg", type=kind, **fields)


def turn_item(kind: str, **fields: Any) -> dict[str, Any]:
    """Give a completed item of the paginated shape."""
    return event("item_completed", thread_id=THREAD, turn_id="t", item={"type": kind, **fields})


def user(*texts: str, kinds: list[str] | None = None) -> dict[str, Any]:
    """Give a message under role user."""
    marks = {"internal_chat_message_metadata_passthrough": {"content_item_kinds": kinds}} if kinds else {}
    return item("message", role="user", content=[{"type": "input_text", "text": text} for text in texts], **marks)


def said(text: str, phase: str | None = None) -> dict[str, Any]:
    """Give a message of the assistant."""
    return item("message", role="assistant", content=[{"type": "output_text", "text": text}], phase=phase)


def call(name: str, arguments: Any, call_id: str = "c1", **more: Any) -> dict[str, Any]:
    """Give a function call."""
    return item("function_call", name=name, arguments=json.dumps(arguments), call_id=call_id, **more)


def output(value: Any, call_id: str = "c1", kind: str = "function_call_output") -> dict[str, Any]:
    """Give a function call's output."""
    return item(kind, call_id=call_id, output=value)


META = line("session_meta", id=THREAD, timestamp=AT, cwd="/work/calc", source="cli", model_provider="mock")
AGENTS = "# AGENTS.md instructions for /work/calc\n\n<INSTRUCTIONS>\nPrefer tabs.\n</INSTRUCTIONS>"
ENVIRONMENT = "<environment_context>\n  <cwd>/work/calc</cwd>\n</environment_context>"


def talk(logs: Logs, lines: list[Any]) -> list[tuple[str, str]]:
    """Give kind and text of what is not context."""
    return [(event.kind.value, event.text) for event in logs.events(lines) if event.kind is not EventKind.CONTEXT]


def test_the_oldest_shape_is_bare_items(codex: Logs) -> None:
    """Line 1 without a type, bare items without times, state markers: all are read."""
    lines: list[Any] = [
        {"id": THREAD, "timestamp": AT, "instructions": None, "git": {"repository_url": "git@git.example.org:t/c.git"}},
        {"record_type": "state"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": ENVIRONMENT}]},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "fix the test"}]},
        {"type": "reasoning", "summary": [], "encrypted_content": "x"},
        {
            "type": "function_call",
            "name": "shell",
            "arguments": '{"command":["bash","-lc","make test"]}',
            "call_id": "a",
        },
        {
            "type": "function_call_output",
            "call_id": "a",
            "output": '{"output":"1 failed\\n","metadata":{"exit_code":2,"duration_seconds":0.1}}',
        },
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "It fails."}]},
    ]
    events, reading = codex.reading(lines)
    assert [(event.kind, event.text, event.turn) for event in events] == [
        (EventKind.CONTEXT, ENVIRONMENT, 0),
        (EventKind.PROMPT, "fix the test", 1),
        (EventKind.TOOL_CALL, "make test", 1),
        (EventKind.TOOL_RESULT, "1 failed\n", 1),
        (EventKind.FINAL_ANSWER, "It fails.", 1),
    ]
    assert (events[3].status, events[3].exit_code, events[3].tool) == (ToolStatus.FAILED, 2, "shell")
    assert events[1].at is None
    assert events[1].cwd == "/work/calc"
    assert reading.notes.git_remote == "git@git.example.org:t/c.git"
    assert (reading.understood_lines, reading.total_lines, dict(reading.unknown_types)) == (8, 8, {})


def test_events_that_repeat_the_talk_are_not_counted_twice(codex: Logs) -> None:
    """A prompt and an answer, each told by an item and an event, are one event each."""
    lines = [
        META,
        user("add a test"),
        event("user_message", message="add a test", images=[]),
        event("agent_reasoning", text="hm"),
        event("agent_message", message="Added."),
        said("Added.", "final_answer"),
        event("task_complete", last_agent_message="Added."),
    ]
    assert talk(codex, lines) == [("prompt", "add a test"), ("final_answer", "Added.")]


def test_a_user_item_that_no_event_names_is_the_harness(codex: Logs) -> None:
    """Where events name the prompts, an unwrapped first item and a warning in mid-turn are not the person's."""
    lines = [
        META,
        user("(instructions without a wrapper)"),
        user("first wish"),
        event("user_message", message="first wish"),
        call("exec_command", {"cmd": "ls"}),
        user("You should use another tool."),
        output("Process exited with code 0\nOutput:\na\n"),
        said("Done."),
    ]
    assert [(kind, speaker) for kind, speaker, _ in codex.told(lines)] == [
        ("context", "harness"),
        ("prompt", "user"),
        ("tool_call", "assistant"),
        ("context", "harness"),
        ("tool_result", "tool"),
        ("final_answer", "assistant"),
    ]


@pytest.mark.parametrize("before", [True, False])
def test_the_event_may_stand_before_or_behind_its_message(codex: Logs, before: bool) -> None:
    """Whichever way round, the prompt is one event, at the message's line."""
    pair = [event("user_message", message="wish"), user("wish")]
    lines = [META, *(pair if before else pair[::-1]), said("Done.")]
    events = codex.events(lines)
    assert [event.text for event in events] == ["wish", "Done."]
    assert events[0].line_number == (3 if before else 2)


def test_an_event_without_a_message_is_the_prompt(codex: Logs) -> None:
    """A prompt that only an event tells is kept, at its place."""
    assert talk(codex, [META, event("user_message", message="only here"), said("Done.")]) == [
        ("prompt", "only here"),
        ("final_answer", "Done."),
    ]


def test_without_events_the_wrappers_decide(codex: Logs) -> None:
    """What is wholly a wrapper is context; a tag inside a person's text stays the person's."""
    lines = [META, user(AGENTS, ENVIRONMENT), user("what does <environment_context> mean?"), said("It is a tag.")]
    assert codex.told(lines) == [
        ("context", "harness", f"{AGENTS}\n{ENVIRONMENT}"),
        ("prompt", "user", "what does <environment_context> mean?"),
        ("final_answer", "assistant", "It is a tag."),
    ]


def test_the_newest_marks_decide_even_against_wrappers(codex: Logs) -> None:
    """``user.text`` is typed, whatever it looks like; any other kind is context, whatever it looks like."""
    lines = [
        META,
        user("looks typed", kinds=["some_plugin.instructions"]),
        user(ENVIRONMENT, kinds=["user.text"]),
        turn_item("UserMessage", content=[{"type": "text", "text": ENVIRONMENT}]),
        said("Yes.", "final_answer"),
    ]
    assert codex.told(lines) == [
        ("context", "harness", "looks typed"),
        ("prompt", "user", ENVIRONMENT),
        ("final_answer", "assistant", "Yes."),
    ]


def test_an_answer_without_a_phase_is_final_only_at_the_end_of_its_turn(codex: Logs) -> None:
    """What is followed by a tool call was commentary; before a prompt and at the end it was the answer."""
    lines = [
        META,
        user("a"),
        said("Looking."),
        call("exec_command", {"cmd": "ls"}),
        output(""),
        said("One."),
        user("b"),
        said("Two."),
    ]
    assert [entry for entry in talk(codex, lines) if entry[0] in ("commentary", "final_answer")] == [
        ("commentary", "Looking."),
        ("final_answer", "One."),
        ("final_answer", "Two."),
    ]


@pytest.mark.parametrize(
    ("value", "text", "status", "code"),
    [
        ("Chunk ID: a1\nWall time: 0.1 seconds\nProcess exited with code 3\nOutput:\nno\n", "no\n", "failed", 3),
        ("Exit code: 0\nWall time: 1 seconds\nOutput:\nyes\n", "yes\n", "ok", 0),
        ("Wall time: 0.0 seconds\nOutput:\nExit code: 1\nWall time: 0 seconds\nOutput:\nx", "x", "failed", 1),
        ('{"output":"z","metadata":{"exit_code":0}}', "z", "ok", 0),
        (
            [{"type": "input_text", "text": "Script failed\nOutput:\n"}, {"type": "input_text", "text": "q"}],
            "q",
            "unknown",
            None,
        ),
        ({"content": "done", "success": True}, "done", "ok", None),
        ("exec command rejected by user", "exec command rejected by user", "denied", None),
        ("aborted by user after 3.1s", "aborted by user after 3.1s", "interrupted", None),
        ("unsupported call: x", "unsupported call: x", "failed", None),
        ("Plan updated", "Plan updated", "unknown", None),
        ("Exit code: 0\nOutput:\nthe log says: rejected by user", "the log says: rejected by user", "ok", 0),
    ],
)
def test_outputs_tell_how_the_call_ended(codex: Logs, value: Any, text: str, status: str, code: int | None) -> None:
    """Header, JSON, blocks and plain refusals: status, exit code and the output itself."""
    result = codex.events([META, call("exec_command", {"cmd": "x"}), output(value)])[-1]
    assert (result.text, result.status, result.exit_code, result.tool) == (text, status, code, "exec_command")


@pytest.mark.parametrize(
    "refusal",
    [
        "Exec command rejected by the user",
        "The user declined to run it",
        "user DENIED the call",
        "Approval was denied",
        "permission denied",
        "command rejected by user approval settings",
        "rejected command — you should not ask",
        "approval policy is Never; reject it",
        "This is blocked by policy",
        "writing outside of the project; rejected",
        "The command was declined",
    ],
)
def test_a_refusal_is_known_by_each_of_its_wordings(codex: Logs, refusal: str) -> None:
    """However a person or a policy says no, and in whatever case, the call counts as denied."""
    assert codex.events([META, call("exec_command", {"cmd": "x"}), output(refusal)])[-1].status == "denied"


@pytest.mark.parametrize(
    ("report", "status", "code"),
    [
        (event("exec_command_end", call_id="c1", exit_code=7), ToolStatus.FAILED, 7),
        (event("patch_apply_end", call_id="c1", success=False), ToolStatus.FAILED, None),
        (event("mcp_tool_call_end", call_id="c1", result={"Err": "no"}), ToolStatus.FAILED, None),
        (turn_item("CommandExecution", id="c1", status="declined"), ToolStatus.DENIED, None),
        (turn_item("FileChange", id="c1", status="completed"), ToolStatus.OK, None),
    ],
)
def test_events_tell_what_the_output_leaves_out(codex: Logs, report: Any, status: ToolStatus, code: int | None) -> None:
    """An exit code or a refusal that stands only in an event reaches the tool result."""
    result = codex.events([META, call("shell", {"command": ["x"]}), report, output("text")])[-1]
    assert (result.kind, result.status, result.exit_code) == (EventKind.TOOL_RESULT, status, code)


@pytest.mark.parametrize(
    ("made", "command", "paths"),
    [
        (call("shell", {"command": ["/bin/zsh", "-lc", "make"]}), "make", ()),
        (call("shell", {"command": ["ls", "a b"]}), "ls 'a b'", ()),
        (
            call(
                "exec_command", {"cmd": "apply_patch <<'E'\n*** Begin Patch\n*** Update File: a.py\n*** End Patch\nE"}
            ),
            "apply_patch <<'E'\n*** Begin Patch\n*** Update File: a.py\n*** End Patch\nE",
            ("a.py",),
        ),
        (
            item(
                "custom_tool_call",
                name="apply_patch",
                call_id="c1",
                input="*** Begin Patch\n*** Add File: b.py\n+x\n*** Update File: c.py\n*** Move to: d.py\n",
            ),
            None,
            ("b.py", "c.py", "d.py"),
        ),
        (
            item(
                "custom_tool_call",
                name="exec",
                call_id="c1",
                input='const r = await tools.exec_command({cmd: "echo \\"hi\\"; ls", wait: 5});\ntext(r.output);',
            ),
            'echo "hi"; ls',
            (),
        ),
        (
            item(
                "custom_tool_call",
                name="exec",
                call_id="c1",
                input='await tools.apply_patch("*** Begin Patch\\n*** Update File: e.py\\n*** End Patch\\n");',
            ),
            None,
            ("e.py",),
        ),
        (item("local_shell_call", call_id="c1", action={"type": "exec", "command": ["bash", "-lc", "pwd"]}), "pwd", ()),
    ],
)
def test_calls_tell_their_command_and_files(
    codex: Logs, made: Any, command: str | None, paths: tuple[str, ...]
) -> None:
    """Shell calls, patches in each guise and code-mode scripts."""
    (event,) = codex.events([META, made])
    assert (event.kind, event.command, event.paths, event.call_id) == (EventKind.TOOL_CALL, command, paths, "c1")


def test_a_script_takes_the_worst_of_what_it_ran(codex: Logs) -> None:
    """In code mode commands are reported under ids of their own; a failing one makes the script's result fail."""
    lines = [
        META,
        item("custom_tool_call", name="exec", call_id="c1", input='await tools.exec_command({cmd: "false"})'),
        turn_item("CommandExecution", id="exec-1", status="failed", exit_code=1, source="unified_exec_startup"),
        turn_item("CommandExecution", id="exec-2", status="completed", exit_code=0, source="unified_exec_startup"),
        output([{"type": "input_text", "text": "Script completed\nOutput:\n"}], kind="custom_tool_call_output"),
    ]
    result = codex.events(lines)[-1]
    assert (result.text, result.status, result.exit_code) == ("", ToolStatus.FAILED, 1)


SHELL_MESSAGE = (
    "<user_shell_command>\n<command>\nls\n</command>\n<result>\n"
    "Exit code: 1\nDuration: 0.1 seconds\nOutput:\nnone\n</result>\n</user_shell_command>"
)
SHELL_EVENT = event(
    "exec_command_end",
    call_id="s1",
    command=["bash", "-lc", "ls"],
    source="user_shell",
    exit_code=1,
    aggregated_output="none",
)


@pytest.mark.parametrize(
    "told",
    [[user(SHELL_MESSAGE)], [SHELL_EVENT], [user(SHELL_MESSAGE), SHELL_EVENT], [SHELL_EVENT, user(SHELL_MESSAGE)]],
)
def test_the_persons_own_command_is_told_once(codex: Logs, told: list[Any]) -> None:
    """By message, by event or by both: one SHELL and one result that names it."""
    shell, result = codex.events([META, *told])
    assert (shell.kind, shell.speaker, shell.command) == (EventKind.SHELL, Speaker.USER, "ls")
    assert (result.kind, result.speaker, result.text) == (EventKind.TOOL_RESULT, Speaker.TOOL, "none")
    assert (result.status, result.exit_code, result.call_id) == (ToolStatus.FAILED, 1, shell.call_id)


ABORTED_MESSAGE = user("<turn_aborted>\nThe user interrupted the previous turn.\n</turn_aborted>")
ABORTED_EVENT = event("turn_aborted", reason="interrupted")


@pytest.mark.parametrize("told", [[ABORTED_MESSAGE], [ABORTED_EVENT], [ABORTED_MESSAGE, ABORTED_EVENT]])
def test_a_stopped_turn_is_told_once(codex: Logs, told: list[Any]) -> None:
    """The person's stop is one INTERRUPTED, and the text before it was no final answer."""
    events = codex.events([META, user("go"), said("Working."), *told, user("go on"), said("Done.")])
    assert [event.kind for event in events] == [
        EventKind.PROMPT,
        EventKind.COMMENTARY,
        EventKind.INTERRUPTED,
        EventKind.PROMPT,
        EventKind.FINAL_ANSWER,
    ]


def test_a_failed_turn_is_told_apart_from_a_passing_fault(codex: Logs) -> None:
    """An error ends the turn; a broken stream only when nothing followed it."""
    broken = event("stream_error", message="stream disconnected")
    assert talk(codex, [META, user("a"), event("error", message="quota reached")])[-1] == (
        "failed_turn",
        "quota reached",
    )
    assert talk(codex, [META, user("a"), broken])[-1] == ("failed_turn", "stream disconnected")
    assert [kind for kind, _ in talk(codex, [META, user("a"), broken, said("Done.")])] == ["prompt", "final_answer"]


def test_a_compaction_repeats_nothing(codex: Logs) -> None:
    """The replacement history and the compaction's own output are no talk; the compaction is one event."""
    lines = [
        META,
        user("wish"),
        said("Done.", "final_answer"),
        {**said("Summary of it all."), "metadata": {"compaction_output": True}},
        line(
            "compacted",
            message="Summary.",
            replacement_history=[{"type": "message", "role": "user", "content": "wish"}],
        ),
        event("context_compacted"),
        turn_item("ContextCompaction", id="x"),
    ]
    assert [kind for kind, _ in talk(codex, lines)] == ["prompt", "final_answer", "compacted"]


def test_answers_to_questions_are_the_persons(codex: Logs) -> None:
    """What a person chose or wrote when the agent asked is a prompt of theirs."""
    answers = json.dumps({"answers": {"db": {"answers": ["SQLite", "user_note: keep it small"]}}})
    asked = call("request_user_input", {"questions": [{"id": "db", "question": "Which database?"}]})
    answered = codex.events([META, asked, output(answers)])[-1]
    assert (answered.kind, answered.speaker) == (EventKind.PROMPT, Speaker.USER)
    assert answered.text == "SQLite\nkeep it small"
    assert codex.events([META, asked, output("cancelled")])[-1].kind is EventKind.TOOL_RESULT


def test_other_agents_words_are_reports(codex: Logs) -> None:
    """Notifications, messages between agents and what a wait returns are of other agents."""
    lines = [
        META,
        user('<subagent_notification>\n{"status":"done"}\n</subagent_notification>'),
        item("agent_message", content=[{"type": "text", "text": "I looked."}]),
        call("wait_agent", {"ids": ["x"]}),
        output("found it"),
    ]
    events = codex.events(lines)
    assert [event.speaker for event in events if event.kind is EventKind.REPORT] == [Speaker.OTHER_AGENT] * 3


@pytest.mark.parametrize(
    "made",
    [
        call("files__read", {}),
        call("read", {}, namespace="mcp__files"),
        call("mcp__files__read", {}),
        item("web_search_call", id="c1", action={"type": "search", "query": "q"}),
        item("custom_tool_call", name="exec", call_id="c1", input="await tools.mcp__files__read({})"),
    ],
)
def test_web_and_mcp_are_external(codex: Logs, made: Any) -> None:
    """Calls of web search and MCP tools, and their results, bring words from outside."""
    events = codex.events([META, made, *([] if "action" in made["payload"] else [output("x")])])
    assert all(event.external for event in events)
    assert not codex.events([META, call("exec_command", {"cmd": "ls"})])[0].external


@pytest.mark.parametrize(
    "made",
    [
        call("memory-pipeline__search_memories", {"query": "q"}),
        call("mcp__memory_pipeline__read_memory", {"memory_id": "m_1"}),
        call("search_memories", {"query": "q"}, namespace="mcp__memory-pipeline"),
        call("read_mcp_resource", {"server": "memory-pipeline", "uri": "memory-pipeline://summary"}),
        item("custom_tool_call", name="exec", call_id="c1", input="await tools.mcp__memory_pipeline__read_memory({})"),
    ],
)
def test_our_own_server_is_not_external(codex: Logs, made: Any) -> None:
    """What it tells was said in these very logs."""
    lines = [META, made, output("x")]
    assert not any(event.external for event in codex.events(lines))
    assert not codex.facts(lines).external_context


def test_a_script_that_calls_other_servers_too_is_external(codex: Logs) -> None:
    """Our own name beside another one opens no door."""
    script = "await tools.mcp__memory_pipeline__read_memory({}); await tools.mcp__files__read({})"
    made = item("custom_tool_call", name="exec", call_id="c1", input=script)
    assert all(event.external for event in codex.events([META, made, output("x")]))


def test_images_become_markers(codex: Logs) -> None:
    """An inline image in a prompt leaves its size, not its bytes."""
    content = [
        {"type": "input_text", "text": "see"},
        {"type": "input_image", "image_url": "data:image/png;base64," + "A" * 78},
    ]
    (prompt,) = codex.events([META, item("message", role="user", content=content)])
    assert prompt.text == "see\n[image, 100 bytes]"


def test_unknown_types_are_counted_by_name(codex: Logs) -> None:
    """Types of the future are counted, and what is known is still read."""
    lines = [META, line("moonbeam", x=1), item("moon_item"), event("moon_event"), turn_item("Moon"), user("wish")]
    events, reading = codex.reading(lines)
    assert [event.text for event in events] == ["wish"]
    assert dict(reading.unknown_types) == {
        "moonbeam": 1,
        "response_item/moon_item": 1,
        "event_msg/moon_event": 1,
        "item_completed/Moon": 1,
    }


def test_the_stream_grammar_saved_as_a_rollout_is_not_understood(codex: Logs) -> None:
    """``exec --json`` output is another grammar: nothing of it counts as understood."""
    lines: list[Any] = [
        {"type": "thread.started", "thread_id": THREAD},
        {"type": "item.completed", "item": {"id": "i", "type": "agent_message", "text": "hi"}},
        {"type": "error", "message": "x"},
    ]
    events, reading = codex.reading(lines)
    assert (events, reading.understood_lines, sum(reading.unknown_types.values())) == ([], 0, 3)


def test_the_first_meta_is_the_identity_and_its_repeats_bring_settings(codex: Logs) -> None:
    """An ancestor's meta changes nothing; a repeat of the own one may switch memory off."""
    other = line("session_meta", id="parent", cwd="/other", source="exec", memory_mode="polluted")
    facts = codex.facts(
        [META, other, {**META, "payload": {**META["payload"], "memory_mode": "disabled"}}, user("wish")]
    )
    assert (facts.thread_id, facts.cwd, facts.source) == (THREAD, "/work/calc", Source.INTERACTIVE)
    assert (facts.memory_mode, facts.model_provider) == ("disabled", "mock")


def test_the_last_rate_limits_are_kept(codex: Logs) -> None:
    """Both windows of the last snapshot that tells one, with absolute and relative resets."""
    lines = [
        META,
        event("token_count", rate_limits={"primary": {"used_percent": 10.0}}),
        event(
            "token_count",
            rate_limits={
                "primary": {"used_percent": 42, "window_minutes": 300, "resets_at": 1767326645},
                "secondary": {"used_percent": 7.5, "resets_in_seconds": 60},
            },
        ),
        event("token_count", rate_limits={"primary": None}),
    ]
    primary, secondary = codex.facts(lines).rate_limits
    assert (primary.used_percent, primary.window_minutes, primary.resets_at) == (42.0, 300, 1767326645.0)
    assert (secondary.used_percent, secondary.resets_at) == (7.5, secondary.seen_at + 60)


@pytest.mark.parametrize("absurd", ["NaN", "Infinity", "-Infinity", "1e308", "1" + "0" * 400, "true", '"9"', "null"])
@pytest.mark.parametrize("key", ["used_percent", "window_minutes", "resets_at", "resets_in_seconds"])
def test_a_rate_limit_that_no_number_tells_harms_nothing(codex: Logs, key: str, absurd: str) -> None:
    """Whatever stands there, what is read can be stored and written as a time, and holds nothing for years."""
    window = '{"used_percent": 99.0, "window_minutes": 300, "resets_in_seconds": 60}'
    broken = json.loads(window) | {key: "ABSURD"}
    text = json.dumps(event("token_count", rate_limits={"primary": broken})).replace('"ABSURD"', absurd)
    facts = codex.facts([META, user("wish"), text])
    assert facts.prompt_count == 1
    for limit in facts.rate_limits:
        assert 0 <= limit.used_percent < 1e6
        assert limit.resets_at is None or limit.resets_at - limit.seen_at < 366 * 86_400
        assert limit.window_minutes is None or limit.window_minutes < 1e10


def test_the_folder_of_the_turn_is_on_its_events(codex: Logs) -> None:
    """A turn may run in another folder; a ``file://`` folder is a path."""
    lines = [META, line("turn_context", cwd="file:///work/a%20b"), user("wish"), said("Done.")]
    assert {event.cwd for event in codex.events(lines)} == {"/work/a b"}
    assert codex.facts(lines).cwd == "/work/calc"


@pytest.mark.parametrize(
    ("meta", "source"),
    [
        ({"source": "cli"}, Source.INTERACTIVE),
        ({"source": "vscode"}, Source.INTERACTIVE),
        ({}, Source.INTERACTIVE),
        ({"originator": "codex_exec"}, Source.HEADLESS),
        ({"source": "exec"}, Source.HEADLESS),
        ({"source": "mcp"}, Source.HEADLESS),
        ({"source": {"subagent": "review"}}, Source.SUBAGENT),
        ({"source": {"subagent": {"thread_spawn": {"parent_thread_id": "x", "depth": 1}}}}, Source.SUBAGENT),
        ({"source": "cli", "thread_source": "subagent"}, Source.SUBAGENT),
        ({"source": "cli", "thread_source": "guardian_review"}, Source.SUBAGENT),
        ({"source": {"subagent": "memory_consolidation"}}, Source.OWN),
        ({"source": "cli", "thread_source": "memory_consolidation"}, Source.OWN),
        ({"source": {"custom": "kiosk"}}, Source.OTHER),
        ({"source": "unknown"}, Source.OTHER),
    ],
)
def test_how_a_session_ran_is_told_by_its_meta(meta: dict[str, Any], source: Source) -> None:
    """Each way to name the source."""
    assert codex_source(meta) is source


def test_bulky_lines_passed_by_change_nothing_when_they_are_whole_only(codex: Logs) -> None:
    """A silent line that holds a second record, or is torn, is not passed by unseen."""
    silent = json.dumps(line("world_state", full=True), separators=(",", ":"))
    prompt = json.dumps(user("wish"), separators=(",", ":"))
    events, reading = codex.reading([META, silent + prompt, silent[:-2]])
    assert [event.text for event in events] == ["wish"]
    assert reading.skipped_lines == {"torn": 1}
