"""What phase one stored for each thread: raw memory, summary, entries and their evidence."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Mapping, Sequence

import orjson
from msgspec import Struct

from memory_pipeline.raw_memory import render_raw_memory
from memory_pipeline.records import (
    Coverage,
    Entry,
    EntryKind,
    EvidenceLine,
    Extraction,
    IndexedThread,
    SelectedThread,
    Speaker,
    StoredExtraction,
    Task,
    TaskOutcome,
    Usage,
)
from memory_pipeline.store.connection import immediate
from memory_pipeline.store.standing import STANDING as STANDING  # noqa: PLC0414 - told here too
from memory_pipeline.store.threads import select_threads
from memory_pipeline.store.usage import count_usage

#: An entry that passed the review. What a memory rested on before there was a review passed it too.
PASSED = f"""
    {STANDING}
    AND (
        EXISTS (SELECT 1 FROM drafts AS d WHERE d.entry_id = e.entry_id)
        OR EXISTS (SELECT 1 FROM memory_entries AS m WHERE m.entry_id = e.entry_id)
    )
"""


#: An entry that the person did not write by their own hand: a session says it, or an agent noted it.
NOT_BY_HAND = """
    (t.agent <> 'journal' OR EXISTS (
        SELECT 1 FROM evidence AS noted WHERE noted.entry_id = e.entry_id AND noted.speaker = 'assistant'
    ))
"""


class Resting(Struct, frozen=True, kw_only=True):
    """The entries that memories rest on: those that are stored so, but for what a consolidation would change."""

    added: Collection[str] = ()
    removed: Collection[str] = ()

    def values(self) -> tuple[str, str]:
        """Return the parameters of its condition."""
        return _listed(sorted(self.added)), _listed(sorted(self.removed))


#: An entry that a memory rests on; see Resting.
_RESTED_ON = """
    (
        e.entry_id IN (SELECT value FROM json_each(?))
        OR EXISTS (SELECT 1 FROM memory_entries AS resting WHERE resting.entry_id = e.entry_id)
            AND e.entry_id NOT IN (SELECT value FROM json_each(?))
    )
