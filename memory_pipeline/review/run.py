"""Review between the phases: label what is new, let pass what may pass by itself, keep the queue short."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from memory_pipeline.clock import DAY_SECONDS, Clock
from memory_pipeline.config import Config
from memory_pipeline.entries import states_persons_word
from memory_pipeline.errors import StoreError
from memory_pipeline.records import (
    PROJECT_SCOPE_PREFIX,
    STATED_KINDS,
    Decider,
    Draft,
    Entry,
    EntryKind,
    Judgement,
    Memory,
    MemoryStatus,
    ReviewCounts,
    ReviewRecord,
    ReviewStatus,
)
from memory_pipeline.redact import redact
from memory_pipeline.review.fingerprint import Fingerprint, fingerprint_of, new_salt, read_fingerprint
from memory_pipeline.review.policy import passes, readiness_of
from memory_pipeline.rollouts.journal import Journal
from memory_pipeline.rollouts.review_lines import left_of_review
from memory_pipeline.statements import one_line
from memory_pipeline.store.drafts import Decided, Dropped, Rejection, Unjudged
from memory_pipeline.store.store import Store
from memory_pipeline.tombstones import TombstoneFolder

if TYPE_CHECKING:
    from memory_pipeline.review.labels import Known, Labeller

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
        self._journal = Journal(config.journal_path)

    def run_once(self) -> ReviewCounts:
        """Label every entry that no memory rests on and no person decided about, and let pass what review.mode lets."""
        now = self._clock.now()
        self.catch_up()
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
        """Reject drafts: what they say does not come back, reworded or not. For ``seen`` see Drafts.decide.

        Raises:
            StoreError: this, like each decision, can't be written down; nothing was decided.
        """
        return self._decide(entries, ReviewStatus.REJECTED, note, seen)

    def approve(self, entries: Sequence[Entry], *, note: str = "", seen: Iterable[Draft] = ()) -> Decided:
        """Approve drafts: the next consolidation takes them in. For ``seen`` see Drafts.decide."""
        return self._decide(entries, ReviewStatus.APPROVED, note, seen)

    def defer(self, entries: Sequence[Entry], *, days: float, note: str = "", seen: Iterable[Draft] = ()) -> Decided:
        """Put drafts off: they come back into the queue after so many days, at most 36500. For ``seen`` see Drafts.

        What is no number counts as the most.
        """
        return self._decide(entries, ReviewStatus.DEFERRED, note, seen, days=min(_LONGEST_DEFERRAL_DAYS, days))

    def reopen(self, entries: Sequence[Entry], *, note: str = "", seen: Iterable[Draft] = ()) -> Decided:
        """Let drafts wait again, for a person alone to decide. For ``seen`` see Drafts.decide."""
        return self._decide(entries, ReviewStatus.PENDING, note, seen)

    def note(self, entry: Entry, note: str) -> bool:
        """Put a note on a draft, and decide nothing; false when it is no longer said."""
        self.catch_up()
        (fingerprint,) = self._fingerprints([entry])
        return self._store.drafts.note(
            entry, note_of(note), now=self._clock.now(), write_down=self._write_down, fingerprint=fingerprint
        )

    def undo(self, entry_ids: Sequence[str] | None = None, *, seen: Iterable[Draft] = ()) -> list[str]:
        """Take back the last decision or note; see Drafts.undo."""
        self.catch_up()
        return self._store.drafts.undo(entry_ids, now=self._clock.now(), write_down=self._write_down, seen=seen)

    def catch_up(self) -> None:
        """Take in what the journal tells of decisions and the database does not know; write down what only it knows.

        The first is so after a crash between the two, and where the database was made anew or is an older one; the
        second, once, where decisions were made before they were written down.

        Raises:
            StoreError: the journal can't be read or written.
        """
        self._write_former_down()
        known = self._store.drafts.known_records()
        missing = [record for record in self._read_journal() if record.record_id not in known]
        if missing:
            self._store.drafts.learn_records(list(self._as_of_now(missing)))

    def relabelled(self, drafts: Iterable[Draft], known: Iterable[Known]) -> list[Draft]:
        """Return drafts as they would be labelled against what is ``known`` instead; stores nothing.

        Those about memories stay as they are.
        """
        from memory_pipeline.review.labels import Labeller

        labeller = Labeller(known)
        found = []
        for draft in drafts:
            if draft.merges:
                found.append(draft)
                continue
            labelled = labeller.label(draft.entry)
            found.append(
                replace(
                    draft,
                    label=labelled.label,
                    readiness=readiness_of(labelled.label, draft.coverage),
                    rationale=labelled.rationale,
                    nearest=labelled.nearest,
                )
            )
        return found

    def _decide(
        self,
        entries: Sequence[Entry],
        status: ReviewStatus,
        note: str,
        seen: Iterable[Draft],
        *,
        days: float | None = None,
    ) -> Decided:
        self.catch_up()
        now = self._clock.now()
        return self._store.drafts.decide(
            entries,
            status,
            note=note_of(note),
            now=now,
            write_down=self._write_down,
            fingerprints=self._fingerprints(entries),
            deferred_until=None if days is None else now + days * DAY_SECONDS,
            seen=seen,
        )

    def _write_down(self, records: Sequence[ReviewRecord]) -> None:
        # Before the transaction ends: whatever is decided stands in the journal, and a crash in between is caught up.
        try:
            self._journal.append(records)
        except OSError as error:
            reason = error.strerror or error
            raise StoreError(f"{self._journal.path}: can't be written: {reason}; nothing was decided") from error

    def _read_journal(self) -> list[ReviewRecord]:
        try:
            return self._journal.read_reviews()
        except OSError as error:
            raise StoreError(f"{self._journal.path}: can't be read: {error.strerror or error}") from error

    def _as_of_now(self, records: Sequence[ReviewRecord]) -> Iterable[ReviewRecord]:
        """Yield what stays of records: nothing of what was forgotten; of a folder, its project as known by now."""
        tombstones = TombstoneFolder(self._config.tombstones_path).current()
        names = [record.entry_id for record in records]
        known = self._store.extractions.known_entries(names) if not tombstones.is_empty else {}
        projects = {
            f"{PROJECT_SCOPE_PREFIX}{folder}": scope
            for folder, scope in self._store.threads.scopes_with_remote().items()
        }
        for record in records:
            left = left_of_review(record, tombstones, is_known=record.entry_id in known)
            if left is not None:
                # The file is the person's to edit: its notes are masked like those of a command.
                yield replace(left, note=note_of(left.note), scope=projects.get(left.scope, left.scope))

    def _write_former_down(self) -> None:
        former = {one.entry.entry_id: one for one in self._store.drafts.former()}
        if not former:
            return
        prints = dict(zip(former, self._fingerprints([one.entry for one in former.values()]), strict=True))
        # A backup from before may come back when all that it tells was written down long ago.
        told = {record.record_id for record in self._read_journal()}
        self._store.drafts.write_former_down(
            former,
            fingerprints=prints,
            write_down=lambda records: self._write_down([one for one in records if one.record_id not in told]),
        )

    def _fingerprints(self, entries: Sequence[Entry]) -> list[str]:
        salt = self._salt()
        return [fingerprint_of(entry.statement, entry.condition, salt=salt).as_json() for entry in entries]

    def _find_again(self, unjudged: Sequence[Unjudged]) -> None:
        """Let a decision be about the entry that says the same in its session, where another reading renamed it."""
        waiting = {record.entry_id: record for record in self._store.drafts.waiting_records() if record.fingerprint}
        for one in unjudged:
            waiting.pop(one.entry.entry_id, None)
        found = {
            entry_id: one.entry.entry_id
            for entry_id, record in waiting.items()
            for one in unjudged
            if record.thread_id == one.entry.thread_id
            and record.kind is one.entry.kind
            and read_fingerprint(record.fingerprint).is_of(one.entry.statement, one.entry.condition)
        }
        if found:
            self._store.drafts.let_stand_for(found)

    def _judge(self, unjudged: Sequence[Unjudged]) -> list[Judgement]:
        if not unjudged:
            return []
        from memory_pipeline.review.labels import Labeller

        self._find_again(unjudged)
        labeller = Labeller(self._known(), lines_of=self._lines_of)
        rejected = Rejections(self._store.drafts.rejections())
        return [self._judgement(one, labeller, rejected) for one in unjudged]

    def _judgement(self, one: Unjudged, labeller: Labeller, rejected: Rejections) -> Judgement:
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
        from memory_pipeline.review.labels import known_of

        memories = self._store.memories.every(status=MemoryStatus.ACTIVE)
        return known_of(memories, is_persons=self.persons_words(memories))

    def _lines_of(self, known: Known) -> frozenset[str]:
        memory = self._store.memories.get(known.known_id)
        entries = self._store.extractions.standing_entries(memory.entry_ids) if memory is not None else {}
        return frozenset(line.line_sha256 for entry in entries.values() for line in entry.evidence)

    def _salt(self) -> str:
        # One salt, so that a new statement is hashed once, however much was rejected.
        known = self._store.drafts.any_fingerprint()
        return read_fingerprint(known).salt if known else new_salt()


def note_of(text: str) -> str:
    """Return a person's note as it is kept: one line, secrets masked, at most 500 characters."""
    return one_line(redact(text).text, _NOTE_CHARS)


