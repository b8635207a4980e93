"""Names of folders that are kept one after the other: they sort in the order in which they were made."""

from __future__ import annotations

from pathlib import Path

from memory_pipeline.clock import iso


def next_name(folder: Path, *, now: float) -> str:
    """Return the name of the next folder: a number, so that a clock that was set back changes nothing, and the time."""
    numbers = [int(number) for path in folder.iterdir() if (number := path.name.partition("-")[0]).isdecimal()]
    moment = "".join(character for character in (iso(now) or "")[:19] if character.isalnum())
    return f"{max(numbers, default=0) + 1:06}-{moment}"
