"""The room's front door: a rollout as a stream of events, and the facts of its thread.

One streaming pass each, in bounded memory; every line is decoded whole at most once. Only a log in which the person
undid turns is read thrice for its events, and a large one of an agent that allows it is searched for that first.
"""

from __future__ import annotations

import hashlib
import math
import os
import re
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from sys import getsizeof

from msgspec import Struct, field

from memory_pipeline.errors import RolloutError
from memory_pipeline.records import Agent, Citation, Event, EventKind, RolloutFile, Source, ThreadFacts
from memory_pipeline.rollouts.citations import citation_in
from memory_pipeline.rollouts.claude import ClaudeGrammar
from memory_pipeline.rollouts.codex import ROLLED_BACK, CodexGrammar
from memory_pipeline.rollouts.grammar import (
    EVENT_BYTES,
    MAX_UNDOABLE_TURNS,
    MAX_WAITING_BYTES,
    ContentDigest,
    Draft,
    Grammar,
    Sequencer,
    SessionNotes,
    Wanted,
)
from memory_pipeline.rollouts.homes import is_below
from memory_pipeline.rollouts.jsonl import (
    LONG_LINE_BYTES,
    Crc32,
    LineBlock,
    LineReader,
    RawLine,
    SkippedLines,
    decode_line,
    hash_ranges,
)
from memory_pipeline.rollouts.lineage import WHOLE_FILE, OwnPart
from memory_pipeline.rollouts.opening import PlainText, open_rollout
from memory_pipeline.rollouts.paths import is_windows_path, plain_path

_GRAMMARS: Mapping[Agent, type[Grammar]] = {
    Agent.CODEX: CodexGrammar,
    Agent.CLAUDE: ClaudeGrammar,
}
_TITLE_CHARS = 80
_DECODING_TAKES = 6  # times the bytes of a long line
_TITLE_FROM_CHARS = 4000  # so that a title is made of whole words, and no half of a secret
_MOST_JUDGED = 10_000  # prompts; a direction matters to a short session alone
_PLAIN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}")
_OWN_FOLDER = re.compile(r"/\.codex/memories(?:_v2)?(?:/|$)|/\.claude/projects/[^/]+/memory(?:/|$)")


