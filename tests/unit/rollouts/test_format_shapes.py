"""One small invented log for each shape that the agents have written, with the events that it stands for."""

from __future__ import annotations

import json
from typing import Any

import pytest
from log_homes import THREAD, Logs

from memory_pipeline.records import Agent, Source

AT = "2026-01-02T03:04:05.000Z"
Told = list[tuple[str, str, str]]


def row(line_type: str, /, **payload: Any) -> dict[str, Any]:
    """Give an enveloped line of Codex."""
    return {"timestamp": AT, "type": line_type, "payload": payload}


def message(role: str, text: str, **more: Any) -> dict[str, Any]:
    """Give a message of Codex."""
    return row("response_item", type="message", role=role, content=[{"type": "input_text", "text": text}], **more)


def event(kind: str, /, **fields: Any) -> dict[str, Any]:
    """Give an event line of Codex."""
    return row("event_msg", type=kind, **fields)


def meta(**more: Any) -> dict[str, Any]:
    """Give the first line of a Codex rollout."""
    return row("session_meta", id=THREAD, timestamp=AT, cwd="/work/calc", **more)


def ran(command: str, output: Any, name: str = "exec_command", **beside: Any) -> list[dict[str, Any]]:
    """Give a call of Codex and its output."""
    arguments = json.dumps({"cmd": command})
    called = row("response_item", type="function_call", name=name, arguments=arguments, call_id="c1")
    answered = row("response_item", type="function_call_output", call_id="c1", output=output)
    return [{**called, **beside}, {**answered, **beside}]


WISH = ("prompt", "user", "wish")
DONE = ("final_answer", "assistant", "Done.")
LS = [("tool_call", "assistant", "ls"), ("tool_result", "tool", "a.py\n")]

CODEX_SHAPES: dict[str, tuple[list[Any], Told, Source]] = {
    "before 0.34: bare items and state markers": (
        [
            {"id": THREAD, "timestamp": AT, "instructions": "Be brief."},
            {"record_type": "state"},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "wish"}]},
            {"type": "function_call", "name": "shell", "arguments": '{"command":["bash","-lc","ls"]}', "call_id": "c"},
            {"type": "function_call_output", "call_id": "c", "output": '{"output":"a.py\\n","metadata":{}}'},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]},
        ],
        [WISH, *LS, DONE],
        Source.INTERACTIVE,
    ),
    "0.34: an envelope, and no source": (
        [
            meta(originator="codex_exec", cli_version="0.34.0", instructions=None, git={}),
            message("user", "wish"),
            event("user_message", message="wish", kind="plain"),
            message("assistant", "Done."),
        ],
        [WISH, DONE],
        Source.HEADLESS,
    ),
    "0.44 to 0.92: source, base_instructions, developer messages": (
        [
            meta(source="vscode", model_provider="openai", base_instructions={"text": "Be brief."}),
            message("developer", "Ask before you delete."),
            row("turn_context", cwd="/work/calc", model="m"),
            message("user", "wish"),
            message("assistant", "Done."),
        ],
        [("context", "harness", "Ask before you delete."), WISH, DONE],
        Source.INTERACTIVE,
    ),
    "0.104: tasks, and a source that is an object": (
        [
            meta(source={"custom": "kiosk"}),
            event("task_started", turn_id="t"),
            message("user", "wish"),
            message("assistant", "Done."),
            event("task_complete", turn_id="t", last_agent_message="Done."),
        ],
        [WISH, DONE],
        Source.OTHER,
    ),
    "0.104: a review's source": ([meta(source={"subagent": "review"}), message("user", "w")], [], Source.SUBAGENT),
    "0.117 to 0.130: events that end calls, names of threads": (
        [
            meta(source="cli"),
            message("user", "wish"),
            *ran("ls", "a.py\n"),
            event("exec_command_end", call_id="c1", exit_code=0, aggregated_output="a.py\n"),
            event("patch_apply_end", call_id="c2", success=True),
            event("web_search_end", call_id="w", query="q"),
            event("thread_name_updated", thread_id=THREAD, thread_name="n"),
            message("assistant", "Done."),
        ],
        [WISH, *LS, DONE],
        Source.INTERACTIVE,
    ),
    "0.145: root and own id, repeated metas, world state": (
        [
            meta(source="cli", session_id=THREAD, thread_source="user", history_mode="legacy", memory_mode="enabled"),
            row("world_state", full=True, state={}),
            message("user", "wish"),
            meta(source="cli", session_id=THREAD, thread_source="user", history_mode="legacy", memory_mode="enabled"),
            message("assistant", "Done.", phase="final_answer"),
        ],
        [WISH, DONE],
        Source.INTERACTIVE,
    ),
    "0.150 on: ordinals that are missing, repeat and go back, and items that repeat the talk": (
        [
            {**meta(source="cli", history_mode="paginated"), "ordinal": 0},
            {**message("user", "wish"), "ordinal": 2},
            {
                **event("item_completed", item={"type": "UserMessage", "content": [{"type": "text", "text": "wish"}]}),
                "ordinal": 1,
            },
            *[
                event("item_completed", item={"type": kind, "id": "i", "text": "always x"})
                for kind in ("AgentMessage", "Reasoning", "WebSearch", "Extension", "Plan", "SubAgentActivity")
            ],
            *[
                event("item_completed", item={"type": kind, "id": "i", "status": "completed"})
                for kind in ("CommandExecution", "FileChange", "McpToolCall", "ContextCompaction")
            ],
            message("assistant", "Done.", phase="final_answer"),
        ],
        [WISH, DONE],
        Source.INTERACTIVE,
    ),
    "0.154 on: usage records, blocks as output, a folder as URI, metadata beside the payload": (
        [
            meta(source="cli"),
            row("turn_context", cwd="file:///work/calc"),
            message("user", "wish"),
            *ran("ls", [{"type": "input_text", "text": "a.py\n"}], metadata={"history_sequence": 5}),
            row("token_usage_record", usage={"input_tokens": 1}),
            message("assistant", "Done.", phase="final_answer"),
        ],
        [WISH, *LS, DONE],
        Source.INTERACTIVE,
    ),
}


