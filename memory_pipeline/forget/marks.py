"""The marks of what is forgotten: words and short phrases that nothing left holds, to be searched for."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from msgspec import Struct

_WORD = re.compile(r"[^\W_]{4,}")
_TOKEN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_\u3040-\u30ff\u3400-\u9fff]+")
_PHRASE_TOKENS = 3
#: Shorter phrases turn up by chance.
_PHRASE_BYTES = 9
#: Such a word can't be told from a piece of a hash.
_HEX = re.compile(r"[0-9a-f]+")

_PACKAGE = Path(__file__).resolve().parent.parent


class Marks(Struct, frozen=True, kw_only=True):
    """Words of four letters and more, and phrases of three words, all in folded case."""

    words: frozenset[str] = frozenset()
    phrases: frozenset[str] = frozenset()

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.words) + len(self.phrases)

    def are_in(self, text: str) -> bool:
        """Whether a text holds one of them, as it stands or as JSON escapes it."""
        folded = text.casefold()
        # A word never crosses what is no letter, so a list of the runs of letters, each once, tells of all of them.
        runs = _runs_of(folded)
        return any(word in runs for word in self.words) or any(
            form in folded for phrase in (*self.phrases, *self._not_ascii()) for form in _forms(phrase)
        )

    def _not_ascii(self) -> Iterator[str]:
        return (word for word in self.words if not word.isascii())


def marks_of(forgotten: Iterable[str], survivors: Iterable[str]) -> Marks:
    """Return the marks of the forgotten texts: what they hold, and neither a survivor nor this program's own text."""
    texts = [line for text in forgotten for line in text.casefold().splitlines()]
    left = "\n".join(text.casefold() for text in survivors)
    program = _program_text()
    runs = f"{_runs_of(left)}\n{_program_runs()}"
    words = {word for text in texts for word in _WORD.findall(text)}
    phrases = {phrase for text in texts for phrase in _phrases(text)}
    return Marks(
        words=frozenset(word for word in words if not _HEX.fullmatch(word) and word not in runs),
        phrases=frozenset(phrase for phrase in phrases if phrase not in left and phrase not in program),
    )


def _phrases(text: str) -> Iterator[str]:
    spans = [match.span() for match in _TOKEN.finditer(text)]
    for first in range(len(spans) - _PHRASE_TOKENS + 1):
        phrase = text[spans[first][0] : spans[first + _PHRASE_TOKENS - 1][1]]
        says_something = sum(not token.isdigit() for token in _TOKEN.findall(phrase)) > 1  # more than a date
        if says_something and len(phrase.encode("utf-8", "replace")) >= _PHRASE_BYTES:
            yield phrase


def _forms(phrase: str) -> set[str]:
    joined = " ".join(phrase.split())
    return {
        form
        for text in (phrase, joined)
        for form in (text, json.dumps(text, ensure_ascii=False)[1:-1], json.dumps(text)[1:-1])
    }


def _runs_of(folded: str) -> str:
    return "\n".join(set(_WORD.findall(folded)))


@cache
def _program_runs() -> str:
    return _runs_of(_program_text())


@cache
def _program_text() -> str:
    texts = [path.read_text(encoding="utf-8") for path in sorted(_PACKAGE.rglob("*.py"))]
    return "\n".join(texts).casefold()
