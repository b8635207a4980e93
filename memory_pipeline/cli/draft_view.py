"""What the commands about drafts print."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from memory_pipeline.cli.output import counted, entry_document, print_table, printable, say
from memory_pipeline.clock import iso
from memory_pipeline.records import Draft
from memory_pipeline.redact import redact
from memory_pipeline.visible import visible

if TYPE_CHECKING:
    from memory_pipeline.review.foreign import ForeignDrafts


def draft_document(draft: Draft) -> dict[str, Any]:
    """Return one draft as the commands print it."""
    entry = entry_document(draft.entry, draft)
    evidence = entry.pop("evidence")
    return {
        **entry,
        "thread_id": draft.entry.thread_id,
        "readiness": draft.readiness,
        "coverage": draft.coverage,
        "rationale": draft.rationale,
        "nearest": list(draft.nearest),
        "decided_by": draft.decided_by,
        "review_note": draft.review_note,
        "reviewed_at": iso(draft.reviewed_at),
        "deferred_until": iso(draft.deferred_until),
        "review_log": [{"at": iso(one.at), "status": one.status, "note": one.note} for one in draft.review_log],
        "collaborator_notes": list(draft.collaborator_notes),
        "collaborator_evidence": list(draft.collaborator_evidence),
        "drafted_at": iso(draft.drafted_at),
        "dropped": draft.dropped,
        "merges": list(draft.merges),
        "carried_out": draft.carried_out,
        "evidence": evidence,
    }


def counts_document(drafts: Sequence[Draft]) -> dict[str, Any]:
    """Return how many drafts there are of each label, readiness and status."""
    return {
        "drafts": len(drafts),
        "label_counts": _counts(draft.label.value for draft in drafts),
        "readiness_counts": _counts(draft.readiness.value for draft in drafts),
        "review_counts": _counts(draft.review_status.value for draft in drafts),
    }


def print_counts(document: Mapping[str, Any]) -> None:
    """Print counts as sentences."""
    click.echo(f"Drafts:    {document['drafts']}")
    for name, key in (("Labels", "label_counts"), ("Readiness", "readiness_counts"), ("Review", "review_counts")):
        if document[key]:
            click.echo(f"{name + ':':11}{counted(document[key])}")


def print_drafts(drafts: Sequence[Draft]) -> None:
    """Print drafts as a table."""
    rows = [
        (
            draft.entry.entry_id,
            draft.label.value,
            # What waits says what it needs; of the rest, what was decided says more.
            draft.readiness.value if draft.review_status == "pending" else draft.review_status.value,
            _said(draft),
        )
        for draft in drafts
    ]
    print_table(("entry", "label", "state", "statement"), rows, flexible=["statement"])


def print_decided(drafts: Iterable[Draft], done: str) -> None:
    """Print what was decided, one line a draft."""
    for draft in drafts:
        click.echo(f"{done} {draft.entry.entry_id}: {_said(draft)}")


def foreign_document(found: Sequence[ForeignDrafts], command: Callable[[str], str]) -> list[dict[str, Any]]:
    """Return the draft files of other tools as the commands print them."""
    return [
        {
            "path": str(one.path),
            "session_id": one.session_id,
            "entries": [
                {
                    "id": entry.entry_id,
                    "statement": entry.statement,
                    "label": entry.label,
                    "review_status": entry.review_status,
                }
                for entry in one.entries
            ],
            "how": one.how(command),
        }
        for one in found
    ]


def print_foreign(found: Sequence[ForeignDrafts], command: Callable[[str], str]) -> None:
    """Print what the draft files of other tools say, and how their sessions become drafts here."""
    for one in found:
        tell_foreign([one], command)
        rows = [(entry.entry_id, entry.label, entry.review_status, visible(entry.statement)) for entry in one.entries]
        print_table(("entry", "label", "state", "statement"), rows, flexible=["statement"])
        click.echo()


def tell_foreign(found: Sequence[ForeignDrafts], command: Callable[[str], str]) -> None:
    """Say that there are draft files of other tools, and how their sessions become drafts here."""
    for one in found:
        say(
            printable(
                f"{one.path}: {len(one.entries)} drafts that another tool wrote about session {one.session_id}, of "
                f"which nothing was drafted here, so they can't be decided here; {one.how(command)}"
            )
        )


def _said(draft: Draft) -> str:
    condition = f"{draft.entry.condition}: " if draft.entry.condition else ""
    return visible(redact(f"{condition}{draft.entry.statement}").text).replace("\n", " ")


def _counts(values: Iterable[str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for value in values:
        counts[value] = counts.get(value, 0) + 1
    return counts
