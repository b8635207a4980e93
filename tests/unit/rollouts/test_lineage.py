"""Forks, copies and several files of one thread: what is a file's own."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from log_homes import MAX_BYTES, THREAD, Logs, as_bytes

from memory_pipeline.records import Agent, EventKind, RolloutFile, Source, ThreadFacts
from memory_pipeline.rollouts.discover import find_rollouts
from memory_pipeline.rollouts.lineage import (
    OwnPart,
    current_file,
    own_start,
    record_hash,
)
from memory_pipeline.rollouts.reading import read_events, read_facts

CHILD = "0a1b2c3e-1111-7222-8333-444455556666"
FORKED_AT = "2026-01-02T05:00:00.000Z"
FORK_SECONDS = 1767330000


def turn_id(seconds: float) -> str:
    """Give a turn's id, which begins with the time at which the turn began."""
    text = f"{int(seconds * 1000):012x}"
    return f"{text[:8]}-{text[8:]}-7abc-8def-000000000001"


def line(kind: str, at: str, **payload: Any) -> dict[str, Any]:
    """Give a line of a Codex rollout."""
    return {"timestamp": at, "type": kind, "payload": payload}


def meta(thread: str, at: str, **more: Any) -> dict[str, Any]:
    """Give the first line of a session."""
    return line("session_meta", at, id=thread, timestamp=at, cwd="/work/calc", source="cli", **more)


def turn(number: int, at: str, began: float | None, *, wish: str | None = None) -> list[dict[str, Any]]:
    """Give a turn with a prompt and an answer; ``began`` is the time in its id."""
    content = [{"type": "input_text", "text": wish or f"wish {number}"}]
    answer = [{"type": "output_text", "text": f"answer {number}"}]
    start = [line("event_msg", at, type="task_started", turn_id=turn_id(began))] if began is not None else []
    return [
        *start,
        line("response_item", at, type="message", role="user", content=content),
        line("response_item", at, type="message", role="assistant", content=answer, phase="final_answer"),
    ]


def restamped(lines: list[dict[str, Any]], at: str = FORKED_AT) -> list[dict[str, Any]]:
    """Copy lines as a fork does: with the time of the fork."""
    return [{**copied, "timestamp": at} for copied in lines]


PARENT_TURNS = [
    *turn(1, "2026-01-02T03:00:00.000Z", FORK_SECONDS - 7200),
    *turn(2, "2026-01-02T03:30:00.000Z", FORK_SECONDS - 5400),
]
PARENT = [meta(THREAD, "2026-01-02T03:00:00.000Z"), *PARENT_TURNS]
OWN_TURN = turn(3, "2026-01-02T05:00:00.200Z", FORK_SECONDS + 0.1)
FORK = [
    meta(CHILD, FORKED_AT, forked_from_id=THREAD),
    *restamped([PARENT[0]]),
    *restamped(PARENT_TURNS),
    *OWN_TURN,
]


def files_of(logs: Logs, child: list[dict[str, Any]], parent: list[dict[str, Any]]) -> tuple[RolloutFile, RolloutFile]:
    """Write both logs and find them."""
    logs.path.write_bytes(as_bytes(parent))
    logs.path.with_name(f"rollout-2026-01-02T05-00-00-{CHILD}.jsonl").write_bytes(as_bytes(child))
    found = {file.thread_id: file for file in find_rollouts(Agent.CODEX, str(logs.home))}
    return found[CHILD], found[THREAD]


def own_words(logs: Logs, child: RolloutFile, own: OwnPart) -> list[str]:
    """Give what the events of the own part say."""
    return [event.text for event in read_events(child, str(logs.home), max_bytes=MAX_BYTES, own=own)]


def facts_of(logs: Logs, file: RolloutFile, own: OwnPart | None) -> ThreadFacts:
    """Read the facts of one file of several."""
    return read_facts(
        file,
        str(logs.home),
        max_bytes=MAX_BYTES,
        gives_direction=lambda text: "always" in text,
        redact_text=str,
        own=own,
    )


