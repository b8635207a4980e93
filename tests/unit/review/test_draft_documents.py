"""The draft document and the sync list as functions of the drafts: counts and lists that always hold."""

from __future__ import annotations

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from phase2_world import NOW, entry, selected

from memory_pipeline.records import Coverage, Draft, DraftLabel, EvidenceLine, Readiness, ReviewStatus
from memory_pipeline.review.documents import draft_document, encode, file_stem, sync_document
from memory_pipeline.review.policy import readiness_of

KEYS = {
    *("schema_version", "generated_at", "source_packet", "session_id", "memory_input", "packet_audit"),
    *("requires_raw_review", "draft_entries", "label_counts", "readiness_counts", "review_counts"),
    *("sync_candidates", "blocked_sync_candidates", "conflict_ids", "local_only_ids"),
}
ENTRY_KEYS = {
    *("id", "statement", "label", "sync_readiness", "review_status", "review_note", "reviewed_at", "review_log"),
    *("rationale", "destination", "source_session_id", "evidence_refs"),
}
SYNCED = {DraftLabel.NEW, DraftLabel.REFINE, DraftLabel.CONFIRM}


def draft(number: int, label: DraftLabel, coverage: Coverage, status: ReviewStatus) -> Draft:
    """A draft under review."""
    return Draft(
        entry=entry(f"Rule number {number}."),
        coverage=coverage,
        label=label,
        readiness=readiness_of(label, coverage),
        rationale="because",
        nearest=(),
        review_status=status,
        decided_by=None,
        review_note="",
        reviewed_at=None,
        deferred_until=None,
        review_log=(),
        drafted_at=NOW,
    )


DRAFTS = st.lists(
    st.tuples(st.sampled_from(DraftLabel), st.sampled_from(Coverage), st.sampled_from(ReviewStatus)), max_size=12
).map(lambda rows: [draft(number, *row) for number, row in enumerate(rows)])


@settings(max_examples=100, deadline=None)
@given(DRAFTS)
def test_counts_equal_the_entries_and_every_list_matches_its_rule(drafts: list[Draft]) -> None:
    """Whatever the drafts are."""
    of = selected("thread-a")
    document = orjson.loads(encode(draft_document(of.thread, of.extraction, drafts)))
    assert set(document) == KEYS
    entries = document["draft_entries"]
    for counts, key in (("label_counts", "label"), ("readiness_counts", "sync_readiness")):
        assert document[counts] == {name: [e[key] for e in entries].count(name) for name in document[counts]}
        assert sum(document[counts].values()) == len(drafts)
    assert sum(document["review_counts"].values()) == len(drafts)
    by_id = {one["id"]: one for one in entries}
    assert len(by_id) == len(drafts)
    ready = {e["id"] for e in entries if e["sync_readiness"] == "ready-candidate"}
    live = {e["id"] for e in entries if e["label"] in SYNCED and e["review_status"] != "rejected"}
    assert set(document["sync_candidates"]) == live & ready
    assert set(document["blocked_sync_candidates"]) == live - ready
    assert document["conflict_ids"] == [e["id"] for e in entries if e["label"] == "conflict"]
    assert document["local_only_ids"] == [e["id"] for e in entries if e["sync_readiness"] == "local-only"]
    partial = any(one.readiness is Readiness.NEEDS_RAW_REVIEW for one in drafts)
    assert document["requires_raw_review"] is partial


@settings(max_examples=100, deadline=None)
@given(DRAFTS)
def test_sync_list_exists_only_while_something_is_approved_and_ready(drafts: list[Draft]) -> None:
    """And holds exactly that, of the labels that may be synced."""
    of = selected("thread-a")
    wanted = [
        one.entry.entry_id
        for one in drafts
        if one.label in SYNCED and one.coverage is Coverage.HIGH and one.review_status is ReviewStatus.APPROVED
    ]
    document = sync_document(of.extraction, drafts)
    if not wanted:
        assert document is None
        return
    assert document is not None
    assert set(document) == {
        *("schema_version", "generated_at", "source_draft", "session_id", "approved_ready_count", "entries")
    }
    assert [one["id"] for one in document["entries"]] == wanted
    assert document["approved_ready_count"] == len(wanted)


def test_an_entry_tells_where_its_evidence_stands() -> None:
    """Turn, speaker, and the commands and files of all its lines, each once."""
    said = entry("make ship needs a token.")
    line = replace(said.evidence[0], turn=3, command="make ship", paths=("Makefile",))
    other = replace(line, turn=4, command="make ship", paths=("Makefile", "ship.py"))
    one = draft(1, DraftLabel.NEW, Coverage.HIGH, ReviewStatus.PENDING)
    one = replace(one, entry=replace(said, evidence=(line, other)))
    of = selected("thread-a")
    (told,) = draft_document(of.thread, of.extraction, [one])["draft_entries"]
    assert set(told) == ENTRY_KEYS
    assert told["evidence_refs"] == {
        "turn_number": 3,
        "turn_id": "turn-3",
        "source_kind": "user",
        "commands": ["make ship"],
        "files": ["Makefile", "ship.py"],
    }


def test_an_entry_without_evidence_or_turn_is_told_all_the_same() -> None:
    """A line that was forgotten, or stored before turns were."""
    one = draft(1, DraftLabel.NEW, Coverage.HIGH, ReviewStatus.PENDING)
    bare: tuple[EvidenceLine, ...] = ()
    one = replace(one, entry=replace(one.entry, evidence=bare))
    of = selected("thread-a")
    (told,) = draft_document(of.thread, of.extraction, [one])["draft_entries"]
    assert told["evidence_refs"]["turn_number"] is None


def test_a_files_name_never_leaves_its_folder() -> None:
    """An id that is no plain name is told by a hash."""
    assert file_stem("0199a213-81c0-7800-8aa1-bbab2a035a53") == "0199a213-81c0-7800-8aa1-bbab2a035a53"
    for name in ("../../etc/passwd", ".hidden", "a/b", "", "a" * 300, "con.", "\u202egnp"):
        assert file_stem(name).startswith("session-")
