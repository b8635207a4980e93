"""Reading many logs at once, each in one of several helping processes: an interpreter uses one core alone.

A first index reads everything that an agent ever left. What a helper can't tell plainly (a log that can't be read, a
fork, which takes a look at its parent) it leaves to whoever asked. A helper ends with the pipe it is asked through, and
so with the process that started it, however that ends.
"""

from __future__ import annotations

import os
import pickle
import queue
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from itertools import repeat

from msgspec import Struct

from memory_pipeline.records import Agent, RolloutFile, ThreadFacts
from memory_pipeline.rollouts.lineage import OwnPart
from memory_pipeline.rollouts.reading import OwnFolders, memory_folders, read_facts
from memory_pipeline.rollouts.scope import scope_of

#: Below so many bytes a helper takes longer to start than to read.
WORTH_HELP_BYTES = 64_000_000
#: More helpers than these would wait for what they read to be stored.
MOST_HELPERS = 4
#: A helper is asked about so many logs at once, fewer where they are long, since who stops a run waits for an answer.
_AT_ONCE = 32
_BYTES_AT_ONCE = 16_000_000
#: How many such questions wait for each.
_AHEAD = 2
_ENDS_WITHIN_SECONDS = 5.0
#: It finds this program where whoever starts it did. What else a start of Python may run (-S leaves it out) could print
#: something, and who waits for an answer would wait for the rest of that.
HELPER_COMMAND = (
    sys.executable,
    "-S",
    "-c",
    f"import sys; sys.path[:] = {sys.path!r}; from memory_pipeline.phase1.ahead import serve; serve()",
)


class HowToRead(Struct, frozen=True, kw_only=True):
    """What holds for all logs of one look."""

    homes: Mapping[Agent, str]
    max_bytes: int
    own_folders: tuple[str, ...]
    now: float  # when the look began


class Told(Struct, frozen=True, kw_only=True):
    """What a log tells, and the scope of its thread."""

    facts: ThreadFacts
    scope: str


def helpers_for(files: Sequence[RolloutFile]) -> int:
    """Return how many helpers are worth their start for these files; 0: read them here."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    is_worth_it = len(files) > 2 * _AT_ONCE and sum(file.size for file in files) >= WORTH_HELP_BYTES
    return min(cores, MOST_HELPERS) if is_worth_it and cores > 1 else 0


def read_ahead(
    files: Sequence[RolloutFile],
    parts: Sequence[OwnPart],
    how: HowToRead,
    *,
    helpers: int,
    command: Sequence[str] = HELPER_COMMAND,
) -> Iterator[Told | None]:
    """Yield what each log tells, in order; None of one that has to be read by whoever asked.

    ``parts`` says of each file which part of it is its thread's own; ``command`` starts a helper.
    """
    free: queue.SimpleQueue[_Helper] = queue.SimpleQueue()
    started = [helper for helper in (_Helper(how, command) for _ in range(helpers)) if helper.is_there]
    if not started:  # and where no process can be started, no thread may be either
        yield from repeat(None, len(files))
        return
    for helper in started:
        free.put(helper)

    def ask(asked: Sequence[tuple[RolloutFile, OwnPart]]) -> list[Told | None]:
        helper = free.get()
        try:
            return helper.ask(asked)
        finally:
            free.put(helper)

    waiting: deque[Future[list[Told | None]]] = deque()
    with ThreadPoolExecutor(len(started)) as pool:
        try:
            for asked in _questions(files, parts):
                waiting.append(pool.submit(ask, asked))
                if len(waiting) > _AHEAD * len(started):
                    yield from waiting.popleft().result()
            while waiting:
                yield from waiting.popleft().result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            for helper in started:
                helper.end()


def _questions(files: Sequence[RolloutFile], parts: Sequence[OwnPart]) -> Iterator[list[tuple[RolloutFile, OwnPart]]]:
    asked: list[tuple[RolloutFile, OwnPart]] = []
    size = 0
    for file, part in zip(files, parts, strict=True):
        asked.append((file, part))
        size += file.size
        if len(asked) == _AT_ONCE or size >= _BYTES_AT_ONCE:
            yield asked
            asked, size = [], 0
    if asked:
        yield asked


class _Helper:
    """One process that reads logs. Once it failed, it tells nothing any more."""

    def __init__(self, how: HowToRead, command: Sequence[str]) -> None:
        self._how: HowToRead | None = how
        self._process: subprocess.Popen[bytes] | None = None
        with suppress(OSError):
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter, and a fixed text
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )

    @property
    def is_there(self) -> bool:
        """Whether it was started, and has not failed."""
        return self._process is not None

    def ask(self, asked: Sequence[tuple[RolloutFile, OwnPart]]) -> list[Told | None]:
        """Return what each of some logs tells."""
        process = self._process
        try:
            if process is not None and process.stdin is not None and process.stdout is not None:
                pickle.dump((self._how, asked), process.stdin, protocol=pickle.HIGHEST_PROTOCOL)
                process.stdin.flush()
                self._how = None  # said once
                told = pickle.load(process.stdout)  # noqa: S301 - our own process
                if isinstance(told, list) and len(told) == len(asked):
                    return told
        except Exception:  # noqa: BLE001, S110 - what is no answer may raise anything when it is read
            pass
        self.end()
        return [None] * len(asked)

    def end(self) -> None:
        """Let the process end."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()  # it only reads
        with suppress(subprocess.TimeoutExpired):  # it hangs in the system, and ends once that answers
            process.wait(_ENDS_WITHIN_SECONDS)
        for pipe in (process.stdin, process.stdout):
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()


def serve() -> None:
    """Answer one question after the other, until whoever asks them is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a person stops the one that asks
    how: HowToRead | None = None
    own: dict[Agent, OwnFolders] = {}
    with suppress(EOFError, BrokenPipeError):
        while True:
            said, asked = pickle.load(sys.stdin.buffer)  # noqa: S301 - of the process that started this one
            how = said or how
            if how is None:
                return
            pickle.dump([_tell(file, part, how, own) for file, part in asked], sys.stdout.buffer)
            sys.stdout.buffer.flush()


def _tell(file: RolloutFile, part: OwnPart, how: HowToRead, own: dict[Agent, OwnFolders]) -> Told | None:
    home = how.homes[file.agent]
    if file.agent not in own:
        own[file.agent] = OwnFolders((*how.own_folders, *memory_folders(file.agent, home)))
    try:
        facts = read_facts(file, home, max_bytes=how.max_bytes, own_folders=own[file.agent], own=part, now=how.now)
        scope = scope_of(facts.cwd, facts.git_remote, thread_id=facts.thread_id)
    except Exception:  # noqa: BLE001 - whoever asked reads it once more, and tells of the fault
        return None
    return None if facts.forked_from is not None or part.own_from_byte else Told(facts=facts, scope=scope)
