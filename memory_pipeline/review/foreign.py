"""Draft files of other tools, about sessions of which nothing was drafted here: read, shown, and never decided here.

A decision here is about an entry with its evidence, and such a file has none of ours. Its session becomes drafts once
its log is read, or its packet is imported.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
from msgspec import Struct

from memory_pipeline.config import Config
from memory_pipeline.redact import redact
from memory_pipeline.review.documents import DRAFTS_FOLDER, packet_name
from memory_pipeline.review.files import read_plain, tells_forgotten
from memory_pipeline.statements import one_line
from memory_pipeline.store.store import Store
from memory_pipeline.tombstones import TombstoneFolder

_STATEMENT_CHARS = 300
_FIELD_CHARS = 100


class ForeignEntry(Struct, frozen=True, kw_only=True):
    """What such a file says of one entry, masked, each field one line."""

    entry_id: str
    statement: str
    label: str
    review_status: str


class ForeignDrafts(Struct, frozen=True, kw_only=True):
    """A draft file that we did not write."""

    path: Path
    session_id: str
    entries: tuple[ForeignEntry, ...]
    packet: Path | None  # of its session, if one lies in the folder
    is_readable_here: bool  # its session's log is indexed, so that a run drafts it

    def how(self, command: Callable[[str], str]) -> str:
        """Say how its session becomes drafts here; ``command`` writes a command as the person calls it."""
        if self.is_readable_here:
            return f"`{command('run')}` reads its session; what is drafted then takes the file's place"
        packet = str(self.packet) if self.packet is not None else "PACKET.md"
        return f"import its packet with `{command(f'packet import {packet} --scope project:KEY')}`"


def foreign_drafts(config: Config, store: Store) -> list[ForeignDrafts]:
    """Return the draft files in the folder that we did not write, by name, but for what tells of forgotten things."""
    folder = config.draft_files_path
    ours = store.session_files.versions()
    tombstones = TombstoneFolder(config.tombstones_path).current()
    found = []
    for path in sorted(folder.glob("*.json")) if folder.is_dir() else ():
        if path.name.startswith(".") or f"{DRAFTS_FOLDER}/{path.name}" in ours:
            continue
        content = read_plain(path) or b""
        document = _document(content)
        if document is None or tells_forgotten(document["session_id"], content, tombstones):
            continue
        session_id = document["session_id"]
        thread = store.threads.get(session_id)
        packet = config.state_path / packet_name(session_id)
        found.append(
            ForeignDrafts(
                path=path,
                session_id=_shown(session_id, _FIELD_CHARS),
                entries=tuple(_entry(entry) for entry in document["draft_entries"] if isinstance(entry, dict)),
                packet=packet if packet.is_file() else None,
                is_readable_here=thread is not None and thread.present,
            )
        )
    return found


def _document(content: bytes) -> dict[str, Any] | None:
    try:
        document = orjson.loads(content)
    except orjson.JSONDecodeError:
        return None
    is_one = isinstance(document, dict) and isinstance(document.get("session_id"), str)
    return document if is_one and isinstance(document.get("draft_entries"), list) else None


def _entry(entry: dict[str, Any]) -> ForeignEntry:
    return ForeignEntry(
        entry_id=_shown(entry.get("id"), _FIELD_CHARS),
        statement=_shown(entry.get("statement"), _STATEMENT_CHARS),
        label=_shown(entry.get("label"), _FIELD_CHARS),
        review_status=_shown(entry.get("review_status"), _FIELD_CHARS),
    )


def _shown(value: object, limit: int) -> str:
    return one_line(redact(value).text, limit) if isinstance(value, str) else ""
