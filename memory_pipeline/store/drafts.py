"""The entries under review: their labels, and what the policy and the person decided about them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence

import orjson
from msgspec import Struct

from memory_pipeline.records import (
    MEMORIES_THREAD,
    Coverage,
    Decider,
    Draft,
    DraftLabel,
    Entry,
    Judgement,
    Merge,
    Readiness,
    ReviewAct,
    ReviewEvent,
    ReviewRecord,
    ReviewStatus,
)
from memory_pipeline.store.connection import immediate
from memory_pipeline.store.decisions import (
    Deed,
    Former,
    WriteDown,
    carry_out,
    carry_out_waiting,
    keep_record,
    next_batch,
    record_of,
    records_of_former,
    records_where,
    standing_rejections,
    take_back,
    undoing_of,
)
from memory_pipeline.store.extractions import NOT_BY_HAND, entries_by_id
from memory_pipeline.store.memories import read_memories
from memory_pipeline.store.standing import SAID, TOLD

#: A draft of an entry is said while the entry is; one about memories, while all of them are told.
_IS_SAID = f"""
    iif(d.merges IS NULL, e.entry_id IS NOT NULL AND {SAID}, NOT EXISTS (
        SELECT 1 FROM json_each(d.merges) AS j LEFT JOIN memories AS m ON m.memory_id = j.value
        WHERE m.memory_id IS NULL OR NOT ({TOLD})
    ))
"""
_FROM_DRAFTS = """
    FROM drafts AS d LEFT JOIN entries AS e ON e.entry_id = d.entry_id
    LEFT JOIN threads AS t ON t.thread_id = e.thread_id
"""

#: A draft by whose fingerprint others are rejected.
_REJECTS = "review_status = 'rejected' AND fingerprint IS NOT NULL"
#: A draft that waits in the queue.
_QUEUED = f"d.review_status = 'pending' AND d.dropped IS NULL AND ({_IS_SAID})"
_UNPLACED = "NOT EXISTS (SELECT 1 FROM memory_entries AS m WHERE m.entry_id = e.entry_id)"

_NOT_CARRIED_OUT = "entry_id NOT IN (SELECT entry_id FROM drafts WHERE carried_out IS NOT NULL)"


#: A draft whose log tells of decisions that no record tells of.
_FORMER = """
    d.review_log <> '[]' AND NOT EXISTS (SELECT 1 FROM review_records AS r WHERE r.entry_id = d.entry_id)
