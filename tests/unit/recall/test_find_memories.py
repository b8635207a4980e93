"""Which memories a person means by an id, a pasted line or some words."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from phase2_world import DAY, NOW, OTHER_PROJECT, memory

from memory_pipeline.phase2.render import render_handbook, told_of
from memory_pipeline.recall.find import find_memories
from memory_pipeline.records import EntryKind, Memory, MemoryStatus

PNPM = memory("From now on use pnpm in this repo, not npm", number=0xA1, at=NOW - DAY)
NPM = memory("Use npm in this repo", number=0xA2, at=NOW - 9 * DAY, status=MemoryStatus.SUPERSEDED)
LINT = memory("run make lint", number=0xB1, condition="before every commit")
TESTS = memory("`npm test` runs the tests; it passed", number=0xB2, kind=EntryKind.KNOWLEDGE)
RETIRED = memory("The cache lives in Redis", number=0xC1, kind=EntryKind.KNOWLEDGE, status=MemoryStatus.RETIRED)
CHINESE = memory("提交前都要跑 make check", number=0xD1)
ALL = [PNPM, NPM, LINT, TESTS, RETIRED, CHINESE]


@pytest.mark.parametrize(
    ("query", "meant"),
    [
        ("m_00000000000000a1", PNPM),
        ("m_00000000000000b1", LINT),
        (" M_00000000000000A2 ", NPM),
        (LINT.entry_ids[0], LINT),
        (LINT.entry_ids[0][:12], LINT),
        ('- the user asked: "From now on use pnpm in this repo, not npm" (2026-10-05) [Task 3]', PNPM),
        ("the user asked: “From now on use pnpm in this repo, not npm”", PNPM),
        ('- before every commit, the user asked: "run make lint" (2026-10-05) [Task 1] [Task 2]', LINT),
        ("- `npm test` runs the tests; it passed (2026-09-21) [Task 1]", TESTS),
        ("from now on USE PNPM", PNPM),
        ("From now on use pnpm in th…", PNPM),
        ("pnpm repo", PNPM),
        ("every commit", LINT),
        ("redis", RETIRED),
        ("use pnpm rather than npm in this repo", PNPM),
        ("提交前都要跑", CHINESE),
    ],
)
def test_the_memory_that_is_meant_comes_first(query: str, meant: Memory) -> None:
    """Ids, their beginnings, whole lines, parts of one and other words all lead there."""
    assert find_memories(query, ALL)[0] == meant


def test_the_beginning_of_an_id_names_all_that_have_it() -> None:
    """Active ones come first."""
    assert find_memories("m_00000000000000a", ALL) == [PNPM, NPM]


def test_a_memory_that_says_just_that_is_not_shown_with_others() -> None:
    """The very words name one memory, though others share some of them; the same words elsewhere count too."""
    assert find_memories("Use npm in this repo", ALL) == [NPM]
    elsewhere = memory("Use npm in this repo", number=0xE1, scope=OTHER_PROJECT)
    assert find_memories("Use npm in this repo", [*ALL, elsewhere]) == [elsewhere, NPM]


@pytest.mark.parametrize("query", ["", "   ", "…", '"', "- ", "m_ffff", "e_ffff", "nobody said that ever"])
def test_what_nothing_says_finds_nothing(query: str) -> None:
    """No query takes everything, and none is answered with what is only far from it."""
    assert find_memories(query, ALL) == []


def test_every_line_of_the_handbook_leads_to_its_memory() -> None:
    """Whatever the renderer puts around a statement, the line pasted as it stands finds the memory."""
    active = [item for item in ALL if item.status is MemoryStatus.ACTIVE]
    lines = [line for line in render_handbook(told_of(active), {}, max_bytes=10_000) if line.memory_id]
    assert {line.memory_id for line in lines} == {item.memory_id for item in active}
    for line in lines:
        assert [item.memory_id for item in find_memories(line.text, ALL)] == [line.memory_id]


@given(st.text(max_size=60))
@settings(max_examples=100, deadline=None)
def test_no_query_raises_and_none_finds_a_memory_twice(query: str) -> None:
    """Whatever is pasted gives a list, with each memory at most once."""
    found = [item.memory_id for item in find_memories(query, ALL)]
    assert len(found) == len(set(found))
