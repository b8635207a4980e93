"""One pass: phase one, the review, then phase two."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from memory_pipeline.records import Phase1Counts, Phase2Counts, ReviewCounts, RunCounts

if TYPE_CHECKING:
    from memory_pipeline.phase1.index import Progress
    from memory_pipeline.phase1.run import Phase1
    from memory_pipeline.phase2.run import Phase2
    from memory_pipeline.review.files import FiledReview


class PassOptions(Struct, frozen=True, kw_only=True):
    """What one pass is asked to do."""

    phase1: bool = True
    phase2: bool = True
    force: bool = False
    limit: int | None = None
    wait: bool = False
    adopt: bool = False  # take over what stands in a workspace that is not ours yet


class Pipeline:
    """Runs one pass after the other. Knows nothing of schedules."""

    def __init__(self, phase1: Phase1 | None, review: FiledReview, phase2: Phase2) -> None:
        """Take the parts; without phase one, a pass goes without it."""
        self._phase1 = phase1
        self._review = review
        self._phase2 = phase2

    def run_once(
        self,
        options: PassOptions,
        *,
        on_index: Progress | None = None,
        on_extract: Progress | None = None,
    ) -> RunCounts:
        """Run the phases that were asked for, and the review between them; the counts of the other stay empty.

        Raises:
            InterruptedRunError: the run was stopped; what was in flight has been given back.
        """
        phase1 = Phase1Counts()
        review = ReviewCounts()
        phase2 = Phase2Counts()
        if options.phase1 and self._phase1 is not None:
            from memory_pipeline.phase1.run import Phase1Options

            phase1 = self._phase1.run_once(
                Phase1Options(force=options.force, limit=options.limit), on_index=on_index, on_extract=on_extract
            )
        if options.phase1 or options.phase2:
            review = self._review.run_once()
        if options.phase2:
            phase2 = self._phase2.run_once(wait=options.wait, adopt=options.adopt)
        return RunCounts(phase1=phase1, review=review, phase2=phase2)
