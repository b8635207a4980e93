"""Work that somebody waits for: its outcome, its fault, or that it took too long."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from memory_pipeline.cli.within import TooSlowError, within


def test_what_ends_in_time_gives_its_outcome() -> None:
    """And what tells whether it is too late says no."""
    assert within(30, lambda is_too_late: is_too_late()) is False


def test_a_fault_is_raised_where_it_is_waited_for() -> None:
    """As the work raised it."""

    def fail(_is_too_late: Callable[[], bool]) -> None:
        raise KeyError("x")

    with pytest.raises(KeyError):
        within(30, fail)


def test_work_that_hangs_is_left_alone_and_told_that_it_is_too_late() -> None:
    """As a read from a disk that does not answer."""
    answers = threading.Event()
    told: list[bool] = []
    done = threading.Event()

    def hang(is_too_late: Callable[[], bool]) -> None:
        answers.wait(timeout=30)
        told.append(is_too_late())
        done.set()

    with pytest.raises(TooSlowError):
        within(0, hang)
    answers.set()
    assert done.wait(timeout=30)
    assert told == [True]
