"""Records that several logs hold: each has one owner, decided once and kept."""

from __future__ import annotations

import tempfile
from pathlib import Path

from fresh_database import lay_database
from hypothesis import given, settings
from hypothesis import strategies as st
from store_samples import NOW, rollout_file, thread_facts, thread_of

from memory_pipeline.store.store import Store

FILES = st.lists(st.tuples(st.lists(st.integers(0, 12), max_size=6), st.integers(1, 5)), max_size=5)
HIGH = 1 << 63  # above what SQLite's signed integers hold


def pack(records: list[int]) -> bytes:
    """Write records as a reading gives them; odd ones use the highest bit."""
    return b"".join((number + (HIGH if number % 2 else 0)).to_bytes(8, "big") for number in records)


def unpack(hashes: frozenset[int]) -> set[int]:
    """Return the records behind hashes."""
    return {hashed & 0xFF for hashed in hashes}


def read_in(store: Store, name: str, records: list[int], at: float) -> None:
    """Index a file that holds these records and whose last one is of this time."""
    facts = thread_facts(name, updated_at=at, record_hashes=pack(records))
    store.threads.record_reading(rollout_file(name), facts, "project:sample", now=NOW)


def share_out(store: Store) -> None:
    """Decide all that is open, in the store's own order."""
    for claim in store.lineage.open_claims():
        store.lineage.share_out(claim.thread_id)


@settings(max_examples=30, deadline=None)
@given(first=FILES, later=FILES)
def test_every_record_has_one_owner_and_decisions_stand(
    first: list[tuple[list[int], int]], later: list[tuple[list[int], int]]
) -> None:
    """Of the files of one pass the earliest owns a record, then the first by path; what was decided before stands."""
    with tempfile.TemporaryDirectory() as folder:
        store = Store(lay_database(Path(folder) / "memory.db"))
        owners: dict[int, str] = {}
        for round_name, files in (("a", first), ("b", later)):
            named = {f"{round_name}{number}": (held, NOW - 100 + at) for number, (held, at) in enumerate(files)}
            for name, (held, at) in named.items():
                read_in(store, name, held, at)
            share_out(store)
            for name in sorted(named, key=lambda name: (named[name][1], rollout_file(name).path)):
                for record in named[name][0]:
                    owners.setdefault(record, name)
            for name, (held, _) in named.items():
                foreign = {record for record in held if owners[record] != name}
                assert unpack(store.lineage.share_of(name).foreign_hashes) == foreign
        store.close()


def test_a_grown_file_keeps_what_it_owns(store: Store) -> None:
    """Reading a file again changes no owner, and its new records are its own unless another has them."""
    read_in(store, "a", [1, 2], NOW - 50)
    share_out(store)
    read_in(store, "b", [1, 2, 3], NOW - 90)
    share_out(store)
    assert unpack(store.lineage.share_of("b").foreign_hashes) == {1, 2}
    read_in(store, "a", [1, 2, 3, 4], NOW - 10)
    assert thread_of(store, "a").is_shared_out is False
    share_out(store)
    assert unpack(store.lineage.share_of("a").foreign_hashes) == {3}
    assert thread_of(store, "a").is_shared_out


def test_sharing_out_tells_whether_a_thread_must_be_read_anew(store: Store) -> None:
    """Only a share that changed is told, so that files without others' records are read once."""
    read_in(store, "a", [1], NOW - 50)
    assert store.lineage.share_out("a") is False
    read_in(store, "b", [1, 2], NOW - 40)
    assert store.lineage.share_out("b") is True
    assert store.lineage.share_out("b") is False
    assert store.lineage.share_out("unknown") is False
