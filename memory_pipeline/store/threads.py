"""The index of threads: what the disk and the logs say, one row a thread, overwritten."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

import orjson
from msgspec import Struct

from memory_pipeline.records import (
    PROJECT_SCOPE_PREFIX,
    Agent,
    Gate,
    Happened,
    IndexedThread,
    JobState,
    RateLimit,
    RolloutFile,
    SeenFile,
    Source,
    SubmittedStatus,
    ThreadFacts,
)
from memory_pipeline.redact import redact
from memory_pipeline.store.chronicle import note
from memory_pipeline.store.citations import store_citations
from memory_pipeline.store.connection import data_version, immediate
from memory_pipeline.store.settings import follow_scope

_SELECT_THREAD = """
    SELECT t.*, j.state AS job_state, j.source_digest, j.attempts, j.retry_at, j.last_error,
           x.thread_id IS NOT NULL AS extracted, coalesce(x.tasks = '[]' AND x.rollout_summary = '', 0) AS no_output
    FROM threads AS t
    LEFT JOIN jobs AS j ON j.thread_id = t.thread_id
    LEFT JOIN extractions AS x ON x.thread_id = t.thread_id
"""


class Reading(Struct, frozen=True, kw_only=True):
    """What reading a file told, and where its thread belongs."""

    file: RolloutFile
    facts: ThreadFacts
    scope: str
    own_from_byte: int = 0  # where a fork's own part begins
    is_shared_out: bool = False  # else its records wait to be; see Lineage


class Threads:
    """The index. Every method that writes is one transaction."""

    def __init__(self, connect: Callable[[], sqlite3.Connection]) -> None:
        self._connect = connect

    def seen_files(self) -> dict[str, SeenFile]:
        """Return every file ever seen, by path, those that have vanished included."""
        cursor = self._connect().cursor()
        cursor.row_factory = None  # plain tuples, which become the named ones at little cost
        cursor.execute(
            "SELECT path, thread_id, archived, size, mtime_ns, inode, device, present, open_error FROM rollout_files"
        )
        # Straight from the rows: calling the class for each of them takes three times as long.
        return {file.path: file for file in map(partial(tuple.__new__, SeenFile), cursor.fetchall())}

    def settled_at(self, look: str) -> int | None:
        """Return how many threads are on disk when the log folders look as they did when all in them was known.

        None when they look otherwise, or the index changed since, or records wait to be shared out.
        """
        row = (
            self._connect()
            .execute(
                """
                SELECT threads FROM settled_look
                WHERE look = ? AND NOT EXISTS (SELECT 1 FROM threads WHERE claimed_records IS NOT NULL AND present = 1)
                """,
                (look,),
            )
            .fetchone()
        )
        return None if row is None else int(row["threads"])

    def settle(self, look: str, *, threads: int, version: int) -> None:
        """Note that all that is in the log folders, when they look so, is known: so many threads.

        Not when another connection has written since ``version``.
        """
        with immediate(self._connect()) as connection:
            if data_version(connection) == version:
                connection.execute("DELETE FROM settled_look")
                connection.execute("INSERT INTO settled_look (look, threads) VALUES (?, ?)", (look, threads))

    def version(self) -> int:
        """Return what is another number once any other connection has written."""
        return data_version(self._connect())

    def record_reading(self, file: RolloutFile, facts: ThreadFacts, scope: str, *, now: float) -> None:
        """Store what reading one file told; see record_readings."""
        self.record_readings([Reading(file=file, facts=facts, scope=scope)], now=now)

    def record_readings(self, readings: Iterable[Reading], *, now: float) -> None:
        """Store what reading files told. A thread's row follows the file that holds its latest words."""
        with immediate(self._connect()) as connection:
            for reading in readings:
                _store_reading(connection, reading, now=now)

    def catch_up(self, *, now: float) -> None:
        """Let the newest time of each thread count that has come by now: our clock was behind when the log was read."""
        came = "newest_at > updated_at AND newest_at <= :now"
        if not self._connect().execute(f"SELECT 1 FROM threads WHERE {came}", {"now": now}).fetchone():
            return
        with immediate(self._connect()) as connection:
            moved = connection.execute(
                f"UPDATE threads SET updated_at = newest_at WHERE {came} RETURNING thread_id, updated_at", {"now": now}
            ).fetchall()
            connection.executemany(
                "UPDATE jobs SET order_at = ? WHERE thread_id = ?",
                [(row["updated_at"], row["thread_id"]) for row in moved],
            )

    def record_unreadable(self, file: RolloutFile, reason: str, scope: str, *, now: float) -> None:
        """Store that a file could not be opened; what is known of its thread already stays as it was."""
        with immediate(self._connect()) as connection:
            seen = connection.execute("SELECT thread_id FROM rollout_files WHERE path = ?", (file.path,)).fetchone()
            thread_id = seen["thread_id"] if seen else file.thread_id
            _upsert_file(connection, file, thread_id, open_error=True)
            known = connection.execute("SELECT 1 FROM threads WHERE thread_id = ?", (thread_id,)).fetchone()
            if known:
                # Another file of the thread may hold its latest words, and that one was read.
                connection.execute(
                    "UPDATE threads SET index_error = ? WHERE thread_id = ? AND rollout_path = ?",
                    (reason, thread_id, file.path),
                )
            else:
                upsert_thread(connection, file, _no_facts(file), scope, file.mtime_ns / 1e9, now, index_error=reason)
                note(connection, thread_id, Happened.INDEXED, now=now)

    def record_move(self, file: RolloutFile, old: SeenFile, *, now: float | None = None) -> None:
        """Let a thread follow its file to another path; nothing was said, so nothing is extracted again."""
        with immediate(self._connect()) as connection:
            connection.execute("DELETE FROM rollout_files WHERE path = ?", (old.path,))
            _upsert_file(connection, file, old.thread_id, open_error=False)
            connection.execute(
                """
                UPDATE threads SET rollout_path = ?, archived = ?, present = 1
                WHERE thread_id = ? AND rollout_path = ?
                """,
                (file.path, file.archived, old.thread_id, old.path),
            )
            note(connection, old.thread_id, Happened.MOVED, now=now)
            _move_evidence(connection, old.thread_id, old.path, file.path)
            refresh_claimable(connection, [old.thread_id])

    def record_presence(self, *, returned: Sequence[str], vanished: Sequence[str], now: float | None = None) -> None:
        """Note which known paths are on disk again and which are gone; the threads of the latter keep their rows."""
        if not returned and not vanished:
            return
        with immediate(self._connect()) as connection:
            for present, paths in ((1, returned), (0, vanished)):
                values = [(present, path) for path in paths]
                connection.executemany("UPDATE rollout_files SET present = ? WHERE path = ?", values)
                for value in values:
                    changed = connection.execute(
                        "UPDATE threads SET present = ? WHERE rollout_path = ? RETURNING thread_id", value
                    ).fetchall()
                    for row in changed:
                        what = Happened.RETURNED if present else Happened.VANISHED
                        note(connection, row["thread_id"], what, now=now)
                    refresh_claimable(connection, [row["thread_id"] for row in changed])

    def set_disabled(self, thread_id: str, *, disabled: bool, now: float | None = None) -> bool:
        """Set the person's own switch on one thread; false when there is no such thread."""
        with immediate(self._connect()) as connection:
            before = connection.execute(
                "SELECT disabled_by_person FROM threads WHERE thread_id = ?", (thread_id,)
            ).fetchone()
            if before is not None and bool(before["disabled_by_person"]) != disabled:
                note(connection, thread_id, Happened.DISABLED if disabled else Happened.ENABLED, now=now)
            changed = connection.execute(
                "UPDATE threads SET disabled_by_person = ? WHERE thread_id = ?", (disabled, thread_id)
            )
            return changed.rowcount == 1

    def get(self, thread_id: str) -> IndexedThread | None:
        """Return one thread, or None."""
        row = self._connect().execute(f"{_SELECT_THREAD} WHERE t.thread_id = ?", (thread_id,)).fetchone()
        return _thread(row) if row else None

    def find_by_prefix(self, prefix: str, *, limit: int = 10) -> list[IndexedThread]:
        """Return the threads whose id starts with ``prefix``, by id, at most ``limit``."""
        rows = self._connect().execute(
            f"{_SELECT_THREAD} WHERE substr(t.thread_id, 1, ?) = ? ORDER BY t.thread_id LIMIT ?",
            (len(prefix), prefix, limit),
        )
        return [_thread(row) for row in rows]

    def every(self) -> list[IndexedThread]:
        """Return all threads, vanished ones included, newest words first, then by id."""
        rows = self._connect().execute(f"{_SELECT_THREAD} ORDER BY t.updated_at DESC, t.thread_id")
        return [_thread(row) for row in rows]

    def gate_counts(self) -> dict[str, int]:
        """Count, by gate, the threads on disk that a gate holds back."""
        rows = self._connect().execute(
            "SELECT gate, count(*) AS n FROM threads WHERE present = 1 AND gate IS NOT NULL GROUP BY gate ORDER BY gate"
        )
        return {row["gate"]: row["n"] for row in rows}

    def scopes_with_remote(self) -> dict[str, str]:
        """Return the scope of every working folder for which any log records a git remote, as the newest one does."""
        rows = self._connect().execute(
            """
            SELECT known.cwd, (
                SELECT scope FROM threads WHERE has_remote = 1 AND cwd = known.cwd
                ORDER BY updated_at DESC, thread_id DESC LIMIT 1
            ) AS scope
            FROM (
                SELECT cwd, min(updated_at) AS first_at FROM threads
                WHERE has_remote = 1 AND cwd IS NOT NULL GROUP BY cwd
            ) AS known
            ORDER BY known.first_at, known.cwd
            """
        )
        return {row["cwd"]: row["scope"] for row in rows}

    def rescope(self, scopes: Mapping[str, str]) -> None:
        """Give threads of these folders these scopes, where their own log named no remote.

        What they said moves along, and so does a memory that rests on nothing of the old scope.
        """
        moved_threads: list[str] = []
        with immediate(self._connect()) as connection:
            for cwd, scope in scopes.items():
                moved = connection.execute(
                    "SELECT thread_id, scope FROM threads WHERE cwd = ? AND has_remote = 0 AND scope <> ?",
                    (cwd, scope),
                ).fetchall()
                for row in moved:
                    connection.execute("UPDATE threads SET scope = ? WHERE thread_id = ?", (scope, row["thread_id"]))
                    for thread_id in (row["thread_id"], *_journals(connection)):
                        move_entries(connection, thread_id, old_scope=row["scope"], new_scope=scope)
                        moved_threads.append(thread_id)
                    follow_scope(connection, row["scope"], scope)
                follow_scope(connection, f"{PROJECT_SCOPE_PREFIX}{cwd}", scope)
            # Only now: two threads that one memory rests on may have moved one after the other.
            unlink_strays(connection, moved_threads)

    def rate_limits(self) -> list[RateLimit]:
        """Return the newest rate-limit window of each agent."""
        rows = self._connect().execute("SELECT * FROM rate_limits ORDER BY agent, window")
        return [
            RateLimit(
                used_percent=row["used_percent"],
                window_minutes=None,
                resets_at=row["resets_at"],
                seen_at=row["seen_at"],
            )
            for row in rows
        ]


