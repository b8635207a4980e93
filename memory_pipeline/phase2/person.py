"""What the person wrote into MEMORY.md stays: it is carried from the file on disk into the newly rendered one."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher


def carry_edits(
    *,
    rendered_before: bytes,
    published_before: bytes,
    on_disk: bytes | None,
    rendered_now: bytes,
    memories_before: Sequence[str | None] = (),
    memories_now: Sequence[str | None] = (),
) -> bytes:
    """Merge a person's edits line by line into a new rendering.

    ``rendered_before`` is what was rendered last, without any edit; ``published_before`` is what was written last,
    with the person's text of that time. The difference from the rendering to ``on_disk`` is the person's: lines they
    added are kept where they stand, lines they took out stay out. A file that is missing or damaged is no edit: what
    was published last counts in its place. ``memories_before`` and ``memories_now`` name the memory that each rendered
    line tells, so that a memory whose line was taken out stays out in whatever words it is told now.
    """
    from merge3 import Merge3

    if on_disk is None or is_damaged(published_before, on_disk):
        on_disk = published_before
    base, theirs, ours = (lines_of(text) for text in (rendered_before, on_disk, rendered_now))
    if memories_before and memories_now:
        taken_out = _memories_taken_out(base, theirs, memories_before)
        ours = [line for line, memory in zip(ours, memories_now, strict=True) if memory not in taken_out]
    merged: list[bytes] = []
    for group in Merge3(base, theirs, ours).merge_groups():
        if group[0] == "conflict":
            merged += _resolve(group[1], group[2], group[3])
        else:
            merged += group[1]
    return b"".join(merged)


def is_damaged(published_before: bytes, on_disk: bytes) -> bool:
    """Whether a file lost more than half of the lines that say something: then it was damaged, not edited."""
    before = [line for line in lines_of(published_before) if line.strip()]
    if not before:
        return False
    left = set(lines_of(on_disk))
    return sum(line in left for line in before) * 2 < len(before)


def _memories_taken_out(
    base: Sequence[bytes], theirs: Sequence[bytes], memories: Sequence[str | None]
) -> frozenset[str]:
    stays: set[str | None] = {None}
    for block in SequenceMatcher(None, base, theirs, autojunk=False).get_matching_blocks():
        stays.update(memories[block.a : block.a + block.size])
    return frozenset(memory for memory in memories if memory is not None and memory not in stays)


def _resolve(base: Sequence[bytes], theirs: Sequence[bytes], ours: Sequence[bytes]) -> list[bytes]:
    """Where both changed: the new rendering, less what the person took out, then what they wrote."""
    written: list[bytes] = []
    taken_out: set[bytes] = set()
    for kind, i1, i2, j1, j2 in SequenceMatcher(None, base, theirs, autojunk=False).get_opcodes():
        if kind in ("insert", "replace"):
            written += theirs[j1:j2]
        if kind in ("delete", "replace"):
            taken_out.update(line for line in base[i1:i2] if line.strip())
    kept = [line for line in ours if line not in taken_out]
    said_already = set(kept)
    blanks: list[bytes] = []
    for line in written:
        if not line.strip():
            blanks.append(line)
        elif line in said_already:
            blanks.clear()  # Those around what is there already would pile up.
        else:
            kept += [*blanks, line]
            blanks.clear()
    return kept


def lines_of(text: bytes) -> list[bytes]:
    """Split a file of the workspace into its lines, each with its newline."""
    # On newlines only: other characters that some call line ends may stand inside a person's line. What an editor
    # does to the file as a whole, a byte order mark or other line ends, is no edit.
    text = text.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n")
    lines = [line + b"\n" for line in text.split(b"\n")]
    if lines[-1] == b"\n":
        lines.pop()
    return lines
