"""What is known of the packets, drafts and sync lists on disk: which versions of them we wrote, and what each told."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Mapping
from typing import NamedTuple

import orjson
from msgspec import Struct

from memory_pipeline.store.connection import data_version, immediate
from memory_pipeline.store.standing import SAID


class WrittenVersion(Struct, frozen=True, kw_only=True):
    """One version of a file that we wrote, or were about to write when something cut us off."""

    name: str  # below the state folder
    sha256: str
    thread_id: str
    stamp: str  # of what it was made from
    told: Mapping[str, object]  # of a draft file: what it says of each entry's decision; of a packet: its audit
    mtime_ns: int | None  # as it lay on disk once it was written; None while that is not known


class LyingFile(NamedTuple):
    """A file that we wrote, as far as its own status tells it from another one."""

    thread_id: str
    mtime_ns: int | None  # None while it is not known, or two versions of it are


class SessionFiles:
    """The versions, by file. A file has two while one of them is being put in place of the other."""

    def __init__(self, connect: Callable[[], sqlite3.Connection]) -> None:
        self._connect = connect

    def stamps(self) -> dict[str, str]:
        """Return, for each thread with drafts that are said, what changes whenever its files must.

        It covers the drafts in their order, their labels, decisions and notes, the reading that they are from, and the
        thread's packet.
        """
        hashes: dict[str, hashlib._Hash] = {}
        for row in self._connect().execute(
            f"""
            SELECT e.thread_id, e.entry_id, d.coverage, d.label, d.readiness, d.rationale, d.review_status,
                d.review_note, d.reviewed_at, d.review_log, d.collaborator, x.coverage AS read_coverage,
                x.generated_at, t.skipped_lines
            FROM drafts AS d JOIN entries AS e ON e.entry_id = d.entry_id
            JOIN threads AS t ON t.thread_id = e.thread_id JOIN extractions AS x ON x.thread_id = e.thread_id
            WHERE {SAID} ORDER BY e.thread_id, e.position, e.entry_id
            """
        ):
            hashed = hashes.setdefault(row["thread_id"], hashlib.sha256())
            hashed.update(repr(tuple(row)).encode("utf-8", "replace"))
        for row in self._connect().execute(
            "SELECT thread_id, sha256 FROM session_files WHERE name LIKE 'packets/%' ORDER BY version_id"
        ):
            if row["thread_id"] in hashes:
                hashes[row["thread_id"]].update(row["sha256"].encode())
        return {thread_id: hashed.hexdigest() for thread_id, hashed in hashes.items()}

    def are_settled(self) -> bool:
        """Whether every file was found to tell what is stored, and nothing that ``stamps`` covers changed since."""
        return self._connect().execute("SELECT 1 FROM settled_files").fetchone() is not None

    def settle_all(self, *, version: int) -> None:
        """Note that every file tells what is stored, unless another connection has written since ``version``."""
        with immediate(self._connect()) as connection:
            if data_version(connection) == version:
                connection.execute("DELETE FROM settled_files")
                connection.execute("INSERT INTO settled_files (settled) VALUES (1)")

    def version(self) -> int:
        """Return what is another number once any other connection has written."""
        return data_version(self._connect())

    def lying(self) -> dict[str, LyingFile]:
        """Return every file that we wrote, by name, the oldest first."""
        rows = self._connect().execute(
            """
            SELECT name, thread_id, iif(count(*) = 1, mtime_ns, NULL) AS mtime_ns, min(version_id) AS oldest
            FROM session_files GROUP BY name ORDER BY oldest
            """
        )
        return {row["name"]: LyingFile(row["thread_id"], row["mtime_ns"]) for row in rows}

    def versions(self) -> dict[str, list[WrittenVersion]]:
        """Return the versions of every file, oldest first."""
        found: dict[str, list[WrittenVersion]] = {}
        for row in self._connect().execute("SELECT * FROM session_files ORDER BY version_id"):
            found.setdefault(row["name"], []).append(_version_of(row))
        return found

    def versions_of(self, name: str) -> list[WrittenVersion]:
        """Return the versions of one file, oldest first."""
        rows = self._connect().execute("SELECT * FROM session_files WHERE name = ? ORDER BY version_id", (name,))
        return [_version_of(row) for row in rows]

    def announce(self, version: WrittenVersion) -> None:
        """Note a version before it is written, so that it is known for ours whatever happens then."""
        with immediate(self._connect()) as connection:
            connection.execute(
                "DELETE FROM session_files WHERE name = ? AND sha256 = ?",
                (version.name, version.sha256),
            )
            connection.execute(
                "INSERT INTO session_files (name, sha256, thread_id, stamp, told) VALUES (?, ?, ?, ?, ?)",
                (
                    version.name,
                    version.sha256,
                    version.thread_id,
                    version.stamp,
                    orjson.dumps(version.told).decode(),
                ),
            )

    def settle(self, name: str, sha256: str, *, mtime_ns: int, stamp: str) -> None:
        """Note that this version lies on disk, and that no other does."""
        with immediate(self._connect()) as connection:
            connection.execute("DELETE FROM session_files WHERE name = ? AND sha256 <> ?", (name, sha256))
            connection.execute(
                "UPDATE session_files SET mtime_ns = ?, stamp = ? WHERE name = ?", (mtime_ns, stamp, name)
            )

    def drop(self, name: str) -> None:
        """Note that none of ours lies there any more."""
        with immediate(self._connect()) as connection:
            connection.execute("DELETE FROM session_files WHERE name = ?", (name,))


def _version_of(row: sqlite3.Row) -> WrittenVersion:
    return WrittenVersion(
        name=row["name"],
        sha256=row["sha256"],
        thread_id=row["thread_id"],
        stamp=row["stamp"],
        told=orjson.loads(row["told"]),
        mtime_ns=row["mtime_ns"],
    )
