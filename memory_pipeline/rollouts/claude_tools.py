"""Tool calls of Claude Code and what came of them: commands, files, exit codes, refusals, answers, reports."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from memory_pipeline.records import ToolStatus
from memory_pipeline.rollouts.grammar import image_marker, table
from memory_pipeline.rollouts.own_server import is_own_server

QUESTION_TOOLS = frozenset({"AskUserQuestion"})
AGENT_TOOLS = frozenset({"Task", "Agent", "dispatch_agent"})
_SHELLS = frozenset({"Bash", "PowerShell"})
_WRITES = frozenset({"Edit", "MultiEdit", "Write", "NotebookEdit", "Replace", "str_replace_editor"})
_WEB_TOOLS = frozenset({"WebSearch", "WebFetch", "web_search", "web_fetch"})
_REMINDER = re.compile(r"\n*<system-reminder>.*?</system-reminder>\n*", re.DOTALL)
_TOOL_ERROR = re.compile(r"<tool_use_error>(.*)</tool_use_error>", re.DOTALL)
_EXIT_CODE = re.compile(r"(?:Error: )?Exit code (-?\d+)(?:\n|$)")
# Only at the very beginning: a tool may print these words too, and then nobody denied anything.
_DENIED = re.compile(
    r"(?:Error: )?(?:"
    r"The user doesn't want to (?:proceed with this tool use|take this action right now)|"
    r"Claude requested permissions? to [^\n]{0,500}?you haven't granted it yet|"
    r"Permission to use [^\n]{0,200}? has been (?:auto-)?denied|"
    r"This command requires approval|(?:The )?[Uu]ser rejected|"
    r"(?!Exit code)[^\n]{0,200}?(?:has been denied by|denied by (?:a )?hook|\bhook (?:blocking error|denied))|"
    r"(?!Exit code)[^\n]{0,300}?was blocked\. For security)"
)
_INTERRUPTED = re.compile(r"\[Request interrupted by user|^(?:Interrupted by user|The user interrupted)")
# "To tell you how to proceed, the user said:", "The user provided the following reason for the rejection:".
_SAID_WITH_DENIAL = re.compile(r"the user (?:said|provided the following reason[^:\n]{0,60}):\s*(.+)", re.DOTALL)
_DENIAL_TAIL = re.compile(r"\n\n(?:Note: |If this tool call|STOP what you are doing).*", re.DOTALL)
_HAND_BACK = re.compile(r".*?\[Subagent hand-back\].*?The report follows:\n", re.DOTALL)
_AGENT_TAIL = re.compile(r"\n?^(?:agentId: |<usage>).*", re.DOTALL | re.MULTILINE)
_ASYNC_LAUNCH = "Async agent launched"
_RUNNING = re.compile(r"running in (?:the )?background with ID: ([\w\-]{1,80})")
_HEAD_CHARS = 400
_ANSWERED = re.compile(r'"((?:[^"\\]|\\.)*)"="((?:[^"\\]|\\.)*)"')


class Result(Struct, frozen=True, kw_only=True):
    """A tool result taken apart. ``said`` holds a person's own words in it, "" when there are none."""

    text: str
    status: ToolStatus
    exit_code: int | None = None
    said: str = ""


def command_of(tool: str, given: Mapping[str, Any]) -> str | None:
    """Give the shell command line of a call, None when it runs none."""
    command = given.get("command")
    return command if tool in _SHELLS and isinstance(command, str) else None


def paths_of(tool: str, given: Mapping[str, Any]) -> tuple[str, ...]:
    """List the files that a call writes or edits."""
    if tool not in _WRITES:
        return ()
    written = (given.get(name) for name in ("file_path", "notebook_path", "path"))
    return tuple(path for path in written if isinstance(path, str) and path)


def is_external(tool: str) -> bool:
    """Whether a tool brings words from outside the machine: web search and fetch, and every MCP tool but our own."""
    return tool in _WEB_TOOLS or ("mcp" in tool.lower() and not is_own_server(tool))


def full_name(tool: str, given: Any) -> str:
    """Return the name of a tool with our own server's in it, where a tool of the program's reads from that.

    What the tool was ``given`` may not be decoded yet.
    """
    if "mcp" not in tool.lower():
        return tool
    decoded = msgspec.json.decode(given) if isinstance(given, msgspec.Raw) else given
    server = table(decoded).get("server")
    return f"mcp__{server}__{tool}" if is_own_server(server) else tool


