"""Changing one place of a JSON text, and leaving every other byte of it as it is.

What is put in follows the last of its neighbours, in their style; into something empty it goes on one line, and what is
made around it there has blanks inside its brackets. So what a text was like before can be told from what it is now.
"""

from __future__ import annotations

import json
import re
from typing import Any

from msgspec import Struct

_BLANK = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()
_UNIT = "  "


class Node(Struct, frozen=True, kw_only=True):
    """One value of a JSON text and where it stands; within an object, also under which key."""

    start: int
    end: int  # exclusive
    value: Any  # of a string, number or word; None of an object or array
    children: tuple[Node, ...] = ()
    kind: str = ""  # "{", "[" or "" of what has no children
    key: str | None = None
    outer_start: int = 0  # of its key, where it has one

    def child(self, key: str) -> Node | None:
        """Return the value of a key, or None."""
        return next((child for child in self.children if child.key == key), None)

    def has_twice(self, key: str) -> bool:
        """Whether the key is written more than once, so that it can't be told which one counts."""
        return sum(child.key == key for child in self.children) > 1


def read_nodes(text: str) -> Node:
    """Return the whole of a JSON text.

    Raises:
        ValueError: it is no JSON.
        RecursionError: it is nested too deeply.
    """
    json.loads(text)  # what follows only looks where things stand
    return _node_at(text, _skip_blank(text, 0))


def append(text: str, container: Node, value: Any, *, key: str | None = None, made_around: int = 0) -> str:
    """Put a value behind the last one of an object or array; ``key`` is needed for an object.

    ``made_around`` says how many of its outer objects and arrays are only there to hold what matters.
    """
    name = "" if key is None else f"{json.dumps(key)}: "
    if not container.children:
        at = container.start + 1
        return f"{text[:at]}{name}{_on_one_line(value, made_around)}{text[at:]}"
    at = container.children[-1].end
    indent = _indent_of(text, container)
    if indent is None:
        return f"{text[:at]}, {name}{_on_one_line(value, made_around)}{text[at:]}"
    line_end = "\r\n" if "\r\n" in text else "\n"
    written = json.dumps(value, ensure_ascii=False, indent=_unit_of(text)).replace("\n", f"{line_end}{indent}")
    return f"{text[:at]},{line_end}{indent}{name}{written}{text[at:]}"


def without(text: str, container: Node, child: Node) -> str:
    """Take a value out of an object or array, with the comma that it needed."""
    number = container.children.index(child)
    if number > 0:
        return text[: container.children[number - 1].end] + text[child.end :]
    if len(container.children) > 1:
        return text[: child.outer_start] + text[container.children[1].outer_start :]
    return text[: container.start + 1] + text[child.end :]


def replaced(text: str, node: Node, value: Any) -> str:
    """Put another value in the place of one."""
    return text[: node.start] + json.dumps(value, ensure_ascii=False) + text[node.end :]


def _on_one_line(value: Any, made_around: int) -> str:
    if made_around and isinstance(value, dict):
        inner = (f"{json.dumps(key)}: {_on_one_line(one, made_around - 1)}" for key, one in value.items())
        return f"{{ {', '.join(inner)} }}"
    if made_around and isinstance(value, list):
        return f"[ {', '.join(_on_one_line(one, made_around - 1) for one in value)} ]"
    return json.dumps(value, ensure_ascii=False)


def _indent_of(text: str, container: Node) -> str | None:
    """Return what stands before each value of a container on its line, None where they share the container's line."""
    first = container.children[0]
    line_end, _, indent = text[container.start : first.outer_start].rpartition("\n")
    return indent if line_end and not indent.strip() else None


def _unit_of(text: str) -> str:
    found = re.search(r"\n([ \t]+)\S", text)
    return found.group(1) if found else _UNIT


def _skip_blank(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at


def _node_at(text: str, start: int, *, key: str | None = None, outer_start: int | None = None) -> Node:
    outer = start if outer_start is None else outer_start
    opening = text[start]
    if opening in "{[":
        children, end = _children_at(text, start)
        return Node(start=start, end=end, value=None, children=children, kind=opening, key=key, outer_start=outer)
    value, end = _DECODER.raw_decode(text, start)
    return Node(start=start, end=end, value=value, key=key, outer_start=outer)


def _children_at(text: str, start: int) -> tuple[tuple[Node, ...], int]:
    is_object = text[start] == "{"
    children: list[Node] = []
    at = _skip_blank(text, start + 1)
    while text[at] not in "}]":
        key, outer = None, at
        if is_object:
            key, at = _DECODER.raw_decode(text, at)
            at = _skip_blank(text, _skip_blank(text, at) + 1)
        child = _node_at(text, at, key=key, outer_start=outer)
        children.append(child)
        at = _skip_blank(text, child.end)
        if text[at] == ",":
            at = _skip_blank(text, at + 1)
    return tuple(children), at + 1
