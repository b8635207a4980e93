"""Tries again at once what may well work a moment later, never beyond the deadline."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from memory_pipeline.errors import ProviderError

if TYPE_CHECKING:
    import tenacity

Answer = TypeVar("Answer")

MAX_TRIES = 3
LONGEST_WAIT_SECONDS = 10.0  # a provider that asks for more is left in peace: the job waits, not the worker
_FIRST_WAIT_SECONDS = 0.5


class PassingError(ProviderError):
    """A fault of the provider that may be over in a moment: the network, a 5xx, a 429 that names a short wait."""


def call_with_retries(
    call: Callable[[], Answer],
    *,
    deadline: float | None,
    monotonic: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
    jitter: Callable[[], float] | None = None,
) -> Answer:
    """Return what ``call`` returns, calling it up to three times while it raises PassingError.

    Between two calls it waits as long as the provider asked, else about 0.5 s, then about 1 s, shifted by ``jitter``
    (numbers from 0 to below 1) so that workers don't come back in step. A wait of more than 10 s, or one that would
    end at ``deadline`` (of ``monotonic``, seconds) or later, is not begun. The last error is raised as it came;
    any other error passes through at once.
    """
    import tenacity

    spread = jitter or random.Random().random  # noqa: S311 - spreads waits; nothing secret rests on it
    retrying = tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(PassingError),
        wait=lambda state: _wait_seconds(state, spread()),
        stop=lambda state: _is_over(state, deadline, monotonic),
        sleep=sleep,
        reraise=True,
    )
    return retrying(call)


def _wait_seconds(state: tenacity.RetryCallState, share: float) -> float:
    error = state.outcome.exception() if state.outcome else None
    if isinstance(error, ProviderError) and error.retry_after_seconds is not None:
        return error.retry_after_seconds
    exponential = _FIRST_WAIT_SECONDS * 2.0 ** (state.attempt_number - 1)
    return exponential * (0.5 + share)


def _is_over(state: tenacity.RetryCallState, deadline: float | None, monotonic: Callable[[], float]) -> bool:
    if state.attempt_number >= MAX_TRIES or state.upcoming_sleep > LONGEST_WAIT_SECONDS:
        return True
    return deadline is not None and monotonic() + state.upcoming_sleep >= deadline
