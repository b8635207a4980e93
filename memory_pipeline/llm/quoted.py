"""Text as a quotation for a model: between two lines that the text can't hold."""

from __future__ import annotations

import hashlib
import re

from msgspec import Struct

_SURROGATE = re.compile("[\ud800-\udfff]")


class Quoted(Struct, frozen=True, kw_only=True):
    """A text, and the two lines between which it is quoted."""

    opening: str
    closing: str
    text: str

    def __str__(self) -> str:
        return f"{self.opening}\n{self.text}\n{self.closing}"


def quote(text: str, *, name: str) -> Quoted:
    """Return ``text`` as a quotation; ``name`` begins its marks. The same text, the same marks."""
    text = without_surrogates(text)
    # Taken from the text itself: nobody who wrote a part of it could know it, and it is the same every time.
    mark = _digest(text, name)
    while mark in text:
        mark = _digest(mark, name)
    return Quoted(opening=f"<<<{mark}", closing=f"{mark}>>>", text=text)


def without_surrogates(text: str) -> str:
    """Return ``text`` with every lone surrogate, which no encoding can carry, replaced by U+FFFD."""
    try:
        text.encode()  # a third of the time of looking for them
    except UnicodeEncodeError:
        return _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)
    return text


def _digest(text: str, name: str) -> str:
    return f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"
