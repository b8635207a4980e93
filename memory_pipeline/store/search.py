"""Full-text search over the memories, by the terms of what they say and of what they rest on.

SQLite's own tokenizers split paths and flags, and miss Chinese words of two characters. So the index holds terms that
are already taken apart (see terms), each written in letters that no tokenizer splits.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from memory_pipeline.concepts import concepts_of, words_that_count
from memory_pipeline.store.connection import immediate
from memory_pipeline.store.standing import STATUS_NOW
from memory_pipeline.terms import terms_of

#: A hit in what a memory says counts as much as so many in what it rests on.
_STATEMENT_WEIGHT = 4.0
#: And one in what its words are about counts as much as one in what it rests on.
_CONCEPT_WEIGHT = 1.0
_MOST_QUERY_TERMS = 64
#: From this length on, a word of the query also finds the words that begin with it.
PREFIX_FROM = 4
_BATCH = 500

_OTHER = re.compile(r"[^\w]|_")


class Hit(NamedTuple):
    """One memory that a query found, and how well: the greater the better."""

    memory_id: str
    score: float


class Search:
    """The search index. It is brought up to date when it is asked, for the memories that changed since."""

    def __init__(self, connect: Callable[[], sqlite3.Connection], *, may_write: bool = True) -> None:
        """Without ``may_write``, what changed since the index was last brought up to date is not found yet."""
        self._connect = connect
        self._may_write = may_write

    def find(
        self,
        query: str,
        *,
        limit: int,
        scopes: Collection[str] | None = None,
        kinds: Collection[str] | None = None,
        statuses: Collection[str] = ("active",),
    ) -> list[Hit]:
        """Return the memories that hold a term of ``query``, best first, then by id, at most ``limit``.

        Any text is a query. Only memories of these scopes, kinds and statuses, where they are given, are searched; the
        status is that by what stands now.
        """
        asked = _asked(query)
        if not asked or limit <= 0:
            return []
        self.refresh()
        conditions, values = _filters(scopes, kinds, statuses)
        rows = self._connect().execute(
            f"""
            SELECT m.memory_id, -bm25(memory_search, ?, 1.0, ?) AS score
            FROM memory_search AS s JOIN search_rows AS r ON r.row = s.rowid
            JOIN memories AS m ON m.memory_id = r.memory_id
            WHERE memory_search MATCH ? {conditions}
            ORDER BY score DESC, m.memory_id LIMIT ?
            """,
            (_STATEMENT_WEIGHT, _CONCEPT_WEIGHT, asked, *values, limit),
        )
        return [Hit(memory_id=row["memory_id"], score=row["score"]) for row in rows]

    def is_stale(self) -> bool:
        """Whether memories changed since the index was last brought up to date."""
        return self._connect().execute("SELECT 1 FROM search_stale LIMIT 1").fetchone() is not None

    def refresh(self) -> int:
        """Index what changed since the last time; returns how many memories that were."""
        if not self._may_write or not self.is_stale():
            return 0
        with immediate(self._connect()) as connection:
            return index_stale(connection)


def index_stale(connection: sqlite3.Connection) -> int:
    """Index what changed, inside the caller's transaction; returns how many memories that were."""
    stale = [row["memory_id"] for row in connection.execute("SELECT memory_id FROM search_stale")]
    for start in range(0, len(stale), _BATCH):
        _index(connection, stale[start : start + _BATCH])
    connection.execute("DELETE FROM search_stale")
    return len(stale)


def _asked(query: str) -> str:
    """Write a query in the language of FTS5: any of its terms, or of what they are about; "" for no term."""
    terms = words_that_count(list(dict.fromkeys(terms_of(query))))[:_MOST_QUERY_TERMS]
    if not terms:
        return ""
    encoded = [_encode(term) for term in terms]
    said = " OR ".join(
        f'"{term}"*' if len(term) >= PREFIX_FROM and term.isascii() and term.isalpha() else f'"{term}"'
        for term in encoded
    )
    about = " OR ".join(f'"{_encode(concept)}"' for concept in concepts_of(query)[:_MOST_QUERY_TERMS])
    return f"{{said rests_on}} : ({said})" + (f" OR about : ({about})" if about else "")


def _filters(
    scopes: Collection[str] | None, kinds: Collection[str] | None, statuses: Collection[str]
) -> tuple[str, list[str]]:
    conditions, values = "", []
    for column, wanted in (("m.scope", scopes), ("m.kind", kinds), (STATUS_NOW, statuses)):
        if wanted is not None:
            chosen = sorted(wanted)
            conditions += f" AND {column} IN ({', '.join('?' for _ in chosen)})"
            values += chosen
    return conditions, values


def _index(connection: sqlite3.Connection, memory_ids: Sequence[str]) -> None:
    marks = ", ".join("?" for _ in memory_ids)
    said = {
        row["memory_id"]: f"{row['statement']} {row['condition']}"
        for row in connection.execute(f"SELECT * FROM memories WHERE memory_id IN ({marks})", tuple(memory_ids))
    }
    quotes: dict[str, dict[str, None]] = {}
    for row in connection.execute(
        f"""
        SELECT m.memory_id, v.quote FROM memory_entries AS m JOIN evidence AS v ON v.entry_id = m.entry_id
        WHERE m.memory_id IN ({marks}) AND v.quote <> '' ORDER BY m.rowid, v.position
        """,
        tuple(memory_ids),
    ):
        quotes.setdefault(row["memory_id"], {})[row["quote"]] = None
    for memory_id in memory_ids:
        row = connection.execute("SELECT row FROM search_rows WHERE memory_id = ?", (memory_id,)).fetchone()
        if row is not None:
            connection.execute("DELETE FROM memory_search WHERE rowid = ?", (row["row"],))
        if memory_id not in said:
            connection.execute("DELETE FROM search_rows WHERE memory_id = ?", (memory_id,))
            continue
        if row is None:
            row = connection.execute(
                "INSERT INTO search_rows (memory_id) VALUES (?) RETURNING row", (memory_id,)
            ).fetchone()
        connection.execute(
            "INSERT INTO memory_search (rowid, said, rests_on, about) VALUES (?, ?, ?, ?)",
            (
                row["row"],
                _written(said[memory_id]),
                _written(" ".join(quotes.get(memory_id, ()))),
                " ".join(map(_encode, concepts_of(said[memory_id]))),
            ),
        )


def _written(text: str) -> str:
    return " ".join(map(_encode, terms_of(text)))


def _encode(term: str) -> str:
    """Write a term in letters and digits alone."""
    return _OTHER.sub(lambda match: f"zq{ord(match.group()):x}q", term)
