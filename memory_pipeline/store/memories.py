"""The memories and what each consolidation did to them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterable, Sequence

import orjson
from msgspec import Struct

from memory_pipeline.clock import LONGEST_WAIT_SECONDS
from memory_pipeline.records import (
    STATED_KINDS,
    TASK_THREAD_PREFIX,
    Actor,
    AppliedOperation,
    Change,
    Consolidation,
    ConsolidationKind,
    Entry,
    EntryKind,
    Memory,
    MemoryStatus,
    Operation,
    OperationKind,
    Usage,
)
from memory_pipeline.store.connection import data_version, immediate
from memory_pipeline.store.extractions import NOT_BY_HAND, PASSED, STANDING, read_entries
from memory_pipeline.store.keys import are_of_this_version, keep_keys
from memory_pipeline.store.search import index_stale
from memory_pipeline.store.standing import STATUS_NOW
from memory_pipeline.store.usage import count_waiting_uses

#: Picks the entries that the person undid the placing of: they are not placed again by themselves.
_SET_ASIDE = """
    EXISTS (
        SELECT 1 FROM operations AS o JOIN consolidations AS c ON c.consolidation_id = o.consolidation_id
        WHERE o.entry_id = e.entry_id AND c.undone_by IS NOT NULL
    )
"""


class LastConsolidation(Struct, frozen=True, kw_only=True):
    """How the newest consolidation stands."""

    consolidation_id: int
    state: str  # running, publishing, done or failed
    started_at: float
    finished_at: float | None
    failures: int  # in a row, this one included
    retry_at: float | None
    error: str | None


class ToJudge(Struct, frozen=True, kw_only=True):
    """The memories that changed, or whose evidence did, since a consolidation last judged what stands."""

    memory_ids: frozenset[str]  # also of such as are gone
    newest_mark: int  # of what changed later, the marks are greater
    version: int  # is another number once any other connection has written


class Memories:
    """The memories. Only a consolidation changes them, all of its operations in one transaction."""

    def __init__(self, connect: Callable[[], sqlite3.Connection]) -> None:
        self._connect = connect

    def every(self, *, status: MemoryStatus | None = None) -> list[Memory]:
        """Return memories by scope, kind, first seen and id; all of them, or those of one status."""
        connection = self._connect()
        where, values = ("WHERE status = ?", (status,)) if status else ("", ())
        rows = connection.execute(f"SELECT * FROM memories {where} ORDER BY scope, kind, first_seen, memory_id", values)
        return _memories(connection, rows.fetchall())

    def has_scope(self, scope: str) -> bool:
        """Whether anything was ever remembered of a scope."""
        row = self._connect().execute("SELECT 1 FROM memories WHERE scope = ? LIMIT 1", (scope,)).fetchone()
        return row is not None

    def scopes(self) -> list[str]:
        """Return the scopes of which anything was ever remembered: the user's first, then by name."""
        rows = self._connect().execute("SELECT DISTINCT scope FROM memories ORDER BY scope <> 'user', scope")
        return [row["scope"] for row in rows]

    def get_many(self, memory_ids: Sequence[str]) -> dict[str, Memory]:
        """Return, by id, those of the given memories that there are. Costs what they are."""
        connection = self._connect()
        rows: list[sqlite3.Row] = []
        for part in _parts(memory_ids):
            marks = ", ".join("?" for _ in part)
            rows += connection.execute(f"SELECT * FROM memories WHERE memory_id IN ({marks})", part).fetchall()
        return {memory.memory_id: memory for memory in _few_memories(connection, rows)}

    def get(self, memory_id: str) -> Memory | None:
        """Return one memory, or None."""
        connection = self._connect()
        rows = connection.execute("SELECT * FROM memories WHERE memory_id = ?", (memory_id,)).fetchall()
        return _few_memories(connection, rows)[0] if rows else None

    def find_by_prefix(self, prefix: str, *, limit: int = 10) -> list[Memory]:
        """Return the memories whose id starts with ``prefix``, by id, at most ``limit``."""
        connection = self._connect()
        rows = connection.execute(
            "SELECT * FROM memories WHERE substr(memory_id, 1, ?) = ? ORDER BY memory_id LIMIT ?",
            (len(prefix), prefix, limit),
        ).fetchall()
        return _memories(connection, rows)

    def of_thread(self, thread_id: str) -> list[str]:
        """Return the ids of the memories that rest on what a thread says, also those no longer told, by id."""
        rows = self._connect().execute(
            """
            SELECT DISTINCT m.memory_id FROM memory_entries AS m JOIN entries AS e ON e.entry_id = m.entry_id
            WHERE e.thread_id = ? ORDER BY m.memory_id
            """,
            (thread_id,),
        )
        return [row["memory_id"] for row in rows]

    def threads_to_place(self, *, limit: int) -> list[str]:
        """Return the threads with an entry that no consolidation has looked at yet.

        Included are threads with an entry that passed the review, that no memory rests on, and that does not wait.
        In the order of the selection; at most ``limit``, so that a backlog is placed over several consolidations.
        """
        rows = self._connect().execute(
            f"""
            SELECT x.thread_id FROM extractions AS x
            LEFT JOIN usage AS u ON u.subject = 'thread' AND u.subject_id = x.thread_id
            WHERE EXISTS (
                SELECT 1 FROM entries AS e JOIN threads AS t ON t.thread_id = e.thread_id
                WHERE e.thread_id = x.thread_id AND e.waits = 0 AND {NOT_BY_HAND} AND {PASSED}
                    AND NOT EXISTS (SELECT 1 FROM memory_entries AS m WHERE m.entry_id = e.entry_id)
                    AND NOT {_SET_ASIDE}
            )
            ORDER BY coalesce(u.count, 0) DESC, coalesce(u.last_usage, x.generated_at) DESC, x.thread_id
            LIMIT ?
            """,
            (limit,),
        )
        return [row["thread_id"] for row in rows]

    def to_judge(self) -> ToJudge:
        """Return the memories that are to be judged anew: all of them where another version of the program judged."""
        connection = self._connect()
        version = data_version(connection)
        rows = connection.execute("SELECT mark, memory_id FROM memories_to_judge").fetchall()
        known = (
            [] if are_of_this_version(connection) else connection.execute("SELECT memory_id FROM memories").fetchall()
        )
        return ToJudge(
            memory_ids=frozenset(row["memory_id"] for row in (*rows, *known)),
            newest_mark=max((row["mark"] for row in rows), default=0),
            version=version,
        )

    def note_judged(self, judged: ToJudge, *, still_to_judge: Collection[str] = ()) -> None:
        """Note that memories were judged, and nothing came of it."""
        if judged.memory_ids - frozenset(still_to_judge):
            with immediate(self._connect()) as connection:
                later = _marked_since(connection, judged)
                keep_keys(connection)
                _have_judged_all_but(connection, later.union(still_to_judge))

    def mark_waiting(self, entry_ids: Iterable[str]) -> None:
        """Note that entries were looked at and wait for a person."""
        with immediate(self._connect()) as connection:
            _mark_waiting(connection, entry_ids)

    def unplaced_entries(self, thread_ids: Sequence[str]) -> list[Entry]:
        """Return the entries of these threads that passed the review and no memory rests on, by thread and position.

        Left out are those that a curator flagged, and those whose placing the person undid.
        """
        connection = self._connect()
        found: list[Entry] = []
        for thread_id in thread_ids:
            found.extend(
                read_entries(
                    connection,
                    f"""
                    e.thread_id = ? AND e.waits < 2 AND {PASSED}
                    AND NOT EXISTS (SELECT 1 FROM memory_entries AS m WHERE m.entry_id = e.entry_id)
                    AND NOT {_SET_ASIDE}
                    """,
                    (thread_id,),
                )
            )
        return found

    def waiting_entries(self) -> frozenset[str]:
        """Return the ids of the entries that were looked at and wait for a person."""
        rows = self._connect().execute("SELECT entry_id FROM entries WHERE waits > 0")
        return frozenset(row["entry_id"] for row in rows)

    def former_threads(self, memory_ids: Collection[str]) -> dict[str, frozenset[str]]:
        """Return, by memory, the threads of all entries that these ever rested on, withdrawn ones included."""
        threads: dict[str, set[str]] = {}
        for row in self._connect().execute(
            """
            SELECT m.memory_id, e.thread_id FROM json_each(?) AS wanted
            JOIN memory_entries AS m ON m.memory_id = wanted.value JOIN entries AS e ON e.entry_id = m.entry_id
            """,
            (orjson.dumps(list(memory_ids)).decode(),),
        ):
            threads.setdefault(row["memory_id"], set()).add(row["thread_id"])
        return {memory_id: frozenset(found) for memory_id, found in threads.items()}

    def results_in(self, scope: str) -> list[str]:
        """Return the ids of the memories of a scope that rest on submitted tasks, also those no longer told."""
        rows = self._connect().execute(
            """
            SELECT DISTINCT m.memory_id FROM entries AS e JOIN memory_entries AS r ON r.entry_id = e.entry_id
            JOIN memories AS m ON m.memory_id = r.memory_id
            WHERE e.thread_id >= ? AND e.thread_id < ? AND m.scope = ?
            """,
            # From the prefix up to the first text behind all that begin with it, so that the index serves.
            (TASK_THREAD_PREFIX, TASK_THREAD_PREFIX[:-1] + chr(ord(TASK_THREAD_PREFIX[-1]) + 1), scope),
        )
        return [row["memory_id"] for row in rows]

    def unused_since(self, since: float) -> list[str]:
        """Return the ids of what is told, is no kind that a person states, and nothing used or confirmed since."""
        stated = ", ".join(f"'{kind}'" for kind in sorted(STATED_KINDS))
        rows = self._connect().execute(
            f"""
            SELECT m.memory_id FROM memories AS m
            LEFT JOIN usage AS u ON u.subject = 'memory' AND u.subject_id = m.memory_id
            WHERE m.status = 'active' AND m.pinned = 0 AND m.kind NOT IN ({stated}) AND m.last_confirmed < ?
                AND m.learned_at < ? AND coalesce(u.last_usage, 0) < ?
            """,
            (since, since, since),
        )
        return [row["memory_id"] for row in rows]

    def told_by_worth(self, *, scope: str | None = None, but_for: Collection[str] = ()) -> list[str]:
        """Return the ids of what is told, of all scopes or of one, in the order of render.worth, the greatest first."""
        stated = ", ".join(f"'{kind}'" for kind in sorted(STATED_KINDS))
        rows = self._connect().execute(
            f"""
            SELECT m.memory_id FROM memories AS m
            LEFT JOIN usage AS u ON u.subject = 'memory' AND u.subject_id = m.memory_id
            WHERE m.status = 'active' AND (?1 IS NULL OR m.scope = ?1)
                AND m.memory_id NOT IN (SELECT value FROM json_each(?2))
            ORDER BY m.pinned DESC, m.kind IN ({stated}) DESC, coalesce(u.count, 0) DESC,
                max(coalesce(u.last_usage, 0.0), m.last_confirmed) DESC, m.memory_id DESC
            """,
            (scope, orjson.dumps(list(but_for)).decode()),
        )
        return [row["memory_id"] for row in rows]

    def told_scopes(self, *, but_for: Collection[str] = ()) -> dict[str, float]:
        """Return the scopes of what is told, and when the newest of it was said."""
        rows = self._connect().execute(
            """
            SELECT scope, max(last_confirmed) AS newest FROM memories
            WHERE status = 'active' AND memory_id NOT IN (SELECT value FROM json_each(?)) GROUP BY scope
            """,
            (orjson.dumps(list(but_for)).decode(),),
        )
        return {row["scope"]: row["newest"] for row in rows}

    def told_threads(self, *, but_for: Collection[str] = ()) -> list[str]:
        """Return the ids of the threads on which rests what is told."""
        rows = self._connect().execute(
            f"""
            SELECT t.thread_id FROM extractions AS x JOIN threads AS t ON t.thread_id = x.thread_id
            WHERE EXISTS (
                -- "CROSS", so that it is read in this order: each thread has few entries.
                SELECT 1 FROM entries AS e CROSS JOIN memory_entries AS r ON r.entry_id = e.entry_id
                CROSS JOIN memories AS m ON m.memory_id = r.memory_id
                WHERE e.thread_id = x.thread_id AND m.status = 'active'
                    AND m.memory_id NOT IN (SELECT value FROM json_each(?)) AND {STANDING}
            )
            """,
            (orjson.dumps(list(but_for)).decode(),),
        )
        return [row["thread_id"] for row in rows]

    def count(self) -> int:
        """Count the memories, also those no longer told."""
        return int(self._connect().execute("SELECT count(*) FROM memories").fetchone()[0])

    def counts_by_status(self) -> dict[str, int]:
        """Count the memories by status, as Memory.status_now tells it."""
        rows = self._connect().execute(
            f"SELECT {STATUS_NOW} AS status, count(*) AS n FROM memories AS m GROUP BY 1 ORDER BY 1"
        )
        return {row["status"]: row["n"] for row in rows}

    def last_consolidation(self) -> LastConsolidation | None:
        """Return the newest consolidation, or None if there never was one."""
        return self._consolidation("ORDER BY consolidation_id DESC LIMIT 1")

    def last_run(self) -> LastConsolidation | None:
        """Return the newest consolidation that a run of phase two made, or None."""
        return self._consolidation("WHERE kind = 'run' ORDER BY consolidation_id DESC LIMIT 1")

    def last_success(self) -> LastConsolidation | None:
        """Return the newest consolidation that was published, or None."""
        return self._consolidation("WHERE state = 'done' ORDER BY consolidation_id DESC LIMIT 1")

    def begin(
        self,
        *,
        owner: str,
        now: float,
        kind: ConsolidationKind = ConsolidationKind.RUN,
        undoes: int | None = None,
    ) -> int:
        """Open a consolidation; a row that still says running or publishing was left by a dead run and is closed."""
        with immediate(self._connect()) as connection:
            connection.execute(
                """
                UPDATE consolidations SET state = 'failed', finished_at = ?, error = 'the run died'
                WHERE state IN ('running', 'publishing')
                """,
                (now,),
            )
            row = connection.execute(
                """
                INSERT INTO consolidations (kind, state, owner, started_at, undoes) VALUES (?, 'running', ?, ?, ?)
                RETURNING consolidation_id
                """,
                (kind, owner, now, undoes),
            ).fetchone()
        return int(row["consolidation_id"])

    def commit(
        self,
        consolidation_id: int,
        memories: Collection[Memory],
        placements: Iterable[tuple[str, str]],
        changes: Iterable[Change],
        *,
        removals: Iterable[tuple[str, str]] = (),
        waiting: Iterable[str] = (),
        flagged: Iterable[str] = (),
        journal_records: Iterable[str] = (),
        merged: Iterable[str] = (),
        judged: ToJudge | None = None,
        still_to_judge: Collection[str] = (),
        now: float,
    ) -> bool:
        """Apply all operations of a consolidation and mark it as being published; false when it was taken over.

        ``memories`` are the changed or new ones; ``placements`` pairs (memory, entry) that a memory newly rests on,
        ``removals`` those that it no longer rests on; ``waiting`` are entries that were looked at and wait for a
        person, ``flagged`` such that are not placed by themselves any more; ``journal_records`` are the person's deeds
        that were taken in; ``merged`` the proposals about memories that were carried out. With ``judged``, these
        memories and all changed ones were judged, but for those that are ``still_to_judge`` and what others may have
        changed meanwhile.
        """
        with immediate(self._connect()) as connection:
            changed = connection.execute(
                "UPDATE consolidations SET state = 'publishing' WHERE consolidation_id = ? AND state = 'running'",
                (consolidation_id,),
            )
            if changed.rowcount != 1:
                return False
            later = _changed_since(connection, judged, memories) if judged is not None else set()
            for memory in memories:
                _store_memory(connection, memory)
            connection.executemany("DELETE FROM memory_entries WHERE memory_id = ? AND entry_id = ?", removals)
            connection.executemany("INSERT OR IGNORE INTO memory_entries VALUES (?, ?)", placements)
            _mark_waiting(connection, waiting)
            connection.executemany(
                "UPDATE entries SET waits = 2 WHERE entry_id = ?", [(entry_id,) for entry_id in flagged]
            )
            connection.executemany(
                "INSERT OR IGNORE INTO journal_records VALUES (?, ?)",
                [(record_id, consolidation_id) for record_id in journal_records],
            )
            connection.executemany(
                "UPDATE drafts SET carried_out = ? WHERE entry_id = ?", [(consolidation_id, name) for name in merged]
            )
            _store_changes(connection, consolidation_id, changes, now)
            count_waiting_uses(connection, now=now)
            index_stale(connection)  # now, since whoever only looks at the database can't
            keep_keys(connection)
            if judged is not None:
                _have_judged_all_but(connection, later.union(still_to_judge))
            # Undone and redone: the one that is undone says by whom, and what it had undone itself holds again.
            connection.execute(
                """
                UPDATE consolidations SET undone_by = ?1
                WHERE consolidation_id = (SELECT undoes FROM consolidations WHERE consolidation_id = ?1)
                """,
                (consolidation_id,),
            )
            _judge_what_holds_again(connection, consolidation_id)
            connection.execute(
                """
                UPDATE consolidations SET undone_by = NULL WHERE undone_by = (
                    SELECT undone.consolidation_id FROM consolidations AS undone
                    WHERE undone.undone_by = ? AND undone.kind = 'undo'
                )
                """,
                (consolidation_id,),
            )
        return True

    def finish(self, consolidation_id: int, *, watermark: float, now: float) -> None:
        """Mark a consolidation as published."""
        with immediate(self._connect()) as connection:
            connection.execute(
                """
                UPDATE consolidations SET state = 'done', finished_at = ?, watermark = ?, failures = 0, retry_at = NULL,
                    error = NULL
                WHERE consolidation_id = ?
                """,
                (now, watermark, consolidation_id),
            )

    def fail(self, consolidation_id: int, error: str, *, failures: int, retry_at: float, now: float) -> None:
        """Mark a consolidation as failed; it waits until ``retry_at``.

        One that was committed stays to be published: the memories have changed already.
        """
        with immediate(self._connect()) as connection:
            connection.execute(
                """
                UPDATE consolidations SET state = iif(state = 'publishing', 'publishing', 'failed'), finished_at = ?,
                    error = ?, failures = ?, retry_at = ?
                WHERE consolidation_id = ? AND state IN ('running', 'publishing')
                """,
                (now, error, failures, min(retry_at, now + LONGEST_WAIT_SECONDS), consolidation_id),
            )

    def state_of(self, consolidation_id: int) -> str | None:
        """Return the state of one consolidation, None if it was never opened."""
        row = (
            self._connect()
            .execute("SELECT state FROM consolidations WHERE consolidation_id = ?", (consolidation_id,))
            .fetchone()
        )
        return None if row is None else str(row["state"])

    def operations_of(self, memory_id: str) -> list[AppliedOperation]:
        """Return what was done to a memory, oldest first."""
        return self._history("WHERE memory_id = ?", (memory_id,))

    def operations_in(self, consolidation_id: int) -> list[AppliedOperation]:
        """Return what one consolidation did, in order."""
        return self._history("WHERE consolidation_id = ?", (consolidation_id,))

    def operations_after(self, consolidation_id: int) -> list[AppliedOperation]:
        """Return what all later consolidations did, oldest first."""
        return self._history("WHERE consolidation_id > ?", (consolidation_id,))

    def undone_operations(self) -> list[Operation]:
        """Return the operations that the person undid, oldest first."""
        where = "WHERE consolidation_id IN (SELECT consolidation_id FROM consolidations WHERE undone_by IS NOT NULL)"
        return [applied.operation for applied in self._history(where, ())]

    def rewordings_by_person(self) -> list[AppliedOperation]:
        """Return the rewordings by the person's own hand that stand, oldest first."""
        where = """
            WHERE operation = 'reword' AND actor = 'person' AND consolidation_id IN
                (SELECT consolidation_id FROM consolidations WHERE undone_by IS NULL)
        """
        return self._history(where, ())

    def consolidations(self, *, limit: int) -> list[Consolidation]:
        """Return consolidations that changed memories, newest first, at most ``limit``."""
        connection = self._connect()
        rows = connection.execute(
            """
            SELECT * FROM consolidations AS c
            WHERE state IN ('done', 'publishing')
                AND EXISTS (SELECT 1 FROM operations AS o WHERE o.consolidation_id = c.consolidation_id)
            ORDER BY consolidation_id DESC LIMIT ?
            """,
            (limit,),
        ).fetchall()
        return [_consolidation_of(connection, row) for row in rows]

    def consolidation(self, consolidation_id: int) -> Consolidation | None:
        """Return one consolidation, or None."""
        connection = self._connect()
        row = connection.execute(
            "SELECT * FROM consolidations WHERE consolidation_id = ?", (consolidation_id,)
        ).fetchone()
        return _consolidation_of(connection, row) if row else None

    def taken_in(self) -> frozenset[str]:
        """Return the ids of the journal's records that consolidations took in."""
        rows = self._connect().execute("SELECT record_id FROM journal_records")
        return frozenset(row["record_id"] for row in rows)

    def _history(self, tail: str, values: tuple[object, ...]) -> list[AppliedOperation]:
        rows = self._connect().execute(f"SELECT * FROM operations {tail} ORDER BY operation_id", values)
        return [read_operation(row) for row in rows]

    def _consolidation(self, tail: str) -> LastConsolidation | None:
        row = self._connect().execute(f"SELECT * FROM consolidations {tail}").fetchone()
        if row is None:
            return None
        return LastConsolidation(
            consolidation_id=row["consolidation_id"],
            state=row["state"],
            started_at=row["started_at"],
            finished_at=row["finished_at"],
            failures=row["failures"],
            retry_at=row["retry_at"],
            error=row["error"],
        )


