"""Discover and index: reconcile what is on disk with what is known, opening only what changed."""

from __future__ import annotations

import os
import threading
import traceback
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from itertools import repeat
from operator import attrgetter, itemgetter
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from memory_pipeline import __version__
from memory_pipeline.clock import Clock
from memory_pipeline.config import Config, is_default_home
from memory_pipeline.errors import InterruptedRunError, RolloutError, VanishedError
from memory_pipeline.heaps import seldom_collecting
from memory_pipeline.phase1.ahead import HowToRead, LogReader, Told, helpers_for, read_ahead
from memory_pipeline.phase1.tasks import index_tasks
from memory_pipeline.records import Agent, RolloutFile, SeenFile, ThreadFacts
from memory_pipeline.rollouts.discover import ScanFolder, find_rollouts, home_problem, look_at_rollouts
from memory_pipeline.rollouts.lineage import OwnPart, current_file, own_start
from memory_pipeline.rollouts.scope import scope_of
from memory_pipeline.store.store import Store
from memory_pipeline.store.threads import Reading
from memory_pipeline.tombstones import TombstoneFolder, Tombstones

AGENTS_WITH_HOMES = (Agent.CODEX, Agent.CLAUDE)

Progress = Callable[[int, int], None]
HelpersFor = Callable[[Sequence[RolloutFile]], int]

#: How many readings of helpers one transaction stores.
_STORED_AT_ONCE = 64

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
    helpers_for: HelpersFor = helpers_for,
) -> Discovery:
    """Bring the index in line with the disk: new, grown, moved, archived, returned and vanished rollouts.

    ``helpers_for`` tells how many processes help to read so many files.

    Raises:
        InterruptedRunError: it was stopped; what was read is stored, and the next look reads the rest.
    """
    store.threads.catch_up(now=clock.now())
    store.jobs.shorten_waits(now=clock.now())
    reader = _Reader(config, store, clock, helpers_for)
    with seldom_collecting():
        found = _bring_in_line(config, store, clock, reader, stop, on_progress, scan)
    store.citations.count_threads(now=clock.now())
    store.threads.rescope(store.threads.scopes_with_remote())
    problems, tasks = [*_home_problems(config), *found.problems], 0
    try:
        tasks = index_tasks(config, store, clock)
    except OSError as error:
        problems.append(f"{config.journal_path}: can't be read ({error.strerror or error}), so no task in it is seen")
    return replace(found, threads=found.threads + tasks, problems=tuple(problems))


def _bring_in_line(
    config: Config,
    store: Store,
    clock: Clock,
    reader: _Reader,
    stop: threading.Event | None,
    on_progress: Progress | None,
    scan: ScanFolder,
) -> Discovery:
    """Read what changed on disk; where the log folders look as they did when nothing had, nothing else is looked at."""
    version = store.threads.version()
    look = _look(config, scan)
    settled = store.threads.settled_at(look) if look is not None else None
    if settled is not None:
        if on_progress:
            on_progress(0, 0)
        return Discovery(threads=settled)
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
    unreadable = reader.read_all(changed, listing, stop, on_progress)
    reader.share_out()
    threads = len(set(map(_THREAD_ID, listing.values())))
    if look is not None and reader.knows_all and not on_disk.problems:
        # Noted together with what was read: a look that finds nothing to do writes nothing.
        store.threads.settle(look, threads=threads, version=version)
    return Discovery(
        threads=threads,
        opened=len(changed),
        moved=len(moves),
        vanished=len(gone),
        unreadable=unreadable,
        unlistable=on_disk.unlistable,
        problems=on_disk.problems,
    )


def _look(config: Config, scan: ScanFolder) -> str | None:
    """Return what changes with anything in the log folders, None where that can't be told."""
    looks: list[str] = []
    for agent in _searched(config):
        look = look_at_rollouts(agent, config.sources.of(agent).home, scan=scan)
        if look is None:
            return None
        looks.append(look)
    return "/".join((__version__, *looks))


def _searched(config: Config) -> list[Agent]:
    """Return the agents whose logs are there to be read."""
    enabled = [agent for agent in AGENTS_WITH_HOMES if config.sources.of(agent).enabled]
    return [agent for agent in enabled if home_problem(agent, config.sources.of(agent).home) is None]


def _home_problems(config: Config) -> list[str]:
    """Say which homes can't be searched; who uses one agent only need not hear of the other's default home."""
    enabled = [agent for agent in AGENTS_WITH_HOMES if config.sources.of(agent).enabled]
    problems = {agent: home_problem(agent, config.sources.of(agent).home) for agent in enabled}
    missing = {agent: problem for agent, problem in problems.items() if problem is not None}
    is_all = len(missing) == len(AGENTS_WITH_HOMES)
    return [problem for agent, problem in missing.items() if is_all or not is_default_home(agent, config)]


class _Listing(NamedTuple):
    """What is on disk, by path; sentences about what is not seen of it; and how many folders can't be listed."""

    files: dict[str, RolloutFile]
    problems: tuple[str, ...]
    unlistable: int


