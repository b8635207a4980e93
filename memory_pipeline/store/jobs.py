"""The extraction jobs: enqueue, claim with a lease and a fence token, heartbeat, complete, fail, give back.

Every completing write matches job, ``running`` and fence token, and returns whether it took effect. Claiming,
completing and enqueuing each are one transaction that takes the write lock at its start.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterable, Mapping

from msgspec import Struct

from memory_pipeline.clock import LONGEST_WAIT_SECONDS, last_believed_wait
from memory_pipeline.records import Claim, ClaimOutcome, Extraction, Gate, Happened, IndexedThread, JobState, Lease
from memory_pipeline.store.chronicle import note, note_gates
from memory_pipeline.store.connection import immediate
from memory_pipeline.store.extractions import store_extraction
from memory_pipeline.store.gating import GateLook, settle_gates
from memory_pipeline.store.threads import move_entries, refresh_claimable, select_threads, unlink_strays

_DUE = """
    j.claimable = 1 AND (
        j.state = 'pending'
        OR (j.state = 'error' AND coalesce(j.retry_at, 0) <= :now)
        OR (j.state = 'running' AND j.lease_until <= :now)
    )
"""

#: The order in which due jobs are claimed.
_TURN = "yields, order_at DESC, thread_id"

# Two short lists instead of all jobs: the index of those that wait holds them by their turn, so that its first is next;
# and few leases have run out. A clock that was set back makes a job wait again that had come due.
_NEXT = f"""
    SELECT thread_id FROM (
        SELECT * FROM (
            SELECT yields, order_at, thread_id FROM jobs INDEXED BY jobs_by_turn
            WHERE claimable = 1 AND (state = 'pending' OR (state = 'error' AND came_due = 1))
                AND (state = 'pending' OR coalesce(retry_at, 0) <= :now)
            ORDER BY {_TURN} LIMIT 1
        ) UNION ALL SELECT * FROM (
            SELECT yields, order_at, thread_id FROM jobs INDEXED BY jobs_by_lease
            WHERE claimable = 1 AND state = 'running' AND lease_until <= :now
            ORDER BY {_TURN} LIMIT 1
        )
    ) ORDER BY {_TURN} LIMIT 1
"""
_COME_DUE = """
    UPDATE jobs INDEXED BY jobs_by_retry SET came_due = 1
    WHERE claimable = 1 AND state = 'error' AND came_due = 0 AND coalesce(retry_at, 0) <= :now
