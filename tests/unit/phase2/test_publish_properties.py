"""What holds for any MEMORY.md, any edits of a person and any new rendering."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from memory_pipeline.phase2.baseline import read_baseline
from memory_pipeline.phase2.person import is_damaged
from memory_pipeline.phase2.places import Places, places_below
from memory_pipeline.phase2.publish import Publication, discard_staged, let_go_of_kept, look_again, publish, stage
from memory_pipeline.phase2.render import RenderedLine

OUR_LINES = ("# Task Group: shop", "", "## User preferences", "- a", "- b", "- c", "- d", "- e", "### keywords")
RENDERINGS = st.lists(st.sampled_from(OUR_LINES), max_size=12)
PERSONS_LINES = st.sampled_from(["mine 1", "mine 2", "- mine 3", "# mine", "- a", ""])
#: Where a line is added, and which; and the lines that are taken out, by their place.
EDITS = st.tuples(st.lists(st.tuples(st.integers(0, 12), PERSONS_LINES), max_size=4), st.sets(st.integers(0, 12)))
MOMENTS = ["before", "kept MEMORY.md", "wrote MEMORY.md", "wrote baseline", "after"]


def publication(number: int, lines: list[str]) -> Publication:
    """Make a publication with this MEMORY.md; each line that is a bullet tells a memory."""
    return Publication(
        consolidation_id=number,
        settings="s",
        handbook=[RenderedLine(text=line, memory_id=f"m_{line}" if line.startswith("-") else None) for line in lines],
        files={"memory_summary.md": b"v1\n", "raw_memories.md": b"# Raw Memories\n"},
        watermark=float(number),
    )


def run(where: Places, new: Publication, on_step: object = None) -> None:
    """Publish as a run does."""
    assert on_step is None or callable(on_step)
    stage(where, new)
    publish(where, new, check_fence=lambda: None, on_step=on_step or (lambda _name: None))
    discard_staged(where)
    let_go_of_kept(where)


def start_again(where: Places) -> None:
    """Look as each start does."""
    look_again(where)
    let_go_of_kept(where)


def edited(lines: list[str], edits: tuple[list[tuple[int, str]], set[int]]) -> bytes:
    """Write a file as a person leaves it, who takes out at most half of what is there."""
    added, gone = edits
    half = len([line for line in lines if line]) // 2
    leaves = set(sorted(number for number in gone if number < len(lines))[:half])
    left = [line for number, line in enumerate(lines) if number not in leaves]
    for place, line in added:
        left.insert(min(place, len(left)), line)
    return "".join(f"{line}\n" for line in left).encode()


def said(text: bytes) -> Counter[str]:
    """Count the lines that say something."""
    return Counter(line for line in text.decode().split("\n") if line.strip())


@given(before=RENDERINGS, now=RENDERINGS, edits=EDITS, moment=st.sampled_from(MOMENTS))
@settings(max_examples=100, deadline=None)
def test_whenever_a_person_saves_nothing_is_lost_and_nothing_doubled(
    before: list[str], now: list[str], edits: tuple[list[tuple[int, str]], set[int]], moment: str
) -> None:
    """Saved in place, before or during the run or after it into the file that was: their lines stay, ours come once."""
    before, now = _without_repeats(before), _without_repeats(now)
    with tempfile.TemporaryDirectory() as folder:
        where = places_below(Path(folder) / "state", Path(folder) / "memories")
        where = replace(where, write=_write_quickly)
        run(where, publication(1, before))
        handbook = where.workspace / "MEMORY.md"
        text = edited(before, edits)
        with handbook.open("r+b", buffering=0) as editor:

            def saves(step: str) -> None:
                if step == moment:
                    editor.seek(0)
                    editor.truncate()
                    editor.write(text)

            saves("before")
            run(where, publication(2, now), saves)
            saves("after")
            assume(editor.tell() or not text)  # A file that says the same is not exchanged: that moment never came.
        start_again(where)
        published = handbook.read_bytes()
        added = said(text) - Counter(before)  # A line taken out and put back is no edit.
        told = said(published)
        assert {line for line in added if not told[line]} == set()
        ours = Counter(line for line in now if line)
        assert {line for line in told if told[line] > ours[line] + added[line]} - set(before) == set()
        if not is_damaged(read_baseline(where.baseline).published, published):
            run(where, publication(3, now))
            settled = handbook.read_bytes()
            assert said(settled) == said(published)
            run(where, publication(4, now))
            start_again(where)
            assert handbook.read_bytes() == settled
        assert [path.name for path in where.workspace.iterdir() if path.name.startswith(".")] == []


def _write_quickly(path: Path, content: bytes) -> None:
    """Write without waiting for the disk: no power fails here."""
    path.write_bytes(content)


def _without_repeats(lines: list[str]) -> list[str]:
    """A rendering says each thing once."""
    return [line for number, line in enumerate(lines) if not line or line not in lines[:number]]
