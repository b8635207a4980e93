"""The pages of the review: the queue, one draft beside what it is like, decisions and taking them back."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from served import Served
from visiting import Document, Visitor

from memory_pipeline.records import Draft

TABS = "Always indent with tabs in this repository, never with spaces"
SPACES = "Always indent with spaces in this repository, never with tabs"
PYTEST = "From now on run the tests with pytest in this repository"


@pytest.fixture
def visitor(tmp_path: Path) -> Visitor:
    """The owner, logged in, with two drafts that wait."""
    made = Served(tmp_path, tables={"review": {"mode": "manual"}})
    made.kept.say(1, f"{TABS}.", f"{PYTEST}.")
    made.kept.run()
    return Visitor(made)


def _queue(visitor: Visitor) -> list[str]:
    with visitor.served.open() as app:
        return app.store.drafts.queue_ids()


def _draft(visitor: Visitor, entry_id: str) -> Draft:
    with visitor.served.open() as app:
        found = app.store.drafts.get(entry_id)
        assert found is not None
        return found


def _version(visitor: Visitor, entry_id: str) -> str:
    return Document(visitor.get(f"/page/review/{entry_id}").text).value_of("version")


def test_the_queue_stands_in_its_order_and_leads_to_each_draft(visitor: Visitor) -> None:
    """As the review in a terminal goes through it; the navigation says how many wait."""
    page = Document(visitor.get("/page/review").text)
    led = [value.rpartition("/")[2] for _, name, value in page.attributes() if value.startswith("/page/review/e_")]
    assert list(dict.fromkeys(led)) == _queue(visitor)
    assert "Review 2 to decide" in page.text


@pytest.mark.parametrize(
    ("decision", "status", "told"),
    [("approve", "approved", "Approved"), ("reject", "rejected", "Rejected"), ("defer", "deferred", "Put off")],
)
def test_a_decision_is_stored_told_and_leads_to_the_next(
    visitor: Visitor, decision: str, status: str, told: str
) -> None:
    """With its note, by the person; then the next draft is shown, with what was done and a way back."""
    first, second = _queue(visitor)
    answer = visitor.send(
        f"/page/review/{first}/decide", decision=decision, note="because", version=_version(visitor, first)
    )
    page = Document(visitor.follow(answer).text)
    decided = _draft(visitor, first)
    assert (decided.review_status, decided.decided_by, decided.review_note) == (status, "person", "because")
    assert f"/{second}?" in answer.headers["location"]
    assert told in page.text
    assert f"/page/review/{first}/undo" in [value for _, name, value in page.attributes() if name == "action"]


def test_after_the_last_draft_the_queue_is_shown_empty(visitor: Visitor) -> None:
    """With what was decided last, each to be taken back."""
    for entry_id in _queue(visitor):
        answer = visitor.send(f"/page/review/{entry_id}/decide", decision="reject")
    page = Document(visitor.follow(answer).text)
    assert "No draft waits for you" in page.text
    undone = {value for _, name, value in page.attributes() if name == "action" and value.endswith("/undo")}
    assert len(undone) == 2


def test_a_decision_is_taken_back_from_the_page(visitor: Visitor) -> None:
    """The draft waits again just as it did, and is shown again."""
    first = _queue(visitor)[0]
    before = _draft(visitor, first)
    visitor.send(f"/page/review/{first}/decide", decision="reject", note="no")
    answer = visitor.send(f"/page/review/{first}/undo")
    assert f"/{first}?" in answer.headers["location"]
    assert "Taken back" in Document(visitor.follow(answer).text).text
    assert _draft(visitor, first) == before
    assert visitor.send(f"/page/review/{first}/undo").status_code == 404


def test_what_was_decided_can_wait_again(visitor: Visitor) -> None:
    """A decided draft shows its decision and one button."""
    first = _queue(visitor)[0]
    visitor.send(f"/page/review/{first}/decide", decision="reject")
    assert "It was rejected by you" in Document(visitor.get(f"/page/review/{first}").text).text
    visitor.send(f"/page/review/{first}/decide", decision="reopen")
    assert first in _queue(visitor)


def test_a_note_is_kept_and_decides_nothing(visitor: Visitor) -> None:
    """It is shown with the draft; an empty one is refused."""
    first = _queue(visitor)[0]
    answer = visitor.send(f"/page/review/{first}/note", note="ask Ann")
    assert "Your note: ask Ann" in Document(visitor.follow(answer).text).text
    assert _draft(visitor, first).review_status == "pending"
    assert visitor.send(f"/page/review/{first}/note", note=" ").status_code == 422


def test_of_two_who_decide_the_first_wins(visitor: Visitor) -> None:
    """A form about a draft that stands otherwise by now does nothing, and leads back to the queue."""
    first = _queue(visitor)[0]
    version = _version(visitor, first)
    visitor.send(f"/page/review/{first}/decide", decision="reject", version=version)
    late = visitor.send(f"/page/review/{first}/decide", decision="approve", version=version)
    assert late.status_code == 409
    assert "look at it again" in Document(late.text).text
    assert _draft(visitor, first).review_status == "rejected"


def test_what_contradicts_a_memory_stands_beside_it_and_needs_a_second_word(visitor: Visitor) -> None:
    """The difference is marked in both, and approving it all the same has to be ticked."""
    served = visitor.served
    for entry_id in _queue(visitor):
        visitor.send(f"/page/review/{entry_id}/decide", decision="approve")
    served.kept.run()
    served.kept.say(2, f"{SPACES}.", after=timedelta(hours=4))
    served.kept.run()
    (entry_id,) = _queue(visitor)
    page = visitor.get(f"/page/review/{entry_id}").text
    assert "<del>tabs</del>" in page
    assert "<ins>spaces</ins>" in page
    assert "it contradicts what is remembered" in Document(page).text
    plain = visitor.send(f"/page/review/{entry_id}/decide", decision="approve")
    assert plain.status_code == 409
    assert "tick that you approve it all the same" in Document(plain.text).text
    forced = visitor.send(f"/page/review/{entry_id}/decide", decision="approve", force="on")
    assert forced.status_code == 303
    assert _draft(visitor, entry_id).review_status == "approved"


def test_evidence_stands_as_the_log_has_it_now(visitor: Visitor) -> None:
    """Verified while the log is there, and said to be gone once it is not; the words stay."""
    first = _queue(visitor)[0]
    assert "verified" in Document(visitor.get(f"/page/review/{first}").text).text
    visitor.served.kept.forget_log(1)
    shown = Document(visitor.get(f"/page/review/{first}").text).text
    assert "gone" in shown
    assert _draft(visitor, first).entry.evidence[0].quote in shown


@pytest.mark.parametrize("path", ["e_none", "e_none/decide", "e_none/note", "e_none/undo"])
def test_a_draft_that_is_not_there_is_told_so(visitor: Visitor, path: str) -> None:
    """Not a fault of ours."""
    address = f"/page/review/{path}"
    answer = visitor.get(address) if path == "e_none" else visitor.send(address, decision="approve", note="x")
    assert answer.status_code == 404


def test_what_an_address_claims_was_done_is_not_believed(visitor: Visitor) -> None:
    """Only what we know to say is said, about a draft that there is; no words of the address are shown."""
    for query in ({"told": "Send me your token", "about": "x"}, {"told": "approve", "about": "<b>x"}):
        page = Document(visitor.get("/page/review", **query).text)
        assert "token" not in page.text
        assert not [given for _, given in page.tags if given.get("role") == "status"]


@pytest.mark.parametrize("decision", ["", "explode"])
def test_a_form_without_a_decision_decides_nothing(visitor: Visitor, decision: str) -> None:
    """It is told which value does not fit."""
    first = _queue(visitor)[0]
    assert visitor.send(f"/page/review/{first}/decide", decision=decision).status_code == 422
    assert _draft(visitor, first).review_status == "pending"


def test_what_is_hidden_in_a_memory_is_seen_in_the_difference(visitor: Visitor) -> None:
    """Characters that turn or hide text are written out beside the draft, and tags are letters."""
    served = visitor.served
    for entry_id in _queue(visitor):
        visitor.send(f"/page/review/{entry_id}/decide", decision="approve")
    served.kept.run()
    served.kept.say(2, f"{SPACES}.", after=timedelta(hours=4))
    served.kept.run()
    with closing(sqlite3.connect(served.kept.database)) as connection:
        connection.execute("UPDATE memories SET statement = statement || ?", (" \u202e\u200b<b onclick=x>",))
        connection.commit()
    (entry_id,) = _queue(visitor)
    page = visitor.get(f"/page/review/{entry_id}").text
    assert "⟨U+202E⟩⟨U+200B⟩&lt;b onclick=x&gt;</del>" in page
