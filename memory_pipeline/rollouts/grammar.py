"""What the grammars share: session notes, drafts of events, and the order in which drafts become events.

A grammar gets one decoded record at a time and pushes drafts. Some can't be judged by themselves: whether an answer
ended its turn shows only in what follows, and in some logs whether a message is a person's shows in the line after it.
Such drafts are held back, and everything behind them, so that the log's order stands. Released drafts wait in
``Sequencer.ready`` for the reader, who takes them after every line.
"""

from __future__ import annotations

import hashlib
import math
import sys
import zlib
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, ClassVar, Protocol

import msgspec
from msgspec import Struct, field

from memory_pipeline.records import Event, EventKind, RateLimit, Source, Speaker, ToolStatus
from memory_pipeline.redact import redact
from memory_pipeline.rollouts.jsonl import (
    BAD_PAYLOAD,
    MAX_TEXT_CHARS,
    MEDIA_LEFT_OUT,
    MEDIA_RUN_BYTES,
    Crc32,
    LineBlock,
    RawLine,
    SkippedLines,
    cut_text,
    without_end,
)
from memory_pipeline.rollouts.lineage import WHOLE_FILE, OwnPart
from memory_pipeline.rollouts.times import TOLERANCE_SECONDS, Stamps, are_usual_times

Record = Mapping[str, Any]

#: Under what unknown names are counted beyond the first fifty.
OTHER_NAMES = "(other names)"
_MOST_NAMES = 50
_NAME_LOOKED_AT = 1000
_NAME_CHARS = 80


class Doubt(Enum):
    """What about a draft only later lines can tell."""

    NONE = "none"
    ANSWER = "answer"  # final answer or commentary
    PROMPT = "prompt"  # a person's prompt or the harness's words


class Draft(msgspec.Struct, kw_only=True):
    """An event before its turn, and perhaps its kind, is known. Made for each line of talk: a dataclass is slower."""

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
    places: tuple[str, ...] = ()
    session: str | None = None
    doubt: Doubt = Doubt.NONE
    task: int | None = None  # which task of the agent a typed prompt opened, 0 where logs don't tell tasks
    turn: int = 0
    opens_unit: bool = False  # a rollback undoes from here, or from an earlier such draft
    wrapped: bool = False  # looks like the harness's words: a person's only if the log says so
    loss_behind: bool = False  # a line was lost right behind it, perhaps the one that would have told who spoke

    def shorten(self) -> None:
        """Leave out of a draft of megabytes what nobody would use of it."""
        self.text = cut_text(self.text)
        self.command = cut_text(self.command) if self.command is not None else None
        self.paths, self.places = self.paths[:_MOST_NAMED], self.places[:_MOST_NAMED]

    def event(self) -> Event:
        """Make the event, once nothing about the draft is open."""
        line = self.line
        start = line.byte_start
        return Event(
            self.kind,
            self.speaker,
            self.text,
            self.at,
            start,
            start + len(line.raw) if line.whole is None else line.byte_end,
            line.number,
            self.turn,
            self.cwd,
            self.call_id,
            self.tool,
            self.command,
            self.paths,
            self.status,
            self.exit_code,
            self.external,
            self.places,
            self.session,
        )


