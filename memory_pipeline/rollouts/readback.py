"""Evidence read back from the log: whether a line still stands there, and its words around the quote.

A line is known by its length and its hash, so it is found again wherever it stands: at its old place, elsewhere in a
log that was written anew, in a log that was moved or compressed. A log is opened as safely as for extraction and read
in one pass, in memory bounded by its longest line; whatever is wrong with it is a result, never an error.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from hashlib import sha256
from itertools import chain

from msgspec import Struct

from memory_pipeline.config import JOURNAL_FILE
from memory_pipeline.errors import RolloutError
from memory_pipeline.records import Agent, EvidenceLine, RolloutFile
from memory_pipeline.redact import redact
from memory_pipeline.rollouts.discover import find_rollouts
from memory_pipeline.rollouts.grammar import Wanted
from memory_pipeline.rollouts.homes import log_roots
from memory_pipeline.rollouts.jsonl import LineReader, RawLine, SkippedLines, decode_line
from memory_pipeline.rollouts.opening import open_rollout
from memory_pipeline.rollouts.reading import grammar_for

WORDS_CHARS = 2_000
_ELLIPSIS = "…"
#: A longer text is masked around the quote alone, with so many characters on either side that no secret is halved.
_MASKED_WHOLE_CHARS = 200_000
_MASKED_AROUND_CHARS = 50_000
#: How much of a quote is looked for when it does not stand in the line as a whole: what was cut out shows as a mark.
_PROBE_CHARS = (200, 60)


class EvidenceState(StrEnum):
    """Whether a piece of evidence still stands in the log."""

    VERIFIED = "verified"  # the very line was read from the log
    CHANGED = "changed"  # the log is there, the line is not
    GONE = "gone"  # the log is not there, or can't be read


class ReadBack(Struct, frozen=True, kw_only=True):
    """What became of one piece of evidence. The place is where the line stands now; None unless it was read."""

    state: EvidenceState
    words: str  # redacted; of a verified line around the quote, else the stored quote
    reason: str = ""  # why it is not verified, or that it stands elsewhere now
    rollout_path: str | None = None
    byte_start: int | None = None
    byte_end: int | None = None
    line_number: int | None = None


class EvidenceReader:
    """Reads evidence back from the logs of all agents. Made for one command: it lists a home at most once."""

    def __init__(self, homes: Mapping[Agent, str], *, max_bytes: int) -> None:
        """Take the home of each agent, and how much plain text of one log is read."""
        self._homes = homes
        self._max_bytes = max_bytes
        self._listings: dict[Agent, dict[str, list[str]]] = {}

    def read(
        self, lines: Sequence[EvidenceLine], *, agent: Agent, thread_id: str, current_path: str | None
    ) -> list[ReadBack]:
        """Read back lines of one thread, in the order given. ``current_path`` is where the index has its log."""
        search = _Search(agent, lines)
        for path in self._paths(lines, agent, thread_id, current_path):
            search.look_into(path, self._homes.get(agent, ""), max_bytes=self._max_bytes)
            if search.is_over:
                break
        return search.results()

    def _paths(
        self, lines: Sequence[EvidenceLine], agent: Agent, thread_id: str, current_path: str | None
    ) -> Iterator[str]:
        """Yield where the lines may stand, the likeliest first; the home is listed only when no such place is left."""
        known = dict.fromkeys(path for path in (current_path, *(line.rollout_path for line in lines)) if path)
        tried: set[str] = set()
        for path in chain(known, self._listed(agent, thread_id, known)):
            if path not in tried:
                tried.add(path)
                yield path

    def _listed(self, agent: Agent, thread_id: str, known: Mapping[str, None]) -> Iterator[str]:
        for path in known:
            yield path.removesuffix(".zst") if path.endswith(".zst") else f"{path}.zst"
        home = self._homes.get(agent)
        if home is None:
            return
        if agent in (Agent.JOURNAL, Agent.TASK):
            yield from (f"{root}/{JOURNAL_FILE}" for _, root in log_roots(agent, home))
            return
        if agent not in self._listings:
            listing: dict[str, list[str]] = {}
            for file in find_rollouts(agent, home):
                listing.setdefault(file.thread_id, []).append(file.path)
            self._listings[agent] = listing
        yield from self._listings[agent].get(thread_id, ())


class _Search:
    """Looks for lines in one log after another until each stands at its place or no log is left."""

    def __init__(self, agent: Agent, lines: Sequence[EvidenceLine]) -> None:
        self._agent = agent
        self._lines = lines
        self._lengths = {line.byte_end - line.byte_start for line in lines}
        self._found: dict[int, ReadBack] = {}
        self._at_place: set[int] = set()
        self._opened: str | None = None  # a log that was read though not every line stood in it
        self._trouble = ""

    @property
    def is_over(self) -> bool:
        """Whether every line was found."""
        return len(self._found) == len(self._lines)

    def look_into(self, path: str, home: str, *, max_bytes: int) -> None:
        """Read one log as far as it can be read; one that can't is passed over."""
        file = RolloutFile(self._agent, path, "", archived=False, size=0, mtime_ns=0, inode=0, device=0)
        try:
            with open_rollout(file, home, max_bytes=max_bytes) as plain:
                for line in LineReader(plain.chunks(), SkippedLines(), media_digest=sha256):
                    if line.byte_end - line.byte_start in self._lengths:
                        self._meet(line, path)
                        if len(self._at_place) == len(self._lines):
                            break
                if plain.cut == "past_limit":
                    self._trouble = f"{path}: only its first {max_bytes} bytes are read (gates.max_rollout_bytes)"
                else:
                    self._opened = self._opened or path
        except (RolloutError, OSError, ValueError) as error:
            self._trouble = self._trouble or str(error)

    def results(self) -> list[ReadBack]:
        """Say what became of each line."""
        return [self._found.get(number) or self._lost(line) for number, line in enumerate(self._lines)]

    def _meet(self, line: RawLine, path: str) -> None:
        line_sha256 = line.digest(sha256)
        for number, wanted in enumerate(self._lines):
            is_at_place = line.byte_start == wanted.byte_start
            if number in self._at_place or (number in self._found and not is_at_place):
                continue
            if line.byte_end - line.byte_start == wanted.byte_end - wanted.byte_start:
                if line_sha256 != wanted.line_sha256:
                    continue
                self._found[number] = _read_back(line, wanted, self._agent, path)
                if is_at_place:
                    self._at_place.add(number)

    def _lost(self, line: EvidenceLine) -> ReadBack:
        words = redact(line.quote).text
        if self._opened is None:
            return ReadBack(state=EvidenceState.GONE, words=words, reason=self._trouble or "its log is gone")
        reason = f"{self._opened} no longer holds this line"
        return ReadBack(state=EvidenceState.CHANGED, words=words, reason=reason)


