"""The command with which others report what they used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from memory_pipeline.cli.place import EXIT_DONE, EXIT_FAILED, JSON_OPTION, Place, find_one, open_app
from memory_pipeline.cli.seeing_commands import moment
from memory_pipeline.errors import UsageError

if TYPE_CHECKING:
    from memory_pipeline.app import App


@click.group()
def usage() -> None:
    """Report what was used: it counts in selection, ranking and retention."""


@usage.command("record")
@click.option("--memory", "memories", multiple=True, metavar="ID", help="A memory that was used; may be repeated.")
@click.option("--thread", "threads", multiple=True, metavar="ID", help="A session that was used; may be repeated.")
@click.option(
    "--at", "written", metavar="TIME", help="When: a date, a time in UTC, or a span such as 2h; by default now."
)
@JSON_OPTION
@click.pass_obj
def usage_record(
    place: Place, *, memories: tuple[str, ...], threads: tuple[str, ...], written: str | None, as_json: bool
) -> int:
    """Count one use of each memory and session that is named. IDs may be shortened.

    What is not known is reported, and ends the command with 1; the others are recorded all the same.
    """
    from memory_pipeline.cli import output

    if not memories and not threads:
        raise UsageError("name what was used: --memory ID or --thread ID, or several")
    with open_app(place.load()) as app:
        now = app.clock.now()
        at = now if written is None else moment(written, option="--at", now=now)
        if at > now:
            raise UsageError(f"--at: {written} has not come yet")
        known, problems = _find(app, place, memories, threads)
        app.record_uses(known, origin="command", distinct=now, at=at)
        recorded = [_document(app, subject, subject_id) for subject, subject_id in known]
    for problem in problems:
        output.say(f"memory-pipeline: {output.printable(problem)}")
    if as_json:
        output.print_json({"recorded": recorded, "problems": problems})
    else:
        for one in recorded:
            name = one.get("memory_id") or one.get("thread_id")
            click.echo(f"{name}: used {one['usage_count']} times, last {one['last_usage']}")
    return EXIT_FAILED if problems else EXIT_DONE


def _find(
    app: App, place: Place, memories: tuple[str, ...], threads: tuple[str, ...]
) -> tuple[list[tuple[str, str]], list[str]]:
    """Return what is known of all that is named, each once, and what is wrong with the rest."""
    known: dict[tuple[str, str], None] = {}
    problems: list[str] = []
    of_memories, of_threads = app.store.memories, app.store.threads
    for name in memories:
        try:
            listing = place.command("memory list")
            found = find_one(name, of_memories.get, of_memories.find_by_prefix, noun="memory", listing=listing)
            known["memory", found.memory_id] = None
        except UsageError as error:
            problems.append(str(error))
    for name in threads:
        try:
            listing = place.command("threads list")
            thread = find_one(name, of_threads.get, of_threads.find_by_prefix, noun="thread", listing=listing)
            known["thread", thread.thread_id] = None
        except UsageError as error:
            problems.append(str(error))
    return list(known), problems


def _document(app: App, subject: str, subject_id: str) -> dict[str, Any]:
    from memory_pipeline.clock import iso

    used = app.store.extractions.usage(subject, subject_id)
    return {f"{subject}_id": subject_id, "usage_count": used.count, "last_usage": iso(used.last_usage)}
