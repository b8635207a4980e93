"""What an agent asks of the memories, and what it may be told."""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from memory_pipeline.app import App
from memory_pipeline.clock import Clock, SystemClock, iso
from memory_pipeline.config import Config
from memory_pipeline.errors import LockedError, MemoryPipelineError, StoreError, UsageError
from memory_pipeline.mcp.arguments import (
    MOST_FOUND,
    MemoryContext,
    NoteMemory,
    ReadMemory,
    ReportMemoryUsage,
    SearchMemories,
    read_arguments,
    schema_of,
)
from memory_pipeline.mcp.quoting import answer_text, error_text, file_text, short_document
from memory_pipeline.phase2.baseline import read_workspace_file
from memory_pipeline.phase2.layout import MEMORY_FILE, SUMMARY_FILE
from memory_pipeline.phase2.render import as_bytes, render_handbook, render_summary, told_of
from memory_pipeline.phase2.wording import condition_from, statement_from
from memory_pipeline.recall.context import Asked, Context, check_thread_id, give_context
from memory_pipeline.recall.here import scope_of_folder
from memory_pipeline.recall.search import search
from memory_pipeline.recall.usage import record_uses, use_of
from memory_pipeline.recall.why import ExplainedEntry, explain
from memory_pipeline.records import (
    PROJECT_SCOPE_PREFIX,
    USER_SCOPE,
    EntryKind,
    JournalAction,
    JournalRecord,
    Memory,
    MemoryStatus,
    Speaker,
)
from memory_pipeline.redact import redact
from memory_pipeline.rollouts.journal import Journal, record_id_of
from memory_pipeline.settings import in_force_now
from memory_pipeline.store.glance import Glance
from memory_pipeline.store.looking import CantLookError, DatabaseState, look_at
from memory_pipeline.store.store import Store
from memory_pipeline.tombstones import TombstoneFolder

SUMMARY_URI = "memory-pipeline://summary"
HANDBOOK_URI = "memory-pipeline://handbook"

#: How long a call waits for another program that holds the database, in seconds.
PATIENCE_SECONDS = 5.0
#: What one session of an agent may note. More would bury what waits for the person.
MOST_NOTES = 20
_WORDS_CHARS = 1_000

_CLOSED = (
    "memories of other projects are not told, unless the person sets every_project = true in the table [mcp] of the "
    "configuration"
)


_NOTHING_GIVEN = "nothing is remembered that fits, or this thread was given its context before"


class ToolDescription(Struct, frozen=True, kw_only=True):
    """One tool, as an agent is told of it."""

    name: str
    description: str
    schema: Mapping[str, Any]  # of its arguments
    only_reads: bool