def _consolidation_of(connection: sqlite3.Connection, row: sqlite3.Row) -> Consolidation:
    counts = connection.execute(
        """
        SELECT operation, count(*) AS n FROM operations WHERE consolidation_id = ?
        GROUP BY operation ORDER BY min(operation_id)
        """,
        (row["consolidation_id"],),
    )
    return Consolidation(
        consolidation_id=row["consolidation_id"],
        kind=ConsolidationKind(row["kind"]),
        state=row["state"],
        started_at=row["started_at"],
        finished_at=row["finished_at"],
        undoes=row["undoes"],
        undone_by=row["undone_by"],
        operations={count["operation"]: count["n"] for count in counts},
    )


def _store_changes(
    connection: sqlite3.Connection, consolidation_id: int, changes: Iterable[Change], now: float
) -> None:
    connection.executemany(
        """
        INSERT INTO operations (consolidation_id, memory_id, operation, actor, entry_id, other_memory_id, statement,
            condition, reason, at, before)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """,
        [
            (
                consolidation_id,
                change.operation.memory_id,
                change.operation.kind,
                change.operation.actor,
                change.operation.entry_id,
                change.operation.other_memory_id,
                change.operation.statement,
                change.operation.condition,
                change.operation.reason,
                now,
                as_image(change.before) if change.before else None,
            )
            for change in changes
        ],
    )


