"""A session packet: one session as Markdown that a person can read, with an audit of what is missing in it.

Everything in it is masked, of bounded size, and data: a text stands in a fence that it can't close. What is read back
may come from anybody, so reading keeps what has the shape of a packet and passes over the rest.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from memory_pipeline.files import sha256_hex
from memory_pipeline.records import Coverage, Event, EventKind, Speaker, ToolStatus
from memory_pipeline.redact import redact
from memory_pipeline.review.documents import turn_id
from memory_pipeline.statements import one_line

MOST_PACKET_BYTES = 16 * 1024 * 1024

_TEXT_CHARS = 20_000
_LINE_CHARS = 500
_MOST_LINES = 200  # commands, files or events of one turn
_MOST_CHARS = 2_000_000  # of all turns; the first and the last ones stay
_MOST_TURNS = 5_000

_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u2800\u3164\ud800-\udfff\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
_FENCE = re.compile(r"(?P<marks>`{3,})(?:text)?\s*")
_TITLE = re.compile(r"# Session Packet: `?(?P<id>[A-Za-z0-9][A-Za-z0-9_.-]{0,127})`?\s*")
_TURN = re.compile(r"## Turn (?P<number>\d{1,9})\s*")
_TURN_ID = re.compile(r"- Turn id: `+ ?(?P<id>.*?) ?`+\s*")
_AUDIT_LINE = re.compile(r"- (?P<name>[A-Z][A-Za-z ]+): `*(?P<value>[A-Za-z0-9]+)`*\s*")
_BULLET = re.compile(r"- (?P<text>.+)")
_CODE = re.compile(r"(?P<marks>`+) ?(?P<text>.*?) ?(?P=marks)(?P<rest>[^`]*)")

_FIGURES = {
    "Turns rendered": "turns_rendered",
    "Invalid JSON lines skipped": "invalid_json_lines_skipped",
    "Orphan tool results": "orphan_tool_results",
    "Unfinished turns": "unfinished_turns",
    "Compaction events": "compaction_events",
}
_WARNINGS, _LOSSY = "Audit Warnings", "Lossy Transforms"
_TEXTS = {"User Requests": "requests", "Assistant Updates": "updates", "Final Answers": "answers"}
_LISTS = {"Commands": "commands", "Referenced Files": "files", "System Events": "events"}

_ALWAYS_LOSSY = (
    "Outputs of tools are left out; a command tells how it ended.",
    "Instructions and environment that the agent's program put in are left out.",
    "Secrets are masked.",
)


class PacketAudit(Struct, frozen=True, kw_only=True):
    """How complete a packet is."""

    coverage: Coverage = Coverage.PARTIAL
    turns_rendered: int = 0
    invalid_json_lines_skipped: int = 0
    orphan_tool_results: int = 0
    unfinished_turns: int = 0
    compaction_events: int = 0
    audit_warnings: tuple[str, ...] = ()
    lossy_transforms: tuple[str, ...] = ()

    def as_document(self) -> dict[str, object]:
        """Return it as a draft document holds it."""
        return {
            "coverage": self.coverage,
            **{name: getattr(self, name) for name in _FIGURES.values()},
            "audit_warnings": list(self.audit_warnings),
            "lossy_transforms": list(self.lossy_transforms),
        }


def audit_of(document: object) -> PacketAudit:
    """Read an audit as ``as_document`` tells it."""
    told = document if isinstance(document, dict) else {}
    return PacketAudit(
        coverage=Coverage(told.get("coverage", Coverage.PARTIAL)),
        **{name: int(told.get(name, 0)) for name in _FIGURES.values()},
        audit_warnings=tuple(told.get("audit_warnings", ())),
        lossy_transforms=tuple(told.get("lossy_transforms", ())),
    )


class PacketTurn(Struct, frozen=True, kw_only=True):
    """One turn of a packet: texts as they were said, and lines."""

    number: int
    turn_id: str = ""
    requests: tuple[str, ...] = ()
    updates: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    events: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing stands in it."""
        return not any(getattr(self, name) for name in (*_TEXTS.values(), *_LISTS.values()))


class Packet(Struct, frozen=True, kw_only=True):
    """A session packet."""

    session_id: str
    audit: PacketAudit
    turns: tuple[PacketTurn, ...]


