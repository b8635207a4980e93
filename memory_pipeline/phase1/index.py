"""Discover and index: reconcile what is on disk with what is known, opening only what changed."""

from __future__ import annotations

import os
import threading
import traceback
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter, itemgetter
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from memory_pipeline.clock import Clock
from memory_pipeline.config import Config, is_default_home
from memory_pipeline.errors import RolloutError, VanishedError
from memory_pipeline.phase1.tasks import index_tasks
from memory_pipeline.records import Agent, RolloutFile, SeenFile, ThreadFacts
from memory_pipeline.rollouts.discover import ScanFolder, find_rollouts, home_problem
from memory_pipeline.rollouts.lineage import OwnPart, current_file, own_start
from memory_pipeline.rollouts.reading import OwnFolders, memory_folders, read_facts
from memory_pipeline.rollouts.scope import scope_of
from memory_pipeline.store.store import Store
from memory_pipeline.tombstones import TombstoneFolder, Tombstones

AGENTS_WITH_HOMES = (Agent.CODEX, Agent.CLAUDE)

Progress = Callable[[int, int], None]

# Called for each of many thousands of unchanged files.
_PATH = attrgetter("path")
_THREAD_ID = attrgetter("thread_id")
_STAMP = itemgetter(slice(RolloutFile._fields.index("size"), RolloutFile._fields.index("device") + 1))
_SEEN_STAMP = itemgetter(slice(SeenFile._fields.index("size"), SeenFile._fields.index("device") + 1))


class Discovery(Struct, frozen=True, kw_only=True):
    """What one look at the disk found."""

    threads: int = 0  # rollouts on disk, one a thread, and submitted tasks
    opened: int = 0  # files that were new or changed, and so were read
    moved: int = 0
    vanished: int = 0
    unreadable: int = 0
    unlistable: int = 0  # folders in which nothing can be seen: whoever started the program may not list them
    problems: tuple[str, ...] = ()  # sentences for the person


def index_rollouts(
    config: Config,
    store: Store,
    clock: Clock,
    *,
    stop: threading.Event | None = None,
    on_progress: Progress | None = None,
    scan: ScanFolder = os.scandir,
) -> Discovery:
    """Bring the index in line with the disk: new, grown, moved, archived, returned and vanished rollouts."""
    store.threads.catch_up(now=clock.now())
    store.jobs.shorten_waits(now=clock.now())
    on_disk = _list_rollouts(config, scan)
    listing = on_disk.files
    seen = store.threads.seen_files()
    changed, moves = _compare(listing, seen)
    for file, old in moves:
        store.threads.record_move(file, old, now=clock.now())
    moved_from = {old.path for _, old in moves}
    gone = [path for path, old in seen.items() if path not in listing and path not in moved_from and old.present]
    returned = [path for path, old in seen.items() if not old.present and path in listing]
    store.threads.record_presence(returned=returned, vanished=gone, now=clock.now())
    changed += _siblings(listing, seen, {*gone, *returned}, {file.path for file in changed})
    reader = _Reader(config, store, clock, listing)
    unreadable = reader.read_all(changed, stop, on_progress)
    reader.share_out()
    store.citations.count_threads(now=clock.now())
    store.threads.rescope(store.threads.scopes_with_remote())
    problems, tasks = list(on_disk.problems), 0
    try:
        tasks = index_tasks(config, store, clock)
    except OSError as error:
        problems.append(f"{config.journal_path}: can't be read ({error.strerror or error}), so no task in it is seen")
    return Discovery(
        threads=len(set(map(_THREAD_ID, listing.values()))) + tasks,
        opened=len(changed),
        moved=len(moves),
        vanished=len(gone),
        unreadable=unreadable,
        unlistable=on_disk.unlistable,
        problems=tuple(problems),
    )


class _Listing(NamedTuple):
    """What is on disk, by path; sentences about what is not seen of it; and how many folders can't be listed."""

    files: dict[str, RolloutFile]
    problems: tuple[str, ...]
    unlistable: int


