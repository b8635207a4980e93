"""Erasing what was forgotten from packets, drafts, sync lists, and what was kept aside of them.

What tells of it is deleted whole, whoever wrote it; then drafts and lists are written anew from what is stored, and the
packets of sessions that still have a log are built anew without it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

from memory_pipeline.clock import Clock
from memory_pipeline.config import Config
from memory_pipeline.errors import MemoryPipelineError
from memory_pipeline.files import TEMPORARY_PREFIX, sha256_hex, write_whole
from memory_pipeline.review.documents import PACKETS_FOLDER, own_name, session_named
from memory_pipeline.review.files import ReviewFiles, locked_files, read_plain, review_folders, tells_forgotten
from memory_pipeline.review.packets import Packets
from memory_pipeline.store.store import Store
from memory_pipeline.tombstones import Tombstones

_MOST_BYTES = 1 << 30


def find_forgotten_files(config: Config, store: Store, tombstones: Tombstones) -> list[Path]:
    """Return the files that tell, or may tell, what was forgotten; changes nothing."""
    if tombstones.is_empty:
        return []
    return [
        path for path, thread_id, content in _files(config, store) if tells_forgotten(thread_id, content, tombstones)
    ]


def take_in_edited_files(config: Config, store: Store, clock: Clock) -> None:
    """Let decisions that wait in edited files count, before the files are written anew.

    Raises:
        LockedError: another run has been writing them for a long time.
    """
    with locked_files(config):
        ReviewFiles(config, store, clock).take_in()


def erase_forgotten_files(config: Config, store: Store, clock: Clock, tombstones: Tombstones) -> None:
    """Delete them, and write anew what is left to tell. May be repeated.

    Raises:
        LockedError: another run has been writing them for a long time.
        OSError: a file can't be removed.
    """
    with locked_files(config):
        rebuild = _delete(config, store, lambda name, content: tells_forgotten(name, content, tombstones))
        ReviewFiles(config, store, clock).bring_up_to_date(anew=True)
    packets = Packets(config, store, clock)
    for thread_id in sorted(rebuild):
        if not tombstones.has_thread(thread_id):
            with contextlib.suppress(MemoryPipelineError):  # its log is gone: there is nothing to build it from
                packets.build(thread_id)


def erase_marked_files(config: Config, store: Store, clock: Clock, are_in: Callable[[str], bool]) -> int:
    """Delete the files in which a search still finds what was forgotten; returns how many.

    A packet holds a whole session, so the words may stand there in a line that nothing rested on.

    Raises:
        LockedError: another run has been writing them for a long time.
        OSError: a file can't be removed.
    """
    with locked_files(config):
        found = [path for path, _, content in _files(config, store) if are_in(content.decode("utf-8", "replace"))]
        if found:
            _delete(config, store, lambda _name, content: are_in(content.decode("utf-8", "replace")))
            ReviewFiles(config, store, clock).bring_up_to_date()
    return len(found)


def mask_review_files(config: Config, store: Store, clock: Clock, mask: Callable[[str], str]) -> int:
    """Pass packets and what was kept aside through ``mask``, and write the rest anew; returns how many changed.

    Raises:
        LockedError: another run has been writing them for a long time.
        OSError: a file can't be written.
    """
    changed = 0
    with locked_files(config):
        files = ReviewFiles(config, store, clock)
        for path, thread_id, content in list(_files(config, store)):
            masked = mask(content.decode("utf-8", "replace")).encode("utf-8", "replace")
            if masked == content:
                continue
            changed += 1
            versions = store.session_files.versions_of(_name_of(path))
            if path.parent.name == PACKETS_FOLDER and sha256_hex(content) in {one.sha256 for one in versions}:
                files.put_packet(thread_id, masked, told=versions[-1].told)
            else:
                write_whole(path, masked)
                store.session_files.drop(_name_of(path))
        if changed:
            files.bring_up_to_date(anew=True)
    return changed


def _delete(config: Config, store: Store, tells: Callable[[str, bytes], bool]) -> set[str]:
    """Delete the files that tell something, and leftovers of crashes; returns the sessions that lost their packet."""
    lost = set()
    for path, thread_id, content in list(_files(config, store)):
        is_leftover = path.name.startswith(TEMPORARY_PREFIX)
        if not is_leftover and not tells(thread_id, content):
            continue
        path.unlink(missing_ok=True)
        versions = store.session_files.versions_of(_name_of(path))
        if versions and path.parent.name == PACKETS_FOLDER and versions[-1].told.get("origin") == "built":
            lost.add(thread_id)
        store.session_files.drop(_name_of(path))
    return lost


def _files(config: Config, store: Store) -> Iterator[tuple[Path, str, bytes]]:
    """Yield every plain file of the review with its session and content."""
    sessions = {name: known[0].thread_id for name, known in store.session_files.versions().items()}
    for folder in review_folders(config):
        for path in sorted(folder.iterdir()) if folder.is_dir() else ():
            content = read_plain(path, most_bytes=_MOST_BYTES)
            if content is not None:
                known = sessions.get(f"{folder.name}/{own_name(path.name)}")
                yield path, known or session_named(path.name), content


def _name_of(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"