@pytest.mark.parametrize("shape", CODEX_SHAPES)
def test_each_age_of_codex_tells_its_talk(codex: Logs, shape: str) -> None:
    """The events, how the session ran, and that no line is unknown."""
    lines, told, source = CODEX_SHAPES[shape]
    facts = codex.facts(lines)
    assert (facts.source, dict(facts.unknown_types), facts.understood_lines) == (source, {}, len(lines))
    if told:
        assert codex.told(lines) == told
        assert {event.cwd for event in codex.events(lines)} <= {"/work/calc", None}


SILENT_CODEX_LINES = [
    row("world_state", full=True),
    row("token_usage_record"),
    row("inter_agent_communication_metadata"),
    row("retained_context", text="always x"),
    row("security_risk_score", score=1),
    row("realtime_item", text="always x"),
    *[
        row("response_item", type=kind, text="always x")
        for kind in ("reasoning", "ghost_snapshot", "compaction", "additional_tools")
    ],
]


@pytest.mark.parametrize(
    "silent", SILENT_CODEX_LINES, ids=lambda silent: str(silent["payload"].get("type", silent["type"]))
)
def test_lines_that_repeat_or_measure_say_nothing(codex: Logs, silent: Any) -> None:
    """Known, understood, and no talk."""
    events, reading = codex.reading([meta(), silent])
    assert (events, reading.understood_lines, dict(reading.unknown_types)) == ([], 2, {})


CODEX_ITEMS: list[tuple[str, list[Any], Told]] = [
    ("function call", ran("ls", "a.py\n"), LS),
    (
        "custom tool",
        [
            row("response_item", type="custom_tool_call", name="grep", input="x", call_id="c"),
            row("response_item", type="custom_tool_call_output", call_id="c", output="y"),
        ],
        [("tool_call", "assistant", "x"), ("tool_result", "tool", "y")],
    ),
    (
        "local shell",
        [row("response_item", type="local_shell_call", call_id="c", action={"command": ["bash", "-lc", "ls"]})],
        LS[:1],
    ),
    (
        "web search",
        [row("response_item", type="web_search_call", id="w", action={"type": "search", "query": "q"})],
        [("tool_call", "assistant", "q")],
    ),
    (
        "tool search",
        [
            row("response_item", type="tool_search_call", call_id="c", arguments={"query": "q"}),
            row("response_item", type="tool_search_output", call_id="c", tools=["t"]),
        ],
        [("tool_call", "assistant", '{"query": "q"}'), ("tool_result", "tool", "t")],
    ),
    (
        "another agent's message",
        [row("response_item", type="agent_message", content=[{"type": "text", "text": "found"}])],
        [("report", "other_agent", "found")],
    ),
    (
        "talk between agents",
        [row("inter_agent_communication", content=[{"type": "text", "text": "found"}])],
        [("report", "other_agent", "found")],
    ),
    (
        "compaction",
        [row("compacted", message="always x", replacement_history=[message("user", "always x")["payload"]])],
        [("compacted", "harness", "(the context was compacted here)")],
    ),
    (
        "commentary and answer",
        [message("assistant", "Looking.", phase="commentary"), message("assistant", "Done.", phase="final_answer")],
        [("commentary", "assistant", "Looking."), DONE],
    ),
]


