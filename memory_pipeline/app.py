"""The one place that wires the parts together.

Each part is imported where it is put in, since a command loads what it does, not all that could be done.
"""

from __future__ import annotations

import logging
import os
import random
import socket
import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from memory_pipeline.budget import paid_hold
from memory_pipeline.clock import Clock, SystemClock
from memory_pipeline.config import Config
from memory_pipeline.errors import (
    DamagedDatabaseError,
    InterruptedRunError,
    LockedError,
    MemoryPipelineError,
    RolloutError,
    StoreError,
    UsageError,
)
from memory_pipeline.files import make_private_folder, sha256_hex
from memory_pipeline.forget.due import is_forgetting_due
from memory_pipeline.llm.port import Extractor, ToolModel
from memory_pipeline.lock import HeldLock, os_lock
from memory_pipeline.logfile import logging_to_file
from memory_pipeline.phase2.places import OnStep
from memory_pipeline.pipeline import PassOptions, Pipeline
from memory_pipeline.records import (
    Agent,
    Draft,
    JournalRecord,
    Phase2Counts,
    Phase2Outcome,
    ReviewCounts,
    RunCounts,
    SubmittedTask,
)
from memory_pipeline.settings import Settings
from memory_pipeline.store.connection import BUSY_SECONDS
from memory_pipeline.store.store import Store
from memory_pipeline.tombstones import TombstoneFolder

if TYPE_CHECKING:
    from memory_pipeline.forget.forgetting import Forgetting
    from memory_pipeline.forget.rescan import Rescanning
    from memory_pipeline.phase1.index import Discovery, Progress
    from memory_pipeline.phase1.run import Phase1
    from memory_pipeline.phase2.consolidate import Preview
    from memory_pipeline.phase2.findings import Finding
    from memory_pipeline.phase2.run import Phase2
    from memory_pipeline.recall.why import Explanation
    from memory_pipeline.redact import Redacted
    from memory_pipeline.review.distill import Distilled
    from memory_pipeline.review.files import FilesReport
    from memory_pipeline.review.packets import KeptPacket, Packets
    from memory_pipeline.review.run import Review
    from memory_pipeline.rollouts.readback import EvidenceReader, ReadBack

logger = logging.getLogger(__name__)

IMPORT_LOCK_FILE = "packet-import.lock"
#: As long as another import may take to be answered by a model.
_IMPORT_WAIT_SECONDS = 300.0


