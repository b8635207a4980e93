"""What an agent says again of a memory that was put into its session, or that it read there: no new evidence.

A sentence of the agent's says it again when most of its words stand in the same order in what was told. The person's
own words are never touched: what they say again, they confirm.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from memory_pipeline.tombstones import tokens_of

REPEATED = "[said again from a memory, left out]"

#: So many words in the same order are no chance; a shorter sentence is never taken for a repetition.
_RUN = 4
_SHARE = 0.6
#: More than so much was never told: what comes after it is not compared.
_MOST_RUNS = 100_000
_MOST_CHARS = 500_000
_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s+|(?<=[。！？])|\n")


class Repeats:
    """Tells what was told before, in one session."""

    def __init__(self) -> None:
        self._told: set[int] = set()

    def hear(self, text: str) -> None:
        """Take in what a memory told the agent."""
        if len(self._told) < _MOST_RUNS:
            self._told.update(_runs(tokens_of(text[:_MOST_CHARS])))

    def left_of(self, text: str) -> str:
        """Return what an agent says without the sentences that were told to it before."""
        if not self._told:
            return text
        return "".join(REPEATED if self._is_told(part) else part for part in _sentences(text))

    def _is_told(self, sentence: str) -> bool:
        tokens = tokens_of(sentence)
        covered: set[int] = set()
        for start, run in enumerate(_runs(tokens)):
            if run in self._told:
                covered.update(range(start, start + _RUN))
        return bool(covered) and len(covered) >= _SHARE * len(tokens)


def _runs(tokens: Sequence[str]) -> Iterator[int]:
    return (hash(tuple(tokens[start : start + _RUN])) for start in range(len(tokens) - _RUN + 1))


def _sentences(text: str) -> Iterator[str]:
    """Split a text into its sentences and what stands between them."""
    start = 0
    for gap in _SENTENCE_END.finditer(text):
        yield text[start : gap.start()]
        yield gap.group()
        start = gap.end()
    yield text[start:]
