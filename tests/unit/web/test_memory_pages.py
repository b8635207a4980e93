"""The pages of memories: list, one memory, changes by hand, search, overview, log, runs."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from model_server import ModelServer, hang
from remembered import DAY, remember, row
from served import Served
from submitted import task
from visiting import Document, Visitor

from memory_pipeline.lock import os_lock
from memory_pipeline.phase2.places import workspace_lock_path

TABS = "Always indent with tabs in this repository, never with spaces"


@pytest.fixture
def visitor(served: Served) -> Visitor:
    """The owner, logged in, with one memory."""
    return Visitor(served)


def _memory(served: Served) -> str:
    with served.open() as app:
        return app.store.memories.every()[0].memory_id


def _standing(served: Served) -> tuple[str, str, bool]:
    with served.open() as app:
        (memory,) = app.store.memories.every()
        return memory.statement, memory.status.value, memory.pinned


def test_memories_stand_by_scope_and_lead_to_their_evidence_and_history(visitor: Visitor) -> None:
    """From the list to one memory: what it rests on is read back from the log, and how it came to be is told."""
    listed = Document(visitor.get("/page/memories").text)
    assert "project:/home/sam/shop" in listed.text
    (address,) = [value for _, name, value in listed.attributes() if value.startswith("/page/memories/m_")]
    shown = Document(visitor.get(address).text).text
    assert TABS in shown
    assert "verified" in shown
    assert "consolidation 1" in shown


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ({}, 1),
        ({"status": "all"}, 1),
        ({"status": "retired"}, 0),
        ({"scope": "user"}, 0),
        ({"kind": "preference", "scope": "project:/home/sam/shop"}, 1),
        ({"status": "nonsense"}, 1),
    ],
)
def test_the_list_shows_what_is_asked_for(visitor: Visitor, query: dict[str, str], count: int) -> None:
    """By scope, kind and status; what is told unless something else is asked for."""
    answer = visitor.get("/page/memories", **query)
    assert answer.status_code == 200
    assert Document(answer.text).text.count(TABS) == count


def test_a_long_list_is_shown_in_parts(served: Served) -> None:
    """Fifty at once, and a link to the others that keeps what was asked for."""
    remember(served.kept.database, [row(f"m_{number:03}", f"Statement {number}") for number in range(120)])
    visitor = Visitor(served)
    first = Document(visitor.get("/page/memories", scope="user").text)
    (more,) = [given["href"] for tag, given in first.tags if given.get("rel") == "next"]
    second = Document(visitor.get(more).text)
    assert "1 to 50 of 120" in first.text
    assert "51 to 100 of 120" in second.text
    assert "Statement 99" in second.text
    assert visitor.get("/page/memories", offset="-1").status_code == 422


def test_pinning_retiring_and_restoring_are_deeds_of_the_person(visitor: Visitor) -> None:
    """Each button does what the command of its name does, says so, and stands in the history."""
    served, path = visitor.served, f"/page/memories/{_memory(visitor.served)}"
    for what, told, after in (
        ("pin", "Pinned", (TABS, "active", True)),
        ("unpin", "taken away", (TABS, "active", False)),
        ("retire", "Retired", (TABS, "retired", False)),
        ("restore", "Told again", (TABS, "active", False)),
    ):
        served.clock.go_on(60)
        shown = Document(visitor.follow(visitor.send(f"{path}/change", what=what)).text).text
        assert told in shown
        assert _standing(served) == after
    assert "by you" in shown
    assert TABS in served.kept.handbook()


def test_a_memory_is_worded_anew(visitor: Visitor) -> None:
    """The new words are told from then on, and the old ones stand in the history."""
    path = f"/page/memories/{_memory(visitor.served)}"
    visitor.served.clock.go_on(60)
    answer = visitor.send(f"{path}/edit", statement=" Indent with\ntabs here ", condition="in Go files")
    shown = Document(visitor.follow(answer).text).text
    assert _standing(visitor.served)[0] == "Indent with tabs here"
    assert "when in Go files: Indent with tabs here" in shown
    assert f"Before: {TABS}" in shown


@pytest.mark.parametrize("typed", ["", "x" * 1_000, "# A heading", "Say <script>alert(1)</script> always"])
def test_what_can_not_be_a_memory_is_shown_again_with_the_reason(visitor: Visitor, typed: str) -> None:
    """Nothing that was typed is lost, and nothing is changed."""
    answer = visitor.send(f"/page/memories/{_memory(visitor.served)}/edit", statement=typed, condition="")
    document = Document(answer.text)
    assert answer.status_code == 422
    assert typed[:50] in document.text
    assert [given for tag, given in document.tags if given.get("role") == "alert"]
    assert _standing(visitor.served)[0] == TABS


def test_words_that_were_forgotten_are_not_taken_in_again(visitor: Visitor) -> None:
    """Neither as a new wording nor as a note; the refusal names no path of the server."""
    visitor.served.ask("POST", "/forget", json={"match": "walrus", "dry_run": False})
    answer = visitor.send(f"/page/memories/{_memory(visitor.served)}/edit", statement="Feed the walrus", condition="")
    assert answer.status_code == 422
    assert "forgotten for good" in Document(answer.text).text
    assert str(visitor.served.config.state_path) not in answer.text


def test_what_another_run_holds_is_written_down_and_told_so(visitor: Visitor) -> None:
    """While the workspace is held, a deed waits for the run that holds it, or for the next."""
    served, path = visitor.served, f"/page/memories/{_memory(visitor.served)}"
    with os_lock(workspace_lock_path(served.config.workspace_path), purpose="test", wait_seconds=0):
        shown = visitor.follow(visitor.send(f"{path}/change", what="pin"))
    assert "Another run holds the memories" in Document(shown.text).text
    served.kept.run()
    assert _standing(served) == (TABS, "active", True)


def test_a_form_that_asks_for_nothing_we_know_changes_nothing(visitor: Visitor) -> None:
    """And a memory that is not there can't be changed."""
    path = f"/page/memories/{_memory(visitor.served)}"
    assert visitor.send(f"{path}/change", what="explode").status_code == 422
    assert visitor.send("/page/memories/m_none/change", what="pin").status_code == 404
    assert visitor.send("/page/memories/m_none/edit", statement="Be kind").status_code == 404
    assert _standing(visitor.served) == (TABS, "active", False)


