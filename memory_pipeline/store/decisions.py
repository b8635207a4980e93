"""What a person decided about drafts: carried out, kept so that it can be undone, and known from the journal again."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterable, Sequence

import orjson
from msgspec import Struct

from memory_pipeline.records import Entry, EntryKind, ReviewAct, ReviewRecord, ReviewStatus

#: What a decision changes, and undoing it brings back.
_DECIDED = (
    *("review_status", "decided_by", "review_note", "reviewed_at", "deferred_until", "review_log", "fingerprint"),
    "dropped",
)
_ID_CHARS = 24

#: Writes records down where they outlive the database. It is called before the transaction ends: what can't be written
#: down is not decided.
WriteDown = Callable[[Sequence[ReviewRecord]], None]


class Deed(Struct, frozen=True, kw_only=True):
    """What a person does to a draft, before it has a record."""

    act: ReviewAct
    at: float
    status: ReviewStatus | None = None
    note: str = ""
    deferred_until: float | None = None


def record_of(
    connection: sqlite3.Connection, entry: Entry, deed: Deed, *, fingerprint: str, batch: str, merges: Sequence[str]
) -> ReviewRecord:
    """Make the record of a deed; ``batch`` "" begins one."""
    done = connection.execute("SELECT count(*) FROM review_records WHERE entry_id = ?", (entry.entry_id,)).fetchone()[0]
    record_id = _id_of(entry.entry_id, done, deed.act, deed.at)
    return ReviewRecord(
        record_id=record_id,
        act=deed.act,
        at=deed.at,
        batch=batch or record_id,
        entry_id=entry.entry_id,
        thread_id=entry.thread_id,
        kind=entry.kind,
        scope=entry.scope,
        fingerprint=fingerprint,
        status=deed.status,
        note=deed.note,
        deferred_until=deed.deferred_until,
        merges=tuple(merges),
    )


def undoing_of(undone: ReviewRecord, *, batch: str, now: float) -> ReviewRecord:
    """Make the record of taking another one back."""
    record_id = _id_of(undone.entry_id, undone.record_id, ReviewAct.UNDO, now)
    return ReviewRecord(
        record_id=record_id,
        act=ReviewAct.UNDO,
        at=now,
        batch=batch or record_id,
        entry_id=undone.entry_id,
        thread_id=undone.thread_id,
        kind=undone.kind,
        scope=undone.scope,
        undoes=undone.record_id,
        merges=undone.merges,
    )


def keep_record(connection: sqlite3.Connection, record: ReviewRecord, *, is_carried_out: bool) -> None:
    """Store a record; one that is known stays as it is."""
    connection.execute(
        """
        INSERT OR IGNORE INTO review_records (record_id, act, at, batch, entry_id, thread_id, kind, scope, fingerprint,
            status, note, deferred_until, undoes, merges, carried_out)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """,
        (
            record.record_id,
            record.act,
            record.at,
            record.batch,
            record.entry_id,
            record.thread_id,
            record.kind,
            record.scope,
            record.fingerprint,
            record.status,
            record.note,
            record.deferred_until,
            record.undoes,
            orjson.dumps(record.merges).decode(),
            is_carried_out,
        ),
    )


def records_where(connection: sqlite3.Connection, where: str, values: Sequence[object] = ()) -> list[ReviewRecord]:
    """Return the stored records for which a condition holds, in the order of the journal."""
    rows = connection.execute(f"SELECT * FROM review_records WHERE {where} ORDER BY position", tuple(values))
    return [
        ReviewRecord(
            record_id=row["record_id"],
            act=ReviewAct(row["act"]),
            at=row["at"],
            batch=row["batch"],
            entry_id=row["entry_id"],
            thread_id=row["thread_id"],
            kind=EntryKind(row["kind"]),
            scope=row["scope"],
            fingerprint=row["fingerprint"],
            status=ReviewStatus(row["status"]) if row["status"] else None,
            note=row["note"],
            deferred_until=row["deferred_until"],
            undoes=row["undoes"],
            merges=tuple(orjson.loads(row["merges"])),
        )
        for row in rows
    ]


def carry_out(connection: sqlite3.Connection, draft: sqlite3.Row, record: ReviewRecord, *, batch: int) -> None:
    """Let a decision or note change its draft, and keep what the draft was before."""
    _keep_for_undo(connection, draft, record, batch)
    status = record.status or ReviewStatus(draft["review_status"])
    event = {"at": record.at, "status": status, **({"note": record.note} if record.note else {})}
    log = orjson.dumps([*orjson.loads(draft["review_log"]), event]).decode()
    if record.act is ReviewAct.NOTE:
        connection.execute(
            "UPDATE drafts SET review_note = ?, review_log = ? WHERE entry_id = ?",
            (record.note, log, record.entry_id),
        )
        return
    connection.execute(
        """
        UPDATE drafts SET review_status = ?, decided_by = 'person', review_note = ?, reviewed_at = ?,
            deferred_until = ?, review_log = ?, fingerprint = ?, dropped = NULL
        WHERE entry_id = ?
        """,
        (
            status,
            record.note or draft["review_note"],
            record.at,
            record.deferred_until,
            log,
            record.fingerprint or None if status is ReviewStatus.REJECTED else None,
            record.entry_id,
        ),
    )
    if status is ReviewStatus.APPROVED:
        # What a curator had set aside may be placed now.
        connection.execute("UPDATE entries SET waits = 0 WHERE entry_id = ?", (record.entry_id,))


def take_back(connection: sqlite3.Connection, decision: sqlite3.Row) -> None:
    """Let a draft be what it was before a decision."""
    earlier = orjson.loads(decision["earlier"])
    if "waits" in earlier:
        connection.execute("UPDATE entries SET waits = ? WHERE entry_id = ?", (earlier["waits"], decision["entry_id"]))
    earlier["review_log"] = orjson.dumps(earlier["review_log"]).decode()
    connection.execute(
        f"UPDATE drafts SET {', '.join(f'{name} = ?' for name in _DECIDED)} WHERE entry_id = ?",
        (*(earlier[name] for name in _DECIDED), decision["entry_id"]),
    )
    connection.execute("DELETE FROM review_decisions WHERE decision_id = ?", (decision["decision_id"],))


def next_batch(connection: sqlite3.Connection) -> int:
    """Return a number for what is decided at once."""
    return int(connection.execute("SELECT coalesce(max(batch), 0) + 1 FROM review_decisions").fetchone()[0])


def carry_out_waiting(connection: sqlite3.Connection) -> None:
    """Carry out what waited for drafts that are there by now, in the order of the journal."""
    waiting = records_where(
        connection, "carried_out = 0 AND EXISTS (SELECT 1 FROM drafts AS d WHERE d.entry_id = review_records.entry_id)"
    )
    for record in waiting:
        if record.act is ReviewAct.UNDO:
            for decision in connection.execute(
                "SELECT * FROM review_decisions WHERE record_id = ?", (record.undoes,)
            ).fetchall():
                take_back(connection, decision)
        else:
            draft = connection.execute("SELECT * FROM drafts WHERE entry_id = ?", (record.entry_id,)).fetchone()
            carry_out(connection, draft, record, batch=_batch_of(connection, record))
        connection.execute("UPDATE review_records SET carried_out = 1 WHERE record_id = ?", (record.record_id,))


def standing_rejections(waiting: Iterable[ReviewRecord]) -> list[ReviewRecord]:
    """Return, of what waits for its draft, the rejections that stand: the last word, and not taken back."""
    words: dict[str, list[ReviewRecord]] = {}
    for record in waiting:
        said = words.setdefault(record.entry_id, [])
        if record.act is ReviewAct.UNDO:
            said[:] = [one for one in said if one.record_id != record.undoes]
        elif record.act is ReviewAct.DECIDE:
            said.append(record)
    last = (said[-1] for said in words.values() if said)
    return [one for one in last if one.status is ReviewStatus.REJECTED and one.fingerprint]


class Former(Struct, frozen=True, kw_only=True):
    """A draft that was decided before decisions stood in the journal."""

    entry: Entry
    fingerprint: str | None  # of what was rejected
    merges: tuple[str, ...]


def records_of_former(connection: sqlite3.Connection, former: Former, *, fingerprint: str) -> list[ReviewRecord]:
    """Make the records of what the log of a draft tells, and name them in what can be undone.

    A log and what can be undone end with the same decision; where a forgetting took the latter, the log alone tells.
    """
    entry_id = former.entry.entry_id
    draft = connection.execute("SELECT * FROM drafts WHERE entry_id = ?", (entry_id,)).fetchone()
    decisions = connection.execute(
        "SELECT * FROM review_decisions WHERE entry_id = ? ORDER BY decision_id", (entry_id,)
    ).fetchall()
    log = orjson.loads(draft["review_log"])
    # How the draft stood after each event, as far as that is known, the last first.
    stood = [dict(draft), *(orjson.loads(decision["earlier"]) for decision in reversed(decisions))]
    decided_at = {one["reviewed_at"] for one in stood}
    records: list[ReviewRecord] = []
    for number, event in enumerate(log):
        back = len(log) - 1 - number
        then = stood[back] if back < len(stood) else {}
        is_decision = event["at"] in decided_at or not then
        status = ReviewStatus(event["status"])
        until = then.get("deferred_until") or event["at"] if status is ReviewStatus.DEFERRED else None
        act = ReviewAct.DECIDE if is_decision else ReviewAct.NOTE
        decision = decisions[len(decisions) - 1 - back] if back < len(decisions) else None
        record_id = _id_of(entry_id, number, act, event["at"])
        batch = f"{decision['batch']}/{event['at']}" if decision is not None else record_id
        records.append(
            ReviewRecord(
                record_id=record_id,
                act=act,
                at=event["at"],
                batch=batch,
                entry_id=entry_id,
                thread_id=former.entry.thread_id,
                kind=former.entry.kind,
                scope=former.entry.scope,
                fingerprint=then.get("fingerprint") or former.fingerprint or fingerprint,
                status=status if is_decision else None,
                note=event.get("note", ""),
                deferred_until=until if is_decision else None,
                merges=former.merges,
            )
        )
        if decision is not None:
            connection.execute(
                "UPDATE review_decisions SET record_id = ? WHERE decision_id = ?", (record_id, decision["decision_id"])
            )
    return records


def _batch_of(connection: sqlite3.Connection, record: ReviewRecord) -> int:
    row = connection.execute(
        """
        SELECT max(d.batch) FROM review_decisions AS d JOIN review_records AS r ON r.record_id = d.record_id
        WHERE r.batch = ?
        """,
        (record.batch,),
    ).fetchone()
    return int(row[0]) if row[0] is not None else next_batch(connection)


def _keep_for_undo(connection: sqlite3.Connection, draft: sqlite3.Row, record: ReviewRecord, batch: int) -> None:
    # Whether a curator set the entry aside is kept too: approving it forgets that.
    entry = connection.execute("SELECT waits FROM entries WHERE entry_id = ?", (draft["entry_id"],)).fetchone()
    kept = {"review_log": orjson.loads(draft["review_log"]), **({"waits": entry["waits"]} if entry else {})}
    earlier = {name: draft[name] for name in _DECIDED} | kept
    connection.execute(
        "INSERT INTO review_decisions (batch, entry_id, at, earlier, record_id) VALUES (?, ?, ?, ?, ?)",
        (batch, draft["entry_id"], record.at, orjson.dumps(earlier).decode(), record.record_id),
    )


def _id_of(*parts: object) -> str:
    text = "\x1f".join(map(str, ("review", *parts)))
    return "j_" + hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:_ID_CHARS]
