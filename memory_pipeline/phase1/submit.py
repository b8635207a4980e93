"""Taking in a task that another program submits: into the journal first, then into the index."""

from __future__ import annotations

import hashlib
import re

from msgspec.structs import replace

from memory_pipeline.clock import Clock
from memory_pipeline.config import Config
from memory_pipeline.errors import UsageError
from memory_pipeline.records import SubmittedTask, TaskLine
from memory_pipeline.redact import redact
from memory_pipeline.rollouts.journal import Journal
from memory_pipeline.rollouts.task_lines import decode_task, digest_of, encode_task, facts_of
from memory_pipeline.store.store import Store
from memory_pipeline.tombstones import TombstoneFolder

_FRAMED = re.compile(r"<memory-pipeline-context>.*?(?:</memory-pipeline-context>|\Z)", re.DOTALL)


class ForgottenTaskError(UsageError):
    """The person had this task, or words of it, forgotten."""


def submit_task(config: Config, store: Store, clock: Clock, task: SubmittedTask) -> bool:
    """Take in a task, masked; false when it says just what is known of it.

    Raises:
        UsageError: its goal says nothing, or its times can't be true.
        ForgottenTaskError: it, or what it says, was forgotten.
        OSError, LockedError, StoreError: it can't be written.
    """
    goal = _FRAMED.sub(" ", task.goal).strip()  # what we gave the task ourselves is no part of what was wanted
    if not any(character.isalnum() for character in goal):
        raise UsageError("the goal says nothing of its own")
    masked = _as_told(replace(task, goal=redact(goal).text, result=redact(task.result).text))
    _refuse_forgotten(config, masked)
    known = store.submitted.place_of(masked.thread_id)
    if known is not None and known.present and known.digest == digest_of(masked):
        return False
    raw = encode_task(masked)
    start = Journal(config.journal_path).append_lines([raw])
    line = TaskLine(
        task=masked, byte_start=start, byte_end=start + len(raw), line_sha256=hashlib.sha256(raw).hexdigest()
    )
    store.submitted.record(facts_of(masked), line, journal_path=str(config.journal_path), now=clock.now())
    return True


def _as_told(task: SubmittedTask) -> SubmittedTask:
    """Return a task as the journal will tell it.

    Raises:
        UsageError: it can't be told: its times are of no day that there is.
    """
    try:
        told = decode_task(encode_task(task))
    except (ValueError, OverflowError):  # before the first year that can be written, or after the last
        told = None
    if told is None or told.started_at <= 0 or (told.finished_at is None) != (task.finished_at is None):
        raise UsageError("started_at and finished_at must be times that can be true")
    return told


def _refuse_forgotten(config: Config, task: SubmittedTask) -> None:
    tombstones = TombstoneFolder(config.tombstones_path).current()
    if tombstones.is_empty:
        return
    says_it = tombstones.has_said(task.thread_id, task.goal) or tombstones.has_said(task.thread_id, task.result)
    if tombstones.has_thread(task.thread_id) or says_it:
        raise ForgottenTaskError("this task was forgotten, and is not taken in again")
    if tombstones.holds_words(task.goal, task.result, task.scope):
        raise ForgottenTaskError("the task holds words that were forgotten for good, so it is not taken in")
