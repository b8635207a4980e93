"""Erasing what was forgotten from the database: all of it in one transaction, then no byte of it in any page."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import orjson
from msgspec import Struct, field

from memory_pipeline.errors import StoreError
from memory_pipeline.records import (
    AppliedOperation,
    Entry,
    Happened,
    IndexedThread,
    Memory,
    SettingRecord,
    StoredExtraction,
    Task,
)
from memory_pipeline.store.chronicle import note
from memory_pipeline.store.connection import immediate
from memory_pipeline.store.extractions import read_entries, stored_extractions, tasks_as_json
from memory_pipeline.store.keys import keep_keys
from memory_pipeline.store.memories import as_image, read_memories, read_operation
from memory_pipeline.store.search import index_stale
from memory_pipeline.store.settings import moved_settings, read_settings
from memory_pipeline.store.threads import select_threads
from memory_pipeline.store.usage import erase_usage


class Kept(Struct, frozen=True, kw_only=True):
    """Everything with words that the database holds."""

    threads: Mapping[str, IndexedThread]
    extractions: Mapping[str, StoredExtraction]
    entries: Mapping[str, Entry]  # those that were withdrawn included
    withdrawn: frozenset[str]
    memories: Mapping[str, Memory]
    links: Mapping[str, tuple[str, ...]]  # memory -> every entry that it ever rested on
    operations: Mapping[int, AppliedOperation]
    notes: Mapping[str, tuple[str, ...]]  # entry -> what the person and a collaborator noted about it in review
    other_words: tuple[str, ...]  # what nobody said: names of runs and models, and the schema
    settings: tuple[SettingRecord, ...]  # what was set
    moved_settings: Mapping[str, str]  # target -> the scope that this project is known under by now


class Remains(Struct, frozen=True, kw_only=True):
    """What a thread tells once a part of it is forgotten."""

    rollout_summary: str
    slug: str
    raw_memory: str
    tasks: tuple[Task, ...]


class Erasure(Struct, frozen=True, kw_only=True):
    """What goes from the database, and what takes the place of what can't simply go."""

    threads: frozenset[str] = frozenset()
    untitled: frozenset[str] = frozenset()  # threads that lose title and branch
    remains: Mapping[str, Remains] = field(default_factory=dict)  # by thread
    entries: frozenset[str] = frozenset()
    blank_lines: Mapping[str, frozenset[int]] = field(default_factory=dict)  # entry -> positions in its evidence
    notes: frozenset[str] = frozenset()  # entries that lose what was noted about them in review
    memories: frozenset[str] = frozenset()
    reworded: Mapping[str, Memory] = field(default_factory=dict)  # as they read now
    outlived: frozenset[str] = frozenset()  # what only a forgotten memory had superseded
    records: frozenset[str] = frozenset()  # of the journal
    operations: frozenset[int] = frozenset()
    images: Mapping[int, AppliedOperation] = field(default_factory=dict)  # operations that stay, without the words
    settings: frozenset[tuple[str, str]] = frozenset()  # target and key of what was set

    @property
    def is_empty(self) -> bool:
        """Whether the database holds nothing of it."""
        return not any(getattr(self, name) for name in self.__struct_fields__)


