"""The daemon: a pass at once, then by the schedule, one at a time, on a clock that jumps; new configurations."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from memory_pipeline.config import Config, DaemonConfig, GatesConfig
from memory_pipeline.daemon import LOOK_EVERY_SECONDS, Daemon, Schedule, Wishes, only_daemon
from memory_pipeline.errors import ConfigError, InterruptedRunError, LockedError, StoreError

MINUTE = 60.0
HOUR = 60 * MINUTE
QUARTER = 15 * MINUTE
YEARLY = "0 0 1 1 *"
#: A Monday, at noon.
NOON = datetime(2026, 3, 2, 12, tzinfo=UTC).timestamp()


def with_schedule(schedule: str, jitter_seconds: float = 0.0) -> Config:
    """Return a configuration with this schedule."""
    return Config(
        state_dir="/state",
        memories_dir="/state/memories",
        daemon=DaemonConfig(schedule=schedule, jitter_seconds=jitter_seconds),
    )


class World:
    """A daemon in simulated time: waiting moves the clock, and things happen at their moments."""

    def __init__(self, config: Config, *, jitter: float = 0.0, pass_seconds: float = 1.0) -> None:
        self.config = config
        self.moment = NOON
        self.passes: list[float] = []  # when each began
        self.used: list[Config] = []
        self.waits: list[float] = []
        self.pass_seconds = pass_seconds
        self.during_pass: Callable[[int], None] = lambda _number: None
        self.load: Callable[[], Config] = lambda: config
        self.check: Callable[[Config], None] = lambda _config: None
        self.lease_ends: dict[int, float] = {}  # number of a pass -> when a lease ends that it left to another run
        self.jitter = jitter
        self._events: list[tuple[float, Callable[[], None]]] = []
        self.wishes = _SimulatedWishes(self)

    def now(self) -> float:
        """Return the simulated time."""
        return self.moment

    def after(self, seconds: float, action: Callable[[], None]) -> None:
        """Do something once so many seconds of simulated running time have gone by."""
        self._events.append((seconds, action))

    def pass_time(self, seconds: float) -> None:
        """Let time go by; clock jumps are no running time."""
        self.moment += seconds
        due = [(left - seconds, action) for left, action in self._events]
        self._events = [(left, action) for left, action in due if left > 0]
        for left, action in due:
            if left <= 0:
                action()

    def run(self, seconds: float) -> list[float]:
        """Run for so long; returns when each pass began, in minutes after noon."""
        self.after(seconds, self.wishes.stop)
        Daemon(
            self.config,
            load=self.load,
            check=self.check,
            run_pass=self._run_pass,
            wishes=self.wishes,
            clock=self,
            jitter=lambda: self.jitter,
        ).run()
        return [round((began - NOON) / MINUTE, 2) for began in self.passes]

    def _run_pass(self, config: Config) -> float | None:
        self.passes.append(self.moment)
        self.used.append(config)
        self.during_pass(len(self.passes))
        self.pass_time(self.pass_seconds)
        return self.lease_ends.pop(len(self.passes), None)


class _SimulatedWishes(Wishes):
    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world

    def wait(self, seconds: float) -> None:
        assert seconds > 0
        self._world.waits.append(seconds)
        self._world.pass_time(seconds)


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


def test_the_first_pass_comes_at_once_and_the_others_by_the_schedule() -> None:
    """Nobody waits for the schedule to see whether the daemon works."""
    world = World(with_schedule("*/15 * * * *"))
    world.moment += 5 * MINUTE
    assert world.run(HOUR) == [5, 15, 30, 45, 60]


def test_the_delay_is_put_on_top_of_each_time_but_the_first() -> None:
    """The jitter spreads passes, and no time is made twice or left out for it."""
    world = World(with_schedule("*/15 * * * *", jitter_seconds=90), jitter=0.5)
    assert world.run(HOUR) == [0, 15.75, 30.75, 45.75]


def test_times_that_come_during_a_pass_are_left_out() -> None:
    """A pass of 40 minutes is followed by the next time of the schedule, not by those that it missed."""
    world = World(with_schedule("*/15 * * * *"), pass_seconds=40 * MINUTE)
    assert world.run(2 * HOUR) == [0, 45, 90]


def test_times_missed_while_the_machine_slept_become_one_pass() -> None:
    """After a night of sleep there is one pass at once, and then the schedule goes on."""
    world = World(with_schedule("*/15 * * * *"))
    world.after(20 * MINUTE, lambda: setattr(world, "moment", world.moment + 8 * HOUR + MINUTE))
    assert [int(minutes) for minutes in world.run(50 * MINUTE)] == [0, 15, 501, 510, 525]


def test_a_clock_set_back_stops_no_pass() -> None:
    """After a year back in time the passes go on at the times of the schedule as the clock now tells them."""
    world = World(with_schedule("*/15 * * * *"))
    world.after(20 * MINUTE, lambda: setattr(world, "moment", NOON - 366 * 24 * HOUR + 20 * MINUTE))
    made = [int(minutes) for minutes in world.run(HOUR + MINUTE)]
    assert made[:2] == [0, 15]
    back = -366 * 24 * 60
    assert made[2:] == [back + 30, back + 45, back + 60]


def test_no_wait_is_longer_than_a_look_at_the_clock() -> None:
    """A wait is measured by a clock that stands still while the machine sleeps, so it must be short."""
    world = World(with_schedule(YEARLY))
    world.run(HOUR)
    assert max(world.waits) <= LOOK_EVERY_SECONDS


@settings(max_examples=60, deadline=None)
@given(
    jumps=st.lists(
        st.tuples(st.floats(min_value=1, max_value=6 * HOUR), st.floats(min_value=-40 * HOUR, max_value=40 * HOUR)),
        max_size=6,
    )
)
def test_whatever_the_clock_does_there_is_about_a_pass_a_time(jumps: list[tuple[float, float]]) -> None:
    """In six hours of running time there is a pass a quarter, at most two more a jump, and no longer gap.

    One is made late for what the jump passed over, and one more time of the schedule may fall between two jumps.
    """
    world = World(with_schedule("*/15 * * * *"), pass_seconds=0.5)
    gaps: list[float] = []
    running = [0.0]

    def jump(by: float) -> Callable[[], None]:
        return lambda: setattr(world, "moment", world.moment + by)

    original = world.pass_time

    def pass_time(seconds: float) -> None:
        running[0] += seconds
        original(seconds)

    world.pass_time = pass_time  # type: ignore[method-assign]
    world.during_pass = lambda _number: gaps.append(running[0])
    for after, by in jumps:
        world.after(after, jump(by))
    world.run(6 * HOUR)
    assert len(world.passes) <= 6 * 4 + 2 + 2 * len(jumps)
    longest = max(later - earlier for earlier, later in zip(gaps, [*gaps[1:], running[0]], strict=True))
    # A jump may come just before a time and lead to just behind one, for each of the jumps.
    assert longest <= (1 + len(jumps)) * (QUARTER + LOOK_EVERY_SECONDS) + 1


@pytest.mark.parametrize(
    "day",
    [datetime(2026, 3, 29, tzinfo=ZoneInfo("Europe/Berlin")), datetime(2026, 10, 25, tzinfo=ZoneInfo("Europe/Berlin"))],
    ids=["an hour left out", "an hour twice"],
)
def test_summer_time_neither_stops_passes_nor_doubles_them(day: datetime) -> None:
    """On the days on which the clocks are changed there is a time each quarter of an hour, and each once."""
    zone = ZoneInfo("Europe/Berlin")
    schedule = Schedule(with_schedule("*/15 * * * *"), jitter=lambda: 0.0, zone=zone)
    moment, planned = day.timestamp(), []
    for _ in range(40):
        moment = schedule.plan(now=moment)
        planned.append(moment)
    assert {later - earlier for earlier, later in itertools.pairwise(planned)} == {QUARTER}


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (StoreError("/state/memory.db: no space"), "/state/memory.db: no space"),
        (PermissionError(13, "Permission denied", "/state"), "/state: Permission denied"),
        (KeyError("a secret word"), "KeyError in"),
    ],
)
def test_a_failing_pass_is_logged_once_and_the_next_one_comes_at_its_time(
    error: Exception, reason: str, events: list[logging.LogRecord]
) -> None:
    """However often it fails, there is one try a time; of an unforeseen error no words, since they may be a log's."""
    world = World(with_schedule("*/15 * * * *"))

    def fail(_number: int) -> None:
        raise error

    world.during_pass = fail
    assert world.run(HOUR - MINUTE) == [0, 15, 30, 45]
    assert len(events) == 4
    for record in events:
        assert (record.levelname, record.getMessage()) == ("ERROR", "pass failed")
        assert (record.__dict__["action"], record.__dict__["outcome"]) == ("pass", "failed")
        assert record.__dict__["reason"].startswith(reason)
        assert "secret" not in str(record.__dict__)


