"""The files that MEMORY.md was: kept once they are replaced, for as long as somebody may still write to one.

An editor that saves in place opens the file, empties it and writes it anew. If we put another file there in between,
what the person wrote arrives in the old one, which nobody would ever read. So the old one trades names with the new
one, is looked at right after, and once more by the next start; what arrived late is merged by line into MEMORY.md as it
stands then, by another such exchange.

Each exchange has a folder of its own: ``base`` is the person's version that went into the merge, ``ours`` what was put
in its place, ``about.json`` tells the two files apart, and ``file`` is the one that does not stand in the workspace.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import orjson

from memory_pipeline.files import exchange, finish_exchange, is_open_for_writing, make_private_folder, sha256_hex
from memory_pipeline.phase2.baseline import read_workspace_file
from memory_pipeline.phase2.layout import MEMORY_FILE
from memory_pipeline.phase2.person import carry_edits, is_damaged
from memory_pipeline.phase2.places import Places

#: Somebody may save again while we merge; what comes after so many rounds, the next start merges.
_MOST_ROUNDS = 20
#: Where the state folder lies on another file system, the file is kept beside MEMORY.md. Not a name that is swept.
_BESIDE_PREFIX = ".memory-pipeline.kept-"
_ABOUT = "about.json"
_BASE = "base"
_OURS = "ours"
_FILE = "file"


@dataclass(frozen=True, kw_only=True, slots=True)
class KeptFile:
    """One exchange of MEMORY.md: the file that was put there and the one that stood there."""

    folder: Path
    spare: Path  # names ours before the exchange and the old file after it; missing if nothing stood there
    target: Path
    our_inode: int

    @property
    def is_exchanged(self) -> bool:
        """Whether ours was put in its place, and not taken back since."""
        return _inode(self.target) == self.our_inode or _inode(self.spare) != self.our_inode

    @property
    def held(self) -> bytes | None:
        """What the spare file held when it was last merged; None when that can't be read."""
        return _read(self.held_path)

    @property
    def held_path(self) -> Path:
        """Where that is written down."""
        return self.folder / (_OURS if _inode(self.spare) == self.our_inode else _BASE)

    @property
    def holds(self) -> bytes | None:
        """What the spare file holds now; None when there is none."""
        return read_workspace_file(self.spare.parent, self.spare.name)

    @property
    def ours(self) -> bytes | None:
        """What was to be put in its place."""
        return _read(self.folder / _OURS)


def replace_keeping(
    places: Places, content: bytes, *, base: bytes, on_prepared: Callable[[str], None] = lambda _name: None
) -> KeptFile:
    """Put ``content`` at MEMORY.md and keep the file that stood there.

    ``base`` is the person's version that ``content`` includes: what the old file holds beyond it came late.
    ``on_prepared`` is told the name of the record right before the exchange.

    Raises:
        OSError: it can't be done; MEMORY.md is as it was.
    """
    try:
        return _replace(places, content, base, on_prepared, is_beside=False)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
    return _replace(places, content, base, on_prepared, is_beside=True)


