"""Submitted tasks as lines of the journal, and read like a rollout."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from memory_pipeline.errors import RolloutError
from memory_pipeline.records import Agent, EventKind, RolloutFile, Speaker, SubmittedStatus, SubmittedTask
from memory_pipeline.rollouts.journal import Journal, is_readable
from memory_pipeline.rollouts.lineage import OwnPart
from memory_pipeline.rollouts.reading import read_events
from memory_pipeline.rollouts.task_lines import decode_task, digest_of, encode_task, read_tasks

AT = 1_790_000_000.0
TASK = SubmittedTask(
    task_id="t1",
    scope="project:shop",
    goal="Paint it",
    result="It is green.",
    status=SubmittedStatus.COMPLETED,
    started_at=AT - 700,
    finished_at=AT - 100,
    parent_task_id=None,
    continued_from=None,
    outside_context=False,
    received_at=AT,
)

_words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=200)
_times = st.integers(1_000_000_000, 4_000_000_000).map(float)
_ids = st.none() | st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,20}", fullmatch=True)
_tasks = st.builds(
    SubmittedTask,
    task_id=st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,20}", fullmatch=True),
    scope=_words.map(lambda words: f"project:{words}"),
    goal=_words,
    result=_words | st.just(""),
    status=st.sampled_from(SubmittedStatus),
    started_at=_times,
    finished_at=st.none() | _times,
    parent_task_id=_ids,
    continued_from=_ids,
    outside_context=st.booleans(),
    received_at=_times,
)


def _read(path: Path, *, start: int = 0, size: int | None = None, thread_id: str = "task-t1") -> list[tuple[str, str]]:
    size = len(path.read_bytes().split(b"\n")[0]) if size is None else size
    file = RolloutFile(Agent.TASK, str(path), thread_id, archived=False, size=size, mtime_ns=0, inode=0, device=0)
    reading = read_events(file, "", max_bytes=1, own=OwnPart(own_from_byte=start))
    events = list(reading)
    hashes = reading.hash_lines({(event.byte_start, event.byte_end) for event in events})
    content = path.read_bytes()
    for (first, last), told in hashes.items():
        assert sha256(content[first:last]).hexdigest() == told
    assert [event.kind for event in events][:1] == [EventKind.PROMPT]
    return [(event.speaker, event.text) for event in events]


@settings(max_examples=80)
@given(_tasks)
def test_a_task_is_read_back_as_it_was_written(task: SubmittedTask) -> None:
    """Any words, on one line; a line that is cut anywhere tells no other task."""
    line = encode_task(task)
    assert b"\n" not in line
    assert decode_task(line) == task
    assert is_readable(line)
    assert digest_of(decode_task(line) or TASK) == digest_of(task)
    for cut in range(0, len(line), 7):
        assert decode_task(line[:cut]) is None


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{}",
        b"[]",
        b'{"action":"task"}',
        b'"action":"task"',
        b'{"action":"task","task":"x","scope":"user"}',
        b"\xff",
    ],
)
def test_what_is_no_task_is_passed_over(line: bytes) -> None:
    """A line of another kind, or of another program's, is no task."""
    assert decode_task(line) is None


def test_when_it_was_submitted_is_no_news() -> None:
    """The same task at another time says the same; every other field counts."""
    assert digest_of(replace(TASK, received_at=0.0)) == digest_of(TASK)
    changed = [
        {"scope": "project:x"}, {"goal": "x"}, {"result": "x"}, {"status": SubmittedStatus.FAILED}, {"started_at": 0.0},
        {"finished_at": None}, {"parent_task_id": "x"}, {"continued_from": "x"}, {"outside_context": True},
    ]  # fmt: skip
    digests = {digest_of(replace(TASK, **fields)) for fields in changed}
    assert len(digests | {digest_of(TASK)}) == len(changed) + 1


def test_the_last_line_of_a_task_counts(tmp_path: Path) -> None:
    """Deeds and torn lines between are passed over; each line is told with its place."""
    path = tmp_path / "journal.jsonl"
    newer = replace(TASK, result="It is blue.")
    Journal(path).append_lines([encode_task(TASK), b'{"action":"task","torn', encode_task(newer)])
    (line,) = read_tasks(path)
    assert line.task == newer
    assert path.read_bytes()[line.byte_start : line.byte_end] == encode_task(newer)


def test_the_goal_is_the_persons_and_the_result_a_tools(tmp_path: Path) -> None:
    """Read at its place, and found where it stands now after the journal was written anew."""
    path = tmp_path / "journal.jsonl"
    Journal(path).append_lines([encode_task(TASK)])
    said = [(Speaker.USER, "Paint it"), (Speaker.TOOL, "It is green.")]
    assert _read(path) == said
    path.write_bytes(b"another line\n" + path.read_bytes())
    assert _read(path, size=len(encode_task(TASK))) == said


def test_a_task_that_is_gone_is_a_fault(tmp_path: Path) -> None:
    """Neither another task at its place nor a missing journal is taken for it."""
    path = tmp_path / "journal.jsonl"
    with pytest.raises(RolloutError):
        _read(path, size=10)
    Journal(path).append_lines([encode_task(TASK)])
    with pytest.raises(RolloutError, match="no longer holds"):
        _read(path, thread_id="task-other")


def test_blanking_a_task_leaves_the_others_where_they_are(tmp_path: Path) -> None:
    """What must go is blanks, what is worded anew keeps its place where it fits, the rest is untouched."""
    path = tmp_path / "journal.jsonl"
    other = replace(TASK, task_id="t2", goal="Keep this")
    Journal(path).append_lines([encode_task(TASK), encode_task(other)])
    before = path.read_bytes()
    changed = Journal(path).rewrite(
        lambda record: record,
        holds=lambda _text: False,
        remains_of_task=lambda task, _line_sha256: None if task.task_id == "t1" else task,
    )
    after = path.read_bytes()
    assert (changed, len(after)) == (1, len(before))
    assert after.split(b"\n")[0].strip() == b""
    assert after.split(b"\n")[1] == before.split(b"\n")[1]


@pytest.mark.parametrize("before", [b"", b"a line\n", b"a torn li"])
def test_appending_tells_where_the_line_begins(tmp_path: Path, before: bytes) -> None:
    """Also in a new journal, and after a line that a crash cut off."""
    path = tmp_path / "journal.jsonl"
    if before:
        path.write_bytes(before)
    start = Journal(path).append_lines([encode_task(TASK), b"{}"])
    assert path.read_bytes()[start:] == encode_task(TASK) + b"\n{}\n"