@pytest.mark.parametrize("with_parent", [True, False])
def test_a_fork_by_copy_yields_only_what_it_adds(codex: Logs, with_parent: bool) -> None:
    """The parent's lines, stamped anew, are not the fork's, whether or not the parent is there to compare."""
    child, parent = files_of(codex, FORK, PARENT)
    start = own_start(child, str(codex.home), parent=parent if with_parent else None, max_bytes=MAX_BYTES)
    own = OwnPart(own_from_byte=start)
    assert own_words(codex, child, own) == ["wish 3", "answer 3"]
    facts = facts_of(codex, child, own)
    assert (facts.thread_id, facts.forked_from, facts.prompt_count, facts.title) == (CHILD, THREAD, 1, "wish 3")
    assert facts.started_at == facts.updated_at == FORK_SECONDS + 0.2
    assert (facts.understood_lines, facts.total_lines) == (len(FORK), len(FORK))
    assert facts.skipped_lines == {}


def test_a_parent_that_grew_after_the_fork_does_no_harm(codex: Logs) -> None:
    """What the parent says later is neither the fork's nor does it hide the fork's own part."""
    grown = [*PARENT, *turn(9, "2026-01-02T06:00:00.000Z", FORK_SECONDS + 3600)]
    child, parent = files_of(codex, FORK, grown)
    start = own_start(child, str(codex.home), parent=parent, max_bytes=MAX_BYTES)
    assert own_words(codex, child, OwnPart(own_from_byte=start)) == ["wish 3", "answer 3"]


def test_copies_that_another_version_spelled_anew_are_still_copies(codex: Logs) -> None:
    """Another order of fields, and more of them, break the comparison of bytes; times and values still tell."""
    spelled = [{**copied, "payload": dict(reversed(copied["payload"].items()))} for copied in restamped(PARENT_TURNS)]
    child, parent = files_of(codex, [FORK[0], *spelled, *OWN_TURN], PARENT)
    start = own_start(child, str(codex.home), parent=parent, max_bytes=MAX_BYTES)
    assert own_words(codex, child, OwnPart(own_from_byte=start)) == ["wish 3", "answer 3"]
    more = [{**copied, "payload": {**copied["payload"], "new": 1}} for copied in restamped(PARENT_TURNS)]
    child, parent = files_of(codex, [FORK[0], *more, *OWN_TURN], PARENT)
    start = own_start(child, str(codex.home), parent=parent, max_bytes=MAX_BYTES)
    assert own_words(codex, child, OwnPart(own_from_byte=start)) == ["wish 3", "answer 3"]


@pytest.mark.parametrize("with_parent", [True, False])
def test_an_old_fork_without_turn_ids_ends_its_copies_at_the_first_pause(codex: Logs, with_parent: bool) -> None:
    """Before turns told when they began, the stamps do: copies are written in one go."""
    old = [*turn(1, "2025-08-01T03:00:00.000Z", None), *turn(2, "2025-08-01T03:30:00.000Z", None)]
    fork = [FORK[0], *restamped(old), *turn(3, "2026-01-02T05:00:09.000Z", None)]
    child, parent = files_of(codex, fork, [PARENT[0], *old])
    start = own_start(child, str(codex.home), parent=parent if with_parent else None, max_bytes=MAX_BYTES)
    assert own_words(codex, child, OwnPart(own_from_byte=start)) == ["wish 3", "answer 3"]


OLD_TURNS = [*turn(1, "2025-11-01T03:00:00.000Z", None), *turn(2, "2025-11-01T03:30:00.000Z", None)]
OLD_PARENT = [meta(THREAD, "2025-11-01T03:00:00.000Z"), *OLD_TURNS]
OLD_FORK = [meta(CHILD, FORKED_AT), *restamped(OLD_PARENT)]  # before forks said of which thread they are one


@pytest.mark.parametrize("with_parent", [True, False])
def test_another_threads_meta_among_the_copies_marks_an_old_fork(codex: Logs, with_parent: bool) -> None:
    """A fork that does not name its parent holds its meta: the parent's lines are not its own, read once or again."""
    child, parent = files_of(codex, [*OLD_FORK, *turn(3, "2026-01-02T05:00:09.000Z", None)], OLD_PARENT)
    start = own_start(child, str(codex.home), parent=parent if with_parent else None, max_bytes=MAX_BYTES)
    own = OwnPart(own_from_byte=start)
    assert own_words(codex, child, own) == ["wish 3", "answer 3"]
    for part in (None, own):
        facts = facts_of(codex, child, part)
        assert (facts.thread_id, facts.forked_from) == (CHILD, THREAD)