class SessionNotes(Struct, kw_only=True):
    """What a log says about its session, gathered while it is read."""

    thread_id: str | None = None
    cwd: str | None = None
    git_remote: str | None = None
    git_branch: str | None = None
    source: Source = Source.INTERACTIVE  # a log too old to say
    memory_mode: str | None = None
    disabled_from_start: bool = False  # the very first meta says that memory is disabled
    model_provider: str | None = None
    started_at: float | None = None
    last_at: float | None = None  # the latest believable time of any record that has come
    newest_at: float | None = None  # the latest believable one, come or not
    written_at: float = math.inf  # when the file was modified: nothing in it can be later
    now: float = math.inf
    rate_limits: tuple[RateLimit, ...] = ()
    forked_from: str | None = None  # the thread of which this one is a fork
    _stamps: Stamps = field(default_factory=Stamps)

    def note_time(self, value: Any) -> float | None:
        """Read a record's time and keep the earliest and the latest."""
        at = self._stamps.seconds(value)
        if at is not None and at <= self.written_at + TOLERANCE_SECONDS:
            if self.newest_at is None or at > self.newest_at:
                self.newest_at = at
            if (self.last_at is None or at > self.last_at) and at <= self.now + TOLERANCE_SECONDS:
                self.last_at = at
            if self.started_at is None or at < self.started_at:
                self.started_at = at
        return at

    def note_times(self, values: Sequence[Any]) -> None:
        """Do what ``note_time`` does for each of many; where all are written as is usual, two of them tell it all."""
        if not are_usual_times(values):
            outermost = values
        else:
            outermost = (min(values), max(values))
            ends = [self._stamps.seconds(value) for value in outermost]
            if not all(at is not None and self.believes(at) and at <= self.now + TOLERANCE_SECONDS for at in ends):
                outermost = values
        for value in outermost:
            self.note_time(value)

    def believes(self, at: float) -> bool:
        """Whether a time is not later than the file itself."""
        return at <= self.written_at + TOLERANCE_SECONDS


class LineCounts(Struct, kw_only=True):
    """How much of a log a grammar understood. Several records on one line count as one line."""

    understood_lines: int = 0
    unknown_types: Counter[str] = field(default_factory=Counter)
    skipped: SkippedLines = field(default_factory=SkippedLines)
    _shown_names: dict[str, str] = field(default_factory=dict)
    _last_line: int = 0
    _last_broken: int = 0

    def understood(self, line: RawLine) -> None:
        """Count a line whose type is known, whether or not it yields events."""
        if line.number != self._last_line:
            self._last_line = line.number
            self.understood_lines += 1

    def unknown(self, name: object) -> None:
        """Count a line type that is not known. Names come from the log: they are masked, and no more kept than some."""
        written = str(name)[:_NAME_LOOKED_AT]
        shown = self._shown_names.get(written)
        if shown is None:
            if len(self._shown_names) >= _MOST_NAMES:
                self.unknown_types[OTHER_NAMES] += 1
                return
            shown = self._shown_names[written] = _shown_name(written)
        self.unknown_types[shown] += 1

    def broken(self, line: RawLine) -> None:
        """Count a line of a known type that carries talk, of which some can't be read: once for each line."""
        if line.number != self._last_broken:
            self._last_broken = line.number
            self.skipped.add(BAD_PAYLOAD, line.number)


def _shown_name(written: str) -> str:
    """Mask a secret in a name that a log uses, and cut it."""
    return "".join(character for character in redact(written).text if character.isprintable())[:_NAME_CHARS]


class Wanted(Struct, frozen=True, kw_only=True):
    """What a reading is asked for: which part of the file, and without which turns.

    With a ``digest`` the reading is lean: it wants the facts alone, and what was said goes into the digest.
    ``skipped`` is where the reader counts what it loses; a grammar adds the payloads that it can't read.
    """

    own: OwnPart = WHOLE_FILE
    undone: Sequence[tuple[int, int]] = ()
    digest: ContentDigest | None = None
    skipped: SkippedLines = field(default_factory=SkippedLines)