class _Open(Struct):
    """A turn while it is gathered."""

    number: int
    parts: dict[str, list[str]] = field(default_factory=dict)
    calls: dict[str, int] = field(default_factory=dict)  # call -> place among the commands
    is_asked: bool = False
    is_cut_off: bool = False

    def add(self, part: str, text: str) -> None:
        self.parts.setdefault(part, []).append(text)

    def turn(self) -> PacketTurn:
        parts = {name: tuple(said) for name, said in self.parts.items()}
        parts["files"] = tuple(dict.fromkeys(parts.get("files", ())))
        for name in _LISTS.values():
            said = parts.get(name, ())
            if len(said) > _MOST_LINES:
                parts[name] = (*said[:_MOST_LINES], f"… and {len(said) - _MOST_LINES} more")
        return PacketTurn(number=self.number, turn_id=turn_id(self.number) or "", **parts)


class PacketBuilder:
    """Gathers the events of a session into turns, within bounded memory whatever the size of its log."""

    def __init__(self, *, is_forgotten: Callable[[Event], bool] = lambda _event: False) -> None:
        self._is_forgotten = is_forgotten
        self._first: list[PacketTurn] = []
        self._first_chars = 0
        self._last: deque[tuple[PacketTurn, int]] = deque()
        self._last_chars = 0
        self._left_out = self._cut = self._forgotten = self._orphans = self._unfinished = self._compacted = 0
        self._calls: set[str] = set()
        self._open: _Open | None = None

    def add(self, event: Event) -> None:
        """Take one event, in the log's order."""
        if self._open is None or self._open.number != event.turn:
            self._close()
            self._open = _Open(event.turn)
        if event.kind is EventKind.CONTEXT:
            return
        self._count(event, self._open)
        if self._is_forgotten(event):
            self._forgotten += 1
            return
        self._take(event, self._open)

    def build(self, session_id: str, *, skipped: Mapping[str, int]) -> Packet:
        """Return the packet; ``skipped`` are the lines of the log that were lost, by reason."""
        self._close()
        turns = (*self._first, *(turn for turn, _ in self._last))
        lost = sum(skipped.values())
        warnings = [
            f"{count} lines of the log could not be read: {reason}" for reason, count in sorted(skipped.items())
        ]
        lossy = list(_ALWAYS_LOSSY)
        if self._left_out:
            warnings.append(f"{self._left_out} turns in the middle are left out: the session is too long for a packet")
        if self._cut:
            lossy.append(f"{self._cut} long texts are cut in the middle.")
        if self._forgotten:
            lossy.append("What was forgotten is left out.")
        is_whole = not (lost or self._left_out or self._cut or self._forgotten)
        audit = PacketAudit(
            coverage=Coverage.HIGH if is_whole else Coverage.PARTIAL,
            turns_rendered=len(turns),
            invalid_json_lines_skipped=lost,
            orphan_tool_results=self._orphans,
            unfinished_turns=self._unfinished,
            compaction_events=self._compacted,
            audit_warnings=tuple(warnings),
            lossy_transforms=tuple(lossy),
        )
        return Packet(session_id=session_id, audit=audit, turns=turns)

    def _count(self, event: Event, into: _Open) -> None:
        if event.kind in (EventKind.TOOL_CALL, EventKind.SHELL) and event.call_id:
            self._calls.add(event.call_id)
        elif event.kind is EventKind.TOOL_RESULT and event.call_id not in self._calls:
            self._orphans += 1
        elif event.kind is EventKind.COMPACTED:
            self._compacted += 1
        into.is_asked |= event.kind is EventKind.PROMPT
        into.is_cut_off |= event.kind in (EventKind.INTERRUPTED, EventKind.FAILED_TURN)

    def _take(self, event: Event, into: _Open) -> None:
        if event.kind is EventKind.PROMPT:
            into.add("requests", self._text(event.text))
        elif event.kind is EventKind.COMMENTARY:
            into.add("updates", self._text(event.text))
        elif event.kind is EventKind.FINAL_ANSWER:
            into.add("answers", self._text(event.text))
        elif event.kind in (EventKind.TOOL_CALL, EventKind.SHELL):
            command = event.command or (event.text if event.kind is EventKind.SHELL else "")
            if command.strip():
                if event.call_id:
                    into.calls[event.call_id] = len(into.parts.get("commands", ()))
                by_whom = " (run by the person)" if event.kind is EventKind.SHELL else ""
                into.add("commands", _line(command) + by_whom)
            for path in event.paths:
                into.add("files", _line(path))
        elif event.kind is EventKind.TOOL_RESULT:
            place = into.calls.get(event.call_id or "")
            ended = _ending(event)
            if place is not None and ended:
                into.parts["commands"][place] += f" ({ended})"
        else:
            words = _line(event.text)
            into.add("events", f"{event.kind.value}: {_code(words)}" if words else event.kind.value)

    def _text(self, text: str) -> str:
        text = _shown(redact(text).text).strip("\n")
        if len(text) <= _TEXT_CHARS:
            return text
        self._cut += 1
        head = _TEXT_CHARS * 2 // 3
        tail = _TEXT_CHARS - head
        return f"{text[:head]}\n[… {len(text) - _TEXT_CHARS} characters left out …]\n{text[-tail:]}"

    def _close(self) -> None:
        if self._open is None:
            return
        gathered, self._open = self._open, None
        turn = gathered.turn()
        if gathered.is_asked and (gathered.is_cut_off or not turn.answers):
            self._unfinished += 1
        if turn.is_empty:
            return
        chars = sum(len(text) + 20 for name in (*_TEXTS.values(), *_LISTS.values()) for text in getattr(turn, name))
        if not self._last and self._first_chars + chars <= _MOST_CHARS // 2:
            self._first.append(turn)
            self._first_chars += chars
            return
        self._last.append((turn, chars))
        self._last_chars += chars
        while len(self._last) > 1 and self._last_chars > _MOST_CHARS // 2:
            self._last_chars -= self._last.popleft()[1]
            self._left_out += 1


