"""`usage record` and `search --open`: what counts as used, and what the command says of the rest."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from command import Machine, session
from rollout_logs import thread_id_of

LINT = "Always run make lint before you commit."
PUSH = "From now on, never push to main without asking me."


@pytest.fixture
def remembering(machine: Machine) -> Machine:
    """A machine that remembers of two sessions."""
    session(1, LINT).write(machine.codex)
    session(2, PUSH).write(machine.codex)
    assert machine.run("run").code == 0
    return machine


def memory_id(machine: Machine, words: str) -> str:
    """Return the id of the memory that holds these words."""
    (found,) = [one["memory_id"] for one in machine.memory_list() if words in one["statement"]]
    return str(found)


def test_each_named_memory_and_session_is_used_once_more(remembering: Machine) -> None:
    """Ids may be shortened, and what is named twice in one call is used once."""
    lint, push = memory_id(remembering, "lint"), memory_id(remembering, "push")
    named = ("--memory", lint[:8], "--memory", lint, "--memory", push, "--thread", thread_id_of(1))
    ran = remembering.run("usage", "record", *named, "--json")
    assert (ran.code, ran.document["problems"]) == (0, [])
    assert [one["usage_count"] for one in ran.document["recorded"]] == [1, 1, 1]
    remembering.run("usage", "record", "--memory", lint)
    assert {one["memory_id"]: one["usage_count"] for one in remembering.memory_list()} == {lint: 2, push: 1}
    assert remembering.thread(1)["usage_count"] == 1


def test_what_is_not_known_is_said_and_the_rest_is_recorded(remembering: Machine) -> None:
    """Exit code 1; each unknown id has a line of its own."""
    lint = memory_id(remembering, "lint")
    ran = remembering.run("usage", "record", "--memory", "m_ffff", "--memory", lint, "--thread", "nobody")
    assert ran.code == 1
    assert len(ran.err.splitlines()) == 2
    assert "m_ffff" in ran.err
    assert "nobody" in ran.err
    assert ran.out.startswith(f"{lint}: used 1 times")


def test_the_time_may_be_told(remembering: Machine) -> None:
    """A later use never makes the last time earlier; a time to come is refused."""
    lint = memory_id(remembering, "lint")
    remembering.run("usage", "record", "--memory", lint, "--at", "1h")
    ran = remembering.run("usage", "record", "--memory", lint, "--at", "2026-01-02T03:04Z", "--json")
    (told,) = ran.document["recorded"]
    assert told["usage_count"] == 2
    assert datetime.now(UTC) - datetime.fromisoformat(told["last_usage"]) < timedelta(hours=1, minutes=2)
    for wrong in ("2999-01-01", "yesterday"):
        assert remembering.run("usage", "record", "--memory", lint, "--at", wrong).code == 2


def test_naming_nothing_is_wrong_usage(machine: Machine) -> None:
    """Nothing was used then."""
    assert machine.run("usage", "record").code == 2


def test_opening_what_a_search_found_counts_and_listing_does_not(remembering: Machine) -> None:
    """The Nth is shown whole; one that is not there is said."""
    assert remembering.run("search", "lint", "--json").document[0]["usage_count"] == 0
    ran = remembering.run("search", "lint", "--open", "1", "--json")
    assert ran.document["memory_id"] == memory_id(remembering, "lint")
    remembering.run("memory", "show", ran.document["memory_id"])
    remembering.run("memory", "why", ran.document["memory_id"])
    assert remembering.run("search", "lint", "--json").document[0]["usage_count"] == 1
    assert remembering.run("search", "lint", "--open", "2").code == 2


def test_what_is_used_is_found_first(remembering: Machine) -> None:
    """Use outweighs what else is alike."""
    session(3, "Always run make check before you push to main.").write(remembering.codex)
    remembering.run("run")
    first, second = (one["memory_id"] for one in remembering.run("search", "main", "--json").document)
    for _ in range(30):
        remembering.run("usage", "record", "--memory", second)
        found = [one["memory_id"] for one in remembering.run("search", "main", "--json").document]
        if found[0] == second:
            break
    assert found == [second, first]