class Grammar(Protocol):
    """How one agent's log is read, made from a ``Wanted``. A new agent is one such class and its fixtures."""

    can_undo: ClassVar[bool]  # whether its logs can take turns back

    notes: SessionNotes
    counts: LineCounts
    sequencer: Sequencer

    def __init__(self, wanted: Wanted) -> None: ...

    def glances(self, block: LineBlock, begin: int) -> Iterator[tuple[int, Record | None]]:
        """Look at lines for what matters alone, skip their bulk, and pass by those of which nothing is left to read.

        Yields the position of each other line, with the record to be read in its stead; None: decode all of it. Each
        is to be read before the next is asked for. In a lean reading the results of ordinary tools are bulk too: their
        text is not in the record.
        """
        ...

    def read(self, record: Record, line: RawLine) -> None:
        """Read one record; what it says goes to the sequencer."""
        ...

    def read_inherited(self, line: RawLine) -> None:
        """Take from a line of another thread's, copied to this file's beginning, what tells of this file."""
        ...

    def record_hashes(self) -> bytes:
        """Give the hashes of the records' own ids, in order, eight bytes each; empty where records have none."""
        ...

    def close(self) -> None:
        """Settle what was held back, at the end of the log."""
        ...


_MOST_NAMED = 1 << 12  # files and places of one call: many times what of a row is ever shown
#: How many turns back a person can undo.
MAX_UNDOABLE_TURNS = 1 << 12
#: How much may wait for what comes later: drafts in doubt, events that may be undone, and the line that is read next.
MAX_WAITING_BYTES = 40 << 20
#: What of it drafts in doubt may take.
_MAX_IN_DOUBT_BYTES = MAX_WAITING_BYTES // 5
_MAX_IN_DOUBT = 1 << 12
#: About how much memory a draft, or an event, takes without its text.
EVENT_BYTES = 600


def _waiting_bytes(draft: Draft) -> int:
    return sys.getsizeof(draft.text) + EVENT_BYTES


# Named once: to look a member up in its enum takes longer than what is done with it, for each event of a log.
_CERTAIN = Doubt.NONE
_PROMPT = EventKind.PROMPT
# What shows that the answer before it was the last word of its turn.
_ENDS_A_TURN = frozenset({EventKind.PROMPT, EventKind.SHELL, EventKind.COMPACTED, EventKind.REPORT})
_FROM_TOOLS = frozenset({EventKind.TOOL_CALL, EventKind.TOOL_RESULT})
#: What goes into the digest: what a person, the assistant or another agent said, and the tools in between.
_SAID = _FROM_TOOLS | {
    EventKind.PROMPT,
    EventKind.SHELL,
    EventKind.COMMENTARY,
    EventKind.FINAL_ANSWER,
    EventKind.REPORT,
}


