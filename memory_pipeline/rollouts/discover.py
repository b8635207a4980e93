"""Finding rollouts on disk, without opening one.

Codex: everything below ``sessions/`` and ``archived_sessions/``, ``.jsonl`` and ``.jsonl.zst``; of two twins the plain
one wins. Claude: ``projects/<folder>/<session>.jsonl`` only; sub-agents' logs, large tool results and its own memory
are no rollouts. A link is taken as the file or folder it leads to when that lies in a log folder, once; links that lead
out, loops, FIFOs and folders with a log's name are passed over.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from operator import attrgetter
from stat import S_IFMT, S_IFREG, S_ISREG

import orjson
from msgspec import Struct, field

from memory_pipeline.records import Agent, RolloutFile
from memory_pipeline.rollouts.homes import home_problem, is_below, log_roots

__all__ = ["find_rollouts", "home_problem", "look_at_rollouts"]

# Both cases spelled out: a match that ignores case takes three times as long.
_ID = "-".join(f"[0-9a-fA-F]{{{digits}}}" for digits in (8, 4, 4, 4, 12))
_UUID = re.compile(_ID)
# As nearly every rollout is named; looking for the id anywhere in a name takes several times as long.
_USUAL_NAME = re.compile(rf"rollout-[0-9T-]{{19}}-({_ID})")
_from_parts = tuple.__new__
_NAME = attrgetter("name")
# sessions/YYYY/MM/DD is three deep; one more is forgiven.
_MAX_DEPTH = 4

#: How a folder is listed.
ScanFolder = Callable[[str], AbstractContextManager[Iterator[os.DirEntry[str]]]]


class _Search(Struct, kw_only=True):
    """What one search remembers, so that no real file and no real folder is met twice."""

    agent: Agent
    roots: tuple[str, ...]  # resolved log folders; a link may lead into them
    folders: set[str] = field(default_factory=set)
    files: set[tuple[int, int]] = field(default_factory=set)  # (device, inode)
    found: list[RolloutFile] = field(default_factory=list)
    unseen: set[str] = field(default_factory=set)  # folders that can't be listed
    scan: ScanFolder
    tell: Callable[[str], None]


def find_rollouts(
    agent: Agent, home: str, *, tell: Callable[[str], None] = lambda _: None, scan: ScanFolder = os.scandir
) -> Iterator[RolloutFile]:
    """Yield every rollout of an agent below a home, folder by folder, by name. A missing home yields nothing.

    Paths are resolved: ``home`` and the log folders may be links. Each real file is yielded once, under the path met
    first. Folders that can't be listed are passed over, and ``tell`` gets a sentence for each.
    """
    roots = log_roots(agent, home)
    search = _Search(agent=agent, roots=tuple(path for _, path in roots), scan=scan, tell=tell)
    for name, path in roots:
        if agent is Agent.CODEX:
            _search_codex(search, path, archived=name == "archived_sessions", depth=0)
        elif agent is Agent.CLAUDE:
            _search_claude(search, path)
    yield from search.found


def look_at_rollouts(agent: Agent, home: str, *, scan: ScanFolder = os.scandir) -> str | None:
    """Return a hash over the names and status of everything that ``find_rollouts`` would look at.

    As long as it is the same, that finds the same files, and none of them was written to. None where that can't be
    told: something can't be listed, has a name that is no text, or is a link, which hides what is behind it.
    """
    hashed = hashlib.sha256()
    try:
        for name, path in log_roots(agent, home):
            hashed.update(orjson.dumps([agent, name]))
            _look_into(path, _MAX_DEPTH if agent is Agent.CODEX else 1, scan, hashed.update)
    except (OSError, _UnclearError, orjson.JSONEncodeError):
        return None
    return hashed.hexdigest()


class _UnclearError(Exception):
    """Something is neither a plain file nor a plain folder."""


def _look_into(folder: str, levels: int, scan: ScanFolder, add: Callable[[bytes], None]) -> None:
    found: list[str | int] = [folder]
    folders = []
    with scan(folder) as entries:
        # Once for each of many thousands of files: nothing but what tells one state of it from another.
        for entry in entries:
            name = entry.name
            if name.endswith((".jsonl", ".jsonl.zst")):
                status = entry.stat(follow_symlinks=False)
                if S_IFMT(status.st_mode) != S_IFREG:
                    raise _UnclearError
                found += (name, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_dev)
            elif entry.is_symlink():
                raise _UnclearError
            elif levels and entry.is_dir():
                folders.append(entry.path)
    add(orjson.dumps(found))
    for path in folders:
        _look_into(path, levels - 1, scan, add)


def _search_codex(search: _Search, folder: str, *, archived: bool, depth: int) -> None:
    if folder in search.folders or depth > _MAX_DEPTH:
        return
    search.folders.add(folder)
    entries = _entries(search, folder)
    names = {entry.name for entry in entries}
    for entry in entries:
        name = entry.name
        if name.endswith(".jsonl") or (name.endswith(".jsonl.zst") and name.removesuffix(".zst") not in names):
            thread_id = _thread_id_in(name)
            if thread_id is not None:
                _take(search, entry, thread_id, archived=archived)
        elif deeper := _folder(search, entry):
            _search_codex(search, deeper, archived=archived, depth=depth + 1)


def _thread_id_in(name: str) -> str | None:
    """Give the thread that a Codex log's name names, None when it is no log's name."""
    usual = _USUAL_NAME.match(name)
    if usual is not None:
        return usual.group(1).lower()
    if match := _UUID.search(name):
        return match.group().lower()
    return name.removesuffix(".zst").removesuffix(".jsonl") if name.startswith("rollout-") else None


def _search_claude(search: _Search, projects: str) -> None:
    for project in _entries(search, projects):
        folder = _folder(search, project)
        if folder is None or folder in search.folders:
            continue
        search.folders.add(folder)
        for entry in _entries(search, folder):
            if entry.name.endswith(".jsonl") and not entry.name.startswith("agent-"):
                _take(search, entry, entry.name.removesuffix(".jsonl"), archived=False)


def _entries(search: _Search, folder: str) -> list[os.DirEntry[str]]:
    try:
        with search.scan(folder) as entries:
            return sorted(entries, key=_NAME)
    except (FileNotFoundError, NotADirectoryError):
        return []  # it vanished a moment ago
    except OSError as error:
        _tell_unseen(search, folder, error)
        return []


def _tell_unseen(search: _Search, folder: str, error: OSError) -> None:
    """Say once of a folder that its names, or what they stand for, can't be seen."""
    if folder not in search.unseen:
        search.unseen.add(folder)
        why = error.strerror or type(error).__name__
        search.tell(f"{folder}: can't be listed ({why}), so the sessions in it are not seen; make it readable")


