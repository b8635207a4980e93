"""The command that searches among the memories."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memory_pipeline.cli.place import EXIT_DONE, JSON_OPTION, Place, open_app
from memory_pipeline.errors import UsageError
from memory_pipeline.records import PROJECT_SCOPE_PREFIX, USER_SCOPE, EntryKind, MemoryStatus

if TYPE_CHECKING:
    from memory_pipeline.app import App
    from memory_pipeline.recall.search import Found


@click.command(context_settings={"ignore_unknown_options": True})  # `--flag` is as good a query as any
@click.argument("query", nargs=-1, required=True)
@click.option("--scope", help="Only this scope: user, project:KEY, or here: that of this folder, and user.")
@click.option("--kind", type=click.Choice([kind.value for kind in EntryKind]), help="Only memories of this kind.")
@click.option("--all", "show_all", is_flag=True, help="Also what is superseded or retired.")
@click.option("--limit", type=click.IntRange(min=1, max=1_000), default=10, show_default=True, help="At most so many.")
@click.option(
    "--open",
    "opened",
    type=click.IntRange(min=1),
    metavar="N",
    help="Show the Nth that is found whole: it counts as used.",
)
@JSON_OPTION
@click.pass_obj
def search(
    place: Place,
    *,
    query: tuple[str, ...],
    scope: str | None,
    kind: str | None,
    show_all: bool,
    limit: int,
    opened: int | None,
    as_json: bool,
) -> int:
    """Search the memories: words, parts of identifiers, paths and flags as typed, Chinese. Any text is a query."""
    from memory_pipeline.cli import output
    from memory_pipeline.recall.search import search as search_memories

    with open_app(place.load()) as app:
        found = search_memories(
            app.store,
            " ".join(query),
            now=app.clock.now(),
            limit=max(limit, opened or 0),
            scopes=_scopes(app, scope),
            kinds=[EntryKind(kind)] if kind else None,
            statuses=list(MemoryStatus) if show_all else [MemoryStatus.ACTIVE],
        )
        if opened is not None:
            _open(app, found, opened, as_json=as_json)
            return EXIT_DONE
    if as_json:
        output.print_json([_document(one) for one in found])
        return EXIT_DONE
    if not found:
        click.echo("Nothing that is remembered holds one of these words.")
    for one in found:
        _print(one)
    return EXIT_DONE


def _open(app: App, found: Sequence[Found], number: int, *, as_json: bool) -> None:
    from memory_pipeline.cli.memory_commands import show_memory

    if number > len(found):
        raise UsageError(f"--open {number}: only {len(found)} are found")
    memory = found[number - 1].memory
    show_memory(app, memory, as_json=as_json)
    now = app.clock.now()
    app.record_uses([("memory", memory.memory_id)], origin="search", distinct=now, at=now)


def _scopes(app: App, named: str | None) -> list[str] | None:
    if named is None:
        return None
    if named == "here":
        from memory_pipeline.recall.here import scope_of_folder

        here = scope_of_folder(app.store, str(Path.cwd()))
        return [USER_SCOPE, *([here] if here else [])]
    if named != USER_SCOPE and not named.startswith(PROJECT_SCOPE_PREFIX):
        raise UsageError(f"{named} is no scope; write user, here, or project:{named}")
    return [named]


def _document(one: Found) -> dict[str, Any]:
    from memory_pipeline.cli.output import memory_document

    return {
        **memory_document(one.memory),
        "score": round(one.score, 3),
        "matched": list(one.matched),
        "where": one.where,
        "snippet": one.snippet,
    }


def _print(one: Found) -> None:
    from memory_pipeline.cli.output import printable, short_time

    memory = one.memory
    condition = f" (when: {memory.condition})" if memory.condition else ""
    status = "" if memory.status_now is MemoryStatus.ACTIVE else f", {memory.status_now}"
    click.echo(f"{memory.memory_id}  {printable(memory.statement + condition)}")
    click.echo(f"    {memory.kind}, {printable(memory.scope)}, {short_time(memory.last_confirmed)[:10]}{status}")
    if one.where == "evidence":
        click.echo(f"    it rests on: {printable(one.snippet[:200])}")
    if one.matched:
        says = "found by what it means" if one.where == "meaning" else "found by"
        click.echo(f"    {says}: {printable(', '.join(one.matched))}")
