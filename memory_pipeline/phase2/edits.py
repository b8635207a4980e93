"""What the person did to MEMORY.md since it was published: lines taken out, worded anew and added.

The baseline knows, for each rendered line, the memory that it tells and the scope of the group it stands in. In one
hunk of the difference, a removed line and a like added one are a rewording; a removed line alone takes its memory out;
an added list item in a group becomes a memory. Everything else is a note, which stays where it is.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher

from msgspec import Struct
from msgspec.structs import replace

from memory_pipeline.likeness import likeness
from memory_pipeline.phase2.baseline import Baseline
from memory_pipeline.phase2.layout import MEMORY_FILE
from memory_pipeline.phase2.person import carry_edits, is_damaged, lines_of
from memory_pipeline.phase2.render import (
    EVERYWHERE,
    FAILURES_HEADING,
    GROUP_HEADING,
    KNOWLEDGE_HEADING,
    PREFERENCES_HEADING,
    as_circumstance,
)
from memory_pipeline.records import USER_SCOPE, EntryKind, JournalAction, JournalRecord, Memory
from memory_pipeline.redact import redact
from memory_pipeline.rollouts.journal import record_id_of
from memory_pipeline.statements import STATEMENT_MAX_CHARS, ListItem, clean_statement, list_item_at, one_line

#: From here on, an added line in the place of a removed one is its rewording.
_LIKE_ENOUGH = 0.45
_CONDITION_CHARS = 200

_TASK_MARKS = re.compile(r"(?:\s*\[Task \d+\])+\s*$")
_RENDERED = re.compile(
    rb"# Task Group: |scope: |applies_to: cwd=|## Task \d+: |## User preferences$|## Reusable knowledge$"
    rb"|## Failures and how to do differently$|### rollout_summary_files$|### keywords$|- rollout_summaries/"
    rb"|- .* \(\d{4}-\d\d-\d\d\)(?: \[Task \d+\])*$"
)
_DATE = re.compile(r"\s+\(\d{4}-\d\d-\d\d\)\s*$")
# Some editors turn straight quotation marks into others.
_TOLD = re.compile(
    r'(?:(?P<condition>.+?), )?the user (?P<verb>asked|decided): ["“„«](?P<statement>.+)["”“»](?P<more>[^"”“»]*)'
)
_STRUCK_OUT = re.compile(r"~~.+~~")
#: A run of lines that two texts share, or in which they differ, as difflib tells it.
_Opcode = tuple[str, int, int, int, int]

SECTIONS = {
    PREFERENCES_HEADING: EntryKind.PREFERENCE,
    KNOWLEDGE_HEADING: EntryKind.KNOWLEDGE,
    FAILURES_HEADING: EntryKind.FAILURE,
}


class Told(Struct, frozen=True, kw_only=True):
    """What a line of MEMORY.md says, without what the rendering puts around it."""

    statement: str
    condition: str
    kind: EntryKind | None  # where the line itself says so


class Edit(Struct, frozen=True, kw_only=True):
    """One thing that the person did. ``removed`` and ``added`` are line indexes in the rendering and in the file."""

    edit_id: str
    action: JournalAction
    removed: int | None = None
    added: int | None = None
    added_end: int = 0  # behind the last line of what was added
    memory_id: str | None = None
    scope: str | None = None
    kind: EntryKind | None = None
    told: Told | None = None


class _Comparison(Struct, frozen=True, kw_only=True):
    """The rendering and the file, line by line, and where they differ."""

    rendered: Sequence[bytes]
    on_disk: Sequence[bytes]
    opcodes: Sequence[_Opcode]
    edits: Sequence[Edit]
    moved_from: frozenset[int]  # rendered lines that stand elsewhere in their group now
    moved_to: frozenset[int]
    notes: frozenset[str]  # digests of the person's lines that tell no memory


def edits_of(baseline: Baseline, on_disk: bytes | None) -> Sequence[Edit]:
    """Return what the person did, in the file's order. A missing or damaged file is no edit."""
    comparison = _compare(baseline, on_disk)
    return comparison.edits if comparison else ()


def notes_in(baseline: Baseline, on_disk: bytes | None) -> frozenset[str]:
    """Return digests of the person's lines that are notes. A note stays one, wherever later renderings leave it."""
    if not baseline.exists and on_disk is not None:
        return frozenset(map(_digest, lines_of(on_disk)))
    comparison = _compare(baseline, on_disk)
    return comparison.notes if comparison else baseline.notes


