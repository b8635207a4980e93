"""Forgetting: choose, write the tombstones, bring every place in line with them, look once more, tell.

The tombstones come first and are durable. Everything after them is one function that may be repeated, so that a crash
at any step, or a backup that is put back, is mended by the next start.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from memory_pipeline.clock import Clock
from memory_pipeline.config import Config
from memory_pipeline.errors import ConfigError, LockedError, MemoryPipelineError, reason_of
from memory_pipeline.files import make_private_folder
from memory_pipeline.forget.due import is_forgetting_due
from memory_pipeline.forget.erasure import erasure_of, forgotten_texts, surviving_texts
from memory_pipeline.forget.marks import Marks, marks_of
from memory_pipeline.forget.receipt import Receipt, search
from memory_pipeline.forget.selection import Selector, choose
from memory_pipeline.lock import HeldLock, os_lock
from memory_pipeline.phase2.baseline import read_baseline, read_workspace_file
from memory_pipeline.phase2.erase import Found, discard_leftovers, erase_found, find_forgotten
from memory_pipeline.phase2.extensions import EXTENSIONS_FOLDER
from memory_pipeline.phase2.hand import Hand, is_forgotten_task, left_of
from memory_pipeline.phase2.layout import MEMORY_FILE
from memory_pipeline.phase2.owner import claim_workspace
from memory_pipeline.phase2.places import OnStep, places_below, workspace_lock_path
from memory_pipeline.records import (
    Agent,
    Event,
    IndexedThread,
    JournalRecord,
    Phase2Counts,
    Phase2Outcome,
    SubmittedTask,
)
from memory_pipeline.review.erase import (
    erase_forgotten_files,
    erase_marked_files,
    find_forgotten_files,
    take_in_edited_files,
)
from memory_pipeline.rollouts.lineage import OwnPart
from memory_pipeline.rollouts.reading import RolloutReading, read_events
from memory_pipeline.rollouts.task_lines import read_tasks
from memory_pipeline.store.forgetting import Erasure, Kept
from memory_pipeline.store.store import Store
from memory_pipeline.tombstones import Tombstone, TombstoneFolder, Tombstones

logger = logging.getLogger(__name__)


class Plan(Struct, frozen=True, kw_only=True):
    """Exactly what a forgetting takes with it."""

    tombstones: Sequence[Tombstone]
    kept: Kept
    erasure: Erasure
    found: Found  # in files that rendering does not reach
    journal_records: Sequence[JournalRecord]  # lines of the journal that are blanked, or lose words
    journal_tasks: Sequence[SubmittedTask]  # submitted tasks whose lines are blanked
    review_files: Sequence[Path]  # packets, drafts, sync lists and what was kept aside, written anew or deleted
    backups: Sequence[Path]  # older databases and journals in the state folder, deleted whole

    @property
    def counts(self) -> dict[str, int]:
        """How much of each goes."""
        erasure = self.erasure
        return {
            "threads": len(erasure.threads),
            "entries": len(erasure.entries),
            "memories": len(erasure.memories),
            "reworded": sum(
                self.kept.memories[name].statement != memory.statement for name, memory in erasure.reworded.items()
            ),
            "summaries": len(erasure.remains),
            "history": len(erasure.operations) + len(erasure.images),
            "journal_lines": len(self.journal_records) + len(self.journal_tasks),
            "settings": len(erasure.settings),
            "handbook_lines": len(self.found.handbook_lines),
            "notes": len(self.found.notes),
            "review_files": len(self.review_files),
            "backups": len(self.backups),
        }


class Forgetting:
    """Forgets, and keeps forgotten."""

    def __init__(
        self,
        config: Config,
        store: Store,
        clock: Clock,
        *,
        mend: Callable[[HeldLock], object],
        publish_anew: Callable[[HeldLock], Phase2Counts],
        on_step: OnStep = lambda _name: None,
    ) -> None:
        """Take the parts. ``mend`` and ``publish_anew`` are phase two's, and find the workspace locked; see OnStep."""
        self._config = config
        self._store = store
        self._clock = clock
        self._mend = mend
        self._publish_anew = publish_anew
        self._lock: HeldLock | None = None  # while the workspace is held
        self._on_step = on_step
        self._places = places_below(config.state_path, config.workspace_path)
        self._folder = TombstoneFolder(config.tombstones_path)
        self._hand = Hand(config, store, clock)

    def plan(self, selector: Selector) -> Plan:
        """Tell exactly what forgetting would take with it; changes nothing.

        Raises:
            UsageError: what is named can't be forgotten in this way.
        """
        now = self._clock.now()
        kept = self._store.forgetting.kept()
        journal = self._hand.journal.read()
        earlier = self._folder.current()
        chosen = choose(selector, kept, journal, earlier=earlier, read_log=self._read_log, now=now)
        tombstones = earlier.with_others(Tombstones.of(chosen, now=now))
        records = [line.record for line in journal if left_of(line.record, tombstones) != line.record]
        return Plan(
            tombstones=chosen,
            kept=kept,
            erasure=erasure_of(kept, tombstones, taken_in=self._store.memories.taken_in()),
            found=find_forgotten(self._places, tombstones),
            journal_records=records,
            journal_tasks=[
                line.task
                for line in read_tasks(self._config.journal_path)
                if is_forgotten_task(line.task, line.line_sha256, tombstones)
            ],
            review_files=find_forgotten_files(self._config, self._store, tombstones),
            backups=self._backups(),
        )

    def forget(self, selector: Selector) -> Receipt:
        """Forget, everywhere, and look whether anything is left.

        Raises:
            LockedError, ConfigError: another run holds the workspace, or another state folder writes it; nothing was
                forgotten.
            UsageError: what is named can't be forgotten in this way.
            OSError, MemoryPipelineError: it could not be finished; the next command finishes it.
        """
        with self.locked():
            self._finish_what_was_cut_off()
            self._bring_in_line_if_due()
            take_in_edited_files(self._config, self._store, self._clock)
            plan = self.plan(selector)
            marks = self._marks_of(plan)
            self._folder.add(plan.tombstones, now=self._clock.now())
            self._on_step("wrote tombstones")
            self._bring_in_line()
            more = erase_marked_files(self._config, self._store, self._clock, marks.are_in)
            return self.look(marks, {**plan.counts, "review_files": len(plan.review_files) + more})

    def bring_in_line_if_due(self) -> None:
        """Finish a forgetting that was cut off, and forget again what a restored backup brought back.

        Where another run holds the workspace, that run does it; where another state folder writes it, nothing is done
        before a person says which of the two does.

        Raises:
            OSError, MemoryPipelineError: it could not be finished.
        """
        if is_forgetting_due(self._store, self._folder):
            try:
                with self.locked():
                    self._bring_in_line_if_due()
            except (LockedError, ConfigError):
                return

    def bring_in_line_under_lock(self, lock: HeldLock) -> None:
        """Do the same for a caller that holds the workspace."""
        self._lock = lock
        self._bring_in_line_if_due()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the workspace.

        Raises:
            LockedError: another run holds it.
            ConfigError: another state folder writes it.
        """
        lock = workspace_lock_path(self._config.workspace_path)
        make_private_folder(lock.parent)
        with os_lock(lock, purpose="forgetting") as self._lock:
            claim_workspace(self._places, self._config.database_path)
            yield

    def finish(self) -> None:
        """Publish what is left, and let no byte of the rest remain; the caller holds the workspace.

        Raises:
            OSError, MemoryPipelineError: it could not be finished; the next start does.
        """
        discard_leftovers(self._places)
        if self._lock is None:
            raise MemoryPipelineError("nothing is forgotten without holding the workspace")
        counts = self._publish_anew(self._lock)
        if counts.outcome not in (Phase2Outcome.CONSOLIDATED, Phase2Outcome.NO_INPUTS):
            problems = "; ".join(counts.problems) or "the workspace could not be published anew"
            raise MemoryPipelineError(f"forgetting is not finished: {problems}; the next command tries again")
        self._on_step("published")
        discard_leftovers(self._places)
        for path in self._backups():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        self._on_step("deleted backups")
        self._store.forgetting.compact()
        self._on_step("compacted")
        self._store.forgetting.set_met(self._folder.digest())
        self._on_step("finished")

    def look(self, marks: Marks, counts: dict[str, int], notes: Iterable[str] = ()) -> Receipt:
        """Search everything that is ours for the marks."""
        workspace = self._config.workspace_path
        places, holding, unread = search(
            [workspace, self._config.state_path],
            marks,
            read_database=self._store.forgetting.raw_bytes,
            database=self._config.database_path,
            leave_out=[self._config.users_path],
        )
        homes = [self._config.sources.of(agent).home for agent in (Agent.CODEX, Agent.CLAUDE)]
        not_searched = [f"{home} (the session logs are the agent's own)" for home in homes if Path(home).exists()]
        if (workspace / ".git").exists():
            not_searched.append(f"{workspace / '.git'} (a version control that is not ours)")
        if self._config.users_path.exists():
            not_searched.append(f"{self._config.users_path} (what the other users of the server keep is theirs)")
        return Receipt(
            counts=counts,
            searched_for=marks.count,
            places=places,
            still_hold=holding,
            unread=unread,
            not_searched=not_searched,
            notes=tuple(notes),
        )

    def _finish_what_was_cut_off(self) -> None:
        """Let a consolidation that was cut off publish the rest: what it wrote would pass for the person's hand."""
        if self._lock is None:
            return
        try:
            self._mend(self._lock)
        except (OSError, MemoryPipelineError) as error:  # what is to be forgotten waits for no disk
            logger.warning("not mended", extra={"action": "mend", "outcome": "failed", "reason": reason_of(error)})

    def _bring_in_line_if_due(self) -> None:
        if is_forgetting_due(self._store, self._folder):
            self._bring_in_line()

    def _bring_in_line(self) -> None:
        """Let every place hold only what no tombstone stands for. May be repeated."""
        tombstones = self._folder.current()
        self._store.forgetting.fence()
        self._on_step("fenced")
        kept = self._store.forgetting.kept()
        erasure = erasure_of(kept, tombstones, taken_in=self._store.memories.taken_in())
        self._store.forgetting.erase(erasure, now=self._clock.now())
        self._on_step("erased database")
        self._hand.leave_out_forgotten()
        self._on_step("erased journal")
        erase_found(self._places, find_forgotten(self._places, tombstones), tombstones)
        self._on_step("erased workspace")
        erase_forgotten_files(self._config, self._store, self._clock, tombstones)
        self._on_step("erased review files")
        self.finish()

    def _marks_of(self, plan: Plan) -> Marks:
        forgotten = forgotten_texts(plan.kept, plan.erasure)
        forgotten += [text for record in plan.journal_records for text in _texts_of_record(record)]
        forgotten += [text for task in plan.journal_tasks for text in (task.goal, task.result)]
        forgotten += plan.found.handbook_lines
        forgotten += [self._text_of(path) for path in plan.found.notes]
        forgotten += [stone.value for stone in plan.tombstones if stone.kind == "words"]
        return marks_of(forgotten, self._survivors(plan))

    def _survivors(self, plan: Plan) -> list[str]:
        """Everything that may hold a forgotten word for its own reasons."""
        survivors = [*surviving_texts(plan.kept, plan.erasure), repr(self._config)]
        gone = {record.record_id for record in plan.journal_records}
        for line in self._hand.journal.read():
            if line.record.record_id not in gone:
                survivors += _texts_of_record(line.record)
        for task in (line.task for line in read_tasks(self._config.journal_path)):
            if task not in plan.journal_tasks:
                survivors += [task.goal, task.result, task.scope, task.task_id]
        # What the person wrote into MEMORY.md and stays there; what was rendered there stands in the texts above.
        rendered = set(read_baseline(self._places.baseline).rendered.decode("utf-8", "replace").splitlines())
        handbook = self._text_of(MEMORY_FILE).splitlines()
        survivors += [line for line in handbook if line not in rendered and line not in plan.found.handbook_lines]
        root = self._config.workspace_path / EXTENSIONS_FOLDER
        names = (path.relative_to(self._config.workspace_path).as_posix() for path in sorted(root.glob("*/*/*")))
        return survivors + [self._text_of(name) for name in names if name not in plan.found.notes]

    def _text_of(self, path: str) -> str:
        return (read_workspace_file(self._config.workspace_path, path) or b"").decode("utf-8", "replace")

    def _read_log(self, thread: IndexedThread) -> Iterator[tuple[Event, str]]:
        """Read the events of a log with the hashes of their lines: once for its places, once for its words.

        The log may be larger than memory, so its events are not kept in between.
        """
        first = self._reading_of(thread)
        hashes = first.hash_lines({(event.byte_start, event.byte_end) for event in first})
        for event in self._reading_of(thread):
            # A line that was appended in between is read when the log is.
            if (event.byte_start, event.byte_end) in hashes:
                yield event, hashes[event.byte_start, event.byte_end]

    def _reading_of(self, thread: IndexedThread) -> RolloutReading:
        share = self._store.lineage.share_of(thread.thread_id)
        return read_events(
            thread.rollout,
            self._config.sources.of(thread.agent).home,
            max_bytes=self._config.gates.max_rollout_bytes,
            own=OwnPart(foreign_hashes=share.foreign_hashes, own_from_byte=share.own_from_byte),
        )

    def _backups(self) -> list[Path]:
        """Backups, and older databases and journals in the state folder: they are not rewritten, but deleted whole."""
        state = self._config.state_path
        kept = [self._config.backups_path, self._config.set_aside_path, self._config.restoring_path]
        folders = [folder for parent in kept if parent.is_dir() for folder in sorted(parent.iterdir())]
        database, journal = self._config.database_path.name, self._config.journal_path.name
        live = {database, f"{database}-wal", f"{database}-shm", f"{database}-journal", journal}
        return folders + sorted(
            path
            for path in (state.iterdir() if state.is_dir() else ())
            if path.is_file()
            and not path.is_symlink()
            and path.name not in live
            and (path.name.startswith((database, journal)) or path.name.endswith((".bak", ".orig", "~")))
        )


def _texts_of_record(record: JournalRecord) -> list[str]:
    return [record.statement, record.condition, record.was, record.was_condition, record.origin]