def _list_rollouts(config: Config, scan: ScanFolder) -> _Listing:
    listing: dict[str, RolloutFile] = {}
    problems: list[str] = []
    unlistable: list[str] = []
    missing: dict[Agent, str] = {}
    for agent in AGENTS_WITH_HOMES:
        source = config.sources.of(agent)
        if not source.enabled:
            continue
        problem = home_problem(agent, source.home)
        if problem:
            missing[agent] = problem
            continue
        found = list(find_rollouts(agent, source.home, tell=unlistable.append, scan=scan))
        if not all(map(str.isascii, map(_PATH, found))):
            unnamed = dict.fromkeys(file.path for file in found if not _is_text(file.path))
            problems += (f"{path!r}: passed over, because its name is not UTF-8; rename it" for path in unnamed)
            found = [file for file in found if file.path not in unnamed]
        files = dict(zip(map(_THREAD_ID, found), found, strict=True))
        if len(files) < len(found):
            # Of several files that are named after one thread (a revert, an archived copy), the current one counts.
            for file in found:
                files[file.thread_id] = current_file([files[file.thread_id], file])
        listing.update(zip(map(_PATH, files.values()), files.values(), strict=True))
    # Who uses one agent only need not hear of the other's default home in every run.
    for agent, problem in missing.items():
        if len(missing) == len(AGENTS_WITH_HOMES) or not is_default_home(agent, config):
            problems.append(problem)
    return _Listing(listing, (*problems, *unlistable), len(unlistable))


def _compare(
    listing: Mapping[str, RolloutFile], seen: Mapping[str, SeenFile]
) -> tuple[list[RolloutFile], list[tuple[RolloutFile, SeenFile]]]:
    """Tell which files must be read, and which are known ones at another path."""
    absent: dict[tuple[str, int, int], SeenFile] = {}
    for path, old in seen.items():
        if path not in listing:
            absent[old.thread_id, old.size, old.mtime_ns] = old
    changed = []
    moves = []
    for file, known in zip(listing.values(), map(seen.get, listing), strict=True):
        if known is None:
            old_home = absent.pop((file.thread_id, file.size, file.mtime_ns), None)
            if old_home is not None and not old_home.open_error:
                moves.append((file, old_home))
            else:
                changed.append(file)
        elif _STAMP(file) != _SEEN_STAMP(known) or known.open_error:
            changed.append(file)
    # Newest first, so that a run that is stopped early has indexed what is wanted soonest.
    changed.sort(key=lambda file: (-file.mtime_ns, file.path))
    return changed, moves


def _siblings(
    listing: Mapping[str, RolloutFile], seen: Mapping[str, SeenFile], came_or_went: set[str], changed: set[str]
) -> list[RolloutFile]:
    """Return the other files of threads of which one file came or went: whose words count must be decided again."""
    if not came_or_went:
        return []
    known = Counter(old.thread_id for old in seen.values())
    threads = {seen[path].thread_id for path in came_or_went if known[seen[path].thread_id] > 1}
    return [
        file
        for path, file in listing.items()
        if threads and path in seen and seen[path].thread_id in threads and path not in changed
    ]


def _is_text(path: str) -> bool:
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


