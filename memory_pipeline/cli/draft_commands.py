"""The commands that look at drafts, and the one that goes through them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec import Struct

from memory_pipeline.cli.place import EXIT_DONE, EXIT_FAILED, JSON_OPTION, Place, find_one, open_app
from memory_pipeline.cli.thread_commands import find_thread
from memory_pipeline.errors import MemoryPipelineError, UsageError
from memory_pipeline.records import MEMORIES_THREAD, Draft, DraftLabel, Readiness, ReviewStatus

if TYPE_CHECKING:
    from memory_pipeline.app import App
    from memory_pipeline.cli.review_screen import Near
    from memory_pipeline.review.foreign import ForeignDrafts
    from memory_pipeline.review.labels import Known

SESSION_OPTION = click.option("--session", "session", metavar="THREAD", help="Of this session; by default the latest.")
ALL_OPTION = click.option("--all", "of_all", is_flag=True, help="Of all sessions.")
MEMORY_OPTION = click.option(
    "--memory",
    "given",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Compare with the statements of this JSON file instead of the memories; stores nothing.",
)


def filter_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that choose drafts by what they are."""
    for option in (
        click.option(
            "--review-status", type=click.Choice([one.value for one in ReviewStatus]), help="Only this status."
        ),
        click.option(
            "--readiness", type=click.Choice([one.value for one in Readiness]), help="Only of this readiness."
        ),
        click.option("--label", type=click.Choice([one.value for one in DraftLabel]), help="Only with this label."),
    ):
        command = option(command)
    return command


@click.group()
def drafts() -> None:
    """Review what sessions said before it is remembered."""


class Taken(Struct, frozen=True, kw_only=True):
    """The drafts that a command is about, and which session it took them from."""

    drafts: Sequence[Draft]
    thread_id: str | None  # None: of all sessions
    how: str  # "named", "latest", "all", or "none" when there is no draft at all

    @property
    def document(self) -> dict[str, Any]:
        """Say which session was taken."""
        return {"thread_id": self.thread_id, "taken": self.how}


@drafts.command("status")
@SESSION_OPTION
@ALL_OPTION
@MEMORY_OPTION
@JSON_OPTION
@click.pass_obj
def drafts_status(place: Place, *, session: str | None, of_all: bool, given: Path | None, as_json: bool) -> int:
    """Count the drafts of a session by label, readiness and status, and those that wait in all."""
    from memory_pipeline.cli import draft_view, output

    with open_reviewed(place) as app:
        taken = take(app, place, session=session, of_all=of_all)
        shown = relabelled(app, taken.drafts, given_known(given))
        waiting = app.store.drafts.count_queue()
        dropped = app.store.drafts.count_dropped()
        foreign = foreign_files(app)
    document = {
        **taken.document,
        **draft_view.counts_document(shown),
        "waiting": waiting,
        "dropped": dropped,
        "of_other_tools": draft_view.foreign_document(foreign, place.command),
    }
    if as_json:
        output.print_json(document)
        return EXIT_DONE
    tell_taken(taken)
    draft_view.print_counts(document)
    click.echo(f"In all:    {output.drafts_wait(waiting, place.command) if waiting else 'nothing waits for you'}")
    if dropped:
        click.echo(f"Dropped:   {dropped} left the queue undecided: `{place.command('drafts list --dropped')}`")
    draft_view.tell_foreign(foreign, place.command)
    return EXIT_DONE


@drafts.command("list")
@SESSION_OPTION
@ALL_OPTION
@filter_options
@click.option("--dropped", is_flag=True, help="Those that left the queue undecided, of all sessions.")
@MEMORY_OPTION
@JSON_OPTION
@click.pass_obj
def drafts_list(
    place: Place,
    *,
    session: str | None,
    of_all: bool,
    label: str | None,
    readiness: str | None,
    review_status: str | None,
    dropped: bool,
    given: Path | None,
    as_json: bool,
) -> int:
    """List the drafts of a session."""
    from memory_pipeline.cli import draft_view, output

    with open_reviewed(place) as app:
        taken = take(app, place, session=session, of_all=of_all or (dropped and session is None))
        shown = relabelled(app, taken.drafts, given_known(given))
        foreign = foreign_files(app)
    shown = [
        draft
        for draft in shown
        if fits(draft, label=label, readiness=readiness, review_status=review_status) and (draft.dropped or not dropped)
    ]
    if as_json:
        output.print_json(
            {
                **taken.document,
                "drafts": [draft_view.draft_document(draft) for draft in shown],
                "of_other_tools": draft_view.foreign_document(foreign, place.command),
            }
        )
        return EXIT_DONE
    tell_taken(taken)
    draft_view.print_foreign(foreign, place.command)
    if not shown:
        click.echo(f"No such drafts. `{place.command('drafts status')}` counts those that there are.")
        return EXIT_DONE
    draft_view.print_drafts(shown)
    return EXIT_DONE


