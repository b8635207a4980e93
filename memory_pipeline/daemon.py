"""The daemon: a pass at the start, then by the schedule; one at a time; a signal gives back what is in flight."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from memory_pipeline.errors import ConfigError, InterruptedRunError, MemoryPipelineError

if TYPE_CHECKING:
    from apscheduler.triggers.base import BaseTrigger
    from apscheduler.triggers.cron import CronTrigger

logger = logging.getLogger(__name__)


def check_schedule(schedule: str) -> None:
    """Check a cron expression.

    Raises:
        ConfigError: it is none, or names no time.
    """
    _trigger(schedule)


def run_daemon(schedule: str, run_pass: Callable[[], None], stop: threading.Event) -> None:
    """Run a pass at once and then at every time of ``schedule``, until ``stop`` is set; see ``run_by``.

    Raises:
        ConfigError: the schedule is no cron expression.
    """
    run_by(_trigger(schedule), run_pass, stop)


def run_by(trigger: BaseTrigger, run_pass: Callable[[], None], stop: threading.Event) -> None:
    """Run a pass at once and then whenever ``trigger`` says so, until ``stop`` is set.

    A time that comes while a pass runs is left out, and times missed while the machine slept become one pass. A pass
    that fails is logged, and the next one comes at its time.
    """
    from datetime import datetime

    from apscheduler.schedulers.background import BackgroundScheduler

    scheduler = BackgroundScheduler(job_defaults={"coalesce": True, "max_instances": 1, "misfire_grace_time": None})
    scheduler.add_job(
        _guarded(run_pass, stop),
        trigger,
        next_run_time=datetime.now(scheduler.timezone),
        name="pass",
    )
    scheduler.start()
    try:
        stop.wait()
    finally:
        # Waits for the running pass, which has seen ``stop`` too and gives its jobs back within seconds.
        scheduler.shutdown(wait=True)


def _trigger(schedule: str) -> CronTrigger:
    from apscheduler.triggers.cron import CronTrigger

    try:
        return CronTrigger.from_crontab(_with_named_days(schedule))
    except ValueError as error:
        raise ConfigError(f"daemon.schedule: {schedule!r} is no cron expression: {error}") from error


def _with_named_days(schedule: str) -> str:
    """Write the numbers of weekdays as names: cron counts from Sunday, the scheduler from Monday."""
    *fields, days = schedule.split() or [""]
    if len(fields) != 4 or days == "*" or days.startswith("*/"):
        return schedule
    parts = [_named_days(part) for part in days.split(",")]
    return " ".join([*fields, ",".join(parts)])


def _named_days(part: str) -> str:
    span, _, step = part.partition("/")
    first, dash, last = span.partition("-")
    if not first.isdecimal() or (dash and not last.isdecimal()):
        return part
    # A range over numbers is spelt out: as names, one that ends on a Sunday would run backwards.
    numbers = range(int(first), int(last if dash else first) + 1, int(step or 1))
    return ",".join(_DAY_NAMES[number] for number in numbers if number < len(_DAY_NAMES)) or part


_DAY_NAMES = ("sun", "mon", "tue", "wed", "thu", "fri", "sat", "sun")


def _guarded(run_pass: Callable[[], None], stop: threading.Event) -> Callable[[], None]:
    def guarded() -> None:
        try:
            if not stop.is_set():
                run_pass()
        except InterruptedRunError:
            logger.info("pass stopped", extra={"action": "pass", "outcome": "given_back"})
        except MemoryPipelineError as error:
            logger.error("pass failed", extra={"action": "pass", "outcome": "failed", "reason": str(error)})
        except Exception as error:  # noqa: BLE001 - the daemon outlives one bad pass; the next may be well
            logger.error("pass failed", extra={"action": "pass", "outcome": "failed", "reason": type(error).__name__})

    return guarded
