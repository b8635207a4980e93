"""Citations become usage: each once, of known threads alone, and of memories where the caller can tell them."""

from __future__ import annotations

from typing import Any

from store_samples import NOW, index

from memory_pipeline.recall.usage import use_of
from memory_pipeline.records import Citation, Source, Usage
from memory_pipeline.store.store import Store


def citation(*threads: str, name: str = "c_1", at: float | None = NOW - 50, lines: tuple[int, ...] = ()) -> Citation:
    """Make what one answer cites."""
    return Citation(citation_id=name, at=at, threads=threads, lines=lines)


def cite(store: Store, *citations: Citation, thread: str = "citing", **facts: Any) -> None:
    """Let a thread's final answers cite something, and count."""
    index(store, thread, citations=citations, **facts)
    store.citations.count_threads(now=NOW)


def test_a_cited_thread_is_used_once_at_the_time_of_the_answer(store: Store) -> None:
    """However often the citing log is read again, its answer counts once."""
    index(store, "a")
    for _ in range(3):
        cite(store, citation("a"))
    assert store.extractions.usage("thread", "a") == Usage(count=1, last_usage=NOW - 50)


def test_each_answer_counts(store: Store) -> None:
    """Two answers are two uses, and the later one tells the last time."""
    index(store, "a")
    cite(store, citation("a"), citation("a", name="c_2", at=NOW - 10))
    assert store.extractions.usage("thread", "a") == Usage(count=2, last_usage=NOW - 10)


def test_an_answer_that_two_logs_hold_counts_once(store: Store) -> None:
    """A resumed session that writes an old answer again is no second use."""
    index(store, "a")
    cite(store, citation("a"))
    cite(store, citation("a"), thread="resumed")
    assert store.extractions.usage("thread", "a").count == 1


def test_an_unknown_thread_is_not_counted_until_it_is_known(store: Store) -> None:
    """The newest log is read first: what it cites may be indexed only after it."""
    cite(store, citation("a"))
    assert store.extractions.usage("thread", "a").count == 0
    index(store, "a")
    store.citations.count_threads(now=NOW)
    store.citations.count_threads(now=NOW)
    assert store.extractions.usage("thread", "a").count == 1


def test_a_thread_that_the_person_keeps_out_is_not_used(store: Store) -> None:
    """It may have been forgotten, and other sessions go on to name it; let in again, it was used."""
    index(store, "a")
    store.threads.set_disabled("a", disabled=True)
    cite(store, citation("a"))
    store.uses.take_in([use_of(origin="test", distinct=1, at=NOW, thread_id="a")], now=NOW)
    assert store.extractions.usage("thread", "a") == Usage()
    store.threads.set_disabled("a", disabled=False)
    store.citations.count_threads(now=NOW)
    store.uses.take_in([], now=NOW)
    assert store.extractions.usage("thread", "a").count == 2


def test_a_thread_that_cites_itself_is_not_used(store: Store) -> None:
    """Its own words are no memory of it."""
    cite(store, citation("citing"))
    assert store.extractions.usage("thread", "citing").count == 0


def test_own_runs_and_subagents_use_nothing(store: Store) -> None:
    """A memory run reads every memory, and what a sub-agent used its session tells."""
    index(store, "a")
    cite(store, citation("a"), source=Source.OWN)
    cite(store, citation("a", name="c_2"), thread="helper", source=Source.SUBAGENT)
    assert store.extractions.usage("thread", "a").count == 0


def test_a_clock_that_ran_ahead_or_is_missing_counts_now(store: Store) -> None:
    """No citation makes a thread the most recently used one for years."""
    index(store, "a")
    cite(store, citation("a", at=NOW + 1e9), citation("a", name="c_2", at=None))
    assert store.extractions.usage("thread", "a") == Usage(count=2, last_usage=NOW)


def test_cited_lines_are_open_until_they_are_settled(store: Store) -> None:
    """A log that is read again opens none of them anew."""
    cite(store, citation(lines=(3, 4, 5)))
    lines = store.citations.open_lines()
    assert [(line.number, line.at) for line in lines] == [(3, NOW - 50), (4, NOW - 50), (5, NOW - 50)]
    store.citations.settle_lines(lines)
    cite(store, citation(lines=(3, 4, 5)))
    assert store.citations.open_lines() == []
