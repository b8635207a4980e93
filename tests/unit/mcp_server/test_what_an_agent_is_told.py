"""Whatever an agent asks, it is told of the user's scope and of its own project alone, and as data."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from phase2_world import World, entry

from memory_pipeline.app import App
from memory_pipeline.config import Config, McpConfig
from memory_pipeline.forget.selection import Selector
from memory_pipeline.mcp.answers import HANDBOOK_URI, Answers
from memory_pipeline.mcp.quoting import FRAME, answer_text
from memory_pipeline.mcp.stdio import StandardInput
from memory_pipeline.records import USER_SCOPE

MANY = 60


@pytest.fixture(scope="module")
def projects(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Many projects, each with a secret word of its own, that also share words with the others."""
    world = World(tmp_path_factory.mktemp("projects"))
    for number in range(MANY):
        folder = world.folder / f"p{number}"
        (folder / ".git").mkdir(parents=True)
        said = entry(f"Always deploy module{number} with make ship", scope=f"project:{folder}", byte=number)
        world.says(f"thread-{number}", said, cwd=str(folder), title=f"Work on module{number}")
    world.says("thread-user", entry("Always answer briefly when you deploy", scope=USER_SCOPE), cwd="/home/sam")
    world.run()
    yield world
    world.close()


def answers(world: World, number: int, **mcp: Any) -> Answers:
    """Start a server in the folder of one project."""
    config = Config(state_dir=world.config.state_dir, memories_dir=world.config.memories_dir, mcp=McpConfig(**mcp))
    return Answers(config, folder=str(world.folder / f"p{number}"), clock=world.clock)