@drafts.command("review")
@click.option("--session", metavar="THREAD", help="Only the drafts of this session; by default all that wait.")
@MEMORY_OPTION
@click.pass_obj
def drafts_review(place: Place, *, session: str | None, given: Path | None) -> int:
    """Go through the drafts that wait, one key a decision. Needs a terminal.

    Each decision is stored at once: quit any time, and go on later.
    """
    from memory_pipeline.cli import terminal
    from memory_pipeline.cli.draft_view import tell_foreign
    from memory_pipeline.cli.review_screen import ReviewScreen
    from memory_pipeline.review.sitting import Sitting

    if not terminal.is_terminal():
        raise UsageError(
            f"this needs a terminal; without one, `{place.command('drafts list')}` shows the drafts, and "
            f"`{place.command('drafts approve --entry ENTRY')}` or `… reject --entry ENTRY` decides"
        )
    with open_reviewed(place) as app:
        thread_id = None if session is None else session_id(app, session, place)
        known = given_known(given)
        foreign = foreign_files(app)
        sitting = Sitting(app.review(), app.store.drafts, defer_days=app.config.review.defer_days, thread_id=thread_id)
        screen = ReviewScreen(
            sitting,
            near=_nearest(app, known),
            read_back=app.read_back,
            relabel=lambda draft: relabelled(app, [draft], known)[0],
            note_fault=lambda note: note_fault(app, note),
        )
        try:
            terminal.show(screen)
        finally:
            write_files(app, sitting.touched)
            _tell_sitting(place, sitting)
            tell_foreign(foreign, place.command)
    return EXIT_DONE


def _nearest(app: App, known: Sequence[Known] | None) -> Callable[[Draft], Sequence[Near]]:
    from memory_pipeline.cli.output import short_time
    from memory_pipeline.cli.review_screen import Near

    given = {one.known_id: one for one in known or ()}

    def find(draft: Draft) -> Sequence[Near]:
        found = []
        for known_id in draft.nearest:
            memory = app.store.memories.get(known_id) if known is None else None
            if memory is not None:
                about = f"{memory.kind}, last said {short_time(memory.last_confirmed)[:10]}"
                about += f", {memory.status_now}" if memory.status_now != "active" else ""
                found.append(
                    Near(known_id=known_id, statement=memory.statement, condition=memory.condition, about=about)
                )
            elif known_id in given:
                one = given[known_id]
                found.append(Near(known_id=known_id, statement=one.statement, condition=one.condition))
        return found

    return find


def _tell_sitting(place: Place, sitting: Any) -> None:
    from memory_pipeline.cli.output import counted, drafts_wait

    sitting.look()
    decided = sitting.decided
    told = counted({status.value: count for status, count in decided.items()})
    left = sitting.left + sitting.skipped
    waiting = f"; {drafts_wait(left, place.command)}" if left else ""
    click.echo(f"Decided: {told or 'nothing'}{waiting}.")
    if decided.get(ReviewStatus.APPROVED):
        click.echo(
            f"`{place.command('run')}` takes in what you approved; `{place.command('drafts undo')}` takes it back."
        )


