"""The status: what runs, waits, failed and was done, also of a database that can't be read."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from phase2_world import DAY, NOW, World, entry
from store_samples import enqueue, index, lease

from memory_pipeline.cli.status_view import status_lines
from memory_pipeline.clock import iso
from memory_pipeline.config import BudgetConfig, ModelConfig
from memory_pipeline.lock import os_lock
from memory_pipeline.phase2.places import workspace_lock_path
from memory_pipeline.records import Gate, RateLimit
from memory_pipeline.seeing.status import status_document
from memory_pipeline.seeing.words import GATE_REMEDIES, GATE_WORDS

MOST_LINES = 24  # of a small terminal, less the prompt


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A store and a workspace, with homes of both agents."""
    made = World(tmp_path)
    for name in (".codex", ".claude"):
        (tmp_path / name).mkdir()
    yield made
    made.close()


def document(world: World, *, now: float = NOW, **changes: Any) -> dict[str, Any]:
    """What status would print as JSON."""
    return status_document(replace(world.config, **changes), now=now, find_folder_problems=lambda _: ())


def text(world: World, *, now: float = NOW, **changes: Any) -> str:
    """What status would print for a person."""
    return "\n".join(status_lines(document(world, now=now, **changes), lambda words: f"memory-pipeline {words}"))


def test_every_gate_has_words() -> None:
    """And a remedy only where a person can do something."""
    assert set(GATE_WORDS) == set(Gate)
    assert set(GATE_REMEDIES) < set(Gate)


def test_a_ledger_that_can_not_be_read_is_told_whether_or_not_there_is_a_cap(world: World) -> None:
    """Nothing is sent then: status says so, and why."""
    paid = ModelConfig(provider="openai", extract_model="m")
    assert document(world, model=paid)["paid_hold"] is None
    with closing(sqlite3.connect(world.config.database_path)) as other:
        other.execute("ALTER TABLE ledger RENAME TO gone")
    for budget in (BudgetConfig(), BudgetConfig(daily_tokens=1_000)):
        shown = text(world, model=paid, budget=budget)
        assert "Paid work: the ledger of paid calls can't be read or written, so nothing is sent" in shown


def test_what_runs_is_told_with_its_process_and_since_when(world: World) -> None:
    """Whoever holds a lease that is alive; one that ran out was left by a run that died."""
    enqueue(world.store, "a")
    world.store.jobs.claim(owner="host:4711:abcd", now=NOW, lease_seconds=60, max_attempts=3)
    (job,) = document(world)["running"]
    assert (job["thread_id"], job["pid"], job["since"], job["is_alive"]) == ("a", 4711, iso(NOW), True)
    assert f"extracting 1 session by process 4711, since {iso(NOW)}" in text(world)
    assert "1 session left by a run that died" in text(world, now=NOW + 61)


def test_locks_that_are_held_are_told(world: World) -> None:
    """The workspace's, and the daemon's; without any, that nothing runs."""
    assert "Running:   nothing, and no daemon" in text(world)
    with os_lock(workspace_lock_path(world.workspace), purpose="a test"):
        assert document(world)["workspace_lock"]["is_held"]
        assert "the workspace is held" in text(world)
    with os_lock(world.config.daemon_lock_path, purpose="a test"):
        assert document(world)["daemon"]["is_held"]
        assert "Running:   a daemon" in text(world)


def test_what_waits_is_told_with_its_reason_and_when_it_opens(world: World) -> None:
    """What opens by itself has a time, the rest what can be done; the earliest time of all stands apart."""
    index(world.store, "a", updated_at=NOW - 100)
    index(world.store, "b", updated_at=NOW - 300)
    index(world.store, "c", updated_at=NOW - 40 * DAY)
    world.store.jobs.set_gates({"a": Gate.TOO_RECENT, "b": Gate.TOO_RECENT, "c": Gate.TOO_OLD}, now=NOW)
    first = iso(NOW - 300 + world.config.gates.idle_seconds)
    told = document(world)
    assert [(one["gate"], one["count"], one["opens_at"]) for one in told["waiting"]] == [
        ("too_recent", 2, first),
        ("too_old", 1, None),
    ]
    assert told["next_opening_at"] == first
    assert told["held_back"] == {"too_old": 1, "too_recent": 2}
    shown = text(world)
    assert f"2 too_recent: still going on, or just ended; the first from {first}" in shown
    assert "1 too_old: ended too long ago [raise gates.max_age_days]" in shown


