"""The work of phase two: curate, render, check and publish, only when something differs."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from memory_pipeline.budget import paid_hold
from memory_pipeline.clock import Clock, iso, last_believed_wait
from memory_pipeline.config import Config
from memory_pipeline.errors import (
    BudgetHoldError,
    FencedOutError,
    MemoryPipelineError,
    ModelError,
    ProviderError,
    reason_of,
)
from memory_pipeline.files import sha256_hex
from memory_pipeline.llm.faults import TooLongError
from memory_pipeline.llm.port import ToolModel
from memory_pipeline.lock import HeldLock
from memory_pipeline.phase2.adopt import (
    adoption_of,
    found_handbook,
    keep_strangers,
    leave_notes,
    mark_ours,
    strangers_in,
)
from memory_pipeline.phase2.baseline import Baseline, differences, read_baseline, read_workspace_file
from memory_pipeline.phase2.cited import cited_memories
from memory_pipeline.phase2.curators.model import ModelCurator
from memory_pipeline.phase2.curators.rules import Consult, curate
from memory_pipeline.phase2.deeds import Deed
from memory_pipeline.phase2.edits import edits_of, notes_in
from memory_pipeline.phase2.erase import erase_found, find_forgotten
from memory_pipeline.phase2.hand import Hand
from memory_pipeline.phase2.known import KnownEntries, KnownMemories, StoredArchive
from memory_pipeline.phase2.layout import MEMORY_FILE, SUMMARY_FILE, lay_out
from memory_pipeline.phase2.operations import MemoryBook, undone_key
from memory_pipeline.phase2.owner import mark_owner
from memory_pipeline.phase2.places import OnStep, places_below, workspace_lock_path
from memory_pipeline.phase2.placing import FormerWording, Shelves
from memory_pipeline.phase2.publish import (
    Publication,
    check,
    discard_staged,
    let_go_of_kept,
    look_again,
    publish,
    read_staged,
    stage,
    sweep_temporary,
)
from memory_pipeline.phase2.rebuilt import published_at
from memory_pipeline.phase2.render import RENDERER_VERSION, FindTasks, as_bytes, render_handbook, render_summary
from memory_pipeline.phase2.told import resting_in, told_in, told_scopes, told_threads
from memory_pipeline.phase2.undo import undo_in
from memory_pipeline.records import (
    USER_SCOPE,
    Agent,
    Change,
    ConsolidationKind,
    Entry,
    Memory,
    Phase2Counts,
    Phase2Outcome,
    SelectedThread,
    Task,
)
from memory_pipeline.rollouts.paths import plain_path
from memory_pipeline.rollouts.reading import OwnFolders
from memory_pipeline.rollouts.scope import scope_of
from memory_pipeline.settings import in_force_now
from memory_pipeline.store.memories import LastConsolidation, ToJudge
from memory_pipeline.store.store import Store
from memory_pipeline.tombstones import TombstoneFolder

logger = logging.getLogger(__name__)

#: More doublings of a wait than this would only overflow.
_MOST_DOUBLINGS = 30


class _Plan(Struct, frozen=True, kw_only=True):
    """What one consolidation would do."""

    selection: Sequence[SelectedThread]
    book: MemoryBook
    cited: Sequence[SelectedThread]  # what the memories rest on beside that, without tasks
    inputs: dict[str, bytes]
    changes: dict[str, str]  # workspace path -> A, M or D
    settings: str
    unused: frozenset[str]  # scopes of which memory_summary.md says nothing
    waiting: set[str]  # entries looked at for the first time that contradict what only a person can settle
    set_aside: frozenset[str]  # entries that a model would not have placed before a person looked at them
    judged: ToJudge | None  # memories that were judged anew; None where none were
    still_to_judge: frozenset[str]  # those of them that are to be judged again
    is_new: bool  # an entry was looked at for the first time
    done: frozenset[str]  # records of the journal that were taken in
    merged: frozenset[str]  # proposals about memories that were carried out
    edits_taken_in: frozenset[str]  # the edits of MEMORY.md that the memories hold by now
    notes: frozenset[str]  # digests of the person's lines in MEMORY.md that are notes
    kind: ConsolidationKind = ConsolidationKind.RUN
    undoes: int | None = None

    @property
    def has_nothing_to_do(self) -> bool:
        return not self.changes and not self.book.operations and not self.done


class Preview(Struct, frozen=True, kw_only=True):
    """What a consolidation would do now."""

    changes: Sequence[Change]
    memories: Mapping[str, Memory]  # as they would stand then
    files: Mapping[str, str]  # workspace path -> A, M or D


class Consolidation:
    """The work of phase two on one workspace; see run.Phase2 for what each of it is."""

    def __init__(
        self,
        config: Config,
        store: Store,
        clock: Clock,
        *,
        lock: HeldLock | None,
        owner: str,
        jitter: Callable[[], float],
        should_stop: Callable[[], bool],
        on_step: OnStep,
        tool_model: ToolModel | None,
    ) -> None:
        """Take the parts, as of run.Phase2. ``lock`` holds the workspace; None where nothing is published."""
        self._config = config
        self._store = store
        self._clock = clock
        self._lock = lock
        self._owner = owner
        self._jitter = jitter
        self._should_stop = should_stop
        self._on_step = on_step
        self._tool_model = tool_model
        self._places = places_below(config.state_path, config.workspace_path)
        self._tombstones = TombstoneFolder(config.tombstones_path)
        self._hand = Hand(config, store, clock)

    def learn(self) -> None:
        """Let the store learn of the entries that the journal tells of; no memory is changed."""
        self._hand.deeds()

    def publish_anew(self) -> Phase2Counts:
        """Render and publish what the memories say now, and change none of them.

        Raises:
            OSError, MemoryPipelineError: it can't be done; the next start tries again.
        """
        discard_staged(self._places)  # what was committed shows in the new rendering
        if self._store.memories.last_consolidation() is None:
            # Nothing was published yet, or the database is being rebuilt: then what is published must not be emptied.
            return Phase2Counts(outcome=Phase2Outcome.NO_INPUTS)
        book = self._book([])
        plan = self._lay_out(book, kind=ConsolidationKind.FORGET, done=frozenset(), must_publish=True)
        return self._consolidate(plan, self._store.memories.last_consolidation(), [])

    def preview(self) -> Preview:
        """Say what a consolidation would do now; changes nothing."""
        deeds = self._hand.deeds_to_come(read_baseline(self._places.baseline), self._memory_file())
        plan = self._plan(ConsolidationKind.RUN, deeds, must_publish=False)
        publication = self._render(0, plan)
        changes = _all_changes(publication, read_baseline(self._places.baseline), plan.changes)
        return Preview(changes=plan.book.changes, memories=plan.book.memories, files=changes)

    def run(self, kind: ConsolidationKind) -> Phase2Counts:
        """Consolidate if anything differs."""
        last = self._store.memories.last_consolidation()
        held = self._held_by(kind, last)
        if held is not None:
            problem = f"the last consolidation failed ({held.error}); the next try is due at {iso(held.retry_at)}"
            return Phase2Counts(outcome=Phase2Outcome.COOLDOWN, problems=(problem,))
        try:
            notes = [*self.mend(), *self._leave_out_forgotten()]
        except (OSError, MemoryPipelineError) as error:
            if last is None or isinstance(error, FencedOutError):
                raise
            return self._failed(last.consolidation_id, last, error, [])
        notes += self._write_down_rebuilt()
        self._hand.write_down_edits(read_baseline(self._places.baseline), self._memory_file())
        self._write_down_cited_lines()
        self._hand.count_uses()
        last = self._store.memories.last_consolidation()
        is_lost = last is not None and last.state == "publishing"
        must_publish = is_lost or self._baseline_is_older()
        plan = self._plan(kind, self._hand.deeds(), must_publish=must_publish)
        by_model = kind is ConsolidationKind.RUN and self._tool_model is not None
        while plan.has_nothing_to_do and plan.waiting and not by_model:
            # All that was looked at waits for a person: noted, so that what stands behind it in the backlog is read.
            self._store.memories.mark_waiting(plan.waiting)
            must_publish = False
            plan = self._plan(kind, self._hand.deeds(), must_publish=False)
        if not plan.selection and not plan.book.memories:
            return Phase2Counts(outcome=Phase2Outcome.NO_INPUTS, problems=tuple(notes))
        if plan.has_nothing_to_do and plan.judged is not None:
            self._store.memories.note_judged(plan.judged, still_to_judge=plan.still_to_judge)
        # What the rules keep back is shown to the model once, even where nothing else differs.
        if plan.has_nothing_to_do and not (by_model and plan.waiting):
            return Phase2Counts(outcome=Phase2Outcome.NO_CHANGES, selected=len(plan.selection), problems=tuple(notes))
        opens_at = self._cooldown_until() if kind is ConsolidationKind.RUN else None
        if opens_at is not None:
            problem = f"the workspace changed, but phase2.cooldown_seconds holds until {iso(opens_at)}"
            return Phase2Counts(
                outcome=Phase2Outcome.COOLDOWN, selected=len(plan.selection), problems=(*notes, problem)
            )
        # What was committed and is not shown yet does not wait for a model.
        if kind is ConsolidationKind.RUN and plan.is_new and self._tool_model is not None and not must_publish:
            try:
                plan = self._plan_with_model(plan, self._tool_model, notes)
            except ModelError as error:
                return self._failed_by_model(last, error, notes)
        return self._consolidate(plan, last, notes)

    def adopt(self) -> list[str]:
        """Take over what stands in the workspace: copies of it all, then records, then notes, and the mark last.

        A crash in between leaves it not ours, and the next adoption does the same again.
        """
        strangers = strangers_in(self._places)
        if not strangers:
            return []
        copies = keep_strangers(self._places)
        now = self._clock.now()
        adoption = adoption_of(found_handbook(self._places), scope_of_folder=self._scope_of_folder, now=now)
        known = {line.record.record_id for line in self._hand.journal.read()}
        self._hand.journal.append([record for record in adoption.records if record.record_id not in known])
        leave_notes(self._places, adoption.notes)
        mark_ours(self._places)
        told = (
            f"taken over: {', '.join(strangers)}; statements of {MEMORY_FILE} that became memories of yours: "
            f"{len(adoption.records)}; its other text stays there as notes, and a copy of each file is kept in {copies}"
        )
        return [told]

    def _scope_of_folder(self, folder: str) -> str | None:
        """Tell the project of a folder; None where neither a session nor the disk knows such a folder."""
        path = plain_path(folder)
        if path is None or OwnFolders([str(self._places.workspace)]).hold(path):
            return None  # the memory itself is no project
        known = self._store.threads.scopes_with_remote().get(path)
        if known is not None:
            return known
        of_sessions = {thread.scope for thread in self._store.threads.every() if thread.cwd == path}
        if len(of_sessions) == 1:
            return of_sessions.pop()
        return scope_of(path, None) if Path(path).is_dir() else None

    def _write_down_rebuilt(self) -> list[str]:
        """Take in what MEMORY.md tells and a database that was made anew does not know: nothing of it is lost."""
        baseline = read_baseline(self._places.baseline)
        count = self._hand.write_down_rebuilt(baseline, published_at=published_at(self._places))
        if not count:
            return []
        return [
            f"the database did not know {count} statements of {MEMORY_FILE}: they are remembered as they stood there"
        ]

    def _write_down_cited_lines(self) -> None:
        lines = self._store.citations.open_lines()
        if not lines:
            return
        baseline = read_baseline(self._places.baseline)
        last = self._store.memories.last_success()
        is_shown = last is not None and last.consolidation_id == baseline.consolidation_id
        shown_since = last.finished_at if last is not None and is_shown else None
        self._hand.write_down_cited(cited_memories(lines, baseline, self._memory_file(), published_at=shown_since))
        self._store.citations.settle_lines(lines)

    def _held_by(self, kind: ConsolidationKind, last: LastConsolidation | None) -> LastConsolidation | None:
        """Return the failed consolidation after which nothing may be tried yet."""
        # What the person does in between neither waits for a model that failed, nor ends the wait for it.
        waits = [last, self._store.memories.last_run()] if kind is ConsolidationKind.RUN else [last]
        for one in waits:
            now = self._clock.now()
            if one is None or one.retry_at is None or not now < one.retry_at <= last_believed_wait(now):
                continue
            if kind is ConsolidationKind.RUN or one.state != "failed":
                return one
        return None

    def _plan_with_model(self, plan: _Plan, model: ToolModel, notes: list[str]) -> _Plan:
        """Let the model curate; where it may not be asked now, the plan of the rules stands.

        Raises:
            ModelError: it could not be asked, went past a cap, or refused: nothing of what it did is kept.
        """
        provider, now = self._config.model.provider, self._clock.now()
        rest_until = self._store.jobs.provider_rest(provider).rest_until
        if rest_until is not None and rest_until > now:
            notes.append(f"the model provider rests until {iso(rest_until)}, so the rules consolidated without it")
            return plan
        hold = paid_hold(self._config, self._store, now)
        if hold is not None:
            notes.append(f"{hold.reason}; the rules consolidated without a model")
            return plan
        curator = ModelCurator(
            self._config,
            model,
            find_threads=self._find_threads,
            waiting=self._store.memories.waiting_entries(),
            should_stop=self._should_stop,
        )
        try:
            made = self._plan(ConsolidationKind.RUN, self._hand.deeds(), must_publish=False, consult=curator)
        except BudgetHoldError as error:
            notes.append(f"{error}; the rules consolidated without a model")
            return plan
        except TooLongError as error:
            # Waiting would not make it shorter, and the same request is never sent again.
            notes.append(f"{error}; the rules consolidated without it: lower model.context_window_tokens")
            return plan
        if curator.was_asked:
            self._store.jobs.note_answer(provider, now=self._clock.now())
        notes += curator.notes
        return made

    def _find_threads(self, thread_ids: Sequence[str]) -> dict[str, SelectedThread]:
        return {item.thread.thread_id: item for item in self._store.extractions.get_selected(thread_ids)}

    def _failed_by_model(self, last: LastConsolidation | None, error: ModelError, notes: list[str]) -> Phase2Counts:
        consolidation_id = self._store.memories.begin(owner=self._owner, now=self._clock.now())
        return self._failed(consolidation_id, last, error, notes)

    def mend(self) -> list[str]:
        """Finish, or forget, what a crashed run left between two renames; returns sentences for the person.

        Raises:
            OSError, MemoryPipelineError: it can't be finished; what is staged stays for the next try.
        """
        sweep_temporary(self._places.workspace)
        notes = look_again(self._places)
        staged = read_staged(self._places)
        if staged is not None and self._store.memories.state_of(staged.consolidation_id) == "publishing":
            notes += self._publish(staged)
            self._store.memories.finish(staged.consolidation_id, watermark=staged.watermark, now=self._clock.now())
            notes.append("a consolidation that was cut off has been finished")
        discard_staged(self._places)  # what is not whole as well: it was cut off while it was staged, or thrown away
        notes += let_go_of_kept(self._places)
        return notes

    def _publish(self, publication: Publication, unchanged: Collection[str] = ()) -> list[str]:
        def check_fence() -> None:
            if self._lock is None or not self._lock.is_held():
                raise FencedOutError(
                    f"{workspace_lock_path(self._places.workspace)} was removed while it was held, so another run may "
                    "be at work; nothing was published, and the next run does it"
                )
            if self._store.memories.state_of(publication.consolidation_id) != "publishing":
                raise FencedOutError("another run has taken this consolidation over; nothing was published")

        notes = publish(self._places, publication, check_fence=check_fence, on_step=self._on_step, unchanged=unchanged)
        with contextlib.suppress(OSError):  # all is published; it is marked with the next publication
            mark_owner(self._places, self._config.database_path)
        return notes

    def _leave_out_forgotten(self) -> list[str]:
        """Take out what was forgotten and came back with an older copy of a file."""
        self._hand.leave_out_forgotten()
        found = find_forgotten(self._places, self._tombstones.current())
        if found.is_empty:
            return []
        erase_found(self._places, found, self._tombstones.current())
        if not found.handbook_lines and not found.stale_lines:
            return []
        note = (
            f"{MEMORY_FILE} held lines again of an older time, or that tell what you had forgotten: they were left out"
        )
        return [f"{note} (`memory-pipeline memory add TEXT` remembers something anew)"]

    def _baseline_is_older(self) -> bool:
        """Whether an older baseline was put in place of the last one: it may tell what was forgotten since."""
        baseline, last = read_baseline(self._places.baseline), self._store.memories.last_success()
        return (
            not self._tombstones.current().is_empty
            and baseline.exists
            and last is not None
            and baseline.consolidation_id != last.consolidation_id
        )

    def undo(self, consolidation_id: int) -> Phase2Counts:
        """Let each memory that a consolidation changed, and nothing changed since, be as it was before."""
        notes = [*self.mend(), *self._leave_out_forgotten()]
        self._hand.write_down_edits(read_baseline(self._places.baseline), self._memory_file())
        book = self._book([])
        left = undo_in(book, self._store.memories, consolidation_id)
        if left.changed_since:
            ids = ", ".join(left.changed_since)
            notes.append(f"left as they are, because later consolidations changed them too: {ids}")
        if left.unknown_before:
            ids = ", ".join(left.unknown_before)
            notes.append(f"left as they are, because an earlier version did not keep how they were before: {ids}")
        if left.without_evidence:
            ids = ", ".join(left.without_evidence)
            notes.append(
                f"left as they are, because nothing that they rested on stands any longer: {ids}; "
                "`memory restore` has one told again on your word"
            )
        if not book.operations:
            return Phase2Counts(outcome=Phase2Outcome.NO_CHANGES, problems=tuple(notes))
        done = self._hand.write_down_undoing(book, consolidation_id)
        plan = self._lay_out(book, kind=ConsolidationKind.UNDO, done=done, undoes=consolidation_id)
        return self._consolidate(plan, self._store.memories.last_consolidation(), notes)

    def _memory_file(self) -> bytes | None:
        return read_workspace_file(self._places.workspace, MEMORY_FILE)

    def _plan(
        self,
        kind: ConsolidationKind,
        deeds: Sequence[Deed],
        *,
        must_publish: bool,
        consult: Consult | None = None,
    ) -> _Plan:
        is_run = kind is ConsolidationKind.RUN
        # What the person does retires nothing beside it: a new reading, which only a run places, may take it over.
        archive = StoredArchive(self._store.memories, judges=is_run)
        limit = self._config.phase2.max_candidates
        # A backlog larger than the selection is placed over several consolidations, so that everything has its turn.
        to_place = self._store.memories.threads_to_place(limit=limit) if is_run else []
        selected = self._store.extractions.select_ids(limit=limit) if is_run else []
        unplaced = self._store.memories.unplaced_entries(sorted({*selected, *to_place}))
        book = self._book([*unplaced, *(deed.entry for deed in deeds if deed.entry is not None)])
        curated = curate(
            book,
            self._shelves(book),
            unplaced,
            archive,
            max_unused_days=self._config.phase2.max_unused_days if is_run else 0,
            now=self._clock.now(),
            deeds=deeds,
            consult=consult,
            approved=self._store.drafts.approved_by_person(),
            merges=self._store.drafts.approved_merges() if is_run else (),
        )
        waiting = {entry.entry_id for entry in unplaced if entry.thread_id in to_place}
        return self._lay_out(
            book,
            kind=kind,
            done=curated.done,
            merged=curated.merged,
            waiting=waiting - book.placed,
            set_aside=curated.set_aside,
            judged=archive.judged,
            still_to_judge=curated.still_to_judge,
            is_new=bool(to_place),
            must_publish=must_publish,
        )

    def _book(self, entries: Sequence[Entry]) -> MemoryBook:
        return MemoryBook(
            KnownMemories(self._store.memories),
            KnownEntries(self._store.extractions, entries),
            now=self._clock.now(),
            undone=frozenset(undone_key(operation) for operation in self._store.memories.undone_operations()),
        )

    def _shelves(self, book: MemoryBook) -> Shelves:
        former, keys = self._former_wordings(), self._store.memory_keys
        memories = book.memories.several(dict.fromkeys([*keys.unkept(), *former]))
        return Shelves(memories, former, stored=keys if keys.are_current() else None)

    def _former_wordings(self) -> dict[str, list[FormerWording]]:
        former: dict[str, list[FormerWording]] = {}
        for applied in self._store.memories.rewordings_by_person():
            if applied.before is not None:
                former.setdefault(applied.operation.memory_id, []).append(
                    FormerWording(
                        statement=applied.before.statement, condition=applied.before.condition, until=applied.at
                    )
                )
        return former

    def _lay_out(
        self,
        book: MemoryBook,
        *,
        kind: ConsolidationKind,
        done: frozenset[str],
        merged: frozenset[str] = frozenset(),
        waiting: set[str] | None = None,
        set_aside: frozenset[str] = frozenset(),
        judged: ToJudge | None = None,
        still_to_judge: frozenset[str] = frozenset(),
        is_new: bool = False,
        undoes: int | None = None,
        must_publish: bool = False,
    ) -> _Plan:
        """Say what the workspace would hold, and how that differs from what it held last."""
        # Only what memories rest on is laid out: an entry that could not be placed is labelled anew by the next review,
        # and what that says of it would change the files of a run that had nothing to do.
        selection = self._store.extractions.select(limit=self._config.phase2.max_candidates, among=resting_in(book))
        selected = {item.thread.thread_id for item in selection}
        others = [name for name in told_threads(book, self._store.memories) if name not in selected]
        cited = self._store.extractions.get_summaries(others)
        cited = [item for item in cited if item.thread.agent is not Agent.JOURNAL]
        inputs = lay_out(selection, cited)
        baseline = read_baseline(self._places.baseline)
        unused = self._unused({USER_SCOPE, *told_scopes(book, self._store.memories)})
        settings = self._rendering_settings(unused)
        changes = _changes(inputs, baseline, self._places.workspace, settings)
        if must_publish:
            # The memories changed, and what was staged to show it is lost.
            changes.setdefault(MEMORY_FILE, "M")
        on_disk = self._memory_file()
        edits = {edit.edit_id for edit in edits_of(baseline, on_disk)}
        taken_in = done | self._store.memories.taken_in() if edits else done
        return _Plan(
            selection=selection,
            book=book,
            cited=cited,
            inputs=inputs,
            changes=changes,
            settings=settings,
            unused=unused,
            waiting=waiting or set(),
            set_aside=set_aside,
            judged=judged,
            still_to_judge=still_to_judge,
            is_new=is_new,
            done=done,
            merged=merged,
            edits_taken_in=frozenset(edits & taken_in),
            notes=notes_in(baseline, on_disk),
            kind=kind,
            undoes=undoes,
        )

    def _unused(self, scopes: Iterable[str]) -> frozenset[str]:
        """Return those of the scopes whose memories may not be given to tasks: memory_summary.md enters every task."""
        in_force = in_force_now(self._config, self._store)
        return frozenset(scope for scope in scopes if not in_force.may_use(scope=scope))

    def _rendering_settings(self, unused: frozenset[str]) -> str:
        limits = self._config.phase2
        settings = f"memory_max_bytes={limits.memory_max_bytes} summary_max_bytes={limits.summary_max_bytes}"
        # As a hash: the names of what is switched off stand in no further place.
        return f"{settings} unused={sha256_hex(repr(sorted(unused)).encode())[:16]}" if unused else settings

    def _cooldown_until(self) -> float | None:
        last = self._store.memories.last_success()
        if last is None or last.finished_at is None or not self._config.phase2.cooldown_seconds:
            return None
        until = last.finished_at + self._config.phase2.cooldown_seconds
        # One that ended in time to come was ended by a clock that ran ahead.
        return until if last.finished_at <= self._clock.now() < until else None

    def _consolidate(self, plan: _Plan, last: LastConsolidation | None, notes: list[str]) -> Phase2Counts:
        started = time.monotonic()
        consolidation_id = self._store.memories.begin(
            owner=self._owner, now=self._clock.now(), kind=plan.kind, undoes=plan.undoes
        )
        try:
            publication = self._render(consolidation_id, plan)
            check(publication, summary_max_bytes=self._config.phase2.summary_max_bytes)
            changes = _all_changes(publication, read_baseline(self._places.baseline), plan.changes)
            stage(self._places, publication)
            self._on_step("staged")
            if not self._store.memories.commit(
                consolidation_id,
                plan.book.changed,
                plan.book.placements,
                plan.book.changes,
                removals=plan.book.removals,
                waiting=plan.waiting,
                flagged=plan.set_aside,
                journal_records=plan.done,
                merged=plan.merged,
                judged=plan.judged,
                still_to_judge=plan.still_to_judge,
                now=self._clock.now(),
            ):
                discard_staged(self._places)
                return Phase2Counts(outcome=Phase2Outcome.LOCKED, problems=("another run took this one over",))
            self._on_step("committed")
            notes += self._publish(publication, plan.inputs.keys() - plan.changes.keys())
        except FencedOutError:
            raise  # Nothing to wait for, and the row may be another run's by now.
        except (OSError, MemoryPipelineError) as error:
            return self._failed(consolidation_id, last, error, notes)
        self._store.memories.finish(consolidation_id, watermark=publication.watermark, now=self._clock.now())
        self._on_step("finished")
        discard_staged(self._places)
        notes += let_go_of_kept(self._places)
        logger.info(
            "consolidated",
            extra={"action": "consolidate", "outcome": "consolidated", "seconds": round(time.monotonic() - started, 3)},
        )
        kinds = list(changes.values())
        return Phase2Counts(
            outcome=Phase2Outcome.CONSOLIDATED,
            selected=len(plan.selection),
            added=kinds.count("A"),
            modified=kinds.count("M"),
            removed=kinds.count("D"),
            problems=tuple(notes),
        )

    def _render(self, consolidation_id: int, plan: _Plan) -> Publication:
        limits = self._config.phase2
        told = told_in(plan.book, self._store.memories, limits)
        items = {item.thread.thread_id: item for item in (*plan.selection, *plan.cited)}
        handbook = render_handbook(told, items, max_bytes=limits.memory_max_bytes, tasks_of=self._tasks_of(plan))
        threads = [item.thread for item in items.values()]
        summary = render_summary(told, threads, max_bytes=limits.summary_max_bytes, unused=plan.unused)
        return Publication(
            consolidation_id=consolidation_id,
            settings=plan.settings,
            handbook=handbook,
            files={**plan.inputs, SUMMARY_FILE: summary},
            watermark=max((item.extraction.source_updated_at for item in plan.selection), default=0.0),
            taken_in=plan.edits_taken_in,
            notes=plan.notes,
            keeps_earlier=plan.kind is not ConsolidationKind.FORGET and not self._baseline_is_older(),
        )

    def _tasks_of(self, plan: _Plan) -> FindTasks:
        """Return what finds the tasks of threads: those of the selection are at hand, others are read once."""
        known = {item.thread.thread_id: item.extraction.tasks for item in plan.selection}

        def find(items: Sequence[SelectedThread]) -> list[Sequence[Task]]:
            missing = [item.thread.thread_id for item in items if item.thread.thread_id not in known]
            if missing:
                known.update(self._store.extractions.tasks_of(missing, among=resting_in(plan.book)))
            return [known.get(item.thread.thread_id, ()) for item in items]

        return find

    def _failed(
        self, consolidation_id: int, last: LastConsolidation | None, error: Exception, notes: list[str]
    ) -> Phase2Counts:
        """Store the failure. What was committed but not published is published by the next try."""
        failures = (last.failures if last is not None else 0) + 1
        limits = self._config.phase1
        wait = min(limits.backoff_base_seconds * 2.0 ** min(failures - 1, _MOST_DOUBLINGS), limits.backoff_max_seconds)
        now = self._clock.now()
        reason = reason_of(error)
        retry_at = now + wait * (1 + 0.25 * self._jitter())
        if isinstance(error, ProviderError):
            retry_at = max(retry_at, now + (error.retry_after_seconds or 0.0))
            self._store.jobs.rest_provider(self._config.model.provider, reason, now=now, until=retry_at)
        self._store.memories.fail(consolidation_id, reason, failures=failures, retry_at=retry_at, now=now)
        if self._store.memories.state_of(consolidation_id) != "publishing":
            discard_staged(self._places)
        logger.error("consolidation failed", extra={"action": "consolidate", "outcome": "failed", "reason": reason})
        return Phase2Counts(outcome=Phase2Outcome.FAILED, problems=(*notes, f"consolidation failed: {reason}"))


def _changes(inputs: dict[str, bytes], baseline: Baseline, workspace: Path, settings: str) -> dict[str, str]:
    changes = differences(inputs, baseline, workspace)
    if baseline.exists and (baseline.renderer_version != RENDERER_VERSION or baseline.settings != settings):
        changes.setdefault(SUMMARY_FILE, "M")
    return changes


def _all_changes(publication: Publication, baseline: Baseline, inputs: dict[str, str]) -> dict[str, str]:
    """The workspace diff, outputs included."""
    changes = dict(inputs)
    summary = publication.files[SUMMARY_FILE]
    if SUMMARY_FILE not in baseline.hashes:
        changes[SUMMARY_FILE] = "A"
    elif sha256_hex(summary) != baseline.hashes[SUMMARY_FILE]:
        changes[SUMMARY_FILE] = "M"
    if MEMORY_FILE not in baseline.hashes:
        changes[MEMORY_FILE] = "A"
    elif as_bytes(publication.handbook) != baseline.rendered:
        changes[MEMORY_FILE] = "M"
    return changes
