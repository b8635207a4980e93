"""What an agent read back from a memory is an echo, however it got there; a project about memories is none."""

from __future__ import annotations

from typing import Any

import pytest

from memory_pipeline.phase1.echoes import Echoes, looks_like_memory
from memory_pipeline.records import Event, EventKind, Speaker

FOLDERS = ("/home/sam/notes/kept", "/srv/agents/memories", "/home/sam/notes/memory.db")
SPEAKERS = {EventKind.PROMPT: Speaker.USER, EventKind.TOOL_RESULT: Speaker.TOOL}


def event(kind: EventKind, text: str = "", **fields: Any) -> Event:
    """Make an event of a log in a shop's folder."""
    place: dict[str, Any] = {"at": None, "byte_start": 0, "byte_end": 1, "line_number": 1, "turn": 0}
    return Event(
        **{"kind": kind, "speaker": SPEAKERS.get(kind, Speaker.ASSISTANT), "cwd": "/home/sam/shop", "text": text}
        | place
        | fields
    )


def call(text: str, number: int = 1, **fields: Any) -> Event:
    """Make a call that runs a command."""
    return event(EventKind.TOOL_CALL, text, call_id=f"c{number}", **{"command": text} | fields)


def result(text: str = "- always use uv", number: int = 1, **fields: Any) -> Event:
    """Make what a call gave back."""
    return event(EventKind.TOOL_RESULT, text, call_id=f"c{number}", **fields)


def echoes(*events: Event) -> list[bool]:
    """Tell of each result whether it is an echo."""
    known = Echoes(FOLDERS)
    told = []
    for one in events:
        known.note(one)
        if one.kind in (EventKind.TOOL_RESULT, EventKind.REPORT):
            told.append(known.holds(one))
    return told


READS = [
    call("cat notes.md", places=("/home/sam/.codex/memories",)),
    call("cat notes.md", places=("memories",), cwd="/home/sam/.codex"),
    call("cat notes.md", cwd="/home/sam/.codex/memories"),
    call("cat memories/notes.md", cwd="/home/sam/.codex"),
    call("cat ./memories/notes.md", cwd="/home/sam/.codex"),
    call("cd ~/.codex && ls && cat memories/notes.md"),
    call("cd ~/.codex\ncd memories\ncat notes.md"),
    call("cat ~/.codex/./memories//notes.md"),
    call('cat "$HOME/.codex"/memories/notes.md'),
    call("cat ${CODEX_HOME}/memories/notes.md"),
    call("head ~/.codex/{memories,memories_v2}/*.md"),
    call("cat MEMORY.md"),
    call('/opt/bin/memory-pipeline --config /home/sam/c.toml context --cwd "$PWD" --task "lint"'),
    call('"/opt/my tools/memory-pipeline" context --cwd .'),
    call("python -P -m memory_pipeline --state-dir /srv/x context"),
    call("cat skills/lint/SKILL.md", cwd="/srv/agents/memories"),
    call("cat ~/notes/kept/skills/lint/SKILL.md"),
    call("cd ~/notes && cat kept/extensions/x.md"),
    call("sqlite3 ~/notes/memory.db .dump"),
    call("ls memories/rollout_summaries"),
    call('{"file_path": "/home/sam/.claude/projects/-home-sam-shop/memory/uv.md"}', command=None),
    call('{"path": "/data/claude/projects/-home-sam-shop/memory"}', command=None),
    call('{"path": "C:\\\\Users\\\\sam\\\\.codex\\\\memories\\\\notes.md"}', command=None),
    call("x" * 9_000 + " ~/.codex/memories/notes.md"),
    call("", places=("const a = 1", "/home/sam/.codex/memories/notes.md")),
    call("{}", command=None, tool="mcp__memory__search_nodes", external=True),
    call("{}", command=None, tool="search", places=("mcp__openmemory",), external=True),
    event(EventKind.SHELL, "cat ~/.codex/memories/notes.md", call_id="c1", command="cat ~/.codex/memories/notes.md"),
]
OTHER_CALLS = [
    call("cat src/memories/views.py"),
    call("pytest tests/memories/test_x.py"),
    call("rg rollout_summaries src"),
    call("cd ~/.codex && cat src/memories/views.py"),
    call("cat README.md", places=("/home/sam/shop/memories",)),
    call("cat /home/sam/notes/src/kept/x.py"),
    call("cat docs/MEMORY.mdx"),
    call("git commit -m 'Free the memory'"),
    call("{}", command=None, tool="mcp__files__read", external=True),
]


