"""The commands that show what consolidations did to the memories, and undo one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from memory_pipeline.cli.memory_commands import find_memory, memory
from memory_pipeline.cli.place import EXIT_DONE, EXIT_FAILED, EXIT_LOCKED, JSON_OPTION, Place, open_app
from memory_pipeline.errors import UsageError

if TYPE_CHECKING:
    from memory_pipeline.app import App
    from memory_pipeline.phase2.history import MemoryDifference
    from memory_pipeline.records import Consolidation, Memory

_MOST_LISTED = 50


@memory.command("history")
@click.argument("memory_id", metavar="[ID]", required=False)
@JSON_OPTION
@click.pass_obj
def memory_history(place: Place, *, memory_id: str | None, as_json: bool) -> int:
    """Show what was done to one memory and why; without an ID, the consolidations that changed any."""
    from memory_pipeline.cli import output

    with open_app(place.load()) as app:
        if memory_id is None:
            return _list_consolidations(app, place, as_json=as_json)
        found = find_memory(app, memory_id, place)
        done = app.store.memories.operations_of(found.memory_id)
    if as_json:
        output.print_json(
            {**output.memory_document(found), "history": [output.operation_document(one) for one in done]}
        )
    else:
        click.echo(f"{found.memory_id} ({found.scope}, {found.status}): {output.printable(found.statement)}")
        output.print_history(done)
    return EXIT_DONE


def _list_consolidations(app: App, place: Place, *, as_json: bool) -> int:
    from memory_pipeline.cli import output

    found = app.store.memories.consolidations(limit=_MOST_LISTED)
    if as_json:
        output.print_json([output.consolidation_document(one) for one in found])
        return EXIT_DONE
    if not found:
        click.echo(f"No consolidation changed anything yet. `{place.command('run')}` makes one.")
        return EXIT_DONE
    rows = [
        (str(one.consolidation_id), output.short_time(one.started_at), _told(one), output.counted(one.operations))
        for one in found
    ]
    output.print_table(("id", "when", "what", "operations"), rows, flexible=["operations"])
    return EXIT_DONE


def _told(consolidation: Consolidation) -> str:
    words = {"run": "run", "person": "by hand", "undo": f"undid {consolidation.undoes}", "forget": "forgot"}
    undone = f", undone by {consolidation.undone_by}" if consolidation.undone_by is not None else ""
    return words[consolidation.kind] + undone


@memory.command("diff")
@click.argument("first", type=int, required=False)
@click.argument("last", type=int, required=False)
@JSON_OPTION
@click.pass_obj
def memory_diff(place: Place, *, first: int | None, last: int | None, as_json: bool) -> int:
    """Show what changed since the last consolidation and would be taken in by the next one.

    With one number, what changed since that consolidation; with two, what changed from the first to the last.
    """
    from memory_pipeline.cli import output
    from memory_pipeline.phase2.history import between

    files: dict[str, str] = {}
    with open_app(place.load()) as app:
        if first is None:
            differences, files = _to_come(app)
        else:
            newest = app.store.memories.last_consolidation()
            last = newest.consolidation_id if last is None and newest is not None else last or 0
            for number in {first, last} - {0}:
                if app.store.memories.consolidation(number) is None:
                    raise UsageError(
                        f"there is no consolidation {number}; `{place.command('memory history')}` shows all"
                    )
            differences = between(app.store.memories, first, last)
    if as_json:
        output.print_json({"memories": [_document(one) for one in differences], "files": files})
        return EXIT_DONE
    if not differences and not files:
        click.echo("Nothing changed.")
    _print(differences)
    if files:
        click.echo("\nFiles of the workspace that would change:")
        for path, sign in files.items():
            click.echo(f"  {sign} {output.printable(path)}")
    return EXIT_DONE


def _to_come(app: App) -> tuple[list[MemoryDifference], dict[str, str]]:
    from memory_pipeline.phase2.history import MemoryDifference, in_order

    preview = app.preview()
    before: dict[str, Memory | None] = {}
    for change in preview.changes:
        before.setdefault(change.operation.memory_id, change.before)
    found = [
        MemoryDifference(memory_id=memory_id, before=image, after=preview.memories.get(memory_id))
        for memory_id, image in before.items()
    ]
    return in_order(found), dict(preview.files)


def _document(difference: MemoryDifference) -> dict[str, Any]:
    from memory_pipeline.cli import output

    return {
        "memory_id": difference.memory_id,
        "change": {"+": "added", "-": "removed", "~": "changed"}[difference.sign],
        "before": output.wording_document(difference.before),
        "after": output.wording_document(difference.after),
    }


def _print(differences: Sequence[MemoryDifference]) -> None:
    from memory_pipeline.cli import output

    scope = None
    for one in differences:
        told = one.after or one.before
        if told is None:
            continue
        if told.scope != scope:
            scope = told.scope
            click.echo(f"{output.printable(scope)}:")
        if one.sign == "~" and one.before is not None and one.after is not None:
            click.echo(f"  - {_worded(one.before)}")
            click.echo(f"  + {_worded(one.after)}  [{one.memory_id}]")
        elif one.sign == "-" and one.before is not None:
            why = f" ({output.printable(one.after.reason)})" if one.after is not None and one.after.reason else ""
            click.echo(f"  - {_worded(one.before)}{why}  [{one.memory_id}]")
        else:
            click.echo(f"  + {_worded(told)}  [{one.memory_id}]")


def _worded(one: Memory) -> str:
    from memory_pipeline.cli import output

    condition = f"{one.condition}: " if one.condition else ""
    pinned = " (pinned)" if one.pinned else ""
    return output.printable(f"{one.kind}: {condition}{one.statement}{pinned}")


@memory.command("undo")
@click.argument("consolidation", type=int, required=False)
@JSON_OPTION
@click.pass_obj
def memory_undo(place: Place, *, consolidation: int | None, as_json: bool) -> int:
    """Undo one consolidation, by default the last: its memories are as they were before.

    What was undone does not come back by itself. To have it back, undo the undoing.
    """
    from memory_pipeline.cli import output
    from memory_pipeline.phase2.history import between
    from memory_pipeline.records import Phase2Outcome

    with open_app(place.load()) as app:
        target = _to_undo(app, place, consolidation)
        before = app.store.memories.last_consolidation()
        counts = app.undo(target.consolidation_id)
        differences: list[MemoryDifference] = []
        if counts.outcome is Phase2Outcome.CONSOLIDATED and before is not None:
            last = app.store.memories.last_consolidation()
            differences = between(
                app.store.memories, before.consolidation_id, last.consolidation_id if last else before.consolidation_id
            )
    for problem in counts.problems:
        output.say(f"memory-pipeline: {output.printable(problem)}")
    if as_json:
        output.print_json(
            {
                "undone": target.consolidation_id,
                "outcome": counts.outcome,
                "memories": [_document(one) for one in differences],
            }
        )
    elif counts.outcome is Phase2Outcome.CONSOLIDATED:
        click.echo(f"Undid consolidation {target.consolidation_id}:")
        _print(differences)
    elif counts.outcome is Phase2Outcome.NO_CHANGES:
        click.echo(f"Consolidation {target.consolidation_id} left nothing that could be undone.")
    if counts.outcome is Phase2Outcome.LOCKED:
        return EXIT_LOCKED
    return EXIT_FAILED if counts.outcome is Phase2Outcome.FAILED else EXIT_DONE


def _to_undo(app: App, place: Place, number: int | None) -> Consolidation:
    history = place.command("memory history")
    if number is None:
        for one in app.store.memories.consolidations(limit=_MOST_LISTED):
            if one.undone_by is None and one.kind in ("run", "person"):
                return one
        raise UsageError(f"there is no consolidation to undo; `{history}` shows all")
    found = app.store.memories.consolidation(number)
    if found is None or found.state != "done" or found.kind == "forget":
        raise UsageError(f"consolidation {number} can't be undone; `{history}` shows those that can")
    if found.undone_by is not None:
        raise UsageError(f"consolidation {number} was undone already, by {found.undone_by}; undo that one instead")
    return found
