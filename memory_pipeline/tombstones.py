"""Tombstones: what was forgotten, kept as salted hashes alone, so that it is known again when it comes back.

One file a forgetting, in a folder of its own, written whole before anything is deleted: an older copy of the state
folder put over the present one brings none of it back. No words and no ids stand in it.
"""

from __future__ import annotations

import hashlib
import math
import os
import re
import unicodedata
from collections.abc import Iterable, Sequence
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import orjson
from msgspec import Struct

from memory_pipeline.clock import iso
from memory_pipeline.errors import StoreError
from memory_pipeline.files import make_private_folder, write_whole

if TYPE_CHECKING:
    from memory_pipeline.records import Entry

_FORMAT = 1
_SUFFIX = ".jsonl"
_HASH_CHARS = 32
_SALT_BYTES = 16
#: A statement of so many words is known inside a longer line too; a shorter one only as the whole of what is told.
_TELLING_TOKENS = 4

#: A word, or one character of a script that writes none between them.
_TOKEN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_\u3040-\u30ff\u3400-\u9fff]+")


class TombstoneKind(StrEnum):
    """What a tombstone stands for."""

    THREAD = "thread"  # a whole thread, by its id: never extracted again
    PART = "part"  # a thread of which something was forgotten: what was told of it as a whole is made anew
    ENTRY = "entry"  # by its id
    MEMORY = "memory"  # by its id
    LINE = "line"  # a line of a log, by thread and hash, or by thread and words: never evidence again
    SPARED = "spared"  # an entry that stays though it rests on such a line too, by its id
    RECORD = "record"  # a line of the journal, by the id of its record
    TEXT = "text"  # a statement or title that nothing left tells, by its words in a row: known where files come back
    WORDS = "words"  # words in a row: whatever holds them is never remembered again
    SETTINGS = "settings"  # a project or thread, by the target of its settings: what was set for it so far goes
    SWITCH = "switch"  # what one of those switches said: it stays so, unseen, until a person sets it anew


class Tombstone(Struct, frozen=True, kw_only=True):
    """One thing to forget: an id (see ``line_value`` for lines), or a text."""

    kind: TombstoneKind
    value: str


def line_value(thread_id: str, line_sha256: str) -> str:
    """Return what names a line of a thread's log."""
    return f"{thread_id}\x1f{line_sha256}"


def said_value(thread_id: str, text: str) -> str:
    """Return what names a line of a thread's log by its words: a log may be written anew, with other times in it."""
    return f"{thread_id}\x1f{' '.join(tokens_of(text))}"


def switch_value(target: str, key: str, value: str) -> str:
    """Return what names a switch of a project or thread in one position."""
    return f"{target}\x1f{key}\x1f{value}"


def tokens_of(text: str) -> list[str]:
    """Return the words of a text as they are compared: case and form folded; of Chinese and kana, each character."""
    return _TOKEN.findall(unicodedata.normalize("NFKC", text).casefold())


class _Forgetting(Struct, frozen=True, kw_only=True):
    """What one file holds."""

    salt: bytes
    at: float
    hashes: dict[TombstoneKind, frozenset[str]]
    lengths: dict[TombstoneKind, frozenset[int]]  # of texts and words: how many tokens

    def has(self, kind: TombstoneKind, value: str) -> bool:
        return kind in self.hashes and _hash(self.salt, kind, value) in self.hashes[kind]

    def has_tokens(self, kind: TombstoneKind, tokens: Sequence[str], *, at_least: int = 1) -> bool:
        for length in self.lengths.get(kind, ()):
            if length >= at_least:
                for start in range(len(tokens) - length + 1):
                    if self.has(kind, " ".join(tokens[start : start + length])):
                        return True
        return False