def render_packet(packet: Packet) -> bytes:
    """Write a packet: same packet, same bytes."""
    audit = packet.audit
    lines = [
        f"# Session Packet: {packet.session_id}",
        "",
        "## Packet Audit",
        "",
        f"- Coverage: `{audit.coverage}`",
        *(f"- {name}: {getattr(audit, key)}" for name, key in _FIGURES.items()),
        "",
        f"### {_WARNINGS}",
        "",
        *_bullets(audit.audit_warnings),
        "",
        f"### {_LOSSY}",
        "",
        *_bullets(audit.lossy_transforms),
    ]
    for turn in packet.turns:
        lines += ["", f"## Turn {turn.number}", "", f"- Turn id: {_code(turn.turn_id)}"]
        for title, name in _TEXTS.items():
            texts = getattr(turn, name)
            if texts:
                lines += ["", f"### {title}"]
            for text in texts:
                fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
                lines += ["", f"{fence}text", text, fence]
        for title, name in _LISTS.items():
            said = getattr(turn, name)
            if said:
                is_code = name != "events"
                lines += ["", f"### {title}", "", *(f"- {_code(one) if is_code else one}" for one in said)]
    return ("\n".join(lines) + "\n").encode("utf-8", "replace")


def read_packet(content: bytes) -> Packet | None:
    """Read a packet, whoever wrote it; None when it is none. Texts are masked and cut as our own are."""
    if len(content) > MOST_PACKET_BYTES:
        return None
    lines = content.decode("utf-8-sig", "replace").split("\n")
    title = next((found for line in lines[:50] if (found := _TITLE.fullmatch(line.rstrip("\r")))), None)
    if title is None:
        return None
    audit, turns = _Reader().read(lines)
    return Packet(session_id=title["id"], audit=replace(audit, turns_rendered=len(turns)), turns=tuple(turns))


def events_of(packet: Packet, content: bytes) -> tuple[list[Event], dict[tuple[int, int], str]]:
    """Return what stands in a packet as events, with the hash of each text by its place in ``content``, its bytes.

    Requests are the person's words, as far as whoever made the packet is to be believed.
    """
    events: list[Event] = []
    hashes: dict[tuple[int, int], str] = {}
    position = 0
    for turn in packet.turns:
        for name, kind, speaker in _SPOKEN:
            for text in getattr(turn, name):
                raw = text.encode("utf-8", "replace")
                start = content.find(raw, position)
                if not text.strip() or start < 0:
                    continue
                position = start + len(raw)
                hashes[start, position] = sha256_hex(raw)
                events.append(
                    Event(
                        kind=kind,
                        speaker=speaker,
                        text=text,
                        at=None,
                        byte_start=start,
                        byte_end=position,
                        line_number=content.count(b"\n", 0, start) + 1,
                        turn=turn.number,
                        command=text if kind is EventKind.TOOL_CALL else None,
                    )
                )
    return events, hashes


#: The parts of a turn in the order in which they are written, and whose words they are.
_SPOKEN = (
    ("requests", EventKind.PROMPT, Speaker.USER),
    ("updates", EventKind.COMMENTARY, Speaker.ASSISTANT),
    ("answers", EventKind.FINAL_ANSWER, Speaker.ASSISTANT),
    ("commands", EventKind.TOOL_CALL, Speaker.ASSISTANT),
)