"""


class Extractions:
    """The outputs of phase one."""

    def __init__(self, connect: Callable[[], sqlite3.Connection]) -> None:
        self._connect = connect

    def get(self, thread_id: str) -> StoredExtraction | None:
        """Return what was stored for a thread, with the entries that it still says; None if nothing ever was."""
        connection = self._connect()
        row = connection.execute("SELECT * FROM extractions WHERE thread_id = ?", (thread_id,)).fetchone()
        return stored_extractions(connection, [row])[0] if row else None

    def said(self) -> frozenset[tuple[str, str]]:
        """Return the scope and statement of every entry that stands."""
        rows = self._connect().execute("SELECT DISTINCT scope, statement FROM entries WHERE withdrawn_at IS NULL")
        return frozenset((row["scope"], row["statement"]) for row in rows)

    def entries(self, thread_id: str) -> tuple[Entry, ...]:
        """Return the entries that a thread says now, in its order, whatever its gate."""
        return read_entries(self._connect(), "e.thread_id = ? AND e.withdrawn_at IS NULL", (thread_id,))

    def standing_entries(self, entry_ids: Sequence[str]) -> dict[str, Entry]:
        """Return, by id, those of the given entries that still stand."""
        return entries_by_id(self._connect(), entry_ids, STANDING)

    def known_entries(self, entry_ids: Sequence[str]) -> dict[str, Entry]:
        """Return, by id, those of the given entries that are stored, withdrawn ones included."""
        return entries_by_id(self._connect(), entry_ids)

    def select(self, *, limit: int, among: Resting | None = None) -> list[SelectedThread]:
        """Pick the raw memories that one consolidation reads.

        Included are threads with an entry that passed the review, and of each only such entries; not the journal,
        whose words stand in MEMORY.md. With ``among``, only entries that memories rest on count. Most used
        first, then the most recently used or, if never used, generated, then by id; at most ``limit``; returned in
        ascending thread id.
        """
        connection = self._connect()
        rows = self._selected_rows("x.*, coalesce(u.count, 0) AS usage_count, u.last_usage", limit, among)
        selected = _selected_threads(connection, rows, stored_extractions(connection, rows, PASSED, among=among))
        return sorted(selected, key=lambda item: item.thread.thread_id)

    def select_ids(self, *, limit: int) -> list[str]:
        """Return the ids of the threads that ``select`` picks, the most used first."""
        return [row["thread_id"] for row in self._selected_rows("x.thread_id", limit, None)]

    def _selected_rows(self, columns: str, limit: int, among: Resting | None) -> list[sqlite3.Row]:
        is_among = "" if among is None else f"AND {_RESTED_ON}"
        rows: list[sqlite3.Row] = (
            self._connect()
            .execute(
                f"""
                SELECT {columns}
                FROM extractions AS x
                LEFT JOIN usage AS u ON u.subject = 'thread' AND u.subject_id = x.thread_id
                WHERE EXISTS (
                    SELECT 1 FROM entries AS e JOIN threads AS t ON t.thread_id = e.thread_id
                    WHERE e.thread_id = x.thread_id AND t.agent <> 'journal' AND {PASSED} {is_among}
                )
                ORDER BY coalesce(u.count, 0) DESC, coalesce(u.last_usage, x.generated_at) DESC, x.thread_id
                LIMIT ?
                """,
                (*(among.values() if among is not None else ()), limit),
            )
            .fetchall()
        )
        return rows

    def get_selected(self, thread_ids: Sequence[str]) -> list[SelectedThread]:
        """Return these threads with what was stored for them and passed the review, in ascending thread id."""
        connection = self._connect()
        rows = _wanted_rows(connection, thread_ids)
        return _selected_threads(connection, rows, stored_extractions(connection, rows, PASSED))

    def get_summaries(self, thread_ids: Sequence[str]) -> list[SelectedThread]:
        """Return these threads with their summaries, in ascending thread id; without tasks and raw memories."""
        connection = self._connect()
        rows = _wanted_rows(connection, thread_ids)
        return _selected_threads(connection, rows, [_stored_extraction(row, None) for row in rows])

    def tasks_of(self, thread_ids: Sequence[str], *, among: Resting) -> dict[str, tuple[Task, ...]]:
        """Return the tasks of these threads, with their entries that memories rest on; the entries lack evidence."""
        connection = self._connect()
        rows = _wanted_rows(connection, thread_ids)
        standing = _standing_in(connection, rows, PASSED, among, with_evidence=False)
        return {row["thread_id"]: _tasks_in(row, standing.get(row["thread_id"], {})) for row in rows}

    def count(self) -> int:
        """Count the threads that were extracted."""
        return int(self._connect().execute("SELECT count(*) FROM extractions").fetchone()[0])

    def record_usage(self, subject: str, subject_id: str, *, now: float) -> None:
        """Count one use of a ``thread`` or a ``memory``."""
        with immediate(self._connect()) as connection:
            count_usage(connection, subject, subject_id, at=now)

    def usage(self, subject: str, subject_id: str) -> Usage:
        """Return how often a ``thread`` or a ``memory`` was used."""
        return read_usage(self._connect(), subject, subject_id)


def _wanted_rows(connection: sqlite3.Connection, thread_ids: Sequence[str]) -> list[sqlite3.Row]:
    rows: list[sqlite3.Row] = connection.execute(
        """
        SELECT x.*, coalesce(u.count, 0) AS usage_count, u.last_usage
        FROM json_each(?) AS wanted JOIN extractions AS x ON x.thread_id = wanted.value
        LEFT JOIN usage AS u ON u.subject = 'thread' AND u.subject_id = x.thread_id
        ORDER BY x.thread_id
        """,
        (_listed(sorted(set(thread_ids))),),
    ).fetchall()
    return rows


def _selected_threads(
    connection: sqlite3.Connection, rows: Sequence[sqlite3.Row], stored: Sequence[StoredExtraction]
) -> list[SelectedThread]:
    threads = _threads_by_id(connection, [row["thread_id"] for row in rows])
    return [
        SelectedThread(
            thread=threads[row["thread_id"]],
            extraction=extraction,
            usage=Usage(count=row["usage_count"], last_usage=row["last_usage"]),
        )
        for row, extraction in zip(rows, stored, strict=True)
    ]


def store_extraction(
    connection: sqlite3.Connection, extraction: Extraction, *, source_digest: str, source_updated_at: float, now: float
) -> None:
    """Replace what a thread says, inside the caller's transaction; entries no longer there are withdrawn."""
    entries = [entry for task in extraction.tasks for entry in task.entries]
    connection.execute(
        """
        INSERT OR REPLACE INTO extractions (thread_id, rollout_summary, slug, raw_memory, tasks, coverage,
            source_digest, source_updated_at, generated_at, dropped_entries, redactions)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """,
        (
            extraction.thread_id,
            extraction.rollout_summary,
            extraction.slug,
            extraction.raw_memory,
            tasks_as_json(extraction.tasks),
            extraction.coverage,
            source_digest,
            source_updated_at,
            now,
            orjson.dumps(dict(sorted(extraction.dropped_entries.items()))).decode(),
            orjson.dumps(dict(sorted(extraction.redactions.items()))).decode(),
        ),
    )
    kept = {entry.entry_id for entry in entries}
    said = connection.execute(
        "SELECT entry_id FROM entries WHERE thread_id = ? AND withdrawn_at IS NULL", (extraction.thread_id,)
    ).fetchall()
    connection.executemany(
        "UPDATE entries SET withdrawn_at = ? WHERE entry_id = ?",
        [(now, row["entry_id"]) for row in said if row["entry_id"] not in kept],
    )
    for position, entry in enumerate(entries):
        _store_entry(connection, entry, position, now)


