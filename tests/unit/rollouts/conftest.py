"""Homes of both agents for the tests of this folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from log_homes import Lines, Logs, as_bytes

from memory_pipeline.records import Agent


@pytest.fixture
def codex(tmp_path: Path) -> Logs:
    """A Codex home with one rollout to be written."""
    return Logs(Agent.CODEX, tmp_path / "codex-home")


@pytest.fixture
def claude(tmp_path: Path) -> Logs:
    """A Claude Code home with one transcript to be written."""
    return Logs(Agent.CLAUDE, tmp_path / "claude-home")


@pytest.fixture
def log_bytes() -> Callable[[Lines], bytes]:
    """How lines are written as a log."""
    return as_bytes