def test_an_own_turn_right_behind_the_copies_is_not_lost_when_the_parent_is_there(codex: Logs) -> None:
    """What was said within the second of the fork is told from the copies by the parent's records, not by times."""
    own = turn(3, "2026-01-02T05:00:00.400Z", None)
    for fork in ([meta(CHILD, FORKED_AT, forked_from_id=THREAD), *OLD_FORK[1:]], OLD_FORK):
        child, parent = files_of(codex, [*fork, *own], OLD_PARENT)
        start = own_start(child, str(codex.home), parent=parent, max_bytes=MAX_BYTES)
        assert own_words(codex, child, OwnPart(own_from_byte=start)) == ["wish 3", "answer 3"]


def test_what_a_fork_leaves_out_or_adds_between_the_copies_is_no_end_of_them(codex: Logs) -> None:
    """Events of the parent that were not copied, and records of the fork that are no talk, stand in no one's way."""
    noise = line("event_msg", FORKED_AT, type="token_count", info={"total": 5})
    original = [OLD_PARENT[0], noise, *OLD_TURNS[:2], noise, noise, *OLD_TURNS[2:], noise]
    settings = line("turn_context", FORKED_AT, cwd="/work/calc", model="m")
    fork = [*OLD_FORK[:3], settings, *OLD_FORK[3:], settings, *turn(3, "2026-01-02T05:00:00.400Z", None)]
    child, parent = files_of(codex, fork, original)
    start = own_start(child, str(codex.home), parent=parent, max_bytes=MAX_BYTES)
    assert own_words(codex, child, OwnPart(own_from_byte=start)) == ["wish 3", "answer 3"]


def test_the_same_words_said_later_in_the_fork_are_its_own(codex: Logs) -> None:
    """A prompt that the parent holds too is a copy only where the copies stand."""
    later = [*turn(7, "2026-01-02T05:00:09.000Z", None), *turn(3, "2026-01-02T05:01:00.000Z", None)]
    child, parent = files_of(codex, [*OLD_FORK, *later], [*OLD_PARENT, *turn(7, "2025-11-02T03:00:00.000Z", None)])
    start = own_start(child, str(codex.home), parent=parent, max_bytes=MAX_BYTES)
    assert own_words(codex, child, OwnPart(own_from_byte=start)) == ["wish 7", "answer 7", "wish 3", "answer 3"]


def test_an_image_in_the_copies_is_the_same_wherever_it_stands_in_its_file(codex: Logs) -> None:
    """What of it is left out while it streams by differs between the two files; the record does not."""
    image = {"type": "input_image", "image_url": "data:image/png;base64," + "iVBO" * 150_000}
    shown = line("response_item", "2025-11-01T03:40:00.000Z", type="message", role="user", content=[image])
    original = [*OLD_PARENT, line("world_state", FORKED_AT, state="x" * 90_000), shown]
    fork = [*OLD_FORK, *restamped([shown]), *turn(3, "2026-01-02T05:00:00.400Z", None)]
    child, parent = files_of(codex, fork, original)
    start = own_start(child, str(codex.home), parent=parent, max_bytes=MAX_BYTES)
    assert own_words(codex, child, OwnPart(own_from_byte=start)) == ["wish 3", "answer 3"]


def test_another_threads_meta_far_from_the_beginning_marks_no_fork(codex: Logs) -> None:
    """What was said before it was not written in one go, so none of it is a copy."""
    lines = [meta(CHILD, FORKED_AT), *turn(3, "2026-01-02T05:01:00.000Z", None), OLD_PARENT[0]]
    child, _ = files_of(codex, lines, OLD_PARENT)
    assert own_start(child, str(codex.home), max_bytes=MAX_BYTES) == 0


def test_a_sub_agents_own_meta_is_its_identity_and_its_parents_makes_it_no_fork(codex: Logs) -> None:
    """Its file holds the child's meta, then the parent's."""
    spawned = {"subagent": {"thread_spawn": {"parent_thread_id": THREAD, "depth": 1}}}
    first = meta(CHILD, FORKED_AT)
    first["payload"]["source"] = spawned
    child, _ = files_of(codex, [first, PARENT[0], *OWN_TURN], PARENT)
    facts = facts_of(codex, child, None)
    assert (facts.thread_id, facts.source, facts.forked_from) == (CHILD, Source.SUBAGENT, None)


