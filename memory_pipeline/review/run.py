"""Review between the phases: label what is new, let pass what may pass by itself, keep the queue short."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence

from memory_pipeline.clock import DAY_SECONDS, Clock
from memory_pipeline.config import Config
from memory_pipeline.entries import states_persons_word
from memory_pipeline.records import (
    STATED_KINDS,
    Decider,
    Draft,
    Entry,
    EntryKind,
    Judgement,
    Memory,
    MemoryStatus,
    ReviewCounts,
    ReviewStatus,
)
from memory_pipeline.redact import redact
from memory_pipeline.review.fingerprint import Fingerprint, fingerprint_of, new_salt, read_fingerprint
from memory_pipeline.review.labels import Known, Labeller, known_of
from memory_pipeline.review.policy import passes, readiness_of
from memory_pipeline.statements import one_line
from memory_pipeline.store.drafts import Decided, Dropped, Unjudged
from memory_pipeline.store.store import Store

_NOTE_CHARS = 500
#: A date after the year 9999 can't be shown.
_LONGEST_DEFERRAL_DAYS = 36_500.0

#: Labels made by other rules than these are made anew.
_RULES_VERSION = 2


class Review:
    """The review of one state folder. Knows nothing of schedules, and asks nobody."""

    def __init__(self, config: Config, store: Store, clock: Clock) -> None:
        self._config = config
        self._store = store
        self._clock = clock

    def run_once(self) -> ReviewCounts:
        """Label every entry that no memory rests on and no person decided about, and let pass what review.mode lets."""
        now = self._clock.now()
        self._store.drafts.bring_back_deferred(now=now)
        basis = f"{_RULES_VERSION}/{self._config.review.mode}/{self._store.drafts.basis()}"
        judgements = self._judge(self._store.drafts.unjudged(basis))
        if judgements:
            self._store.drafts.judge(judgements, basis=basis, now=now)
        dropped = self._store.drafts.bound_queue(
            most=self._config.review.max_pending, oldest=now - self._config.review.max_pending_days * DAY_SECONDS
        )
        return ReviewCounts(
            labelled=len(judgements),
            approved=sum(one.review_status is ReviewStatus.APPROVED for one in judgements),
            pending=self._store.drafts.count_queue(),
            dropped=dropped.by_age + dropped.by_rank,
            problems=tuple(_tell_dropped(dropped)),
        )

    def reject(self, entries: Sequence[Entry], *, note: str = "", seen: Iterable[Draft] = ()) -> Decided:
        """Reject drafts: what they say does not come back, reworded or not. For ``seen`` see Drafts.decide."""
        salt = self._salt()
        return self._store.drafts.decide(
            [entry.entry_id for entry in entries],
            ReviewStatus.REJECTED,
            note=note_of(note),
            now=self._clock.now(),
            fingerprints=[fingerprint_of(entry.statement, entry.condition, salt=salt).as_json() for entry in entries],
            seen=seen,
        )

    def approve(self, entries: Sequence[Entry], *, note: str = "", seen: Iterable[Draft] = ()) -> Decided:
        """Approve drafts: the next consolidation takes them in. For ``seen`` see Drafts.decide."""
        return self._store.drafts.decide(
            [entry.entry_id for entry in entries],
            ReviewStatus.APPROVED,
            note=note_of(note),
            now=self._clock.now(),
            seen=seen,
        )

    def defer(self, entries: Sequence[Entry], *, days: float, note: str = "", seen: Iterable[Draft] = ()) -> Decided:
        """Put drafts off: they come back into the queue after so many days, at most 36500. For ``seen`` see Drafts.

        What is no number counts as the most.
        """
        now = self._clock.now()
        return self._store.drafts.decide(
            [entry.entry_id for entry in entries],
            ReviewStatus.DEFERRED,
            note=note_of(note),
            now=now,
            deferred_until=now + min(_LONGEST_DEFERRAL_DAYS, days) * DAY_SECONDS,
            seen=seen,
        )

    def reopen(self, entries: Sequence[Entry], *, note: str = "", seen: Iterable[Draft] = ()) -> Decided:
        """Let drafts wait again, for a person alone to decide. For ``seen`` see Drafts.decide."""
        return self._store.drafts.decide(
            [entry.entry_id for entry in entries],
            ReviewStatus.PENDING,
            note=note_of(note),
            now=self._clock.now(),
            seen=seen,
        )

    def note(self, entry: Entry, note: str) -> bool:
        """Put a note on a draft, and decide nothing; false when it is no longer said."""
        return self._store.drafts.note(entry.entry_id, note_of(note), now=self._clock.now())

    def relabelled(self, drafts: Iterable[Draft], known: Iterable[Known]) -> list[Draft]:
        """Return drafts as they would be labelled against what is ``known`` instead; stores nothing.

        Those about memories stay as they are.
        """
        labeller = Labeller(known)
        found = []
        for draft in drafts:
            if draft.merges:
                found.append(draft)
                continue
            labelled = labeller.label(draft.entry)
            found.append(
                dataclasses.replace(
                    draft,
                    label=labelled.label,
                    readiness=readiness_of(labelled.label, draft.coverage),
                    rationale=labelled.rationale,
                    nearest=labelled.nearest,
                )
            )
        return found

    def _judge(self, unjudged: Sequence[Unjudged]) -> list[Judgement]:
        if not unjudged:
            return []
        labeller = Labeller(self._known(), lines_of=self._lines_of)
        rejected = _Rejected(
            (one.scope, EntryKind(one.kind), read_fingerprint(one.fingerprint))
            for one in self._store.drafts.rejections()
        )
        return [self._judgement(one, labeller, rejected) for one in unjudged]

    def _judgement(self, one: Unjudged, labeller: Labeller, rejected: _Rejected) -> Judgement:
        labelled = labeller.label(one.entry, is_flagged=one.is_flagged)
        status, decided_by = ReviewStatus.PENDING, None
        if rejected.holds(one.entry):
            status, decided_by = ReviewStatus.REJECTED, Decider.REJECTION
        elif passes(self._config.review.mode, one.entry, labelled, one.coverage):
            status, decided_by = ReviewStatus.APPROVED, Decider.POLICY
        return Judgement(
            entry_id=one.entry.entry_id,
            coverage=one.coverage,
            label=labelled.label,
            readiness=readiness_of(labelled.label, one.coverage),
            rationale=labelled.rationale,
            nearest=labelled.nearest,
            review_status=status,
            decided_by=decided_by,
        )

    def persons_words(self, memories: Sequence[Memory]) -> Callable[[Memory], bool]:
        """Return what tells whether a memory says what a person stated."""
        # Of what a person states the kind tells it; of the rest, what it rests on.
        resting = sorted({e for m in memories if m.kind not in STATED_KINDS for e in m.entry_ids})
        entries = self._store.extractions.standing_entries(resting)

        def is_persons(memory: Memory) -> bool:
            resting_on = (entries[entry_id] for entry_id in memory.entry_ids if entry_id in entries)
            return states_persons_word(memory.kind, resting_on)

        return is_persons

    def _known(self) -> list[Known]:
        memories = self._store.memories.every(status=MemoryStatus.ACTIVE)
        return known_of(memories, is_persons=self.persons_words(memories))

    def _lines_of(self, known: Known) -> frozenset[str]:
        memory = self._store.memories.get(known.known_id)
        entries = self._store.extractions.standing_entries(memory.entry_ids) if memory is not None else {}
        return frozenset(line.line_sha256 for entry in entries.values() for line in entry.evidence)

    def _salt(self) -> str:
        # One salt, so that a new statement is hashed once, however much was rejected.
        for one in self._store.drafts.rejections():
            return read_fingerprint(one.fingerprint).salt
        return new_salt()


def note_of(text: str) -> str:
    """Return a person's note as it is kept: one line, secrets masked, at most 500 characters."""
    return one_line(redact(text).text, _NOTE_CHARS)


