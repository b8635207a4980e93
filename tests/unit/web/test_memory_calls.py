"""Memories, drafts and forgetting over HTTP: the same calls as those of the commands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rollout_logs import thread_id_of
from served import Served, code_of

from memory_pipeline.settings import GENERATE

PROJECT = "project:/home/sam/shop"
TABS = "Always indent with tabs in this repository, never with spaces"


@pytest.fixture
def waiting(tmp_path: Path) -> Served:
    """A server on which nothing passes without a person: two drafts wait."""
    made = Served(tmp_path, tables={"review": {"mode": "manual"}})
    made.kept.say(1, f"{TABS}.", "From now on run the tests with pytest in this repository.")
    made.kept.run()
    return made


def _drafts(served: Served, **query: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = served.ask("GET", "/drafts", params=query).json()["drafts"]
    return found


def _decide(served: Served, draft: dict[str, Any], **body: Any) -> Any:
    return served.ask("POST", f"/drafts/{draft['entry_id']}/decision", json=body)


def test_memories_are_listed_shown_and_found(served: Served) -> None:
    """One memory, by list, by id with history and verified evidence, and by its words."""
    (memory,) = served.ask("GET", "/memories").json()["memories"]
    assert (memory["statement"], memory["scope"]) == (TABS, PROJECT)
    details = served.ask("GET", f"/memories/{memory['memory_id']}").json()
    assert details["memory"] == memory
    assert [step["operation"] for step in details["history"]] == ["add"]
    assert [line["state"] for entry in details["entries"] for line in entry["evidence"]] == ["verified"]
    (found,) = served.ask("GET", "/search", params={"q": "indent tabs"}).json()["found"]
    assert (found["memory"], found["matched"]) == (memory, ["indent", "tabs"])


@pytest.mark.parametrize(
    ("query", "total"),
    [
        ({"scope": PROJECT}, 1),
        ({"scope": "user"}, 0),
        ({"kind": "preference", "status": "active"}, 1),
        ({"status": "retired"}, 0),
        ({"offset": "1"}, 1),
    ],
)
def test_memories_are_listed_by_what_is_asked(served: Served, query: dict[str, str], total: int) -> None:
    """The total counts what fits, past the offset and the limit too."""
    answer = served.ask("GET", "/memories", params=query).json()
    assert answer["total"] == total
    assert len(answer["memories"]) == (0 if "offset" in query else total)


def test_a_memory_of_a_session_that_was_switched_off_is_listed_as_retired(served: Served) -> None:
    """At once, and so on the pages, which are asked for what is active."""
    with served.open() as app:
        app.settings().set_flags(thread_id_of(1), {GENERATE: False})
        app.regate()
    assert served.ask("GET", "/memories", params={"status": "active"}).json()["total"] == 0
    (memory,) = served.ask("GET", "/memories", params={"status": "retired"}).json()["memories"]
    assert (memory["statement"], memory["status"]) == (TABS, "retired")
    assert served.ask("GET", f"/memories/{memory['memory_id']}").json()["memory"] == memory


def test_an_approved_draft_becomes_a_memory(waiting: Served) -> None:
    """A decision is kept, and the next run takes it in."""
    draft = next(one for one in _drafts(waiting, status="pending") if one["statement"] == TABS)
    answer = _decide(waiting, draft, decision="approve", note="yes", version=draft["version"])
    assert answer.status_code == 200, answer.text
    (decided,) = answer.json()["drafts"]
    assert (decided["review_status"], decided["decided_by"], decided["review_note"]) == ("approved", "person", "yes")
    waiting.ask("POST", "/users/me/auto-memory/run")
    assert [one["statement"] for one in waiting.ask("GET", "/memories").json()["memories"]] == [TABS]


def test_of_two_who_decide_the_first_wins(waiting: Served) -> None:
    """A decision about a draft as it was shown is refused once it stands otherwise."""
    draft = _drafts(waiting)[0]
    assert _decide(waiting, draft, decision="reject", version=draft["version"]).status_code == 200
    late = _decide(waiting, draft, decision="approve", version=draft["version"])
    assert (late.status_code, code_of(late)) == (409, "changed")
    assert waiting.ask("GET", f"/drafts/{draft['entry_id']}").json()["review_status"] == "rejected"


def test_a_decision_is_taken_back(waiting: Served) -> None:
    """The last one about a draft, or the last one at all; then there is none left."""
    first, second = _drafts(waiting)
    _decide(waiting, first, decision="reject")
    _decide(waiting, second, decision="defer", days=3)
    undone = waiting.ask("POST", f"/drafts/{first['entry_id']}/undo").json()["drafts"]
    assert [(one["entry_id"], one["review_status"]) for one in undone] == [(first["entry_id"], "pending")]
    assert [one["entry_id"] for one in waiting.ask("POST", "/drafts/undo").json()["drafts"]] == [second["entry_id"]]
    answer = waiting.ask("POST", "/drafts/undo")
    assert (answer.status_code, code_of(answer)) == (404, "not_found")


def test_a_note_decides_nothing(waiting: Served) -> None:
    """It stands with the draft, which waits as before."""
    draft = _drafts(waiting)[0]
    noted = waiting.ask("POST", f"/drafts/{draft['entry_id']}/note", json={"note": "ask Sam"}).json()
    assert (noted["review_note"], noted["review_status"]) == ("ask Sam", "pending")


def test_what_a_session_no_longer_says_is_not_decided(waiting: Served) -> None:
    """A draft whose session is switched off is refused, with the reason."""
    draft = _drafts(waiting)[0]
    with waiting.open() as app:
        app.store.threads.set_disabled(draft["thread_id"], disabled=True)
        app.regate()
    answer = _decide(waiting, draft, decision="approve")
    assert (answer.status_code, code_of(answer)) in ((409, "withdrawn"), (404, "not_found"))


def test_a_dry_run_says_what_goes_and_changes_nothing(served: Served) -> None:
    """What it counts is what goes when it is meant; afterwards nothing is left to name."""
    (memory,) = served.ask("GET", "/memories").json()["memories"]
    plan = served.ask("POST", "/forget", json={"memory": memory["memory_id"]}).json()
    assert (plan["dry_run"], plan["counts"]["memories"], plan["receipt"]) == (True, 1, None)
    assert [one["statement"] for one in plan["memories"]] == [TABS]
    assert served.ask("GET", "/memories").json()["total"] == 1
    done = served.ask("POST", "/forget", json={"memory": memory["memory_id"], "dry_run": False}).json()
    assert done["counts"] == plan["counts"]
    assert done["receipt"]["is_clean"]
    assert served.ask("GET", "/memories").json()["total"] == 0
    assert served.ask("POST", "/forget", json={"memory": memory["memory_id"]}).status_code == 404


@pytest.mark.parametrize("body", [{}, {"thread": "x", "memory": "y"}, {"match": "a"}])
def test_what_to_forget_must_be_clear(served: Served, body: dict[str, Any]) -> None:
    """Nothing, two things, or a word that fits nearly everything is refused."""
    answer = served.ask("POST", "/forget", json={**body, "dry_run": False})
    assert (answer.status_code, code_of(answer)) == (422, "refused")
    assert served.ask("GET", "/memories").json()["total"] == 1


def test_a_note_does_not_bring_back_what_was_forgotten(waiting: Served) -> None:
    """Words that were forgotten for good can't be noted."""
    waiting.ask("POST", "/forget", json={"match": "pytest", "dry_run": False})
    draft = _drafts(waiting)[0]
    answer = waiting.ask("POST", f"/drafts/{draft['entry_id']}/note", json={"note": "use pytest"})
    assert (answer.status_code, code_of(answer)) == (409, "forgotten")