def brought_up_to_date(baseline: Baseline, on_disk: bytes | None) -> bytes | None:
    """Return the file with what was published last, where it was saved from an editor that held the version before.

    Such a file has none of the lines that came last, and all of those that went then: nobody took them out.
    """
    if not baseline.exists or on_disk is None or not baseline.rendered_before:
        return on_disk
    if is_damaged(baseline.rendered_before, on_disk):
        return on_disk  # not of that version either: emptied, or half saved, as every editor has it for a moment
    before, now, saved = (
        {line for line in lines_of(text) if line.strip()}
        for text in (baseline.rendered_before, baseline.rendered, on_disk)
    )
    came, went = now - before, before - now
    if not came or came & saved or not went <= saved:
        return on_disk
    if not went and all(told_by(line.decode("utf-8", "replace")) for line in came):
        return on_disk  # the person may well have taken out just these
    return carry_edits(
        rendered_before=baseline.rendered_before,
        published_before=baseline.rendered_before,
        on_disk=on_disk,
        rendered_now=baseline.rendered,
    )


def records_of(edits: Sequence[Edit], memories: Mapping[str, Memory], *, now: float) -> list[JournalRecord]:
    """Write edits as records of the journal."""
    records = []
    for edit in edits:
        memory = memories.get(edit.memory_id or "")
        told = _with_condition(edit.told, memory)
        records.append(
            JournalRecord(
                record_id=edit.edit_id,
                action=edit.action,
                at=now,
                origin=MEMORY_FILE,
                memory_id=edit.memory_id,
                kind=memory.kind if memory else edit.kind,
                scope=memory.scope if memory else edit.scope,
                condition=told.condition if told else memory.condition if memory else "",
                statement=told.statement if told else memory.statement if memory else "",
                was=memory.statement if memory and edit.action is JournalAction.EDIT else "",
                was_condition=memory.condition if memory and edit.action is JournalAction.EDIT else "",
            )
        )
    return records


def _without_rendering(lines: Sequence[bytes]) -> list[bytes]:
    kept: list[bytes] = []
    before, was_ours = b"", True
    for line in lines:
        is_ours = is_rendered(line, before=before)
        if not is_ours and (line.strip() or not was_ours):
            kept.append(line)
        before, was_ours = line, is_ours or not line.strip()
    return kept


def is_rendered(line: bytes, *, before: bytes = b"") -> bool:
    """Whether a line bears the marks of our rendering; ``before`` is the line before it."""
    return bool(_RENDERED.match(line)) or before == b"### keywords\n"


def _with_condition(told: Told | None, memory: Memory | None) -> Told | None:
    """Find the memory's condition in its line again: before a colon, or, as the rendering has it, in the statement."""
    if told is None or memory is None or told.condition or not memory.condition:
        return told
    lead = f"{as_circumstance(memory.condition)}: "
    if told.statement.startswith(lead):
        return replace(told, statement=told.statement[len(lead) :], condition=memory.condition)
    if memory.condition.casefold() in told.statement.casefold():
        return replace(told, condition=memory.condition)
    return told


def without_edits(baseline: Baseline, on_disk: bytes | None, taken_in: frozenset[str]) -> bytes | None:
    """Return the file as if the edits that the memories hold by now had not been made: they are rendered anew.

    What is left are the person's notes and edits that were not read yet. A secret in an added line is masked. Without a
    baseline, lines that bear the marks of our rendering are no notes: they may tell what is not so any more.
    """
    if not baseline.exists and on_disk is not None:
        return b"".join(_without_rendering(lines_of(on_disk)))
    comparison = _compare(baseline, on_disk)
    if comparison is None:
        return on_disk
    restored = set(comparison.moved_from)
    dropped = set(comparison.moved_to)
    for edit in comparison.edits:
        if edit.edit_id in taken_in:
            restored.update(index for index in (edit.removed,) if index is not None)
            if edit.added is not None:
                dropped.update(range(edit.added, edit.added_end))
    kept: list[bytes] = []
    for kind, i1, i2, j1, j2 in comparison.opcodes:
        if kind == "equal":
            kept += comparison.on_disk[j1:j2]
            continue
        kept += [comparison.rendered[index] for index in range(i1, i2) if index in restored]
        added = [comparison.on_disk[index] for index in range(j1, j2) if index not in dropped]
        if len(added) == j2 - j1 or any(line.strip() for line in added):
            kept += _masked(added)  # else only the blank lines around what was taken in are left
    return b"".join(kept)


def told_by(line: str) -> Told | None:
    """Read a list item as the statement of a memory; None when it is none, struck out, or too long for one."""
    item = list_item_at([line.strip()], 0)
    return _told(item) if item is not None else None


