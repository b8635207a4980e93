"""Statements by the words that count, so that one is compared with the few that could be like it."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from itertools import islice

from memory_pipeline.likeness import close_keys, signature

#: No more than so many are worth a closer look: what says the same, or the opposite, shares nearly every word.
_MOST_NEAR = 64
#: Of a word that more statements hold than this, only so many are looked at, and only where rarer ones found too few.
_COMMON_FROM = 200


class StatementIndex:
    """An index of statements within scopes, each under a key of the caller's. A key may have several statements.

    What may be the same, or contradict, is found by all of its words but one, however alike the others are: of
    thousands that share all words but a name, none is looked at for that. What is merely like is found by rarer words.
    """

    def __init__(self) -> None:
        self._keys_of: dict[tuple[str, str], dict[str, None]] = {}
        self._close: dict[tuple[str, object], dict[str, None]] = {}
        # Taken in when their scope is first asked for: of many projects, a run looks at those where something was said.
        self._waiting: dict[str, list[tuple[str, str]]] = {}

    def put(self, key: str, scope: str, statement: str) -> None:
        """Make a statement findable."""
        self._waiting.setdefault(scope, []).append((key, statement))

    def _take_in(self, scope: str) -> None:
        for key, statement in self._waiting.pop(scope, ()):
            for word in signature(statement):
                self._keys_of.setdefault((scope, word), {})[key] = None
            for close in close_keys(statement).kept_under:
                self._close.setdefault((scope, close), {})[key] = None

    def close(self, scope: str, statement: str) -> list[str]:
        """Return the keys of the statements that may be the same, or contradict, but for one word: at most 64."""
        self._take_in(scope)
        found: dict[str, None] = {}
        for close in close_keys(statement).looked_up:
            found.update(dict.fromkeys(islice(self._close.get((scope, close), ()), _MOST_NEAR)))
        return sorted(found)[:_MOST_NEAR]

    def near(self, scope: str, statement: str) -> list[str]:
        """Return the keys of the statements of a scope that share words with this one.

        First come those that may be the same or contradict but for one word, then those that share the most words, and
        the rarest, then by key; at most 64. Two statements that say the same, or contradict each other, share at least
        one word: see likeness.signature.
        """
        close = self.close(scope, statement)
        room = _MOST_NEAR - len(close)
        shares = self._sharing(scope, statement)
        for key in close:
            shares.pop(key, None)
        return close + heapq.nsmallest(room, shares, key=lambda key: (-shares[key], key))

    def _sharing(self, scope: str, statement: str) -> dict[str, float]:
        words = sorted(signature(statement))  # in one order, since sums of fractions depend on it
        found = [keys for word in words if (keys := self._keys_of.get((scope, word)))]
        shares: dict[str, float] = {}
        for keys in sorted(found, key=len):
            weight = 1 / len(keys)
            looked_at: Iterable[str] = keys
            if len(keys) > _COMMON_FROM:
                # Whoever shares only common words is hardly a candidate, but each may add to what one shares.
                enough = len(shares) >= _MOST_NEAR
                looked_at = [key for key in shares if key in keys] if enough else [*islice(keys, _COMMON_FROM)]
            for key in looked_at:
                shares[key] = shares.get(key, 0.0) + weight
        return shares
