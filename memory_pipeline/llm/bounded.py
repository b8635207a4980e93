"""Requests whose whole duration is bounded, and that can be given up from another thread.

A read timeout bounds the wait for the next byte only: a server that sends one byte now and then is never cut off by
it, and looking up a name knows no timeout at all. So each request runs in a thread of its own; whoever waits for it
stops waiting at the limit, and the request's sockets are shut down, which wakes and ends that thread. Should it hang
where nothing can wake it, it is a daemon thread: it holds up neither the pipeline nor the end of the program.
"""

from __future__ import annotations

import contextlib
import queue
import socket
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar, cast

from msgspec import Struct

from memory_pipeline.errors import InterruptedRunError

Answer = TypeVar("Answer")

_FAREWELL_SECONDS = 1.0  # how long close() waits, in all, for the threads that it woke


class OutOfTimeError(Exception):
    """The request did not end within its seconds and was given up."""


class Connection:
    """The sockets of one request, to be shut down from another thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []
        self._is_cut = False

    @property
    def was_made(self) -> bool:
        """Whether anything could go over it: only then may the other side have taken the request."""
        with self._lock:
            return bool(self._sockets)

    def observe(self, event: str, info: Mapping[str, Any]) -> None:
        """Take note of a socket that was opened; this is the HTTP library's ``trace`` extension."""
        if event.endswith(("connect_tcp.complete", "start_tls.complete")):
            self._attach(info["return_value"].get_extra_info("socket"))

    def cut(self) -> None:
        """Shut down what is open and what will be opened. A thread that reads from it wakes with an error."""
        with self._lock:
            self._is_cut = True
            for opened in self._sockets:
                _shut_down(opened)

    def _attach(self, opened: socket.socket) -> None:
        with self._lock:
            self._sockets.append(opened)
            if self._is_cut:
                _shut_down(opened)


def _shut_down(opened: socket.socket) -> None:
    # Not closed: the number of a closed socket may be taken by another one while the reader still waits on it.
    # Not by the method of a TLS socket: that one also drops its TLS object, which the reader is using.
    with contextlib.suppress(OSError):
        socket.socket.shutdown(opened, socket.SHUT_RDWR)


class _Landing(Generic[Answer], Struct, frozen=True, kw_only=True):
    answer: Answer | None = None
    error: BaseException | None = None


class InFlight:
    """The requests that are under way. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._flights: dict[threading.Thread, tuple[Connection, queue.SimpleQueue[_Landing[Any]]]] = {}

    def run(self, request: Callable[[Connection], Answer], *, seconds: float) -> Answer:
        """Return what ``request`` returns, or raise what it raises, within ``seconds``.

        Raises:
            OutOfTimeError: it took longer; its connection is shut down.
            InterruptedRunError: ``close`` was called.
        """
        connection = Connection()
        landings: queue.SimpleQueue[_Landing[Any]] = queue.SimpleQueue()

        def fly() -> None:
            try:
                landings.put(_Landing(answer=request(connection)))
            except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits
                landings.put(_Landing(error=error))
            finally:
                with self._lock:
                    self._flights.pop(threading.current_thread(), None)

        thread = threading.Thread(target=fly, name="model-request", daemon=True)
        with self._lock:
            if self._closed.is_set():
                raise _interrupted()
            self._flights[thread] = (connection, landings)
        thread.start()
        try:
            landing = landings.get(timeout=max(seconds, 0.0))
        except queue.Empty:
            raise OutOfTimeError from None
        finally:
            connection.cut()
        if landing.error is not None:
            raise landing.error
        return cast("Answer", landing.answer)

    def sleep(self, seconds: float) -> None:
        """Wait, but no longer than until ``close``.

        Raises:
            InterruptedRunError: ``close`` was called.
        """
        if self._closed.wait(seconds):
            raise _interrupted()

    def check(self) -> None:
        """Raise InterruptedRunError if ``close`` was called."""
        if self._closed.is_set():
            raise _interrupted()

    def close(self) -> None:
        """Give up everything under way; whoever waits for it gets InterruptedRunError. May be called twice."""
        with self._lock:
            self._closed.set()
            flights = dict(self._flights)
        for connection, landings in flights.values():
            landings.put(_Landing(error=_interrupted()))
            connection.cut()
        patience_ends = time.monotonic() + _FAREWELL_SECONDS
        for thread in flights:
            if thread.ident is not None:
                thread.join(max(0.0, patience_ends - time.monotonic()))


def _interrupted() -> InterruptedRunError:
    return InterruptedRunError("the request to the model was given up because the run was asked to stop")
