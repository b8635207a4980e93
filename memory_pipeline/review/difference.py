"""What differs between two statements, word by word."""

from __future__ import annotations

import difflib
import re
from typing import NamedTuple

from memory_pipeline.visible import visible


class Part(NamedTuple):
    """Some words of one text; ``is_alone`` where the other text does not hold them there."""

    text: str
    is_alone: bool


#: A word, a sign, white space, or a hidden character as it shows; of Chinese, Japanese and Korean a single character,
#: since they write without spaces.
_WORD = re.compile(
    r"⟨U\+[0-9A-F]+⟩|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+|\s+|."
)


def difference(before: str, after: str) -> tuple[list[Part], list[Part]]:
    """Return both texts in parts, hidden characters written out: what only one of them holds is marked so."""
    was, now = (_WORD.findall(visible(text)) for text in (before, after))
    matcher: difflib.SequenceMatcher[str] = difflib.SequenceMatcher(None, was, now, autojunk=False)
    first: list[Part] = []
    second: list[Part] = []
    for what, start, end, other_start, other_end in matcher.get_opcodes():
        gone, new = "".join(was[start:end]), "".join(now[other_start:other_end])
        if gone:
            first.append(Part(gone, is_alone=what != "equal"))
        if new:
            second.append(Part(new, is_alone=what != "equal"))
    return first, second
