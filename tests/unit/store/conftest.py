"""A real database in a fresh folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fresh_database import lay_database

from memory_pipeline.store.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An empty store of its own."""
    opened = Store(lay_database(tmp_path / "state" / "memory.db"))
    yield opened
    opened.close()
