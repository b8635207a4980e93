"""The calls that give a task what is remembered."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import UNSET, UnsetType

from memory_pipeline.clock import iso
from memory_pipeline.errors import StoreError
from memory_pipeline.recall.context import DEFAULT_BUDGET_TOKENS, Asked, Occasion, give_context
from memory_pipeline.records import TASK_THREAD_PREFIX, EntryKind
from memory_pipeline.web import documents
from memory_pipeline.web.endpoints import Call, Endpoint
from memory_pipeline.web.task_calls import Project, TaskId, check_name, project_scope, refused

if TYPE_CHECKING:
    from memory_pipeline.app import App

logger = logging.getLogger(__name__)

Budget = Annotated[int, msgspec.Meta(ge=1, le=100_000)]
Words = Annotated[str, msgspec.Meta(max_length=8_000)]


class ContextQuery(msgspec.Struct, frozen=True, kw_only=True):
    """For what context is asked."""

    project: Project | UnsetType = UNSET
    task: Words = ""
    budget_tokens: Budget = DEFAULT_BUDGET_TOKENS


class TaskContextBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """For what a task asks. Of a task that was submitted, project and goal are known."""

    project: Project | None = None
    goal: Words = ""
    continued_from: TaskId | None = None
    budget_tokens: Budget = DEFAULT_BUDGET_TOKENS


def show_context(app: App, call: Call) -> documents.ContextDocument:
    """Give what is remembered of the person and of one project. Each call answers."""
    query: ContextQuery = call.query
    scope = project_scope(app, query.project) if query.project else None
    return _given(app, scope=scope, thread_id=None, task=query.task, budget_tokens=query.budget_tokens)


def give_task_context(app: App, call: Call) -> documents.ContextDocument:
    """Give a task the prefix for its first turn, once. The task itself is not changed."""
    body: TaskContextBody = call.body
    check_name(call.path["task_id"], "the id of a task")
    thread_id = f"{TASK_THREAD_PREFIX}{call.path['task_id']}"
    task = app.submitted_task(thread_id)
    if task is None and body.project is None:
        raise refused("the task is not known yet: name its project")
    if body.continued_from is not None or (task is not None and task.continued_from is not None):
        return _nothing(documents.Without.CONTINUED)
    scope = project_scope(app, body.project) if body.project is not None else task.scope if task is not None else None
    goal = body.goal or (task.goal if task is not None else "")
    return _given(app, scope=scope, thread_id=thread_id, task=goal, budget_tokens=body.budget_tokens)


def _given(
    app: App, *, scope: str | None, thread_id: str | None, task: str, budget_tokens: int
) -> documents.ContextDocument:
    if not app.settings().in_force().may_use(scope=scope, thread_id=thread_id):
        return _nothing(documents.Without.SWITCHED_OFF)
    context = give_context(
        app.store,
        Asked(
            cwd="",
            task=task,
            thread_id=thread_id,
            occasion=Occasion.NEW,
            budget_tokens=budget_tokens,
            output_format="http",
            scope=scope,
        ),
        may_use=lambda _scope: True,  # asked before
        now=app.clock.now(),
        command=lambda words: f"memory-pipeline {words}",
        on_unrecorded=_note_unrecorded if thread_id is None else _give_nothing,
    )
    if context is None:
        # Looked at afterwards: of two calls at once, the later one learns that the other was given it.
        if thread_id is not None and app.store.injections.was_given(thread_id):
            return _nothing(documents.Without.GIVEN_BEFORE)
        return _nothing(documents.Without.NOTHING)
    return documents.ContextDocument(
        context=context.text,
        tokens=context.tokens,
        scope=context.scope,
        memories=[
            documents.ToldMemory(
                memory_id=told.memory_id,
                scope=told.scope,
                kind=EntryKind(told.kind),
                condition=told.condition,
                statement=told.statement,
                pinned=bool(told.pinned),
                last_confirmed=iso(told.last_confirmed),
            )
            for told in context.told
        ],
        not_shown=dict(context.not_shown),
        without=None,
    )


def _nothing(why: documents.Without) -> documents.ContextDocument:
    return documents.ContextDocument(context=None, tokens=0, scope=None, memories=[], not_shown={}, without=why)


def _note_unrecorded(error: StoreError) -> None:
    logger.warning("%s", error, extra={"action": "context", "outcome": "not_recorded"})


def _give_nothing(error: StoreError) -> None:
    raise error  # a task that is given what nobody wrote down would be given it again


ENDPOINTS = (
    Endpoint(
        name="showContext",
        method="GET",
        path="/context",
        summary="Give what is remembered of you and of one project, within a budget.",
        query=ContextQuery,
        answer=documents.ContextDocument,
        run=show_context,
    ),
    Endpoint(
        name="giveTaskContext",
        method="POST",
        path="/tasks/{task_id}/context",
        summary="Give a task the prefix for its first turn, once; a continued task gets none.",
        body=TaskContextBody,
        answer=documents.ContextDocument,
        run=give_task_context,
    ),
)
