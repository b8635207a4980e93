"""The pages that forget: a preview, a second word, a receipt."""

from __future__ import annotations

import pytest
from served import Served
from visiting import Document, Visitor

TABS = "Always indent with tabs in this repository, never with spaces"


@pytest.fixture
def visitor(served: Served) -> Visitor:
    """The owner, logged in, with one memory."""
    return Visitor(served)


def _statements(served: Served) -> list[str]:
    with served.open() as app:
        return [memory.statement for memory in app.store.memories.every()]


def _preview(visitor: Visitor, kind: str = "match", which: str = "tabs") -> Document:
    answer = visitor.send("/page/forget/preview", kind=kind, which=which)
    assert answer.status_code == 200, answer.text
    return Document(answer.text)


def test_a_preview_shows_exactly_what_goes_and_changes_nothing(visitor: Visitor) -> None:
    """The memory, its entry, and how much there is of everything else."""
    page = _preview(visitor)
    assert page.text.count(TABS) == 2
    assert "memories 1" in page.text
    assert _statements(visitor.served) == [TABS]


def test_forgetting_needs_the_box_to_be_ticked(visitor: Visitor) -> None:
    """Without it nothing goes, and the preview is shown again with what to do."""
    seen = _preview(visitor).value_of("seen")
    answer = visitor.send("/page/forget/for-good", kind="match", which="tabs", seen=seen)
    assert answer.status_code == 409
    assert "Nothing was forgotten" in Document(answer.text).text
    assert _statements(visitor.served) == [TABS]


def test_what_was_previewed_is_forgotten_with_a_receipt(visitor: Visitor) -> None:
    """It is gone from the memories and from the workspace, and the receipt says what was searched."""
    seen = _preview(visitor).value_of("seen")
    answer = visitor.send("/page/forget/for-good", kind="match", which="tabs", seen=seen, sure="on")
    shown = Document(answer.text).text
    assert answer.status_code == 200
    assert "It is gone" in shown
    assert "files were searched" in shown
    assert _statements(visitor.served) == []
    assert "tabs" not in visitor.served.kept.handbook()


def test_what_came_since_the_preview_is_not_forgotten_unseen(visitor: Visitor) -> None:
    """Something else would go by now: it is shown first."""
    seen = _preview(visitor).value_of("seen")
    visitor.served.kept.say(2, "Never put tabs into a YAML file, and never into JSON.")
    visitor.served.kept.run()
    answer = visitor.send("/page/forget/for-good", kind="match", which="tabs", seen=seen, sure="on")
    page = Document(answer.text)
    assert answer.status_code == 409
    assert "has changed" in page.text
    assert "YAML" in page.text
    assert len(_statements(visitor.served)) == 2
    again = visitor.send("/page/forget/for-good", kind="match", which="tabs", seen=page.value_of("seen"), sure="on")
    assert again.status_code == 200
    assert _statements(visitor.served) == []


@pytest.mark.parametrize(
    ("kind", "which"),
    [
        ("memory", "m_none"),
        ("thread", "none"),
        ("entry", "e_none"),
        ("scope", "project:none"),
        ("match", ""),
        ("match", "a"),
    ],
)
def test_what_is_not_there_is_told_beside_what_was_typed(visitor: Visitor, kind: str, which: str) -> None:
    """The form is shown again as it was filled in."""
    answer = visitor.send("/page/forget/preview", kind=kind, which=which)
    page = Document(answer.text)
    assert answer.status_code == 422
    assert page.value_of("which") == which
    assert [given for _, given in page.tags if given.get("role") == "alert"]


def test_an_unknown_kind_is_refused(visitor: Visitor) -> None:
    """A form names one of the five."""
    assert visitor.send("/page/forget/preview", kind="everything", which="x").status_code == 422
    assert visitor.send("/page/forget/for-good", kind="dry_run", which="x", sure="on").status_code == 422


def test_the_form_is_filled_in_by_the_page_of_a_memory(visitor: Visitor) -> None:
    """Its link names the memory, and the preview of that is of it alone."""
    with visitor.served.open() as app:
        name = app.store.memories.every()[0].memory_id
    page = Document(visitor.get(f"/page/memories/{name}").text)
    assert f"/page/forget?memory={name}" in [value for _, attribute, value in page.attributes() if attribute == "href"]
    assert Document(visitor.get("/page/forget", memory=name).text).value_of("which") == name
    assert TABS in _preview(visitor, "memory", name).text


def test_words_with_a_secret_are_sent_back_whole_and_shown_masked(visitor: Visitor) -> None:
    """What is typed to be forgotten is what is forgotten; on the page it is masked like everything else."""
    key = "sk-proj-" + "notarealkey0" * 4
    answer = visitor.send("/page/forget/preview", kind="match", which=f"the key {key}")
    page = Document(answer.text)
    assert page.value_of("which") == f"the key {key}"
    assert key not in page.raw_text
