"""What the deterministic extractor makes of a session: reads its rows by rules and proposes what is worth keeping."""

from __future__ import annotations

from memory_pipeline.llm.deterministic.endings import outcome_of
from memory_pipeline.llm.deterministic.learned import changed_files, find_commands, find_failures
from memory_pipeline.llm.deterministic.stated import MOST_STATED, Stated, find_stated
from memory_pipeline.llm.deterministic.steps import read_steps
from memory_pipeline.llm.deterministic.submitted import answer_of_task
from memory_pipeline.llm.deterministic.summary import write_slug, write_summary
from memory_pipeline.llm.deterministic.tasks import SessionTask, cut_into_tasks
from memory_pipeline.records import Agent, EntryDraft, Evidence, ExtractionAnswer, TaskDraft

_NOTHING = ExtractionAnswer(rollout_summary="", rollout_slug="", tasks=())


def propose(evidence: Evidence) -> ExtractionAnswer:
    """Return what is worth keeping of a session; all empty when nothing is."""
    if evidence.agent is Agent.TASK:
        return answer_of_task(evidence)
    steps = read_steps(evidence.rows, evidence.cwd)
    tasks = cut_into_tasks(evidence.rows, steps)
    said = find_stated(tasks)
    drafts = _drafts(tasks, said[:MOST_STATED])
    if not any(draft.entries for draft in drafts):
        return _NOTHING
    told = [pair for pair in zip(tasks, drafts, strict=True) if pair[1].entries or _was_worked_on(pair[0])]
    return ExtractionAnswer(
        rollout_summary=write_summary(told),
        rollout_slug=write_slug(told),
        tasks=tuple(draft for _, draft in told),
        saw_all_rows=len(said) <= MOST_STATED,
    )


def _drafts(tasks: tuple[SessionTask, ...], said: tuple[Stated, ...]) -> list[TaskDraft]:
    entries: list[list[EntryDraft]] = [[] for _ in tasks]
    for stated in said:
        entries[stated.task].append(stated.entry)
    failures = [find_failures(task, tasks[index + 1 :]) for index, task in enumerate(tasks)]
    for own, failed in zip(entries, failures, strict=True):
        own.extend(failed)
    mended = [entry for failed in failures for entry in failed]
    for index, entry in find_commands(tasks, [stated.entry for stated in said], mended):
        entries[index].append(entry)
    drafts = []
    for task, own in zip(tasks, entries, strict=True):
        outcome = outcome_of(task)
        files = changed_files(task, outcome, own)
        drafts.append(TaskDraft(title=task.title, outcome=outcome, entries=tuple([*own, files] if files else own)))
    return drafts


def _was_worked_on(task: SessionTask) -> bool:
    return any(step.edited or step.command for step in task.steps)