def tasks_as_json(tasks: Sequence[Task]) -> str:
    """Write tasks as their column holds them."""
    return orjson.dumps(
        [
            {"title": task.title, "outcome": task.outcome, "entries": [entry.entry_id for entry in task.entries]}
            for task in tasks
        ]
    ).decode()


def read_entries(
    connection: sqlite3.Connection, where: str, values: Sequence[object], *, with_evidence: bool = True
) -> tuple[Entry, ...]:
    """Return the entries that a condition on ``e`` and ``t`` picks, by thread and position."""
    rows = connection.execute(
        f"""
        SELECT e.* FROM entries AS e JOIN threads AS t ON t.thread_id = e.thread_id
        WHERE {where} ORDER BY e.thread_id, e.position, e.entry_id
        """,
        tuple(values),
    ).fetchall()
    evidence = _read_evidence(connection, [row["entry_id"] for row in rows]) if with_evidence else {}
    return tuple(
        Entry(
            entry_id=row["entry_id"],
            thread_id=row["thread_id"],
            kind=EntryKind(row["kind"]),
            scope=row["scope"],
            condition=row["condition"],
            statement=row["statement"],
            evidence=tuple(evidence.get(row["entry_id"], ())),
        )
        for row in rows
    )


def entries_by_id(
    connection: sqlite3.Connection, entry_ids: Sequence[str], condition: str = "TRUE"
) -> dict[str, Entry]:
    """Return, by id, those of the given entries that meet a condition on ``e``."""
    among = f"e.entry_id IN (SELECT value FROM json_each(?)) AND {condition}"
    return {entry.entry_id: entry for entry in read_entries(connection, among, (_listed(entry_ids),))}


def read_usage(connection: sqlite3.Connection, subject: str, subject_id: str) -> Usage:
    """Return how often something was used."""
    row = connection.execute(
        "SELECT count, last_usage FROM usage WHERE subject = ? AND subject_id = ?", (subject, subject_id)
    ).fetchone()
    return Usage(count=row["count"], last_usage=row["last_usage"]) if row else Usage()


def _listed(ids: Sequence[str]) -> str:
    """Return ids as one parameter of a statement, for json_each: however many they are, it is the same statement."""
    return orjson.dumps(list(ids)).decode()


def _threads_by_id(connection: sqlite3.Connection, thread_ids: Sequence[str]) -> dict[str, IndexedThread]:
    among = "WHERE t.thread_id IN (SELECT value FROM json_each(?))"
    return {thread.thread_id: thread for thread in select_threads(connection, among, (_listed(thread_ids),))}


def _store_entry(connection: sqlite3.Connection, entry: Entry, position: int, now: float) -> None:
    connection.execute(
        """
        INSERT INTO entries (entry_id, thread_id, position, kind, scope, condition, statement, created_at)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (entry_id) DO UPDATE SET position = excluded.position, withdrawn_at = NULL
        """,
        (
            entry.entry_id,
            entry.thread_id,
            position,
            entry.kind,
            entry.scope,
            entry.condition,
            entry.statement,
            now,
        ),
    )
    connection.execute("DELETE FROM evidence WHERE entry_id = ?", (entry.entry_id,))
    connection.executemany(
        """
        INSERT INTO evidence (entry_id, position, rollout_path, byte_start, byte_end, line_sha256, speaker, at, quote,
            turn, command, paths)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """,
        [
            (
                entry.entry_id,
                number,
                line.rollout_path,
                line.byte_start,
                line.byte_end,
                line.line_sha256,
                line.speaker,
                line.at,
                line.quote,
                line.turn,
                line.command,
                orjson.dumps(line.paths).decode(),
            )
            for number, line in enumerate(entry.evidence)
        ],
    )


