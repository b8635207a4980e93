"""The embedded extractor: reads a session by rules, offline. The same evidence always gives the same answer."""

from __future__ import annotations

from memory_pipeline.records import Evidence, ExtractionAnswer


class DeterministicExtractor:
    """Writes the text without a model: extractive, offline, with no clock and no chance. Safe to share."""

    def extract(self, evidence: Evidence, *, deadline: float | None = None) -> ExtractionAnswer:
        """Return what is worth keeping of a session; all empty when nothing is.

        ``deadline`` belongs to the port; a session takes milliseconds, so it is never reached.
        """
        # Its rules take longer to load than a pass without a new session does.
        from memory_pipeline.llm.deterministic.extractor import propose

        del deadline
        return propose(evidence)

    def close(self) -> None:
        """Nothing is held open."""
