"""The block in Codex's instructions: every other byte stays, and taking it out gives back what was there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_pipeline.errors import HookError
from memory_pipeline.hooks.codex import command_in, file_in, install, uninstall

COMMAND = '/opt/bin/memory-pipeline context --cwd "$PWD" --task "TASK"'
PLACE = "AGENTS.md"
TEXTS = st.binary(max_size=20) | st.lists(
    st.sampled_from([b"# Rules", b"\n", b"\r\n", b"Prefer uv.", b"\xef\xbb\xbf", b"\xff", b"<!-- x -->", b"    code"])
).map(b"".join)


@settings(max_examples=100)
@given(content=st.none() | TEXTS)
def test_taking_it_out_gives_back_what_was_there(content: bytes | None) -> None:
    """Byte for byte, whatever it is; no file where there was none. Putting it in twice changes nothing."""
    installed = install(content, COMMAND, place=PLACE)
    assert installed.startswith(content or b"")
    assert command_in(installed, place=PLACE) == COMMAND
    assert install(installed, COMMAND, place=PLACE) == installed
    assert uninstall(installed, place=PLACE) == content


@settings(max_examples=50)
@given(before=TEXTS, after=TEXTS)
def test_what_a_person_wrote_behind_it_stays(before: bytes, after: bytes) -> None:
    """And so does what stood before it."""
    installed = install(before, COMMAND, place=PLACE)
    rest = uninstall(installed + after, place=PLACE)
    assert rest is not None or not after
    assert (rest or b"").startswith(before)
    assert (rest or b"").endswith(after)


def test_a_moved_program_is_written_into_the_block_that_is_there() -> None:
    """In its place, with everything around it as it was."""
    installed = install(b"Prefer uv.\r\n", COMMAND, place=PLACE) + b"More.\r\n"
    moved = install(installed, "/elsewhere/memory-pipeline context", place=PLACE)
    assert command_in(moved, place=PLACE) == "/elsewhere/memory-pipeline context"
    assert moved.startswith(b"Prefer uv.\r\n")
    assert moved.endswith(b"-->\r\nMore.\r\n")


@pytest.mark.parametrize(
    "broken",
    [
        b"<!-- memory-pipeline: begin -->\nx\n",
        b"<!-- memory-pipeline: end -->\n",
        b"<!-- memory-pipeline: end -->\n<!-- memory-pipeline: begin -->\n",
        b"<!-- memory-pipeline: begin -->\n<!-- memory-pipeline: begin -->\n<!-- memory-pipeline: end -->\n",
    ],
    ids=str,
)
def test_broken_marks_are_refused(broken: bytes) -> None:
    """What lies between them can't be told from what a person wrote."""
    for change in (lambda: install(broken, COMMAND, place=PLACE), lambda: uninstall(broken, place=PLACE)):
        with pytest.raises(HookError, match=re.escape(PLACE)):
            change()


def test_the_file_that_codex_reads_is_chosen(tmp_path: Path) -> None:
    """An override comes before the usual one; where there is neither, the usual one is made."""
    assert file_in(tmp_path).name == "AGENTS.md"
    (tmp_path / "AGENTS.override.md").write_text("x", encoding="utf-8")
    assert file_in(tmp_path).name == "AGENTS.override.md"


@pytest.mark.parametrize("override", [b"", b"\n \n", install(None, COMMAND, place=PLACE)])
def test_a_file_without_words_of_the_person_is_not_read_before_the_other(tmp_path: Path, override: bytes) -> None:
    """Codex passes an empty one over; with nothing but our block in it, it would hide the other."""
    (tmp_path / "AGENTS.override.md").write_bytes(override)
    assert file_in(tmp_path).name == "AGENTS.md"
