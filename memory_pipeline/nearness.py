"""Statements by the words that count, so that one is compared with the few that could be like it."""

from __future__ import annotations

import heapq

from memory_pipeline.likeness import signature

#: No more than so many are worth a closer look: what says the same, or the opposite, shares nearly every word.
_MOST_NEAR = 64
#: A word that so many statements hold tells little, and is looked at only where the rarer ones found too few.
_COMMON_FROM = 500


class StatementIndex:
    """An index of statements within scopes, each under a key of the caller's. A key may have several statements."""

    def __init__(self) -> None:
        self._keys_of: dict[tuple[str, str], dict[str, None]] = {}

    def put(self, key: str, scope: str, statement: str) -> None:
        """Make a statement findable."""
        for word in signature(statement):
            self._keys_of.setdefault((scope, word), {})[key] = None

    def near(self, scope: str, statement: str) -> list[str]:
        """Return the keys of the statements of a scope that share words with this one.

        Those that share the most words, and the rarest, come first, then by key; at most 64. Two statements that say
        the same, or contradict each other, share at least one word: see likeness.signature.
        """
        words = sorted(signature(statement))  # in one order, since sums of fractions depend on it
        found = [keys for word in words if (keys := self._keys_of.get((scope, word)))]
        shares: dict[str, float] = {}
        for keys in sorted(found, key=len):
            if len(keys) >= _COMMON_FROM and len(shares) >= _MOST_NEAR:
                # Whoever shares only common words is no candidate any more, but each may add to what one shares.
                for key in shares.keys() & keys.keys():
                    shares[key] += 1 / len(keys)
                continue
            for key in keys:
                shares[key] = shares.get(key, 0.0) + 1 / len(keys)
        return heapq.nsmallest(_MOST_NEAR, shares, key=lambda key: (-shares[key], key))
