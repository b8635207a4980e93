"""Requests end within their time, or when they are given up."""

from __future__ import annotations

import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from memory_pipeline.errors import InterruptedRunError
from memory_pipeline.llm.bounded import Connection, InFlight, OutOfTimeError


class Stream:
    """Stands for the HTTP library's network stream, which knows its socket."""

    def __init__(self, opened: socket.socket) -> None:
        self.opened = opened

    def get_extra_info(self, name: str) -> socket.socket | None:
        return self.opened if name == "socket" else None


def test_an_answer_and_an_error_reach_the_caller() -> None:
    """What the request returns or raises arrives unchanged."""
    flights = InFlight()
    assert flights.run(lambda _: "answer", seconds=5) == "answer"
    with pytest.raises(KeyError):
        flights.run(lambda _: {}["absent"], seconds=5)
    flights.close()


def test_a_request_that_never_ends_is_given_up_and_its_socket_wakes_it() -> None:
    """The caller gets away in time, and the thread that was reading ends instead of waiting for ever."""
    near, far = socket.socketpair()
    woken = threading.Event()

    def read_for_ever(line: Connection) -> None:
        line.observe("connection.connect_tcp.complete", {"return_value": Stream(near)})
        near.recv(1)
        woken.set()

    with near, far:
        started = time.monotonic()
        with pytest.raises(OutOfTimeError):
            InFlight().run(read_for_ever, seconds=0.05)
        assert time.monotonic() - started < 5
        assert woken.wait(5)


def test_a_socket_opened_after_the_cut_is_shut_down_too() -> None:
    """A name that resolves too late does not bring the request back to life."""
    near, far = socket.socketpair()
    with near, far:
        line = Connection()
        line.cut()
        line.observe("connection.connect_tcp.complete", {"return_value": Stream(near)})
        assert near.recv(1) == b""


def test_close_frees_every_caller_at_once() -> None:
    """A run that was asked to stop does not wait for the provider."""
    flights = InFlight()
    hung = threading.Event()
    arrived = threading.Barrier(4)

    def hang(_: Connection) -> None:
        arrived.wait(5)
        hung.wait(5)

    with ThreadPoolExecutor(3) as pool:
        calls = [pool.submit(flights.run, hang, seconds=60) for _ in range(3)]
        arrived.wait(5)
        # Closed from a thread of its own, since it waits a moment for the three that can't be woken.
        closing = threading.Thread(target=flights.close)
        closing.start()
        for call in calls:
            assert isinstance(call.exception(5), InterruptedRunError)
        hung.set()
        closing.join(5)


def test_nothing_starts_and_nobody_sleeps_after_close() -> None:
    """Once closed, a request, a wait and a check are refused."""
    flights = InFlight()
    flights.sleep(0)
    flights.check()
    flights.close()
    flights.close()
    with pytest.raises(InterruptedRunError):
        flights.run(lambda _: "answer", seconds=1)
    with pytest.raises(InterruptedRunError):
        flights.sleep(60)
    with pytest.raises(InterruptedRunError):
        flights.check()