"""


class ProviderRest(Struct, frozen=True, kw_only=True):
    """Whether a provider rests, and what it did last."""

    rest_until: float | None = None
    failures: int = 0  # in a row
    reason: str | None = None
    last_success_at: float | None = None


class Jobs:
    """The jobs of phase one."""

    def __init__(self, connect: Callable[[], sqlite3.Connection]) -> None:
        self._connect = connect

    def set_gates(
        self,
        gates: Mapping[str, Gate | None],
        *,
        now: float | None = None,
        keep_words: Collection[str] = (),
        decided: GateLook | None = None,
        times: Mapping[str, float] | None = None,
    ) -> None:
        """Overwrite the gates of these threads, and enqueue those that pass and say something new.

        A source that grew makes its thread pending again and resets its tries. Of the threads in ``keep_words`` no
        gate withdraws what they said. With ``decided``, all gates of that look are, those that stay included; see
        settle_gates for ``times``. One transaction.
        """
        with immediate(self._connect()) as connection:
            note_gates(connection, gates, now=now, keep_words=keep_words)
            connection.executemany(
                """
                UPDATE threads SET gate = :gate, keeps_words = :keeps
                WHERE thread_id = :thread AND (gate IS NOT :gate OR keeps_words <> :keeps)
                """,
                [
                    {"gate": gate, "keeps": thread_id in keep_words, "thread": thread_id}
                    for thread_id, gate in gates.items()
                ],
            )
            connection.executemany(
                """
                INSERT INTO jobs (thread_id, state, source_digest, order_at, claimable)
                SELECT thread_id, 'pending', content_digest, updated_at, 1 FROM threads
                WHERE thread_id = ? AND present = 1
                ON CONFLICT (thread_id) DO UPDATE
                SET state = 'pending', source_digest = excluded.source_digest, order_at = excluded.order_at,
                    attempts = 0, yields = 0, provider_faults = 0, retry_at = NULL, last_error = NULL
                WHERE jobs.source_digest <> excluded.source_digest AND jobs.state <> 'running'
                """,
                [(thread_id,) for thread_id, gate in gates.items() if gate is None],
            )
            refresh_claimable(connection, gates)
            if decided is not None:
                settle_gates(connection, decided, times or {})

    def shorten_waits(self, *, now: float) -> None:
        """Bring waits and leases to an end that are longer than any is made: our clock ran ahead when they were."""
        limit = {"limit": last_believed_wait(now)}
        too_long = "SELECT 1 FROM jobs WHERE retry_at > :limit UNION ALL SELECT 1 FROM jobs WHERE lease_until > :limit"
        too_long += " UNION ALL SELECT 1 FROM provider_rests WHERE rest_until > :limit"
        if not self._connect().execute(too_long, limit).fetchone():
            return
        with immediate(self._connect()) as connection:
            connection.execute("UPDATE jobs SET retry_at = NULL WHERE retry_at > :limit", limit)
            connection.execute("UPDATE jobs SET lease_until = 0 WHERE lease_until > :limit", limit)
            connection.execute("UPDATE provider_rests SET rest_until = NULL WHERE rest_until > :limit", limit)

    def count_due(self, *, now: float) -> int:
        """Count the jobs that a claim could take now."""
        row = self._connect().execute(f"SELECT count(*) FROM jobs AS j WHERE {_DUE}", {"now": now}).fetchone()
        return int(row[0])

    def claim(
        self, *, owner: str, now: float, lease_seconds: float, max_attempts: int, provider: str | None = None
    ) -> Claim:
        """Lease the newest due job to ``owner``; ``provider`` names the one whose rest forbids claiming.

        Due is what is pending, failed with its wait over, or left running by a worker whose lease ran out (that used a
        try; without tries left it is exhausted instead). Newest words first, then by thread id; a thread on
        which the provider failed lets the others go first, so that one bad input can't starve them.
        """
        with immediate(self._connect()) as connection:
            rest = _rest(connection, provider) if provider else ProviderRest()
            if rest.rest_until is not None and rest.rest_until > now:
                return Claim(outcome=ClaimOutcome.RESTING, rest_until=rest.rest_until)
            _settle_dead(connection, now=now, max_attempts=max_attempts)
            connection.execute(_COME_DUE, {"now": now})
            row = connection.execute(_NEXT, {"now": now}).fetchone()
            if row is None:
                return Claim(outcome=ClaimOutcome.NOTHING_DUE)
            lease_until = now + lease_seconds
            thread = select_threads(connection, "WHERE t.thread_id = ?", (row["thread_id"],))[0]
            # The source may have grown since the job was enqueued: what is read now is what it says now.
            is_new = thread.source_digest != thread.content_digest
            taken = connection.execute(
                """
                UPDATE jobs SET state = 'running', owner = ?, fence = fence + 1, lease_until = ?, retry_at = NULL,
                    came_due = 0, source_digest = ?, attempts = CASE WHEN ? THEN 1 ELSE attempts + 1 END,
                    provider_faults = CASE WHEN ? THEN 0 ELSE provider_faults END
                WHERE thread_id = ? RETURNING fence, attempts, provider_faults
                """,
                (owner, lease_until, thread.content_digest, is_new, is_new, thread.thread_id),
            ).fetchone()
            begun = Happened.TAKEN_OVER if thread.job_state is JobState.RUNNING else Happened.CLAIMED
            note(connection, thread.thread_id, begun, now=now, count=taken["attempts"])
            thread = select_threads(connection, "WHERE t.thread_id = ?", (thread.thread_id,))[0]
        lease = Lease(
            thread=thread,
            owner=owner,
            fence=taken["fence"],
            attempt=taken["attempts"],
            provider_faults=taken["provider_faults"],
            lease_until=lease_until,
        )
        return Claim(outcome=ClaimOutcome.CLAIMED, lease=lease)

    def heartbeat(self, leases: Iterable[Lease], *, now: float, lease_seconds: float) -> set[str]:
        """Extend leases; returns the thread ids that are still held. A lease that is missing there was lost."""
        held = set()
        with immediate(self._connect()) as connection:
            for lease in leases:
                changed = connection.execute(
                    "UPDATE jobs SET lease_until = ? WHERE thread_id = ? AND state = 'running' AND fence = ?",
                    (now + lease_seconds, lease.thread.thread_id, lease.fence),
                )
                if changed.rowcount == 1:
                    held.add(lease.thread.thread_id)
        return held

    def is_held(self, thread_id: str, *, owner: str) -> bool:
        """Whether a thread's job is running, and leased to this owner."""
        row = self._connect().execute(
            "SELECT 1 FROM jobs WHERE thread_id = ? AND state = 'running' AND owner = ?", (thread_id, owner)
        )
        return row.fetchone() is not None

    def complete(self, lease: Lease, extraction: Extraction, *, now: float, provider: str | None = None) -> bool:
        """Store the outcome of an extraction together with the end of its job; false when the lease was lost."""
        state = JobState.NO_OUTPUT if extraction.is_empty else JobState.DONE
        with immediate(self._connect()) as connection:
            if not _end(connection, lease, state, now=now, last_error=None, retry_at=None):
                return False
            store_extraction(
                connection,
                extraction,
                source_digest=lease.thread.content_digest,
                source_updated_at=lease.thread.updated_at,
                now=now,
            )
            entries = sum(len(task.entries) for task in extraction.tasks)
            ended = Happened.NO_OUTPUT if extraction.is_empty else Happened.SUCCEEDED
            note(connection, lease.thread.thread_id, ended, now=now, count=entries)
            _follow_scope(connection, lease.thread)
            if provider:
                _wake(connection, provider, now)
            _raise_watermark(connection, "extracted_source", lease.thread.updated_at)
        return True

    def fail(self, lease: Lease, message: str, *, now: float, retry_at: float, max_attempts: int) -> bool:
        """Store a fault of this thread: a try is used, and without tries left the thread is exhausted."""
        exhausted = lease.attempt >= max_attempts
        state = JobState.EXHAUSTED if exhausted else JobState.ERROR
        with immediate(self._connect()) as connection:
            if not _end(
                connection, lease, state, now=now, last_error=message, retry_at=None if exhausted else retry_at
            ):
                return False
            ended = Happened.EXHAUSTED if exhausted else Happened.FAILED
            note(connection, lease.thread.thread_id, ended, now=now, count=lease.attempt, reason=message)
        return True

    def fail_provider(self, lease: Lease, message: str, *, provider: str, now: float, retry_at: float) -> bool:
        """Store a fault of the provider: no try is used, and the provider rests for everyone until ``retry_at``."""
        with immediate(self._connect()) as connection:
            if not _end(connection, lease, JobState.ERROR, now=now, last_error=message, retry_at=retry_at):
                return False
            connection.execute(
                """
                UPDATE jobs SET attempts = attempts - 1, provider_faults = provider_faults + 1, yields = 1
                WHERE thread_id = ?
                """,
                (lease.thread.thread_id,),
            )
            note(
                connection,
                lease.thread.thread_id,
                Happened.FAILED,
                now=now,
                count=max(lease.attempt - 1, 0),
                reason=message,
            )
            _let_rest(connection, provider, message, now, retry_at)
        return True

    def rest_provider(self, provider: str, reason: str, *, now: float, until: float) -> None:
        """Let a provider that failed outside of a job rest for everyone."""
        with immediate(self._connect()) as connection:
            _let_rest(connection, provider, reason, now, until)

    def note_answer(self, provider: str, *, now: float) -> None:
        """Note that a provider answered outside of a job: its faults in a row are over."""
        with immediate(self._connect()) as connection:
            _wake(connection, provider, now)

    def give_back(self, lease: Lease, *, now: float | None = None, reason: str | None = None) -> bool:
        """Return a job unfinished: pending at once, no try used; false when the lease was lost.

        With a ``reason``, that becomes its last error.
        """
        with immediate(self._connect()) as connection:
            changed = connection.execute(
                """
                UPDATE jobs SET state = 'pending', attempts = attempts - 1, owner = NULL, lease_until = NULL,
                    last_error = coalesce(?, last_error)
                WHERE thread_id = ? AND state = 'running' AND fence = ?
                """,
                (reason, lease.thread.thread_id, lease.fence),
            )
            if changed.rowcount == 1:
                note(connection, lease.thread.thread_id, Happened.GIVEN_BACK, now=now)
            return changed.rowcount == 1

    def retry(self, thread_id: str, *, now: float | None = None) -> bool:
        """Give a thread another go, with all its tries; false when it runs right now or never passed a gate."""
        with immediate(self._connect()) as connection:
            changed = connection.execute(
                """
                UPDATE jobs SET state = 'pending', attempts = 0, yields = 0, provider_faults = 0, retry_at = NULL,
                    last_error = NULL
                WHERE thread_id = ? AND state <> 'running'
                """,
                (thread_id,),
            )
            if changed.rowcount == 1:
                note(connection, thread_id, Happened.RETRIED, now=now)
            refresh_claimable(connection, [thread_id])
            return changed.rowcount == 1

    def provider_rest(self, provider: str) -> ProviderRest:
        """Return whether a provider rests, and its faults in a row."""
        return _rest(self._connect(), provider)

    def end_rest(self, provider: str) -> None:
        """Let a provider be asked again at once, because a person asked for another go."""
        with immediate(self._connect()) as connection:
            connection.execute("UPDATE provider_rests SET rest_until = NULL WHERE provider = ?", (provider,))

    def next_lease_end(self) -> float | None:
        """Return when the first lease of a job ends that may be claimed again then, None when none is held."""
        row = (
            self._connect()
            .execute("SELECT min(lease_until) FROM jobs WHERE claimable = 1 AND state = 'running'")
            .fetchone()
        )
        return None if row[0] is None else float(row[0])

    def next_retry_at(self, *, now: float) -> float | None:
        """Return when the next waiting job is due, None when none waits."""
        row = (
            self._connect()
            .execute("SELECT min(retry_at) FROM jobs WHERE claimable = 1 AND state = 'error' AND retry_at > ?", (now,))
            .fetchone()
        )
        return None if row[0] is None else float(row[0])