def select_threads(connection: sqlite3.Connection, where: str, values: Iterable[object]) -> list[IndexedThread]:
    """Return the threads that a condition on ``t``, ``j`` or ``x`` picks, with its own order and limit."""
    return [_thread(row) for row in connection.execute(f"{_SELECT_THREAD} {where}", tuple(values))]


def _store_reading(connection: sqlite3.Connection, reading: Reading, *, now: float) -> None:
    file, facts = reading.file, reading.facts
    _upsert_file(connection, file, facts.thread_id, open_error=False)
    row = connection.execute(
        """
        SELECT t.rollout_path, t.content_digest, max(t.updated_at, t.newest_at) AS newest_at, t.index_error,
            f.present
        FROM threads AS t
        LEFT JOIN rollout_files AS f ON f.path = t.rollout_path WHERE t.thread_id = ?
        """,
        (facts.thread_id,),
    ).fetchone()
    # A clock that ran ahead must neither let a thread jump the queue nor keep it too recent for years.
    written_at = file.mtime_ns / 1e9
    newest_at = _first_known(facts.newest_at, facts.updated_at, written_at)
    updated_at = min(_first_known(facts.updated_at, written_at), now)
    other_file_owns = (
        row is not None
        and row["rollout_path"] != file.path
        and row["present"]
        and row["index_error"] is None
        and row["newest_at"] >= max(updated_at, newest_at)
    )
    if not other_file_owns:
        if row is not None and row["rollout_path"] != file.path and not row["present"]:
            _move_evidence(connection, facts.thread_id, row["rollout_path"], file.path)
        upsert_thread(connection, file, facts, reading.scope, updated_at, now)
        if row is None:
            note(connection, facts.thread_id, Happened.INDEXED, now=now)
        elif row["content_digest"] != facts.content_digest and not reading.is_shared_out:
            note(connection, facts.thread_id, Happened.GREW, now=now)
        connection.execute(
            "UPDATE threads SET own_from_byte = ?, claimed_records = ?, newest_at = ? WHERE thread_id = ?",
            (
                reading.own_from_byte,
                None if reading.is_shared_out else facts.record_hashes or None,
                newest_at,
                facts.thread_id,
            ),
        )
        _keep_rate_limits(connection, file.agent, facts.rate_limits)
        if facts.source not in (Source.OWN, Source.SUBAGENT):
            # A memory run, or a part of a session that is told of elsewhere, is no use of a memory.
            store_citations(connection, facts.thread_id, facts.citations, began_at=facts.started_at, now=now)
        refresh_claimable(connection, [facts.thread_id])