def session_of(given: Mapping[str, Any]) -> str | None:
    """Give the id of the running command that a call reads or stops, None for any other call."""
    written = (given.get(name) for name in ("bash_id", "shell_id", "task_id"))
    return next((value for value in written if isinstance(value, str) and value), None)


def started_session(text: str, record: Mapping[str, Any]) -> str | None:
    """Give the id of the command that a result leaves running, None when it ended."""
    told = table(record.get("toolUseResult")).get("backgroundTaskId")
    running = None if isinstance(told, str) else _RUNNING.search(text[:_HEAD_CHARS])
    return running.group(1) if running else told if isinstance(told, str) else None


def call_text(tool: str, given: Mapping[str, Any]) -> str:
    """Say what a call does: the command, the questions, else its input as JSON."""
    command = command_of(tool, given)
    if command is not None:
        return command
    if tool in QUESTION_TOOLS and isinstance(given.get("questions"), list):
        return "\n".join(str(table(question).get("question") or "") for question in given["questions"])
    return json.dumps(given, ensure_ascii=False) if given else ""


def result_text(content: Any) -> str:
    """Join a tool result's blocks: text, and a marker with the size for an image."""
    if isinstance(content, str):
        return content
    parts = []
    for block in content if isinstance(content, list) else []:
        kind = table(block).get("type")
        if kind == "image":
            parts.append(image_marker(block.get("source")))
        elif kind == "web_search_result":
            parts.append(f"{block.get('title') or ''} {block.get('url') or ''}".strip())
        elif isinstance(table(block).get("text"), str):
            parts.append(block["text"])
    return "\n".join(parts)


def read_result(block: Mapping[str, Any], record: Mapping[str, Any], *, external: bool = False) -> Result:
    """Read a tool_result block; ``record`` is the line it stands on, whose siblings tell more.

    What a tool from outside answers is never taken for the words with which a person refused it, unless the line
    itself says that it was refused.
    """
    text = result_text(block.get("content"))
    if "<system-reminder>" in text:
        text = _REMINDER.sub("\n", text)
    text = text.strip("\n")
    beside = table(record.get("toolUseResult"))
    failed = block.get("is_error") is True
    is_marked = bool(record.get("toolDenialKind"))
    if is_marked or (failed and not external and _DENIED.match(text)):
        said = _SAID_WITH_DENIAL.search(text)
        words = _DENIAL_TAIL.sub("", said.group(1)).strip() if said else ""
        return Result(text=text, status=ToolStatus.DENIED, said=words)
    if beside.get("interrupted") is True or (failed and _INTERRUPTED.search(text)):
        return Result(text=text, status=ToolStatus.INTERRUPTED)
    if failed:
        code = _EXIT_CODE.match(text)
        wrapped = _TOOL_ERROR.fullmatch(text.strip())
        return Result(
            text=text[code.end() :] if code else wrapped.group(1) if wrapped else text,
            status=ToolStatus.FAILED,
            exit_code=int(code.group(1)) if code else None,
        )
    return Result(text=text, status=ToolStatus.OK)


def read_answers(text: str, record: Mapping[str, Any]) -> str | None:
    """Read what a person answered to the agent's questions, one answer a line, None when there is none."""
    beside = table(record.get("toolUseResult"))
    answers = [answer for answer in table(beside.get("answers")).values() if isinstance(answer, str)]
    notes = [table(note).get("notes") for note in table(beside.get("annotations")).values()]
    answers += [note for note in notes if isinstance(note, str)]
    if not answers:
        answers = [match.group(2) for match in _ANSWERED.finditer(text)]
    return "\n".join(answer.strip() for answer in answers if answer.strip()) or None


def read_report(text: str) -> str | None:
    """Take a sub-agent's report out of what the harness puts around it. A mere launch is none."""
    if text.startswith(_ASYNC_LAUNCH):
        return None
    framed = _HAND_BACK.match(text)
    report = text[framed.end() :] if framed else text
    report = _AGENT_TAIL.sub("", report)
    if framed:
        report = "\n".join(line.removeprefix("  ") for line in report.split("\n"))
    return report.strip() or None