class Forgetting:
    """The database as the place that words are erased from."""

    def __init__(self, connect: Callable[[], sqlite3.Connection]) -> None:
        self._connect = connect

    def met(self) -> str:
        """Return the digest of the tombstones that everything was last brought in line with; "" for none."""
        row = self._connect().execute("SELECT digest FROM tombstones_met").fetchone()
        return str(row["digest"]) if row else ""

    def set_met(self, digest: str) -> None:
        """Note that everything is in line with these tombstones."""
        with immediate(self._connect()) as connection:
            _set_met(connection, digest)

    def fence(self) -> int:
        """Fence out every job that is in flight: its worker can't complete it any more. No try is used."""
        with immediate(self._connect()) as connection:
            fenced = connection.execute(
                """
                UPDATE jobs SET state = 'pending', fence = fence + 1, attempts = max(attempts - 1, 0), owner = NULL,
                    lease_until = NULL
                WHERE state = 'running'
                """
            )
            return fenced.rowcount

    def kept(self) -> Kept:
        """Return everything with words that is stored."""
        connection = self._connect()
        entries = {entry.entry_id: entry for entry in read_entries(connection, "1", ())}
        links: dict[str, list[str]] = {}
        for row in connection.execute("SELECT memory_id, entry_id FROM memory_entries ORDER BY rowid"):
            links.setdefault(row["memory_id"], []).append(row["entry_id"])
        extractions = connection.execute("SELECT * FROM extractions ORDER BY thread_id").fetchall()
        operations = connection.execute("SELECT * FROM operations ORDER BY operation_id").fetchall()
        withdrawn = connection.execute("SELECT entry_id FROM entries WHERE withdrawn_at IS NOT NULL")
        return Kept(
            threads={thread.thread_id: thread for thread in select_threads(connection, "ORDER BY t.thread_id", ())},
            extractions={one.thread_id: one for one in stored_extractions(connection, extractions)},
            entries=entries,
            withdrawn=frozenset(row["entry_id"] for row in withdrawn),
            memories={memory.memory_id: memory for memory in read_memories(connection)},
            links={memory_id: tuple(found) for memory_id, found in links.items()},
            operations={row["operation_id"]: read_operation(row) for row in operations},
            notes=_notes(connection),
            other_words=tuple(_other_words(connection)),
            settings=tuple(read_settings(connection)),
            moved_settings=moved_settings(connection),
        )

    def erase(self, erasure: Erasure, *, now: float) -> None:
        """Delete and overwrite all of it, in one transaction."""
        with immediate(self._connect()) as connection:
            _erase_memories(connection, erasure)
            _erase_entries(connection, erasure)
            _erase_threads(connection, erasure, now)
            connection.executemany("DELETE FROM settings WHERE target = ? AND key = ?", sorted(erasure.settings))
            _erase_traces(connection)
            index_stale(connection)
            keep_keys(connection)  # hashes, but of words that may be guessed

    def texts(self) -> Iterator[str]:
        """Yield every stored text that ``mask`` would pass on."""
        connection = self._connect()
        for table, columns in _TEXTS.items():
            for column in columns:
                for row in connection.execute(f"SELECT {column} FROM {table} WHERE {column} IS NOT NULL").fetchall():
                    yield row[0]
        for column, table in _JSON_TEXTS.items():
            for row in connection.execute(f"SELECT {column} FROM {table} WHERE {column} IS NOT NULL").fetchall():
                yield from _strings_in(orjson.loads(row[0]))

    def mask(self, mask: Callable[[str], str], *, met: str) -> None:
        """Pass every stored text through ``mask``, in one transaction; ``met`` is noted as by set_met."""
        with immediate(self._connect()) as connection:
            for table, columns in _TEXTS.items():
                for column in columns:
                    _mask_column(connection, table, column, mask)
            for column, table in _JSON_TEXTS.items():
                _mask_column(connection, table, column, lambda text: _masked_json(text, mask))
            index_stale(connection)
            keep_keys(connection)
            _set_met(connection, met)

    def raw_bytes(self, path: Path) -> bytes:
        """Return the bytes of the database file, or of one beside it, as they lie on disk.

        Raises:
            OSError: it can't be read.
        """
        import subprocess

        # In another process: closing a descriptor here would drop the locks that SQLite holds on the file.
        read = "import pathlib, sys; sys.stdout.buffer.write(pathlib.Path(sys.argv[1]).read_bytes())"
        done = subprocess.run([sys.executable, "-I", "-c", read, str(path)], capture_output=True, check=False)  # noqa: S603 - our own words
        if done.returncode:
            raise OSError(f"{path}: can't be read")
        return done.stdout

    def compact(self) -> None:
        """Leave no byte of what was deleted: empty the write-ahead log, and write the database anew.

        Raises:
            StoreError: another program has been reading or writing it for a long time.
        """
        connection = self._connect()
        # Full-text indexes, if there are any, keep deleted words in their segments until they are rebuilt.
        for row in connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE VIRTUAL TABLE%fts5%'"
        ).fetchall():
            connection.execute(f'INSERT INTO "{row["name"]}" ("{row["name"]}") VALUES (\'rebuild\')')
        _truncate_log(connection)
        connection.execute("VACUUM")
        _truncate_log(connection)