def _first_known(*times: float | None) -> float:
    return next(at for at in times if at is not None)


def _upsert_file(connection: sqlite3.Connection, file: RolloutFile, thread_id: str, *, open_error: bool) -> None:
    connection.execute(
        """
        INSERT OR REPLACE INTO rollout_files
            (path, thread_id, agent, archived, size, mtime_ns, inode, device, present, open_error)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, 1, ?)
        """,
        (
            file.path,
            thread_id,
            file.agent,
            file.archived,
            file.size,
            file.mtime_ns,
            file.inode,
            file.device,
            open_error,
        ),
    )


def upsert_thread(
    connection: sqlite3.Connection,
    file: RolloutFile,
    facts: ThreadFacts,
    scope: str,
    updated_at: float,
    now: float,
    index_error: str | None = None,
) -> None:
    """Store the row of a thread; ``file`` is where its words stand."""
    columns = {
        "thread_id": facts.thread_id,
        "agent": facts.agent,
        "rollout_path": file.path,
        "archived": file.archived,
        "present": 1,
        "size": file.size,
        "indexed_at": now,
        "index_error": index_error,
        "source": facts.source,
        "cwd": facts.cwd,
        "has_remote": facts.git_remote is not None,
        "git_branch": redact(facts.git_branch).text if facts.git_branch else None,
        "scope": scope,
        "title": facts.title,
        "started_at": facts.started_at,
        "updated_at": updated_at,
        "prompt_count": facts.prompt_count,
        "result_chars": facts.result_chars,
        "gives_direction": facts.gives_direction,
        "memory_mode": facts.memory_mode,
        "disabled_from_start": facts.disabled_from_start,
        "model_provider": redact(facts.model_provider).text if facts.model_provider else None,
        "external_context": facts.external_context,
        "content_digest": facts.content_digest,
        "understood_lines": facts.understood_lines,
        "total_lines": facts.total_lines,
        "skipped_lines": _to_json(facts.skipped_lines),
        "skipped_places": orjson.dumps(facts.skipped_places).decode(),
        "unknown_types": _to_json(facts.unknown_types),
    }
    names = ", ".join(columns)
    marks = ", ".join("?" for _ in columns)
    updates = ", ".join(f"{name} = excluded.{name}" for name in columns if name != "thread_id")
    connection.execute(
        f"INSERT INTO threads ({names}) VALUES ({marks}) ON CONFLICT (thread_id) DO UPDATE SET {updates}",
        tuple(columns.values()),
    )


