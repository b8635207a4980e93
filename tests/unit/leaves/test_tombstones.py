"""Tombstones: what they know again, what they hold, and that a lost or unreadable file is never passed over."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from phase2_world import NOW, entry

from memory_pipeline.errors import StoreError
from memory_pipeline.tombstones import (
    Tombstone,
    TombstoneFolder,
    TombstoneKind,
    Tombstones,
    line_value,
    said_value,
    tokens_of,
)

LATER = NOW + 1


def stones(*pairs: tuple[TombstoneKind, str], now: float = NOW) -> Tombstones:
    """Make tombstones that are not written."""
    return Tombstones.of([Tombstone(kind=kind, value=value) for kind, value in pairs], now=now)


def test_words_are_known_whatever_their_case_form_and_marks() -> None:
    """Case, width, punctuation, underscores and line ends around and between them don't matter; parts of words do."""
    known = stones((TombstoneKind.WORDS, "Acme Corp"))
    assert known.holds_words("we met ACME-corp.")
    assert known.holds_words("a slug: acme_corp_meeting")
    assert known.holds_words("ＡＣＭＥ\ncorp")
    assert not known.holds_words("acme and corp", "acmecorp", "the acme", "", None)


def test_chinese_words_are_known_inside_a_sentence() -> None:
    """Where nothing stands between words, characters in a row are compared."""
    assert stones((TombstoneKind.WORDS, "青蛙")).holds_words("我喜欢青蛙。")
    assert not stones((TombstoneKind.WORDS, "青蛙")).holds_words("青色的蛙")


@given(st.text(max_size=60), st.text(max_size=20), st.text(max_size=20))
@settings(max_examples=100, deadline=None)
def test_words_are_known_in_whatever_stands_around_them(words: str, before: str, after: str) -> None:
    """Any text is known inside a longer one, as long as it holds a letter or digit."""
    known = stones((TombstoneKind.WORDS, words))
    assert known.holds_words(f"{before} {words} {after}") is bool(tokens_of(words))


def test_a_line_takes_the_entries_that_rest_on_it_but_those_that_are_spared() -> None:
    """Whether an entry is spared is told for each forgetting apart."""
    spared, other = entry("Use tabs."), entry("Use tabs everywhere.")
    line = spared.evidence[0]
    other = replace(other, evidence=(line,))
    named = (TombstoneKind.LINE, line_value(spared.thread_id, line.line_sha256))
    first = stones(named, (TombstoneKind.SPARED, spared.entry_id))
    assert (first.has_entry(spared), first.has_entry(other)) == (False, True)
    assert first.with_others(stones(named)).has_entry(spared)


def test_the_same_line_of_another_thread_stays() -> None:
    """A line is named with its thread, by its hash and by its words."""
    known = stones(
        (TombstoneKind.PART, "a"),
        (TombstoneKind.LINE, line_value("a", "f" * 64)),
        (TombstoneKind.LINE, said_value("a", "Use tabs.")),
    )
    assert known.has_line("a", "f" * 64)
    assert known.has_said("a", "use TABS")
    assert not known.has_line("b", "f" * 64)
    assert not known.has_said("b", "Use tabs.")


def test_a_statement_is_known_inside_a_line_only_when_it_is_long_enough() -> None:
    """Two words may stand in anybody's sentence; as the whole of what is told they are known all the same."""
    known = stones((TombstoneKind.TEXT, "Use tabs"), (TombstoneKind.TEXT, "Always run the long tests"))
    assert known.is_text("use tabs.")
    assert not known.holds_text("We use tabs at home.")
    assert known.holds_text('- the user asked: "always run the long tests" (2026-11-20)')


def test_a_statement_that_was_told_after_it_was_forgotten_is_another_one() -> None:
    """So a person can say anew what they had forgotten."""
    known = stones((TombstoneKind.TEXT, "Use tabs"))
    assert known.is_text("Use tabs", at=NOW)
    assert not known.is_text("Use tabs", at=LATER)


def test_written_tombstones_hold_no_value_and_are_read_as_they_were(tmp_path: Path) -> None:
    """A file holds hashes alone, for its owner only; reading gives what was written, and files add up."""
    folder = TombstoneFolder(tmp_path / "tombstones")
    values = {kind: f"secretive {kind.value} value" for kind in TombstoneKind}
    before = folder.digest()
    path = folder.add([Tombstone(kind=kind, value=value) for kind, value in values.items()], now=NOW)
    folder.add([Tombstone(kind=TombstoneKind.THREAD, value="another")], now=LATER)
    assert (before, folder.digest() != "") == ("", True)
    assert b"secretive" not in path.read_bytes()
    assert path.stat().st_mode & 0o777 == 0o600
    known = folder.current()
    assert known.has_thread(values[TombstoneKind.THREAD])
    assert known.has_thread("another")
    assert known.has_memory(values[TombstoneKind.MEMORY])
    assert known.has_record(values[TombstoneKind.RECORD])
    assert known.spares(values[TombstoneKind.SPARED])
    assert known.touched_at(values[TombstoneKind.PART]) == NOW
    assert known.holds_words(f"… {values[TombstoneKind.WORDS]} …")
    assert known.is_text(values[TombstoneKind.TEXT])


def test_two_folders_hash_the_same_id_differently(tmp_path: Path) -> None:
    """The salt is random, so that a list of hashes made elsewhere tells nothing."""
    written = [
        TombstoneFolder(tmp_path / name).add([Tombstone(kind=TombstoneKind.ENTRY, value="e_1")], now=NOW)
        for name in ("one", "two")
    ]
    first, second = (path.read_bytes().splitlines()[-1] for path in written)
    assert first != second


def test_a_file_that_can_not_be_read_is_an_error(tmp_path: Path) -> None:
    """Passing it over would let come back what it forgot; the message says what to do."""
    folder = TombstoneFolder(tmp_path)
    (tmp_path / "1.jsonl").write_text("torn", encoding="utf-8")
    with pytest.raises(StoreError, match="could come back"):
        folder.current()
