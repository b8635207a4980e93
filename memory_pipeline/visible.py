"""Texts of strangers for the eye: what is hidden in them, or looks like something else, is written out."""

from __future__ import annotations

import unicodedata

#: Drawn as nothing, or as a blank, though they count as printable.
_BLANKS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")
_SELECTORS = (range(0xFE00, 0xFE0F), range(0xE0100, 0xE01F0))  # but not U+FE0F, which ordinary emoji carry


def visible(text: str) -> str:
    """Return a text in which control, bidirectional and zero-width characters and odd spaces show as ⟨U+202E⟩.

    A tab is a space, and a line end stays one, so that the caller can lay the lines out.
    """
    return "".join(map(_shown, text.replace("\r\n", "\n")))


def _shown(character: str) -> str:
    if character == "\n" or (character.isprintable() and not _is_hidden(character)):
        return character
    return " " if character in "\t " else f"⟨U+{ord(character):04X}⟩"


def _is_hidden(character: str) -> bool:
    code = ord(character)
    is_odd_space = unicodedata.category(character) == "Zs" and character != " "
    return is_odd_space or character in _BLANKS or any(code in selectors for selectors in _SELECTORS)