def refresh_claimable(connection: sqlite3.Connection, thread_ids: Iterable[str]) -> None:
    """Say anew which jobs may be claimed: nothing holds the thread back, its file is there, and work is left."""
    connection.executemany(
        """
        UPDATE jobs SET claimable = new.value
        FROM (
            SELECT t.thread_id,
                (t.gate IS NULL AND t.present = 1 AND j.state IN ('pending', 'error', 'running')) AS value
            FROM threads AS t JOIN jobs AS j ON j.thread_id = t.thread_id WHERE t.thread_id = ?
        ) AS new
        WHERE jobs.thread_id = new.thread_id AND jobs.claimable <> new.value
        """,
        [(thread_id,) for thread_id in thread_ids],
    )


def _journals(connection: sqlite3.Connection) -> list[str]:
    """The threads of the journal: what the person wrote about a project follows it."""
    rows = connection.execute("SELECT thread_id FROM threads WHERE agent = 'journal'")
    return [row["thread_id"] for row in rows]


def move_entries(connection: sqlite3.Connection, thread_id: str, *, old_scope: str, new_scope: str) -> None:
    """Let what a thread said in one project's scope stand in another's; what it said elsewhere stays.

    A memory moves along when nothing that it rests on is left in the old scope.
    """
    connection.execute(
        "UPDATE entries SET scope = ? WHERE thread_id = ? AND scope = ?", (new_scope, thread_id, old_scope)
    )
    connection.execute(
        """
        UPDATE memories SET scope = ?
        WHERE scope = ?
            AND EXISTS (
                SELECT 1 FROM memory_entries AS m JOIN entries AS e ON e.entry_id = m.entry_id
                WHERE m.memory_id = memories.memory_id AND e.thread_id = ?
            )
            AND NOT EXISTS (
                SELECT 1 FROM memory_entries AS m JOIN entries AS e ON e.entry_id = m.entry_id
                WHERE m.memory_id = memories.memory_id AND e.scope <> ?
            )
        """,
        (new_scope, old_scope, thread_id, new_scope),
    )


