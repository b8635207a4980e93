"""Whether anything is to be forgotten anew: asked at every start, so that what forgets is loaded only then."""

from __future__ import annotations

from memory_pipeline.store.store import Store
from memory_pipeline.tombstones import TombstoneFolder


def is_forgetting_due(store: Store, folder: TombstoneFolder) -> bool:
    """Whether the database was last brought in line with other tombstones than those that stand now."""
    return store.forgetting.met() != folder.digest()
