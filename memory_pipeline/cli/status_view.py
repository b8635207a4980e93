"""The status at a glance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from memory_pipeline.cli.output import counted, drafts_wait, printable
from memory_pipeline.clock import DAY_SECONDS, WEEK_SECONDS, iso
from memory_pipeline.config import Config
from memory_pipeline.phase1.gates import quota_is_low
from memory_pipeline.store.store import Store


def status_document(config: Config, store: Store, *, now: float) -> dict[str, Any]:
    """Gather what ``status`` shows."""
    rest = store.jobs.provider_rest(config.model.provider)
    is_resting = rest.rest_until is not None and rest.rest_until > now
    last = store.memories.last_consolidation()
    success = store.memories.last_success()
    limits = store.threads.rate_limits()
    retries = [store.jobs.next_retry_at(now=now), rest.rest_until if is_resting else None]
    next_retry_at = max((at for at in retries if at is not None), default=None) if retries[0] is not None else None
    return {
        "state_dir": config.state_dir,
        "memories_dir": config.memories_dir,
        "provider": config.model.provider,
        "generate_memories": config.settings.generate_memories,
        "threads": store.jobs.counts_by_state(),
        "held_back": store.threads.gate_counts(),
        "due": store.jobs.count_due(now=now),
        "next_retry_at": iso(next_retry_at),
        "provider_rests_until": iso(rest.rest_until) if is_resting else None,
        "provider_rest_reason": rest.reason if is_resting else None,
        "memories": store.memories.counts_by_status(),
        "drafts": {"waiting": store.drafts.count_queue()},
        "last_consolidation": {
            "finished_at": iso(success.finished_at) if success else None,
            "last_state": last.state if last else None,
            "error": last.error if last and last.state != "done" else None,
            "retry_at": iso(last.retry_at) if last and last.state != "done" else None,
        },
        "tokens": {
            "last_day": store.ledger.spent(since=now - DAY_SECONDS),
            "last_week": store.ledger.spent(since=now - WEEK_SECONDS),
            "daily_cap": config.budget.daily_tokens,
            "weekly_cap": config.budget.weekly_tokens,
        },
        "rate_limit": {
            "snapshots": len([limit for limit in limits if limit.resets_at is not None and limit.resets_at > now]),
            "holds_paid_work": quota_is_low(config, limits, now=now),
        },
    }


def print_status(document: dict[str, Any], command: Callable[[str], str]) -> None:
    """Print the status as sentences."""
    threads = document["threads"]
    click.echo(f"State:     {document['state_dir']}")
    click.echo(f"Memories:  {document['memories_dir']} ({counted(document['memories']) or 'none yet'})")
    click.echo(f"Provider:  {document['provider']}")
    click.echo(f"Sessions:  {counted(threads) or 'none indexed yet'}; {document['due']} due now")
    if document["held_back"]:
        click.echo(f"Held back: {counted(document['held_back'])}")
    if not document["generate_memories"]:
        click.echo("Switch:    settings.generate_memories is false, so nothing is extracted")
    if threads.get("error") or threads.get("exhausted"):
        click.echo(f"Failed:    see `{command('threads list --state error')}` and `… --state exhausted`")
    if document["next_retry_at"]:
        click.echo(f"Retry:     the next waiting session is due at {document['next_retry_at']}")
    if document["provider_rests_until"]:
        click.echo(f"Resting:   nothing is sent until {document['provider_rests_until']}")
        click.echo(f"           {printable(document['provider_rest_reason'] or 'no reason is known')}")
    _print_drafts(document["drafts"], command)
    _print_consolidation(document["last_consolidation"])
    _print_cost(document)


def _print_drafts(drafts: dict[str, Any], command: Callable[[str], str]) -> None:
    if drafts["waiting"]:
        click.echo(f"Review:    {drafts_wait(drafts['waiting'], command)}")


def _print_consolidation(last: dict[str, Any]) -> None:
    click.echo(f"Published: {last['finished_at'] or 'never'}")
    if last["error"]:
        when = f"; next try at {last['retry_at']}" if last["retry_at"] else ""
        click.echo(f"           the last consolidation failed: {printable(last['error'])}{when}")


def _print_cost(document: dict[str, Any]) -> None:
    tokens = document["tokens"]
    if document["provider"] != "openai" and not tokens["last_week"]:
        return
    caps = f"{tokens['daily_cap'] or 'no cap'} a day, {tokens['weekly_cap'] or 'no cap'} a week"
    click.echo(f"Tokens:    {tokens['last_day']} in the last day, {tokens['last_week']} in seven days ({caps})")
    rate_limit = document["rate_limit"]
    if rate_limit["holds_paid_work"]:
        click.echo("Quota:     an agent's own quota is low: paid work holds")
    elif not rate_limit["snapshots"]:
        click.echo("Quota:     no current rate-limit snapshot in the logs, so none holds paid work")
