"""Citations: the block with which an agent's final answer names the memories that it used.

It ends the answer and names threads by id and lines of MEMORY.md. It is read strictly and within bounds: a block that
is not closed, stands elsewhere than at the end, or names nothing that can be an id counts for nothing.
"""

from __future__ import annotations

import hashlib
import re

from memory_pipeline.records import Citation

END_TAG = "</oai-mem-citation>"
_START_TAG = "<oai-mem-citation>"

#: What one answer may cite at most; more is no citation but noise.
MOST_THREADS = 100
MOST_LINES = 1_000
_MOST_CHARS = 64 * 1024

_ENTRIES = re.compile(r"<citation_entries>\n(.*?)</citation_entries>", re.DOTALL)
_THREADS = re.compile(r"<rollout_ids>\n(.*?)</rollout_ids>", re.DOTALL)
_THREAD_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}")
_LINES = re.compile(r"MEMORY\.md:(\d{1,7})(?:-(\d{1,7}))?(?:\|.*)?")


def citation_in(answer: str, *, at: float | None, place: str) -> Citation | None:
    """Return what a final answer cites, None when it cites nothing.

    ``place`` names the answer where it has no time. An answer that a resumed log writes again has the same words and
    time, and so the same id.
    """
    text = answer.rstrip()
    if not text.endswith(END_TAG):
        return None
    start = text.rfind(_START_TAG)
    if start < 0 or len(text) - start > _MOST_CHARS:
        return None
    block = text[start:].replace("\r\n", "\n")
    threads, lines = _threads_in(block), _lines_in(block)
    if not threads and not lines:
        return None
    named = "\x1f".join((str(place if at is None else at), text))
    return Citation(
        citation_id="c_" + hashlib.sha256(named.encode("utf-8", "replace")).hexdigest()[:24],
        at=at,
        threads=threads,
        lines=lines,
    )


def _threads_in(block: str) -> tuple[str, ...]:
    found = _THREADS.search(block)
    names = [line.strip() for line in found.group(1).split("\n")] if found else []
    return tuple(dict.fromkeys(name for name in names if _THREAD_ID.fullmatch(name)))[:MOST_THREADS]


def _lines_in(block: str) -> tuple[int, ...]:
    found = _ENTRIES.search(block)
    cited: dict[int, None] = {}
    for entry in found.group(1).split("\n") if found else ():
        spot = _LINES.fullmatch(entry.strip())
        if spot is None:
            continue
        first = int(spot.group(1))
        last = int(spot.group(2) or first)
        if 0 < first <= last and last - first < MOST_LINES - len(cited):
            cited.update(dict.fromkeys(range(first, last + 1)))
    return tuple(sorted(cited))
