"""The commands that look at the consolidated memories."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from memory_pipeline.cli.place import EXIT_DONE, JSON_OPTION, Place, find_one, open_app

if TYPE_CHECKING:
    from memory_pipeline.app import App
    from memory_pipeline.records import Memory


@click.group()
def memory() -> None:
    """Look at the consolidated memories."""


@memory.command("list")
@click.option("--scope", help="Only this scope: user, or project:KEY.")
@click.option("--status", "wanted", type=click.Choice(["active", "superseded", "retired"]), help="Only this status.")
@JSON_OPTION
@click.pass_obj
def memory_list(place: Place, *, scope: str | None, wanted: str | None, as_json: bool) -> int:
    """List the memories by scope, those superseded or retired included."""
    from memory_pipeline.cli import output

    with open_app(place.load()) as app:
        found = [
            item
            for item in app.store.memories.every()
            if (scope is None or item.scope == scope) and (wanted is None or item.status == wanted)
        ]
    if as_json:
        output.print_json([output.memory_document(item) for item in found])
        return EXIT_DONE
    if not found:
        click.echo(f"No memories. `{place.command('run')}` makes them from your session logs.")
        return EXIT_DONE
    rows = [
        (
            item.memory_id,
            item.scope.removeprefix("project:"),
            item.kind.value,
            item.status.value,
            output.short_time(item.last_confirmed)[:10],
            f"{item.condition}: {item.statement}" if item.condition else item.statement,
        )
        for item in found
    ]
    output.print_table(("memory", "scope", "kind", "status", "said", "statement"), rows, flexible="statement")
    return EXIT_DONE


@memory.command("show")
@click.argument("memory_id", metavar="ID")
@JSON_OPTION
@click.pass_obj
def memory_show(place: Place, *, memory_id: str, as_json: bool) -> int:
    """Show one memory and what it rests on. ID may be shortened."""
    from memory_pipeline.cli import output

    with open_app(place.load()) as app:
        found = find_memory(app, memory_id, place)
        entries = app.store.extractions.standing_entries(found.entry_ids)
        operations = app.store.memories.operations_of(found.memory_id)
    if as_json:
        output.print_json(output.memory_document(found))
    else:
        output.print_memory(found, [entries[key] for key in found.entry_ids if key in entries], operations)
    return EXIT_DONE


def find_memory(app: App, name: str, place: Place) -> Memory:
    """Find the memory that an id, or its beginning, names."""
    store = app.store.memories
    return find_one(name, store.get, store.find_by_prefix, noun="memory", listing=place.command("memory list"))
