"""The options of a run, by themselves: the program takes them too, whichever command it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from memory_pipeline.cli.place import JSON_OPTION


def run_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a run to a command."""
    for option in (
        JSON_OPTION,
        click.option("--wait", is_flag=True, help="Wait for another run to release the workspace."),
        click.option(
            "--adopt", is_flag=True, help="Take over the memory folder of Codex, or a workspace of another state."
        ),
        click.option("--limit", type=click.IntRange(min=0), metavar="N", help="Extract at most N sessions."),
        click.option("--force", is_flag=True, help="Also extract sessions that are too recent or too short."),
        click.option("--phase2", is_flag=True, help="Consolidate only."),
        click.option("--phase1", is_flag=True, help="Extract only."),
    ):
        command = option(command)
    return command