class Tombstones:
    """Everything that was forgotten, as far as hashes tell."""

    def __init__(self, forgettings: Sequence[_Forgetting] = (), *, digest: str = "") -> None:
        self._forgettings = forgettings
        self.digest = digest

    @classmethod
    def of(cls, tombstones: Iterable[Tombstone], *, now: float) -> Tombstones:
        """Return tombstones that are not written yet."""
        return cls([_forgetting_of(tombstones, os.urandom(_SALT_BYTES), now)])

    def with_others(self, others: Tombstones) -> Tombstones:
        """Return these and the others."""
        return Tombstones([*self._forgettings, *others._forgettings], digest=self.digest)

    @property
    def is_empty(self) -> bool:
        """Whether nothing was ever forgotten."""
        return not self._forgettings

    def has_thread(self, thread_id: str) -> bool:
        """Whether a thread was forgotten as a whole."""
        return self._has(TombstoneKind.THREAD, thread_id)

    def touches(self, thread_id: str) -> bool:
        """Whether a thread, or a part of it, was forgotten."""
        return self.has_thread(thread_id) or self._has(TombstoneKind.PART, thread_id)

    def touched_at(self, thread_id: str) -> float:
        """Return when a part of a thread was last forgotten; 0 for never."""
        return max((one.at for one in self._forgettings if one.has(TombstoneKind.PART, thread_id)), default=0.0)

    def has_memory(self, memory_id: str) -> bool:
        """Whether a memory was forgotten."""
        return self._has(TombstoneKind.MEMORY, memory_id)

    def has_record(self, record_id: str) -> bool:
        """Whether a line of the journal was forgotten."""
        return self._has(TombstoneKind.RECORD, record_id)

    def has_line(self, thread_id: str, line_sha256: str) -> bool:
        """Whether a line of a thread's log must not be evidence again."""
        return self._has(TombstoneKind.LINE, line_value(thread_id, line_sha256))

    def has_said(self, thread_id: str, text: str) -> bool:
        """Whether a thread's log says what must not be evidence again, in whatever line."""
        return self._has(TombstoneKind.PART, thread_id) and self._has(TombstoneKind.LINE, said_value(thread_id, text))

    def has_entry_id(self, entry_id: str) -> bool:
        """Whether the entry of this id was forgotten."""
        return self._has(TombstoneKind.ENTRY, entry_id)

    def has_entry(self, entry: Entry) -> bool:
        """Whether an entry must go: it, its thread or its words were forgotten, or what it rests on and not it."""
        return (
            self.has_entry_id(entry.entry_id)
            or self.has_thread(entry.thread_id)
            or self.holds_words(entry.statement, entry.condition)
            or any(self._takes_lines_of(entry, one) for one in self._forgettings)
        )

    def spares(self, entry_id: str) -> bool:
        """Whether an entry stays though a line that it rests on was forgotten."""
        return self._has(TombstoneKind.SPARED, entry_id)

    def takes_settings(self, target: str, *, at: float) -> bool:
        """Whether what was set for a project or thread at that time was forgotten."""
        return at <= self.settings_taken_at(target)

    def knows_settings_of(self, target: str) -> bool:
        """Whether settings of a project or thread were ever forgotten."""
        return self._has(TombstoneKind.SETTINGS, target)

    def settings_taken_at(self, target: str) -> float:
        """Return when the settings of a project or thread were last forgotten; before all time for never."""
        return max((one.at for one in self._forgettings if one.has(TombstoneKind.SETTINGS, target)), default=-math.inf)

    @property
    def holds_switches(self) -> bool:
        """Whether any switch of something forgotten stays as it was."""
        return any(TombstoneKind.SWITCH in one.hashes for one in self._forgettings)

    def switch(self, target: str, key: str, positions: Iterable[str]) -> str | None:
        """Return in which of its positions a switch was when its project or thread was last forgotten, if in any."""
        found = [
            (one.at, position)
            for position in positions
            for one in self._forgettings
            if one.has(TombstoneKind.SWITCH, switch_value(target, key, position))
        ]
        return max(found)[1] if found else None

    def holds_words(self, *texts: str | None) -> bool:
        """Whether a text holds words that must never be remembered."""
        return any(
            one.has_tokens(TombstoneKind.WORDS, tokens)
            for one in self._forgettings
            if TombstoneKind.WORDS in one.lengths
            for tokens in (tokens_of(text) for text in texts if text)
        )

    def is_text(self, text: str, *, at: float = 0.0) -> bool:
        """Whether a text, told no later than it was forgotten, is a forgotten statement or title."""
        joined = " ".join(tokens_of(text))
        return bool(joined) and any(one.at >= at and one.has(TombstoneKind.TEXT, joined) for one in self._forgettings)

    def holds_text(self, text: str) -> bool:
        """Whether a line holds a forgotten statement or title that is long enough to be known inside a longer one."""
        tokens = tokens_of(text)
        return any(one.has_tokens(TombstoneKind.TEXT, tokens, at_least=_TELLING_TOKENS) for one in self._forgettings)

    def _has(self, kind: TombstoneKind, value: str) -> bool:
        return any(one.has(kind, value) for one in self._forgettings)

    @staticmethod
    def _takes_lines_of(entry: Entry, one: _Forgetting) -> bool:
        lines = (line_value(entry.thread_id, line.line_sha256) for line in entry.evidence if line.line_sha256)
        return any(one.has(TombstoneKind.LINE, line) for line in lines) and not one.has(
            TombstoneKind.SPARED, entry.entry_id
        )


