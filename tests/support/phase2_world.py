"""A small world for tests of phase two: entries, memories, and a store with a workspace beside it."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from fresh_database import lay_database
from msgspec import Struct
from msgspec.structs import replace
from reviewed import pass_review

from memory_pipeline.config import Config, Phase1Config, Phase2Config
from memory_pipeline.llm.port import ToolModel
from memory_pipeline.phase2.curators.rules import curate
from memory_pipeline.phase2.operations import MemoryBook, new_memory
from memory_pipeline.phase2.placing import Shelves
from memory_pipeline.phase2.run import Phase2
from memory_pipeline.raw_memory import render_raw_memory
from memory_pipeline.records import (
    Agent,
    Coverage,
    Entry,
    EntryKind,
    EvidenceLine,
    Extraction,
    Gate,
    IndexedThread,
    JournalAction,
    JournalRecord,
    Memory,
    MemoryStatus,
    Operation,
    Phase2Counts,
    RolloutFile,
    SelectedThread,
    Source,
    Speaker,
    StoredExtraction,
    Task,
    TaskOutcome,
    ThreadFacts,
    Usage,
)
from memory_pipeline.rollouts.journal import record_id_of
from memory_pipeline.store.store import Store

DAY = 86_400.0
NOW = 1_790_000_000.0
PROJECT = "project:example.org/sam/shop"
OTHER_PROJECT = "project:example.org/sam/blog"


def entry(
    statement: str,
    *,
    at: float | None = NOW - DAY,
    thread: str = "thread-a",
    kind: EntryKind = EntryKind.PREFERENCE,
    scope: str = PROJECT,
    condition: str = "",
    speaker: Speaker = Speaker.USER,
    byte: int = 0,
) -> Entry:
    """Make an entry that rests on one line; its id follows from what it says, as in the product."""
    line = hashlib.sha256(f"{thread}|{at}|{byte}|{statement}".encode()).hexdigest()
    evidence = EvidenceLine(
        rollout_path=f"/home/sam/.codex/sessions/{thread}.jsonl",
        byte_start=byte,
        byte_end=byte + 100,
        line_sha256=line,
        speaker=speaker,
        at=at,
        quote=statement,
    )
    digest = hashlib.sha256(f"{thread}|{kind}|{scope}|{statement}|{line}".encode()).hexdigest()
    return Entry(
        entry_id=f"e_{digest[:24]}",
        thread_id=thread,
        kind=kind,
        scope=scope,
        condition=condition,
        statement=statement,
        evidence=(evidence,),
    )


def learned(statement: str, **fields: Any) -> Entry:
    """Make an entry of knowledge that a tool's output showed."""
    return entry(statement, **({"kind": EntryKind.KNOWLEDGE, "speaker": Speaker.TOOL} | fields))


def memory(statement: str, *, number: int = 0, **fields: Any) -> Memory:
    """Make an active memory that rests on one entry."""
    known = {
        name: fields.pop(name) for name in ("at", "thread", "kind", "scope", "condition", "speaker") & fields.keys()
    }
    made = new_memory(f"m_{number:016x}", entry(statement, **known), now=NOW - DAY)
    return replace(made, **fields)


