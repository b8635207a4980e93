"""A session as steps: each tool call with its result, and how it really ended."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum

from msgspec import Struct

from memory_pipeline.directions import find_directions
from memory_pipeline.llm.deterministic.commands import CHECKS, Command, Purpose, read_command
from memory_pipeline.records import EntryKind, EventKind, EvidenceRow, ToolStatus
from memory_pipeline.statements import one_line

ERROR_LINE_MAX_CHARS = 140


class Ending(StrEnum):
    """How a step ended, by its status, its exit code and what it printed."""

    OK = "ok"
    FAILED = "failed"
    DENIED = "denied"
    UNKNOWN = "unknown"


class Step(Struct, frozen=True, kw_only=True):
    """One call of a tool, or one shell command of the person, with its result."""

    call: EvidenceRow | None  # None when only the result is known
    result: EvidenceRow | None
    command: Command | None
    whole_line: str  # the command line as it was given, "" when none was
    paths: tuple[str, ...]  # files it wrote or edited, relative to the working folder where they lie in it
    ending: Ending
    error_line: str  # the line of the output that says what went wrong, "" when none does

    @property
    def rows(self) -> tuple[int, ...]:
        """The numbers of its rows."""
        return tuple(row.number for row in (self.call, self.result) if row)

    @property
    def last_row(self) -> int:
        """The number of its last row."""
        return self.rows[-1]

    @property
    def purpose(self) -> Purpose:
        """What its command is for; ``TRIVIAL`` when it has none."""
        return self.command.purpose if self.command else Purpose.TRIVIAL

    @property
    def edited(self) -> bool:
        """Whether it changed files."""
        return bool(self.paths) and self.ending in {Ending.OK, Ending.UNKNOWN}


def read_steps(rows: tuple[EvidenceRow, ...], cwd: str | None) -> tuple[Step, ...]:
    """Join calls and results, by call id and else by neighbourhood, in the order of the calls."""
    results = {row.call_id: row for row in rows if row.kind is EventKind.TOOL_RESULT and row.call_id}
    steps: list[Step] = []
    used: set[int] = set()
    for index, row in enumerate(rows):
        if row.kind in {EventKind.TOOL_CALL, EventKind.SHELL}:
            result = results.get(row.call_id) if row.call_id else _next_result(rows, index)
            if result is not None and result.number in used:
                result = None
            if result is not None:
                used.add(result.number)
            steps.append(_step(row, result, cwd))
        elif row.kind is EventKind.TOOL_RESULT and row.number not in used and not _has_call(row, rows):
            used.add(row.number)
            steps.append(_step(None, row, cwd))
    return tuple(steps)


def _next_result(rows: tuple[EvidenceRow, ...], index: int) -> EvidenceRow | None:
    following = rows[index + 1] if index + 1 < len(rows) else None
    return following if following and following.kind is EventKind.TOOL_RESULT and not following.call_id else None


def _has_call(result: EvidenceRow, rows: tuple[EvidenceRow, ...]) -> bool:
    if not result.call_id:
        return False
    index = result.number - 1  # numbers usually count from one without a gap; looking back a little is enough
    nearby = rows[max(0, index - 40) : index + 1]
    return any(row.call_id == result.call_id and row.kind is not EventKind.TOOL_RESULT for row in nearby)


def _step(call: EvidenceRow | None, result: EvidenceRow | None, cwd: str | None) -> Step:
    line = (call.command if call else None) or (result.command if result else None) or ""
    if not line and call and call.kind is EventKind.SHELL:
        line = call.text
    command = read_command(line) if line else None
    paths = _paths(call, line, (call.cwd if call else None) or cwd)
    output = plain_output(result.text) if result else ""
    ending = _ending(result, command, output)
    wrong = ending is Ending.FAILED
    return Step(
        call=call,
        result=result,
        command=command,
        whole_line=line,
        paths=paths,
        ending=ending,
        error_line=error_line(output) if wrong else "",
    )


# --- files -----------------------------------------------------------------------------------------------------------

_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+?)\s*$", re.MULTILINE)
_EDITS_IN_SHELL = re.compile(
    r"\bsed\s+(?:-\w+\s+)*-i\S*\s.*?\s(?P<sed>[\w./-]+\.\w+)\s*(?:$|[;&|])"
    r"|(?<![\d&>])>{1,2}\s*(?P<out>(?!/dev/)[\w./-]+\.\w+)",
    re.DOTALL,
)
_NOT_OF_THE_PROJECT = re.compile(
    r"^(?:/tmp/|/var/|/private/|/dev/|~/\.(?:codex|claude)|.*/\.(?:codex|claude)/|.*\.(?:log|tmp|out)$)"
)


def _paths(call: EvidenceRow | None, line: str, cwd: str | None) -> tuple[str, ...]:
    if call is None:
        return ()
    found = list(call.paths)
    if not found and "*** Begin Patch" in call.text:
        found = _PATCHED.findall(call.text)
    if not found and line and "*** Begin Patch" in line:
        found = _PATCHED.findall(line)
    if not found and line:
        found = [match["sed"] or match["out"] for match in _EDITS_IN_SHELL.finditer(line)]
    kept = dict.fromkeys(_relative(path, cwd) for path in found if path)
    return tuple(path for path in kept if not _NOT_OF_THE_PROJECT.match(path))


def _relative(path: str, cwd: str | None) -> str:
    folder = (cwd or "").rstrip("/") + "/"
    if len(folder) > 1 and path.startswith(folder):
        path = path[len(folder) :]
    return path.removeprefix("./")


# --- how it ended ----------------------------------------------------------------------------------------------------

_WRAPPING = re.compile(
    r"^(?:Chunk ID: .*|Wall time: .*|Process exited with code -?\d+|Exit code:? -?\d+"
    r"|Original token count: .*|Output:|Total output lines: .*"
    r"|Warning: truncated output.*|</?(?:tool_use_error|persisted-output|error|stdout|stderr|output|bash-\w+)>)\s*$",
    re.MULTILINE,
)
_EXIT_TOLD = re.compile(r"^(?:Process exited with code|Exit code:?) (-?\d+)\s*$", re.MULTILINE)
_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|�?\[[0-9;]*m")
_SAYS_FAILED = re.compile(
    r"^FAILED\b|^FAIL\b|^FAIL:|^ERROR\b|^--- FAIL|\bFAILED \((?:failures|errors)|\b[1-9]\d* (?:failed"
    r"|failing|failures?|errors?)\b|^Traceback \(most|"
    r"^error(?:\[\w+\])?:|npm ERR!|BUILD FAILED|Build failed|panicked at|^make(?:\[\d+\])?: \*\*\*"
    r"|\bFound [1-9]\d* errors?\b|✗|✖ [1-9]|^E   ",
    re.MULTILINE,
)
_SAYS_OK = re.compile(
    r"^OK\b|\b\d+ pass(?:ed|ing)\b|\b0 (?:failed|errors)\b|^PASS\b|^ok\s|test result: ok|All checks passed"
    r"|Success: no issues|BUILD SUCCESS|Build succeeded|All tests pass|Finished ",
    re.MULTILINE,
)
_REFUSED = re.compile(
    r"permission.*(?:not granted|haven't granted)|requested permissions|user (?:rejected|doesn't want"
    r"|refused|denied)|rejected by user",
    re.IGNORECASE,
)


def plain_output(text: str) -> str:
    """Return what a tool printed, without what the agent wraps around it and without colours."""
    return _WRAPPING.sub("", _ANSI.sub("", text)).strip()


def _ending(result: EvidenceRow | None, command: Command | None, output: str) -> Ending:
    if result is None or result.status is ToolStatus.INTERRUPTED:
        return Ending.UNKNOWN
    if result.status is ToolStatus.DENIED:
        return Ending.DENIED
    told = _EXIT_TOLD.search(result.text[:400])
    exit_code = result.exit_code if result.exit_code is not None else int(told[1]) if told else None
    if (exit_code is not None and exit_code != 0) or result.status is ToolStatus.FAILED:
        return Ending.DENIED if exit_code is None and _REFUSED.search(result.text[:400]) else Ending.FAILED
    if command and command.purpose in CHECKS and (command.piped or exit_code is None):
        if _SAYS_FAILED.search(output):
            return Ending.FAILED
        if _SAYS_OK.search(output):
            return Ending.OK
    if result.status is ToolStatus.OK or exit_code == 0:
        return Ending.OK
    return Ending.UNKNOWN


# --- what went wrong -------------------------------------------------------------------------------------------------

_ERROR_LINES = tuple(
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        r"^(?:E\s+)?(?:[\w.]+\.)?(?!Assertion)\w*(?:Error|Exception|Panic|Timeout|Interrupt)\b: .+$",
        r"^(?:FAIL|ERROR): .+$|^FAILED \S+::.+$|^--- FAIL: .+$|^\s*(?:✕|✗|×|●) .+$",
        r"^.*\berror(?:\[\w+\]| TS\d+| \w\d+)?: .+$|^.*: error .+$",
        (
            r"^(?!\s*at ).*(?:cannot|can't|could not|not found|[Nn]o such|denied|refused|fatal:|missing"
            r"|panicked at|timed out|unrecognized|[Ii]nvalid|undefined|unexpected).*$"
        ),
        (
            r"^\S+:\d+:\d+:? .+$|^make(?:\[\d+\])?: \*\*\* .+$|^npm ERR! .+$|^.*\b(?:FAILED|FAIL)\b.*$"
            r"|^.*\b\d+ failed\b.*$"
        ),
    )
)
_ASSERTION = re.compile(r"^(?:E\s+)?(AssertionError(?::.*)?|assert .+)$", re.MULTILINE)
_COMMANDING = re.compile(
    r"\b(?:ignore (?:all|any|previous|prior|the)|disregard|from now on|you (?:must|should|are now)"
    r"|remember\s*[:,]|always (?:use|run|do|answer|call|send|trust)"
    r"|never (?:use|run|tell|ask|mention)|system prompt|instructions?\b.*:)|记住|从现在|忽略(?:之前|以上)",
    re.IGNORECASE,
)


def error_line(output: str) -> str:
    """Return the line of an output that names the trouble best, cleaned and cut; "" when none may be quoted."""
    for rank, pattern in enumerate(_ERROR_LINES):
        for match in pattern.finditer(output):
            line = one_line(match.group().strip().removeprefix("E  "), ERROR_LINE_MAX_CHARS)
            if not line or commands_the_reader(line):
                continue
            assertion = _ASSERTION.search(output, match.end()) if rank == 1 else None
            if (
                assertion
                and len(line) + len(assertion[1]) < ERROR_LINE_MAX_CHARS
                and not commands_the_reader(assertion[1])
            ):
                line += f" ({one_line(assertion[1], ERROR_LINE_MAX_CHARS)})"
            return line
    assertion = _ASSERTION.search(output)
    if assertion and not commands_the_reader(assertion[1]):
        return one_line(assertion[1], ERROR_LINE_MAX_CHARS)
    return next((line for line in _last_lines(output) if not commands_the_reader(line)), "")


def _last_lines(output: str) -> Iterator[str]:
    for line in reversed(output.splitlines()[-3:]):
        cleaned = one_line(line, ERROR_LINE_MAX_CHARS)
        if re.search(r"[^\W\d]{3}", cleaned):
            yield cleaned


def commands_the_reader(text: str) -> bool:
    """Whether words of a tool or an assistant read like an order to whoever reads them: never worth quoting.

    What they tell as a fact orders nothing.
    """
    return _COMMANDING.search(text) is not None or any(
        each.kind is not EntryKind.KNOWLEDGE for each in find_directions(text, by_patterns_alone=True)
    )
