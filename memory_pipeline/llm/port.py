"""The port to whoever writes the text: one method that turns evidence into a proposed extraction."""

from __future__ import annotations

from typing import Protocol

from memory_pipeline.records import Evidence, ExtractionAnswer


class Extractor(Protocol):
    """Proposes what is worth keeping of one thread. Safe to call from several threads at once."""

    def extract(self, evidence: Evidence, *, deadline: float | None = None) -> ExtractionAnswer:
        """Return what is worth keeping of the rows of ``evidence``; an answer with all fields empty is valid.

        The rows may be cited by number; nothing in the answer is trusted yet. ``deadline`` is a reading of the
        monotonic clock, in seconds, by which the call has answered or failed; None sets no limit of the caller's.

        Raises:
            ProviderError: a fault of the provider; the same evidence may be tried again later.
            AnswerError: a fault of this evidence or of the answer to it.
            InterruptedRunError: ``close`` was called while the answer was awaited, or before.
        """
        ...

    def close(self) -> None:
        """Give up what is in flight, from any thread, and release connections. May be called twice."""
        ...
