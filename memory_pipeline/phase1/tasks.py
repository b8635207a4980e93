"""Submitted tasks: the journal's tasks in the index, and one statement of each."""

from __future__ import annotations

import hashlib

from msgspec.structs import replace

from memory_pipeline.clock import Clock
from memory_pipeline.config import Config
from memory_pipeline.raw_memory import render_raw_memory
from memory_pipeline.records import Agent, EventKind, Evidence, Extraction, ExtractionAnswer
from memory_pipeline.rollouts.task_lines import digest_of, facts_of, read_tasks
from memory_pipeline.statements import one_line
from memory_pipeline.store.store import Store
from memory_pipeline.tombstones import TombstoneFolder

#: How much of a goal a condition shows. Of a longer one, a mark tells it from others that begin alike.
_GOAL_CHARS = 150
_MARK_CHARS = 8


def index_tasks(config: Config, store: Store, clock: Clock) -> int:
    """Bring the index in line with the tasks of the journal; returns how many there are.

    Raises:
        OSError: the journal can't be read.
    """
    tombstones = TombstoneFolder(config.tombstones_path).current()
    lines = [line for line in read_tasks(config.journal_path) if not tombstones.has_thread(line.task.thread_id)]
    known = store.submitted.places()
    for line in lines:
        task = line.task
        place = known.get(task.thread_id)
        is_known = place is not None and place.digest == digest_of(task) and place.byte_start == line.byte_start
        if not is_known or (place is not None and not place.present):
            store.submitted.record(facts_of(task), line, journal_path=str(config.journal_path), now=clock.now())
    left = {line.task.thread_id for line in lines}
    gone = [name for name, place in known.items() if place.present and name not in left]
    store.submitted.record_vanished(gone, now=clock.now())
    return len(lines)


def under_goal(answer: ExtractionAnswer, evidence: Evidence) -> ExtractionAnswer:
    """Let what is proposed of a task hold in its project alone, and under its goal: a later result can replace it."""
    if evidence.agent is not Agent.TASK:
        return answer
    condition = condition_of(evidence)
    tasks = tuple(
        replace(
            task,
            entries=tuple(replace(entry, scope="project", condition=condition) for entry in task.entries),
        )
        for task in answer.tasks
    )
    return replace(answer, tasks=tasks)


def with_one_statement(extraction: Extraction, agent: Agent) -> Extraction:
    """Keep of a task the first statement that stands: whoever submits thousands wants one line of each."""
    if agent is not Agent.TASK:
        return extraction
    said = next((task for task in extraction.tasks if task.entries), None)
    kept = () if said is None else (replace(said, entries=said.entries[:1]),)
    return replace(extraction, tasks=kept, raw_memory=render_raw_memory(kept))


def condition_of(evidence: Evidence) -> str:
    """Return the condition under which what came of a task holds: that somebody wants the same."""
    goal = next((row.text for row in evidence.rows if row.kind is EventKind.PROMPT), "")
    shown = one_line(goal, _GOAL_CHARS)
    if shown != one_line(goal, len(goal) + 1):
        shown += f" #{hashlib.sha256(goal.encode('utf-8', 'replace')).hexdigest()[:_MARK_CHARS]}"
    return f"the task is: {shown}" if shown else ""
