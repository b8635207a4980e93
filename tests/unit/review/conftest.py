"""A world whose entries are reviewed before they are consolidated."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from phase2_world import World


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """An empty world."""
    made = World(tmp_path)
    yield made
    made.close()
