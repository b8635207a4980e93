"""No new words, no call: a log that grew by noise alone is not sent to a model again, whatever the noise is."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from model_server import ModelServer, answer
from msgspec import Struct
from rollout_logs import START, ClaudeSession, CodexSession, stamp, thread_id_of

from memory_pipeline.app import App
from memory_pipeline.config import Config, ModelConfig, SourceConfig, SourcesConfig
from memory_pipeline.pipeline import PassOptions
from memory_pipeline.records import Phase2Outcome

RULE = "From now on always run make lint before you commit."
DONE = "That is done, and the tests pass. " * 8
Session = CodexSession | ClaudeSession
Grow = Callable[[Any], Any]


class Clock:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.at = START.timestamp() + 86_400.0

    def now(self) -> float:
        return self.at


class World(Struct, kw_only=True, dict=True):
    """Homes, a store, and a server that counts what it is asked."""

    root: Path
    server: ModelServer
    app: App
    clock: Clock

    def run(self) -> int:
        """Run one pass a day later; returns how many requests it made."""
        before = len(self.server.requests)
        self.clock.at += 86_400.0
        self.app.run_once(PassOptions())
        return len(self.server.requests) - before


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A machine of its own, with a model that extracts and curates."""
    for folder in ("codex/sessions", "claude/projects"):
        (tmp_path / folder).mkdir(parents=True)
    with ModelServer(default=answer({})) as server:
        config = Config(
            state_dir=str(tmp_path / "state"),
            memories_dir=str(tmp_path / "state" / "memories"),
            sources=SourcesConfig(
                codex=SourceConfig(home=str(tmp_path / "codex")), claude=SourceConfig(home=str(tmp_path / "claude"))
            ),
            model=ModelConfig(provider="openai", extract_model="m", base_url=server.base_url),
        )
        clock = Clock()
        with App(config, clock=clock, environ={}) as app:
            yield World(root=tmp_path, server=server, app=app, clock=clock)
        assert server.faults == []


def codex() -> CodexSession:
    """A Codex session that gives a direction."""
    return CodexSession(thread_id=thread_id_of(1)).prompt(RULE).shell("make lint", "ok").answer(DONE)


def claude() -> ClaudeSession:
    """A Claude Code session that gives a direction."""
    return ClaudeSession(thread_id=thread_id_of(2)).prompt(RULE).shell("make lint", "ok").answer(DONE)


def _codex_line(kind: str, **payload: Any) -> Grow:
    return lambda session: session._add(kind, payload)


def _codex_role(role: str, words: str, **more: Any) -> Grow:
    payload = {"type": "message", "role": role, "content": [{"type": "input_text", "text": words}], **more}
    return lambda session: session._add("response_item", payload)


def _codex_again(*numbers: int) -> Grow:
    """Write earlier lines once more, as a compaction or a resume does."""

    def grow(session: CodexSession) -> None:
        session.lines.extend([session.lines[number] for number in numbers])

    return grow


def _limits() -> dict[str, Any]:
    return {"primary": {"used_percent": 3.0, "window_minutes": 300, "resets_at": 1}, "secondary": None}


CODEX_NOISE: dict[str, Grow] = {
    "token counts": _codex_line("event_msg", type="token_count", info=None, rate_limits=_limits()),
    "usage records": _codex_line("token_usage_record", input_tokens=3, output_tokens=4),
    "world state": _codex_line("world_state", state={"files": ["a.py"]}),
    "a turn's context": _codex_line("turn_context", cwd="/home/sam/shop", model="m"),
    "its own meta once more": _codex_again(0),
    "a compaction that repeats all": _codex_line(
        "compacted", message="", replacement_history=[{"type": "message", "role": "user", "content": RULE}]
    ),
    "a compaction item": _codex_line("response_item", type="compaction", encrypted_content="eA=="),
    "reasoning": _codex_line("response_item", type="reasoning", summary=[], encrypted_content="eA=="),
    "a snapshot": _codex_line("response_item", type="ghost_snapshot", ghost_commit={"id": "abc"}),
    "tasks that start and end": lambda session: (
        _codex_line("event_msg", type="task_started")(session),
        _codex_line("event_msg", type="task_complete", last_agent_message=None)(session),
    ),
    "what the harness puts in": _codex_role("user", "<environment_context>\n<cwd>/x</cwd>\n</environment_context>"),
    "a developer message": _codex_role("developer", "Be brief."),
    "a tool that was called and gave": lambda session: session.shell("make again", "ok"),
    "many tools": lambda session: [session.shell(f"make part-{number}", "x" * 2_000) for number in range(5)],
    "an interruption": _codex_line("event_msg", type="turn_aborted", reason="interrupted"),
    "a thread's new name": _codex_line("event_msg", type="thread_name_updated", thread_name="lint"),
    "a line of a kind nobody knows": _codex_line("brand_new_thing", text="always use tabs"),
}


def _claude_line(**line: Any) -> Grow:
    def grow(session: ClaudeSession) -> None:
        session.lines.append({"timestamp": stamp(session.start), "sessionId": session.thread_id, **line})

    return grow


def _claude_said(kind: str, message: dict[str, Any], **more: Any) -> Grow:
    return lambda session: session._add(kind, message, **more)


