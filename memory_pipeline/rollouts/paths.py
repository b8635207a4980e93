"""Folders as logs write them, brought to one form: POSIX, Windows, UNC and ``file://``."""

from __future__ import annotations

import posixpath
import re
from functools import lru_cache
from urllib.parse import unquote, urlsplit

#: No secret that is masked is as short as each name in such a path; then the rules of masking need not be loaded.
_SHORT_NAMES = re.compile(r"(?:/[A-Za-z0-9._-]{1,12})+")
_DRIVE = re.compile(r"^/?([A-Za-z]):(?:[\\/]|$)")


def is_windows_path(path: str) -> bool:
    r"""Whether a path is one of Windows: ``C:\…``, ``C:/…``, ``\\server\share``, ``\\?\…``."""
    return bool(_DRIVE.match(path)) or path.startswith("\\\\")


def plain_path(written: object) -> str | None:
    r"""Bring a folder as a log writes it to one form, or None when it is no folder.

    ``file://`` URIs become paths; ``\\?\`` prefixes go; Windows separators become ``/`` and drive letters capitals;
    double separators, ``.`` and a trailing separator go. Nothing is looked up on disk. A relative path is none.
    """
    if not isinstance(written, str) or not written.strip() or "\0" in written:
        return None
    path = written.strip()
    if path[:7].lower() == "file://":
        path = _from_uri(path)
    if path.startswith("\\\\?\\UNC\\"):
        path = "\\\\" + path[8:]
    elif path.startswith(("\\\\?\\", "\\\\.\\")):
        path = path[4:]
    drive = _DRIVE.match(path)
    if drive:
        rest = path[drive.end() :].replace("\\", "/")
        return f"{drive.group(1).upper()}:{posixpath.normpath('/' + rest)}"
    if path.startswith("\\\\"):
        return "//" + posixpath.normpath(path.replace("\\", "/")).lstrip("/")
    if path.startswith("//"):
        # What a file:// URI with a host, or POSIX itself, gives: two leading separators are kept as they are.
        return "//" + posixpath.normpath(path).lstrip("/")
    return posixpath.normpath(path) if path.startswith("/") else None


def folder_of(written: object) -> str | None:
    """Give the folder in which a log says that it ran, in one form, a secret in its name masked; None if it is none.

    The folder names the scope of what is remembered, so it is shown in many places.
    """
    return _masked_folder(written) if isinstance(written, str) else None


@lru_cache(maxsize=256)
def _masked_folder(written: str) -> str | None:
    folder = plain_path(written)
    if folder is None or _SHORT_NAMES.fullmatch(folder):
        return folder
    from memory_pipeline.redact import redact

    return redact(folder).text


def _from_uri(uri: str) -> str:
    try:
        parts = urlsplit(uri)
    except ValueError:
        return ""
    path = unquote(parts.path)
    host = "" if parts.netloc.lower() == "localhost" else parts.netloc
    return f"//{host}{path}" if host else path