class RolloutReading:
    """The events of one rollout, to be iterated once, in the log's order.

    After the iteration the counts tell how complete it was. ``skipped_lines`` is reason -> count, ``skipped_places``
    the first hundred of them as ``(line number, reason)``; ``unknown_types`` is line type -> count;
    ``total_lines`` counts every line that is not blank, ``understood_lines`` those of a known type.
    """

    def __init__(
        self, file: RolloutFile, home: str, *, max_bytes: int, own: OwnPart | None = None, now: float = math.inf
    ) -> None:
        self.notes = SessionNotes()
        self.mtime: float | None = None
        self.unknown_types: Mapping[str, int] = {}
        self.understood_lines = 0
        self.total_lines = 0
        self.record_hashes = b""
        self._file = file
        self._home = home
        self._max_bytes = max_bytes
        self._own = own or WHOLE_FILE
        self._now = now
        self._long_line_bytes = 0  # what decoding the line that is read next will take
        self._skipped = SkippedLines()
        self._whole: bytes | None = None  # all of a log that is one chunk: its lines are hashed without another look

    @property
    def skipped_lines(self) -> Mapping[str, int]:
        """What was lost, by reason."""
        return dict(self._skipped.counts)

    @property
    def skipped_places(self) -> Sequence[tuple[int, str]]:
        """Where the first losses are: line number and reason."""
        return tuple(self._skipped.places)

    def __iter__(self) -> Iterator[Event]:
        grammar = _grammar_of(self._file)(Wanted(own=self._own, skipped=self._skipped))
        batches = self._batches(grammar)
        if grammar.can_undo:
            # The mark that turns were undone comes after them: what may be undone is held back.
            held, is_all = self._hold_back(batches, grammar.sequencer)
            if grammar.sequencer.undone or not (is_all or self._holds_no_mark()):
                held.clear()
                batches.close()
                batches = self._batches_that_stand()
            while held:
                yield from held.popleft()
        for batch in batches:
            yield from batch

    def _hold_back(self, batches: Iterator[list[Event]], sequencer: Sequencer) -> tuple[deque[list[Event]], bool]:
        """Take events until there are no more, or too much waits; tell whether that was all.

        The events of nearly any log fit. Of a larger one, the whole is searched for the mark of undone turns.
        """
        held: deque[list[Event]] = deque()
        held_bytes = 0
        for batch in batches:
            held.append(batch)
            held_bytes += len(batch) * EVENT_BYTES + sum([getsizeof(event.text) for event in batch])
            if held_bytes + sequencer.waiting_bytes + self._long_line_bytes > MAX_WAITING_BYTES:
                return held, False
        return held, True

    def hash_lines(self, ranges: Iterable[tuple[int, int]]) -> Mapping[tuple[int, int], str]:
        """Give the SHA-256 of lines by their byte ranges, which events tell. Few lines are evidence: only they need it.

        Right after the iteration, those of a log of one chunk are of what was read; else the log is opened anew.

        Raises:
            RolloutError: the file vanished, can't be read, or no longer holds such lines.
        """
        wanted = set(ranges)
        hashes = self._stored_hashes(wanted) if self._whole is None else hash_ranges((self._whole,), wanted)
        self._whole = None  # a model may be waited for, for minutes, while this reading is around
        if len(hashes) < len(wanted):
            raise RolloutError(f"{self._file.path}: it was cut while it was read; the next run reads it again")
        return hashes

    def _stored_hashes(self, wanted: set[tuple[int, int]]) -> Mapping[tuple[int, int], str]:
        with open_rollout(self._file, self._home, max_bytes=self._max_bytes) as plain:
            if plain.is_packed:
                return hash_ranges(plain.chunks(), wanted)
            told = ((place, _hash_of(plain, *place)) for place in wanted)
            return {place: sha256 for place, sha256 in told if sha256 is not None}

    def _batches(self, grammar: Grammar) -> Generator[list[Event], None, None]:
        ready = grammar.sequencer.ready
        for _ in self._steps(grammar):
            batch = [draft.event() for draft in ready]
            ready.clear()
            yield batch

    def _batches_that_stand(self) -> Generator[list[Event], None, None]:
        """Read anew, without what the person undid."""
        first = RolloutReading(self._file, self._home, max_bytes=self._max_bytes, own=self._own, now=self._now)
        undone: Sequence[tuple[int, int]] = ()
        for sequencer in first.facts_drafts(ContentDigest()):
            undone = sequencer.undone
        self._skipped = SkippedLines()
        return self._batches(_grammar_of(self._file)(Wanted(own=self._own, undone=undone, skipped=self._skipped)))

    def _holds_no_mark(self) -> bool:
        """Whether no turn was undone anywhere in the log: it does not hold the mark of it."""
        with open_rollout(self._file, self._home, max_bytes=self._max_bytes) as plain:
            return not _mentions(plain.chunks(), ROLLED_BACK)

    def facts_drafts(self, digest: ContentDigest) -> Iterator[Sequencer]:
        """Read lean, for the facts alone: yield whenever drafts are ready, or turns were undone, and at the end."""
        grammar = _grammar_of(self._file)(Wanted(own=self._own, digest=digest, skipped=self._skipped))
        for _ in self._steps(grammar):
            yield grammar.sequencer
            grammar.sequencer.ready.clear()

    def _steps(self, grammar: Grammar) -> Iterator[None]:
        """Read block by block; stop when the grammar has something ready, before a long line, and at the end."""
        with open_rollout(self._file, self._home, max_bytes=self._max_bytes) as plain:
            self.mtime = plain.mtime
            grammar.notes.written_at, grammar.notes.now = plain.mtime, self._now
            media_digest = None if grammar.sequencer.digest is None else Crc32
            lines = LineReader(self._chunks_of(plain), self._skipped, media_digest=media_digest)
            try:
                for block in lines.blocks():
                    long_line_bytes = 0 if block.spanning is None else len(block.spanning.raw)
                    if long_line_bytes >= LONG_LINE_BYTES:
                        self._long_line_bytes = _DECODING_TAKES * long_line_bytes
                        yield
                        self._long_line_bytes = 0
                    yield from self._read_block(grammar, lines, block)
                grammar.close()
                yield
            finally:
                if plain.cut is not None:
                    self._skipped.add(plain.cut, lines.last_number)
                self.notes = grammar.notes
                self.unknown_types = dict(grammar.counts.unknown_types)
                self.understood_lines = grammar.counts.understood_lines
                self.total_lines = lines.total_lines
                self.record_hashes = grammar.record_hashes()

    def _chunks_of(self, plain: PlainText) -> Iterator[bytes]:
        self._whole = None
        for chunk in plain.chunks():
            if len(chunk) == plain.size and not plain.is_packed:
                self._whole = chunk
            yield chunk

    def _read_block(self, grammar: Grammar, lines: LineReader, block: LineBlock) -> Iterator[None]:
        """Read the lines of a block. Stop when turns were undone, and at the end when something is ready."""
        first_own = self._read_inherited(grammar, lines, block)
        read, ready, undone = grammar.read, grammar.sequencer.ready, grammar.sequencer.undone
        undecoded, undone_before = 0, len(undone)
        for position, seen in grammar.glances(block, first_own):
            if seen is not None:
                read(seen, block.line_at(position))
            else:
                undecoded += 1
                self._read_whole(grammar, lines.line(block, position))
            if len(undone) != undone_before:
                # What was said before is to be undone, and what comes next is not.
                undone_before = len(undone)
                yield
        lines.count_decoded(block, len(block.raws) - first_own - undecoded)
        if ready:
            yield

    def _read_whole(self, grammar: Grammar, line: RawLine | None) -> None:
        if line is not None:
            for record in decode_line(line, self._skipped):
                grammar.read(record, line)

    def _read_inherited(self, grammar: Grammar, lines: LineReader, block: LineBlock) -> int:
        """Read those lines of a block that are copies of another thread's; give the position of the first own one."""
        first_own = bisect_left(block.byte_starts, self._own.own_from_byte, 0, len(block.raws))
        for position in range(first_own):
            line = lines.line(block, position)
            if line is not None:
                grammar.read_inherited(line)
        return first_own