class TombstoneFolder:
    """The tombstones of one state folder. Looking costs one listing; files are read anew when one was added."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._read = Tombstones()

    def digest(self) -> str:
        """Return what changes whenever a file comes or goes; "" without any."""
        listed = self._listed()
        return hashlib.sha256(repr(listed).encode()).hexdigest()[:_HASH_CHARS] if listed else ""

    def current(self) -> Tombstones:
        """Return all tombstones.

        Raises:
            StoreError: a file of them can't be read; without it, what it forgot could come back.
        """
        digest = self.digest()
        if digest != self._read.digest:
            self._read = Tombstones([self._read_file(name) for name, _ in self._listed()], digest=digest)
        return self._read

    def add(self, tombstones: Iterable[Tombstone], *, now: float) -> Path:
        """Write one forgetting down, durably, in a file of its own.

        Raises:
            OSError: it can't be written; nothing is left of it.
        """
        make_private_folder(self.path)
        moment = re.sub(r"[^0-9]", "", iso(now) or "")
        path = self.path / f"{moment}-{os.urandom(4).hex()}{_SUFFIX}"
        write_whole(path, _encode(_forgetting_of(tombstones, self._salt(), now)))
        return path

    def _salt(self) -> bytes:
        # One salt a folder: with one a file, each look-up would cost a hash for every forgetting.
        for name, _ in self._listed():
            return self._read_file(name).salt
        return os.urandom(_SALT_BYTES)

    def _listed(self) -> list[tuple[str, int]]:
        try:
            with os.scandir(self.path) as entries:
                return sorted((entry.name, entry.stat().st_size) for entry in entries if entry.name.endswith(_SUFFIX))
        except FileNotFoundError:
            return []

    def _read_file(self, name: str) -> _Forgetting:
        path = self.path / name
        try:
            return _decode(path.read_bytes())
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise StoreError(
                f"{path}: can't be read, so what was forgotten could come back; restore it, or delete it to allow that"
            ) from error


def _forgetting_of(tombstones: Iterable[Tombstone], salt: bytes, now: float) -> _Forgetting:
    hashes: dict[TombstoneKind, set[str]] = {}
    lengths: dict[TombstoneKind, set[int]] = {}
    for stone in tombstones:
        value = stone.value
        if stone.kind in (TombstoneKind.TEXT, TombstoneKind.WORDS):
            tokens = tokens_of(value)
            if not tokens:
                continue
            lengths.setdefault(stone.kind, set()).add(len(tokens))
            value = " ".join(tokens)
        hashes.setdefault(stone.kind, set()).add(_hash(salt, stone.kind, value))
    return _Forgetting(
        salt=salt,
        at=now,
        hashes={kind: frozenset(found) for kind, found in hashes.items()},
        lengths={kind: frozenset(found) for kind, found in lengths.items()},
    )


def _encode(forgetting: _Forgetting) -> bytes:
    lines: list[dict[str, object]] = [{"format": _FORMAT, "salt": forgetting.salt.hex(), "at": forgetting.at}]
    lines += [{"kind": kind, "tokens": sorted(found)} for kind, found in sorted(forgetting.lengths.items())]
    lines += [
        {"kind": kind, "hash": hashed} for kind, found in sorted(forgetting.hashes.items()) for hashed in sorted(found)
    ]
    return b"".join(orjson.dumps(line) + b"\n" for line in lines)


def _decode(content: bytes) -> _Forgetting:
    head, *lines = [orjson.loads(line) for line in content.splitlines()]
    if head["format"] != _FORMAT:
        raise ValueError("of another format")
    hashes: dict[TombstoneKind, set[str]] = {}
    lengths: dict[TombstoneKind, frozenset[int]] = {}
    for line in lines:
        kind = TombstoneKind(line["kind"])
        if "tokens" in line:
            lengths[kind] = frozenset(line["tokens"])
        else:
            hashes.setdefault(kind, set()).add(line["hash"])
    return _Forgetting(
        salt=bytes.fromhex(head["salt"]),
        at=float(head["at"]),
        hashes={kind: frozenset(found) for kind, found in hashes.items()},
        lengths=lengths,
    )


@lru_cache(maxsize=4096)  # the files of one folder share their salt, and are asked for the same one after the other
def _hash(salt: bytes, kind: TombstoneKind, value: str) -> str:
    return hashlib.sha256(salt + f"{kind}\x1f{value}".encode("utf-8", "replace")).hexdigest()[:_HASH_CHARS]
