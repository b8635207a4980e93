"""Publishing: several files change as one. Staged and journalled first, so that a crash at any point can be mended."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson

from memory_pipeline.errors import WorkspaceError
from memory_pipeline.files import TEMPORARY_PREFIX, make_private_folder, sha256_hex, write_whole
from memory_pipeline.phase2.baseline import Baseline, read_baseline, read_workspace_file, write_baseline
from memory_pipeline.phase2.edits import without_edits
from memory_pipeline.phase2.layout import MEMORY_FILE, RAW_MEMORIES, SUMMARIES_FOLDER, SUMMARY_FILE
from memory_pipeline.phase2.person import carry_edits, is_damaged
from memory_pipeline.phase2.render import RenderedLine, as_bytes

#: Told the name of each step of a publication, so that a test can stop the program right there.
OnStep = Callable[[str], None]

_JOURNAL = "publish.json"
_STAGED = "files"
_MERGED = "merged-MEMORY.md"
#: Of many restored files, this many are named.
_MOST_NAMED = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class Publication:
    """What one consolidation publishes: every file of the workspace that is ours, whole."""

    consolidation_id: int
    settings: str
    handbook: Sequence[RenderedLine]  # MEMORY.md as rendered, without the person's own text
    files: Mapping[str, bytes]  # all other files by workspace path
    watermark: float
    taken_in: frozenset[str] = frozenset()  # the person's edits of MEMORY.md that the memories hold by now


@dataclass(frozen=True, kw_only=True, slots=True)
class Places:
    """Where publishing takes place."""

    workspace: Path
    baseline: Path
    staging: Path
    replaced: Path  # copies of files that stood in the workspace before our first publication


def stage(places: Places, publication: Publication) -> None:
    """Write everything down before anything changes.

    Raises:
        OSError: it can't be written; the workspace is as it was.
    """
    shutil.rmtree(places.staging, ignore_errors=True)
    make_private_folder(places.staging / _STAGED)
    for path, content in publication.files.items():
        target = places.staging / _STAGED / path
        make_private_folder(target.parent)
        write_whole(target, content)
    journal = {
        "consolidation_id": publication.consolidation_id,
        "settings": publication.settings,
        "watermark": publication.watermark,
        "files": sorted(publication.files),
        "handbook": [[line.text, line.memory_id, line.scope] for line in publication.handbook],
        "taken_in": sorted(publication.taken_in),
    }
    write_whole(places.staging / _JOURNAL, orjson.dumps(journal))


def read_staged(places: Places) -> Publication | None:
    """Return what a crashed run had staged, None when nothing is staged whole."""
    try:
        journal = orjson.loads((places.staging / _JOURNAL).read_bytes())
        return Publication(
            consolidation_id=int(journal["consolidation_id"]),
            settings=str(journal["settings"]),
            watermark=float(journal["watermark"]),
            handbook=[
                RenderedLine(text=text, memory_id=memory_id, scope=scope)
                for text, memory_id, scope in journal["handbook"]
            ],
            taken_in=frozenset(journal["taken_in"]),
            files={path: (places.staging / _STAGED / path).read_bytes() for path in journal["files"]},
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def sweep_temporary(workspace: Path) -> None:
    """Remove what a run that was killed while it wrote left beside its target. Only under the workspace lock."""
    for folder in (workspace, workspace / SUMMARIES_FOLDER):
        if not folder.is_symlink():
            for left in folder.glob(f"{TEMPORARY_PREFIX}*"):
                left.unlink(missing_ok=True)


def discard_staged(places: Places) -> None:
    """Forget what was staged."""
    shutil.rmtree(places.staging, ignore_errors=True)


def check(publication: Publication, *, summary_max_bytes: int) -> None:
    """Look once more at what is about to be published.

    Raises:
        WorkspaceError: a file is missing, is no UTF-8, is too large, or does not start as its readers expect.
    """
    summary = publication.files.get(SUMMARY_FILE)
    if summary is None or not summary.startswith(b"v1\n"):
        raise WorkspaceError(f"{SUMMARY_FILE} was not rendered as its readers expect; nothing was published")
    if len(summary) > summary_max_bytes:
        raise WorkspaceError(f"{SUMMARY_FILE} has {len(summary)} bytes, more than phase2.summary_max_bytes allows")
    if RAW_MEMORIES not in publication.files:
        raise WorkspaceError(f"{RAW_MEMORIES} was not laid out; nothing was published")
    for path, content in publication.files.items():
        try:
            content.decode("utf-8")
        except UnicodeDecodeError as error:
            raise WorkspaceError(f"{path} would not be UTF-8; nothing was published") from error


def publish(places: Places, publication: Publication, *, on_step: OnStep) -> list[str]:
    """Bring the workspace to what was staged; may be repeated. Returns sentences for the person.

    ``on_step`` is told the name of each step once it is done.

    Raises:
        OSError: a file can't be written; the workspace is as it was, what is staged stays for the next try.
    """
    baseline = read_baseline(places.baseline)
    notes = _save_strangers(places, publication, baseline)
    before: dict[str, bytes | None] = {}
    try:
        _write_files(places, publication, baseline, before, notes, on_step)
    except (OSError, WorkspaceError):
        _put_back(places, before)
        raise
    on_step("wrote baseline")
    return notes


def _write_files(
    places: Places,
    publication: Publication,
    baseline: Baseline,
    before: dict[str, bytes | None],
    notes: list[str],
    on_step: OnStep,
) -> None:
    """Write what differs; ``before`` gathers what stood there."""
    make_private_folder(places.workspace)
    changed, missing = [], []
    for path, content in publication.files.items():
        on_disk = read_workspace_file(places.workspace, path)
        if on_disk == content:
            continue
        if path in baseline.hashes and on_disk is None:
            missing.append(path)
        elif path in baseline.hashes and sha256_hex(on_disk or b"") != baseline.hashes[path]:
            changed.append(path)
        target = places.workspace / path
        _refuse_linked_folder(places.workspace, target)
        make_private_folder(target.parent)
        before[path] = on_disk
        write_whole(target, content)
        on_step(f"wrote {path}")
    if missing:
        notes.append(f"missing and restored: {_named(missing)}")
    if changed:
        notes.append(
            f"changed by someone else and restored, since only {MEMORY_FILE} is yours to edit: {_named(changed)}"
        )
    rendered = as_bytes(publication.handbook)
    handbook = _publish_handbook(places, baseline, publication, before, notes)
    on_step(f"wrote {MEMORY_FILE}")
    for path in sorted(set(baseline.hashes) - set(publication.files)):
        if path.startswith(f"{SUMMARIES_FOLDER}/"):
            before[path] = read_workspace_file(places.workspace, path)
            (places.workspace / path).unlink(missing_ok=True)
    write_baseline(
        places.baseline,
        consolidation_id=publication.consolidation_id,
        settings=publication.settings,
        files={**publication.files, MEMORY_FILE: handbook},
        handbook=publication.handbook,
        rendered=rendered,
    )


def _put_back(places: Places, before: Mapping[str, bytes | None]) -> None:
    """Undo, as far as the disk lets us; whatever can't be undone, the next try finishes."""
    for path, content in before.items():
        with contextlib.suppress(OSError):
            if content is None:
                (places.workspace / path).unlink(missing_ok=True)
            else:
                write_whole(places.workspace / path, content)


