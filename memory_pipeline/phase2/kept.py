"""The files that MEMORY.md was: kept once they are replaced, for as long as somebody may still write to one.

An editor that saves in place opens the file, empties it and writes it anew. If we put another file there in between,
what the person wrote arrives in the old one, which nobody would ever read. So the old one trades names with the new
one, is looked at right after, and once more by the next start; what arrived late is merged by line into MEMORY.md as it
stands then, by another such exchange.

Each exchange has a folder of its own: ``base`` is the person's version that went into the merge, ``ours`` what was put
in its place, ``about.json`` tells the two files apart, and ``file`` is the one that does not stand in the workspace.
``merged`` is what that one held when it was merged late: an editor that read MEMORY.md before that may save over it
after, so the next start looks whether it is still there. ``seen`` says that only that look is still to come.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import orjson
from msgspec import Struct

from memory_pipeline.files import (
    FILE_MODE,
    exchange,
    finish_exchange,
    is_open_for_writing,
    make_private_folder,
    sha256_hex,
)
from memory_pipeline.phase2.baseline import read_workspace_file
from memory_pipeline.phase2.layout import MEMORY_FILE
from memory_pipeline.phase2.person import carry_edits, is_damaged
from memory_pipeline.phase2.places import Places

#: Somebody may save again while we merge; what comes after so many rounds, the next start merges.
_MOST_ROUNDS = 20
#: Where the state folder lies on another file system, the file is kept beside MEMORY.md. Not a name that is swept.
BESIDE_PREFIX = ".memory-pipeline.kept-"
_ABOUT = "about.json"
_BASE = "base"
_OURS = "ours"
_FILE = "file"
_MERGED = "merged"
_SEEN = "seen"


class KeptFile(Struct, frozen=True, kw_only=True):
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
    def base(self) -> bytes | None:
        """What the spare file held before anybody saved into it too late; None when that can't be read."""
        return _read(self.folder / (_OURS if _inode(self.spare) == self.our_inode else _BASE))

    @property
    def merged(self) -> bytes | None:
        """What the spare file held when it was merged late; None while it was not."""
        return _read(self.folder / _MERGED)

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


def let_go(places: Places) -> list[Path]:
    """Remove the kept files that nobody can write to any more. Returns the copies of those that ended damaged.

    Called after each look. A file into which nothing was saved, and which nobody has open, goes at once. Where that
    can't be told, or something came late, it goes the next time. While somebody has it open for writing it stays.

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
        holds, base = kept.holds, kept.base  # Read after that: what nobody has open does not change any more.
        if holds is None or (holds == base and is_open is False):
            _remove(places, name)
        elif is_open:
            continue
        elif not (kept.folder / _SEEN).exists():
            with contextlib.suppress(OSError):
                (kept.folder / _SEEN).touch(mode=FILE_MODE)
        elif holds in (base, kept.merged):
            _remove(places, name)
        elif base is None or is_damaged(base, holds):
            if holds.strip():
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
    """Merge one spare file into MEMORY.md. Returns whether MEMORY.md was changed by that."""
    base, holds, merged_before = kept.base, kept.holds, kept.merged
    if base is None or holds is None or holds == base or is_damaged(base, holds):
        return False  # Nothing came late; or the file is empty or half, and not saved yet.
    on_disk = read_workspace_file(places.workspace, MEMORY_FILE)
    expected = newest.ours if newest.is_exchanged else newest.base
    if on_disk is None or is_damaged(expected or b"", on_disk):
        return False  # Being saved this moment, or lost: then it is restored first.
    if holds == merged_before:
        added = Counter(_lines(holds)) - Counter(_lines(base))
        if added <= Counter(_lines(on_disk)):
            return False
        # Somebody saved an older text over it. What was added comes back; what was taken out is not taken out twice.
        since = _without(holds, added)
    else:
        since = base if merged_before is None else merged_before
        (kept.folder / _SEEN).unlink(missing_ok=True)
    merged = _with_late_lines(since, holds, on_disk)
    if merged != on_disk:
        replace_keeping(places, merged, base=on_disk)
    places.write(kept.folder / _MERGED, holds)
    return merged != on_disk


def _with_late_lines(since: bytes, holds: bytes, on_disk: bytes) -> bytes:
    merged = carry_edits(rendered_before=since, published_before=since, on_disk=holds, rendered_now=on_disk)
    # What stands in both was saved twice or merged before a crash: it is said as often as either says it.
    too_often = Counter(_lines(merged)) - (Counter(_lines(on_disk)) | Counter(_lines(holds)))
    return _without(merged, too_often)


def _without(text: bytes, lines: Counter[bytes]) -> bytes:
    """Leave out the last ones of these lines, as often as each is counted."""
    left_out = Counter(lines)
    kept = []
    for line in reversed(text.split(b"\n")):
        if left_out[line] > 0:
            left_out[line] -= 1
        else:
            kept.append(line)
    return b"\n".join(reversed(kept))


def _lines(text: bytes) -> list[bytes]:
    """The lines that say something."""
    return [line for line in text.replace(b"\r\n", b"\n").split(b"\n") if line.strip()]


def _all_kept(places: Places) -> list[KeptFile]:
    """Every finished record, the oldest first."""
    return [kept for name in _names(places) if (kept := kept_file(places, name)) is not None]


def _names(places: Places) -> list[str]:
    try:
        return sorted(path.name for path in places.kept.iterdir() if path.name.isdecimal())
    except OSError:
        return []


def _spare(places: Places, folder: Path, *, is_beside: bool) -> Path:
    return places.workspace / f"{BESIDE_PREFIX}{folder.name}" if is_beside else folder / _FILE


def _remove(places: Places, name: str) -> None:
    # The folder last: as long as it stands, a file that a crash left beside MEMORY.md is known.
    _spare(places, places.kept / name, is_beside=True).unlink(missing_ok=True)
    shutil.rmtree(places.kept / name, ignore_errors=True)


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
