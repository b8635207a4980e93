"""The project that a statement belongs to: that of the folder in which its words were said, not only of the session."""

from __future__ import annotations

from functools import cache

from memory_pipeline.records import IndexedThread
from memory_pipeline.rollouts.homes import is_below
from memory_pipeline.rollouts.paths import plain_path
from memory_pipeline.rollouts.scope import find_git, scope_of
from memory_pipeline.store.store import Store


class TurnScopes:
    """Tells the scope of each working folder of one thread. A session may move between projects."""

    def __init__(self, store: Store, thread: IndexedThread) -> None:
        self._store = store
        self._thread = thread
        self._home = plain_path(thread.cwd)
        self.at = cache(self._at)

    def _at(self, cwd: str | None) -> str:
        """Return the scope of a turn in ``cwd``; a folder that the log does not name is the session's own."""
        folder = plain_path(cwd)
        if folder is None or folder == self._home:
            return self._thread.scope
        known = self._store.threads.scopes_with_remote().get(folder)
        if known is not None:
            return known
        if self._home is not None and is_below(folder, self._home) and not self._is_repository_of_its_own(folder):
            return self._thread.scope
        return scope_of(folder, None, thread_id=self._thread.thread_id)

    def _is_repository_of_its_own(self, folder: str) -> bool:
        inner, outer = find_git(folder), find_git(self._home)
        return inner is not None and (outer is None or inner.root != outer.root)
