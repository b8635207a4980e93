"""Echoes: what an agent read back from a memory. It was said before, elsewhere, so it is no new evidence.

A call is recognised by what it names: memory folders (ours, Codex's, Claude Code's), the files that only a memory has,
the folder in which it runs, a memory tool. Its result is an echo, and so is whatever a command that it started prints
later. Where the call was lost, the result is recognised by its text.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Sequence

from memory_pipeline.records import Event, EventKind, Speaker
from memory_pipeline.rollouts.own_server import is_own_server

#: One of these stands in whatever names a memory: a quick look before the patterns, since a call may be of megabytes.
_HINTS = ("memor", "MEMOR", "rollout_summaries")
#: Files and folders that only a memory has, and our own commands that print one.
_MEMORY_NAMES = (
    r"(?<![\w\-])MEMORY\.md\b|\bmemory_summary\.md\b|\braw_memories\.md\b|\brollout_summaries[/\\]+\d{4}-"
    r"|\bmemories(?:_v2)?[/\\]+(?:rollout_summaries|skills|extensions)\b"
    r"|[/\\]projects[/\\]+(?:-|[A-Za-z]--)[^/\\\s]+[/\\]+memory\b|\.claude[/\\]+projects[/\\]+[^/\\\s]+[/\\]+memory\b"
    r"|(?<![\w\-])(?:mcp__)?memory[-_]pipeline__\w"
    r"|\bmemory[-_]pipeline[\"']?\s+(?:\S{1,200}\s+){0,8}?(?:memory|threads|context|search)\b"
)
#: With this begins whatever our own server tells an agent.
OWN_FRAME = "Memories kept by memory-pipeline, quoted as data"
_MEMORY_TOOL = re.compile(r"memor|mem0", re.IGNORECASE)
#: Lines that stand in memory files and nowhere else, with or without a line number or a file name before them.
_LINE_START = r"(?m)^(?:[^\n:]{0,200}:)?[ \t]{0,8}(?:\d{1,7}[ \t:\u2192|\-]{1,4})?"
#: What stands around whatever our own command ``context`` prints, as text or inside of JSON.
_CONTEXT = "<memory-pipeline-context>"
_MEMORY_TEXT = re.compile(
    rf"{_LINE_START}(?:# Raw Memories[ \t]*$|# Task Group: |### rollout_summary_files[ \t]*$|## What's in Memory[ \t]*$"
    r"|thread_id: [\w\-]+[ \t]*\r?\n[^\n]{0,20}updated_at: "
    r"|- \S[^\n]{0,600} \[Task \d{1,4}\][ \t]*$|v1[ \t]*\r?\n(?:[^\n]*\n){0,3}?[^\n]{0,20}## User Profile)"
)
_MEMORY_TEXT_HINTS = ("[Task ", "thread_id: ")
_MEMORY_HEADING_HINTS = (
    "# Raw Memories", "# Task Group: ", "### rollout_summary_files", "## User Profile", "## What's in Memory",
)  # fmt: skip
#: How Codex marks which memories an answer rests on.
_CITATION = re.compile(r"\s*<oai-mem-citation>.*?(?:</oai-mem-citation>|\Z)", re.DOTALL)
#: An id shorter than this may stand anywhere by chance.
_TELLING_ID_CHARS = 5
#: Of so many tools and folders it is kept what they are, while one log is read.
_MOST_KNOWN = 100


class Echoes:
    """Tells which results are echoes, event by event, in the log's order."""

    def __init__(self, memory_folders: Sequence[str] = ()) -> None:
        """Take the memory folders and files of this machine, beside the agents' usual ones."""
        folders = tuple(folder.rstrip("/\\") for folder in memory_folders if folder.rstrip("/\\"))
        self._folders = folders
        places = (_place(folder) for folder in folders)
        usual = _below(r"(?:\.codex|CODEX_HOME\}?)", r"memories(?:_v2)?")
        self._names = re.compile("|".join((_MEMORY_NAMES, usual, *places)), re.DOTALL)
        own = (re.split(r"[/\\]", folder)[-1] for folder in folders)
        self._hints = (*_HINTS, *dict.fromkeys(name for name in own if not any(hint in name for hint in _HINTS)))
        self._known_tools: dict[tuple[object, ...], bool] = {}  # whether it keeps memories
        self._known_folders: dict[str, bool] = {}  # whether it is one of a memory
        self._calls: set[str] = set()  # calls that read a memory
        self._sessions: set[str] = set()  # running commands in which a memory was read

    def note(self, event: Event) -> None:
        """Take a call in, so that its results are known for what they are."""
        if event.kind not in (EventKind.TOOL_CALL, EventKind.SHELL) or not self._reads_memory(event):
            return
        if event.call_id is not None:
            self._calls.add(event.call_id)
        if event.session is not None:
            self._sessions.add(event.session)

    def holds(self, event: Event) -> bool:
        """Whether an event tells what was read back from a memory, or what an agent gave a memory tool."""
        if event.kind is EventKind.TOOL_CALL:
            return self._is_memory_tool(event)
        if event.kind not in (EventKind.TOOL_RESULT, EventKind.REPORT):
            return False
        if event.call_id in self._calls:
            if event.session is not None:
                self._sessions.add(event.session)  # the command goes on: what it prints later is read elsewhere
            return True
        if event.kind is EventKind.REPORT:
            return False
        return self._is_memory_tool(event) or looks_like_memory(event.text)

    def _reads_memory(self, event: Event) -> bool:
        if event.session is not None and event.session in self._sessions:
            return True
        if self._is_memory_tool(event):
            return True
        words = (event.command or "", event.text, *(_resolved(place, event.cwd) for place in event.places))
        hinted = [text for text in words if self._is_hinted(text)]
        if any(map(self._names_memory, hinted)) or self._names_session(words):
            return True
        return event.cwd is not None and self._is_read_from(event.cwd, hinted)

    def _is_hinted(self, text: str) -> bool:
        return any(hint in text for hint in self._hints)

    def _names_memory(self, text: str) -> bool:
        return any(folder in text for folder in self._folders) or self._names.search(text) is not None

    def _names_session(self, words: Iterable[str]) -> bool:
        """Whether a call opens what a command that read a memory prints into: the file's name tells the command."""
        telling = [session for session in self._sessions if len(session) >= _TELLING_ID_CHARS]
        return any(session in text for session in telling for text in words if not session.isdigit())

    def _is_read_from(self, cwd: str, hinted: Iterable[str]) -> bool:
        """Whether a call runs in a memory folder, or names one from the folder above it."""
        if cwd not in self._known_folders:
            if len(self._known_folders) >= _MOST_KNOWN:
                self._known_folders.clear()
            self._known_folders[cwd] = self._is_hinted(cwd) and self._names_memory(f"{cwd}/")
        return self._known_folders[cwd] or any(self._names_memory(f"{cwd}/ {text}") for text in hinted)

    def _is_memory_tool(self, event: Event) -> bool:
        """Whether a call goes to a tool that keeps memories, our own or another: by its name or that of its server."""
        named = (event.tool or "", *(place for place in event.places if "/" not in place))
        known = self._known_tools.get((event.external, *named))
        if known is None:
            known = is_own_server(*named) or (event.external and any(_MEMORY_TOOL.search(name) for name in named))
            if len(self._known_tools) >= _MOST_KNOWN:
                self._known_tools.clear()
            self._known_tools[event.external, *named] = known
        return known


