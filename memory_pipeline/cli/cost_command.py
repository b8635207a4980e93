"""The command ``cost``: what paid calls took by day, project, phase and model, and what the caps leave."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

import click
from msgspec import Struct

from memory_pipeline.cli.place import EXIT_DONE, JSON_OPTION, Place, open_app
from memory_pipeline.clock import DAY_SECONDS, iso, iso_date
from memory_pipeline.config import Config

if TYPE_CHECKING:
    from memory_pipeline.store.ledger import Cap, DayCost
    from memory_pipeline.store.store import Store

NO_PROJECT = "no single project"
_BAR_CHARS = 24


@click.command()
@click.option(
    "--days",
    type=click.IntRange(min=1, max=3_660),
    default=7,
    show_default=True,
    metavar="N",
    help="Today and the N - 1 days before it, by UTC.",
)
@JSON_OPTION
@click.pass_obj
def cost(place: Place, *, days: int, as_json: bool) -> int:
    """Show how many tokens paid calls took, by day, project, phase and model, and what the caps leave."""
    from memory_pipeline.cli import output

    config = place.load()
    with open_app(config) as app:
        document = cost_document(config, app.store, days=days, now=app.clock.now())
    if as_json:
        output.print_json(document)
    else:
        print_cost(document)
    return EXIT_DONE


def cost_document(config: Config, store: Store, *, days: int, now: float) -> dict[str, Any]:
    """Gather what ``cost`` shows. Days are of UTC, like every time that is told."""
    from memory_pipeline.budget import paid_hold, project_caps, project_holds, whole_caps

    since = (now // DAY_SECONDS - days + 1) * DAY_SECONDS
    rows = store.ledger.by_day(since=since)
    hold = paid_hold(config, store, now)
    projects = store.ledger.projects(now=now)
    caps = [*whole_caps(config), *(cap for project in projects for cap in project_caps(config, project))]
    return {
        "days": days,
        "since": iso(since),
        "total": _sum(rows),
        "by_day": _grouped(rows, "day", lambda row: row.day, keys=_days_between(rows, now)),
        "by_project": _grouped(rows, "project", lambda row: row.scope),
        "by_phase": _grouped(rows, "phase", lambda row: row.phase),
        "by_model": _grouped(rows, "model", lambda row: row.model),
        "rows": [
            {"day": row.day, "project": row.scope, "phase": row.phase, "model": row.model, **_sum([row])}
            for row in rows
        ],
        "caps": [_cap_document(store, cap, now=now) for cap in caps],
        "paid_hold": {"reason": hold.reason, "opens_at": iso(hold.opens_at)} if hold else None,
        "project_holds": [
            {"project": project, "reason": one.reason, "opens_at": iso(one.opens_at)}
            for project, one in project_holds(config, store, now).items()
        ],
    }


def _sum(rows: Iterable[DayCost]) -> dict[str, int]:
    rows = list(rows)
    return {
        "requests": sum(row.calls for row in rows),
        "input_tokens": sum(row.input_tokens for row in rows),
        "output_tokens": sum(row.output_tokens for row in rows),
        "unbooked_requests": sum(row.unbooked_calls for row in rows),
        "unbooked_tokens": sum(row.unbooked_tokens for row in rows),
        "tokens": sum(row.tokens for row in rows),
        "estimated_tokens": sum(row.estimated_tokens for row in rows),
        "reported_tokens": sum(row.reported_tokens for row in rows),
    }


def _days_between(rows: Sequence[DayCost], now: float) -> list[str]:
    """Return the days from today, or from a later one in the ledger, back to the first that cost something."""
    if not rows:
        return []
    first, last = date.fromisoformat(rows[-1].day), date.fromisoformat(max(rows[0].day, iso_date(now)))
    return [(last - timedelta(days=back)).isoformat() for back in range((last - first).days + 1)]


def _grouped(
    rows: Sequence[DayCost], name: str, key_of: Callable[[DayCost], str | None], *, keys: Sequence[str] | None = None
) -> list[dict[str, Any]]:
    """Return the sums by a key: those of ``keys`` in their order, or all, the dearest first."""
    groups: dict[str | None, list[DayCost]] = {key: [] for key in keys or ()}
    for row in rows:
        groups.setdefault(key_of(row), []).append(row)
    found = [{name: key, **_sum(group)} for key, group in groups.items()]
    return found if keys else sorted(found, key=lambda one: (-one["tokens"], one[name] or ""))


def _cap_document(store: Store, cap: Cap, *, now: float) -> dict[str, Any]:
    from memory_pipeline.budget import key_of

    used = store.ledger.spent(since=now - cap.window_seconds, scope=cap.scope)
    return {
        "key": key_of(cap),
        "project": cap.scope,
        "tokens": cap.tokens,
        "used": used,
        "left": max(cap.tokens - used, 0),
    }


def print_cost(document: dict[str, Any]) -> None:
    """Print the cost as tables with bars, then the caps."""
    from memory_pipeline.cli.output import printable

    total = document["total"]
    if total["requests"]:
        for name in ("day", "project", "phase", "model"):
            _print_sums(name, document[f"by_{name}"])
        click.echo(
            f"{document['days']} days (UTC): {total['tokens']:,} tokens in {total['requests']:,} requests. For those "
            f"that were answered {total['estimated_tokens']:,} were reserved; the provider told "
            f"{total['reported_tokens']:,}, and {total['input_tokens'] + total['output_tokens']:,} count."
        )
        if total["unbooked_requests"]:
            click.echo(
                f"Requests cut off: {total['unbooked_requests']:,}. Nobody knows what they took, so what was reserved "
                f"for them counts: {total['unbooked_tokens']:,} tokens."
            )
    else:
        click.echo(f"No paid call in the last {document['days']} days (UTC).")
    for cap in document["caps"]:
        of = f" of {printable(cap['project'])}" if cap["project"] else ""
        click.echo(f"Cap: {cap['key']}{of}: {cap['used']:,} of {cap['tokens']:,} used, {cap['left']:,} left.")
    if not document["caps"]:
        click.echo("Cap: none (see [budget] in the configuration).")
    for hold in [*([document["paid_hold"]] if document["paid_hold"] else []), *document["project_holds"]]:
        click.echo(f"Paid work: {printable(hold['reason'])}")


class _Column(Struct, frozen=True, kw_only=True):
    title: str
    key: str


_COLUMNS = (
    _Column(title="requests", key="requests"),
    _Column(title="in", key="input_tokens"),
    _Column(title="out", key="output_tokens"),
    _Column(title="cut off", key="unbooked_tokens"),
    _Column(title="tokens", key="tokens"),
)


def _print_sums(name: str, sums: Sequence[dict[str, Any]]) -> None:
    from memory_pipeline.cli.output import print_table

    most = max(one["tokens"] for one in sums)
    numbers = [[f"{one[column.key]:,}" for column in _COLUMNS] for one in sums]
    widths = [max(len(column.title), *(len(row[at]) for row in numbers)) for at, column in enumerate(_COLUMNS)]
    rows = [
        [
            one[name] or NO_PROJECT,
            *(cell.rjust(width) for cell, width in zip(row, widths, strict=True)),
            _bar(one, most),
        ]
        for one, row in zip(sums, numbers, strict=True)
    ]
    titles = [column.title.rjust(width) for column, width in zip(_COLUMNS, widths, strict=True)]
    print_table([name, *titles, ""], rows, flexible=["", name])  # a name that is cut can still be told, a number can't
    click.echo()


def _bar(one: dict[str, Any], most: int) -> str:
    """Return a bar in plain characters; whatever is more than nothing shows."""
    return "#" * -(-_BAR_CHARS * one["tokens"] // most) if most else ""