class Sequencer:
    """Turns drafts into settled ones in the log's order, holding back what is in doubt. Counts the turns.

    ``undone`` lists byte ranges of turns that the person undid; drafts from there are dropped. A reading of events is
    given the ranges of the whole log, which a reading before it has gathered here.
    """

    def __init__(self, *, undone: Sequence[tuple[int, int]] = (), digest: ContentDigest | None = None) -> None:
        self.ready: list[Draft] = []
        self.undone: list[tuple[int, int]] = list(undone)
        self.digest = digest
        self._knows_undone = bool(undone)
        self._held: deque[Draft] = deque()
        self.waiting_bytes = 0  # what is held back takes
        self._turn = 0
        self._units: deque[int] = deque(maxlen=MAX_UNDOABLE_TURNS)  # where each standing unit of rollback starts
        self._last_task = -1

    @property
    def is_settled(self) -> bool:
        """Whether nothing is held back."""
        return not self.waiting_bytes

    def is_full(self) -> bool:
        """Whether as much is held back as may be: what is in doubt must be decided now, whatever may follow."""
        return self.waiting_bytes >= _MAX_IN_DOUBT_BYTES or len(self._held) >= _MAX_IN_DOUBT

    def push(self, draft: Draft) -> None:
        """Take a draft; what is certain by now is released."""
        if self.digest is not None and draft.kind in _SAID and not draft.wrapped:
            self.digest.add_line(draft.line, from_tool=draft.kind in _FROM_TOOLS)
            if draft.kind in _FROM_TOOLS and not draft.external and not self._held:
                return  # a reading for facts has no use of it
        if len(draft.text) > MAX_TEXT_CHARS:
            draft.shorten()
        if self._held or draft.doubt is not _CERTAIN:
            # The line's bytes are read, and hundreds of megabytes of them may have to wait.
            draft.line = draft.line.without_bytes()
            self._held.append(draft)
            self.waiting_bytes += _waiting_bytes(draft)
            if self.is_full():
                self.end_turn()
            else:
                self._advance()
        else:
            self._release(draft)

    def pass_tool_line(self, raw: bytes) -> None:
        """Take a line of a tool's while nothing is held back, in a reading that has no use for more of it."""
        if self.digest is not None:
            self.digest.add_tool_line(without_end(raw))

    def settle_prompts(self, *, spoken: bool) -> None:
        """Decide every message in doubt: a person's prompt, or the harness's words.

        One behind which a line was lost is the person's either way: the lost line may have said so. One that looks
        like the harness's is the harness's.
        """
        if not self._held:
            return
        for draft in self._held:
            if draft.doubt is Doubt.PROMPT:
                self.decide(draft, spoken=(spoken or draft.loss_behind) and not draft.wrapped)
        self._advance()

    def decide(self, draft: Draft, *, spoken: bool) -> None:
        """Decide one message in doubt. What it frees is released by the next call."""
        draft.doubt = Doubt.NONE
        if not spoken:
            draft.kind, draft.speaker, draft.task = EventKind.CONTEXT, Speaker.HARNESS, None

    def in_doubt(self) -> list[Draft]:
        """List the messages of which it is open whether a person spoke them, newest first."""
        return [draft for draft in reversed(self._held) if draft.doubt is Doubt.PROMPT]

    def end_turn(self) -> None:
        """Take it that the turn ended here: an answer in doubt was the final one."""
        for draft in self._held:
            if draft.doubt is Doubt.ANSWER:
                draft.kind, draft.doubt = EventKind.FINAL_ANSWER, Doubt.NONE
        self._advance()

    def roll_back(self, count: int, line: RawLine) -> None:
        """Undo the last ``count`` units: from the oldest one's prompt to the end of this line, nothing stands."""
        if self._knows_undone or count <= 0 or not self._units:
            return
        # The least of them: a prompt that an event alone told stands in the log before one that was settled earlier.
        start = min(self._units.pop() for _ in range(min(count, len(self._units))))
        while self._units and self._units[-1] >= start:
            self._units.pop()  # it stands on the same line, two records of which a crash ran together: gone with it
        self._last_task = -1
        if self.digest is not None:
            self.digest.add_line(line, from_tool=False)
        self.undone.append((start, line.byte_end))

    def _advance(self) -> None:
        while self._held:
            head = self._held[0]
            if head.doubt is Doubt.PROMPT:
                return
            if head.doubt is Doubt.ANSWER:
                kind = self._kind_of_answer()
                if kind is None:
                    return
                head.kind = kind
            self._held.popleft()
            self.waiting_bytes -= _waiting_bytes(head)
            self._release(head)

    def _kind_of_answer(self) -> EventKind | None:
        for position, draft in enumerate(self._held):
            if position == 0 or draft.kind is EventKind.CONTEXT:
                continue
            if draft.doubt is Doubt.PROMPT:
                return None
            return EventKind.FINAL_ANSWER if draft.kind in _ENDS_A_TURN else EventKind.COMMENTARY
        return None

    def _release(self, draft: Draft) -> None:
        start = draft.line.byte_start
        if self.undone and any(begin <= start < end for begin, end in self.undone):
            return
        if draft.kind is _PROMPT:
            self._turn += 1
            if draft.task is not None and (draft.task == 0 or draft.task != self._last_task):
                self._last_task = draft.task
                self._units.append(start)
                draft.opens_unit = True
        draft.turn = self._turn
        self.ready.append(draft)