class Rejections:
    """What the person rejected, by scope and sort of statement.

    What they don't want said as their word they don't want said as a fact either, of whatever kind a later reading
    takes it to be. A fact that they rejected they may still state themselves.
    """

    def __init__(self, rejections: Iterable[Rejection]) -> None:
        self._told: dict[tuple[object, ...], list[tuple[str, Fingerprint]]] = {}
        self._salts: dict[str, None] = {}
        for one in rejections:
            fingerprint = read_fingerprint(one.fingerprint)
            self._salts[fingerprint.salt] = None
            for key in _keys_of(one.scope, EntryKind(one.kind) in STATED_KINDS, fingerprint):
                self._told.setdefault(key, []).append((one.entry_id, fingerprint))

    def holds(self, entry: Entry) -> bool:
        """Whether an entry says what was rejected in its scope."""
        return any(
            one.covers_like(told)
            for told in (fingerprint_of(entry.statement, entry.condition, salt=salt) for salt in self._salts)
            for is_stated in {True, entry.kind in STATED_KINDS}
            for key in _keys_of(entry.scope, is_stated, told)
            for entry_id, one in self._told.get(key, ())
            if entry_id != entry.entry_id  # its own rejection is carried out with all else that was decided about it
        )


def _keys_of(scope: str, is_stated: bool, fingerprint: Fingerprint) -> tuple[tuple[object, ...], ...]:
    """Keys under which a fingerprint meets whatever it covers, so that few of many rejections are looked at."""
    place = (scope, is_stated, fingerprint.salt)
    return (*place, fingerprint.whole), (*place, fingerprint.exact, fingerprint.negates)


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
