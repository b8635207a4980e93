"""How a task ended: by the person's reaction, the last check that ran, and what the last answer claims."""

from __future__ import annotations

import re

from memory_pipeline.directions import sentences
from memory_pipeline.llm.deterministic.commands import CHECKS, Purpose
from memory_pipeline.llm.deterministic.steps import Ending, Step
from memory_pipeline.llm.deterministic.tasks import Reaction, SessionTask, is_prompt, reaction
from memory_pipeline.records import EventKind, EvidenceRow, TaskOutcome

_CITATION = re.compile(r"<oai-mem-citation>.*?(?:</oai-mem-citation>|$)", re.DOTALL)
_CLAIMS_FAILURE = re.compile(
    r"\b(?:i (?:could not|couldn't|can't|cannot|was(?:n't| not) able|am unable|was unable|stopped|gave up"
    r"|did not|didn't|have not|haven't)|unable to|(?:command|script|build|tests?|run|deploy\w*|migration"
    r"|it) (?:still )?fail(?:s|ed)"
    r"|still fail(?:s|ing)|does not work|doesn't work|not (?:yet )?(?:fixed|resolved|working|done|possible)"
    r"|failed with|blocked (?:by|on)|needs? your (?:input|permission|approval)|permission (?:was )?denied"
    r"|left unsolved|partially)\b"
    r"|(?:无法|未能|没能|失败了|没有成功|仍然失败|还没有?(?:修好|解决|完成)|停下)",
    re.IGNORECASE,
)
_CLAIMS_SUCCESS = re.compile(
    r"\b(?:fixed|all (?:\w+ )*tests? (?:now )?pass|tests? (?:now )?pass(?:es|ed)?|passes now|done|created"
    r"|added|implemented|updated|wrote|written|removed|renamed|refactored|replaced|moved|completed?"
    r"|resolved|works now|now works|migrated"
    r"|deployed|installed|configured|committed|merged|succeeded|successfully|build succeeds"
    r"|is (?:now )?(?:green|fixed|in place))\b|修复了?|已(?:经)?(?:完成|修复|添加|更新|创建|改|通过)|完成了"
    r"|搞定|通过了|全部通过|修好了|改好了",
    re.IGNORECASE,
)


def outcome_of(task: SessionTask) -> TaskOutcome:
    """Weigh what is known of the end of a task; what contradicts itself is partial, what is not known uncertain."""
    if task.reaction_after is Reaction.GOOD or _last_reaction(task) is Reaction.GOOD:
        return TaskOutcome.PARTIAL if _last_check(task) is Ending.FAILED else TaskOutcome.SUCCESS
    if task.reaction_after is Reaction.BAD or _last_reaction(task) is Reaction.BAD:
        return TaskOutcome.FAIL
    if not _was_answered(task):
        return TaskOutcome.UNCERTAIN
    answer = plain_answer(task.answers[-1])
    check = _last_check(task)
    if claims_failure(answer):
        achieved = any(step.edited for step in task.steps) and check is Ending.OK
        return TaskOutcome.PARTIAL if achieved else TaskOutcome.FAIL
    if check is Ending.FAILED or _left_broken(task):
        return TaskOutcome.PARTIAL if _CLAIMS_SUCCESS.search(answer) else TaskOutcome.UNCERTAIN
    if check is Ending.OK or _CLAIMS_SUCCESS.search(answer) or not task.steps:
        return TaskOutcome.SUCCESS
    return TaskOutcome.SUCCESS if task.steps[-1].ending is Ending.OK else TaskOutcome.UNCERTAIN


def claims_failure(answer: str) -> bool:
    """Whether an answer says that the work was not brought to its end."""
    told = list(sentences(answer))
    if not any(_CLAIMS_FAILURE.search(sentence.text) for sentence in told):
        return False
    # "The test failed because add subtracted. Fixed, all tests pass." tells of a failure that is over.
    last_claim = [
        sentence.text
        for sentence in told
        if _CLAIMS_FAILURE.search(sentence.text) or _CLAIMS_SUCCESS.search(sentence.text)
    ][-1]
    return _CLAIMS_FAILURE.search(last_claim) is not None


def plain_answer(row: EvidenceRow) -> str:
    """An answer without the block in which the agent cites its memory."""
    return _CITATION.sub("", row.text).strip()


def _last_reaction(task: SessionTask) -> Reaction:
    """What the person said last of the work, when nothing was done after it."""
    for row in reversed(task.rows):
        if is_prompt(row):
            return reaction(row.text) if row is not task.prompts[0] else Reaction.NONE
        if row.kind in {EventKind.TOOL_CALL, EventKind.TOOL_RESULT}:
            return Reaction.NONE
    return Reaction.NONE


def _was_answered(task: SessionTask) -> bool:
    for row in reversed(task.rows):
        if row.kind is EventKind.FINAL_ANSWER:
            return True
        if row.kind in {EventKind.INTERRUPTED, EventKind.FAILED_TURN, EventKind.TOOL_CALL, EventKind.PROMPT}:
            return False
    return False


def _last_check(task: SessionTask) -> Ending | None:
    return next(
        (s.ending for s in reversed(task.steps) if s.purpose in CHECKS and s.ending is not Ending.UNKNOWN), None
    )


def _left_broken(task: SessionTask) -> bool:
    """Whether the last thing that mattered went wrong, and nothing after it mended it."""
    for step in reversed(task.steps):
        if _matters(step):
            return step.ending in {Ending.FAILED, Ending.DENIED}
    return False


def _matters(step: Step) -> bool:
    return bool(step.paths) or step.ending is Ending.DENIED or step.purpose != Purpose.TRIVIAL
