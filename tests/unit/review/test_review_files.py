"""Draft files and sync lists on disk: written with each decision, taken in when edited, never half of either."""

from __future__ import annotations

import codecs
import json
import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from phase2_world import DAY, NOW, World, entry, read_tree, stamps

from memory_pipeline.config import Config, ReviewConfig
from memory_pipeline.errors import LockedError
from memory_pipeline.files import TEMPORARY_PREFIX
from memory_pipeline.lock import os_lock
from memory_pipeline.records import Decider, Draft, Gate, ReviewCounts, ReviewStatus
from memory_pipeline.review.files import (
    LOCK_FILE,
    FiledReview,
    FilesReport,
    ReviewFiles,
    locked_files,
    write_session_files,
)
from memory_pipeline.review.run import Review
from memory_pipeline.store.store import Store
from memory_pipeline.tombstones import Tombstone, TombstoneFolder, TombstoneKind


class Cabinet:
    """A review with its files, as the command wires it."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.config: Config = replace(world.config, review=ReviewConfig(mode="manual"))
        self.review = Review(self.config, world.store, world.clock)
        self.root = self.config.state_path
        self.path = self.root / "memory-drafts" / "thread-a.json"
        self.sync = self.root / "sync-lists" / "thread-a.json"

    def run(self) -> ReviewCounts:
        """Review with files."""
        return FiledReview(self.config, self.world.store, self.world.clock).run_once()

    def write(self) -> FilesReport:
        """What a command does after a decision."""
        return write_session_files(self.config, self.world.store, self.world.clock)

    def draft(self, statement: str) -> Draft:
        """The draft that says this."""
        (found,) = [one for one in self.world.store.drafts.every() if one.entry.statement == statement]
        return found

    def document(self) -> Any:
        """What the draft file says."""
        return json.loads(self.path.read_bytes())

    def edit(self, change: Callable[[Any], None]) -> None:
        """Let a person edit the draft file."""
        document = self.document()
        change(document)
        self.path.write_text(json.dumps(document, indent=1), encoding="utf-8")

    def files(self) -> dict[str, bytes]:
        """Draft files and sync lists."""
        return {name: text for name, text in read_tree(self.root).items() if name.startswith(("memory-", "sync-"))}


@pytest.fixture
def cabinet(world: World) -> Cabinet:
    """A session with two drafts that wait."""
    made = Cabinet(world)
    world.says("thread-a", entry("Use pnpm."), entry("Squash before merging."))
    made.run()
    return made


def decide_first(status: str, note: str = "") -> Callable[[Any], None]:
    """Edit the first entry."""

    def change(document: Any) -> None:
        document["draft_entries"][0] |= {"review_status": status, "review_note": note}

    return change


def test_files_are_private_and_nothing_is_left_beside_them(cabinet: Cabinet) -> None:
    """One draft file, and no sync list while nothing is approved."""
    assert list(cabinet.files()) == ["memory-drafts/thread-a.json"]
    assert stat.S_IMODE(cabinet.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(cabinet.path.parent.stat().st_mode) == 0o700
    assert [path.name for path in cabinet.path.parent.iterdir()] == ["thread-a.json"]


def test_nothing_changed_touches_no_file(cabinet: Cabinet) -> None:
    """Also days later: nothing in a file changes by itself."""
    before = stamps(cabinet.path.parent)
    cabinet.world.clock.moment += 3 * DAY
    cabinet.run()
    cabinet.write()
    assert stamps(cabinet.path.parent) == before


def _settle(cabinet: Cabinet) -> None:
    cabinet.write()
    assert cabinet.world.store.session_files.are_settled()


def _save_the_same(cabinet: Cabinet) -> None:
    """Save a file as it was: that is nothing to take in."""
    cabinet.path.write_bytes(cabinet.path.read_bytes())


#: What may happen to drafts and files, and whether a look at every stamp must follow.
HAPPENS: dict[str, Callable[[Cabinet], object]] = {
    "a decision": lambda cabinet: cabinet.review.approve([cabinet.draft("Use pnpm.").entry]),
    "a note": lambda cabinet: cabinet.review.note(cabinet.draft("Use pnpm.").entry, "See the lockfile."),
    "a deferral": lambda cabinet: cabinet.review.defer([cabinet.draft("Use pnpm.").entry], days=1),
    "a further session": lambda cabinet: cabinet.world.says("thread-b", entry("Use tabs.", thread="thread-b")),
    "another reading": lambda cabinet: cabinet.world.says("thread-a", entry("Use pnpm.")),
    "a gate that withdraws": lambda cabinet: cabinet.world.store.jobs.set_gates({"thread-a": Gate.DISABLED}),
    "a deleted file": lambda cabinet: cabinet.path.unlink(),
    "an edited file": lambda cabinet: cabinet.edit(decide_first("rejected")),
    "a file that was saved": _save_the_same,
    "nothing": lambda cabinet: None,
}


@pytest.mark.parametrize("happens", HAPPENS.values(), ids=HAPPENS.keys())
def test_settled_files_are_what_a_whole_look_would_leave(
    cabinet: Cabinet, happens: Callable[[Cabinet], object]
) -> None:
    """Whatever happens after nothing was left to do, the next run leaves the files as one that looks at all."""
    _settle(cabinet)
    happens(cabinet)
    cabinet.run()
    left = cabinet.files()
    with locked_files(cabinet.config):
        report = ReviewFiles(cabinet.config, cabinet.world.store, cabinet.world.clock).bring_up_to_date(anew=True)
    assert (report.written, report.removed) == (0, 0)
    assert cabinet.files() == left


def test_files_that_are_settled_are_not_compared_with_what_is_stored(cabinet: Cabinet) -> None:
    """A run over thousands of drafts that nobody touched hashes none of them."""
    _settle(cabinet)
    connection = cabinet.world.store.session_files._connect()
    asked: list[str] = []
    connection.set_trace_callback(asked.append)
    cabinet.write()
    connection.set_trace_callback(None)
    assert asked
    assert not any("d.review_log" in one for one in asked if "x.generated_at" in one)


def test_what_another_process_decides_meanwhile_is_not_settled(cabinet: Cabinet) -> None:
    """The look that is noted did not see it."""
    _settle(cabinet)
    version = cabinet.world.store.session_files.version()
    other = Store(cabinet.world.store.path)
    Review(cabinet.config, other, cabinet.world.clock).approve([cabinet.draft("Use pnpm.").entry])
    other.close()
    cabinet.world.store.session_files.settle_all(version=version)
    assert not cabinet.world.store.session_files.are_settled()


def test_sync_list_comes_with_an_approval_and_goes_with_its_rejection(cabinet: Cabinet) -> None:
    """It is rewritten when a decision changes and removed when it is empty."""
    cabinet.review.approve([cabinet.draft("Use pnpm.").entry, cabinet.draft("Squash before merging.").entry])
    cabinet.write()
    assert json.loads(cabinet.sync.read_bytes())["approved_ready_count"] == 2
    cabinet.review.reject([cabinet.draft("Use pnpm.").entry])
    cabinet.write()
    assert [one["statement"] for one in json.loads(cabinet.sync.read_bytes())["entries"]] == ["Squash before merging."]
    cabinet.review.defer([cabinet.draft("Squash before merging.").entry], days=2)
    cabinet.write()
    assert not cabinet.sync.exists()


STEPS = st.lists(
    st.tuples(st.sampled_from(["approve", "reject", "defer", "note", "reopen"]), st.sampled_from([0, 1, 2])),
    min_size=1,
    max_size=6,
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(STEPS)
def test_decisions_and_their_undoing_restore_every_byte(cabinet: Cabinet, steps: list[tuple[str, int]]) -> None:
    """Whatever was decided about one draft or both, and written in between."""
    before = cabinet.files()
    entries = [draft.entry for draft in cabinet.world.store.drafts.every()]
    for action, which in steps:
        cabinet.world.clock.moment += 60
        meant = entries if which == 2 else [entries[which]]
        if action == "defer":
            cabinet.review.defer(meant, days=400)
        elif action == "note":
            cabinet.review.note(meant[0], "look again")
        else:
            getattr(cabinet.review, action)(meant, note="so it is")
        cabinet.write()
    assert cabinet.files() != before
    while cabinet.review.undo():
        cabinet.write()
    assert cabinet.files() == before


def test_an_edited_file_becomes_the_persons_decision(cabinet: Cabinet) -> None:
    """With its note, its time and its log; and the file tells it."""
    cabinet.edit(decide_first("approved", "yes, always"))
    cabinet.world.clock.moment += 60
    assert cabinet.write().decided == 1
    draft = cabinet.draft("Use pnpm.")
    assert (draft.review_status, draft.decided_by) == (ReviewStatus.APPROVED, Decider.PERSON)
    assert (draft.review_note, draft.reviewed_at) == ("yes, always", NOW + 60)
    assert cabinet.document()["review_counts"]["approved"] == 1
    assert cabinet.sync.exists()
    assert cabinet.write() == FilesReport()
    assert cabinet.review.undo() == [draft.entry.entry_id]


def test_a_run_takes_an_edited_file_in_before_anything_is_consolidated(cabinet: Cabinet) -> None:
    """So that what a person approved in a file is remembered by the same pass."""
    cabinet.edit(decide_first("approved"))
    cabinet.run()
    cabinet.world.parts().run_once()
    assert {statement for _, statement in cabinet.world.told()} == {"Use pnpm."}


@pytest.mark.parametrize(
    ("status", "wanted"),
    [("rejected", ReviewStatus.REJECTED), ("deferred", ReviewStatus.DEFERRED), ("pending", ReviewStatus.PENDING)],
)
def test_every_status_can_be_set_in_a_file(cabinet: Cabinet, status: str, wanted: ReviewStatus) -> None:
    """Rejected leaves a fingerprint, deferred has its time, pending waits again."""
    cabinet.review.approve([cabinet.draft("Use pnpm.").entry])
    cabinet.write()
    cabinet.edit(decide_first(status))
    cabinet.write()
    draft = cabinet.draft("Use pnpm.")
    assert draft.review_status is wanted
    assert bool(cabinet.world.store.drafts.rejections()) is (status == "rejected")
    assert (draft.deferred_until is not None) is (status == "deferred")


def test_a_note_alone_decides_nothing(cabinet: Cabinet) -> None:
    """It is masked and becomes one line; taking it out takes it out."""
    cabinet.edit(decide_first("pending", "token ghp_000000000000000000000000000000000000\nask"))
    cabinet.write()
    draft = cabinet.draft("Use pnpm.")
    assert draft.review_status is ReviewStatus.PENDING
    assert draft.review_note == "token [redacted:github-token] ask"
    cabinet.edit(decide_first("pending", ""))
    cabinet.write()
    assert cabinet.draft("Use pnpm.").review_note == ""


def test_what_another_tool_counts_anew_is_no_fault(cabinet: Cabinet) -> None:
    """Tools rewrite counts, lists, times and logs; they follow from the decisions, and are written by us again."""

    def change(document: Any) -> None:
        decide_first("approved")(document)
        document["draft_entries"][0] |= {"reviewed_at": "2026-01-01T00:00:00Z", "review_log": [{"x": 1}]}
        document["review_counts"] = {"approved": 1}
        document["generated_at"] = "now"

    cabinet.edit(change)
    report = cabinet.write()
    assert (report.decided, report.problems) == (1, ())


def _set(document: Any, key: str, value: Any) -> None:
    document["draft_entries"][0][key] = value


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda d: _set(d, "review_status", "maybe"), "review_status"),
        (lambda d: _set(d, "review_status", ["approved"]), "review_status"),
        (lambda d: _set(d, "review_status", {}), "review_status"),
        (lambda d: _set(d, "review_note", 7), "review_note"),
        (lambda d: _set(d, "label", []), "label"),
        (lambda d: _set(d, "id", {}), "ids"),
        (lambda d: _set(d, "statement", "Use yarn."), "statement"),
        (lambda d: _set(d, "label", "confirm"), "label"),
        (lambda d: _set(d, "sync_readiness", "local-only"), "sync_readiness"),
        (lambda d: _set(d, "id", "e_other"), "ids"),
        (lambda d: d["draft_entries"].pop(), "ids"),
        (lambda d: d["draft_entries"].append(d["draft_entries"][0]), "ids"),
        (lambda d: d.update(session_id="thread-b"), "session_id"),
        (lambda d: d.update(draft_entries="none"), "draft_entries"),
    ],
)
def test_a_wrong_edit_is_refused_with_its_reason_and_kept_aside(
    cabinet: Cabinet, change: Callable[[Any], None], reason: str
) -> None:
    """Nothing of it counts, not even what is right in it; the file is written anew."""
    before = cabinet.path.read_bytes()
    cabinet.edit(lambda d: (d["draft_entries"][1].update(review_status="approved"), change(d)))  # type: ignore[func-returns-value]
    edited = cabinet.path.read_bytes()
    (problem,) = cabinet.run().problems
    assert reason in problem
    aside = cabinet.path.with_name("thread-a.json.refused")
    assert aside.name in problem
    assert aside.read_bytes() == edited
    assert cabinet.path.read_bytes() == before
    assert all(one.review_status is ReviewStatus.PENDING for one in cabinet.world.store.drafts.every())


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe", b"null", b'{"session_id": "thread-a"}'])
def test_a_broken_file_is_refused_and_keeps_nothing_back(cabinet: Cabinet, content: bytes) -> None:
    """A second one does not overwrite the first that was kept."""
    for number in (1, 2):
        cabinet.path.write_bytes(content)
        assert len(cabinet.run().problems) == 1
        kept = [path for path in cabinet.path.parent.iterdir() if ".refused" in path.name]
        assert len(kept) == number
    assert len(cabinet.document()["draft_entries"]) == 2


def test_a_link_or_folder_in_a_files_place_is_never_followed(cabinet: Cabinet, tmp_path: Path) -> None:
    """The link is kept aside; what it points at is neither read nor written. A folder stays, and is told."""
    target = tmp_path / "target.json"
    target.write_bytes(cabinet.path.read_bytes().replace(b"pending", b"approved"))
    held = target.read_bytes()
    cabinet.path.unlink()
    cabinet.path.symlink_to(target)
    assert "plain file" in cabinet.run().problems[0]
    assert target.read_bytes() == held
    assert not cabinet.path.is_symlink()
    assert cabinet.draft("Use pnpm.").review_status is ReviewStatus.PENDING
    cabinet.path.unlink()
    cabinet.path.mkdir()
    assert "was not written" in cabinet.run().problems[0]


def test_what_cannot_be_read_is_kept_aside_while_nothing_was_forgotten(cabinet: Cabinet, tmp_path: Path) -> None:
    """A link in a file's place may be the person's; only what may tell of forgotten things goes."""
    aside = cabinet.path.with_name("thread-a.json.refused")
    cabinet.path.unlink()
    cabinet.path.symlink_to(tmp_path / "elsewhere.json")
    assert "it is kept as" in cabinet.run().problems[0]
    assert aside.is_symlink()
    aside.unlink()
    stone = Tombstone(kind=TombstoneKind.WORDS, value="Zanzibar")
    TombstoneFolder(cabinet.config.tombstones_path).add([stone], now=NOW)
    cabinet.path.unlink()
    cabinet.path.symlink_to(tmp_path / "elsewhere.json")
    assert "may tell of what was forgotten" in cabinet.run().problems[0]
    assert not aside.is_symlink()


def test_an_edit_of_an_editor_that_marks_the_byte_order_is_taken_in(cabinet: Cabinet) -> None:
    """Some editors put a byte order mark before what they save."""
    cabinet.edit(decide_first("approved"))
    cabinet.path.write_bytes(codecs.BOM_UTF8 + cabinet.path.read_bytes())
    report = cabinet.write()
    assert (report.decided, report.problems) == (1, ())
    assert cabinet.draft("Use pnpm.").review_status is ReviewStatus.APPROVED


def test_a_deleted_file_is_no_decision(cabinet: Cabinet) -> None:
    """It is written again."""
    before = cabinet.files()
    cabinet.path.unlink()
    cabinet.run()
    assert cabinet.files() == before


def test_a_decision_by_command_is_not_undone_by_a_file_that_was_edited_before_it(cabinet: Cabinet) -> None:
    """Both count: the file decides about the other entry only."""
    cabinet.edit(decide_first("approved"))
    cabinet.review.reject([cabinet.draft("Squash before merging.").entry])
    assert cabinet.write().problems == ()
    assert cabinet.draft("Use pnpm.").review_status is ReviewStatus.APPROVED
    assert cabinet.draft("Squash before merging.").review_status is ReviewStatus.REJECTED


def test_two_who_decide_otherwise_about_one_draft_are_told(cabinet: Cabinet) -> None:
    """The earlier decision stands; the file's is not lost in silence."""
    cabinet.edit(decide_first("approved"))
    cabinet.review.reject([cabinet.draft("Use pnpm.").entry])
    (problem,) = cabinet.write().problems
    assert "otherwise" in problem
    assert cabinet.draft("Use pnpm.").review_status is ReviewStatus.REJECTED
    assert cabinet.document()["draft_entries"][0]["review_status"] == "rejected"


