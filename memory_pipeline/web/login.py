"""Logging in at the page: a link that works once, a cookie that no script can read, a token in each form."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from http import HTTPStatus

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from memory_pipeline.clock import Clock
from memory_pipeline.web.answers import HttpFault
from memory_pipeline.web.forms import FORM_TOKEN, form_of
from memory_pipeline.web.guards import is_led_by_another_site
from memory_pipeline.web.keys import Keys
from memory_pipeline.web.rates import RateLimit
from memory_pipeline.web.sessions import COOKIE, SESSION_SECONDS, Session, Sessions
from memory_pipeline.web.users import User, Users

_MOST_CODE_CHARS = 200
_NO_LINK = "This link was used already, or is too old. `memory-pipeline serve link` prints a new one, for one login."
#: Another page could log a person in as somebody else, whose memories they would then write.
_NOT_OPENED = (
    "Nobody was logged in, and the link is still good. Copy it into the address bar yourself: no page may follow it."
)

#: Answers with some words and nothing else, in a given status.
Tell = Callable[[str, int], Response]


class Login:
    """The routes by which a person logs in and out."""

    def __init__(
        self, users: Users, keys: Keys, sessions: Sessions, clock: Clock, failures: RateLimit, *, tell: Tell
    ) -> None:
        self._users = users
        self._keys = keys
        self._sessions = sessions
        self._clock = clock
        self._failures = failures
        self._tell = tell

    def routes(self) -> list[Route]:
        """Return the routes."""
        return [
            Route("/login", self._login, methods=["GET"]),
            Route("/logout", self._logout, methods=["POST"]),
        ]

    def find(self, request: Request) -> tuple[User, Session] | None:
        """Return who is logged in, None where nobody is."""
        session = self._sessions.find(request.cookies.get(COOKIE), now=self._clock.now())
        user = self._users.get(session.user) if session is not None else None
        return (user, session) if user is not None and session is not None else None

    async def _login(self, request: Request) -> Response:
        if request.method == "HEAD" or is_led_by_another_site(request.headers):
            return self._tell(_NOT_OPENED, HTTPStatus.FORBIDDEN)
        code = request.query_params.get("code", "")
        if not 0 < len(code) <= _MOST_CODE_CHARS:
            return self._tell(_NO_LINK, HTTPStatus.FORBIDDEN)
        name = await run_in_threadpool(self._keys.redeem_link, code, now=self._clock.now())
        if name is None or self._users.get(name) is None:
            wait = self._failures.take(request.client.host if request.client else "")
            return self._tell(_NO_LINK, HTTPStatus.TOO_MANY_REQUESTS if wait else HTTPStatus.FORBIDDEN)
        answer = _to_the_page()
        answer.set_cookie(
            COOKIE,
            self._sessions.begin(name, now=self._clock.now()),
            max_age=int(SESSION_SECONDS),
            httponly=True,
            samesite="strict",
            secure=request.url.scheme == "https",
        )
        return answer

    async def _logout(self, request: Request) -> Response:
        found = self.find(request)
        if found is None:
            return _to_the_page()
        try:
            check_form(found[1], await form_of(request))
        except HttpFault as fault:
            return self._tell(str(fault), fault.status)
        self._sessions.end(request.cookies.get(COOKIE))
        answer = _to_the_page()
        answer.delete_cookie(COOKIE, httponly=True, samesite="strict")
        return answer


def check_form(session: Session, form: Mapping[str, str]) -> None:
    """Check that a form was made for a session.

    Raises:
        HttpFault: it was not, and is not to be followed.
    """
    if not session.owns(form.get(FORM_TOKEN, "")):
        raise HttpFault(
            HTTPStatus.FORBIDDEN,
            "foreign_form",
            "This form is not of your session. Load the page again, and send it anew.",
        )


def _to_the_page() -> RedirectResponse:
    return RedirectResponse("/", status_code=HTTPStatus.SEE_OTHER, headers={"cache-control": "no-store"})
