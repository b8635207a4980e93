"""The room's front door: a rollout as a stream of events, and the facts of its thread.

One streaming pass each, in memory bounded by the longest line; every line is decoded at most once.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from memory_pipeline.errors import RolloutError
from memory_pipeline.records import Agent, Event, EventKind, RolloutFile, Source, ThreadFacts
from memory_pipeline.rollouts.claude import ClaudeGrammar
from memory_pipeline.rollouts.codex import CodexGrammar
from memory_pipeline.rollouts.grammar import Grammar, SessionNotes
from memory_pipeline.rollouts.homes import is_below
from memory_pipeline.rollouts.jsonl import LineReader, SkippedLines, decode_line
from memory_pipeline.rollouts.opening import open_rollout
from memory_pipeline.rollouts.paths import plain_path

_GRAMMARS: Mapping[Agent, type[Grammar]] = {Agent.CODEX: CodexGrammar, Agent.CLAUDE: ClaudeGrammar}
_TITLE_CHARS = 80
_OWN_FOLDER = re.compile(r"/\.codex/memories(?:_v2)?(?:/|$)")


class RolloutReading:
    """The events of one rollout, to be iterated once, in the log's order.

    After the iteration the counts tell how complete it was. ``skipped_lines`` is reason -> count, ``skipped_places``
    the first hundred of them as ``(line number, reason)``; ``unknown_types`` is line type -> count;
    ``total_lines`` counts every line that is not blank, ``understood_lines`` those of a known type.
    """

    def __init__(self, file: RolloutFile, home: str, *, max_bytes: int) -> None:
        self.notes = SessionNotes()
        self.mtime: float | None = None
        self.unknown_types: Mapping[str, int] = {}
        self.understood_lines = 0
        self.total_lines = 0
        self._file = file
        self._home = home
        self._max_bytes = max_bytes
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
        if self._file.agent not in _GRAMMARS:
            raise RolloutError(f"{self._file.path}: there is no grammar for logs of {self._file.agent.value}")
        grammar = _GRAMMARS[self._file.agent]()
        with open_rollout(self._file, self._home, max_bytes=self._max_bytes) as plain:
            self.mtime = plain.mtime
            lines = LineReader(plain.chunks(), self._skipped)
            try:
                for line in lines:
                    passed_by = grammar.glance(line.raw)
                    records = [passed_by] if passed_by is not None else decode_line(line, self._skipped)
                    for record in records:
                        yield from grammar.read(record, line)
                yield from grammar.close()
            finally:
                if plain.cut is not None:
                    self._skipped.add(plain.cut, lines.last_number)
                self.notes = grammar.notes
                self.unknown_types = dict(grammar.counts.unknown_types)
                self.understood_lines = grammar.counts.understood_lines
                self.total_lines = lines.total_lines


def read_events(file: RolloutFile, home: str, *, max_bytes: int) -> RolloutReading:
    """Read a rollout as events; the file is opened when the iteration starts.

    Raises (while iterating):
        RolloutError: it vanished, is not a regular file, lies outside the agent's logs, or may not be read.
    """
    return RolloutReading(file, home, max_bytes=max_bytes)


def read_facts(
    file: RolloutFile,
    home: str,
    *,
    max_bytes: int,
    own_folders: Sequence[str] = (),
    gives_direction: Callable[[str], bool] | None = None,
    redact_text: Callable[[str], str] | None = None,
) -> ThreadFacts:
    """Read what the index and the gates need to know of a thread.

    ``own_folders`` are our workspace folders: a session that ran inside one is our own. The two functions default to
    those of ``directions`` and ``redact``.

    Raises:
        RolloutError: it vanished, is not a regular file, lies outside the agent's logs, or may not be read.
    """
    gives_direction = gives_direction or _default_direction()
    redact_text = redact_text or _default_redaction()
    reading = read_events(file, home, max_bytes=max_bytes)
    digest = hashlib.sha256()
    digested_line = 0
    prompt_count = result_chars = 0
    direction = external = False
    first_prompt: str | None = None
    for event in reading:
        if event.line_number != digested_line:
            digested_line = event.line_number
            digest.update(event.line_sha256.encode("ascii"))
        external = external or event.external
        if event.kind is EventKind.PROMPT:
            prompt_count += 1
            first_prompt = first_prompt if first_prompt is not None else event.text
            direction = direction or gives_direction(event.text)
        elif event.kind is EventKind.FINAL_ANSWER:
            result_chars += len(event.text)
    notes = reading.notes
    named_by_log = notes.thread_id if file.agent is Agent.CODEX else None
    return ThreadFacts(
        thread_id=named_by_log or file.thread_id,
        agent=file.agent,
        source=Source.OWN if is_own_folder(notes.cwd, own_folders) else notes.source,
        cwd=notes.cwd,
        git_remote=notes.git_remote,
        git_branch=notes.git_branch,
        title=_title(first_prompt, redact_text),
        started_at=notes.started_at,
        updated_at=_not_after(notes.last_at, reading.mtime),
        prompt_count=prompt_count,
        result_chars=result_chars,
        gives_direction=direction,
        memory_mode=notes.memory_mode if notes.memory_mode in ("disabled", "polluted") else None,
        model_provider=notes.model_provider,
        external_context=external,
        rate_limits=notes.rate_limits,
        content_digest=digest.hexdigest(),
        understood_lines=reading.understood_lines,
        total_lines=reading.total_lines,
        skipped_lines=reading.skipped_lines,
        unknown_types=reading.unknown_types,
    )


def is_own_folder(cwd: str | None, own_folders: Sequence[str]) -> bool:
    """Whether a session ran inside a memory workspace: one of ours, or Codex's own."""
    folder = plain_path(cwd)
    if folder is None:
        return False
    ours = [own for own in map(plain_path, own_folders) if own is not None]
    return bool(_OWN_FOLDER.search(folder)) or any(is_below(folder, own) for own in ours)


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