def _folder(search: _Search, entry: os.DirEntry[str]) -> str | None:
    """Give the resolved path of a folder that may be searched, None for anything else."""
    try:
        if entry.is_dir(follow_symlinks=False):
            return entry.path
        if entry.is_symlink() and entry.is_dir():
            return _resolved_inside(search, entry.path)
    except OSError:
        return None
    return None


def _take(search: _Search, entry: os.DirEntry[str], thread_id: str, *, archived: bool) -> None:
    """Take a regular file that was not met yet; pass over anything else."""
    path: str | None = entry.path
    try:
        status = entry.stat(follow_symlinks=False)
        if not S_ISREG(status.st_mode):
            path = _resolved_inside(search, entry.path) if entry.is_symlink() and entry.is_file() else None
            status = entry.stat()
    except PermissionError as error:
        _tell_unseen(search, os.path.dirname(entry.path), error)  # noqa: PTH120 - one of thousands of names
        return
    except OSError:
        return
    if path is None:
        return
    identity = (status.st_dev, status.st_ino)
    if identity in search.files:
        return
    search.files.add(identity)
    device, inode = identity
    parts = (search.agent, path, thread_id, archived, status.st_size, status.st_mtime_ns, inode, device)
    # Straight from its parts: calling the class for each of thousands takes longer.
    search.found.append(_from_parts(RolloutFile, parts))


def _resolved_inside(search: _Search, path: str) -> str | None:
    real = os.path.realpath(path)
    # The target must lie where opening will look for it: below a log folder.
    return real if any(is_below(real, root) for root in search.roots) else None
