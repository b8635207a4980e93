"""Today's rules for secrets, applied to everything that is stored: what older rules let through is masked as well."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from msgspec.structs import replace

from memory_pipeline.clock import Clock
from memory_pipeline.config import Config
from memory_pipeline.forget.forgetting import Forgetting
from memory_pipeline.forget.marks import marks_of
from memory_pipeline.forget.receipt import Receipt
from memory_pipeline.phase2.erase import mask_files, notes_with
from memory_pipeline.phase2.hand import Hand
from memory_pipeline.phase2.places import places_below
from memory_pipeline.records import JournalRecord, SubmittedTask
from memory_pipeline.redact import Redacted, redact
from memory_pipeline.review.erase import mask_review_files
from memory_pipeline.rollouts.task_lines import read_tasks
from memory_pipeline.store.store import Store

#: Differs from the digest of any tombstones, so that the next start publishes what a crash left unpublished.
_UNFINISHED = "rescan"


class Rescanning:
    """Masks what is stored."""

    def __init__(
        self,
        config: Config,
        store: Store,
        clock: Clock,
        forgetting: Forgetting,
        hand: Hand,
        *,
        redact_text: Callable[[str], Redacted] = redact,
    ) -> None:
        """Take the parts; ``redact_text`` are the rules."""
        self._config = config
        self._store = store
        self._clock = clock
        self._forgetting = forgetting
        self._hand = hand
        self._places = places_below(config.state_path, config.workspace_path)
        self._redact = redact_text

    def count(self) -> dict[str, int]:
        """Count what would be masked in the database and the journal, by kind; changes nothing."""
        counts: Counter[str] = Counter()
        for text in self._texts():
            counts.update(self._redact(text).counts)
        return dict(sorted(counts.items()))

    def rescan(self) -> Receipt:
        """Mask it everywhere, publish anew, and look whether anything is left.

        Raises:
            LockedError: another run holds the workspace; nothing was masked.
            OSError, MemoryPipelineError: it could not be finished; the next command does.
        """
        with self._forgetting.locked():
            before = list(self._texts())
            counts = self.count()
            marks = marks_of(
                [text for text in before if self._mask(text) != text], [self._mask(text) for text in before]
            )
            self._store.forgetting.fence()
            self._store.forgetting.mask(self._mask, met=_UNFINISHED)
            self._hand.journal.rewrite(
                self._masked_record,
                remains_of_review=lambda record: replace(record, note=self._mask(record.note)),
                holds=lambda text: self._mask(text) != text,
                remains_of_task=lambda task, _line_sha256: self._masked_task(task),
            )
            self._hand.deeds()
            mask_files(self._places, self._mask)
            mask_review_files(self._config, self._store, self._clock, self._mask)
            self._forgetting.finish()
            notes = [
                f"{path} holds what looks like a secret; extensions are not ours to change: mask it yourself"
                for path in notes_with(self._places, lambda text: self._mask(text) != text)
            ]
            return self._forgetting.look(marks, counts, notes)

    def _mask(self, text: str) -> str:
        return self._redact(text).text

    def _masked_record(self, record: JournalRecord) -> JournalRecord:
        return replace(
            record,
            condition=self._mask(record.condition),
            statement=self._mask(record.statement),
            was=self._mask(record.was),
            was_condition=self._mask(record.was_condition),
        )

    def _masked_task(self, task: SubmittedTask) -> SubmittedTask:
        return replace(task, goal=self._mask(task.goal), result=self._mask(task.result))

    def _texts(self) -> Iterable[str]:
        yield from self._store.forgetting.texts()
        for line in self._hand.journal.read():
            record = line.record
            yield from (record.condition, record.statement, record.was, record.was_condition)
        for task in (line.task for line in read_tasks(self._hand.journal.path)):
            yield from (task.goal, task.result)
        yield from (record.note for record in self._hand.journal.read_reviews())
