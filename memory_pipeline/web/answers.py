"""What the server answers: JSON, and one shape for everything that went wrong."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import msgspec
from starlette.responses import Response

from memory_pipeline.errors import (
    ConfigError,
    DamagedDatabaseError,
    InterruptedRunError,
    LockedError,
    MemoryPipelineError,
    ModelError,
    StoreError,
    UsageError,
)
from memory_pipeline.redact import redact

#: After how many seconds what another run holds is worth asking for again.
_BUSY_SECONDS = 5


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """What went wrong."""

    code: str
    message: str


class FaultAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to every request that could not be done."""

    error: Fault


class HttpFault(Exception):  # noqa: N818 - a fault of a request, told to whoever made it
    """A request can't be done: the answer that says so."""

    def __init__(self, status: int, code: str, message: str, *, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.headers = dict(headers or {})


def json_answer(document: Any, *, status: int = HTTPStatus.OK, headers: Mapping[str, str] | None = None) -> Response:
    """Return an answer of JSON, which nobody may keep."""
    return Response(
        msgspec.json.encode(document),
        status_code=status,
        media_type="application/json",
        headers={"cache-control": "no-store", **(headers or {})},
    )


def fault_answer(fault: HttpFault) -> Response:
    """Return the answer to a request that can't be done."""
    shown = Fault(code=fault.code, message=redact(str(fault)).text)
    return json_answer(FaultAnswer(error=shown), status=fault.status, headers=fault.headers)


def not_found(message: str) -> HttpFault:
    """Return the answer for what is not there, or not the caller's: the two look alike."""
    return HttpFault(HTTPStatus.NOT_FOUND, "not_found", message)


def too_many(wait_seconds: float) -> HttpFault:
    """Return the answer to whoever asks too often."""
    return HttpFault(
        HTTPStatus.TOO_MANY_REQUESTS,
        "too_many",
        "too many requests; wait as long as Retry-After says",
        headers={"retry-after": str(max(1, round(wait_seconds + 0.5)))},
    )


def fault_of(error: Exception) -> HttpFault:
    """Return what a caller is told of an error. Paths of the server stay on the server."""
    if isinstance(error, HttpFault):
        return error
    if isinstance(error, DamagedDatabaseError):
        return HttpFault(
            HTTPStatus.SERVICE_UNAVAILABLE,
            "damaged",
            "the database is damaged or gone; the next run mends it: POST /users/me/auto-memory/run",
        )
    if isinstance(error, StoreError | OSError):
        what = "the database" if isinstance(error, StoreError) else "a file that this needs"
        return HttpFault(
            HTTPStatus.SERVICE_UNAVAILABLE,
            "unavailable",
            f"{what} can't be used now; try again, and look at the server's log",
            headers={"retry-after": str(_BUSY_SECONDS)},
        )
    if isinstance(error, LockedError):
        return HttpFault(
            HTTPStatus.CONFLICT,
            "busy",
            "another run holds what this needs; try again later",
            headers={"retry-after": str(_BUSY_SECONDS)},
        )
    if isinstance(error, InterruptedRunError):
        return HttpFault(
            HTTPStatus.SERVICE_UNAVAILABLE, "stopping", "the server is stopping; what was in flight has been given back"
        )
    if isinstance(error, UsageError):
        return HttpFault(HTTPStatus.UNPROCESSABLE_ENTITY, "refused", str(error))
    if isinstance(error, ConfigError):
        return HttpFault(
            HTTPStatus.SERVICE_UNAVAILABLE, "misconfigured", "the server's configuration does not let this be done"
        )
    if isinstance(error, ModelError):
        return HttpFault(HTTPStatus.SERVICE_UNAVAILABLE, "model", "the model gave no usable answer; try again later")
    if isinstance(error, MemoryPipelineError):
        return HttpFault(HTTPStatus.INTERNAL_SERVER_ERROR, "failed", "it could not be done; look at the server's log")
    return HttpFault(
        HTTPStatus.INTERNAL_SERVER_ERROR, "internal", f"internal error: {type(error).__name__}; please report it"
    )
