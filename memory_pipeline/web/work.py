"""Doing a call: in a worker thread, on the parts opened for this one request."""

from __future__ import annotations

import logging
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import TypeVar

import anyio
import anyio.to_thread

from memory_pipeline.app import App
from memory_pipeline.clock import Clock
from memory_pipeline.errors import DamagedDatabaseError, MemoryPipelineError, StoreError
from memory_pipeline.web.answers import HttpFault, fault_of
from memory_pipeline.web.users import User

logger = logging.getLogger(__name__)

#: How many calls work at once, and how many runs.
_WORKERS = 8
_RUNNERS = 2
#: How many calls of one user work at once: one whose database is held by another program leaves room for the others.
_WORKERS_OF_ONE = 3

T = TypeVar("T")


class Work:
    """The worker threads of a server."""

    def __init__(self, clock: Clock, stop: threading.Event) -> None:
        """``stop`` ends runs when it is set; what is in flight is given back."""
        self.clock = clock
        self.stop = stop
        self._workers: anyio.CapacityLimiter | None = None
        self._runners: anyio.CapacityLimiter | None = None
        self._of_one: dict[str, anyio.CapacityLimiter] = {}
        self._guard = threading.Lock()
        self._running: set[str] = set()

    async def do(self, user: User, what: Callable[[App], T], *, name: str, is_run: bool = False) -> T:
        """Open a user's parts in a worker thread, do something with them, and close them.

        ``is_run`` is for what works for long: of that there is one at a time for each user.

        Raises:
            HttpFault: it could not be done; whatever happened is told so, and logged.
        """
        if self._workers is None or self._runners is None:
            self._workers, self._runners = anyio.CapacityLimiter(_WORKERS), anyio.CapacityLimiter(_RUNNERS)
        if is_run:
            return await anyio.to_thread.run_sync(self._do, user, what, name, is_run, limiter=self._runners)
        async with self._of_one.setdefault(user.name, anyio.CapacityLimiter(_WORKERS_OF_ONE)):
            return await anyio.to_thread.run_sync(self._do, user, what, name, is_run, limiter=self._workers)

    def _do(self, user: User, what: Callable[[App], T], name: str, is_run: bool) -> T:
        began = time.monotonic()
        outcome = "done"
        try:
            with self._alone(user) if is_run else _beside_others(), self._opened(user, mends=is_run) as app:
                return what(app)
        except Exception as error:  # noqa: BLE001 - whatever happens is an answer, and logged without words
            fault = fault_of(error)
            outcome = fault.code
            _log_fault(error, fault, name)
            raise fault from None
        finally:
            seconds = round(time.monotonic() - began, 3)
            logger.debug("call", extra={"action": name, "outcome": outcome, "seconds": seconds})

    @contextmanager
    def _alone(self, user: User) -> Iterator[None]:
        with self._guard:
            if user.name in self._running:
                raise HttpFault(
                    HTTPStatus.CONFLICT, "run_in_progress", "a run of yours is in progress; ask again when it has ended"
                )
            self._running.add(user.name)
        try:
            yield
        finally:
            with self._guard:
                self._running.discard(user.name)

    @contextmanager
    def _opened(self, user: User, *, mends: bool) -> Iterator[App]:
        with App(user.config, clock=self.clock, stop=self.stop, mends=mends) as app:
            try:
                yield app
            except (StoreError, ValueError, TypeError, KeyError) as error:
                # A row that says what none can say, as well as a page that can't be read.
                if not isinstance(error, DamagedDatabaseError) and app.store.seems_damaged:
                    raise DamagedDatabaseError(f"{user.config.database_path}: the database seems damaged") from error
                raise


@contextmanager
def _beside_others() -> Iterator[None]:
    yield


def _log_fault(error: Exception, fault: HttpFault, name: str) -> None:
    if fault.status < HTTPStatus.INTERNAL_SERVER_ERROR:
        return
    fields = {"action": name, "outcome": fault.code}
    if isinstance(error, MemoryPipelineError):
        logger.error("%s", error, extra=fields)
        return
    if isinstance(error, OSError):  # a full disk, or a file that is not ours to write: whoever runs the server mends it
        logger.error("%s: %s", error.filename or "a file", error.strerror or type(error).__name__, extra=fields)
        return
    # Where it happened, never the error's own message: that may quote what was sent.
    frame = traceback.extract_tb(error.__traceback__)[-1]
    logger.error("internal error: %s in %s, line %s", type(error).__name__, frame.name, frame.lineno, extra=fields)