def _read_back(line: RawLine, wanted: EvidenceLine, agent: Agent, path: str) -> ReadBack:
    moved = path != wanted.rollout_path or line.byte_start != wanted.byte_start
    return ReadBack(
        state=EvidenceState.VERIFIED,
        words=_words_around(_texts(line, agent, wanted), wanted.quote),
        reason="stands elsewhere than when it was read" if moved else "",
        rollout_path=path,
        byte_start=line.byte_start,
        byte_end=line.byte_end,
        line_number=line.number,
    )


def _texts(line: RawLine, agent: Agent, wanted: EvidenceLine) -> list[str]:
    """Tell what the line says, by the agent's grammar given this line alone; the wanted speaker's words first."""
    grammar_of = grammar_for(agent)
    if grammar_of is None:
        return []
    grammar = grammar_of(Wanted())
    for record in decode_line(line, SkippedLines()):
        grammar.read(record, line)
    grammar.close()
    ready = sorted(grammar.sequencer.ready, key=lambda draft: draft.speaker is not wanted.speaker)
    return [draft.text for draft in ready]


def _words_around(texts: Sequence[str], quote: str) -> str:
    """Return the words of the first text that holds the quote, cut around it.

    Where none does, what was cited is not what stands in the line (a web result that was withheld): then the quote.
    """
    for text in texts:
        near = text if len(text) <= _MASKED_WHOLE_CHARS else _part_around(text, quote, _MASKED_AROUND_CHARS)
        masked = redact(near).text
        if _place_of(quote, masked) is not None:
            return _cut_around(masked, quote, WORDS_CHARS)
    return redact(quote).text


def _part_around(text: str, quote: str, chars: int) -> str:
    place = _place_of(quote, text)
    return "" if place is None else text[max(0, place - chars) : place + len(quote) + chars]


def _cut_around(text: str, quote: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    place = _place_of(quote, text) or 0
    start = max(0, min(place - (limit - len(quote)) // 2, len(text) - limit))
    end = start + limit
    return f"{_ELLIPSIS if start else ''}{text[start:end]}{_ELLIPSIS if end < len(text) else ''}"


def _place_of(quote: str, text: str) -> int | None:
    """Say where a quote, or as much of its beginning or end as was kept, stands in a text."""
    for probe in (quote, *(quote[:length] for length in _PROBE_CHARS), *(quote[-length:] for length in _PROBE_CHARS)):
        found = text.find(probe)
        if found >= 0:
            return found
    return None
