"""Statements by the words that count, so that one is compared with the few that could be like it."""

from __future__ import annotations

import hashlib
import heapq
import unicodedata
from collections.abc import Collection, Iterable
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path
from typing import Final, Protocol

from msgspec import Struct

from memory_pipeline import __version__
from memory_pipeline.likeness import close_keys, signature

#: The modules of this package on which the keys of a statement depend.
MADE_BY = ("nearness", "likeness", "changes", "folding", "mentions", "rivals", "slots", "switches", "values")

#: No more than so many are worth a closer look: what says the same, or the opposite, shares nearly every word.
_MOST_NEAR = 64
#: Of a word that more statements hold than this, only so many are looked at, and only where rarer ones found too few.
_COMMON_FROM = 200


class StoredKeys(Protocol):
    """Statements that are kept elsewhere, by their keys (see ``keys_of``)."""

    def under(self, key: int, *, most: int) -> list[str]:
        """Return what is kept under a key, in one order, at most so many."""
        ...

    def among(self, key: int, names: Collection[str]) -> list[str]:
        """Return which of these are kept under a key."""
        ...


class StatementIndex:
    """An index of statements within scopes, each under a name of the caller's. A name may have several statements.

    What may be the same, or contradict, is found by all of its words but one, however alike the others are: of
    thousands that share all words but a name, none is looked at for that. What is merely like is found by rarer words.
    """

    def __init__(self, stored: StoredKeys | None = None) -> None:
        """Begin with none, or with what is ``stored``."""
        self._stored = stored
        self._put: dict[int, dict[str, None]] = {}

    def put(self, name: str, scope: str, statement: str) -> None:
        """Make a statement findable."""
        for key in keys_of(scope, statement):
            self._put.setdefault(key, {})[name] = None

    def close(self, scope: str, statement: str) -> list[str]:
        """Return the names of the statements that may be the same, or contradict, but for one word: at most 64."""
        found: dict[str, None] = {}
        for key in _keys(scope, statement).looked_up:
            found.update(dict.fromkeys(islice(self._under(key, _MOST_NEAR), _MOST_NEAR)))
        return sorted(found)[:_MOST_NEAR]

    def near(self, scope: str, statement: str) -> list[str]:
        """Return the names of the statements of a scope that share words with this one.

        First come those that may be the same or contradict but for one word, then those that share the most words, and
        the rarest, then by name; at most 64. Two statements that say the same, or contradict each other, share at least
        one word: see likeness.signature.
        """
        close = self.close(scope, statement)
        room = _MOST_NEAR - len(close)
        shares = self._sharing(scope, statement)
        for name in close:
            shares.pop(name, None)
        return close + heapq.nsmallest(room, shares, key=lambda name: (-shares[name], name))

    def _sharing(self, scope: str, statement: str) -> dict[str, float]:
        found = {
            key: dict.fromkeys(islice(self._under(key, _COMMON_FROM + 1), _COMMON_FROM + 1))
            for key in _keys(scope, statement).words
        }
        shares: dict[str, float] = {}
        for key, names in sorted(found.items(), key=lambda pair: len(pair[1])):
            if not names:
                continue
            looked_at: Iterable[str] = names
            if len(names) > _COMMON_FROM:
                # Whoever shares only common words is hardly a candidate, but each may add to what one shares.
                enough = len(shares) >= _MOST_NEAR
                looked_at = self._among(key, shares) if enough else islice(names, _COMMON_FROM)
            for name in looked_at:
                shares[name] = shares.get(name, 0.0) + 1 / len(names)
        return shares

    def _under(self, key: int, most: int) -> Iterable[str]:
        stored = self._stored.under(key, most=most) if self._stored is not None else ()
        return chain(self._put.get(key, ()), stored)

    def _among(self, key: int, names: Collection[str]) -> Collection[str]:
        stored = self._stored.among(key, names) if self._stored is not None else ()
        return {name for name in self._put.get(key, ()) if name in names}.union(stored)


class _Keys(Struct, frozen=True, kw_only=True):
    """The keys of a statement within its scope."""

    words: tuple[int, ...]
    kept_under: tuple[int, ...]  # forms in which it differs from a close one, beside the words
    looked_up: tuple[int, ...]


def keys_of(scope: str, statement: str) -> frozenset[int]:
    """Return the keys under which a statement is kept, the same on every machine: numbers of 63 bits."""
    keys = _keys(scope, statement)
    return frozenset((*keys.words, *keys.kept_under))


@lru_cache(maxsize=1 << 12)
def _keys(scope: str, statement: str) -> _Keys:
    within = hashlib.blake2b(scope.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    close = close_keys(statement)
    return _Keys(
        # In one order, since sums of fractions depend on it.
        words=tuple(_number(within, ("word", word)) for word in sorted(signature(statement))),
        kept_under=tuple(_number(within, key) for key in close.kept_under),
        looked_up=tuple(_number(within, key) for key in close.looked_up),
    )


def _number(within: bytes, key: object) -> int:
    written = repr(_in_order(key)).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(written, digest_size=8, key=within).digest(), "big") >> 1


def _in_order(key: object) -> object:
    """A key in which sets stand in order, so that it is written alike in every process."""
    if isinstance(key, frozenset):
        return sorted(key)
    return tuple(map(_in_order, key)) if isinstance(key, tuple) else key


def _keys_version() -> str:
    # A hash of the code that makes them, and of what Python knows of letters: too many keys made anew cost a moment,
    # too few would hide a statement.
    hashed = hashlib.sha256(f"{__version__} {unicodedata.unidata_version}".encode())
    for name in MADE_BY:
        hashed.update(Path(__file__).with_name(f"{name}.py").read_bytes())
    return hashed.hexdigest()[:16]


#: What tells keys of this program from those that another version of it made. Read while this very code is loaded: a
#: program that runs on while it is updated must not take its keys for those of its successor.
KEYS_VERSION: Final = _keys_version()
