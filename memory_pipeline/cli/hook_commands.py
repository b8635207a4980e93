"""The commands that write us into an agent's own settings: hooks install, status, uninstall."""

from __future__ import annotations

import difflib
import os
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click
from msgspec import Struct

from memory_pipeline.cli.place import EXIT_DONE, EXIT_FAILED, JSON_OPTION, Place
from memory_pipeline.config import STATE_DIR_ENV, Config
from memory_pipeline.errors import HookError

_AGENTS = ("claude", "codex")
_PRINT_OPTION = click.option(
    "--print", "only_print", is_flag=True, help="Print what would change in the file, and change nothing."
)
_AGENT = click.argument("agent", type=click.Choice(_AGENTS))


class _Change(Struct, frozen=True, kw_only=True):
    """What becomes of one file; None for no file."""

    path: Path
    before: bytes | None
    after: bytes | None


class _Hook(Struct, frozen=True, kw_only=True):
    """Where an agent is told to ask for context, and how that is written."""

    agent: str
    path: Path
    command: str  # as it would be installed now
    install: Callable[..., bytes]
    uninstall: Callable[..., bytes | None]
    command_in: Callable[..., str | None]
    others: tuple[Path, ...] = ()  # files in which an older one may stand, though the agent does not read it there
    hints: tuple[str, ...] = ()

    def taken_out_of(self, path: Path) -> _Change:
        """Return the change that takes us out of a file.

        Raises:
            HookError: it can't be read, or can't be changed safely.
        """
        from memory_pipeline.hooks.places import read_file

        before = read_file(path)
        after = None if before is None else self.uninstall(before, place=str(path))
        return _Change(path=path, before=before, after=after)


@click.group()
def hooks() -> None:
    """Have an agent ask for context when a session of it begins."""


@hooks.command("install")
@_AGENT
@_PRINT_OPTION
@JSON_OPTION
@click.pass_obj
def hooks_install(place: Place, *, agent: str, only_print: bool, as_json: bool) -> int:
    """Write the hook into the agent's settings, or bring it up to date; everything else there stays as it is."""
    from memory_pipeline.hooks.places import read_file

    hook = _hook(place, agent)
    before = read_file(hook.path)
    after = hook.install(before, hook.command, place=str(hook.path))
    changes = [_Change(path=hook.path, before=before, after=after), *map(hook.taken_out_of, hook.others)]
    return _carry_out(place, hook, changes, only_print=only_print, as_json=as_json)


@hooks.command("status")
@click.argument("agent", type=click.Choice(_AGENTS), required=False)
@JSON_OPTION
@click.pass_obj
def hooks_status(place: Place, *, agent: str | None, as_json: bool) -> int:
    """Say whether the hook is installed, and whether it calls this very program."""
    return _tell([_hook(place, name) for name in ([agent] if agent else _AGENTS)], as_json=as_json)


@hooks.command("uninstall")
@_AGENT
@_PRINT_OPTION
@JSON_OPTION
@click.pass_obj
def hooks_uninstall(place: Place, *, agent: str, only_print: bool, as_json: bool) -> int:
    """Take the hook out again, and nothing else."""
    hook = _hook(place, agent)
    changes = [*map(hook.taken_out_of, (hook.path, *hook.others))]
    return _carry_out(place, hook, changes, only_print=only_print, as_json=as_json)


def _carry_out(place: Place, hook: _Hook, changes: Sequence[_Change], *, only_print: bool, as_json: bool) -> int:
    from memory_pipeline.hooks.places import change_file

    if only_print:
        return _print_changes(hook, changes, as_json=as_json)
    for change in changes:
        change_file(change.path, change.before, change.after)
    return _tell([_hook(place, hook.agent)], as_json=as_json)


def _hook(place: Place, agent: str) -> _Hook:
    config = place.load()
    if agent == "claude":
        from memory_pipeline.hooks import claude

        return _Hook(
            agent=agent,
            path=Path(config.sources.claude.home) / claude.FILE,
            command=shlex.join([*_call(place, config), "--format", "claude-hook"]),
            install=claude.install,
            uninstall=claude.uninstall,
            command_in=claude.command_in,
        )
    from memory_pipeline.hooks import codex

    path = codex.file_in(Path(config.sources.codex.home))
    return _Hook(
        agent=agent,
        path=path,
        command=f'{shlex.join(_call(place, config))} --cwd "$PWD" --task "TASK"',
        install=codex.install,
        uninstall=codex.uninstall,
        command_in=codex.command_in,
        others=tuple(codex.files_besides(path)),
        hints=_codex_hints(config),
    )


