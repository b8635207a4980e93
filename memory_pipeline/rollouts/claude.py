"""The grammar of Claude Code transcripts, 0.2 (2025) to 2.1 (2026).

``user`` and ``assistant`` lines are the talk; everything else is the program's own bookkeeping, known by name and
silent. A ``uuid`` counts once, across files: resumes, forks and stream mode write old lines again. What a sub-agent did
inline (``isSidechain``) is left out as bulk; its report comes back in the main line of talk.
"""

from __future__ import annotations

import sys
from array import array
from collections import deque
from collections.abc import Iterator
from typing import Any, ClassVar, TypedDict

import msgspec

from memory_pipeline.records import EventKind, Source, Speaker, ToolStatus
from memory_pipeline.rollouts.claude_tools import (
    AGENT_TOOLS,
    QUESTION_TOOLS,
    call_text,
    command_of,
    full_name,
    is_external,
    paths_of,
    read_answers,
    read_report,
    read_result,
    result_text,
    session_of,
    started_session,
)
from memory_pipeline.rollouts.claude_words import COMPACT_SUMMARY, Said, is_the_programs, origin_of, read_user_line
from memory_pipeline.rollouts.grammar import (
    Doubt,
    Draft,
    LineCounts,
    Record,
    Sequencer,
    SessionNotes,
    Wanted,
    is_broken_content,
    is_undecoded,
    name_of,
    table,
    text_or_none,
)
from memory_pipeline.rollouts.jsonl import (
    LONG_LINE_BYTES,
    MAX_TEXT_CHARS,
    UNLIKE_SHAPE,
    LineBlock,
    RawLine,
    with_texts_cut,
)
from memory_pipeline.rollouts.lineage import record_hash
from memory_pipeline.rollouts.paths import folder_of
from memory_pipeline.rollouts.wrappers import is_set

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
# Named once: to look a member up in its enum takes longer than what is done with it, for each call and result of a log.
_CALL, _RESULT = EventKind.TOOL_CALL, EventKind.TOOL_RESULT
_ASSISTANT, _TOOL = Speaker.ASSISTANT, Speaker.TOOL
_OK, _DENIED = ToolStatus.OK, ToolStatus.DENIED
_CALLS = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})
_QUEUED = "queued_command"  # what the person typed while the agent was working
_NO_ANSWER = "No response requested."
_ERROR_MODEL = "<synthetic>"
_REMEMBERED = 256


# What is taken from a line when it is looked at. Whole requests, snapshots, thoughts and what stands beside a result
# are the bulk of a transcript: no shape names them, so they are skipped.


class _Block(TypedDict, total=False):
    type: str
    text: Any
    id: Any
    name: Any
    tool_use_id: Any
    is_error: Any
    source: Any
    title: Any
    url: Any
    input: Any
    content: Any


class _LeanBlock(_Block, total=False):
    input: msgspec.Raw  # not decoded: no fact hangs on what an ordinary tool was told and answered
    content: msgspec.Raw


class _Message(TypedDict, total=False):
    role: Any
    content: str | list[_Block]
    stop_reason: Any
    model: Any


class _LeanMessage(_Message, total=False):
    content: str | list[_LeanBlock]


class _BesideResult(TypedDict, total=False):
    interrupted: Any
    answers: Any
    annotations: Any
    backgroundTaskId: Any


class _Attachment(TypedDict, total=False):
    type: str
    prompt: Any
    commandMode: Any
    origin: Any
    isMeta: Any


class _Line(TypedDict, total=False):
    type: str
    subtype: Any
    uuid: Any
    timestamp: Any
    isSidechain: Any
    isMeta: Any
    isCompactSummary: Any
    isApiErrorMessage: Any
    cwd: Any
    gitBranch: Any
    entrypoint: Any
    promptSource: Any
    origin: Any
    toolDenialKind: Any
    isVisibleInTranscriptOnly: Any
    isSynthetic: Any
    sourceToolUseID: Any
    sourceToolAssistantUUID: Any
    agentId: Any
    toolUseResult: _BesideResult | str | list[Any] | int | float | bool | None
    attachment: _Attachment
    message: _Message