@drafts.command("export")
@SESSION_OPTION
@MEMORY_OPTION
@click.option("--output", "target", metavar="FILE", type=click.Path(path_type=Path), help="Write it there instead.")
@JSON_OPTION
@click.pass_obj
def drafts_export(place: Place, *, session: str | None, given: Path | None, target: Path | None, as_json: bool) -> int:
    """Print the draft document of a session, in the shape of memory-drafts/*.json."""
    from memory_pipeline.cli import output
    from memory_pipeline.files import write_whole
    from memory_pipeline.review.documents import encode
    from memory_pipeline.review.files import session_document

    with open_reviewed(place) as app:
        taken = take(app, place, session=session)
        shown = relabelled(app, taken.drafts, given_known(given))
        document = session_document(app.store, taken.thread_id, shown) if taken.thread_id is not None else None
    if document is None:
        raise UsageError(f"there are no drafts to export; `{place.command('drafts list --all')}` shows those there are")
    if given is not None:
        document["memory_input"] = str(given)
    tell_taken(taken, may_take_all=False)
    if target is None:
        output.print_json(document)
        return EXIT_DONE
    try:
        write_whole(target, encode(document))
    except OSError as error:
        raise UsageError(f"{target}: {error.strerror or error}") from error
    if as_json:
        output.print_json({**taken.document, "output": str(target), "drafts": len(shown)})
    else:
        click.echo(f"{output.printable(str(target))}: {len(shown)} drafts")
    return EXIT_DONE


@drafts.command("sync-list")
@SESSION_OPTION
@JSON_OPTION
@click.pass_obj
def drafts_sync_list(place: Place, *, session: str | None, as_json: bool) -> int:
    """Print the sync list of a session: what is approved and ready, and is new, refines or confirms."""
    from memory_pipeline.cli import output
    from memory_pipeline.review.documents import sync_document, sync_name

    with open_reviewed(place) as app:
        taken = take(app, place, session=session)
        extraction = app.store.extractions.get(taken.thread_id) if taken.thread_id is not None else None
        listed = sync_document(extraction, taken.drafts) if extraction is not None else None
        path = app.config.state_path / sync_name(taken.thread_id) if taken.thread_id is not None else None
    if not as_json:
        tell_taken(taken, may_take_all=False)
    if as_json:
        output.print_json(listed)  # null while there is none
        return EXIT_DONE
    if listed is None:
        click.echo("There is no sync list, since nothing of this session is approved and ready.")
        return EXIT_DONE
    for entry in listed["entries"]:
        click.echo(f"{entry['label']:8} {entry['id']}  {output.printable(entry['statement'])}")
    click.echo(f"\n{listed['approved_ready_count']} in {output.printable(str(path))}")
    return EXIT_DONE


@drafts.command("self-test")
@JSON_OPTION
@click.pass_obj
def drafts_self_test(place: Place, *, as_json: bool) -> int:
    """Check the rules of the review on built-in cases, in a temporary folder. Ends with 1 when one fails."""
    from memory_pipeline.cli import output
    from memory_pipeline.review.selftest import run_checks

    del place  # it looks at nothing of the person's
    checks = run_checks()
    failed = [check for check in checks if not check.holds]
    if as_json:
        document = [{"name": check.name, "holds": check.holds, "found": check.found} for check in checks]
        output.print_json({"ok": not failed, "checks": document})
    else:
        for check in failed:
            click.echo(f"FAILED  {check.name}: {check.found}")
        click.echo(f"{len(checks) - len(failed)} of {len(checks)} checks hold.")
    return EXIT_FAILED if failed else EXIT_DONE


# --- what several of them need ---


@contextmanager
def open_reviewed(place: Place) -> Iterator[App]:
    """Open the parts: edited draft files are taken in, and every draft is labelled against what is remembered now."""
    from memory_pipeline.cli.output import say

    with open_app(place.load()) as app:
        for problem in app.review_with_files().problems:
            say(problem)
        yield app


def write_files(app: App, thread_ids: Iterable[str]) -> None:
    """Write the draft files and sync lists of sessions anew. What can't be written, the next run writes."""
    from memory_pipeline.cli.output import say

    for thread_id in sorted(set(thread_ids) - {MEMORIES_THREAD}):
        try:
            problems = app.write_session_files(thread_id).problems
        except (OSError, MemoryPipelineError) as error:
            problems = (f"the files of the review could not be written, the next run does it: {error}",)
        for problem in problems:
            say(problem)