def read_operation(row: sqlite3.Row) -> AppliedOperation:
    """Read a row of the history."""
    return AppliedOperation(
        operation=Operation(
            kind=OperationKind(row["operation"]),
            memory_id=row["memory_id"],
            reason=row["reason"],
            actor=Actor(row["actor"]),
            entry_id=row["entry_id"],
            other_memory_id=row["other_memory_id"],
            statement=row["statement"],
            condition=row["condition"],
        ),
        consolidation_id=row["consolidation_id"],
        at=row["at"],
        before=_from_image(row["memory_id"], row["before"]) if row["before"] else None,
    )


#: What an image of a memory holds: all that an operation may change, and that can't be told from other tables.
_IMAGED = (
    *("kind", "scope", "condition", "statement", "status", "pinned", "first_seen", "last_confirmed", "learned_at"),
    *("superseded_by", "reason", "entry_ids", "thread_ids", "by_hand", "group"),
)


def as_image(memory: Memory) -> str:
    """Write a memory as the history keeps it."""
    return orjson.dumps({name: getattr(memory, name) for name in _IMAGED}).decode()


def _from_image(memory_id: str, image: str) -> Memory:
    fields = orjson.loads(image)
    return Memory(
        **{
            **fields,
            "kind": EntryKind(fields["kind"]),
            "status": MemoryStatus(fields["status"]),
            "entry_ids": tuple(fields["entry_ids"]),
            "thread_ids": tuple(fields["thread_ids"]),
        },
        memory_id=memory_id,
        supersedes=(),
        usage=Usage(),
    )


