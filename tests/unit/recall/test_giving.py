"""A thread is given context once, and again only once what it was given is out of its sight; nothing holds that up."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from remembered import NOW, remember, row

from memory_pipeline.errors import StoreError
from memory_pipeline.recall.context import Asked, Context, Occasion, give_context
from memory_pipeline.store.glance import Glance
from memory_pipeline.store.store import Store

SHOP = "project:example.org/sam/shop"


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A database that remembers two things, and that nobody has open."""
    store = Store(tmp_path / "state" / "memory.db")
    remember(store.path, [row("m_1", "use pnpm"), row("m_2", "use tabs")])
    store.search.refresh()
    store.close()
    return store.path


@pytest.fixture
def glance(database: Path) -> Iterator[Glance]:
    """A glance at it."""
    opened = Glance(database)
    yield opened
    opened.close()


def give(glance: Glance, thread_id: str | None = "t1", **options: Any) -> Context | None:
    """Ask for a thread in a folder that belongs to no project."""
    asked = {"cwd": "/nowhere/at/all", "thread_id": thread_id}
    names = {"occasion", "task", "budget_tokens", "output_format"} & options.keys()
    asked |= {name: options.pop(name) for name in names}
    known: dict[str, Any] = {
        "may_use": lambda _scope: True,
        "now": NOW,
        "command": str,
        "on_unrecorded": _must_be_recorded,
    }
    return give_context(glance, Asked(**asked), **(known | options))


def _must_be_recorded(error: StoreError) -> None:
    raise error


def test_a_thread_is_given_something_once(glance: Glance) -> None:
    """Asked again it gives nothing; another thread is given its own."""
    assert give(glance) is not None
    assert give(glance) is None
    assert give(glance, "t2") is not None


def test_whoever_names_no_thread_is_answered_each_time(glance: Glance) -> None:
    """It keeps count itself; each answer is recorded."""
    assert give(glance, None) is not None
    assert give(glance, None) is not None
    assert [given.thread_id for given in glance.injections.newest(limit=9)] == [None, None]


@pytest.mark.parametrize("source", ["compact", "clear"])
def test_what_is_out_of_sight_is_given_again(glance: Glance, source: str) -> None:
    """After a compaction the session has lost it, and goes on under the same id."""
    give(glance)
    assert give(glance, occasion=Occasion.of(source)) is not None
    assert give(glance, occasion=Occasion.of(source)) is not None
    assert [given.again for given in glance.injections.newest(thread_id="t1", limit=9)] == [2, 1, 0]


@pytest.mark.parametrize("source", ["resume", "fork"])
@pytest.mark.parametrize("thread_id", ["t1", "t2"], ids=["given before", "under a new id"])
def test_a_session_that_goes_on_is_given_nothing(glance: Glance, source: str, thread_id: str) -> None:
    """What it was given stands in its talk, which goes on; and it is not its first turn."""
    give(glance)
    assert give(glance, thread_id, occasion=Occasion.of(source)) is None


@pytest.mark.parametrize("source", ["", "startup", "something new"])
def test_any_other_beginning_is_a_new_session(source: str) -> None:
    """Also one that a later version of the agent names."""
    assert Occasion.of(source) is Occasion.NEW


def test_the_switch_gives_nothing_and_records_nothing(glance: Glance) -> None:
    """So that the session is given something once it is switched on."""
    assert give(glance, may_use=lambda _scope: False) is None
    assert give(glance) is not None


def test_what_comes_too_late_is_not_recorded(glance: Glance) -> None:
    """Whoever waited has gone, so it was not given."""
    assert give(glance, is_too_late=lambda: True) is None
    assert give(glance) is not None


def test_of_two_that_ask_at_once_one_is_answered(database: Path) -> None:
    """Both have looked before either has written."""
    both_looked = threading.Barrier(2)

    def wait_for_the_other() -> bool:
        both_looked.wait(timeout=30)
        return False

    answers: list[Context | None] = []

    def ask() -> None:
        glance = Glance(database)
        answers.append(give(glance, is_too_late=wait_for_the_other))
        glance.close()

    askers = [threading.Thread(target=ask) for _ in range(2)]
    for asker in askers:
        asker.start()
    for asker in askers:
        asker.join()
    assert sorted(answer is None for answer in answers) == [False, True]


def test_the_record_tells_what_where_and_how_much(glance: Glance) -> None:
    """Ids and figures; and a secret in the name of the folder is masked."""
    secret = "ghp_" + "Fake" * 9
    found = give(glance, output_format="claude-hook", task="pnpm")
    assert found is not None
    asked = Asked(cwd=f"/home/sam/{secret}", thread_id="t2")
    give_context(glance, asked, may_use=lambda _scope: True, now=NOW, command=str, on_unrecorded=_must_be_recorded)
    newest, first = glance.injections.newest(limit=9)
    assert first.memory_ids == tuple(told.memory_id for told in found.told)
    assert (first.thread_id, first.cwd, first.scope) == ("t1", "/nowhere/at/all", None)
    assert (first.format, first.tokens, first.at) == ("claude-hook", found.tokens, NOW)
    assert secret not in str(newest.cwd)


def make_unwritable(database: Path) -> Callable[[], None]:
    """Put a folder where the lock of all users lies: no record can be made."""
    (database.parent / "database.lock").unlink()
    (database.parent / "database.lock").mkdir()
    return lambda: None


def hold_the_write_lock(database: Path) -> Callable[[], None]:
    """Let another program write, and not come to an end."""
    other = sqlite3.connect(database, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    return other.close


@pytest.mark.parametrize("hinder", [make_unwritable, hold_the_write_lock])
def test_what_can_not_be_recorded_is_given_all_the_same(
    database: Path, hinder: Callable[[Path], Callable[[], None]]
) -> None:
    """And it is told that it was not recorded."""
    let_go = hinder(database)
    told: list[StoreError] = []
    glance = Glance(database)
    try:
        assert give(glance, on_unrecorded=told.append) is not None
    finally:
        glance.close()
        let_go()
    assert len(told) == 1


def test_giving_counts_as_no_use(database: Path, glance: Glance) -> None:
    """A memory is used when it is cited or opened, not when it is put before somebody."""
    give(glance)
    with closing(sqlite3.connect(database)) as connection:
        assert connection.execute("SELECT count(*) FROM usage").fetchone() == (0,)
