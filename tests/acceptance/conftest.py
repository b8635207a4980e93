"""A fresh machine for every test that changes something, and one that only looks for those that don't."""

from __future__ import annotations

from pathlib import Path

import pytest
from command import Machine


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A machine with bare homes and a configuration that names nothing but the state folder."""
    fresh = Machine(tmp_path / "machine")
    fresh.configure()
    return fresh
