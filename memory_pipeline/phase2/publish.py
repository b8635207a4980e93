"""Publishing: several files change as one. Staged and journalled first, so that a crash at any point can be mended."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

import orjson
from msgspec import Struct

from memory_pipeline.errors import WorkspaceError
from memory_pipeline.files import TEMPORARY_PREFIX, exchange, make_private_folder, sha256_hex
from memory_pipeline.phase2.baseline import (
    Baseline,
    read_baseline,
    read_published,
    read_workspace_file,
    write_baseline,
    write_files,
)
from memory_pipeline.phase2.edits import brought_up_to_date, without_edits
from memory_pipeline.phase2.kept import keep_copy, kept_file, let_go, merge_late_saves, replace_keeping
from memory_pipeline.phase2.layout import MEMORY_FILE, RAW_MEMORIES, SUMMARIES_FOLDER, SUMMARY_FILE
from memory_pipeline.phase2.person import carry_edits, is_damaged
from memory_pipeline.phase2.places import OnStep, Places
from memory_pipeline.phase2.render import RenderedLine, as_bytes, read_saying

_JOURNAL = "publish.json"
_STAGED = "files"
_KEPT = "kept"  # names the record of the exchange of MEMORY.md; see kept.py
#: Of many restored files, this many are named.
_MOST_NAMED = 3


class Publication(Struct, frozen=True, kw_only=True):
    """What one consolidation publishes: every file of the workspace that is ours, whole."""

    consolidation_id: int
    settings: str
    handbook: Sequence[RenderedLine]  # MEMORY.md as rendered, without the person's own text
    files: Mapping[str, bytes]  # all other files by workspace path
    watermark: float
    taken_in: frozenset[str] = frozenset()  # the person's edits of MEMORY.md that the memories hold by now
    notes: frozenset[str] = frozenset()  # digests of the person's lines that are notes
    keeps_earlier: bool = True  # whether what was rendered before is kept for editors that hold it


def stage(places: Places, publication: Publication) -> None:
    """Write everything down before anything changes; what the baseline holds already is only named.

    Raises:
        OSError: it can't be written; the workspace is as it was.
    """
    shutil.rmtree(places.staging, ignore_errors=True)
    make_private_folder(places.staging / _STAGED)
    known = read_baseline(places.baseline).hashes
    digests = {path: sha256_hex(content) for path, content in publication.files.items()}
    alike = {path: digest for path, digest in digests.items() if known.get(path) == digest}
    fresh = {path: content for path, content in publication.files.items() if path not in alike}
    write_files(places.staging / _STAGED, fresh, write=places.write)
    journal = {
        "consolidation_id": publication.consolidation_id,
        "settings": publication.settings,
        "watermark": publication.watermark,
        "files": sorted(fresh),
        "alike": alike,
        "handbook": [
            [line.text, line.memory_id, line.scope, line.saying.as_list() if line.saying else None]
            for line in publication.handbook
        ],
        "taken_in": sorted(publication.taken_in),
        "notes": sorted(publication.notes),
        "keeps_earlier": publication.keeps_earlier,
    }
    places.write(places.staging / _JOURNAL, orjson.dumps(journal))


def read_staged(places: Places) -> Publication | None:
    """Return what a crashed run had staged, None when nothing is staged whole."""
    try:
        journal = orjson.loads((places.staging / _JOURNAL).read_bytes())
        files = {path: (places.staging / _STAGED / path).read_bytes() for path in journal["files"]}
        for path, digest in journal.get("alike", {}).items():
            files[path] = read_published(places.baseline, places.workspace, path, digest)
        return Publication(
            consolidation_id=int(journal["consolidation_id"]),
            settings=str(journal["settings"]),
            watermark=float(journal["watermark"]),
            handbook=[
                RenderedLine(text=text, memory_id=memory_id, scope=scope, saying=read_saying(next(iter(saying), None)))
                for text, memory_id, scope, *saying in journal["handbook"]
            ],
            taken_in=frozenset(journal["taken_in"]),
            notes=frozenset(journal["notes"]),
            keeps_earlier=bool(journal["keeps_earlier"]),
            files=files,
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def sweep_temporary(workspace: Path) -> None:
    """Remove what a run that was killed while it wrote left beside its target. Only under the workspace lock."""
    for folder in (workspace, workspace / SUMMARIES_FOLDER):
        if not folder.is_symlink():
            for left in folder.glob(f"{TEMPORARY_PREFIX}*"):
                with contextlib.suppress(OSError):  # a folder of somebody's is none of ours
                    left.unlink()


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


def publish(
    places: Places,
    publication: Publication,
    *,
    check_fence: Callable[[], None],
    on_step: OnStep,
    unchanged: Collection[str] = (),
) -> list[str]:
    """Bring the workspace to what was staged; may be repeated. Returns sentences for the person.

    What is ``unchanged`` was only just seen to lie there as it is, and is not looked at once more.
    ``check_fence`` raises when the right to publish is gone; it is asked once all is written and nothing renamed.
    ``on_step`` is told the name of each step once it is done.

    Raises:
        OSError, WorkspaceError: a file can't be written; the workspace is as it was, and what is staged stays for the
            next try.
        FencedOutError: ``check_fence`` said so; nothing was changed.
    """
    baseline = read_baseline(places.baseline)
    notes = _save_strangers(places, publication, baseline)
    exchanged: list[_Exchanged] = []
    try:
        prepared = _prepare(places, publication, unchanged)
        on_step("prepared")
        check_fence()
        notes += _exchange_files(places, prepared, baseline, exchanged, on_step)
        handbook = _publish_handbook(places, publication, baseline, exchanged, notes, on_step)
        on_step(f"wrote {MEMORY_FILE}")
        _take_away(places, sorted(set(baseline.hashes) - set(publication.files)), exchanged)
        write_baseline(
            places.baseline,
            consolidation_id=publication.consolidation_id,
            settings=publication.settings,
            files={**publication.files, MEMORY_FILE: handbook},
            handbook=publication.handbook,
            rendered=as_bytes(publication.handbook),
            rendered_before=_rendered_before(baseline, publication),
            notes=publication.notes,
            write=places.write,
        )
    except (OSError, WorkspaceError):
        _put_back(places, exchanged)
        raise
    on_step("wrote baseline")
    sweep_temporary(places.workspace)
    with contextlib.suppress(OSError):  # All is published; what came late is safe where it is until the next start.
        notes += look_again(places)
    on_step("looked again")
    return notes


def look_again(places: Places) -> list[str]:
    """Merge into MEMORY.md what was saved into it too late to be seen. Returns a sentence for the person if there was.

    Raises:
        OSError: it can't be written; what came late stays where it is.
    """
    if merge_late_saves(places):
        return [f"what was saved into {MEMORY_FILE} while it was replaced has been merged into it"]
    return []


def let_go_of_kept(places: Places) -> list[str]:
    """Remove the files that MEMORY.md was and nobody writes to any more. Returns sentences for the person."""
    return [
        f"{MEMORY_FILE} was left half saved while it was replaced; what arrived is kept at {copy}"
        for copy in let_go(places)
    ]


class _Exchanged(Struct, frozen=True, kw_only=True):
    """Two names that were exchanged: the spare one names what stood at the target, or nothing if nothing did."""

    spare: Path
    target: Path


def _prepare(places: Places, publication: Publication, unchanged: Collection[str]) -> list[str]:
    """Write each file that differs beside its place, so that what follows are renames. Returns their paths."""
    make_private_folder(places.workspace)
    prepared = []
    for path, content in publication.files.items():
        if path in unchanged or read_workspace_file(places.workspace, path) == content:
            continue
        target = places.workspace / path
        _refuse_linked_folder(places.workspace, target)
        make_private_folder(target.parent)
        places.write(_spare(target), content)
        prepared.append(path)
    return prepared


def _exchange_files(
    places: Places, prepared: Sequence[str], baseline: Baseline, exchanged: list[_Exchanged], on_step: OnStep
) -> list[str]:
    """Put the prepared files in their places; ``exchanged`` gathers what can be taken back. Returns sentences."""
    changed, missing = [], []
    for path in prepared:
        target = places.workspace / path
        exchange(_spare(target), target, places.exchange_ways)
        exchanged.append(_Exchanged(spare=_spare(target), target=target))
        before = read_workspace_file(target.parent, _spare(target).name)
        if path in baseline.hashes and before is None:
            missing.append(path)
        elif path in baseline.hashes and sha256_hex(before or b"") != baseline.hashes[path]:
            changed.append(path)
        on_step(f"wrote {path}")
    notes = []
    if missing:
        notes.append(f"missing and restored: {_named(missing)}")
    if changed:
        notes.append(
            f"changed by someone else and restored, since only {MEMORY_FILE} is yours to edit: {_named(changed)}"
        )
    return notes


def _take_away(places: Places, paths: Sequence[str], exchanged: list[_Exchanged]) -> None:
    """Take away the summaries that are not needed any more."""
    for path in paths:
        target = places.workspace / path
        if path.startswith(f"{SUMMARIES_FOLDER}/") and os.path.lexists(target):
            os.replace(target, _spare(target))  # noqa: PTH105 - removed for good once all is published
            exchanged.append(_Exchanged(spare=_spare(target), target=target))


def _put_back(places: Places, exchanged: Sequence[_Exchanged]) -> None:
    """Undo by renames alone, since the disk may be full; whatever can't be undone, the next try finishes."""
    for names in reversed(exchanged):
        with contextlib.suppress(OSError):
            if os.path.lexists(names.spare):
                exchange(names.spare, names.target, places.exchange_ways)
            else:
                os.replace(names.target, names.spare)  # noqa: PTH105
    sweep_temporary(places.workspace)
    with contextlib.suppress(OSError):
        merge_late_saves(places)  # into the file that stands there again, what was saved into ours
        let_go(places)