def test_a_fork_that_adds_nothing_has_no_own_part(codex: Logs) -> None:
    """A fork that nobody went on with says nothing, has no time of its own, and is no loss."""
    child, parent = files_of(codex, FORK[: -len(OWN_TURN)], PARENT)
    for known in (parent, None):
        own = OwnPart(own_from_byte=own_start(child, str(codex.home), parent=known, max_bytes=MAX_BYTES))
        assert own_words(codex, child, own) == []
        facts = facts_of(codex, child, own)
        assert (facts.prompt_count, facts.updated_at, facts.thread_id) == (0, None, CHILD)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"history_base": {"thread_id": THREAD, "end_ordinal_exclusive": 7, "end_byte_offset": 900}},
        {"forked_from_id": THREAD, "history_base": {"thread_id": THREAD, "end_ordinal_exclusive": 7}},
    ],
)
def test_a_fork_by_reference_and_no_fork_are_their_own_from_the_start(codex: Logs, fields: dict[str, Any]) -> None:
    """What points at its parent holds nothing of it."""
    child, parent = files_of(codex, [meta(CHILD, FORKED_AT, **fields), *OWN_TURN], PARENT)
    assert own_start(child, str(codex.home), parent=parent, max_bytes=MAX_BYTES) == 0
    facts = facts_of(codex, child, None)
    assert facts.forked_from == (THREAD if fields else None)


@settings(max_examples=40, deadline=None)
@given(inherited=st.integers(0, 5), own=st.integers(0, 4), later=st.integers(0, 3))
def test_whatever_the_sizes_a_fork_is_split_where_it_forked(
    tmp_path_factory: pytest.TempPathFactory, inherited: int, own: int, later: int
) -> None:
    """However much was inherited, added, and said in the parent afterwards."""
    logs = Logs(Agent.CODEX, tmp_path_factory.mktemp("fork") / "home")
    old = [row for n in range(inherited) for row in turn(n, f"2026-01-02T03:0{n}:00.000Z", FORK_SECONDS - 7200 + n)]
    added = [row for n in range(own) for row in turn(50 + n, f"2026-01-02T05:0{n}:00.300Z", FORK_SECONDS + n + 0.1)]
    more = [row for n in range(later) for row in turn(90 + n, f"2026-01-02T06:0{n}:00.000Z", FORK_SECONDS + 3600 + n)]
    child, parent = files_of(logs, [FORK[0], *restamped(old), *added], [PARENT[0], *old, *more])
    wanted = [text for n in range(own) for text in (f"wish {50 + n}", f"answer {50 + n}")]
    for known in (parent, None):
        start = own_start(child, str(logs.home), parent=known, max_bytes=MAX_BYTES)
        assert own_words(logs, child, OwnPart(own_from_byte=start)) == wanted


# --- transcripts: records that stand in several files


def record(uuid: str, text: str, at: str = "2026-01-02T03:04:05.000Z", kind: str = "user") -> dict[str, Any]:
    """Give a line of a transcript."""
    content = text if kind == "user" else [{"type": "text", "text": text}]
    return {
        "parentUuid": None,
        "isSidechain": False,
        "type": kind,
        "message": {"role": kind, "content": content, "stop_reason": "end_turn"},
        "uuid": uuid,
        "timestamp": at,
        "cwd": "/work/calc",
    }


def uuid_of(number: int) -> str:
    """Give a uuid that differs from the next in its last digits alone."""
    return f"0a1b2c3d-1111-4222-8333-{number:012d}"


def test_records_of_another_file_yield_nothing_and_do_not_count(claude: Logs) -> None:
    """A resumed copy is read from its new part on, and its times are those of that part."""
    later = "2026-01-03T03:04:05.000Z"
    lines = [
        record(uuid_of(1), "always x"),
        record(uuid_of(2), "Done.", kind="assistant"),
        record(uuid_of(3), "more", later),
    ]
    own = OwnPart(foreign_hashes=frozenset({record_hash(uuid_of(1)), record_hash(uuid_of(2))}))
    file = claude.write(lines)
    events = list(read_events(file, str(claude.home), max_bytes=MAX_BYTES, own=own))
    assert [(event.kind, event.text, event.turn) for event in events] == [(EventKind.PROMPT, "more", 1)]
    facts = facts_of(claude, file, own)
    assert (facts.prompt_count, facts.title, facts.gives_direction, facts.result_chars) == (1, "more", False, 0)
    assert facts.started_at == facts.updated_at == 1767409445.0
    assert facts.record_hashes == b"".join(record_hash(uuid_of(number)).to_bytes(8, "big") for number in (1, 2, 3))
    assert (facts.understood_lines, facts.cwd) == (3, "/work/calc")


def test_a_copy_that_adds_nothing_still_tells_its_folder(claude: Logs) -> None:
    """When every record is another file's, the folder is known all the same, and nothing is counted."""
    own = OwnPart(foreign_hashes=frozenset({record_hash(uuid_of(1))}))
    file = claude.write([record(uuid_of(1), "wish")])
    facts = facts_of(claude, file, own)
    assert (facts.prompt_count, facts.updated_at, facts.cwd) == (0, None, "/work/calc")