def test_a_file_that_we_did_not_write_is_kept_aside_and_others_are_left_alone(world: World) -> None:
    """A state folder in which another tool worked before: its file for a session of ours, and one for another."""
    cabinet = Cabinet(world)
    cabinet.path.parent.mkdir(parents=True)
    cabinet.path.write_bytes(b'{"session_id": "thread-a", "draft_entries": []}')
    other = cabinet.path.with_name("other-session.json")
    other.write_bytes(b"{}")
    world.says("thread-a", entry("Use pnpm."))
    (problem,) = cabinet.run().problems
    assert "did not write" in problem
    assert cabinet.path.with_name("thread-a.json.refused").exists()
    assert len(cabinet.document()["draft_entries"]) == 1
    assert other.read_bytes() == b"{}"


def test_an_edited_sync_list_is_refused(cabinet: Cabinet) -> None:
    """It follows from the decisions; nothing in it decides."""
    cabinet.review.approve([cabinet.draft("Use pnpm.").entry])
    cabinet.write()
    before = cabinet.sync.read_bytes()
    cabinet.sync.write_bytes(b"{}")
    assert "sync list" in cabinet.run().problems[0]
    assert cabinet.sync.read_bytes() == before


def test_files_of_a_session_that_says_nothing_any_more_go(cabinet: Cabinet) -> None:
    """And come back the same when it counts again."""
    before = cabinet.files()
    cabinet.world.gate("thread-a", Gate.DISABLED)
    cabinet.run()
    assert cabinet.files() == {}
    cabinet.world.gate("thread-a", None)
    cabinet.run()
    assert cabinet.files() == before


