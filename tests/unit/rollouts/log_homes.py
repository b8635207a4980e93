"""Small invented homes of both agents, and shorthands to read a log written there."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from memory_pipeline.records import Agent, Event, RolloutFile, ThreadFacts
from memory_pipeline.rollouts.discover import find_rollouts
from memory_pipeline.rollouts.lineage import OwnPart
from memory_pipeline.rollouts.reading import OwnFolders, RolloutReading, memory_folders, read_events, read_facts

THREAD = "0a1b2c3d-1111-4222-8333-444455556666"
MAX_BYTES = 1 << 24
Lines = Iterable[dict[str, Any] | str | bytes]


def as_bytes(lines: Lines) -> bytes:
    """Write lines as a log: tables as JSON, text and bytes as they are."""
    written = []
    for line in lines:
        text = json.dumps(line, ensure_ascii=False, separators=(",", ":")) if isinstance(line, dict) else line
        written.append(text.encode() if isinstance(text, str) else text)
    return b"".join(line + b"\n" for line in written)


class Logs:
    """A home of one agent in a temporary folder, with one log in it."""

    def __init__(self, agent: Agent, home: Path) -> None:
        self.agent = agent
        self.home = home
        folder = "sessions/2026/01/02" if agent is Agent.CODEX else "projects/-work-calc"
        name = f"rollout-2026-01-02T03-04-05-{THREAD}.jsonl" if agent is Agent.CODEX else f"{THREAD}.jsonl"
        self.path = home / folder / name
        self.path.parent.mkdir(parents=True)

    def write(self, lines: Lines | bytes) -> RolloutFile:
        """Write the log and find it."""
        self.path.write_bytes(lines if isinstance(lines, bytes) else as_bytes(lines))
        (file,) = find_rollouts(self.agent, str(self.home))
        return file

    def reading(self, lines: Lines | bytes) -> tuple[list[Event], RolloutReading]:
        """Write the log and read it."""
        reading = read_events(self.write(lines), str(self.home), max_bytes=MAX_BYTES)
        return list(reading), reading

    def events(self, lines: Lines | bytes) -> list[Event]:
        """Write the log and give its events."""
        return self.reading(lines)[0]

    def told(self, lines: Lines | bytes) -> list[tuple[str, str, str]]:
        """Write the log and give kind, speaker and text of its events."""
        return [(event.kind.value, event.speaker.value, event.text) for event in self.events(lines)]

    def facts(self, lines: Lines | bytes, own_folders: Sequence[str] = (), own: OwnPart | None = None) -> ThreadFacts:
        """Write the log and give the facts of its thread."""
        self.write(lines)
        return self.facts_of_found(own_folders, own)

    def facts_of_found(self, own_folders: Sequence[str] = (), own: OwnPart | None = None) -> ThreadFacts:
        """Find the one log there is and give the facts of its thread."""
        (file,) = find_rollouts(self.agent, str(self.home))
        return read_facts(
            file,
            str(self.home),
            max_bytes=MAX_BYTES,
            own_folders=OwnFolders((*own_folders, *memory_folders(self.agent, str(self.home)))),
            gives_direction=lambda text: "always" in text,
            redact_text=lambda text: text.replace("fake-secret", "[masked]"),
            own=own,
        )
