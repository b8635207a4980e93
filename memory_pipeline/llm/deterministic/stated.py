"""What the person stated: preferences, procedures, decisions, corrections, and proposals that they accepted."""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from memory_pipeline.contradiction import contradict_in_place
from memory_pipeline.directions import Direction, find_directions, own_words, sentences
from memory_pipeline.likeness import same_statement, signature
from memory_pipeline.llm.deterministic.steps import commands_the_reader
from memory_pipeline.llm.deterministic.tasks import SessionTask, is_prompt
from memory_pipeline.records import EntryDraft, EntryKind, EventKind, EvidenceRow
from memory_pipeline.statements import clean_statement, one_line

#: What one session states is compared each with each; what goes beyond this is left out.
MOST_STATED = 120
_MOST_ROWS = 6
_CONDITION_MAX_CHARS = 120


class Stated(Struct, frozen=True, kw_only=True):
    """One statement of the person, with the task it was made in."""

    task: int  # index of the task
    entry: EntryDraft


def find_stated(tasks: tuple[SessionTask, ...]) -> tuple[Stated, ...]:
    """Return what the person stated in the whole session, each once; what they took back later is left out.

    One more than ``MOST_STATED`` shows that there was more.
    """
    kept: list[Stated] = []
    answer: EvidenceRow | None = None
    for index, task in enumerate(tasks):
        for entry in _statements_of(task, answer):
            kept = _with(kept, Stated(task=index, entry=entry))
        answer = task.answers[-1] if task.answers else answer
    return tuple(kept)


def _statements_of(task: SessionTask, answer: EvidenceRow | None) -> Iterable[EntryDraft]:
    """Yield the statements of one task; ``answer`` is the last of the tasks before."""
    for row in task.rows:
        if is_prompt(row):
            for direction in find_directions(row.text):
                entry = _entry(direction, row, answer)
                if entry is not None:
                    yield entry
            accepted = _accepted_proposal(row, answer)
            if accepted is not None:
                yield accepted
        elif row.kind is EventKind.FINAL_ANSWER:
            answer = row


def _entry(direction: Direction, row: EvidenceRow, answer: EvidenceRow | None) -> EntryDraft | None:
    statement = clean_statement(direction.text)
    evidence: tuple[int, ...] = (row.number,)
    option = _OPTION.search(direction.text)
    if option and answer:
        meant = _option_text(answer.text, option[1] or option[2])
        if meant is None:
            return None  # "option B" alone tells a stranger nothing
        statement, evidence = clean_statement(f"{direction.text} ({meant})"), (answer.number, row.number)
    elif option:
        return None
    if statement is None:
        return None
    return EntryDraft(
        kind=direction.kind,
        scope="user" if direction.everywhere else "project",
        condition=one_line(direction.condition, _CONDITION_MAX_CHARS),
        statement=statement,
        evidence=evidence,
    )


_OPTION = re.compile(r"\boption ([a-eA-E1-5])\b|(?:方案|选项)\s?([a-eA-E1-5一二三])")


def _option_text(answer: str, name: str) -> str | None:
    """What an answer calls by the name of an option, in one short line."""
    pattern = rf"^\W*(?:option\s+|方案\s?|选项\s?)?{re.escape(name)}\**\s*[).:：、-]+\**\s*(.+)$"
    match = re.search(pattern, answer, re.MULTILINE | re.IGNORECASE)
    if not match or commands_the_reader(match[1]):
        return None
    return one_line(match[1].replace("**", ""), 120).rstrip(".。") or None


