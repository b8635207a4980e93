"""Whose words a ``role: user`` message of Codex holds: a person's, or those that the harness put under that role."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from memory_pipeline.rollouts.grammar import image_marker, table
from memory_pipeline.rollouts.wrappers import is_cut_block, is_wrapped_whole, without_injected

_SHELL_COMMAND = re.compile(
    r"<user_shell_command>\s*<command>\n?(.*?)\n?</command>\s*(?:<result>\n?(.*?)\n?</result>)?\s*</user_shell_command>",
    re.DOTALL,
)
_CONTEXT = re.compile(
    r"<(environment_context|user_instructions|skill|skills|apps_instructions|skills_instructions|"
    r"plugins_instructions|permissions instructions|collaboration_mode|personality_spec|model_switch|"
    r"hook_prompt|memories|goal_context|turn_context|realtime_conversation|ide_context)\b[^>]*>"
)
_OTHER_AGENT = re.compile(r"<(subagent_notification|user_action|inter_agent_message)\b[^>]*>.*</\1>", re.DOTALL)
_ABORTED = re.compile(r"<turn_aborted>.*</turn_aborted>", re.DOTALL)
_AGENTS_MD = re.compile(r"# AGENTS\.md instructions\b(?: for (?:[/~\\]|\w:|file:)|[^\n]*\s+<INSTRUCTIONS>)")
_AGENTS_MD_END = "</INSTRUCTIONS>"
_IMAGE_TAG = re.compile(r"</?image\b[^>]*>")
#: How the editors' extension wraps a request, as far as it is known.
_EDITOR_CONTEXT = "# Context from my IDE setup:"
_EDITOR_REQUEST = "## My request for Codex:"
_COMPARED_CHARS = 1 << 16
_HARNESS_SAYS = (
    "Warning: apply_patch was requested via ",
    "Warning: The maximum number of unified exec processes",
    "Another language model started to solve this problem and produced a summary",
)


class UserMessage(Struct, frozen=True, kw_only=True):
    """A ``role: user`` message taken apart. Each part is "" when there is none of it."""

    spoken: str = ""  # by a person, unless ``sure`` is false and later lines say otherwise
    context: str = ""  # put in by the harness
    reports: str = ""  # of another agent
    aborted: bool = False
    shell: tuple[str, str] | None = None  # the person's own command, and its output
    sure: bool = False  # the log itself marks the spoken part as typed
    wrapped: bool = False  # all of the spoken part stands between tags that no person types


def read_user_message(payload: Mapping[str, Any]) -> UserMessage:
    """Tell a person's words from the harness's, by the log's own marks where there are any, else by the wrappers."""
    kinds = table(payload.get("internal_chat_message_metadata_passthrough")).get("content_item_kinds")
    blocks = payload.get("content")
    blocks = blocks if isinstance(blocks, list) else [blocks]
    spoken: list[str] = []
    wrapped: list[str] = []
    context: list[str] = []
    reports: list[str] = []
    aborted, shell, sure = False, None, False
    for position, block in enumerate(blocks):
        text = _block_text(block)
        kind = _kind_at(position, kinds, len(blocks))
        whole = text.strip()
        if not whole or _IMAGE_TAG.fullmatch(whole):
            continue
        if not typed_part(text).strip():
            context.append(text)
        elif kind == "user.text":
            spoken.append(typed_part(text))
            sure = True
        elif command := _SHELL_COMMAND.fullmatch(whole):
            shell = (command.group(1), command.group(2) or "")
        elif _ABORTED.fullmatch(whole):
            aborted = True
        elif _OTHER_AGENT.fullmatch(whole):
            reports.append(text)
        elif is_harness_text(whole) or (
            kind and kind not in ("unknown", "user.image") and not kind.startswith("user.")
        ):
            context.append(text)
        elif not kind.startswith("user.") and is_wrapped_whole(whole):
            wrapped.append(text)
        else:
            spoken.append(typed_part(_without_instructions(text)))
    if spoken:
        context += wrapped
    return UserMessage(
        spoken="\n".join(spoken or wrapped),
        context="\n".join(context),
        reports="\n".join(reports),
        aborted=aborted,
        shell=shell,
        sure=sure,
        wrapped=bool(wrapped) and not spoken,
    )


def _kind_at(position: int, kinds: Any, count: int) -> str:
    """Give the log's mark of a block, "" when there is none. Marks that don't fit the blocks tell only what all say."""
    if kinds is None or kinds == []:
        return ""
    if not isinstance(kinds, list):
        return "unreadable"
    if len(kinds) == count:
        return str(kinds[position])
    only = str(kinds[0])
    return only if all(kind == only for kind in kinds) and not only.startswith("user.") else ""


def _without_instructions(text: str) -> str:
    """Take a project's instructions off the request that stands behind them in the same block."""
    return text.rpartition(_AGENTS_MD_END)[2].lstrip() if _AGENTS_MD.match(text.lstrip()) else text


def typed_part(text: str) -> str:
    """Take what stands around a person's request off it: open files, the selection, memories."""
    text = without_injected(text)
    if not text.lstrip().startswith(_EDITOR_CONTEXT):
        return text
    _, mark, request = text.partition(_EDITOR_REQUEST)
    return request.strip() if mark else text


def is_harness_text(whole: str) -> bool:
    """Whether a block is wholly one wrapper of the harness, or several, be the last one cut off or not.

    A tag inside a person's text is none.
    """
    if whole.startswith(_HARNESS_SAYS):
        return True
    if _AGENTS_MD.match(whole):
        rest = whole.rpartition(_AGENTS_MD_END)[2].strip() if _AGENTS_MD_END in whole else ""
        return not rest or is_harness_text(rest) or is_wrapped_whole(rest)
    if whole.startswith(_EDITOR_CONTEXT):
        return _EDITOR_REQUEST not in whole
    opening = _CONTEXT.match(whole)
    if opening is None:
        return False
    return is_cut_block(whole, opening) or is_wrapped_whole(whole, known=_CONTEXT)


def says_the_same(spoken: str, repeated: str) -> bool:
    """Whether an event's user message repeats a message: the same words, apart from blanks and attachments."""
    # Of long texts the beginnings tell: splitting megabytes into words would take many times as much.
    spoken, repeated = spoken[:_COMPARED_CHARS], repeated[:_COMPARED_CHARS]
    one, other = " ".join(spoken.split()), " ".join(typed_part(repeated).split())
    if not other:
        return one.startswith("[image")
    return bool(one and other) and (
        one == other or one.startswith(other) or one.endswith(other) or other.startswith(one)
    )


def _block_text(block: Any) -> str:
    if isinstance(block, str):
        return block
    kind = str(table(block).get("type"))
    if kind.endswith("image"):
        return image_marker(block.get("image_url"))
    text = table(block).get("text") if kind in ("None", "text", "input_text", "output_text") else None
    return text if isinstance(text, str) else ""