def unlink_strays(connection: sqlite3.Connection, thread_ids: Iterable[str]) -> None:
    """Take entries that moved off memories that stayed; they are placed anew where they belong."""
    connection.executemany(
        """
        DELETE FROM memory_entries WHERE EXISTS (
            SELECT 1 FROM entries AS e JOIN memories AS m ON m.memory_id = memory_entries.memory_id
            WHERE e.entry_id = memory_entries.entry_id AND e.thread_id = ? AND e.scope <> m.scope
        )
        """,
        [(thread_id,) for thread_id in thread_ids],
    )


def _move_evidence(connection: sqlite3.Connection, thread_id: str, old_path: str, new_path: str) -> None:
    """Let evidence follow a file that was renamed, archived or compressed: byte ranges are of the plain text."""
    connection.execute(
        """
        UPDATE evidence SET rollout_path = ?
        WHERE rollout_path = ? AND entry_id IN (SELECT entry_id FROM entries WHERE thread_id = ?)
        """,
        (new_path, old_path, thread_id),
    )


def _keep_rate_limits(connection: sqlite3.Connection, agent: Agent, limits: Sequence[RateLimit]) -> None:
    for limit in limits:
        connection.execute(
            """
            INSERT INTO rate_limits (agent, window, used_percent, resets_at, seen_at) VALUES (?, ?, ?, ?, ?)
            ON CONFLICT (agent, window) DO UPDATE
            SET used_percent = excluded.used_percent, resets_at = excluded.resets_at, seen_at = excluded.seen_at
            WHERE excluded.seen_at >= rate_limits.seen_at
            """,
            (agent, str(limit.window_minutes or "unnamed"), limit.used_percent, limit.resets_at, limit.seen_at),
        )


def _no_facts(file: RolloutFile) -> ThreadFacts:
    return ThreadFacts(
        thread_id=file.thread_id,
        agent=file.agent,
        source=Source.OTHER,
        cwd=None,
        git_remote=None,
        git_branch=None,
        title=None,
        started_at=None,
        updated_at=None,
        prompt_count=0,
        result_chars=0,
        gives_direction=False,
        memory_mode=None,
        model_provider=None,
        external_context=False,
        rate_limits=(),
        content_digest="",
        understood_lines=0,
        total_lines=0,
        skipped_lines={},
        unknown_types={},
    )


def _thread(row: sqlite3.Row) -> IndexedThread:
    return IndexedThread(
        thread_id=row["thread_id"],
        agent=Agent(row["agent"]),
        rollout_path=row["rollout_path"],
        archived=bool(row["archived"]),
        present=bool(row["present"]),
        size=row["size"],
        index_error=row["index_error"],
        source=Source(row["source"]),
        cwd=row["cwd"],
        scope=row["scope"],
        git_branch=row["git_branch"],
        title=row["title"],
        started_at=row["started_at"],
        updated_at=row["updated_at"],
        prompt_count=row["prompt_count"],
        result_chars=row["result_chars"],
        gives_direction=bool(row["gives_direction"]),
        memory_mode=row["memory_mode"],
        disabled_from_start=bool(row["disabled_from_start"]),
        model_provider=row["model_provider"],
        external_context=bool(row["external_context"]),
        content_digest=row["content_digest"],
        understood_lines=row["understood_lines"],
        total_lines=row["total_lines"],
        skipped_lines=orjson.loads(row["skipped_lines"]),
        skipped_places=tuple((line, reason) for line, reason in orjson.loads(row["skipped_places"])),
        unknown_types=orjson.loads(row["unknown_types"]),
        disabled_by_person=bool(row["disabled_by_person"]),
        is_shared_out=row["claimed_records"] is None,
        gate=Gate(row["gate"]) if row["gate"] else None,
        job_state=JobState(row["job_state"]) if row["job_state"] else None,
        source_digest=row["source_digest"],
        attempts=row["attempts"] or 0,
        retry_at=row["retry_at"],
        last_error=row["last_error"],
        extracted=bool(row["extracted"]),
        no_output=bool(row["no_output"]),
        task_status=SubmittedStatus(row["task_status"]) if row["task_status"] else None,
        keeps_words=bool(row["keeps_words"]),
    )


def _to_json(counts: Mapping[str, int]) -> str:
    return orjson.dumps(dict(sorted(counts.items()))).decode()