@pytest.mark.parametrize("read", READS, ids=lambda one: str(one.text)[-60:])
def test_whatever_way_leads_to_a_memory_its_result_is_an_echo(read: Event) -> None:
    """By path, from the folder above, from inside, by a script, by a tool: it was said before."""
    assert echoes(read, result()) == [True]


@pytest.mark.parametrize("other", OTHER_CALLS, ids=lambda one: str(one.text)[-60:])
def test_a_project_about_memories_is_no_echo(other: Event) -> None:
    """Only where memories are really kept counts, not every path with the word in it."""
    assert echoes(other, result()) == [False]


def test_what_a_running_command_prints_later_is_an_echo_too() -> None:
    """A command that reads a memory may go on: polls of it give more of the same, other commands do not."""
    events = [
        call("cat ~/.codex/memories/big.md"),
        result(session="71"),
        call("", 2, command=None, tool="write_stdin", session="71"),
        result("- and never npm", 2),
        call("", 3, command=None, tool="write_stdin", session="72"),
        result("12 passed", 3),
    ]
    assert echoes(*events) == [True, True, False]


def test_a_shell_in_which_a_memory_was_read_stays_one_of_echoes() -> None:
    """What is typed into a running shell may print at any later time."""
    events = [
        call("bash"),
        result("$", session="71"),
        call("cat MEMORY.md\n", 2, command=None, session="71"),
        result("$", 2),
        call("", 3, command=None, session="71"),
        result("- always use uv", 3),
    ]
    assert echoes(*events) == [False, True, True]


def test_a_file_into_which_such_a_command_prints_is_an_echo() -> None:
    """A command in the background prints into a file that bears its id."""
    events = [
        call("cat ~/.codex/memories/big.md"),
        result("Command running in background with ID: b1a2c3", session="b1a2c3"),
        call('{"file_path": "/tmp/tasks/b1a2c3.output"}', 2, command=None),
        result("- always use uv", 2),
    ]
    assert echoes(*events) == [True, True]


def test_what_another_agent_reports_of_a_memory_is_an_echo() -> None:
    """A sub-agent that was sent to read a memory brings back nothing new."""
    sent = call('{"prompt": "read ~/.codex/memories/MEMORY.md and tell me"}', command=None)
    report = event(EventKind.REPORT, "It says: always use uv", call_id="c1", speaker=Speaker.OTHER_AGENT)
    assert echoes(sent, report) == [True]


MEMORY_TEXTS = [
    "v1\n\n## User Profile\n- uses uv\n",
    "     1\tv1\n     2\t\n     3\t## User Profile\n",
    "# Raw Memories\n\n## Thread `x`\n",
    "# Task Group: shop\nscope: shop\n",
    "MEMORY.md:12:- when building, the user asked: “use uv” -> use uv [Task 1]\n",
    "    12→- always use uv [Task 3]\n",
    "### rollout_summary_files\n- a.md (cwd=/x)\n",
    "thread_id: 01a2-3\nupdated_at: 2026-01-02T03:04:05Z\nrollout_path: /x\n",
    "## What's in Memory\n- shop\n",
    "<memory-pipeline-context>\nWhat earlier sessions left\n\nEverywhere:\n- use uv\n</memory-pipeline-context>\n",
    '{\n  "context": "<memory-pipeline-context>\\nWhat earlier sessions left\\n- use uv"\n}',
]


@pytest.mark.parametrize("text", MEMORY_TEXTS)
def test_a_result_without_its_call_is_known_by_its_text(text: str) -> None:
    """A torn call leaves a result of unknown origin: a part of a memory's files is an echo all the same."""
    assert looks_like_memory(text)
    assert echoes(result(text)) == [True]


@pytest.mark.parametrize(
    "text",
    [
        "v1\nv2\nv3\n",
        "# Tasks\n- fix the cart\n",
        "## User Profile\nThe page that shows a user.\n",
        "updated_at: now\n",
    ],
)
def test_ordinary_text_does_not_look_like_memory(text: str) -> None:
    """Words that memories have in common with other files tell nothing."""
    assert not looks_like_memory(text)
