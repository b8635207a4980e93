"""Claude Code: a SessionStart hook in its settings.json, all other bytes of which stay as they are."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from memory_pipeline.errors import HookError
from memory_pipeline.hooks.json_text import Node, append, read_nodes, replaced, without

FILE = "settings.json"
EVENT = "SessionStart"
#: Claude Code cuts the hook off after so many seconds.
TIMEOUT_SECONDS = 2
_BOM = "\ufeff"
_OPERATORS = "();<>|&"


def install(content: bytes | None, command: str, *, place: str) -> bytes:
    """Return the settings with the hook in them; with the very same hook in them they are returned as they are.

    A hook of ours with another command is given this one. ``place`` names the file in messages.

    Raises:
        HookError: they can't be changed safely.
    """
    if content is None:
        return (json.dumps({"hooks": {EVENT: [_group(command)]}}, ensure_ascii=False, indent=2) + "\n").encode()
    bom, text = _text_of(content, place)
    root = _root_of(text, place)
    known = next(_own_commands(root), None)
    if known is not None:
        text = text if known.value == command else replaced(text, known, command)
    else:
        text = _added(text, root, command, place)
    return (bom + text).encode()


def uninstall(content: bytes, *, place: str) -> bytes | None:
    """Return the settings without our hook; None where there were none before. All else stays as it is.

    Raises:
        HookError: they can't be changed safely.
    """
    bom, text = _text_of(content, place)
    while (known := next(_own_commands(_root_of(text, place)), None)) is not None:
        earlier = _before_install(bom, text, known.value, place)
        if earlier is None:
            return None
        text = earlier
    return (bom + text).encode()


def command_in(content: bytes, *, place: str) -> str | None:
    """Return the command of our hook, None where there is none.

    Raises:
        HookError: the settings are no JSON.
    """
    _, text = _text_of(content, place)
    known = next(_own_commands(_root_of(text, place)), None)
    return None if known is None else str(known.value)


def are_hooks_off(content: bytes, *, place: str) -> bool:
    """Whether the settings switch off all hooks.

    Raises:
        HookError: the settings are no JSON.
    """
    _, text = _text_of(content, place)
    switch = _root_of(text, place).child("disableAllHooks")
    return switch is not None and switch.value is True


def _group(command: str) -> Mapping[str, Any]:
    return {"hooks": [{"type": "command", "command": command, "timeout": TIMEOUT_SECONDS}]}


def _text_of(content: bytes, place: str) -> tuple[str, str]:
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise HookError(f"{place}: is not UTF-8 text (byte {error.start}); it is left as it is") from error
    return (_BOM, text[1:]) if text.startswith(_BOM) else ("", text)


def _root_of(text: str, place: str) -> Node:
    try:
        root = read_nodes(text)
    except ValueError as error:
        raise HookError(f"{place}: is no JSON ({error}); mend it first, it is left as it is") from error
    except RecursionError as error:
        raise HookError(f"{place}: is nested too deeply; it is left as it is") from error
    if root.kind != "{":
        raise HookError(f"{place}: is no JSON object; it is left as it is")
    hooks = root.child("hooks")
    if root.has_twice("hooks") or (hooks is not None and hooks.has_twice(EVENT)):
        raise HookError(f"{place}: holds a key twice, so it can't be told which one counts; it is left as it is")
    return root


def _added(text: str, root: Node, command: str, place: str) -> str:
    hooks = root.child("hooks")
    if hooks is None:
        return append(text, root, {EVENT: [_group(command)]}, key="hooks", made_around=2)
    if hooks.kind != "{":
        raise HookError(f"{place}: `hooks` is no JSON object; it is left as it is")
    groups = hooks.child(EVENT)
    if groups is None:
        return append(text, hooks, [_group(command)], key=EVENT, made_around=1)
    if groups.kind != "[":
        raise HookError(f"{place}: `hooks.{EVENT}` is no JSON array; it is left as it is")
    return append(text, groups, _group(command))


def _own_commands(root: Node) -> Iterator[Node]:
    """Yield the commands of hooks of ours, in their order."""
    hooks = root.child("hooks")
    groups = hooks.child(EVENT) if hooks is not None else None
    for group in groups.children if groups is not None else ():
        inner = group.child("hooks")
        for hook in inner.children if inner is not None else ():
            command = hook.child("command")
            if command is not None and isinstance(command.value, str) and is_own_command(command.value):
                yield command


def is_own_command(command: str) -> bool:
    """Whether a command line calls this program for a hook, wherever the program lies, and does nothing else."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.commenters = ""
    lexer.whitespace_split = True
    try:
        words = list(lexer)
    except ValueError:
        return False
    if any(word and not word.strip(_OPERATORS) for word in words):
        return False  # a line of the person's own that calls us among other things
    is_ours = any(
        word.replace("\\", "/").rsplit("/", 1)[-1] in ("memory-pipeline", "memory_pipeline") for word in words
    )
    return is_ours and "context" in words and "claude-hook" in words


def _before_install(bom: str, text: str, command: str, place: str) -> str | None:
    """Return the settings as they were before our hook was put in, None for no file.

    Where they changed since, what is ours goes, and with it what would be left empty.
    """
    smallest, *larger = _ways_to_take_out(text, place)
    for earlier in (smallest, *larger):
        if install((bom + earlier).encode(), command, place=place) == (bom + text).encode():
            return earlier
    if install(None, command, place=place) == (bom + text).encode():
        return None
    return (smallest, *larger)[-1]


def _ways_to_take_out(text: str, place: str) -> list[str]:
    """Return the settings without our hook, then also without each thing around it that is left empty."""
    root = _root_of(text, place)
    hooks = root.child("hooks")
    groups = hooks.child(EVENT) if hooks is not None else None
    known = next(_own_commands(root))
    if hooks is None or groups is None:
        return [text]
    group = next(one for one in groups.children if one.start <= known.start < one.end)
    inner = group.child("hooks")
    if inner is None or len(inner.children) > 1:
        hook = next(one for one in inner.children if one.start <= known.start < one.end) if inner is not None else group
        return [without(text, inner or groups, hook)]
    ways = [without(text, groups, group)]
    if len(groups.children) == 1:
        ways.append(without(text, hooks, groups))
        if len(hooks.children) == 1:
            ways.append(without(text, root, hooks))
    return ways
