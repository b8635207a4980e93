"""The daemon: a pass at the start, then by the schedule; one at a time; signals stop it or change its configuration."""

from __future__ import annotations

import logging
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from memory_pipeline.clock import Clock, iso
from memory_pipeline.config import Config, as_table
from memory_pipeline.errors import ConfigError, InterruptedRunError, LockedError, MemoryPipelineError
from memory_pipeline.files import make_private_folder
from memory_pipeline.lock import os_lock

if TYPE_CHECKING:
    from datetime import tzinfo

    from apscheduler.triggers.cron import CronTrigger

logger = logging.getLogger(__name__)

#: The longest wait without a look at the clock, in seconds: it may have been set, or the machine may have slept.
LOOK_EVERY_SECONDS = 30.0
#: A pass in between, for jobs that another run left behind, comes no sooner than so long after the last one.
LEAST_BETWEEN_SECONDS = 60.0


@contextmanager
def only_daemon(config: Config) -> Iterator[None]:
    """Be the one daemon of a state folder for the time of the ``with`` block. A crash leaves no lock behind.

    Raises:
        LockedError: another daemon works there.
        OSError, StoreError: the state folder or its lock can't be made.
    """
    make_private_folder(config.state_path)
    with ExitStack() as held:
        try:
            held.enter_context(os_lock(config.daemon_lock_path, purpose="the daemon"))
        except LockedError as error:
            raise LockedError(
                f"another daemon works for {config.state_dir} already; stop that one first, or send it SIGHUP to have "
                "it read its configuration again"
            ) from error
        yield


class Wishes:
    """What is asked of a daemon while it works or waits. Safe to use from any thread."""

    def __init__(self) -> None:
        self._woken = threading.Event()
        self._stop = threading.Event()
        self._reread = threading.Event()

    @property
    def is_stopped(self) -> bool:
        """Whether the daemon is asked to end."""
        return self._stop.is_set()

    def stop(self) -> None:
        """Ask the daemon to end."""
        self._stop.set()
        self._woken.set()

    def reread(self) -> None:
        """Ask it to read its configuration again, once the pass in flight has ended."""
        self._reread.set()
        self._woken.set()

    def take_reread(self) -> bool:
        """Whether the configuration is to be read again; asked several times meanwhile, it is read once."""
        if not self._reread.is_set():
            return False
        self._reread.clear()
        return True

    def wait(self, seconds: float) -> None:
        """Wait so long, or until something is asked."""
        self._woken.wait(seconds)
        if not self.is_stopped:
            self._woken.clear()


class Schedule:
    """When passes are due: a cron expression in local time, and a delay that spreads them."""

    def __init__(self, config: Config, *, jitter: Callable[[], float], zone: tzinfo | None = None) -> None:
        """Take ``daemon.schedule`` and ``daemon.jitter_seconds``; ``jitter`` gives 0 to 1.

        The ``zone`` is that of this machine unless another is named.

        Raises:
            ConfigError: the schedule is no cron expression, or names no time.
        """
        self._trigger = _trigger(config.daemon.schedule, zone)
        self._jitter_seconds = config.daemon.jitter_seconds
        self._jitter = jitter
        self._planned = 0.0
        self._delay = 0.0
        if self._next_after(0.0) is None:
            raise ConfigError(f"daemon.schedule: {config.daemon.schedule!r} names a day that never comes")

    def plan(self, *, now: float) -> float:
        """Plan the next pass: the first time of the schedule after ``now``, and its delay; return when it is due.

        However many times went by since the last one, there is one next pass.
        """
        self._planned = self._next_after(now) or now + LOOK_EVERY_SECONDS
        self._delay = self._jitter_seconds * self._jitter()
        return self._planned + self._delay

    def due_at(self, *, now: float) -> float:
        """Return when the planned pass is due. Once the clock was set back, an earlier time is planned in its place."""
        following = self._next_after(now)
        if following is not None and following < self._planned:
            return self.plan(now=now)
        return self._planned + self._delay

    def _next_after(self, now: float) -> float | None:
        from datetime import datetime

        # Made from seconds alone: adding to a local time would mix up the two hours that summer time ends with.
        moment = datetime.fromtimestamp(now + 0.001, self._trigger.timezone)
        following = self._trigger.get_next_fire_time(None, moment)
        return None if following is None else float(following.timestamp())