"""


class Unjudged(Struct, frozen=True, kw_only=True):
    """An entry to label, and what is known of its reading."""

    entry: Entry
    coverage: Coverage
    is_flagged: bool  # a curator's model saw a contradiction


class Rejection(Struct, frozen=True, kw_only=True):
    """What a person rejected, as a fingerprint."""

    entry_id: str
    scope: str
    kind: str
    fingerprint: str


class Dropped(Struct, frozen=True, kw_only=True):
    """How many drafts left the queue undecided."""

    by_age: int = 0
    by_rank: int = 0


class Decided(Struct, frozen=True, kw_only=True):
    """What became of one decision of a person."""

    entry_ids: tuple[str, ...] = ()  # decided now
    changed: tuple[str, ...] = ()  # left alone, since somebody else decided or a run labelled them anew meanwhile
    gone: tuple[str, ...] = ()  # no longer said, or forgotten


class Drafts:
    """The drafts. Labelling never changes what a person decided."""

    def __init__(self, connect: Callable[[], sqlite3.Connection]) -> None:
        self._connect = connect

    # --- between the phases ---

    def basis(self) -> str:
        """Return what changes with the memories and with the rejections: what was judged before may be wrong."""
        row = (
            self._connect()
            .execute(
                f"""
                SELECT (SELECT coalesce(max(consolidation_id), 0) FROM operations), count(*),
                    coalesce(max(reviewed_at), 0),
                    (SELECT coalesce(max(position), 0) FROM review_records WHERE carried_out = 0)
                FROM drafts WHERE {_REJECTS}
                """
            )
            .fetchone()
        )
        return "/".join(map(str, row))

    def unjudged(self, basis: str) -> list[Unjudged]:
        """Return the entries to label, by thread and position.

        Included are entries that are said, that no memory rests on, and that have no draft, or one that no person
        decided about and that was labelled on another basis or from a reading of another coverage. What left the queue
        by age is not among them; what found no room is.
        """
        connection = self._connect()
        rows = connection.execute(
            f"""
            SELECT e.entry_id, e.waits, x.coverage FROM entries AS e
            JOIN threads AS t ON t.thread_id = e.thread_id JOIN extractions AS x ON x.thread_id = e.thread_id
            LEFT JOIN drafts AS d ON d.entry_id = e.entry_id
            WHERE {SAID} AND {NOT_BY_HAND} AND {_UNPLACED} AND (
                d.entry_id IS NULL
                OR (
                    d.decided_by IS NOT 'person'
                    AND d.dropped IS NOT 'age' AND (d.basis <> ? OR d.coverage <> x.coverage)
                )
            )
            ORDER BY e.thread_id, e.position, e.entry_id
            """,
            (basis,),
        ).fetchall()
        entries = entries_by_id(connection, [row["entry_id"] for row in rows])
        return [
            Unjudged(entry=entries[row["entry_id"]], coverage=Coverage(row["coverage"]), is_flagged=row["waits"] == 2)
            for row in rows
        ]

    def judge(self, judgements: Iterable[Judgement], *, basis: str, now: float) -> None:
        """Store labels, and what the policy says of drafts that no person decided about meanwhile. One transaction."""
        with immediate(self._connect()) as connection:
            connection.executemany(
                """
                INSERT INTO drafts (entry_id, coverage, label, readiness, rationale, nearest, basis, review_status,
                    decided_by, drafted_at)
                SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10
                WHERE EXISTS (SELECT 1 FROM entries WHERE entry_id = ?1)
                ON CONFLICT (entry_id) DO UPDATE
                SET coverage = excluded.coverage, label = excluded.label, readiness = excluded.readiness,
                    rationale = excluded.rationale, nearest = excluded.nearest, basis = excluded.basis,
                    review_status = iif(drafts.decided_by IS 'person', drafts.review_status, excluded.review_status),
                    dropped = iif(drafts.decided_by IS 'person' OR excluded.review_status = 'pending', drafts.dropped,
                        NULL),
                    decided_by = iif(drafts.decided_by IS 'person', drafts.decided_by, excluded.decided_by)
                """,
                [
                    (
                        one.entry_id,
                        one.coverage,
                        one.label,
                        one.readiness,
                        one.rationale,
                        orjson.dumps(one.nearest).decode(),
                        basis,
                        one.review_status,
                        one.decided_by,
                        now,
                    )
                    for one in judgements
                ],
            )
            carry_out_waiting(connection)

    def bring_back_deferred(self, *, now: float) -> int:
        """Put deferred drafts whose time has come back into the queue; returns how many."""
        with immediate(self._connect()) as connection:
            changed = connection.execute(
                """
                UPDATE drafts SET review_status = 'pending', decided_by = NULL, deferred_until = NULL, basis = '',
                    drafted_at = ?1
                WHERE review_status = 'deferred' AND deferred_until <= ?1
                """,
                (now,),
            )
            return changed.rowcount

    def bound_queue(self, *, most: int, oldest: float) -> Dropped:
        """Let drafts leave the queue that have waited since before ``oldest``, and those past the ``most`` first.

        First come what a person stated, then what was drafted last. What left by rank comes back when there is room.
        """
        with immediate(self._connect()) as connection:
            connection.execute("UPDATE drafts SET dropped = NULL WHERE dropped = 'rank'")
            connection.execute(
                "UPDATE drafts SET dropped = 'age' WHERE review_status = 'pending' AND dropped IS NULL "
                "AND drafted_at < ?",
                (oldest,),
            )
            by_age = _changes(connection)
            connection.execute(
                f"""
                UPDATE drafts SET dropped = 'rank' WHERE entry_id IN (
                    SELECT d.entry_id {_FROM_DRAFTS} WHERE {_QUEUED} ORDER BY {_RANK} LIMIT -1 OFFSET ?
                )
                """,
                (most,),
            )
            return Dropped(by_age=by_age, by_rank=_changes(connection))

    def rejections(self) -> list[Rejection]:
        """Return the fingerprints of what a person rejected, by entry; first of what no session says here any more."""
        rows = self._connect().execute(
            f"""
            SELECT e.entry_id, e.scope, e.kind, d.fingerprint FROM drafts AS d
            JOIN entries AS e ON e.entry_id = d.entry_id
            WHERE {_REJECTS} ORDER BY e.entry_id
            """
        )
        found = [
            (one.entry_id, one.scope, one.kind, one.fingerprint)
            for one in standing_rejections(self.waiting_records())
            if not one.merges
        ]
        found += [(row["entry_id"], row["scope"], row["kind"], row["fingerprint"]) for row in rows]
        return [
            Rejection(entry_id=entry_id, scope=scope, kind=kind, fingerprint=fingerprint)
            for entry_id, scope, kind, fingerprint in found
        ]

    def any_fingerprint(self) -> str:
        """Return a fingerprint that was made here, or that the journal brought; "" without any."""
        row = (
            self._connect()
            .execute(
                """
                SELECT fingerprint FROM drafts WHERE fingerprint IS NOT NULL
                UNION ALL SELECT fingerprint FROM review_records WHERE fingerprint <> '' LIMIT 1
                """
            )
            .fetchone()
        )
        return str(row["fingerprint"]) if row else ""

    # --- what is shown ---

    def get(self, entry_id: str) -> Draft | None:
        """Return the draft of an entry, withdrawn ones included; None if there is none."""
        found = self._drafts("WHERE d.entry_id = ?", (entry_id,))
        return found[0] if found else None

    def find_by_prefix(self, prefix: str, *, limit: int = 10) -> list[Draft]:
        """Return the drafts whose entry's id starts with ``prefix``, withdrawn ones too, by id, at most ``limit``."""
        tail = "WHERE substr(d.entry_id, 1, ?) = ? ORDER BY d.entry_id LIMIT ?"
        return self._drafts(tail, (len(prefix), prefix, limit))

    def queue(self) -> list[Draft]:
        """Return the drafts that wait for a person: what a person stated first, then the newest."""
        return self._drafts(f"WHERE {_QUEUED} ORDER BY {_RANK}")

    def queue_ids(self, *, thread_id: str | None = None) -> list[str]:
        """Return the ids of the drafts that wait, of one thread or all, in the order of the queue."""
        where, values = ("AND coalesce(e.thread_id, ?) = ?", (MEMORIES_THREAD, thread_id)) if thread_id else ("", ())
        rows = self._connect().execute(
            f"SELECT d.entry_id {_FROM_DRAFTS} WHERE {_QUEUED} {where} ORDER BY {_RANK}", values
        )
        return [row["entry_id"] for row in rows]

    def unasked(self, *, limit: int) -> list[Draft]:
        """Return the drafts of the queue that no collaborator was asked about, in its order, at most ``limit``."""
        return self._drafts(f"WHERE {_QUEUED} AND d.collaborator IS NULL ORDER BY {_RANK} LIMIT ?", (limit,))

    def attach(self, entry_id: str, *, notes: Sequence[str], evidence: Sequence[str]) -> None:
        """Keep what a collaborator said of a draft; with nothing, that it was asked."""
        said = {"notes": list(notes), "evidence": list(evidence)} if notes or evidence else {}
        with immediate(self._connect()) as connection:
            connection.execute(
                "UPDATE drafts SET collaborator = ? WHERE entry_id = ?", (orjson.dumps(said).decode(), entry_id)
            )

    def count_queue(self) -> int:
        """Count the drafts that wait for a person."""
        row = self._connect().execute(f"SELECT count(*) {_FROM_DRAFTS} WHERE {_QUEUED}")
        return int(row.fetchone()[0])

    def count_dropped(self) -> int:
        """Count the drafts that left the queue undecided."""
        where = f"d.dropped IS NOT NULL AND ({_IS_SAID})"
        return int(self._connect().execute(f"SELECT count(*) {_FROM_DRAFTS} WHERE {where}").fetchone()[0])

    def every(self, *, thread_id: str | None = None) -> list[Draft]:
        """Return the drafts that are said, of one thread by position, or all: first those about memories."""
        where, values = ("AND e.thread_id = ?", (thread_id,)) if thread_id else ("", ())
        return self._drafts(f"WHERE ({_IS_SAID}) {where} ORDER BY e.thread_id, e.position, d.entry_id", values)

    def approved_by_person(self) -> frozenset[str]:
        """Return the ids of the entries that a person approved."""
        rows = self._connect().execute(
            "SELECT entry_id FROM drafts WHERE review_status = 'approved' AND decided_by = 'person'"
        )
        return frozenset(row["entry_id"] for row in rows)

    def latest_thread(self) -> str | None:
        """Return the thread with drafts whose log was last written to, None without drafts.

        The journal is written to whenever the person does something; what counts is when something was noted there.
        """
        row = (
            self._connect()
            .execute(
                f"""
                SELECT e.thread_id FROM drafts AS d JOIN entries AS e ON e.entry_id = d.entry_id
                JOIN threads AS t ON t.thread_id = e.thread_id
                WHERE {SAID}
                ORDER BY iif(t.agent = 'journal', d.drafted_at, t.updated_at) DESC, e.thread_id LIMIT 1
                """
            )
            .fetchone()
        )
        return None if row is None else str(row["thread_id"])

    # --- proposals about memories ---

    def merges(self) -> list[Draft]:
        """Return the drafts about memories, whatever was decided, by id."""
        return self._drafts("WHERE d.merges IS NOT NULL ORDER BY d.entry_id")

    def propose(self, merges: Iterable[Merge], *, outdated: Iterable[str], now: float) -> int:
        """Store proposals that are not known yet; returns how many. One transaction.

        ``outdated`` are ids of proposals that hold no longer: those that nobody decided about go.
        """
        with immediate(self._connect()) as connection:
            connection.executemany(
                "DELETE FROM drafts WHERE entry_id = ? AND merges IS NOT NULL AND decided_by IS NULL",
                [(name,) for name in outdated],
            )
            before = connection.total_changes
            connection.executemany(
                """
                INSERT OR IGNORE INTO drafts (entry_id, coverage, label, readiness, rationale, nearest, basis,
                    review_status, drafted_at, merges)
                VALUES (?, 'high', ?, ?, ?, ?, '', 'pending', ?, ?)
                """,
                [
                    (
                        one.merge_id,
                        one.label,
                        Readiness.NEEDS_CONFLICT_REVIEW
                        if one.label is DraftLabel.CONFLICT
                        else Readiness.READY_CANDIDATE,
                        one.rationale,
                        orjson.dumps(one.gives_way).decode(),
                        now,
                        orjson.dumps([one.keeps, *one.gives_way]).decode(),
                    )
                    for one in merges
                ],
            )
            proposed = connection.total_changes - before
            carry_out_waiting(connection)
            return proposed

    def approved_merges(self) -> list[Merge]:
        """Return the approved proposals that no consolidation carried out yet, in the order of approval."""
        rows = self._connect().execute(
            """
            SELECT entry_id, label, merges FROM drafts WHERE merges IS NOT NULL AND review_status = 'approved'
                AND carried_out IS NULL ORDER BY reviewed_at, entry_id
            """
        )
        return [
            Merge(merge_id=row["entry_id"], label=DraftLabel(row["label"]), keeps=ids[0], gives_way=tuple(ids[1:]))
            for row in rows
            if (ids := orjson.loads(row["merges"]))
        ]

    # --- what a person decides ---

    def decide(
        self,
        entries: Sequence[Entry],
        status: ReviewStatus,
        *,
        note: str,
        now: float,
        write_down: WriteDown,
        fingerprints: Sequence[str],
        deferred_until: float | None = None,
        seen: Iterable[Draft] = (),
    ) -> Decided:
        """Store one decision of a person about drafts. One transaction; nothing is stored that can't be written down.

        ``fingerprints`` are those of the entries. ``seen`` are drafts as the person saw them: one that stands otherwise
        by now is left alone. An entry that a curator had set aside may be placed once it is approved.
        """
        seen_as = {draft.entry.entry_id: draft.standing for draft in seen}
        deed = Deed(act=ReviewAct.DECIDE, at=now, status=status, note=note, deferred_until=deferred_until)
        changed, gone = [], []
        records: list[ReviewRecord] = []
        with immediate(self._connect()) as connection:
            batch = next_batch(connection)
            for entry, fingerprint in zip(entries, fingerprints, strict=True):
                row = _draft_row(connection, entry.entry_id)
                if row is None or not row["is_said"]:
                    gone.append(entry.entry_id)
                elif _standing_of(row) != seen_as.get(entry.entry_id, _standing_of(row)):
                    changed.append(entry.entry_id)
                else:
                    first = records[0].batch if records else ""
                    records.append(_do(connection, row, entry, deed, fingerprint, batch=batch, batch_name=first))
            write_down(records)
        return Decided(entry_ids=tuple(record.entry_id for record in records), changed=tuple(changed), gone=tuple(gone))

    def note(self, entry: Entry, note: str, *, now: float, write_down: WriteDown, fingerprint: str) -> bool:
        """Store a note of a person's on a draft, and decide nothing; false when it is no longer said, or unknown."""
        deed = Deed(act=ReviewAct.NOTE, at=now, note=note)
        with immediate(self._connect()) as connection:
            row = _draft_row(connection, entry.entry_id)
            if row is None or not row["is_said"]:
                return False
            write_down([_do(connection, row, entry, deed, fingerprint, batch=next_batch(connection))])
        return True

    def undo(
        self,
        entry_ids: Sequence[str] | None = None,
        *,
        now: float,
        write_down: WriteDown,
        seen: Iterable[Draft] = (),
    ) -> list[str]:
        """Take back a person's last decision or note, with all that were made at once; returns the entries.

        With ``entry_ids``, the last one about each of these. What stands otherwise than it was ``seen`` is left alone,
        and so is what a consolidation carried out: that is for the history of the memories to undo.
        """
        seen_as = {draft.entry.entry_id: draft.standing for draft in seen}
        records: list[ReviewRecord] = []
        with immediate(self._connect()) as connection:
            where = f"batch = (SELECT max(batch) FROM review_decisions WHERE {_NOT_CARRIED_OUT})"
            values = tuple(entry_ids or ())
            if entry_ids is not None:
                marks = ", ".join("?" for _ in entry_ids)
                where = f"""
                    decision_id IN (
                        SELECT max(decision_id) FROM review_decisions WHERE entry_id IN ({marks}) GROUP BY entry_id
                    )
                """
            rows = connection.execute(
                f"SELECT * FROM review_decisions WHERE {where} AND {_NOT_CARRIED_OUT} ORDER BY decision_id DESC", values
            ).fetchall()
            rows = [row for row in rows if _is_as_seen(connection, row["entry_id"], seen_as)]
            for row in rows:
                take_back(connection, row)
                for undone in records_where(connection, "record_id = ?", (row["record_id"],)):
                    first = records[0].batch if records else ""
                    records.append(undoing_of(undone, batch=first, now=now))
                    keep_record(connection, records[-1], is_carried_out=True)
            write_down(records)
        return [row["entry_id"] for row in rows]

    # --- what the journal tells of it ---

    def known_records(self) -> frozenset[str]:
        """Return the ids of the journal's records about drafts that are known here."""
        rows = self._connect().execute("SELECT record_id FROM review_records")
        return frozenset(row["record_id"] for row in rows)

    def every_record(self) -> list[ReviewRecord]:
        """Return the records about drafts that are known here, in the order of the journal."""
        return records_where(self._connect(), "TRUE")

    def learn_records(self, records: Sequence[ReviewRecord]) -> None:
        """Take in records of the journal, in its order: carried out where their draft is there, else once it is."""
        with immediate(self._connect()) as connection:
            for record in records:
                keep_record(connection, record, is_carried_out=False)
            carry_out_waiting(connection)

    def waiting_records(self) -> list[ReviewRecord]:
        """Return the records that wait for their draft, in the order of the journal."""
        return records_where(self._connect(), "carried_out = 0")

    def let_stand_for(self, entry_ids: Mapping[str, str]) -> None:
        """Let records that wait for one entry be about another, which says the same in its place."""
        with immediate(self._connect()) as connection:
            connection.executemany(
                "UPDATE review_records SET entry_id = ? WHERE entry_id = ? AND carried_out = 0",
                [(now, before) for before, now in entry_ids.items()],
            )

    def former(self) -> list[Former]:
        """Return the drafts with decisions that were made before decisions were written down, by id."""
        found = self._drafts(f"WHERE {_FORMER} ORDER BY d.entry_id")
        rows = self._connect().execute(f"SELECT d.entry_id, d.fingerprint FROM drafts AS d WHERE {_FORMER}")
        fingerprints = {row["entry_id"]: row["fingerprint"] for row in rows}
        return [
            Former(entry=draft.entry, fingerprint=fingerprints.get(draft.entry.entry_id), merges=draft.merges)
            for draft in found
        ]

    def write_former_down(
        self, former: Mapping[str, Former], *, fingerprints: Mapping[str, str], write_down: WriteDown
    ) -> None:
        """Write down decisions from before, once; see former(). ``fingerprints`` are by entry."""
        with immediate(self._connect()) as connection:
            rows = connection.execute(f"SELECT d.entry_id FROM drafts AS d WHERE {_FORMER} ORDER BY d.entry_id")
            records = [
                record
                for row in rows.fetchall()
                if (one := former.get(row["entry_id"])) is not None
                for record in records_of_former(connection, one, fingerprint=fingerprints[row["entry_id"]])
            ]
            for record in records:
                keep_record(connection, record, is_carried_out=True)
            write_down(records)

    def _drafts(self, tail: str, values: Sequence[object] = ()) -> list[Draft]:
        connection = self._connect()
        rows = connection.execute(f"{_SELECT_DRAFTS} {tail}", tuple(values)).fetchall()
        entries = entries_by_id(connection, [row["entry_id"] for row in rows if row["merges"] is None])
        entries |= _as_entries(connection, [row for row in rows if row["merges"] is not None])
        return [_draft_of(row, entries[row["entry_id"]]) for row in rows if row["entry_id"] in entries]