#: Every column that holds words of a session, or of the person.
_TEXTS: Mapping[str, Sequence[str]] = {
    "threads": ("title", "git_branch"),
    "extractions": ("rollout_summary", "slug", "raw_memory"),
    "entries": ("statement", "condition"),
    "evidence": ("quote", "command"),
    "memories": ("statement", "condition", "reason"),
    "operations": ("statement", "condition", "reason"),
    "jobs": ("last_error",),
    "consolidations": ("error",),
    "provider_rests": ("reason",),
    "drafts": ("review_note",),
    "review_records": ("note",),
    "chronicle": ("reason",),
}

_JSON_TEXTS: Mapping[str, str] = {
    "tasks": "extractions",
    "paths": "evidence",
    "collaborator": "drafts",
    "told": "session_files",
    "before": "operations",
    "review_log": "drafts",
    "earlier": "review_decisions",
}


#: What was given to tasks of a project of which something is forgotten no longer names it.
_UNNAMED = "UPDATE injections SET cwd = NULL, scope = NULL WHERE scope IN ({})"


def _erase_memories(connection: sqlite3.Connection, erasure: Erasure) -> None:
    gone = [(memory_id,) for memory_id in sorted(erasure.memories)]
    connection.executemany(_UNNAMED.format("SELECT scope FROM memories WHERE memory_id = ?"), gone)
    connection.executemany("UPDATE memories SET superseded_by = NULL WHERE superseded_by = ?", gone)
    connection.executemany("DELETE FROM operations WHERE memory_id = ?", gone)
    connection.executemany("DELETE FROM memories WHERE memory_id = ?", gone)
    connection.executemany(
        "DELETE FROM drafts WHERE merges IS NOT NULL AND EXISTS (SELECT 1 FROM json_each(merges) WHERE value = ?)", gone
    )
    connection.executemany(
        "DELETE FROM review_records WHERE EXISTS (SELECT 1 FROM json_each(merges) WHERE value = ?)", gone
    )
    erase_usage(connection, "memory", sorted(erasure.memories))
    connection.executemany(
        """
        UPDATE injections SET memory_ids =
            (SELECT json_group_array(value) FROM json_each(injections.memory_ids) WHERE value <> :memory_id)
        WHERE EXISTS (SELECT 1 FROM json_each(injections.memory_ids) WHERE value = :memory_id)
        """,
        [{"memory_id": memory_id} for memory_id in sorted(erasure.memories)],
    )
    connection.executemany(
        """
        UPDATE memories SET kind = ?, statement = ?, condition = ?, first_seen = ?, last_confirmed = ?, reason = ?
        WHERE memory_id = ?
        """,
        [
            (now.kind, now.statement, now.condition, now.first_seen, now.last_confirmed, now.reason, memory_id)
            for memory_id, now in sorted(erasure.reworded.items())
        ],
    )
    # What the person had taken back long before does not hold again because of this.
    connection.executemany(
        "UPDATE memories SET status = 'retired', reason = 'what took its place was forgotten' WHERE memory_id = ?",
        [(memory_id,) for memory_id in sorted(erasure.outlived)],
    )
    connection.executemany(
        "DELETE FROM operations WHERE operation_id = ?", [(number,) for number in sorted(erasure.operations)]
    )
    connection.executemany(
        """
        UPDATE operations SET entry_id = ?, other_memory_id = ?, statement = ?, condition = ?, reason = ?, before = ?
        WHERE operation_id = ?
        """,
        [
            (
                applied.operation.entry_id,
                applied.operation.other_memory_id,
                applied.operation.statement,
                applied.operation.condition,
                applied.operation.reason,
                as_image(applied.before) if applied.before else None,
                number,
            )
            for number, applied in sorted(erasure.images.items())
        ],
    )
    connection.executemany(
        "DELETE FROM journal_records WHERE record_id = ?", [(record_id,) for record_id in sorted(erasure.records)]
    )


