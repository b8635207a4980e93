"""A gate is decided anew whenever it may be another one by now, and else is not looked at."""

from __future__ import annotations

import functools
import inspect
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace
from store_samples import MAX_ATTEMPTS, NOW, ask, extraction, index, rollout_file, thread_of

from memory_pipeline.clock import DAY_SECONDS
from memory_pipeline.config import Config, DaemonConfig, GatesConfig, ModelConfig, Phase2Config, SettingsConfig
from memory_pipeline.phase1.gates import CONFIGURED_BY, Conditions, apply_gates, first_gate, settle_gates
from memory_pipeline.records import Agent, Gate, JobState, RateLimit, Source
from memory_pipeline.settings import GENERATE, USE, Settings
from memory_pipeline.store.store import Store
from memory_pipeline.tombstones import Tombstone, TombstoneFolder, TombstoneKind

NAMES = ("a", "b", "c")
IDLE_SECONDS = 900
PROJECT = "project:example.org/sam/shop"


class HandClock:
    """A clock that is set by hand."""

    def __init__(self, at: float = NOW) -> None:
        self.at = at

    def now(self) -> float:
        return self.at


class Gated:
    """A store whose gates are applied after whatever is done to it."""

    def __init__(self, folder: Path) -> None:
        self.config = Config(state_dir=str(folder), gates=GatesConfig(max_age_days=2))
        self.store = Store(folder / "memory.db")
        self.clock = HandClock()

    def apply(self, **how: Any) -> None:
        """Apply the gates as a pass does."""
        apply_gates(self.config, self.store, self.clock, **({"force": False} | how))

    def looked_at(self) -> list[str]:
        """Name the threads that the next pass would look at."""
        changes = self.store.jobs._connect().total_changes
        stamp = self.store.jobs._connect().execute("SELECT conditions FROM gating").fetchone()[0]
        threads = self.store.gating.look(stamp, now=self.clock.now()).threads
        assert self.store.jobs._connect().total_changes == changes
        return sorted(thread.thread_id for thread in threads)

    def expected(self) -> dict[str, Gate | None]:
        """Tell every gate by deciding it on the spot."""
        in_force = Settings(self.config, self.store, self.clock).in_force()
        return {
            thread.thread_id: first_gate(
                thread,
                in_force.config_for(scope=thread.scope, thread_id=thread.thread_id),
                Conditions(now=self.clock.now(), force=False),
            )
            for thread in self.store.threads.every()
        }


def _say(gated: Gated, name: str, number: int) -> None:
    facts: dict[str, Any] = {
        "updated_at": NOW - (0, IDLE_SECONDS, DAY_SECONDS)[number % 3],
        "content_digest": f"digest-{number}",
        "prompt_count": number % 4,
        "source": (Source.INTERACTIVE, Source.HEADLESS)[number % 5 == 0],
    }
    index(gated.store, name, **facts)


def _work(gated: Gated, name: str, number: int) -> None:
    held = ask(gated.store, now=gated.clock.now()).lease
    if held is None:
        return
    now = gated.clock.now()
    if number % 2:
        gated.store.jobs.complete(held, extraction(held.thread.thread_id), now=now)
    else:
        gated.store.jobs.fail(held, "no", now=now, retry_at=now + number, max_attempts=MAX_ATTEMPTS)


def _switch(gated: Gated, name: str, number: int) -> None:
    gated.store.threads.set_disabled(name, disabled=bool(number % 2))


def _set(gated: Gated, name: str, number: int) -> None:
    idle = (0, IDLE_SECONDS, 2 * IDLE_SECONDS)[number % 3]
    where = {"scope": PROJECT} if number % 2 else {}
    Settings(gated.config, gated.store, gated.clock).set("gates.idle_seconds", idle, **where)


def _configure(gated: Gated, name: str, number: int) -> None:
    gates = replace(gated.config.gates, max_age_days=(0, 1, 2)[number % 3])
    gated.config = replace(gated.config, gates=gates)


def _wait(gated: Gated, name: str, number: int) -> None:
    steps = (0.5, 1.0, IDLE_SECONDS, DAY_SECONDS, 2 * DAY_SECONDS, -IDLE_SECONDS, -DAY_SECONDS)
    gated.clock.at += steps[number % len(steps)]


def _take_away(gated: Gated, name: str, number: int) -> None:
    path = [rollout_file(name).path]
    gated.store.threads.record_presence(returned=path if number % 2 else (), vanished=() if number % 2 else path)


def _hold(gated: Gated, name: str, number: int) -> None:
    gated.store.jobs.set_gates({name: Gate.BUDGET if number % 2 else None}, now=gated.clock.now())


