"""What paid calls may cost: each request is reserved in the ledger before it is sent, and booked after."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from memory_pipeline.clock import Clock, iso
from memory_pipeline.config import Config
from memory_pipeline.errors import AnswerError, BudgetHoldError, ProviderError
from memory_pipeline.store.store import Store

#: What an answer may take, for reservations: rather too much than too little.
ANSWER_RESERVE_TOKENS = 4_000


class Costed(Protocol):
    """An answer that knows what it cost."""

    @property
    def input_tokens(self) -> int:
        """Tokens that were sent."""
        ...

    @property
    def output_tokens(self) -> int:
        """Tokens that came back."""
        ...


Answer = TypeVar("Answer", bound=Costed)


class Tab:
    """The bookings of one call, which may take several requests. For one thread at a time."""

    def __init__(
        self,
        config: Config,
        store: Store,
        clock: Clock,
        *,
        phase: str,
        what: str,
        model: str,
        thread_id: str | None = None,
        scope: str | None = None,
    ) -> None:
        """``what`` says in words for what tokens are needed."""
        self._budget = config.budget
        self._ledger = store.ledger
        self._clock = clock
        self._phase = phase
        self._what = what
        self._model = model
        self._thread_id = thread_id
        self._scope = scope
        self._bookings: list[int] = []

    def before_request(self, estimated_tokens: int) -> None:
        """Reserve one request.

        Raises:
            BudgetHoldError: a cap would be passed.
        """
        tokens = estimated_tokens + ANSWER_RESERVE_TOKENS
        caps = [cap for cap in (self._budget.daily_tokens, self._budget.weekly_tokens) if cap]
        if caps and tokens > min(caps):
            raise BudgetHoldError(
                f"{self._what} needs about {tokens} tokens, more than [budget] allows at all", is_too_large=True
            )
        reservation = self._ledger.reserve(
            tokens=tokens,
            daily_cap=self._budget.daily_tokens,
            weekly_cap=self._budget.weekly_tokens,
            phase=self._phase,
            thread_id=self._thread_id,
            scope=self._scope,
            model=self._model,
            now=self._clock.now(),
        )
        if reservation.booking_id is None:
            opens = f" until {iso(reservation.opens_at)}" if reservation.opens_at else ""
            raise BudgetHoldError(
                f"the token budget is spent: paid work holds{opens} (see [budget] in the configuration)"
            )
        self._bookings.append(reservation.booking_id)

    def pay(self, call: Callable[[], Answer]) -> Answer:
        """Return what ``call`` returns, or raise what it raises, with what it took booked."""
        self._bookings = []
        try:
            answer = call()
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

    def _book(self, input_tokens: int, output_tokens: int) -> None:
        # A call may have taken several requests; its usage is told as one sum, and booked on the last.
        for number, booking_id in enumerate(self._bookings, start=1):
            is_last = number == len(self._bookings)
            self._ledger.book(
                booking_id,
                input_tokens=input_tokens if is_last else 0,
                output_tokens=output_tokens if is_last else 0,
            )