class ContentDigest:
    """A digest over the lines that say something, in order: equal digests mean that nothing new was said.

    What tools gave counts together with the next word that somebody says: a log that grew by it alone, as by anything
    that the harness put in, says nothing new.

    A line of talk goes in whole. Of a tool's line longer than a kilobyte, its length, a checksum of all of it, its
    beginning (which holds time and call) and its end go in: the bulk of a log is read at the speed of a checksum. What
    is long enough to hold media goes in by length and checksum, the same whether or not its media was left out.
    """

    _LONG = 1 << 10
    _EDGE = 1 << 9

    def __init__(self) -> None:
        self._digest = hashlib.sha256()
        self._with_tools = self._digest  # what it will be once a word follows
        self._last_line = 0

    def add_line(self, line: RawLine, *, from_tool: bool) -> None:
        """Take a line in, once though several drafts come from it."""
        if not from_tool:
            self._digest = self._with_tools
        elif self._with_tools is self._digest:
            self._with_tools = self._digest.copy()
        if line.number == self._last_line:
            return
        self._last_line = line.number
        if line.byte_end - line.byte_start > MEDIA_RUN_BYTES:
            self._with_tools.update(b"%d %b\n" % (line.byte_end - line.byte_start, line.digest(Crc32).encode()))
        elif from_tool:
            self.add_tool_line(line.raw)
        else:
            self._with_tools.update(b"%d\n%b" % (len(line.raw), line.raw))

    def add_tool_line(self, raw: bytes) -> None:
        """Take in a line of a tool's from which no other draft comes, shorter than any that may hold media."""
        if self._with_tools is self._digest:
            self._with_tools = self._digest.copy()
        if len(raw) <= self._LONG:
            self._with_tools.update(b"%d\n%b" % (len(raw), raw))
        else:
            self._with_tools.update(b"%d %d\n%b%b" % (len(raw), zlib.crc32(raw), raw[: self._EDGE], raw[-self._EDGE :]))

    def hexdigest(self) -> str:
        """Give the digest of what was taken in so far."""
        return self._digest.hexdigest()


def has_words(text: str) -> bool:
    """Whether a text is more than blanks; unlike stripping it, this copies nothing."""
    return bool(text) and not text.isspace()


def text_or_none(value: Any) -> str | None:
    """Give a value back when it is text that says something, else None."""
    return value if isinstance(value, str) and value and not value.isspace() else None


def name_of(value: Any) -> str | None:
    """Give a type's name when it is text, None for anything else that stands in its place."""
    return value if isinstance(value, str) else None


def table(value: Any) -> Mapping[str, Any]:
    """Give a value back when it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def is_undecoded(value: Any, first: str) -> bool:
    """Whether a value was left undecoded, and begins so: with a quote it is text, with a brace an object."""
    return isinstance(value, msgspec.Raw) and memoryview(value)[0] == ord(first)


def is_broken_content(content: Any, *, bare_texts: bool) -> bool:
    """Whether some of a message's content can't be read: it is neither text nor blocks, or a block says no text.

    Empty text and no blocks at all are nothing broken. ``bare_texts``: texts without a block around them are read too.
    """
    if isinstance(content, str):
        return False
    if not isinstance(content, list):
        return True
    return any(_is_broken_block(block) for block in content if not (bare_texts and isinstance(block, str)))


def _is_broken_block(block: Any) -> bool:
    if not isinstance(block, dict):
        return True
    kind = block.get("type")
    says_text = not isinstance(kind, str) or kind in ("text", "input_text", "output_text")
    return says_text and not isinstance(block.get("text"), str)


def image_marker(source: Any) -> str:
    """Stand in for an inline image: ``[image, 12345 bytes]``, by the length of its encoding."""
    encoded = source if isinstance(source, str) else table(source).get("data")
    if not isinstance(encoded, str) or encoded.startswith(("http:", "https:", "file:")):
        return "[image]"
    left_out = list(MEDIA_LEFT_OUT.finditer(encoded)) if "[" in encoded else []
    size = len(encoded) + sum(int(match.group(1)) - len(match.group()) for match in left_out)
    return f"[image, {size} bytes]"