def _read_evidence(connection: sqlite3.Connection, entry_ids: Sequence[str]) -> Mapping[str, list[EvidenceLine]]:
    """Return the evidence of entries by their ids. Asked for many at once: a call costs more than a row."""
    found: dict[str, list[EvidenceLine]] = {}
    rows = connection.execute(
        """
        SELECT v.* FROM json_each(?) AS wanted JOIN evidence AS v ON v.entry_id = wanted.value
        ORDER BY v.entry_id, v.position
        """,
        (_listed(entry_ids),),
    )
    for row in rows:
        line = EvidenceLine(
            rollout_path=row["rollout_path"],
            byte_start=row["byte_start"],
            byte_end=row["byte_end"],
            line_sha256=row["line_sha256"],
            speaker=Speaker(row["speaker"]),
            at=row["at"],
            quote=row["quote"],
            turn=row["turn"],
            command=row["command"],
            paths=tuple(orjson.loads(row["paths"])),
        )
        found.setdefault(row["entry_id"], []).append(line)
    return found


def stored_extractions(
    connection: sqlite3.Connection,
    rows: Sequence[sqlite3.Row],
    condition: str = "e.withdrawn_at IS NULL",
    *,
    among: Resting | None = None,
) -> list[StoredExtraction]:
    """Read rows of what was stored for threads, each with its entries that meet a condition, and its tasks with any.

    With ``among``, of the entries only those that memories rest on. The raw memory tells these alone.
    """
    standing = _standing_in(connection, rows, condition, among)
    return [_stored_extraction(row, standing.get(row["thread_id"], {})) for row in rows]


def _standing_in(
    connection: sqlite3.Connection,
    rows: Sequence[sqlite3.Row],
    condition: str,
    among: Resting | None,
    *,
    with_evidence: bool = True,
) -> dict[str, dict[str, Entry]]:
    """Return the entries of these threads that meet a condition, by thread and id."""
    where = f"e.thread_id IN (SELECT value FROM json_each(?)) AND {condition}"
    values: tuple[str, ...] = (_listed([row["thread_id"] for row in rows]),)
    if among is not None:
        where, values = f"{where} AND {_RESTED_ON}", (*values, *among.values())
    standing: dict[str, dict[str, Entry]] = {}
    for entry in read_entries(connection, where, values, with_evidence=with_evidence):
        standing.setdefault(entry.thread_id, {})[entry.entry_id] = entry
    return standing


def _tasks_in(row: sqlite3.Row, standing: Mapping[str, Entry]) -> tuple[Task, ...]:
    """Read the tasks of a row, each with those of its entries that are given; without those that have none of them."""
    return tuple(
        Task(
            title=task["title"],
            outcome=TaskOutcome(task["outcome"]),
            entries=tuple(standing[entry_id] for entry_id in task["entries"] if entry_id in standing),
        )
        for task in orjson.loads(row["tasks"])
        if not task["entries"] or any(entry_id in standing for entry_id in task["entries"])
    )


def _stored_extraction(row: sqlite3.Row, standing: Mapping[str, Entry] | None) -> StoredExtraction:
    """Read a row with the tasks of these entries; with None, without tasks and raw memory."""
    if standing is None:
        return _with_tasks(row, (), raw_memory="")
    tasks = _tasks_in(row, standing)
    is_whole = all(entry_id in standing for task in orjson.loads(row["tasks"]) for entry_id in task["entries"])
    return _with_tasks(row, tasks, raw_memory=row["raw_memory"] if is_whole else render_raw_memory(tasks))


def _with_tasks(row: sqlite3.Row, tasks: tuple[Task, ...], *, raw_memory: str) -> StoredExtraction:
    return StoredExtraction(
        thread_id=row["thread_id"],
        rollout_summary=row["rollout_summary"],
        slug=row["slug"],
        raw_memory=raw_memory,
        tasks=tasks,
        coverage=Coverage(row["coverage"]),
        generated_at=row["generated_at"],
        source_updated_at=row["source_updated_at"],
        dropped_entries=orjson.loads(row["dropped_entries"]),
        redactions=orjson.loads(row["redactions"]),
    )
