"""The page of the settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from served import Served
from visiting import Document, Visitor

WHOLE = {
    "idle_seconds": "60",
    "min_duration_seconds": "5.5",
    "min_result_chars": "100",
    "min_rate_limit_remaining_percent": "10",
    "extract_model": "small",
    "consolidation_model": "",
}


@pytest.fixture
def visitor(tmp_path: Path) -> Visitor:
    """A new user, logged in."""
    return Visitor(Served(tmp_path), "ann")


def _settings(visitor: Visitor) -> dict[str, Any]:
    found: dict[str, Any] = visitor.served.ask("GET", "/users/me/auto-memory-settings", user="ann").json()
    return found


def _ticked(page: Document) -> set[str]:
    return {given["name"] for _, given in page.tags if given.get("type") == "checkbox" and "checked" in given}


def test_a_new_user_sees_what_holds(visitor: Visitor) -> None:
    """Both switches off, external context left out, and the numbers that the interface tells."""
    page = Document(visitor.get("/page/settings").text)
    assert _ticked(page) == {"disable_on_external_context"}
    assert [page.value_of(name) for name in ("idle_seconds", "min_duration_seconds", "min_result_chars")] == [
        "900",
        "30",
        "200",
    ]


def test_what_is_saved_holds_for_the_interface_too(visitor: Visitor) -> None:
    """A box that is not ticked is off, an empty model is that of the server."""
    answer = visitor.send("/page/settings/change", **WHOLE, generate_memories="on")
    page = Document(visitor.follow(answer).text)
    assert "Saved" in page.text
    assert _ticked(page) == {"generate_memories"}
    assert _settings(visitor) == {
        "generate_memories": True,
        "use_memories": False,
        "disable_on_external_context": False,
        "min_rate_limit_remaining_percent": 10,
        "idle_seconds": 60,
        "min_duration_seconds": 5.5,
        "min_result_chars": 100,
        "extract_model": "small",
        "consolidation_model": None,
    }


@pytest.mark.parametrize(
    ("name", "typed"),
    [
        ("idle_seconds", "-1"),
        ("idle_seconds", "soon"),
        ("idle_seconds", "nan"),
        ("idle_seconds", "1e400"),
        ("min_result_chars", "2.5"),
        ("min_rate_limit_remaining_percent", "101"),
        ("extract_model", "a b; rm -rf"),
        ("extract_model", "<script>"),
    ],
)
def test_what_does_not_fit_is_shown_as_typed_and_nothing_is_stored(visitor: Visitor, name: str, typed: str) -> None:
    """Not even the values that would fit: a form holds as a whole or not at all."""
    before = _settings(visitor)
    answer = visitor.send("/page/settings/change", **{**WHOLE, name: typed}, use_memories="on")
    page = Document(answer.text)
    assert answer.status_code == 422
    assert page.value_of(name) == typed
    assert _ticked(page) == {"use_memories"}
    assert _settings(visitor) == before


def test_what_a_new_user_starts_with_comes_back(visitor: Visitor) -> None:
    """One button takes back all that was set."""
    before = _settings(visitor)
    visitor.send("/page/settings/change", **WHOLE, generate_memories="on")
    answer = visitor.send("/page/settings/change", what="reset")
    assert "starts with" in Document(visitor.follow(answer).text).text
    assert _settings(visitor) == before