class App:
    """The parts of one program run: configuration, clock, store, and what works on them. Close it when done."""

    def __init__(
        self,
        config: Config,
        *,
        clock: Clock | None = None,
        environ: Mapping[str, str] | None = None,
        extractor: Extractor | None = None,
        stop: threading.Event | None = None,
        mends: bool = True,
        busy_seconds: float = BUSY_SECONDS,
    ) -> None:
        """Open the store of ``config``, mended where it is damaged or gone, and finish what was cut off.

        That is restoring a backup, and a forgetting, also one that a backup brought back. A journal that is gone is
        written anew, before anything is written into a new one. ``extractor`` overrides the
        one that the configuration names; ``stop`` ends a running pass when it is set. Without ``mends`` a damaged
        database is left to a run: mending takes long. ``busy_seconds`` is how long a statement waits for another
        program that writes.

        Raises:
            DamagedDatabaseError: the database is damaged or gone, and it is not to be mended here.
            StoreError: the state folder or its database can't be opened.
            LockedError: the database must be mended, and another process still uses it.
        """
        self.config = config  # with what was set for the whole, once the store is open
        self._written_config = config
        self.clock = clock or SystemClock()
        self.stop = stop or threading.Event()
        self._environ = os.environ if environ is None else environ
        self._busy_seconds = busy_seconds
        self._given_extractor = extractor
        self._extractor = extractor
        self._import_extractor: Extractor | None = None
        self._tool_model: ToolModel | None = None
        # Unlike a process id, this names one run even across machines and restarts.
        self._run_id = uuid.uuid4().hex[:8]
        self._owner = f"{socket.gethostname()}:{os.getpid()}:{self._run_id}"
        self._finish_restoring()
        self._was_mended = False
        self._mends = mends
        self.store = self._open_store()
        try:
            self._take_settings_mended()
            self._bring_in_line_if_due()
            self._write_journal_anew_if_gone()
        except BaseException:
            self.store.close()
            raise

    def __enter__(self) -> App:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Release connections."""
        self._close_what_uses_the_store()
        if self._given_extractor is not None:
            self._given_extractor.close()

    def _close_what_uses_the_store(self) -> None:
        self._close_models()
        self.store.close()

    def _close_models(self) -> None:
        if self._extractor is not None and self._extractor is not self._given_extractor:
            self._extractor.close()
        if self._import_extractor is not None:
            self._import_extractor.close()
            self._import_extractor = None
        if self._tool_model is not None:
            self._tool_model.close()
        self._extractor, self._tool_model = self._given_extractor, None

    def run_once(
        self, options: PassOptions, *, on_index: Progress | None = None, on_extract: Progress | None = None
    ) -> RunCounts:
        """Run one pass; see Pipeline.run_once.

        Raises:
            ConfigError: Codex may not take the workspace as its memory; see check_workspace.
            UsageError: something of others stands in the workspace, and it is not to be adopted.
        """
        with logging_to_file(self.config, run_id=self._run_id) as tell:
            tell(level=logging.DEBUG, action="pass", outcome="began")
            if self._was_mended:  # before there was a log to write it to
                tell(level=logging.WARNING, action="mend", outcome="mended")
            try:
                counts = self._run_whole(options, on_index, on_extract)
            except InterruptedRunError:
                tell(action="pass", outcome="given_back")
                raise
            except Exception as error:
                tell(level=logging.ERROR, action="pass", outcome="failed", fault=type(error).__name__)
                raise
            self._was_mended = False
            # A pass without news, of which there may be one a minute, writes nothing unless everything is wanted.
            tell(level=logging.DEBUG if _is_idle(counts) else logging.INFO, **_pass_fields(counts))
        problem = self._write_metrics(counts)
        return _with_problems(counts, after=(problem,) if problem else ())

    def _run_whole(self, options: PassOptions, on_index: Progress | None, on_extract: Progress | None) -> RunCounts:
        """Run one pass; once more, on a mended database, where it met a damaged one."""
        if self.store.is_closed:
            self.store = self._open_store()  # it was to be mended at the last pass, and another process still used it
        counts: RunCounts | None = None
        try:
            self._write_journal_anew_if_gone()  # it may have gone since the start: a daemon begins many passes
            counts = self._run_once(options, on_index, on_extract)
        except StoreError:
            if not self.store.seems_damaged:
                raise
        except (ValueError, TypeError, KeyError):
            # Either a fault of ours, or a row that says what none can say.
            if not self.store.upkeep.find_faults():
                raise
        # A phase tells a fault as its outcome, so that it is looked at here once more.
        if counts is None or self.store.seems_damaged:
            return self._run_mended(options, on_index, on_extract)
        return counts

    def _run_mended(self, options: PassOptions, on_index: Progress | None, on_extract: Progress | None) -> RunCounts:
        """Mend the database, which a pass found damaged, and run the pass over."""
        self._close_what_uses_the_store()
        self.store = self._open_store()
        return self._run_once(options, on_index, on_extract)

    def _run_once(self, options: PassOptions, on_index: Progress | None, on_extract: Progress | None) -> RunCounts:
        from memory_pipeline.safekeeping.upkeep import keep_up

        self._take_settings()
        self._bring_in_line_if_due()  # a backup may have been put back since the last pass
        hints = self.check_workspace(publishes=options.phase2, adopt=options.adopt)
        counts = self._pipeline(extracts=options.phase1).run_once(options, on_index=on_index, on_extract=on_extract)
        if options.phase1:
            from memory_pipeline.phase1.gates import settle_gates

            settle_gates(self.config, self.store, self.clock, force=options.force)
        self.store.chronicle.trim(now=self.clock.now())
        self.store.injections.trim(now=self.clock.now())
        self.store.search.refresh()  # so that a new task, which waits for its memories, need not
        return _with_problems(counts, before=(*hints, *keep_up(self.config, self.store, self.clock)))

    def settings(self) -> Settings:
        """Return what a person sets and unsets."""
        return Settings(self._written_config, self.store, self.clock)

    def _take_settings(self) -> None:
        """Let what was set for the whole hold; also what only the journal knows, since the database was made anew."""
        settings = self.settings()
        settings.catch_up()
        config = settings.in_force().config_for()
        if config.model != self.config.model:
            self._close_models()  # they are built anew, for the other model
        self.config = config

    def _take_settings_mended(self) -> None:
        """Take the settings; once more, on a mended database, where a damaged one does not tell them."""
        try:
            self._take_settings()
            return
        except StoreError:
            if not self.store.seems_damaged:
                raise
        # Not above: as long as the error is alive, so are the cursors that it tells of, and their locks.
        self.store.close()
        self.store = self._open_store()
        self._take_settings()

    def _write_metrics(self, counts: RunCounts) -> str | None:
        """Write the figures of the pass, if they are asked for; returns why they could not be written."""
        textfile = self.config.metrics.textfile
        if not textfile:
            return None
        from memory_pipeline.seeing.metrics import metrics_text, write_textfile

        try:
            write_textfile(metrics_text(self.config, self.store, now=self.clock.now(), counts=counts), Path(textfile))
        except MemoryPipelineError as error:
            return str(error)
        return None

    def _finish_restoring(self) -> None:
        if self.config.restoring_path.exists():
            from memory_pipeline.safekeeping.restore import finish_restoring

            finish_restoring(self.config)

    def _open_store(self) -> Store:
        """Open the store; a database that is damaged or gone is mended first, and that is said."""
        from memory_pipeline.safekeeping.recover import is_lost, mend_database

        try:
            if not is_lost(self.config):
                return Store(self.config.database_path, busy_seconds=self._busy_seconds)
        except DamagedDatabaseError:
            if not self._mends:
                raise
        if not self._mends:
            raise DamagedDatabaseError(f"{self.config.database_path}: the database is gone")
        told = mend_database(self.config, self.clock)
        self._was_mended = self._was_mended or bool(told)
        if told:
            logger.warning("%s", told, extra={"action": "mend", "outcome": "mended"})
        return Store(self.config.database_path, busy_seconds=self._busy_seconds)

    def check_workspace(self, *, publishes: bool = True, adopt: bool = False) -> tuple[str, ...]:
        """Check that the workspace is ours to write; returns hints for the person.

        It may be that of another state folder. One that is a folder of Codex needs more: Codex must read it, and write
        none of its own there, and what stands there already is taken over at the person's word alone.

        Raises:
            ConfigError: the configuration of Codex does not let us, or another state folder writes there; the message
                says what to do.
            UsageError: something of others stands there, and it is not to be adopted.
        """
        from memory_pipeline.rollouts.codex_home import check_codex_home

        reader = check_codex_home(self.config, self._environ)
        other = self._phase2().other_owner() if publishes else None
        if other is not None:
            from memory_pipeline.phase2.owner import check_owner

            check_owner(other, self.config.workspace_path, adopt=adopt)
        if reader is None:
            if adopt and other is None:
                raise UsageError(
                    f"--adopt: {self.config.memories_dir} is no memory folder of Codex, nor the workspace of another "
                    "state folder; leave it out"
                )
            return ()
        if publishes and not adopt:
            phase2 = self._phase2()
            strangers = phase2.strangers()
            if strangers:
                raise UsageError(
                    f"{self.config.memories_dir} holds memories that are not ours: {', '.join(strangers)}. Nothing was "
                    "changed. Run `memory-pipeline run --adopt` once to take them over: what is said of a known "
                    "project becomes memories of yours, other text stays in MEMORY.md as notes, and copies are kept. "
                    "Or name another memories_dir"
                )
            phase2.take_possession()
        return reader.hints

    def check_ready(self) -> None:
        """Check what every pass needs: a workspace that is ours to write, and a model that can be asked.

        Raises:
            ConfigError, UsageError: a person has to mend something first; the message says what.
        """
        self.check_workspace()
        self._pipeline(extracts=True)

    def scan(self, *, force: bool = False, on_index: Progress | None = None) -> Discovery:
        """Index and gate, without extracting anything.

        Raises:
            InterruptedRunError: it was stopped; the next look goes on.
        """
        from memory_pipeline.phase1.gates import apply_gates
        from memory_pipeline.phase1.index import index_rollouts

        discovery = index_rollouts(self.config, self.store, self.clock, stop=self.stop, on_progress=on_index)
        apply_gates(self.config, self.store, self.clock, force=force)
        return discovery

    def submit_task(self, task: SubmittedTask) -> bool:
        """Take in a task of another program; false when nothing of it is new. See phase1.submit.submit_task."""
        from memory_pipeline.phase1.gates import apply_gates
        from memory_pipeline.phase1.submit import submit_task

        is_new = submit_task(self.config, self.store, self.clock, task)
        apply_gates(self.config, self.store, self.clock, force=False, only_thread=task.thread_id)
        return is_new

    def submitted_task(self, thread_id: str) -> SubmittedTask | None:
        """Return a submitted task as the journal has it; None where it does not, or where it was forgotten."""
        from memory_pipeline.rollouts.lineage import OwnPart
        from memory_pipeline.rollouts.tasks import TaskReading

        thread = self.store.threads.get(thread_id)
        if thread is None or thread.agent is not Agent.TASK or self.forgets(thread_id):
            return None
        try:
            own_from_byte = self.store.lineage.share_of(thread_id).own_from_byte
            return TaskReading(thread.rollout, own=OwnPart(own_from_byte=own_from_byte)).task()
        except RolloutError:
            return None

    def take_in_hand(self, records: Sequence[JournalRecord]) -> Phase2Counts:
        """Write down what the person does, and take it in at once where no other run holds the workspace.

        Raises:
            ConfigError, UsageError: the workspace is not ours to write; see check_workspace.
        """
        self.check_workspace()
        return self._phase2().take_in_hand(records)

    def note(self, record: JournalRecord) -> Draft | None:
        """Write down what an agent noted, as a draft that waits for the person.

        None where another run holds the workspace: then one of the next runs makes the draft.

        Raises:
            OSError, LockedError: it can't be written down.
        """
        from memory_pipeline.phase2.deeds import entry_id_of
        from memory_pipeline.rollouts.journal import JOURNAL_THREAD

        if not self._phase2().write_down([record]):
            return None
        self.review_with_files()
        return self.store.drafts.get(entry_id_of(record.record_id, thread_id=JOURNAL_THREAD))

    def record_uses(self, used: Sequence[tuple[str, str]], *, origin: str, distinct: object, at: float) -> None:
        """Record one use of each memory or thread, given as pairs of ``memory`` or ``thread`` and an id.

        Raises:
            OSError, LockedError, StoreError: see recall.usage.record_uses.
        """
        from memory_pipeline.recall.usage import record_uses, use_of
        from memory_pipeline.rollouts.journal import Journal

        uses = [use_of(origin=origin, distinct=distinct, at=at, **{f"{kind}_id": name}) for kind, name in used]
        record_uses(uses, journal=Journal(self.config.journal_path), store=self.store, now=self.clock.now())

    def undo(self, consolidation_id: int, *, wait: bool = False) -> Phase2Counts:
        """Undo one consolidation; see Phase2.undo.

        Raises:
            ConfigError, UsageError: the workspace is not ours to write; see check_workspace.
        """
        self.check_workspace()
        return self._phase2().undo(consolidation_id, wait=wait)

    def forgetting(self, *, on_step: OnStep = lambda _name: None) -> Forgetting:
        """Return what forgets; ``on_step`` is told the name of each step once it is done."""
        from memory_pipeline.forget.forgetting import Forgetting

        phase2 = self._plain_phase2(on_step)
        return Forgetting(
            self.config,
            self.store,
            self.clock,
            mend=phase2.mend,
            publish_anew=phase2.publish_anew,
            on_step=on_step,
        )

    def _bring_in_line_if_due(self) -> None:
        if is_forgetting_due(self.store, TombstoneFolder(self.config.tombstones_path)):
            self.forgetting().bring_in_line_if_due()

    def _write_journal_anew_if_gone(self) -> None:
        from memory_pipeline.rollouts.journal import Journal

        if not Journal(self.config.journal_path).is_gone() or not self.store.journal.was_told():
            return
        from memory_pipeline.safekeeping.journal_anew import write_journal_anew

        try:
            told = write_journal_anew(self.config, self.store, self.clock)
        except (OSError, LockedError) as error:  # what is asked for may go on without; doctor tells of it
            told = f"{self.config.journal_path} is gone, and can't be written anew now: {error}"
        if told:
            logger.warning("%s", told, extra={"action": "mend", "outcome": "mended"})

    def _bring_in_line_under_lock(self, lock: HeldLock) -> None:
        if is_forgetting_due(self.store, TombstoneFolder(self.config.tombstones_path)):
            self.forgetting().bring_in_line_under_lock(lock)

    def forgets(self, thread_id: str) -> bool:
        """Whether a thread was forgotten as a whole."""
        return TombstoneFolder(self.config.tombstones_path).current().has_thread(thread_id)

    def forgets_words(self, *texts: str) -> bool:
        """Whether one of the texts holds words that were forgotten for good."""
        return TombstoneFolder(self.config.tombstones_path).current().holds_words(*texts)

    def rescanning(self, *, redact_text: Callable[[str], Redacted] | None = None) -> Rescanning:
        """Return what masks stored secrets by the rules of ``redact_text``, by those of every run without."""
        from memory_pipeline.forget.rescan import Rescanning
        from memory_pipeline.phase2.hand import Hand
        from memory_pipeline.redact import redact

        hand = Hand(self.config, self.store, self.clock)
        return Rescanning(
            self.config, self.store, self.clock, self.forgetting(), hand, redact_text=redact_text or redact
        )

    def preview(self) -> Preview:
        """Say what a consolidation would do now; changes nothing but the labels of drafts."""
        self.review().run_once()
        return self._phase2().preview()

    def regate(self) -> None:
        """Gate again after a person changed a switch."""
        from memory_pipeline.phase1.gates import apply_gates

        self._take_settings()
        apply_gates(self.config, self.store, self.clock, force=False)

    def review(self) -> Review:
        """Return what labels drafts and takes a person's decisions about them."""
        from memory_pipeline.review.run import Review

        return Review(self.config, self.store, self.clock)

    def review_with_files(self) -> ReviewCounts:
        """Take in edited draft files, label what is new, and write the files; see FiledReview.run_once."""
        from memory_pipeline.review.files import FiledReview

        return FiledReview(self.config, self.store, self.clock).run_once()

    def distill(self, *, scope: str | None = None) -> Distilled:
        """Propose which of like or contradicting memories stay; see Distillation.run_once."""
        from memory_pipeline.review.distill import Distillation

        return Distillation(self.store, self.review(), now=self.clock.now).run_once(scope=scope)

    def import_packet(self, path: Path, *, scope: str | None = None) -> KeptPacket:
        """Take in a packet of another tool; its turns become drafts where it is known which project they are of.

        That is the project of a session whose log is gone before anything was extracted, or ``scope``.

        Raises:
            UsageError: it is no packet, or of a session whose log is here, or that was forgotten.
            ModelError: nothing could be extracted; the packet is kept, and can be imported again.
        """
        # One import after the other: two of one packet must not both pay for it.
        make_private_folder(self.config.state_path)
        lock = self.config.state_path / IMPORT_LOCK_FILE
        with os_lock(lock, purpose="importing a packet", wait_seconds=_IMPORT_WAIT_SECONDS):
            return self._import_packet(path, scope)

    def _import_packet(self, path: Path, scope: str | None) -> KeptPacket:
        from memory_pipeline.phase1.imported import extract_imported, imported_gate
        from memory_pipeline.review.packet import events_of, read_packet

        kept = self.packets().import_file(path)
        thread = self.store.threads.get(kept.session_id)
        known = self.store.extractions.get(kept.session_id)
        wanted = scope or (thread.scope if thread is not None else None)
        is_from_log = known is not None and (thread is None or thread.rollout_path != str(kept.path))
        if wanted is None or is_from_log:
            return kept
        may_generate = self.settings().in_force().may_generate(scope=wanted, thread_id=kept.session_id)
        gate = imported_gate(thread, self.config, may_generate=may_generate)
        if gate is not None:
            told = f"nothing is extracted from it, since its session is held back: {gate}"
            return replace(kept, problems=(*kept.problems, told))
        self.store.imported.begin(kept.session_id, packet_path=str(kept.path), scope=wanted, now=self.clock.now())
        thread = self.store.threads.get(kept.session_id)
        content = kept.path.read_bytes()
        packet = read_packet(content)
        if thread is None or packet is None:
            return kept
        digest = f"packet:{sha256_hex(content)}:{wanted}"
        if self.store.imported.is_extracted(kept.session_id, digest):
            return self._with_drafts(kept)  # what was paid for once is not asked again
        hold = paid_hold(self.config, self.store, self.clock.now())
        if hold is not None:
            told = f"{hold.reason}; nothing was extracted from the packet: import it again later"
            return replace(kept, problems=(*kept.problems, told))
        events, hashes = events_of(packet, content)
        extraction = extract_imported(
            replace(thread, rollout_path=str(kept.path), scope=wanted),
            events,
            hashes,
            self.config,
            extract=self._imports_with().extract,
        )
        self.store.imported.store(extraction, packet_digest=digest, now=self.clock.now())
        self.review_with_files()
        return self._with_drafts(kept)

    def _imports_with(self) -> Extractor:
        # No job is leased for a packet: the lock on importing takes the lease's place.
        if self._given_extractor is None and self._import_extractor is None:
            self._import_extractor = self._build_extractor(is_ours=lambda _thread_id: True)
        extractor = self._given_extractor or self._import_extractor
        if extractor is None:
            raise RuntimeError("there is an extractor by now")
        return extractor

    def _with_drafts(self, kept: KeptPacket) -> KeptPacket:
        return replace(kept, is_known=True, drafts=len(self.store.drafts.every(thread_id=kept.session_id)))

    def packets(self) -> Packets:
        """Return what builds, imports and shows packets of sessions."""
        from memory_pipeline.review.packets import Packets

        return Packets(self.config, self.store, self.clock)

    def write_session_files(self, thread_id: str | None = None) -> FilesReport:
        """Take in edited draft files and write those that must change; see review.files.write_session_files.

        Raises:
            LockedError: another run has been writing them for a long time.
        """
        from memory_pipeline.review.files import write_session_files

        return write_session_files(self.config, self.store, self.clock, thread_id)

    def why(self, query: str) -> Explanation:
        """Explain the memories that a query names; see recall.why.explain."""
        from memory_pipeline.recall.why import explain

        return explain(query, self.store, self.evidence_reader(self.config))

    def read_back(self, draft: Draft) -> tuple[ReadBack, ...]:
        """Read the evidence of a draft back from its logs, in its order."""
        from memory_pipeline.recall.why import read_back

        reader = self.evidence_reader(self.config)
        if not draft.merges:
            return read_back(draft.entry, self.store, reader)
        memories = [self.store.memories.get(memory_id) for memory_id in draft.merges]
        entry_ids = list(dict.fromkeys(name for memory in memories if memory is not None for name in memory.entry_ids))
        entries = self.store.extractions.known_entries(entry_ids)
        return tuple(
            read for name in entry_ids if name in entries for read in read_back(entries[name], self.store, reader)
        )

    def lint(self) -> list[Finding]:
        """Check the whole workspace; see phase2.lint.lint."""
        from memory_pipeline.phase2.lint import lint

        return lint(self.config, self.store)

    @staticmethod
    def evidence_reader(config: Config) -> EvidenceReader:
        """Return what reads evidence back from the logs that a configuration names."""
        from memory_pipeline.rollouts.readback import EvidenceReader

        sources = config.sources
        homes = {
            Agent.CODEX: sources.codex.home,
            Agent.CLAUDE: sources.claude.home,
            Agent.JOURNAL: str(config.state_path),
            Agent.TASK: str(config.state_path),
        }
        return EvidenceReader(homes, max_bytes=config.gates.max_rollout_bytes)

    def _pipeline(self, *, extracts: bool) -> Pipeline:
        from memory_pipeline.review.files import FiledReview

        phase1 = self._phase1() if extracts else None
        if self._tool_model is None:
            self._tool_model = self._build_tool_model()
        review = FiledReview(self.config, self.store, self.clock, environ=self._environ, should_stop=self.stop.is_set)
        return Pipeline(phase1, review, self._phase2(self._tool_model))

    def _phase1(self) -> Phase1:
        from memory_pipeline.phase1.run import Phase1

        if self._extractor is None:
            # Built before anything is claimed, so that a missing key is said at once and costs no job its turn.
            self._extractor = self._build_extractor()
        return Phase1(
            self.config,
            self.store,
            self.clock,
            extract=self._extractor.extract,
            abort_extractions=self._abort_extractions,
            owner=self._owner,
            jitter=random.random,
            stop=self.stop,
        )

    def _phase2(self, tool_model: ToolModel | None = None) -> Phase2:
        return self._plain_phase2(before=self._bring_in_line_under_lock, tool_model=tool_model)

    def _plain_phase2(
        self,
        on_step: OnStep = lambda _name: None,
        *,
        before: Callable[[HeldLock], None] = lambda _lock: None,
        tool_model: ToolModel | None = None,
    ) -> Phase2:
        from memory_pipeline.phase2.run import Phase2

        return Phase2(
            self.config,
            self.store,
            self.clock,
            owner=self._owner,
            # Jitter only spreads retries over time; nothing that is stored or shown depends on it.
            jitter=random.random,
            should_stop=self.stop.is_set,
            on_step=on_step,
            before=before,
            tool_model=tool_model,
        )

    def _abort_extractions(self) -> None:
        if self._extractor is not None and self.config.model.is_paid:
            self._extractor.close()

    def _build_extractor(self, *, is_ours: Callable[[str], bool] | None = None) -> Extractor:
        if not self.config.model.is_paid:
            from memory_pipeline.llm.deterministic import DeterministicExtractor

            return DeterministicExtractor()
        from memory_pipeline.llm.openai_adapter import OpenAIExtractor
        from memory_pipeline.phase1.paid import PaidExtractor

        paid = PaidExtractor(
            self.config,
            self.store,
            self.clock,
            is_ours=is_ours or (lambda thread_id: self.store.jobs.is_held(thread_id, owner=self._owner)),
        )
        return paid.wrap(
            OpenAIExtractor(
                self.config.model,
                api_key=self._environ.get(self.config.model.api_key_env) or None,
                meter=paid,
                clock=self.clock,
            )
        )

    def _build_tool_model(self) -> ToolModel | None:
        """Return the model that curates, None where rules do."""
        if not self.config.model.is_paid or self.config.phase2.curator != "model":
            return None
        from memory_pipeline.budget import Tab, curator_caps
        from memory_pipeline.llm.tool_model import OpenAIToolModel
        from memory_pipeline.phase2.curators.paid import PaidToolModel

        tab = Tab(
            self.config,
            self.store,
            self.clock,
            caps=curator_caps(self.config),
            phase="phase2",
            what="the curating model",
            model=self.config.model.curating_model,
        )
        return PaidToolModel(
            OpenAIToolModel(
                self.config.model,
                api_key=self._environ.get(self.config.model.api_key_env) or None,
                meter=tab,
                clock=self.clock,
            ),
            tab,
        )


def _with_problems(counts: RunCounts, *, before: Sequence[str] = (), after: Sequence[str] = ()) -> RunCounts:
    phase1 = replace(counts.phase1, problems=(*before, *counts.phase1.problems, *after))
    return replace(counts, phase1=phase1)


def _is_idle(counts: RunCounts) -> bool:
    done_nothing = (Phase2Outcome.NO_CHANGES, Phase2Outcome.NO_INPUTS, Phase2Outcome.SKIPPED)
    return not counts.phase1.claimed and counts.phase2.outcome in done_nothing


def _pass_fields(counts: RunCounts) -> dict[str, Any]:
    """What the log tells of a pass: numbers and outcomes."""
    phase1, phase2 = counts.phase1, counts.phase2
    return {
        "action": "pass",
        "outcome": phase2.outcome,
        "seconds": round(phase1.seconds + phase2.seconds, 3),
        "discovered": phase1.discovered,
        "due": phase1.eligible,
        "claimed": phase1.claimed,
        "succeeded": phase1.succeeded,
        "no_output": phase1.no_output,
        "failed": phase1.failed,
        "added": phase2.added,
        "modified": phase2.modified,
        "removed": phase2.removed,
    }
