"""Which state folder a workspace is of: the one that published there last, as a mark beside the workspace says.

Two state folders that write one workspace never settle: each takes what the other wrote for the person's edits. So the
second one is refused, as long as the first is there. A state folder that was moved or copied is known again by its
baseline, which holds what the mark says was published.
"""

from __future__ import annotations

import json
from pathlib import Path

from msgspec import Struct

from memory_pipeline.errors import ConfigError
from memory_pipeline.files import sha256_hex, write_whole
from memory_pipeline.phase2.baseline import read_baseline, read_workspace_file
from memory_pipeline.phase2.layout import MEMORY_FILE
from memory_pipeline.phase2.places import Places


class OtherState(Struct, frozen=True, kw_only=True):
    """A state folder that is not ours, and that the workspace is of."""

    path: Path
    is_there: bool  # it still holds a database
    holds_the_workspace: bool = False  # the workspace lies in it


def owner_path(workspace: Path) -> Path:
    """Return the mark beside the workspace, where its lock is: what stands in it is for agents to read."""
    resolved = workspace.resolve()
    return resolved.with_name(f"{resolved.name}.owner")


def other_owner(places: Places, database: Path) -> OtherState | None:
    """Return the state folder that the workspace is of, when it is not that of ``database``; None when it is ours.

    It is ours too where nobody published yet, where the mark can't be read, and where what was published last is what
    our baseline holds.
    """
    own, workspace = database.parent.resolve(), places.workspace.resolve()
    if workspace.is_relative_to(own):
        return None
    if (workspace.parent / database.name).is_file():
        return OtherState(path=workspace.parent, is_there=True, holds_the_workspace=True)
    try:
        mark = json.loads(owner_path(workspace).read_bytes())
        state, handbook = Path(mark["state"]), str(mark["handbook"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    # Of two that never published, neither is the other.
    if state == own or (handbook and handbook == _published(places)):
        return None
    return OtherState(path=state, is_there=(state / database.name).is_file())


def claim_workspace(places: Places, database: Path, *, adopt: bool = False) -> list[str]:
    """Make the workspace ours, where another state folder wrote it that is gone or whose place we are to take.

    The caller holds the workspace. Returns a sentence for the person if it was another's.

    Raises:
        ConfigError: it is there, and is not to be taken over.
        OSError: it can't be done.
    """
    other = other_owner(places, database)
    if other is None:
        return []
    check_owner(other, places.workspace, adopt=adopt)
    copy = _take_over(places)
    if other.is_there:
        from memory_pipeline.phase2.adopt import mark_ours

        mark_ours(places)  # what stood there is memories of its own, and not ours to adopt
    mark_owner(places, database)
    kept = f"; {MEMORY_FILE} as it stood there is kept at {copy}" if copy is not None else ""
    return [f"the workspace was written by the state folder {other.path} before, and is ours from now on{kept}"]


def check_owner(other: OtherState, workspace: Path, *, adopt: bool = False) -> None:
    """Refuse to write into the workspace of another state folder that is there, unless it is to be taken over.

    Raises:
        ConfigError: the message says what to do.
    """
    if not other.is_there or (adopt and not other.holds_the_workspace):
        return
    told = (
        f"memories_dir: {workspace} is the workspace of another state folder, {other.path}. Two that write one "
        "workspace overwrite each other at every run, so nothing was changed. Use that one (--state-dir, or state_dir "
        "in the configuration), or name another memories_dir"
    )
    if not other.holds_the_workspace:
        told += "; if the other is no longer used, run `memory-pipeline run --adopt` once, or delete it"
    raise ConfigError(told)


def mark_owner(places: Places, database: Path) -> None:
    """Note that what our baseline holds was published by us. A workspace in our own folder needs no mark.

    Raises:
        OSError: it can't be written.
    """
    own, workspace = database.parent.resolve(), places.workspace.resolve()
    if workspace.is_relative_to(own):
        return
    # Not by orjson, which takes no path that is not UTF-8.
    mark = json.dumps({"state": str(own), "handbook": _published(places)}).encode()
    if not owner_path(workspace).is_file() or owner_path(workspace).read_bytes() != mark:
        write_whole(owner_path(workspace), mark)


def _take_over(places: Places) -> Path | None:
    """Keep a copy of MEMORY.md, and put it back as we published it last: what another wrote is no edit of the person's.

    Returns where what stood there is kept; None when nothing else stood there.

    Raises:
        OSError: it can't be done; nothing changed.
    """
    baseline = read_baseline(places.baseline)
    found = read_workspace_file(places.workspace, MEMORY_FILE)
    if found is None or found == baseline.published:
        return None
    from memory_pipeline.phase2.kept import keep_copy

    copy, _ = keep_copy(places, MEMORY_FILE, found)
    if baseline.exists:
        places.write(places.workspace / MEMORY_FILE, baseline.published)
    return copy


def _published(places: Places) -> str:
    baseline = read_baseline(places.baseline)
    return sha256_hex(baseline.published) if baseline.exists else ""