def test_a_crash_right_after_a_version_was_announced_is_mended(cabinet: Cabinet) -> None:
    """The file is still the older one; that is not taken for an edit that takes the decision back."""
    versions = cabinet.world.store.session_files
    (known,) = versions.versions_of("memory-drafts/thread-a.json")
    cabinet.review.approve([cabinet.draft("Use pnpm.").entry])
    versions.announce(replace(known, sha256="0" * 64, told={}))
    assert cabinet.write().problems == ()
    assert cabinet.draft("Use pnpm.").review_status is ReviewStatus.APPROVED
    assert cabinet.document()["review_counts"]["approved"] == 1


def test_what_a_crash_left_between_two_names_is_taken_in(cabinet: Cabinet) -> None:
    """The person's file had been exchanged for ours, and nobody had looked at it yet."""
    ours = cabinet.path.read_bytes()
    cabinet.edit(decide_first("approved"))
    cabinet.path.rename(cabinet.path.with_name(f"{TEMPORARY_PREFIX}thread-a.json"))
    cabinet.path.write_bytes(ours)
    cabinet.path.with_name(f"{TEMPORARY_PREFIX}x7").write_bytes(b"half")
    cabinet.run()
    assert cabinet.draft("Use pnpm.").review_status is ReviewStatus.APPROVED
    assert [path.name for path in cabinet.path.parent.iterdir()] == ["thread-a.json"]


