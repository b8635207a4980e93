"""Reads what a model wrote back: leniently where only one reading is possible, refused with its reason elsewhere.

No message says a word of the answer: it may repeat the session.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NoReturn

from memory_pipeline.errors import AnswerError
from memory_pipeline.llm.quoted import without_surrogates
from memory_pipeline.records import EntryDraft, ExtractionAnswer, TaskDraft, TaskOutcome

ANSWER_KEYS = frozenset({"rollout_summary", "rollout_slug", "tasks"})

_REASONING = re.compile(r"\A\s*<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)
_FENCE = re.compile(r"\A```[A-Za-z0-9_-]*[ \t]*\n(.*?)\n?[ \t]*```\Z", re.DOTALL)
_ROW_NUMBER = re.compile(r"\A\d{1,9}\Z", re.ASCII)
_BYTE_ORDER_MARK = "\ufeff"


def read_answer(text: str) -> ExtractionAnswer:
    """Read one answer of the contract in ``prompts/README.md``; the tokens and requests it cost are left at 0.

    Read all the same: a byte order mark, a code fence, leading reasoning, prose around exactly one object, a comma
    before a closing bracket, unknown keys, a missing key (read as empty), and single entries of the wrong shape
    (dropped while others stand). An object whose fields are all empty is a valid answer: nothing worth keeping.

    Raises:
        AnswerError: empty, cut off, prose, not exactly one object, or a field of the wrong kind.
    """
    written = _REASONING.sub("", without_surrogates(text)).strip().lstrip(_BYTE_ORDER_MARK).strip()
    if not written:
        raise AnswerError("the model's answer is empty")
    return _answer_of(_only_object(written))


def _only_object(text: str) -> dict[str, Any]:
    fenced = _FENCE.match(text)
    whole = fenced.group(1).strip() if fenced else text
    value = _parse(whole)
    if isinstance(value, dict):
        # An object of which nothing is known, such as {"error": …}, is another answer than "nothing worth keeping".
        if value and not ANSWER_KEYS & value.keys():
            raise AnswerError("the model's answer is an object without any of the wanted fields")
        return value
    if value is not _NOT_JSON:
        raise AnswerError(f"the model's answer is a JSON {_kind_name(value)}, not an object")
    return _object_in_prose(whole)


def _object_in_prose(text: str) -> dict[str, Any]:
    found: list[dict[str, Any]] = []
    start = text.find("{")
    if start < 0:
        raise AnswerError("the model's answer is prose, without a JSON object")
    while start >= 0:
        end = _closing(text, start)
        if end is None:
            raise AnswerError("the model's answer is cut off: its JSON object has no end")
        value = _parse(text[start:end])
        if isinstance(value, dict) and ANSWER_KEYS & value.keys():
            if text[:start].rstrip().endswith("["):
                raise AnswerError("the model's answer is a JSON list, not an object")
            if value not in found:
                found.append(value)
        elif value is _NOT_JSON and any(f'"{key}"' in text[start:end] for key in ANSWER_KEYS):
            raise AnswerError("the model's answer is not valid JSON")
        start = text.find("{", end)
    if not found:
        raise AnswerError("the model's answer is prose, without a JSON object that has the wanted fields")
    if len(found) > 1:
        raise AnswerError("the model's answer holds several different JSON objects")
    return found[0]


def _closing(text: str, start: int) -> int | None:
    """Return the index after the bracket that closes the one at ``start``, or None if it stays open."""
    depth = 0
    in_string = escaped = False
    for index in range(start, len(text)):
        char = text[index]
        if in_string:
            in_string = escaped or char != '"'
            escaped = char == "\\" and not escaped
        elif char == '"':
            in_string, escaped = True, False
        elif char in "{[":
            depth += 1
        elif char in "}]":
            depth -= 1
            if depth == 0:
                return index + 1
    return None


_NOT_JSON = object()


def _parse(text: str) -> Any:
    for candidate in (text, _without_trailing_commas(text)):
        try:
            # strict=False: a raw newline inside a string can only mean itself.
            return json.loads(candidate, strict=False, parse_constant=_refuse, object_pairs_hook=_without_repeats)
        except (ValueError, RecursionError):
            continue
    return _NOT_JSON


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) != len(pairs):
        raise ValueError("a key stands twice")
    return table


_STRING_OR_TRAILING_COMMA = re.compile(r'"(?:[^"\\]|\\.)*"|,(?=\s*[}\]])', re.DOTALL)


def _without_trailing_commas(text: str) -> str:
    return _STRING_OR_TRAILING_COMMA.sub(lambda match: "" if match.group() == "," else match.group(), text)


def _answer_of(value: Mapping[str, Any]) -> ExtractionAnswer:
    summary = _text(value, "rollout_summary")
    slug = _text(value, "rollout_slug")
    proposed = value.get("tasks")
    if proposed is None:
        proposed = []
    if not isinstance(proposed, list):
        raise AnswerError(f"the model's answer has a {_kind_name(proposed)} where tasks should be a list")
    misshapen: list[str] = []
    tasks = tuple(task for task in (_task(item, misshapen) for item in proposed) if task.title or task.entries)
    if misshapen and not any(task.entries for task in tasks):
        # Dropping everything would turn an answer that can't be read into "nothing worth keeping".
        raise AnswerError(f"the model's answer has no {misshapen[0]} of the wanted shape")
    if not summary and not tasks:
        slug = ""  # a name for nothing is nothing
    return ExtractionAnswer(rollout_summary=summary, rollout_slug=slug, tasks=tasks)


def _text(table: Mapping[str, Any], key: str) -> str:
    value = table.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise AnswerError(f"the model's answer has a {_kind_name(value)} where {key} should be a string")
    return without_surrogates(value).replace("\0", "").strip()


_NO_TASK = TaskDraft(title="", outcome=TaskOutcome.UNCERTAIN.value, entries=())


def _task(value: Any, misshapen: list[str]) -> TaskDraft:
    entries = value.get("entries", ()) if isinstance(value, dict) else None
    if not isinstance(entries, list | tuple | None) or not isinstance(value, dict):
        misshapen.append("task")
        return _NO_TASK
    try:
        title = _text(value, "title")
        outcome = _text(value, "outcome").lower() or TaskOutcome.UNCERTAIN.value
    except AnswerError:
        misshapen.append("task")
        return _NO_TASK
    drafts = (_entry(item, misshapen) for item in entries or ())
    return TaskDraft(title=title, outcome=outcome, entries=tuple(draft for draft in drafts if draft is not None))


def _entry(value: Any, misshapen: list[str]) -> EntryDraft | None:
    """Return one entry; None for a blank one, and for a misshapen one, which is noted."""
    evidence = _row_numbers(value.get("evidence")) if isinstance(value, dict) else None
    if evidence is None:
        misshapen.append("entry")
        return None
    try:
        draft = EntryDraft(
            kind=_text(value, "kind").lower(),
            scope=_text(value, "scope").lower(),
            condition=_text(value, "condition"),
            statement=_text(value, "statement"),
            evidence=evidence,
        )
    except AnswerError:
        misshapen.append("entry")
        return None
    return draft if draft.statement else None


def _row_numbers(value: Any) -> tuple[int, ...] | None:
    """Return row numbers, also where they were written as ``3.0``, ``"3"`` or a bare ``3``; None if one is none."""
    if value is None:
        return ()
    numbers: list[int] = []
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, bool):
            return None
        if isinstance(item, int):
            numbers.append(item)
        elif (isinstance(item, float) and item.is_integer()) or (isinstance(item, str) and _ROW_NUMBER.match(item)):
            numbers.append(int(item))
        else:
            return None
    return tuple(dict.fromkeys(numbers))


_KIND_NAMES: Mapping[type, str] = {
    dict: "object",
    list: "list",
    str: "string",
    bool: "truth value",
    int: "number",
    float: "number",
    type(None): "null",
}


def _kind_name(value: Any) -> str:
    return _KIND_NAMES.get(type(value), "value")
