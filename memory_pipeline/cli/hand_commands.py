"""The commands by which a person changes what is remembered. Each is written into the journal first."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memory_pipeline.cli.memory_commands import find_memory, memory
from memory_pipeline.cli.place import EXIT_DONE, EXIT_FAILED, JSON_OPTION, Place, open_app
from memory_pipeline.errors import UsageError

if TYPE_CHECKING:
    from memory_pipeline.app import App
    from memory_pipeline.records import JournalAction, JournalRecord, Memory, Phase2Counts

_KINDS = ("preference", "decision", "procedure", "knowledge", "failure")


@memory.command("add")
@click.argument("text")
@click.option(
    "--scope", help="user, or project:KEY; by default the project of this folder, and user where there is none."
)
@click.option("--kind", type=click.Choice(_KINDS), default="preference", show_default=True)
@click.option("--condition", default="", help="Under which it holds, for example: before every commit.")
@JSON_OPTION
@click.pass_obj
def memory_add(place: Place, *, text: str, scope: str | None, kind: str, condition: str, as_json: bool) -> int:
    """Remember a statement of your own, pinned."""
    from memory_pipeline.phase2.wording import condition_from, statement_from
    from memory_pipeline.records import EntryKind, JournalAction

    with open_app(place.load()) as app:
        record = _record(
            app,
            JournalAction.ADD,
            kind=EntryKind(kind),
            scope=_scope(app, scope),
            statement=statement_from(text),
            condition=condition_from(condition),
        )
        counts = app.take_in_hand([record])
        return _tell(place, counts, _memory_of(app, record), as_json=as_json)


@memory.command("edit")
@click.argument("memory_id", metavar="ID")
@click.argument("text")
@click.option("--condition", help="The new condition; by default it stays.")
@JSON_OPTION
@click.pass_obj
def memory_edit(place: Place, *, memory_id: str, text: str, condition: str | None, as_json: bool) -> int:
    """Word a memory anew. ID may be shortened."""
    from memory_pipeline.phase2.wording import condition_from, statement_from
    from memory_pipeline.records import JournalAction

    def changed(app: App, found: Memory) -> JournalRecord:
        return _record(
            app,
            JournalAction.EDIT,
            memory_id=found.memory_id,
            kind=found.kind,
            scope=found.scope,
            statement=statement_from(text),
            condition=found.condition if condition is None else condition_from(condition),
            was=found.statement,
            was_condition=found.condition,
        )

    return _change(place, memory_id, changed, as_json=as_json)


@memory.command("pin")
@click.argument("memory_id", metavar="ID")
@click.option("--off", is_flag=True, help="Take the pin away.")
@JSON_OPTION
@click.pass_obj
def memory_pin(place: Place, *, memory_id: str, off: bool, as_json: bool) -> int:
    """Keep a memory whatever happens: neither age nor a curator takes it out, only you do."""
    from memory_pipeline.records import JournalAction

    return _change_plainly(place, memory_id, JournalAction.UNPIN if off else JournalAction.PIN, as_json=as_json)


@memory.command("retire")
@click.argument("memory_id", metavar="ID")
@JSON_OPTION
@click.pass_obj
def memory_retire(place: Place, *, memory_id: str, as_json: bool) -> int:
    """Take a memory out of what is told. It stays findable, and does not come back by itself."""
    from memory_pipeline.records import JournalAction

    return _change_plainly(place, memory_id, JournalAction.RETIRE, as_json=as_json)


@memory.command("restore")
@click.argument("memory_id", metavar="ID")
@JSON_OPTION
@click.pass_obj
def memory_restore(place: Place, *, memory_id: str, as_json: bool) -> int:
    """Have a retired or superseded memory told again; what contradicts it gives way."""
    from memory_pipeline.records import JournalAction

    return _change_plainly(place, memory_id, JournalAction.RESTORE, as_json=as_json)


def _change_plainly(place: Place, memory_id: str, action: JournalAction, *, as_json: bool) -> int:
    def changed(app: App, found: Memory) -> JournalRecord:
        return _record(
            app,
            action,
            memory_id=found.memory_id,
            kind=found.kind,
            scope=found.scope,
            statement=found.statement,
            condition=found.condition,
        )

    return _change(place, memory_id, changed, as_json=as_json)


def _change(place: Place, memory_id: str, changed: Callable[[App, Memory], JournalRecord], *, as_json: bool) -> int:
    with open_app(place.load()) as app:
        found = find_memory(app, memory_id, place)
        counts = app.take_in_hand([changed(app, found)])
        return _tell(place, counts, app.store.memories.get(found.memory_id), as_json=as_json)


def _record(app: App, action: JournalAction, **fields: Any) -> JournalRecord:
    from memory_pipeline.records import JournalRecord
    from memory_pipeline.rollouts.journal import record_id_of

    now = app.clock.now()
    if app.forgets_words(fields["statement"], fields["condition"]):
        raise UsageError(
            "this holds words that you had forgotten for good (forget --match); "
            f"to allow them again, delete the file of that day in {app.config.tombstones_path}"
        )
    record_id = record_id_of("command", action, now, *fields.values())
    return JournalRecord(record_id=record_id, action=action, at=now, origin="command", **fields)


def _scope(app: App, named: str | None) -> str:
    from memory_pipeline.recall.here import scope_of_folder
    from memory_pipeline.records import PROJECT_SCOPE_PREFIX, USER_SCOPE

    if named is not None:
        if named != USER_SCOPE and not named.removeprefix(PROJECT_SCOPE_PREFIX).strip():
            raise UsageError(f"{named} is no scope; write user, or project:KEY as `memory list` shows it")
        if named != USER_SCOPE and not named.startswith(PROJECT_SCOPE_PREFIX):
            raise UsageError(f"{named} is no scope; write user, or project:{named}")
        return named
    return scope_of_folder(app.store, str(Path.cwd())) or USER_SCOPE


def _memory_of(app: App, record: JournalRecord) -> Memory | None:
    from memory_pipeline.phase2.deeds import entry_id_of
    from memory_pipeline.rollouts.journal import JOURNAL_THREAD

    entry_id = entry_id_of(record.record_id, thread_id=JOURNAL_THREAD)
    return next((one for one in app.store.memories.every() if entry_id in one.entry_ids), None)


def _tell(place: Place, counts: Phase2Counts, found: Memory | None, *, as_json: bool) -> int:
    from memory_pipeline.cli import output
    from memory_pipeline.records import Phase2Outcome

    applied = counts.outcome in (Phase2Outcome.CONSOLIDATED, Phase2Outcome.NO_CHANGES)
    # That it is locked calls for nothing: the run that holds the workspace, or the next one, takes the deed in.
    problems = ["another run holds the workspace"] if counts.outcome is Phase2Outcome.LOCKED else counts.problems
    for problem in problems:
        output.say(f"memory-pipeline: {output.printable(problem)}")
    if not applied:
        output.say(f"memory-pipeline: written down; `{place.command('run --phase2')}` takes it in")
    if as_json:
        output.print_json(
            {"applied": applied, "outcome": counts.outcome, "memory": output.memory_document(found) if found else None}
        )
    elif found is not None and applied:
        pinned = ", pinned" if found.pinned else ""
        click.echo(f"{found.memory_id} ({found.scope}, {found.status}{pinned}): {output.printable(found.statement)}")
    return EXIT_FAILED if counts.outcome is Phase2Outcome.FAILED else EXIT_DONE