def test_a_file_that_somebody_is_saving_is_left_until_they_are_done(cabinet: Cabinet) -> None:
    """Half of it is neither taken in nor refused nor overwritten."""
    with cabinet.path.open("wb") as stream:
        stream.write(b'{"session_id"')
        stream.flush()
        assert cabinet.run().problems == ()
        assert cabinet.path.read_bytes() == b'{"session_id"'


def test_a_note_with_forgotten_words_is_refused_and_not_even_kept_aside(cabinet: Cabinet) -> None:
    """What was forgotten does not come back through a file."""
    stones = [Tombstone(kind=TombstoneKind.WORDS, value="Zanzibar")]
    TombstoneFolder(cabinet.config.tombstones_path).add(stones, now=NOW)
    cabinet.edit(decide_first("approved", "as in Zanzibar"))
    (problem,) = cabinet.run().problems
    assert "forgotten" in problem
    assert "Zanzibar" not in problem
    assert not any(b"Zanzibar" in content for content in cabinet.files().values())


def test_what_stands_in_the_way_of_one_file_keeps_nothing_else_back(cabinet: Cabinet) -> None:
    """It is told; the drafts are labelled, and the files of other sessions are written."""
    cabinet.world.says("thread-b", entry("Keep the changelog.", thread="thread-b"))
    cabinet.world.says("thread-c", entry("Keep the licence.", thread="thread-c"))
    (cabinet.root / "memory-drafts" / "thread-b.json").mkdir()
    counts = cabinet.run()
    assert counts.labelled == 2
    assert cabinet.path.with_name("thread-c.json").exists()
    assert "thread-b.json" in counts.problems[0]