def selected(
    thread_id: str,
    *tasks: Task,
    cwd: str | None = "/home/sam/shop",
    slug: str = "tidy_shop",
    started_at: float | None = NOW - DAY,
    **fields: Any,
) -> SelectedThread:
    """Make a thread with what was stored for it."""
    known: dict[str, Any] = {
        "thread_id": thread_id,
        "agent": Agent.CODEX,
        "rollout_path": f"/home/sam/.codex/sessions/{thread_id}.jsonl",
        "archived": False,
        "present": True,
        "size": 1,
        "index_error": None,
        "source": Source.INTERACTIVE,
        "cwd": cwd,
        "scope": PROJECT,
        "git_branch": "main",
        "title": "Tidy",
        "started_at": started_at,
        "updated_at": NOW - DAY,
        "prompt_count": 1,
        "result_chars": 1,
        "gives_direction": True,
        "memory_mode": None,
        "model_provider": None,
        "external_context": False,
        "content_digest": "d",
        "understood_lines": 1,
        "total_lines": 1,
        "skipped_lines": {},
        "unknown_types": {},
        "disabled_by_person": False,
        "gate": None,
        "job_state": None,
        "source_digest": None,
        "attempts": 0,
        "retry_at": None,
        "last_error": None,
        "extracted": True,
        "no_output": False,
    }
    extraction = StoredExtraction(
        thread_id=thread_id,
        rollout_summary="- Tidied the shop (success)",
        slug=slug,
        raw_memory=render_raw_memory(tasks),
        tasks=tasks,
        coverage=Coverage.HIGH,
        generated_at=NOW - DAY,
        source_updated_at=NOW - DAY,
        dropped_entries={},
    )
    return SelectedThread(thread=IndexedThread(**(known | fields)), extraction=extraction, usage=Usage())


def task(*entries: Entry, title: str = "Tidy the shop", outcome: TaskOutcome = TaskOutcome.SUCCESS) -> Task:
    """Make a task that gave these entries."""
    return Task(title=title, outcome=outcome, entries=entries)


class Shelf:
    """Memories without a store: what a series of consolidations makes of entries, batch by batch."""

    def __init__(self, *, max_unused_days: float = 0) -> None:
        self.memories: dict[str, Memory] = {}
        self.entries: dict[str, Entry] = {}
        self._placed: dict[str, list[str]] = {}
        self._threads: dict[str, str] = {}
        self._max_unused_days = max_unused_days

    def read(self, *entries: Entry, now: float = NOW) -> list[Operation]:
        """Consolidate with these entries added to all that were read before; returns what was done."""
        self.entries |= {item.entry_id: item for item in entries}
        return self.consolidate(now=now)

    def withdraw(self, *entries: Entry, now: float = NOW) -> list[Operation]:
        """Consolidate after these entries no longer stand."""
        for item in entries:
            self.entries.pop(item.entry_id, None)
        return self.consolidate(now=now)

    def replace(self, old: Entry, new: Entry) -> list[Operation]:
        """Consolidate after a new reading of a thread says one thing otherwise."""
        self.entries.pop(old.entry_id)
        return self.read(new)

    def consolidate(self, *, now: float = NOW) -> list[Operation]:
        """Consolidate once."""
        standing = [self._as_stored(item) for item in self.memories.values()]
        held = {entry_id for placed in self._placed.values() for entry_id in placed}
        book = MemoryBook({item.memory_id: item for item in standing}, dict(self.entries), now=now)
        unplaced = [item for entry_id, item in self.entries.items() if entry_id not in held]
        curate(book, Shelves(standing), unplaced, self, max_unused_days=self._max_unused_days, now=now)
        for memory_id, entry_id in book.placements:
            self._placed.setdefault(memory_id, []).append(entry_id)
            self._threads[entry_id] = self.entries[entry_id].thread_id
        self.memories = dict(book.memories)
        return book.operations

    def to_judge(self) -> frozenset[str]:
        """All memories: nothing is noted of what changed."""
        return frozenset(self.memories)

    def former_threads(self, memory_ids: Collection[str]) -> Mapping[str, frozenset[str]]:
        """The threads of all entries that these ever rested on."""
        return {name: frozenset(self._threads[e] for e in self._placed[name]) for name in memory_ids}

    def results_in(self, scope: str) -> Collection[str]:
        """All memories of a scope."""
        return [item.memory_id for item in self.memories.values() if item.scope == scope]

    def unused_since(self, since: float) -> Collection[str]:
        """All memories: when they were used is asked of each."""
        return list(self.memories)

    def _as_stored(self, item: Memory) -> Memory:
        """A memory as the store gives it back: with the entries that still stand."""
        entry_ids = tuple(name for name in self._placed[item.memory_id] if name in self.entries)
        threads = sorted({self.entries[entry_id].thread_id for entry_id in entry_ids})
        return replace(item, entry_ids=entry_ids, thread_ids=tuple(threads))

    def change(self, statement: str, **fields: Any) -> None:
        """Change the memory that says this, as a person or its usage would."""
        (found,) = [item for item in self.memories.values() if item.statement == statement]
        self.memories[found.memory_id] = replace(found, **fields)

    def told(self, status: MemoryStatus = MemoryStatus.ACTIVE) -> set[str]:
        """The statements of one status."""
        return {item.statement for item in self.memories.values() if item.status is status}

    def of(self, statement: str) -> Memory:
        """The one memory that says this."""
        (found,) = [item for item in self.memories.values() if item.statement == statement]
        return found


