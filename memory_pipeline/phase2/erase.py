"""Erasing what was forgotten from the workspace and its copies, and finding it there when an older copy came back.

What is rendered is rendered anew; here is what rendering does not reach: lines in MEMORY.md that are not of the present
rendering, summaries that nothing tells of any more, notes, copies kept aside, what was staged.
"""

from __future__ import annotations

import re
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from pathlib import Path

from msgspec import Struct

from memory_pipeline.files import TEMPORARY_PREFIX, write_whole
from memory_pipeline.phase2.baseline import Baseline, read_baseline, read_workspace_file
from memory_pipeline.phase2.edits import edits_of, is_rendered, told_by
from memory_pipeline.phase2.extensions import EXTENSIONS_FOLDER, NOTES_EXTENSION, records_of_extensions
from memory_pipeline.phase2.kept import BESIDE_PREFIX
from memory_pipeline.phase2.layout import MEMORY_FILE, SUMMARIES_FOLDER
from memory_pipeline.phase2.person import lines_of
from memory_pipeline.phase2.places import Places
from memory_pipeline.phase2.publish import sweep_temporary
from memory_pipeline.tombstones import Tombstones

_THREAD = re.compile(r"thread_id[:=]\s*(?P<id>[^\s,)]+)")
_TELLS_MEMORY = re.compile(rb"- (?!rollout_summaries/).* \(\d{4}-\d\d-\d\d\)(?: \[Task \d+\])*$")
_TELLS_SESSION = re.compile(
    rb"## Task \d+: .+, (?:success|partial|fail|uncertain)$"
    rb"|### (?:rollout_summary_files|keywords)$|- rollout_summaries/"
)
#: What is read of a summary to tell whose it is.
_HEADER_BYTES = 8_192


