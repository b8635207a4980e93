"""Paid calls: each request is reserved in the ledger before it is sent, and booked after."""

from __future__ import annotations

import threading

from memory_pipeline.clock import Clock, iso
from memory_pipeline.config import Config
from memory_pipeline.errors import AnswerError, BudgetHoldError, ProviderError
from memory_pipeline.llm.port import Extractor
from memory_pipeline.records import Evidence, ExtractionAnswer
from memory_pipeline.store.store import Store

#: What an answer may take, for reservations: rather too much than too little.
ANSWER_RESERVE_TOKENS = 4_000


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
        if self._inner is None:
            raise RuntimeError("wrap an extractor first")
        self._now_asking.evidence = evidence
        self._now_asking.bookings = []
        try:
            answer = self._inner.extract(evidence, deadline=deadline)
        except AnswerError as error:
            self._book(error.input_tokens, error.output_tokens)
            raise
        except ProviderError as error:
            # A request that was cut off may be billed all the same, so what was reserved for it stays counted.
            if not error.per_thread_suspect:
                self._book(0, 0)
            raise
        except Exception:
            self._book(0, 0)
            raise
        self._book(answer.input_tokens, answer.output_tokens)
        return answer

    def close(self) -> None:
        """Give up what is in flight."""
        if self._inner is not None:
            self._inner.close()

    def before_request(self, estimated_tokens: int) -> None:
        """Reserve one request.

        Raises:
            BudgetHoldError: a cap would be passed.
        """
        evidence: Evidence = self._now_asking.evidence
        tokens = estimated_tokens + ANSWER_RESERVE_TOKENS
        caps = [cap for cap in (self._config.budget.daily_tokens, self._config.budget.weekly_tokens) if cap]
        if caps and tokens > min(caps):
            raise BudgetHoldError(
                f"a session needs about {tokens} tokens, more than [budget] allows at all", is_too_large=True
            )
        reservation = self._store.ledger.reserve(
            tokens=tokens,
            daily_cap=self._config.budget.daily_tokens,
            weekly_cap=self._config.budget.weekly_tokens,
            phase="phase1",
            thread_id=evidence.thread_id,
            scope=evidence.scope,
            model=self._config.model.extract_model,
            now=self._clock.now(),
        )
        if reservation.booking_id is None:
            opens = f" until {iso(reservation.opens_at)}" if reservation.opens_at else ""
            raise BudgetHoldError(
                f"the token budget is spent: paid work holds{opens} (see [budget] in the configuration)"
            )
        self._now_asking.bookings.append(reservation.booking_id)

    def _book(self, input_tokens: int, output_tokens: int) -> None:
        # A call may have taken several requests; its usage is told as one sum, and booked on the last.
        bookings: list[int] = self._now_asking.bookings
        for number, booking_id in enumerate(bookings, start=1):
            is_last = number == len(bookings)
            self._store.ledger.book(
                booking_id,
                input_tokens=input_tokens if is_last else 0,
                output_tokens=output_tokens if is_last else 0,
            )