def _named(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - _MOST_NAMED} more" if len(paths) > _MOST_NAMED else ""
    return ", ".join(paths[:_MOST_NAMED]) + more


def _refuse_linked_folder(workspace: Path, target: Path) -> None:
    for folder in target.parents:
        if folder == workspace:
            return
        if folder.is_symlink():
            raise WorkspaceError(f"{folder} is a link, and nothing is written through it; remove it")


def _publish_handbook(
    places: Places,
    baseline: Baseline,
    publication: Publication,
    before: dict[str, bytes | None],
    notes: list[str],
) -> bytes:
    """Write MEMORY.md with what the person wrote into it, also into what they saved a moment ago."""
    target = places.workspace / MEMORY_FILE
    handbook, taken_in = publication.handbook, publication.taken_in
    rendered = as_bytes(handbook)
    while True:
        on_disk = read_workspace_file(places.workspace, MEMORY_FILE)
        if on_disk is not None and on_disk == _read_merged(places):
            return on_disk  # A crashed try came this far; merging its result once more could move the person's lines.
        merged = carry_edits(
            rendered_before=baseline.rendered,
            published_before=baseline.published,
            on_disk=without_edits(baseline, on_disk, taken_in),
            rendered_now=rendered,
            memories_before=baseline.line_memories,
            memories_now=[line.memory_id for line in handbook],
        )
        if merged == on_disk:
            return merged
        if read_workspace_file(places.workspace, MEMORY_FILE) == on_disk:
            _tell_restored(places, baseline, on_disk, notes)
            make_private_folder(places.staging)
            write_whole(places.staging / _MERGED, merged)
            before[MEMORY_FILE] = on_disk
            write_whole(target, merged)
            return merged


def _read_merged(places: Places) -> bytes | None:
    try:
        return (places.staging / _MERGED).read_bytes()
    except OSError:
        return None


def _tell_restored(places: Places, baseline: Baseline, on_disk: bytes | None, notes: list[str]) -> None:
    if not baseline.exists:
        return
    if on_disk is None:
        notes.append(f"{MEMORY_FILE} was missing and is restored")
    elif is_damaged(baseline.published, on_disk):
        copy = _keep_copy(places, MEMORY_FILE, on_disk)
        notes.append(
            f"{MEMORY_FILE} had lost more than half of its lines, which is no edit: it is restored, "
            f"and what stood there is kept at {copy}"
        )


def _save_strangers(places: Places, publication: Publication, baseline: Baseline) -> list[str]:
    """Keep a copy of files that stood where ours go and that we did not write: nothing is lost by our first start."""
    notes = []
    for path, content in publication.files.items():
        if path in baseline.hashes:
            continue
        on_disk = read_workspace_file(places.workspace, path)
        if on_disk is not None and on_disk != content:
            copy = _keep_copy(places, path, on_disk)
            notes.append(f"{path} stood in the workspace already; a copy is kept at {copy}")
    return notes


def _keep_copy(places: Places, path: str, content: bytes) -> Path:
    copy = places.replaced / f"{sha256_hex(content)[:12]}-{Path(path).name}"
    make_private_folder(copy.parent)
    write_whole(copy, content)
    return copy
