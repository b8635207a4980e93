"""The grammar of Claude Code transcripts, 0.2 (2025) to 2.1 (2026).

``user`` and ``assistant`` lines are the talk; everything else is the program's own bookkeeping, known by name and
silent. A ``uuid`` counts once in a file: resumes, forks and stream mode write old lines again. What a sub-agent did
inline (``isSidechain``) is left out as bulk; its report comes back in the main line of talk.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from typing import Any

from memory_pipeline.records import Event, EventKind, Source, Speaker, ToolStatus
from memory_pipeline.rollouts.claude_tools import (
    AGENT_TOOLS,
    QUESTION_TOOLS,
    call_text,
    command_of,
    is_external,
    paths_of,
    read_answers,
    read_report,
    read_result,
    result_text,
)
from memory_pipeline.rollouts.claude_words import COMPACT_SUMMARY, Said, read_user_line
from memory_pipeline.rollouts.grammar import (
    Doubt,
    Draft,
    LineCounts,
    Record,
    Sequencer,
    SessionNotes,
    name_of,
    table,
    text_or_none,
)
from memory_pipeline.rollouts.jsonl import RawLine
from memory_pipeline.rollouts.paths import plain_path

_HEAD = re.compile(
    rb'\{"type":"([\w-]+)"|'
    rb'\{"parentUuid":(?:null|"[\w-]*"),(?:"logicalParentUuid":(?:null|"[\w-]*"),)?"isSidechain":(?:true|false),'
    rb'"(attachment)":\{"type":"(\w+)"'
)
_SILENT_LINES = frozenset(
    {
        "summary", "custom-title", "ai-title", "agent-name", "agent-color", "agent-setting", "tag", "mode",
        "permission-mode", "last-prompt", "file-history-snapshot", "file-history-delta", "queue-operation", "progress",
        "api-request", "api-request-shape", "api-request-blob", "atis-latch", "cost-state", "tools-used", "pr-link",
        "worktree-state", "content-replacement", "attribution-snapshot", "speculation-accept", "task-summary",
        "marble-origami-commit", "marble-origami-snapshot", "bridge-session", "remote-session", "hook-state", "debug",
        "frame-link", "relocated", "started", "result", "turn-state",
    }
)  # fmt: skip
_SILENT_BLOCKS = frozenset({"thinking", "redacted_thinking", "image", "document", "fallback", "container_upload"})
_QUEUED = "queued_command"  # what the person typed while the agent was working
_NO_ANSWER = "No response requested."
_ERROR_MODEL = "<synthetic>"
_REMEMBERED = 256


class ClaudeGrammar:
    """Reads one transcript of Claude Code. See ``Grammar`` for what each method promises."""

    def __init__(self) -> None:
        self.notes = SessionNotes()
        self.counts = LineCounts()
        self._sequencer = Sequencer()
        self._seen_uuids: set[str] = set()
        self._tools: dict[str, str] = {}  # open call -> the tool's name
        self._shell_call: str | None = None  # the person's own command, until its output came
        self._prompts: deque[str] = deque(maxlen=16)
        self._entrypoints: set[str] = set()
        self._typed_prompt = False
        self._main_lines = False
        self._sidechain_lines = False
        self._compacted_at = -2  # number of the talk line that marked a compaction
        self._talk_lines = 0
        self._line: RawLine | None = None
        self._at: float | None = None
        self._cwd: str | None = None

    def glance(self, raw: bytes) -> Record | None:
        """Pass by whole prompts, snapshots and attachments: most of the bytes in the newest version."""
        match = _HEAD.match(raw)
        if match is None or not raw.endswith(b"}"):
            return None
        kind = (match.group(1) or match.group(2)).decode()
        silent = (
            match.group(3) != _QUEUED.encode() if kind == "attachment" and match.group(3) else kind in _SILENT_LINES
        )
        # Unescaped, these three bytes stand only between two records on one line.
        return {"type": kind} if silent and b'}{"' not in raw else None

    def read(self, record: Record, line: RawLine) -> Iterator[Event]:
        """Read one record of any age."""
        self._line = line
        kind = name_of(record.get("type"))
        self._at = self.notes.note_time(record.get("timestamp"))
        if kind in ("user", "assistant", "system", "attachment"):
            self.counts.understood(line)
            if not self._is_repeated(record):
                yield from self._read_talk(kind, record)
        elif kind in _SILENT_LINES:
            self.counts.understood(line)
        else:
            self.counts.unknown(kind)

    def close(self) -> Iterator[Event]:
        """End the last turn, and tell how the session ran."""
        yield from self._sequencer.end_turn()
        self.notes.source = self._source()

    def _is_repeated(self, record: Record) -> bool:
        uuid = record.get("uuid")
        if not isinstance(uuid, str):
            return False
        if uuid in self._seen_uuids:
            return True
        self._seen_uuids.add(uuid)
        return False

    def _read_talk(self, kind: str, record: Record) -> Iterator[Event]:
        self._note_session(record)
        if record.get("isSidechain") is True:
            self._sidechain_lines = True
        elif kind == "user":
            yield from self._read_user(record)
        elif kind == "assistant":
            yield from self._read_assistant(record)
        elif kind == "system":
            if record.get("subtype") == "compact_boundary":
                yield from self._compacted()
        elif table(record.get("attachment")).get("type") == _QUEUED:
            yield from self._read_queued(table(record.get("attachment")))

    # --- what the session says about itself

    def _note_session(self, record: Record) -> None:
        folder = plain_path(record.get("cwd"))
        if folder is not None:
            self._cwd = folder
            self.notes.cwd = self.notes.cwd or folder
        branch = text_or_none(record.get("gitBranch"))
        self.notes.git_branch = self.notes.git_branch or branch
        entrypoint = text_or_none(record.get("entrypoint"))
        if entrypoint is not None:
            self._entrypoints.add(entrypoint)

    def _source(self) -> Source:
        if self._sidechain_lines and not self._main_lines:
            return Source.SUBAGENT
        if self._typed_prompt or not self._entrypoints or self._entrypoints == {"cli"}:
            return Source.INTERACTIVE
        return Source.HEADLESS if self._entrypoints <= {"sdk-cli", "cli"} else Source.OTHER

    def _note_prompt(self, record: Record, text: str) -> None:
        self._prompts.append(text)
        marked = record.get("promptSource")
        if marked == "typed" or (marked is None and record.get("entrypoint") == "cli"):
            self._typed_prompt = True

    # --- user lines

    def _read_user(self, record: Record) -> Iterator[Event]:
        self._main_lines = True
        self._talk_lines += 1
        content = table(record.get("message")).get("content")
        results = (
            [block for block in content if table(block).get("type") == "tool_result"]
            if isinstance(content, list)
            else []
        )
        for block in results:
            yield from self._read_result(block, record)
        if results:
            # Words beside a result: an interruption, or what was typed with a refusal.
            content = [block for block in content if block not in results] if isinstance(content, list) else []
            record = {**record, "message": {"content": content}}
        user = read_user_line(record)
        if user.said is Said.PROMPT:
            self._note_prompt(record, user.text)
            yield from self._say(EventKind.PROMPT, Speaker.USER, user.text)
        elif user.said is Said.SHELL:
            yield from self._person_ran(user.text)
        elif user.said is Said.SHELL_OUTPUT:
            yield from self._person_saw(user.text)
        elif user.said is Said.INTERRUPTED:
            yield from self._say(EventKind.INTERRUPTED, Speaker.USER, user.text)
        elif user.said is Said.REPORT:
            yield from self._say(EventKind.REPORT, Speaker.OTHER_AGENT, user.text)
        elif user.said is Said.CONTEXT:
            yield from self._read_context(record, user.text)

    def _read_context(self, record: Record, text: str) -> Iterator[Event]:
        if record.get("isCompactSummary") is True or text.startswith(COMPACT_SUMMARY):
            # The summary repeats earlier talk; before 1.0 it is the only sign of a compaction.
            yield from self._compacted()
        else:
            yield from self._say(EventKind.CONTEXT, Speaker.HARNESS, text)

    def _compacted(self) -> Iterator[Event]:
        if self._talk_lines - self._compacted_at > 1:
            yield from self._say(EventKind.COMPACTED, Speaker.HARNESS, "(the context was compacted here)")
        self._compacted_at = self._talk_lines

    def _read_queued(self, attachment: Record) -> Iterator[Event]:
        """Read what was typed while the agent worked: it stands in an attachment and in no user line."""
        prompt = attachment.get("prompt")
        mode = attachment.get("commandMode")
        kind = table(attachment.get("origin")).get("kind")
        if mode not in (None, "prompt") or kind not in (None, "human") or attachment.get("isMeta") is True:
            return
        user = read_user_line({"message": {"content": prompt}})
        if user.said is Said.PROMPT and user.text not in self._prompts:
            self._prompts.append(user.text)
            yield from self._say(EventKind.PROMPT, Speaker.USER, user.text)

    def _person_ran(self, command: str) -> Iterator[Event]:
        draft = self._draft(EventKind.SHELL, Speaker.USER, command)
        self._shell_call = f"user-shell-{draft.line.number}"
        draft.call_id, draft.command = self._shell_call, command
        yield from self._sequencer.push(draft)

    def _person_saw(self, output: str) -> Iterator[Event]:
        draft = self._draft(EventKind.TOOL_RESULT, Speaker.TOOL, output)
        # The log does not tell how such a command ended.
        draft.call_id, draft.status = self._shell_call, ToolStatus.UNKNOWN
        self._shell_call = None
        yield from self._sequencer.push(draft)

    def _read_result(self, block: Record, record: Record) -> Iterator[Event]:
        call_id = text_or_none(block.get("tool_use_id"))
        tool = self._tools.pop(call_id, None) if call_id else None
        result = read_result(block, record)
        draft = self._draft(EventKind.TOOL_RESULT, Speaker.TOOL, result.text)
        draft.call_id, draft.tool, draft.external = call_id, tool, is_external(tool or "")
        draft.status, draft.exit_code = result.status, result.exit_code
        if tool in AGENT_TOOLS and result.status is ToolStatus.OK and (report := read_report(result.text)):
            draft.kind, draft.speaker, draft.text = EventKind.REPORT, Speaker.OTHER_AGENT, report
        elif tool in QUESTION_TOOLS and result.status is ToolStatus.OK and (said := read_answers(result.text, record)):
            draft.kind, draft.speaker, draft.text, draft.status = EventKind.PROMPT, Speaker.USER, said, None
        yield from self._sequencer.push(draft)
        if result.said:
            self._prompts.append(result.said)
            yield from self._say(EventKind.PROMPT, Speaker.USER, result.said)

    # --- assistant lines

    def _read_assistant(self, record: Record) -> Iterator[Event]:
        self._main_lines = True
        self._talk_lines += 1
        message = table(record.get("message"))
        content = message.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if record.get("isApiErrorMessage") is True or message.get("model") == _ERROR_MODEL:
            yield from self._read_synthetic(result_text(blocks))
            return
        for block in blocks if isinstance(blocks, list) else []:
            yield from self._read_block(table(block), message.get("stop_reason"))

    def _read_synthetic(self, text: str) -> Iterator[Event]:
        """Read a line that the program wrote in the assistant's place: an error, as a rule."""
        if text.startswith("[Request interrupted by user"):
            yield from self._say(EventKind.INTERRUPTED, Speaker.USER, text)
        elif text.strip() and text.strip() != _NO_ANSWER:
            yield from self._say(EventKind.FAILED_TURN, Speaker.HARNESS, text)

    def _read_block(self, block: Record, stop_reason: Any) -> Iterator[Event]:
        kind = name_of(block.get("type"))
        if kind == "text":
            yield from self._read_answer(str(block.get("text") or ""), stop_reason)
        elif kind in ("tool_use", "server_tool_use", "mcp_tool_use"):
            yield from self._read_call(block)
        elif isinstance(kind, str) and kind.endswith("_tool_result"):
            draft = self._draft(EventKind.TOOL_RESULT, Speaker.TOOL, result_text(block.get("content")))
            draft.call_id, draft.tool = text_or_none(block.get("tool_use_id")), kind.removesuffix("_tool_result")
            draft.status, draft.external = ToolStatus.UNKNOWN, True
            yield from self._sequencer.push(draft)
        elif kind not in _SILENT_BLOCKS:
            self.counts.unknown(f"assistant/{kind}")

    def _read_answer(self, text: str, stop_reason: Any) -> Iterator[Event]:
        if not text.strip() or text.strip() == "(no content)":
            return
        draft = self._draft(EventKind.COMMENTARY, Speaker.ASSISTANT, text)
        if stop_reason == "end_turn":
            draft.kind = EventKind.FINAL_ANSWER
        elif stop_reason != "tool_use":
            # Streamed lines were written before the model had ended: what follows tells.
            draft.doubt = Doubt.ANSWER
        yield from self._sequencer.push(draft)

    def _read_call(self, block: Record) -> Iterator[Event]:
        tool = str(block.get("name") or "")
        call_id = text_or_none(block.get("id"))
        given = table(block.get("input"))
        if call_id is not None:
            self._tools[call_id] = tool
            if len(self._tools) > _REMEMBERED:
                del self._tools[next(iter(self._tools))]
        draft = self._draft(EventKind.TOOL_CALL, Speaker.ASSISTANT, call_text(tool, given))
        draft.call_id, draft.tool, draft.command = call_id, tool, command_of(tool, given)
        draft.paths = paths_of(tool, given)
        draft.external = is_external(tool) or block.get("type") == "mcp_tool_use"
        yield from self._sequencer.push(draft)

    # --- drafts

    def _draft(self, kind: EventKind, speaker: Speaker, text: str) -> Draft:
        if self._line is None:
            raise AssertionError("a draft is made while a line is read")
        return Draft(line=self._line, kind=kind, speaker=speaker, text=text, at=self._at, cwd=self._cwd)

    def _say(self, kind: EventKind, speaker: Speaker, text: str) -> Iterator[Event]:
        yield from self._sequencer.push(self._draft(kind, speaker, text))
