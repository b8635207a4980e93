"""The commands that look at the indexed sessions, and steer single ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from memory_pipeline.cli.place import EXIT_DONE, JSON_OPTION, Place, find_one, open_app
from memory_pipeline.errors import UsageError
from memory_pipeline.records import Gate, JobState

if TYPE_CHECKING:
    from memory_pipeline.app import App
    from memory_pipeline.records import IndexedThread


@click.group()
def threads() -> None:
    """Look at the indexed sessions, and steer single ones."""


@threads.command("list")
@click.option("--state", type=click.Choice([state.value for state in JobState]), help="Only threads in this state.")
@click.option(
    "--gate", type=click.Choice([gate.value for gate in Gate]), help="Only threads that this gate holds back."
)
@JSON_OPTION
@click.pass_obj
def threads_list(place: Place, *, state: str | None, gate: str | None, as_json: bool) -> int:
    """List the sessions, newest first; of one that is held back, the gate stands for the state."""
    from memory_pipeline.cli import output
    from memory_pipeline.records import JobState

    with open_app(place.load()) as app:
        found = [
            thread
            for thread in app.store.threads.every()
            if (state is None or thread.state == state) and (gate is None or thread.gate == gate)
        ]
    if as_json:
        output.print_json([output.thread_document(thread) for thread in found])
        return EXIT_DONE
    if not found:
        click.echo(f"No sessions. `{place.command('scan')}` looks for them.")
        return EXIT_DONE
    rows = [
        (
            thread.thread_id,
            thread.agent.value,
            # A gate says more than "gated"; one column for both leaves room for the title.
            thread.gate.value if thread.gate and thread.state is JobState.GATED else thread.state.value,
            output.short_time(thread.updated_at)[:10],
            thread.title or "",
        )
        for thread in found
    ]
    output.print_table(("thread", "agent", "state", "updated", "title"), rows, flexible=["title"])
    return EXIT_DONE


@threads.command("show")
@click.argument("thread")
@JSON_OPTION
@click.pass_obj
def threads_show(place: Place, *, thread: str, as_json: bool) -> int:
    """Show one session: its state, its raw memory, and the evidence of every entry. THREAD may be shortened."""
    from memory_pipeline.cli import output

    with open_app(place.load()) as app:
        found = find_thread(app, thread, place)
        extraction = app.store.extractions.get(found.thread_id)
        usage = app.store.extractions.usage("thread", found.thread_id)
        drafts = {draft.entry.entry_id: draft for draft in app.store.drafts.every(thread_id=found.thread_id)}
    document = output.thread_details(found, extraction, usage, drafts)
    if as_json:
        output.print_json(document)
    else:
        output.print_thread(document, found)
    return EXIT_DONE


@threads.command("retry")
@click.argument("thread")
@JSON_OPTION
@click.pass_obj
def threads_retry(place: Place, *, thread: str, as_json: bool) -> int:
    """Give a session another go, with all its tries, in the next run."""
    from memory_pipeline.cli import output

    with open_app(place.load()) as app:
        found = find_thread(app, thread, place)
        if not app.store.jobs.retry(found.thread_id, now=app.clock.now()):
            reason = f"held back by {found.gate}" if found.gate else "being extracted right now"
            raise UsageError(f"thread {found.thread_id} is {reason}, so there is nothing to retry")
        app.store.jobs.end_rest(app.config.model.provider)
        after = find_thread(app, found.thread_id, place)
    name = output.printable(after.thread_id)
    if as_json:
        output.print_json(output.thread_document(after))
    elif after.gate:
        click.echo(f"Thread {name} has all its tries again; the gate {after.gate} still holds it back.")
    else:
        click.echo(f"Thread {name} is {after.state}; `{place.command('run')}` extracts it.")
    return EXIT_DONE


@threads.command("disable")
@click.argument("thread")
@JSON_OPTION
@click.pass_obj
def threads_disable(place: Place, *, thread: str, as_json: bool) -> int:
    """Keep a session out: it is not extracted, and what it said is withdrawn by the next run."""
    return _switch_thread(place, thread, disabled=True, as_json=as_json)


@threads.command("enable")
@click.argument("thread")
@JSON_OPTION
@click.pass_obj
def threads_enable(place: Place, *, thread: str, as_json: bool) -> int:
    """Let a disabled session count again."""
    return _switch_thread(place, thread, disabled=False, as_json=as_json)


def _switch_thread(place: Place, thread: str, *, disabled: bool, as_json: bool) -> int:
    from memory_pipeline.cli import output

    with open_app(place.load()) as app:
        found = find_thread(app, thread, place)
        if not disabled and app.forgets(found.thread_id):
            raise UsageError(f"thread {found.thread_id} was forgotten, and is never extracted again")
        app.store.threads.set_disabled(found.thread_id, disabled=disabled, now=app.clock.now())
        app.regate()
        after = find_thread(app, found.thread_id, place)
    name = output.printable(after.thread_id)
    if as_json:
        output.print_json(output.thread_document(after))
    elif disabled:
        click.echo(f"Thread {name} is disabled; the next `{place.command('run')}` drops what only it said.")
    else:
        click.echo(f"Thread {name} is enabled and {after.state}.")
    return EXIT_DONE


def find_thread(app: App, name: str, place: Place) -> IndexedThread:
    """Find the session that an id, or its beginning, names."""
    store = app.store.threads
    return find_one(name, store.get, store.find_by_prefix, noun="thread", listing=place.command("threads list"))