def test_failures_of_one_reason_are_one_line_with_what_to_do(world: World) -> None:
    """Messages that differ in paths and numbers alone are one reason."""
    enqueue(world.store, "a", "b", "c")
    for message in ("/logs/a.jsonl: torn at 17", "/logs/b.jsonl: torn at 290", "no JSON"):
        world.store.jobs.fail(lease(world.store, now=NOW), message, now=NOW, retry_at=NOW + 60, max_attempts=3)
    told = document(world)["failures"]
    assert [(one["state"], one["count"]) for one in told] == [("error", 2), ("error", 1)]
    assert told[0]["retry_at"] == iso(NOW + 60)
    assert "`memory-pipeline threads retry THREAD` does not wait" in text(world)


def test_the_last_consolidation_tells_what_it_changed(world: World) -> None:
    """By kinds of operations."""
    world.says("t1", entry("use pnpm"), entry("commit small"))
    world.run()
    assert document(world)["last_consolidation"]["changed"] == {"add": 2}
    assert f"Published: {iso(NOW)}; it did 2 add" in text(world)


def test_what_is_left_of_a_budget_is_told_and_why_paid_work_holds(world: World) -> None:
    """Caps by day and week; a quota that is low holds until it is reset."""
    model = ModelConfig(provider="openai", extract_model="m")
    budget = BudgetConfig(daily_tokens=1000)
    world.store.ledger.reserve(tokens=400, caps=(), phase="phase1", thread_id=None, scope=None, model="m", now=NOW - 60)
    shown = text(world, model=model, budget=budget)
    assert "Tokens:    400 of 1000, 600 left, in the last day" in shown
    assert "400, no cap, in seven days" in shown
    limit = RateLimit(used_percent=95, window_minutes=300, resets_at=NOW + 600, seen_at=NOW)
    index(world.store, "a", rate_limits=(limit,))
    hold = document(world, model=model, budget=budget)["paid_hold"]
    assert hold["opens_at"] == iso(NOW + 600)
    assert f"Paid work: {hold['reason']}" in text(world, model=model, budget=budget)
    assert document(world)["paid_hold"] is None


@pytest.mark.parametrize(("content", "state"), [(None, "missing"), (b"no database " * 900, "broken")])
def test_a_database_that_can_not_be_read_still_has_a_status(world: World, content: bytes | None, state: str) -> None:
    """It says so and what to do, keeps every key, and what is broken is not told as empty."""
    keys = document(world).keys()
    world.close()
    path = world.config.database_path
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    told = document(world)
    assert told.keys() == keys
    assert told["database"]["state"] == state
    assert str(path) in told["database"]["problem"]
    assert told["database"]["remedy"]
    assert ("none indexed yet" in text(world)) is (state == "missing")


def test_the_status_fits_a_screen_when_everything_is_wrong(world: World) -> None:
    """Every gate closed, ten kinds of failures, a provider that rests, folders that can't be listed."""
    for number, gate in enumerate(Gate):
        index(world.store, f"g{number}", updated_at=NOW - 10)
        world.store.jobs.set_gates({f"g{number}": gate}, now=NOW)
    for number in range(10):
        enqueue(world.store, f"f{number}")
        reason = "because of " + "word " * (number + 1)
        world.store.jobs.fail(lease(world.store, now=NOW), reason, now=NOW, retry_at=NOW + 60, max_attempts=1)
    world.store.jobs.rest_provider("deterministic", "it answered 503", now=NOW, until=NOW + 60)
    problems = [f"/logs/{number}: can't be listed" for number in range(9)]
    told = status_document(world.config, now=NOW, find_folder_problems=lambda _: problems)
    lines = status_lines(told, lambda words: words)
    assert len(lines) <= MOST_LINES + 6
    assert "and 5 more" in lines[-1]


def test_a_look_changes_nothing(world: World, tmp_path: Path) -> None:
    """No file is made or written, also where there is nothing yet."""
    before = sorted((path, path.stat().st_mtime_ns) for path in tmp_path.rglob("*.db"))
    document(world)
    document(world, state_dir=str(tmp_path / "none"), memories_dir=str(tmp_path / "none" / "memories"))
    assert sorted((path, path.stat().st_mtime_ns) for path in tmp_path.rglob("*.db")) == before
    assert not (tmp_path / "none").exists()
