"""Paid extractions: each request is reserved in the ledger before it is sent, and booked after."""

from __future__ import annotations

import threading
from collections.abc import Callable

from memory_pipeline.budget import Tab, phase1_caps
from memory_pipeline.clock import Clock
from memory_pipeline.config import Config
from memory_pipeline.errors import LostLeaseError
from memory_pipeline.llm.port import ModelExtractor, Taken
from memory_pipeline.records import Evidence, ExtractionAnswer
from memory_pipeline.settings import Settings
from memory_pipeline.store.store import Store


class PaidExtractor:
    """An extractor whose every request passes the ledger first; it is the meter of the inner one."""

    def __init__(self, config: Config, store: Store, clock: Clock, *, is_ours: Callable[[str], bool]) -> None:
        """``is_ours`` tells of a thread whether we still hold the lease on its job."""
        self._is_ours = is_ours
        self._settings = Settings(config, store, clock)
        self._config = config
        self._store = store
        self._clock = clock
        self._inner: ModelExtractor | None = None
        self._now_asking = threading.local()

    def wrap(self, inner: ModelExtractor) -> PaidExtractor:
        """Set whom to ask; returns itself."""
        self._inner = inner
        return self

    def extract(self, evidence: Evidence, *, deadline: float | None = None) -> ExtractionAnswer:
        """Ask the model that is in force for this thread, with a tab of its own.

        Raises:
            BudgetHoldError: a cap of the budget would be passed; the request was not sent.
            CapReachedError: a cap on one extraction would be passed; the request was not sent.
            LostLeaseError: another run works on this thread by now; the request was not sent.
        """
        if self._inner is None:
            raise RuntimeError("wrap an extractor first")
        config = self._settings.in_force().config_for(scope=evidence.scope, thread_id=evidence.thread_id)
        self._now_asking.thread_id = evidence.thread_id
        self._now_asking.tab = Tab(
            self._config,
            self._store,
            self._clock,
            caps=phase1_caps(self._config),
            phase="phase1",
            what="a session",
            model=config.model.extract_model,
            thread_id=evidence.thread_id,
            scope=evidence.scope,
        )
        return self._inner.extract(evidence, deadline=deadline, model=config.model.extract_model)

    def close(self) -> None:
        """Give up what is in flight."""
        if self._inner is not None:
            self._inner.close()

    def before_request(self, *, input_tokens: int, output_tokens: int) -> int:
        """Reserve one request of the thread that asks, if it is still ours; see Tab."""
        thread_id: str = self._now_asking.thread_id
        if not self._is_ours(thread_id):
            raise LostLeaseError(f"thread {thread_id}: another run took it over, so nothing more is sent for it here")
        tab: Tab = self._now_asking.tab
        return tab.before_request(input_tokens=input_tokens, output_tokens=output_tokens)

    def after_request(self, taken: Taken) -> None:
        """Book what it took."""
        tab: Tab = self._now_asking.tab
        tab.after_request(taken)
