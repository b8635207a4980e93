"""The rollout summary and its slug: what a person reads to know what a session was about."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

from memory_pipeline.directions import sentences
from memory_pipeline.llm.deterministic.commands import Purpose
from memory_pipeline.llm.deterministic.endings import plain_answer
from memory_pipeline.llm.deterministic.steps import Ending, commands_the_reader
from memory_pipeline.llm.deterministic.tasks import SessionTask
from memory_pipeline.records import STATED_KINDS, EntryKind, EventKind, TaskDraft, TaskOutcome
from memory_pipeline.statements import one_line

SLUG_MAX_CHARS = 60
_LINE_MAX_CHARS = 240
_TELLING_CHARS = 20
_MOST_FILES = 8
_MOST_COMMANDS = 5

_ENDED = {
    TaskOutcome.SUCCESS: "It succeeded",
    TaskOutcome.PARTIAL: "It was done in part",
    TaskOutcome.FAIL: "It failed",
    TaskOutcome.UNCERTAIN: "How it ended is not known",
}


def write_summary(pairs: Iterable[tuple[SessionTask, TaskDraft]]) -> str:
    """Write the summary of a session in Markdown, a section for each task when there are several."""
    told = list(pairs)
    sections = []
    for task, draft in told:
        head = f"### {draft.title}\n\n" if len(told) > 1 else ""
        sections.append(head + "\n".join(f"- {line}" for line in _lines(task, draft)))
    return "\n\n".join(sections) + "\n"


def _lines(task: SessionTask, draft: TaskDraft) -> Iterator[str]:
    yield f"Asked: {draft.title}"
    done = _done(task)
    if done:
        yield f"Done: {done}"
    yield f"Ended: {_ended(task, TaskOutcome(draft.outcome))}"
    denied = [step for step in task.steps if step.ending is Ending.DENIED and (step.paths or step.whole_line)]
    if denied:
        what = ", ".join(dict.fromkeys(one_line(", ".join(s.paths) or f"`{s.whole_line}`", 80) for s in denied[:3]))
        yield f"Refused by the person or the policy: {what}"
    prompts = {row.number for row in task.prompts}
    said = [
        entry
        for entry in draft.entries
        if entry.kind in STATED_KINDS or (entry.kind == EntryKind.KNOWLEDGE and prompts & set(entry.evidence))
    ]
    for entry in said:
        everywhere = " (everywhere)" if entry.scope == "user" else ""
        yield f"The person said{everywhere}: {entry.statement}"
    for entry in draft.entries:
        if entry.kind == EntryKind.FAILURE:
            yield f"Went wrong: {entry.statement}"
        elif (
            entry.kind == EntryKind.KNOWLEDGE and entry not in said and not entry.statement.startswith("files changed")
        ):
            yield f"Worth knowing: {entry.statement}"


def _done(task: SessionTask) -> str:
    files = dict.fromkeys(path for step in task.steps if step.edited for path in step.paths)
    commands = dict.fromkeys(
        step.command.text
        for step in task.steps
        if step.command and step.purpose not in {Purpose.TRIVIAL, Purpose.OTHER} and not step.command.once_only
    )
    said = []
    if files:
        said.append("changed " + _listed(list(files), _MOST_FILES))
    if commands:
        said.append("ran " + _listed([f"`{command}`" for command in commands], _MOST_COMMANDS))
    return one_line("; ".join(said), _LINE_MAX_CHARS)


def _listed(names: list[str], most: int) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _ended(task: SessionTask, outcome: TaskOutcome) -> str:
    stopped = next((row for row in reversed(task.rows) if row.kind in _ENDS), None)
    words = _ENDED[outcome]
    if stopped is not None and stopped.kind is EventKind.INTERRUPTED:
        return f"{words}: the person interrupted it"
    if stopped is not None and stopped.kind is EventKind.FAILED_TURN:
        return f"{words}: the turn broke off with an error"
    if not task.answers:
        return f"{words}: no answer was given"
    told = [answer for row in task.answers if (answer := _first_sentences(plain_answer(row)))]
    # "Noted." says nothing of how it ended; the answer before it does.
    answer = next((answer for answer in reversed(told) if len(answer) >= _TELLING_CHARS), told[-1] if told else "")
    return f'{words}. The last answer: "{answer}"' if answer else words


_ENDS = {EventKind.INTERRUPTED, EventKind.FAILED_TURN, EventKind.FINAL_ANSWER}


def _first_sentences(answer: str) -> str:
    kept = ""
    for sentence in sentences(answer):
        text = one_line(sentence.text.replace("**", ""), _LINE_MAX_CHARS)
        if not text or commands_the_reader(text):
            continue
        if kept and len(kept) + len(text) > _LINE_MAX_CHARS - 20:
            break
        joint = "" if not kept else "。" if re.search(r"[\u4e00-\u9fff]$", kept) else ". "
        kept += joint + text
        if len(kept) > _LINE_MAX_CHARS * 0.6:
            break
    return kept


def write_slug(pairs: Iterable[tuple[SessionTask, TaskDraft]]) -> str:
    """Name a session in ``a-z0-9_``: by its title, else by its files and commands, else "session"."""
    told = list(pairs)
    slug = _slug(told[0][1].title) if told else ""
    if len(slug.replace("_", "")) >= 8:
        return slug
    files = dict.fromkeys(PurePosixPath(path).stem for task, _ in told for step in task.steps for path in step.paths)
    commands = dict.fromkeys(
        step.command.text for task, _ in told for step in task.steps if step.command and step.purpose in _NAMING
    )
    words = " ".join([slug, *list(files)[:3], *list(commands)[:1]])
    return _slug(words) or "session"


_NAMING = frozenset(Purpose) - {Purpose.TRIVIAL, Purpose.OTHER}


def _slug(text: str) -> str:
    slug = re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")
    if len(slug) <= SLUG_MAX_CHARS:
        return slug
    return slug[: SLUG_MAX_CHARS + 1].rpartition("_")[0][:SLUG_MAX_CHARS].strip("_") or slug[:SLUG_MAX_CHARS]
