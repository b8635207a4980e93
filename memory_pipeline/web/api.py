"""The HTTP interface: who asks, what they ask, and the answer."""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Sequence
from http import HTTPStatus
from typing import Any

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from memory_pipeline.errors import MemoryPipelineError
from memory_pipeline.web.answers import HttpFault, fault_answer, fault_of, json_answer, not_found, too_many
from memory_pipeline.web.endpoints import ID_PATTERN, Call, Endpoint
from memory_pipeline.web.keys import Keys
from memory_pipeline.web.openapi import describe
from memory_pipeline.web.rates import RateLimit
from memory_pipeline.web.users import User, Users
from memory_pipeline.web.work import Work

logger = logging.getLogger(__name__)

_ID = re.compile(ID_PATTERN, re.ASCII)
_SCHEME = "bearer "
_MOST_TOKEN_CHARS = 200

Answering = Callable[[Request], Awaitable[Response]]


class Api:
    """Answers the calls of the interface."""

    def __init__(
        self,
        endpoints: Sequence[Endpoint],
        *,
        users: Users,
        keys: Keys,
        work: Work,
        calls: RateLimit,
        failures: RateLimit,
    ) -> None:
        """``calls`` bounds what each user may ask for, ``failures`` the wrong tokens that may come from an address."""
        self._endpoints = endpoints
        self._users = users
        self._keys = keys
        self._work = work
        self._calls = calls
        self._failures = failures

    def routes(self) -> list[Route]:
        """Return the routes of all calls, and of their description."""
        by_path: dict[str, dict[str, Endpoint]] = {}
        for endpoint in self._endpoints:
            by_path.setdefault(endpoint.path, {})[endpoint.method] = endpoint
        routes = [
            Route(path, self._answering(by_method), methods=list(by_method)) for path, by_method in by_path.items()
        ]
        return [Route("/openapi.json", self._describe, methods=["GET"]), *routes]

    async def _describe(self, request: Request) -> Response:
        del request
        return json_answer(describe(self._endpoints))

    def _answering(self, by_method: dict[str, Endpoint]) -> Answering:
        async def answer(request: Request) -> Response:
            try:
                user = await run_in_threadpool(self._user_of, request)
                endpoint = by_method["GET" if request.method == "HEAD" else request.method]
                call = Call(
                    user=user,
                    path=_path_of(request),
                    query=_query_of(request, endpoint),
                    body=await _body_of(request, endpoint),
                )
                document = await self._work.do(
                    user, lambda app: endpoint.run(app, call), name=endpoint.name, is_run=endpoint.is_run
                )
                return json_answer(document)
            except HttpFault as fault:
                return fault_answer(fault)
            except MemoryPipelineError as error:  # of the tokens: what else fails has been told already
                logger.error("%s", error, extra={"action": "token", "outcome": "failed"})
                return fault_answer(fault_of(error))
            except ClientDisconnect:
                return Response(status_code=HTTPStatus.BAD_REQUEST)  # nobody is left to read it

        return answer

    def _user_of(self, request: Request) -> User:
        """Return whom the token stands for.

        Raises:
            HttpFault: there is none, it is nobody's, or too many requests came.
            StoreError: the tokens can't be read.
        """
        given = request.headers.getlist("authorization")
        token = given[0][len(_SCHEME) :] if len(given) == 1 and given[0].lower().startswith(_SCHEME) else ""
        name = self._keys.user_of(token) if 0 < len(token) <= _MOST_TOKEN_CHARS else None
        user = self._users.get(name) if name is not None else None
        if user is None:
            wait = self._failures.take(request.client.host if request.client else "")
            if wait:
                raise too_many(wait)
            raise HttpFault(
                HTTPStatus.UNAUTHORIZED,
                "unauthorized",
                "a valid token is needed: Authorization: Bearer TOKEN; `memory-pipeline serve token create` makes one",
                headers={"www-authenticate": "Bearer"},
            )
        # Counted after the token was looked at: whoever has the right one does not wait for others of the same
        # address, such as any page open in a browser there. There is nothing to guess in 256 random bits.
        wait = self._calls.take(user.name)
        if wait:
            raise too_many(wait)
        return user


def _path_of(request: Request) -> dict[str, str]:
    path = {name: str(value) for name, value in request.path_params.items()}
    for value in path.values():
        if not _ID.fullmatch(value):
            raise not_found("there is nothing of this id")
    return path


def _query_of(request: Request, endpoint: Endpoint) -> Any:
    given = request.query_params.multi_items()
    values = dict(given)
    if len(values) < len(given):
        raise _unfit("a parameter is given twice")
    unknown = values.keys() - set(endpoint.query.__struct_fields__)
    if unknown:
        known = ", ".join(endpoint.query.__struct_fields__) or "none"
        raise _unfit(f"unknown parameter; this call takes: {known}")
    try:
        return msgspec.convert(values, endpoint.query, strict=False)
    except msgspec.ValidationError as error:
        raise _unfit(f"a parameter does not fit: {error}") from None


async def _body_of(request: Request, endpoint: Endpoint) -> Any:
    if endpoint.body is None:
        return None
    raw = await request.body()
    try:
        text = raw.decode("utf-8") or "{}"  # who asks for nothing in particular may leave the body out
        return msgspec.convert(_with_whole_numbers(msgspec.json.decode(text)), endpoint.body)
    except msgspec.ValidationError as error:
        raise _unfit(f"the body does not fit: {error}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise HttpFault(HTTPStatus.BAD_REQUEST, "malformed", "the body must be one JSON document in UTF-8") from None


def _with_whole_numbers(value: Any) -> Any:
    """Return a JSON value in which 30.0 is 30: JSON knows one kind of number, and so do many programs."""
    if isinstance(value, float):
        return int(value) if value.is_integer() else value
    if isinstance(value, list):
        return [_with_whole_numbers(one) for one in value]
    if isinstance(value, dict):
        return {name: _with_whole_numbers(one) for name, one in value.items()}
    return value


def _unfit(message: str) -> HttpFault:
    return HttpFault(HTTPStatus.UNPROCESSABLE_ENTITY, "unfit", message)
