"""The commands that look at the indexed sessions, and steer single ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from memory_pipeline.cli.place import EXIT_DONE, JSON_OPTION, Place, find_one, open_app
from memory_pipeline.errors import UsageError
from memory_pipeline.records import Gate, JobState

if TYPE_CHECKING:
    from memory_pipeline.app import App
    from memory_pipeline.records import IndexedThread


_POSITION_VALUES = {"on": True, "off": False, "inherit": None}
_POSITIONS = click.Choice(list(_POSITION_VALUES))


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
        flags = flags_document(app, found)
    document = {**output.thread_details(found, extraction, usage, drafts), "flags": flags}
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
    """Keep a session out: it is not extracted, and what only it said is told no more."""
    return _switch_thread(place, thread, disabled=True, as_json=as_json)


@threads.command("enable")
@click.argument("thread")
@JSON_OPTION
@click.pass_obj
def threads_enable(place: Place, *, thread: str, as_json: bool) -> int:
    """Let a disabled session count again."""
    return _switch_thread(place, thread, disabled=False, as_json=as_json)


@threads.command("flags")
@click.argument("thread")
@click.option("--use", type=_POSITIONS, help="May memories be given to it.")
@click.option("--generate", type=_POSITIONS, help="May it be extracted; off withdraws what it said, like disable.")
@JSON_OPTION
@click.pass_obj
def threads_flags(place: Place, *, thread: str, use: str | None, generate: str | None, as_json: bool) -> int:
    """Show or set the switches of one session; inherit: it follows its project."""
    from memory_pipeline.cli import output
    from memory_pipeline.settings import GENERATE, USE

    asked = {USE: use, GENERATE: generate}
    with open_app(place.load()) as app:
        found = find_thread(app, thread, place)
        flags = {key: _POSITION_VALUES[word] for key, word in asked.items() if word is not None}
        if flags:
            app.settings().set_flags(found.thread_id, flags)
            app.regate()
        document = flags_document(app, found)
    if as_json:
        output.print_json({"thread_id": found.thread_id, **document})
        return EXIT_DONE
    for name in ("use", "generate"):
        one = document[name]
        click.echo(f"{name + ':':10}{'on' if one['in_force'] else 'off'} (from: {one['origin']})")
    return EXIT_DONE


def flags_document(app: App, thread: IndexedThread) -> dict[str, Any]:
    """Return the switches of a session: as they are set for it (null: inherited), and what is in force from where."""
    from memory_pipeline.settings import GENERATE, USE

    in_force = app.settings().in_force()
    document = {}
    for name, key in (("use", USE), ("generate", GENERATE)):
        found = in_force.of(key, scope=thread.scope, thread_id=thread.thread_id)
        flag, value, origin = in_force.flag(key, thread.thread_id), found.value, str(found.origin)
        if key == GENERATE and thread.disabled_by_person and flag is None:
            flag, value, origin = False, False, "thread"  # switched off before there were settings, or forgotten
        document[name] = {"flag": flag, "in_force": value, "origin": origin}
    return document


def _switch_thread(place: Place, thread: str, *, disabled: bool, as_json: bool) -> int:
    from memory_pipeline.cli import output
    from memory_pipeline.settings import GENERATE

    with open_app(place.load()) as app:
        found = find_thread(app, thread, place)
        if not disabled and app.forgets(found.thread_id):
            raise UsageError(f"thread {found.thread_id} was forgotten, and is never extracted again")
        app.settings().set_flags(found.thread_id, {GENERATE: False if disabled else None})
        app.regate()
        after = find_thread(app, found.thread_id, place)
        wider = app.settings().in_force().of(GENERATE, scope=after.scope, thread_id=after.thread_id)
    name = output.printable(after.thread_id)
    if as_json:
        output.print_json(output.thread_document(after))
    elif disabled:
        click.echo(
            f"Thread {name} is disabled, and what only it said is told no more; "
            f"the next `{place.command('run')}` takes it out of MEMORY.md, too."
        )
    elif not wider.value:
        click.echo(
            f"Thread {name} follows its project again, for which generation is off (from: {wider.origin}); "
            f"`{place.command(f'threads flags {name} --generate on')}` has it extracted all the same."
        )
    else:
        click.echo(f"Thread {name} is enabled and {after.state}.")
    return EXIT_DONE


def find_thread(app: App, name: str, place: Place) -> IndexedThread:
    """Find the session that an id, or its beginning, names."""
    store = app.store.threads
    return find_one(name, store.get, store.find_by_prefix, noun="thread", listing=place.command("threads list"))
