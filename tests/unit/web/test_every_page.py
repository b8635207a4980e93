"""What holds for every page, whatever it shows."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from remembered import remember, row
from served import Served, code_of
from visiting import Document, Visitor

from memory_pipeline.web.pages.page import Page
from memory_pipeline.web.pages.rendering import MOST_SHOWN_CHARS
from memory_pipeline.web.pages.site import PAGES

LOOKING = [pytest.param(page, id=page.name) for page in PAGES if page.method == "GET"]
WRITING = [pytest.param(page, id=page.name) for page in PAGES if page.method == "POST"]
SECRET = "hunter2" * 3
HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\U000e0020-\U000e007f]")
HOSTILE = {
    "a script": "<script>alert(1)</script>",
    "the end of what stands around": "\"'></textarea></title></bdi><img src=x onerror=alert(1)>",
    "template words": "{{ 7919 * 7919 }}{% raw %} ${7919*7919} &lt;b&gt; &#x3c;",
    "a terminal's commands": "\x1b]0;owned\x07\x1b[31mred\x1b[2J\x9b1m\x08\x00",
    "turned letters": "abc\u202egnp.exe\u202c \u2066x\u2069 \u200bzero\u200d \u00ad \ufeff\U000e0041",
    "an endless line": "x" * 1_000_000,
    "many words": "word " * 20_000,
    "a key": f"the key is sk-proj-{SECRET}{SECRET}, keep it",
    "half a letter, and line ends": "a\u2028b\u2029c\x85d\r\n\ne",
    "stacked marks": "a" + "\u0301" * 5_000,
}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Served:
    """A server that no test of this file changes: one memory, one draft."""
    made = Served(tmp_path_factory.mktemp("served"), tables={"review": {"mode": "manual"}})
    made.kept.say(1, "Always indent with tabs in this repository, never with spaces.")
    made.kept.run()
    remember(made.kept.database, [row("m_1", "The staging server restarts at night")])
    return made


def _path(page: Page, served: Served) -> str:
    with served.open() as app:
        draft = app.store.drafts.queue_ids()[0]
    return page.path.format(memory_id="m_1", entry_id=draft)


@pytest.mark.parametrize("page", [*LOOKING, *WRITING])
def test_no_page_is_shown_to_whoever_is_not_logged_in(shared: Served, page: Page) -> None:
    """Without a cookie, with an unknown one, and with a token of a program: no word of a memory, and how to log in."""
    for headers in ({}, {"cookie": "memory_pipeline_session=x"}, {"authorization": f"Bearer {shared.token()}"}):
        answer = shared.client.request(page.method, _path(page, shared), headers=headers)
        assert answer.status_code == 403
        assert "serve link" in answer.text
        assert "staging" not in answer.text
        assert "tabs" not in answer.text


@pytest.mark.parametrize("page", WRITING)
def test_a_form_of_another_session_does_nothing(shared: Served, page: Page) -> None:
    """Without the token of the session, or with another's, a form is refused; of the database not a byte differs."""
    visitor, other = Visitor(shared), Visitor(shared, "ann")
    before = _dump(shared)
    for given in ({}, {"form_token": ""}, {"form_token": "x"}, {"form_token": other.token()}):
        answer = visitor.client.post(_path(page, shared), data={"what": "retire", "sure": "on", **given})
        assert answer.status_code == 403
        assert "Load the page again" in answer.text
    assert _dump(shared) == before


@pytest.mark.parametrize("page", WRITING)
@pytest.mark.parametrize("headers", [{"origin": "https://evil.example"}, {"origin": "null"}, {"host": "evil.example"}])
def test_a_form_of_another_site_does_nothing(shared: Served, page: Page, headers: dict[str, str]) -> None:
    """Also with the cookie and the right token, which such a site can't have."""
    visitor = Visitor(shared)
    fields = {"form_token": visitor.token(), "what": "retire"}
    answer = visitor.client.post(_path(page, shared), data=fields, headers=headers)
    assert code_of(answer) in ("foreign_origin", "foreign_host")


@pytest.mark.parametrize("page", WRITING)
@pytest.mark.parametrize("body", [b"\xff\xfe=1", b"&".join([b"a=1"] * 300)])
def test_what_is_no_form_is_told_so(shared: Served, page: Page, body: bytes) -> None:
    """Broken letters and hundreds of fields are no fault of ours, and do nothing."""
    headers = {"content-type": "application/x-www-form-urlencoded"}
    answer = Visitor(shared).client.post(_path(page, shared), content=body, headers=headers)
    assert answer.status_code == 400
    assert "no form of this page" in Document(answer.text).text