def kept_file(places: Places, name: str) -> KeptFile | None:
    """Return the record of this name, None when there is none or it was never finished."""
    folder = places.kept / name
    try:
        about = orjson.loads((folder / _ABOUT).read_bytes())
        inode, is_beside = int(about["inode"]), bool(about["beside"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return KeptFile(
        folder=folder,
        spare=_spare(places, folder, is_beside=is_beside),
        target=places.workspace / MEMORY_FILE,
        our_inode=inode,
    )


def merge_late_saves(places: Places) -> bool:
    """Merge into MEMORY.md what was saved into a file that it was before. Returns whether there was anything.

    Raises:
        OSError: it can't be written; what came late stays where it is.
    """
    was_anything = False
    for _ in range(_MOST_ROUNDS):
        kept = _all_kept(places)
        for one in kept:
            finish_exchange(one.spare, one.target)
        if not any(_merge_late_save(places, one, newest=kept[-1]) for one in kept):
            break
        was_anything = True
    return was_anything


def let_go(places: Places, *, was_looked_at_again: bool) -> list[Path]:
    """Remove the kept files that nobody writes to any more. Returns the copies of those that ended damaged.

    A file that somebody has open for writing stays, and so does one that is still to be merged. Where it can't be told
    whether somebody has it open, it stays until a later start has looked at it again.

    Raises:
        OSError: a copy can't be written; its file stays.
    """
    copies = []
    for name in _names(places):
        kept = kept_file(places, name)
        if kept is None:
            _remove(places, name)
            continue
        is_open = is_open_for_writing(kept.spare)
        holds, held = kept.holds, kept.held  # Read after that: what nobody has open does not change any more.
        if holds is None or (holds == held and is_open is False):
            _remove(places, name)
        elif is_open or not was_looked_at_again or (held is not None and _is_late(held, holds)):
            continue
        else:
            if holds.strip() and holds != held:
                copy, is_new = keep_copy(places, MEMORY_FILE, holds)
                copies += [copy] if is_new else []
            _remove(places, name)
    if not _names(places):
        shutil.rmtree(places.kept, ignore_errors=True)
    return copies


def keep_copy(places: Places, path: str, content: bytes) -> tuple[Path, bool]:
    """Keep a copy of what stood at a workspace path. Returns where it is, and whether it is new.

    Raises:
        OSError: it can't be written.
    """
    copy = places.replaced / f"{sha256_hex(content)[:12]}-{Path(path).name}"
    is_new = not copy.exists()
    make_private_folder(copy.parent)
    places.write(copy, content)
    return copy, is_new


def _replace(
    places: Places, content: bytes, base: bytes, on_prepared: Callable[[str], None], *, is_beside: bool
) -> KeptFile:
    name = f"{max((int(name) for name in _names(places)), default=0) + 1:06d}"
    try:
        kept = _prepare(places, name, content, base, is_beside=is_beside)
        on_prepared(name)
        exchange(kept.spare, kept.target, places.exchange_ways)
    except OSError:
        _remove(places, name)
        raise
    return kept


def _prepare(places: Places, name: str, content: bytes, base: bytes, *, is_beside: bool) -> KeptFile:
    folder = places.kept / name
    make_private_folder(folder)
    spare = _spare(places, folder, is_beside=is_beside)
    places.write(folder / _BASE, base)
    places.write(folder / _OURS, content)
    places.write(spare, content)
    inode = spare.stat().st_ino
    # Last: without it nothing was exchanged yet.
    places.write(folder / _ABOUT, orjson.dumps({"inode": inode, "beside": is_beside}))
    return KeptFile(folder=folder, spare=spare, target=places.workspace / MEMORY_FILE, our_inode=inode)


def _merge_late_save(places: Places, kept: KeptFile, *, newest: KeptFile) -> bool:
    held, holds = kept.held, kept.holds
    if held is None or holds is None or not _is_late(held, holds):
        return False
    on_disk = read_workspace_file(places.workspace, MEMORY_FILE)
    expected = newest.ours if newest.is_exchanged else newest.held
    if on_disk is None or is_damaged(expected or b"", on_disk):
        return False  # Being saved this moment, or lost: then it is restored first.
    merged = _with_late_lines(held, holds, on_disk)
    if merged != on_disk:
        replace_keeping(places, merged, base=on_disk)
    places.write(kept.held_path, holds)
    return True


def _is_late(held: bytes, holds: bytes) -> bool:
    """Whether a file was saved since it was merged. One that is empty or half is not saved yet."""
    return holds != held and not is_damaged(held, holds)


def _with_late_lines(held: bytes, holds: bytes, on_disk: bytes) -> bytes:
    merged = carry_edits(rendered_before=held, published_before=held, on_disk=holds, rendered_now=on_disk)
    # What stands in both was saved twice or merged before a crash: it is said as often as either says it.
    allowed = Counter(on_disk.split(b"\n")) | Counter(holds.split(b"\n"))
    lines = []
    for line in merged.split(b"\n"):
        allowed[line] -= 1
        if allowed[line] >= 0 or not line.strip():
            lines.append(line)
    return b"\n".join(lines)


def _all_kept(places: Places) -> list[KeptFile]:
    """Every finished record, the oldest first."""
    return [kept for name in _names(places) if (kept := kept_file(places, name)) is not None]


def _names(places: Places) -> list[str]:
    try:
        return sorted(path.name for path in places.kept.iterdir() if path.name.isdecimal())
    except OSError:
        return []


def _spare(places: Places, folder: Path, *, is_beside: bool) -> Path:
    return places.workspace / f"{_BESIDE_PREFIX}{folder.name}" if is_beside else folder / _FILE


def _remove(places: Places, name: str) -> None:
    shutil.rmtree(places.kept / name, ignore_errors=True)
    _spare(places, places.kept / name, is_beside=True).unlink(missing_ok=True)


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def _inode(path: Path) -> int | None:
    try:
        return os.stat(path, follow_symlinks=False).st_ino  # noqa: PTH116 - a link is a file of its own
    except OSError:
        return None