def test_an_interrupted_pass_is_no_failure(events: list[logging.LogRecord]) -> None:
    """Being stopped is told as what it is, and ends the daemon."""
    world = World(with_schedule("*/15 * * * *"))

    def stopped(_number: int) -> None:
        world.wishes.stop()
        raise InterruptedRunError("stopped")

    world.during_pass = stopped
    assert world.run(HOUR) == [0]
    (record,) = events
    assert (record.levelname, record.__dict__["outcome"]) == ("INFO", "given_back")


def test_a_daemon_that_was_stopped_before_it_began_runs_nothing() -> None:
    """A signal during start-up counts."""
    world = World(with_schedule(YEARLY))
    world.wishes.stop()
    assert world.run(HOUR) == []


def test_what_must_be_mended_first_ends_the_daemon_at_its_start() -> None:
    """It is raised, so that whoever starts it sees it by the exit code."""
    world = World(with_schedule(YEARLY))

    def refuse(_config: Config) -> None:
        raise ConfigError("OPENAI_API_KEY holds no key")

    world.check = refuse
    with pytest.raises(ConfigError, match="OPENAI_API_KEY"):
        world.run(HOUR)
    assert world.passes == []


def test_a_new_configuration_holds_from_the_next_pass_on(events: list[logging.LogRecord]) -> None:
    """The pass in flight ends on the old one; a pass on the new one follows at once, and then its own schedule."""
    world = World(with_schedule("*/15 * * * *"))
    new = replace(with_schedule("*/20 * * * *"), gates=GatesConfig(idle_seconds=1))
    seen_during_pass: list[Config] = []

    def ask(number: int) -> None:
        if number == 2:
            world.wishes.reread()
            seen_during_pass.append(world.used[-1])

    world.load = lambda: new
    world.during_pass = ask
    assert world.run(HOUR - MINUTE) == [0, 15, 15.02, 20, 40]
    assert seen_during_pass == [world.config]
    assert world.used[2:] == [new] * 3
    (record,) = events
    assert record.__dict__["outcome"] == "changed: gates.idle_seconds, daemon.schedule"


