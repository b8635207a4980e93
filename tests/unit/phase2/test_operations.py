"""Operations on the memories: what is applied, and what is refused with its reason."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace
from phase2_world import DAY, NOW, OTHER_PROJECT, entry, learned, memory

from memory_pipeline.entries import said, said_at
from memory_pipeline.phase2.operations import MemoryBook, memory_id_of
from memory_pipeline.records import Actor, Entry, EntryKind, Memory, MemoryStatus, Operation, OperationKind, Speaker

USE_UV = entry("use uv", at=NOW - 9 * DAY)
USE_UV_AGAIN = entry("always use uv", at=NOW - 2 * DAY, thread="thread-b")
ELSEWHERE = entry("use uv", scope=OTHER_PROJECT)
UV = replace(memory("use uv", number=1, at=NOW - 9 * DAY), entry_ids=(USE_UV.entry_id,))
PIP = memory("use pip", number=2, at=NOW - 3 * DAY)
TOOL_SAYS = memory("the tests use pip", number=3, kind=EntryKind.KNOWLEDGE, speaker=Speaker.TOOL)
BLOG = memory("use pip", number=4, scope=OTHER_PROJECT)
GONE = memory("use conda", number=5, status=MemoryStatus.RETIRED, reason="unused")


def book(*more: Entry) -> MemoryBook:
    """Make a book with a few memories and entries."""
    pip = entry("use pip", at=NOW - 3 * DAY)
    tool = learned("the tests use pip")
    known = {item.entry_id: item for item in (USE_UV, USE_UV_AGAIN, ELSEWHERE, pip, tool, *more)}
    memories = [
        UV,
        replace(PIP, entry_ids=(pip.entry_id,)),
        replace(TOOL_SAYS, entry_ids=(tool.entry_id,)),
        BLOG,
        GONE,
    ]
    return MemoryBook({one.memory_id: one for one in memories}, known, now=NOW)


def operation(kind: OperationKind, about: Memory | str, **fields: Any) -> Operation:
    """Make an operation on a memory."""
    memory_id = about if isinstance(about, str) else about.memory_id
    return Operation(kind=kind, memory_id=memory_id, reason="a test", **fields)


def test_add_makes_an_active_memory_that_rests_on_its_entry() -> None:
    """A new memory takes words, place and time from the entry, and is placed on it."""
    new = entry("commit small", at=NOW - 5 * DAY, condition="on main")
    shelf = book(new)
    assert shelf.apply(operation(OperationKind.ADD, "m_new", entry_id=new.entry_id)) is None
    made = shelf.memories["m_new"]
    assert (made.statement, made.condition, made.status) == ("commit small", "on main", MemoryStatus.ACTIVE)
    assert (made.first_seen, made.last_confirmed, made.learned_at) == (NOW - 5 * DAY, NOW - 5 * DAY, NOW)
    assert shelf.placements == [("m_new", new.entry_id)]
    assert shelf.changed == [made]


def test_merge_joins_an_entry_and_keeps_the_wording() -> None:
    """The memory says what it said, and rests on both threads, first and last seen included."""
    shelf = book()
    assert shelf.apply(operation(OperationKind.MERGE, UV, entry_id=USE_UV_AGAIN.entry_id)) is None
    merged = shelf.memories[UV.memory_id]
    assert merged.statement == "use uv"
    assert merged.entry_ids == (USE_UV.entry_id, USE_UV_AGAIN.entry_id)
    assert merged.thread_ids == ("thread-a", "thread-b")
    assert (merged.first_seen, merged.last_confirmed) == (NOW - 9 * DAY, NOW - 2 * DAY)


def test_reword_keeps_the_memory_and_changes_its_words() -> None:
    """Id and first sight stay; statement and condition are the entry's."""
    new = entry("use uv for packages", condition="in CI")
    shelf = book(new)
    assert shelf.apply(operation(OperationKind.REWORD, UV, entry_id=new.entry_id)) is None
    reworded = shelf.memories[UV.memory_id]
    assert (reworded.statement, reworded.condition) == ("use uv for packages", "in CI")
    assert reworded.first_seen == NOW - 9 * DAY


