"""Tool calls of Codex and what came of them: commands, patches, exit codes, refusals.

The shapes differ by version: arguments as JSON text, patches as free text or inside a shell command, scripts that call
tools (code mode), outputs with a header of wall time and exit code, as JSON with metadata, or as a list of blocks.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import orjson
from msgspec import Struct

from memory_pipeline.records import ToolStatus
from memory_pipeline.rollouts.grammar import image_marker, is_broken_content, table
from memory_pipeline.rollouts.own_server import is_own_server

#: Tools that ask the person; what they answer is the person's word.
QUESTION_TOOLS = frozenset({"request_user_input"})  # the program's own; others that ask are tools like any other
#: Tools whose output is another agent's words.
REPORT_TOOLS = frozenset({"wait_agent", "collab_wait"})
_WEB_TOOLS = frozenset({"web_search", "web_fetch", "web_search_preview", "fetch", "browser", "web"})
_SHELLS = frozenset({"bash", "sh", "zsh", "dash", "fish", "pwsh", "powershell", "powershell.exe", "cmd", "cmd.exe"})
_SHELL_FLAGS = frozenset({"-c", "-lc", "-ic", "-command", "/c", "-cl"})

_PATCHED_FILE = re.compile(r"^\*\*\* (?:Add File|Update File|Delete File|Move to): (.+?)\s*$", re.MULTILINE)
_JS_STRING = r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|`(?:[^`\\]|\\.)*`'
_SCRIPT_COMMAND = re.compile(
    rf'tools\.(?:exec_command|shell_command|shell)\(\s*\{{[^`"\']*?\b(?:cmd|command)"?\s*:\s*({_JS_STRING})'
)
_SCRIPT_PATCH = re.compile(rf"tools\.apply_patch\(\s*(?:\{{\s*\w+\s*:\s*)?({_JS_STRING})")
_SCRIPT_WORD = re.compile(_JS_STRING)
_PLACE_CHARS = 500
_SCRIPT_EXTERNAL = re.compile(r"tools(?:\.|\[[\"'`])(?:web\w*|\w*mcp\w*|\w+__\w+)\b")

_HEADER = re.compile(
    r"(?:(?:Chunk ID: .*|Wall time:? .*|(?:Process exited with code|Exit code:) (-?\d{1,10})|"
    r"Process running with session ID .*|Original token count: \d+|Total output lines: \d+|"
    r"Script (?:completed|failed|running).*)\n)+"
)
_RUNNING_MARK = "running with session ID"
_RUNNING = re.compile(r"^Process running with session ID (\S{1,80})", re.MULTILINE)
_HEADER_CHARS = 400
_OUTPUT_MARK = "Output:\n"
_DENIED = re.compile(
    r"rejected by (?:the )?user|user (?:rejected|denied|declined)|(?:approval|permission) (?:was )?denied|"
    r"rejected by user approval settings|reject(?:ed)? command — you should not ask|approval policy is [\w-]+; reject|"
    r"blocked by policy|writing outside of the project; rejected|command (?:was )?declined",
    re.IGNORECASE,
)
#: One of these stands in each of those: looking for them takes a tenth of the time.
_DENIED_HINTS = ("reject", "denied", "declined", "blocked by policy")
_INTERRUPTED = re.compile(r"^(?:aborted by user|command aborted by user|aborted)\b", re.IGNORECASE)
_FAILED = re.compile(
    r"^(?:unsupported (?:custom tool )?call|failed to parse function arguments|apply_patch verification failed|"
    r"exec_command failed|execution error|failed in sandbox|tool call error|err: |error: |script failed)",
    re.IGNORECASE,
)
_SHORT_CHARS = 2000  # a refusal is short; longer output that mentions one is a file or a log


class Call(NamedTuple):
    """What a tool call does, as far as it can be told. A named tuple, since a log has thousands."""

    tool: str
    text: str
    command: str | None = None
    paths: tuple[str, ...] = ()
    external: bool = False
    places: tuple[str, ...] = ()  # what it names beside its text
    session: str | None = None  # the running command that it goes on with
    is_script: bool = False  # code mode: what it runs is reported under other ids


class Outcome(Struct, frozen=True, kw_only=True):
    """How a tool call ended."""

    status: ToolStatus
    exit_code: int | None = None

    def with_events(self, reported: Outcome | None) -> Outcome:
        """Join what the output says with what the log's events report; the worse of the two is believed."""
        if reported is None or (reported.status is self.status and reported.exit_code == self.exit_code):
            return self
        code = self.exit_code if self.exit_code is not None else reported.exit_code
        if self.status in (ToolStatus.UNKNOWN, ToolStatus.OK) and reported.status is not ToolStatus.UNKNOWN:
            return Outcome(status=reported.status, exit_code=code if reported.exit_code is None else reported.exit_code)
        return Outcome(status=self.status, exit_code=code)


