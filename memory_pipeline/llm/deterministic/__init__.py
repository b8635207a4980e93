"""The embedded extractor: reads a session by rules, offline. The same evidence always gives the same answer."""

from __future__ import annotations

from memory_pipeline.llm.deterministic.extractor import DeterministicExtractor

__all__ = ["DeterministicExtractor"]
