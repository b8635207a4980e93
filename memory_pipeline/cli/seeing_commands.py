"""The commands that look and change nothing: status, log, doctor, metrics."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import click

from memory_pipeline.cli.place import EXIT_DONE, EXIT_FAILED, JSON_OPTION, Place, find_one, open_app
from memory_pipeline.clock import DAY_SECONDS, SystemClock
from memory_pipeline.errors import UsageError

_SPAN = re.compile(r"(\d+)([smhdw])")
_UNIT_SECONDS = {"s": 1.0, "m": 60.0, "h": 3_600.0, "d": DAY_SECONDS, "w": 7 * DAY_SECONDS}


@click.command()
@click.option("--watch", "is_watched", is_flag=True, help="Show it again and again, until Ctrl-C.")
@click.option(
    "--interval",
    type=click.FloatRange(min=0.1),
    metavar="SECONDS",
    help="With --watch: how often; by default every 2 seconds.",
)
@JSON_OPTION
@click.pass_obj
def status(place: Place, *, is_watched: bool, interval: float | None, as_json: bool) -> int:
    """Show at a glance what runs, what waits and why, what failed, and what was done last."""
    from memory_pipeline.cli import output, status_view
    from memory_pipeline.seeing.status import status_document

    config, clock = place.load(), SystemClock()
    if is_watched:
        _watch_status(place, interval_seconds=interval or 2.0, as_json=as_json)
        return EXIT_DONE
    if interval is not None:
        raise UsageError("--interval says how often --watch looks; add --watch")
    document = status_document(config, now=clock.now())
    if as_json:
        output.print_json(document)
    else:
        for line in status_view.status_lines(document, place.command):
            click.echo(line)
    return EXIT_DONE


def _watch_status(place: Place, *, interval_seconds: float, as_json: bool) -> None:
    import orjson

    from memory_pipeline.cli import status_view
    from memory_pipeline.cli.watch import watch
    from memory_pipeline.seeing.folders import folder_problems
    from memory_pipeline.seeing.status import status_document

    config, clock = place.load(), SystemClock()
    problems = folder_problems(config)  # looked for once: it walks through every folder of logs

    def look() -> list[str]:
        document = status_document(config, now=clock.now(), find_folder_problems=lambda _config: problems)
        return [orjson.dumps(document).decode()] if as_json else status_view.status_lines(document, place.command)

    watch(look, interval_seconds=interval_seconds)


@click.command("log")
@click.argument("thread", required=False)
@click.option(
    "--limit", type=click.IntRange(min=1), default=50, show_default=True, metavar="N", help="At most N lines."
)
@click.option(
    "--since", metavar="TIME", help="Only what happened since: a date, a time in UTC, or a span such as 2d or 3h."
)
@JSON_OPTION
@click.pass_obj
def log(place: Place, *, thread: str | None, limit: int, since: str | None, as_json: bool) -> int:
    """Show what was decided for each session, and what the consolidations did, newest first."""
    from memory_pipeline.cli import log_view, output

    with open_app(place.load()) as app:
        at = None if since is None else moment(since, option="--since", now=app.clock.now())
        store, thread_id = app.store, None
        if thread is not None:
            listing = place.command("threads list")
            found = find_one(thread, store.threads.get, store.threads.find_by_prefix, noun="thread", listing=listing)
            thread_id = found.thread_id
        lines = log_view.merged(
            store.chronicle.lines(thread_id=thread_id, since=at, limit=limit),
            store.chronicle.consolidations(thread_id=thread_id, since=at, limit=limit),
        )[:limit]
    if as_json:
        output.print_json([log_view.log_document(line) for line in lines])
    else:
        log_view.print_log(lines, place.command, thread_id=thread_id)
    return EXIT_DONE


@click.command()
@click.pass_obj
def metrics(place: Place) -> int:
    """Print figures for Prometheus, in its text format."""
    from memory_pipeline.errors import StoreError
    from memory_pipeline.seeing.metrics import metrics_text
    from memory_pipeline.store.looking import look_at

    config, now = place.load(), SystemClock().now()
    try:
        store = look_at(config.database_path)
        try:
            text = metrics_text(config, store, now=now)
        finally:
            store.close()
    except StoreError:
        text = metrics_text(config, None, now=now)
    click.echo(text, nl=False)
    return EXIT_DONE


@click.command()
@click.option("--offline", is_flag=True, help="Don't ask the model's server.")
@JSON_OPTION
@click.pass_obj
def doctor(place: Place, *, offline: bool, as_json: bool) -> int:
    """Look at everything that can be wrong, and say what to do about it; changes nothing.

    Exit codes: 0 nothing is broken (there may be warnings), 1 something is.
    """
    from memory_pipeline.cli import doctor_view, output

    findings = []
    for finding in doctor_view.findings_at(place, offline=offline):
        findings.append(finding)
        if not as_json:
            doctor_view.print_finding(finding)
    if as_json:
        output.print_json(doctor_view.doctor_document(findings))
    else:
        doctor_view.print_sum(findings)
    return EXIT_FAILED if doctor_view.is_broken(findings) else EXIT_DONE


def moment(written: str, *, option: str, now: float) -> float:
    """Read the moment that an option names: a span before ``now``, or ISO 8601, in UTC where it names no zone.

    Raises:
        UsageError: it is neither.
    """
    span = _SPAN.fullmatch(written.strip())
    if span:
        return now - int(span.group(1)) * _UNIT_SECONDS[span.group(2)]
    try:
        told = datetime.fromisoformat(written.strip())
    except ValueError:
        raise UsageError(f"{option}: {written!r} is no time; write 2026-10-05, 2026-10-05T12:00Z, 2d or 3h") from None
    return (told if told.tzinfo else told.replace(tzinfo=UTC)).timestamp()
