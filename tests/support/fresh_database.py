"""A database as its first start leaves it, made once in a process that runs tests: most tests begin with one."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path

from memory_pipeline.store.store import Store


def lay_database(path: Path) -> Path:
    """Put an empty database of today's schema at ``path``, unless there is one; returns the path."""
    if not path.exists():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.touch(mode=0o600)
        path.write_bytes(_made())
    return path


@functools.cache
def _made() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        Store(path).close()
        return path.read_bytes()
