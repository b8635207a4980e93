"""The commands that take words out of everything that is kept: forget, and redact --rescan."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from memory_pipeline.cli.memory_commands import find_memory
from memory_pipeline.cli.place import EXIT_DONE, EXIT_FAILED, JSON_OPTION, Place, find_one, open_app
from memory_pipeline.cli.thread_commands import find_thread
from memory_pipeline.errors import UsageError

if TYPE_CHECKING:
    from memory_pipeline.app import App
    from memory_pipeline.forget.forgetting import Plan
    from memory_pipeline.forget.receipt import Receipt
    from memory_pipeline.forget.selection import Selector

_NAMES = {
    "threads": "sessions",
    "entries": "entries",
    "memories": "memories",
    "reworded": "memories worded anew, because others support them",
    "summaries": "summaries of sessions made anew from what is left",
    "history": "steps of the history",
    "journal_lines": "lines of the journal",
    "settings": "settings of their own (what was switched off stays off)",
    "handbook_lines": "lines of yours in MEMORY.md",
    "notes": "notes in extensions/ad_hoc",
    "review_files": "packets, files of drafts and what was kept aside of them, deleted or written anew",
    "backups": "backups, and older databases and journals in the state folder, deleted whole",
}


@click.command()
@click.option("--thread", metavar="THREAD", help="A session: all that it said, and it is never extracted again.")
@click.option("--entry", metavar="ENTRY", help="One entry; its lines are never evidence again.")
@click.option("--memory", metavar="ID", help="A memory, its entries and its history.")
@click.option("--scope", metavar="SCOPE", help="All of a project (project:KEY), or all that holds everywhere (user).")
@click.option("--match", metavar="TEXT", help="Whatever holds these words, now or later.")
@click.option("--dry-run", is_flag=True, help="Show exactly what goes, and change nothing.")
@click.option("--yes", is_flag=True, help="Don't ask.")
@JSON_OPTION
@click.pass_obj
def forget(place: Place, /, *, dry_run: bool, yes: bool, as_json: bool, **named: str | None) -> int:
    """Delete words from everywhere they are kept, for good: they don't come back from the logs or from a backup.

    What others support stays. The session logs themselves are not yours to lose here: they are never touched.
    """
    from memory_pipeline.cli import output

    if sum(value is not None for value in named.values()) != 1:
        raise UsageError("name one of --thread, --entry, --memory, --scope, --match")
    may_ask = sys.stdin.isatty() and not as_json
    if not (dry_run or yes or may_ask):
        raise UsageError("forgetting can't be undone: add --yes, or --dry-run to see what goes")
    with open_app(place.load()) as app:
        selector = _selector(app, place, named)
        forgetting = app.forgetting()
        if dry_run or not yes:
            plan = forgetting.plan(selector)
            if as_json:
                output.print_json(_plan_document(plan))
            else:
                _print_plan(plan)
            if dry_run:
                return EXIT_DONE
            if not click.confirm("Forget all of this? It can't be undone", err=True):
                output.say("nothing was forgotten")
                return EXIT_DONE
        receipt = forgetting.forget(selector)
    return _tell(receipt, place, verb="forgotten", as_json=as_json)


@click.command()
@click.option("--rescan", is_flag=True, required=True, help="Apply today's rules to everything that is stored.")
@click.option("--dry-run", is_flag=True, help="Count what would be masked, and change nothing.")
@JSON_OPTION
@click.pass_obj
def redact(place: Place, *, rescan: bool, dry_run: bool, as_json: bool) -> int:
    """Mask the secrets that today's rules find in what earlier versions stored."""
    from memory_pipeline.cli import output

    del rescan
    with open_app(place.load()) as app:
        rescanning = app.rescanning()
        if dry_run:
            counts = rescanning.count()
            if as_json:
                output.print_json({"masked": counts})
            else:
                click.echo(f"Would be masked: {output.counted(counts) or 'nothing'}.")
            return EXIT_DONE
        receipt = rescanning.rescan()
    return _tell(receipt, place, verb="masked", as_json=as_json)


def _selector(app: App, place: Place, named: Mapping[str, str | None]) -> Selector:
    from memory_pipeline.forget.selection import Selector, check_match

    thread, entry, memory, match, scope = (named[name] for name in ("thread", "entry", "memory", "match", "scope"))
    if match is not None:
        check_match(match)
    if scope is not None and not _is_known_scope(app, scope):
        raise UsageError(f"nothing is of the scope {scope}; `{place.command('memory list')}` shows the scopes")
    if entry is not None:
        kept = app.store.forgetting.kept().entries
        entry = find_one(
            entry,
            lambda name: name if name in kept else None,
            lambda prefix, limit: [name for name in kept if name.startswith(prefix)][:limit],
            noun="entry",
            listing=place.command("threads show THREAD --json"),
        )
    return Selector(
        thread=find_thread(app, thread, place).thread_id if thread is not None else None,
        entry=entry,
        memory=find_memory(app, memory, place).memory_id if memory is not None else None,
        scope=scope,
        match=match,
    )