class Daemon:
    """Makes passes until it is asked to stop. One pass at a time, each on a configuration that does not change."""

    def __init__(
        self,
        config: Config,
        *,
        load: Callable[[], Config],
        check: Callable[[Config], None],
        run_pass: Callable[[Config], float | None],
        wishes: Wishes,
        clock: Clock,
        jitter: Callable[[], float],
    ) -> None:
        """Take the parts: ``run_pass`` makes one pass, and ``jitter`` gives 0 to 1.

        ``run_pass`` returns when the lease of a job ends that another run holds, None where there is none: was that
        run killed, the job comes back then, and not only at the next time of the schedule.

        ``load`` reads the configuration anew, and ``check`` raises what a person must mend before it can work.

        Raises:
            ConfigError: the schedule is no cron expression, or names no time.
        """
        self._config = config
        self._load = load
        self._check = check
        self._run_pass = run_pass
        self._wishes = wishes
        self._clock = clock
        self._jitter = jitter
        self._schedule = Schedule(config, jitter=jitter)
        self._comes_back_at: float | None = None

    def run(self) -> None:
        """Make a pass at once and then at every time of the schedule, until asked to stop.

        A time that comes while a pass runs is left out; times that went by while the machine slept, or was busy,
        become one pass. A pass that fails is logged, and the next one comes at its time. A changed configuration is
        followed by a pass at once, as a start is.

        Raises:
            MemoryPipelineError: what ``check`` raised before the first pass.
        """
        self._check(self._config)
        self._make_pass()
        while not self._wishes.is_stopped:
            now = self._clock.now()
            due_at = self._due_at(now)
            if self._wishes.take_reread():
                if self._changes_configuration():
                    self._make_pass()
            elif now >= due_at:
                self._make_pass()
            else:
                self._wishes.wait(min(due_at - now, LOOK_EVERY_SECONDS))

    def _make_pass(self) -> None:
        try:
            self._comes_back_at = None
            if not self._wishes.is_stopped:
                comes_back_at = self._run_pass(self._config)
                if comes_back_at is not None:
                    self._comes_back_at = max(comes_back_at, self._clock.now() + LEAST_BETWEEN_SECONDS)
        except InterruptedRunError:
            logger.info("pass stopped", extra={"action": "pass", "outcome": "given_back"})
        except Exception as error:  # noqa: BLE001 - the daemon outlives one bad pass; the next may be well
            logger.error("pass failed", extra={"action": "pass", "outcome": "failed", "reason": _reason(error)})
        # Planned from the end of the pass, so that one that takes longer than the schedule's times is no backlog.
        due_at = self._schedule.plan(now=self._clock.now())
        logger.debug("next pass", extra={"action": "wait", "reason": f"due at {iso(due_at)}"})

    def _due_at(self, now: float) -> float:
        due_at = self._schedule.due_at(now=now)
        return due_at if self._comes_back_at is None else min(due_at, self._comes_back_at)

    def _changes_configuration(self) -> bool:
        """Read the configuration again; true when it can be used and says something else."""
        try:
            new = self._load()
            _check_same_places(self._config, new)
            schedule = Schedule(new, jitter=self._jitter)
            self._check(new)
        except Exception as error:  # noqa: BLE001 - whatever is wrong with it, the one in force goes on
            logger.error(
                "the configuration can't be used; the one in force goes on",
                extra={"action": "reread", "outcome": "refused", "reason": _reason(error)},
            )
            return False
        changed = _changed_keys(self._config, new)
        self._config, self._schedule = new, schedule
        schedule.plan(now=self._clock.now())
        logger.info(
            "configuration read again",
            extra={"action": "reread", "outcome": f"changed: {', '.join(changed)}" if changed else "unchanged"},
        )
        return bool(changed)


def _reason(error: Exception) -> str:
    """Say what went wrong; of a fault of ours only its kind and place, since its words may come from a log."""
    if isinstance(error, MemoryPipelineError):
        return " ".join([str(error), *error.lines])
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror or type(error).__name__
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} in {frame.name}, line {frame.lineno}; please report it"


def _check_same_places(old: Config, new: Config) -> None:
    """Check that a daemon may go over from one configuration to the other.

    Raises:
        ConfigError: it lies elsewhere, or names other folders than those that the daemon was started for.
    """
    if old.path is not None and new.path is None:
        raise ConfigError(f"{old.path} is gone; put it back, or restart the daemon to work with the built-in defaults")
    for key in ("state_dir", "memories_dir"):
        before, after = getattr(old, key), getattr(new, key)
        if before != after:
            raise ConfigError(
                f"{key} was {before} when the daemon started and is {after} now; restart the daemon to move there"
            )


def _changed_keys(old: Config, new: Config) -> list[str]:
    before, after = _by_key(as_table(old)), _by_key(as_table(new))
    return [key for key in after if after[key] != before[key]]


def _by_key(table: dict[str, object], prefix: str = "") -> dict[str, object]:
    found: dict[str, object] = {}
    for name, value in table.items():
        found |= _by_key(value, f"{prefix}{name}.") if isinstance(value, dict) else {f"{prefix}{name}": value}
    return found


def _trigger(schedule: str, zone: tzinfo | None) -> CronTrigger:
    from apscheduler.triggers.cron import CronTrigger

    try:
        return CronTrigger.from_crontab(_with_named_days(schedule), timezone=zone)
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
