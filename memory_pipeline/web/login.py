"""Logging in at the page: a link that works once, a cookie that no script can read, a token in each form."""

from __future__ import annotations

from html import escape
from http import HTTPStatus
from urllib.parse import parse_qs

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from memory_pipeline.clock import Clock
from memory_pipeline.web.keys import Keys
from memory_pipeline.web.rates import RateLimit
from memory_pipeline.web.sessions import COOKIE, SESSION_SECONDS, Session, Sessions
from memory_pipeline.web.users import User, Users

_MOST_CODE_CHARS = 200
_NO_LINK = "This link was used already, or is too old. `memory-pipeline serve link` prints a new one, for one login."


class Login:
    """The routes by which a person logs in and out."""

    def __init__(self, users: Users, keys: Keys, sessions: Sessions, clock: Clock, failures: RateLimit) -> None:
        self._users = users
        self._keys = keys
        self._sessions = sessions
        self._clock = clock
        self._failures = failures

    def routes(self) -> list[Route]:
        """Return the routes."""
        return [
            Route("/", self._home, methods=["GET"]),
            Route("/login", self._login, methods=["GET"]),
            Route("/logout", self._logout, methods=["POST"]),
        ]

    def find(self, request: Request) -> tuple[User, Session] | None:
        """Return who is logged in, None where nobody is."""
        session = self._sessions.find(request.cookies.get(COOKIE), now=self._clock.now())
        user = self._users.get(session.user) if session is not None else None
        return (user, session) if user is not None and session is not None else None

    async def _login(self, request: Request) -> Response:
        address = request.client.host if request.client else ""
        code = request.query_params.get("code", "")
        if self._failures.is_spent(address) or not 0 < len(code) <= _MOST_CODE_CHARS:
            return _page(_NO_LINK, status=HTTPStatus.FORBIDDEN)
        name = await run_in_threadpool(self._keys.redeem_link, code, now=self._clock.now())
        if name is None or self._users.get(name) is None:
            self._failures.take(address)
            return _page(_NO_LINK, status=HTTPStatus.FORBIDDEN)
        answer = RedirectResponse("/", status_code=HTTPStatus.SEE_OTHER, headers={"cache-control": "no-store"})
        answer.set_cookie(
            COOKIE,
            self._sessions.begin(name, now=self._clock.now()),
            max_age=int(SESSION_SECONDS),
            httponly=True,
            samesite="strict",
            secure=request.url.scheme == "https",
        )
        return answer

    async def _home(self, request: Request) -> Response:
        found = self.find(request)
        if found is None:
            return _page("Nobody is logged in. `memory-pipeline serve link` prints a link for one login.")
        user, session = found
        return HTMLResponse(
            _HOME.format(name=escape(user.name), token=escape(session.form_token)),
            headers={"cache-control": "no-store"},
        )

    async def _logout(self, request: Request) -> Response:
        found = self.find(request)
        if found is None:
            return RedirectResponse("/", status_code=HTTPStatus.SEE_OTHER)
        if not found[1].owns(await form_token_of(request)):
            return _page("This form is not of your session. Load the page again.", status=HTTPStatus.FORBIDDEN)
        self._sessions.end(request.cookies.get(COOKIE))
        answer = RedirectResponse("/", status_code=HTTPStatus.SEE_OTHER)
        answer.delete_cookie(COOKIE, httponly=True, samesite="strict")
        return answer


async def form_token_of(request: Request) -> str:
    """Return the token that came with a form."""
    fields = parse_qs((await request.body()).decode("utf-8", "replace"), max_num_fields=100)
    return fields.get("form_token", [""])[0]


def _page(words: str, *, status: int = HTTPStatus.OK) -> Response:
    return HTMLResponse(_PAGE.format(words=escape(words)), status_code=status, headers={"cache-control": "no-store"})


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>memory-pipeline</title></head>
<body><main><h1>memory-pipeline</h1><p>{words}</p></main></body></html>
"""

_HOME = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>memory-pipeline</title></head>
<body><main><h1>memory-pipeline</h1><p>You are logged in as {name}.</p>
<p><a href="/openapi.json">What can be asked of this server</a></p>
<form method="post" action="/logout"><input type="hidden" name="form_token" value="{token}">
<button>Log out</button></form></main></body></html>
"""
