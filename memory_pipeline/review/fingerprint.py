"""Fingerprints of what a person rejected: salted hashes of its words, by which it is known again, reworded or not."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable
from typing import TYPE_CHECKING

import orjson
from msgspec import Struct

from memory_pipeline.tombstones import tokens_of

if TYPE_CHECKING:
    from memory_pipeline.likeness import Sense

_HASH_CHARS = 16
_SALT_BYTES = 16
#: From here on, of all words of two statements, so many are the same that one is the other in other words.
_REWORDED_FROM = 0.6


class Fingerprint(Struct, frozen=True, kw_only=True):
    """A statement and its condition as hashes. No words stand in it."""

    salt: str
    whole: str
    words: frozenset[str]
    refused: frozenset[str]
    exact: frozenset[str]  # names, numbers, paths: what a rewording keeps
    negates: bool

    def covers(self, statement: str, condition: str) -> bool:
        """Whether a statement says what was rejected: in the same words or others, and not the opposite."""
        return self.covers_like(fingerprint_of(statement, condition, salt=self.salt))

    def covers_like(self, other: Fingerprint) -> bool:
        """Whether a statement with this fingerprint, of the same salt, says what was rejected."""
        if other.whole == self.whole:
            return True
        if (other.exact, other.negates) != (self.exact, self.negates):
            return False
        if other.refused & other.exact != self.refused & self.exact:
            return False
        # One refuses what the other does and perhaps more words of it: none is exchanged for another.
        less, more = sorted((self.refused, other.refused), key=len)
        if not less <= more or bool(less) != bool(more):
            return False
        words = len(self.words) + len(other.words)
        return words > 0 and 2 * len(self.words & other.words) >= _REWORDED_FROM * words

    def is_of(self, statement: str, condition: str) -> bool:
        """Whether it was made of these very words."""
        return fingerprint_of(statement, condition, salt=self.salt).whole == self.whole

    def as_json(self) -> str:
        """Write it as the store keeps it."""
        return orjson.dumps(
            {
                "salt": self.salt,
                "whole": self.whole,
                "words": sorted(self.words),
                "refused": sorted(self.refused),
                "exact": sorted(self.exact),
                "negates": self.negates,
            }
        ).decode()


def fingerprint_of(statement: str, condition: str, *, salt: str) -> Fingerprint:
    """Make the fingerprint of a statement."""
    from memory_pipeline.likeness import sense_of  # loaded where there is something to compare

    senses = [sense_of(statement), sense_of(condition)]
    return Fingerprint(
        salt=salt,
        whole=_hash(salt, " ".join([*tokens_of(statement), "|", *tokens_of(condition)])),
        words=_hashes(salt, senses, "words"),
        refused=_hashes(salt, senses, "refused"),
        exact=_hashes(salt, senses, "exact"),
        negates=any(sense.negates for sense in senses),
    )


def read_fingerprint(text: str) -> Fingerprint:
    """Read one as the store keeps it."""
    fields = orjson.loads(text)
    return Fingerprint(
        salt=fields["salt"],
        whole=fields["whole"],
        words=frozenset(fields["words"]),
        refused=frozenset(fields["refused"]),
        exact=frozenset(fields["exact"]),
        negates=fields["negates"],
    )


def new_salt() -> str:
    """Return a salt that nobody can guess."""
    return secrets.token_hex(_SALT_BYTES)


def _hashes(salt: str, senses: Iterable[Sense], part: str) -> frozenset[str]:
    return frozenset(_hash(salt, word) for sense in senses for word in getattr(sense, part))


def _hash(salt: str, word: str) -> str:
    return hashlib.sha256(f"{salt}\x1f{word}".encode("utf-8", "replace")).hexdigest()[:_HASH_CHARS]
