"""What paid calls may cost: each request is reserved in the ledger before it is sent, and booked after.

Nothing is sent that can't be written down first. While a cap, or an agent's own quota, leaves no room, paid work holds
as a whole (or that of one project), and everything that costs nothing goes on.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence

from msgspec import Struct

from memory_pipeline.clock import DAY_SECONDS, Clock, iso
from memory_pipeline.config import Config
from memory_pipeline.errors import BudgetHoldError, CapReachedError, StoreError
from memory_pipeline.llm.port import Taken
from memory_pipeline.records import Gate, RateLimit
from memory_pipeline.store.ledger import Cap, Reservation, window_caps
from memory_pipeline.store.store import Store

logger = logging.getLogger(__name__)

#: With room for a shorter answer than this, no request is sent: it would be cut off, and paid for in vain.
LEAST_ANSWER_TOKENS = 4_000


class PaidHold(Struct, frozen=True, kw_only=True):
    """Why no paid call may be made, and when one may again: None where no time can be told."""

    reason: str
    opens_at: float | None
    gate: Gate


class JobCaps(Struct, frozen=True, kw_only=True):
    """How much one job may take in all, and the keys that say so."""

    requests: int
    tokens: int
    requests_key: str
    tokens_key: str


def phase1_caps(config: Config) -> JobCaps:
    """Return the caps on one extraction."""
    return JobCaps(
        requests=config.phase1.max_requests_per_job,
        tokens=config.phase1.max_tokens_per_job,
        requests_key="phase1.max_requests_per_job",
        tokens_key="phase1.max_tokens_per_job",
    )


def curator_caps(config: Config) -> JobCaps:
    """Return the caps on what a model may take in one consolidation."""
    return JobCaps(
        requests=config.phase2.curator_max_requests,
        tokens=config.phase2.curator_max_tokens,
        requests_key="phase2.curator_max_requests",
        tokens_key="phase2.curator_max_tokens",
    )


def paid_hold(config: Config, store: Store, now: float) -> PaidHold | None:
    """Return what holds all paid work, None while a call may be made; of two reasons both, and the later time."""
    if not config.model.is_paid:
        return None
    holds = [_budget_hold(config, store, None, now=now), _quota_hold(config, store, now=now)]
    found = [hold for hold in holds if hold is not None]
    if not found:
        return None
    times = [hold.opens_at for hold in found]
    return PaidHold(
        reason="; ".join(hold.reason for hold in found),
        opens_at=None if None in times else max(at for at in times if at is not None),
        gate=found[0].gate,
    )


def project_holds(config: Config, store: Store, now: float) -> dict[str, PaidHold]:
    """Return what holds the paid work of single projects, by scope; what holds all of it is told by ``paid_hold``."""
    if not config.model.is_paid or not (config.budget.project_daily_tokens or config.budget.project_weekly_tokens):
        return {}
    try:
        projects = store.ledger.projects(now=now)
    except StoreError:
        return {}  # then paid work holds as a whole
    holds = {project: _budget_hold(config, store, project, now=now) for project in projects}
    return {project: hold for project, hold in holds.items() if hold is not None}


def whole_caps(config: Config) -> list[Cap]:
    """Return the caps on all paid calls together."""
    return window_caps(daily=config.budget.daily_tokens, weekly=config.budget.weekly_tokens)


def can_never_pass(config: Config, scope: str, last_error: str | None) -> bool:
    """Whether the last try for a session met a cap that is smaller than its request, and still is.

    No waiting helps such a session, so it is not taken again, and read in vain, before a cap is raised.
    """
    needed = _NEEDS.search(last_error or "")
    if not needed or not config.model.is_paid:
        return False
    return any(int(needed.group(1)) > cap.tokens for cap in (*whole_caps(config), *project_caps(config, scope)))


#: How the need of a session stands in its last error, and is read from there.
_NEEDS = re.compile(r"needs about (\d+) tokens, more than \[budget\] allows at all")


def project_caps(config: Config, project: str) -> list[Cap]:
    """Return the caps on the paid calls of one project."""
    budget = config.budget
    return window_caps(daily=budget.project_daily_tokens, weekly=budget.project_weekly_tokens, scope=project)


def key_of(cap: Cap) -> str:
    """Name the setting that a cap comes from."""
    window = "daily" if cap.window_seconds == DAY_SECONDS else "weekly"
    return f"budget.{'' if cap.scope is None else 'project_'}{window}_tokens"


def quota_is_low(config: Config, limits: Sequence[RateLimit], *, now: float) -> bool:
    """Whether an agent's own logs report less quota left than paid calls must leave.

    A window past its reset says nothing any longer and is ignored.
    """
    return bool(_low_windows(config, limits, now=now))


def _low_windows(config: Config, limits: Sequence[RateLimit], *, now: float) -> list[float]:
    """Return when the windows reset that leave less than paid calls must leave."""
    least = config.gates.min_rate_limit_remaining_percent
    if not config.model.is_paid or least <= 0:
        return []
    return [
        limit.resets_at
        for limit in limits
        if limit.resets_at is not None and limit.resets_at > now and 100.0 - limit.used_percent < least
    ]


def _quota_hold(config: Config, store: Store, *, now: float) -> PaidHold | None:
    resets = _low_windows(config, store.threads.rate_limits(), now=now)
    if not resets:
        return None
    opens_at = max(resets)
    reason = (
        f"an agent's own quota has less than gates.min_rate_limit_remaining_percent left: paid work holds "
        f"until {iso(opens_at)}"
    )
    return PaidHold(reason=reason, opens_at=opens_at, gate=Gate.RATE_LIMIT)


def _budget_hold(config: Config, store: Store, project: str | None, *, now: float) -> PaidHold | None:
    caps = whole_caps(config) if project is None else project_caps(config, project)
    try:
        refusal = store.ledger.waits_for(caps, now=now)
        store.ledger.spent(since=now)  # without a cap too, what can't be booked is not sent
    except StoreError as error:
        return PaidHold(reason=_unreadable(error), opens_at=None, gate=Gate.BUDGET)
    if refusal is None:
        return None
    return PaidHold(reason=_refused(refusal), opens_at=refusal.opens_at, gate=Gate.BUDGET)


def _refused(refusal: Reservation) -> str:
    cap = refusal.refused_by
    opens = f" until {iso(refusal.opens_at)}" if refusal.opens_at is not None else ""
    if cap is None or cap.scope is None:
        key = f" ({key_of(cap)})" if cap else ""
        return f"the token budget is spent{key}: paid work holds{opens} (see [budget] in the configuration)"
    return (
        f"the token budget of {cap.scope} is spent ({key_of(cap)}): its paid work holds{opens}, that of other "
        "projects goes on"
    )


def _unreadable(error: StoreError) -> str:
    return f"the ledger of paid calls can't be read or written, so nothing is sent: {error}"


class Tab:
    """The meter of one job after the other: each request passes the ledger. For one thread at a time."""

    def __init__(
        self,
        config: Config,
        store: Store,
        clock: Clock,
        *,
        caps: JobCaps,
        phase: str,
        what: str,
        model: str,
        thread_id: str | None = None,
        scope: str | None = None,
    ) -> None:
        """``caps`` bind each job by itself; ``what`` says in words for what tokens are needed."""
        self._config = config
        self._ledger = store.ledger
        self._clock = clock
        self._caps = caps
        self._phase = phase
        self._what = what
        self._model = model
        self._thread_id = thread_id
        self._scope = scope
        self.begin()

    def begin(self) -> None:
        """Begin another job: nothing counts against its caps yet."""
        self._requests = 0
        self._tokens = 0
        self._open: Reservation | None = None

    def before_request(self, *, input_tokens: int, output_tokens: int) -> int:
        """Reserve one request; returns how many tokens its answer may have.

        Raises:
            BudgetHoldError: a cap of the budget would be passed, or the ledger can't be written.
            CapReachedError: a cap of this job would be passed.
        """
        least = min(LEAST_ANSWER_TOKENS, output_tokens)
        self._check_caps(input_tokens + least)
        most = min(input_tokens + output_tokens, self._caps.tokens - self._tokens)
        reservation = self._reserve(most, at_least=input_tokens + least)
        self._open = reservation
        self._requests += 1
        self._tokens += reservation.tokens
        return reservation.tokens - input_tokens

    def after_request(self, taken: Taken) -> None:
        """Book what the last request took. What can't be booked stays reserved, and so counts all the same."""
        reservation, self._open = self._open, None
        if reservation is None or reservation.booking_id is None:
            return
        self._tokens += taken.input_tokens + taken.output_tokens - reservation.tokens
        try:
            self._ledger.book(
                reservation.booking_id,
                input_tokens=taken.input_tokens,
                output_tokens=taken.output_tokens,
                reported_tokens=taken.reported_tokens,
            )
        except StoreError:
            # The answer is paid for and good; the next request will not be sent.
            logger.warning("a paid call could not be booked", extra={"action": "book", "thread_id": self._thread_id})

    def _check_caps(self, tokens: int) -> None:
        caps = self._caps
        if self._requests >= caps.requests:
            raise CapReachedError(
                f"{self._what} did not finish within {caps.requests_key} ({caps.requests}); raise it, or use "
                "another model"
            )
        if self._tokens + tokens > caps.tokens:
            raise CapReachedError(
                f"{self._what} did not finish within {caps.tokens_key} ({caps.tokens}): the next request needs "
                f"about {tokens} tokens, and {self._tokens} are used; raise it, or use another model"
            )

    def _reserve(self, tokens: int, *, at_least: int) -> Reservation:
        caps = [*whole_caps(self._config), *(project_caps(self._config, self._scope) if self._scope else ())]
        try:
            reservation = self._ledger.reserve(
                tokens=tokens,
                at_least=at_least,
                caps=caps,
                phase=self._phase,
                thread_id=self._thread_id,
                scope=self._scope,
                model=self._model,
                now=self._clock.now(),
            )
        except StoreError as error:
            raise BudgetHoldError(_unreadable(error)) from error
        if reservation.booking_id is not None:
            return reservation
        if reservation.opens_at is None:
            raise BudgetHoldError(
                f"{self._what} needs about {at_least} tokens, more than [budget] allows at all", is_too_large=True
            )
        cap = reservation.refused_by
        raise BudgetHoldError(_refused(reservation), project=cap.scope if cap else None)
