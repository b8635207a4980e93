"""Search among what is remembered: full text, ranked with recency and use, with why each was found."""

from __future__ import annotations

from collections.abc import Collection, Sequence, Set

from msgspec import Struct

from memory_pipeline.concepts import concepts_of
from memory_pipeline.recall.weight import weight_of
from memory_pipeline.records import Entry, EntryKind, Memory, MemoryStatus
from memory_pipeline.store.search import PREFIX_FROM
from memory_pipeline.store.store import Store
from memory_pipeline.terms import terms_of

#: So many more than asked for are taken from the index, since recency and use change the order.
_TAKEN = 4
_MOST_MATCHED = 8


class Found(Struct, frozen=True, kw_only=True):
    """One memory that a query found."""

    memory: Memory
    score: float
    matched: tuple[str, ...]  # words of the query that it holds, as they were typed
    where: (
        str  # "statement"; "evidence" when only what it rests on holds them; "meaning" when it says the same otherwise
    )
    snippet: str  # the statement, or the quote that holds them


def search(
    store: Store,
    query: str,
    *,
    now: float,
    limit: int = 10,
    scopes: Collection[str] | None = None,
    kinds: Collection[EntryKind] | None = None,
    statuses: Collection[MemoryStatus] = (MemoryStatus.ACTIVE,),
) -> list[Found]:
    """Return what a query finds, best first, at most ``limit``; any text is a query. Looking does not count as use."""
    hits = store.search.find(query, limit=limit * _TAKEN, scopes=scopes, kinds=kinds, statuses=statuses)
    memories = store.memories.get_many([hit.memory_id for hit in hits])
    ranked = sorted(
        ((hit.score * weight(memories[hit.memory_id], now=now), memories[hit.memory_id]) for hit in hits),
        key=lambda item: (-item[0], item[1].memory_id),
    )[:limit]
    entries = store.extractions.standing_entries([e for _, memory in ranked for e in memory.entry_ids])
    words = list(dict.fromkeys(query.split()))
    return [
        _found(memory, score, words, [entries[e] for e in memory.entry_ids if e in entries]) for score, memory in ranked
    ]


def weight(memory: Memory, *, now: float) -> float:
    """Return by how much recency, use and a pin raise a memory in a ranking: 1 for an old one that was never used."""
    usage = memory.usage
    return weight_of(memory.last_confirmed, usage.last_usage, usage.count, is_pinned=memory.pinned, now=now)


def _found(memory: Memory, score: float, words: Sequence[str], entries: Sequence[Entry]) -> Found:
    said = f"{memory.statement} {memory.condition}"
    matched = _held(words, said)
    if matched:
        return Found(memory=memory, score=score, matched=matched, where="statement", snippet=memory.statement)
    quotes = [line.quote for entry in entries for line in entry.evidence]
    best = max(quotes, key=lambda quote: len(_held(words, quote)), default=memory.statement)
    matched = _held(words, best)
    if matched:
        return Found(memory=memory, score=score, matched=matched, where="evidence", snippet=best)
    return Found(memory=memory, score=score, matched=_meant(words, said), where="meaning", snippet=memory.statement)


def _meant(words: Sequence[str], text: str) -> tuple[str, ...]:
    about = set(concepts_of(text))
    return tuple(word for word in words if about & set(concepts_of(word)))[:_MOST_MATCHED]


def _held(words: Sequence[str], text: str) -> tuple[str, ...]:
    terms = set(terms_of(text))
    return tuple(word for word in words if any(_holds(terms, term) for term in terms_of(word)))[:_MOST_MATCHED]


def _holds(terms: Set[str], term: str) -> bool:
    return term in terms or (len(term) >= PREFIX_FROM and any(known.startswith(term) for known in terms))