def _spare(target: Path) -> Path:
    return target.with_name(f"{TEMPORARY_PREFIX}{target.name}")


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
    publication: Publication,
    baseline: Baseline,
    exchanged: list[_Exchanged],
    notes: list[str],
    on_step: OnStep,
) -> bytes:
    """Write MEMORY.md with what the person wrote into it; what they save this moment is merged by ``look_again``."""
    published = _published_by_a_crashed_try(places)
    if published is not None:
        return published  # Merging its result once more could move the person's lines.
    target = places.workspace / MEMORY_FILE
    if target.is_dir() and not target.is_symlink():
        raise WorkspaceError(
            f"{target} is a folder, where our file goes; move it elsewhere, and the next run writes it"
        )
    on_disk = read_workspace_file(places.workspace, MEMORY_FILE)
    merged = _merge(baseline, on_disk, publication)
    if merged == on_disk:
        return merged
    if brought_up_to_date(baseline, on_disk) == on_disk:
        _tell_restored(places, baseline, on_disk, notes)
    else:
        notes.append(
            f"{MEMORY_FILE} was saved from an older version of it: what came since is kept, and so is what was edited; "
            "if lines were meant to go, take them out once more"
        )

    def on_prepared(name: str) -> None:
        make_private_folder(places.staging)
        places.write(places.staging / _KEPT, name.encode())
        on_step(f"kept {MEMORY_FILE}")

    is_lost = on_disk is None or is_damaged(baseline.published, on_disk)
    base = baseline.published if on_disk is None or is_lost else on_disk
    kept = replace_keeping(places, merged, base=base, on_prepared=on_prepared)
    exchanged.append(_Exchanged(spare=kept.spare, target=kept.target))
    return merged