class HandClock(Struct, dict=True):
    """A clock that a test sets."""

    moment: float = NOW

    def now(self) -> float:
        """Return the moment that was set."""
        return self.moment


class World:
    """A store, a workspace and phase two on them."""

    def __init__(self, folder: Path, **phase2: Any) -> None:
        self.folder = folder
        self.clock = HandClock()
        self.config = Config(
            state_dir=str(folder / "state"),
            memories_dir=str(folder / "memories"),
            phase1=Phase1Config(backoff_base_seconds=60, backoff_max_seconds=600),
            phase2=Phase2Config(**phase2),
        )
        self.store = Store(lay_database(self.config.database_path))
        self._readings = 0

    @property
    def workspace(self) -> Path:
        """The memory workspace."""
        return self.config.workspace_path

    @property
    def handbook(self) -> Path:
        """MEMORY.md."""
        return self.workspace / "MEMORY.md"

    def says(
        self,
        thread_id: str,
        *entries: Entry,
        cwd: str = "/home/sam/shop",
        title: str = "Tidy the shop",
        coverage: str = "high",
    ) -> None:
        """Let a thread say exactly these entries, as phase one would store it."""
        self._readings += 1
        entries = tuple(_said_in(thread_id, item) for item in entries)
        path = f"/home/sam/.codex/sessions/{thread_id}.jsonl"
        file = RolloutFile(
            agent=Agent.CODEX,
            path=path,
            thread_id=thread_id,
            archived=False,
            size=1,
            mtime_ns=self._readings,
            inode=1,
            device=1,
        )
        scope = next((item.scope for item in entries if item.scope != "user"), PROJECT)
        self.store.threads.record_reading(file, facts(thread_id, cwd=cwd, digest=str(self._readings)), scope, now=NOW)
        self.store.jobs.set_gates({thread_id: None})
        lease = self.store.jobs.claim(owner="test", now=NOW, lease_seconds=60, max_attempts=3).lease
        assert lease is not None
        assert lease.thread.thread_id == thread_id
        tasks = (task(*entries, title=title),) if entries else ()
        extraction = Extraction(
            thread_id=thread_id,
            rollout_summary="- It went well." if entries else "",
            slug="tidy_shop" if entries else "",
            raw_memory=render_raw_memory(tasks),
            tasks=tasks,
            coverage=Coverage(coverage),
        )
        assert self.store.jobs.complete(lease, extraction, now=NOW)

    def gate(self, thread_id: str, gate: Gate | None) -> None:
        """Hold a thread back, or let it through again."""
        self.store.jobs.set_gates({thread_id: gate})

    def run(
        self,
        *,
        wait: bool = False,
        on_step: Callable[[str], None] = lambda _name: None,
        should_stop: Callable[[], bool] = lambda: False,
        tool_model: ToolModel | None = None,
        **phase2: Any,
    ) -> Phase2Counts:
        """Run phase two once on all that is said; with a model that curates, if one is given."""
        self.pass_review()
        parts = self.parts(on_step=on_step, should_stop=should_stop, tool_model=tool_model, **phase2)
        return parts.run_once(wait=wait)

    def pass_review(self) -> None:
        """Let pass every entry that is not judged yet."""
        pass_review(self.store, now=self.clock.now())

    def parts(
        self,
        *,
        on_step: Callable[[str], None] = lambda _name: None,
        should_stop: Callable[[], bool] = lambda: False,
        tool_model: ToolModel | None = None,
        disk_time: Callable[[], float] = time.time,
        **phase2: Any,
    ) -> Phase2:
        """Phase two on this world."""
        config = self.config
        if phase2:
            config = replace(config, phase2=replace(config.phase2, **phase2))
        return Phase2(
            config,
            self.store,
            self.clock,
            owner="test",
            jitter=lambda: 0.0,
            should_stop=should_stop,
            on_step=on_step,
            tool_model=tool_model,
            disk_time=disk_time,
        )

    def does(self, action: JournalAction, memory: Memory | None = None, **fields: Any) -> Phase2Counts:
        """Let the person do something by a command."""
        about: dict[str, Any] = {}
        if memory is not None:
            about = {
                "memory_id": memory.memory_id,
                "kind": memory.kind,
                "scope": memory.scope,
                "statement": memory.statement,
                "condition": memory.condition,
            }
        said = {**about, **fields}
        record_id = record_id_of(action, self.clock.now(), sorted(said.items()))
        record = JournalRecord(record_id=record_id, action=action, at=self.clock.now(), origin="command", **said)
        return self.parts().take_in_hand([record])

    def undo(self, consolidation_id: int | None = None) -> Phase2Counts:
        """Undo a consolidation, by default the last one."""
        last = self.store.memories.last_consolidation()
        assert last is not None
        return self.parts().undo(last.consolidation_id if consolidation_id is None else consolidation_id)

    def of(self, statement: str) -> Memory:
        """The one memory that says this."""
        (found,) = [item for item in self.store.memories.every() if item.statement == statement]
        return found

    def told(self) -> set[tuple[str, str]]:
        """Scope and statement of what is told."""
        return {(item.scope, item.statement) for item in self.store.memories.every(status=MemoryStatus.ACTIVE)}

    def write_handbook(self, change: Callable[[list[str]], list[str]]) -> None:
        """Let the person change the lines of MEMORY.md."""
        lines = self.handbook.read_text(encoding="utf-8").splitlines()
        self.handbook.write_text("".join(f"{line}\n" for line in change(lines)), encoding="utf-8")

    def files(self) -> dict[str, bytes]:
        """Everything in the workspace, by path."""
        return read_tree(self.workspace)

    def close(self) -> None:
        """Close the store."""
        self.store.close()


