"""The grammar of Codex rollouts, from bare response items (2025) to paginated ones (2026).

The response items are the talk. ``event_msg`` lines repeat it and are never counted beside it; they are used for what
only they say: that a turn was stopped or failed, how a command ended, which shell commands the person ran, and which
``role: user`` messages are a person's. A compacted line's replacement history repeats earlier talk: never read.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple, TypedDict, TypeVar

import msgspec

from memory_pipeline.records import EventKind, Source, Speaker, ToolStatus
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
    command_outcome,
    is_broken_call,
    is_broken_output,
    plain_call,
    read_answers,
    read_call,
    read_output,
    reported_outcome,
    started_session,
    told_output,
)
from memory_pipeline.rollouts.codex_words import (
    UserMessage,
    is_harness_text,
    read_user_message,
    says_the_same,
    typed_part,
)
from memory_pipeline.rollouts.grammar import (
    Doubt,
    Draft,
    LineCounts,
    Record,
    Sequencer,
    SessionNotes,
    Wanted,
    has_words,
    is_broken_content,
    is_undecoded,
    name_of,
    table,
    text_or_none,
)
from memory_pipeline.rollouts.jsonl import (
    LONG_LINE_BYTES,
    MAX_TEXT_CHARS,
    MEDIA_RUN_BYTES,
    UNLIKE_SHAPE,
    LineBlock,
    RawLine,
    SkippedLines,
    cut_text,
    decode_line,
    with_texts_cut,
)
from memory_pipeline.rollouts.paths import folder_of
from memory_pipeline.rollouts.times import to_seconds
from memory_pipeline.rollouts.wrappers import is_set

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")

#: What stands in a log in which the person undid turns.
ROLLED_BACK = b'"thread_rolled_back"'
# Named once: to look a member up in its enum takes longer than what is done with it, for each call and output of a log.
_CALL, _RESULT = EventKind.TOOL_CALL, EventKind.TOOL_RESULT
_ASSISTANT, _TOOL = Speaker.ASSISTANT, Speaker.TOOL
_UNTOLD = Outcome(status=ToolStatus.UNKNOWN)
_COMPACTED = "(the context was compacted here)"
_TALK_LINES = ("response_item", "event_msg", "inter_agent_communication")
_META_MARK, _META_MARK_WITHIN = b'"session_meta"', 200  # bytes from the line's beginning
_REMEMBERED = 256  # open calls and the like; a log that leaves more open loses the oldest
_OUTPUTS_KEPT = 8  # a few calls run at once; each output kept holds a block of lines
_CWD_TAG = re.compile(r"<cwd>(.*?)</cwd>|Current working directory: (.*)")


# What is taken from a line when it is looked at. What no shape names is skipped: compacted history, world state,
# encrypted reasoning, the second copy of a command's output.


class _Item(TypedDict, total=False):
    type: str
    id: str
    source: str
    status: str
    exit_code: int | None


class _Payload(TypedDict, total=False):
    type: str
    id: Any
    call_id: Any
    name: str
    namespace: Any
    item: _Item
    rate_limits: msgspec.Raw
    arguments: Any
    input: Any
    output: Any


class _LeanPayload(_Payload, total=False):
    arguments: msgspec.Raw  # not decoded: no fact hangs on what an ordinary tool was told and answered
    input: msgspec.Raw
    output: msgspec.Raw


class _Marks(TypedDict, total=False):
    compaction_output: Any


class _Line(TypedDict, total=False):
    timestamp: Any
    type: str
    payload: _Payload
    metadata: _Marks | None


class _LeanLine(_Line, total=False):
    payload: _LeanPayload


_LINE = msgspec.json.Decoder(_Line)
_LEAN_LINE = msgspec.json.Decoder(_LeanLine)
_RATE_LIMITS = re.compile(rb'"used_percent":\s*\d')


# What a line raises that is not one object of that shape, or has no payload.
_UNLIKE_LINE = (*UNLIKE_SHAPE, KeyError)
_NONE: frozenset[str] = frozenset()
_SILENT = {"response_item": SILENT_ITEMS, "event_msg": SILENT_EVENTS}
_GLANCED_CALLS = frozenset({"function_call", "custom_tool_call"})
_GLANCED = _GLANCED_CALLS | {"function_call_output", "custom_tool_call_output"}


class _Told(NamedTuple):
    """Where an event tells what a command printed."""

    block: LineBlock
    position: int


class CodexGrammar:
    """Reads one rollout of Codex. See ``Grammar`` for what each method promises."""

    can_undo: ClassVar[bool] = True

    def __init__(self, wanted: Wanted) -> None:
        self.notes = SessionNotes()
        self.counts = LineCounts(skipped=wanted.skipped)
        self.sequencer = Sequencer(undone=wanted.undone, digest=wanted.digest)
        self._is_lean = wanted.digest is not None
        self._cwd: str | None = None
        self._meta_seen = False
        self._calls: dict[str, Call] = {}
        self._outcomes: dict[str, Outcome] = {}
        self._told_outputs: dict[str, _Told] = {}  # what an event told of an open call's output
        self._filled: deque[str] = deque(maxlen=_OUTPUTS_KEPT)  # calls whose output was taken from there
        self._events_name_prompts = False  # user_message events were seen: they decide who spoke
        self._told: deque[Draft] = deque(maxlen=8)  # prompts that an event told, and no message said so far
        self._spoken: deque[str] = deque(maxlen=8)  # prompts that messages said, and no event told so far
        self._shells: deque[tuple[str, str]] = deque(maxlen=8)  # (how it was told, command), told once so far
        self._interrupted = False  # in this turn already: the event and the message say it twice
        self._told_answers: deque[Draft] = deque(maxlen=2)  # what an item told, and no message said so far
        self._said_answer = ""  # the last one that a message said
        self._tells_first = False  # whether this log's events stand before the messages that they repeat
        self._losses = 0  # lines lost so far
        self._stream_error: Draft | None = None
        self._tasks = 0  # tasks that were started so far
        self._limits: bytes | None = None  # the last line with rate limits that was passed by
        self._line: RawLine | None = None
        self._at: float | None = None

    def glances(self, block: LineBlock, begin: int) -> Iterator[tuple[int, Record | None]]:
        """Pass by what repeats or measures: compacted history, world state, token counts, reasoning."""
        decode = _LEAN_LINE.decode if self._is_lean else _LINE.decode
        times: list[Any] = []  # of the lines that are passed by
        for position, raw in enumerate(block.raws[begin:], begin):
            try:
                record = decode(raw)
                payload = record["payload"]
            except _UNLIKE_LINE:
                yield position, None
                continue
            kind, what = record.get("type", ""), payload.get("type")
            if what in _SILENT.get(kind, _NONE) or kind in SILENT_LINES:
                times.append(record.get("timestamp"))
            elif kind == "response_item" and what in _GLANCED:
                if "metadata" in record or (self._is_lean and not self._is_plain(payload)):
                    yield position, None
                elif self._is_lean and self._passes_tool(payload, raw):
                    times.append(record.get("timestamp"))
                else:
                    self._read_tool(record, block.line_at(position))
            elif kind == "event_msg" and self._passes_event(what, payload, block, position):
                times.append(record.get("timestamp"))
            else:
                yield position, record if kind == "compacted" else None
        self.notes.note_times(times)
        self.counts.understood_lines += len(times)

    def _read_tool(self, record: _Line, line: RawLine) -> None:
        """Read a call or an output, the most frequent lines of talk, by the shortest way."""
        if len(line.raw) >= LONG_LINE_BYTES:
            record = with_texts_cut(record)
        self._line = line
        self._at = self.notes.note_time(record.get("timestamp"))
        payload = record["payload"]
        if payload["type"] in _GLANCED_CALLS:
            self._read_call(payload)
        else:
            self._read_output(payload)

    def _passes_tool(self, payload: _Payload, raw: bytes) -> bool:
        """Note of a plain call or output what ``read`` would, unless something waits for what follows it."""
        if self._told or self._told_answers or self.counts.skipped.counts or not self.sequencer.is_settled:
            return False
        if len(raw) > MEDIA_RUN_BYTES:
            return False
        call_id = text_or_none(payload.get("call_id")) or text_or_none(payload.get("id"))
        if call_id is not None and payload.get("type") in _GLANCED_CALLS:
            _remember(self._calls, call_id, plain_call(payload["name"]))
        elif call_id is not None:
            self._calls.pop(call_id, None)
            self._outcomes.pop(call_id, None)
            self._told_outputs.pop(call_id, None)
        self._stream_error = None
        self.sequencer.pass_tool_line(raw)
        return True

    def _passes_event(self, what: str | None, payload: _Payload, block: LineBlock, position: int) -> bool:
        if what == "token_count":
            if _RATE_LIMITS.search(payload.get("rate_limits", b"")):
                self._limits = block.raws[position]
            return True
        if what != "item_completed":
            return False
        item = payload.get("item", {})
        if not self._passes_turn_item(item):
            return False
        if item.get("type") == "CommandExecution" and item.get("id") in self._calls:
            _remember(self._told_outputs, item["id"], _Told(block, position), most=_OUTPUTS_KEPT)
        return True

    def _passes_turn_item(self, item: _Item) -> bool:
        kind = item.get("type")
        if kind in SILENT_TURN_ITEMS:
            return True
        if kind != "CommandExecution" or item.get("source", "user").lower().startswith("user"):
            return False
        self._note_outcome(item.get("id", ""), command_outcome(item.get("status"), item.get("exit_code")))
        return True

    def _is_plain(self, payload: _Payload) -> bool:
        """Whether a call, or an output, can be read without its words: it has some, and no fact hangs on them."""
        if payload.get("type") in _GLANCED_CALLS:
            return _is_plain_call(payload)
        call_id = payload.get("call_id")
        call = self._calls.get(call_id) if isinstance(call_id, str) else None
        if call is None or call.tool in QUESTION_TOOLS or call.tool in REPORT_TOOLS:
            return False
        return is_undecoded(payload.get("output"), '"')

    def read(self, record: Record, line: RawLine) -> None:
        """Read one record of any age."""
        self._line = line
        self._at = self.notes.note_time(record.get("timestamp"))
        kind = name_of(record.get("type", record.get("record_type")))
        payload = record.get("payload")
        if kind == "response_item" and isinstance(payload, dict) and "metadata" not in record:
            self._read_item(payload, enveloped=True)
        elif kind in _TALK_LINES:
            self._read_talk(kind, record, payload)
        elif kind is None and not self._meta_seen and "id" in record and "timestamp" in record:
            self._read_meta(record)
        elif kind == "session_meta":
            self._read_meta(table(payload))
        elif kind == "turn_context":
            self._note_cwd(table(payload).get("cwd"))
            self.counts.understood(line)
        elif kind == "compacted":
            self._talk(EventKind.COMPACTED, Speaker.HARNESS, _COMPACTED)
        elif kind in SILENT_LINES:
            self.counts.understood(line)
        elif payload is None and kind != "error":
            self._read_item(record, enveloped=False)
        elif kind is None and payload is not None and ("type" in record or "record_type" in record):
            self._broken()
        else:
            self.counts.unknown(kind)
        if self.sequencer.waiting_bytes and self.sequencer.is_full():
            self._settle()

    def _read_talk(self, kind: str | None, record: Record, payload: Any) -> None:
        if not isinstance(payload, dict):
            self._broken()
        elif kind == "event_msg":
            self._read_event(payload)
        elif kind == "inter_agent_communication":
            self._read_agent_message(payload)
        # Newest lines mark a compaction's own output beside the payload.
        elif "metadata" in record and is_set(table(record["metadata"]), "compaction_output"):
            self._understood()
        else:
            self._read_item(payload, enveloped=True)

    def read_inherited(self, line: RawLine) -> None:
        """Count a copied line. The file's own meta stands before the copies, and is read."""
        if self._meta_seen:
            self.counts.understood(line)
            if self.notes.forked_from is None and _META_MARK in line.raw[:_META_MARK_WITHIN]:
                for record in decode_line(line, SkippedLines()):
                    self._note_ancestor(text_or_none(table(record.get("payload")).get("id")))
            return
        for record in decode_line(line, SkippedLines()):
            if not self._meta_seen:
                self.read(record, line)
        # Copies carry the time of the fork; so does the meta.
        self.notes.started_at = self.notes.last_at = self.notes.newest_at = None

    def record_hashes(self) -> bytes:
        """Give nothing: the records of Codex have no ids of their own."""
        return b""

    def close(self) -> None:
        """End the last turn."""
        self._flush_stream_error()
        self._settle()
        self._flush_told_answers()
        self._flush_told_outputs()
        self.sequencer.end_turn()
        self._read_passed_limits()

    # --- what the session says about itself

    def _read_meta(self, meta: Record) -> None:
        if self._line is not None:
            self.counts.understood(self._line)
        notes = self.notes
        thread_id = text_or_none(meta.get("id"))
        if thread_id is not None and notes.thread_id in (None, thread_id):
            # Repeats of the file's own meta bring later settings; the first one is its identity.
            notes.memory_mode = text_or_none(meta.get("memory_mode")) or notes.memory_mode
            # A session may have begun before its folder had a remote.
            notes.git_remote = notes.git_remote or text_or_none(table(meta.get("git")).get("repository_url"))
        if self._meta_seen:
            self._note_ancestor(thread_id)
            return
        notes.disabled_from_start = meta.get("memory_mode") == "disabled"
        self._meta_seen = True
        git = table(meta.get("git"))
        notes.thread_id = thread_id
        notes.note_time(meta.get("timestamp"))
        notes.git_remote = notes.git_remote or text_or_none(git.get("repository_url"))
        notes.git_branch = text_or_none(git.get("branch"))
        notes.model_provider = text_or_none(meta.get("model_provider"))
        notes.source = codex_source(meta)
        notes.forked_from = parent_of(meta)
        self._note_cwd(meta.get("cwd"))

    def _note_ancestor(self, thread_id: str | None) -> None:
        """Take another thread's meta, behind the file's own, for that of its parent; of several, the first is."""
        notes = self.notes
        if notes.source is not Source.SUBAGENT and thread_id not in (None, notes.thread_id):
            notes.forked_from = notes.forked_from or thread_id

    def _note_cwd(self, written: Any) -> None:
        folder = folder_of(written)
        if folder is not None:
            self._cwd = folder
            self.notes.cwd = self.notes.cwd or folder

    def _read_rate_limits(self, payload: Record, at: float | None) -> None:
        limits = table(payload.get("rate_limits"))
        if at is None or not self.notes.believes(at):
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
        if kind == "AgentMessage":
            self._keep_told_answer(item)
            return
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

    def _keep_told_answer(self, item: Record) -> None:
        """Keep what an item says of the agent's words until the message comes that it repeats: that one may be lost."""
        text = _joined_text(item.get("content"))
        if not has_words(text) or says_the_same(self._said_answer, text):
            return
        self._told_answers.append(self._answer(text, item.get("phase")))

    def _flush_told_answers(self, *, before: Draft | None = None) -> None:
        """Take up the agent's words that an item told and no message said: all, or those that stand before a draft."""
        while self._told_answers and (before is None or self._told_answers[0].line.number < before.line.number):
            self.sequencer.push(self._told_answers.popleft())

    def _read_ended_call(self, report: Record, call_id: str) -> None:
        source = str(report.get("source") or "").lower().replace("_", "")
        if source == "usershell":
            command = command_line(report.get("command")) or ""
            output = report.get("aggregated_output", report.get("stdout"))
            self._person_ran("event", command, str(output or ""), reported_outcome(report), call_id)
            return
        self._note_outcome(call_id, reported_outcome(report))
        if call_id in self._calls and self._line is not None:
            block = LineBlock(number=self._line.number, byte_starts=(), raws=(), spanning=self._line)
            _remember(self._told_outputs, call_id, _Told(block, 0), most=_OUTPUTS_KEPT)

    def _flush_told_outputs(self) -> None:
        """Take up the outputs that only an event told: the line of the output itself is lost, or was never written."""
        told_outputs, self._told_outputs = self._told_outputs, {}
        for call_id, told in told_outputs.items():
            call, outcome = self._calls.pop(call_id, None), self._outcomes.pop(call_id, None)
            line = told.block.line_at(told.position)
            if call is not None and len(line.raw) < LONG_LINE_BYTES:
                for record in decode_line(line, SkippedLines()):
                    self._take_up_output(record, line, call, outcome or _UNTOLD, call_id)

    def _take_up_output(self, record: Record, line: RawLine, call: Call, outcome: Outcome, call_id: str) -> None:
        payload = table(record.get("payload"))
        draft = Draft(
            line=line,
            kind=_RESULT,
            speaker=_TOOL,
            text=told_output(table(payload.get("item")) or payload),
            at=to_seconds(record.get("timestamp")),
            cwd=self._cwd,
            call_id=call_id,
            tool=call.tool,
            external=call.external,
            status=outcome.status,
            exit_code=outcome.exit_code,
        )
        self._filled.append(call_id)
        self.sequencer.push(draft)

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
        self._flush_told_answers()
        self._flush_told_outputs()
        self.sequencer.end_turn()
        self._stream_error = None
        if self._line is not None and isinstance(count, int):
            self.sequencer.roll_back(count, self._line)

    def _end_turn(self, payload: Record) -> None:
        self._settle()
        self._flush_told_answers()
        self._flush_told_outputs()
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
        if kind in OUTPUTS:
            self._read_output(payload)
        elif kind in CALLS:
            self._read_call(payload)
        elif kind is None and (enveloped or "type" in payload):
            self._broken()
        elif kind in SILENT_ITEMS:
            self._understood()
        elif kind == "message":
            self._read_message(payload)
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
            if is_set(table(payload.get("metadata")), "compaction_output") or is_set(passthrough, "compaction_output"):
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
        if not has_words(text):
            return
        self._said_answer = text[:MAX_TEXT_CHARS]
        for told in tuple(self._told_answers):
            if says_the_same(text, told.text):
                self._told_answers.remove(told)
        self._talk_draft(self._answer(text, payload.get("phase")))

    def _answer(self, text: str, phase: Any) -> Draft:
        draft = self._draft(EventKind.COMMENTARY, Speaker.ASSISTANT, text)
        if phase == "final_answer":
            draft.kind = EventKind.FINAL_ANSWER
        elif phase != "commentary":
            draft.doubt = Doubt.ANSWER
        return draft

    def _text_of(self, content: Any) -> str:
        """Read the text of a message; what can't be read of it is counted."""
        text = _joined_text(content)
        if is_broken_content(content, bare_texts=True):
            self._broken()
        if has_words(text) or isinstance(content, (str, list)):
            self._understood()
        return text

    def _read_user(self, payload: Record) -> None:
        content = payload.get("content")
        if not isinstance(content, (str, list)):
            self._broken()
            return
        self._understood()
        had_loss = self._mark_losses()
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
        if has_words(message.spoken):
            self._read_spoken(message, had_loss=had_loss)

    def _read_spoken(self, message: UserMessage, *, had_loss: bool) -> None:
        self._mark_losses()
        text = message.spoken
        draft = self._draft(EventKind.PROMPT, Speaker.USER, text)
        draft.task = self._tasks
        told = next((told for told in self._told if says_the_same(text, told.text)), None)
        if told is not None:
            self._told.remove(told)
            self._tells_first = True
        elif message.sure:
            self._spoken.append(text[:MAX_TEXT_CHARS])
        else:
            draft.doubt, draft.wrapped = Doubt.PROMPT, message.wrapped
            draft.loss_behind = had_loss and self._tells_first  # then the event that names it may be what was lost
        if draft.doubt is Doubt.NONE:
            self._settle()
            self._open_turn(draft)
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
                self._tells_first = False
                self._open_turn(draft)
                self.sequencer.decide(draft, spoken=True)
                self.sequencer.settle_prompts(spoken=False)
                return
        if told.strip():
            draft = self._draft(EventKind.PROMPT, Speaker.USER, cut_text(typed_part(told)))
            draft.task = self._tasks
            self._told.append(draft)

    def _open_turn(self, prompt: Draft) -> None:
        self._flush_told_answers(before=prompt)
        self._flush_told_outputs()
        self._flush_stream_error()
        self._interrupted = False

    def _read_call(self, payload: Record) -> None:
        if isinstance(payload.get("arguments", payload.get("input")), msgspec.Raw):
            call = plain_call(payload["name"])
        else:
            is_usual = payload.get("type") == "function_call" and isinstance(payload.get("arguments"), str)
            if not (is_usual and isinstance(payload.get("name"), str)) and is_broken_call(payload):
                self._broken()
            call = read_call(payload)
        call_id = text_or_none(payload.get("call_id")) or text_or_none(payload.get("id"))
        if call_id is not None:
            _remember(self._calls, call_id, call)
        draft = Draft(
            line=self._current_line(),
            kind=_CALL,
            speaker=_ASSISTANT,
            text=call.text,
            at=self._at,
            cwd=self._cwd,
            call_id=call_id,
            tool=call.tool,
            command=call.command,
            paths=call.paths,
            external=call.external,
            places=call.places,
            session=call.session,
        )
        self._talk_draft(draft)

    def _read_output(self, payload: Record) -> None:
        call_id = text_or_none(payload.get("call_id"))
        call = self._calls.pop(call_id, None) if call_id else None
        self._told_outputs.pop(call_id or "", None)
        if call is None and call_id in self._filled:
            self._understood()
            return
        reported = self._outcomes.pop(call_id, None) if call_id else None
        output = payload["output"] if "output" in payload else payload.get("tools", payload.get("result"))
        draft = self._draft(_RESULT, _TOOL, "")
        draft.call_id, draft.tool = call_id, call.tool if call else None
        draft.external = call.external if call else payload.get("type") == "mcp_tool_call_output"
        if call is not None and call.tool in QUESTION_TOOLS and (answers := _answers_in(output)):
            draft.kind, draft.speaker, draft.text = EventKind.PROMPT, Speaker.USER, answers
            self._talk_draft(draft)
            return
        if not isinstance(output, msgspec.Raw):
            if not isinstance(output, str) and is_broken_output(payload):
                self._broken()
            draft.text, outcome = read_output(output)
            if outcome.exit_code is None:
                draft.session = started_session(output)
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
        return Draft(line=self._current_line(), kind=kind, speaker=speaker, text=text, at=self._at, cwd=self._cwd)

    def _current_line(self) -> RawLine:
        if self._line is None:
            raise AssertionError("a draft is made while a line is read")
        return self._line

    def _talk(self, kind: EventKind, speaker: Speaker, text: str) -> None:
        self._talk_draft(self._draft(kind, speaker, text))

    def _talk_draft(self, draft: Draft) -> None:
        """Push what is not a user message: whatever user message is still in doubt is decided before it."""
        self.counts.understood(draft.line)
        had_loss = self._settle()
        if had_loss:
            # The message that an item has just repeated, or the output, may be what was lost.
            self._flush_told_answers()
            self._flush_told_outputs()
        if draft.speaker is _ASSISTANT or draft.kind is _RESULT:
            self._stream_error = None
        self.sequencer.push(draft)

    def _push(self, draft: Draft) -> None:
        if has_words(draft.text):
            self.sequencer.push(draft)

    def _settle(self) -> bool:
        """Decide every message in doubt: where events name the prompts, one that none names is the harness's.

        Returns whether a line was lost since the last time.
        """
        if not self._told and not self.sequencer.waiting_bytes:
            return self._mark_losses() if self.counts.skipped.counts else False
        had_loss = self._mark_losses()
        self.sequencer.settle_prompts(spoken=not self._events_name_prompts)
        while self._told:
            # No message said it: the event is the only record of this prompt.
            told = self._told.popleft()
            self._open_turn(told)
            self.sequencer.push(told)
        return had_loss

    def _mark_losses(self) -> bool:
        """Mark the newest message in doubt when a line was lost behind it: it may have been the event that names it.

        Returns whether a line was lost since the last time.
        """
        losses = self.counts.skipped.counts.total() if self.counts.skipped.counts else 0
        if losses == self._losses:
            return False
        self._losses = losses
        for draft in self.sequencer.in_doubt()[:1]:
            draft.loss_behind = True
        return True

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


def _is_plain_call(payload: _Payload) -> bool:
    """Whether a call tells no fact but that it is one, and what it was told is text."""
    if payload.get("name") not in PLAIN_TOOLS or payload.get("namespace"):
        return False
    return is_undecoded(payload.get("input" if payload.get("type") == "custom_tool_call" else "arguments"), '"')


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


def _remember(kept: dict[_Key, _Value], key: _Key, value: _Value, *, most: int = _REMEMBERED) -> None:
    kept[key] = value
    if len(kept) > most:
        del kept[next(iter(kept))]