@pytest.mark.parametrize(("name", "lines", "told"), CODEX_ITEMS, ids=[name for name, _, _ in CODEX_ITEMS])
def test_each_kind_of_item_of_codex(codex: Logs, name: str, lines: list[Any], told: Told) -> None:
    """Calls, results, reports, compactions and answers."""
    assert codex.told([meta(), *lines]) == told


HARNESS_WORDS = [
    "# AGENTS.md instructions for /work/calc\n\n<INSTRUCTIONS>\nPrefer tabs.\n</INSTRUCTIONS>",
    "<environment_context>\n  <cwd>/work/calc</cwd>\n</environment_context>",
    "<user_instructions>\nalways x\n</user_instructions>",
    "<skill>\nalways x\n</skill>",
]


@pytest.mark.parametrize("words", HARNESS_WORDS)
def test_what_codex_wraps_whole_is_not_the_persons(codex: Logs, words: str) -> None:
    """Older logs have no marks: the wrapper tells. The title is the person's first prompt."""
    facts = codex.facts([meta(), message("user", words), message("user", "wish")])
    assert (facts.prompt_count, facts.title, facts.gives_direction) == (1, "wish", False)


# --- Claude Code


def line(kind: str, number: int, **fields: Any) -> dict[str, Any]:
    """Give a line of a transcript."""
    head = {"parentUuid": "nowhere", "isSidechain": False, "type": kind, "uuid": f"u{number}", "timestamp": AT}
    return {**head, "cwd": "/work/calc", "sessionId": THREAD, **fields}


def typed(number: int, text: str, **fields: Any) -> dict[str, Any]:
    """Give a user line."""
    return line("user", number, message={"role": "user", "content": text}, **fields)


def said(number: int, *blocks: Any, **fields: Any) -> dict[str, Any]:
    """Give an assistant line."""
    content = [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]
    return line("assistant", number, message={"id": "m", "role": "assistant", "content": content}, **fields)


def result(number: int, content: Any, **fields: Any) -> dict[str, Any]:
    """Give a user line with a tool's result."""
    block = {"type": "tool_result", "tool_use_id": "c1", "content": content}
    return line("user", number, message={"role": "user", "content": [block]}, **fields)


USE = {"type": "tool_use", "id": "c1", "name": "Bash", "input": {"command": "ls"}}
TASK = {"type": "tool_use", "id": "c1", "name": "Task", "input": {"prompt": "look"}}