class Found(Struct, frozen=True, kw_only=True):
    """What of the forgotten stands in files that rendering does not reach."""

    handbook_lines: Sequence[str] = ()  # of MEMORY.md, as they stand there
    stale_lines: int = 0  # of an older rendering of MEMORY.md
    summaries: Sequence[str] = ()  # workspace paths
    notes: Sequence[str] = ()  # workspace paths of notes in extensions/ad_hoc
    copies: Sequence[Path] = ()  # files kept aside, of which lines go

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing of it."""
        return not (self.handbook_lines or self.stale_lines or self.summaries or self.notes or self.copies)


def find_forgotten(places: Places, tombstones: Tombstones) -> Found:
    """Look for it; changes nothing."""
    if tombstones.is_empty:
        return Found()
    baseline = read_baseline(places.baseline)
    on_disk = read_workspace_file(places.workspace, MEMORY_FILE) or b""
    told, stale = _forgotten_lines(on_disk, baseline, tombstones)
    lines = lines_of(on_disk)
    return Found(
        handbook_lines=[lines[index].decode("utf-8", "replace").rstrip("\n") for index in sorted(told)],
        stale_lines=len(stale),
        summaries=_stale_summaries(places.workspace, baseline, tombstones),
        notes=_forgotten_notes(places.workspace, tombstones),
        copies=[path for path in _copies(places) if _cleaned(path.read_bytes(), tombstones) != path.read_bytes()],
    )


def erase_found(places: Places, found: Found, tombstones: Tombstones) -> None:
    """Take it out, and save nothing of it aside.

    Raises:
        OSError: a file can't be written or removed.
    """
    if found.handbook_lines or found.stale_lines:
        _rewrite_handbook(places, lambda content, baseline: _without(content, baseline, tombstones))
    for path in (*found.summaries, *found.notes):
        (places.workspace / path).unlink(missing_ok=True)
    for copy in found.copies:
        write_whole(copy, _cleaned(copy.read_bytes(), tombstones))


def discard_leftovers(places: Places) -> None:
    """Throw away what crashed runs left: it may hold anything, and everything is published anew.

    Raises:
        OSError: it can't be removed.
    """
    sweep_temporary(places.workspace)
    for folder in (places.staging.parent, places.replaced):
        for left in folder.glob(f"{TEMPORARY_PREFIX}*"):
            left.unlink(missing_ok=True)
    for left in places.workspace.glob(f"{BESIDE_PREFIX}*"):
        left.unlink(missing_ok=True)
    leftovers = [places.staging, places.kept, places.baseline.with_name(f"{places.baseline.name}.old")]
    if places.baseline.exists():
        leftovers.append(places.baseline.with_name(f"{places.baseline.name}.new"))
    for folder in leftovers:
        if folder.exists():
            shutil.rmtree(folder)


def mask_files(places: Places, mask: Callable[[str], str]) -> int:
    """Pass MEMORY.md and the copies kept aside through ``mask``, line by line; returns how many files changed.

    Raises:
        OSError: a file can't be written.
    """

    def masked(content: bytes) -> bytes:
        return b"".join(_masked_line(line, mask) for line in content.splitlines(keepends=True))

    changed = _rewrite_handbook(places, lambda content, _baseline: masked(content))
    for copy in _copies(places):
        content = copy.read_bytes()
        if masked(content) != content:
            write_whole(copy, masked(content))
            changed += 1
    return changed


def notes_with(places: Places, holds: Callable[[str], bool]) -> list[str]:
    """Return the workspace paths of extension files whose text ``holds`` something."""
    root = places.workspace / EXTENSIONS_FOLDER
    return [
        path.relative_to(places.workspace).as_posix()
        for path in sorted(root.glob("*/*/*"))
        if path.is_file() and not path.is_symlink() and holds(path.read_text(encoding="utf-8", errors="replace"))
    ]


def _masked_line(line: bytes, mask: Callable[[str], str]) -> bytes:
    try:
        return mask(line.decode()).encode()
    except UnicodeDecodeError:
        return line


def _rewrite_handbook(places: Places, change: Callable[[bytes, Baseline], bytes]) -> int:
    """Change MEMORY.md, and what was last published of it; what a person saves meanwhile is read again first."""
    baseline = read_baseline(places.baseline)
    changed = 0
    copy = places.baseline / "files" / MEMORY_FILE
    if copy.exists() and (content := copy.read_bytes()) != change(content, baseline):
        write_whole(copy, change(content, baseline))
        changed += 1
    while (on_disk := read_workspace_file(places.workspace, MEMORY_FILE)) is not None:
        wanted = change(on_disk, baseline)
        if wanted == on_disk:
            break
        if read_workspace_file(places.workspace, MEMORY_FILE) == on_disk:
            write_whole(places.workspace / MEMORY_FILE, wanted)
            return changed + 1
    return changed


def _without(content: bytes, baseline: Baseline, tombstones: Tombstones) -> bytes:
    told, stale = _forgotten_lines(content, baseline, tombstones)
    gone = told | stale
    return b"".join(line for index, line in enumerate(lines_of(content)) if index not in gone) if gone else content


def _forgotten_lines(
    content: bytes, baseline: Baseline, tombstones: Tombstones
) -> tuple[frozenset[int], frozenset[int]]:
    """Return the lines of MEMORY.md that tell what was forgotten, and others that are of an older rendering.

    An older rendering may have come back, and what it tells of sessions would pass for the person's text. Where it
    tells what was forgotten, nothing of it stays but what is compared with the memories like all that stands there.
    """
    lines = lines_of(content)
    extra = _not_rendered(lines, lines_of(baseline.rendered))
    told = {index for index in extra if _is_forgotten(lines[index].decode("utf-8", "replace"), tombstones)}
    told |= {
        edit.added
        for edit in edits_of(baseline, content)
        if edit.added is not None and tombstones.has_memory(edit.memory_id or "")
    }
    is_stale = is_rendered if told else _tells_sessions
    stale = {
        index
        for index in extra - told
        if not _TELLS_MEMORY.match(lines[index]) and is_stale(lines[index], before=lines[index - 1] if index else b"")
    }
    ours = {index for index in told if is_rendered(lines[index], before=lines[index - 1] if index else b"")}
    return frozenset(told - ours), frozenset(stale | ours)


def _not_rendered(lines: Sequence[bytes], rendered: Sequence[bytes]) -> set[int]:
    """Return the lines that are not of the rendering; of one that stands more often than there, those out of place."""
    blocks = SequenceMatcher(None, rendered, lines, autojunk=False).get_matching_blocks()
    in_place = {index for block in blocks for index in range(block.b, block.b + block.size)}
    moved = Counter(rendered)
    moved.subtract(lines[index] for index in in_place)
    extra = set()
    for index in sorted(set(range(len(lines))) - in_place):
        moved[lines[index]] -= 1
        if moved[lines[index]] < 0:
            extra.add(index)
    return extra


def _tells_sessions(line: bytes, *, before: bytes) -> bool:
    return before == b"### keywords\n" or bool(_TELLS_SESSION.match(line))


def _is_forgotten(line: str, tombstones: Tombstones) -> bool:
    told = told_by(line)
    return (
        tombstones.holds_words(line)
        or tombstones.holds_text(line)
        or (told is not None and tombstones.is_text(told.statement))
        or tombstones.is_text(line)
        or any(tombstones.has_thread(found["id"]) for found in _THREAD.finditer(line))
    )


def _stale_summaries(workspace: Path, baseline: Baseline, tombstones: Tombstones) -> list[str]:
    """Return summaries of threads of which something was forgotten, other than those published last."""
    stale = []
    folder = workspace / SUMMARIES_FOLDER
    if folder.is_symlink() or not folder.is_dir():
        return []
    for file in sorted(folder.glob("*.md")):
        path = f"{SUMMARIES_FOLDER}/{file.name}"
        if path in baseline.hashes:
            continue
        head = (read_workspace_file(workspace, path) or b"")[:_HEADER_BYTES].decode("utf-8", "replace")
        named = _THREAD.match(head)
        if named is not None and tombstones.touches(named["id"]):
            stale.append(path)
    return stale


def _forgotten_notes(workspace: Path, tombstones: Tombstones) -> list[str]:
    """Return the notes that something forgotten rests on, or that hold forgotten words; no others are ours."""
    prefix = f"{EXTENSIONS_FOLDER}/{NOTES_EXTENSION}/"
    found = {
        record.origin
        for record in records_of_extensions(workspace, retention_days=0, now=0.0)
        if record.origin.startswith(prefix) and tombstones.has_record(record.record_id)
    }
    folder = workspace / prefix / "notes"
    if folder.is_dir() and not folder.is_symlink():
        for file in sorted(folder.iterdir()):
            path = f"{prefix}notes/{file.name}"
            content = read_workspace_file(workspace, path)
            if content is not None and tombstones.holds_words(content.decode("utf-8", "replace"), file.name):
                found.add(path)
    return sorted(found)


def _copies(places: Places) -> list[Path]:
    if not places.replaced.is_dir():
        return []
    return sorted(path for path in places.replaced.iterdir() if path.is_file() and not path.is_symlink())


def _cleaned(content: bytes, tombstones: Tombstones) -> bytes:
    """Return a file kept aside without the lines that tell what was forgotten."""
    head = content[:_HEADER_BYTES].decode("utf-8", "replace")
    named = _THREAD.match(head)
    if named is not None and tombstones.touches(named["id"]):
        return b""  # a summary of such a thread
    return _without(content, Baseline(), tombstones)
