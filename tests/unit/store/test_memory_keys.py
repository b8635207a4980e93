"""The stored keys of memories find the same as an index in memory, and follow every change."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from phase2_world import PROJECT, World, entry

from memory_pipeline.nearness import MADE_BY, StatementIndex, keys_of

WORDS = ("cart", "router", "deploy", "staging", "make", "lint", "npm", "pnpm", "uv", "pip", "3", "5", "always", "never")
STATEMENTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)


def count(world: World, table: str) -> int:
    """Count the rows of a table."""
    with closing(sqlite3.connect(world.config.database_path)) as connection:
        return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


@settings(max_examples=60, deadline=None)
@given(st.lists(STATEMENTS, min_size=1, max_size=12, unique=True), STATEMENTS, st.integers(0, 12))
def test_stored_keys_find_what_an_index_in_memory_finds(statements: list[str], asked: str, split: int) -> None:
    """Whether all, some or none of the statements are stored."""

    class Stored:
        def __init__(self, kept: list[str]) -> None:
            self.kept = {said: keys_of("user", said) for said in kept}

        def under(self, key: int, *, most: int) -> list[str]:
            return sorted(said for said, keys in self.kept.items() if key in keys)[:most]

        def among(self, key: int, names: object) -> list[str]:
            return [said for said in names if said in self.kept and key in self.kept[said]]  # type: ignore[attr-defined]

    whole, partly = StatementIndex(), StatementIndex(Stored(statements[:split]))
    for number, said in enumerate(statements):
        whole.put(said, "user", said)
        if number >= split:
            partly.put(said, "user", said)
    assert partly.near("user", asked) == whole.near("user", asked)
    assert partly.near("project:x", asked) == []


def test_the_keys_follow_what_is_worded_anew_moved_and_forgotten(tmp_path: Path) -> None:
    """A memory is found by what it says now, in its scope, and leaves no key behind."""
    world = World(tmp_path)
    world.says("thread-a", entry("run make lint before every commit"), entry("answer in German", scope="user"))
    world.run()
    assert world.store.memory_keys.unkept() == []
    index = StatementIndex(world.store.memory_keys)
    (lint,) = index.near(PROJECT, "run make lint before a commit")
    assert lint == world.of("run make lint before every commit").memory_id
    with closing(sqlite3.connect(world.config.database_path)) as connection:
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("UPDATE memories SET scope = 'project:moved' WHERE memory_id = ?", (lint,))
        connection.commit()
        assert world.store.memory_keys.unkept() == [lint]
        assert index.near(PROJECT, "run make lint before a commit") == []
        connection.execute("DELETE FROM memory_entries")
        connection.execute("DELETE FROM memories")
        connection.commit()
    assert count(world, "memory_keys") == 0
    assert count(world, "keys_stale") == 0
    world.close()


def test_no_key_is_left_of_a_word_that_is_masked(tmp_path: Path) -> None:
    """The keys are those of what stands there now, as soon as it stands there."""
    world = World(tmp_path)
    world.says("thread-a", entry("run make lint before every commit"))
    world.run()
    world.store.forgetting.mask(lambda text: text.replace("lint", "[masked]"), met="")
    with closing(sqlite3.connect(world.config.database_path)) as connection:
        kept = {key for (key,) in connection.execute("SELECT key FROM memory_keys")}
    assert kept == keys_of(PROJECT, "run make [masked] before every commit")
    world.close()


def test_the_keys_of_a_statement_are_the_same_in_every_process() -> None:
    """They are stored, so they may depend on nothing but the statement and its scope."""
    asked = "from memory_pipeline.nearness import keys_of; print(sorted(keys_of('user', 'Use uv 3 times, not pip.')))"
    told = {
        subprocess.run(
            [sys.executable, "-c", asked],
            check=True,
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }
    assert told == {f"{sorted(keys_of('user', 'Use uv 3 times, not pip.'))}\n"}


def test_the_version_of_the_keys_covers_all_code_that_makes_them() -> None:
    """Every module of ours that likeness loads, so that no change of them is forgotten."""
    asked = "import sys, memory_pipeline.likeness; print(*(m for m in sys.modules if m.startswith('memory_pipeline.')))"
    loaded = subprocess.run([sys.executable, "-c", asked], check=True, capture_output=True, text=True).stdout.split()
    assert {name.removeprefix("memory_pipeline.") for name in loaded} | {"nearness"} == set(MADE_BY)
