"""The schema, as steps that each bring an older database one version further."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlite_utils import Database, Migrations

#: How many steps there are; stands in ``PRAGMA user_version`` once all are applied.
SCHEMA_VERSION = 15


def migrate(connection: sqlite3.Connection) -> None:
    """Apply the steps that the database lacks, each in a transaction of its own.

    Raises:
        sqlite3.DatabaseError: a step failed; the steps before it stand.
    """
    from sqlite_utils import Database

    database = Database(connection)
    schema_steps().apply(database)
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def schema_steps() -> Migrations:
    """Return the steps, oldest first. A step that was released is never changed: a new one follows it."""
    from sqlite_utils import Migrations

    steps = Migrations("memory_pipeline")

    @steps()
    def first_schema(database: Database) -> None:
        for statement in _FIRST_SCHEMA:
            database.execute(statement)

    @steps()
    def history_journal_and_citations(database: Database) -> None:
        for statement in _HISTORY_JOURNAL_AND_CITATIONS:
            database.execute(statement)

    @steps()
    def drafts(database: Database) -> None:
        for statement in _DRAFTS:
            database.execute(statement)

    @steps()
    def chores(database: Database) -> None:
        for statement in _CHORES:
            database.execute(statement)

    @steps()
    def cost_of_calls(database: Database) -> None:
        for statement in _COST_OF_CALLS:
            database.execute(statement)

    @steps()
    def chronicle(database: Database) -> None:
        for statement in _CHRONICLE:
            database.execute(statement)

    @steps()
    def search(database: Database) -> None:
        for statement in _search_index():
            database.execute(statement)

    @steps()
    def settings(database: Database) -> None:
        for statement in _SETTINGS:
            database.execute(statement)

    @steps()
    def injections(database: Database) -> None:
        for statement in _INJECTIONS:
            database.execute(statement)

    @steps()
    def submitted_tasks(database: Database) -> None:
        # How far a task is that another program submitted.
        database.execute("ALTER TABLE threads ADD COLUMN task_status TEXT")

    @steps()
    def concepts_of_search(database: Database) -> None:
        for statement in _CONCEPTS_OF_SEARCH:
            database.execute(statement)

    @steps()
    def uses(database: Database) -> None:
        for statement in _USES:
            database.execute(statement)

    @steps()
    def review_records(database: Database) -> None:
        for statement in _REVIEW_RECORDS:
            database.execute(statement)

    @steps()
    def turns_and_looks(database: Database) -> None:
        for statement in _TURNS_AND_LOOKS:
            database.execute(statement)

    @steps()
    def judged_anew(database: Database) -> None:
        for statement in _judged_anew():
            database.execute(statement)

    return steps


_FIRST_SCHEMA = (
    # What was seen on disk, so that an unchanged file is not opened again. Several files may hold one thread.
    """
    CREATE TABLE rollout_files (
        path TEXT PRIMARY KEY,
        thread_id TEXT NOT NULL,
        agent TEXT NOT NULL,
        archived INTEGER NOT NULL,
        size INTEGER NOT NULL,
        mtime_ns INTEGER NOT NULL,
        inode INTEGER NOT NULL,
        device INTEGER NOT NULL,
        present INTEGER NOT NULL,
        open_error INTEGER NOT NULL
    ) STRICT
    """,
    # One row a thread, overwritten: what the disk and the log say, and why it is not extracted now.
    """
    CREATE TABLE threads (
        thread_id TEXT PRIMARY KEY,
        agent TEXT NOT NULL,
        rollout_path TEXT NOT NULL,
        archived INTEGER NOT NULL,
        present INTEGER NOT NULL,
        size INTEGER NOT NULL,
        indexed_at REAL NOT NULL,
        index_error TEXT,
        source TEXT NOT NULL,
        cwd TEXT,
        has_remote INTEGER NOT NULL,
        git_branch TEXT,
        scope TEXT NOT NULL,
        title TEXT,
        started_at REAL,
        updated_at REAL NOT NULL,
        prompt_count INTEGER NOT NULL,
        result_chars INTEGER NOT NULL,
        gives_direction INTEGER NOT NULL,
        memory_mode TEXT,
        model_provider TEXT,
        external_context INTEGER NOT NULL,
        content_digest TEXT NOT NULL,
        understood_lines INTEGER NOT NULL,
        total_lines INTEGER NOT NULL,
        skipped_lines TEXT NOT NULL,
        skipped_places TEXT NOT NULL,
        unknown_types TEXT NOT NULL,
        own_from_byte INTEGER NOT NULL DEFAULT 0,
        foreign_records BLOB NOT NULL DEFAULT x'',
        claimed_records BLOB,
        disabled_by_person INTEGER NOT NULL DEFAULT 0,
        gate TEXT
    ) STRICT
    """,
    # Which thread owns a record that several logs hold, by eight bytes of the record's id.
    "CREATE TABLE lineage_owners (owner INTEGER PRIMARY KEY, thread_id TEXT NOT NULL UNIQUE) STRICT",
    "CREATE TABLE record_owners (record INTEGER PRIMARY KEY, owner INTEGER NOT NULL) STRICT",
    # The extraction job of each thread: the lease, and the last stored outcome.
    """
    CREATE TABLE jobs (
        thread_id TEXT PRIMARY KEY REFERENCES threads (thread_id) ON DELETE CASCADE,
        state TEXT NOT NULL,
        source_digest TEXT NOT NULL,
        order_at REAL NOT NULL,
        claimable INTEGER NOT NULL,
        yields INTEGER NOT NULL DEFAULT 0,
        attempts INTEGER NOT NULL DEFAULT 0,
        provider_faults INTEGER NOT NULL DEFAULT 0,
        fence INTEGER NOT NULL DEFAULT 0,
        owner TEXT,
        lease_until REAL,
        retry_at REAL,
        last_error TEXT,
        finished_at REAL
    ) STRICT
    """,
    "CREATE INDEX jobs_by_turn ON jobs (yields, order_at DESC, thread_id) WHERE claimable = 1",
    "CREATE INDEX jobs_by_state ON jobs (state)",
    """
    CREATE TABLE extractions (
        thread_id TEXT PRIMARY KEY REFERENCES threads (thread_id) ON DELETE CASCADE,
        rollout_summary TEXT NOT NULL,
        slug TEXT NOT NULL,
        raw_memory TEXT NOT NULL,
        tasks TEXT NOT NULL,
        coverage TEXT NOT NULL,
        source_digest TEXT NOT NULL,
        source_updated_at REAL NOT NULL,
        generated_at REAL NOT NULL,
        dropped_entries TEXT NOT NULL,
        redactions TEXT NOT NULL
    ) STRICT
    """,
    """
    CREATE TABLE entries (
        entry_id TEXT PRIMARY KEY,
        thread_id TEXT NOT NULL REFERENCES threads (thread_id) ON DELETE CASCADE,
        position INTEGER NOT NULL,
        kind TEXT NOT NULL,
        scope TEXT NOT NULL,
        condition TEXT NOT NULL,
        statement TEXT NOT NULL,
        created_at REAL NOT NULL,
        withdrawn_at REAL,
        waits INTEGER NOT NULL DEFAULT 0
    ) STRICT
    """,
    "CREATE INDEX entries_by_thread ON entries (thread_id, position)",
    """
    CREATE TABLE evidence (
        entry_id TEXT NOT NULL REFERENCES entries (entry_id) ON DELETE CASCADE,
        position INTEGER NOT NULL,
        rollout_path TEXT NOT NULL,
        byte_start INTEGER NOT NULL,
        byte_end INTEGER NOT NULL,
        line_sha256 TEXT NOT NULL,
        speaker TEXT NOT NULL,
        at REAL,
        quote TEXT NOT NULL,
        PRIMARY KEY (entry_id, position)
    ) STRICT
    """,
    """
    CREATE TABLE memories (
        memory_id TEXT PRIMARY KEY,
        kind TEXT NOT NULL,
        scope TEXT NOT NULL,
        condition TEXT NOT NULL,
        statement TEXT NOT NULL,
        status TEXT NOT NULL,
        pinned INTEGER NOT NULL DEFAULT 0,
        first_seen REAL NOT NULL,
        last_confirmed REAL NOT NULL,
        learned_at REAL NOT NULL,
        superseded_by TEXT REFERENCES memories (memory_id) DEFERRABLE INITIALLY DEFERRED,
        reason TEXT NOT NULL
    ) STRICT
    """,
    "CREATE INDEX memories_by_scope ON memories (status, scope)",
    """
    CREATE TABLE memory_entries (
        memory_id TEXT NOT NULL REFERENCES memories (memory_id) ON DELETE CASCADE,
        entry_id TEXT NOT NULL REFERENCES entries (entry_id) ON DELETE CASCADE,
        PRIMARY KEY (memory_id, entry_id)
    ) STRICT
    """,
    "CREATE INDEX memory_entries_by_entry ON memory_entries (entry_id)",
    # What each consolidation did and why.
    """
    CREATE TABLE operations (
        operation_id INTEGER PRIMARY KEY,
        consolidation_id INTEGER NOT NULL REFERENCES consolidations (consolidation_id),
        memory_id TEXT NOT NULL,
        operation TEXT NOT NULL,
        entry_id TEXT,
        other_memory_id TEXT,
        reason TEXT NOT NULL,
        at REAL NOT NULL
    ) STRICT
    """,
    "CREATE INDEX operations_by_memory ON operations (memory_id)",
    """
    CREATE TABLE consolidations (
        consolidation_id INTEGER PRIMARY KEY,
        state TEXT NOT NULL,
        owner TEXT NOT NULL,
        started_at REAL NOT NULL,
        finished_at REAL,
        failures INTEGER NOT NULL DEFAULT 0,
        retry_at REAL,
        error TEXT,
        watermark REAL
    ) STRICT
    """,
    # Counted per thread and per memory: cited, or opened by search or a tool.
    """
    CREATE TABLE usage (
        subject TEXT NOT NULL,
        subject_id TEXT NOT NULL,
        count INTEGER NOT NULL,
        last_usage REAL NOT NULL,
        PRIMARY KEY (subject, subject_id)
    ) STRICT
    """,
    # A provider that failed rests for everyone until a time.
    """
    CREATE TABLE provider_rests (
        provider TEXT PRIMARY KEY,
        rest_until REAL,
        failures INTEGER NOT NULL,
        reason TEXT,
        last_success_at REAL
    ) STRICT
    """,
    # What paid calls were expected to use, then what they used.
    """
    CREATE TABLE ledger (
        booking_id INTEGER PRIMARY KEY,
        at REAL NOT NULL,
        phase TEXT NOT NULL,
        thread_id TEXT,
        scope TEXT,
        model TEXT NOT NULL,
        reserved_tokens INTEGER NOT NULL,
        input_tokens INTEGER,
        output_tokens INTEGER
    ) STRICT
    """,
    "CREATE INDEX ledger_by_time ON ledger (at)",
    # The newest rate-limit windows that the agents' own logs report.
    """
    CREATE TABLE rate_limits (
        agent TEXT NOT NULL,
        window TEXT NOT NULL,
        used_percent REAL NOT NULL,
        resets_at REAL,
        seen_at REAL NOT NULL,
        PRIMARY KEY (agent, window)
    ) STRICT
    """,
    "CREATE TABLE watermarks (name TEXT PRIMARY KEY, value REAL NOT NULL) STRICT",
)

_HISTORY_JOURNAL_AND_CITATIONS = (
    "ALTER TABLE threads ADD COLUMN newest_at REAL NOT NULL DEFAULT 0",
    "ALTER TABLE threads ADD COLUMN disabled_from_start INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE memories ADD COLUMN by_hand INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE memories ADD COLUMN task_group TEXT NOT NULL DEFAULT ''",
    # Who proposed an operation, its own wording, and the memory as it was before. Older rows lack the last.
    "ALTER TABLE operations ADD COLUMN actor TEXT NOT NULL DEFAULT 'rules'",
    "ALTER TABLE operations ADD COLUMN statement TEXT",
    "ALTER TABLE operations ADD COLUMN condition TEXT",
    "ALTER TABLE operations ADD COLUMN before TEXT",
    "CREATE INDEX operations_by_entry ON operations (entry_id)",
    "CREATE INDEX operations_by_consolidation ON operations (consolidation_id)",
    "ALTER TABLE consolidations ADD COLUMN kind TEXT NOT NULL DEFAULT 'run'",
    "ALTER TABLE consolidations ADD COLUMN undoes INTEGER REFERENCES consolidations (consolidation_id)",
    "ALTER TABLE consolidations ADD COLUMN undone_by INTEGER REFERENCES consolidations (consolidation_id)",
    # The lines of the journal that a consolidation took in.
    """
    CREATE TABLE journal_records (
        record_id TEXT PRIMARY KEY,
        consolidation_id INTEGER NOT NULL REFERENCES consolidations (consolidation_id)
    ) STRICT
    """,
    # What final answers cited: threads by id, lines of MEMORY.md by number. Each is counted once.
    """
    CREATE TABLE citations (
        citation_id TEXT NOT NULL,
        subject TEXT NOT NULL,
        subject_id TEXT NOT NULL,
        thread_id TEXT NOT NULL REFERENCES threads (thread_id) ON DELETE CASCADE,
        at REAL NOT NULL,
        began_at REAL,
        counted INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (citation_id, subject, subject_id)
    ) STRICT
    """,
    "CREATE INDEX citations_by_thread ON citations (thread_id)",
    "CREATE INDEX citations_to_count ON citations (subject, subject_id) WHERE counted = 0",
    # Which set of tombstones this database and everything beside it was last brought in line with; at most one row.
    "CREATE TABLE tombstones_met (digest TEXT NOT NULL) STRICT",
)

_DRAFTS = (
    # Each entry under review: its label, what was decided, and by whom. The fingerprint is of what was rejected. A row
    # with ``merges`` is about memories instead: it proposes that the first of these ids takes the place of the others.
    """
    CREATE TABLE drafts (
        entry_id TEXT PRIMARY KEY,
        coverage TEXT NOT NULL,
        label TEXT NOT NULL,
        readiness TEXT NOT NULL,
        rationale TEXT NOT NULL,
        nearest TEXT NOT NULL,
        basis TEXT NOT NULL,
        review_status TEXT NOT NULL,
        decided_by TEXT,
        review_note TEXT NOT NULL DEFAULT '',
        reviewed_at REAL,
        deferred_until REAL,
        review_log TEXT NOT NULL DEFAULT '[]',
        fingerprint TEXT,
        drafted_at REAL NOT NULL,
        dropped TEXT,
        collaborator TEXT,
        merges TEXT,
        carried_out INTEGER REFERENCES consolidations (consolidation_id)
    ) STRICT
    """,
    # Where in its session a line stands, and the command and files of its call. Older rows lack them.
    "ALTER TABLE evidence ADD COLUMN turn INTEGER",
    "ALTER TABLE evidence ADD COLUMN command TEXT",
    "ALTER TABLE evidence ADD COLUMN paths TEXT NOT NULL DEFAULT '[]'",
    # The versions of packets, drafts and sync lists that we wrote, or are about to write: anything else that lies there
    # is somebody else's. ``told`` is what a version says of decisions, or the audit of a packet; ids and figures alone.
    """
    CREATE TABLE session_files (
        version_id INTEGER PRIMARY KEY,
        name TEXT NOT NULL,
        sha256 TEXT NOT NULL,
        thread_id TEXT NOT NULL,
        stamp TEXT NOT NULL,
        told TEXT NOT NULL,
        mtime_ns INTEGER
    ) STRICT
    """,
    "CREATE INDEX session_files_by_name ON session_files (name)",
    "CREATE INDEX drafts_by_status ON drafts (review_status)",
    # What a person decided, with the draft as it was before, so that it can be undone.
    """
    CREATE TABLE review_decisions (
        decision_id INTEGER PRIMARY KEY,
        batch INTEGER NOT NULL,
        entry_id TEXT NOT NULL REFERENCES drafts (entry_id) ON DELETE CASCADE,
        at REAL NOT NULL,
        earlier TEXT NOT NULL
    ) STRICT
    """,
    """
    CREATE TRIGGER drafts_go_with_entries AFTER DELETE ON entries BEGIN
        DELETE FROM drafts WHERE entry_id = old.entry_id;
    END
    """,
    "CREATE INDEX review_decisions_by_batch ON review_decisions (batch)",
    "CREATE INDEX review_decisions_by_entry ON review_decisions (entry_id)",
)

_CHORES = (
    # When each chore of the upkeep was last done.
    "CREATE TABLE chores (name TEXT PRIMARY KEY, done_at REAL NOT NULL) STRICT",
)

_COST_OF_CALLS = (
    # What the provider said that a call took, as it said it; null where it said nothing that could be read.
    "ALTER TABLE ledger ADD COLUMN reported_tokens INTEGER",
    # How many calls a row tells of: older ones are summed up by day.
    "ALTER TABLE ledger ADD COLUMN calls INTEGER NOT NULL DEFAULT 1",
    # The last call that a cap forbade, of one project or ('') of the whole: what paid work waits to have room for.
    """
    CREATE TABLE refused_calls (
        scope TEXT PRIMARY KEY,
        tokens INTEGER NOT NULL,
        at REAL NOT NULL
    ) STRICT
    """,
)

_CHRONICLE = (
    # What was decided for each thread and when; small lines, the oldest of which are dropped.
    """
    CREATE TABLE chronicle (
        line_id INTEGER PRIMARY KEY,
        at REAL NOT NULL,
        thread_id TEXT NOT NULL,
        what TEXT NOT NULL,
        gate TEXT,
        count INTEGER,
        reason TEXT
    ) STRICT
    """,
    "CREATE INDEX chronicle_by_thread ON chronicle (thread_id)",
)

_USES = (
    # Each use of a memory or a thread that the journal tells of, so that it counts once.
    """
    CREATE TABLE uses (
        use_id TEXT PRIMARY KEY,
        subject TEXT NOT NULL,
        subject_id TEXT NOT NULL,
        at REAL NOT NULL,
        counted INTEGER NOT NULL DEFAULT 0
    ) STRICT
    """,
    "CREATE INDEX uses_by_subject ON uses (subject, subject_id)",
    "CREATE INDEX uses_to_count ON uses (use_id) WHERE counted = 0",
)


_SETTINGS = (
    # What the person set for the whole, a project or a thread; null where it was unset. ``moved_to`` is the scope that
    # a project is known under by now.
    """
    CREATE TABLE settings (
        target TEXT NOT NULL,
        key TEXT NOT NULL,
        value TEXT,
        set_at REAL NOT NULL,
        record_id TEXT NOT NULL,
        moved_to TEXT,
        PRIMARY KEY (target, key)
    ) STRICT
    """,
    # Which state of the journal they were last read from; at most one row.
    "CREATE TABLE settings_read (stamp TEXT NOT NULL) STRICT",
    # What a thread said stays though its gate would withdraw it: its whole project is switched off.
    "ALTER TABLE threads ADD COLUMN keeps_words INTEGER NOT NULL DEFAULT 0",
)


_INJECTIONS = (
    # What was given to which task: ids, and how much. A thread has one first time; ``again`` counts the later ones.
    """
    CREATE TABLE injections (
        injection_id INTEGER PRIMARY KEY,
        at REAL NOT NULL,
        thread_id TEXT,
        again INTEGER NOT NULL DEFAULT 0,
        cwd TEXT,
        scope TEXT,
        format TEXT NOT NULL,
        tokens INTEGER NOT NULL,
        memory_ids TEXT NOT NULL
    ) STRICT
    """,
    "CREATE UNIQUE INDEX injections_by_thread ON injections (thread_id, again) WHERE thread_id IS NOT NULL",
)

_CONCEPTS_OF_SEARCH = (
    # The index anew, with what the words of a memory are about; every memory is indexed by the next search.
    "DROP TABLE memory_search",
    """
    CREATE VIRTUAL TABLE memory_search USING fts5(
        said, rests_on, about, tokenize = 'unicode61 remove_diacritics 0', prefix = '4'
    )
    """,
    "DELETE FROM search_stale",
    "INSERT INTO search_stale SELECT memory_id FROM memories",
)


_REVIEW_RECORDS = (
    # What the journal tells of decisions about drafts. One that is not carried out yet waits for its draft: a database
    # that was made anew reads the journal before the logs.
    """
    CREATE TABLE review_records (
        position INTEGER PRIMARY KEY,
        record_id TEXT NOT NULL UNIQUE,
        act TEXT NOT NULL,
        at REAL NOT NULL,
        batch TEXT NOT NULL,
        entry_id TEXT NOT NULL,
        thread_id TEXT NOT NULL,
        kind TEXT NOT NULL,
        scope TEXT NOT NULL,
        fingerprint TEXT NOT NULL,
        status TEXT,
        note TEXT NOT NULL,
        deferred_until REAL,
        undoes TEXT,
        merges TEXT NOT NULL,
        carried_out INTEGER NOT NULL
    ) STRICT
    """,
    "CREATE INDEX review_records_by_entry ON review_records (entry_id)",
    "CREATE INDEX review_records_waiting ON review_records (position) WHERE carried_out = 0",
    "ALTER TABLE review_decisions ADD COLUMN record_id TEXT",
)


#: What a gate is told from, of a thread and of its job.
_GATED_BY = """
    agent, rollout_path, present, archived, size, index_error, source, task_status, scope, started_at, updated_at,
    prompt_count, result_chars, gives_direction, memory_mode, disabled_from_start, model_provider, external_context,
    content_digest, understood_lines, total_lines, skipped_lines, claimed_records, disabled_by_person, gate, keeps_words
