"""Whatever is asked of a page, with whatever in it: an answer, and never a fault of ours."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from served import Served
from visiting import Document, Visitor

from memory_pipeline.web.pages.page import Page
from memory_pipeline.web.pages.site import PAGES

#: Names of fields and parameters that pages look at, and values that mean something to some of them.
NAMES = [
    "scope",
    "kind",
    "status",
    "offset",
    "lines",
    "q",
    "all",
    "told",
    "about",
    "memory",
    "match",
    "which",
    "what",
    "seen",
    "sure",
    "force",
    "decision",
    "note",
    "days",
    "version",
    "statement",
    "condition",
    "idle_seconds",
    "min_result_chars",
    "extract_model",
    "use_memories",
]
VALUES = [
    "user",
    "all",
    "active",
    "approve",
    "reject",
    "defer",
    "reopen",
    "pin",
    "unpin",
    "retire",
    "restore",
    "reset",
    "match",
    "memory",
    "entry",
    "thread",
    "scope",
    "on",
    "0",
    "-1",
    "1e999",
    "nan",
    "9999999999999999999",
    "tabs",
    "KNOWN",
]
TEXT = st.one_of(st.sampled_from(VALUES), st.text(st.characters(exclude_categories=["Cs"]), max_size=40))
ASKED = st.dictionaries(st.sampled_from(NAMES), TEXT, max_size=6)
LOOKING = [page for page in PAGES if page.method == "GET"]
WRITING = [page for page in PAGES if page.method == "POST" and not page.is_run]
EXAMPLES = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="module")
def visitor(tmp_path_factory: pytest.TempPathFactory) -> Visitor:
    """The owner, logged in, with a memory and a draft."""
    made = Served(tmp_path_factory.mktemp("served"))
    made.kept.say(1, "Always indent with tabs in this repository, never with spaces.")
    made.kept.run()
    return Visitor(made)


def _filled(visitor: Visitor, path: str, name: str) -> str:
    """Fill in the id of a path; half of the time one that there is."""
    with visitor.served.open() as app:
        known = {"{memory_id}": app.store.memories.every(), "{entry_id}": app.store.drafts.every()}
    for part, there in known.items():
        ids = [getattr(one, "memory_id", "") or one.entry.entry_id for one in there]
        path = path.replace(part, ids[0] if ids and (name in VALUES or not name) else quote(name or "x", safe=""))
    return path


@given(st.sampled_from(LOOKING), TEXT, ASKED)
@EXAMPLES
def test_whatever_is_looked_for_there_is_an_answer(
    visitor: Visitor, page: Page, name: str, query: dict[str, str]
) -> None:
    """A page, or why there is none."""
    answer = visitor.client.get(_filled(visitor, page.path, name), params=query)
    assert answer.status_code in (200, 404, 422), answer.text
    if answer.headers["content-type"].startswith("text/html"):
        assert not Document(answer.text).unclosed


@given(st.sampled_from(WRITING), TEXT, ASKED)
@EXAMPLES
def test_whatever_a_form_says_there_is_an_answer(visitor: Visitor, page: Page, name: str, form: dict[str, str]) -> None:
    """Done, or why it is not."""
    path = _filled(visitor, page.path, name)
    answer = visitor.client.post(path, data={"form_token": visitor.token(), **form})
    assert answer.status_code in (200, 303, 404, 409, 422), answer.text
