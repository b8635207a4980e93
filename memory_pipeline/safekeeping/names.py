"""Names of folders that are kept one after the other: they sort in the order in which they were made."""

from __future__ import annotations

import re
from pathlib import Path

from memory_pipeline.clock import iso

_NUMBERED = re.compile(r"[0-9]{6,}-[0-9]{8}T[0-9]{6}")


def next_name(folder: Path, *, now: float) -> str:
    """Return the name of the next folder: a number, so that a clock that was set back changes nothing, and the time."""
    numbers = [int(number) for path in folder.iterdir() if (number := path.name.partition("-")[0]).isdecimal()]
    moment = "".join(character for character in (iso(now) or "")[:19] if character.isalnum())
    return f"{max(numbers, default=0) + 1:06}-{moment}"


def numbered_in(folder: Path) -> list[Path]:
    """Return the folders with such names, the newest first. What a person put there under another name is none.

    Raises:
        OSError: the folder can't be listed.
    """
    found = (path for path in folder.iterdir() if _NUMBERED.fullmatch(path.name) and path.is_dir())
    return sorted(found, key=lambda path: (int(path.name.partition("-")[0]), path.name), reverse=True)