_ACTS = (_say, _work, _switch, _set, _configure, _wait, _take_away, _hold)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(_ACTS), st.sampled_from(NAMES), st.integers(0, 60)),
        max_size=12,
    )
)
def test_every_gate_is_as_if_all_were_decided_anew(
    acts: list[tuple[Callable[[Gated, str, int], None], str, int]],
) -> None:
    """Whatever changes, and however the clock jumps: after each pass every gate is what its rule then says."""
    with tempfile.TemporaryDirectory() as folder:
        gated = Gated(Path(folder))
        for number, name in enumerate(NAMES):
            _say(gated, name, number + 1)
        gated.apply()
        for act, name, number in acts:
            act(gated, name, number)
            if number % 2:
                settle_gates(gated.config, gated.store, gated.clock, force=False)
            gated.apply()
            told = {thread.thread_id: thread.gate for thread in gated.store.threads.every()}
            assert told == gated.expected()
        gated.store.close()


# --- one by one ---


@pytest.fixture
def gated(tmp_path: Path, store: Store) -> Gated:
    """Three threads whose gates are decided: one too recent, one that waits, one that is done."""
    gated = Gated(tmp_path / "state")
    index(gated.store, "recent", updated_at=NOW - 100)
    index(gated.store, "waits", updated_at=NOW - 2_000)
    index(gated.store, "done", updated_at=NOW - 1_000)
    gated.apply()
    held = ask(gated.store, now=NOW).lease
    assert held is not None
    gated.store.jobs.complete(held, extraction("done"), now=NOW)
    gated.apply()
    return gated


def test_a_pass_without_news_looks_at_no_thread_and_writes_nothing(gated: Gated) -> None:
    """What changed before was decided once; a second pass has nothing to decide."""
    assert gated.looked_at() == []
    changes = gated.store.jobs._connect().total_changes
    gated.apply()
    assert gated.store.jobs._connect().total_changes == changes


def test_a_thread_is_looked_at_from_the_moment_at_which_its_time_comes(gated: Gated) -> None:
    """Not a second before: neither too recent ones nor those that grow too old."""
    gated.clock.at = NOW - 100 + IDLE_SECONDS - 1
    assert "recent" not in gated.looked_at()
    gated.clock.at += 1
    assert gated.looked_at() == ["recent"]
    gated.clock.at = NOW - 2_000 + 2 * DAY_SECONDS
    gated.apply()
    gated.clock.at += 0.5
    gated.apply()
    assert thread_of(gated.store, "waits").gate is Gate.TOO_OLD


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda store: store.threads.set_disabled("waits", disabled=True), id="a switch"),
        pytest.param(lambda store: index(store, "waits", content_digest="more"), id="new words"),
        pytest.param(
            lambda store: store.threads.record_presence(returned=(), vanished=[rollout_file("waits").path]), id="gone"
        ),
        pytest.param(lambda store: store.jobs.set_gates({"waits": Gate.BUDGET}), id="a gate that a worker closed"),
        pytest.param(lambda store: store.jobs.retry("waits"), id="another go"),
        pytest.param(ask, id="a claim"),
        pytest.param(lambda store: store.threads.rescope({"/home/sam/shop": "project:x"}), id="another project"),
    ],
)
def test_whatever_happens_to_a_thread_has_it_looked_at(gated: Gated, change: Callable[[Store], object]) -> None:
    """Its gate may be another one by then."""
    change(gated.store)
    assert "waits" in gated.looked_at()


def test_threads_that_a_pass_worked_on_are_settled_at_its_end(gated: Gated) -> None:
    """The next pass has nothing to look at, and so writes nothing."""
    held = ask(gated.store, now=NOW).lease
    assert held is not None
    gated.store.jobs.complete(held, extraction("waits"), now=NOW)
    settle_gates(gated.config, gated.store, gated.clock, force=False)
    assert gated.looked_at() == []


def test_settling_changes_no_gate(gated: Gated) -> None:
    """One that would be another by now is left for the next pass, and so are all when the conditions are others."""
    gated.store.threads.set_disabled("waits", disabled=True)
    gated.store.threads.set_disabled("done", disabled=False)
    settle_gates(gated.config, gated.store, gated.clock, force=False)
    assert gated.looked_at() == ["waits"]
    settle_gates(gated.config, gated.store, gated.clock, force=True)
    assert gated.looked_at() == ["waits"]
    assert thread_of(gated.store, "waits").gate is None
    gated.apply()
    assert thread_of(gated.store, "waits").gate is Gate.DISABLED


