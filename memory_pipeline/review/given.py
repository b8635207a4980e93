"""Existing memories given in a JSON file, for drafts to be compared with instead of the active ones."""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from memory_pipeline.errors import UsageError
from memory_pipeline.records import PROJECT_SCOPE_PREFIX, USER_SCOPE, EntryKind
from memory_pipeline.review.labels import Known
from memory_pipeline.statements import one_line

#: Under these keys stand further memories; under those, what a memory says.
_HOLDERS = ("items", "observations", "entries", "results")
_TEXTS = ("statement", "title", "subtitle", "content", "narrative")
_IDS = ("memory_id", "id")

_MOST_BYTES = 64 * 1024 * 1024
_MOST_CHARS = 2_000
#: Nobody nests memories so deep; a file that does is meant to exhaust the stack.
_DEEPEST = 32


def read_known(path: Path) -> list[Known]:
    """Read the statements of a JSON file: strings, or objects, in lists or under the keys that other tools use.

    Raises:
        UsageError: the file can't be read, is no JSON, or says nothing.
    """
    try:
        with path.open("rb") as stream:
            content = stream.read(_MOST_BYTES + 1)  # a pipe has no size, and a device no end
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from error
    if len(content) > _MOST_BYTES:
        raise UsageError(f"{path}: larger than {_MOST_BYTES // 1024 // 1024} MB; give fewer memories to compare with")
    try:
        document = orjson.loads(content.removeprefix(codecs.BOM_UTF8))
    except orjson.JSONDecodeError as error:
        raise UsageError(f"{path}: no JSON ({error})") from error
    known: dict[str, Known] = {}
    for number, (name, text, fields) in enumerate(_statements(document, 0), start=1):
        known_id = name if name and name not in known else f"given-{number}"
        known[known_id] = _known(known_id, text, fields)
    if not known:
        raise UsageError(
            f"{path}: no statement in it; expected are texts, or objects with one of {', '.join(_TEXTS)}, in lists or "
            f"under one of {', '.join(_HOLDERS)}"
        )
    return list(known.values())


def _statements(value: Any, depth: int) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yield the id, the text and the object of each statement, in the file's order."""
    if depth > _DEEPEST:
        return
    if isinstance(value, str):
        if said := one_line(value, _MOST_CHARS):
            yield "", said, {}
    elif isinstance(value, list):
        for item in value:
            yield from _statements(item, depth + 1)
    elif isinstance(value, dict):
        name = next((one_line(str(value[key]), 80) for key in _IDS if isinstance(value.get(key), str | int)), "")
        for key in _TEXTS:
            text = value.get(key)
            if isinstance(text, str) and (said := one_line(text, _MOST_CHARS)):
                yield name, said, value
                name = ""  # a title and a narrative of one memory are two statements to compare with
        for key in _HOLDERS:
            if isinstance(value.get(key), list | dict):
                yield from _statements(value[key], depth + 1)


def _known(known_id: str, text: str, fields: Mapping[str, Any]) -> Known:
    scope, kind, condition = fields.get("scope"), fields.get("kind"), fields.get("condition")
    is_scope = isinstance(scope, str) and (scope == USER_SCOPE or scope.startswith(PROJECT_SCOPE_PREFIX))
    return Known(
        known_id=known_id,
        statement=text,
        condition=one_line(condition, _MOST_CHARS) if isinstance(condition, str) else "",
        kind=EntryKind(kind) if kind in list(EntryKind) else None,  # a list, since anything may stand there
        scope=scope if is_scope else None,
    )
