"""The grammar of Codex rollouts, from bare response items (2025) to paginated ones (2026).

The response items are the talk. ``event_msg`` lines repeat it and are never counted beside it; they are used for what
only they say: that a turn was stopped or failed, how a command ended, which shell commands the person ran, and which
``role: user`` messages are a person's. A compacted line's replacement history repeats earlier talk: never read.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping
from enum import Enum
from typing import Any, ClassVar, TypeVar

from memory_pipeline.records import EventKind, Speaker, ToolStatus
from memory_pipeline.rollouts.codex_names import (
    CALLS,
    OUTPUTS,
    PLAIN_TOOLS,
    SILENT_EVENTS,
    SILENT_ITEMS,
    SILENT_LINES,
    SILENT_TURN_ITEMS,
    TURN_ENDS,
    TURN_FAILURES,
    TURN_STARTS,
)
from memory_pipeline.rollouts.codex_session import codex_source, parent_of, rate_limit
from memory_pipeline.rollouts.codex_tools import (
    QUESTION_TOOLS,
    REPORT_TOOLS,
    Call,
    Outcome,
    command_line,
    read_answers,
    read_call,
    read_output,
    reported_outcome,
)
from memory_pipeline.rollouts.codex_words import is_harness_text, read_user_message, says_the_same
from memory_pipeline.rollouts.grammar import (
    PASSED,
    Doubt,
    Draft,
    LineCounts,
    Record,
    Sequencer,
    SessionNotes,
    Wanted,
    is_broken_content,
    name_of,
    table,
    text_or_none,
)
from memory_pipeline.rollouts.jsonl import RawLine, SkippedLines, decode_line
from memory_pipeline.rollouts.paths import plain_path
from memory_pipeline.rollouts.times import to_seconds

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")

#: What stands in a log in which the person undid turns.
ROLLED_BACK = b'"thread_rolled_back"'
_COMPACTED = "(the context was compacted here)"
_TALK_LINES = ("response_item", "event_msg", "inter_agent_communication")
_REMEMBERED = 256  # open calls and the like; a log that leaves more open loses the oldest
_CWD_TAG = re.compile(r"<cwd>(.*?)</cwd>|Current working directory: (.*)")

# The beginning of an enveloped line: minute, seconds, and the types of line and payload in one piece.
_HEAD = re.compile(
    rb'\{"timestamp":"([^"]{17})([0-5]\d\.\d+)Z",(?:"ordinal":\d+,)?"type":"(\w+(?:","payload":\{"type":"\w+)?)"'
)
# Unescaped, inside a line: of a second record, however it is spelled.
_NEXT_RECORD = (b'{"timestamp":"', b'"response_item"', b'"event_msg"')
_NEXT_BARE_MESSAGE = b'"role"'  # compacted history is full of it
_RATE_LIMITS = re.compile(rb'"used_percent":\s*\d')
_TURN_ITEM = re.compile(rb',"thread_id":"[\w-]*","turn_id":"[\w-]*","item":\{"type":"(\w+)"(?:,"id":"([\w-]+)")?')
_RUN_BY = re.compile(rb'"source":"(\w+)","status":"(\w+)"')
_RUN_END = re.compile(
    rb'",(?:"exit_code":(-?\d{1,9}),)?"duration":\{"secs":\d+,"nanos":\d+\}\},'
    rb'"started_at_ms":\d+,"completed_at_ms":\d+\}\}\Z'
)
_RUN_END_BYTES = 200
_MARKS_BYTES = 400  # what the harness adds to an item stands at the line's end
_CALL_NAME = re.compile(rb'(?:,"id":"[\w-]*")?(?:,"status":"\w+")?,"name":"(\w+)","(?:arguments|call_id)":"')
_CALL_ID = re.compile(rb'"call_id":"([\w-]+)"')
_OUTPUT_OF = re.compile(rb'(?:,"id":"[\w-]*")?,"call_id":"([\w-]+)","output":"')


class _Pass(Enum):
    """Why a line may be passed by."""

    SILENT = 1
    TOKEN_COUNT = 2
    TURN_ITEM = 3
    CALL = 4
    OUTPUT = 5
    COMPACTED = 6


def _passes() -> Mapping[bytes, _Pass]:
    """List the beginnings of lines that may be passed by: line type, and payload type where it stands first."""
    passes = {name.encode(): _Pass.SILENT for name in SILENT_LINES}
    for line, names in (("response_item", SILENT_ITEMS), ("event_msg", SILENT_EVENTS)):
        passes |= {f'{line}","payload":{{"type":"{name}'.encode(): _Pass.SILENT for name in names}
    passes[b"compacted"] = _Pass.COMPACTED
    passes[b'event_msg","payload":{"type":"token_count'] = _Pass.TOKEN_COUNT
    passes[b'event_msg","payload":{"type":"item_completed'] = _Pass.TURN_ITEM
    for name in ("function_call", "custom_tool_call"):
        passes[f'response_item","payload":{{"type":"{name}'.encode()] = _Pass.CALL
        passes[f'response_item","payload":{{"type":"{name}_output'.encode()] = _Pass.OUTPUT
    return passes


_PASSES = _passes()
_SILENT_TURN_ITEMS = frozenset(name.encode() for name in SILENT_TURN_ITEMS)
_PLAIN_TOOLS = frozenset(name.encode() for name in PLAIN_TOOLS)


def _has_next_record(data: bytes, position: int, end: int, why: _Pass) -> bool:
    if why is not _Pass.COMPACTED and data.find(_NEXT_BARE_MESSAGE, position, end) >= 0:
        return True
    return any(data.find(mark, position, end) >= 0 for mark in _NEXT_RECORD)


class CodexGrammar:
    """Reads one rollout of Codex. See ``Grammar`` for what each method promises."""

    can_undo: ClassVar[bool] = True

    def __init__(self, wanted: Wanted) -> None:
        self.notes = SessionNotes()
        self.counts = LineCounts(skipped=wanted.skipped)
        self.sequencer = Sequencer(undone=wanted.undone, digest=wanted.digest)
        self._digest = wanted.digest
        self._cwd: str | None = None
        self._meta_seen = False
        self._calls: dict[str, Call] = {}
        self._plain_calls: dict[bytes, None] = {}  # open calls whose results tell no fact
        self._outcomes: dict[str, Outcome] = {}
        self._events_name_prompts = False  # user_message events were seen: they decide who spoke
        self._told: deque[Draft] = deque(maxlen=8)  # prompts that an event told, and no message said so far
        self._spoken: deque[str] = deque(maxlen=8)  # prompts that messages said, and no event told so far
        self._shells: deque[tuple[str, str]] = deque(maxlen=8)  # (how it was told, command), told once so far
        self._interrupted = False  # in this turn already: the event and the message say it twice
        self._losses = 0  # lines lost so far
        self._stream_error: Draft | None = None
        self._tasks = 0  # tasks that were started so far
        self._limits: bytes | None = None  # the last line with rate limits that was passed by
        self._line: RawLine | None = None
        self._at: float | None = None

    def glance(self, data: bytes, start: int, end: int) -> Record | None:
        """Pass by what repeats or measures: compacted history, world state, token counts, reasoning."""
        head = _HEAD.match(data, start, end)
        if head is None:
            return None
        minute, second, kind = head.groups()
        why = _PASSES.get(kind)
        if why is None or _has_next_record(data, head.end(), end, why):
            return None
        if why is _Pass.TURN_ITEM:
            if not self._passes_turn_item(data, head.end(), end):
                return None
        elif why is _Pass.CALL:
            if self._digest is None or not self._passes_call(data, start, head.end(), end):
                return None
        elif why is _Pass.OUTPUT:
            if self._digest is None or not self._passes_output(data, start, head.end(), end):
                return None
        elif why is _Pass.TOKEN_COUNT:
            if _RATE_LIMITS.search(data, head.end(), end):
                self._limits = data[start:end]
        elif why is _Pass.COMPACTED:
            return {"timestamp": (minute + second + b"Z").decode("ascii", "replace"), "type": "compacted"}
        self.notes.note_stamp(minute, second)
        self.counts.understood_lines += 1
        return PASSED

    def _passes_turn_item(self, data: bytes, position: int, end: int) -> bool:
        item = _TURN_ITEM.match(data, position, end)
        if item is None:
            return False
        kind, call_id = item.groups()
        if kind in _SILENT_TURN_ITEMS:
            return True
        if kind != b"CommandExecution" or call_id is None:
            return False
        run = _RUN_BY.search(data, item.end(), end)
        if run is None or run.group(1).lower().startswith(b"user"):
            return False
        if self._digest is None:
            ended = _RUN_END.search(data, max(item.end(), end - _RUN_END_BYTES), end)
            if ended is None:
                return False
            code = ended.group(1)
            report = {"status": run.group(2).decode(), "exit_code": None if code is None else int(code)}
            self._note_outcome(call_id.decode(), reported_outcome(report))
        return True

    def _passes_call(self, data: bytes, start: int, position: int, end: int) -> bool:
        name = _CALL_NAME.match(data, position, end)
        if name is None or name.group(1) not in _PLAIN_TOOLS or data.find(b'"namespace":', name.end(), end) >= 0:
            return False
        call = _CALL_ID.search(data, name.start(), end)
        if call is None or not self._passes_talk(data, start, end):
            return False
        _remember(self._plain_calls, call.group(1), None)
        return True

    def _passes_output(self, data: bytes, start: int, position: int, end: int) -> bool:
        output = _OUTPUT_OF.match(data, position, end)
        if output is None or output.group(1) not in self._plain_calls or not self._passes_talk(data, start, end):
            return False
        del self._plain_calls[output.group(1)]
        return True

    def _passes_talk(self, data: bytes, start: int, end: int) -> bool:
        """Take an ordinary tool's line in by its bytes, unless it decides what something before it was."""
        if self._told or not self.sequencer.is_settled or self._digest is None:
            return False
        if data.find(b'"compaction_output":', max(start, end - _MARKS_BYTES), end) >= 0:
            return False
        self._stream_error = None
        self._digest.add_from_tool(data, start, end)
        return True

    def read(self, record: Record, line: RawLine) -> None:
        """Read one record of any age."""
        self._line = line
        self._at = self.notes.note_time(record.get("timestamp"))
        kind = name_of(record.get("type", record.get("record_type")))
        payload = record.get("payload")
        if kind is None and not self._meta_seen and "id" in record and "timestamp" in record:
            self._read_meta(record)
        elif kind == "session_meta":
            self._read_meta(table(payload))
        elif kind == "turn_context":
            self._note_cwd(table(payload).get("cwd"))
            self.counts.understood(line)
        elif kind in _TALK_LINES and not isinstance(payload, dict):
            self._broken()
        elif kind == "event_msg":
            self._read_event(table(payload))
        elif kind == "response_item":
            # Newest lines mark a compaction's own output beside the payload.
            if table(record.get("metadata")).get("compaction_output") is True:
                self.counts.understood(line)
            else:
                self._read_item(table(payload), enveloped=True)
        elif kind == "compacted":
            self._talk(EventKind.COMPACTED, Speaker.HARNESS, _COMPACTED)
        elif kind == "inter_agent_communication":
            self._read_agent_message(table(payload))
        elif kind in SILENT_LINES:
            self.counts.understood(line)
        elif payload is None and kind != "error":
            self._read_item(record, enveloped=False)
        elif kind is None and payload is not None and ("type" in record or "record_type" in record):
            self._broken()
        else:
            self.counts.unknown(kind)

    def read_inherited(self, line: RawLine) -> None:
        """Count a copied line. The file's own meta stands before the copies, and is read."""
        if self._meta_seen:
            self.counts.understood(line)
            return
        for record in decode_line(line, SkippedLines()):
            if not self._meta_seen:
                self.read(record, line)
        # Copies carry the time of the fork; so does the meta.
        self.notes.started_at = self.notes.last_at = None

    def record_hashes(self) -> bytes:
        """Give nothing: the records of Codex have no ids of their own."""
        return b""

    def close(self) -> None:
        """End the last turn."""
        self._flush_stream_error()
        self._settle()
        self.sequencer.end_turn()
        self._read_passed_limits()
        self.notes.settle_stamps()

    # --- what the session says about itself

    def _read_meta(self, meta: Record) -> None:
        if self._line is not None:
            self.counts.understood(self._line)
        notes = self.notes
        thread_id = text_or_none(meta.get("id"))
        if thread_id is not None and notes.thread_id in (None, thread_id):
            # Repeats of the file's own meta bring later settings; the first one is its identity.
            notes.memory_mode = text_or_none(meta.get("memory_mode")) or notes.memory_mode
        if self._meta_seen:
            return
        notes.disabled_from_start = meta.get("memory_mode") == "disabled"
        self._meta_seen = True
        git = table(meta.get("git"))
        notes.thread_id = thread_id
        notes.note_time(meta.get("timestamp"))
        notes.git_remote = text_or_none(git.get("repository_url"))
        notes.git_branch = text_or_none(git.get("branch"))
        notes.model_provider = text_or_none(meta.get("model_provider"))
        notes.source = codex_source(meta)
        notes.forked_from = parent_of(meta)
        self._note_cwd(meta.get("cwd"))

    def _note_cwd(self, written: Any) -> None:
        folder = plain_path(written)
        if folder is not None:
            self._cwd = folder
            self.notes.cwd = self.notes.cwd or folder

    def _read_rate_limits(self, payload: Record, at: float | None) -> None:
        limits = table(payload.get("rate_limits"))
        if at is None:
            return
        read = tuple(limit for name in ("primary", "secondary") if (limit := rate_limit(table(limits.get(name)), at)))
        self.notes.rate_limits = read or self.notes.rate_limits

    def _read_passed_limits(self) -> None:
        """Decode the last line with rate limits that was passed by: only the last one counts."""
        if self._limits is not None:
            raw, self._limits = self._limits, None
            for record in decode_line(RawLine(0, 0, raw), SkippedLines()):
                self._read_rate_limits(table(record.get("payload")), to_seconds(record.get("timestamp")))

    # --- event_msg lines

    def _read_event(self, payload: Record) -> None:
        kind = name_of(payload.get("type"))
        if kind is None:
            self._broken()
            return
        self._understood()
        if kind in SILENT_EVENTS or str(kind).startswith("collab_"):
            return
        if kind == "token_count":
            self._read_passed_limits()
            self._read_rate_limits(payload, self._at)
        elif kind == "user_message":
            if not isinstance(payload.get("message"), str):
                self._broken()
            elif payload.get("kind") in (None, "plain"):
                self._match_prompt(payload["message"])
        elif kind in TURN_STARTS:
            self._interrupted = False
            self._tasks += 1
        elif kind == "thread_rolled_back":
            self._roll_back(payload.get("num_turns"))
        elif kind in TURN_ENDS:
            self._end_turn(payload)
        elif kind == "turn_aborted":
            self._turn_aborted(str(payload.get("reason") or "interrupted"))
        elif kind in TURN_FAILURES:
            self._stream_error = None
            self._talk(EventKind.FAILED_TURN, Speaker.HARNESS, _message_of(payload))
        elif kind == "stream_error":
            # The program tries again; only when nothing follows did the turn fail.
            self._stream_error = self._draft(EventKind.FAILED_TURN, Speaker.HARNESS, _message_of(payload))
        elif kind in ("exec_command_end", "patch_apply_end", "mcp_tool_call_end"):
            self._read_ended_call(payload, str(payload.get("call_id") or ""))
        elif kind == "item_completed":
            item = table(payload.get("item"))
            if name_of(item.get("type")) is None:
                self._broken()
            else:
                self._read_turn_item(item)
        elif kind == "thread_settings_applied":
            settings = table(payload.get("thread_settings"))
            self._note_cwd(settings.get("cwd"))
            self.notes.model_provider = self.notes.model_provider or text_or_none(settings.get("model_provider_id"))
        else:
            self._unknown(f"event_msg/{kind}")

    def _read_turn_item(self, item: Record) -> None:
        kind = name_of(item.get("type"))
        if kind in SILENT_TURN_ITEMS:
            return
        if kind == "UserMessage":
            blocks = item.get("content")
            if is_broken_content(blocks, bare_texts=False):
                self._broken()
                return
            texts = [str(table(block).get("text") or "") for block in (blocks if isinstance(blocks, list) else [])]
            self._match_prompt("\n".join(text for text in texts if text))
        elif kind in ("CommandExecution", "FileChange", "McpToolCall"):
            self._read_ended_call(item, str(item.get("id") or ""))
        else:
            self._unknown(f"item_completed/{kind}")

    def _read_ended_call(self, report: Record, call_id: str) -> None:
        source = str(report.get("source") or "").lower().replace("_", "")
        if source == "usershell":
            command = command_line(report.get("command")) or ""
            output = report.get("aggregated_output", report.get("stdout"))
            self._person_ran("event", command, str(output or ""), reported_outcome(report), call_id)
            return
        self._note_outcome(call_id, reported_outcome(report))

    def _note_outcome(self, call_id: str, outcome: Outcome) -> None:
        if call_id not in self._calls:
            # What a code-mode script ran has an id of its own; it belongs to the script that is running.
            scripts = [open_id for open_id, call in self._calls.items() if call.is_script]
            if not scripts:
                return
            call_id = scripts[-1]
            earlier = self._outcomes.get(call_id)
            if earlier is not None and earlier.status not in (ToolStatus.OK, ToolStatus.UNKNOWN):
                outcome = earlier
        _remember(self._outcomes, call_id, outcome)

    def _roll_back(self, count: Any) -> None:
        """Take back the person's last turns: what was said in them does not stand."""
        self._settle()
        self.sequencer.end_turn()
        self._stream_error = None
        if self._line is not None and isinstance(count, int):
            self.sequencer.roll_back(count, self._line)

    def _end_turn(self, payload: Record) -> None:
        self._settle()
        if payload.get("error"):
            self._stream_error = None
            self._talk(EventKind.FAILED_TURN, Speaker.HARNESS, _message_of(payload))
        else:
            self._flush_stream_error()
        self.sequencer.end_turn()

    def _turn_aborted(self, reason: str) -> None:
        self._stream_error = None
        if reason == "review_ended" or self._interrupted:
            return
        if reason not in ("interrupted", "replaced"):
            self._talk(EventKind.FAILED_TURN, Speaker.HARNESS, f"turn aborted: {reason}")
            return
        self._talk(EventKind.INTERRUPTED, Speaker.USER, "(the person stopped the turn)")
        self._interrupted = True

    # --- response items

    def _read_item(self, payload: Record, *, enveloped: bool) -> None:
        kind = name_of(payload.get("type"))
        if kind is None and (enveloped or "type" in payload):
            self._broken()
        elif kind in SILENT_ITEMS:
            self._understood()
        elif kind == "message":
            self._read_message(payload)
        elif kind in CALLS:
            self._read_call(payload)
        elif kind in OUTPUTS:
            self._read_output(payload)
        elif kind == "web_search_call":
            self._read_web_search(payload)
        elif kind == "agent_message":
            self._read_agent_message(payload)
        else:
            self._unknown(kind if "payload" in payload or kind is None else f"response_item/{kind}")

    def _read_message(self, payload: Record) -> None:
        role = name_of(payload.get("role"))
        if role is None:
            self._broken()
        elif role == "user":
            self._read_user(payload)
        elif role == "assistant":
            passthrough = table(payload.get("internal_chat_message_metadata_passthrough"))
            if table(payload.get("metadata")).get("compaction_output") or passthrough.get("compaction_output"):
                self._understood()
                return
            self._read_answer(payload)
        elif role in ("developer", "system"):
            text = self._text_of(payload.get("content"))
            self._push(self._draft(EventKind.CONTEXT, Speaker.HARNESS, text))
        else:
            self._unknown(f"message/{role}")

    def _read_answer(self, payload: Record) -> None:
        text = self._text_of(payload.get("content"))
        if not text.strip():
            return
        phase = payload.get("phase")
        draft = self._draft(EventKind.COMMENTARY, Speaker.ASSISTANT, text)
        if phase == "final_answer":
            draft.kind = EventKind.FINAL_ANSWER
        elif phase != "commentary":
            draft.doubt = Doubt.ANSWER
        self._talk_draft(draft)

    def _text_of(self, content: Any) -> str:
        """Read the text of a message; what can't be read of it is counted."""
        text = _joined_text(content)
        if is_broken_content(content, bare_texts=True):
            self._broken()
        if text.strip() or isinstance(content, (str, list)):
            self._understood()
        return text

    def _read_user(self, payload: Record) -> None:
        content = payload.get("content")
        if not isinstance(content, (str, list)):
            self._broken()
            return
        self._understood()
        self._mark_losses()
        if is_broken_content(content, bare_texts=True):
            self._broken()
            self._losses = self.counts.skipped.counts.total()  # the rest of it is read: nothing behind it was lost
        message = read_user_message(payload)
        if message.context:
            if self._cwd is None and (folder := _CWD_TAG.search(message.context)):
                self._note_cwd((folder.group(1) or folder.group(2)).strip())
            self._push(self._draft(EventKind.CONTEXT, Speaker.HARNESS, message.context))
        if message.reports:
            self._push(self._draft(EventKind.REPORT, Speaker.OTHER_AGENT, message.reports))
        if message.aborted:
            self._turn_aborted("interrupted")
        if message.shell is not None:
            command, output = message.shell
            text, outcome = _shell_result(output)
            self._person_ran("message", command, text, outcome, f"user-shell-{self._line_number()}")
        if message.spoken.strip():
            self._read_spoken(message.spoken, sure=message.sure)

    def _read_spoken(self, text: str, *, sure: bool) -> None:
        self._mark_losses()
        draft = self._draft(EventKind.PROMPT, Speaker.USER, text)
        draft.task = self._tasks
        told = next((told for told in self._told if says_the_same(text, told.text)), None)
        if told is not None:
            self._told.remove(told)
        elif sure:
            self._spoken.append(text)
        else:
            draft.doubt = Doubt.PROMPT
        if draft.doubt is Doubt.NONE:
            self._settle()
            self._open_turn()
        self.sequencer.push(draft)

    def _match_prompt(self, told: str) -> None:
        """Use an event that repeats a prompt to find which message in doubt is the person's."""
        if is_harness_text(told.strip()):
            return
        self._events_name_prompts = True
        self._mark_losses()
        for text in self._spoken:
            if says_the_same(text, told):
                self._spoken.remove(text)
                return
        for draft in self.sequencer.in_doubt():
            if says_the_same(draft.text, told):
                self._open_turn()
                self.sequencer.decide(draft, spoken=True)
                self.sequencer.settle_prompts(spoken=False)
                return
        if told.strip():
            draft = self._draft(EventKind.PROMPT, Speaker.USER, told)
            draft.task = self._tasks
            self._told.append(draft)

    def _open_turn(self) -> None:
        self._flush_stream_error()
        self._interrupted = False

    def _read_call(self, payload: Record) -> None:
        call = read_call(payload)
        call_id = text_or_none(payload.get("call_id")) or text_or_none(payload.get("id"))
        if call_id is not None:
            _remember(self._calls, call_id, call)
            if not call.external and call.tool not in QUESTION_TOOLS and call.tool not in REPORT_TOOLS:
                _remember(self._plain_calls, call_id.encode("utf-8", "replace"), None)
        draft = self._draft(EventKind.TOOL_CALL, Speaker.ASSISTANT, call.text)
        draft.call_id, draft.tool, draft.command = call_id, call.tool, call.command
        draft.paths, draft.external = call.paths, call.external
        self._talk_draft(draft)

    def _read_output(self, payload: Record) -> None:
        call_id = text_or_none(payload.get("call_id"))
        call = self._calls.pop(call_id, None) if call_id else None
        self._plain_calls.pop((call_id or "").encode("utf-8", "replace"), None)
        reported = self._outcomes.pop(call_id, None) if call_id else None
        output = payload.get("output", payload.get("tools", payload.get("result")))
        draft = self._draft(EventKind.TOOL_RESULT, Speaker.TOOL, "")
        draft.call_id, draft.tool = call_id, call.tool if call else None
        draft.external = call.external if call else payload.get("type") == "mcp_tool_call_output"
        if call is not None and call.tool in QUESTION_TOOLS and (answers := _answers_in(output)):
            draft.kind, draft.speaker, draft.text = EventKind.PROMPT, Speaker.USER, answers
            self._talk_draft(draft)
            return
        draft.text, outcome = read_output(output)
        outcome = outcome.with_events(reported)
        draft.status, draft.exit_code = outcome.status, outcome.exit_code
        if call is not None and call.tool in REPORT_TOOLS:
            draft.kind, draft.speaker = EventKind.REPORT, Speaker.OTHER_AGENT
        self._talk_draft(draft)

    def _read_web_search(self, payload: Record) -> None:
        action = table(payload.get("action"))
        wanted = [str(action[name]) for name in ("query", "url", "pattern") if action.get(name)]
        draft = self._draft(EventKind.TOOL_CALL, Speaker.ASSISTANT, " ".join(wanted))
        draft.call_id, draft.tool, draft.external = text_or_none(payload.get("id")), "web_search", True
        self._talk_draft(draft)

    def _read_agent_message(self, payload: Record) -> None:
        text = self._text_of(payload.get("content", payload.get("message")))
        if text.strip():
            self._talk(EventKind.REPORT, Speaker.OTHER_AGENT, text)

    def _person_ran(self, told_by: str, command: str, output: str, outcome: Outcome, call_id: str) -> None:
        """Yield the person's own shell command and its result, once, though event and message both tell it."""
        other = "message" if told_by == "event" else "event"
        if (other, command) in self._shells:
            self._shells.remove((other, command))
            return
        self._shells.append((told_by, command))
        shell = self._draft(EventKind.SHELL, Speaker.USER, command)
        shell.call_id, shell.command = call_id, command
        self._talk_draft(shell)
        result = self._draft(EventKind.TOOL_RESULT, Speaker.TOOL, output)
        result.call_id, result.status, result.exit_code = call_id, outcome.status, outcome.exit_code
        self._talk_draft(result)

    # --- drafts

    def _draft(self, kind: EventKind, speaker: Speaker, text: str) -> Draft:
        if self._line is None:
            raise AssertionError("a draft is made while a line is read")
        return Draft(line=self._line, kind=kind, speaker=speaker, text=text, at=self._at, cwd=self._cwd)

    def _talk(self, kind: EventKind, speaker: Speaker, text: str) -> None:
        self._talk_draft(self._draft(kind, speaker, text))

    def _talk_draft(self, draft: Draft) -> None:
        """Push what is not a user message: whatever user message is still in doubt is decided before it."""
        self._understood()
        self._settle()
        if draft.speaker is Speaker.ASSISTANT or draft.kind is EventKind.TOOL_RESULT:
            self._stream_error = None
        self.sequencer.push(draft)

    def _push(self, draft: Draft) -> None:
        if draft.text.strip():
            self.sequencer.push(draft)

    def _settle(self) -> None:
        """Decide every message in doubt: where events name the prompts, one that none names is the harness's."""
        self._mark_losses()
        self.sequencer.settle_prompts(spoken=not self._events_name_prompts)
        while self._told:
            # No message said it: the event is the only record of this prompt.
            self._open_turn()
            self.sequencer.push(self._told.popleft())

    def _mark_losses(self) -> None:
        """Mark the newest message in doubt when a line was lost behind it: it may have been the event that names it."""
        losses = self.counts.skipped.counts.total() if self.counts.skipped.counts else 0
        if losses != self._losses:
            self._losses = losses
            for draft in self.sequencer.in_doubt()[:1]:
                draft.loss_behind = True

    def _flush_stream_error(self) -> None:
        if self._stream_error is not None:
            draft, self._stream_error = self._stream_error, None
            self.sequencer.push(draft)

    def _understood(self) -> None:
        if self._line is not None:
            self.counts.understood(self._line)

    def _broken(self) -> None:
        if self._line is not None:
            self.counts.broken(self._line)

    def _unknown(self, name: object) -> None:
        self.counts.unknown(name)

    def _line_number(self) -> int:
        return self._line.number if self._line is not None else 0


def _joined_text(content: Any) -> str:
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    texts = [block if isinstance(block, str) else table(block).get("text") for block in blocks]
    return "\n".join(text for text in texts if isinstance(text, str))


def _answers_in(output: Any) -> str | None:
    """Read answers to questions, whether the output is their JSON or blocks of text that hold it."""
    return read_answers(output) or read_answers(read_output(output)[0])


def _message_of(payload: Record) -> str:
    for value in (payload.get("message"), payload.get("error"), table(payload.get("error")).get("message")):
        if isinstance(value, str) and value.strip():
            return value
    return "(the turn failed)"


def _shell_result(output: str) -> tuple[str, Outcome]:
    """Read the result part of a ``<user_shell_command>`` message: exit code, duration, output."""
    head, mark, rest = output.partition("Output:\n")
    code = re.search(r"Exit code: (-?\d+)", head)
    if not mark or code is None:
        return read_output(output)
    number = int(code.group(1))
    return rest, Outcome(status=ToolStatus.OK if number == 0 else ToolStatus.FAILED, exit_code=number)


def _remember(kept: dict[_Key, _Value], key: _Key, value: _Value) -> None:
    kept[key] = value
    if len(kept) > _REMEMBERED:
        del kept[next(iter(kept))]