def test_supersede_links_and_restore_undoes_it() -> None:
    """The link is kept while it holds, and restoring takes link and reason away."""
    shelf = book()
    assert shelf.apply(operation(OperationKind.SUPERSEDE, UV, other_memory_id=PIP.memory_id)) is None
    superseded = shelf.memories[UV.memory_id]
    assert (superseded.status, superseded.superseded_by) == (MemoryStatus.SUPERSEDED, PIP.memory_id)
    assert superseded.reason == "a test"
    assert shelf.apply(operation(OperationKind.RESTORE, UV)) is None
    restored = shelf.memories[UV.memory_id]
    assert (restored.status, restored.superseded_by, restored.reason) == (MemoryStatus.ACTIVE, None, "")


REFUSED = [
    (operation(OperationKind.ADD, UV, entry_id=USE_UV.entry_id), "there is a memory of this id already"),
    (operation(OperationKind.ADD, "m_new"), "rests on no entry"),
    (operation(OperationKind.ADD, "m_new", entry_id="e_unknown"), "rests on an entry that does not exist"),
    (operation(OperationKind.MERGE, "m_unknown", entry_id=USE_UV.entry_id), "there is no such memory"),
    (operation(OperationKind.MERGE, UV), "rests on no entry"),
    (operation(OperationKind.MERGE, UV, entry_id="e_unknown"), "rests on an entry that does not exist"),
    (operation(OperationKind.MERGE, UV, entry_id=USE_UV.entry_id), "rests on that entry already"),
    (operation(OperationKind.MERGE, UV, entry_id=ELSEWHERE.entry_id), "mixes scopes"),
    (operation(OperationKind.REWORD, UV), "rests on no entry"),
    (operation(OperationKind.REWORD, UV, entry_id=ELSEWHERE.entry_id), "mixes scopes"),
    (operation(OperationKind.SUPERSEDE, UV), "names no other memory"),
    (operation(OperationKind.SUPERSEDE, UV, other_memory_id="m_unknown"), "names no other memory"),
    (operation(OperationKind.SUPERSEDE, UV, other_memory_id=UV.memory_id), "names no other memory"),
    (operation(OperationKind.SUPERSEDE, UV, other_memory_id=BLOG.memory_id), "mixes scopes"),
    (operation(OperationKind.SUPERSEDE, UV, other_memory_id=TOOL_SAYS.memory_id), "what a person stated"),
    (operation(OperationKind.RETIRE, "m_unknown"), "there is no such memory"),
    (operation(OperationKind.RETIRE, GONE), "is retired already"),
    (operation(OperationKind.RESTORE, UV), "is told already"),
]


@pytest.mark.parametrize(("proposed", "reason"), REFUSED, ids=lambda value: getattr(value, "kind", None))
def test_what_breaks_a_rule_is_refused_with_its_reason(proposed: Operation, reason: str) -> None:
    """A refused operation says why and leaves everything as it was."""
    shelf = book()
    before = dict(shelf.memories)
    refusal = shelf.apply(proposed)
    assert refusal is not None
    assert refusal.startswith(reason)
    assert shelf.memories == before
    assert (shelf.operations, shelf.changed, shelf.placements) == ([], [], [])


@pytest.mark.parametrize("kind", [OperationKind.ADD, OperationKind.REWORD])
@pytest.mark.parametrize(
    ("statement", "condition", "reason"),
    [
        ("# a heading", "", "heading"),
        ("- a list item", "", "list_item"),
        ("an <b>tag</b>", "", "tag"),
        ("two\nlines", "", "line_break"),
        ("ok", "two\nlines", "condition: line_break"),
        ("ok", "## heading", "condition: heading"),
    ],
)
def test_words_that_would_change_a_file_are_refused(
    kind: OperationKind, statement: str, condition: str, reason: str
) -> None:
    """Neither a new memory nor new words for an old one may carry structure of their own."""
    new = entry(statement, condition=condition)
    shelf = book(new)
    about = UV if kind is OperationKind.REWORD else "m_new"
    assert shelf.apply(operation(kind, about, entry_id=new.entry_id)) == reason


