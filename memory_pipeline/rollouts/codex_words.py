"""Whose words a ``role: user`` message of Codex holds: a person's, or those that the harness put under that role."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from memory_pipeline.rollouts.grammar import image_marker, table

_SHELL_COMMAND = re.compile(
    r"<user_shell_command>\s*<command>\n?(.*?)\n?</command>\s*(?:<result>\n?(.*?)\n?</result>)?\s*</user_shell_command>",
    re.DOTALL,
)
_WRAPPED_WHOLE = re.compile(
    r"<(environment_context|user_instructions|skill|skills|apps_instructions|skills_instructions|"
    r"plugins_instructions|permissions instructions|collaboration_mode|personality_spec|model_switch|"
    r"hook_prompt|memories|goal_context|turn_context|realtime_conversation|ide_context)\b[^>]*>.*</\1>",
    re.DOTALL,
)
_OTHER_AGENT = re.compile(r"<(subagent_notification|user_action|inter_agent_message)\b[^>]*>.*</\1>", re.DOTALL)
_ABORTED = re.compile(r"<turn_aborted>.*</turn_aborted>", re.DOTALL)
_AGENTS_MD = re.compile(r"# AGENTS\.md instructions\b.*</INSTRUCTIONS>", re.DOTALL)
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


@dataclass(frozen=True, kw_only=True, slots=True)
class UserMessage:
    """A ``role: user`` message taken apart. Each part is "" when there is none of it."""

    spoken: str = ""  # by a person, unless ``sure`` is false and later lines say otherwise
    context: str = ""  # put in by the harness
    reports: str = ""  # of another agent
    aborted: bool = False
    shell: tuple[str, str] | None = None  # the person's own command, and its output
    sure: bool = False  # the log itself marks the spoken part as typed


def read_user_message(payload: Mapping[str, Any]) -> UserMessage:
    """Tell a person's words from the harness's, by the log's own marks where there are any, else by the wrappers."""
    kinds = table(payload.get("internal_chat_message_metadata_passthrough")).get("content_item_kinds")
    blocks = payload.get("content")
    blocks = blocks if isinstance(blocks, list) else [blocks]
    marked = isinstance(kinds, list) and len(kinds) == len(blocks)
    spoken: list[str] = []
    context: list[str] = []
    reports: list[str] = []
    aborted, shell, sure = False, None, False
    for position, block in enumerate(blocks):
        text = _block_text(block)
        kind = str(kinds[position]) if marked and isinstance(kinds, list) else ""
        whole = text.strip()
        if not whole or _IMAGE_TAG.fullmatch(whole):
            continue
        if kind == "user.text":
            spoken.append(_typed_part(text))
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
        else:
            spoken.append(_typed_part(text))
    return UserMessage(
        spoken="\n".join(spoken),
        context="\n".join(context),
        reports="\n".join(reports),
        aborted=aborted,
        shell=shell,
        sure=sure,
    )


def _typed_part(text: str) -> str:
    """Take what the editor puts before a person's request (open files, the selection) off it."""
    if not text.lstrip().startswith(_EDITOR_CONTEXT):
        return text
    _, mark, request = text.partition(_EDITOR_REQUEST)
    return request.strip() if mark else text


def is_harness_text(whole: str) -> bool:
    """Whether a block is wholly one wrapper of the harness, or several. A tag inside a person's text is not."""
    if whole.startswith(_HARNESS_SAYS) or _AGENTS_MD.fullmatch(whole) or _WRAPPED_WHOLE.fullmatch(whole):
        return True
    instructions = whole.find("</INSTRUCTIONS>") if whole.startswith("# AGENTS.md instructions") else -1
    return instructions >= 0 and bool(_WRAPPED_WHOLE.fullmatch(whole[instructions + len("</INSTRUCTIONS>") :].strip()))


def says_the_same(spoken: str, repeated: str) -> bool:
    """Whether an event's user message repeats a message: the same words, apart from blanks and attachments."""
    # Of long texts the beginnings tell: splitting megabytes into words would take many times as much.
    spoken, repeated = spoken[:_COMPARED_CHARS], repeated[:_COMPARED_CHARS]
    one, other = " ".join(spoken.split()), " ".join(_typed_part(repeated).split())
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
    text = table(block).get("text")
    return text if isinstance(text, str) else ""
