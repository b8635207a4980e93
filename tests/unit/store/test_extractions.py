"""What phase one stored: replaced whole, withdrawn where no longer said, selected by use."""

from __future__ import annotations

from reviewed import pass_review
from store_samples import (
    NOW,
    enqueue,
    entry,
    extraction,
    lease,
    rollout_file,
    statements_of,
    thread_facts,
    thread_of,
)

from memory_pipeline.records import Coverage, Entry, Extraction, Gate, Speaker, Usage
from memory_pipeline.store.extractions import Resting
from memory_pipeline.store.store import Store


def _store(store: Store, thread_id: str, said: list[str | Entry], *, now: float = NOW, digest: str = "d") -> Extraction:
    enqueue(store, thread_id, content_digest=f"{digest}-{now}")
    done = extraction(thread_id, said)
    assert store.jobs.complete(lease(store, now=now), done, now=now)
    pass_review(store, now=now)
    return done


def test_an_extraction_comes_back_as_it_was_stored(store: Store) -> None:
    """Tasks, entries, evidence lines, dropped counts and coverage are all kept."""
    done = extraction("a", ["Run make lint.", "Use tabs."], coverage=Coverage.PARTIAL, dropped_entries={"empty": 2})
    enqueue(store, "a")
    assert store.jobs.complete(lease(store), done, now=NOW)
    stored = store.extractions.get("a")
    assert stored is not None
    for name in ("rollout_summary", "slug", "raw_memory", "tasks", "coverage", "dropped_entries"):
        assert getattr(stored, name) == getattr(done, name), name
    assert store.extractions.count() == 1
    assert store.extractions.get("nobody") is None


def test_a_completed_extraction_replaces_the_threads_set(store: Store) -> None:
    """Entries no longer said are withdrawn, those said again stand, and new ones join."""
    first = _store(store, "a", ["Run make lint.", "Use tabs."])
    second = _store(store, "a", ["Use spaces.", "Run make lint."], now=NOW + 1)
    assert statements_of(store, "a") == ["Use spaces.", "Run make lint."]
    ids = {spoken.statement: spoken.entry_id for done in (first, second) for t in done.tasks for spoken in t.entries}
    assert set(store.extractions.standing_entries(list(ids.values()))) == {ids["Use spaces."], ids["Run make lint."]}


def test_withdrawn_entries_return_when_they_are_said_again(store: Store) -> None:
    """A statement that a later reading finds again stands again under its old id, with the newest evidence."""
    first = _store(store, "a", ["Use tabs."])
    _store(store, "a", [], now=NOW + 1)
    assert statements_of(store, "a") == []
    said = first.tasks[0].entries[0]
    moved = entry(
        "a",
        "Use tabs.",
        evidence=tuple(type(line)(**{name: getattr(line, name) for name in line.__slots__} | {"rollout_path": "/b"})
                       for line in said.evidence),
    )  # fmt: skip
    _store(store, "a", [moved], now=NOW + 2)
    (again,) = store.extractions.entries("a")
    assert again.entry_id == said.entry_id
    assert again.evidence[0].rollout_path == "/b"


def test_no_output_replaces_what_was_said(store: Store) -> None:
    """A complete reading that finds nothing withdraws all, and the thread is no longer selected."""
    _store(store, "a", ["Use tabs."])
    _store(store, "a", [], now=NOW + 1)
    assert statements_of(store, "a") == []
    assert store.extractions.select(limit=9) == []
    assert thread_of(store, "a").no_output


def test_one_threads_entries_are_not_withdrawn_by_another(store: Store) -> None:
    """Each thread replaces its own set only."""
    _store(store, "a", ["Use tabs."])
    _store(store, "b", ["Run make lint."], now=NOW + 1)
    assert statements_of(store, "a") == ["Use tabs."]


def test_entries_stand_in_the_order_of_the_thread(store: Store) -> None:
    """Reading them back keeps the order in which the thread said them, whatever their ids."""
    said = [f"Statement {number} stands." for number in (5, 1, 4, 2, 3)]
    _store(store, "a", list(said))
    assert statements_of(store, "a") == said


