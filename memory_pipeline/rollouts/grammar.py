"""What the grammars share: session notes, drafts of events, and the order in which drafts become events.

A grammar gets one decoded record at a time and answers with drafts. Some can't be judged by themselves: whether an
answer ended its turn shows only in what follows, and in some logs whether a message is a person's shows in the line
after it. Such drafts are held back, and everything behind them, so that the log's order stands.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol

from memory_pipeline.records import Event, EventKind, RateLimit, Source, Speaker, ToolStatus
from memory_pipeline.rollouts.jsonl import RawLine
from memory_pipeline.rollouts.times import to_seconds

Record = Mapping[str, Any]


class Doubt(Enum):
    """What about a draft only later lines can tell."""

    NONE = "none"
    ANSWER = "answer"  # final answer or commentary
    PROMPT = "prompt"  # a person's prompt or the harness's words


@dataclass(kw_only=True, slots=True)
class Draft:
    """An event before its turn, and perhaps its kind, is known."""

    line: RawLine
    kind: EventKind
    speaker: Speaker
    text: str
    at: float | None = None
    cwd: str | None = None
    call_id: str | None = None
    tool: str | None = None
    command: str | None = None
    paths: tuple[str, ...] = ()
    status: ToolStatus | None = None
    exit_code: int | None = None
    external: bool = False
    doubt: Doubt = Doubt.NONE


@dataclass(kw_only=True, slots=True)
class SessionNotes:
    """What a log says about its session, gathered while it is read."""

    thread_id: str | None = None
    cwd: str | None = None
    git_remote: str | None = None
    git_branch: str | None = None
    source: Source = Source.INTERACTIVE  # a log too old to say
    memory_mode: str | None = None
    model_provider: str | None = None
    started_at: float | None = None
    last_at: float | None = None  # the latest believable time of any record
    rate_limits: tuple[RateLimit, ...] = ()

    def note_time(self, value: Any) -> float | None:
        """Read a record's time and keep the earliest and the latest."""
        at = to_seconds(value)
        if at is not None:
            if self.started_at is None or at < self.started_at:
                self.started_at = at
            if self.last_at is None or at > self.last_at:
                self.last_at = at
        return at


@dataclass(kw_only=True, slots=True)
class LineCounts:
    """How much of a log a grammar understood. Several records on one line count as one line."""

    understood_lines: int = 0
    unknown_types: Counter[str] = field(default_factory=Counter)
    _last_line: int = 0

    def understood(self, line: RawLine) -> None:
        """Count a line whose type is known, whether or not it yields events."""
        if line.number != self._last_line:
            self._last_line = line.number
            self.understood_lines += 1

    def unknown(self, name: object) -> None:
        """Count a line type that is not known."""
        self.unknown_types[str(name)[:80]] += 1


class Grammar(Protocol):
    """How one agent's log is read. A new agent is one such class and its fixtures."""

    notes: SessionNotes
    counts: LineCounts

    def glance(self, raw: bytes) -> Record | None:
        """Recognise a bulky line whose content can't matter by its first bytes, and give a record to read in its stead.

        None means: decode it. Only whole lines that hold a single record may be passed by.
        """
        ...

    def read(self, record: Record, line: RawLine) -> Iterator[Event]:
        """Read one record; yield the events that are certain by now, in the log's order."""
        ...

    def close(self) -> Iterator[Event]:
        """Yield what was held back, at the end of the log."""
        ...


# What shows that the answer before it was the last word of its turn.
_ENDS_A_TURN = frozenset({EventKind.PROMPT, EventKind.SHELL, EventKind.COMPACTED, EventKind.REPORT})


class Sequencer:
    """Turns drafts into events in the log's order, holding back what is in doubt. Counts the turns."""

    def __init__(self) -> None:
        self._held: deque[Draft] = deque()
        self._turn = 0

    def push(self, draft: Draft) -> Iterator[Event]:
        """Take a draft; yield every event that is certain by now."""
        self._held.append(draft)
        return self._released()

    def settle_prompts(self, *, spoken: bool) -> Iterator[Event]:
        """Decide every message in doubt: a person's prompt, or the harness's words."""
        for draft in self._held:
            if draft.doubt is Doubt.PROMPT:
                self.decide(draft, spoken=spoken)
        return self._released()

    def decide(self, draft: Draft, *, spoken: bool) -> None:
        """Decide one message in doubt. What it frees is yielded by the next call."""
        draft.doubt = Doubt.NONE
        if not spoken:
            draft.kind, draft.speaker = EventKind.CONTEXT, Speaker.HARNESS

    def in_doubt(self) -> list[Draft]:
        """List the messages of which it is open whether a person spoke them, newest first."""
        return [draft for draft in reversed(self._held) if draft.doubt is Doubt.PROMPT]

    def end_turn(self) -> Iterator[Event]:
        """Take it that the turn ended here: an answer in doubt was the final one."""
        for draft in self._held:
            if draft.doubt is Doubt.ANSWER:
                draft.kind, draft.doubt = EventKind.FINAL_ANSWER, Doubt.NONE
        return self._released()

    def _released(self) -> Iterator[Event]:
        while self._held:
            head = self._held[0]
            if head.doubt is Doubt.PROMPT:
                return
            if head.doubt is Doubt.ANSWER:
                kind = self._kind_of_answer()
                if kind is None:
                    return
                head.kind = kind
            yield self._event(self._held.popleft())

    def _kind_of_answer(self) -> EventKind | None:
        for position, draft in enumerate(self._held):
            if position == 0 or draft.kind is EventKind.CONTEXT:
                continue
            if draft.doubt is Doubt.PROMPT:
                return None
            return EventKind.FINAL_ANSWER if draft.kind in _ENDS_A_TURN else EventKind.COMMENTARY
        return None

    def _event(self, draft: Draft) -> Event:
        if draft.kind is EventKind.PROMPT:
            self._turn += 1
        line = draft.line
        return Event(
            kind=draft.kind,
            speaker=draft.speaker,
            text=draft.text,
            at=draft.at,
            byte_start=line.byte_start,
            byte_end=line.byte_end,
            line_number=line.number,
            line_sha256=line.sha256,
            turn=self._turn,
            cwd=draft.cwd,
            call_id=draft.call_id,
            tool=draft.tool,
            command=draft.command,
            paths=draft.paths,
            status=draft.status,
            exit_code=draft.exit_code,
            external=draft.external,
        )


def text_or_none(value: Any) -> str | None:
    """Give a value back when it is text that says something, else None."""
    return value if isinstance(value, str) and value.strip() else None


def name_of(value: Any) -> str | None:
    """Give a type's name when it is text, None for anything else that stands in its place."""
    return value if isinstance(value, str) else None


def table(value: Any) -> Mapping[str, Any]:
    """Give a value back when it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def image_marker(source: Any) -> str:
    """Stand in for an inline image: ``[image, 12345 bytes]``, by the length of its encoding."""
    encoded = source if isinstance(source, str) else table(source).get("data")
    inline = isinstance(encoded, str) and not encoded.startswith(("http:", "https:", "file:"))
    return f"[image, {len(encoded)} bytes]" if inline and isinstance(encoded, str) else "[image]"