def test_what_another_file_says_leaves_the_digest(claude: Logs) -> None:
    """The digest is over the own part: the same own words behind other copies are nothing new."""
    own = OwnPart(foreign_hashes=frozenset(map(record_hash, (uuid_of(1), uuid_of(2)))))
    digests = set()
    for lines in ([record(uuid_of(1), "a")], [record(uuid_of(1), "a"), record(uuid_of(2), "b")], []):
        file = claude.write([*lines, record(uuid_of(3), "mine")])
        digests.add(facts_of(claude, file, own).content_digest)
    assert len(digests) == 1


def test_ids_of_other_kinds_are_no_records(claude: Logs) -> None:
    """A snapshot's id that equals a message's is neither listed nor taken for it."""
    snapshot = {"type": "file-history-snapshot", "messageId": uuid_of(1), "uuid": uuid_of(1)}
    facts = claude.facts([snapshot, record(uuid_of(1), "wish")])
    assert (facts.prompt_count, facts.record_hashes) == (1, record_hash(uuid_of(1)).to_bytes(8, "big"))


@given(st.lists(st.one_of(st.uuids().map(str), st.text(max_size=40)), unique=True, max_size=40))
def test_different_ids_have_different_hashes(ids: list[str]) -> None:
    """Eight bytes stand for each id."""
    assert len({record_hash(uuid) for uuid in ids}) == len(set(ids))


def test_uuids_that_differ_at_either_end_have_different_hashes() -> None:
    """Counted-up ids, and ids that begin with their time, are told apart."""
    assert len({record_hash(uuid_of(number)) for number in range(1000)}) == 1000
    assert len({record_hash(turn_id(FORK_SECONDS + number)) for number in range(1000)}) == 1000


# --- several files of one thread


def a_file(name: str, *, archived: bool = False, mtime_ns: int = 1) -> RolloutFile:
    """Give a file as the search finds it."""
    return RolloutFile(
        agent=Agent.CODEX,
        path=f"/home/sam/.codex/{'archived_sessions' if archived else 'sessions'}/{name}",
        thread_id=THREAD,
        archived=archived,
        size=1,
        mtime_ns=mtime_ns,
        inode=1,
        device=1,
    )


OLDER, NEWER = "01a22926-0000-7000-8000-000000000001", "01a22927-0000-7000-8000-000000000001"
PLAIN = a_file(f"rollout-2026-01-02T03-04-05-{THREAD}.jsonl", mtime_ns=9)
REVERTED = a_file(f"rollout-2026-01-02T03-04-05-{THREAD}_{OLDER}.jsonl")
REVERTED_AGAIN = a_file(f"rollout-2026-01-02T03-04-05-{THREAD}_{NEWER}.jsonl")
PACKED = a_file(f"rollout-2026-01-02T03-04-05-{THREAD}.jsonl.zst", mtime_ns=99)
ARCHIVED = a_file(os.path.basename(PLAIN.path), archived=True)._replace(mtime_ns=9)  # noqa: PTH119
ARCHIVED_LATER = ARCHIVED._replace(mtime_ns=10)


@pytest.mark.parametrize(
    ("files", "current"),
    [
        ([PLAIN], PLAIN),
        ([PLAIN, REVERTED], REVERTED),
        ([REVERTED_AGAIN, REVERTED, PLAIN], REVERTED_AGAIN),
        ([PACKED, PLAIN], PLAIN),
        ([ARCHIVED, PLAIN], PLAIN),
        ([PLAIN, ARCHIVED_LATER], ARCHIVED_LATER),
    ],
)
def test_one_file_of_a_thread_is_current(files: list[RolloutFile], current: RolloutFile) -> None:
    """The newest revert, the plain twin, the one written last, the one not archived."""
    assert current_file(files) == current_file(files[::-1]) == current


def test_a_thread_without_files_is_refused() -> None:
    """There is no current file of none."""
    with pytest.raises(ValueError, match="at least one"):
        current_file([])


# --- turns that the person undid


def undone(count: Any) -> dict[str, Any]:
    """Give the line that takes turns back."""
    return line("event_msg", "2026-01-02T04:00:00.000Z", type="thread_rolled_back", num_turns=count)


