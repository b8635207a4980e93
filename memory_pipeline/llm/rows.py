"""How evidence is shown to a model: numbered rows as quoted text that can neither end its quotation nor forge a row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from memory_pipeline.clock import iso_date
from memory_pipeline.llm.quoted import quote, without_surrogates
from memory_pipeline.records import EventKind, Evidence, EvidenceRow, Speaker

_CONTINUATION = "    "  # a row's header stands at the start of a line, so no other line of its text may

_NOTES: Mapping[EventKind, str] = {
    EventKind.SHELL: "ran this command themselves",
    EventKind.FINAL_ANSWER: "final answer",
    EventKind.INTERRUPTED: "stopped the turn",
    EventKind.FAILED_TURN: "the turn failed",
    EventKind.COMPACTED: "the context was compacted here",
}


class ShownRows(Struct, frozen=True, kw_only=True):
    """Evidence as text: what is known of the session, its rows, and the two lines between which they are quoted."""

    opening: str
    closing: str
    session: str
    rows: str


def show_rows(evidence: Evidence) -> ShownRows:
    """Write the rows of ``evidence`` as ``[N speaker] text``, with gaps marked; the same evidence, the same text."""
    session = "\n".join(_session_lines(evidence))
    rows = "\n".join(_row_lines(evidence))
    quoted = quote(f"{session}\n{rows}", name="rows")
    return ShownRows(opening=quoted.opening, closing=quoted.closing, session=session, rows=rows)


def shorten(evidence: Evidence) -> Evidence | None:
    """Return ``evidence`` cut to about half of its characters, or None when nothing is left to cut.

    The first and the last row stay, then the person's own rows, then the others; each group from both ends inwards.
    A long row loses its middle. Rows keep their numbers, and every gap is counted in ``omitted_after``.
    """
    budget = sum(_cost(row) for row in evidence.rows) // 2
    longest = max(budget // 4, _LEAST_ROW_CHARS)
    kept: dict[int, EvidenceRow] = {}
    for row in _by_importance(evidence.rows):
        shorter = _without_middle(row, longest)
        if _cost(shorter) <= budget or not kept:
            kept[row.number] = shorter
            budget -= _cost(shorter)
    rows = tuple(kept[row.number] for row in evidence.rows if row.number in kept)
    if rows == evidence.rows:
        return None
    return replace(evidence, rows=rows, omitted_after=_gaps(evidence, kept))


def _session_lines(evidence: Evidence) -> Iterable[str]:
    yield f"agent: {evidence.agent.value}"
    if evidence.cwd:
        yield f"working folder: {_one_line(evidence.cwd)}"
    if evidence.git_branch:
        yield f"git branch: {_one_line(evidence.git_branch)}"
    yield f"last activity: {iso_date(evidence.updated_at)}"


def _row_lines(evidence: Evidence) -> Iterable[str]:
    yield from _gap_line(evidence.omitted_after.get(0, 0))
    for row in evidence.rows:
        note = _note(row)
        text = _indented(row.text)
        yield f"[{row.number} {row.speaker.value}] {f'({note}) ' if note else ''}{text}".rstrip()
        yield from _gap_line(evidence.omitted_after.get(row.number, 0))


def _gap_line(count: int) -> Iterable[str]:
    if count > 0:
        yield f"[… {count} rows left out]"


def _note(row: EvidenceRow) -> str:
    if row.kind is not EventKind.TOOL_RESULT:
        return _NOTES.get(row.kind, "")
    status = row.status.value if row.status else "unknown"
    return f"result: {status}" if row.exit_code is None else f"result: {status}, exit {row.exit_code}"


def _indented(text: str) -> str:
    # splitlines knows every character that may look like a line's end to a reader, not only the newline.
    return f"\n{_CONTINUATION}".join(without_surrogates(text).splitlines())


def _one_line(text: str) -> str:
    return " ".join(without_surrogates(text).split())


_LEAST_ROW_CHARS = 400
_HEADER_CHARS = 16
_MARK_CHARS = 48


def _cost(row: EvidenceRow) -> int:
    return len(row.text) + _HEADER_CHARS


def _by_importance(rows: tuple[EvidenceRow, ...]) -> list[EvidenceRow]:
    inward = _ends_inward(rows)
    ends, rest = inward[:2], inward[2:]
    return [*ends, *sorted(rest, key=lambda row: row.speaker is not Speaker.USER)]


def _ends_inward(rows: tuple[EvidenceRow, ...]) -> list[EvidenceRow]:
    last = len(rows) - 1
    return [rows[index] for index in sorted(range(len(rows)), key=lambda index: min(index, last - index))]


def _without_middle(row: EvidenceRow, longest: int) -> EvidenceRow:
    if len(row.text) <= longest:
        return row
    half = (longest - _MARK_CHARS) // 2
    cut = len(row.text) - 2 * half
    text = f"{row.text[:half]} [… {cut} characters left out …] {row.text[-half:]}"
    return replace(row, text=text)


def _gaps(evidence: Evidence, kept: Mapping[int, EvidenceRow]) -> dict[int, int]:
    gaps: dict[int, int] = {}
    before = 0
    gap = evidence.omitted_after.get(0, 0)
    for row in evidence.rows:
        if row.number in kept:
            gaps[before] = gap
            before, gap = row.number, 0
        else:
            gap += 1
        gap += evidence.omitted_after.get(row.number, 0)
    gaps[before] = gap
    return {number: count for number, count in gaps.items() if count}
