"""The one place that wires the parts together."""

from __future__ import annotations

import os
import random
import socket
import threading
import uuid
from collections.abc import Mapping, Sequence
from types import TracebackType

from memory_pipeline.clock import Clock, SystemClock
from memory_pipeline.config import Config
from memory_pipeline.llm.port import Extractor, ToolModel
from memory_pipeline.phase1.gates import apply_gates
from memory_pipeline.phase1.index import Discovery, Progress, index_rollouts
from memory_pipeline.phase1.run import Phase1
from memory_pipeline.phase2.consolidate import Phase2, Preview
from memory_pipeline.phase2.findings import Finding
from memory_pipeline.phase2.lint import lint
from memory_pipeline.pipeline import PassOptions, Pipeline
from memory_pipeline.recall.why import Explanation, explain
from memory_pipeline.records import Agent, JournalRecord, Phase2Counts, RunCounts
from memory_pipeline.rollouts.readback import EvidenceReader
from memory_pipeline.store.store import Store


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
    ) -> None:
        """Open the store of ``config``.

        ``extractor`` overrides the one that the configuration names; ``stop`` ends a running pass when it is set.

        Raises:
            StoreError: the state folder or its database can't be opened.
        """
        self.config = config
        self.clock = clock or SystemClock()
        self.stop = stop or threading.Event()
        self._environ = os.environ if environ is None else environ
        self._extractor = extractor
        self._tool_model: ToolModel | None = None
        # Unlike a process id, this names one run even across machines and restarts.
        self._owner = f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"
        self.store = Store(config.database_path)

    def __enter__(self) -> App:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Release connections."""
        if self._extractor is not None:
            self._extractor.close()
        if self._tool_model is not None:
            self._tool_model.close()
        self.store.close()

    def run_once(
        self, options: PassOptions, *, on_index: Progress | None = None, on_extract: Progress | None = None
    ) -> RunCounts:
        """Run one pass; see Pipeline.run_once."""
        return self._pipeline().run_once(options, on_index=on_index, on_extract=on_extract)

    def scan(self, *, force: bool = False, on_index: Progress | None = None) -> Discovery:
        """Index and gate, without extracting anything."""
        discovery = index_rollouts(self.config, self.store, self.clock, stop=self.stop, on_progress=on_index)
        apply_gates(self.config, self.store, self.clock, force=force)
        return discovery

    def take_in_hand(self, records: Sequence[JournalRecord]) -> Phase2Counts:
        """Write down what the person does, and take it in at once where no other run holds the workspace."""
        return self._phase2().take_in_hand(records)

    def undo(self, consolidation_id: int, *, wait: bool = False) -> Phase2Counts:
        """Undo one consolidation; see Phase2.undo."""
        return self._phase2().undo(consolidation_id, wait=wait)

    def preview(self) -> Preview:
        """Say what a consolidation would do now; changes nothing."""
        return self._phase2().preview()

    def regate(self) -> None:
        """Gate again after a person changed a switch."""
        apply_gates(self.config, self.store, self.clock, force=False)

    def why(self, query: str) -> Explanation:
        """Explain the memories that a query names; see recall.why.explain."""
        sources = self.config.sources
        homes = {
            Agent.CODEX: sources.codex.home,
            Agent.CLAUDE: sources.claude.home,
            Agent.JOURNAL: str(self.config.state_path),
        }
        reader = EvidenceReader(homes, max_bytes=self.config.gates.max_rollout_bytes)
        return explain(query, self.store, reader)

    def lint(self) -> list[Finding]:
        """Check the whole workspace; see phase2.lint.lint."""
        return lint(self.config, self.store)

    def _pipeline(self) -> Pipeline:
        if self._extractor is None:
            # Built before anything is claimed, so that a missing key is said at once and costs no job its turn.
            self._extractor = self._build_extractor()
        phase1 = Phase1(
            self.config,
            self.store,
            self.clock,
            extract=self._extractor.extract,
            abort_extractions=self._abort_extractions,
            owner=self._owner,
            jitter=random.random,
            stop=self.stop,
        )
        if self._tool_model is None:
            self._tool_model = self._build_tool_model()
        return Pipeline(phase1, self._phase2(self._tool_model))

    def _phase2(self, tool_model: ToolModel | None = None) -> Phase2:
        return Phase2(
            self.config,
            self.store,
            self.clock,
            owner=self._owner,
            # Jitter only spreads retries over time; nothing that is stored or shown depends on it.
            jitter=random.random,
            should_stop=self.stop.is_set,
            tool_model=tool_model,
        )

    def _abort_extractions(self) -> None:
        if self._extractor is not None and self.config.model.is_paid:
            self._extractor.close()

    def _build_extractor(self) -> Extractor:
        if not self.config.model.is_paid:
            from memory_pipeline.llm.deterministic import DeterministicExtractor

            return DeterministicExtractor()
        from memory_pipeline.llm.openai_adapter import OpenAIExtractor
        from memory_pipeline.phase1.paid import PaidExtractor

        paid = PaidExtractor(self.config, self.store, self.clock)
        return paid.wrap(
            OpenAIExtractor(
                self.config.model,
                api_key=self._environ.get(self.config.model.api_key_env) or None,
                before_request=paid.before_request,
                clock=self.clock,
            )
        )

    def _build_tool_model(self) -> ToolModel | None:
        """Return the model that curates, None where rules do."""
        if not self.config.model.is_paid or self.config.phase2.curator != "model":
            return None
        from memory_pipeline.budget import Tab
        from memory_pipeline.llm.tool_model import OpenAIToolModel
        from memory_pipeline.phase2.curators.paid import PaidToolModel

        tab = Tab(
            self.config,
            self.store,
            self.clock,
            phase="phase2",
            what="one turn of the curator",
            model=self.config.model.curating_model,
        )
        return PaidToolModel(
            OpenAIToolModel(
                self.config.model,
                api_key=self._environ.get(self.config.model.api_key_env) or None,
                before_request=tab.before_request,
                clock=self.clock,
            ),
            tab,
        )
