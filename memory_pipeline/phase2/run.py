"""Phase two: one run at a time on a workspace, which looks first whether anything can have changed.

What curates, renders and publishes is loaded only where it has something to do.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from memory_pipeline.clock import Clock
from memory_pipeline.config import Config
from memory_pipeline.errors import ConfigError, InterruptedRunError, LockedError, MemoryPipelineError, reason_of
from memory_pipeline.files import make_private_folder
from memory_pipeline.lock import HeldLock, os_lock
from memory_pipeline.phase2.owner import OtherState, check_owner, claim_workspace, other_owner
from memory_pipeline.phase2.places import OnStep, places_below, workspace_lock_path
from memory_pipeline.phase2.settled import Settled
from memory_pipeline.records import ConsolidationKind, JournalRecord, Phase2Counts, Phase2Outcome
from memory_pipeline.rollouts.journal import Journal
from memory_pipeline.store.store import Store

if TYPE_CHECKING:
    from memory_pipeline.llm.port import ToolModel
    from memory_pipeline.phase2.consolidate import Consolidation, Preview


class Phase2:
    """Runs phase two. Knows nothing of schedules."""

    def __init__(
        self,
        config: Config,
        store: Store,
        clock: Clock,
        *,
        owner: str,
        jitter: Callable[[], float],
        should_stop: Callable[[], bool],
        on_step: OnStep = lambda _name: None,
        before: Callable[[HeldLock], None] = lambda _lock: None,
        tool_model: ToolModel | None = None,
        disk_time: Callable[[], float] = time.time,
    ) -> None:
        """Take the parts. ``jitter`` gives 0 to 1; ``should_stop`` ends a wait for the lock or a model; see OnStep.

        ``before`` is done first, each time that the workspace is locked. With a ``tool_model`` a run lets it curate;
        without, rules do. ``disk_time`` is the clock that stamps files.
        """
        self._config = config
        self._store = store
        self._clock = clock
        self._owner = owner
        self._jitter = jitter
        self._should_stop = should_stop
        self._on_step = on_step
        self._before = before
        self._tool_model = tool_model
        self._places = places_below(config.state_path, config.workspace_path)
        self._journal = Journal(config.journal_path)
        self._settled = Settled(config, self._places, clock, disk_time=disk_time)

    def run_once(self, *, wait: bool = False, adopt: bool = False) -> Phase2Counts:
        """Consolidate if anything differs. With ``wait``, wait for another run to release the workspace.

        With ``adopt``, what stands in a workspace that is not ours yet is taken over first.

        Raises:
            InterruptedRunError: the run was stopped while it waited.
        """

        def run(lock: HeldLock) -> Phase2Counts:
            adopted = self._work(lock).adopt() if adopt else []
            look = self._settled.look()
            if look.counts is not None:
                return look.counts
            counts = self._work(lock).run(ConsolidationKind.RUN)
            self._settled.note(look, counts)
            return replace(counts, problems=(*adopted, *counts.problems))

        return self._under_lock(run, wait=wait, adopt=adopt)

    def other_owner(self) -> OtherState | None:
        """Return the state folder that the workspace is of, where it is not ours."""
        return other_owner(self._places, self._config.database_path)

    def strangers(self) -> list[str]:
        """Name what stands where files of ours go, as long as the workspace is not ours."""
        from memory_pipeline.phase2.adopt import strangers_in

        return strangers_in(self._places)

    def take_possession(self) -> None:
        """Note that the workspace, where nothing of others stands in our way, is ours from now on.

        Raises:
            OSError: it can't be noted.
        """
        from memory_pipeline.phase2.adopt import is_ours, mark_ours

        if not is_ours(self._places):
            mark_ours(self._places)

    def take_in_hand(self, records: Sequence[JournalRecord], *, wait: bool = False) -> Phase2Counts:
        """Write down what the person does, durably, then take in the journal and the edits of MEMORY.md alone.

        Nothing else is placed or retired, no model is asked, and no cooldown holds. When another run holds the
        workspace, that run or the next one takes it in.

        Raises:
            InterruptedRunError: the run was stopped while it waited.
            ConfigError: another state folder writes the workspace; nothing was written down.
            OSError, LockedError: the journal can't be written.
        """
        self._append(records)
        return self._under_lock(lambda lock: self._work(lock).run(ConsolidationKind.PERSON), wait=wait)

    def write_down(self, records: Sequence[JournalRecord]) -> bool:
        """Write records down, durably, and let the store learn of their entries; no memory is changed.

        False when another run holds the workspace: the next one lets the store learn of them.

        Raises:
            ConfigError: another state folder writes the workspace; nothing was written down.
            OSError, LockedError: the journal can't be written.
        """

        def learn(lock: HeldLock) -> Phase2Counts:
            self._work(lock).learn()
            return Phase2Counts(outcome=Phase2Outcome.NO_CHANGES)

        self._append(records)
        return self._under_lock(learn, wait=False).outcome is Phase2Outcome.NO_CHANGES

    def undo(self, consolidation_id: int, *, wait: bool = False) -> Phase2Counts:
        """Undo one consolidation: each memory that it changed, and nothing changed since, is as it was before.

        Raises:
            InterruptedRunError: the run was stopped while it waited.
        """
        return self._under_lock(lambda lock: self._work(lock).undo(consolidation_id), wait=wait)

    def mend(self, lock: HeldLock) -> list[str]:
        """Finish what a crashed run left between two renames; the caller holds the ``lock``.

        Returns sentences for the person.

        Raises:
            OSError, MemoryPipelineError: it can't be done; the next run tries again.
        """
        return self._work(lock).mend()

    def publish_anew(self, lock: HeldLock) -> Phase2Counts:
        """Render and publish what the memories say now, and change none of them; the caller holds the ``lock``.

        Raises:
            OSError, MemoryPipelineError: it can't be done; the next start tries again.
        """
        return self._work(lock).publish_anew()

    def preview(self) -> Preview:
        """Say what a consolidation would do now; changes nothing."""
        return self._work(None).preview()

    def _append(self, records: Sequence[JournalRecord]) -> None:
        other = self.other_owner()
        if other is not None:  # before anything is written: who is refused says it once more in the right place
            check_owner(other, self._config.workspace_path)
        self._journal.append(records)

    def _work(self, lock: HeldLock | None) -> Consolidation:
        from memory_pipeline.phase2.consolidate import Consolidation

        return Consolidation(
            self._config,
            self._store,
            self._clock,
            lock=lock,
            owner=self._owner,
            jitter=self._jitter,
            should_stop=self._should_stop,
            on_step=self._on_step,
            tool_model=self._tool_model,
        )

    def _under_lock(self, body: Callable[[HeldLock], Phase2Counts], *, wait: bool, adopt: bool = False) -> Phase2Counts:
        started = time.monotonic()
        lock = workspace_lock_path(self._config.workspace_path)
        try:
            make_private_folder(lock.parent)
            with os_lock(
                lock, purpose="phase two", wait_seconds=math.inf if wait else 0, should_stop=self._should_stop
            ) as held:
                taken_over = claim_workspace(self._places, self._config.database_path, adopt=adopt)
                self._before(held)
                counts = body(held)
                counts = replace(counts, problems=(*taken_over, *counts.problems))
        except LockedError as error:
            counts = Phase2Counts(outcome=Phase2Outcome.LOCKED, problems=(str(error),))
        except (InterruptedRunError, ConfigError):
            raise
        except (OSError, MemoryPipelineError) as error:
            problem = f"consolidation failed: {reason_of(error)}"
            counts = Phase2Counts(outcome=Phase2Outcome.FAILED, problems=(problem,))
        return replace(counts, seconds=time.monotonic() - started)
