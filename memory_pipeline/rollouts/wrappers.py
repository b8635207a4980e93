"""How a harness tells its own words from a person's: whole blocks between tags, and marks on a record."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

#: A tag whose name is made of several words, in lower case, as programs name the blocks that they put in. Markup that
#: a person pastes has names of one word, as a rule, or shows by what stands in it that it is some: what it is not to be
#: is a rule that a harness put in under a name that nobody knows yet. Those of one word are Codex's.
_OPENING = re.compile(
    r"<(?P<name>[a-z][a-z0-9]*(?:[_\-][a-z0-9]+)+|[a-z]+(?: [a-z]+)+|skills?|memories|INSTRUCTIONS)(?:\s[^<>]*)?>"
)
# A component of a page, as against prose between tags: it has attributes, or elements of HTML inside.
_ATTRIBUTE = re.compile(r"\s[:@#*\w\[(][\w:.\-\])]*\s*=")
_ELEMENT = re.compile(
    r"<(?:a|b|br|button|canvas|div|em|footer|form|h[1-6]|header|hr|i|iframe|img|input|label|li|link|main|nav|ol|option|p|"
    r"script|section|select|slot|small|span|strong|style|svg|table|tbody|td|template|textarea|th|thead|tr|ul)\b[^<>]*>"
)
#: What a memory tool puts before or behind a prompt stands between tags with such a name.
_INJECTED = re.compile(r"<([\w\-]{0,40}memor[\w\-]{0,40})(?:\s[^<>]{0,400})?>", re.IGNORECASE)
_INJECTED_END = re.compile(r"</([\w\-]{0,40}memor[\w\-]{0,40})>\Z", re.IGNORECASE)
_LOOKED_AT = 1 << 16
_UNSET = ("", "0", "false", "null")


def is_wrapped_whole(text: str, *, known: re.Pattern[str] | None = None) -> bool:
    """Whether a text is nothing but blocks between tags that no person types, whatever their names are.

    Markup that a person pastes is none, unless its tag is among those ``known`` to be the harness's.
    """
    rest = text.strip()
    while opening := _OPENING.match(rest):
        if _is_markup(rest, opening) and not (known is not None and known.match(rest)):
            return False
        closing = f"</{opening['name']}>"
        if rest.endswith(closing):
            return True
        found = rest.find(closing, opening.end())
        if found < 0:
            return False
        rest = rest[found + len(closing) :].lstrip()
    return False


def _is_markup(text: str, opening: re.Match[str]) -> bool:
    if "-" not in opening["name"]:
        return False  # a component's name has a hyphen
    inner = text[opening.end() : opening.end() + _LOOKED_AT].strip()
    is_empty = inner.startswith(f"</{opening['name']}>")
    return is_empty or bool(_ATTRIBUTE.search(opening.group()) or _ELEMENT.search(inner))


def is_cut_block(text: str, opening: re.Match[str]) -> bool:
    """Whether a text begins with a tag that stands alone on its line, and its block was cut off before the end."""
    return text.startswith("\n", opening.end()) and f"</{opening.group(1)}>" not in text


def without_injected(text: str) -> str:
    """Take the blocks of a memory tool off a prompt's beginning and end: echoes. One inside a prompt was typed."""
    if "memor" not in text.lower():
        return text
    while opening := _INJECTED.match(text.lstrip()):
        end = text.find(f"</{opening.group(1)}>")
        if end < 0:
            break
        text = text[text.index(">", end) + 1 :].lstrip()
    while closing := _INJECTED_END.search(text.rstrip()[-90:]):
        start = text.rfind(f"<{closing.group(1)}")
        if start < 0:
            break
        text = text[:start].rstrip()
    return text


def is_set(record: Mapping[str, Any], mark: str) -> bool:
    """Whether a record bears a mark, however the program that wrote it spells "yes"."""
    value = record.get(mark)
    return value.strip().lower() not in _UNSET if isinstance(value, str) else bool(value)
