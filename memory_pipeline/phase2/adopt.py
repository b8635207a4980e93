"""Taking over what stands in a folder that was another's memory before: at a person's word alone.

List items of a project that can be told become records of the journal, as the person's own words. All other text stays
in MEMORY.md as notes of the person, below headings that no rendering has. A copy of every file is kept.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from memory_pipeline.errors import WorkspaceError
from memory_pipeline.phase2.baseline import read_baseline, read_workspace_file
from memory_pipeline.phase2.edits import SECTIONS, is_rendered, told_by
from memory_pipeline.phase2.kept import keep_copy
from memory_pipeline.phase2.layout import MEMORY_FILE, RAW_MEMORIES, SUMMARIES_FOLDER, SUMMARY_FILE
from memory_pipeline.phase2.person import lines_of
from memory_pipeline.phase2.places import Places
from memory_pipeline.phase2.render import GROUP_HEADING
from memory_pipeline.records import EntryKind, JournalAction, JournalRecord
from memory_pipeline.redact import redact
from memory_pipeline.rollouts.journal import record_id_of

ADOPTED_ORIGIN = f"adopted {MEMORY_FILE}"
#: What a whole adoption takes over at most; the rest stays as notes.
MOST_ITEMS = 2_000
_MOST_BYTES = 8 << 20
_EMPTY_LIST_BYTES = 200

_OUR_FILES = (MEMORY_FILE, SUMMARY_FILE, RAW_MEMORIES)
_FOLDER = re.compile(r"(?:scope: .*; )?applies_to:\s*cwd=(?P<folder>[^;]+)")
#: Sections that only lead to other files, which are not there any more.
_INDEX_HEADINGS = ("### rollout_summary_files", "### keywords")


class _Group(Struct, frozen=True, kw_only=True):
    """One group of the found MEMORY.md: its heading, the folder that it names, and its lines."""

    title: str  # "" before the first heading
    folder: str | None
    lines: Sequence[str]


class Adoption(Struct, frozen=True, kw_only=True):
    """What a found MEMORY.md becomes."""

    records: Sequence[JournalRecord]
    notes: str


def strangers_in(places: Places) -> list[str]:
    """Name what stands where files of ours go, in a workspace that is not ours yet."""
    if is_ours(places):
        return []
    found = [name for name in _OUR_FILES if os.path.lexists(places.workspace / name)]
    if RAW_MEMORIES in found and _lists_nothing(places.workspace):
        found.remove(RAW_MEMORIES)
    summaries = places.workspace / SUMMARIES_FOLDER
    if summaries.is_symlink() or (summaries.is_dir() and any(summaries.iterdir())):
        found.append(f"{SUMMARIES_FOLDER}/")
    return found


def is_ours(places: Places) -> bool:
    """Whether the workspace, as a place, was taken over before."""
    try:
        return places.adopted.read_text(encoding="utf-8") == _name_of(places.workspace)
    except (OSError, ValueError):
        return False


def mark_ours(places: Places) -> None:
    """Note that the workspace is ours from now on.

    Raises:
        OSError: it can't be written.
    """
    places.write(places.adopted, _name_of(places.workspace).encode())


def adoption_of(text: str, *, scope_of_folder: Callable[[str], str | None], now: float) -> Adoption:
    """Read a found MEMORY.md. ``scope_of_folder`` gives the project of a folder, None when that can't be told.

    A statement whose project can't be told never becomes a memory: it would hold everywhere.
    """
    records: list[JournalRecord] = []
    notes: list[str] = []
    for group in _groups(text):
        scope = scope_of_folder(group.folder) if group.folder else None
        left: list[str] = []
        heading, is_index, is_code = "", False, False
        for line in group.lines:
            if line.lstrip().startswith(("```", "~~~")):
                is_code = not is_code
            if not is_code and line.startswith("#"):
                heading, is_index = line.rstrip(), line.rstrip() in _INDEX_HEADINGS
            kind = SECTIONS.get(heading)
            record = _record(line, scope, kind, now) if scope and kind and not is_code else None
            if record is not None and len(records) < MOST_ITEMS:
                records.append(record)
            elif not is_index:
                left.append(line)
        notes += _as_notes(group, left)
    return Adoption(records=_first_of_each(records), notes=redact("\n".join(notes)).text)


def keep_strangers(places: Places) -> Path:
    """Keep a copy of every file that is in the way of ours. Returns the folder of the copies.

    Raises:
        WorkspaceError: one is a link, a folder or unreadable, so that it can't be taken over.
        OSError: a copy can't be written.
    """
    summaries = places.workspace / SUMMARIES_FOLDER
    if summaries.is_symlink():
        raise WorkspaceError(f"{summaries} is a link, and nothing is taken over through it; move it elsewhere")
    beside = sorted(path.name for path in summaries.iterdir()) if summaries.is_dir() else []
    for path in (*_OUR_FILES, *(f"{SUMMARIES_FOLDER}/{name}" for name in beside)):
        if not os.path.lexists(places.workspace / path):
            continue
        content = read_workspace_file(places.workspace, path)
        if content is None:
            raise WorkspaceError(f"{places.workspace / path} is a link, a folder or unreadable; move it elsewhere")
        keep_copy(places, path, content)
    return places.replaced


def found_handbook(places: Places) -> str:
    """Return the MEMORY.md that stands there, "" when there is none.

    Raises:
        WorkspaceError: it is too large to be taken over.
    """
    content = read_workspace_file(places.workspace, MEMORY_FILE) or b""
    if len(content) > _MOST_BYTES:
        raise WorkspaceError(f"{places.workspace / MEMORY_FILE} has more than {_MOST_BYTES} bytes; move it elsewhere")
    return b"".join(lines_of(content)).decode("utf-8", "replace")


def leave_notes(places: Places, notes: str) -> None:
    """Put what stays as notes at MEMORY.md, below what we published last, if anything.

    Raises:
        OSError: it can't be written; what stood there stands.
    """
    published = read_baseline(places.baseline).published
    places.write(places.workspace / MEMORY_FILE, published + notes.encode())


def _lists_nothing(workspace: Path) -> bool:
    """Whether raw_memories.md is the empty list that Codex writes at its first start."""
    content = read_workspace_file(workspace, RAW_MEMORIES)
    return content is not None and len(content) < _EMPTY_LIST_BYTES and b"\n## " not in content


def _name_of(workspace: Path) -> str:
    return f"{os.path.realpath(workspace)}\n"


def _groups(text: str) -> list[_Group]:
    groups: list[_Group] = []
    title, lines = "", list[str]()
    for line in text.split("\n"):
        if line.startswith("# "):
            groups.append(_group(title, lines))
            title, lines = line[2:].strip(), []
        else:
            lines.append(line)
    return [group for group in (*groups, _group(title, lines)) if group.title or any(map(str.strip, group.lines))]


def _group(title: str, lines: Sequence[str]) -> _Group:
    named = next((match for line in lines if (match := _FOLDER.match(line))), None)
    is_group = named is not None and f"# {title}".startswith(GROUP_HEADING)
    return _Group(title=title, folder=named["folder"].strip() if named and is_group else None, lines=lines)


def _record(line: str, scope: str, kind: EntryKind, now: float) -> JournalRecord | None:
    told = None if line.startswith((" ", "\t")) else told_by(line)
    if told is None:
        return None
    of_line = told.kind if kind is EntryKind.PREFERENCE else None
    return JournalRecord(
        record_id=record_id_of("adopted", scope, of_line or kind, told.condition, told.statement),
        action=JournalAction.ADD,
        at=now,
        origin=ADOPTED_ORIGIN,
        kind=of_line or kind,
        scope=scope,
        condition=told.condition,
        statement=told.statement,
    )


def _first_of_each(records: Sequence[JournalRecord]) -> list[JournalRecord]:
    return list({record.record_id: record for record in reversed(records)}.values())[::-1]


def _as_notes(group: _Group, left: Sequence[str]) -> list[str]:
    """Write what is left of a group, with headings that show whence it came; nothing when only headings are left."""
    says_something = [line for line in left if line.strip() and not _is_frame(line)]
    if not says_something:
        return []
    title = group.title.removeprefix("Task Group:").strip() or MEMORY_FILE
    notes = ["", f"# Adopted: {title}"]
    for line in left:
        if line.startswith("#"):
            notes.append(f"##{line}")
        elif line.startswith(("scope: ", "applies_to: ")):
            notes.append(f"> {line}")
        else:
            notes.append(line)
    while not notes[-1].strip():
        notes.pop()
    return [*notes, ""]


def _is_frame(line: str) -> bool:
    return line.startswith(("#", "scope: ", "applies_to: ")) or is_rendered(line.encode())
