"""Invented session logs in the shape of the real ones, for tests that start from files on disk."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from msgspec import Struct, field

START = datetime(2026, 11, 20, 9, 0, tzinfo=UTC)


def thread_id_of(number: int) -> str:
    """Return a thread id that is the same every time."""
    return str(uuid.UUID(int=0x01A2_0000_0000_7000_8000_0000_0000_0000 + number))


def stamp(moment: datetime) -> str:
    """Write a moment as the agents do."""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


class CodexSession(Struct, kw_only=True, dict=True):
    """Writes one interactive Codex session, line by line; each line is ``step_seconds`` later than the one before."""

    thread_id: str
    cwd: str = "/home/sam/shop"
    remote: str | None = None
    source: Any = "cli"
    start: datetime = START
    step_seconds: float = 20.0
    meta: dict[str, Any] = field(default_factory=dict)
    lines: list[dict[str, Any]] = field(default_factory=list)
    _calls: int = 0

    def __post_init__(self) -> None:
        git = {"branch": "main", **({"repository_url": self.remote} if self.remote else {})}
        self._add(
            "session_meta",
            {
                "id": self.thread_id,
                "timestamp": stamp(self.start),
                "cwd": self.cwd,
                "originator": "codex-tui",
                "cli_version": "0.171.0",
                "source": self.source,
                "model_provider": "openai",
                "git": git,
                **self.meta,
            },
        )

    def prompt(self, text: str) -> CodexSession:
        """The person types something."""
        return self._message("user", "input_text", text, {"content_item_kinds": ["user.text"]})

    def answer(self, text: str, *, phase: str = "final_answer") -> CodexSession:
        """The assistant says something."""
        return self._message("assistant", "output_text", text, {"content_item_kinds": ["unknown"]}, phase=phase)

    def shell(self, command: str, output: str = "", *, exit_code: int = 0) -> CodexSession:
        """The assistant runs a command."""
        self._calls += 1
        call_id = f"call_{self._calls}"
        self._add(
            "response_item",
            {
                "type": "function_call",
                "name": "exec_command",
                "arguments": json.dumps({"cmd": command}),
                "call_id": call_id,
            },
        )
        text = f"Chunk ID: c0ffee\nWall time: 0.1 seconds\nProcess exited with code {exit_code}\nOutput:\n{output}"
        return self._add("response_item", {"type": "function_call_output", "call_id": call_id, "output": text})

    def write(self, home: Path, *, archived: bool = False) -> Path:
        """Put the file where Codex would; returns its path."""
        folder = home / "archived_sessions" if archived else home / "sessions" / f"{self.start:%Y/%m/%d}"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"rollout-{self.start:%Y-%m-%dT%H-%M-%S}-{self.thread_id}.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in self.lines), encoding="utf-8")
        return path

    def _message(
        self, role: str, block: str, text: str, marks: dict[str, Any], phase: str | None = None
    ) -> CodexSession:
        payload = {
            "type": "message",
            "role": role,
            "content": [{"type": block, "text": text}],
            "internal_chat_message_metadata_passthrough": marks,
        }
        return self._add("response_item", payload | ({"phase": phase} if phase else {}))

    def _add(self, kind: str, payload: dict[str, Any]) -> CodexSession:
        moment = self.start + timedelta(seconds=self.step_seconds * len(self.lines))
        self.lines.append({"timestamp": stamp(moment), "ordinal": len(self.lines), "type": kind, "payload": payload})
        return self


class ClaudeSession(Struct, kw_only=True, dict=True):
    """Writes one interactive Claude Code session."""

    thread_id: str
    cwd: str = "/home/sam/shop"
    entrypoint: str = "cli"
    start: datetime = START
    step_seconds: float = 20.0
    lines: list[dict[str, Any]] = field(default_factory=list)

    def prompt(self, text: str) -> ClaudeSession:
        """The person types something."""
        return self._add("user", {"role": "user", "content": text}, promptSource="typed")

    def answer(self, text: str) -> ClaudeSession:
        """The assistant says something and ends its turn."""
        return self._assistant([{"type": "text", "text": text}], "end_turn")

    def shell(self, command: str, output: str = "", *, failed: bool = False) -> ClaudeSession:
        """The assistant runs a command."""
        use = f"toolu_{len(self.lines)}"
        self._assistant([{"type": "tool_use", "id": use, "name": "Bash", "input": {"command": command}}], "tool_use")
        result = {"type": "tool_result", "tool_use_id": use, "content": output, "is_error": failed}
        return self._add("user", {"role": "user", "content": [result]})

    def write(self, home: Path) -> Path:
        """Put the file where Claude Code would; returns its path."""
        slug = "".join(character if character.isalnum() else "-" for character in self.cwd)
        folder = home / "projects" / slug
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self.thread_id}.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in self.lines), encoding="utf-8")
        return path

    def _assistant(self, content: Iterable[dict[str, Any]], stop_reason: str) -> ClaudeSession:
        message = {
            "id": f"msg_{len(self.lines)}",
            "role": "assistant",
            "model": "claude-opus-5-5",
            "content": list(content),
            "stop_reason": stop_reason,
        }
        return self._add("assistant", message)

    def _add(self, kind: str, message: dict[str, Any], **more: Any) -> ClaudeSession:
        number = len(self.lines)
        own = str(uuid.uuid5(uuid.UUID(self.thread_id), str(number)))
        parent = str(uuid.uuid5(uuid.UUID(self.thread_id), str(number - 1))) if number else None
        self.lines.append(
            {
                "parentUuid": parent,
                "isSidechain": False,
                "type": kind,
                "message": message,
                "uuid": own,
                "timestamp": stamp(self.start + timedelta(seconds=self.step_seconds * number)),
                "userType": "external",
                "entrypoint": self.entrypoint,
                "cwd": self.cwd,
                "sessionId": self.thread_id,
                "version": "2.1.332",
                "gitBranch": "main",
                **more,
            }
        )
        return self