def test_signals_in_plenty_are_one_reading(events: list[logging.LogRecord]) -> None:
    """A configuration that says the same is told so, and makes no pass."""
    world = World(with_schedule("*/15 * * * *"))
    for _ in range(20):
        world.after(MINUTE, world.wishes.reread)
    assert world.run(14 * MINUTE) == [0]
    assert [record.__dict__["outcome"] for record in events] == ["unchanged"]


@pytest.mark.parametrize(
    ("new", "words"),
    [
        (ConfigError("config.toml: unknown key nonsense"), "unknown key nonsense"),
        (with_schedule("every day"), "daemon.schedule"),
        (with_schedule("0 0 30 2 *"), "never comes"),
        (replace(with_schedule("* * * * *"), state_dir="/elsewhere"), "state_dir was /state"),
        (replace(with_schedule("* * * * *"), memories_dir="/elsewhere"), "restart the daemon"),
    ],
    ids=["broken", "no schedule", "never", "state_dir", "memories_dir"],
)
def test_a_configuration_that_can_not_be_used_changes_nothing(
    new: Config | ConfigError, words: str, events: list[logging.LogRecord]
) -> None:
    """It is logged with what is wrong and what to do, and the old one goes on at its times."""
    world = World(with_schedule("*/15 * * * *"))

    def load() -> Config:
        if isinstance(new, ConfigError):
            raise new
        return new

    world.load = load
    world.after(MINUTE, world.wishes.reread)
    assert world.run(40 * MINUTE) == [0, 15, 30]
    assert world.used == [world.config] * 3
    (record,) = events
    assert (record.levelname, record.__dict__["action"], record.__dict__["outcome"]) == ("ERROR", "reread", "refused")
    assert words in record.__dict__["reason"]


