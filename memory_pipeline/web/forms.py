"""Forms as a browser sends them."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from urllib.parse import parse_qsl

from starlette.requests import ClientDisconnect, Request

from memory_pipeline.web.answers import HttpFault

FORM_TOKEN = "form_token"  # noqa: S105 - the name of a field
_MOST_FIELDS = 100


async def form_of(request: Request) -> Mapping[str, str]:
    """Return the fields of a form; of a field that comes twice, the last.

    Raises:
        HttpFault: it is no form.
    """
    try:
        raw = await request.body()
    except ClientDisconnect:
        return {}  # nobody is left to read an answer
    try:
        text = raw.decode("utf-8")
        return dict(parse_qsl(text, keep_blank_values=True, max_num_fields=_MOST_FIELDS, errors="replace"))
    except ValueError:
        raise HttpFault(
            HTTPStatus.BAD_REQUEST, "malformed", "this is no form of this page; load the page again"
        ) from None
