"""Who is logged in at the page. Kept in the memory of the server alone: when it ends, so does every session."""

from __future__ import annotations

import hmac
import secrets
import threading
from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

COOKIE = "memory_pipeline_session"
#: A session ends so long after the login, and after so long without a request, in seconds.
SESSION_SECONDS = 12 * 3_600.0
IDLE_SECONDS = 2 * 3_600.0
#: More than a person opens; past it, the oldest of the same person ends.
_MOST_SESSIONS = 20
_SECRET_BYTES = 32


class Session(Struct, frozen=True, kw_only=True):
    """One login. ``form_token`` must come back with each form, or the form was not ours."""

    user: str
    form_token: str
    begun_at: float
    seen_at: float

    def is_open(self, now: float) -> bool:
        """Whether it still lets anybody in. After a clock was set back by much, it does not."""
        return 0 <= now - self.begun_at < SESSION_SECONDS and now - self.seen_at < IDLE_SECONDS

    def owns(self, form_token: str) -> bool:
        """Whether a form was made for this session."""
        return hmac.compare_digest(self.form_token.encode(), form_token.encode("utf-8", "replace"))


class Sessions:
    """The open sessions, by the value of their cookie."""

    def __init__(self, *, draw: Callable[[int], str] = secrets.token_urlsafe) -> None:
        """``draw`` gives so many random bytes, written for a URL."""
        self._draw = draw
        self._guard = threading.Lock()
        self._open: dict[str, Session] = {}

    def begin(self, user: str, *, now: float) -> str:
        """Log a user in; returns the value of the cookie."""
        value = self._draw(_SECRET_BYTES)
        session = Session(user=user, form_token=self._draw(_SECRET_BYTES), begun_at=now, seen_at=now)
        with self._guard:
            self._open = {name: one for name, one in self._open.items() if one.is_open(now)}
            of_one = [name for name, one in self._open.items() if one.user == user]
            for name in of_one[: max(0, len(of_one) + 1 - _MOST_SESSIONS)]:
                del self._open[name]
            self._open[value] = session
        return value

    def find(self, value: str | None, *, now: float) -> Session | None:
        """Return the open session of a cookie, None where there is none; it is used by that."""
        with self._guard:
            session = self._open.get(value or "")
            if session is None or not session.is_open(now):
                return None
            seen = replace(session, seen_at=max(now, session.seen_at))
            self._open[value or ""] = seen
            return seen

    def end(self, value: str | None) -> None:
        """Log out; harmless where nobody is logged in."""
        with self._guard:
            self._open.pop(value or "", None)
