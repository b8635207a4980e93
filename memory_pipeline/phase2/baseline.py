"""The baseline: a copy of the workspace as of the last successful consolidation, with a manifest of hashes."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path

import orjson
from msgspec import Struct, field

from memory_pipeline.files import make_private_folder, sha256_hex, sync_folder, write_whole
from memory_pipeline.phase2.layout import MEMORY_FILE, SUMMARY_FILE
from memory_pipeline.phase2.render import RENDERER_VERSION, RenderedLine, Saying, read_saying

_MANIFEST = "manifest.json"
_FILES = "files"
_RENDERED = "rendered-MEMORY.md"
_RENDERED_BEFORE = "rendered-before-MEMORY.md"


class Baseline(Struct, frozen=True, kw_only=True):
    """What was published last. ``rendered`` is MEMORY.md as rendered, without the person's own text."""

    consolidation_id: int = 0
    renderer_version: int = RENDERER_VERSION
    settings: str = ""  # of the limits that the rendering depends on
    hashes: Mapping[str, str] = field(default_factory=dict)  # workspace path -> SHA-256
    line_memories: Sequence[str | None] = ()  # for each rendered line of MEMORY.md, the memory it came from
    line_scopes: Sequence[str | None] = ()  # for each, the scope of its group
    line_sayings: Sequence[Saying | None] = ()  # for each, what that memory said
    rendered: bytes = b""
    rendered_before: bytes = b""  # MEMORY.md as rendered the time before, which an editor may still hold
    published: bytes = b""  # MEMORY.md as it was written, with the person's text of that time
    notes: frozenset[str] = frozenset()  # digests of lines of the person that were judged to be notes

    @property
    def exists(self) -> bool:
        """Whether anything was ever published."""
        return self.consolidation_id > 0


