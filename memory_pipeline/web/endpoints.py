"""What a call of the interface is: one record each, from which both the route and its description are made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec import Struct, field

from memory_pipeline.web.users import User

if TYPE_CHECKING:
    from memory_pipeline.app import App

#: What ids are made of, of whatever kind.
ID_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}$"
Id = Annotated[str, msgspec.Meta(pattern=ID_PATTERN)]


class Nothing(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """No parameters."""


class Call(Struct, frozen=True, kw_only=True):
    """One request, read and checked."""

    user: User
    path: Mapping[str, str]
    query: Any  # of the type that the endpoint names
    body: Any  # likewise; None where it takes none


#: Does a call. Runs in a worker thread, with the parts opened on the user's state.
Run = Callable[["App", Call], Any]


class Endpoint(Struct, frozen=True, kw_only=True):
    """One call of the interface."""

    name: str
    method: str
    path: str  # with {id} for a part that varies
    summary: str
    run: Run
    answer: Any  # the type of the answer
    query: type[msgspec.Struct] = Nothing
    body: type[msgspec.Struct] | None = None
    faults: Mapping[int, str] = field(default_factory=dict)  # status -> when, beside those that every call may give
    is_run: bool = False  # works for long, one at a time for each user; mends a damaged database