def _grammar_of(file: RolloutFile) -> type[Grammar]:
    if file.agent not in _GRAMMARS:
        raise RolloutError(f"{file.path}: there is no grammar for logs of {file.agent.value}")
    return _GRAMMARS[file.agent]


def grammar_for(agent: Agent) -> type[Grammar] | None:
    """Return how an agent's lines are read, None when there is no grammar for them."""
    return _GRAMMARS.get(agent)


def _hash_of(plain: PlainText, start: int, end: int) -> str | None:
    digest = hashlib.sha256()
    left = end - start
    for piece in plain.stored_range(start, end):
        digest.update(piece)
        left -= len(piece)
    return digest.hexdigest() if left == 0 else None


def _mentions(chunks: Iterator[bytes], words: bytes) -> bool:
    """Whether a text holds some bytes, which may span two chunks."""
    end = b""
    for chunk in chunks:
        if words in chunk or words in end + chunk[: len(words)]:
            return True
        end = (end + chunk)[-len(words) :] if len(chunk) < len(words) else chunk[-len(words) :]
    return False


def read_events(file: RolloutFile, home: str, *, max_bytes: int, own: OwnPart | None = None) -> RolloutReading:
    """Read a rollout as events; the file is opened when the iteration starts.

    ``own`` says which part of the file is its own thread's: the rest yields no events. Turns that the person undid
    yield none either.

    Raises (while iterating):
        RolloutError: it vanished, is not a regular file, lies outside the agent's logs, or may not be read.
    """
    if file.agent is Agent.TASK:
        from memory_pipeline.rollouts.tasks import TaskReading  # it is one of these readings

        return TaskReading(file, own=own)
    return RolloutReading(file, home, max_bytes=max_bytes, own=own)