class Answers:
    """Answers one agent's calls. Safe to use from several threads."""

    def __init__(
        self,
        config: Config,
        *,
        folder: str,
        clock: Clock | None = None,
        session: str | None = None,
    ) -> None:
        """Take where it was started: ``folder`` says which project it is for. ``session`` names one agent's session."""
        self._config = config
        self._folder = folder
        self._clock = clock or SystemClock()
        self._session = session or uuid.uuid4().hex
        self._told: dict[str, None] = {}  # uses and notes of this session, by the id of their record
        self._notes = 0
        self._telling = threading.Lock()
        self._tools: dict[str, tuple[type[msgspec.Struct], Callable[[Any], Mapping[str, Any]], bool]] = {
            "search_memories": (SearchMemories, self._search, True),
            "read_memory": (ReadMemory, self._read, True),
            "memory_context": (MemoryContext, self._context, True),
            "report_memory_usage": (ReportMemoryUsage, self._report, False),
        }
        if config.mcp.allow_notes:
            self._tools["note_memory"] = (NoteMemory, self._note, False)

    def tools(self) -> list[ToolDescription]:
        """Return the tools that may be called."""
        return [
            ToolDescription(name=name, description=kind.__doc__ or "", schema=schema_of(kind), only_reads=only_reads)
            for name, (kind, _, only_reads) in self._tools.items()
        ]

    def call(self, name: str, arguments: Mapping[str, Any] | None) -> tuple[str, bool]:
        """Call a tool; returns its answer, and whether that is an error. Nothing is raised."""
        try:
            if name not in self._tools:
                raise UsageError(self._why_no_tool(name))
            kind, answer, _ = self._tools[name]
            asked = read_arguments(name, kind, arguments)
            return answer_text(answer(asked)), False
        except MemoryPipelineError as error:
            return error_text(" ".join([str(error), *error.lines])), True
        except OSError as error:
            return error_text(f"the state folder can't be used ({error.strerror or type(error).__name__})"), True
        except Exception as error:
            logging.getLogger(__name__).exception("a call failed", extra={"action": "mcp", "outcome": "failed"})
            return error_text(f"internal error: {type(error).__name__}; please report it"), True

    def read_resource(self, uri: str) -> str:
        """Return the text of a resource.

        Raises:
            MemoryPipelineError, OSError: there is none, or it can't be read.
        """
        if uri == SUMMARY_URI:
            text = self._summary()
        elif uri == HANDBOOK_URI:
            text = self._handbook()
        else:
            raise UsageError(f"there is no resource {uri[:200]}; there are {SUMMARY_URI} and {HANDBOOK_URI}")
        return file_text(text)

    def _why_no_tool(self, name: str) -> str:
        if name == "note_memory":
            return "notes are switched off; the person allows them with allow_notes = true in the table [mcp]"
        return f"there is no tool {name[:100]}; there are {', '.join(self._tools)}"

    # --- tools

    def _search(self, asked: SearchMemories) -> Mapping[str, Any]:
        with self._looking() as store:
            scopes = self._scopes(store, asked.cwd, asked.scope)
            found = search(
                store,
                asked.query,
                now=self._clock.now(),
                limit=asked.limit,
                scopes=scopes,
                kinds=[EntryKind(asked.kind)] if asked.kind else None,
            )
            # What holds everywhere may have been said in another project: then its quotes tell nothing here.
            told = [one for one in found if one.where == "statement" or self._may_quote(store, one.memory, scopes)]
        return {
            "memories": [
                {**short_document(one.memory), "matched": list(one.matched), "where": one.where} for one in told
            ],
            "scopes": scopes or "all",
        }

    def _read(self, asked: ReadMemory) -> Mapping[str, Any]:
        with self._looking() as store:
            scopes = self._scopes(store, asked.cwd)
            memory = self._find(store, asked.memory_id, scopes)
            document = self._explained(store, memory, scopes)
        try:
            self._record_uses([("memory", memory.memory_id)])
        except (OSError, MemoryPipelineError):
            # What was asked can be answered all the same.
            logging.getLogger(__name__).warning("a use was not recorded", extra={"action": "mcp", "outcome": "failed"})
        return document

    def _context(self, asked: MemoryContext) -> Mapping[str, Any]:
        if asked.thread is not None:
            check_thread_id(asked.thread)
        with self._looking() as store:
            scopes = self._scopes(store, asked.cwd, thread=asked.thread)
        project = next((scope for scope in scopes or () if scope != USER_SCOPE), None)
        found = self._given(asked, project)
        if found is None:
            return {"memories": [], "left_out": 0, "scopes": scopes, "why": _NOTHING_GIVEN}
        with self._looking() as store:
            told = [store.memories.get(one.memory_id) for one in found.told]
        return {
            "memories": [short_document(memory) for memory in told if memory is not None],
            "left_out": sum(found.not_shown.values()),
            "scopes": scopes,
        }

    def _given(self, asked: MemoryContext, project: str | None) -> Context | None:
        glance = Glance(self._config.database_path)
        try:
            return give_context(
                glance,
                Asked(
                    cwd="",
                    task=asked.task,
                    thread_id=asked.thread,
                    budget_tokens=asked.budget_tokens,
                    output_format="mcp",
                    scope=project,
                ),
                may_use=lambda _scope: True,  # asked before
                now=self._clock.now(),
                command=lambda words: f"memory-pipeline {words}",
                on_unrecorded=_note_unrecorded,
            )
        finally:
            glance.close()

    def _report(self, asked: ReportMemoryUsage) -> Mapping[str, Any]:
        used: list[tuple[str, str]] = []
        unknown: list[str] = []
        with self._looking() as store:
            scopes = self._scopes(store, asked.cwd)
            for name in dict.fromkeys(asked.memory_ids):
                memory = store.memories.get(name)
                is_told = memory is not None and (scopes is None or memory.scope in scopes)
                used += [("memory", name)] if is_told else []
                unknown += [] if is_told else [name]
            for name in dict.fromkeys(asked.thread_ids):
                is_told = self._may_tell_thread(store, name, scopes)
                used += [("thread", name)] if is_told else []
                unknown += [] if is_told else [name]
        if not used:
            raise UsageError(f"nothing was recorded; not known here: {', '.join(unknown) or 'nothing was named'}")
        self._record_uses(used)
        return {"recorded": [name for _, name in used], "not_known_here": unknown}

    def _note(self, asked: NoteMemory) -> Mapping[str, Any]:
        if redact(asked.statement).counts or redact(asked.condition).counts:
            raise UsageError("this holds what looks like a secret, so it was not noted; say it without")
        statement, condition = statement_from(asked.statement), condition_from(asked.condition)
        with self._looking() as store:
            scope = self._project(store, asked.cwd)
            may_generate = in_force_now(self._config, store).may_generate(scope=scope)
        if not may_generate:
            raise UsageError("the person has switched the making of memories off here (settings.generate_memories)")
        if scope is None:
            raise UsageError("a note belongs to a project; name the folder of one as cwd")
        forgotten = TombstoneFolder(self._config.tombstones_path).current()
        if forgotten.holds_words(statement, condition) or forgotten.is_text(statement):
            raise UsageError("the person had this forgotten, so it was not noted")
        record = JournalRecord(
            record_id=record_id_of("note", self._session, scope, asked.kind, condition, statement),
            action=JournalAction.NOTE,
            at=self._clock.now(),
            origin="mcp",
            kind=EntryKind(asked.kind),
            scope=scope,
            condition=condition,
            statement=statement,
            speaker=Speaker.ASSISTANT,
        )
        with self._telling:
            if record.record_id in self._told:
                return {"noted": statement, "state": "noted before; it waits for the person"}
            if self._notes >= MOST_NOTES:
                raise UsageError(f"{MOST_NOTES} notes a session are the most; the person has to look at them first")
            with App(self._config, clock=self._clock, busy_seconds=PATIENCE_SECONDS) as app:
                draft = app.note(record)
            self._told[record.record_id] = None
            self._notes += 1
        if draft is None:
            return {"noted": statement, "state": "written down; one of the next runs makes it a draft"}
        waits = "a draft that waits for the person; it is not remembered before they approve"
        return {"noted": statement, "draft": draft.entry.entry_id, "state": waits}

    # --- what may be told

    def _scopes(
        self, store: Store, cwd: str | None, wanted: str = "here", *, thread: str | None = None
    ) -> list[str] | None:
        """Return the scopes that may be told, None for all.

        Raises:
            UsageError: nothing may be told here, or what is asked for is another project's, which the person did not
                open.
        """
        project = self._project(store, cwd)
        if not in_force_now(self._config, store).may_use(scope=project, thread_id=thread):
            raise UsageError("the person has switched the use of memories off here (settings.use_memories)")
        here = [USER_SCOPE, *([project] if project else [])]
        if wanted == "here":
            return here
        if wanted == "all" and self._config.mcp.every_project:
            return None
        if wanted in here or (wanted.startswith(PROJECT_SCOPE_PREFIX) and self._config.mcp.every_project):
            return [wanted]
        if wanted == "all" or wanted.startswith(PROJECT_SCOPE_PREFIX):
            raise UsageError(f"scope {wanted[:200]}: {_CLOSED}; here are {', '.join(here)}")
        raise UsageError(f"scope {wanted[:200]}: write here, user, project:KEY or all")

    def _project(self, store: Store, cwd: str | None) -> str | None:
        """Return the project of the folder that an agent works in; of where the server was started if it names none."""
        started_in = scope_of_folder(store, self._folder)
        if cwd is None:
            return started_in
        if not Path(cwd).is_absolute() or "\0" in cwd:
            raise UsageError("cwd: name an absolute path")
        named = scope_of_folder(store, cwd)
        if named not in (None, started_in) and started_in is not None and not self._config.mcp.every_project:
            raise UsageError(f"cwd: this server was started for {started_in}, and {cwd[:200]} is of another; {_CLOSED}")
        return named

    def _find(self, store: Store, name: str, scopes: Sequence[str] | None) -> Memory:
        exact = store.memories.get(name)
        found = [exact] if exact is not None else store.memories.find_by_prefix(name, limit=MOST_FOUND)
        told = [one for one in found if scopes is None or one.scope in scopes]
        if len(told) != 1:
            problem = "is the beginning of several ids" if told else "is no memory that may be told here"
            raise UsageError(f"{name} {problem}; search_memories finds the ids")
        return told[0]

    def _may_quote(self, store: Store, memory: Memory, scopes: Sequence[str] | None) -> bool:
        return all(self._may_tell_thread(store, name, scopes) for name in memory.thread_ids)

    def _may_tell_thread(self, store: Store, thread_id: str, scopes: Sequence[str] | None) -> bool:
        thread = store.threads.get(thread_id)
        return thread is not None and (scopes is None or thread.scope in scopes)

    def _explained(self, store: Store, memory: Memory, scopes: Sequence[str] | None) -> Mapping[str, Any]:
        (explained,) = explain(memory.memory_id, store, App.evidence_reader(self._config)).memories[:1]
        entries = [
            self._entry_document(one, is_told=self._may_tell_thread(store, one.entry.thread_id, scopes))
            for one in explained.entries
            if one.stands
        ]
        successor = explained.superseded_by
        return {
            **short_document(memory),
            "status": memory.status_now,
            "first_seen": iso(memory.first_seen),
            "last_confirmed": iso(memory.last_confirmed),
            "usage_count": memory.usage.count,
            "supersedes": [short_document(one) for one in explained.supersedes],
            "superseded_by": short_document(successor) if successor is not None else None,
            "evidence": [line for entry in entries for line in entry],
        }

    def _entry_document(self, one: ExplainedEntry, *, is_told: bool) -> list[dict[str, Any]]:
        if not is_told:
            return [
                {"speaker": line.speaker, "at": iso(line.at), "state": read.state, "words": "[of another project]"}
                for line, read in zip(one.entry.evidence, one.evidence, strict=True)
            ]
        return [
            {
                "speaker": line.speaker,
                "at": iso(line.at),
                "state": read.state,
                "words": read.words[:_WORDS_CHARS],
                "thread": one.entry.thread_id,
                "rollout_path": read.rollout_path or line.rollout_path,
                "line": read.line_number,
            }
            for line, read in zip(one.entry.evidence, one.evidence, strict=True)
        ]

    # --- where it stands

    @contextmanager
    def _looking(self) -> Iterator[Store]:
        """Open the database to look at it; what every command does at its start is done first, if it is due."""
        store = self._open()
        try:
            yield store
        finally:
            store.close()

    def _open(self) -> Store:
        for is_last in (False, True):
            try:
                store = look_at(self._config.database_path)
            except CantLookError as error:
                if is_last or error.state is not DatabaseState.OLDER:
                    raise _told_as(error) from error
            else:
                is_in_line = store.forgetting.met() == TombstoneFolder(self._config.tombstones_path).digest()
                is_whole = not Journal(self._config.journal_path).is_gone() or not store.journal.was_told()
                if is_in_line and (is_last or is_whole) and (is_last or not store.search.is_stale()):
                    return store
                store.close()
            if not is_last:
                self._bring_up_to_date()
        raise LockedError("what the person had forgotten is being taken out just now; ask again in a while")

    def _bring_up_to_date(self) -> None:
        """Do what every command does at its start, and index what changed; what can't be done now shows afterwards."""
        try:
            with App(self._config, clock=self._clock, busy_seconds=PATIENCE_SECONDS) as app:
                app.store.search.refresh()
        except (StoreError, LockedError):
            logging.getLogger(__name__).warning("not up to date", extra={"action": "mcp", "outcome": "failed"})

    def _file(self, name: str) -> str:
        content = read_workspace_file(self._config.workspace_path, name)
        if content is None:
            raise UsageError(f"{name} is not there yet; `memory-pipeline run` writes it")
        return content.decode("utf-8", "replace")

    def _summary(self) -> str:
        """Return memory_summary.md as it would read if it were rendered now: what was switched off is told no more."""
        self._file(SUMMARY_FILE)
        with self._looking() as store:
            self._scopes(store, None)
            told = [one for one in store.memories.every() if one.status_now is MemoryStatus.ACTIVE]
            cited = store.extractions.get_selected(sorted({name for one in told for name in one.thread_ids}))
            in_force = in_force_now(self._config, store)
        rendered = render_summary(
            told_of(told),
            [item.thread for item in cited],
            max_bytes=self._config.phase2.summary_max_bytes,
            unused={one.scope for one in told if not in_force.may_use(scope=one.scope)},
        )
        return rendered.decode("utf-8", "replace")

    def _handbook(self) -> str:
        """Return MEMORY.md; where only one project may be told, as it would read if there were no other."""
        if self._config.mcp.every_project:
            with self._looking() as store:
                self._scopes(store, None)
            return self._file(MEMORY_FILE)
        with self._looking() as store:
            scopes = self._scopes(store, None) or []
            active = [one for one in store.memories.every() if one.status_now is MemoryStatus.ACTIVE]
            memories = [memory for memory in active if memory.scope in scopes]
            cited = store.extractions.get_selected(sorted({name for one in memories for name in one.thread_ids}))
        threads = {item.thread.thread_id: item for item in cited if item.thread.scope in scopes}
        rendered = render_handbook(told_of(memories), threads, max_bytes=self._config.phase2.memory_max_bytes)
        return as_bytes(rendered).decode("utf-8", "replace")

    def _record_uses(self, used: Sequence[tuple[str, str]]) -> None:
        """Write down what was used, once a session each, and count it where the database can be written now."""
        now = self._clock.now()
        with self._telling:
            uses = [
                use
                for kind, name in used
                if (use := use_of(origin="mcp", distinct=self._session, at=now, **{f"{kind}_id": name})).record_id
                not in self._told
            ]
            if not uses:
                return
            journal = Journal(self._config.journal_path)
            try:
                store = Store(self._config.database_path, busy_seconds=PATIENCE_SECONDS)
            except (StoreError, LockedError):
                journal.append(uses)  # the next run counts them
            else:
                try:
                    record_uses(uses, journal=journal, store=store, now=now)
                except StoreError:
                    pass  # they are written down
                finally:
                    store.close()
            self._told.update(dict.fromkeys(use.record_id for use in uses))


def _told_as(error: CantLookError) -> StoreError:
    if error.state is DatabaseState.MISSING:
        return StoreError("nothing is remembered yet; `memory-pipeline run` makes memories of the session logs")
    return StoreError(f"the memories can't be read now: {error}; `memory-pipeline doctor` says what to do")


def _note_unrecorded(error: StoreError) -> None:
    logging.getLogger(__name__).warning("%s", error, extra={"action": "mcp", "outcome": "not_recorded"})
