"""A collaborator: a command of the person's that may add notes and evidence to a draft that waits. It decides nothing.

It is given one draft as JSON on standard input, and an environment without keys. Whatever it does, the review goes on:
it is stopped at its time limit, with the children that it started, and what it says is bounded, masked and one line.
"""

from __future__ import annotations

import contextlib
import os
import select
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import orjson
from msgspec import Struct

from memory_pipeline.clock import iso
from memory_pipeline.config import Config
from memory_pipeline.errors import InterruptedRunError
from memory_pipeline.records import Draft
from memory_pipeline.redact import redact
from memory_pipeline.review.documents import SCHEMA_VERSION, entry_document
from memory_pipeline.statements import one_line
from memory_pipeline.store.store import Store
from memory_pipeline.tombstones import TombstoneFolder, Tombstones

_MOST_BYTES = 64 * 1024
_MOST_REMARKS = 5
_REMARK_CHARS = 300
#: After so many faults in a row it is asked nothing more in this run.
_MOST_FAULTS = 3
_LOOK_SECONDS = 0.1
#: All that it learns of our environment. Keys, tokens and settings of ours are not among it.
_PASSED_ON = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "SystemRoot")


class Remarks(Struct, frozen=True, kw_only=True):
    """What a collaborator says of a draft."""

    notes: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()


class CollaboratorFaultError(Exception):
    """It gave nothing that can be used; the message says why, and goes on after "review.collaborator"."""


def ask_collaborator(
    config: Config,
    store: Store,
    *,
    environ: Mapping[str, str],
    should_stop: Callable[[], bool] = lambda: False,
) -> list[str]:
    """Ask about the first drafts that wait and that it was not asked about; returns sentences for the person.

    A draft about which it failed is not asked about again.

    Raises:
        InterruptedRunError: it was stopped; the next run asks about what is left.
    """
    words = shlex.split(config.review.collaborator)
    if not words:
        return []
    problems: list[str] = []
    faults = 0
    tombstones = TombstoneFolder(config.tombstones_path).current()
    for draft in store.drafts.unasked(limit=config.review.collaborator_max_drafts):
        if faults == _MOST_FAULTS:
            break
        if should_stop():
            raise _stopped()
        try:
            answer = run_bounded(
                words,
                orjson.dumps(_question(draft, store)),
                timeout_seconds=config.review.collaborator_timeout_seconds,
                environ=environ,
                folder=config.state_path,
                should_stop=should_stop,
            )
            remarks = read_remarks(answer, tombstones)
            faults = 0
        except FileNotFoundError:
            problems.append("review.collaborator could not be started: no such program; drafts wait without it")
            break
        except (CollaboratorFaultError, OSError) as fault:
            if should_stop():  # it was cut off, not at fault
                raise _stopped() from fault
            faults += 1
            remarks = Remarks()
            problems.append(f"review.collaborator {_why(fault)}; {draft.entry.entry_id} waits without its notes")
        store.drafts.attach(draft.entry.entry_id, notes=remarks.notes, evidence=remarks.evidence)
    return problems


def run_bounded(
    words: Sequence[str],
    question: bytes,
    *,
    timeout_seconds: float,
    environ: Mapping[str, str],
    folder: Path,
    should_stop: Callable[[], bool] = lambda: False,
) -> bytes:
    """Run a command without a shell and return what it prints; it and its children are gone afterwards.

    Raises:
        CollaboratorFaultError: it was too slow, printed too much, or ended badly.
        OSError: it can't be started.
    """
    deadline = time.monotonic() + timeout_seconds
    running = subprocess.Popen(  # noqa: S603 - the person's own command, split safely
        words,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={name: environ[name] for name in _PASSED_ON if name in environ},
        cwd=folder,
        start_new_session=True,  # so that its children can be ended with it
    )
    asking = threading.Thread(target=_ask, args=(running, question), name="collaborator-input", daemon=True)
    asking.start()
    try:
        answer = _answer_of(running, deadline, should_stop)
        while os.waitid(os.P_PID, running.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            _check(deadline, should_stop)
            time.sleep(_LOOK_SECONDS / 10)
    finally:
        # Its process is not reaped yet, so the number of its group can't be anybody else's.
        with contextlib.suppress(OSError):
            os.killpg(running.pid, signal.SIGKILL)
        code = running.wait()
        asking.join(_LOOK_SECONDS)
        if running.stdout is not None:
            running.stdout.close()
    if code:
        raise CollaboratorFaultError(f"ended with exit code {code}")
    return answer


def read_remarks(answer: bytes, tombstones: Tombstones) -> Remarks:
    """Read what it printed; nothing at all is fine too.

    Raises:
        CollaboratorFaultError: it is not of the shape that was asked for.
    """
    if not answer.strip():
        return Remarks()
    try:
        said = orjson.loads(answer)
    except orjson.JSONDecodeError as error:
        raise CollaboratorFaultError("printed no JSON") from error
    if not isinstance(said, dict):
        raise CollaboratorFaultError("printed no JSON object")
    return Remarks(
        notes=_remarks(said.get("notes", []), tombstones), evidence=_remarks(said.get("evidence", []), tombstones)
    )


def _remarks(said: object, tombstones: Tombstones) -> tuple[str, ...]:
    if not isinstance(said, list) or not all(isinstance(one, str) for one in said):
        raise CollaboratorFaultError("printed notes or evidence that are no list of texts")
    lines: Iterable[str] = (one_line(redact(text).text, _REMARK_CHARS) for text in said)
    return tuple(line for line in lines if line and not tombstones.holds_words(line))[:_MOST_REMARKS]


def _question(draft: Draft, store: Store) -> Mapping[str, object]:
    nearest = (store.memories.get(memory_id) for memory_id in draft.nearest)
    return {
        "schema_version": SCHEMA_VERSION,
        "draft": {**entry_document(draft), "kind": draft.entry.kind, "condition": draft.entry.condition},
        "evidence": [
            {"speaker": line.speaker, "at": iso(line.at), "quote": line.quote} for line in draft.entry.evidence
        ],
        "nearest": [memory.statement for memory in nearest if memory is not None and memory.entry_ids],
    }


def _ask(running: subprocess.Popen[bytes], question: bytes) -> None:
    if running.stdin is not None:
        with contextlib.suppress(OSError):  # it may not care to read
            running.stdin.write(question)
        with contextlib.suppress(OSError):
            running.stdin.close()


def _answer_of(running: subprocess.Popen[bytes], deadline: float, should_stop: Callable[[], bool]) -> bytes:
    pieces: list[bytes] = []
    size = 0
    if running.stdout is None:
        return b""
    descriptor = running.stdout.fileno()
    while True:
        _check(deadline, should_stop)
        if not select.select([descriptor], [], [], _LOOK_SECONDS)[0]:
            continue
        piece = os.read(descriptor, _MOST_BYTES)
        if not piece:
            return b"".join(pieces)
        size += len(piece)
        if size > _MOST_BYTES:
            raise CollaboratorFaultError(f"printed more than {_MOST_BYTES // 1024} KiB")
        pieces.append(piece)


def _check(deadline: float, should_stop: Callable[[], bool]) -> None:
    if should_stop():
        raise CollaboratorFaultError("was stopped")
    if time.monotonic() >= deadline:
        raise CollaboratorFaultError("did not end within review.collaborator_timeout_seconds")


def _stopped() -> InterruptedRunError:
    return InterruptedRunError("stopped: review.collaborator was not asked about all drafts; the next run goes on")


def _why(fault: Exception) -> str:
    if isinstance(fault, OSError):
        return f"could not be started: {fault.strerror or fault}"
    return str(fault)
