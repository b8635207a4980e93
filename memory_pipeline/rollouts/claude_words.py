"""Whose words a ``user`` line of Claude Code holds: a person's, or those that the program put under that type."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum
from typing import Any

from msgspec import Struct

from memory_pipeline.rollouts.grammar import image_marker, table
from memory_pipeline.rollouts.wrappers import is_cut_block, is_set, is_wrapped_whole, without_injected

_SHELL = re.compile(r"<bash-input>(.*)</bash-input>", re.DOTALL)
_SHELL_OUTPUT = re.compile(r"(?:<bash-stdout>(.*?)</bash-stdout>)?\s*(?:<bash-stderr>(.*?)</bash-stderr>)?", re.DOTALL)
_MEMORY_NOTE = re.compile(r"<user-memory-input>(.*)</user-memory-input>", re.DOTALL)
_REPORT = re.compile(r"<(task-notification|agent-notification|teammate-message)\b[^>]*>.*</\1>", re.DOTALL)
_REPORT_BODY = re.compile(r"<result>(.*)</result>", re.DOTALL)
# What the program itself records under type user, whatever the line's marks say.
_PROGRAM = re.compile(
    r"<(?:command-name|command-message|command-args|local-command-stdout|local-command-stderr|local-command-caveat)>"
)
# What says of a line that the program wrote it; and what only lines bear that came out of a tool or of another agent.
_PROGRAM_MARKS = ("isMeta", "isCompactSummary", "isVisibleInTranscriptOnly", "isSynthetic")
_TOOL_MARKS = ("sourceToolUseID", "sourceToolAssistantUUID", "agentId", "isApiErrorMessage")
_HARNESS = re.compile(
    r"<(system-reminder|session-start-hook|user-prompt-submit-hook|post-tool-use-hook|pre-tool-use-hook|"
    r"ide_opened_file|ide_selection|ide_diagnostics|new-diagnostics|mcp-resource-update|mcp-polling-update|"
    r"tools-used-before-summary|channel|tick|task-notification|agent-notification|teammate-message)\b[^>]*>"
)
_HARNESS_SAYS = (
    "Caveat: The messages below ",
    "This session is being continued from a previous conversation",
    "Stop hook feedback:",
    "Base directory for this skill:",
    "[SYSTEM NOTIFICATION",
)
_INTERRUPTED = re.compile(r"\[Request interrupted by user[^\]]*\]")
_REMINDER_AROUND = re.compile(
    r"^(?:\s*<system-reminder>(?:(?!</system-reminder>).)*</system-reminder>\s*)+|"
    r"(?:\n\s*<system-reminder>(?:(?!</system-reminder>).)*</system-reminder>\s*)+$",
    re.DOTALL,
)
COMPACT_SUMMARY = "This session is being continued from a previous conversation"


class Said(Enum):
    """What a user line is."""

    PROMPT = "prompt"
    SHELL = "shell"
    SHELL_OUTPUT = "shell_output"
    INTERRUPTED = "interrupted"
    REPORT = "report"
    CONTEXT = "context"
    NOTHING = "nothing"


class UserLine(Struct, frozen=True, kw_only=True):
    """A user line without tool results, judged."""

    said: Said
    text: str = ""


def read_user_line(record: Mapping[str, Any]) -> UserLine:
    """Tell a person's words from the program's: by the line's own marks where there are any, else by its wrappers."""
    blocks = _blocks(table(record.get("message")).get("content"))
    whole = "\n".join(text for text in blocks if text).strip()
    if not whole:
        return UserLine(said=Said.NOTHING)
    if is_the_programs(record) or _PROGRAM.match(whole):
        return UserLine(said=Said.CONTEXT, text=whole)
    if command := _SHELL.fullmatch(whole):
        return UserLine(said=Said.SHELL, text=command.group(1).strip())
    if whole.startswith(("<bash-stdout>", "<bash-stderr>")) and (output := _SHELL_OUTPUT.fullmatch(whole)):
        return UserLine(said=Said.SHELL_OUTPUT, text="\n".join(part for part in output.groups() if part))
    if _INTERRUPTED.fullmatch(whole):
        return UserLine(said=Said.INTERRUPTED, text=whole)
    if _REPORT.fullmatch(whole):
        body = _REPORT_BODY.search(whole)
        return UserLine(said=Said.REPORT, text=(body.group(1) if body else whole).strip())
    if record.get("promptSource") in ("typed", "sdk"):
        return _spoken(whole, whole)
    return _by_wrappers(record, blocks, whole)


def is_the_programs(record: Mapping[str, Any]) -> bool:
    """Whether a line says of itself that no person typed it: by a mark, or by another role in the message."""
    role = table(record.get("message")).get("role")
    return role not in (None, "user") or any(is_set(record, mark) for mark in _PROGRAM_MARKS)


def origin_of(record: Mapping[str, Any]) -> Any:
    """Give where a prompt came from, None when the record doesn't say; ``human`` is a person."""
    origin = record.get("origin")
    return origin["kind"] if isinstance(origin, dict) and "kind" in origin else origin or None


def _by_wrappers(record: Mapping[str, Any], blocks: list[str], whole: str) -> UserLine:
    if record.get("toolUseResult") not in (None, "") or any(is_set(record, mark) for mark in _TOOL_MARKS):
        return UserLine(said=Said.CONTEXT, text=whole)
    if record.get("promptSource") is not None or origin_of(record) not in (None, "human"):
        return UserLine(said=Said.CONTEXT, text=whole)
    if note := _MEMORY_NOTE.fullmatch(whole):
        return UserLine(said=Said.PROMPT, text=note.group(1).strip())
    spoken = [_REMINDER_AROUND.sub("", text).strip() for text in blocks if not _is_harness_text(text.strip())]
    text = "\n".join(part for part in spoken if part)
    if _INTERRUPTED.fullmatch(text):
        return UserLine(said=Said.INTERRUPTED, text=text)
    return _spoken(text, whole)


def _spoken(text: str, whole: str) -> UserLine:
    """Give a person's words without what a memory tool put around them; where none are left the line is context."""
    said = without_injected(text)
    return UserLine(said=Said.PROMPT, text=said) if said.strip() else UserLine(said=Said.CONTEXT, text=whole)


def _is_harness_text(whole: str) -> bool:
    if whole.startswith(_HARNESS_SAYS) or is_wrapped_whole(whole, known=_HARNESS):
        return True
    opening = _HARNESS.match(whole)
    return opening is not None and (whole.endswith(f"</{opening.group(1)}>") or is_cut_block(whole, opening))


def _blocks(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content]
    texts = []
    for block in content if isinstance(content, list) else []:
        kind = table(block).get("type")
        if kind == "image":
            texts.append(image_marker(block.get("source")))
        elif kind in (None, "text") and isinstance(table(block).get("text"), str):
            texts.append(block["text"])
    return texts