class _Reader:
    """Reads files into the index, each thread by its own part."""

    def __init__(self, config: Config, store: Store, clock: Clock, listing: Mapping[str, RolloutFile]) -> None:
        self._config = config
        self._store = store
        self._clock = clock
        self._listing = listing
        self._by_thread: dict[tuple[Agent, str], RolloutFile] | None = None  # made when a fork is met
        self._tombstones = TombstoneFolder(config.tombstones_path)
        ours = (config.memories_dir, config.state_dir)
        self._own_folders = {
            agent: OwnFolders((*ours, *memory_folders(agent, config.sources.of(agent).home)))
            for agent in AGENTS_WITH_HOMES
        }

    def read_all(self, files: Sequence[RolloutFile], stop: threading.Event | None, on_progress: Progress | None) -> int:
        """Read files one after the other; returns how many could not be read."""
        unreadable = 0
        for done, file in enumerate(files):
            if stop is not None and stop.is_set():
                break
            if on_progress:
                on_progress(done, len(files))
            unreadable += not self._read(file, is_shared_out=False)
        if on_progress:
            on_progress(len(files), len(files))
        return unreadable

    def share_out(self) -> None:
        """Decide which records of the files just read are whose, and read those anew that hold others' records."""
        for claim in self._store.lineage.open_claims():
            file = self._listing.get(claim.rollout_path)
            if file is not None and self._store.lineage.share_out(claim.thread_id):
                self._read(file, is_shared_out=True)

    def _read(self, file: RolloutFile, *, is_shared_out: bool) -> bool:
        own = self._own_part(file)  # outside: a fault of the store is no fault of this log
        try:
            facts = self._facts(file, own)
            if own.own_from_byte and facts.forked_from is None:
                # Another log took the fork's place under its name: nothing before the old offset is anyone else's.
                own = OwnPart(foreign_hashes=own.foreign_hashes)
                facts = self._facts(file, own)
            if facts.forked_from is not None and own.own_from_byte == 0:
                own = OwnPart(foreign_hashes=own.foreign_hashes, own_from_byte=self._own_start(file, facts.forked_from))
                facts = self._facts(file, own) if own.own_from_byte else facts
        except VanishedError:
            return True  # it vanished between the listing and now; the next pass sees it gone
        except Exception as error:  # noqa: BLE001 - one log that trips over a fault of ours must not hide the others
            reason = str(error) if isinstance(error, RolloutError) else _internal_error(file, error)
            scope = scope_of(None, None, thread_id=file.thread_id)
            self._store.threads.record_unreadable(file, reason, scope, now=self._clock.now())
            return False
        tombstones = self._tombstones.current()
        self._store.threads.record_reading(
            file,
            _without_forgotten(facts, tombstones),
            scope_of(facts.cwd, facts.git_remote, thread_id=facts.thread_id),
            now=self._clock.now(),
            own_from_byte=own.own_from_byte,
            is_shared_out=is_shared_out,
        )
        if tombstones.has_thread(facts.thread_id):
            self._store.threads.set_disabled(facts.thread_id, disabled=True)
        return True

    def _own_part(self, file: RolloutFile) -> OwnPart:
        # Decided once, and kept: the part of a file that is others' does not change when it grows.
        share = self._store.lineage.share_of(file.thread_id)
        return OwnPart(foreign_hashes=share.foreign_hashes, own_from_byte=share.own_from_byte)

    def _own_start(self, file: RolloutFile, parent_id: str) -> int:
        parent = self._file_of(file.agent, parent_id)
        home = self._config.sources.of(file.agent).home
        return own_start(file, home, parent=parent, max_bytes=self._config.gates.max_rollout_bytes)

    def _file_of(self, agent: Agent, thread_id: str) -> RolloutFile | None:
        if self._by_thread is None:
            self._by_thread = {(file.agent, file.thread_id): file for file in self._listing.values()}
        return self._by_thread.get((agent, thread_id))

    def _facts(self, file: RolloutFile, own: OwnPart) -> ThreadFacts:
        return read_facts(
            file,
            self._config.sources.of(file.agent).home,
            max_bytes=self._config.gates.max_rollout_bytes,
            own_folders=self._own_folders[file.agent],
            own=own,
            now=self._clock.now(),
        )


def _without_forgotten(facts: ThreadFacts, tombstones: Tombstones) -> ThreadFacts:
    """Let a thread go without a title once a part of it was forgotten: it may be made of just that."""
    if tombstones.is_empty:
        return facts
    if tombstones.touches(facts.thread_id):
        facts = replace(facts, title=None, git_branch=None)
    if tombstones.has_thread(facts.thread_id):
        facts = replace(facts, unknown_types={}, gives_direction=False)
    if tombstones.holds_words(facts.title):
        facts = replace(facts, title=None)
    return replace(facts, git_branch=None) if tombstones.holds_words(facts.git_branch) else facts


def _internal_error(file: RolloutFile, error: Exception) -> str:
    # Where it happened, never the error's own message: that may quote the log.
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{file.path}: internal error: {type(error).__name__} in {place.name}, line {place.lineno}; please report it"