def _marked_since(connection: sqlite3.Connection, judged: ToJudge) -> set[str]:
    """Return what changed while others were judged."""
    rows = connection.execute("SELECT memory_id FROM memories_to_judge WHERE mark > ?", (judged.newest_mark,))
    return {row["memory_id"] for row in rows}


def _changed_since(connection: sqlite3.Connection, judged: ToJudge, changed: Collection[Memory]) -> set[str]:
    """Return what may be other than it was judged; ``changed`` are the memories that are about to be stored."""
    later = _marked_since(connection, judged)
    # An entry that was withdrawn before a memory rests on it marks none.
    return later if data_version(connection) == judged.version else later.union(one.memory_id for one in changed)


def _have_judged_all_but(connection: sqlite3.Connection, memory_ids: Collection[str]) -> None:
    connection.execute("DELETE FROM memories_to_judge")
    connection.executemany(
        "INSERT INTO memories_to_judge (memory_id) VALUES (?)", [(memory_id,) for memory_id in sorted(memory_ids)]
    )


def _judge_what_holds_again(connection: sqlite3.Connection, consolidation_id: int) -> None:
    """Have memories judged whose undone changes may be made again, since their undoing is undone by now."""
    connection.execute(
        """
        INSERT INTO memories_to_judge (memory_id)
        -- "CROSS", so that it is read in this order: nearly always the first finds none.
        SELECT DISTINCT o.memory_id FROM consolidations AS undone
        CROSS JOIN consolidations AS c ON c.undone_by = undone.consolidation_id
        CROSS JOIN operations AS o ON o.consolidation_id = c.consolidation_id
        WHERE undone.undone_by = ? AND undone.kind = 'undo'
            AND o.memory_id NOT IN (SELECT memory_id FROM memories_to_judge)
        """,
        (consolidation_id,),
    )