def test_a_person_may_supersede_what_a_tool_said() -> None:
    """The rule protects the person's word only."""
    shelf = book()
    assert shelf.apply(operation(OperationKind.SUPERSEDE, TOOL_SAYS, other_memory_id=UV.memory_id)) is None


def test_a_fact_that_the_person_told_is_their_word() -> None:
    """Knowledge that rests on nothing but the person's lines is protected like a preference."""
    told = learned("the port is 5433", speaker=Speaker.USER)
    seen = learned("the port is 5432")
    shelf = MemoryBook({}, {item.entry_id: item for item in (told, seen)}, now=NOW)
    for item in (told, seen):
        assert shelf.apply(operation(OperationKind.ADD, memory_id_of(item), entry_id=item.entry_id)) is None
    refusal = shelf.apply(operation(OperationKind.SUPERSEDE, memory_id_of(told), other_memory_id=memory_id_of(seen)))
    assert refusal is not None


def test_an_entry_is_as_old_as_the_persons_newest_line() -> None:
    """The person's lines count before a tool's; without any time it is the oldest of all."""
    by_user, by_tool = (
        entry("use uv", at=100.0).evidence[0],
        entry("use uv", at=900.0, speaker=Speaker.TOOL).evidence[0],
    )
    both = replace(USE_UV, evidence=(by_tool, by_user))
    assert said_at(both) == 100.0
    assert said_at(replace(both, evidence=(by_tool,))) == 900.0
    assert said_at(entry("use uv", at=None)) == 0.0


def test_without_times_the_later_line_of_a_log_is_the_newer_word() -> None:
    """Logs of old versions have no times, but their lines have an order."""
    first, second = entry("use uv", at=None, byte=100), entry("use pip", at=None, byte=2000)
    assert said(second) > said(first)


def test_the_same_entry_founds_the_same_memory() -> None:
    """Ids follow from what is remembered, so a second machine or run names it alike."""
    assert memory_id_of(USE_UV) == memory_id_of(replace(USE_UV))
    assert memory_id_of(USE_UV) != memory_id_of(USE_UV_AGAIN)


def pinned_book(**fields: Any) -> MemoryBook:
    """Make a book in which one memory is the person's own, and others are not."""
    pip = entry("use pip", at=NOW - 3 * DAY)
    tool = learned("the tests use pip")
    newer = entry("never mind pip", at=NOW - DAY, thread="thread-c")
    memories = [
        replace(UV, pinned=True),
        replace(PIP, entry_ids=(pip.entry_id,)),
        replace(TOOL_SAYS, entry_ids=(tool.entry_id,)),
    ]
    entries = {item.entry_id: item for item in (USE_UV, USE_UV_AGAIN, pip, tool, newer)}
    return MemoryBook({one.memory_id: one for one in memories}, entries, now=NOW, **fields)


NEWER = entry("never mind pip", at=NOW - DAY, thread="thread-c")
BY_MODEL = {"actor": Actor.MODEL}
REFUSED_TO_A_CURATOR = [
    (operation(OperationKind.RETIRE, UV, entry_id=NEWER.entry_id, **BY_MODEL), "the person pinned it"),
    (operation(OperationKind.RETIRE, PIP, **BY_MODEL), "what a person stated is retired only on a person's word"),
    (
        operation(OperationKind.RETIRE, PIP, entry_id=learned("the tests use pip").entry_id, **BY_MODEL),
        "what a person stated is retired only on a person's word",
    ),
    (operation(OperationKind.PIN, PIP, **BY_MODEL), "only a person pins"),
    (operation(OperationKind.UNPIN, UV, **BY_MODEL), "only a person pins"),
    (
        operation(
            OperationKind.REWORD,
            PIP,
            entry_id=entry("use pip", at=NOW - 3 * DAY).entry_id,
            statement="use pip 24",
            **BY_MODEL,
        ),
        "brings in 24",
    ),
    (
        operation(
            OperationKind.REWORD,
            PIP,
            entry_id=entry("use pip", at=NOW - 3 * DAY).entry_id,
            statement="use pip",
            condition="in src/app.py",
            **BY_MODEL,
        ),
        "brings in src/app.py",
    ),
]