@lru_cache(maxsize=64)
def plain_call(tool: str) -> Call:
    """Give a call of which nothing but the tool's name matters."""
    return Call(tool=tool, text="")


def is_broken_call(payload: Mapping[str, Any]) -> bool:
    """Whether what a call runs, or with what, can't be read: something else stands in its place, or nothing."""
    kind = payload.get("type")
    if kind == "local_shell_call":
        return command_line(table(payload.get("action")).get("command")) is None
    if kind == "function_call":
        return not isinstance(payload.get("name"), str) or not isinstance(payload.get("arguments"), (str, dict))
    if kind == "custom_tool_call":
        return not isinstance(payload.get("name"), str) or not isinstance(payload.get("input"), str)
    return False


def is_broken_output(payload: Mapping[str, Any]) -> bool:
    """Whether what a call gave can't be read: it is no text, no blocks and no table, or a block says no text."""
    if payload.get("type") not in ("function_call_output", "custom_tool_call_output"):
        return False
    output = payload.get("output")
    if isinstance(output, dict):
        output = output.get("content", output.get("output", ""))
    return not isinstance(output, (str, dict)) and is_broken_content(output, bare_texts=True)


def read_call(payload: Mapping[str, Any]) -> Call:
    """Read a function_call, custom_tool_call, local_shell_call, tool_search_call or image_generation_call."""
    kind = payload.get("type")
    if kind == "local_shell_call":
        command = command_line(table(payload.get("action")).get("command"))
        folder = table(payload.get("action")).get("working_directory")
        return Call(tool="local_shell", text=command or "", command=command, places=_texts(folder))
    tool = str(payload.get("name") or str(kind).removesuffix("_call"))
    namespace = payload.get("namespace")
    if tool in QUESTION_TOOLS and isinstance(namespace, str) and namespace not in ("", "functions"):
        tool = f"{namespace}__{tool}"  # somebody else's tool of that name speaks for no person
    if kind == "custom_tool_call":
        return _free_text_call(tool, str(payload.get("input") or ""), payload.get("namespace"))
    written = payload.get("arguments")
    arguments = _json_table(written)
    text = written if isinstance(written, str) else _json_text(written)
    command = command_line(arguments.get("cmd", arguments.get("command")))
    patch = command or ""
    if tool == "apply_patch":
        patch = text = str(arguments.get("input") or arguments.get("patch") or text)
    # In the order of the fields: naming them would take longer than all else, for each call of a log.
    return Call(
        tool,
        command or text,
        command,
        patched_files(patch),
        is_external(tool, namespace) and not is_own_server(arguments.get("server")),
        _texts(arguments.get("workdir"), arguments.get("cwd"), namespace, arguments.get("server")),
        session_of(arguments.get("session_id")) if "session_id" in arguments else None,
    )


def _free_text_call(tool: str, text: str, namespace: Any) -> Call:
    if tool != "exec":
        return Call(tool=tool, text=text, paths=patched_files(text), external=is_external(tool, namespace))
    commands = [_js_text(match) for match in _SCRIPT_COMMAND.findall(text)]
    patches = [_js_text(match) for match in _SCRIPT_PATCH.findall(text)]
    return Call(
        tool=tool,
        text="\n".join(commands + patches) or text,
        command="\n".join(commands) or None,
        paths=patched_files("\n".join(commands + patches)),
        external=any(not is_own_server(called.group()) for called in _SCRIPT_EXTERNAL.finditer(text)),
        places=tuple(_js_text(word) for word in _SCRIPT_WORD.findall(text) if len(word) <= _PLACE_CHARS),
        is_script=True,
    )


