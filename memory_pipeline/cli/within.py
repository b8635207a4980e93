"""Work that must not take longer than somebody is willing to wait: it is left where it stands."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import ClassVar, TypeVar

from memory_pipeline.cli.place import EXIT_FAILED, AtOnce
from memory_pipeline.errors import MemoryPipelineError

T = TypeVar("T")


class TooSlowError(MemoryPipelineError):
    """The work was not done in time: a slow disk, a busy machine, input that does not end.

    The program ends at once: taking it down regularly would wait for the work, or trip over it.
    """

    exit_code: ClassVar[int] = AtOnce(EXIT_FAILED)


def within(seconds: float, work: Callable[[Callable[[], bool]], T]) -> T:
    """Return what ``work`` returns, or raise what it raises, if it ends within ``seconds``.

    It runs in a thread of its own, which ends with the program at the latest, since nothing can end a read that hangs.
    It is given what tells whether it is too late: nothing that lasts may follow then.

    Raises:
        TooSlowError: it did not end in time; it may still be at work.
    """
    outcome: list[T] = []
    fault: list[BaseException] = []
    too_late = threading.Event()

    def run() -> None:
        try:
            outcome.append(work(too_late.is_set))
        except BaseException as error:  # noqa: BLE001 - it is raised again where it is waited for
            fault.append(error)

    worker = threading.Thread(target=run, name="within", daemon=True)
    worker.start()
    worker.join(seconds)
    too_late.set()
    if fault:
        raise fault[0]
    if not outcome:
        raise TooSlowError(f"not done within {seconds:g} s: the disk or the machine is slow, or its input does not end")
    return outcome[0]
