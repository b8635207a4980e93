"""Which project a folder belongs to, as the memories know it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Protocol

from memory_pipeline.rollouts.paths import folder_of
from memory_pipeline.rollouts.scope import find_git, scope_of
from memory_pipeline.store.recalled import Recalled


class Recalling(Protocol):
    """What has memories to recall: the store, or a glance at it."""

    @property
    def recalled(self) -> Recalled:
        """The active memories."""
        ...


def scope_of_folder(store: Recalling, folder: str) -> str | None:
    """Return the scope of the project that a folder belongs to, None where there is none.

    As a session in that folder has it: by what any log tells of the folder's remote, else by ``.git`` on disk, else by
    the folder itself where something is remembered of it.
    """
    path = folder_of(os.path.realpath(folder)) if Path(folder).exists() else folder_of(folder)
    if path is None:
        return None
    named = [known for known in (folder_of(folder), path) if known is not None]
    with_remote = store.recalled.scope_with_remote(named)
    if with_remote is not None:
        return with_remote
    scope = scope_of(path, None)
    is_project = find_git(path) is not None or store.recalled.has_scope(scope)
    return scope if is_project else None
