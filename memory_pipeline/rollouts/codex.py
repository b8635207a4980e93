"""The grammar of Codex rollouts, from bare response items (2025) to paginated ones (2026).

The response items are the talk. ``event_msg`` lines repeat it and are never counted beside it; they are used for what
only they say: that a turn was stopped or failed, how a command ended, which shell commands the person ran, and which
``role: user`` messages are a person's. A compacted line's replacement history repeats earlier talk: never read.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from typing import Any

from memory_pipeline.records import Event, EventKind, Speaker, ToolStatus
from memory_pipeline.rollouts.codex_names import (
    CALLS,
    OUTPUTS,
    SILENT_EVENTS,
    SILENT_ITEMS,
    SILENT_LINES,
    SILENT_TURN_ITEMS,
    TURN_ENDS,
    TURN_FAILURES,
    TURN_STARTS,
)
from memory_pipeline.rollouts.codex_session import codex_source, rate_limit
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
    rb'\{"timestamp":"([^"\\]{10,40})",(?:"ordinal":\d+,)?"type":"(\w+)","payload":\{(?:"type":"(\w+)"[,}])?'
    rb'(?:"thread_id":"[\w-]*","turn_id":"[\w-]*","item":\{"type":"(\w+)")?'
)
_REMEMBERED = 256  # open calls and the like; a log that leaves more open loses the oldest
_CWD_TAG = re.compile(r"<cwd>(.*?)</cwd>|Current working directory: (.*)")


class CodexGrammar:
    """Reads one rollout of Codex. See ``Grammar`` for what each method promises."""

    def __init__(self) -> None:
        self.notes = SessionNotes()
        self.counts = LineCounts()
        self._sequencer = Sequencer()
        self._cwd: str | None = None
        self._meta_seen = False
        self._calls: dict[str, Call] = {}
        self._outcomes: dict[str, Outcome] = {}
        self._events_name_prompts = False  # user_message events were seen: they decide who spoke
        self._told: deque[Draft] = deque(maxlen=8)  # prompts that an event told, and no message said so far
        self._spoken: deque[str] = deque(maxlen=8)  # prompts that messages said, and no event told so far
        self._shells: deque[tuple[str, str]] = deque(maxlen=8)  # (how it was told, command), told once so far
        self._interrupted = False  # in this turn already: the event and the message say it twice
        self._stream_error: Draft | None = None
        self._line: RawLine | None = None
        self._at: float | None = None

    def glance(self, raw: bytes) -> Record | None:
        """Pass by what repeats or measures: compacted history, world state, token counts, reasoning."""
        match = _HEAD.match(raw)
        if match is None or not raw.endswith(b"}"):
            return None
        stamp, kind, inner, item = (part.decode() if part else None for part in match.groups())
        silent = (
            kind in SILENT_LINES
            or kind == "compacted"
            or (kind == "response_item" and inner in SILENT_ITEMS)
            or (kind == "event_msg" and inner in SILENT_EVENTS)
            or (kind == "event_msg" and inner == "token_count" and b'"used_percent"' not in raw)
            or (kind == "event_msg" and inner == "item_completed" and item in SILENT_TURN_ITEMS)
        )
        # Unescaped, these three bytes stand only between two records on one line.
        if not silent or b'}{"' in raw:
            return None
        return {"timestamp": stamp, "type": kind, "payload": {"type": inner, "item": {"type": item}}}

    def read(self, record: Record, line: RawLine) -> Iterator[Event]:
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
        elif kind == "event_msg" and isinstance(payload, dict):
            yield from self._read_event(payload)
        elif kind == "response_item" and isinstance(payload, dict):
            # Newest lines mark a compaction's own output beside the payload.
            if table(record.get("metadata")).get("compaction_output") is True:
                self.counts.understood(line)
            else:
                yield from self._read_item(payload)
        elif kind == "compacted":
            yield from self._talk(EventKind.COMPACTED, Speaker.HARNESS, "(the context was compacted here)")
        elif kind == "inter_agent_communication":
            yield from self._read_agent_message(table(payload))
        elif kind in SILENT_LINES:
            self.counts.understood(line)
        elif payload is None and kind != "error":
            yield from self._read_item(record)
        else:
            self.counts.unknown(kind)

    def close(self) -> Iterator[Event]:
        """End the last turn."""
        yield from self._flush_stream_error()
        yield from self._settle()
        yield from self._sequencer.end_turn()

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
        self._meta_seen = True
        git = table(meta.get("git"))
        notes.thread_id = thread_id
        notes.note_time(meta.get("timestamp"))
        notes.git_remote = text_or_none(git.get("repository_url"))
        notes.git_branch = text_or_none(git.get("branch"))
        notes.model_provider = text_or_none(meta.get("model_provider"))
        notes.source = codex_source(meta)
        self._note_cwd(meta.get("cwd"))

    def _note_cwd(self, written: Any) -> None:
        folder = plain_path(written)
        if folder is not None:
            self._cwd = folder
            self.notes.cwd = self.notes.cwd or folder

    def _read_rate_limits(self, payload: Record) -> None:
        limits = table(payload.get("rate_limits"))
        if self._at is None:
            return
        read = tuple(
            limit for name in ("primary", "secondary") if (limit := rate_limit(table(limits.get(name)), self._at))
        )
        self.notes.rate_limits = read or self.notes.rate_limits

    # --- event_msg lines

    def _read_event(self, payload: Record) -> Iterator[Event]:
        kind = name_of(payload.get("type"))
        if self._line is not None:
            self.counts.understood(self._line)
        if kind in SILENT_EVENTS or str(kind).startswith("collab_"):
            return
        if kind == "token_count":
            self._read_rate_limits(payload)
        elif kind == "user_message":
            if payload.get("kind") in (None, "plain"):
                yield from self._match_prompt(str(payload.get("message") or ""))
        elif kind in TURN_STARTS:
            self._interrupted = False
        elif kind in TURN_ENDS:
            yield from self._end_turn(payload)
        elif kind == "turn_aborted":
            yield from self._turn_aborted(str(payload.get("reason") or "interrupted"))
        elif kind in TURN_FAILURES:
            self._stream_error = None
            yield from self._talk(EventKind.FAILED_TURN, Speaker.HARNESS, _message_of(payload))
        elif kind == "stream_error":
            # The program tries again; only when nothing follows did the turn fail.
            self._stream_error = self._draft(EventKind.FAILED_TURN, Speaker.HARNESS, _message_of(payload))
        elif kind in ("exec_command_end", "patch_apply_end", "mcp_tool_call_end"):
            yield from self._read_ended_call(payload, str(payload.get("call_id") or ""))
        elif kind == "item_completed":
            yield from self._read_turn_item(table(payload.get("item")))
        elif kind == "thread_settings_applied":
            settings = table(payload.get("thread_settings"))
            self._note_cwd(settings.get("cwd"))
            self.notes.model_provider = self.notes.model_provider or text_or_none(settings.get("model_provider_id"))
        else:
            self._unknown(f"event_msg/{kind}")

    def _read_turn_item(self, item: Record) -> Iterator[Event]:
        kind = name_of(item.get("type"))
        if kind in SILENT_TURN_ITEMS:
            return
        if kind == "UserMessage":
            blocks = item.get("content")
            texts = [str(table(block).get("text") or "") for block in (blocks if isinstance(blocks, list) else [])]
            yield from self._match_prompt("\n".join(text for text in texts if text))
        elif kind in ("CommandExecution", "FileChange", "McpToolCall"):
            yield from self._read_ended_call(item, str(item.get("id") or ""))
        else:
            self._unknown(f"item_completed/{kind}")

    def _read_ended_call(self, report: Record, call_id: str) -> Iterator[Event]:
        source = str(report.get("source") or "").lower().replace("_", "")
        if source == "usershell":
            command = command_line(report.get("command")) or ""
            output = report.get("aggregated_output", report.get("stdout"))
            yield from self._person_ran("event", command, str(output or ""), reported_outcome(report), call_id)
            return
        outcome = reported_outcome(report)
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

    def _end_turn(self, payload: Record) -> Iterator[Event]:
        yield from self._settle()
        if payload.get("error"):
            self._stream_error = None
            yield from self._talk(EventKind.FAILED_TURN, Speaker.HARNESS, _message_of(payload))
        else:
            yield from self._flush_stream_error()
        yield from self._sequencer.end_turn()

    def _turn_aborted(self, reason: str) -> Iterator[Event]:
        self._stream_error = None
        if reason == "review_ended" or self._interrupted:
            return
        if reason not in ("interrupted", "replaced"):
            yield from self._talk(EventKind.FAILED_TURN, Speaker.HARNESS, f"turn aborted: {reason}")
            return
        yield from self._talk(EventKind.INTERRUPTED, Speaker.USER, "(the person stopped the turn)")
        self._interrupted = True

    # --- response items

    def _read_item(self, payload: Record) -> Iterator[Event]:
        kind = name_of(payload.get("type"))
        if kind in SILENT_ITEMS:
            self._understood()
        elif kind == "message":
            yield from self._read_message(payload)
        elif kind in CALLS:
            yield from self._read_call(payload)
        elif kind in OUTPUTS:
            yield from self._read_output(payload)
        elif kind == "web_search_call":
            yield from self._read_web_search(payload)
        elif kind == "agent_message":
            yield from self._read_agent_message(payload)
        else:
            self._unknown(kind if "payload" in payload or kind is None else f"response_item/{kind}")

    def _read_message(self, payload: Record) -> Iterator[Event]:
        role = payload.get("role")
        if role == "user":
            yield from self._read_user(payload)
        elif role == "assistant":
            passthrough = table(payload.get("internal_chat_message_metadata_passthrough"))
            if table(payload.get("metadata")).get("compaction_output") or passthrough.get("compaction_output"):
                self._understood()
                return
            yield from self._read_answer(payload)
        elif role in ("developer", "system"):
            self._understood()
            text = _joined_text(payload.get("content"))
            yield from self._push(self._draft(EventKind.CONTEXT, Speaker.HARNESS, text))
        else:
            self._unknown(f"message/{role}")

    def _read_answer(self, payload: Record) -> Iterator[Event]:
        text = _joined_text(payload.get("content"))
        if not text.strip():
            self._understood()
            return
        phase = payload.get("phase")
        draft = self._draft(EventKind.COMMENTARY, Speaker.ASSISTANT, text)
        if phase == "final_answer":
            draft.kind = EventKind.FINAL_ANSWER
        elif phase != "commentary":
            draft.doubt = Doubt.ANSWER
        yield from self._talk_draft(draft)

    def _read_user(self, payload: Record) -> Iterator[Event]:
        self._understood()
        message = read_user_message(payload)
        if message.context:
            if self._cwd is None and (folder := _CWD_TAG.search(message.context)):
                self._note_cwd((folder.group(1) or folder.group(2)).strip())
            yield from self._push(self._draft(EventKind.CONTEXT, Speaker.HARNESS, message.context))
        if message.reports:
            yield from self._push(self._draft(EventKind.REPORT, Speaker.OTHER_AGENT, message.reports))
        if message.aborted:
            yield from self._turn_aborted("interrupted")
        if message.shell is not None:
            command, output = message.shell
            text, outcome = _shell_result(output)
            yield from self._person_ran("message", command, text, outcome, f"user-shell-{self._line_number()}")
        if message.spoken.strip():
            yield from self._read_spoken(message.spoken, sure=message.sure)

    def _read_spoken(self, text: str, *, sure: bool) -> Iterator[Event]:
        draft = self._draft(EventKind.PROMPT, Speaker.USER, text)
        told = next((told for told in self._told if says_the_same(text, told.text)), None)
        if told is not None:
            self._told.remove(told)
        elif sure:
            self._spoken.append(text)
        else:
            draft.doubt = Doubt.PROMPT
        if draft.doubt is Doubt.NONE:
            yield from self._settle()
            yield from self._open_turn()
        yield from self._sequencer.push(draft)

    def _match_prompt(self, told: str) -> Iterator[Event]:
        """Use an event that repeats a prompt to find which message in doubt is the person's."""
        if is_harness_text(told.strip()):
            return
        self._events_name_prompts = True
        for text in self._spoken:
            if says_the_same(text, told):
                self._spoken.remove(text)
                return
        for draft in self._sequencer.in_doubt():
            if says_the_same(draft.text, told):
                yield from self._open_turn()
                self._sequencer.decide(draft, spoken=True)
                yield from self._sequencer.settle_prompts(spoken=False)
                return
        if told.strip():
            self._told.append(self._draft(EventKind.PROMPT, Speaker.USER, told))

    def _open_turn(self) -> Iterator[Event]:
        yield from self._flush_stream_error()
        self._interrupted = False

    def _read_call(self, payload: Record) -> Iterator[Event]:
        call = read_call(payload)
        call_id = text_or_none(payload.get("call_id")) or text_or_none(payload.get("id"))
        if call_id is not None:
            _remember(self._calls, call_id, call)
        draft = self._draft(EventKind.TOOL_CALL, Speaker.ASSISTANT, call.text)
        draft.call_id, draft.tool, draft.command = call_id, call.tool, call.command
        draft.paths, draft.external = call.paths, call.external
        yield from self._talk_draft(draft)

    def _read_output(self, payload: Record) -> Iterator[Event]:
        call_id = text_or_none(payload.get("call_id"))
        call = self._calls.pop(call_id, None) if call_id else None
        reported = self._outcomes.pop(call_id, None) if call_id else None
        output = payload.get("output", payload.get("tools", payload.get("result")))
        draft = self._draft(EventKind.TOOL_RESULT, Speaker.TOOL, "")
        draft.call_id, draft.tool = call_id, call.tool if call else None
        draft.external = call.external if call else payload.get("type") == "mcp_tool_call_output"
        if call is not None and call.tool in QUESTION_TOOLS and (answers := read_answers(output)):
            draft.kind, draft.speaker, draft.text = EventKind.PROMPT, Speaker.USER, answers
            yield from self._talk_draft(draft)
            return
        draft.text, outcome = read_output(output)
        outcome = outcome.with_events(reported)
        draft.status, draft.exit_code = outcome.status, outcome.exit_code
        if call is not None and call.tool in REPORT_TOOLS:
            draft.kind, draft.speaker = EventKind.REPORT, Speaker.OTHER_AGENT
        yield from self._talk_draft(draft)

    def _read_web_search(self, payload: Record) -> Iterator[Event]:
        action = table(payload.get("action"))
        wanted = [str(action[name]) for name in ("query", "url", "pattern") if action.get(name)]
        draft = self._draft(EventKind.TOOL_CALL, Speaker.ASSISTANT, " ".join(wanted))
        draft.call_id, draft.tool, draft.external = text_or_none(payload.get("id")), "web_search", True
        yield from self._talk_draft(draft)

    def _read_agent_message(self, payload: Record) -> Iterator[Event]:
        text = _joined_text(payload.get("content", payload.get("message")))
        self._understood()
        if text.strip():
            yield from self._talk(EventKind.REPORT, Speaker.OTHER_AGENT, text)

    def _person_ran(self, told_by: str, command: str, output: str, outcome: Outcome, call_id: str) -> Iterator[Event]:
        """Yield the person's own shell command and its result, once, though event and message both tell it."""
        other = "message" if told_by == "event" else "event"
        if (other, command) in self._shells:
            self._shells.remove((other, command))
            return
        self._shells.append((told_by, command))
        shell = self._draft(EventKind.SHELL, Speaker.USER, command)
        shell.call_id, shell.command = call_id, command
        yield from self._talk_draft(shell)
        result = self._draft(EventKind.TOOL_RESULT, Speaker.TOOL, output)
        result.call_id, result.status, result.exit_code = call_id, outcome.status, outcome.exit_code
        yield from self._talk_draft(result)

    # --- drafts

    def _draft(self, kind: EventKind, speaker: Speaker, text: str) -> Draft:
        if self._line is None:
            raise AssertionError("a draft is made while a line is read")
        return Draft(line=self._line, kind=kind, speaker=speaker, text=text, at=self._at, cwd=self._cwd)

    def _talk(self, kind: EventKind, speaker: Speaker, text: str) -> Iterator[Event]:
        yield from self._talk_draft(self._draft(kind, speaker, text))

    def _talk_draft(self, draft: Draft) -> Iterator[Event]:
        """Push what is not a user message: whatever user message is still in doubt is decided before it."""
        self._understood()
        yield from self._settle()
        if draft.speaker is Speaker.ASSISTANT or draft.kind is EventKind.TOOL_RESULT:
            self._stream_error = None
        yield from self._sequencer.push(draft)

    def _push(self, draft: Draft) -> Iterator[Event]:
        if draft.text.strip():
            yield from self._sequencer.push(draft)

    def _settle(self) -> Iterator[Event]:
        """Decide every message in doubt: where events name the prompts, one that none names is the harness's."""
        yield from self._sequencer.settle_prompts(spoken=not self._events_name_prompts)
        while self._told:
            # No message said it: the event is the only record of this prompt.
            yield from self._open_turn()
            yield from self._sequencer.push(self._told.popleft())

    def _flush_stream_error(self) -> Iterator[Event]:
        if self._stream_error is not None:
            draft, self._stream_error = self._stream_error, None
            yield from self._sequencer.push(draft)

    def _understood(self) -> None:
        if self._line is not None:
            self.counts.understood(self._line)

    def _unknown(self, name: object) -> None:
        self.counts.unknown(name)

    def _line_number(self) -> int:
        return self._line.number if self._line is not None else 0


def _joined_text(content: Any) -> str:
    if isinstance(content, str):
        return content
    texts = [table(block).get("text") for block in content] if isinstance(content, list) else []
    return "\n".join(text for text in texts if isinstance(text, str))


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


def _remember(kept: dict[str, Any], key: str, value: Any) -> None:
    kept[key] = value
    if len(kept) > _REMEMBERED:
        del kept[next(iter(kept))]