class _LeanLine(_Line, total=False):
    message: _LeanMessage


class _Kind(TypedDict, total=False):
    type: str


_KIND = msgspec.json.Decoder(_Kind)
_LINE = msgspec.json.Decoder(_Line)
_LEAN_LINE = msgspec.json.Decoder(_LeanLine)
# Most silent lines begin so. Some hold a message, which nobody needs.
_KIND_FIRST = b'{"type":"'


class ClaudeGrammar:
    """Reads one transcript of Claude Code. See ``Grammar`` for what each method promises."""

    can_undo: ClassVar[bool] = False

    def __init__(self, wanted: Wanted) -> None:
        self.notes = SessionNotes()
        self.counts = LineCounts(skipped=wanted.skipped)
        self.sequencer = Sequencer(undone=wanted.undone, digest=wanted.digest)
        self._is_lean = wanted.digest is not None
        self._foreign = wanted.own.foreign_hashes
        self._record_hashes = array("Q")
        self._seen: set[int] = set()
        self._tools: dict[str, str] = {}  # open call -> the tool's name
        self._shell_call: str | None = None  # the person's own command, until its output came
        self._prompts: deque[str] = deque(maxlen=16)
        self._entrypoints: set[str] = set()
        self._inherited = SessionNotes()  # what records of another thread say: told when this one says nothing
        self._typed_prompt = False
        self._main_lines = False
        self._sidechain_lines = False
        self._compacted_at = -2  # number of the talk line that marked a compaction
        self._talk_lines = 0
        self._line: RawLine | None = None
        self._at: float | None = None
        self._cwd: str | None = None
        self._written_cwd: Any = None  # as the record before wrote it

    def glances(self, block: LineBlock, begin: int) -> Iterator[tuple[int, Record | None]]:
        """Pass by requests, snapshots and attachments: most of the bytes in the newest version."""
        decode_kind, decode = _KIND.decode, _LEAN_LINE.decode if self._is_lean else _LINE.decode
        passed = 0
        for position, raw in enumerate(block.raws[begin:], begin):
            try:
                if raw.startswith(_KIND_FIRST) and decode_kind(raw).get("type") in _SILENT_LINES:
                    passed += 1
                    continue
                record = decode(raw)
            except UNLIKE_SHAPE:
                yield position, None
                continue
            kind = record.get("type")
            if kind in _SILENT_LINES or (kind == "attachment" and self._passes_attachment(record)):
                passed += 1
            elif self._is_lean and self._needs_all(record):
                yield position, None
            else:
                yield position, record if len(raw) < LONG_LINE_BYTES else with_texts_cut(record)
        self.counts.understood_lines += passed

    def _passes_attachment(self, record: _Line) -> bool:
        kind = record.get("attachment", {}).get("type")
        return kind is not None and kind != _QUEUED and not is_set(record, "isSidechain")

    def _needs_all(self, record: _Line) -> bool:
        """Whether facts hang on what stands undecoded in a record, or it may be broken."""
        content = record.get("message", {}).get("content")
        for block in content if isinstance(content, list) else ():
            kind = block.get("type")
            if kind in _CALLS and not is_undecoded(block.get("input"), "{"):
                return True
            if kind == "tool_result":
                call_id = block.get("tool_use_id")
                tool = self._tools.get(call_id) if isinstance(call_id, str) else None
                # The words may be a person's or another agent's.
                if tool in AGENT_TOOLS or tool in QUESTION_TOOLS or block.get("is_error") is True:
                    return True
                if not is_undecoded(block.get("content"), '"'):
                    return True
        return bool(record.get("toolDenialKind"))

    def read(self, record: Record, line: RawLine) -> None:
        """Read one record of any age."""
        self._line = line
        kind = name_of(record.get("type"))
        if kind in ("user", "assistant") and not isinstance(table(record.get("message")).get("content"), (str, list)):
            self._read_broken(record, line)
        elif kind in ("user", "assistant", "system", "attachment"):
            self.counts.understood(line)
            uuid = record.get("uuid")
            if isinstance(uuid, str) and self._is_repeated(uuid):
                self._inherited.note_time(record.get("timestamp"))
                self._note_session(record, self._inherited)
            else:
                self._at = self.notes.note_time(record.get("timestamp"))
                self._read_talk(kind, record)
        elif kind in _SILENT_LINES:
            self.counts.understood(line)
        elif kind is None and "type" in record and "message" in record:
            self._read_broken(record, line)
        else:
            self.counts.unknown(kind)

    def _read_broken(self, record: Record, line: RawLine) -> None:
        """Count a line of talk of which nothing can be read, unless it would not have counted; note when and where."""
        uuid = record.get("uuid")
        if isinstance(uuid, str) and self._is_repeated(uuid):
            self.counts.understood(line)
            return
        self._at = self.notes.note_time(record.get("timestamp"))
        self._note_session(record, self.notes)
        if is_set(record, "isSidechain"):
            self._sidechain_lines = True
            self.counts.understood(line)
        else:
            self._main_lines = True
            self.counts.broken(line)

    def close(self) -> None:
        """End the last turn, and tell how the session ran."""
        self.sequencer.end_turn()
        self.notes.cwd = self.notes.cwd or self._inherited.cwd
        self.notes.git_branch = self.notes.git_branch or self._inherited.git_branch
        self.notes.source = self._source()

    def read_inherited(self, line: RawLine) -> None:
        """Count a line before the own part; transcripts tell theirs by record ids instead."""
        self.counts.understood(line)

    def record_hashes(self) -> bytes:
        """Give the hashes of the records' uuids, in order, eight bytes each, the most significant first."""
        if sys.byteorder == "big":
            return self._record_hashes.tobytes()
        swapped = array("Q", self._record_hashes)
        swapped.byteswap()
        return swapped.tobytes()

    def _is_repeated(self, uuid: str) -> bool:
        """Whether a record was read before, in this file or in the one that owns it."""
        hashed = record_hash(uuid)
        if hashed in self._seen:
            return True
        self._seen.add(hashed)
        self._record_hashes.append(hashed)
        return hashed in self._foreign

    def _read_talk(self, kind: str, record: Record) -> None:
        self._note_session(record, self.notes)
        if is_set(record, "isSidechain"):
            self._sidechain_lines = True
        elif kind == "user":
            self._read_user(record)
        elif kind == "assistant":
            self._read_assistant(record)
        elif kind == "system":
            if record.get("subtype") == "compact_boundary":
                self._compacted()
        elif table(record.get("attachment")).get("type") == _QUEUED:
            self._read_queued(table(record.get("attachment")))

    # --- what the session says about itself

    def _note_session(self, record: Record, notes: SessionNotes) -> None:
        written = record.get("cwd")
        if written != self._written_cwd:
            self._written_cwd = written
            self._cwd = folder_of(written) or self._cwd
        notes.cwd = notes.cwd or folder_of(written)
        notes.git_branch = notes.git_branch or text_or_none(record.get("gitBranch"))
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
        self._prompts.append(text[:MAX_TEXT_CHARS])
        marked = record.get("promptSource")
        if marked == "typed" or (marked is None and record.get("entrypoint") == "cli"):
            self._typed_prompt = True

    # --- user lines

    def _read_user(self, record: Record) -> None:
        self._main_lines = True
        self._talk_lines += 1
        content = table(record.get("message")).get("content")
        self._note_broken(content)
        results = (
            [block for block in content if table(block).get("type") == "tool_result"]
            if isinstance(content, list)
            else []
        )
        refused = [self._read_result(block, record) is _DENIED for block in results]
        if results:
            # Words beside a result: an interruption, or what was typed with a refusal.
            content = [block for block in content if block not in results] if isinstance(content, list) else []
            if not content:
                return
            record = {**record, "message": {**table(record.get("message")), "content": content}}
            record |= {"toolUseResult": None, "sourceToolAssistantUUID": None}  # those are the result's
        user = read_user_line(record)
        if user.said is Said.PROMPT and results and not any(refused):
            self._read_context(record, user.text)
        elif user.said is Said.PROMPT:
            self._note_prompt(record, user.text)
            self._say(EventKind.PROMPT, Speaker.USER, user.text)
        elif user.said is Said.SHELL:
            self._person_ran(user.text)
        elif user.said is Said.SHELL_OUTPUT:
            self._person_saw(user.text)
        elif user.said is Said.INTERRUPTED:
            self._say(EventKind.INTERRUPTED, Speaker.USER, user.text)
        elif user.said is Said.REPORT:
            self._say(EventKind.REPORT, Speaker.OTHER_AGENT, user.text)
        elif user.said is Said.CONTEXT:
            self._read_context(record, user.text)

    def _read_context(self, record: Record, text: str) -> None:
        if is_set(record, "isCompactSummary") or text.startswith(COMPACT_SUMMARY):
            # The summary repeats earlier talk; before 1.0 it is the only sign of a compaction.
            self._compacted()
        else:
            self._say(EventKind.CONTEXT, Speaker.HARNESS, text)

    def _compacted(self) -> None:
        if self._talk_lines - self._compacted_at > 1:
            self._say(EventKind.COMPACTED, Speaker.HARNESS, "(the context was compacted here)")
        self._compacted_at = self._talk_lines

    def _read_queued(self, attachment: Record) -> None:
        """Read what was typed while the agent worked: it stands in an attachment and in no user line."""
        prompt = attachment.get("prompt")
        mode = attachment.get("commandMode")
        if mode not in (None, "prompt") or origin_of(attachment) not in (None, "human") or is_set(attachment, "isMeta"):
            return
        self._note_broken(prompt)
        user = read_user_line({"message": {"content": prompt}})
        if user.said is Said.PROMPT and user.text[:MAX_TEXT_CHARS] not in self._prompts:
            self._prompts.append(user.text[:MAX_TEXT_CHARS])
            self._say(EventKind.PROMPT, Speaker.USER, user.text)

    def _person_ran(self, command: str) -> None:
        draft = self._draft(EventKind.SHELL, Speaker.USER, command)
        self._shell_call = f"user-shell-{draft.line.number}"
        draft.call_id, draft.command = self._shell_call, command
        self.sequencer.push(draft)

    def _person_saw(self, output: str) -> None:
        draft = self._draft(EventKind.TOOL_RESULT, Speaker.TOOL, output)
        # The log does not tell how such a command ended.
        draft.call_id, draft.status = self._shell_call, ToolStatus.UNKNOWN
        self._shell_call = None
        self.sequencer.push(draft)

    def _read_result(self, block: Record, record: Record) -> ToolStatus:
        call_id = text_or_none(block.get("tool_use_id"))
        tool = self._tools.pop(call_id, None) if call_id else None
        content = block.get("content")
        if content is not None and not isinstance(content, msgspec.Raw):  # a result may be without
            self._note_broken(content)
        result = read_result(block, record, external=is_external(tool or ""))
        draft = self._draft(_RESULT, _TOOL, result.text)
        draft.call_id, draft.tool, draft.external = call_id, tool, is_external(tool or "")
        draft.status, draft.exit_code = result.status, result.exit_code
        draft.session = started_session(result.text, record)
        if tool in AGENT_TOOLS and result.status is _OK and (report := read_report(result.text)):
            draft.kind, draft.speaker, draft.text = EventKind.REPORT, Speaker.OTHER_AGENT, report
        elif tool in QUESTION_TOOLS and result.status is _OK and (said := read_answers(result.text, record)):
            draft.kind, draft.speaker, draft.text, draft.status = EventKind.PROMPT, Speaker.USER, said, None
        self.sequencer.push(draft)
        if result.said and not is_the_programs(record):
            self._prompts.append(result.said[:MAX_TEXT_CHARS])
            self._say(EventKind.PROMPT, Speaker.USER, result.said)
        return result.status

    # --- assistant lines

    def _read_assistant(self, record: Record) -> None:
        self._main_lines = True
        self._talk_lines += 1
        message = table(record.get("message"))
        content = message.get("content")
        self._note_broken(content)
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if is_set(record, "isApiErrorMessage") or message.get("model") == _ERROR_MODEL:
            self._read_synthetic(result_text(blocks))
            return
        for block in blocks if isinstance(blocks, list) else []:
            self._read_block(table(block), message.get("stop_reason"))

    def _read_synthetic(self, text: str) -> None:
        """Read a line that the program wrote in the assistant's place: an error, as a rule."""
        if text.startswith("[Request interrupted by user"):
            self._say(EventKind.INTERRUPTED, Speaker.USER, text)
        elif text.strip() and text.strip() != _NO_ANSWER:
            self._say(EventKind.FAILED_TURN, Speaker.HARNESS, text)

    def _read_block(self, block: Record, stop_reason: Any) -> None:
        kind = name_of(block.get("type"))
        if kind == "text":
            self._read_answer(str(block.get("text") or ""), stop_reason)
        elif kind in _CALLS:
            self._read_call(block)
        elif isinstance(kind, str) and kind.endswith("_tool_result"):
            draft = self._draft(EventKind.TOOL_RESULT, Speaker.TOOL, result_text(block.get("content")))
            draft.call_id, draft.tool = text_or_none(block.get("tool_use_id")), kind.removesuffix("_tool_result")
            draft.status, draft.external = ToolStatus.UNKNOWN, True
            self.sequencer.push(draft)
        elif kind is not None and kind not in _SILENT_BLOCKS:
            self.counts.unknown(f"assistant/{kind}")

    def _read_answer(self, text: str, stop_reason: Any) -> None:
        if not text.strip() or text.strip() == "(no content)":
            return
        draft = self._draft(EventKind.COMMENTARY, Speaker.ASSISTANT, text)
        if stop_reason == "end_turn":
            draft.kind = EventKind.FINAL_ANSWER
        elif stop_reason != "tool_use":
            # Streamed lines were written before the model had ended: what follows tells.
            draft.doubt = Doubt.ANSWER
        self.sequencer.push(draft)

    def _read_call(self, block: Record) -> None:
        tool = text_or_none(block.get("name")) or ""
        call_id = text_or_none(block.get("id"))
        given = table(block.get("input"))
        tool = full_name(tool, block.get("input"))
        if self._line is not None and not (tool and isinstance(block.get("input"), (dict, msgspec.Raw))):
            self.counts.broken(self._line)
        if call_id is not None:
            self._tools[call_id] = tool
            if len(self._tools) > _REMEMBERED:
                del self._tools[next(iter(self._tools))]
        draft = self._draft(_CALL, _ASSISTANT, call_text(tool, given))
        draft.call_id, draft.tool, draft.command = call_id, tool, command_of(tool, given)
        draft.paths, draft.session = paths_of(tool, given), session_of(given)
        draft.external = is_external(tool) or block.get("type") == "mcp_tool_use"
        self.sequencer.push(draft)

    def _note_broken(self, content: Any) -> None:
        if self._line is not None and is_broken_content(content, bare_texts=False):
            self.counts.broken(self._line)

    # --- drafts

    def _draft(self, kind: EventKind, speaker: Speaker, text: str) -> Draft:
        if self._line is None:
            raise AssertionError("a draft is made while a line is read")
        return Draft(line=self._line, kind=kind, speaker=speaker, text=text, at=self._at, cwd=self._cwd)

    def _say(self, kind: EventKind, speaker: Speaker, text: str) -> None:
        self.sequencer.push(self._draft(kind, speaker, text))