def test_selection_is_by_use_then_by_time_and_laid_out_by_id(store: Store) -> None:
    """Most used first, then last used or generated; what falls out is the least used and oldest."""
    for number, name in enumerate(["d", "c", "b", "a"]):
        _store(store, name, ["Use tabs."], now=NOW + number)
    store.extractions.record_usage("thread", "d", now=NOW + 50)
    selected = store.extractions.select(limit=3)
    assert [item.thread.thread_id for item in selected] == ["a", "b", "d"]
    assert [item.usage for item in selected] == [Usage(), Usage(), Usage(count=1, last_usage=NOW + 50)]
    assert [item.thread.thread_id for item in store.extractions.select(limit=1)] == ["d"]


def test_a_selection_among_some_entries_leaves_out_all_others(store: Store) -> None:
    """Neither a thread with none of them nor another entry of a thread takes part; a limit counts what is left."""
    first = _store(store, "a", ["Use tabs.", "Run make lint."])
    _store(store, "b", ["Use spaces."], now=NOW + 1)
    among = Resting(added={first.tasks[0].entries[1].entry_id})
    found = store.extractions.select(limit=1, among=among)
    assert [item.thread.thread_id for item in found] == ["a"]
    assert "Use tabs." not in found[0].extraction.raw_memory
    for tasks in (found[0].extraction.tasks, store.extractions.tasks_of(["a"], among=among)["a"]):
        assert [one.statement for task in tasks for one in task.entries] == ["Run make lint."]
    assert store.extractions.select(limit=9, among=Resting()) == []


def test_a_vanished_source_is_still_selected(store: Store) -> None:
    """Memory of a log that its agent deleted stays until someone asks to forget it."""
    _store(store, "a", ["Use tabs."])
    store.threads.record_presence(returned=(), vanished=[rollout_file("a").path])
    assert [item.thread.thread_id for item in store.extractions.select(limit=9)] == ["a"]


def test_a_gate_that_withdraws_hides_entries_but_forgets_nothing(store: Store) -> None:
    """A disabled thread says nothing to phase two, and its row still shows what it said."""
    done = _store(store, "a", ["Use tabs."])
    store.jobs.set_gates({"a": Gate.DISABLED})
    ids = [spoken.entry_id for task in done.tasks for spoken in task.entries]
    assert store.extractions.standing_entries(ids) == {}
    assert store.memories.unplaced_entries(["a"]) == []
    assert statements_of(store, "a") == ["Use tabs."]
    store.jobs.set_gates({"a": None})
    assert [spoken.statement for spoken in store.memories.unplaced_entries(["a"])] == ["Use tabs."]


def test_many_ids_are_looked_up_in_parts(store: Store) -> None:
    """A look-up of more ids than one statement may bind finds them all."""
    said = [f"Statement {number} stands." for number in range(60)]
    done = _store(store, "a", list(said))
    ids = [spoken.entry_id for task in done.tasks for spoken in task.entries]
    asked = [f"e_nobody{number}" for number in range(40_000)] + ids
    assert set(store.extractions.standing_entries(asked)) == set(ids)


def test_chosen_threads_are_given_in_ascending_id(store: Store) -> None:
    """Threads asked for by id come with what was stored; those without anything are left out."""
    _store(store, "b", ["Use tabs."])
    _store(store, "a", ["Use tabs."], now=NOW + 1)
    store.threads.record_reading(rollout_file("c"), thread_facts("c"), "project:x", now=NOW)
    assert [item.thread.thread_id for item in store.extractions.get_selected(["c", "b", "a"])] == ["a", "b"]


def test_usage_is_counted_and_never_goes_back_in_time(store: Store) -> None:
    """Each use counts once, and an older one read later does not move the last time back."""
    store.extractions.record_usage("memory", "m", now=NOW)
    store.extractions.record_usage("memory", "m", now=NOW - 100)
    assert store.extractions.usage("memory", "m") == Usage(count=2, last_usage=NOW)
    assert store.extractions.usage("thread", "m") == Usage()


def test_evidence_survives_its_log(store: Store) -> None:
    """Quote, speaker, range and hash of a line are kept in the database, not only a pointer to the file."""
    _store(store, "a", ["Use tabs."])
    store.threads.record_presence(returned=(), vanished=[rollout_file("a").path])
    (line,) = store.extractions.entries("a")[0].evidence
    assert (line.quote, line.speaker, line.byte_end, line.line_sha256) == ("Use tabs.", Speaker.USER, 90, "0" * 64)