def session_of(written: Any) -> str | None:
    """Give the id of a running command, however it is written."""
    return str(written) if isinstance(written, (str, int)) and not isinstance(written, bool) else None


def started_session(output: Any) -> str | None:
    """Give the id of the command that an output leaves running, None when it ended."""
    if isinstance(output, dict):
        output = output.get("content", output.get("output", output))
    head = (output if isinstance(output, str) else _output_text(output))[:_HEADER_CHARS]
    running = _RUNNING.search(head.partition(_OUTPUT_MARK)[0]) if _RUNNING_MARK in head else None
    return running.group(1) if running else None


def _texts(*values: Any) -> tuple[str, ...]:
    if not any(values):
        return ()
    return tuple([value for value in values if isinstance(value, str) and value])


def command_line(command: Any) -> str | None:
    """Give the command line that a person would type: the script of ``bash -lc``, else the words joined."""
    if isinstance(command, str):
        return command or None
    if not isinstance(command, list) or not command or not all(isinstance(word, str) for word in command):
        return None
    shell = command[0].replace("\\", "/").rsplit("/", 1)[-1].lower()
    if shell in _SHELLS and len(command) >= 3 and command[-2].lower() in _SHELL_FLAGS:
        return str(command[-1])
    return shlex.join(command)


def patched_files(patch: str) -> tuple[str, ...]:
    """List the files that a patch adds, updates, deletes or moves to, each once, in order."""
    if "*** " not in patch:
        return ()
    return tuple(dict.fromkeys(_PATCHED_FILE.findall(patch)))


def is_external(tool: str, namespace: Any = None) -> bool:
    """Whether a tool brings words from outside the machine: web search and fetch, and every MCP tool but our own."""
    return _is_external(tool, namespace if isinstance(namespace, str) else "")


@lru_cache(maxsize=256)
def _is_external(tool: str, space: str) -> bool:
    return not is_own_server(tool, space) and (
        tool in _WEB_TOOLS
        or "mcp" in tool.lower()
        or tool.startswith(("web.", "web_"))
        or "__" in tool.strip("_")
        or space.startswith(("mcp", "web"))
        or "__" in space.strip("_")
    )


def read_output(output: Any) -> tuple[str, Outcome]:
    """Read a tool's output: its text without the harness's header, and how the call ended."""
    success = None
    if isinstance(output, dict):
        success = output.get("success")
        output = output.get("content", output.get("output", output))
    text, exit_code = _without_header(output if isinstance(output, str) else _output_text(output))
    # A shell's output wrapped as JSON, as older versions write it.
    if text.startswith('{"output":'):
        wrapped = _json_table(text)
        inner = wrapped.get("output")
        code = table(wrapped.get("metadata")).get("exit_code")
        if isinstance(inner, str):
            text, inner_code = _without_header(inner)
            exit_code = code if isinstance(code, int) and not isinstance(code, bool) else inner_code
    if exit_code is not None:
        return text, _ended_with(exit_code)
    return text, Outcome(status=_status(text, success))


def told_output(report: Mapping[str, Any]) -> str:
    """Read what a call printed from an event or item that reports how it ended."""
    for name in ("aggregated_output", "formatted_output"):
        if isinstance(report.get(name), str) and report[name]:
            return str(report[name])
    parts = [report.get(name) for name in ("stdout", "stderr")]
    printed = "\n".join(part for part in parts if isinstance(part, str) and part)
    result = table(report.get("result"))
    return printed or _output_text(table(result.get("Ok", result)).get("content") or [])


def _output_text(output: Any) -> str:
    if isinstance(output, str):
        return output
    if isinstance(output, list):
        parts = []
        for block in output:
            if isinstance(block, str):
                parts.append(block)
            elif str(table(block).get("type")).endswith("image"):
                parts.append(image_marker(block.get("image_url", block)))
            elif isinstance(table(block).get("text"), str):
                parts.append(block["text"])
        return "".join(parts)
    return _json_text(output)


