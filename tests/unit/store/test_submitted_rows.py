"""Submitted tasks in the index."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from sqlite_utils import Database
from store_samples import NOW, rollout_file, thread_facts

from memory_pipeline.records import SubmittedStatus, SubmittedTask, TaskLine
from memory_pipeline.rollouts.task_lines import facts_of
from memory_pipeline.store.migrations import schema_steps
from memory_pipeline.store.store import Store

TASK = SubmittedTask(
    task_id="t1",
    scope="project:shop",
    goal="Paint it",
    result="It is green.",
    status=SubmittedStatus.COMPLETED,
    started_at=NOW - 700,
    finished_at=NOW - 100,
    parent_task_id=None,
    continued_from=None,
    outside_context=False,
    received_at=NOW,
)


def _record(store: Store, *, start: int = 0) -> None:
    line = TaskLine(task=TASK, byte_start=start, byte_end=start + 50, line_sha256="")
    store.submitted.record(facts_of(TASK), line, journal_path="/state/journal.jsonl", now=NOW)


def test_a_task_is_one_thread_wherever_its_line_stands(store: Store) -> None:
    """Recorded again at another place, it is the same thread there, and no other file's."""
    _record(store)
    _record(store, start=400)
    (thread,) = store.threads.every()
    assert (thread.thread_id, thread.task_status, thread.size) == ("task-t1", SubmittedStatus.COMPLETED, 50)
    assert store.submitted.places()["task-t1"].byte_start == 400
    assert store.threads.seen_files() == {}


def test_a_task_that_the_journal_lost_keeps_its_row(store: Store) -> None:
    """It is not claimed any more, and counts again when its line is back."""
    _record(store)
    store.jobs.set_gates({"task-t1": None}, now=NOW)
    store.submitted.record_vanished(["task-t1"], now=NOW)
    assert store.jobs.count_due(now=NOW) == 0
    _record(store)
    assert store.jobs.count_due(now=NOW) == 1


def test_a_database_from_before_there_were_tasks_takes_them_and_keeps_its_threads(tmp_path: Path) -> None:
    """What it held is no task, and tasks stand beside it."""
    path = tmp_path / "memory.db"
    older = sqlite3.connect(path, isolation_level=None)
    schema_steps().apply(Database(older), stop_before="submitted_tasks")
    steps_before = len([step for step in schema_steps().pending(Database(older)) if step.name != "submitted_tasks"])
    assert steps_before == 0
    older.execute("PRAGMA user_version = 10")
    older.close()
    store = Store(path)
    file = rollout_file("a")
    store.threads.record_reading(file, thread_facts("a"), "project:shop", now=NOW)
    _record(store)
    assert {one.thread_id: one.task_status for one in store.threads.every()} == {
        "a": None,
        "task-t1": SubmittedStatus.COMPLETED,
    }
    store.close()