def _end(
    connection: sqlite3.Connection,
    lease: Lease,
    state: JobState,
    *,
    now: float,
    last_error: str | None,
    retry_at: float | None,
) -> bool:
    if retry_at is not None:
        retry_at = min(retry_at, now + LONGEST_WAIT_SECONDS)
    changed = connection.execute(
        """
        UPDATE jobs SET state = ?, owner = NULL, lease_until = NULL, retry_at = ?, last_error = ?, finished_at = ?
        WHERE thread_id = ? AND state = 'running' AND fence = ?
        """,
        (state, retry_at, last_error, now, lease.thread.thread_id, lease.fence),
    )
    # A gate may have closed meanwhile: a failed job waits for its next try only where nothing holds it back.
    refresh_claimable(connection, [lease.thread.thread_id])
    return changed.rowcount == 1


def _follow_scope(connection: sqlite3.Connection, thread: IndexedThread) -> None:
    """Put what was just stored into the scope that the thread was given while it was being read."""
    row = connection.execute("SELECT scope FROM threads WHERE thread_id = ?", (thread.thread_id,)).fetchone()
    if row["scope"] != thread.scope:
        move_entries(connection, thread.thread_id, old_scope=thread.scope, new_scope=row["scope"])
        unlink_strays(connection, [thread.thread_id])


