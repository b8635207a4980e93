"""Which memories a person means: by id or the beginning of one, by a line of MEMORY.md, by some words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from memory_pipeline.likeness import likeness
from memory_pipeline.records import Memory, MemoryStatus

_MEMORY_ID = re.compile(r"m_[0-9a-f]+")
_ENTRY_ID = re.compile(r"e_[0-9a-f]+")
#: What MEMORY.md puts around a statement: list mark, day, task marks.
_LINE = re.compile(
    r"^(?:[-*]\s+)?(?P<body>.*?)(?:\s\(\d{4}-\d\d-\d\d\))?(?:\s\[Task \d+\])*$", re.DOTALL | re.IGNORECASE
)
_STATED = re.compile(r'^(?:.*, )?the user (?:asked|decided): "(?P<statement>.*)"$', re.DOTALL | re.IGNORECASE)

_SAME = 1.0
_HOLDS_THE_STATEMENT = 0.97
_PART_OF_IT = 0.9
_ITS_WORDS = 0.8
_LEAST_LIKENESS = 0.5
#: Likeness never outweighs the very words.
_LIKENESS_WEIGHT = 0.78


def find_memories(query: str, memories: Iterable[Memory]) -> list[Memory]:
    """Return the memories that a query names, the best first, then active before others, then the newest said.

    Included are superseded and retired ones. Where a memory says just what is asked, only such ones are returned.
    """
    known = list(memories)
    by_id = _by_id(query.strip().casefold(), known)
    if by_id:
        return by_id
    wanted = _statement_in(_folded(query))
    if not any(map(str.isalnum, wanted)):
        return []
    fits = [(fit, memory) for memory in known if (fit := _fit(wanted, memory)) > 0]
    if any(fit >= _HOLDS_THE_STATEMENT for fit, _ in fits):
        fits = [(fit, memory) for fit, memory in fits if fit >= _HOLDS_THE_STATEMENT]
    fits.sort(key=lambda item: (-item[0], *_order(item[1])))
    return [memory for _, memory in fits]


def _by_id(query: str, memories: Iterable[Memory]) -> list[Memory]:
    if _MEMORY_ID.fullmatch(query):
        found = [memory for memory in memories if memory.memory_id.startswith(query)]
    elif _ENTRY_ID.fullmatch(query):
        found = [memory for memory in memories if any(entry_id.startswith(query) for entry_id in memory.entry_ids)]
    else:
        return []
    return sorted(found, key=lambda memory: (memory.memory_id != query, *_order(memory)))


def _order(memory: Memory) -> tuple[bool, float, str]:
    return (memory.status_now is not MemoryStatus.ACTIVE, -memory.last_confirmed, memory.memory_id)


def _folded(text: str) -> str:
    folded = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    return folded.replace("“", '"').replace("”", '"').replace("’", "'")


def _statement_in(line: str) -> str:
    """Take the statement out of a line as MEMORY.md, or a table that cut it, shows it."""
    found = _LINE.match(line)
    body = found["body"] if found else line
    stated = _STATED.match(body)
    return (stated["statement"] if stated else body).rstrip("….").strip()


def _fit(wanted: str, memory: Memory) -> float:
    """How well a memory fits, from 0 (not at all) to 1 (it says just that)."""
    statement, condition = _folded(memory.statement).rstrip("….").strip(), _folded(memory.condition)
    if wanted in (statement, f"{condition}: {statement}"):
        return _SAME
    if statement and statement in wanted and 2 * len(statement) >= len(wanted):
        return _HOLDS_THE_STATEMENT
    if wanted in statement or wanted in condition:
        return _PART_OF_IT
    words = set(re.findall(r"\w+", wanted))
    if words <= set(re.findall(r"\w+", f"{statement} {condition}")):
        return _ITS_WORDS
    alike = likeness(wanted, statement)
    return alike * _LIKENESS_WEIGHT if alike >= _LEAST_LIKENESS else 0.0
