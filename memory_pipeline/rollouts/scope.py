r"""The key of the project that a session belongs to.

In this order: the origin remote (as the log says, else as ``.git/config`` on disk says), the repository's root, the
folder. Clones and worktrees share a key; folders that have nothing to do with each other never do.

- A remote becomes ``host/path``: the host in lower case, without scheme, user, port and a trailing ``.git``. A remote
  on this machine becomes its path. What can't be read as a remote (relative, or with blanks) counts as none.
- A folder becomes its path, with ``/`` as separator (``C:/work/x``, ``//server/share/x``).
- A session that names no folder has a key of its own, ``(no folder)/<thread id>``.

Git is never run, and nothing strange is followed: links at ``.git``, a ``.git`` file that points at a repository which
does not point back, huge or irregular files.
"""

from __future__ import annotations

import os
import posixpath
import re
import stat
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from memory_pipeline.kinds import PROJECT_SCOPE_PREFIX
from memory_pipeline.rollouts.paths import is_windows_path, plain_path

NO_FOLDER = "(no folder)"
_MAX_CONFIG_BYTES = 1 << 20
_MAX_POINTER_BYTES = 4096
_SCP_LIKE = re.compile(r"^(?:[^@/\s]+@)?(\[[0-9a-fA-F:.]+\]|[^/:@\s\[\]]+):(.*)$")
_SECTION = re.compile(r'^\[\s*([A-Za-z0-9.-]+)\s*(?:"((?:[^"\\]|\\.)*)")?\s*\]')
_URL = re.compile(r"^url\s*=\s*(.*)$", re.IGNORECASE)


class GitPlace(NamedTuple):
    """The repository that a folder lies in. A worktree's root is that of its main repository."""

    root: str
    remote: str | None  # the origin's URL as written; it may hold credentials, so it is never shown


def scope_of(cwd: str | None, git_remote: str | None, *, thread_id: str | None = None) -> str:
    """Give the scope of a session, ``project:<key>``, looking into ``.git`` on disk where the log names no remote."""
    if cwd is None and _remote_key(git_remote) is None:
        return PROJECT_SCOPE_PREFIX + (f"{NO_FOLDER}/{thread_id}" if thread_id else NO_FOLDER)
    if _remote_key(git_remote) is None:
        place = find_git(cwd)
        if place is not None:
            cwd, git_remote = place.root, place.remote
    return PROJECT_SCOPE_PREFIX + project_key(cwd, git_remote)


def project_key(cwd: str | None, git_remote: str | None) -> str:
    """Give the key of a project from its remote, else from its folder. Looks at nothing on disk."""
    return _remote_key(git_remote) or plain_path(cwd) or NO_FOLDER


def scope_by_remote(place: GitPlace | None) -> str | None:
    """Give the scope that a repository has by its remote, None where it has none that can be read."""
    key = _remote_key(place.remote) if place is not None else None
    return None if key is None else PROJECT_SCOPE_PREFIX + key


def find_git(cwd: str | None, *, person_home: str | None = None) -> GitPlace | None:
    """Find the repository around a folder by reading ``.git`` on disk, None when there is none or it is gone.

    A folder that is gone belongs to the repository in whose root it lay, however deep. Where a plain folder of that
    repository stands between, or the root is ``person_home`` (by default that of who runs this), what is gone may as
    well have been a repository of its own.
    """
    folder = plain_path(cwd)
    if folder is None or is_windows_path(folder):
        return None
    if not _is_folder(folder):
        left = _nearest_left(folder)
        home = person_home or os.path.expanduser("~")  # noqa: PTH111 - a path raises where there is no home
        is_home = left is not None and _same_file(left, home)
        return _place_at(left) if left is not None and not is_home else None
    while True:
        place = _place_at(folder)
        if place is not None:
            return place
        parent = posixpath.dirname(folder)
        if parent == folder:
            return None
        folder = parent


def _nearest_left(folder: str) -> str | None:
    """Give the nearest folder above one that is gone, None where something else stands in its way."""
    while not os.path.lexists(folder):
        folder = posixpath.dirname(folder)
    return folder if _is_folder(folder) else None


def _is_folder(path: str) -> bool:
    try:
        return Path(path).is_dir()
    except OSError:
        return False  # a log may name anything, also a path too long for this system