def _settle_dead(connection: sqlite3.Connection, *, now: float, max_attempts: int) -> None:
    """End the jobs of dead workers that can't simply be claimed: no tries left, or a gate has closed meanwhile."""
    exhausted = connection.execute(
        """
        UPDATE jobs INDEXED BY jobs_by_lease SET state = 'exhausted', claimable = 0, owner = NULL, lease_until = NULL,
            last_error = 'the worker died ' || attempts || ' times while reading this thread', finished_at = ?
        WHERE state = 'running' AND lease_until <= ? AND attempts >= ? RETURNING thread_id, attempts, last_error
        """,
        (now, now, max_attempts),
    ).fetchall()
    for row in exhausted:
        ended = Happened.EXHAUSTED
        note(connection, row["thread_id"], ended, now=now, count=row["attempts"], reason=row["last_error"])
    connection.execute(
        """
        UPDATE jobs INDEXED BY jobs_by_lease SET state = 'pending', owner = NULL, lease_until = NULL
        WHERE state = 'running' AND lease_until <= ? AND claimable = 0
        """,
        (now,),
    )


def _wake(connection: sqlite3.Connection, provider: str, now: float) -> None:
    connection.execute(
        """
        INSERT INTO provider_rests (provider, failures, last_success_at) VALUES (?, 0, ?)
        ON CONFLICT (provider) DO UPDATE SET failures = 0, rest_until = NULL, reason = NULL,
            last_success_at = excluded.last_success_at
        """,
        (provider, now),
    )


def _let_rest(connection: sqlite3.Connection, provider: str, reason: str, now: float, until: float) -> None:
    connection.execute(
        """
        INSERT INTO provider_rests (provider, rest_until, failures, reason) VALUES (?, ?, 1, ?)
        ON CONFLICT (provider) DO UPDATE SET reason = excluded.reason,
            -- Several workers that meet one outage are one failure in a row.
            failures = provider_rests.failures + (coalesce(provider_rests.rest_until, 0) <= ?),
            rest_until = max(coalesce(provider_rests.rest_until, 0), excluded.rest_until)
        """,
        (provider, min(until, now + LONGEST_WAIT_SECONDS), reason, now),
    )


def _rest(connection: sqlite3.Connection, provider: str) -> ProviderRest:
    row = connection.execute("SELECT * FROM provider_rests WHERE provider = ?", (provider,)).fetchone()
    if row is None:
        return ProviderRest()
    return ProviderRest(
        rest_until=row["rest_until"],
        failures=row["failures"],
        reason=row["reason"],
        last_success_at=row["last_success_at"],
    )


def _raise_watermark(connection: sqlite3.Connection, name: str, value: float) -> None:
    connection.execute(
        """
        INSERT INTO watermarks (name, value) VALUES (?, ?)
        ON CONFLICT (name) DO UPDATE SET value = max(watermarks.value, excluded.value)
        """,
        (name, value),
    )
