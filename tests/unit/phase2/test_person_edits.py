"""What the person wrote into MEMORY.md stays, whatever is rendered later."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_pipeline.phase2.person import carry_edits, is_damaged

BEFORE = b"# Task Group: shop\nscope: work in shop\n\n## User preferences\n- use uv\n- commit small\n- use tabs\n"
AFTER = BEFORE.replace(b"- use tabs\n", b"- write tests\n- use tabs\n")


def carry(
    on_disk: bytes | None, rendered_now: bytes, *, before: bytes = BEFORE, published: bytes | None = None
) -> bytes:
    """Carry the edits of one file."""
    return carry_edits(
        rendered_before=before,
        published_before=before if published is None else published,
        on_disk=on_disk,
        rendered_now=rendered_now,
    )


def test_an_untouched_file_becomes_the_new_rendering() -> None:
    """Without edits there is nothing to carry."""
    assert carry(BEFORE, AFTER) == AFTER
    assert carry(BEFORE, BEFORE) == BEFORE


def test_an_added_line_stays_where_it_stands() -> None:
    """New memories appear around a note of the person."""
    on_disk = BEFORE.replace(b"- use uv\n", b"- use uv\n(my note)\n")
    assert carry(on_disk, AFTER) == AFTER.replace(b"- use uv\n", b"- use uv\n(my note)\n")


def test_a_removed_line_stays_out() -> None:
    """A line that the person took out is not written again while it would read the same."""
    on_disk = BEFORE.replace(b"- commit small\n", b"")
    assert carry(on_disk, BEFORE) == on_disk
    assert b"- commit small" not in carry(on_disk, AFTER)
    assert b"- write tests" in carry(on_disk, AFTER)


def test_a_reworded_line_keeps_the_persons_words() -> None:
    """The person's version stands in place of ours."""
    on_disk = BEFORE.replace(b"- commit small\n", b"- commit small, but push rarely\n")
    merged = carry(on_disk, AFTER)
    assert b"- commit small, but push rarely\n" in merged
    assert b"- commit small\n" not in merged


def test_an_edit_right_where_the_rendering_changed_keeps_both() -> None:
    """New memory and new note at one place: both are there, and a removed neighbour stays out."""
    on_disk = BEFORE.replace(b"- commit small\n- use tabs\n", b"my own words\n- use tabs\n")
    merged = carry(on_disk, AFTER).split(b"\n")
    assert b"my own words" in merged
    assert b"- write tests" in merged
    assert b"- commit small" not in merged


def test_a_file_of_somebody_else_is_kept_below_ours() -> None:
    """Before our first rendering there is no common ancestor: everything stays, nothing twice."""
    theirs = b"# My own notes\n\n- use uv\n- mine\n"
    merged = carry_edits(rendered_before=b"", published_before=b"", on_disk=theirs, rendered_now=BEFORE)
    assert merged.startswith(BEFORE)
    assert merged.endswith(b"# My own notes\n- mine\n")


def test_a_missing_file_is_restored_with_what_the_person_had_written() -> None:
    """Deleting the file is no edit."""
    published = BEFORE.replace(b"- use uv\n", b"- use uv\n(my note)\n")
    assert carry(None, BEFORE, published=published) == published
    assert b"(my note)" in carry(None, AFTER, published=published)


@pytest.mark.parametrize("damaged", [b"", b"\n\n\n", b"- use uv\n", b"\x00" * 400, b"something else entirely\n"])
def test_a_file_that_lost_most_of_its_lines_is_restored(damaged: bytes) -> None:
    """More than half of the lines gone is damage: nothing of it counts as removed by the person."""
    published = BEFORE.replace(b"- use uv\n", b"- use uv\n(my note)\n")
    assert is_damaged(published, damaged)
    merged = carry(damaged, AFTER, published=published)
    assert b"(my note)\n" in merged
    assert all(line in merged for line in AFTER.splitlines(keepends=True))


def test_half_of_the_lines_gone_is_still_an_edit() -> None:
    """A person may tidy up: up to half of the lines that say something may go."""
    lines = [f"- line {number}\n".encode() for number in range(8)]
    whole = b"".join(lines)
    assert not is_damaged(whole, b"".join(lines[:4]))
    assert is_damaged(whole, b"".join(lines[:3]))
    assert not is_damaged(b"", b"")