@pytest.mark.parametrize("began", [FORK_SECONDS, None])
def test_undone_turns_are_not_talk_that_stands(codex: Logs, began: float | None) -> None:
    """What the person took back yields no events and no facts; what was said before and after stands."""
    turns = [
        turn(number, f"2026-01-02T03:0{number}:00.000Z", began and began + number, wish=f"wish {number} always")
        for number in range(4)
    ]
    lines = [PARENT[0], *turns[0], *turns[1], *turns[2], undone(2), *turns[3]]
    events = codex.events(lines)
    assert [(event.text, event.turn) for event in events] == [
        ("wish 0 always", 1),
        ("answer 0", 1),
        ("wish 3 always", 2),
        ("answer 3", 2),
    ]
    facts = codex.facts(lines)
    assert (facts.prompt_count, facts.result_chars, facts.title) == (2, 16, "wish 0 always")


def test_a_direction_that_was_taken_back_is_none(codex: Logs) -> None:
    """Undoing the only turn with a direction, or with words from outside, undoes that too."""
    search = line("response_item", FORKED_AT, type="web_search_call", id="w", action={"query": "q"})
    lines = [PARENT[0], *turn(1, FORKED_AT, None), *turn(2, FORKED_AT, None, wish="always x"), search]
    assert codex.facts(lines).gives_direction
    assert codex.facts(lines).external_context
    facts = codex.facts([*lines, undone(1)])
    assert (facts.gives_direction, facts.external_context, facts.prompt_count) == (False, False, 1)


def test_taking_turns_back_changes_the_digest(codex: Logs) -> None:
    """That less stands is news."""
    lines = [*PARENT, undone(1)]
    assert codex.facts(PARENT).content_digest != codex.facts(lines).content_digest


def test_what_was_typed_into_a_running_turn_goes_with_it(codex: Logs) -> None:
    """Two prompts within one task are one turn to undo."""
    both = [*turn(1, FORKED_AT, FORK_SECONDS), *turn(2, FORKED_AT, None)]
    lines = [PARENT[0], *turn(0, FORKED_AT, FORK_SECONDS - 9), *both, undone(1)]
    assert [event.text for event in codex.events(lines)] == ["wish 0", "answer 0"]


@pytest.mark.parametrize(("count", "left"), [(99, []), (0, [1, 2]), (-1, [1, 2]), ("2", [1, 2]), (None, [1, 2])])
def test_an_odd_number_of_turns_undoes_what_there_is_or_nothing(codex: Logs, count: Any, left: list[int]) -> None:
    """More than there are: all of them; none or no number: nothing."""
    events = codex.events([*PARENT, undone(count)])
    assert [event.text for event in events if event.kind is EventKind.PROMPT] == [f"wish {number}" for number in left]


def test_a_prompt_that_only_an_event_told_is_undone_with_the_one_behind_it(codex: Logs) -> None:
    """It is settled later than the message that follows it in the log, and goes all the same."""
    told = line("event_msg", FORKED_AT, type="user_message", message="only told")
    message = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "always x"}]}
    torn = json.dumps(told)[:-20]
    lines = [PARENT[0], told, line("response_item", FORKED_AT, **message), torn, undone(2)]
    assert codex.events(lines) == []
    facts = codex.facts(lines)
    assert (facts.prompt_count, facts.gives_direction) == (0, False)


def test_a_rollback_is_found_wherever_it_falls_in_the_file(codex: Logs) -> None:
    """The mark of a rollback is seen when it spans two chunks of the file."""
    rolled = json.dumps(undone(1), separators=(",", ":")).encode()
    head = as_bytes(PARENT)
    at = rolled.index(b"rolled_back")
    filler = b'{"timestamp":"t","type":"world_state","payload":{}}\n'
    for chunk in (1 << 17, 1 << 20):
        blanks = chunk - len(head) - len(filler) - at
        content = head + filler[:-3] + b" " * blanks + filler[-3:] + rolled + b"\n"
        assert [event.text for event in codex.events(content)] == ["wish 1", "answer 1"]


def test_a_path_to_write_to_is_a_path(tmp_path: Path) -> None:
    """The names above are those that the search finds."""
    folder = tmp_path / "sessions"
    folder.mkdir()
    for file in (PLAIN, REVERTED, REVERTED_AGAIN):
        (folder / file.path.rsplit("/", 1)[-1]).touch()
    found = list(find_rollouts(Agent.CODEX, str(tmp_path)))
    assert {file.thread_id for file in found} == {THREAD}
    assert current_file(found).path.endswith(f"{NEWER}.jsonl")