def _merge(baseline: Baseline, on_disk: bytes | None, publication: Publication) -> bytes:
    """Merge MEMORY.md as it stands on disk into the new rendering: the one place where its bytes enter."""
    return carry_edits(
        rendered_before=baseline.rendered,
        published_before=baseline.published,
        on_disk=without_edits(baseline, on_disk, publication.taken_in),
        rendered_now=as_bytes(publication.handbook),
        memories_before=baseline.line_memories,
        memories_now=[line.memory_id for line in publication.handbook],
    )


def _rendered_before(baseline: Baseline, publication: Publication) -> bytes:
    if not publication.keeps_earlier:
        return b""
    is_repeated = baseline.consolidation_id == publication.consolidation_id  # after a crash right behind the baseline
    return baseline.rendered_before if is_repeated else baseline.rendered


def _published_by_a_crashed_try(places: Places) -> bytes | None:
    """Return what a try that was cut off had put at MEMORY.md already."""
    try:
        kept = kept_file(places, (places.staging / _KEPT).read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
    return kept.ours if kept is not None and kept.is_exchanged else None


def _tell_restored(places: Places, baseline: Baseline, on_disk: bytes | None, notes: list[str]) -> None:
    if not baseline.exists:
        return
    if on_disk is None:
        if os.path.lexists(places.workspace / MEMORY_FILE):
            notes.append(
                f"{MEMORY_FILE} was no file of its own (a link, for example), so nothing was read from it; "
                "it is restored"
            )
        else:
            notes.append(f"{MEMORY_FILE} was missing and is restored")
    elif is_damaged(baseline.published, on_disk):
        copy, _ = keep_copy(places, MEMORY_FILE, on_disk)
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
            copy, _ = keep_copy(places, path, on_disk)
            notes.append(f"{path} stood in the workspace already; a copy is kept at {copy}")
    return notes
