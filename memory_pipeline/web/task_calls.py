"""The calls by which other programs submit their tasks, and see what became of them."""

from __future__ import annotations

from datetime import datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Annotated

import msgspec

from memory_pipeline.clock import iso
from memory_pipeline.phase1.submit import ForgottenTaskError
from memory_pipeline.records import (
    PROJECT_SCOPE_PREFIX,
    TASK_THREAD_PREFIX,
    Agent,
    Gate,
    IndexedThread,
    JobState,
    SubmittedStatus,
    SubmittedTask,
)
from memory_pipeline.redact import redact
from memory_pipeline.web import documents
from memory_pipeline.web.answers import HttpFault, not_found
from memory_pipeline.web.endpoints import Call, Endpoint
from memory_pipeline.web.memory_calls import Limit, Offset

if TYPE_CHECKING:
    from memory_pipeline.app import App

TaskId = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")]
Time = Annotated[datetime, msgspec.Meta(tz=True)]


Project = Annotated[
    str,
    msgspec.Meta(min_length=1, max_length=500, description="its remote, its folder, or a name of its own"),
]


class TaskBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A task. Submitted again with other words it takes the place of what it said before."""

    id: TaskId
    project: Project
    goal: Annotated[str, msgspec.Meta(min_length=1, max_length=8_000)]
    status: SubmittedStatus
    started_at: Time
    finished_at: Time | None = None
    result: Annotated[str, msgspec.Meta(max_length=200_000)] = ""
    parent_task_id: TaskId | None = None
    continued_from: TaskId | None = None
    outside_context_used: bool = False


class LogQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which part of the log."""

    limit: Limit = 100
    offset: Offset = 0


def submit(app: App, call: Call) -> documents.TaskDocument:
    """Take in a task."""
    task = _task_of(app, call.body)
    try:
        is_new = app.submit_task(task)
    except ForgottenTaskError as error:
        raise HttpFault(HTTPStatus.CONFLICT, "forgotten", str(error)) from error
    return documents.TaskDocument(task=_row(app, _thread(app, task.task_id)), is_new=is_new)


def show_task(app: App, call: Call) -> documents.LogRow:
    """Say what became of one task."""
    return _row(app, _thread(app, call.path["task_id"]))


def show_log(app: App, call: Call) -> documents.LogDocument:
    """Say what became of each task, the newest first."""
    query: LogQuery = call.query
    tasks = [thread for thread in app.store.threads.every() if thread.agent is Agent.TASK]
    part = tasks[query.offset : query.offset + query.limit]
    return documents.LogDocument(tasks=[_row(app, thread) for thread in part], total=len(tasks))


def project_scope(app: App, written: str) -> str:
    """Return the scope of a project that a program names. A folder of which a log names the remote has that one's.

    Raises:
        HttpFault: it names nothing.
    """
    from memory_pipeline.rollouts.task_lines import scope_of_project

    scope = scope_of_project(written)
    named = scope.removeprefix(PROJECT_SCOPE_PREFIX)
    if not _is_said(named):
        raise refused("the project names nothing")
    check_name(scope, "the project")
    return app.store.threads.scopes_with_remote().get(named, scope)


def check_name(name: str, what: str) -> None:
    """Check that a name can be kept as it is. Masked, the names of two would be one.

    Raises:
        HttpFault: a secret stands in it.
    """
    if redact(name).text != name:
        raise refused(f"{what} holds what looks like a secret; nothing was kept of it: take another name")


def _task_of(app: App, body: TaskBody) -> SubmittedTask:
    started_at = body.started_at.timestamp()
    finished_at = body.finished_at.timestamp() if body.finished_at is not None else None
    if body.status is SubmittedStatus.COMPLETED and finished_at is None:
        raise refused("a completed task needs finished_at")
    if finished_at is not None and finished_at < started_at:
        raise refused("finished_at is before started_at")
    if not _is_said(body.goal):
        raise refused("the goal says nothing")
    for name in (body.id, body.parent_task_id, body.continued_from):
        check_name(name or "", "the id of a task")
    return SubmittedTask(
        task_id=body.id,
        scope=project_scope(app, body.project),
        goal=body.goal.replace("\0", ""),
        result=body.result.replace("\0", ""),
        status=body.status,
        started_at=started_at,
        finished_at=finished_at,
        parent_task_id=body.parent_task_id,
        continued_from=body.continued_from,
        outside_context=body.outside_context_used,
        received_at=app.clock.now(),
    )


def _is_said(text: str) -> bool:
    return any(character.isalnum() for character in text)


def refused(message: str) -> HttpFault:
    """Return the answer to what fits the description, and can't be done all the same."""
    return HttpFault(HTTPStatus.UNPROCESSABLE_ENTITY, "refused", message)


def _thread(app: App, task_id: str) -> IndexedThread:
    thread = app.store.threads.get(f"{TASK_THREAD_PREFIX}{task_id}")
    if thread is None or thread.agent is not Agent.TASK:
        raise not_found("there is no task of this id")
    return thread


def _row(app: App, thread: IndexedThread) -> documents.LogRow:
    from memory_pipeline.seeing.words import GATE_WORDS

    return documents.LogRow(
        task_id=thread.thread_id.removeprefix(TASK_THREAD_PREFIX),
        thread_id=thread.thread_id,
        scope=thread.scope,
        title=thread.title,
        status=thread.task_status,
        started_at=iso(thread.started_at),
        finished_at=iso(thread.updated_at) if thread.task_status is not SubmittedStatus.RUNNING else None,
        external_context=thread.external_context,
        state=thread.state if thread.job_state is not None or thread.gate is not None else JobState.PENDING,
        gate=thread.gate,
        why=_why(thread, GATE_WORDS.get(thread.gate) if thread.gate is not None else None),
        retry_at=iso(thread.retry_at),
        memories=app.store.memories.of_thread(thread.thread_id),
    )


def _why(thread: IndexedThread, gate_words: str | None) -> str | None:
    if thread.gate is Gate.DISABLED and gate_words is not None:
        return "memories are not made of it: switched off"
    return gate_words or thread.last_error


ENDPOINTS = (
    Endpoint(
        name="submitTask",
        method="POST",
        path="/tasks",
        summary="Submit a task, or what it says now. The next run makes a memory of it, if it passes the gates.",
        body=TaskBody,
        answer=documents.TaskDocument,
        faults={409: "The task, or words of it, were forgotten."},
        run=submit,
    ),
    Endpoint(
        name="showTask",
        method="GET",
        path="/tasks/{task_id}",
        summary="Say what became of one task.",
        answer=documents.LogRow,
        faults={404: "There is no task of this id."},
        run=show_task,
    ),
    Endpoint(
        name="showLog",
        method="GET",
        path="/users/me/auto-memory-log",
        summary="Say what became of each submitted task, the newest first: one row a task.",
        query=LogQuery,
        answer=documents.LogDocument,
        run=show_log,
    ),
)