def _list_rollouts(config: Config, scan: ScanFolder) -> _Listing:
    listing: dict[str, RolloutFile] = {}
    problems: list[str] = []
    unlistable: list[str] = []
    for agent in _searched(config):
        found = list(find_rollouts(agent, config.sources.of(agent).home, tell=unlistable.append, scan=scan))
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

    def __init__(self, config: Config, store: Store, clock: Clock, helpers_for: HelpersFor) -> None:
        self._config = config
        self._store = store
        self._clock = clock
        self._helpers_for = helpers_for
        self._listing: Mapping[str, RolloutFile] = {}
        self._by_thread: dict[tuple[Agent, str], RolloutFile] | None = None  # made when a fork is met
        self._tombstones = TombstoneFolder(config.tombstones_path)
        self.knows_all = True  # every file that was to be read was
        self._told: list[tuple[RolloutFile, Told]] = []  # by helpers, and not stored yet
        self._how = HowToRead(
            homes={agent: config.sources.of(agent).home for agent in AGENTS_WITH_HOMES},
            max_bytes=config.gates.max_rollout_bytes,
            own_folders=(config.memories_dir, config.state_dir),
            now=clock.now(),
        )
        self._reader = LogReader(self._how)

    def read_all(
        self,
        files: Sequence[RolloutFile],
        listing: Mapping[str, RolloutFile],
        stop: threading.Event | None,
        on_progress: Progress | None,
    ) -> int:
        """Read these of all files on disk, in order, many of them with help; returns how many could not be read.

        Raises:
            InterruptedRunError: it was stopped; what was read is stored.
        """
        self._listing = listing
        unreadable = 0
        with closing(self._told_of(files)) as told_of:
            for done, (file, told) in enumerate(zip(files, told_of, strict=True)):
                if stop is not None and stop.is_set():
                    self._store_what_was_told()
                    raise InterruptedRunError(f"stopped: {done} of {len(files)} logs were read; the next run goes on")
                if on_progress:
                    on_progress(done, len(files))
                if told is None:
                    self._store_what_was_told()
                    unreadable += not self._read(file, is_shared_out=False)
                else:
                    self._told.append((file, told))
                    if len(self._told) >= _STORED_AT_ONCE:
                        self._store_what_was_told()
        self._store_what_was_told()
        if on_progress:
            on_progress(len(files), len(files))
        return unreadable

    def _told_of(self, files: Sequence[RolloutFile]) -> Generator[Told | None, None, None]:
        """Yield what helpers tell of each file; None of one that is to be read here."""
        helpers = self._helpers_for(files)
        if not helpers:
            yield from repeat(None, len(files))
            return
        yield from read_ahead(files, [self._own_part(file) for file in files], self._how, helpers=helpers)

    def _store_what_was_told(self) -> None:
        self._store_readings([Reading(file=file, facts=told.facts, scope=told.scope) for file, told in self._told])
        self._told.clear()

    def _store_readings(self, readings: Sequence[Reading]) -> None:
        tombstones = self._tombstones.current()
        left = [replace(reading, facts=_without_forgotten(reading.facts, tombstones)) for reading in readings]
        self._store.threads.record_readings(left, now=self._clock.now())
        for reading in left:
            if tombstones.has_thread(reading.facts.thread_id):
                self._store.threads.set_disabled(reading.facts.thread_id, disabled=True)

    def share_out(self) -> None:
        """Decide which records of the files just read are whose, and read those anew that hold others' records."""
        for claim in self._store.lineage.open_claims():
            file = self._listing.get(claim.rollout_path)
            if file is not None and self._store.lineage.share_out(claim.thread_id):
                self._read(file, is_shared_out=True)

    def _read(self, file: RolloutFile, *, is_shared_out: bool) -> bool:
        own = self._own_part(file)  # outside: a fault of the store is no fault of this log
        try:
            facts = self._reader.facts_of(file, own)
            if own.own_from_byte and facts.forked_from is None:
                # Another log took the fork's place under its name: nothing before the old offset is anyone else's.
                own = OwnPart(foreign_hashes=own.foreign_hashes)
                facts = self._reader.facts_of(file, own)
            if facts.forked_from is not None and own.own_from_byte == 0:
                own = OwnPart(foreign_hashes=own.foreign_hashes, own_from_byte=self._own_start(file, facts.forked_from))
                facts = self._reader.facts_of(file, own) if own.own_from_byte else facts
        except VanishedError:
            self.knows_all = False
            return True  # it vanished between the listing and now; the next pass sees it gone
        except Exception as error:  # noqa: BLE001 - one log that trips over a fault of ours must not hide the others
            reason = str(error) if isinstance(error, RolloutError) else _internal_error(file, error)
            scope = scope_of(None, None, thread_id=file.thread_id)
            self._store.threads.record_unreadable(file, reason, scope, now=self._clock.now())
            self.knows_all = False
            return False
        reading = Reading(
            file=file,
            facts=facts,
            scope=scope_of(facts.cwd, facts.git_remote, thread_id=facts.thread_id),
            own_from_byte=own.own_from_byte,
            is_shared_out=is_shared_out,
        )
        self._store_readings([reading])
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