def _erase_entries(connection: sqlite3.Connection, erasure: Erasure) -> None:
    gone = [(one,) for one in sorted(erasure.entries)]
    connection.executemany("DELETE FROM entries WHERE entry_id = ?", gone)
    connection.executemany("DELETE FROM review_records WHERE entry_id = ?", gone)
    # What was decided stays; a decision from before can't be undone any more, since its note would come back.
    for entry_id in sorted(erasure.notes):
        connection.execute("DELETE FROM review_decisions WHERE entry_id = ?", (entry_id,))
        connection.execute("UPDATE review_records SET note = '' WHERE entry_id = ?", (entry_id,))
        log = connection.execute("SELECT review_log FROM drafts WHERE entry_id = ?", (entry_id,)).fetchone()
        events = [{"at": event["at"], "status": event["status"]} for event in orjson.loads(log[0])] if log else []
        connection.execute(
            "UPDATE drafts SET review_note = '', review_log = ?, collaborator = iif(collaborator IS NULL, NULL, '{}') "
            "WHERE entry_id = ?",
            (orjson.dumps(events).decode(), entry_id),
        )
    # Whose word it was and when stays; the range and the hash go, so that nothing reads the line back from its log.
    connection.executemany(
        """
        UPDATE evidence SET quote = '', byte_start = 0, byte_end = 0, line_sha256 = '', command = NULL, paths = '[]'
        WHERE entry_id = ? AND position = ?
        """,
        [(entry_id, place) for entry_id, places in sorted(erasure.blank_lines.items()) for place in sorted(places)],
    )


def _erase_threads(connection: sqlite3.Connection, erasure: Erasure, now: float) -> None:
    connection.executemany(
        "UPDATE threads SET title = NULL, git_branch = NULL WHERE thread_id = ?",
        [(thread_id,) for thread_id in sorted(erasure.untitled | erasure.threads)],
    )
    for thread_id, remains in sorted(erasure.remains.items()):
        connection.execute(
            """
            UPDATE extractions SET rollout_summary = ?, slug = ?, raw_memory = ?, tasks = ?, generated_at = ?
            WHERE thread_id = ?
            """,
            (remains.rollout_summary, remains.slug, remains.raw_memory, tasks_as_json(remains.tasks), now, thread_id),
        )
    connection.executemany(
        "UPDATE jobs SET last_error = NULL WHERE thread_id = ?", [(one,) for one in sorted(erasure.remains)]
    )
    gone = [(thread_id,) for thread_id in sorted(erasure.threads)]
    connection.executemany("DELETE FROM entries WHERE thread_id = ?", gone)
    connection.executemany("DELETE FROM extractions WHERE thread_id = ?", gone)
    connection.executemany("DELETE FROM review_records WHERE thread_id = ?", gone)
    erase_usage(connection, "thread", sorted(erasure.threads))
    connection.executemany("UPDATE ledger SET thread_id = NULL, scope = NULL WHERE thread_id = ?", gone)
    connection.executemany("DELETE FROM chronicle WHERE thread_id = ?", gone)
    connection.executemany("DELETE FROM injections WHERE thread_id = ?", gone)
    connection.executemany(_UNNAMED.format("SELECT scope FROM threads WHERE thread_id = ?"), gone)
    for thread_id in sorted(erasure.threads):
        note(connection, thread_id, Happened.FORGOTTEN, now=now)
    # Sums of older calls name the project alone; and what a project waited for is known again at its next call.
    of_projects = "thread_id IS NULL AND scope IN (SELECT scope FROM threads WHERE thread_id = ?)"
    connection.executemany(f"UPDATE ledger SET scope = NULL WHERE {of_projects}", gone)
    connection.execute("DELETE FROM refused_calls WHERE scope <> ''")
    connection.executemany(
        """
        UPDATE threads SET unknown_types = '{}', disabled_by_person = 1, gate = 'disabled', keeps_words = 0,
            gives_direction = 0
        WHERE thread_id = ?
        """,
        gone,
    )
    connection.executemany(
        "UPDATE jobs SET state = 'pending', claimable = 0, retry_at = NULL, last_error = NULL WHERE thread_id = ?", gone
    )


