"""Full-text search: identifiers by their parts, Chinese by its words, paths and flags as typed; any text is a query."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from phase2_world import OTHER_PROJECT, PROJECT, World, entry, learned
from remembered import remember, row
from sqlite_utils import Database

from memory_pipeline.forget.erasure import erasure_of
from memory_pipeline.records import JournalAction
from memory_pipeline.store.migrations import schema_steps
from memory_pipeline.store.store import Store
from memory_pipeline.tombstones import Tombstone, TombstoneKind, Tombstones

SAID = [
    "Run make lint before every commit",
    "The login lives in src/app/getUserName.ts",
    "Never push with --no-verify",
    "The cache key is foo.bar",
    "提交代码之前先跑测试",
    "部署到测试环境用 deploy.sh",
    "C++ files are formatted with clang-format",
    "Deployments go out on Mondays",
]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A world that remembers these statements."""
    made = World(tmp_path)
    made.says("thread-a", *[entry(text, byte=number) for number, text in enumerate(SAID)])
    made.run()
    yield made
    made.close()


def found(world: World, query: str, **wanted: object) -> list[str]:
    """What a query finds, best first."""
    hits = world.store.search.find(query, limit=10, **wanted)  # type: ignore[arg-type]
    known = {memory.memory_id: memory.statement for memory in world.store.memories.every()}
    return [known[hit.memory_id] for hit in hits]


@pytest.mark.parametrize(
    ("query", "best"),
    [
        ("lint", 0),
        ("commits", 0),
        ("getUserName", 1),
        ("user name", 1),
        ("src/app/getUserName.ts", 1),
        ("getusername.ts", 1),
        ("--no-verify", 2),
        ("no-verify", 2),
        ("foo.bar", 3),
        ("bar", 3),
        ("测试环境", 5),
        ("部署", 5),
        ("提交代码", 4),
        ("C++", 6),
        ("deployment monday", 7),
        ("how do I deploy on a monday?", 7),
    ],
)
def test_a_query_finds_the_memory_that_holds_its_words(world: World, query: str, best: int) -> None:
    """As they were typed, in another form, or in parts."""
    assert found(world, query)[0] == SAID[best]


@pytest.mark.parametrize(
    "query", ['"', "AND", "NOT x", "a OR", "(", "*", "NEAR(a b)", "said:x", "'; DROP TABLE memories", "", " ", "?!"]
)
def test_no_query_is_an_error(world: World, query: str) -> None:
    """Whatever FTS5 would read into it."""
    assert isinstance(found(world, query), list)


@given(query=st.text(max_size=40))
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_is_a_query(world: World, query: str) -> None:
    """And finds only what is remembered."""
    assert set(found(world, query)) <= set(SAID)


@given(statement=st.sampled_from(SAID), start=st.integers(0, 5))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_said_is_found_by_its_own_words(world: World, statement: str, start: int) -> None:
    """From whichever word on."""
    words = statement.split(" ")
    query = " ".join(words[min(start, len(words) - 1) :])
    assert statement in found(world, query)


def test_scope_kind_and_status_narrow_a_search(world: World) -> None:
    """Never another project's, where a scope is given."""
    world.says(
        "thread-b", learned("The lint takes a minute", thread="thread-b", scope=OTHER_PROJECT), cwd="/home/sam/blog"
    )
    world.run()
    assert len(found(world, "lint")) == 2
    assert found(world, "lint", scopes=[PROJECT]) == [SAID[0]]
    assert found(world, "lint", kinds=["knowledge"]) == ["The lint takes a minute"]
    world.does(JournalAction.RETIRE, world.of(SAID[0]))
    assert found(world, "lint", scopes=[PROJECT]) == []
    assert found(world, "lint", scopes=[PROJECT], statuses=["active", "retired"]) == [SAID[0]]


def test_what_it_rests_on_is_searched_too_and_counts_less(world: World) -> None:
    """The words of the evidence lead to the memory."""
    quoted = entry("Ask before deleting", thread="thread-b")
    line = quoted.evidence[0]
    quoted = replace(quoted, evidence=(replace(line, quote="you wiped my notebook, lint or not"),))
    world.says("thread-b", quoted)
    world.run()
    assert found(world, "notebook") == ["Ask before deleting"]
    assert found(world, "lint") == [SAID[0], "Ask before deleting"]


def test_a_change_is_found_at_once_and_what_it_replaced_is_not(world: World) -> None:
    """The index follows every operation."""
    memory = world.of(SAID[0])
    world.does(JournalAction.EDIT, memory, statement="Run make check before every commit", was=memory.statement)
    assert found(world, "check") == ["Run make check before every commit"]


@pytest.mark.parametrize(
    ("query", "best"),
    [
        ("测试", 4),
        ("ship on monday", 7),
        ("check in", 0),
        ("上线到测试环境", 5),
        ("the bundle", None),
        ("verification", None),
    ],
)
def test_words_that_mean_the_same_find_each_other_and_parts_of_identifiers_do_not(
    world: World, query: str, best: int | None
) -> None:
    """In English and Chinese; a flag such as --no-verify is about itself alone."""
    assert found(world, query)[:1] == ([] if best is None else [SAID[best]])


def test_the_words_themselves_come_before_what_means_the_same(world: World) -> None:
    """A memory that says deploy is found before one that says release."""
    world.says("thread-c", entry("Every release is tagged", thread="thread-c"))
    world.run()
    assert found(world, "release")[0] == "Every release is tagged"
    assert SAID[7] in found(world, "release")[1:]


def test_words_that_hold_a_sentence_together_find_nothing_beside_others(world: World) -> None:
    """Alone they are searched as they stand, so that any text is a query."""
    assert found(world, "what is in the notebook") == []
    assert SAID[1] in found(world, "the")


def test_forgetting_leaves_no_term_in_the_index(world: World) -> None:
    """Neither findable, nor in a table of the index."""
    stones = Tombstones.of([Tombstone(kind=TombstoneKind.WORDS, value="clang-format")], now=world.clock.now())
    assert found(world, "clang") == [SAID[6]]
    world.store.forgetting.erase(erasure_of(world.store.forgetting.kept(), stones), now=world.clock.now())
    world.store.forgetting.compact()
    assert found(world, "clang") == []
    files = [world.config.database_path, *world.config.state_path.glob("memory.db-wal")]
    assert not any(b"clang" in path.read_bytes() for path in files)


def test_an_index_from_before_there_were_concepts_is_made_anew(tmp_path: Path) -> None:
    """What is remembered there is found, also by what means the same."""
    path = tmp_path / "memory.db"
    older = sqlite3.connect(path, isolation_level=None)
    schema_steps().apply(Database(older), stop_before="concepts_of_search")
    older.execute("PRAGMA user_version = 8")
    remember(path, [row("m_1", "Pin every dependency")])
    older.execute("DELETE FROM search_stale")
    older.close()
    store = Store(path)
    assert [hit.memory_id for hit in store.search.find("which packages?", limit=5)] == ["m_1"]
    store.close()