def _is_known_scope(app: App, scope: str) -> bool:
    kept = app.store.forgetting.kept()
    if any(row.target == scope for row in kept.settings):
        return True
    return any(one.scope == scope for group in (kept.entries, kept.memories, kept.threads) for one in group.values())


def _plan_document(plan: Plan) -> dict[str, Any]:
    kept, erasure = plan.kept, plan.erasure
    return {
        "counts": plan.counts,
        "threads": [{"thread_id": name, "title": kept.threads[name].title} for name in sorted(erasure.threads)],
        "entries": [
            {"entry_id": name, "scope": kept.entries[name].scope, "statement": kept.entries[name].statement}
            for name in kept.entries
            if name in erasure.entries
        ],
        "memories": [
            {"memory_id": name, "scope": kept.memories[name].scope, "statement": kept.memories[name].statement}
            for name in sorted(erasure.memories)
        ],
        "reworded": [
            {"memory_id": name, "before": kept.memories[name].statement, "after": memory.statement}
            for name, memory in sorted(erasure.reworded.items())
            if memory.statement != kept.memories[name].statement
        ],
        "summaries": sorted(erasure.remains),
        "journal_lines": [record.record_id for record in plan.journal_records],
        "handbook_lines": list(plan.found.handbook_lines),
        "notes": list(plan.found.notes),
        "review_files": [str(path) for path in plan.review_files],
        "backups": [str(path) for path in plan.backups],
    }


def _print_plan(plan: Plan) -> None:
    from memory_pipeline.cli import output

    document = _plan_document(plan)
    goes = [f"  {_NAMES[name]}: {count}" for name, count in document["counts"].items() if count]
    click.echo("\n".join(["This goes:", *goes] if goes else ["Nothing that is stored goes."]))
    for thread in document["threads"]:
        click.echo(f"- session {output.printable(thread['thread_id'])}: {output.printable(thread['title'] or '')}")
    for noun, name in (("entry", "entries"), ("memory", "memories")):
        for one in document[name]:
            scope, statement = output.printable(one["scope"]), output.printable(one["statement"])
            click.echo(f"- {noun} {one[f'{noun}_id']} ({scope}): {statement}")
    for one in document["reworded"]:
        before, after = output.printable(one["before"]), output.printable(one["after"])
        click.echo(f"- worded anew {one['memory_id']}: {before} -> {after}")
    for line in document["handbook_lines"]:
        click.echo(f"- line of MEMORY.md: {output.printable(line)}")
    for path in (*document["notes"], *document["review_files"], *document["backups"]):
        click.echo(f"- file {output.printable(path)}")


def _tell(receipt: Receipt, place: Place, *, verb: str, as_json: bool) -> int:
    from memory_pipeline.cli import output

    if as_json:
        output.print_json(
            {
                "counts": dict(receipt.counts),
                "searched_for": receipt.searched_for,
                "places": dict(receipt.places),
                "still_hold": list(receipt.still_hold),
                "unread": list(receipt.unread),
                "not_searched": list(receipt.not_searched),
                "notes": list(receipt.notes),
            }
        )
    else:
        _print_receipt(receipt, place, verb)
    return EXIT_DONE if receipt.is_clean else EXIT_FAILED


def _print_receipt(receipt: Receipt, place: Place, verb: str) -> None:
    from memory_pipeline.cli import output

    counts = [f"{_NAMES.get(name, name)}: {count}" for name, count in receipt.counts.items() if count]
    click.echo(f"{verb.capitalize()}. {'; '.join(counts) or 'Nothing of it was stored'}.")
    for folder, files in receipt.places.items():
        click.echo(f"Searched {files} files in {output.printable(folder)}.")
    if receipt.is_clean:
        what = f"None of {receipt.searched_for} words and phrases that nothing left holds was found."
        click.echo(what if receipt.searched_for else "Nothing to search for: what is left holds all of the words too.")
    for path in receipt.still_hold:
        click.echo(
            f"Still holds some of the words: {output.printable(path)}; it is not ours to change. Delete it, or edit it."
        )
    for path in receipt.unread:
        click.echo(f"Could not be searched: {output.printable(path)}")
    for what in receipt.not_searched:
        click.echo(f"Not searched, not touched: {output.printable(what)}")
    for note in receipt.notes:
        output.say(note)
    if not receipt.is_clean:
        output.say(f"memory-pipeline: not all is clean; `{place.command('status')}` shows where things are")
