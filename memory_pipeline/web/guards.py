"""What every request passes before it reaches a page or a call: host, origin, size, time.

A page of somebody else, open in a browser on the same machine, is the one to keep out: it can send requests here, by
our address or by a name of its own that it lets point here.
"""

from __future__ import annotations

from collections.abc import Collection
from http import HTTPStatus
from urllib.parse import urlsplit

import anyio
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memory_pipeline.web.answers import HttpFault, fault_answer

#: The largest body of a request, in bytes: the longest task fits, however its characters are escaped.
MAX_BODY_BYTES = 4 << 20
#: How long a body may take to arrive, in seconds.
BODY_SECONDS = 30.0

LOOPBACK_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})

_READING = frozenset({"GET", "HEAD", "OPTIONS"})
#: Nothing of ours belongs into a frame, nothing is loaded from elsewhere, no address is told to others.
_HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "content-security-policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
}


class Guards:
    """Lets through what is asked of us by our name, by a program or by our own page, and is not too large."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        hosts: Collection[str],
        max_body_bytes: int = MAX_BODY_BYTES,
        body_seconds: float = BODY_SECONDS,
    ) -> None:
        """``hosts`` are the names that we are called by, without ports."""
        self._app = app
        self._hosts = frozenset(host.lower() for host in hosts)
        self._max_body_bytes = max_body_bytes
        self._body_seconds = body_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or let it through."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return  # we speak no web sockets
        answer = _Answer(send)
        try:
            self._check(scope)
            await self._app(scope, self._bounded(scope, receive), answer.send)
        except HttpFault as fault:
            if answer.is_begun:
                raise
            await fault_answer(fault)(scope, receive, answer.send)

    def _check(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        if len(hosts) != 1 or _host_name(hosts[0]) not in self._hosts:
            raise HttpFault(
                HTTPStatus.MISDIRECTED_REQUEST,
                "foreign_host",
                "this server does not go by that name; whoever runs it can allow it with `serve --allow-host NAME`",
            )
        if scope["method"] not in _READING and _is_foreign(headers, hosts[0]):
            raise HttpFault(HTTPStatus.FORBIDDEN, "foreign_origin", "pages of other sites may change nothing here")
        declared = headers.get("content-length", "0")
        if not (declared.isascii() and declared.isdecimal()):
            raise HttpFault(HTTPStatus.BAD_REQUEST, "malformed", "Content-Length is no number")
        if len(declared) > 15 or int(declared) > self._max_body_bytes:
            raise self._too_large()

    def _bounded(self, scope: Scope, receive: Receive) -> Receive:
        """Return a receive that gives a body up to a size, all of it within a time."""
        del scope
        ends_at: float | None = None
        taken = 0
        is_whole = False

        async def bounded() -> Message:
            nonlocal ends_at, taken, is_whole
            if is_whole:
                return await receive()  # it waits for whoever asked to go away: that may take long
            try:
                ends_at = ends_at or anyio.current_time() + self._body_seconds
                with anyio.fail_after(max(0.0, ends_at - anyio.current_time())):
                    message = await receive()
            except TimeoutError:
                raise HttpFault(HTTPStatus.REQUEST_TIMEOUT, "too_slow", "the body did not arrive in time") from None
            if message["type"] == "http.request":
                taken += len(message.get("body", b""))
                is_whole = not message.get("more_body", False)
                if taken > self._max_body_bytes:
                    raise self._too_large()
            return message

        return bounded

    def _too_large(self) -> HttpFault:
        return HttpFault(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
            "too_large",
            f"the body is larger than {self._max_body_bytes} bytes",
            headers={"connection": "close"},
        )


class _Answer:
    """Adds the headers that every answer has, and tells whether one has begun."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.is_begun = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.is_begun = True
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
        await self._send(message)


def _host_name(host: str) -> str:
    """Return the name in a Host header, "" where it is none."""
    try:
        parts = urlsplit(f"//{host}")
        if parts.netloc != host or parts.username is not None or parts.password is not None or parts.port == 0:
            return ""
        return parts.hostname or ""
    except ValueError:
        return ""


def _is_foreign(headers: Headers, host: str) -> bool:
    """Whether a browser says that the request comes from a page that is not ours. Programs say nothing of it."""
    if is_led_by_another_site(headers):
        return True
    origin = headers.get("origin")
    return origin is not None and origin.lower() not in (f"http://{host}".lower(), f"https://{host}".lower())


def is_led_by_another_site(headers: Headers) -> bool:
    """Whether a browser says that a page that is not ours led it here."""
    return headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none")