def _mark_waiting(connection: sqlite3.Connection, entry_ids: Iterable[str]) -> None:
    connection.executemany("UPDATE entries SET waits = 1 WHERE entry_id = ?", [(entry_id,) for entry_id in entry_ids])


def _store_memory(connection: sqlite3.Connection, memory: Memory) -> None:
    connection.execute(
        """
        INSERT INTO memories (memory_id, kind, scope, condition, statement, status, pinned, first_seen, last_confirmed,
            learned_at, superseded_by, reason, by_hand, task_group)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        -- Not the scope: no operation changes it, but its project may have moved meanwhile.
        ON CONFLICT (memory_id) DO UPDATE SET kind = excluded.kind,
            condition = excluded.condition, statement = excluded.statement, status = excluded.status,
            pinned = excluded.pinned, first_seen = excluded.first_seen, last_confirmed = excluded.last_confirmed,
            superseded_by = excluded.superseded_by, reason = excluded.reason, by_hand = excluded.by_hand,
            task_group = excluded.task_group
        """,
        (
            memory.memory_id,
            memory.kind,
            memory.scope,
            memory.condition,
            memory.statement,
            memory.status,
            memory.pinned,
            memory.first_seen,
            memory.last_confirmed,
            memory.learned_at,
            memory.superseded_by,
            memory.reason,
            memory.by_hand,
            memory.group,
        ),
    )


