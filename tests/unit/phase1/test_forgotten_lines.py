"""What was forgotten never becomes evidence, a title or an entry again; what shares a line with it is carried over."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from evidence_samples import evidence
from msgspec.structs import replace
from phase2_world import NOW, entry, task
from rollout_logs import START, CodexSession, thread_id_of

from memory_pipeline.config import Config, SourceConfig, SourcesConfig
from memory_pipeline.phase1.extract import keep_spared_entries
from memory_pipeline.phase1.index import index_rollouts
from memory_pipeline.phase1.run import Phase1, Phase1Options
from memory_pipeline.records import Coverage, Evidence, Extraction, ExtractionAnswer, Gate, StoredExtraction, Task
from memory_pipeline.store.store import Store
from memory_pipeline.tombstones import Tombstone, TombstoneFolder, TombstoneKind, Tombstones, line_value

THREAD = thread_id_of(1)
ANSWER = "Done, and the tests pass. " * 20


class HandClock:
    """A clock that stands."""

    def now(self) -> float:
        """Return a moment long after the session."""
        return START.timestamp() + 86_400.0


@pytest.fixture
def config(tmp_path: Path) -> Config:
    """A home with one session of two prompts."""
    made = CodexSession(thread_id=THREAD).prompt("Use the aardvarkmug.").answer(ANSWER)
    made.prompt("Keep it warm.").answer(ANSWER).write(tmp_path / "codex")
    (tmp_path / "claude" / "projects").mkdir(parents=True)
    return Config(
        state_dir=str(tmp_path / "state"),
        memories_dir=str(tmp_path / "state" / "memories"),
        sources=SourcesConfig(
            codex=SourceConfig(home=str(tmp_path / "codex")), claude=SourceConfig(home=str(tmp_path / "claude"))
        ),
    )


def forget(config: Config, *stones: tuple[TombstoneKind, str]) -> None:
    """Write tombstones."""
    TombstoneFolder(config.tombstones_path).add([Tombstone(kind=k, value=v) for k, v in stones], now=NOW)


def read(config: Config, store: Store) -> list[Evidence]:
    """Run phase one once; returns the evidence that the extractor saw."""
    seen: list[Evidence] = []

    def extract(evidence: Evidence, *, deadline: float | None) -> ExtractionAnswer:
        seen.append(evidence)
        return ExtractionAnswer(rollout_summary="It went well.", rollout_slug="well", tasks=())

    Phase1(
        config,
        store,
        HandClock(),
        extract=extract,
        abort_extractions=lambda: None,
        owner="test",
        jitter=lambda: 0.0,
        stop=threading.Event(),
    ).run_once(Phase1Options())
    return seen


def test_a_forgotten_line_and_forgotten_words_are_no_evidence(config: Config, store: Store) -> None:
    """The rows are missing, and the rest is shown as ever."""
    (first,) = read(config, store)
    prompt = next(row for row in first.rows if "aardvarkmug" in row.text)
    forget(
        config,
        (TombstoneKind.LINE, line_value(THREAD, prompt.line_sha256)),
        (TombstoneKind.WORDS, "it warm"),
    )
    store.jobs.retry(THREAD)
    (again,) = read(config, store)
    assert [row.text.strip() for row in again.rows] == [ANSWER.strip()] * 2
    assert again.coverage is Coverage.HIGH


def test_a_forgotten_thread_is_held_back_and_has_no_title(config: Config, store: Store) -> None:
    """Also by a database that never saw it: the extractor is not asked, and the index keeps none of its words."""
    forget(config, (TombstoneKind.THREAD, THREAD))
    assert read(config, store) == []
    thread = store.threads.get(THREAD)
    assert thread is not None
    assert (thread.gate, thread.title, thread.git_branch) == (Gate.DISABLED, None, None)


@pytest.mark.parametrize("stone", [(TombstoneKind.PART, THREAD), (TombstoneKind.WORDS, "the aardvarkmug")])
def test_a_title_that_may_tell_it_is_left_out(config: Config, store: Store, stone: tuple[TombstoneKind, str]) -> None:
    """The title is the first prompt, which may be just what was forgotten."""
    forget(config, stone)
    index_rollouts(config, store, HandClock())
    thread = store.threads.get(THREAD)
    assert thread is not None
    assert (thread.title, thread.gate) == (None, None)


def test_a_thread_that_is_forgotten_between_gate_and_claim_is_not_read(config: Config, store: Store) -> None:
    """The worker looks once more after it has the job, gives it back and closes the gate."""
    read(config, store)
    store.jobs.retry(THREAD)
    forget(config, (TombstoneKind.THREAD, THREAD))
    assert read(config, store) == []
    thread = store.threads.get(THREAD)
    assert thread is not None
    assert thread.gate is Gate.DISABLED


def stored(*tasks: Task) -> StoredExtraction:
    """What a thread said before."""
    return StoredExtraction(
        thread_id="thread-a",
        rollout_summary="Before.",
        slug="before",
        raw_memory="",
        tasks=tasks,
        coverage=Coverage.HIGH,
        generated_at=NOW,
        source_updated_at=NOW,
        dropped_entries={},
    )


def extracted(*tasks: Task) -> Extraction:
    """What a thread says now."""
    return Extraction(
        thread_id=evidence().thread_id,
        rollout_summary="Now.",
        slug="now",
        raw_memory="",
        tasks=tasks,
        coverage=Coverage.HIGH,
    )


def test_what_shares_a_forgotten_line_is_carried_over() -> None:
    """A reading that can't find it any more keeps it; what is not spared is as withdrawn as ever."""
    spared, other, new = entry("Keep it cold."), entry("Drink it."), entry("Wash it.")
    stones = Tombstones.of([Tombstone(kind=TombstoneKind.SPARED, value=spared.entry_id)], now=NOW)
    kept = keep_spared_entries(extracted(task(new)), stored(task(spared, other)), stones)
    assert [said.statement for one in kept.tasks for said in one.entries] == ["Wash it.", "Keep it cold."]
    assert "Keep it cold." in kept.raw_memory


def test_what_was_spared_and_is_found_again_stands_once() -> None:
    """The new reading's entry takes its place."""
    spared = entry("Keep it cold.")
    anew = replace(spared, entry_id="e_new")
    stones = Tombstones.of([Tombstone(kind=TombstoneKind.SPARED, value=spared.entry_id)], now=NOW)
    kept = keep_spared_entries(extracted(task(anew)), stored(task(spared)), stones)
    assert [said.entry_id for one in kept.tasks for said in one.entries] == ["e_new"]


def test_an_entry_that_was_forgotten_is_refused_from_a_new_reading() -> None:
    """Whatever line the reading cites for it."""
    gone = entry("Use the aardvarkmug.")
    stones = Tombstones.of([Tombstone(kind=TombstoneKind.ENTRY, value=gone.entry_id)], now=NOW)
    kept = keep_spared_entries(extracted(task(gone)), None, stones)
    assert [said for one in kept.tasks for said in one.entries] == []
    assert "aardvarkmug" not in kept.raw_memory