def _told(item: ListItem) -> Told | None:
    text = _without_marks(item.first)
    if _STRUCK_OUT.fullmatch(text):
        return None
    told = _TOLD.fullmatch(text)
    condition, kind = "", None
    if told:
        text = told["statement"] + told["more"].rstrip()  # what was added behind the quotation, too
        condition = re.sub(r"^when ", "", told["condition"] or "", flags=re.IGNORECASE)
        kind = EntryKind.DECISION if told["verb"] == "decided" else EntryKind.PREFERENCE
    text += _without_marks(item.rest)
    statement = clean_statement(redact(text).text) if len(text) <= STATEMENT_MAX_CHARS else None
    if statement is None:
        return None
    return Told(statement=statement, condition=one_line(redact(condition).text, _CONDITION_CHARS), kind=kind)


def _without_marks(text: str) -> str:
    return _DATE.sub("", _TASK_MARKS.sub("", text)).rstrip()


def _compare(baseline: Baseline, on_disk: bytes | None) -> _Comparison | None:
    on_disk = brought_up_to_date(baseline, on_disk)
    if not baseline.exists or on_disk is None or is_damaged(baseline.published, on_disk):
        return None
    rendered, lines = lines_of(baseline.rendered), lines_of(on_disk)
    if not len(rendered) == len(baseline.line_memories) == len(baseline.line_scopes):
        return None
    if on_disk == baseline.rendered:  # nobody wrote anything into it
        return _Comparison(
            rendered=rendered,
            on_disk=lines,
            opcodes=[("equal", 0, len(lines), 0, len(lines))] if lines else [],
            edits=(),
            moved_from=frozenset(),
            moved_to=frozenset(),
            notes=frozenset(),
        )
    opcodes = SequenceMatcher(None, rendered, lines, autojunk=False).get_opcodes()
    places = _places(lines, rendered, baseline, opcodes)
    within = {line for j, spot in enumerate(places) if spot is not None for line in range(j, spot.end)}
    moved = _moved(rendered, opcodes, baseline, places)
    edits: list[Edit] = []
    notes: set[str] = set()
    for kind, i1, i2, j1, j2 in opcodes:
        if kind == "equal":
            continue
        removed = [i for i in range(i1, i2) if baseline.line_memories[i] is not None and i not in moved]
        added = [j for j in range(j1, j2) if places[j] is not None and j not in moved.values()]
        notes.update(_digest(lines[j]) for j in range(j1, j2) if j not in within and lines[j].strip())
        edits += _edits_of_hunk(baseline, rendered, lines, places, removed, added)
    return _Comparison(
        rendered=rendered,
        on_disk=lines,
        opcodes=opcodes,
        edits=_numbered(edits, baseline),
        moved_from=frozenset(moved),
        moved_to=frozenset(moved.values()),
        notes=frozenset(notes),
    )


class _Spot(Struct, frozen=True, kw_only=True):
    """Where a list item stands: the scope of its group, and the kind of its section."""

    scope: str
    kind: EntryKind
    told: Told
    end: int  # the index behind its last line


def _places(
    lines: Sequence[bytes], rendered: Sequence[bytes], baseline: Baseline, opcodes: Sequence[_Opcode]
) -> Sequence[_Spot | None]:
    """Tell for each line of the file where it would stand as a memory; None for what can't be one."""
    groups = _groups(lines, rendered, baseline, opcodes)
    texts = [line.decode("utf-8", "replace").rstrip() for line in lines]
    scope: str | None = USER_SCOPE  # before the first heading, an item belongs to no project
    kind: EntryKind | None = EntryKind.PREFERENCE
    is_code = False
    spots: list[_Spot | None] = []
    for index, (line, text) in enumerate(zip(lines, texts, strict=True)):
        spots.append(None)
        if text.lstrip().startswith(("```", "~~~")):
            is_code = not is_code
        elif is_code:
            continue
        elif text.startswith("# "):
            scope, kind = groups.get(line), EntryKind.PREFERENCE
        elif text.startswith("#"):
            kind = SECTIONS.get(text)
        elif scope is not None and kind is not None and not text.startswith((" ", "\t")):
            item = list_item_at(texts, index)
            told = _told(item) if item is not None else None
            if item is not None and told is not None and not _noted(lines[index : item.end], baseline):
                # A quotation in a section of facts would be no fact any more.
                of_line = told.kind if kind is EntryKind.PREFERENCE else None
                spots[-1] = _Spot(scope=scope, kind=of_line or kind, told=told, end=item.end)
    return spots


def _noted(lines: Sequence[bytes], baseline: Baseline) -> bool:
    return any(_digest(line) in baseline.notes for line in lines)


