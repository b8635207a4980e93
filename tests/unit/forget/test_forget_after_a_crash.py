"""Forgetting what one session said after a consolidation was cut off finishes that one first."""

from __future__ import annotations

from pathlib import Path

import pytest
from kept_state import KeptState
from rollout_logs import thread_id_of

from memory_pipeline.app import App
from memory_pipeline.forget.selection import Selector
from memory_pipeline.phase2.run import Phase2
from memory_pipeline.pipeline import PassOptions
from memory_pipeline.records import Phase2Outcome

LINT = "Always run make lint before you commit"
PUSH = "Never push to main by yourself"
NAMES = "From now on always name branches after tickets"


class CutOffError(Exception):
    """The process ended here."""


def consolidate_until(app: App, step: str) -> None:
    """Consolidate, and be cut off once a step is done."""

    def stop_at(done: str) -> None:
        if done == step:
            raise CutOffError

    app.review().run_once()
    phase2 = Phase2(
        app.config,
        app.store,
        app.clock,
        owner="cut off",
        jitter=lambda: 0.0,
        should_stop=lambda: False,
        on_step=stop_at,
    )
    with pytest.raises(CutOffError):
        phase2.run_once()


@pytest.mark.parametrize("step", ["committed", "wrote raw_memories.md", "wrote MEMORY.md", "wrote baseline"])
@pytest.mark.parametrize("number", [1, 3], ids=["another", "what was being published"])
def test_nothing_that_was_being_published_passes_for_the_persons_hand(tmp_path: Path, step: str, number: int) -> None:
    """What is left is told once, as it was learned, and nothing of what was forgotten is left."""
    state = KeptState(tmp_path)
    state.say(1, f"{LINT}.")
    state.say(2, f"{PUSH}.")
    state.run()
    state.say(3, f"{NAMES}.")
    with state.open() as app:
        app.run_once(PassOptions(phase2=False))
        consolidate_until(app, step)
    with state.open() as app:
        assert app.forgetting().forget(Selector(thread=thread_id_of(number))).is_clean
    left = {1: {PUSH, NAMES}, 3: {LINT, PUSH}}[number]
    state.run()
    assert state.run().phase2.outcome is Phase2Outcome.NO_CHANGES
    with state.open() as app:
        memories = app.store.memories.every()
        assert sorted(one.statement for one in memories) == sorted(left)
        assert not any(one.pinned or one.by_hand for one in memories)
    assert all((statement in state.handbook()) == (statement in left) for statement in (LINT, PUSH, NAMES))
    assert not state.config.journal_path.exists()