EDITORS = {
    "other line ends": lambda text: text.replace(b"\n", b"\r\n"),
    "a byte order mark": lambda text: b"\xef\xbb\xbf" + text,
    "both": lambda text: b"\xef\xbb\xbf" + text.replace(b"\n", b"\r\n"),
    "no last line end": lambda text: text.removesuffix(b"\n"),
}


@pytest.mark.parametrize("editor", EDITORS.values(), ids=EDITORS)
def test_what_an_editor_does_to_the_whole_file_is_no_edit(editor: object) -> None:
    """Saved by another editor, the file is neither damaged nor doubled, and the note in it stays."""
    noted = BEFORE.replace(b"- use uv\n", b"- use uv\n(my note)\n")
    assert callable(editor)
    assert not is_damaged(BEFORE, editor(noted))
    assert carry(editor(noted), BEFORE) == noted
    assert carry(editor(BEFORE), AFTER) == AFTER


def test_other_line_separators_stay_inside_the_persons_line() -> None:
    """Only a newline ends a line: a pasted U+2028, vertical tab or lone CR is part of the words, as are odd bytes."""
    note = "mine\u2028and\u2029more\x85and\x0b\x0c".encode() + b"\r\xff\xfe\n"
    on_disk = BEFORE.replace(b"- use uv\n", b"- use uv\n" + note)
    assert note in carry(on_disk, AFTER)


LINES = st.lists(
    st.sampled_from([b"", b"- a", b"- b", b"- c", b"## User preferences", b"- d", b"### keywords"]), max_size=14
)
NOTES = st.lists(
    st.tuples(st.integers(0, 14), st.sampled_from([b"mine 1", b"mine 2", b"- mine 3", b"# mine", b""])), max_size=4
)


def joined(lines: list[bytes]) -> bytes:
    """Write lines as a file."""
    return b"".join(line + b"\n" for line in lines)


@given(before=LINES, notes=NOTES, later=st.lists(LINES, min_size=1, max_size=3))
@settings(max_examples=100, deadline=None)
def test_no_line_that_the_person_added_is_ever_lost(
    before: list[bytes], notes: list[tuple[int, bytes]], later: list[list[bytes]]
) -> None:
    """Added anywhere, followed by any renderings: each note is still there, once for each time it was written."""
    edited = list(before)
    for place, note in notes:
        edited.insert(min(place, len(edited)), note)
    written = [note for _, note in notes if note]
    rendered, on_disk = joined(before), joined(edited)
    published = rendered
    for lines in later:
        merged = carry_edits(
            rendered_before=rendered, published_before=published, on_disk=on_disk, rendered_now=joined(lines)
        )
        rendered, published, on_disk = joined(lines), merged, merged
        kept = merged.split(b"\n")
        assert all(kept.count(note) == written.count(note) for note in written)


@given(before=LINES, gone=st.sets(st.integers(0, 13)), notes=NOTES)
@settings(max_examples=100, deadline=None)
def test_a_rendering_that_says_the_same_leaves_the_persons_file_alone(
    before: list[bytes], gone: set[int], notes: list[tuple[int, bytes]]
) -> None:
    """Whatever was added or taken out, rendering the same again gives the file as the person left it."""
    edited = [line for number, line in enumerate(before) if number not in gone]
    for place, note in notes:
        edited.insert(min(place, len(edited)), note)
    rendered, on_disk = joined(before), joined(edited)
    if not is_damaged(rendered, on_disk):
        assert carry(on_disk, rendered, before=rendered) == on_disk


@given(before=LINES, now=LINES, gone=st.sets(st.sampled_from([b"- a", b"- b", b"- c", b"- d"])))
@settings(max_examples=100, deadline=None)
def test_lines_that_the_person_took_out_stay_out(before: list[bytes], now: list[bytes], gone: set[bytes]) -> None:
    """A line taken out everywhere does not come back where the new rendering merely keeps it."""
    once = list(dict.fromkeys(before))
    kept = [line for line in once if line not in gone]
    rendered, on_disk = joined(once), joined(kept)
    if is_damaged(rendered, on_disk):
        return
    still_rendered = [line for line in once if line in now or line in gone]
    merged = carry(on_disk, joined(still_rendered), before=rendered).split(b"\n")
    assert not (gone & set(once)) & set(merged)


@given(before=LINES, now=LINES)
@settings(max_examples=100, deadline=None)
def test_without_edits_the_file_is_the_rendering(before: list[bytes], now: list[bytes]) -> None:
    """Merging adds nothing of its own."""
    assert carry(joined(before), joined(now), before=joined(before)) == joined(now)
