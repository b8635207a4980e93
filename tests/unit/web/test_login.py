"""Logging in at the page, and out."""

from __future__ import annotations

import re
from pathlib import Path

import httpx2
import pytest
from served import Served

from memory_pipeline.web.keys import LINK_SECONDS
from memory_pipeline.web.rates import Rate
from memory_pipeline.web.sessions import COOKIE, IDLE_SECONDS, SESSION_SECONDS, Sessions


@pytest.fixture
def served(tmp_path: Path) -> Served:
    """A server whose page nobody has opened."""
    return Served(tmp_path)


def _log_in(served: Served, user: str = "owner") -> httpx2.Response:
    served.user(user)
    code = served.keys.create_link(user, now=served.clock.now())
    return served.client.get("/login", params={"code": code})


def _form_token(page: str) -> str:
    found = re.search(r'name="form_token" value="([^"]+)"', page)
    assert found
    return found[1]


def test_a_link_logs_in_with_a_cookie_that_nobody_else_gets(served: Served) -> None:
    """The cookie is for this site's own requests and for no script, and the address that logged in leads on."""
    answer = _log_in(served)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"]
    assert all(part in cookie for part in (f"{COOKIE}=", "HttpOnly", "SameSite=strict", "Path=/", "Max-Age="))
    assert "logged in as owner" in served.client.get("/").text


def test_a_used_link_logs_nobody_in(served: Served) -> None:
    """Whoever finds a link in a history gets a page that says so, and no cookie."""
    code = served.keys.create_link("owner", now=served.clock.now())
    served.client.get("/login", params={"code": code})
    again = served.client.get("/login", params={"code": code})
    assert again.status_code == 403
    assert "set-cookie" not in again.headers
    assert "serve link" in again.text


@pytest.mark.parametrize(
    ("method", "headers"),
    [("HEAD", {}), ("GET", {"sec-fetch-site": "cross-site"}), ("GET", {"sec-fetch-site": "same-site"})],
)
def test_a_link_that_nobody_opened_themselves_stays_good(served: Served, method: str, headers: dict[str, str]) -> None:
    """Neither what looks where a link leads, nor a page that sends a browser there, logs anybody in."""
    code = served.keys.create_link("owner", now=served.clock.now())
    answer = served.client.request(method, "/login", params={"code": code}, headers=headers)
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers
    opened = served.client.get("/login", params={"code": code}, headers={"sec-fetch-site": "none"})
    assert opened.status_code == 303


def test_wrong_codes_have_to_wait_and_keep_no_right_one_out(tmp_path: Path) -> None:
    """A page open in the same browser can try codes; the person with the right link is let in all the same."""
    served = Served(tmp_path, failures=Rate(at_once=3, per_minute=1), read_seconds=lambda: 0.0)
    code = served.keys.create_link("owner", now=served.clock.now())
    wrong = [served.client.get("/login", params={"code": f"wrong{number}"}).status_code for number in range(4)]
    assert wrong == [403, 403, 403, 429]
    assert served.client.get("/login", params={"code": code}).status_code == 303


def test_however_often_somebody_logs_in_nobody_else_is_logged_out() -> None:
    """Past what a person opens, their own oldest session ends; all others stay."""
    sessions = Sessions()
    of_others = [sessions.begin(f"user{number}", now=0.0) for number in range(500)]
    of_ann = [sessions.begin("ann", now=1.0) for _ in range(40)]
    assert all(sessions.find(value, now=2.0) for value in of_others)
    left = [sessions.find(value, now=2.0) is not None for value in of_ann]
    assert left == [False] * 20 + [True] * 20


@pytest.mark.parametrize(("seconds", "steps"), [(IDLE_SECONDS, 1), (SESSION_SECONDS, 24)])
def test_a_session_ends_by_itself(served: Served, seconds: float, steps: int) -> None:
    """It ends after two hours without a request, and after twelve with as many as one likes."""
    _log_in(served)
    for _ in range(steps - 1):
        served.clock.go_on(seconds / steps)
        assert "logged in as owner" in served.client.get("/").text
    served.clock.go_on(seconds / steps)
    assert "Nobody is logged in" in served.client.get("/").text


def test_logging_out_needs_the_form_of_the_same_session(served: Served) -> None:
    """A form without its token, or with another session's, ends nothing; the page's own form does."""
    _log_in(served, "ann")
    of_ann = _form_token(served.client.get("/").text)
    served.client.cookies.clear()
    _log_in(served)
    for token in ("", "x", of_ann):
        assert served.client.post("/logout", data={"form_token": token}).status_code == 403
    assert "logged in as owner" in served.client.get("/").text
    own = _form_token(served.client.get("/").text)
    foreign = served.client.post("/logout", data={"form_token": own}, headers={"origin": "https://evil.example"})
    assert foreign.status_code == 403
    cookie = served.client.cookies[COOKIE]
    assert served.client.post("/logout", data={"form_token": own}).status_code == 303
    served.client.cookies.set(COOKIE, cookie)
    assert "Nobody is logged in" in served.client.get("/").text


def test_a_cookie_lets_no_program_in(served: Served) -> None:
    """The calls of programs take a token alone: a cookie, which a browser sends by itself, changes nothing."""
    _log_in(served)
    assert served.client.get("/memories").status_code == 401
    assert served.client.post("/forget", json={"match": "tabs"}).status_code == 401


def test_a_link_that_nobody_followed_gets_old(served: Served) -> None:
    """After an hour it logs nobody in."""
    code = served.keys.create_link("owner", now=served.clock.now())
    served.clock.go_on(LINK_SECONDS)
    assert served.client.get("/login", params={"code": code}).status_code == 403