def read_memories(connection: sqlite3.Connection) -> list[Memory]:
    """Return all memories by id."""
    return _memories(connection, connection.execute("SELECT * FROM memories ORDER BY memory_id").fetchall())


def _few_memories(connection: sqlite3.Connection, rows: Sequence[sqlite3.Row]) -> list[Memory]:
    """Read memories that are few of all that there are."""
    found: list[Memory] = []
    for start in range(0, len(rows), _PART):
        part = rows[start : start + _PART]
        found += _memories(connection, part, among=tuple(row["memory_id"] for row in part))
    return found


#: So many ids go into one statement.
_PART = 500


def _parts(ids: Sequence[str]) -> Iterable[tuple[str, ...]]:
    for start in range(0, len(ids), _PART):
        yield tuple(ids[start : start + _PART])


def _memories(
    connection: sqlite3.Connection, rows: Sequence[sqlite3.Row], *, among: tuple[str, ...] | None = None
) -> list[Memory]:
    """Read memories with what they rest on; ``among`` are their ids, where only these are to be looked up."""
    wanted = {row["memory_id"] for row in rows}
    marks = f"IN ({', '.join('?' for _ in among or ())})"
    few = () if among is None else among
    entries: dict[str, list[tuple[str, str]]] = {}
    for link in connection.execute(
        f"""
        SELECT m.memory_id, e.entry_id, e.thread_id FROM memory_entries AS m
        JOIN entries AS e ON e.entry_id = m.entry_id JOIN threads AS t ON t.thread_id = e.thread_id
        WHERE {STANDING} {f"AND m.memory_id {marks}" if few else ""} ORDER BY m.rowid
        """,
        few,
    ):
        if link["memory_id"] in wanted:
            entries.setdefault(link["memory_id"], []).append((link["entry_id"], link["thread_id"]))
    supersedes: dict[str, list[str]] = {}
    for link in connection.execute(
        f"""
        SELECT memory_id, superseded_by FROM memories
        WHERE superseded_by {marks if few else "IS NOT NULL"} ORDER BY memory_id
        """,
        few,
    ):
        supersedes.setdefault(link["superseded_by"], []).append(link["memory_id"])
    usages = {
        row["subject_id"]: Usage(count=row["count"], last_usage=row["last_usage"])
        for row in connection.execute(
            f"SELECT * FROM usage WHERE subject = 'memory' {f'AND subject_id {marks}' if few else ''}", few
        )
    }
    return [
        Memory(
            memory_id=row["memory_id"],
            kind=EntryKind(row["kind"]),
            scope=row["scope"],
            condition=row["condition"],
            statement=row["statement"],
            status=MemoryStatus(row["status"]),
            pinned=bool(row["pinned"]),
            first_seen=row["first_seen"],
            last_confirmed=row["last_confirmed"],
            learned_at=row["learned_at"],
            superseded_by=row["superseded_by"],
            reason=row["reason"],
            entry_ids=tuple(entry_id for entry_id, _ in entries.get(row["memory_id"], ())),
            thread_ids=tuple(sorted({thread_id for _, thread_id in entries.get(row["memory_id"], ())})),
            supersedes=tuple(supersedes.get(row["memory_id"], ())),
            usage=usages.get(row["memory_id"], Usage()),
            by_hand=bool(row["by_hand"]),
            group=row["task_group"],
        )
        for row in rows
    ]
