"""Paid extractions: each request is reserved in the ledger before it is sent, and booked after."""

from __future__ import annotations

import threading

from memory_pipeline.budget import Tab
from memory_pipeline.clock import Clock
from memory_pipeline.config import Config
from memory_pipeline.llm.port import Extractor
from memory_pipeline.records import Evidence, ExtractionAnswer
from memory_pipeline.store.store import Store


class PaidExtractor:
    """An extractor whose every request passes the ledger first; ``before_request`` is the hook for the inner one."""

    def __init__(self, config: Config, store: Store, clock: Clock) -> None:
        self._config = config
        self._store = store
        self._clock = clock
        self._inner: Extractor | None = None
        self._now_asking = threading.local()

    def wrap(self, inner: Extractor) -> PaidExtractor:
        """Set whom to ask; returns itself."""
        self._inner = inner
        return self

    def extract(self, evidence: Evidence, *, deadline: float | None = None) -> ExtractionAnswer:
        """Ask, and book what it took.

        Raises:
            BudgetHoldError: a cap would be passed; the request was not sent.
        """
        inner = self._inner
        if inner is None:
            raise RuntimeError("wrap an extractor first")
        tab = Tab(
            self._config,
            self._store,
            self._clock,
            phase="phase1",
            what="a session",
            model=self._config.model.extract_model,
            thread_id=evidence.thread_id,
            scope=evidence.scope,
        )
        self._now_asking.tab = tab
        return tab.pay(lambda: inner.extract(evidence, deadline=deadline))

    def close(self) -> None:
        """Give up what is in flight."""
        if self._inner is not None:
            self._inner.close()

    def before_request(self, estimated_tokens: int) -> None:
        """Reserve one request.

        Raises:
            BudgetHoldError: a cap would be passed.
        """
        tab: Tab = self._now_asking.tab
        tab.before_request(estimated_tokens)