class _Rejected:
    """What the person rejected, by scope and sort of statement.

    What they don't want said as their word they don't want said as a fact either, of whatever kind a later reading
    takes it to be. A fact that they rejected they may still state themselves.
    """

    def __init__(self, rejections: Iterable[tuple[str, EntryKind, Fingerprint]]) -> None:
        self._fingerprints: dict[tuple[str, bool], list[Fingerprint]] = {}
        for scope, kind, fingerprint in rejections:
            self._fingerprints.setdefault((scope, kind in STATED_KINDS), []).append(fingerprint)

    def holds(self, entry: Entry) -> bool:
        """Whether an entry says what was rejected in its scope."""
        is_stated = entry.kind in STATED_KINDS
        return any(
            one.covers(entry.statement, entry.condition)
            for sort in {True, is_stated}
            for one in self._fingerprints.get((entry.scope, sort), ())
        )


def _tell_dropped(dropped: Dropped) -> Iterable[str]:
    if dropped.by_age:
        yield (
            f"{dropped.by_age} drafts left the review queue, since they waited longer than review.max_pending_days; "
            "`memory-pipeline drafts list --dropped` shows them"
        )
    if dropped.by_rank:
        yield (
            f"{dropped.by_rank} drafts don't fit into the review queue (review.max_pending); they come back when there "
            "is room, and `memory-pipeline drafts list --dropped` shows them"
        )
