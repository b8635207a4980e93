"""The command line as a whole. Each command loads what it needs itself, so that the light ones start quickly."""

from __future__ import annotations

from typing import Any

import click

from memory_pipeline import __version__
from memory_pipeline.cli import (  # noqa: F401 - they add to the groups of memory_commands and draft_commands
    decide_commands,
    distill_command,
    hand_commands,
    history_commands,
)
from memory_pipeline.cli.cost_command import cost
from memory_pipeline.cli.draft_commands import drafts
from memory_pipeline.cli.forget_commands import forget, redact
from memory_pipeline.cli.mcp_command import mcp
from memory_pipeline.cli.memory_commands import memory
from memory_pipeline.cli.packet_commands import packet
from memory_pipeline.cli.place import EXIT_DONE, JSON_OPTION, Place
from memory_pipeline.cli.run_commands import daemon, run_command, run_once, run_options, scan
from memory_pipeline.cli.search_command import search
from memory_pipeline.cli.seeing_commands import doctor, log, metrics, status
from memory_pipeline.cli.service_commands import service
from memory_pipeline.cli.state_commands import state
from memory_pipeline.cli.thread_commands import threads
from memory_pipeline.cli.usage_command import usage
from memory_pipeline.config import as_table, user_config_path
from memory_pipeline.errors import UsageError


class _Commands(click.Group):
    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            return EXIT_DONE  # whoever read our output has seen enough; click would call that a failure


@click.group(cls=_Commands, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--config", "config_path", metavar="PATH", help="The configuration file (or MEMORY_PIPELINE_CONFIG).")
@click.option("--state-dir", metavar="PATH", help="The state folder (or MEMORY_PIPELINE_STATE_DIR).")
@click.version_option(__version__, prog_name="memory-pipeline")
@run_options
@click.pass_context
def cli(ctx: click.Context, /, config_path: str | None, state_dir: str | None, **options: Any) -> int | None:
    """Turn the session logs of coding agents into long-term memory.

    With --phase1 or --phase2 and no command, run that phase once.
    """
    ctx.obj = Place(config_path=config_path, state_dir=state_dir)
    asked_for_run = options["phase1"] or options["phase2"]
    if ctx.invoked_subcommand is not None:
        given = [name for name, value in options.items() if value not in (False, None)]
        if given:
            named = "--json" if given[0] == "as_json" else f"--{given[0]}"
            raise click.UsageError(
                f"{named} goes after the command: memory-pipeline {ctx.invoked_subcommand} {named}", ctx
            )
        return None
    if asked_for_run:
        return run_once(ctx.obj, samples="never", **options)
    if any(value not in (False, None) for value in options.values()):
        raise click.UsageError("name a command, or --phase1 or --phase2", ctx)
    click.echo(ctx.get_help())
    return 2


cli.add_command(run_command)
cli.add_command(daemon)
cli.add_command(service)
cli.add_command(scan)
cli.add_command(threads)
cli.add_command(memory)
cli.add_command(search)
cli.add_command(drafts)
cli.add_command(packet)
cli.add_command(forget)
cli.add_command(redact)
cli.add_command(status)
cli.add_command(doctor)
cli.add_command(log)
cli.add_command(metrics)
cli.add_command(cost)
cli.add_command(state)
cli.add_command(usage)
cli.add_command(mcp)


@cli.group("config")
def config_group() -> None:
    """Look at the configuration."""


@config_group.command("show")
@JSON_OPTION
@click.pass_obj
def config_show(place: Place, *, as_json: bool) -> int:
    """Show every setting as it is in force, paths resolved."""
    from memory_pipeline.cli import output

    config = place.load()
    if as_json:
        output.print_json(as_table(config))
    else:
        click.echo(f"# from {config.path or 'the built-in defaults'}")
        output.print_toml(as_table(config))
    return EXIT_DONE


@config_group.command("path")
@JSON_OPTION
@click.pass_obj
def config_path_command(place: Place, *, as_json: bool) -> int:
    """Show which file the configuration comes from."""
    from memory_pipeline.cli import output

    path = place.load().path
    if as_json:
        output.print_json({"path": path, "user_path": str(user_config_path())})
    elif path:
        click.echo(path)
    else:
        output.say(f"no configuration file: the built-in defaults hold; {user_config_path()} would be read")
    return EXIT_DONE


@cli.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> int:
    """Print the completion script for a shell, to be sourced from its start-up file."""
    from click.shell_completion import get_completion_class

    completion_class = get_completion_class(shell)
    if completion_class is None:
        raise UsageError(f"there is no completion for {shell}")
    click.echo(completion_class(cli, {}, "memory-pipeline", "_MEMORY_PIPELINE_COMPLETE").source())
    return EXIT_DONE