def test_other_conditions_have_all_looked_at(gated: Gated) -> None:
    """A pass that is forced, a quota that is low, something forgotten, a switch of one thread: all count at once."""
    gated.apply(force=True)
    assert thread_of(gated.store, "recent").gate is None
    gated.apply()
    assert thread_of(gated.store, "recent").gate is Gate.TOO_RECENT
    gated.config = replace(gated.config, model=ModelConfig(provider="openai", extract_model="m"))
    low = RateLimit(used_percent=99.0, window_minutes=60, resets_at=NOW + 50, seen_at=NOW)
    index(gated.store, "other", rate_limits=(low,), agent=Agent.CODEX, updated_at=NOW - 5_000)
    gated.apply()
    assert thread_of(gated.store, "waits").gate is Gate.RATE_LIMIT
    gated.clock.at = NOW + 51
    gated.apply()
    assert thread_of(gated.store, "waits").gate is None
    Settings(gated.config, gated.store, gated.clock).set(GENERATE, value=False, thread_id="waits")
    gated.apply()
    assert thread_of(gated.store, "waits").gate is Gate.DISABLED


def _conditions(gated: Gated) -> str:
    """Return under which conditions all gates were last decided."""
    gated.apply()
    return str(gated.store.jobs._connect().execute("SELECT conditions FROM gating").fetchone()[0])


def test_a_switch_that_outlives_a_forgetting_has_all_looked_at(gated: Gated) -> None:
    """It may hold for threads that are there; what else was forgotten is gone, and decides nothing."""
    folder = TombstoneFolder(gated.config.tombstones_path)
    before = _conditions(gated)
    folder.add([Tombstone(kind=TombstoneKind.THREAD, value="x")], now=NOW)
    assert _conditions(gated) == before
    folder.add([Tombstone(kind=TombstoneKind.SWITCH, value="y")], now=NOW)
    assert _conditions(gated) != before


@pytest.mark.parametrize(
    "change",
    [
        lambda config: replace(config, daemon=DaemonConfig(schedule="0 * * * *")),
        lambda config: replace(config, phase2=Phase2Config(max_candidates=7)),
        lambda config: replace(config, model=ModelConfig(extract_model="another")),
        lambda config: replace(config, settings=SettingsConfig(use_memories=False)),
    ],
    ids=["daemon", "phase2", "a model's name", "use"],
)
def test_a_key_that_no_gate_is_told_from_has_none_looked_at(gated: Gated, change: Callable[[Config], Config]) -> None:
    """Deciding those of a hundred thousand threads takes seconds."""
    before = _conditions(gated)
    gated.config = change(gated.config)
    Settings(gated.config, gated.store, gated.clock).set(USE, value=False, scope=PROJECT)
    assert _conditions(gated) == before


class Watched:
    """A table of the configuration that notes which of its keys are asked for, whichever of its methods does."""

    def __init__(self, table: Struct, read: set[str], prefix: str = "") -> None:
        self._table, self._read, self._prefix = table, read, prefix

    def __getattr__(self, name: str) -> Any:
        of_class = inspect.getattr_static(type(self._table), name)
        if isinstance(of_class, property):
            return of_class.fget(self) if of_class.fget else None
        if inspect.isfunction(of_class):
            return functools.partial(of_class, self)
        value = getattr(self._table, name)
        if isinstance(value, Struct):
            return Watched(value, self._read, f"{self._prefix}{name}.")
        self._read.add(f"{self._prefix}{name}")
        return value


def test_what_a_gate_is_told_from_is_what_has_all_looked_at(gated: Gated) -> None:
    """No key more, none less: one that is left out would let gates stand that are others by now."""
    read: set[str] = set()
    paid = ModelConfig(provider="openai", base_url="https://example.org/v1", send_local_model_sessions=True)
    config: Any = Watched(replace(gated.config, model=paid), read)
    needs = "needs about 7 tokens, more than [budget] allows at all"
    thread = replace(
        thread_of(gated.store, "waits"),
        model_provider="ollama",
        gives_direction=False,
        job_state=JobState.ERROR,
        source_digest=thread_of(gated.store, "waits").content_digest,
        last_error=needs,
    )
    assert first_gate(thread, config, Conditions(now=NOW, force=False)) is None
    assert {key for key in read if not key.startswith(CONFIGURED_BY)} == set()
    assert {key for key in CONFIGURED_BY if not any(one.startswith(key) for one in read)} == set()


def test_what_another_process_changes_meanwhile_is_looked_at_again(gated: Gated) -> None:
    """Its gates were decided from what was there before: they are stored, and not taken for settled."""
    gated.store.threads.set_disabled("done", disabled=True)
    stamp = gated.store.jobs._connect().execute("SELECT conditions FROM gating").fetchone()[0]
    look = gated.store.gating.look(stamp, now=NOW)
    other = Store(gated.store.path)
    index(other, "waits", content_digest="more", prompt_count=0)
    other.close()
    gated.store.jobs.set_gates({}, now=NOW, decided=look)
    assert gated.looked_at() == ["done", "waits"]
