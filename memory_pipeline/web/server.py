"""The server as a whole: what it is made of, and running it until it is asked to stop."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Sequence
from http import HTTPStatus
from typing import TYPE_CHECKING

from msgspec import Struct
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from memory_pipeline.clock import Clock, SystemClock
from memory_pipeline.config import Config
from memory_pipeline.errors import MemoryPipelineError, ServiceError
from memory_pipeline.web.answers import HttpFault, fault_answer, fault_of
from memory_pipeline.web.api import Api
from memory_pipeline.web.calls import ENDPOINTS
from memory_pipeline.web.endpoints import Endpoint
from memory_pipeline.web.guards import LOOPBACK_HOSTS, MAX_BODY_BYTES, Guards
from memory_pipeline.web.keys import Keys, keys_of
from memory_pipeline.web.rates import Rate, RateLimit
from memory_pipeline.web.sessions import Sessions
from memory_pipeline.web.users import Users
from memory_pipeline.web.work import Work

if TYPE_CHECKING:
    import socket

    from starlette.types import ASGIApp

    from memory_pipeline.web.connections import Connection

logger = logging.getLogger(__name__)

#: What one user may ask for, and how many wrong tokens one address may come with.
CALLS = Rate(at_once=240, per_minute=1_200)
FAILURES = Rate(at_once=20, per_minute=20)
#: How long requests in flight may take to end after the server was asked to stop, in seconds.
_STOP_SECONDS = 7
_MOST_CONNECTIONS = 128


class Parts(Struct, frozen=True, kw_only=True):
    """What the pages of a server are made with, beside its interface."""

    users: Users
    keys: Keys
    sessions: Sessions
    work: Work
    clock: Clock
    calls: RateLimit
    failures: RateLimit


#: Gives the routes of pages.
Pages = Callable[[Parts], Sequence[BaseRoute]]


def build_server(
    config: Config,
    *,
    hosts: Collection[str] = (),
    clock: Clock | None = None,
    stop: threading.Event | None = None,
    endpoints: Sequence[Endpoint] = ENDPOINTS,
    pages: Pages | None = None,
    calls: Rate = CALLS,
    failures: Rate = FAILURES,
    max_body_bytes: int = MAX_BODY_BYTES,
    read_seconds: Callable[[], float] = time.monotonic,
) -> ASGIApp:
    """Return the server as an ASGI application; ``hosts`` are the names it goes by beside those of this machine."""
    from memory_pipeline.web.pages.site import page_routes

    clock = clock or SystemClock()
    parts = Parts(
        users=Users(config),
        keys=keys_of(config),
        sessions=Sessions(),
        work=Work(clock, stop or threading.Event()),
        clock=clock,
        calls=RateLimit(calls, read_seconds=read_seconds),
        failures=RateLimit(failures, read_seconds=read_seconds),
    )
    api = Api(
        endpoints,
        users=parts.users,
        keys=parts.keys,
        work=parts.work,
        calls=parts.calls,
        failures=parts.failures,
    )
    app = Starlette(
        routes=[*api.routes(), *(pages or page_routes)(parts)],
        exception_handlers={
            HTTPException: _tell_no_route,
            MemoryPipelineError: _tell_fault,
            Exception: _tell_surprise,
        },
    )
    app.router.redirect_slashes = False
    return Guards(app, hosts={*LOOPBACK_HOSTS, *hosts}, max_body_bytes=max_body_bytes)


def run_server(
    app: ASGIApp, listener: socket.socket, *, stop: threading.Event, connection: type[Connection] | None = None
) -> None:
    """Answer requests on a socket until ``stop`` is set; those in flight are answered first.

    ``connection`` is for who knows better how long one may be silent.

    Raises:
        ServiceError: the server did not start, or ended by itself.
    """
    import uvicorn

    from memory_pipeline.web.connections import Connection

    server = uvicorn.Server(
        uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            http=connection or Connection,
            ws="none",
            lifespan="off",
            limit_concurrency=_MOST_CONNECTIONS,
            timeout_keep_alive=5,
            timeout_graceful_shutdown=_STOP_SECONDS,
        )
    )
    # Not in the main thread, where it would take the signals that are ours to look at.
    runner = threading.Thread(target=server.run, args=([listener],), name="server", daemon=True)
    runner.start()
    while runner.is_alive() and not stop.wait(0.2):
        pass
    was_asked = stop.is_set()
    server.should_exit = True
    runner.join()
    if not was_asked:
        raise ServiceError("the server ended by itself; what it logged says why")


async def _tell_no_route(request: Request, error: Exception) -> Response:
    del request
    status = error.status_code if isinstance(error, HTTPException) else HTTPStatus.NOT_FOUND
    if status == HTTPStatus.METHOD_NOT_ALLOWED:
        allowed = (error.headers or {}) if isinstance(error, HTTPException) else {}
        fault = HttpFault(status, "method_not_allowed", "this can't be done here; Allow says what can", headers=allowed)
    elif status == HTTPStatus.NOT_FOUND:
        fault = HttpFault(status, "not_found", "there is nothing here; /openapi.json describes what there is")
    else:
        fault = HttpFault(status, "malformed", "the request can't be understood")
    return fault_answer(fault)


async def _tell_fault(request: Request, error: Exception) -> Response:
    del request
    logger.error("%s", error, extra={"action": "request", "outcome": "failed"})
    return fault_answer(fault_of(error))


async def _tell_surprise(request: Request, error: Exception) -> Response:
    del request
    logger.error("internal error: %s", type(error).__name__, extra={"action": "request", "outcome": "internal"})
    return fault_answer(HttpFault(HTTPStatus.INTERNAL_SERVER_ERROR, "internal", "internal error; please report it"))