class _Reader:
    """Reads the lines of a packet. A heading within a fence is text."""

    def __init__(self) -> None:
        self._figures: dict[str, int] = {}
        self._coverage = Coverage.PARTIAL
        self._remarks: dict[str, list[str]] = {_WARNINGS: [], _LOSSY: []}
        self._turns: list[PacketTurn] = []
        self._open: _Open | None = None
        self._id = ""
        self._section = ""

    def read(self, lines: Sequence[str]) -> tuple[PacketAudit, list[PacketTurn]]:
        """Return the audit and the turns."""
        rest = iter(lines)
        for raw in rest:
            line = raw.rstrip("\r")
            if fence := _FENCE.fullmatch(line):
                text = "\n".join(_fenced(rest, fence["marks"]))
                if self._open is not None and self._section in _TEXTS:
                    self._open.add(_TEXTS[self._section], text)
            else:
                self._take(line)
            if len(self._turns) >= _MOST_TURNS:
                break
        self._close()
        return self._audit(), self._turns

    def _take(self, line: str) -> None:
        if found := _TURN.fullmatch(line):
            self._close()
            self._open, self._id, self._section = _Open(int(found["number"])), "", ""
        elif line.startswith("### "):
            self._section = line[4:].strip()
        elif line.startswith("## "):
            self._close()
            self._section = ""
        elif self._open is None:
            self._take_of_audit(line)
        elif not self._section and (found := _TURN_ID.fullmatch(line)):
            self._id = _line(found["id"])
        elif self._section in _LISTS and (found := _BULLET.fullmatch(line)):
            text = found["text"]
            if self._section != "System Events" and (code := _CODE.fullmatch(text)):
                text = code["text"] + code["rest"]
            self._open.add(_LISTS[self._section], _line(text))

    def _take_of_audit(self, line: str) -> None:
        if self._section in self._remarks:
            if (found := _BULLET.fullmatch(line)) and found["text"].strip().lower() != "none":
                self._remarks[self._section].append(_line(found["text"]))
        elif found := _AUDIT_LINE.fullmatch(line):
            if found["name"] in _FIGURES and found["value"].isdecimal():
                self._figures[_FIGURES[found["name"]]] = int(found["value"][:9])
            elif found["name"] == "Coverage" and found["value"] in set(Coverage):
                self._coverage = Coverage(found["value"])

    def _close(self) -> None:
        if self._open is not None:
            turn = self._open.turn()
            self._turns.append(
                replace(
                    turn,
                    turn_id=self._id or turn.turn_id,
                    requests=tuple(map(_bounded_text, turn.requests)),
                    updates=tuple(map(_bounded_text, turn.updates)),
                    answers=tuple(map(_bounded_text, turn.answers)),
                )
            )
            self._open = None

    def _audit(self) -> PacketAudit:
        return PacketAudit(
            coverage=self._coverage,
            **self._figures,
            audit_warnings=tuple(self._remarks[_WARNINGS][:_MOST_LINES]),
            lossy_transforms=tuple(self._remarks[_LOSSY][:_MOST_LINES]),
        )


def _fenced(rest: Iterator[str], marks: str) -> Iterable[str]:
    """Yield the lines up to the end of a fence; a fence that nothing ends holds all that follows."""
    for raw in rest:
        line = raw.rstrip("\r")
        if line.startswith(marks) and not line.strip("` \t"):
            return
        yield line


def _bounded_text(text: str) -> str:
    text = _shown(redact(text).text)
    return text if len(text) <= _TEXT_CHARS else text[: _TEXT_CHARS - 1] + "…"


def _ending(event: Event) -> str:
    if event.exit_code:
        return f"exit code {event.exit_code}"
    if event.status in (ToolStatus.FAILED, ToolStatus.DENIED, ToolStatus.INTERRUPTED):
        return event.status.value
    return ""


def _line(text: str) -> str:
    """Return a text as one masked line that shows what hides in it."""
    masked = redact(text).text
    line = " ".join(_shown(masked).split())
    return line if len(line) <= _LINE_CHARS else line[: _LINE_CHARS - 1] + "…"


def _shown(text: str) -> str:
    """Make characters visible that show nothing, or turn the text around them."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return _HIDDEN.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", lines)


def _bullets(texts: Sequence[str]) -> list[str]:
    return [f"- {one_line(text, _LINE_CHARS)}" for text in texts] or ["- none"]


def _code(text: str) -> str:
    """Write a line as code that it can't end."""
    marks = "`" * (1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
    room = " " if text.startswith("`") or text.endswith("`") or len(marks) > 1 else ""
    return f"{marks}{room}{text}{room}{marks}"
