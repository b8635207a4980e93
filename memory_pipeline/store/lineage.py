"""Who owns which records of the logs: decided once, when a record is first seen, and kept.

Resumed and forked transcripts write old records again. Each counts once, for the thread that owns it; the others
leave it out. Records are known by eight bytes of their ids, never by their words.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence

from msgspec import Struct

from memory_pipeline.store.connection import immediate

_BYTES = 8
_SIGN = 1 << 63
_WHOLE = 1 << 64


class OpenClaim(Struct, frozen=True, kw_only=True):
    """A thread whose records are read but not yet shared out."""

    thread_id: str
    rollout_path: str


class Share(Struct, frozen=True, kw_only=True):
    """What of a thread's file is not its own."""

    own_from_byte: int = 0
    foreign_hashes: frozenset[int] = frozenset()


class Lineage:
    """The shares of the threads."""

    def __init__(self, connect: Callable[[], sqlite3.Connection]) -> None:
        self._connect = connect

    def share_of(self, thread_id: str) -> Share:
        """Return what of a thread's file is not its own, as far as that is decided."""
        row = (
            self._connect()
            .execute("SELECT own_from_byte, foreign_records FROM threads WHERE thread_id = ?", (thread_id,))
            .fetchone()
        )
        if row is None:
            return Share()
        return Share(own_from_byte=row["own_from_byte"], foreign_hashes=frozenset(_unpacked(row["foreign_records"])))

    def open_claims(self) -> list[OpenClaim]:
        """Return the threads on disk whose records wait to be shared out.

        The thread whose last record is earliest first, then by path: that is the order in which they may take records.
        """
        rows = self._connect().execute(
            """
            SELECT thread_id, rollout_path FROM threads WHERE claimed_records IS NOT NULL AND present = 1
            ORDER BY max(updated_at, newest_at), rollout_path
            """
        )
        return [OpenClaim(thread_id=row["thread_id"], rollout_path=row["rollout_path"]) for row in rows]

    def share_out(self, thread_id: str) -> bool:
        """Give a thread every record of its file that nobody owns; returns whether its share has changed.

        One transaction, so that of two threads that hold a record exactly one owns it.
        """
        with immediate(self._connect()) as connection:
            row = connection.execute(
                "SELECT claimed_records, foreign_records FROM threads WHERE thread_id = ?", (thread_id,)
            ).fetchone()
            if row is None or row["claimed_records"] is None:
                return False
            hashes = _unpacked(row["claimed_records"])
            connection.execute("INSERT OR IGNORE INTO lineage_owners (thread_id) VALUES (?)", (thread_id,))
            owner = connection.execute("SELECT owner FROM lineage_owners WHERE thread_id = ?", (thread_id,)).fetchone()[
                "owner"
            ]
            connection.executemany(
                "INSERT OR IGNORE INTO record_owners (record, owner) VALUES (?, ?)",
                [(_signed(hashed), owner) for hashed in hashes],
            )
            foreign = {
                hashed
                for hashed in hashes
                if connection.execute(
                    "SELECT 1 FROM record_owners WHERE record = ? AND owner <> ?", (_signed(hashed), owner)
                ).fetchone()
            }
            packed = _packed(sorted(foreign))
            connection.execute(
                "UPDATE threads SET foreign_records = ?, claimed_records = NULL WHERE thread_id = ?",
                (packed, thread_id),
            )
            return packed != bytes(row["foreign_records"])


def _unpacked(packed: bytes) -> list[int]:
    return [int.from_bytes(packed[at : at + _BYTES], "big") for at in range(0, len(packed), _BYTES)]


def _packed(hashes: Sequence[int]) -> bytes:
    return b"".join(hashed.to_bytes(_BYTES, "big") for hashed in hashes)


def _signed(hashed: int) -> int:
    # SQLite's integers have a sign.
    return hashed - _WHOLE if hashed >= _SIGN else hashed
