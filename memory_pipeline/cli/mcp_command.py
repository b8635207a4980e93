"""The command that serves the memories to an agent."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import click

from memory_pipeline.cli.place import EXIT_DONE, Place
from memory_pipeline.errors import UsageError

#: How long a call that is in flight may take once the server was asked to stop, in seconds.
_STOP_SECONDS = 6.0


@click.command()
@click.option(
    "--cwd",
    metavar="PATH",
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder that the agent works in; by default this one.",
)
@click.pass_obj
def mcp(place: Place, *, cwd: Path | None) -> int:
    """Serve the memories to an agent over the Model Context Protocol, on standard input and output.

    It ends with its input, or with a signal.
    """
    from memory_pipeline.cli.logs import log_to_stderr
    from memory_pipeline.cli.output import say
    from memory_pipeline.cli.signals import stoppable

    config = place.load()
    log_to_stderr(logging.WARNING)
    try:
        from memory_pipeline.mcp.serve import serve
        from memory_pipeline.mcp.stdio import StandardInput
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("mcp", "mcp_types", "anyio"):
            raise
        raise UsageError(
            "the server for agents needs the extra mcp; install it with: pip install 'memory-pipeline[mcp]' "
            "(in a checkout: .venv/bin/pip install -e '.[mcp]')"
        ) from error
    if sys.stdin is None:
        raise UsageError("there is no standard input to answer; an agent starts this command by itself")
    if sys.stdin.isatty():
        say("memory-pipeline: waiting for an agent, which starts this command by itself; Ctrl-C ends it")
    lines = StandardInput()
    with stoppable(on_stop=lines.stop, stop_seconds=_STOP_SECONDS):
        serve(config, folder=str((cwd or Path.cwd()).absolute()), lines=lines)
    return EXIT_DONE
