"""The terms of a text, as search compares them: words without their endings, parts of identifiers, pairs of Chinese.

The same function makes the index and reads a query, so that whatever is typed as it was written is found.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

#: Scripts that write no spaces between words.
_UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af"
_AROUND = "\"'`“”‘’«»「」『』()[]{}<>,;:!?，。；：！？、…|"
_PART = re.compile(r"[^\W\d_]+|\d+(?:\.\d+)*")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_MOST_TERM_CHARS = 80


def terms_of(text: str) -> list[str]:
    """Return the terms of a text in order, repetitions included."""
    terms: list[str] = []
    for chunk in unicodedata.normalize("NFKC", text).split():
        if chunk.isascii():
            terms += _of_word(chunk)
            continue
        # Of every two neighbours the second is a run that is written without spaces.
        for number, part in enumerate(_unspaced_run().split(chunk)):
            if part:
                terms += _pairs(part) if number % 2 else _of_word(part)
    return terms


@cache
def _unspaced_run() -> re.Pattern[str]:
    return re.compile(f"([{_UNSPACED}]+)")  # made when it is needed: it takes longer than the rest of a start


def _pairs(run: str) -> list[str]:
    """Each two neighbours, which finds a word of any length; a single character stands for itself."""
    return [run] if len(run) == 1 else [run[index : index + 2] for index in range(len(run) - 1)]


def _of_word(chunk: str) -> list[str]:
    """The word as it was typed, and the parts that it is made of."""
    typed = chunk.strip(_AROUND).removesuffix(".")
    parts = [_stem(part.casefold()) for name in _CAMEL.split(typed) for part in _PART.findall(name)]
    whole = typed.casefold()[:_MOST_TERM_CHARS]
    if not parts:
        return [whole] if whole else []
    return parts if len(parts) == 1 and whole in (parts[0], _PART.findall(whole)[0]) else [whole, *parts]


def _stem(word: str) -> str:
    """Cut the commonest English endings, so that "deploys", "deployed" and "deploying" meet."""
    if len(word) < 4 or not word.isascii():
        return word
    for ending, least in (("ies", 3), ("ing", 3), ("ed", 3), ("es", 4), ("s", 3)):
        stem = word.removesuffix(ending)
        if stem == word or len(stem) < least or (ending == "s" and word.endswith(("ss", "us", "is"))):
            continue
        if ending == "ies":
            return f"{stem}y"
        if ending in ("ing", "ed") and len(stem) > 3 and stem[-1] == stem[-2] and stem[-1] not in "lsz":
            return stem[:-1]
        if ending == "es" and not stem.endswith(("sh", "ch", "s", "x", "z")):
            stem = word[:-1]
        word = stem
        break
    return word.removesuffix("e") if len(word) > 4 else word
