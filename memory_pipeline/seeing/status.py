"""The status: what runs, what waits and why, what failed, what was done last. It changes nothing.

A database that is missing, damaged or held by another program is itself something to tell.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from memory_pipeline.budget import PaidHold, paid_hold, project_holds, quota_is_low
from memory_pipeline.clock import DAY_SECONDS, WEEK_SECONDS, iso
from memory_pipeline.config import Config
from memory_pipeline.errors import StoreError
from memory_pipeline.lock import Holding, who_holds
from memory_pipeline.phase2.places import workspace_lock_path
from memory_pipeline.records import Gate, JobState
from memory_pipeline.seeing.folders import folder_problems
from memory_pipeline.seeing.words import GATE_REMEDIES, GATE_WORDS
from memory_pipeline.settings import GENERATE, USE, InForce, SettingOrigin, in_force_now
from memory_pipeline.store.looking import DatabaseState, look_at, why_not
from memory_pipeline.store.overview import FailedJobs, RunningJob
from memory_pipeline.store.store import Store

#: How many running sessions and reasons of failures are listed.
_MOST_LISTED = 5
#: In messages of faults: what differs from one thread to the next though the reason is the same.
_PARTICULAR = re.compile(r"(?:/[^\s:]+|\b\d[\d.:TZ-]*)")

_DATABASE_REMEDIES: Mapping[DatabaseState, str] = {
    DatabaseState.MISSING: "`run` makes it",
    DatabaseState.LOCKED: "end the program that holds it, or wait",
    DatabaseState.OLDER: "the next `run` brings it up to date",
    DatabaseState.NEWER: "update this program",
    DatabaseState.BROKEN: "`run` moves it aside and puts a whole one there; `doctor` says more",
    DatabaseState.UNREADABLE: "look at the owner and the mode of the file and its folder",
}


def status_document(
    config: Config,
    *,
    now: float,
    look: Callable[[Path], Store] = look_at,
    find_folder_problems: Callable[[Config], Sequence[str]] = folder_problems,
) -> dict[str, Any]:
    """Gather what ``status`` shows."""
    document = _without_database(config)
    document["folder_problems"] = list(find_folder_problems(config))
    try:
        store = look(config.database_path)
        try:
            in_force = in_force_now(config, store)
            document |= _from_store(in_force.config_for(), store, now)
            document |= _switches(in_force)
        finally:
            store.close()
    except StoreError as error:
        why = why_not(config.database_path, error)
        document["database"] = {
            "state": why.state,
            "problem": str(why),
            "remedy": _DATABASE_REMEDIES.get(why.state, ""),
        }
    return document


def _without_database(config: Config) -> dict[str, Any]:
    """What is known without the database; the rest as it is before anything was done."""
    return {
        "state_dir": config.state_dir,
        "memories_dir": config.memories_dir,
        "provider": config.model.provider,
        "generate_memories": config.settings.generate_memories,
        "use_memories": config.settings.use_memories,
        "own_switches": {"generate_off": {"projects": 0, "threads": 0}, "use_off": {"projects": 0, "threads": 0}},
        "database": {"state": DatabaseState.FINE, "problem": None, "remedy": None},
        "daemon": _holding(config.daemon_lock_path),
        "workspace_lock": _holding(workspace_lock_path(config.workspace_path)),
        "running": [],
        "threads": {},
        "held_back": {},
        "waiting": [],
        "due": 0,
        "next_retry_at": None,
        "next_opening_at": None,
        "failures": [],
        "provider_rests_until": None,
        "provider_rest_reason": None,
        "memories": {},
        "drafts": {"waiting": 0},
        "given": {"last_day": 0, "tokens": 0},
        "last_consolidation": {"finished_at": None, "last_state": None, "error": None, "retry_at": None, "changed": {}},
        "consolidating_since": None,
        "tokens": {
            "last_day": 0,
            "last_week": 0,
            "daily_cap": config.budget.daily_tokens,
            "weekly_cap": config.budget.weekly_tokens,
            "project_daily_cap": config.budget.project_daily_tokens,
            "project_weekly_cap": config.budget.project_weekly_tokens,
        },
        "paid_hold": None,
        "project_holds": [],
        "rate_limit": {"snapshots": 0, "holds_paid_work": False},
    }


def _from_store(config: Config, store: Store, now: float) -> dict[str, Any]:
    rest = store.jobs.provider_rest(config.model.provider)
    rest_until = rest.rest_until if rest.rest_until is not None and rest.rest_until > now else None
    limits = store.threads.rate_limits()
    retry_at = store.jobs.next_retry_at(now=now)
    next_retry_at = None if retry_at is None else max(retry_at, rest_until or 0.0)
    held_back = store.threads.gate_counts()
    hold = paid_hold(config, store, now)
    openings = {gate: _opens_at(Gate(gate), config, store, hold) for gate in held_back}
    return {
        "running": _running(store, now),
        "threads": store.overview.states(),
        "held_back": held_back,
        "waiting": [
            {
                "gate": gate,
                "count": count,
                "why": GATE_WORDS[Gate(gate)],
                "remedy": GATE_REMEDIES.get(Gate(gate)),
                "opens_at": iso(openings[gate]),
            }
            for gate, count in sorted(held_back.items(), key=lambda item: (-item[1], item[0]))
        ],
        "due": store.jobs.count_due(now=now),
        "next_retry_at": iso(next_retry_at),
        "next_opening_at": iso(min((at for at in (*openings.values(), next_retry_at) if at is not None), default=None)),
        "failures": _failures(store.overview.failures()),
        "provider_rests_until": iso(rest_until),
        "provider_rest_reason": rest.reason if rest_until is not None else None,
        "memories": store.memories.counts_by_status(),
        "drafts": {"waiting": store.drafts.count_queue()},
        "given": _given(store, since=now - DAY_SECONDS),
        **_consolidations(store, config),
        "tokens": {
            "last_day": _spent(store, since=now - DAY_SECONDS),
            "last_week": _spent(store, since=now - WEEK_SECONDS),
            "daily_cap": config.budget.daily_tokens,
            "weekly_cap": config.budget.weekly_tokens,
            "project_daily_cap": config.budget.project_daily_tokens,
            "project_weekly_cap": config.budget.project_weekly_tokens,
        },
        "paid_hold": _hold_document(hold) if hold else None,
        "project_holds": [
            {"project": project, **_hold_document(one)} for project, one in project_holds(config, store, now).items()
        ],
        "rate_limit": {
            "snapshots": len([limit for limit in limits if limit.resets_at is not None and limit.resets_at > now]),
            "holds_paid_work": quota_is_low(config, limits, now=now),
        },
    }


def _given(store: Store, *, since: float) -> dict[str, int]:
    given = store.injections.since(since)
    return {"last_day": given.times, "tokens": given.tokens}


def _switches(in_force: InForce) -> dict[str, Any]:
    """What is switched off, for the whole and for how many projects and threads."""
    document: dict[str, Any] = {
        "generate_memories": in_force.may_generate(),
        "use_memories": in_force.may_use(),
        "own_switches": {},
    }
    for name, key in (("generate_off", GENERATE), ("use_off", USE)):
        counts = in_force.counts_of_own(key, value=False)
        document["own_switches"][name] = {
            "projects": counts[SettingOrigin.PROJECT],
            "threads": counts[SettingOrigin.THREAD],
        }
    return document


def _spent(store: Store, *, since: float) -> int | None:
    try:
        return store.ledger.spent(since=since)
    except StoreError:
        return None  # the hold of paid work says why


def _hold_document(hold: PaidHold) -> dict[str, Any]:
    return {"reason": hold.reason, "opens_at": iso(hold.opens_at)}


def _opens_at(gate: Gate, config: Config, store: Store, hold: PaidHold | None) -> float | None:
    """Say when the first of the threads behind a gate gets free by itself, None for never or unknown."""
    if gate is Gate.TOO_RECENT:
        quiet_since = store.overview.oldest_words(gate)
        return None if quiet_since is None else quiet_since + config.gates.idle_seconds
    if gate in (Gate.BUDGET, Gate.RATE_LIMIT) and hold is not None:
        return hold.opens_at
    return None


def _running(store: Store, now: float) -> list[dict[str, Any]]:
    jobs = store.overview.running()
    since = store.chronicle.claimed_at(job.thread_id for job in jobs)
    return [
        {
            "thread_id": job.thread_id,
            "owner": job.owner,
            "pid": _pid_of(job),
            "since": iso(since.get(job.thread_id)),
            "lease_until": iso(job.lease_until),
            "is_alive": job.lease_until > now,
        }
        for job in jobs
    ]


def _pid_of(job: RunningJob) -> int | None:
    parts = job.owner.split(":")
    return int(parts[1]) if len(parts) == 3 and parts[1].isdecimal() else None


def _failures(failures: Sequence[FailedJobs]) -> list[dict[str, Any]]:
    """Put together what failed for the same reason: messages that differ in paths and numbers alone are one."""
    together: dict[tuple[JobState, str], dict[str, Any]] = {}
    for failed in failures:
        key = (failed.state, _PARTICULAR.sub("…", failed.reason))
        known = together.setdefault(
            key, {"state": failed.state, "reason": failed.reason or "no reason is kept", "count": 0, "retry_at": None}
        )
        known["count"] += failed.count
        times = [at for at in (known["retry_at"], iso(failed.first_retry_at)) if at is not None]
        known["retry_at"] = min(times, default=None)
    return sorted(together.values(), key=lambda one: (-one["count"], one["reason"]))[:_MOST_LISTED]


def _consolidations(store: Store, config: Config) -> dict[str, Any]:
    last = store.memories.last_consolidation()
    success = store.memories.last_success()
    changed = store.memories.consolidation(success.consolidation_id) if success else None
    is_failing = last is not None and last.state != "done"
    is_running = last is not None and last.state in ("running", "publishing")
    is_locked = is_running and _holding(workspace_lock_path(config.workspace_path))["is_held"]
    return {
        "last_consolidation": {
            "finished_at": iso(success.finished_at) if success else None,
            "last_state": last.state if last else None,
            "error": last.error if last and is_failing else None,
            "retry_at": iso(last.retry_at) if last and is_failing else None,
            "changed": dict(changed.operations) if changed else {},
        },
        "consolidating_since": iso(last.started_at) if last and is_locked else None,
    }


def _holding(path: Path) -> dict[str, Any]:
    try:
        holding = who_holds(path)
    except OSError:
        holding = Holding(is_held=False)
    return {"is_held": holding.is_held, "pid": holding.pid}