CLAUDE_NOISE: dict[str, Grow] = {
    "a file snapshot": _claude_line(type="file-history-snapshot", messageId="m", snapshot={}, isSnapshotUpdate=False),
    "a title": _claude_line(type="summary", summary="Always use tabs", leafUuid="x"),
    "the last prompt": _claude_line(type="last-prompt", lastPrompt=RULE),
    "a mode": _claude_line(type="mode", mode="plan"),
    "a queue": _claude_line(type="queue-operation", operation="enqueue", content=RULE),
    "progress": _claude_line(type="progress", data={"type": "hook_progress"}),
    "a whole request": _claude_line(type="api-request-blob", body="always use tabs"),
    "how long the turn took": _claude_said("system", {}, subtype="turn_duration", durationMs=3),
    "an error of the API": _claude_said("system", {}, subtype="api_error", level="error", error={"status": 529}),
    "a compaction": lambda session: (
        _claude_said("system", {}, subtype="compact_boundary", content="Conversation compacted")(session),
        _claude_said("user", {"role": "user", "content": f"Summary: {RULE}"}, isCompactSummary=True)(session),
    ),
    "what the harness puts in": _claude_said("user", {"role": "user", "content": "Caveat: made by hand"}, isMeta=True),
    "a reminder": _claude_said(
        "user", {"role": "user", "content": "<system-reminder>\nTodo list is empty\n</system-reminder>"}
    ),
    "an attachment": _claude_line(type="attachment", attachment={"type": "instructions", "content": RULE}),
    "a command's output": _claude_said(
        "user", {"role": "user", "content": "<local-command-stdout>Bye</local-command-stdout>"}
    ),
    "the same uuids once more": lambda session: session.lines.extend(list(session.lines)),
    "a tool that was called and gave": lambda session: session.shell("make again", "ok"),
    "thinking": _claude_said(
        "assistant", {"id": "t", "role": "assistant", "content": [{"type": "thinking", "thinking": "Tabs?"}]}
    ),
    "a line of a kind nobody knows": _claude_line(type="brand-new-thing", text="always use tabs"),
}

NOISE: list[Any] = [
    *(pytest.param("codex", grow, id=f"codex: {name}") for name, grow in CODEX_NOISE.items()),
    *(pytest.param("claude", grow, id=f"claude: {name}") for name, grow in CLAUDE_NOISE.items()),
]


def _write(world: World, session: Session) -> Path:
    return session.write(world.root / ("codex" if isinstance(session, CodexSession) else "claude"))


@pytest.mark.parametrize(("agent", "grow"), NOISE)
def test_noise_alone_makes_no_request(world: World, agent: str, grow: Grow) -> None:
    """Grown, read and indexed, but not sent; the next real word is."""
    session: Session = codex() if agent == "codex" else claude()
    path = _write(world, session)
    assert world.run() == 1
    size = path.stat().st_size
    grow(session)
    assert _write(world, session).stat().st_size > size
    assert world.run() == 0
    assert world.run() == 0
    session.prompt("And from now on never force-push.").answer(DONE)
    _write(world, session)
    assert world.run() == 1


@pytest.mark.parametrize("agent", ["codex", "claude"])
def test_torn_and_blank_lines_are_no_words(world: World, agent: str) -> None:
    """Nor is a new time stamp."""
    path = _write(world, codex() if agent == "codex" else claude())
    assert world.run() == 1
    with path.open("ab") as file:
        file.write(b'\n\n{"type": "user", "message": {"ro')
    assert world.run() == 0
    os.utime(path)
    assert world.run() == 0


@pytest.mark.parametrize("agent", ["codex", "claude"])
def test_what_a_tool_gave_is_sent_with_the_next_word(world: World, agent: str) -> None:
    """Nothing that came in between is lost."""
    session: Session = codex() if agent == "codex" else claude()
    _write(world, session)
    assert world.run() == 1
    session.shell("make deploy", "error: no such host example.invalid")
    _write(world, session)
    assert world.run() == 0
    session.answer(DONE)
    _write(world, session)
    assert world.run() == 1
    assert "no such host example.invalid" in world.server.requests[-1].shown


def test_a_tools_other_output_in_the_middle_is_new(world: World) -> None:
    """Where a log was rewritten, what is said about it may mean something else."""
    path = _write(world, codex())
    assert world.run() == 1
    path.write_text(path.read_text(encoding="utf-8").replace("Output:\\nok", "Output:\\nno"), encoding="utf-8")
    assert world.run() == 1


def test_phase_two_asks_nothing_when_nothing_changed(world: World) -> None:
    """One extraction that gave a memory, one consolidation by the model, and then passes for a week without a call."""
    entry = {"kind": "preference", "scope": "project", "condition": "", "statement": RULE.rstrip("."), "evidence": [1]}
    task = {"title": "Lint", "outcome": "success", "entries": [entry]}
    session = codex()
    path = _write(world, session)
    world.server.script([answer({"rollout_summary": "Linted.", "rollout_slug": "lint", "tasks": [task]})])
    assert world.run() >= 2
    assert any(request.offers_tools for request in world.server.requests)
    for _ in range(7):
        session.lines.append(json.loads(json.dumps(session.lines[0])))
        session.write(world.root / "codex")
        assert world.run() == 0
    assert path.exists()
    assert world.app.run_once(PassOptions()).phase2.outcome is Phase2Outcome.NO_CHANGES