def read_baseline(folder: Path) -> Baseline:
    """Read the baseline; a missing or damaged one reads as never published, so that everything is published again."""
    if not folder.exists():
        folder = _fresh(folder)  # A crash between two renames left the new one, whole, under its other name.
    try:
        manifest = orjson.loads((folder / _MANIFEST).read_bytes())
        return Baseline(
            consolidation_id=int(manifest["consolidation_id"]),
            renderer_version=int(manifest["renderer_version"]),
            settings=str(manifest["settings"]),
            hashes={str(path): str(digest) for path, digest in manifest["files"].items()},
            line_memories=tuple(manifest["line_memories"]),
            # Without them, as an earlier version wrote it, edits are carried along and read the time after.
            line_scopes=tuple(manifest.get("line_scopes", ())),
            line_sayings=tuple(map(read_saying, manifest.get("line_sayings", ()))),
            rendered=(folder / _RENDERED).read_bytes(),
            rendered_before=_read_if_there(folder / _RENDERED_BEFORE),
            published=(folder / _FILES / MEMORY_FILE).read_bytes(),
            notes=frozenset(manifest.get("notes", ())),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return Baseline()


def read_published(folder: Path, workspace: Path, path: str, digest: str) -> bytes:
    """Return one file as it was published, from the baseline or, where that copy is damaged, from where it lies.

    Raises:
        ValueError: neither holds it with this SHA-256.
    """
    if not folder.exists():
        folder = _fresh(folder)
    for place in (folder / _FILES, workspace):
        content = read_workspace_file(place, path)
        if content is not None and sha256_hex(content) == digest:
            return content
    raise ValueError(f"{path} is nowhere as it was published")


def _read_if_there(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""


def write_baseline(
    folder: Path,
    *,
    consolidation_id: int,
    settings: str,
    files: Mapping[str, bytes],
    handbook: Sequence[RenderedLine],
    rendered: bytes,
    rendered_before: bytes = b"",
    notes: Collection[str] = (),
    write: Callable[[Path, bytes], None] = write_whole,
) -> None:
    """Replace the baseline as a whole; a crash leaves the old one or the new one.

    Raises:
        OSError: it can't be written; the old one stands.
    """
    fresh = _fresh(folder)
    replaced = folder.with_name(f"{folder.name}.old")
    if not folder.exists() and fresh.exists():
        os.replace(fresh, folder)  # noqa: PTH105 - a crash between the two renames below
    for leftover in (fresh, replaced):
        shutil.rmtree(leftover, ignore_errors=True)
    try:
        write_fresh = partial(_write_fresh, fresh, folder, consolidation_id, settings, files, handbook)
        write_fresh(rendered=rendered, rendered_before=rendered_before, notes=notes, write=write)
        _rename_into_place(fresh, folder, replaced)
    except OSError:
        # Left there, it would be taken for the baseline while there is no older one.
        shutil.rmtree(fresh, ignore_errors=True)
        raise
    shutil.rmtree(replaced, ignore_errors=True)


def _write_fresh(
    fresh: Path,
    folder: Path,
    consolidation_id: int,
    settings: str,
    files: Mapping[str, bytes],
    handbook: Sequence[RenderedLine],
    *,
    rendered: bytes,
    rendered_before: bytes,
    notes: Collection[str],
    write: Callable[[Path, bytes], None],
) -> None:
    make_private_folder(fresh)
    write_files(fresh / _FILES, files, baseline=folder, write=write)
    write(fresh / _RENDERED, rendered)
    write(fresh / _RENDERED_BEFORE, rendered_before)
    manifest = {
        "consolidation_id": consolidation_id,
        "renderer_version": RENDERER_VERSION,
        "settings": settings,
        "files": {path: sha256_hex(content) for path, content in sorted(files.items())},
        "line_memories": [line.memory_id for line in handbook],
        "line_scopes": [line.scope for line in handbook],
        "line_sayings": [line.saying.as_list() if line.saying else None for line in handbook],
        "notes": sorted(notes),
    }
    write(fresh / _MANIFEST, orjson.dumps(manifest, option=orjson.OPT_INDENT_2))


def write_files(
    folder: Path,
    files: Mapping[str, bytes],
    *,
    write: Callable[[Path, bytes], None],
    baseline: Path | None = None,
) -> None:
    """Put files, by workspace path, into a folder that holds none of them; durable once this returns.

    What the ``baseline`` holds already is not written once more but gets another name: most files are the same from one
    consolidation to the next. Neither is ever changed in place, nor moved into the workspace, where a person might.

    Raises:
        OSError: one can't be written.
    """
    linked = set()
    targets = {path: folder / path for path in files}
    for parent in dict.fromkeys(target.parent for target in targets.values()):
        make_private_folder(parent)
    for path, content in files.items():
        target = targets[path]
        if baseline is not None and _link_alike(baseline / _FILES, path, content, target):
            linked.add(target.parent)
        else:
            write(target, content)
    for parent in linked:
        sync_folder(parent)


def _link_alike(files: Path, path: str, content: bytes, target: Path) -> bool:
    if read_workspace_file(files, path) != content:
        return False
    try:
        os.link(files / path, target, follow_symlinks=False)
    except (OSError, NotImplementedError):  # there are file systems without links
        return False
    return True


def _rename_into_place(fresh: Path, folder: Path, replaced: Path) -> None:
    had_one = folder.exists()
    if had_one:
        os.replace(folder, replaced)  # noqa: PTH105 - the atomic rename is the point
    try:
        os.replace(fresh, folder)  # noqa: PTH105
    except OSError:
        if had_one:
            os.replace(replaced, folder)  # noqa: PTH105
        raise
    sync_folder(folder.parent)


def _fresh(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.new")


def read_workspace_file(workspace: Path, path: str) -> bytes | None:
    """Read one file of the workspace; None when it is missing, or is no regular file of its own (a link, a folder)."""
    try:
        descriptor = os.open(workspace / path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        with os.fdopen(descriptor, "rb", closefd=False) as stream:
            return stream.read()
    except OSError:
        return None
    finally:
        os.close(descriptor)


def differences(planned: Mapping[str, bytes], baseline: Baseline, workspace: Path) -> dict[str, str]:
    """Compare input files and the workspace with the baseline: workspace path -> ``A``, ``M`` or ``D``.

    ``planned`` are the input files as they would be laid out now. A published file that was changed on disk, or is
    gone, differs too.
    """
    found: dict[str, str] = {}
    for path, content in planned.items():
        if path not in baseline.hashes:
            found[path] = "A"
        elif sha256_hex(content) != baseline.hashes[path]:
            found[path] = "M"
    for path, digest in baseline.hashes.items():
        if path not in planned and not _is_output(path):
            found[path] = "D"
        elif path not in found:
            on_disk = read_workspace_file(workspace, path)
            if on_disk is None or sha256_hex(on_disk) != digest:
                found[path] = "M"
    return dict(sorted(found.items()))


def _is_output(path: str) -> bool:
    return path in (MEMORY_FILE, SUMMARY_FILE)
