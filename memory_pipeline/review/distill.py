"""Distilling: finds memories that say the same or contradict each other, and proposes which of them stays."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from memory_pipeline.entries import are_of_one_family
from memory_pipeline.likeness import Sense, code_in, contradicts, likeness, same_condition, same_statement, sense_of
from memory_pipeline.nearness import StatementIndex
from memory_pipeline.records import DraftLabel, Memory, MemoryStatus, Merge
from memory_pipeline.review.run import Review
from memory_pipeline.slots import exclude_each_other
from memory_pipeline.store.store import Store

#: From here on two memories with the same names and numbers say the same in other words.
_ALIKE_FROM = 0.6
#: Memories that share fewer of their words are neither the same nor opposites, and are not compared closely.
_SHARED_FROM = 0.5
_ID_CHARS = 24


class Distilled(Struct, frozen=True, kw_only=True):
    """What one distillation found."""

    looked_at: int  # memories
    proposed: int  # new proposals
    merges: tuple[Merge, ...]  # all that hold now and were not rejected, those from before included


class Distillation:
    """The distillation of one state folder. Changes no memory: a person approves, and a run carries it out."""

    def __init__(self, store: Store, review: Review, *, now: Callable[[], float]) -> None:
        self._store = store
        self._review = review
        self._now = now

    def run_once(self, *, scope: str | None = None) -> Distilled:
        """Look at the active memories, of one scope or of all, and store what is proposed as drafts."""
        memories = [
            memory
            for memory in self._store.memories.every(status=MemoryStatus.ACTIVE)
            if memory.status_now is MemoryStatus.ACTIVE and scope in (None, memory.scope)
        ]
        known = self._store.drafts.merges()
        # What was put off or carried out is settled as well: undone, it does not come back by itself.
        settled = [draft for draft in known if draft.decided_by is not None]
        refused = frozenset(frozenset({draft.merges[0], other}) for draft in settled for other in draft.merges[1:])
        is_persons = self._review.persons_words(memories)
        merges = find_merges(memories, is_persons=is_persons, refused=refused)
        held = {merge.merge_id for merge in merges}
        outdated = [
            draft.entry.entry_id
            for draft in known
            if draft.entry.entry_id not in held and scope in (None, draft.entry.scope)
        ]
        proposed = self._store.drafts.propose(merges, outdated=outdated, now=self._now())
        return Distilled(looked_at=len(memories), proposed=proposed, merges=tuple(merges))


def find_merges(
    memories: Iterable[Memory],
    *,
    is_persons: Callable[[Memory], bool],
    refused: frozenset[frozenset[str]] = frozenset(),
) -> list[Merge]:
    """Return what is proposed: duplicates first, then contradictions, each by the id of the memory that stays.

    ``refused`` are pairs that are not to be proposed. A memory is merged once, and compared with its near ones only.
    What gives way to a duplicate contradicts nothing beside it: each contradiction is proposed once.
    """
    ordered = sorted(memories, key=lambda memory: _worth(memory, is_persons=is_persons))
    near = _Near(ordered)
    taken: set[str] = set()
    merges: list[Merge] = []
    for memory in ordered:
        if memory.memory_id in taken:
            continue
        same = [
            other.memory_id
            for other in near.of(memory)
            if other.memory_id not in taken
            and frozenset({memory.memory_id, other.memory_id}) not in refused
            and near.say_the_same(memory, other)
        ]
        if same:
            taken |= {memory.memory_id, *same}
            merges.append(_merge(DraftLabel.REFINE, memory.memory_id, sorted(same)))
    standing = _standing(ordered, merges, is_persons)
    return sorted(merges, key=lambda one: one.keeps) + list(_contradictions(ordered, near, refused, standing))


#: Whether the person said it, and when it was last confirmed.
_Standing = tuple[bool, float]


def _standing(
    memories: Sequence[Memory], merges: Sequence[Merge], is_persons: Callable[[Memory], bool]
) -> dict[str, _Standing]:
    """Return how the memories that stay stand, each with all that gives way to it."""
    alone = {memory.memory_id: (is_persons(memory), memory.last_confirmed) for memory in memories}
    for merge in merges:
        alone[merge.keeps] = max(alone[merge.keeps], *(alone.pop(other) for other in merge.gives_way))
    return alone


def _contradictions(
    ordered: Sequence[Memory],
    near: _Near,
    refused: frozenset[frozenset[str]],
    standing: Mapping[str, _Standing],
) -> Iterator[Merge]:
    seen: set[frozenset[str]] = set(refused)
    for memory in sorted((one for one in ordered if one.memory_id in standing), key=lambda one: one.memory_id):
        for other in near.of(memory):
            if other.memory_id not in standing or other.memory_id < memory.memory_id:
                continue
            if not near.contradict(memory, other):
                continue
            pair = frozenset({memory.memory_id, other.memory_id})
            if pair in seen:
                continue
            seen.add(pair)
            # The person's word stays, and of two like ones the newer.
            newer = max((memory, other), key=lambda one: (*standing[one.memory_id], one.memory_id))
            older = other if newer is memory else memory
            yield _merge(DraftLabel.CONFLICT, newer.memory_id, [older.memory_id])


def _merge(label: DraftLabel, keeps: str, gives_way: Sequence[str]) -> Merge:
    digest = hashlib.sha256("|".join([label, *sorted([keeps, *gives_way])]).encode()).hexdigest()
    others = ", ".join(gives_way)
    rationale = (
        f"{keeps} says what {others} says; approved, it rests on the evidence of all"
        if label is DraftLabel.REFINE
        else f"{keeps} and {others} can't hold together; approved, the newer one stays"
    )
    return Merge(
        merge_id=f"g_{digest[:_ID_CHARS]}",
        label=label,
        keeps=keeps,
        gives_way=tuple(gives_way),
        rationale=rationale,
    )


def _worth(memory: Memory, *, is_persons: Callable[[Memory], bool]) -> tuple[object, ...]:
    """Of several that say the same, the first by this stays."""
    return (
        not memory.pinned,
        not memory.by_hand,
        not is_persons(memory),
        -memory.usage.count,
        -len(memory.entry_ids),
        -memory.last_confirmed,
        memory.memory_id,
    )


class _Near:
    """The memories by their words, so that each is compared with the few that share enough of them."""

    def __init__(self, memories: Sequence[Memory]) -> None:
        self._senses: dict[str, Sense] = {memory.memory_id: sense_of(memory.statement) for memory in memories}
        self._sharing: dict[str, list[Memory]] = {memory.memory_id: [] for memory in memories}
        for pair in self._pairs(memories):
            if self._are_near(*pair):
                for memory, other in (pair, pair[::-1]):
                    self._sharing[memory.memory_id].append(other)

    def of(self, memory: Memory) -> Sequence[Memory]:
        """Return the memories of its scope, sort and condition that share enough words with it."""
        return self._sharing[memory.memory_id]

    def say_the_same(self, memory: Memory, other: Memory) -> bool:
        """Whether two say the same, in other words perhaps, but with the same names, numbers and negations."""
        first, second = self._senses[memory.memory_id], self._senses[other.memory_id]
        if first.exact != second.exact or first.refused != second.refused:
            return False
        if same_statement(memory.statement, other.statement):
            return True
        if first.negates != second.negates:
            return False
        if code_in(memory.statement) != code_in(other.statement):
            return False
        return (
            not contradicts(memory.statement, other.statement)
            and likeness(memory.statement, other.statement) >= _ALIKE_FROM
        )

    def contradict(self, memory: Memory, other: Memory) -> bool:
        """Whether two that are near can't both hold."""
        return contradicts(memory.statement, other.statement)

    def _pairs(self, memories: Sequence[Memory]) -> Iterator[tuple[Memory, Memory]]:
        """Yield the pairs of a scope that share words that count, each once: never each with each."""
        index = StatementIndex()
        by_id: dict[str, Memory] = {}
        for memory in memories:
            for name in index.near(memory.scope, memory.statement):
                yield memory, by_id[name]
            index.put(memory.memory_id, memory.scope, memory.statement)
            by_id[memory.memory_id] = memory

    def _are_near(self, memory: Memory, other: Memory) -> bool:
        first, second = self._senses[memory.memory_id].words, self._senses[other.memory_id].words
        least = min(len(first), len(second))
        return (
            (
                least == 0
                or len(first & second) >= _SHARED_FROM * least
                or exclude_each_other(memory.statement, other.statement)
            )
            and are_of_one_family(memory.kind, other.kind)
            and (memory.condition == other.condition or same_condition(memory.condition, other.condition))
        )
