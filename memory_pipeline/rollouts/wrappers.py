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


def is_set(record: Mapping[str, Any], mark: str) -> bool:
    """Whether a record bears a mark, however the program that wrote it spells "yes"."""
    value = record.get(mark)
    return value.strip().lower() not in _UNSET if isinstance(value, str) else bool(value)