def take(app: App, place: Place, *, session: str | None, of_all: bool = False) -> Taken:
    """Return the drafts of the session that is named, of the latest, or of all.

    Raises:
        UsageError: there is no such session, or both are asked for.
    """
    if session is not None and of_all:
        raise UsageError("--session and --all exclude each other; leave one out")
    if session == MEMORIES_THREAD:
        about = [draft for draft in app.store.drafts.every() if draft.merges]
        return Taken(drafts=about, thread_id=MEMORIES_THREAD, how="named")
    if session is not None:
        thread_id, how = session_id(app, session, place), "named"
    elif of_all:
        return Taken(drafts=app.store.drafts.every(), thread_id=None, how="all")
    else:
        latest = app.store.drafts.latest_thread()
        if latest is None:
            return Taken(drafts=(), thread_id=None, how="none")
        thread_id, how = latest, "latest"
    return Taken(drafts=app.store.drafts.every(thread_id=thread_id), thread_id=thread_id, how=how)


def session_id(app: App, name: str, place: Place) -> str:
    """Find the session that an id, or its beginning, names; the drafts about memories have one for themselves."""
    if name == MEMORIES_THREAD:
        return name
    try:
        return find_thread(app, name, place).thread_id
    except UsageError:
        for one in foreign_files(app):
            if one.session_id == name:
                raise UsageError(
                    f"{one.path}: another tool wrote these {len(one.entries)} drafts, and nothing of their session is "
                    f"known here, so they can't be decided here; {one.how(place.command)}"
                ) from None
        raise


def foreign_files(app: App) -> Sequence[ForeignDrafts]:
    """Return the draft files of other tools, about sessions of which nothing was drafted here."""
    from memory_pipeline.review.foreign import foreign_drafts

    return foreign_drafts(app.config, app.store)


def tell_taken(taken: Taken, *, may_take_all: bool = True) -> None:
    """Say which session was taken, where none was named; ``may_take_all`` when the command has --all."""
    from memory_pipeline.cli.output import say

    if taken.how == "latest":
        all_of_them = ", --all takes all" if may_take_all else ""
        say(f"of the latest session with drafts, {taken.thread_id}; --session THREAD names another{all_of_them}")
    elif taken.how == "none":
        say("there are no drafts yet")


def find_draft(app: App, name: str, place: Place) -> Draft:
    """Find the draft that an entry's id, or its beginning, names.

    Raises:
        UsageError: there is none, the beginning fits several, or the entry was withdrawn.
    """
    store = app.store.drafts
    listing = place.command("drafts list --all")
    found = find_one(name, store.get, store.find_by_prefix, noun="draft", listing=listing)
    if found.carried_out is not None:
        undo = place.command(f"memory undo {found.carried_out}")
        raise UsageError(
            f"{found.entry.entry_id} was carried out by consolidation {found.carried_out}; `{undo}` undoes it"
        )
    if not found.is_said and found.merges:
        raise UsageError(
            f"{found.entry.entry_id} is about memories of which one is told no longer; "
            f"`{place.command('memory distill')}` looks anew"
        )
    if not found.is_said:
        raise UsageError(
            f"{found.entry.entry_id} was withdrawn: its session no longer says it, so there is nothing to decide; "
            f"`{listing}` shows what is said"
        )
    return found


def note_fault(app: App, text: str) -> str | None:
    """Say why a note is not to be kept, None when it may be."""
    if not app.forgets_words(text):
        return None
    return (
        "the note holds words that you had forgotten for good (forget --match); "
        f"to allow them again, delete the file of that day in {app.config.tombstones_path}"
    )


def given_known(path: Path | None) -> Sequence[Known] | None:
    """Read the statements to compare with, None where the memories are compared with."""
    from memory_pipeline.review.given import read_known

    return None if path is None else read_known(path)


def relabelled(app: App, found: Sequence[Draft], known: Sequence[Known] | None) -> Sequence[Draft]:
    """Return drafts as they are shown: labelled against what was given, where something was."""
    return found if known is None else app.review().relabelled(found, known)


def fits(draft: Draft, *, label: str | None, readiness: str | None, review_status: str | None) -> bool:
    """Whether a draft is one of those that the options choose."""
    asked = ((draft.label, label), (draft.readiness, readiness), (draft.review_status, review_status))
    return all(wanted is None or wanted == value for value, wanted in asked)
