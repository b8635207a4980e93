"""The daemon: a pass at once, then by the schedule, one at a time, until it is asked to stop."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from datetime import datetime

import pytest
from apscheduler.triggers.interval import IntervalTrigger

from memory_pipeline.daemon import check_schedule, run_by, run_daemon
from memory_pipeline.errors import ConfigError, InterruptedRunError, StoreError

#: No test waits that long; it only ends a test that would hang.
PATIENCE_SECONDS = 20.0
YEARLY = "0 0 1 1 *"


def often() -> IntervalTrigger:
    """Fire so often that passes would overlap if anything let them."""
    return IntervalTrigger(seconds=0.01, start_date=datetime(2026, 1, 1))  # noqa: DTZ001 - the scheduler's own zone


@pytest.fixture
def events() -> Iterator[list[logging.LogRecord]]:
    """What the daemon logs."""
    seen: list[logging.LogRecord] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            seen.append(record)

    logger = logging.getLogger("memory_pipeline.daemon")
    keep, level = Keep(), logger.level
    logger.addHandler(keep)
    logger.setLevel(logging.INFO)
    yield seen
    logger.removeHandler(keep)
    logger.setLevel(level)


def test_the_first_pass_comes_at_once() -> None:
    """Nobody waits for the schedule to see whether the daemon works."""
    stop, passes = threading.Event(), []

    def run_pass() -> None:
        passes.append(1)
        stop.set()

    run_daemon(YEARLY, run_pass, stop)
    assert passes == [1]


def test_passes_go_on_by_the_schedule_until_it_is_stopped() -> None:
    """The event ends it, and no pass begins after that."""
    stop, passes = threading.Event(), []

    def run_pass() -> None:
        passes.append(1)
        if len(passes) == 4:
            stop.set()

    run_by(often(), run_pass, stop)
    assert len(passes) == 4


def test_passes_never_overlap() -> None:
    """A time that comes while a pass runs is left out."""
    stop, alone, overlaps, passes = threading.Event(), threading.Lock(), [], []
    never = threading.Event()

    def run_pass() -> None:
        if not alone.acquire(blocking=False):
            overlaps.append(1)
            return
        with_time_for_ten_more = 0.1
        never.wait(with_time_for_ten_more)
        passes.append(1)
        if len(passes) == 3:
            stop.set()
        alone.release()

    run_by(often(), run_pass, stop)
    assert overlaps == []
    assert len(passes) == 3


def test_stopping_waits_for_the_running_pass() -> None:
    """What is in flight is given back by the pass itself, before the daemon ends."""
    stop, began, ended = threading.Event(), threading.Event(), []

    def run_pass() -> None:
        began.set()
        assert stop.wait(PATIENCE_SECONDS)
        ended.append("gave its jobs back")
        raise InterruptedRunError("stopped")

    daemon = threading.Thread(target=run_daemon, args=(YEARLY, run_pass, stop))
    daemon.start()
    assert began.wait(PATIENCE_SECONDS)
    stop.set()
    daemon.join(PATIENCE_SECONDS)
    assert not daemon.is_alive()
    assert ended == ["gave its jobs back"]


@pytest.mark.parametrize(
    ("error", "reason"),
    [(StoreError("/state/memory.db: no space"), "/state/memory.db: no space"), (KeyError("a secret word"), "KeyError")],
)
def test_a_failing_pass_is_logged_once_and_the_next_one_comes(
    error: Exception, reason: str, events: list[logging.LogRecord]
) -> None:
    """One line an event; of an unforeseen error its kind alone, since its words may come from a log."""
    stop, passes = threading.Event(), []

    def run_pass() -> None:
        passes.append(1)
        if len(passes) == 2:
            stop.set()
            return
        raise error

    run_by(often(), run_pass, stop)
    assert len(passes) == 2
    (record,) = events
    assert (record.levelname, record.getMessage()) == ("ERROR", "pass failed")
    assert (record.__dict__["action"], record.__dict__["outcome"]) == ("pass", "failed")
    assert record.__dict__["reason"].startswith(reason)
    assert "secret" not in str(record.__dict__)


def test_an_interrupted_pass_is_no_failure(events: list[logging.LogRecord]) -> None:
    """Being stopped is told as what it is."""
    stop = threading.Event()

    def run_pass() -> None:
        stop.set()
        raise InterruptedRunError("stopped")

    run_daemon(YEARLY, run_pass, stop)
    (record,) = events
    assert (record.levelname, record.__dict__["outcome"]) == ("INFO", "given_back")


def test_a_daemon_that_was_stopped_before_it_began_runs_nothing() -> None:
    """A signal during start-up counts."""
    stop, passes = threading.Event(), []
    stop.set()
    run_daemon(YEARLY, lambda: passes.append(1), stop)
    assert passes == []


@pytest.mark.parametrize("schedule", ["", "often", "* * * *", "* * * * * *", "61 * * * *", "*/0 * * * *"])
def test_what_is_no_cron_expression_is_refused_by_its_key(schedule: str) -> None:
    """The message names the key and what stands there, and nothing runs."""
    with pytest.raises(ConfigError, match=r"daemon\.schedule"):
        check_schedule(schedule)
    with pytest.raises(ConfigError, match=r"daemon\.schedule"):
        run_daemon(schedule, lambda: pytest.fail("ran"), threading.Event())


@pytest.mark.parametrize("schedule", ["*/15 * * * *", "0 9-17 * * 1-5", "30 2 * * sun", YEARLY])
def test_usual_expressions_are_taken(schedule: str) -> None:
    """The forms that people write."""
    check_schedule(schedule)
