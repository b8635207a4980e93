"""One pass: the phases that were asked for, in their order, with what they were asked."""

from __future__ import annotations

from typing import Any, cast

import pytest

from memory_pipeline.errors import InterruptedRunError
from memory_pipeline.phase1.run import Phase1, Phase1Options
from memory_pipeline.phase2.run import Phase2
from memory_pipeline.pipeline import PassOptions, Pipeline
from memory_pipeline.records import Phase1Counts, Phase2Counts, Phase2Outcome, ReviewCounts, RunCounts
from memory_pipeline.review.run import Review


class Calls:
    """Stands for both phases and remembers how they were called."""

    def __init__(self, *, interrupted: bool = False) -> None:
        self.calls: list[tuple[str, Any]] = []
        self._interrupted = interrupted

    def phase1(self) -> Phase1:
        """A phase one that succeeds once, or is stopped."""
        calls, interrupted = self.calls, self._interrupted

        class First:
            def run_once(self, options: Phase1Options, *, on_index: Any, on_extract: Any) -> Phase1Counts:
                calls.append(("phase1", (options.force, options.limit, on_index, on_extract)))
                if interrupted:
                    raise InterruptedRunError("stopped")
                return Phase1Counts(succeeded=1, failed=2)

        return cast("Phase1", First())

    def phase2(self) -> Phase2:
        """A phase two that consolidates."""
        calls = self.calls

        class Second:
            def run_once(self, *, wait: bool, adopt: bool) -> Phase2Counts:
                calls.append(("phase2", (wait, adopt)))
                return Phase2Counts(outcome=Phase2Outcome.CONSOLIDATED)

        return cast("Phase2", Second())

    def review(self) -> Review:
        """A review that labels."""
        calls = self.calls

        class Between:
            def run_once(self) -> ReviewCounts:
                calls.append(("review", ()))
                return ReviewCounts(labelled=1)

        return cast("Review", Between())

    def run(self, options: PassOptions, **progress: Any) -> RunCounts:
        """Run one pass."""
        return Pipeline(self.phase1(), self.review(), self.phase2()).run_once(options, **progress)


def test_a_pass_runs_phase_one_the_review_and_then_phase_two() -> None:
    """What was extracted just now is labelled and consolidated in the same pass, also when a session failed."""
    calls = Calls()
    counts = calls.run(PassOptions())
    assert [name for name, _ in calls.calls] == ["phase1", "review", "phase2"]
    assert counts.review.labelled == 1
    assert (counts.phase1.succeeded, counts.phase2.outcome) == (1, Phase2Outcome.CONSOLIDATED)


@pytest.mark.parametrize(
    ("options", "ran", "outcome"),
    [
        (PassOptions(phase2=False), ["phase1", "review"], Phase2Outcome.SKIPPED),
        (PassOptions(phase1=False), ["review", "phase2"], Phase2Outcome.CONSOLIDATED),
        (PassOptions(phase1=False, phase2=False), [], Phase2Outcome.SKIPPED),
    ],
)
def test_a_phase_that_was_not_asked_for_stays_empty(
    options: PassOptions, ran: list[str], outcome: Phase2Outcome
) -> None:
    """Its counts say that it was skipped."""
    calls = Calls()
    counts = calls.run(options)
    assert [name for name, _ in calls.calls] == ran
    assert counts.phase2.outcome is outcome
    assert counts.phase1 == (Phase1Counts(succeeded=1, failed=2) if "phase1" in ran else Phase1Counts())


def test_options_and_progress_reach_their_phase() -> None:
    """Force and limit are for phase one, waiting and adopting are for phase two."""
    calls = Calls()
    calls.run(PassOptions(force=True, limit=3, wait=True, adopt=True), on_index=print, on_extract=repr)
    assert calls.calls == [("phase1", (True, 3, print, repr)), ("review", ()), ("phase2", (True, True))]


def test_a_stopped_phase_one_starts_no_phase_two() -> None:
    """Being asked to stop ends the pass there."""
    calls = Calls(interrupted=True)
    with pytest.raises(InterruptedRunError):
        calls.run(PassOptions())
    assert [name for name, _ in calls.calls] == ["phase1"]
