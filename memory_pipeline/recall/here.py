"""Which project a folder belongs to, as the memories know it."""

from __future__ import annotations

import os
from pathlib import Path

from memory_pipeline.rollouts.paths import plain_path
from memory_pipeline.rollouts.scope import find_git, scope_of
from memory_pipeline.store.store import Store


def scope_of_folder(store: Store, folder: str) -> str | None:
    """Return the scope of the project that a folder belongs to, None where there is none.

    As a session in that folder has it: by what any log tells of the folder's remote, else by ``.git`` on disk, else by
    the folder itself where something is remembered of it.
    """
    path = plain_path(os.path.realpath(folder)) if Path(folder).exists() else plain_path(folder)
    if path is None:
        return None
    known = store.threads.scopes_with_remote()
    for candidate in (plain_path(folder), path):
        if candidate in known:
            return known[candidate]
    scope = scope_of(path, None)
    is_project = find_git(path) is not None or store.memories.has_scope(scope)
    return scope if is_project else None