QUERIES = st.one_of(
    st.sampled_from(["deploy", "make ship", "module", "always", "*", '"', "module1 OR module2"]),
    st.integers(0, MANY - 1).map(lambda number: f"module{number}"),
    st.text(max_size=40),
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(number=st.integers(0, MANY - 1), query=QUERIES, other=st.integers(0, MANY - 1), data=st.data())
def test_no_question_is_answered_with_another_project(
    projects: World, number: int, query: str, other: int, data: st.DataObject
) -> None:
    """By whatever words, scope, folder or id it is asked for."""
    server = answers(projects, number)
    folder = str(projects.folder / f"p{other}")
    memories = projects.store.memories.every()
    tool, asked = data.draw(
        st.sampled_from(
            [
                ("search_memories", {"query": query}),
                ("search_memories", {"query": query, "scope": "all"}),
                ("search_memories", {"query": query, "scope": f"project:{folder}"}),
                ("search_memories", {"query": query, "cwd": folder, "limit": 50}),
                ("memory_context", {"task": query}),
                ("memory_context", {"task": query, "cwd": folder, "budget_tokens": 20_000}),
                ("read_memory", {"memory_id": memories[other].memory_id}),
                ("read_memory", {"memory_id": "m_"}),
                ("read_memory", {"memory_id": query or "x", "cwd": folder}),
            ]
        )
    )
    text, _ = server.call(tool, asked)
    told = text.replace(query, "").replace(folder, "")
    strangers = [f"module{one} " for one in range(MANY) if one != number]
    assert not [word for word in strangers if word in told]


def test_an_index_that_lags_behind_is_brought_up_to_date(projects: World) -> None:
    """The server only looks at the database; what a search needs is done first."""
    with contextlib.closing(sqlite3.connect(projects.config.database_path, isolation_level=None)) as connection:
        for table in ("memory_search", "search_rows"):
            connection.execute(f"DELETE FROM {table}")
        connection.execute("INSERT INTO search_stale SELECT memory_id FROM memories")
    text, _ = answers(projects, 3).call("search_memories", {"query": "module3"})
    assert [one["matched"] for one in json.loads(text)["memories"]] == [["module3"]]


def test_what_a_restored_backup_brings_back_is_forgotten_before_anything_is_told(tmp_path: Path) -> None:
    """An older database may hold what was forgotten since."""
    world = World(tmp_path)
    world.says("thread-a", entry("Always whisper the word Zanzibar", scope=USER_SCOPE))
    world.run()
    older = tmp_path / "older.db"
    world.store.copy_to(older)
    with App(world.config, clock=world.clock) as app:
        app.forgetting().forget(Selector(match="Zanzibar"))
    world.close()
    for path in world.config.state_path.glob("memory.db*"):
        path.unlink()
    older.replace(world.config.database_path)
    server = Answers(world.config, folder=str(tmp_path), clock=world.clock)
    text, is_error = server.call("search_memories", {"query": "whisper"})
    assert (is_error, json.loads(text)["memories"]) == (False, [])


def test_the_handbook_is_that_of_the_project(projects: World) -> None:
    """With what holds everywhere, and without a line of the others."""
    text = answers(projects, 7).read_resource(HANDBOOK_URI)
    assert "module7 " in text
    assert "answer briefly" in text
    assert not [number for number in range(MANY) if number != 7 and f"module{number} " in text]
    assert f"module{MANY - 1} " in answers(projects, 7, every_project=True).read_resource(HANDBOOK_URI)


@settings(max_examples=100)
@given(st.text(), st.lists(st.text(), max_size=3))
def test_no_text_ends_the_string_that_it_stands_in(statement: str, others: list[str]) -> None:
    """An answer is JSON whatever stands in it, begins with the frame, and hides no character."""
    text = answer_text({"memories": [{"statement": statement}], "others": others})
    assert json.loads(text)["about"] == FRAME
    assert not [one for one in text if one in "\u200b\u202e\u2066\ufeff" or 0xE0000 <= ord(one) <= 0xE0FFF]


def test_secrets_are_masked_in_answers() -> None:
    """Also what older rules let into the database."""
    assert "FAKEfake" not in answer_text({"statement": "use sk-proj-" + "FAKEfake0123456789" * 2})


@pytest.mark.parametrize("tail", [b"", b"\n"])
def test_input_is_read_in_lines_whatever_arrives_at_once(tmp_path: Path, tail: bytes) -> None:
    """Halves of lines, several in one piece, a last one without an end."""
    path = tmp_path / "input"
    path.write_bytes(b'{"a":1}\n\n{"b":"' + b"x" * 600_000 + b'"}\n{"c":3}' + tail)
    with path.open("rb") as stream:
        lines = StandardInput(stream.fileno())
        lengths = [len(line) for line in iter(lines.next_line, None)]
    assert lengths == [7, 0, 600_008, 7]


@pytest.mark.parametrize("scope", [None, "here"])
def test_a_note_is_refused_where_the_making_of_memories_is_switched_off(tmp_path: Path, scope: str | None) -> None:
    """By a command, for the whole or for the project; elsewhere, and switched on again, it is taken."""
    world = World(tmp_path)
    (tmp_path / "p1" / ".git").mkdir(parents=True)
    (tmp_path / "p1" / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    world.run()
    target = None if scope is None else f"project:{tmp_path / 'p1'}"
    server = answers(world, 1, allow_notes=True)
    with App(world.config, clock=world.clock) as app:
        app.settings().set("settings.generate_memories", False, scope=target)
    text, is_error = server.call("note_memory", {"statement": "The tests need Redis."})
    assert (is_error, "generate_memories" in text) == (True, True)
    with App(world.config, clock=world.clock) as app:
        assert not app.store.drafts.every()
        app.settings().unset("settings.generate_memories", scope=target)
    text, is_error = server.call("note_memory", {"statement": "The tests need Redis."})
    assert (is_error, "Redis" in text) == (False, True)
    world.close()


@pytest.mark.parametrize("thread", ["a\nb", "\x1b[31m", "\u202e", "\u200b"])
def test_what_can_be_no_id_of_a_session_is_refused(projects: World, thread: str) -> None:
    """It would be written down, and shown."""
    text, is_error = answers(projects, 3).call("memory_context", {"thread": thread})
    assert (is_error, "printable" in text) == (True, True)


def test_a_folder_with_too_long_a_name_is_of_no_project(projects: World) -> None:
    """It is no fault of the state folder's."""
    text, is_error = answers(projects, 3).call("memory_context", {"cwd": "/" + "a" * 5000})
    assert not is_error
    assert [one["scope"] for one in json.loads(text)["memories"]] == [USER_SCOPE]
