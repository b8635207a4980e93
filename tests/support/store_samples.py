"""Invented threads, leases and extractions for tests of the store and of what works on it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

from memory_pipeline.records import (
    Agent,
    Claim,
    ClaimOutcome,
    Coverage,
    Entry,
    EntryKind,
    EvidenceLine,
    Extraction,
    IndexedThread,
    Lease,
    RolloutFile,
    Source,
    Speaker,
    Task,
    TaskOutcome,
    ThreadFacts,
)
from memory_pipeline.store.store import Store

NOW = 1_795_000_000.0
LEASE_SECONDS = 120.0
MAX_ATTEMPTS = 3
SCOPE = "project:example.org/sam/shop"


def rollout_file(thread_id: str, **fields: Any) -> RolloutFile:
    """Make a rollout as the search finds it."""
    known: dict[str, Any] = {
        "agent": Agent.CODEX,
        "path": f"/home/sam/.codex/sessions/rollout-{thread_id}.jsonl",
        "archived": False,
        "size": 100,
        "mtime_ns": int((NOW - 5_000) * 1e9),
        "inode": int(hashlib.sha256(thread_id.encode()).hexdigest()[:8], 16),
        "device": 1,
    }
    return RolloutFile(thread_id=thread_id, **(known | fields))


def thread_facts(thread_id: str, **fields: Any) -> ThreadFacts:
    """Make the facts of an interactive session that passes every gate."""
    known: dict[str, Any] = {
        "agent": Agent.CODEX,
        "source": Source.INTERACTIVE,
        "cwd": "/home/sam/shop",
        "git_remote": None,
        "git_branch": "main",
        "title": "Mend the checkout",
        "started_at": NOW - 6_000,
        "updated_at": NOW - 5_000,
        "prompt_count": 2,
        "result_chars": 400,
        "gives_direction": False,
        "memory_mode": None,
        "model_provider": None,
        "external_context": False,
        "rate_limits": (),
        "content_digest": "digest-1",
        "understood_lines": 10,
        "total_lines": 10,
        "skipped_lines": {},
        "unknown_types": {},
    }
    return ThreadFacts(thread_id=thread_id, **(known | fields))


def index(store: Store, thread_id: str, *, scope: str = SCOPE, now: float = NOW, **facts: Any) -> IndexedThread:
    """Put a thread into the index, or overwrite what is known of it."""
    told = thread_facts(thread_id, **facts)
    store.threads.record_reading(rollout_file(thread_id, agent=told.agent), told, scope, now=now)
    found = store.threads.get(thread_id)
    assert found is not None
    return found


def enqueue(store: Store, *thread_ids: str, **facts: Any) -> None:
    """Index threads and let them pass the gates."""
    for thread_id in thread_ids:
        index(store, thread_id, **facts)
    store.jobs.set_gates(dict.fromkeys(thread_ids))


def ask(store: Store, *, now: float = NOW, owner: str = "one", provider: str | None = None) -> Claim:
    """Ask for a job."""
    return store.jobs.claim(
        owner=owner, now=now, lease_seconds=LEASE_SECONDS, max_attempts=MAX_ATTEMPTS, provider=provider
    )


def lease(store: Store, *, now: float = NOW, owner: str = "one", provider: str | None = None) -> Lease:
    """Claim a job that must be there."""
    claim = ask(store, now=now, owner=owner, provider=provider)
    assert claim.outcome is ClaimOutcome.CLAIMED
    assert claim.lease is not None
    return claim.lease


def thread_of(store: Store, thread_id: str) -> IndexedThread:
    """Return a thread that must be there."""
    thread = store.threads.get(thread_id)
    assert thread is not None
    return thread


def entry(thread_id: str, statement: str, **fields: Any) -> Entry:
    """Make an entry; its id follows from thread and statement."""
    line = EvidenceLine(
        rollout_path=f"/home/sam/.codex/sessions/rollout-{thread_id}.jsonl",
        byte_start=0,
        byte_end=90,
        line_sha256="0" * 64,
        speaker=Speaker.USER,
        at=NOW - 5_500,
        quote=statement,
    )
    known: dict[str, Any] = {
        "entry_id": "e_" + hashlib.sha256(f"{thread_id} {statement}".encode("utf-8", "replace")).hexdigest()[:24],
        "kind": EntryKind.PREFERENCE,
        "scope": SCOPE,
        "condition": "",
        "evidence": (line,),
    }
    return Entry(thread_id=thread_id, statement=statement, **(known | fields))


def extraction(
    thread_id: str, statements: Iterable[str | Entry] = ("Run make lint before you commit.",), **fields: Any
) -> Extraction:
    """Make an extraction that says these statements; none: an empty one."""
    entries = tuple(said if isinstance(said, Entry) else entry(thread_id, said) for said in statements)
    tasks = (Task(title="Mend the checkout", outcome=TaskOutcome.SUCCESS, entries=entries),) if entries else ()
    known: dict[str, Any] = {
        "rollout_summary": "The checkout was mended." if entries else "",
        "slug": "mend_checkout" if entries else "",
        "raw_memory": "\n".join(f"- {said.statement}" for said in entries),
        "tasks": tasks,
        "coverage": Coverage.HIGH,
    }
    return Extraction(thread_id=thread_id, **(known | fields))


def statements_of(store: Store, thread_id: str) -> list[str]:
    """Return what a thread says now."""
    return [said.statement for said in store.extractions.entries(thread_id)]