def _groups(
    lines: Sequence[bytes], rendered: Sequence[bytes], baseline: Baseline, opcodes: Sequence[_Opcode]
) -> dict[bytes, str | None]:
    """Return the scope of each heading of a group, and of those that the person called otherwise."""
    groups = {line: scope for line, scope in zip(rendered, baseline.line_scopes, strict=True) if line.startswith(b"# ")}
    groups[f"{GROUP_HEADING}{EVERYWHERE}\n".encode()] = USER_SCOPE
    for kind, i1, i2, j1, j2 in opcodes:
        gone = [line for line in rendered[i1:i2] if line.startswith(b"# ")]
        come = [line for line in lines[j1:j2] if line.startswith(b"# ")]
        if kind == "replace" and len(gone) == len(come) == 1:
            groups.setdefault(come[0], groups[gone[0]])
    return groups


def _moved(
    rendered: Sequence[bytes],
    opcodes: Sequence[_Opcode],
    baseline: Baseline,
    places: Sequence[_Spot | None],
) -> dict[int, int]:
    """Pair removed lines with added ones of the same group that tell the same: who sorts lines says nothing."""
    arrivals: dict[tuple[str, str, str | None], list[int]] = {}
    for kind, _i1, _i2, j1, j2 in opcodes:
        for j in range(j1, j2) if kind != "equal" else ():
            spot = places[j]
            if spot is not None:
                arrivals.setdefault((spot.told.statement, spot.told.condition, spot.scope), []).append(j)
    moved: dict[int, int] = {}
    for kind, i1, i2, _j1, _j2 in opcodes:
        for i in range(i1, i2) if kind != "equal" else ():
            told = told_by(rendered[i].decode("utf-8", "replace")) if baseline.line_memories[i] is not None else None
            if told is not None:
                waiting = arrivals.get((told.statement, told.condition, baseline.line_scopes[i]))
                if waiting:
                    moved[i] = waiting.pop(0)
    return moved


def _edits_of_hunk(
    baseline: Baseline,
    rendered: Sequence[bytes],
    lines: Sequence[bytes],
    places: Sequence[_Spot | None],
    removed: Sequence[int],
    added: Sequence[int],
) -> list[Edit]:
    pairs = _reworded(baseline, rendered, places, removed, added)
    edits = []
    for i in removed:
        memory_id = baseline.line_memories[i]
        j = pairs.get(i)
        spot = places[j] if j is not None else None
        if j is not None and spot is not None:
            edits.append(
                Edit(
                    edit_id=b"".join(lines[j : spot.end]).decode("utf-8", "replace"),
                    action=JournalAction.EDIT,
                    removed=i,
                    added=j,
                    added_end=spot.end,
                    memory_id=memory_id,
                    scope=spot.scope,
                    kind=spot.kind,
                    told=spot.told,
                )
            )
        else:
            edits.append(Edit(edit_id="", action=JournalAction.RETIRE, removed=i, memory_id=memory_id))
    for j in added:
        spot = places[j]
        if j not in pairs.values() and spot is not None:
            edits.append(
                Edit(
                    edit_id=b"".join(lines[j : spot.end]).decode("utf-8", "replace"),
                    action=JournalAction.ADD,
                    added=j,
                    added_end=spot.end,
                    scope=spot.scope,
                    kind=spot.kind,
                    told=spot.told,
                )
            )
    return edits


def _reworded(
    baseline: Baseline,
    rendered: Sequence[bytes],
    places: Sequence[_Spot | None],
    removed: Sequence[int],
    added: Sequence[int],
) -> dict[int, int]:
    """Pair removed lines with like added ones of the same group, the most alike first."""
    alike: list[tuple[float, int, int]] = []
    for i in removed:
        before = told_by(rendered[i].decode("utf-8", "replace"))
        for j in added:
            spot = places[j]
            if before is not None and spot is not None and spot.scope == baseline.line_scopes[i]:
                alike.append((likeness(before.statement, spot.told.statement), i, j))
    pairs: dict[int, int] = {}
    for degree, i, j in sorted(alike, key=lambda item: (-item[0], abs(item[1] - item[2]), item[1], item[2])):
        if degree >= _LIKE_ENOUGH and i not in pairs and j not in pairs.values():
            pairs[i] = j
    return pairs


def _numbered(edits: Sequence[Edit], baseline: Baseline) -> list[Edit]:
    """Give each edit its id: the same edit, found again before the next publication, has the same."""
    seen: Counter[tuple[object, ...]] = Counter()
    numbered = []
    for edit in edits:
        what = (edit.action, edit.memory_id or edit.scope, edit.edit_id)
        seen[what] += 1
        edit_id = record_id_of("edit", baseline.consolidation_id, *what, seen[what])
        numbered.append(replace(edit, edit_id=edit_id))
    return numbered


def _digest(line: bytes) -> str:
    return hashlib.sha256(line.strip()).hexdigest()[:16]


def _masked(lines: Sequence[bytes]) -> Sequence[bytes]:
    try:
        text = b"".join(lines).decode()
    except UnicodeDecodeError:
        return lines
    masked = redact(text).text
    return lines if masked == text else lines_of(masked.encode())
