"""Evidence: the rows of a rollout that a model sees, in the log's order. Redacted whole, then cut to the budget."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct

from memory_pipeline.phase1.echoes import Echoes, looks_like_memory, without_citations
from memory_pipeline.phase1.repeats import Repeats
from memory_pipeline.records import (
    ECHO,
    WITHHELD,
    Coverage,
    Event,
    EventKind,
    Evidence,
    EvidenceRow,
    IndexedThread,
    Speaker,
    ToolStatus,
)
from memory_pipeline.redact import redact
from memory_pipeline.tokens import estimate_tokens
from memory_pipeline.tombstones import Tombstones

#: Gives the SHA-256 of raw lines by their byte ranges.
HashLines = Callable[[Iterable[tuple[int, int]]], Mapping[tuple[int, int], str]]

#: What a model needs to see at all. Instructions and environment of the harness say nothing about this session.
_KINDS_THAT_MATTER = frozenset(EventKind) - {EventKind.CONTEXT, EventKind.COMPACTED}

#: Longest text of one row, in characters, by kind; what is longer keeps its beginning and end.
_ROW_CHARS: Mapping[EventKind, int] = {
    EventKind.PROMPT: 8_000,
    EventKind.SHELL: 1_000,
    EventKind.FINAL_ANSWER: 6_000,
    EventKind.COMMENTARY: 1_500,
    EventKind.TOOL_CALL: 1_500,
    EventKind.TOOL_RESULT: 2_400,
    EventKind.REPORT: 2_400,
    EventKind.INTERRUPTED: 200,
    EventKind.FAILED_TURN: 600,
}

#: What a row tells of a call beside its text: longest command in characters, most paths.
_COMMAND_CHARS = 4_000
_MOST_PATHS = 100
#: Of names that stand in many rows, how long and how many are kept redacted while a log is read.
_NAME_CHARS = 1_000
_MOST_NAMES = 1_000

#: How much a row is worth keeping when not all fit; ties go to the newer row.
_IMPORTANCE: Mapping[EventKind, int] = {
    EventKind.PROMPT: 9,
    EventKind.INTERRUPTED: 8,
    EventKind.FINAL_ANSWER: 7,
    EventKind.FAILED_TURN: 7,
    EventKind.SHELL: 6,
    EventKind.TOOL_CALL: 3,
    EventKind.COMMENTARY: 3,
    EventKind.REPORT: 2,
    EventKind.TOOL_RESULT: 1,
}
_FAILED_RESULT_IMPORTANCE = 5

#: What a row costs beyond its text: number, speaker, line ends.
_ROW_OVERHEAD_TOKENS = 8

#: Of the model's window, the share that evidence may fill; the rest is for prompt, schema and answer.
_EVIDENCE_SHARE = 0.6


class _Draft(Struct, frozen=True, kw_only=True):
    """A row before it has a number."""

    order: int
    event: Event  # without its own text, which may be of megabytes
    text: str
    tokens: int

    @property
    def importance(self) -> int:
        if self.event.kind is EventKind.TOOL_RESULT and self.event.status in (ToolStatus.FAILED, ToolStatus.DENIED):
            return _FAILED_RESULT_IMPORTANCE
        return _IMPORTANCE[self.event.kind]


class Forgotten(Struct, frozen=True, kw_only=True):
    """Tells what the person had forgotten among the words of one thread."""

    thread_id: str
    tombstones: Tombstones

    def holds(self, event: Event, row_text: str) -> bool:
        """Whether an event says, or its row holds, words that were forgotten."""
        return not self.tombstones.is_empty and (
            self.tombstones.has_said(self.thread_id, event.text)
            or self.tombstones.holds_words(row_text, event.command, *event.paths)
        )

    def is_line(self, line_sha256: str) -> bool:
        """Whether a line itself was forgotten."""
        return self.tombstones.has_line(self.thread_id, line_sha256)


class EvidenceBuilder:
    """Collects events into rows within bounded memory, whatever the size of the log."""

    def __init__(
        self,
        *,
        window_tokens: int,
        withhold_external: bool,
        memory_folders: Sequence[str] = (),
        forgotten: Forgotten | None = None,
    ) -> None:
        """Take the model's window and what to withhold; words from our own ``memory_folders`` are echoes.

        What is ``forgotten`` never becomes a row.
        """
        self._budget_tokens = int(window_tokens * _EVIDENCE_SHARE)
        self._withhold_external = withhold_external
        self._echoes = Echoes(memory_folders)
        self._repeats = Repeats()
        self._forgotten = forgotten
        self._drafts: list[_Draft] = []
        self._tokens = 0
        self._order = 0
        self._lost_words = False  # anything but what goes to and from tools was cut or left out
        self._redactions: dict[str, int] = {}
        self._names: dict[str, str] = {}

    def add(self, event: Event) -> None:
        """Take one event; those that don't matter are passed over."""
        if event.kind not in _KINDS_THAT_MATTER:
            if event.kind is EventKind.CONTEXT and looks_like_memory(event.text):
                self._repeats.hear(event.text)
            return
        self._echoes.note(event)
        text, was_cut = self._row_text(event)
        if self._forgotten is not None and self._forgotten.holds(event, text):
            self._order += 1  # a gap is told where the row would stand
            return
        if was_cut and not _is_tool_traffic(event):
            self._lost_words = True
        draft = _Draft(
            order=self._order,
            event=self._without_bulk(event),
            text=text,
            tokens=estimate_tokens(text) + _ROW_OVERHEAD_TOKENS,
        )
        self._order += 1
        self._drafts.append(draft)
        self._tokens += draft.tokens
        # Thinning now and then, not at every row, keeps the whole linear while memory stays bounded.
        if self._tokens > 4 * self._budget_tokens:
            self._thin(2 * self._budget_tokens)

    def build(self, thread: IndexedThread, *, is_complete: bool, hash_lines: HashLines) -> Evidence:
        """Number what fits into the budget. ``is_complete``: no line of the log was torn or skipped."""
        self._thin(self._budget_tokens)
        hashes = hash_lines({_line_of(draft.event) for draft in self._drafts})
        if self._forgotten is not None:
            is_line = self._forgotten.is_line
            self._drafts = [draft for draft in self._drafts if not is_line(hashes[_line_of(draft.event)])]
        rows = tuple(
            _row(number, draft, hashes[_line_of(draft.event)], latest=thread.updated_at)
            for number, draft in enumerate(self._drafts, start=1)
        )
        whole = is_complete and not self._lost_words
        return Evidence(
            thread_id=thread.thread_id,
            agent=thread.agent,
            rollout_path=thread.rollout_path,
            cwd=redact(thread.cwd).text if thread.cwd else None,
            scope=thread.scope,
            git_branch=thread.git_branch,
            updated_at=thread.updated_at,
            rows=rows,
            omitted_after=self._gaps(),
            coverage=Coverage.HIGH if whole else Coverage.PARTIAL,
            redactions=dict(sorted(self._redactions.items())),
        )

    def _row_text(self, event: Event) -> tuple[str, bool]:
        if self._echoes.holds(event):
            self._repeats.hear(event.text)
            return ECHO, False
        if event.external and self._withhold_external and event.kind is EventKind.TOOL_RESULT:
            return WITHHELD, False
        text = without_citations(event)
        if event.speaker is Speaker.ASSISTANT and event.kind is not EventKind.TOOL_CALL:
            text = self._repeats.left_of(text)
        redacted = redact(text)
        for kind, count in redacted.counts.items():
            self._redactions[kind] = self._redactions.get(kind, 0) + count
        # At most four bytes a character: one row alone never fills a small model's budget.
        return cut_middle(redacted.text, min(_ROW_CHARS[event.kind], self._budget_tokens // 2))

    def _without_bulk(self, event: Event) -> Event:
        """Return an event as a row keeps it: its text stands in the row, its command and paths redacted and bounded."""
        command = cut_middle(self._redacted(event.command), _COMMAND_CHARS)[0] if event.command else event.command
        paths = tuple(map(self._redacted, event.paths[:_MOST_PATHS]))
        tool = self._redacted(event.tool) if event.tool else event.tool
        return event._replace(text="", command=command, paths=paths, tool=tool, places=())

    def _redacted(self, text: str) -> str:
        """Redact what a session names again and again: tools, commands and the files that they touch."""
        if len(text) > _NAME_CHARS:
            return redact(text).text
        if text not in self._names:
            if len(self._names) >= _MOST_NAMES:
                self._names.clear()
            self._names[text] = redact(text).text
        return self._names[text]

    def _thin(self, budget_tokens: int) -> None:
        """Leave out the least important rows, oldest first, until the rest fits.

        The first prompt and the last turn stay longest: they say what was wanted and how it ended.
        """
        if self._tokens <= budget_tokens:
            return
        first_prompt = next((draft.order for draft in self._drafts if draft.event.kind is EventKind.PROMPT), -1)
        last_turn = self._drafts[-1].event.turn

        def worth(draft: _Draft) -> tuple[int, int]:
            is_ending = draft.event.turn == last_turn and draft.event.kind is not EventKind.TOOL_RESULT
            protection = 20 if draft.order == first_prompt else 10 if is_ending else 0
            return (draft.importance + protection, draft.order)

        left_out: set[int] = set()
        for draft in sorted(self._drafts, key=worth):
            if self._tokens <= budget_tokens:
                break
            left_out.add(draft.order)
            self._tokens -= draft.tokens
            if not _is_tool_traffic(draft.event):
                self._lost_words = True
        self._drafts = [draft for draft in self._drafts if draft.order not in left_out]

    def _gaps(self) -> dict[int, int]:
        gaps: dict[int, int] = {}
        expected = 0
        for number, draft in enumerate(self._drafts):
            if draft.order > expected:
                gaps[number] = draft.order - expected
            expected = draft.order + 1
        if self._order > expected:
            gaps[len(self._drafts)] = self._order - expected
        return gaps


def _is_tool_traffic(event: Event) -> bool:
    """Whether a row is what went to a tool or came from it: bulk, such as a long patch, that nobody said."""
    return event.speaker is Speaker.TOOL or event.kind is EventKind.TOOL_CALL


def build_evidence(
    events: Iterable[Event],
    thread: IndexedThread,
    builder: EvidenceBuilder,
    *,
    is_complete: Callable[[], bool],
    hash_lines: HashLines,
) -> Evidence:
    """Turn a whole rollout into its evidence.

    At the end, when all lines were read, ``is_complete`` is asked, and ``hash_lines`` for the lines that are evidence.
    """
    for event in events:
        builder.add(event)
    return builder.build(thread, is_complete=is_complete(), hash_lines=hash_lines)


def cut_middle(text: str, limit: int) -> tuple[str, bool]:
    """Cut a text to ``limit`` characters and tell whether it was cut; beginning and end stay, with a mark between."""
    if len(text) <= limit:
        return text, False
    head = limit * 2 // 3
    tail = limit - head
    return f"{text[:head]}\n[… {len(text) - limit} characters left out …]\n{text[-tail:]}", True


def _line_of(event: Event) -> tuple[int, int]:
    return (event.byte_start, event.byte_end)


def _row(number: int, draft: _Draft, line_sha256: str, *, latest: float) -> EvidenceRow:
    event = draft.event
    return EvidenceRow(
        number=number,
        kind=event.kind,
        speaker=event.speaker,
        text=draft.text,
        # A clock that ran ahead must not make a statement the newest for ever.
        at=None if event.at is None else min(event.at, latest),
        turn=event.turn,
        byte_start=event.byte_start,
        byte_end=event.byte_end,
        line_sha256=line_sha256,
        cwd=event.cwd,
        call_id=event.call_id,
        tool=event.tool,
        command=event.command,
        paths=event.paths,
        status=event.status,
        exit_code=event.exit_code,
    )
