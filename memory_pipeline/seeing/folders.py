"""Folders of session logs that can't be listed, found without looking at a single log."""

from __future__ import annotations

import os
from collections.abc import Iterator

from memory_pipeline.config import Config, is_default_home
from memory_pipeline.records import Agent
from memory_pipeline.rollouts.homes import home_problem, log_roots


def folder_problems(config: Config) -> list[str]:
    """Say of each home and folder of logs why it can't be listed. A missing default home is no problem."""
    problems: list[str] = []
    for agent in (Agent.CODEX, Agent.CLAUDE):
        source = config.sources.of(agent)
        if not source.enabled:
            continue
        if not os.path.lexists(source.home) and is_default_home(agent, config):
            continue
        problem = home_problem(agent, source.home)
        problems += [problem] if problem else _unlistable(agent, source.home)
    return problems


def _unlistable(agent: Agent, home: str) -> Iterator[str]:
    faults: list[OSError] = []
    for _, root in log_roots(agent, home):
        for _ in os.walk(root, onerror=faults.append):
            pass
    for fault in faults:
        if not isinstance(fault, FileNotFoundError):  # it vanished a moment ago
            why = fault.strerror or type(fault).__name__
            yield f"{fault.filename}: can't be listed ({why}), so its sessions are not seen; make it readable"
