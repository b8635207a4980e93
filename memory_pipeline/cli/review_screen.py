"""The screen of a review: what it shows of a draft, and what each key does. Knows no terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import zip_longest

from msgspec import Struct
from rich.console import Console
from rich.text import Text

from memory_pipeline.cli.output import short_time
from memory_pipeline.records import Decider, Draft, Entry, EvidenceLine, ReviewStatus
from memory_pipeline.redact import redact
from memory_pipeline.review.difference import difference as parts_of
from memory_pipeline.review.policy import why_not_ready
from memory_pipeline.review.sitting import Answer, Sitting, Told
from memory_pipeline.rollouts.readback import ReadBack
from memory_pipeline.visible import visible

_WIDEST = 120
#: Two columns narrower than this are harder to read than one below the other.
_SIDE_BY_SIDE_FROM = 84
_GUTTER = " │ "
_NOTE_CHARS = 500

_ENTER = frozenset("\r\n")
_BACKSPACE = frozenset("\x7f\b")
_CANCEL = "\x1b"
_QUIT = frozenset({"q", "\x03", "\x04"})
_DOWN = frozenset({" ", "\x1b[B", "\x1b[6~", "\x1bOB"})
_UP = frozenset({"b", "\x1b[A", "\x1b[5~", "\x1bOA"})
_SCROLLED_LINES = 10

_KEYS = "[a]pprove  [r]eject  [d]efer  [n]ote  [s]kip  [u]ndo  [o]pen more  [q]uit  [?] help"
_HELP = (
    "a   approve: the next run takes it into the memories",
    "r   reject: it does not come back, reworded or not",
    "d   defer: it comes back after review.defer_days",
    "n   write a note on it; Enter stores the note, Esc does not",
    "s   skip: it stays in the queue, and comes last in this sitting",
    "u   undo what you did last in this sitting",
    "o   open or close more: each line of evidence read back from its log, with the words around it",
    "    Space and b, or the arrows, scroll",
    "q   quit; what you decided is stored already",
    "",
    "[-words-] stand in the memory alone, {+words+} in the draft alone.",
    "⟨U+202E⟩ is a character that you would not see otherwise.",
)


class Near(Struct, frozen=True, kw_only=True):
    """What a draft is shown beside: a memory, or a statement given for comparison."""

    known_id: str
    statement: str
    condition: str = ""
    about: str = ""  # its kind and when it was last said


class ReviewScreen:
    """What a person sees of the queue, and what their keys do. Every decision is stored by the key that makes it."""

    def __init__(
        self,
        sitting: Sitting,
        *,
        near: Callable[[Draft], Sequence[Near]],
        read_back: Callable[[Draft], Sequence[ReadBack]],
        relabel: Callable[[Draft], Draft] = lambda draft: draft,
        note_fault: Callable[[str], str | None] = lambda _note: None,
    ) -> None:
        """``near`` finds what a draft is shown beside, most alike first; ``read_back`` reads its evidence anew.

        ``note_fault`` says why a note is not to be kept, None when it may be.
        """
        self._sitting = sitting
        self._near = near
        self._read_back = read_back
        self._relabel = relabel
        self._note_fault = note_fault
        self._read: tuple[str, Sequence[ReadBack]] | None = None
        self._note: str | None = None  # while one is typed
        self._is_open = False
        self._is_helping = False
        self._asked_about: str | None = None  # the entry of which a second key approves what is not ready
        self._message = ""
        self.top = 0  # how many lines of the body are scrolled away

    def press(self, key: str) -> bool:
        """Do what a key asks for: one character, or the sequence of a key that has none. False when it quits."""
        if self._note is None:
            return self._do(key)
        self._type(key)
        return True

    def body(self, width: int) -> list[Text]:
        """The lines of what is shown."""
        draft = self._sitting.shown
        if self._is_helping:
            return list(_folded("\n".join(_HELP), width))
        if draft is None:
            return list(_folded(self._end(), width))
        return list(self._draft_lines(self._relabel(draft), min(width, _WIDEST)))

    def foot(self, width: int) -> list[Text]:
        """The lines that always stand at the bottom: what was done, and the keys or the note being typed."""
        if self._note is not None:
            return [*_folded(f"Note (Enter stores it, Esc doesn't): {visible(self._note)}▏", width)]
        return [*_folded(self._message, width, style="bold"), *_folded(_KEYS, width, style="dim")]

    # --- keys ---

    def _do(self, key: str) -> bool:
        asked_about, self._asked_about = self._asked_about, None
        self._message = ""
        if self._is_helping:
            self._is_helping = False
        elif key in _QUIT:
            return False
        elif key in _DOWN:
            self.top += _SCROLLED_LINES
        elif key in _UP:
            self.top = max(0, self.top - _SCROLLED_LINES)
        elif key == "a":
            self._approve(asked_about)
        elif key in self._actions:
            self._actions[key](self)
        return True

    def _approve(self, asked_about: str | None) -> None:
        draft = self._sitting.shown
        if draft is None:
            return
        reason = why_not_ready(self._relabel(draft).readiness)
        if reason is not None and asked_about != draft.entry.entry_id:
            self._asked_about = draft.entry.entry_id
            self._message = f"Not ready: {reason}. Press a once more to approve it all the same."
            return
        self._tell(self._sitting.approve(), "Approved")

    def _reject(self) -> None:
        self._tell(self._sitting.reject(), "Rejected")

    def _defer(self) -> None:
        self._tell(self._sitting.defer(), "Put off")

    def _begin_note(self) -> None:
        self._note = "" if self._sitting.shown is not None else None

    def _skip(self) -> None:
        self._sitting.skip()
        self._turn_page()

    def _undo(self) -> None:
        told = self._sitting.undo()
        if told.answer is Answer.NOTHING:
            self._message = "You did nothing yet in this sitting that could be undone."
            return
        self._tell(told, "Undone")

    def _open(self) -> None:
        self._is_open = not self._is_open
        self.top = 0

    def _help(self) -> None:
        self._is_helping = True
        self.top = 0

    _actions: Mapping[str, Callable[[ReviewScreen], None]] = {
        "r": _reject,
        "d": _defer,
        "n": _begin_note,
        "s": _skip,
        "u": _undo,
        "o": _open,
        "?": _help,
    }

    def _type(self, key: str) -> None:
        if key in _ENTER:
            text, self._note = self._note or "", None
            fault = self._note_fault(text)
            if fault is not None:
                self._message = f"Not noted: {fault}"
            elif text.strip():
                self._tell(self._sitting.note(text), "Noted")
        elif key in (_CANCEL, "\x03"):
            self._note = None
        elif key in _BACKSPACE:
            self._note = (self._note or "")[:-1]
        elif not key.startswith(_CANCEL) and len(self._note or "") < _NOTE_CHARS:
            self._note = (self._note or "") + (key if key.isprintable() else " ")

    def _tell(self, told: Told, done: str) -> None:
        self._turn_page()
        statement = f": {visible(told.draft.entry.statement)}" if told.draft is not None else ""
        if told.answer is Answer.DONE:
            self._message = f"{done}{statement}"
        elif told.answer is Answer.CHANGED and told.draft is not None:
            self._message = f"{_what_happened(told.draft)}{statement}"
        elif told.answer is not Answer.NOTHING:
            self._message = f"Gone meanwhile: its session no longer says it, or it was forgotten{statement}"

    def _turn_page(self) -> None:
        self._is_open = False
        self.top = 0

    # --- what is shown ---

    def _end(self) -> str:
        if self._sitting.skipped:
            return f"{self._sitting.skipped} drafts that you skipped are left; s shows them again."
        return "No draft is left to review. q quits, u takes back what you did last."

    def _draft_lines(self, draft: Draft, width: int) -> Iterator[Text]:
        entry = draft.entry
        left, skipped = self._sitting.left, self._sitting.skipped
        more = f", {skipped} skipped" if skipped else ""
        yield from _folded(f"{left} to review{more} · session {entry.thread_id} · {entry.entry_id}", width, style="dim")
        yield Text()
        yield from _folded(_shown(entry.statement), width, style="bold")
        if entry.condition:
            yield from _folded(f"when: {_shown(entry.condition)}", width)
        yield Text()
        yield from _folded(f"{entry.kind} · {_shown(entry.scope)}", width)
        yield from _folded(f"{draft.label} · {draft.readiness} · coverage {draft.coverage}", width)
        yield from _folded(f"Why: {_shown(draft.rationale)}", width)
        if draft.review_note:
            yield from _folded(f"Note: {_shown(draft.review_note)}", width)
        for said in (*draft.collaborator_notes, *draft.collaborator_evidence):
            yield from _folded(f"The collaborator: {_shown(said)}", width)
        near = list(self._near(draft))
        for one in near if self._is_open else near[:1]:
            yield Text()
            yield from _compared(one, entry, width)
        yield Text()
        yield from self._evidence_lines(draft, width)
        if self._is_open and draft.review_log:
            yield Text()
            for event in draft.review_log:
                note = f": {_shown(event.note)}" if event.note else ""
                yield from _folded(f"{short_time(event.at)} {event.status}{note}", width)

    def _evidence_lines(self, draft: Draft, width: int) -> Iterator[Text]:
        yield Text("Evidence")
        evidence = draft.entry.evidence
        read: Sequence[ReadBack | None] = self._reading_of(draft) if self._is_open else ()
        for line, found in zip_longest(evidence, read[: len(evidence)]):
            yield from _folded(f"[{line.speaker}{_when(line)}]{_state(found)}", width, indent=2, style="dim")
            yield from _folded(_shown(found.words if found else line.quote), width, indent=4)
            if found is not None:
                path = found.rollout_path or line.rollout_path
                place = f", line {found.line_number}" if found.line_number is not None else ""
                yield from _folded(f"{_shown(path)}{place}", width, indent=4, style="dim")

    def _reading_of(self, draft: Draft) -> Sequence[ReadBack]:
        if self._read is None or self._read[0] != draft.entry.entry_id:
            self._read = (draft.entry.entry_id, self._read_back(draft))
        return self._read[1]


def difference(before: str, after: str) -> tuple[Text, Text]:
    """Mark what only one of two texts holds: ``[-gone-]`` in the first, ``{+new+}`` in the second."""
    was, now = parts_of(before, after)
    return (
        Text.assemble(*((f"[-{one.text}-]", "red") if one.is_alone else one.text for one in was)),
        Text.assemble(*((f"{{+{one.text}+}}", "green") if one.is_alone else one.text for one in now)),
    )


def _compared(one: Near, entry: Entry, width: int) -> Iterator[Text]:
    was = _said(one.statement, one.condition)
    memory, draft = difference(was, _said(entry.statement, entry.condition))
    about = f", {one.about}" if one.about else ""
    titles = (Text(f"Memory {visible(one.known_id)}{about}", style="dim"), Text("This draft", style="dim"))
    if width < _SIDE_BY_SIDE_FROM:
        for title, text in zip(titles, (memory, draft), strict=True):
            yield from _wrap(title, width)
            yield from _wrap(text, width, indent=2)
        return
    column = (width - len(_GUTTER)) // 2
    columns = [
        [*_wrap(title, column), *_wrap(text, column)] for title, text in zip(titles, (memory, draft), strict=True)
    ]
    for number in range(max(map(len, columns))):
        left = columns[0][number] if number < len(columns[0]) else Text()
        right = columns[1][number] if number < len(columns[1]) else Text()
        gap = " " * (column - left.cell_len)
        yield Text.assemble(left, gap, _GUTTER, right)


def _said(statement: str, condition: str) -> str:
    return redact(f"{statement} (when: {condition})" if condition else statement).text


def _what_happened(draft: Draft) -> str:
    if draft.decided_by is Decider.PERSON and draft.review_status is not ReviewStatus.PENDING:
        note = f" ({visible(draft.review_note)})" if draft.review_note else ""
        when = short_time(draft.reviewed_at)
        return f"Not done: it was {draft.review_status} elsewhere at {when}{note}, and that stands"
    if draft.review_status is not ReviewStatus.PENDING:
        return f"Not done: a run found that it is {draft.review_status} by now"
    return f"Not done: it changed meanwhile, and is {draft.label}, {draft.readiness} by now; look at it again"


def _when(line: EvidenceLine) -> str:
    return f" {short_time(line.at)}" if line.at is not None else ""


def _state(found: ReadBack | None) -> str:
    if found is None:
        return ""
    return f" {found.state}: {found.reason}" if found.reason else f" {found.state}"


def _shown(text: str) -> str:
    return visible(redact(text).text)


def _folded(text: str, width: int, *, indent: int = 0, style: str = "") -> Iterator[Text]:
    for line in text.split("\n") if text else ():
        yield from _wrap(Text(line, style=style), width, indent=indent)


def _wrap(text: Text, width: int, *, indent: int = 0) -> Iterator[Text]:
    for line in text.wrap(Console(width=width), max(width - indent, 10)):
        line.rstrip()
        yield Text.assemble(" " * indent, line)