def test_search_finds_and_says_when_it_does_not(visitor: Visitor) -> None:
    """What is found leads to its memory; what is retired is found when asked for."""
    served = visitor.served
    assert TABS in visitor.get("/page/search", q="indent").text
    assert "Nothing is remembered of that" in visitor.get("/page/search", q="walrus").text
    visitor.send(f"/page/memories/{_memory(served)}/change", what="retire")
    assert TABS not in visitor.get("/page/search", q="indent").text
    assert TABS in visitor.get("/page/search", q="indent", all="on").text
    assert "found" not in Document(visitor.get("/page/search").text).text


def test_the_overview_draws_what_was_learnt_given_and_cited_and_has_the_numbers_as_a_table(served: Served) -> None:
    """Each day is a bar whose number is told, and a row of the table."""
    now = served.clock.now()
    with closing(sqlite3.connect(served.kept.database)) as connection:
        connection.executemany(
            "INSERT INTO injections (at, thread_id, again, format, tokens, memory_ids) VALUES (?, ?, 0, '', 9, '[]')",
            [(now - 2 * DAY, f"t{number}") for number in range(7)] + [(now - 400 * DAY, "old")],
        )
        connection.commit()
    document = Document(Visitor(served).get("/").text)
    (learnt, given, cited) = [attributes["aria-label"] for tag, attributes in document.tags if tag == "svg"]
    assert learnt.startswith("Memories learnt: 1 from 2026-08-05 to 2026-09-03, at most 1 in a day")
    assert given.startswith("Tasks given memories: 7 from")
    assert cited.startswith("Answers that cited them: 0 from")
    assert "2026-09-01: 7" in document.text
    assert "2026-09-01 0 7 0" in document.text


def test_the_overview_tells_what_waits_what_it_costs_and_what_was_published(tmp_path: Path) -> None:
    """The queue, the gates, the budget, the last consolidation."""
    served = Served(tmp_path, tables={"review": {"mode": "manual"}, "budget": {"daily_tokens": 5_000}})
    served.kept.say(1, f"{TABS}.")
    served.ask("POST", "/tasks", json=task(1, result="short"))
    served.kept.run()
    shown = Document(Visitor(served).get("/").text).text
    assert "1 to review" in shown
    assert "1 too short" in shown
    assert "of 5,000" in shown
    assert "Published" in shown


def test_a_run_is_made_and_what_it_did_is_told(served: Served) -> None:
    """Like the call, one at a time; it takes in what was said since."""
    served.kept.say(2, "Never push to main without asking me.")
    visitor = Visitor(served)
    shown = Document(visitor.send("/page/run").text).text
    assert "1 succeeded" in shown
    assert "consolidated" in shown
    assert "Never push to main" in visitor.get("/page/memories").text


def test_the_log_tells_of_sessions_consolidations_and_tasks(served: Served) -> None:
    """The newest first; of a task also the gate that holds it back."""
    served.ask("POST", "/tasks", json=task(1, result="short"))
    visitor = Visitor(served)
    shown = Document(visitor.get("/page/log").text).text
    assert "consolidation 1 consolidated" in shown
    assert "task t1" in shown
    assert "too short to hold anything to keep" in shown
    assert "Let uploads be tried again" in shown
    assert visitor.get("/page/log", lines="999999999").status_code == 200


def test_a_damaged_database_is_told_and_can_be_mended_from_the_page(visitor: Visitor) -> None:
    """Every page says so, and offers the run that puts a whole one in its place."""
    database = visitor.served.kept.database
    database.write_bytes(b"this is no database" * 500)
    for suffix in ("-wal", "-shm"):
        database.with_name(database.name + suffix).unlink(missing_ok=True)
    answer = visitor.get("/page/memories")
    assert answer.status_code == 503
    assert "damaged" in Document(answer.text).text
    token = Document(answer.text).value_of("form_token")
    mended = visitor.client.post("/page/run", data={"form_token": token})
    assert mended.status_code == 200, mended.text
    assert TABS in visitor.get("/page/memories").text


def test_of_two_runs_at_once_the_second_is_told_that_one_is_in_progress(tmp_path: Path) -> None:
    """Whoever asks twice gets a page that says so; stopping the server gives back what the first was working on."""
    with ModelServer(default=hang()) as model, ThreadPoolExecutor(1) as pool:
        table = {"provider": "openai", "extract_model": "m", "base_url": model.base_url, "api_key_env": ""}
        served = Served(tmp_path, tables={"model": table})
        served.kept.say(1, f"{TABS}.")
        visitor, other = Visitor(served), Visitor(served)
        running = pool.submit(visitor.send, "/page/run")
        assert model.wait_for_requests(1)
        late = other.send("/page/run")
        assert late.status_code == 409
        assert "in progress" in Document(late.text).text
        served.stop.set()
        stopped = running.result()
        assert stopped.status_code == 503
        assert "given back" in Document(stopped.text).text
