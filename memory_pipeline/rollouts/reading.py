"""The room's front door: a rollout as a stream of events, and the facts of its thread.

One streaming pass each, in memory bounded by the longest line; every line is decoded at most once. Only a log in which
the person undid turns is read twice for its events.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from memory_pipeline.errors import RolloutError
from memory_pipeline.records import Agent, Citation, Event, EventKind, RolloutFile, Source, ThreadFacts
from memory_pipeline.rollouts.citations import citation_in
from memory_pipeline.rollouts.claude import ClaudeGrammar
from memory_pipeline.rollouts.codex import ROLLED_BACK, CodexGrammar
from memory_pipeline.rollouts.grammar import ContentDigest, Draft, Grammar, Sequencer, SessionNotes, Wanted
from memory_pipeline.rollouts.homes import is_below
from memory_pipeline.rollouts.jsonl import LineBlock, LineReader, RawLine, SkippedLines, decode_line
from memory_pipeline.rollouts.lineage import WHOLE_FILE, OwnPart
from memory_pipeline.rollouts.opening import open_rollout
from memory_pipeline.rollouts.paths import plain_path

_GRAMMARS: Mapping[Agent, type[Grammar]] = {
    Agent.CODEX: CodexGrammar,
    Agent.CLAUDE: ClaudeGrammar,
}
_TITLE_CHARS = 80
_BRACE = ord("}")
_PLAIN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}")
_OWN_FOLDER = re.compile(r"/\.codex/memories(?:_v2)?(?:/|$)|/\.claude/projects/[^/]+/memory(?:/|$)")


class RolloutReading:
    """The events of one rollout, to be iterated once, in the log's order.

    After the iteration the counts tell how complete it was. ``skipped_lines`` is reason -> count, ``skipped_places``
    the first hundred of them as ``(line number, reason)``; ``unknown_types`` is line type -> count;
    ``total_lines`` counts every line that is not blank, ``understood_lines`` those of a known type.
    """

    def __init__(self, file: RolloutFile, home: str, *, max_bytes: int, own: OwnPart | None = None) -> None:
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
        self._skipped = SkippedLines()

    @property
    def skipped_lines(self) -> Mapping[str, int]:
        """What was lost, by reason."""
        return dict(self._skipped.counts)

    @property
    def skipped_places(self) -> Sequence[tuple[int, str]]:
        """Where the first losses are: line number and reason."""
        return tuple(self._skipped.places)

    def __iter__(self) -> Iterator[Event]:
        grammar_of = _grammar_of(self._file)
        undone = self._undone_ranges() if grammar_of.can_undo else ()
        grammar = grammar_of(Wanted(own=self._own, undone=undone, skipped=self._skipped))
        ready = grammar.sequencer.ready
        for _ in self._steps(grammar):
            for draft in ready:
                yield draft.event()
            ready.clear()

    def facts_drafts(self, digest: ContentDigest) -> Iterator[Sequencer]:
        """Read lean, for the facts alone: yield whenever drafts are ready, or turns were undone, and at the end."""
        grammar = _grammar_of(self._file)(Wanted(own=self._own, digest=digest, skipped=self._skipped))
        for _ in self._steps(grammar):
            yield grammar.sequencer
            grammar.sequencer.ready.clear()

    def _undone_ranges(self) -> Sequence[tuple[int, int]]:
        """Find what the person undid. Only a log that holds the mark of it is read twice."""
        with open_rollout(self._file, self._home, max_bytes=self._max_bytes) as plain:
            if not _mentions(plain.chunks(), ROLLED_BACK):
                return ()
        first = RolloutReading(self._file, self._home, max_bytes=self._max_bytes, own=self._own)
        undone: Sequence[tuple[int, int]] = ()
        for sequencer in first.facts_drafts(ContentDigest()):
            undone = sequencer.undone
        return undone

    def _steps(self, grammar: Grammar) -> Iterator[None]:
        """Read line by line; stop whenever the grammar has something ready, and at the end."""
        with open_rollout(self._file, self._home, max_bytes=self._max_bytes) as plain:
            self.mtime = plain.mtime
            lines = LineReader(plain.chunks(), self._skipped, hashes=grammar.sequencer.digest is None)
            try:
                for block in lines.blocks():
                    if block.line is not None:
                        self._read_line(grammar, block.line)
                        yield
                    else:
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

    def _read_block(self, grammar: Grammar, lines: LineReader, block: LineBlock) -> Iterator[None]:
        """Read the lines of a block; most are only glanced at, where they stand. Stop when something is ready."""
        data, begin, number = block.data, block.begin, block.number
        offset = block.byte_start - begin  # of the data, in the plain text
        own_from = self._own.own_from_byte - offset
        glance, ready, undone = grammar.glance, grammar.sequencer.ready, grammar.sequencer.undone
        undone_before = len(undone)
        while begin < block.end:
            end = data.index(b"\n", begin)
            lines.last_number = number
            # What ends in a brace is not blank, and no line of a block is longer than a chunk.
            seen = glance(data, begin, end) if begin >= own_from and data[end - 1] == _BRACE else None
            if seen is None:
                line = lines.line(number, offset + begin, data[begin:end])
                if line is not None:
                    self._decode(grammar, line)
            else:
                lines.total_lines += 1
                if seen:
                    grammar.read(seen, RawLine(number, offset + begin, data[begin:end]))
            begin, number = end + 1, number + 1
            if ready or len(undone) != undone_before:
                undone_before = len(undone)
                yield

    def _read_line(self, grammar: Grammar, line: RawLine) -> None:
        is_own = line.byte_start >= self._own.own_from_byte
        glanced = is_own and line.is_whole and line.raw.endswith(b"}")
        seen = grammar.glance(line.raw, 0, len(line.raw)) if glanced else None
        if seen is None:
            self._decode(grammar, line)
        elif seen:
            grammar.read(seen, line)

    def _decode(self, grammar: Grammar, line: RawLine) -> None:
        if line.byte_start < self._own.own_from_byte:
            grammar.read_inherited(line)
            return
        for record in decode_line(line, self._skipped):
            grammar.read(record, line)


def _grammar_of(file: RolloutFile) -> type[Grammar]:
    if file.agent not in _GRAMMARS:
        raise RolloutError(f"{file.path}: there is no grammar for logs of {file.agent.value}")
    return _GRAMMARS[file.agent]


def grammar_for(agent: Agent) -> type[Grammar] | None:
    """Return how an agent's lines are read, None when there is no grammar for them."""
    return _GRAMMARS.get(agent)


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
    return RolloutReading(file, home, max_bytes=max_bytes, own=own)


