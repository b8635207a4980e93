"""The command line as a whole. Each command loads what it needs itself, so that the light ones start quickly."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click

from memory_pipeline import __version__
from memory_pipeline.cli.place import EXIT_DONE, JSON_OPTION, Place
from memory_pipeline.cli.run_options import run_options

#: Where each command stands: a module of this package and its name in there, then the modules that add to its group.
_PLACES: Mapping[str, tuple[str, ...]] = {
    "run": ("run_commands:run_command",),
    "daemon": ("run_commands:daemon",),
    "service": ("service_commands:service",),
    "serve": ("serve_commands:serve",),
    "scan": ("run_commands:scan",),
    "threads": ("thread_commands:threads",),
    "memory": ("memory_commands:memory", "hand_commands", "history_commands", "distill_command"),
    "search": ("search_command:search",),
    "context": ("context_command:context",),
    "hooks": ("hook_commands:hooks",),
    "drafts": ("draft_commands:drafts", "decide_commands"),
    "packet": ("packet_commands:packet",),
    "forget": ("forget_commands:forget",),
    "redact": ("forget_commands:redact",),
    "status": ("seeing_commands:status",),
    "doctor": ("seeing_commands:doctor",),
    "log": ("seeing_commands:log",),
    "metrics": ("seeing_commands:metrics",),
    "cost": ("cost_command:cost",),
    "state": ("state_commands:state",),
    "settings": ("settings_commands:settings",),
    "usage": ("usage_command:usage",),
    "mcp": ("mcp_command:mcp",),
}


class _Commands(click.Group):
    """The commands, each of which is loaded when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *_PLACES})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _PLACES:
            return super().get_command(ctx, cmd_name)
        place, *more = _PLACES[cmd_name]
        module, name = place.split(":")
        for other in more:
            import_module(f"memory_pipeline.cli.{other}")
        command: click.Command = getattr(import_module(f"memory_pipeline.cli.{module}"), name)
        return command

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
        from memory_pipeline.cli.run_commands import run_once

        return run_once(ctx.obj, samples="never", **options)
    if any(value not in (False, None) for value in options.values()):
        raise click.UsageError("name a command, or --phase1 or --phase2", ctx)
    click.echo(ctx.get_help())
    return 2


@cli.group("config")
def config_group() -> None:
    """Look at the configuration."""


@config_group.command("show")
@JSON_OPTION
@click.pass_obj
def config_show(place: Place, *, as_json: bool) -> int:
    """Show every setting as it is in force, paths resolved."""
    from memory_pipeline.cli import output
    from memory_pipeline.config import as_table

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
    from memory_pipeline.config import user_config_path

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

    from memory_pipeline.errors import UsageError

    completion_class = get_completion_class(shell)
    if completion_class is None:
        raise UsageError(f"there is no completion for {shell}")
    click.echo(completion_class(cli, {}, "memory-pipeline", "_MEMORY_PIPELINE_COMPLETE").source())
    return EXIT_DONE
