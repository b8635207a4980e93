"""What a page is: one record each, from which its route is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec import Struct, field

from memory_pipeline.web.answers import HttpFault
from memory_pipeline.web.endpoints import Call
from memory_pipeline.web.users import User

if TYPE_CHECKING:
    from memory_pipeline.app import App

T = TypeVar("T")


class Asked(Struct, frozen=True, kw_only=True):
    """One request of a person who is logged in."""

    user: User
    path: Mapping[str, str]
    query: Mapping[str, str]
    form: Mapping[str, str] = field(default_factory=dict)

    def call(self, *, query: Any = None, body: Any = None, **path: str) -> Call:
        """Return the same as a call of the interface."""
        return Call(user=self.user, path={**self.path, **path}, query=query, body=body)


class Shown(Struct, frozen=True, kw_only=True):
    """A page to render."""

    template: str
    values: Mapping[str, Any]
    status: int = HTTPStatus.OK


class Elsewhere(Struct, frozen=True, kw_only=True):
    """Another page, to which the browser goes: so that loading it again sends no form again."""

    path: str
    query: Mapping[str, str] = field(default_factory=dict)


class Page(Struct, frozen=True, kw_only=True):
    """One page, or what one form does. ``answer`` runs in a worker thread, on the parts of the user's state."""

    name: str
    path: str  # with {id} for a part that varies
    answer: Callable[[App, Asked], Shown | Elsewhere]
    method: str = "GET"
    back: str = "/"  # where a person goes on when it could not be done; with the same {id}
    is_run: bool = False


def fitting(values: Mapping[str, Any], kind: type[T]) -> T:
    """Return values as a query or a body of the interface.

    Raises:
        HttpFault: they do not fit; the message says which.
    """
    try:
        return msgspec.convert(dict(values), kind, strict=False)
    except msgspec.ValidationError as error:
        raise HttpFault(HTTPStatus.UNPROCESSABLE_ENTITY, "unfit", f"a value does not fit: {error}") from None


def given(values: Mapping[str, str], *names: str) -> dict[str, str]:
    """Return those of the values that were filled in."""
    return {name: values[name] for name in names if values.get(name, "").strip()}
