"""How a harness tells its own words from a person's: whole blocks between tags, and marks on a record."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

#: A tag whose name is made of several words, in lower case, as programs name the blocks that they put in. Markup that
#: a person pastes has names of one word, as a rule; losing a block with such a name is the lesser evil.
#: Those of one word are Codex's.
_OPENING = re.compile(
    r"<(?P<name>[a-z][a-z0-9]*(?:[_\-][a-z0-9]+)+|[a-z]+(?: [a-z]+)+|skills?|memories|INSTRUCTIONS)(?:\s[^<>]*)?>"
)
#: What a memory tool puts before or behind a prompt stands between tags with such a name.
_INJECTED = re.compile(r"<([\w\-]{0,40}memor[\w\-]{0,40})(?:\s[^<>]{0,400})?>", re.IGNORECASE)
_INJECTED_END = re.compile(r"</([\w\-]{0,40}memor[\w\-]{0,40})>\Z", re.IGNORECASE)
_UNSET = ("", "0", "false", "null")


def is_wrapped_whole(text: str) -> bool:
    """Whether a text is nothing but blocks between tags that no person types, whatever their names are."""
    rest = text.strip()
    while opening := _OPENING.match(rest):
        closing = f"</{opening['name']}>"
        if rest.endswith(closing):
            return True
        found = rest.find(closing, opening.end())
        if found < 0:
            return False
        rest = rest[found + len(closing) :].lstrip()
    return False


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
