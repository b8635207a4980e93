"""Extraction from a packet whose session has no log here: the same evidence, checks and rules, always partial."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from memory_pipeline.config import Config
from memory_pipeline.phase1.evidence import EvidenceBuilder, Forgotten, build_evidence
from memory_pipeline.phase1.extract import check_answer, keep_spared_entries
from memory_pipeline.records import (
    WITHDRAWING_GATES,
    Event,
    Evidence,
    Extraction,
    ExtractionAnswer,
    Gate,
    IndexedThread,
)
from memory_pipeline.tombstones import TombstoneFolder


def imported_gate(thread: IndexedThread | None, config: Config, *, may_generate: bool) -> Gate | None:
    """Return what a packet shares with the session that it is of, where that is known: what holds all of it back.

    ``may_generate`` is the switch of that session.
    """
    if not may_generate or (thread is not None and thread.disabled_by_person):
        return Gate.DISABLED
    if thread is None:
        return None
    if thread.gate in WITHDRAWING_GATES:
        return thread.gate
    return None if config.model.may_send(thread.model_provider) else Gate.PROVIDER_POLICY


def extract_imported(
    thread: IndexedThread,
    events: Iterable[Event],
    line_hashes: Mapping[tuple[int, int], str],
    config: Config,
    *,
    extract: Callable[[Evidence], ExtractionAnswer],
) -> Extraction:
    """Extract what a packet's turns say; ``line_hashes`` are those of the texts by their places in it.

    A packet is what some tool made of a log, so its coverage is never high, and nothing of it passes by policy.

    Raises:
        ModelError, InterruptedRunError: as the extractor raises them.
    """
    tombstones = TombstoneFolder(config.tombstones_path).current()
    builder = EvidenceBuilder(
        window_tokens=config.model.context_window_tokens,
        withhold_external=True,
        forgotten=Forgotten(thread_id=thread.thread_id, tombstones=tombstones),
    )
    evidence = build_evidence(
        events,
        thread,
        builder,
        is_complete=lambda: False,
        hash_lines=lambda ranges: {place: line_hashes[place] for place in ranges},
    )
    return keep_spared_entries(check_answer(extract(evidence), evidence), None, tombstones)