def read_facts(
    file: RolloutFile,
    home: str,
    *,
    max_bytes: int,
    own_folders: OwnFolders | Sequence[str] = (),
    gives_direction: Callable[[str], bool] | None = None,
    redact_text: Callable[[str], str] | None = None,
    own: OwnPart | None = None,
    now: float = math.inf,
) -> ThreadFacts:
    """Read what the index and the gates need to know of a thread.

    ``own_folders`` are our workspace folders, resolved or not: a session that ran inside one, or inside one of the
    agent's, is our own. The two functions default to
    those of ``directions`` and ``redact``. ``own`` says which part of the file is its own thread's: nothing else
    counts, and the times are those of that part; ``record_hashes`` lists every record of the file all the same. A time
    later than ``now`` is told as the newest alone.

    Raises:
        RolloutError: it vanished, is not a regular file, lies outside the agent's logs, or may not be read.
    """
    redact_text = redact_text or _default_redaction()
    reading = RolloutReading(file, home, max_bytes=max_bytes, own=own, now=now)
    tally = _Tally(gives_direction or _default_direction())
    digest = ContentDigest()
    for sequencer in reading.facts_drafts(digest):
        for draft in sequencer.ready:
            tally.add(draft)
        tally.undo(sequencer.undone)
    notes = reading.notes
    named_by_log = notes.thread_id if file.agent is Agent.CODEX and _is_plain_id(notes.thread_id) else None
    if not isinstance(own_folders, OwnFolders):
        own_folders = OwnFolders((*own_folders, *memory_folders(file.agent, home)))
    return ThreadFacts(
        thread_id=named_by_log or file.thread_id,
        agent=file.agent,
        source=Source.OWN if own_folders.hold(notes.cwd) else notes.source,
        cwd=notes.cwd,
        git_remote=notes.git_remote,
        git_branch=notes.git_branch,
        title=_title(tally.first_prompt, redact_text),
        started_at=notes.started_at,
        updated_at=_not_after(notes.last_at, reading.mtime),
        newest_at=_not_after(notes.newest_at, reading.mtime),
        prompt_count=tally.prompt_count,
        result_chars=tally.result_chars,
        gives_direction=tally.direction,
        memory_mode=notes.memory_mode if notes.memory_mode in ("disabled", "polluted") else None,
        model_provider=notes.model_provider,
        external_context=tally.external,
        rate_limits=notes.rate_limits,
        content_digest=digest.hexdigest(),
        understood_lines=reading.understood_lines,
        total_lines=reading.total_lines,
        skipped_lines=reading.skipped_lines,
        unknown_types=reading.unknown_types,
        skipped_places=tuple(reading.skipped_places),
        record_hashes=reading.record_hashes,
        forked_from=notes.forked_from,
        disabled_from_start=notes.disabled_from_start,
        citations=tally.citations,
    )


class _Unit(Struct):
    """What was said since one prompt that a rollback can undo to."""

    start: int
    prompt_count: int = 0
    result_chars: int = 0
    direction: bool = False
    external: bool = False
    first_prompt: str | None = None
    citations: list[Citation] = field(default_factory=list)


