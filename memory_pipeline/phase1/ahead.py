"""Reading many logs at once, with helping processes: an interpreter uses one core alone.

A first index reads everything that an agent ever left. Each helper is told at its start what is its share, every second
log of two, and tells of one log after the other. What it can't tell plainly (a log that can't be read, a fork, which
takes a look at its parent) it leaves to whoever asked; so is the share of a helper that failed. It waits as soon as
nobody takes what it tells, and ends as soon as nobody can: with the process that started it, however that ends.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from msgspec import MsgspecError, Struct, msgpack

from memory_pipeline.records import Agent, RolloutFile, ThreadFacts
from memory_pipeline.rollouts.lineage import OwnPart
from memory_pipeline.rollouts.reading import OwnFolders, memory_folders, read_facts
from memory_pipeline.rollouts.scope import scope_of

#: Below so many logs, or bytes, a helper takes longer to start than to read.
WORTH_HELP_FILES = 64
WORTH_HELP_BYTES = 64_000_000
#: More helpers than these would wait for what they read to be stored.
MOST_HELPERS = 4
_ENDS_WITHIN_SECONDS = 5.0
#: Before what a log tells stands how long that is; nothing where it can't be told plainly.
_SIZE_BYTES = 4
#: It finds this program where whoever starts it did. What else a start of Python may run (-S leaves it out) could print
#: something, which would be taken for what it tells.
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


class LogReader:
    """Reads what logs tell, in whichever process."""

    def __init__(self, how: HowToRead) -> None:
        self._how = how
        self._own: dict[Agent, OwnFolders] = {}

    def facts_of(self, file: RolloutFile, part: OwnPart) -> ThreadFacts:
        """Read what the index needs to know of a thread, from the part of its log that is its own.

        Raises:
            RolloutError: it can't be read.
        """
        how, home = self._how, self._how.homes[file.agent]
        if file.agent not in self._own:
            self._own[file.agent] = OwnFolders((*how.own_folders, *memory_folders(file.agent, home)))
        return read_facts(file, home, max_bytes=how.max_bytes, own_folders=self._own[file.agent], own=part, now=how.now)


class Told(Struct, frozen=True, kw_only=True):
    """What a log tells, and the scope of its thread."""

    facts: ThreadFacts
    scope: str


class _Share(Struct, frozen=True, kw_only=True):
    """What one helper has to read, in order."""

    how: HowToRead
    files: Sequence[RolloutFile]
    parts: Sequence[OwnPart]


def helpers_for(files: Sequence[RolloutFile]) -> int:
    """Return how many helpers are worth their start for these files; 0: read them here."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    is_worth_it = len(files) > WORTH_HELP_FILES and sum(file.size for file in files) >= WORTH_HELP_BYTES
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
    started: list[_Helper] = []
    try:
        started += (_Helper(command) for _ in range(helpers))
        for number, helper in enumerate(started):
            helper.give(_Share(how=how, files=files[number::helpers], parts=parts[number::helpers]))
        for number in range(len(files)):
            yield started[number % helpers].tell()
    finally:
        for helper in started:
            helper.end()


class _Helper:
    """One process that reads its share of the logs. Once it failed, it tells nothing any more."""

    def __init__(self, command: Sequence[str]) -> None:
        self._decoder = msgpack.Decoder(Told)
        self._process: subprocess.Popen[bytes] | None = None
        with suppress(OSError):
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter, and a fixed text
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )

    def give(self, share: _Share) -> None:
        """Say what to read. It takes in all of that before it tells anything, so that neither waits in vain."""
        if self._process is None or self._process.stdin is None:
            return
        try:
            with self._process.stdin as said:
                said.write(msgpack.encode(share))
        except (OSError, UnicodeEncodeError):  # it ended, or a folder's name is no text: that can be read here alone
            self.end()

    def tell(self) -> Told | None:
        """Return what the next log tells; None where that has to be found out otherwise."""
        if self._process is None or self._process.stdout is None:
            return None
        try:
            size = int.from_bytes(self._process.stdout.read(_SIZE_BYTES), "big")
            return self._decoder.decode(self._process.stdout.read(size)) if size else None
        except (MsgspecError, MemoryError, OSError):  # it ended in between, or tells something else
            self.end()
            return None

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
    """Tell of each log of a share, until nobody listens any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a person stops the one that asks
    share = msgpack.decode(sys.stdin.buffer.read(), type=_Share)
    reader = LogReader(share.how)
    try:
        for file, part in zip(share.files, share.parts, strict=True):
            told = _tell(reader, file, part)
            sys.stdout.buffer.write(len(told).to_bytes(_SIZE_BYTES, "big") + told)
            sys.stdout.buffer.flush()
    except BrokenPipeError:
        os._exit(0)  # the end of Python would try once more to write what is left


def _tell(reader: LogReader, file: RolloutFile, part: OwnPart) -> bytes:
    try:
        facts = reader.facts_of(file, part)
        scope = scope_of(facts.cwd, facts.git_remote, thread_id=facts.thread_id)
        is_plain = facts.forked_from is None and not part.own_from_byte
        return msgpack.encode(Told(facts=facts, scope=scope)) if is_plain else b""
    except Exception:  # noqa: BLE001 - whoever asked reads it once more, and tells of the fault
        return b""