_SELECT_DRAFTS = f"SELECT d.*, ({_IS_SAID}) AS is_said {_FROM_DRAFTS}"

#: What a person stated first, then what was drafted last.
_RANK = (
    "coalesce(e.kind, '') NOT IN ('preference', 'decision', 'procedure'), d.drafted_at DESC, e.thread_id, e.position, "
    "d.entry_id"
)


def _as_entries(connection: sqlite3.Connection, rows: Sequence[sqlite3.Row]) -> dict[str, Entry]:
    """Tell drafts about memories as entries: in the words of the memory that stays, with the evidence of all."""
    if not rows:
        return {}
    memories = {memory.memory_id: memory for memory in read_memories(connection)}
    found: dict[str, Entry] = {}
    for row in rows:
        sources = [memories[name] for name in orjson.loads(row["merges"]) if name in memories]
        if not sources:
            continue
        entry_ids = list(dict.fromkeys(entry_id for memory in sources for entry_id in memory.entry_ids))
        rests_on = entries_by_id(connection, entry_ids)
        found[row["entry_id"]] = Entry(
            entry_id=row["entry_id"],
            thread_id=MEMORIES_THREAD,
            kind=sources[0].kind,
            scope=sources[0].scope,
            condition=sources[0].condition,
            statement=sources[0].statement,
            evidence=tuple(line for name in entry_ids if name in rests_on for line in rests_on[name].evidence),
        )
    return found


