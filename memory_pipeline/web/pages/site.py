"""The pages as a whole: who is logged in, what their request does, and the HTML that comes of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from http import HTTPStatus
from importlib.resources import files
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from memory_pipeline.web.answers import HttpFault, too_many
from memory_pipeline.web.forms import form_of
from memory_pipeline.web.login import Login, check_form
from memory_pipeline.web.pages import (
    forget_pages,
    log_page,
    memory_pages,
    overview_page,
    review_pages,
    settings_page,
)
from memory_pipeline.web.pages.page import Asked, Elsewhere, Page
from memory_pipeline.web.pages.rendering import Renderer
from memory_pipeline.web.rates import RateLimit
from memory_pipeline.web.sessions import Session
from memory_pipeline.web.users import User
from memory_pipeline.web.work import Work

if TYPE_CHECKING:
    from memory_pipeline.app import App
    from memory_pipeline.web.server import Parts

PAGES: Sequence[Page] = (
    *overview_page.PAGES,
    *memory_pages.PAGES,
    *review_pages.PAGES,
    *forget_pages.PAGES,
    *settings_page.PAGES,
    *log_page.PAGES,
)

_NOBODY = (
    "Nobody is logged in. `memory-pipeline serve link` prints a link for one login; "
    "if you came by such a link just now, load this page again."
)
_STATIC: Mapping[str, str] = {"page.css": "text/css", "page.js": "text/javascript"}
#: Nothing of a page is kept. Other sites learn no address of ours; ours must, or the browser sends no origin with a
#: form, and a form without one is refused.
_HEADERS = {"cache-control": "no-store", "referrer-policy": "same-origin"}

Answering = Callable[[Request], Awaitable[Response]]


class Site:
    """Answers requests for pages."""

    def __init__(self, login: Login, work: Work, calls: RateLimit, renderer: Renderer) -> None:
        """``calls`` bounds what each user may ask for, here and by the interface together."""
        self._login = login
        self._work = work
        self._calls = calls
        self._renderer = renderer

    def routes(self, pages: Sequence[Page]) -> list[Route]:
        """Return the routes of the pages."""
        return [Route(page.path, self._answering(page), methods=[page.method]) for page in pages]

    def _answering(self, page: Page) -> Answering:
        async def answer(request: Request) -> Response:
            found = self._login.find(request)
            if found is None:
                return tell(self._renderer, _NOBODY, HTTPStatus.FORBIDDEN)
            user, session = found
            try:
                wait = self._calls.take(user.name)
                if wait:
                    raise too_many(wait)
                asked = await _asked_of(request, user, session)
                return await self._work.do(
                    user, lambda app: self._answer(page, app, asked, session), name=page.name, is_run=page.is_run
                )
            except HttpFault as fault:
                back = page.back.format(**{name: quote(str(part)) for name, part in request.path_params.items()})
                return await run_in_threadpool(self._fault, fault, page, back, user, session)

        return answer

    def _answer(self, page: Page, app: App, asked: Asked, session: Session) -> Response:
        answer = page.answer(app, asked)
        if isinstance(answer, Elsewhere):
            address = f"{answer.path}?{urlencode(answer.query)}" if answer.query else answer.path
            return RedirectResponse(address, status_code=HTTPStatus.SEE_OTHER, headers=_HEADERS)
        around = {"waiting": app.store.drafts.count_queue(), **_around(page, asked.user, session)}
        html = self._renderer.render(answer.template, {**around, **answer.values})
        return HTMLResponse(html, status_code=answer.status, headers=_HEADERS)

    def _fault(self, fault: HttpFault, page: Page, back: str, user: User, session: Session) -> Response:
        values = {"fault": fault, "back": back, "waiting": None, **_around(page, user, session)}
        html = self._renderer.render("fault", values)
        return HTMLResponse(html, status_code=fault.status, headers={**_HEADERS, **fault.headers})


def page_routes(parts: Parts) -> Sequence[BaseRoute]:
    """Return the routes of all pages, of logging in and out, and of what the pages load."""
    renderer = Renderer()
    login = Login(
        parts.users,
        parts.keys,
        parts.sessions,
        parts.clock,
        parts.failures,
        tell=lambda words, status: tell(renderer, words, status),
    )
    return [
        *login.routes(),
        *(Route(f"/page/{name}", _loaded(name), methods=["GET"]) for name in _STATIC),
        *Site(login, parts.work, parts.calls, renderer).routes(PAGES),
    ]


def tell(renderer: Renderer, words: str, status: int) -> Response:
    """Answer somebody who is not logged in."""
    return HTMLResponse(renderer.render("told", {"words_told": words}), status_code=status, headers=_HEADERS)


def _around(page: Page, user: User, session: Session) -> dict[str, Any]:
    return {"user_name": user.name, "form_token": session.form_token, "here": page.path}


async def _asked_of(request: Request, user: User, session: Session) -> Asked:
    form: Mapping[str, str] = {}
    if request.method == "POST":
        form = await form_of(request)
        check_form(session, form)
    return Asked(
        user=user,
        path={name: str(value) for name, value in request.path_params.items()},
        query=dict(request.query_params),
        form=form,
    )


def _loaded(name: str) -> Answering:
    content = files("memory_pipeline.web.pages").joinpath("static", name).read_bytes()

    async def answer(request: Request) -> Response:
        del request
        return Response(content, media_type=_STATIC[name], headers={"cache-control": "no-cache"})

    return answer