"""

#: What the files of the review are made from, beside some columns of the threads.
_TOLD_IN_FILES = ("drafts", "entries", "extractions", "session_files")

_TURNS_AND_LOOKS = (
    # Set once a claim found that the wait of a failed job is over, so that the job stands in the index by turn.
    "ALTER TABLE jobs ADD COLUMN came_due INTEGER NOT NULL DEFAULT 0",
    # What can be claimed now, and nothing else: its first row is the next job. Leases and waits end by their own index.
    "DROP INDEX jobs_by_turn",
    """
    CREATE INDEX jobs_by_turn ON jobs (yields, order_at DESC, thread_id)
    WHERE claimable = 1 AND (state = 'pending' OR (state = 'error' AND came_due = 1))
    """,
    "CREATE INDEX jobs_by_lease ON jobs (lease_until) WHERE lease_until IS NOT NULL",
    "CREATE INDEX jobs_by_wait ON jobs (retry_at) WHERE retry_at IS NOT NULL",
    """
    CREATE INDEX jobs_by_retry ON jobs (coalesce(retry_at, 0))
    WHERE claimable = 1 AND state = 'error' AND came_due = 0
    """,
    # Under which conditions the gates were last decided, and when; at most one row.
    "CREATE TABLE gating (conditions TEXT NOT NULL, at REAL NOT NULL) STRICT",
    # Threads that changed since their gate was decided, and when time alone may change the gate of one that did not.
    "CREATE TABLE stale_gates (thread_id TEXT PRIMARY KEY) STRICT",
    "INSERT INTO stale_gates SELECT thread_id FROM threads",
    "CREATE TABLE gate_times (thread_id TEXT PRIMARY KEY, look_at REAL NOT NULL) STRICT",
    "CREATE INDEX gate_times_by_time ON gate_times (look_at)",
    # Not "OR IGNORE": in a trigger, the conflict clause of the statement that fires it holds instead.
    *(
        f"""
        CREATE TRIGGER gate_{name} AFTER {event}
        WHEN NOT EXISTS (SELECT 1 FROM stale_gates WHERE thread_id = {row}.thread_id)
        BEGIN INSERT INTO stale_gates VALUES ({row}.thread_id); END
        """
        for name, event, row in (
            ("thread_came", "INSERT ON threads", "NEW"),
            ("thread_changed", f"UPDATE OF {_GATED_BY} ON threads", "NEW"),
            ("job_came", "INSERT ON jobs", "NEW"),
            ("job_changed", "UPDATE OF state, source_digest, last_error ON jobs", "NEW"),
            ("job_went", "DELETE ON jobs", "OLD"),
        )
    ),
    """
    CREATE TRIGGER gate_thread_went AFTER DELETE ON threads BEGIN
        DELETE FROM stale_gates WHERE thread_id = OLD.thread_id;
        DELETE FROM gate_times WHERE thread_id = OLD.thread_id;
    END
    """,
    # What the log folders looked like when all in them was known; at most one row, gone once a known file changes.
    "CREATE TABLE settled_look (look TEXT NOT NULL, threads INTEGER NOT NULL) STRICT",
    *(
        f"CREATE TRIGGER look_{event.lower()} AFTER {event} ON rollout_files BEGIN DELETE FROM settled_look; END"
        for event in ("INSERT", "UPDATE", "DELETE")
    ),
    # Stands once every file of the review was seen to tell what is stored; at most one row, gone with any change of it.
    "CREATE TABLE settled_files (settled INTEGER NOT NULL) STRICT",
    *(
        f"CREATE TRIGGER files_{number} AFTER {event} BEGIN DELETE FROM settled_files; END"
        for number, event in enumerate(
            (
                *(f"{event} ON {table}" for event in ("INSERT", "UPDATE", "DELETE") for table in _TOLD_IN_FILES),
                "UPDATE OF gate, keeps_words, skipped_lines ON threads",
                "DELETE ON threads",
            )
        )
    ),
    # What each pass asks of all threads, so that it need not read them: all that is asked stands in the index.
    "CREATE INDEX threads_gated ON threads (gate, present) WHERE present = 1 AND gate IS NOT NULL",
    "CREATE INDEX threads_ahead ON threads (newest_at) WHERE newest_at > updated_at",
    "CREATE INDEX threads_to_share ON threads (thread_id) WHERE claimed_records IS NOT NULL",
    """
    CREATE INDEX threads_with_remote ON threads (cwd, updated_at, thread_id, scope, has_remote) WHERE has_remote = 1
    """,
    "CREATE INDEX threads_without_remote ON threads (cwd, scope, has_remote) WHERE has_remote = 0",
    "CREATE INDEX threads_by_agent ON threads (agent)",
)


def _judged_anew() -> Iterable[str]:
    # Memories that changed, or whose evidence did, since phase two last judged what stands. A change always gives a
    # new mark, so that one that comes while phase two works is not taken for what it has seen.
    yield """
        CREATE TABLE memories_to_judge (
            mark INTEGER PRIMARY KEY AUTOINCREMENT,
            memory_id TEXT NOT NULL UNIQUE
        ) STRICT
    """
    yield "INSERT INTO memories_to_judge (memory_id) SELECT memory_id FROM memories ORDER BY memory_id"
    resting_on = "SELECT memory_id FROM memory_entries WHERE entry_id = {row}.entry_id"
    resting_on_thread = """
        SELECT DISTINCT m.memory_id FROM entries AS e JOIN memory_entries AS m ON m.entry_id = e.entry_id
        WHERE e.thread_id = NEW.thread_id
    """
    worded = "kind, scope, condition, statement, status, superseded_by, reason, first_seen, last_confirmed"
    for number, (event, changed) in enumerate(
        (
            ("INSERT ON memories", "SELECT NEW.memory_id"),
            (f"UPDATE OF {worded} ON memories", "SELECT NEW.memory_id"),
            ("DELETE ON memories", "SELECT OLD.memory_id"),
            ("INSERT ON memory_entries", "SELECT NEW.memory_id"),
            ("DELETE ON memory_entries", "SELECT OLD.memory_id"),
            (
                """UPDATE OF withdrawn_at, kind, scope ON entries WHEN OLD.withdrawn_at IS NOT NEW.withdrawn_at
                OR OLD.kind <> NEW.kind OR OLD.scope <> NEW.scope""",
                resting_on.format(row="NEW"),
            ),
            ("INSERT ON evidence", resting_on.format(row="NEW")),
            ("UPDATE OF speaker, at, byte_start ON evidence", resting_on.format(row="NEW")),
            ("DELETE ON evidence", resting_on.format(row="OLD")),
            ("INSERT ON drafts", resting_on.format(row="NEW")),
            ("UPDATE OF review_status ON drafts", resting_on.format(row="NEW")),
            ("DELETE ON drafts", resting_on.format(row="OLD")),
            (
                """UPDATE OF gate, keeps_words ON threads
                WHEN OLD.gate IS NOT NEW.gate OR OLD.keeps_words <> NEW.keeps_words""",
                resting_on_thread,
            ),
        )
    ):
        yield f"""
            CREATE TRIGGER judge_{number} AFTER {event}
            BEGIN
                DELETE FROM memories_to_judge WHERE memory_id IN ({changed});
                INSERT INTO memories_to_judge (memory_id) {changed};
            END
        """
    # Hashes of the words and forms of each statement within its scope: what may be like another is found by them.
    yield """
        CREATE TABLE memory_keys (
            key INTEGER NOT NULL,
            memory_id TEXT NOT NULL REFERENCES memories (memory_id) ON DELETE CASCADE,
            PRIMARY KEY (key, memory_id)
        ) STRICT, WITHOUT ROWID
    """
    yield "CREATE INDEX memory_keys_by_memory ON memory_keys (memory_id)"
    # Memories whose keys are to be made anew, and how the others were made; at most one row.
    yield "CREATE TABLE keys_stale (memory_id TEXT PRIMARY KEY) STRICT"
    yield "INSERT INTO keys_stale SELECT memory_id FROM memories"
    yield "CREATE TABLE keys_made (version TEXT NOT NULL) STRICT"
    # Not "OR IGNORE": in a trigger, the conflict clause of the statement that fires it holds instead.
    for event, row in (
        ("INSERT ON memories", "NEW"),
        ("UPDATE OF scope, statement ON memories", "NEW"),
        ("DELETE ON memories", "OLD"),
    ):
        condition = "EXISTS" if row == "OLD" else "NOT EXISTS"
        stale = f"(SELECT 1 FROM keys_stale WHERE memory_id = {row}.memory_id)"
        act = (
            "DELETE FROM keys_stale WHERE memory_id = OLD.memory_id"
            if row == "OLD"
            else "INSERT INTO keys_stale VALUES (NEW.memory_id)"
        )
        yield f"""
            CREATE TRIGGER keys_{event.split()[0].lower()} AFTER {event} WHEN {condition} {stale}
            BEGIN {act}; END
        """


def _search_index() -> Iterable[str]:
    # Terms of what the memories say and rest on, and the memories that changed since they were indexed.
    yield """
        CREATE VIRTUAL TABLE memory_search USING fts5(
            said, rests_on, tokenize = 'unicode61 remove_diacritics 0', prefix = '4'
        )
    """
    yield "CREATE TABLE search_rows (row INTEGER PRIMARY KEY, memory_id TEXT NOT NULL UNIQUE) STRICT"
    yield "CREATE TABLE search_stale (memory_id TEXT PRIMARY KEY) STRICT"
    yield "INSERT INTO search_stale SELECT memory_id FROM memories"
    yield "CREATE INDEX memories_by_successor ON memories (superseded_by) WHERE superseded_by IS NOT NULL"
    # Not "OR IGNORE": in a trigger, the conflict clause of the statement that fires it holds instead.
    for event, memory_id in (
        ("INSERT ON memories", "NEW.memory_id"),
        ("UPDATE OF statement, condition ON memories", "NEW.memory_id"),
        ("DELETE ON memories", "OLD.memory_id"),
        ("INSERT ON memory_entries", "NEW.memory_id"),
        ("DELETE ON memory_entries", "OLD.memory_id"),
    ):
        name = f"search_{event.split()[0].lower()}_{event.split()[-1]}"
        yield f"""
            CREATE TRIGGER {name} AFTER {event}
            WHEN NOT EXISTS (SELECT 1 FROM search_stale WHERE memory_id = {memory_id})
            BEGIN INSERT INTO search_stale VALUES ({memory_id}); END
        """
    yield """
        CREATE TRIGGER search_update_evidence AFTER UPDATE OF quote ON evidence
        BEGIN
            INSERT INTO search_stale SELECT memory_id FROM memory_entries
            WHERE entry_id = NEW.entry_id AND memory_id NOT IN (SELECT memory_id FROM search_stale);
        END
    """
