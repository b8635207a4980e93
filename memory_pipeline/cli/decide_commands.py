"""The commands by which a person decides about drafts, and takes decisions back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from memory_pipeline.cli.draft_commands import (
    ALL_OPTION,
    SESSION_OPTION,
    drafts,
    filter_options,
    find_draft,
    fits,
    note_fault,
    open_reviewed,
    session_id,
    take,
    tell_taken,
    write_files,
)
from memory_pipeline.cli.place import EXIT_DONE, EXIT_FAILED, JSON_OPTION, Place
from memory_pipeline.errors import UsageError

if TYPE_CHECKING:
    from memory_pipeline.app import App
    from memory_pipeline.records import Draft
    from memory_pipeline.store.drafts import Decided

_ENTRY_OPTION = click.option("--entry", "entry", metavar="ENTRY", required=True, help="The draft; may be shortened.")
_OF_SESSION_OPTION = click.option("--session", metavar="THREAD", help="The session that the draft must be of.")
_NOTE_OPTION = click.option("--note", default="", metavar="TEXT", help="Why; it is kept with the decision.")


@drafts.command("approve")
@_ENTRY_OPTION
@_OF_SESSION_OPTION
@_NOTE_OPTION
@click.option("--force", is_flag=True, help="Also what its readiness forbids.")
@JSON_OPTION
@click.pass_obj
def drafts_approve(place: Place, *, entry: str, session: str | None, note: str, force: bool, as_json: bool) -> int:
    """Approve one draft: the next run takes it into the memories."""
    from memory_pipeline.review.policy import why_not_ready

    with open_reviewed(place) as app:
        draft = _named(app, place, entry, session)
        reason = why_not_ready(draft.readiness)
        if reason is not None and not force:
            raise UsageError(
                f"{draft.entry.entry_id} is {draft.readiness}: {reason}. Look at it with "
                f"`{place.command('drafts review')}`, or add --force to approve it all the same"
            )
        decided = app.review().approve([draft.entry], note=_note(app, note), seen=[draft])
        return _tell(app, place, decided, "approved", as_json=as_json)


@drafts.command("reject")
@_ENTRY_OPTION
@_OF_SESSION_OPTION
@_NOTE_OPTION
@JSON_OPTION
@click.pass_obj
def drafts_reject(place: Place, *, entry: str, session: str | None, note: str, as_json: bool) -> int:
    """Reject one draft: what it says does not come back, reworded or not."""
    with open_reviewed(place) as app:
        draft = _named(app, place, entry, session)
        decided = app.review().reject([draft.entry], note=_note(app, note), seen=[draft])
        return _tell(app, place, decided, "rejected", as_json=as_json)


@drafts.command("defer")
@_ENTRY_OPTION
@_OF_SESSION_OPTION
@click.option(
    "--days", type=click.FloatRange(min=0), help="After how many days, at most 36500; by default review.defer_days."
)
@_NOTE_OPTION
@JSON_OPTION
@click.pass_obj
def drafts_defer(place: Place, *, entry: str, session: str | None, days: float | None, note: str, as_json: bool) -> int:
    """Put one draft off: it comes back into the queue after some days."""
    with open_reviewed(place) as app:
        draft = _named(app, place, entry, session)
        wait = app.config.review.defer_days if days is None else days
        decided = app.review().defer([draft.entry], days=wait, note=_note(app, note), seen=[draft])
        return _tell(app, place, decided, "deferred", as_json=as_json)


@drafts.command("note")
@_ENTRY_OPTION
@_OF_SESSION_OPTION
@click.option("--note", required=True, metavar="TEXT", help="What to note.")
@JSON_OPTION
@click.pass_obj
def drafts_note(place: Place, *, entry: str, session: str | None, note: str, as_json: bool) -> int:
    """Put a note on one draft, and decide nothing."""
    from memory_pipeline.store.drafts import Decided

    with open_reviewed(place) as app:
        draft = _named(app, place, entry, session)
        if not note.strip():
            raise UsageError("the note is empty; `drafts undo` takes the last one back")
        is_noted = app.review().note(draft.entry, _note(app, note))
        one = (draft.entry.entry_id,)
        decided = Decided(entry_ids=one) if is_noted else Decided(gone=one)
        return _tell(app, place, decided, "noted", as_json=as_json)


def _batch_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in (
        JSON_OPTION,
        _NOTE_OPTION,
        click.option("--entries", metavar="ENTRY,…", help="Only these; separated by commas, may be shortened."),
    ):
        command = option(command)
    return SESSION_OPTION(ALL_OPTION(filter_options(command)))


@drafts.command("approve-batch")
@_batch_options
@click.option("--force", is_flag=True, help="Also what its readiness forbids.")
@click.pass_obj
def drafts_approve_batch(place: Place, /, *, note: str, force: bool, as_json: bool, **chosen: Any) -> int:
    """Approve drafts of a session that wait, or those that are named; without --force only what is ready."""
    from memory_pipeline.review.policy import why_not_ready

    with open_reviewed(place) as app:
        found = _choose(app, place, **chosen)
        ready = [draft for draft in found if force or why_not_ready(draft.readiness) is None]
        left_out = [draft for draft in found if draft not in ready]
        decided = app.review().approve([draft.entry for draft in ready], note=_note(app, note), seen=ready)
        return _tell(app, place, decided, "approved", left_out=left_out, as_json=as_json)


@drafts.command("reject-batch")
@_batch_options
@click.option("--force", is_flag=True, help="Also what is not ready.")
@click.pass_obj
def drafts_reject_batch(place: Place, /, *, note: str, force: bool, as_json: bool, **chosen: Any) -> int:
    """Reject drafts of a session that wait, or those that are named; without --force only what is ready."""
    from memory_pipeline.review.policy import why_not_ready

    with open_reviewed(place) as app:
        found = _choose(app, place, **chosen)
        # What needs a closer look is no more rejected than approved in passing.
        ready = [draft for draft in found if force or why_not_ready(draft.readiness) is None]
        left_out = [draft for draft in found if draft not in ready]
        decided = app.review().reject([draft.entry for draft in ready], note=_note(app, note), seen=ready)
        return _tell(app, place, decided, "rejected", left_out=left_out, as_json=as_json)


@drafts.command("undo")
@click.option("--entry", metavar="ENTRY", help="The last decision about this draft; may be shortened.")
@JSON_OPTION
@click.pass_obj
def drafts_undo(place: Place, *, entry: str | None, as_json: bool) -> int:
    """Take back the last decision or note: a batch as a whole, or with --entry what concerns one draft."""
    from memory_pipeline.cli import draft_view, output

    with open_reviewed(place) as app:
        wanted = [find_draft(app, entry, place).entry.entry_id] if entry is not None else None
        undone = app.review().undo(wanted)
        found = [draft for entry_id in undone if (draft := app.store.drafts.get(entry_id)) is not None]
        write_files(app, (draft.entry.thread_id for draft in found))
    if not undone:
        about = f" about {wanted[0]}" if wanted else ""
        raise UsageError(f"there is no decision of yours{about} to take back")
    if as_json:
        output.print_json({"undone": [draft_view.draft_document(draft) for draft in found]})
        return EXIT_DONE
    for draft in found:
        draft_view.print_decided([draft], f"taken back, {draft.review_status} again:")
    return EXIT_DONE


def _named(app: App, place: Place, entry: str, session: str | None) -> Draft:
    draft = find_draft(app, entry, place)
    if session is not None and session_id(app, session, place) != draft.entry.thread_id:
        raise UsageError(f"{draft.entry.entry_id} is not of session {session}, but of {draft.entry.thread_id}")
    return draft


def _choose(
    app: App,
    place: Place,
    *,
    session: str | None,
    of_all: bool,
    label: str | None,
    readiness: str | None,
    review_status: str | None,
    entries: str | None,
) -> list[Draft]:
    """Return the drafts that a batch is about; those that are named must be there, else nothing is decided."""
    if entries is not None:
        names = [name.strip() for name in entries.split(",") if name.strip()]
        found = [_named(app, place, name, session) for name in names]
    else:
        taken = take(app, place, session=session, of_all=of_all)
        tell_taken(taken)
        found = [draft for draft in taken.drafts if draft.dropped is None]
        review_status = review_status or "pending"
    chosen = [draft for draft in found if fits(draft, label=label, readiness=readiness, review_status=review_status)]
    return list({draft.entry.entry_id: draft for draft in chosen}.values())


def _note(app: App, text: str) -> str:
    fault = note_fault(app, text)
    if fault is not None:
        raise UsageError(fault)
    return text


def _tell(app: App, place: Place, decided: Decided, done: str, *, as_json: bool, left_out: Sequence[Draft] = ()) -> int:
    from memory_pipeline.cli import draft_view, output

    write_files(app, (draft.entry.thread_id for name in decided.entry_ids if (draft := app.store.drafts.get(name))))
    found = {name: app.store.drafts.get(name) for name in (*decided.entry_ids, *decided.changed)}
    drafts_now = [draft for name in decided.entry_ids if (draft := found[name]) is not None]
    if as_json:
        output.print_json(
            {
                "decision": done,
                "drafts": [draft_view.draft_document(draft) for draft in drafts_now],
                "changed": list(decided.changed),
                "gone": list(decided.gone),
                "left_out": {draft.entry.entry_id: draft.readiness for draft in left_out},
            }
        )
    else:
        draft_view.print_decided(drafts_now, done)
        if not drafts_now:
            click.echo(f"Nothing was {done}.")
    if left_out:
        output.say(
            f"left out: {output.counted(_by_readiness(left_out))}; `{place.command('drafts review')}` shows each, "
            "--force takes them too"
        )
    for name in decided.changed:
        now = found[name]
        output.say(f"{name} was decided or labelled anew meanwhile, and stays {now.review_status if now else 'so'}")
    for name in decided.gone:
        output.say(f"{name} is gone meanwhile: its session no longer says it")
    if done == "approved" and drafts_now and not as_json:
        click.echo(f"`{place.command('run')}` takes in what you approved.")
    return EXIT_FAILED if decided.changed or decided.gone else EXIT_DONE


def _by_readiness(found: Sequence[Draft]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for draft in found:
        counts[draft.readiness.value] = counts.get(draft.readiness.value, 0) + 1
    return counts
