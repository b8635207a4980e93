"""Where each agent keeps its logs: the home, and below it the folders that hold rollouts.

The home and those folders may be symbolic links (a home on another disk is common). They are resolved once, here;
whatever else below them is a link is judged by where it leads.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from memory_pipeline.records import Agent

#: Folders below the home that hold rollouts, in the order in which they are searched.
LOG_FOLDERS: Mapping[Agent, tuple[str, ...]] = {
    Agent.CODEX: ("sessions", "archived_sessions"),
    Agent.CLAUDE: ("projects",),
    Agent.JOURNAL: ("",),
    Agent.TASK: ("",),  # they stand in the journal
}


def log_roots(agent: Agent, home: str) -> tuple[tuple[str, str], ...]:
    """List ``(folder name, resolved path)`` of an agent's existing log folders. A missing home has none."""
    return tuple(each_log_root(agent, home))


def each_log_root(agent: Agent, home: str) -> Iterator[tuple[str, str]]:
    """Yield what ``log_roots`` lists, each resolved when it is asked for: a log that is opened needs the first."""
    for name in LOG_FOLDERS[agent]:
        path = os.path.realpath(os.path.join(home, name))  # noqa: PTH118 - a path object takes as long as the rest
        if os.path.isdir(path):  # noqa: PTH112
            yield name, path


def home_problem(agent: Agent, home: str) -> str | None:
    """Say in one sentence why a home can't be searched, or None when it can."""
    if not os.path.lexists(home):
        return f"the home of {agent.value} {home} does not exist; set sources.{agent.value}.home"
    if not Path(home).exists():
        return f"the home of {agent.value} {home} is a link that leads nowhere; set sources.{agent.value}.home"
    if not Path(home).is_dir():
        return f"the home of {agent.value} {home} is not a folder; set sources.{agent.value}.home"
    if not os.access(home, os.R_OK | os.X_OK):
        return f"the home of {agent.value} {home} can't be read: permission denied"
    return None


def is_below(path: str, folder: str) -> bool:
    """Whether a resolved path lies inside a resolved folder (or is it)."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")
