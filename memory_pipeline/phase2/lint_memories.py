"""The rules that the memories keep: evidence, scope, form, words of their own, and no two against each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from memory_pipeline.grounding import ungrounded
from memory_pipeline.likeness import contradicts, same_condition, same_statement, signature
from memory_pipeline.phase2.findings import RUN, Finding, Rule
from memory_pipeline.records import STATED_KINDS, Entry, Memory, MemoryStatus, Speaker
from memory_pipeline.redact import redact
from memory_pipeline.statements import statement_fault

_SAY_ANEW = "correct it where it was said, or retire it"


def lint_memories(memories: Sequence[Memory], entries: Mapping[str, Entry]) -> Iterator[Finding]:
    """Yield what is wrong with the memories; ``entries`` are those that stand, by id."""
    for memory in memories:
        own = [entries[entry_id] for entry_id in memory.entry_ids if entry_id in entries]
        yield from _form(memory.memory_id, memory.statement, memory.condition)
        yield from _scopes(memory, own)
        if memory.status is MemoryStatus.ACTIVE:
            yield from _evidence(memory, own)
    for entry in entries.values():
        yield from _form(entry.entry_id, entry.statement, entry.condition)
        if not entry.evidence:
            problem = "rests on no line of a log"
            yield Finding(rule=Rule.NO_EVIDENCE, place=entry.entry_id, problem=problem, advice=_SAY_ANEW)
    yield from _successions(memories)
    yield from _pairs([memory for memory in memories if memory.status is MemoryStatus.ACTIVE])


def _form(place: str, statement: str, condition: str) -> Iterator[Finding]:
    for name, text in (("statement", statement), ("condition", condition)):
        fault = statement_fault(text)
        if fault is not None and (name == "statement" or text):
            yield Finding(
                rule=Rule.BAD_STATEMENT, place=place, problem=f"its {name} breaks a rule: {fault}", advice=_SAY_ANEW
            )
        masked = redact(text)
        if masked.text != text:
            kinds = ", ".join(sorted(masked.counts))
            problem = f"its {name} holds a secret ({kinds})"
            advice = "change that secret where it is used, since it was written down; then retire the memory"
            yield Finding(rule=Rule.SECRET, place=place, problem=problem, advice=advice)


def _scopes(memory: Memory, entries: Iterable[Entry]) -> Iterator[Finding]:
    for entry in entries:
        if entry.scope != memory.scope:
            yield Finding(
                rule=Rule.MIXED_SCOPE,
                place=memory.memory_id,
                problem=f"is of scope {memory.scope}, but its entry {entry.entry_id} is of {entry.scope}",
                advice=f"{RUN}; if it stays so, retire the memory",
            )


def _evidence(memory: Memory, entries: Sequence[Entry]) -> Iterator[Finding]:
    if not entries:
        problem = "is active, but no entry that it rests on stands any longer"
        yield Finding(rule=Rule.NO_ENTRY, place=memory.memory_id, problem=problem, advice=f"{RUN}, which retires it")
        return
    if memory.kind in STATED_KINDS and not any(
        line.speaker is Speaker.USER for entry in entries for line in entry.evidence
    ):
        problem = f"is a {memory.kind}, but rests on no line that a person spoke"
        yield Finding(
            rule=Rule.NO_PERSON, place=memory.memory_id, problem=problem, advice="retire it, or say it yourself"
        )
    sources = [
        text
        for entry in entries
        for text in (entry.statement, entry.condition, *(line.quote for line in entry.evidence))
    ]
    for name, text in (("statement", memory.statement), ("condition", memory.condition)):
        sign = ungrounded(text, sources)
        if sign is not None:
            problem = f'its {name} names "{redact(sign).text}", which stands in none of its entries'
            yield Finding(rule=Rule.UNGROUNDED, place=memory.memory_id, problem=problem, advice=_SAY_ANEW)


def _successions(memories: Iterable[Memory]) -> Iterator[Finding]:
    by_id = {memory.memory_id: memory for memory in memories}
    for memory in by_id.values():
        problem = _fault_of_succession(memory, by_id)
        if problem:
            yield Finding(
                rule=Rule.BROKEN_SUCCESSION,
                place=memory.memory_id,
                problem=problem,
                advice="restore it, or retire it",
            )


def _fault_of_succession(memory: Memory, by_id: Mapping[str, Memory]) -> str | None:
    if memory.status is MemoryStatus.SUPERSEDED and memory.superseded_by is None:
        return "is superseded, but by nothing"
    met = {memory.memory_id}
    successor = memory.superseded_by
    while successor is not None:
        if successor in met:
            return "was superseded, in a circle, by what it superseded itself"
        if successor not in by_id:
            return f"leads to {successor}, which took its place but does not exist"
        met.add(successor)
        successor = by_id[successor].superseded_by
    return None


def _pairs(memories: Sequence[Memory]) -> Iterator[Finding]:
    """Compare each memory with those of its scope that share a word that counts."""
    shelves: dict[tuple[str, str], list[int]] = {}
    for number, memory in enumerate(memories):
        near: set[int] = set()
        for token in signature(memory.statement):
            shelf = shelves.setdefault((memory.scope, token), [])
            near.update(shelf)
            shelf.append(number)
        for other in sorted(near):
            yield from _pair(memories[other], memory)


def _pair(first: Memory, second: Memory) -> Iterator[Finding]:
    # What a person wants may stand beside what was seen to work before they said so, or in the same words.
    comparable = first.kind is second.kind or {first.kind, second.kind} <= STATED_KINDS
    if not comparable or not same_condition(first.condition, second.condition):
        return
    place = f"{first.memory_id}, {second.memory_id}"
    if contradicts(first.statement, second.statement):
        problem = "are both told, but can't both hold"
        yield Finding(rule=Rule.CONTRADICTION, place=place, problem=problem, advice="retire the one that is wrong")
    elif same_statement(first.statement, second.statement):
        yield Finding(rule=Rule.DUPLICATE, place=place, problem="say the same", advice="retire one of them")