class _Tally:
    """Counts what stands: a rollback takes its units out again."""

    def __init__(self, gives_direction: Callable[[str], bool]) -> None:
        self._gives_direction = gives_direction
        self._settled = _Unit(-1)  # what no rollback reaches any longer
        self._units: deque[_Unit] = deque()
        self._prompts_seen = 0
        self._directions = 0  # in how many of the units one is given
        self._undone = 0

    def add(self, draft: Draft) -> None:
        """Count one settled draft."""
        if draft.opens_unit:
            self._units.append(_Unit(draft.line.byte_start))
            if len(self._units) > MAX_UNDOABLE_TURNS:
                self._settle(self._units.popleft())
        unit = self._unit_of(draft)
        unit.external = unit.external or draft.external
        if draft.kind is EventKind.PROMPT:
            unit.prompt_count += 1
            if unit.first_prompt is None:
                unit.first_prompt = draft.text.lstrip()[:_TITLE_FROM_CHARS]
            self._prompts_seen += 1
            if not self.direction and self._prompts_seen <= _MOST_JUDGED and self._gives_direction(draft.text):
                unit.direction = True
                self._directions += unit is not self._settled
        elif draft.kind is EventKind.FINAL_ANSWER:
            unit.result_chars += len(draft.text)
            citation = citation_in(draft.text, at=draft.at, place=str(draft.line.byte_start))
            if citation is not None:
                unit.citations.append(citation)

    def _unit_of(self, draft: Draft) -> _Unit:
        # By its place: what only an event told may be settled later than a prompt that follows it.
        start = draft.line.byte_start
        return next((unit for unit in reversed(self._units) if unit.start <= start), self._settled)

    def undo(self, ranges: Sequence[tuple[int, int]]) -> None:
        """Take out the units that the newest ranges undo."""
        for start, _ in ranges[self._undone :]:
            while self._units and self._units[-1].start >= start:
                self._directions -= self._units.pop().direction
        self._undone = len(ranges)

    def _settle(self, unit: _Unit) -> None:
        settled = self._settled
        settled.prompt_count += unit.prompt_count
        settled.result_chars += unit.result_chars
        settled.external = settled.external or unit.external
        settled.direction = settled.direction or unit.direction
        self._directions -= unit.direction
        settled.first_prompt = unit.first_prompt if settled.first_prompt is None else settled.first_prompt

    @property
    def direction(self) -> bool:
        """Whether a prompt that stands gives a direction."""
        return self._settled.direction or self._directions > 0

    @property
    def external(self) -> bool:
        """Whether words from outside the machine stand in it."""
        return any(unit.external for unit in self._standing())

    @property
    def prompt_count(self) -> int:
        """How many prompts of the person stand."""
        return sum(unit.prompt_count for unit in self._standing())

    @property
    def result_chars(self) -> int:
        """How long the final answers that stand are, together."""
        return sum(unit.result_chars for unit in self._standing())

    @property
    def citations(self) -> tuple[Citation, ...]:
        """What the final answers that stand cite."""
        return tuple(citation for unit in self._standing() for citation in unit.citations)

    @property
    def first_prompt(self) -> str | None:
        """The beginning of the first prompt that stands."""
        return next((unit.first_prompt for unit in self._standing() if unit.first_prompt is not None), None)

    def _standing(self) -> Iterator[_Unit]:
        yield self._settled
        yield from self._units


def _is_plain_id(thread_id: str | None) -> bool:
    """Whether an id that a log gives itself is fit to stand in file names, headings and commands."""
    return thread_id is not None and _PLAIN_ID.fullmatch(thread_id) is not None


class OwnFolders:
    """Our memory workspaces, resolved once for all the logs of a look: whether a session ran inside one of them."""

    def __init__(self, folders: Iterable[str]) -> None:
        places = [place for place in map(plain_path, folders) if place is not None]
        self._ours = {*places, *map(_real, places)}
        self._known: dict[str, bool] = {}

    def hold(self, cwd: str | None) -> bool:
        """Whether a folder lies in a workspace: one of ours, or Codex's own, by its name or by a link."""
        folder = plain_path(cwd)
        if folder is None:
            return False
        if folder not in self._known:
            self._known[folder] = any(
                _OWN_FOLDER.search(place) is not None or any(is_below(place, own) for own in self._ours)
                for place in (folder, _real(folder))
            )
        return self._known[folder]


def _real(folder: str) -> str:
    return folder if is_windows_path(folder) else os.path.realpath(folder)


def memory_folders(agent: Agent, home: str) -> tuple[str, ...]:
    """List where an agent with this home keeps its own memory: Codex runs there when it consolidates."""
    if agent is not Agent.CODEX:
        return ()
    homes = dict.fromkeys((home, os.path.realpath(home)))
    return tuple(f"{place}/{name}" for place in homes for name in ("memories", "memories_v2"))


def _title(prompt: str | None, redact_text: Callable[[str], str]) -> str | None:
    """Make a title of the first prompt: redacted before it is cut, so that no half of a secret stays."""
    if prompt is None:
        return None
    line = " ".join(redact_text(prompt).split())
    return (line if len(line) <= _TITLE_CHARS else line[: _TITLE_CHARS - 1].rstrip() + "…") or None


def _not_after(at: float | None, mtime: float | None) -> float | None:
    return min(at, mtime) if at is not None and mtime is not None else at


def _default_direction() -> Callable[[str], bool]:
    from memory_pipeline.directions import gives_direction

    return gives_direction


def _default_redaction() -> Callable[[str], str]:
    from memory_pipeline.redact import redact

    return lambda text: redact(text).text
