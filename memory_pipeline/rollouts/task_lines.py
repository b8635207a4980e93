"""Tasks that other programs submit, as lines of the journal. A later line of the same task replaces it."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import orjson

from memory_pipeline.clock import iso
from memory_pipeline.records import (
    PROJECT_SCOPE_PREFIX,
    Agent,
    Source,
    SubmittedStatus,
    SubmittedTask,
    TaskLine,
    ThreadFacts,
)
from memory_pipeline.rollouts.scope import project_key
from memory_pipeline.rollouts.times import to_seconds
from memory_pipeline.statements import one_line

_FORMAT = 1
_ACTION = "task"
#: Stands in every line that tells a task, and hardly in another.
_MARK = b'"action":"task"'
_TITLE_CHARS = 80


def scope_of_project(written: str) -> str:
    """Return the scope of a project that a program names: by its remote, by its folder, or by a name of its own.

    Looks at nothing on disk: the program may run elsewhere.
    """
    named = one_line(written.removeprefix(PROJECT_SCOPE_PREFIX), 500)
    is_place = "://" in named or named.startswith(("/", "git@"))
    key = project_key(named if named.startswith("/") else None, named) if is_place else named
    return PROJECT_SCOPE_PREFIX + key


def encode_task(task: SubmittedTask) -> bytes:
    """Return the line of the journal that tells a task, without its end."""
    fields: dict[str, Any] = {
        "action": _ACTION,
        "format": _FORMAT,
        "at": iso(task.received_at),
        "task": task.task_id,
        "scope": task.scope,
        "status": task.status,
        "goal": task.goal,
        "result": task.result,
        "started_at": iso(task.started_at),
        "finished_at": iso(task.finished_at),
        "parent": task.parent_task_id,
        "continues": task.continued_from,
        "outside": task.outside_context or None,
    }
    return orjson.dumps({name: value for name, value in fields.items() if value is not None})


def decode_task(raw: bytes) -> SubmittedTask | None:
    """Read one line of the journal as a task; None when it is torn, or tells something else."""
    if _MARK not in raw:
        return None
    try:
        fields = orjson.loads(raw)
        if not isinstance(fields, dict) or fields["action"] != _ACTION:
            return None
        scope = str(fields["scope"])
        if not scope.startswith(PROJECT_SCOPE_PREFIX):
            return None
        return SubmittedTask(
            task_id=str(fields["task"]),
            scope=scope,
            goal=str(fields["goal"]),
            result=str(fields.get("result", "")),
            status=SubmittedStatus(fields["status"]),
            started_at=to_seconds(fields["started_at"]) or 0.0,
            finished_at=to_seconds(fields.get("finished_at")),
            parent_task_id=fields.get("parent"),
            continued_from=fields.get("continues"),
            outside_context=fields.get("outside") is True,
            received_at=to_seconds(fields["at"]) or 0.0,
        )
    except (ValueError, KeyError, TypeError):
        return None


def read_tasks(journal: Path) -> list[TaskLine]:
    """Read the tasks of the journal, the last line of each, in the order in which they were submitted.

    Raises:
        OSError: the journal is there but can't be read.
    """
    try:
        content = journal.read_bytes()
    except FileNotFoundError:
        return []
    found: dict[str, TaskLine] = {}
    start = 0
    for raw in content.split(b"\n"):
        task = decode_task(raw)
        if task is not None:
            found[task.task_id] = TaskLine(
                task=task,
                byte_start=start,
                byte_end=start + len(raw),
                line_sha256=hashlib.sha256(raw).hexdigest(),
            )
        start += len(raw) + 1
    return list(found.values())


def digest_of(task: SubmittedTask) -> str:
    """Return what differs where a task says something else; when it was submitted does not count."""
    parts = (
        *(task.scope, task.goal, task.result, task.status, task.parent_task_id, task.continued_from),
        *(task.outside_context, iso(task.started_at), iso(task.finished_at)),
    )
    return hashlib.sha256("\x1f".join(map(repr, parts)).encode("utf-8", "replace")).hexdigest()


def facts_of(task: SubmittedTask) -> ThreadFacts:
    """Return what the index and the gates need to know of a task."""
    return ThreadFacts(
        thread_id=task.thread_id,
        agent=Agent.TASK,
        source=Source.OTHER,
        cwd=None,
        git_remote=None,
        git_branch=None,
        title=one_line(task.goal, _TITLE_CHARS) or None,
        started_at=task.started_at,
        updated_at=task.finished_at if task.finished_at is not None else task.received_at,
        prompt_count=1,
        result_chars=len(task.result.strip()),
        gives_direction=False,
        memory_mode=None,
        model_provider=None,
        external_context=task.is_external,
        rate_limits=(),
        content_digest=digest_of(task),
        understood_lines=1,
        total_lines=1,
        skipped_lines={},
        unknown_types={},
    )