CLAUDE_SHAPES: dict[str, tuple[list[Any], Told]] = {
    "bookkeeping of the newest version": (
        [
            *[
                {"type": kind, "message": {"role": "user", "content": "always x"}, "sessionId": THREAD}
                for kind in (
                    "api-request", "api-request-shape", "api-request-blob", "queue-operation", "summary", "mode",
                    "progress", "file-history-snapshot", "last-prompt", "custom-title",
                )
            ],
            line("attachment", 1, attachment={"type": "instructions", "files": ["always x"]}),
            *[
                line("system", number, subtype=kind, content="always x")
                for number, kind in enumerate(("api_error", "local_command", "turn_duration"), 10)
            ],
        ],
        [],
    ),
    "an assistant message as one line for each block": (
        [
            typed(1, "wish"),
            said(2, {"type": "thinking", "thinking": "always x"}),
            said(3, "Looking."),
            said(4, USE),
            result(5, "a.py"),
            said(6, "Done."),
        ],
        [WISH, ("commentary", "assistant", "Looking."), LS[0], ("tool_result", "tool", "a.py"), DONE],
    ),
    "user lines that are no prompts": (
        [
            typed(1, "<command-name>/clear</command-name>"),
            typed(2, "<local-command-stdout>ok</local-command-stdout>"),
            typed(3, "<bash-input>ls</bash-input>"),
            typed(4, "<bash-stdout>a.py</bash-stdout><bash-stderr></bash-stderr>"),
            typed(5, "<task-notification><result>found</result></task-notification>"),
            typed(6, "[Request interrupted by user]"),
            typed(7, "<system-reminder>always x</system-reminder>"),
            typed(8, "<session-start-hook>always x</session-start-hook>"),
            typed(9, "always x", isMeta=True),
        ],
        [
            ("context", "harness", "<command-name>/clear</command-name>"),
            ("context", "harness", "<local-command-stdout>ok</local-command-stdout>"),
            ("shell", "user", "ls"),
            ("tool_result", "tool", "a.py"),
            ("report", "other_agent", "found"),
            ("interrupted", "user", "[Request interrupted by user]"),
            ("context", "harness", "<system-reminder>always x</system-reminder>"),
            ("context", "harness", "<session-start-hook>always x</session-start-hook>"),
            ("context", "harness", "always x"),
        ],
    ),
    "old lines written again": ([typed(1, "wish"), said(2, "Done."), typed(1, "wish"), said(2, "Done.")], [WISH, DONE]),
    "lines out of the order of time keep the file's": (
        [typed(1, "wish"), said(2, "Done.", timestamp="2026-01-01T00:00:00Z")],
        [WISH, DONE],
    ),
    "a compaction": (
        [
            typed(1, "wish"),
            said(2, "Done."),
            line("system", 3, subtype="compact_boundary"),
            typed(4, "always x", isCompactSummary=True),
        ],
        [WISH, DONE, ("compacted", "harness", "(the context was compacted here)")],
    ),
    "a sub-agent inline, and its report": (
        [
            typed(1, "wish"),
            said(2, TASK),
            typed(3, "always x", isSidechain=True),
            said(4, "always x", isSidechain=True),
            result(5, "found"),
            said(6, "Done."),
        ],
        [WISH, ("tool_call", "assistant", '{"prompt": "look"}'), ("report", "other_agent", "found"), DONE],
    ),
    "titles of other sessions on top": ([{"type": "summary", "summary": "always x"}, typed(1, "wish")], [WISH]),
    "a killed run: a call without its result": ([typed(1, "wish"), said(2, USE)], [WISH, LS[0]]),
    "a killed run: no answer": ([typed(1, "wish")], [WISH]),
    "an error in the assistant's place": (
        [
            typed(1, "wish"),
            line(
                "assistant",
                2,
                isApiErrorMessage=True,
                message={"model": "<synthetic>", "content": [{"type": "text", "text": "API Error: 529"}]},
            ),
        ],
        [WISH, ("failed_turn", "harness", "API Error: 529")],
    ),
    "a large result lies beside, its preview in the line": (
        [typed(1, "wish"), said(2, USE), result(3, "<persisted-output>\nOutput too large.\n</persisted-output>")],
        [WISH, LS[0], ("tool_result", "tool", "<persisted-output>\nOutput too large.\n</persisted-output>")],
    ),
}  # fmt: skip


@pytest.mark.parametrize("shape", CLAUDE_SHAPES)
def test_each_shape_of_claude_code_tells_its_talk(claude: Logs, shape: str) -> None:
    """The events, and that no line is unknown and every line is understood."""
    lines, told = CLAUDE_SHAPES[shape]
    facts = claude.facts(lines)
    assert claude.told(lines) == told
    assert (dict(facts.unknown_types), facts.understood_lines, facts.gives_direction) == ({}, len(lines), False)


def test_several_sessions_and_folders_in_one_transcript_are_one_thread(claude: Logs) -> None:
    """The stem is the thread; each event has the folder of its record, the thread that of its start."""
    lines = [typed(1, "wish"), typed(2, "more", sessionId="other", cwd="/work/calc/sub")]
    assert [event.cwd for event in claude.events(lines)] == ["/work/calc", "/work/calc/sub"]
    assert (claude.facts(lines).thread_id, claude.facts(lines).cwd) == (THREAD, "/work/calc")


@pytest.mark.parametrize(
    ("agent", "cwd"),
    [
        (Agent.CODEX, "/home/sam/.codex/memories"),
        (Agent.CODEX, "/home/sam/.codex/memories_v2/skills"),
        (Agent.CLAUDE, "/home/sam/.claude/projects/-work-calc/memory"),
    ],
)
def test_runs_inside_a_memory_folder_are_not_the_persons(codex: Logs, claude: Logs, agent: Agent, cwd: str) -> None:
    """Where an agent keeps its own memory, nobody works."""
    facts = (
        codex.facts([{**meta(source="cli"), "payload": {**meta(source="cli")["payload"], "cwd": cwd}}])
        if agent is Agent.CODEX
        else claude.facts([typed(1, "wish", cwd=cwd)])
    )
    assert facts.source is Source.OWN


def test_the_memory_folder_of_a_home_elsewhere_is_known(codex: Logs) -> None:
    """The agent's home may have any name; its memory folder is below it."""
    inside = row("session_meta", id=THREAD, cwd=f"{codex.home}/memories/x", source="cli")
    assert codex.facts([inside]).source is Source.OWN
    assert (
        codex.facts([row("session_meta", id=THREAD, cwd=f"{codex.home}/work", source="cli")]).source is not Source.OWN
    )