@pytest.mark.parametrize("page", LOOKING)
def test_a_page_loads_nothing_from_elsewhere_and_runs_nothing_that_stands_in_it(shared: Served, page: Page) -> None:
    """Its headers forbid it, and it holds no script, style or event of its own; each tag that begins ends."""
    answer = Visitor(shared).get(_path(page, shared))
    assert answer.status_code == 200
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["x-content-type-options"] == "nosniff"
    document = Document(answer.text)
    assert not document.unclosed
    assert [given for tag, given in document.tags if tag == "script"] == [{"src": "/page/page.js", "defer": ""}]
    assert not [name for _, name, _ in document.attributes() if name.startswith("on") or name == "style"]
    loaded = [value for _, name, value in document.attributes() if name in ("src", "href", "action")]
    assert not [value for value in loaded if not value.startswith(("/", "#", "data:,")) or value.startswith("//")]


@pytest.mark.parametrize("page", LOOKING)
def test_a_page_can_be_used_with_a_keyboard_and_a_screen_reader(shared: Served, page: Page) -> None:
    """It has a language, one main heading, a way past the navigation, and a name for each field and each picture."""
    document = Document(Visitor(shared).get(_path(page, shared)).text)
    names = [tag for tag, _ in document.tags]
    assert (
        names.count("h1") == names.count("main") == names.count("nav") - names[names.index("main") :].count("nav") == 1
    )
    assert ("html", {"lang": "en"}) in document.tags
    assert document.tags[names.index("a")][1] == {"class": "skip", "href": "#main"}
    assert all(given.get("aria-label") for tag, given in document.tags if tag == "svg")
    inside = 0
    for tag, given in document.tags:
        inside += tag == "label"
        if tag in ("select", "textarea") or (tag == "input" and given.get("type") != "hidden"):
            inside -= 1
    assert inside == 0  # every field stands in a label of its own


def test_what_a_page_loads_is_there(shared: Served) -> None:
    """Its style and its script come from here, each as what it is."""
    for name, kind in (("page.css", "text/css"), ("page.js", "text/javascript")):
        answer = shared.client.get(f"/page/{name}")
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith(kind)
        assert "http" not in answer.text


def test_somebody_else_sees_nothing_of_the_owners(shared: Served) -> None:
    """Another user's pages are empty, and the owner's ids lead nowhere in them."""
    ann = Visitor(shared, "ann")
    for page in PAGES:
        if page.method == "GET":
            text = ann.get(_path(page, shared)).text
            assert "tabs" not in text
            assert "staging" not in text
    assert ann.get("/page/memories/m_1").status_code == 404
    assert ann.send("/page/memories/m_1/change", what="retire").status_code == 404
    assert ann.send("/page/forget/preview", kind="memory", which="m_1").status_code == 422


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in HOSTILE.items()])
def test_hostile_text_is_shown_as_text_everywhere(tmp_path: Path, text: str) -> None:
    """On every page: as letters, never as tags, with nothing hidden, masked, and of an endless line its beginning."""
    served = Served(tmp_path, tables={"review": {"mode": "manual"}})
    served.kept.say(1, "Always indent with tabs in this repository, never with spaces.")
    served.kept.run()
    _say_everywhere(served.kept.database, text)
    visitor = Visitor(served)
    asked = [(_path(page, served), {}) for page in PAGES if page.method == "GET"]
    asked += [("/page/search", {"q": text[:200]}), ("/page/forget", {"match": text[:200]})]
    answers = [visitor.get(path, **params) for path, params in asked]
    answers.append(visitor.send("/page/forget/preview", kind="scope", which="user"))
    edited = visitor.send("/page/memories/m_1/edit", statement=text[:5_000], condition=text[:200])
    answers.append(visitor.follow(edited) if edited.status_code == 303 else edited)
    told = 0
    for answer in answers:
        assert answer.status_code in (200, 422), answer.text
        document = Document(answer.text)
        assert {"script": 1, "img": 0}.items() <= {
            tag: [name for name, _ in document.tags].count(tag) for tag in ("script", "img")
        }.items()
        assert not [name for _, name, _ in document.attributes() if name.startswith("on")]
        assert not HIDDEN.search(document.raw_text)
        assert SECRET not in document.raw_text
        assert "62710561" not in document.raw_text
        assert len(document.raw_text) < 40 * MOST_SHOWN_CHARS
        told += text[:10].strip("\x1b\0") in document.raw_text or "⟨U+" in document.raw_text
    assert told >= 5


def _say_everywhere(database: Path, text: str) -> None:
    """Let everything that is kept say a text; what is written so came past every check."""
    remember(database, [row("m_1", text, condition=text, reason=text, kind="knowledge")])
    with closing(sqlite3.connect(database)) as connection:
        for change in (
            "UPDATE entries SET statement = :text, condition = :text",
            "UPDATE evidence SET quote = :text",
            "UPDATE drafts SET rationale = :text, review_note = :text",
            "UPDATE threads SET title = :text",
            "UPDATE jobs SET state = 'error', last_error = :text",
            "UPDATE chronicle SET what = 'failed', reason = :text",
            "UPDATE consolidations SET state = 'failed', error = :text",
        ):
            connection.execute(change, {"text": text})
        connection.commit()


def _dump(served: Served) -> list[str]:
    with closing(sqlite3.connect(served.kept.database)) as connection:
        return list(connection.iterdump())
