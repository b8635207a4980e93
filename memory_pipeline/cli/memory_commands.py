"""The commands that look at the consolidated memories."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

import click

from memory_pipeline.cli.place import EXIT_DONE, EXIT_FAILED, JSON_OPTION, Place, find_one, open_app
from memory_pipeline.errors import UsageError
from memory_pipeline.redact import redact
from memory_pipeline.statements import one_line

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
            if (scope is None or item.scope == scope) and (wanted is None or item.status_now == wanted)
        ]
    if as_json:
        output.print_json([output.memory_document(item) for item in found])
        return EXIT_DONE
    if not found:
        click.echo(f"No memories. `{place.command('run')}` makes them from your session logs.")
        return EXIT_DONE
    for scope_of_group, group in groupby(found, key=lambda item: item.scope):
        click.echo(f"{output.printable(scope_of_group)}")
        rows = [
            (
                item.memory_id,
                # What is not told any more says so in the place of its kind; one column for both leaves room.
                item.kind.value if item.status_now == "active" else item.status_now.value,
                output.short_time(item.last_confirmed)[:10],
                f"{item.condition}: {item.statement}" if item.condition else item.statement,
            )
            for item in group
        ]
        output.print_table(("memory", "kind", "said", "statement"), rows, flexible=["statement"])
        click.echo()
    return EXIT_DONE


@memory.command("show")
@click.argument("memory_id", metavar="ID")
@JSON_OPTION
@click.pass_obj
def memory_show(place: Place, *, memory_id: str, as_json: bool) -> int:
    """Show one memory and what it rests on. ID may be shortened."""
    with open_app(place.load()) as app:
        show_memory(app, find_memory(app, memory_id, place), as_json=as_json)
    return EXIT_DONE


def show_memory(app: App, found: Memory, *, as_json: bool) -> None:
    """Show a memory and what it rests on."""
    from memory_pipeline.cli import output

    entries = app.store.extractions.standing_entries(found.entry_ids)
    operations = app.store.memories.operations_of(found.memory_id)
    if as_json:
        output.print_json(output.memory_document(found))
    else:
        output.print_memory(found, [entries[key] for key in found.entry_ids if key in entries], operations)


class _TakesLines(click.Command):
    """A command to which a line may be pasted as it stands: its list mark begins no option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        lines = [argument for argument in args if argument.startswith(("- ", "* "))]
        if lines and "--" not in args:
            args = [*(argument for argument in args if argument not in lines), "--", *lines]
        return super().parse_args(ctx, args)


@memory.command("why", cls=_TakesLines)
@click.argument("words", metavar="TEXT-OR-ID", nargs=-1, required=True)
@JSON_OPTION
@click.pass_obj
def memory_why(place: Place, *, words: tuple[str, ...], as_json: bool) -> int:
    """Show why something is remembered, down to the words in the log, read back and checked.

    TEXT-OR-ID is an id or its beginning, a line of MEMORY.md, or some words.
    """
    from memory_pipeline.cli import output, why_view

    query = " ".join(words)
    with open_app(place.load()) as app:
        explanation = app.why(query)
    if not explanation.memories:
        asked = one_line(redact(query).text, 80)
        raise UsageError(f'no memory is or says "{asked}"; `{place.command("memory list")}` shows all')
    if as_json:
        output.print_json(why_view.why_document(query, explanation))
    else:
        why_view.print_why(explanation, listing=place.command("memory list"))
    return EXIT_DONE


@memory.command("lint")
@JSON_OPTION
@click.pass_obj
def memory_lint(place: Place, *, as_json: bool) -> int:
    """Check the memories, what they rest on, and every file of the workspace; changes nothing.

    Ends with 1 when something is found.
    """
    from memory_pipeline.cli import lint_view, output

    with open_app(place.load()) as app:
        findings = app.lint()
    if as_json:
        output.print_json(lint_view.lint_document(findings))
    else:
        lint_view.print_findings(findings)
    return EXIT_FAILED if findings else EXIT_DONE


def find_memory(app: App, name: str, place: Place) -> Memory:
    """Find the memory that an id, or its beginning, names."""
    store = app.store.memories
    return find_one(name, store.get, store.find_by_prefix, noun="memory", listing=place.command("memory list"))
