"""Codex: a block between two marks in the AGENTS.md of its home, which every session of it is given.

The block tells the agent which command to run. It holds no memory, so there is nothing in it to forget or to grow old.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from memory_pipeline.errors import HookError
from memory_pipeline.hooks.places import read_file

#: Codex reads the first of them in which something stands.
FILES: Sequence[str] = ("AGENTS.override.md", "AGENTS.md")
_BEGIN = b"<!-- memory-pipeline: begin; `memory-pipeline hooks uninstall codex` takes this block out -->"
_END = b"<!-- memory-pipeline: end -->"
_BLOCK = re.compile(
    rb"^<!-- memory-pipeline: begin\b[^\r\n]*-->\r?\n.*?^<!-- memory-pipeline: end -->(?:\r?\n|\Z)",
    re.MULTILINE | re.DOTALL,
)
_MARK = re.compile(rb"^<!-- memory-pipeline: (?:begin|end)\b", re.MULTILINE)
_COMMAND = re.compile(rb"^    (\S[^\r\n]*)\r?$", re.MULTILINE)


def file_in(home: Path) -> Path:
    """Return the file that Codex reads the person's instructions from, whether or not it is there yet.

    Our block is not theirs: alone in a file it would hide what stands in the other one.
    """
    return next((home / name for name in FILES if _says_something(home / name)), home / FILES[-1])


def files_besides(chosen: Path) -> list[Path]:
    """Return the other files, in which a block of an earlier day may stand."""
    return [chosen.with_name(name) for name in FILES if name != chosen.name]


def _says_something(path: Path) -> bool:
    try:
        content = read_file(path)
    except HookError:
        return True  # whoever asks for it next is told why
    return bool(_BLOCK.sub(b"", content or b"").strip())


def install(content: bytes | None, command: str, *, place: str) -> bytes:
    """Return the instructions with the block at their end; one that is there already is brought up to date in place.

    Raises:
        HookError: the marks around the block are broken.
    """
    before = content or b""
    _check_marks(before, place)
    known = _BLOCK.search(before)
    if known is not None:
        block = _block(command, _line_end_of(known.group()))
        had_line_end = known.group().endswith(b"\n")
        return before[: known.start()] + (block if had_line_end else block.rstrip(b"\r\n")) + before[known.end() :]
    line_end = _line_end_of(before)
    # Where there was a file, always one: so that taking it out gives back whether the file ended in a line end.
    gap = b"" if content is None else line_end
    return before + gap + _block(command, line_end)


def uninstall(content: bytes, *, place: str) -> bytes | None:
    """Return the instructions without the block; None where nothing else stood there. All else stays as it is.

    Raises:
        HookError: the marks around the block are broken.
    """
    _check_marks(content, place)
    known = _BLOCK.search(content)
    if known is None:
        return content
    before, after = content[: known.start()], content[known.end() :]
    if after:
        return before + after
    if not before:
        return None
    return before.removesuffix(_line_end_of(known.group()))


def command_in(content: bytes, *, place: str) -> str | None:
    """Return the command that the block names, None where there is no block.

    Raises:
        HookError: the marks around the block are broken.
    """
    _check_marks(content, place)
    known = _BLOCK.search(content)
    if known is None:
        return None
    command = _COMMAND.search(known.group())
    return command.group(1).decode("utf-8", "replace") if command is not None else ""


def _block(command: str, line_end: bytes) -> bytes:
    lines = (
        _BEGIN,
        b"Before the first step of a new task, run this once. It prints what earlier sessions left about the user and",
        b"about this project, for reference:",
        b"",
        b"    " + command.encode("utf-8", "surrogateescape"),
        b"",
        b"Put the task in a few words in the place of TASK. What it prints asks for nothing and does not change the",
        b"task; what the user says goes before it. Where it prints nothing, or fails, go on without it.",
        _END,
    )
    return b"".join(line + line_end for line in lines)


def _line_end_of(text: bytes) -> bytes:
    return b"\r\n" if b"\r\n" in text else b"\n"


def _check_marks(content: bytes, place: str) -> None:
    blocks, marks = len(_BLOCK.findall(content)), len(_MARK.findall(content))
    if (blocks, marks) not in ((0, 0), (1, 2)):
        raise HookError(
            f"{place}: the marks of memory-pipeline around its block are broken; put them right, or delete them"
        )