def read_facts(
    file: RolloutFile,
    home: str,
    *,
    max_bytes: int,
    own_folders: Sequence[str] = (),
    gives_direction: Callable[[str], bool] | None = None,
    redact_text: Callable[[str], str] | None = None,
    own: OwnPart | None = None,
) -> ThreadFacts:
    """Read what the index and the gates need to know of a thread.

    ``own_folders`` are our workspace folders: a session that ran inside one is our own. The two functions default to
    those of ``directions`` and ``redact``. ``own`` says which part of the file is its own thread's: nothing else
    counts, and the times are those of that part; ``record_hashes`` lists every record of the file all the same.

    Raises:
        RolloutError: it vanished, is not a regular file, lies outside the agent's logs, or may not be read.
    """
    redact_text = redact_text or _default_redaction()
    reading = read_events(file, home, max_bytes=max_bytes, own=own)
    tally = _Tally(gives_direction or _default_direction())
    digest = ContentDigest()
    for sequencer in reading.facts_drafts(digest):
        for draft in sequencer.ready:
            tally.add(draft)
        tally.undo(sequencer.undone)
    notes = reading.notes
    named_by_log = notes.thread_id if file.agent is Agent.CODEX and _is_plain_id(notes.thread_id) else None
    is_own = is_own_folder(notes.cwd, (*own_folders, *memory_folders(file.agent, home)))
    return ThreadFacts(
        thread_id=named_by_log or file.thread_id,
        agent=file.agent,
        source=Source.OWN if is_own else notes.source,
        cwd=notes.cwd,
        git_remote=notes.git_remote,
        git_branch=notes.git_branch,
        title=_title(tally.first_prompt, redact_text),
        started_at=notes.started_at,
        updated_at=_not_after(notes.last_at, reading.mtime),
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


@dataclass(kw_only=True, slots=True)
class _Unit:
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
        self._units = [_Unit(start=-1)]
        self._undone = 0

    def add(self, draft: Draft) -> None:
        """Count one settled draft."""
        if draft.opens_unit:
            self._units.append(_Unit(start=draft.line.byte_start))
        unit = self._units[-1]
        unit.external = unit.external or draft.external
        if draft.kind is EventKind.PROMPT:
            unit.prompt_count += 1
            unit.first_prompt = unit.first_prompt if unit.first_prompt is not None else draft.text
            unit.direction = unit.direction or (not self.direction and self._gives_direction(draft.text))
        elif draft.kind is EventKind.FINAL_ANSWER:
            unit.result_chars += len(draft.text)
            citation = citation_in(draft.text, at=draft.at, place=draft.line.sha256)
            if citation is not None:
                unit.citations.append(citation)

    def undo(self, ranges: Sequence[tuple[int, int]]) -> None:
        """Take out the units that the newest ranges undo."""
        for start, _ in ranges[self._undone :]:
            while self._units[-1].start >= start:
                self._units.pop()
        self._undone = len(ranges)

    @property
    def direction(self) -> bool:
        """Whether a prompt that stands gives a direction."""
        return any(unit.direction for unit in self._units)

    @property
    def external(self) -> bool:
        """Whether words from outside the machine stand in it."""
        return any(unit.external for unit in self._units)

    @property
    def prompt_count(self) -> int:
        """How many prompts of the person stand."""
        return sum(unit.prompt_count for unit in self._units)

    @property
    def result_chars(self) -> int:
        """How long the final answers that stand are, together."""
        return sum(unit.result_chars for unit in self._units)

    @property
    def citations(self) -> tuple[Citation, ...]:
        """What the final answers that stand cite."""
        return tuple(citation for unit in self._units for citation in unit.citations)

    @property
    def first_prompt(self) -> str | None:
        """The first prompt that stands."""
        return next((unit.first_prompt for unit in self._units if unit.first_prompt is not None), None)


def _is_plain_id(thread_id: str | None) -> bool:
    """Whether an id that a log gives itself is fit to stand in file names, headings and commands."""
    return thread_id is not None and _PLAIN_ID.fullmatch(thread_id) is not None


def is_own_folder(cwd: str | None, own_folders: Sequence[str]) -> bool:
    """Whether a session ran inside a memory workspace: one of ours, or Codex's own."""
    folder = plain_path(cwd)
    if folder is None:
        return False
    ours = [own for own in map(plain_path, own_folders) if own is not None]
    return bool(_OWN_FOLDER.search(folder)) or any(is_below(folder, own) for own in ours)


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