def _draft_row(connection: sqlite3.Connection, entry_id: str) -> sqlite3.Row | None:
    row: sqlite3.Row | None = connection.execute(f"{_SELECT_DRAFTS} WHERE d.entry_id = ?", (entry_id,)).fetchone()
    return row


def _standing_of(row: sqlite3.Row) -> tuple[object, ...]:
    """The same as Draft.standing."""
    return (row["label"], row["readiness"], row["review_status"], row["decided_by"], row["reviewed_at"])


def _is_as_seen(connection: sqlite3.Connection, entry_id: str, seen_as: Mapping[str, tuple[object, ...]]) -> bool:
    row = _draft_row(connection, entry_id)
    return entry_id not in seen_as or (row is not None and _standing_of(row) == seen_as[entry_id])


def _do(
    connection: sqlite3.Connection,
    row: sqlite3.Row,
    entry: Entry,
    deed: Deed,
    fingerprint: str,
    *,
    batch: int,
    batch_name: str = "",
) -> ReviewRecord:
    merges = orjson.loads(row["merges"] or "[]")
    record = record_of(connection, entry, deed, fingerprint=fingerprint, batch=batch_name, merges=merges)
    carry_out(connection, row, record, batch=batch)
    keep_record(connection, record, is_carried_out=True)
    return record


def _changes(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT changes()").fetchone()[0])


def _draft_of(row: sqlite3.Row, entry: Entry) -> Draft:
    said = orjson.loads(row["collaborator"] or "{}")
    return Draft(
        entry=entry,
        coverage=Coverage(row["coverage"]),
        label=DraftLabel(row["label"]),
        readiness=Readiness(row["readiness"]),
        rationale=row["rationale"],
        nearest=tuple(orjson.loads(row["nearest"])),
        review_status=ReviewStatus(row["review_status"]),
        decided_by=Decider(row["decided_by"]) if row["decided_by"] else None,
        review_note=row["review_note"],
        reviewed_at=row["reviewed_at"],
        deferred_until=row["deferred_until"],
        review_log=tuple(
            ReviewEvent(at=event["at"], status=ReviewStatus(event["status"]), note=event.get("note", ""))
            for event in orjson.loads(row["review_log"])
        ),
        drafted_at=row["drafted_at"],
        dropped=row["dropped"],
        is_said=bool(row["is_said"]),
        merges=tuple(orjson.loads(row["merges"] or "[]")),
        carried_out=row["carried_out"],
        collaborator_notes=tuple(said.get("notes", ())),
        collaborator_evidence=tuple(said.get("evidence", ())),
    )