def _said_in(thread_id: str, said: Entry) -> Entry:
    """The same words in this thread: an entry of its own, as in the product."""
    digest = hashlib.sha256(f"{thread_id}|{said.entry_id}".encode()).hexdigest()
    return replace(said, thread_id=thread_id, entry_id=f"e_{digest[:24]}")


def facts(thread_id: str, *, cwd: str = "/home/sam/shop", digest: str = "d", **fields: Any) -> ThreadFacts:
    """Make the facts of an interactive Codex thread."""
    known: dict[str, Any] = {
        "thread_id": thread_id,
        "agent": Agent.CODEX,
        "source": Source.INTERACTIVE,
        "cwd": cwd,
        "git_remote": None,
        "git_branch": "main",
        "title": "Tidy the shop",
        "started_at": NOW - 2 * DAY,
        "updated_at": NOW - DAY,
        "prompt_count": 1,
        "result_chars": 500,
        "gives_direction": True,
        "memory_mode": None,
        "model_provider": None,
        "external_context": False,
        "rate_limits": (),
        "content_digest": digest,
        "understood_lines": 3,
        "total_lines": 3,
        "skipped_lines": {},
        "unknown_types": {},
    }
    return ThreadFacts(**(known | fields))


def read_tree(folder: Path) -> dict[str, bytes]:
    """Every regular file below a folder, by its path there."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def stamps(folder: Path) -> Mapping[str, tuple[int, int]]:
    """Inode and modification time of everything below a folder, the folder itself included."""
    paths: Iterable[Path] = [folder, *sorted(folder.rglob("*"))]
    return {str(path): (path.stat().st_ino, path.stat().st_mtime_ns) for path in paths}