def _call(place: Place, config: Config) -> list[str]:
    """Return the words of a call that works from any folder, and whatever the agent's environment is."""
    from memory_pipeline.service.job import service_job

    job = service_job(
        config,
        explicit_state_dir=bool(place.state_dir or os.environ.get(STATE_DIR_ENV)),
        environ=os.environ,
        interpreter=sys.executable,
    )
    beside = Path(sys.executable).with_name("memory-pipeline")
    program = (str(beside),) if os.access(beside, os.X_OK) else job.program
    return [*program, *job.options, "context"]


def _codex_hints(config: Config) -> tuple[str, ...]:
    from memory_pipeline.rollouts.codex_home import MEMORY_FOLDER, is_read_by_codex

    if is_read_by_codex(config):
        return (
            "Codex reads the memory folder by itself already; the block adds what matches the task and the project",
        )
    folder = Path(config.sources.codex.home) / MEMORY_FOLDER
    return (f'or let Codex read the summary by itself: memories_dir = "{folder}", see docs/codex.md',)


def _print_changes(hook: _Hook, changes: Sequence[_Change], *, as_json: bool) -> int:
    from memory_pipeline.cli import output

    # Only the lines that change: settings may hold keys.
    lines = [
        line
        for change in changes
        for line in difflib.unified_diff(
            _lines(change.before),
            _lines(change.after),
            fromfile=str(change.path),
            tofile="after" if change.after is not None else "no file",
            n=0,
            lineterm="",
        )
    ]
    if as_json:
        output.print_json({"agent": hook.agent, "file": str(hook.path), "changes": lines})
        return EXIT_DONE
    for line in lines:
        click.echo(output.printable(line))
    if not lines:
        output.say(f"{hook.path}: nothing would change")
    return EXIT_DONE


def _lines(content: bytes | None) -> list[str]:
    return (content or b"").decode("utf-8", "replace").splitlines()


def _tell(found: list[_Hook], *, as_json: bool) -> int:
    from memory_pipeline.cli import output

    documents = [_document(hook) for hook in found]
    if as_json:
        output.print_json({"hooks": documents})
    else:
        for document in documents:
            for line in _status_lines(document):
                click.echo(output.printable(line))
    return EXIT_FAILED if any(document["state"] == "unreadable" for document in documents) else EXIT_DONE


def _document(hook: _Hook) -> dict[str, Any]:
    from memory_pipeline.hooks.places import read_file

    state, installed, problem = "absent", None, None
    try:
        content = read_file(hook.path)
        installed = None if content is None else hook.command_in(content, place=str(hook.path))
        if installed is not None:
            state = "installed" if installed == hook.command else "differs"
        problem = _problem(hook, content, installed) or _left_elsewhere(hook)
    except HookError as error:
        state, problem = "unreadable", str(error)
    return {
        "agent": hook.agent,
        "file": str(hook.path),
        "state": state,
        "command": installed,
        "would_install": hook.command,
        "problem": problem,
        "hints": list(hook.hints),
    }


def _problem(hook: _Hook, content: bytes | None, installed: str | None) -> str | None:
    from memory_pipeline.hooks import claude

    if content is None or installed is None:
        return None
    if hook.agent == "claude" and claude.are_hooks_off(content, place=str(hook.path)):
        return "disableAllHooks is set there, so Claude Code runs no hook"
    try:
        program = shlex.split(installed)[0]
    except (ValueError, IndexError):
        return "its command can't be read"
    if not os.access(program, os.X_OK):
        return f"{program} is not there any more, so nothing is given; install it again"
    return None


def _left_elsewhere(hook: _Hook) -> str | None:
    for path in hook.others:
        change = hook.taken_out_of(path)
        if change.before != change.after:
            return (
                f"it stands in {path}, which {hook.agent.capitalize()} does not read; install it again, or uninstall it"
            )
    return None


def _status_lines(document: dict[str, Any]) -> list[str]:
    said = {
        "installed": f"installed in {document['file']}",
        "differs": f"installed in {document['file']}, with another command than this program would write now",
        "absent": f"not installed in {document['file']}",
        "unreadable": "can't be told",
    }
    lines = [f"{document['agent']}: {said[document['state']]}"]
    if document["command"]:
        lines.append(f"    runs {document['command']}")
    if document["state"] == "differs":
        lines.append(f"    `hooks install {document['agent']}` would make it {document['would_install']}")
    if document["problem"]:
        lines.append(f"    {document['problem']}")
    return lines + [f"    {hint}" for hint in document["hints"]]
