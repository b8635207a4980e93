"""The journal: appended durably, read tolerantly, each deed once."""

from __future__ import annotations

import hashlib
import stat
from pathlib import Path

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_pipeline.records import EntryKind, JournalAction, JournalRecord, Speaker
from memory_pipeline.rollouts.journal import Journal, decode_record

AT = 1_790_000_000.0


def record(name: str, **fields: object) -> JournalRecord:
    """Make a record that adds a statement."""
    known: dict[str, object] = {
        "record_id": f"j_{name}",
        "action": JournalAction.ADD,
        "at": AT,
        "origin": "command",
        "kind": EntryKind.PREFERENCE,
        "scope": "user",
        "statement": f"say {name}",
    }
    return JournalRecord(**(known | fields))  # type: ignore[arg-type]


def test_records_come_back_in_order_with_their_place(tmp_path: Path) -> None:
    """Each line's byte range and hash are those of the file."""
    journal = Journal(tmp_path / "journal.jsonl")
    given_records = [
        record("a"),
        record("b", action=JournalAction.EDIT, memory_id="m_1", was="said", was_condition="x"),
    ]
    journal.append(given_records[:1])
    journal.append(given_records[1:])
    lines = journal.read()
    assert [line.record for line in lines] == given_records
    content = journal.path.read_bytes()
    for line in lines:
        raw = content[line.byte_start : line.byte_end]
        assert hashlib.sha256(raw).hexdigest() == line.line_sha256
        assert b"\n" not in raw
    assert stat.S_IMODE(journal.path.stat().st_mode) == 0o600


def test_a_torn_line_swallows_nothing_that_is_appended_after_it(tmp_path: Path) -> None:
    """A crash left half a line; the next record stands on a line of its own."""
    journal = Journal(tmp_path / "journal.jsonl")
    journal.append([record("a")])
    with journal.path.open("ab") as stream:
        stream.write(b'{"format":1,"id":"j_half')
    journal.append([record("b")])
    assert [line.record.record_id for line in journal.read()] == ["j_a", "j_b"]


def test_a_deed_that_was_written_twice_counts_once(tmp_path: Path) -> None:
    """The first line of an id is the one that counts."""
    journal = Journal(tmp_path / "journal.jsonl")
    journal.append([record("a"), record("a", statement="say it otherwise")])
    assert [line.record.statement for line in journal.read()] == ["say a"]


def test_without_a_file_there_is_nothing_to_read(tmp_path: Path) -> None:
    """A journal that was never written is empty, and reading it makes nothing."""
    journal = Journal(tmp_path / "journal.jsonl")
    assert journal.read() == []
    journal.append([])
    assert not journal.path.exists()


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


@given(statement=TEXTS, condition=TEXTS, cut=st.integers(0, 400), flip=st.integers(0, 400))
@settings(max_examples=80, deadline=None)
def test_a_damaged_line_never_raises(statement: str, condition: str, cut: int, flip: int) -> None:
    """Whole lines come back as they were; cut or changed ones are none, or another valid record."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        journal = Journal(Path(folder) / "journal.jsonl")
        said = record("a", statement=statement, condition=condition, speaker=Speaker.TOOL)
        journal.append([said])
        assert [line.record for line in journal.read()] == [said]
        content = bytearray(journal.path.read_bytes())
        decode_record(bytes(content[:cut]))
        content[flip % len(content)] ^= 0x55
        journal.path.write_bytes(content)
        journal.read()


@pytest.mark.parametrize("scope", ["everywhere", "project:", ""])
def test_a_line_of_no_scope_is_no_record(scope: str) -> None:
    """What holds nowhere would be remembered and never told."""
    fields = {"id": "j_a", "at": "2026-11-30T00:00:00Z", "action": "add", "origin": "command", "statement": "use uv"}
    assert decode_record(orjson.dumps(fields | {"scope": "project:/home/sam/shop"})) is not None
    assert decode_record(orjson.dumps(fields | {"scope": scope})) is None


def test_uses_are_passed_over_or_read_by_themselves(tmp_path: Path) -> None:
    """Of many uses only those that are new are decoded; a statement that looks like one is none."""
    journal = Journal(tmp_path / "journal.jsonl")
    said = JournalRecord(
        record_id="j_" + "a" * 24,
        action=JournalAction.ADD,
        at=1_795_000_000.0,
        origin="command",
        scope="user",
        statement='Write "action":"use" and "id":"j_bbbbbbbbbbbbbbbbbbbbbbbb" there',
    )
    used = [
        JournalRecord(
            record_id=f"j_{number:024x}", action=JournalAction.USE, at=1_795_000_000.0, origin="mcp", memory_id="m_1"
        )
        for number in range(3)
    ]
    journal.append([used[0], said, *used[1:]])
    assert [line.record for line in journal.read()] == [used[0], said, *used[1:]]
    (line,) = journal.read(with_uses=False)
    assert line.record == said
    assert journal.path.read_bytes()[line.byte_start : line.byte_end].startswith(b'{"format":1')
    assert journal.uses_beside({used[1].record_id}) == [used[0], used[2]]