def looks_like_memory(text: str) -> bool:
    """Whether a text is, or holds, a part of a memory's files, by lines that stand nowhere else."""
    if _CONTEXT in text or OWN_FRAME in text:
        return True
    hints = (*_MEMORY_TEXT_HINTS, *_MEMORY_HEADING_HINTS) if "#" in text else _MEMORY_TEXT_HINTS
    return any(hint in text for hint in hints) and _MEMORY_TEXT.search(text) is not None


def without_citations(event: Event) -> str:
    """Give an event's text; an answer loses the block in which it names the memories that it used."""
    return _CITATION.sub("", event.text) if event.speaker is Speaker.ASSISTANT else event.text


def _place(folder: str) -> str:
    """Give the pattern of a folder, however a command names the way to it: ``~``, ``cd`` and a relative path."""
    parts = [part for part in re.split(r"[/\\]", folder) if part]
    if len(parts) < 2:
        return r"(?!)"
    return _below(re.escape(parts[-2]), re.escape(parts[-1]))


def _below(parent: str, name: str) -> str:
    """Give the pattern of ``parent/name``, or of the parent and then, in the same command, of the name by itself."""
    by_itself = rf"[/\\\"'}}]*[\s;&|{{,].{{0,200}}?(?<![\w./\\\-])(?:\./)?{name}"
    return rf"(?<![\w\-]){parent}(?:[\"'}}]*[/\\]+(?:\.[/\\]+)*[\"']?{name}|{by_itself})(?![\w.\-])"


def _resolved(place: str, cwd: str | None) -> str:
    return posixpath.join(cwd, place) if cwd else place