def _remote_key(remote: str | None) -> str | None:
    if not remote or any(character.isspace() or not character.isprintable() for character in remote.strip()):
        return None
    remote = remote.strip()
    if remote[:7].lower() == "file://" or remote.startswith("/") or is_windows_path(remote):
        local = plain_path(remote)
        return local.removesuffix("/.git") if local else None
    if "://" in remote:
        return _key_of_url(remote)
    scp_like = _SCP_LIKE.match(remote)
    return _joined(scp_like.group(1), scp_like.group(2)) if scp_like else None


def _key_of_url(remote: str) -> str | None:
    try:
        parts = urlsplit(remote)
        host = parts.hostname
    except ValueError:
        return None
    return _joined(host, parts.path) if host else None


def _joined(host: str, path: str) -> str | None:
    path = posixpath.normpath("/" + path.replace("\\", "/")).strip("/")
    path = path.removesuffix(".git").rstrip("/")
    if not path or path == ".":
        return None
    return f"{host.strip('[]').lower()}/{path}"


def _place_at(folder: str) -> GitPlace | None:
    dot_git = posixpath.join(folder, ".git")
    try:
        mode = os.lstat(dot_git).st_mode
    except OSError:
        return None
    if stat.S_ISDIR(mode):
        if not os.path.lexists(posixpath.join(dot_git, "HEAD")):
            return None
        return GitPlace(root=folder, remote=_origin(dot_git))
    if stat.S_ISREG(mode):
        return _linked_place(folder, dot_git)
    return GitPlace(root=folder, remote=None)


def _linked_place(folder: str, dot_git: str) -> GitPlace:
    """Read a ``.git`` file (worktree or submodule). One whose target doesn't point back is taken as a bare root."""
    alone = GitPlace(root=folder, remote=None)
    pointer = _read_small(dot_git, _MAX_POINTER_BYTES)
    if pointer is None or not pointer.startswith("gitdir:"):
        return alone
    git_dir = posixpath.normpath(posixpath.join(folder, pointer[len("gitdir:") :].strip()))
    common = _read_small(posixpath.join(git_dir, "commondir"), _MAX_POINTER_BYTES)
    if common is not None:
        back = _read_small(posixpath.join(git_dir, "gitdir"), _MAX_POINTER_BYTES)
        if back is None or not _same_file(posixpath.join(git_dir, back.strip()), dot_git):
            return alone
        common_dir = posixpath.normpath(posixpath.join(git_dir, common.strip()))
        main_root = posixpath.dirname(common_dir) if posixpath.basename(common_dir) == ".git" else folder
        return GitPlace(root=main_root, remote=_origin(common_dir))
    worktree = _config_value(
        posixpath.join(git_dir, "config"), "core", None, re.compile(r"^worktree\s*=\s*(.*)$", re.IGNORECASE)
    )
    if worktree is None or not _same_file(posixpath.join(git_dir, worktree), folder):
        return alone
    return GitPlace(root=folder, remote=_origin(git_dir))


def _origin(git_dir: str) -> str | None:
    return _config_value(posixpath.join(git_dir, "config"), "remote", "origin", _URL)


def _config_value(path: str, section: str, subsection: str | None, key: re.Pattern[str]) -> str | None:
    text = _read_small(path, _MAX_CONFIG_BYTES)
    value = None
    inside = False
    for line in (text or "").split("\n"):
        stripped = line.strip()
        header = _SECTION.match(stripped)
        if header:
            inside = header.group(1).lower() == section and header.group(2) == subsection
        elif inside and (match := key.match(stripped)):
            value = value or _unquoted(match.group(1))
    return value


def _unquoted(value: str) -> str:
    value = value.strip()
    if value.startswith('"'):
        return re.sub(r"\\(.)", r"\1", value[1:].split('"', 1)[0])
    return re.split(r"\s[#;]", value, maxsplit=1)[0].strip()


def _same_file(one: str, other: str) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)


def _read_small(path: str, limit: int) -> str | None:
    """Read a small regular file without following a link at its end, None when it is anything else."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        content = os.read(descriptor, limit + 1)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return content.decode("utf-8", "replace") if len(content) <= limit else None
