"""Further sources in the workspace: notes that the user asked for, and what extensions put into their resources.

``extensions/ad_hoc/notes/*.md`` are the person's own words. ``extensions/<name>/resources/*`` of an extension that has
an ``instructions.md`` are facts from elsewhere, never a person's word. Both are only read, never changed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

from memory_pipeline.clock import DAY_SECONDS
from memory_pipeline.directions import find_directions
from memory_pipeline.phase2.baseline import read_workspace_file
from memory_pipeline.records import (
    PROJECT_SCOPE_PREFIX,
    USER_SCOPE,
    EntryKind,
    JournalAction,
    JournalRecord,
    Speaker,
)
from memory_pipeline.redact import redact
from memory_pipeline.rollouts.journal import record_id_of
from memory_pipeline.rollouts.paths import plain_path
from memory_pipeline.rollouts.scope import scope_of
from memory_pipeline.statements import STATEMENT_MAX_CHARS, clean_statement, list_item_at

EXTENSIONS_FOLDER = "extensions"
NOTES_EXTENSION = "ad_hoc"

#: What is read at most: a folder that somebody fills must not fill the memory.
MOST_FILES = 500
MOST_BYTES = 64 * 1024
MOST_STATEMENTS = 50

_HEADER = re.compile(r"(?P<name>scope|cwd)\s*:\s*(?P<value>\S.*)", re.IGNORECASE)
_NAME_TIME = re.compile(r"(\d{4})-?(\d\d)-?(\d\d)")


class _Source(Struct, frozen=True, kw_only=True):
    path: str  # in the workspace
    speaker: Speaker
    at: float


def records_of_extensions(workspace: Path, *, retention_days: float, now: float) -> list[JournalRecord]:
    """Read the notes and resources as records for the journal; the same text gives the same records.

    Resources older than ``retention_days`` (by the date in their name, else by their time stamp) are not read; 0 sets
    no bound. A file that is no text, too large, or a link is passed over.
    """
    records: list[JournalRecord] = []
    for source in _sources(workspace, retention_days=retention_days, now=now):
        content = read_workspace_file(workspace, source.path)
        if content is None or len(content) > MOST_BYTES:
            continue
        try:
            records += _records(source, content.decode("utf-8"))
        except UnicodeDecodeError:
            continue
    return records


def _sources(workspace: Path, *, retention_days: float, now: float) -> Iterator[_Source]:
    root = workspace / EXTENSIONS_FOLDER
    found = 0
    for extension in _folders(root):
        if extension.name == NOTES_EXTENSION:
            kind, speaker = "notes", Speaker.USER
        elif (extension / "instructions.md").is_file():
            kind, speaker = "resources", Speaker.TOOL
        else:
            continue
        for file in _files(extension / kind):
            at = _time_of(file)
            is_old = speaker is Speaker.TOOL and retention_days and at < now - retention_days * DAY_SECONDS
            found += 1
            if not is_old and found <= MOST_FILES:
                yield _Source(path=file.relative_to(workspace).as_posix(), speaker=speaker, at=min(at, now))


def _folders(root: Path) -> list[Path]:
    if root.is_symlink():
        return []
    try:
        return sorted(Path(entry.path) for entry in os.scandir(root) if entry.is_dir(follow_symlinks=False))
    except OSError:
        return []


def _files(folder: Path) -> list[Path]:
    if folder.is_symlink():
        return []
    try:
        return sorted(
            Path(entry.path)
            for entry in os.scandir(folder)
            if entry.is_file(follow_symlinks=False) and entry.name.endswith((".md", ".txt"))
        )
    except OSError:
        return []


def _time_of(file: Path) -> float:
    named = _NAME_TIME.match(file.name)
    if named:
        try:
            return datetime(int(named[1]), int(named[2]), int(named[3]), tzinfo=UTC).timestamp()
        except ValueError:
            pass
    try:
        return file.stat(follow_symlinks=False).st_mtime
    except OSError:
        return 0.0


def _records(source: _Source, text: str) -> list[JournalRecord]:
    scope, statements = _read(source, text)
    return [
        JournalRecord(
            record_id=record_id_of("extension", source.path, scope, statement),
            action=JournalAction.ADD,
            at=source.at,
            origin=source.path,
            kind=_kind_of(source, statement),
            scope=scope,
            statement=statement,
            speaker=source.speaker,
        )
        for statement in statements[:MOST_STATEMENTS]
    ]


def _read(source: _Source, text: str) -> tuple[str, list[str]]:
    """Return the scope that the first lines name, and the statements: list items, else whole paragraphs."""
    scope = USER_SCOPE
    body: list[str] = []
    is_head = True
    for line in text.replace("\r\n", "\n").split("\n"):
        header = _HEADER.fullmatch(line.strip()) if is_head else None
        if header:
            scope = _scope_named(header["name"].lower(), header["value"].strip()) or scope
        elif line.strip() not in ("", "---"):
            is_head = False
            body.append(line)
        else:
            body.append("")
    items = _items(body)
    if not items and source.speaker is Speaker.USER:
        paragraphs = re.split(r"\n\s*\n", "\n".join(line for line in body if not line.startswith("#")))
        items = [" ".join(paragraph.split()) for paragraph in paragraphs]
    statements = []
    for item in items:
        statement = clean_statement(redact(item).text) if len(item) <= STATEMENT_MAX_CHARS else None
        if statement is not None and statement not in statements:
            statements.append(statement)
    return scope, statements


def _items(lines: Sequence[str]) -> list[str]:
    items = []
    end = 0
    for index in range(len(lines)):
        item = list_item_at(lines, index) if index >= end else None
        if item is not None:
            items.append(item.text)
            end = item.end
    return items


def _scope_named(name: str, value: str) -> str | None:
    if name == "cwd":
        return scope_of(value, None) if plain_path(value) else None
    if value == USER_SCOPE or (value.startswith(PROJECT_SCOPE_PREFIX) and len(value) > len(PROJECT_SCOPE_PREFIX)):
        return value
    return None


def _kind_of(source: _Source, statement: str) -> EntryKind:
    found = find_directions(statement) if source.speaker is Speaker.USER else ()
    return found[0].kind if found else EntryKind.KNOWLEDGE