@pytest.mark.parametrize(("proposed", "reason"), REFUSED_TO_A_CURATOR, ids=lambda value: getattr(value, "kind", None))
def test_a_curator_may_not_do_what_only_the_person_may(proposed: Operation, reason: str) -> None:
    """A person's word, their pins and words that nobody said are out of reach of rules and models."""
    refusal = pinned_book().apply(proposed)
    assert refusal is not None
    assert refusal.startswith(reason)


def test_the_person_may_do_all_of_it() -> None:
    """What is refused to a curator takes effect by the person's hand."""
    for proposed, _ in REFUSED_TO_A_CURATOR:
        by_person = replace(proposed, actor=Actor.PERSON)
        assert pinned_book().apply(by_person) is None or by_person.kind in (OperationKind.PIN, OperationKind.UNPIN)
    assert pinned_book().apply(operation(OperationKind.PIN, PIP, actor=Actor.PERSON)) is None


def test_a_curator_may_word_a_memory_in_words_of_its_entries() -> None:
    """Another order and other small words pass; nothing that counts is new or lost."""
    pip = entry("use pip", at=NOW - 3 * DAY)
    proposed = operation(
        OperationKind.REWORD, PIP, entry_id=pip.entry_id, statement="Please use pip in this project", **BY_MODEL
    )
    shelf = pinned_book()
    assert shelf.apply(proposed) is None
    assert shelf.memories[PIP.memory_id].statement == "Please use pip in this project"
    assert shelf.placements == []


def test_a_persons_own_wording_is_never_replaced_by_a_curator() -> None:
    """A newer reading joins it, but the words stay the person's."""
    mine = replace(UV, by_hand=True)
    shelf = MemoryBook({mine.memory_id: mine}, {USE_UV.entry_id: USE_UV, USE_UV_AGAIN.entry_id: USE_UV_AGAIN}, now=NOW)
    proposed = operation(OperationKind.REWORD, UV, entry_id=USE_UV_AGAIN.entry_id, **BY_MODEL)
    assert shelf.apply(proposed) == "would drop the person's own words"
    assert shelf.apply(operation(OperationKind.MERGE, UV, entry_id=USE_UV_AGAIN.entry_id, **BY_MODEL)) is None


def test_a_statement_that_holds_a_secret_is_refused() -> None:
    """It would be told to every agent."""
    token = "ghp_" + "a1B2" * 9
    leaky = entry(f"deploy with {token}")
    shelf = book(leaky)
    assert shelf.apply(operation(OperationKind.ADD, "m_new", entry_id=leaky.entry_id)) == "holds a secret"


def test_more_operations_than_the_budget_are_refused() -> None:
    """What is left waits for the next consolidation."""
    shelf = pinned_book(most_operations=1)
    assert shelf.apply(operation(OperationKind.MERGE, UV, entry_id=USE_UV_AGAIN.entry_id)) is None
    refusal = shelf.apply(operation(OperationKind.RETIRE, TOOL_SAYS))
    assert refusal is not None
    assert refusal.startswith("passes the number")


def test_superseding_in_a_circle_is_refused() -> None:
    """Two memories can't each take the other's place."""
    shelf = book()
    assert shelf.apply(operation(OperationKind.SUPERSEDE, UV, other_memory_id=PIP.memory_id)) is None
    refusal = shelf.apply(operation(OperationKind.SUPERSEDE, PIP, other_memory_id=UV.memory_id))
    assert refusal == "would supersede in a circle"