def _erase_traces(connection: sqlite3.Connection) -> None:
    """Forget the messages of faults: they may name files that are named after what a thread was about."""
    connection.execute("UPDATE consolidations SET error = NULL")
    connection.execute("UPDATE provider_rests SET reason = NULL")
    connection.execute("UPDATE chronicle SET reason = NULL")


def _notes(connection: sqlite3.Connection) -> dict[str, tuple[str, ...]]:
    notes: dict[str, dict[str, None]] = {}
    for row in connection.execute("SELECT entry_id, review_note, review_log, collaborator FROM drafts"):
        said = [row["review_note"], *(event.get("note", "") for event in orjson.loads(row["review_log"]))]
        said += _strings_in(orjson.loads(row["collaborator"] or "{}"))
        notes.setdefault(row["entry_id"], {}).update(dict.fromkeys(filter(None, said)))
    for row in connection.execute("SELECT entry_id, earlier FROM review_decisions"):
        earlier = orjson.loads(row["earlier"])
        said = [earlier["review_note"], *(event.get("note", "") for event in earlier["review_log"])]
        notes.setdefault(row["entry_id"], {}).update(dict.fromkeys(filter(None, said)))
    for row in connection.execute("SELECT entry_id, note FROM review_records WHERE note <> ''"):
        notes.setdefault(row["entry_id"], {})[row["note"]] = None
    return {entry_id: tuple(said) for entry_id, said in notes.items() if said}


def _other_words(connection: sqlite3.Connection) -> Iterable[str]:
    for query in (
        "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL",
        "SELECT DISTINCT owner FROM consolidations",
        "SELECT DISTINCT owner FROM jobs WHERE owner IS NOT NULL",
        "SELECT DISTINCT model FROM ledger",
        "SELECT DISTINCT model_provider FROM threads WHERE model_provider IS NOT NULL",
        "SELECT unknown_types FROM threads",
        "SELECT path FROM rollout_files",
        "SELECT rollout_path FROM evidence",
    ):
        yield from (str(row[0]) for row in connection.execute(query))


def _mask_column(connection: sqlite3.Connection, table: str, column: str, mask: Callable[[str], str]) -> None:
    rows = connection.execute(
        f"SELECT rowid AS number, {column} AS text FROM {table} WHERE {column} IS NOT NULL"
    ).fetchall()
    changed = [(masked, row["number"]) for row in rows if (masked := mask(row["text"])) != row["text"]]
    connection.executemany(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", changed)


def _strings_in(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for one in value:
            yield from _strings_in(one)
    elif isinstance(value, dict):
        yield from _strings_in(list(value.values()))


def _masked_json(text: str, mask: Callable[[str], str]) -> str:
    """Mask the strings inside a JSON document, whatever they are quoted with there."""

    def masked(value: object) -> object:
        if isinstance(value, str):
            return mask(value)
        if isinstance(value, list):
            return [masked(one) for one in value]
        if isinstance(value, dict):
            return {name: masked(one) for name, one in value.items()}
        return value

    before = orjson.loads(text)
    after = masked(before)
    return text if after == before else orjson.dumps(after).decode()


def _set_met(connection: sqlite3.Connection, digest: str) -> None:
    connection.execute("DELETE FROM tombstones_met")
    connection.execute("INSERT INTO tombstones_met (digest) VALUES (?)", (digest,))


def _truncate_log(connection: sqlite3.Connection) -> None:
    row = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    if row[0]:
        raise StoreError(
            "the database is being read by another program, so what was deleted is still in its write-ahead log; "
            "end that program, and the next command finishes this"
        )
