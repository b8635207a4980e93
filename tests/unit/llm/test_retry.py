"""What is tried again at once, how long it waits, and where it ends."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from memory_pipeline.errors import AnswerError, ProviderError
from memory_pipeline.llm.retry import PassingError, call_with_retries


class Provider:
    """Raises one error a call, then answers; keeps its own time, which only waiting moves on."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.calls = 0
        self.time = 100.0
        self.waits: list[float] = []

    def __call__(self) -> str:
        self.calls += 1
        if self.errors:
            raise self.errors.pop(0)
        return "answer"

    def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.time += seconds

    def ask(self, deadline: float | None = None, jitter: Callable[[], float] = lambda: 0.5) -> str:
        return call_with_retries(self, deadline=deadline, monotonic=lambda: self.time, sleep=self.sleep, jitter=jitter)


def test_a_passing_fault_is_tried_again_up_to_two_more_times() -> None:
    """Two faults in a row are survived, with growing waits between."""
    provider = Provider(PassingError("a"), PassingError("b"))
    assert provider.ask() == "answer"
    assert provider.waits == [0.5, 1.0]


def test_the_third_passing_fault_is_raised_as_it_came() -> None:
    """After three calls the last error reaches the caller, not a wrapper of the library."""
    last = PassingError("c", per_thread_suspect=True)
    provider = Provider(PassingError("a"), PassingError("b"), last)
    with pytest.raises(PassingError) as caught:
        provider.ask()
    assert caught.value is last
    assert provider.calls == 3


@pytest.mark.parametrize("error", [ProviderError("401"), AnswerError("400"), KeyError("a surprise")])
def test_what_would_fail_again_fails_at_once(error: Exception) -> None:
    """A fault that a moment does not mend costs one call."""
    provider = Provider(error)
    with pytest.raises(type(error)):
        provider.ask()
    assert (provider.calls, provider.waits) == (1, [])


def test_the_wait_that_the_provider_asked_for_is_kept() -> None:
    """Retry-After decides, not our own rhythm."""
    provider = Provider(PassingError("slow down", retry_after_seconds=7.0))
    assert provider.ask() == "answer"
    assert provider.waits == [7.0]


def test_a_wait_of_more_than_ten_seconds_is_not_begun() -> None:
    """The worker is not held up for long: the job waits instead."""
    provider = Provider(PassingError("slow down", retry_after_seconds=10.5))
    with pytest.raises(PassingError):
        provider.ask()
    assert provider.waits == []


def test_a_wait_that_would_reach_the_deadline_is_not_begun() -> None:
    """The deadline also bounds the waits: the first one fits, the second would not."""
    provider = Provider(PassingError("a"), PassingError("b"), PassingError("c"))
    with pytest.raises(PassingError, match="b"):
        provider.ask(deadline=101.5)
    assert provider.waits == [0.5]


def test_jitter_spreads_the_waits() -> None:
    """Workers that failed together don't come back together."""
    low, high = Provider(PassingError("a")), Provider(PassingError("a"))
    low.ask(jitter=lambda: 0.0)
    high.ask(jitter=lambda: 0.99)
    assert (low.waits, high.waits) == ([0.25], [pytest.approx(0.745)])