def _with(kept: list[Stated], new: Stated) -> list[Stated]:
    """Add a statement: the same one said again gains a line of evidence, and one it contradicts goes."""
    keys = signature(new.entry.statement)
    related = [not keys.isdisjoint(signature(old.entry.statement)) for old in kept]
    for index, old in enumerate(kept):
        if not related[index]:
            continue
        alike = old.entry.scope == new.entry.scope and (
            old.entry.kind == new.entry.kind or {old.entry.kind, new.entry.kind} == _RULES
        )
        if alike and same_statement(old.entry.statement, new.entry.statement):
            rows = tuple(dict.fromkeys((*old.entry.evidence, *new.entry.evidence)))[:_MOST_ROWS]
            better = new.entry if _says_more(new.entry.statement, old.entry.statement) else old.entry
            kept[index] = replace(old, entry=replace(better, evidence=rows))
            return kept
    remaining = [
        old
        for old, is_related in zip(kept, related, strict=True)
        if not (is_related and contradict_in_place(old.entry, new.entry))
    ]
    return [*remaining, new][: MOST_STATED + 1]


_FEW_WORDS = 3
#: A rule in few words is a preference, and a procedure when it says more: they may be one all the same.
_RULES = {EntryKind.PREFERENCE, EntryKind.PROCEDURE}


def _says_more(new: str, old: str) -> bool:
    """Whether the newer wording of one rule is the better one: the older is a mere reminder ("remember make lint")."""
    return len(old.split()) <= _FEW_WORDS < len(new.split())


# --- accepted proposals ----------------------------------------------------------------------------------------------

_ACCEPTS = re.compile(
    r"(?:(?:yes|yep|yeah|ok|okay|sure|sounds good|good idea|agreed|great|perfect|please|go ahead|do it"
    r"|do that|let's do that|let's do it|go with that|that works|works for me|make it so"
    r"|好的?|行|可以|同意|没问题|就这样|就这么(?:办|做|定)|就用这个|按你说的(?:做|来|办)?|嗯|对|那就这样吧?"
    r"|吧)[\s,.!，。！]*)+",
    re.IGNORECASE,
)
_PROPOSES = re.compile(
    r"(?P<lead>(?:i(?:'d| would)? (?:suggest|recommend|propose)(?: that)?(?: we| you)?(?: to)?"
    r"|my (?:suggestion|recommendation|proposal)(?: is|:)(?: to)?|(?:shall|should) (?:i|we)"
    r"|(?:do you )?want me to|would you like me to|(?:we|i) could"
    r"|how about we|let's)\s+)(?P<what>.+)|(?P<zh_lead>(?:我?建议|要不要|是否要?|我们可以"
    r"|不如)[，：]?)(?P<zh>.+?)(?:吗)?$",
    re.IGNORECASE,
)
_LASTS = re.compile(
    r"(?:use|using|switch|switching|move|moving|replace|replacing|adopt|adopting|keep|keeping|store|storing"
    r"|split|splitting|migrate|migrating|drop|dropping|pin|pinning|standardi[sz]e|go with|target|support"
    r"|default to|cache|caching"
    r"|deprecate|separate)\b|(?:用|改用|使用|采用|换成|保留|迁移|统一|拆分|固定|放弃|支持)",
    re.IGNORECASE,
)
_POINTS = re.compile(r"\b(?:it|this|that|these|those|them|here|above|below)\b|这|那|它|上面|以上", re.IGNORECASE)


def _accepted_proposal(row: EvidenceRow, answer: EvidenceRow | None) -> EntryDraft | None:
    """A decision, when the person plainly said yes to the one short and lasting proposal of the answer before."""
    if answer is None or not _ACCEPTS.fullmatch(own_words(row.text).strip()):
        return None
    proposals = [match for sentence in sentences(answer.text) if (match := _PROPOSES.match(sentence.text.strip()))]
    if len(proposals) != 1:
        return None
    what = (proposals[0]["what"] or proposals[0]["zh"]).strip()
    if len(what) > 160 or not _LASTS.match(what) or _POINTS.search(what):
        return None
    if re.match(r"(?:always|never)\b", what):
        return None
    statement = clean_statement(f"{'同意' if proposals[0]['zh'] else 'agreed'}: {what}")
    if statement is None:
        return None
    return EntryDraft(
        kind=EntryKind.DECISION,
        scope="project",
        condition="",
        statement=statement,
        evidence=(answer.number, row.number),
    )
