"""Which project a folder belongs to, as the memories know it."""

from __future__ import annotations

import os
from typing import Protocol

from memory_pipeline.rollouts.paths import folder_of
from memory_pipeline.rollouts.scope import find_git, scope_by_remote, scope_of
from memory_pipeline.store.recalled import Recalled


class Recalling(Protocol):
    """What has memories to recall: the store, or a glance at it."""

    @property
    def recalled(self) -> Recalled:
        """The active memories."""
        ...


def scope_of_folder(store: Recalling, folder: str) -> str | None:
    """Return the scope of the project that a folder belongs to, None where there is none.

    What stands on disk is what it is now, wherever links lead to it and whatever stood there before: by the remote of
    its repository, else by what any log tells of the folder's remote, else by the repository or the folder itself where
    something is remembered of it. What is gone is what the logs say it was, else part of the repository that it lay in.
    """
    path = folder_of(_as_it_stands(folder))
    if path is None:
        return None
    place = find_git(path)
    # A folder whose name is no text stands in no log.
    recorded = store.recalled.scope_with_remote(path) if is_text(path) else None
    on_disk = scope_by_remote(place)
    by_remote = (on_disk or recorded) if os.path.exists(path) else recorded  # noqa: PTH110 - a path may raise
    if by_remote is not None:
        return by_remote
    scope = scope_of(path, None)
    if not is_text(scope):
        return None
    return scope if place is not None or store.recalled.has_scope(scope) else None


def _as_it_stands(folder: str) -> str:
    """Follow links, and ``..`` as the system does: behind a link it leads elsewhere than its text says."""
    is_to_follow = os.path.exists(folder) or (os.path.isabs(folder) and ".." in folder.split("/"))  # noqa: PTH110, PTH117
    try:
        return os.path.realpath(folder) if is_to_follow else folder
    except (OSError, ValueError):
        return folder


def is_text(name: str) -> bool:
    """Whether a name can be stored: the system allows bytes in one that are no text."""
    return not any("\ud800" <= character <= "\udfff" for character in name)