def test_two_writers_meet_in_one_lock(cabinet: Cabinet) -> None:
    """Whoever writes holds it."""
    with (
        os_lock(cabinet.root / LOCK_FILE, purpose="a test"),
        pytest.raises(LockedError),
        os_lock(cabinet.root / LOCK_FILE, purpose="a test"),
    ):
        pass


def test_many_reviewers_at_once_lose_no_decision_and_leave_one_whole_file(world: World) -> None:
    """Each decides about drafts of its own and writes, while the review runs."""
    cabinet = Cabinet(world)
    world.says("thread-a", *(entry(f"Rule number {number}.") for number in range(12)))
    cabinet.run()
    entries = [draft.entry for draft in world.store.drafts.every()]

    def decide(first: int) -> None:
        for said in entries[first::3]:
            cabinet.review.approve([said])
            cabinet.write()

    with ThreadPoolExecutor(4) as pool:
        for done in [*(pool.submit(decide, first) for first in range(3)), pool.submit(cabinet.run)]:
            done.result()
    assert cabinet.document()["review_counts"]["approved"] == 12
    assert json.loads(cabinet.sync.read_bytes())["approved_ready_count"] == 12
    assert [path.name for path in cabinet.path.parent.iterdir()] == ["thread-a.json"]


def test_one_reason_that_fails_many_files_is_told_briefly(world: World) -> None:
    """A folder that can't be made fails each session's file; a run's messages stay readable."""
    cabinet = Cabinet(world)
    cabinet.root.mkdir(exist_ok=True)
    cabinet.path.parent.write_text("no folder", encoding="utf-8")
    for number in range(8):
        world.says(f"thread-{number}", entry("Use pnpm.", thread=f"thread-{number}"))
    counts = cabinet.run()
    assert counts.labelled == 8
    assert len(counts.problems) == 4
    assert "5 more" in counts.problems[-1]
