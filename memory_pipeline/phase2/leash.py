"""What a model as curator may not do: the checks that stand between its proposals and the memories.

A model is good at seeing that two things are one, and at wording; it is not believed about anything. So it words a
memory only in words of the memory's own entries, loses nothing that was refused, named or conditional in them, and
lets nothing join, yield or go that does not belong together. What is refused is told with its reason, so that it can
propose something better; what it can't get through, the rules do.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from memory_pipeline.entries import are_of_one_family
from memory_pipeline.likeness import contradicts, same_condition, same_statement, sense_of, signature
from memory_pipeline.records import STATED_KINDS, Entry, Memory, MemoryStatus, Speaker

#: Of the memories that are told, a model may retire at most this share in one consolidation, but always one.
MOST_RETIRED_SHARE = 0.1


class Wording(Struct, frozen=True, kw_only=True):
    """How something is, or would be, said."""

    statement: str
    condition: str

    @property
    def whole(self) -> str:
        """Both as one text; the comma ends whatever the statement was about to refuse."""
        return f"{self.statement}, {self.condition}" if self.condition else self.statement


def wording_of(told: Memory | Entry) -> Wording:
    """Return how a memory or an entry says it."""
    return Wording(statement=told.statement, condition=told.condition)


def fault_of_joining(memory: Memory, entry: Entry) -> str | None:
    """Say why an entry can't confirm a memory as it is worded, None if it can."""
    if memory.status is not MemoryStatus.ACTIVE:
        return "only a memory that is told can be joined"
    if not are_of_one_family(memory.kind, entry.kind):
        return f"is a {memory.kind}, and the entry a {entry.kind}"
    told, new = sense_of(wording_of(memory).whole), sense_of(wording_of(entry).whole)
    if contradicts(memory.statement, entry.statement) or told.refused & new.asked or new.refused & told.asked:
        return "says the opposite of that entry"
    if not signature(memory.statement) & signature(entry.statement):
        return "shares no word with that entry"
    if not (sense_of(memory.condition).words <= new.words and sense_of(entry.condition).words <= told.words):
        return "holds under another condition than that entry"
    more = (new.exact | new.refused) - told.words
    if more or (new.negates and not told.negates) or 2 * len(new.words - told.words) > len(new.words):
        also = f" ({', '.join(sorted(more))})" if more else ""
        return f"says less than that entry{also}: reword it with the entry, so that it says all, or add the entry"
    return None


def fault_of_wording(new: Wording, olds: Sequence[Wording], entries: Sequence[Entry]) -> str | None:
    """Say why a memory can't be worded so, None if it can.

    ``olds`` are its present wording and that of the entry that joins it; ``entries`` all that it then rests on.
    """
    now = sense_of(new.whole)
    known = frozenset(word for text in _sources(entries) for word in sense_of(text).words)
    foreign = now.words - known
    if foreign:
        return f"brings in words that none of its entries says: {', '.join(sorted(foreign))}"
    before = [sense_of(old.whole) for old in olds]
    if any(contradicts(old.statement, new.statement) for old in olds) or any(
        sense.refused & now.asked or now.refused & sense.asked for sense in before
    ):
        return "turns round what was said"
    refused = frozenset(word for sense in before for word in sense.refused)
    if refused != now.refused or any(sense.negates for sense in before) is not now.negates:
        return "refuses more, or less, than was refused"
    return _loss(new, olds) or _narrowing(new, olds)


def _loss(new: Wording, olds: Sequence[Wording]) -> str | None:
    """Name what a wording leaves out: names and circumstances of any, most words of any, some word of all."""
    now = sense_of(new.whole).words
    losses: list[frozenset[str]] = []
    for old in olds:
        sense = sense_of(old.whole)
        lost = sense.words - now
        needed = lost & (sense.exact | sense.place | sense_of(old.condition).words)
        if needed:
            return f"leaves out {', '.join(sorted(needed))}"
        if 2 * len(lost) > len(sense.words):
            return f"leaves out most of what was said: {', '.join(sorted(lost))}"
        losses.append(lost)
    if all(losses):
        least = min((sorted(lost) for lost in losses), key=len)
        return f"leaves out {', '.join(least)}"
    return None


def _narrowing(new: Wording, olds: Sequence[Wording]) -> str | None:
    """Refuse a condition that was not named with each of what is said."""
    if not new.condition:
        return None
    condition = sense_of(new.condition)
    if not condition.words:
        return "has a condition that names no circumstance"
    if condition.negates and not any(sense_of(old.whole).negates for old in olds):
        return "has a condition that takes back what was said"
    if any(not condition.words <= sense_of(old.whole).words for old in olds):
        return "narrows what was said without that condition"
    return None


def fault_of_company(told: Memory | Entry, *, is_stated: bool, beside: Iterable[tuple[Memory, bool]]) -> str | None:
    """Say which memory forbids that this is told beside it: one that says the same, or can't hold with it.

    ``beside`` are the memories of the scope that are told, each with whether it is the person's word. What the person
    said against what they said is no fault: the newer word wins, whoever curates.
    """
    for memory, memory_is_stated in beside:
        if not same_condition(memory.condition, told.condition):
            continue
        if are_of_one_family(memory.kind, told.kind) and same_statement(memory.statement, told.statement):
            return f"{memory.memory_id} says the same: merge the entry into it"
        if not (is_stated and memory_is_stated) and contradicts(memory.statement, told.statement):
            return f"contradicts {memory.memory_id}: flag it, only a person can settle it"
    return None


def fault_of_superseding(older: Memory, newer: Memory, *, newer_is_stated: bool, is_newer: bool) -> str | None:
    """Say why one memory can't take another's place, None if it can."""
    if older.status is not MemoryStatus.ACTIVE or newer.status is not MemoryStatus.ACTIVE:
        return "only what is told can take the place of what is told"
    if not (same_condition(older.condition, newer.condition) and contradicts(older.statement, newer.statement)):
        return "does not contradict it: both may hold"
    if not newer_is_stated:
        return "contradicts what no person said: flag it, only a person can settle it"
    return None if is_newer else "was said later than what would take its place"


def fault_of_retiring(memory: Memory, entry: Entry | None, *, is_stated: bool, is_newer: bool) -> str | None:
    """Say why a memory can't be retired because of an entry, None if it can."""
    if entry is None:
        return "rests on no entry"
    if entry.scope != memory.scope:
        return "mixes scopes"
    if not signature(memory.statement) & signature(entry.statement):
        return "shares no word with that entry"
    if is_stated and not contradicts(memory.statement, entry.statement):
        return "is what a person stated, and that entry does not take it back"
    return None if is_newer else "was said later than that entry"


def _sources(entries: Iterable[Entry]) -> Iterable[str]:
    """The words that a memory may be worded in: of what the person stated, theirs alone."""
    for entry in entries:
        yield entry.statement
        yield entry.condition
        for line in entry.evidence:
            if entry.kind not in STATED_KINDS or line.speaker is Speaker.USER:
                yield line.quote
