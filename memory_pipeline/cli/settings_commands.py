"""The commands that show and change what is in force for the whole, a project and one session."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec import Struct

from memory_pipeline.cli.place import EXIT_DONE, JSON_OPTION, Place, open_app
from memory_pipeline.cli.thread_commands import find_thread
from memory_pipeline.errors import UsageError
from memory_pipeline.records import PROJECT_SCOPE_PREFIX

if TYPE_CHECKING:
    from memory_pipeline.app import App
    from memory_pipeline.settings import Setting

_PROJECT_OPTION = click.option(
    "--project", metavar="PROJECT", help="For a project: project:KEY, or a folder of it. Default: for the whole."
)
_THREAD_OPTION = click.option("--thread", metavar="THREAD", help="For one session; its id may be shortened.")


class _Target(Struct, frozen=True, kw_only=True):
    """For whom something is set: with neither, for the whole."""

    scope: str | None = None  # of the project; for a thread, that of its project
    thread_id: str | None = None

    @property
    def words(self) -> str:
        """Say for whom."""
        if self.thread_id is not None:
            return f"thread {self.thread_id}"
        return self.scope or "the whole"


@click.group()
def settings() -> None:
    """Show and change what is in force for the whole, a project and one session; the nearer wins."""


@settings.command("get")
@click.argument("key", required=False)
@_PROJECT_OPTION
@_THREAD_OPTION
@JSON_OPTION
@click.pass_obj
def settings_get(place: Place, *, key: str | None, project: str | None, thread: str | None, as_json: bool) -> int:
    """Show what is in force, and where it comes from; without KEY all that can be set."""
    from memory_pipeline.cli import output

    with open_app(place.load()) as app:
        target = _target(app, place, project, thread)
        in_force = app.settings().in_force()
        if key is not None:
            found = [in_force.of(key, scope=target.scope, thread_id=target.thread_id)]
        else:
            found = in_force.every(scope=target.scope, thread_id=target.thread_id)
    if as_json:
        document = {"scope": target.scope, "thread_id": target.thread_id}
        output.print_json({**document, "settings": [setting_document(one) for one in found]})
        return EXIT_DONE
    click.echo(f"In force for {output.printable(target.words)}:")
    rows = [(one.key, output.printable(_written(one.value)), str(one.origin)) for one in found]
    output.print_table(("key", "value", "from"), rows, flexible=["value"])
    return EXIT_DONE


@settings.command("set")
@click.argument("key")
@click.argument("value")
@_PROJECT_OPTION
@_THREAD_OPTION
@JSON_OPTION
@click.pass_obj
def settings_set(place: Place, *, key: str, value: str, project: str | None, thread: str | None, as_json: bool) -> int:
    """Give KEY a VALUE for the whole, a project or one session. What stands in the configuration file stays there."""
    with open_app(place.load()) as app:
        target = _target(app, place, project, thread)
        now = app.settings().set_text(key, value, scope=_own_scope(target), thread_id=target.thread_id)
        app.regate()
    return _tell(target, now, as_json=as_json)


@settings.command("unset")
@click.argument("key")
@_PROJECT_OPTION
@_THREAD_OPTION
@JSON_OPTION
@click.pass_obj
def settings_unset(place: Place, *, key: str, project: str | None, thread: str | None, as_json: bool) -> int:
    """Let the next wider value of KEY hold again."""
    with open_app(place.load()) as app:
        target = _target(app, place, project, thread)
        app.settings().unset(key, scope=_own_scope(target), thread_id=target.thread_id)
        app.regate()
        now = app.settings().in_force().of(key, scope=target.scope, thread_id=target.thread_id)
    return _tell(target, now, as_json=as_json)


def setting_document(one: Setting) -> dict[str, Any]:
    """Return one setting as it is printed in JSON."""
    from memory_pipeline.clock import iso

    value = list(one.value) if isinstance(one.value, tuple) else one.value
    return {"key": one.key, "value": value, "origin": one.origin, "set_at": iso(one.set_at)}


def _tell(target: _Target, now: Setting, *, as_json: bool) -> int:
    from memory_pipeline.cli import output
    from memory_pipeline.settings import USE

    if as_json:
        output.print_json({"scope": target.scope, "thread_id": target.thread_id, **setting_document(now)})
    else:
        value = output.printable(_written(now.value))
        click.echo(f"{now.key} is {value} for {output.printable(target.words)} (from: {now.origin}).")
        if now.key == USE and target.thread_id is None:
            click.echo("The next run brings memory_summary.md in line, which agents put into every session.")
    return EXIT_DONE


def _target(app: App, place: Place, project: str | None, thread: str | None) -> _Target:
    if project is not None and thread is not None:
        raise UsageError("name --project or --thread, not both: a session is of one project")
    if thread is not None:
        found = find_thread(app, thread, place)
        return _Target(scope=found.scope, thread_id=found.thread_id)
    return _Target(scope=None if project is None else _scope_named(app, project))


def _own_scope(target: _Target) -> str | None:
    return target.scope if target.thread_id is None else None


def _scope_named(app: App, project: str) -> str:
    from memory_pipeline.recall.here import is_text, scope_of_folder
    from memory_pipeline.rollouts.scope import scope_of

    if project.startswith(PROJECT_SCOPE_PREFIX) and project != PROJECT_SCOPE_PREFIX:
        return project
    folder = Path(project).expanduser().absolute()
    known = scope_of_folder(app.store, str(folder))
    if known is not None:
        return known
    if not folder.is_dir():
        raise UsageError(f"--project: {project} is no folder; name one, or write {PROJECT_SCOPE_PREFIX}KEY")
    scope = scope_of(os.path.realpath(folder), None)
    if not is_text(scope):
        raise UsageError(f"--project: the name of the folder {project} is no text, so nothing can be set for it")
    return scope


def _written(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return ", ".join(value) or "(none)"
    return str(value) if value != "" else '""'