def _without_header(text: str) -> tuple[str, int | None]:
    """Take off the lines that the harness puts before the output, as often as it has wrapped them."""
    exit_code: int | None = None
    while header := _HEADER.match(text):
        if header.group(1) is not None:
            exit_code = int(header.group(1))
        if not text.startswith(_OUTPUT_MARK, header.end()):
            break
        text = text[header.end() + len(_OUTPUT_MARK) :]
    return text, exit_code


@lru_cache(maxsize=256)
def _ended_with(exit_code: int) -> Outcome:
    return Outcome(status=ToolStatus.OK if exit_code == 0 else ToolStatus.FAILED, exit_code=exit_code)


def _status(text: str, success: Any) -> ToolStatus:
    if len(text) <= _SHORT_CHARS:
        folded = text.lower()
        if any(hint in folded for hint in _DENIED_HINTS) and _DENIED.search(text):
            return ToolStatus.DENIED
        if _INTERRUPTED.match(text):
            return ToolStatus.INTERRUPTED
        if _FAILED.match(text):
            return ToolStatus.FAILED
    if isinstance(success, bool):
        return ToolStatus.OK if success else ToolStatus.FAILED
    return ToolStatus.UNKNOWN


@lru_cache(maxsize=256)
def command_outcome(status: str | None, exit_code: int | None) -> Outcome:
    """Read how a command ended of which no more is reported. A log holds thousands, nearly all alike."""
    return reported_outcome({"status": status, "exit_code": exit_code})


def reported_outcome(item: Mapping[str, Any]) -> Outcome:
    """Read how a command, patch or MCP call ended from an event or item that reports it."""
    code = item.get("exit_code")
    exit_code = code if isinstance(code, int) and not isinstance(code, bool) else None
    status = str(item.get("status") or "").lower().replace("_", "")
    if status in ("declined", "denied", "rejected"):
        return Outcome(status=ToolStatus.DENIED, exit_code=exit_code)
    if status in ("interrupted", "aborted", "cancelled", "canceled"):
        return Outcome(status=ToolStatus.INTERRUPTED, exit_code=exit_code)
    succeeded = item.get("success")
    if (
        exit_code not in (None, 0)
        or status in ("failed", "error")
        or succeeded is False
        or "Err" in table(item.get("result"))
    ):
        return Outcome(status=ToolStatus.FAILED, exit_code=exit_code)
    if exit_code == 0 or status == "completed" or succeeded is True:
        return Outcome(status=ToolStatus.OK, exit_code=exit_code)
    return Outcome(status=ToolStatus.UNKNOWN, exit_code=exit_code)


def read_answers(output: Any) -> str | None:
    """Read what a person answered to the agent's questions, one answer a line, None when there is no answer in it."""
    answers = table(_json_table(output).get("answers"))
    said: list[str] = []
    for answer in answers.values():
        chosen = answer.get("answers") if isinstance(answer, dict) else answer
        said += [words for words in (chosen if isinstance(chosen, list) else [chosen]) if isinstance(words, str)]
    return "\n".join(words.strip().removeprefix("user_note: ") for words in said if words.strip()) or None


def _json_table(written: Any) -> Mapping[str, Any]:
    if isinstance(written, dict):
        return written
    if not isinstance(written, str) or not written.lstrip().startswith("{"):
        return {}
    try:
        return table(orjson.loads(written))
    except orjson.JSONDecodeError:
        return {}


def _json_text(value: Any) -> str:
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def _js_text(literal: str) -> str:
    """Read a JavaScript string literal. Escapes that JSON does not know stand for the character behind them."""
    body = literal[1:-1]
    escapes = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "0": "\0", "\n": ""}

    def character(match: re.Match[str]) -> str:
        code = match.group(1)
        if len(code) > 1:
            return chr(int(code[1:].strip("{}"), 16) % 0x110000)
        return escapes.get(code, code)

    text = re.sub(r"\\(u\{[0-9a-fA-F]{1,6}\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.|\n)", character, body)
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
