"""A server on a kept state, asked in the test's own process, with a clock of its own."""

from __future__ import annotations

import atexit
import functools
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx2
from anyio.from_thread import BlockingPortal, start_blocking_portal
from fresh_database import lay_database
from kept_state import KeptState
from starlette.testclient import TestClient

from memory_pipeline.app import App
from memory_pipeline.web.keys import keys_of
from memory_pipeline.web.server import build_server
from memory_pipeline.web.users import User, Users

ADDRESS = "http://127.0.0.1:8484"


class Served:
    """A server, its users, and what they ask."""

    def __init__(self, root: Path, *, tables: dict[str, Any] | None = None, **options: Any) -> None:
        self.kept = KeptState(root, **(tables or {}))
        self.clock = self.kept.clock
        self.config = self.kept.config
        lay_database(self.config.database_path)
        self.stop = threading.Event()
        self.keys = keys_of(self.config)
        self.app = build_server(self.config, clock=self.clock, stop=self.stop, **options)
        self.client = client_of(self.app)
        self._tokens: dict[str, str] = {}

    def user(self, name: str) -> User:
        """Return a user, made where there is none."""
        return Users(self.config).make(name)

    def token(self, name: str = "owner") -> str:
        """Return a token of a user."""
        if name not in self._tokens:
            self.user(name)
            self._tokens[name] = self.keys.create(name, now=self.clock.now())[1]
        return self._tokens[name]

    def ask(
        self, method: str, path: str, *, user: str = "owner", headers: dict[str, str] | None = None, **rest: Any
    ) -> httpx2.Response:
        """Ask as a user."""
        let_in = {"authorization": f"Bearer {self.token(user)}"}
        return self.client.request(method, path, headers=let_in | (headers or {}), **rest)

    @contextmanager
    def open(self, name: str = "owner") -> Iterator[App]:
        """Open the parts of a user, as a command of theirs would."""
        with App(self.user(name).config, clock=self.clock, environ={}) as app:
            yield app


def client_of(app: Any) -> TestClient:
    """Return a client of a server in this process; a fault of the server is an answer, and nothing is followed."""
    client = TestClient(app, base_url=ADDRESS, raise_server_exceptions=False, follow_redirects=False)
    client.portal = _portal()
    return client


@functools.cache
def _portal() -> BlockingPortal:
    """Start the thread in which all servers of this process work; by itself a client starts one for each call."""
    running = ExitStack()
    atexit.register(running.close)
    return running.enter_context(start_blocking_portal())


def code_of(answer: httpx2.Response) -> str:
    """Return the word by which a program knows what went wrong."""
    code: str = answer.json()["error"]["code"]
    return code