def test_a_file_that_is_gone_is_not_taken_for_the_defaults(events: list[logging.LogRecord]) -> None:
    """An editor may be just saving it."""
    world = World(replace(with_schedule("*/15 * * * *"), path="/config.toml"))
    world.load = lambda: replace(world.config, path=None)
    world.after(MINUTE, world.wishes.reread)
    assert world.run(20 * MINUTE) == [0, 15]
    assert "/config.toml is gone" in events[0].__dict__["reason"]


def test_a_configuration_that_a_pass_could_not_work_with_is_refused() -> None:
    """What the check at the start would refuse is refused here as well."""
    world = World(with_schedule("*/15 * * * *"))
    world.load = lambda: with_schedule("*/5 * * * *")

    def check(config: Config) -> None:
        if config.daemon.schedule == "*/5 * * * *":
            raise ConfigError("no key")

    world.check = check
    world.after(MINUTE, world.wishes.reread)
    assert world.run(20 * MINUTE) == [0, 15]


def test_a_second_daemon_is_told_of_the_first(tmp_path: Path) -> None:
    """It ends with 75 as long as the first one works, and takes its place afterwards."""
    config = Config(state_dir=str(tmp_path / "state"))
    with only_daemon(config):
        with pytest.raises(LockedError, match="another daemon") as refused, only_daemon(config):
            pytest.fail("two of them")
        assert refused.value.exit_code == 75
    with only_daemon(config):
        pass


def test_a_wish_ends_a_wait() -> None:
    """Nobody waits for the time to be up; a wish that is granted does not end the next wait."""
    wishes = Wishes()
    wishes.reread()
    wishes.wait(30)
    assert wishes.take_reread()
    assert not wishes.take_reread()
    wishes.wait(0.01)
    wishes.stop()
    wishes.wait(30)
    wishes.wait(30)
    assert wishes.is_stopped


@pytest.mark.parametrize("schedule", ["", "often", "* * * *", "* * * * * *", "61 * * * *", "*/0 * * * *", "0 0 30 2 *"])
def test_what_is_no_cron_expression_is_refused_by_its_key(schedule: str) -> None:
    """The message names the key and what stands there, and nothing runs."""
    with pytest.raises(ConfigError, match=r"daemon\.schedule"):
        World(with_schedule(schedule)).run(HOUR)


@pytest.mark.parametrize("schedule", ["*/15 * * * *", "0 9-17 * * 1-5", "30 2 * * sun", "0 0 29 2 *", YEARLY])
def test_usual_expressions_are_taken(schedule: str) -> None:
    """The forms that people write."""
    assert World(with_schedule(schedule)).run(MINUTE) == [0]


@pytest.mark.parametrize(("days", "name"), [("0", "Sunday"), ("7", "Sunday"), ("1", "Monday"), ("5-6", "Friday")])
def test_weekdays_count_from_sunday(days: str, name: str) -> None:
    """Cron counts so, whatever the scheduler's library does."""
    schedule = Schedule(with_schedule(f"30 12 * * {days}"), jitter=lambda: 0.0)
    assert datetime.fromtimestamp(schedule.plan(now=NOON + HOUR)).strftime("%A") == name  # noqa: DTZ006 - local, as cron


def test_a_job_that_a_killed_run_left_behind_comes_back_when_its_lease_ends() -> None:
    """A pass in between takes it up, within minutes; then the schedule goes on."""
    world = World(with_schedule("0 * * * *"))
    world.lease_ends[1] = NOON + 2 * MINUTE
    assert world.run(2 * HOUR) == [0, 2, 60]


def test_passes_in_between_keep_a_distance() -> None:
    """A lease that has ended, or that another run keeps alive, brings about a pass a minute at most."""
    world = World(with_schedule("0 * * * *"), pass_seconds=0.0)
    world.lease_ends.update({1: NOON - HOUR, 2: NOON, 3: NOON + 10 * HOUR})
    assert world.run(90 * MINUTE) == [0, 1, 2, 60]


def test_a_pass_that_failed_leaves_no_lease_of_before_in_mind() -> None:
    """The next one comes by the schedule."""
    world = World(with_schedule("0 * * * *"))
    world.lease_ends[1] = NOON + 2 * MINUTE

    def fail(number: int) -> None:
        if number == 2:
            raise StoreError("locked")

    world.during_pass = fail
    assert world.run(90 * MINUTE) == [0, 2, 60]
