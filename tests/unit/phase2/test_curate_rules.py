"""The curator of rules: what merges, what supersedes, what waits, what fades, and what comes back."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from phase2_world import DAY, NOW, OTHER_PROJECT, PROJECT, Shelf, entry, learned

from memory_pipeline.records import Entry, EntryKind, MemoryStatus, OperationKind, Speaker, Usage

RETIRED, SUPERSEDED = MemoryStatus.RETIRED, MemoryStatus.SUPERSEDED

NPM, PNPM, YARN = "use npm", "use pnpm", "use yarn"


def said(day: int, statement: str, **fields: object) -> Entry:
    """Make an entry that was said on a day, each in a thread of its own."""
    return entry(statement, at=NOW - 100 * DAY + day * DAY, thread=f"thread-{day:02}", **fields)


# --- merging ---------------------------------------------------------------------------------------------------------


def test_near_duplicates_of_many_threads_become_one_memory() -> None:
    """One memory rests on all the entries that say the same, and knows when it was first and last said."""
    shelf = Shelf()
    entries = [said(1, "always run make lint before committing"), said(5, "run make lint before every commit")]
    shelf.read(*entries)
    (only,) = shelf.memories.values()
    assert only.statement == entries[0].statement
    assert only.entry_ids == tuple(item.entry_id for item in entries)
    assert only.thread_ids == ("thread-01", "thread-05")
    assert only.last_confirmed - only.first_seen == 4 * DAY


def test_two_hundred_alike_sessions_make_one_memory() -> None:
    """However often something is said, it is told once."""
    shelf = Shelf()
    shelf.read(*(said(day, "always use uv") for day in range(200)))
    assert len(shelf.memories) == 1
    assert len(shelf.of("always use uv").entry_ids) == 200


def test_a_preference_and_a_decision_that_say_the_same_are_one() -> None:
    """Kinds that both rest on the person's word may be one memory."""
    shelf = Shelf()
    shelf.read(said(1, "use uv"), said(2, "use uv", kind=EntryKind.DECISION))
    assert len(shelf.memories) == 1


def test_what_a_tool_showed_does_not_join_what_the_person_stated() -> None:
    """A fact and a rule in the same words stay two memories."""
    shelf = Shelf()
    shelf.read(said(1, "use uv"), learned("use uv"))
    assert len(shelf.memories) == 2


def test_the_same_rule_in_another_place_stays_apart() -> None:
    """Scope and condition belong to a statement: neither is lost by merging."""
    shelf = Shelf()
    shelf.read(
        said(1, "run make lint"),
        said(2, "run make lint", condition="before every commit"),
        said(3, "run make lint", scope=OTHER_PROJECT),
        said(4, "run make lint", scope="user"),
    )
    assert len(shelf.memories) == 4
    assert all(item.status is MemoryStatus.ACTIVE for item in shelf.memories.values())


# --- contradiction ---------------------------------------------------------------------------------------------------


def test_the_newer_word_supersedes_the_older_in_whatever_words() -> None:
    """Two directives that settle one slot share no word; of another slot, or under a condition, both stand."""
    shelf = Shelf()
    shelf.read(
        said(1, "Answer in German."),
        said(2, "Write the docs in English."),
        said(3, "Reply in English.", condition="in code reviews"),
        said(4, "以后用英文回答"),
    )
    assert shelf.told() == {"Write the docs in English.", "Reply in English.", "以后用英文回答"}
    assert shelf.of("Answer in German.").superseded_by == shelf.of("以后用英文回答").memory_id


def test_the_newer_word_supersedes_and_links() -> None:
    """The older statement stays, superseded, with a link and a reason that names the day."""
    shelf = Shelf()
    shelf.read(said(1, NPM), said(2, PNPM))
    assert shelf.told() == {PNPM}
    old = shelf.of(NPM)
    assert (old.status, old.superseded_by) == (SUPERSEDED, shelf.of(PNPM).memory_id)
    assert old.reason.startswith("the person said otherwise on 20")


def test_an_older_word_that_is_read_later_does_not_win() -> None:
    """What counts is when it was said, not when its log was read."""
    shelf = Shelf()
    shelf.read(said(2, PNPM))
    shelf.read(said(1, NPM))
    assert shelf.told() == {PNPM}
    assert shelf.told(SUPERSEDED) == {NPM}


def test_saying_the_old_thing_again_swaps_back() -> None:
    """The memory that was superseded is told again, with its old id, and the other one gives way."""
    shelf = Shelf()
    shelf.read(said(1, NPM), said(2, PNPM))
    first = shelf.of(NPM).memory_id
    done = shelf.read(said(3, NPM))
    assert shelf.told() == {NPM}
    assert shelf.of(NPM).memory_id == first
    assert shelf.of(PNPM).superseded_by == first
    assert [item.kind for item in done] == [OperationKind.MERGE, OperationKind.RESTORE, OperationKind.SUPERSEDE]


def test_swapping_back_passes_over_everything_said_between() -> None:
    """Of npm, pnpm, yarn and npm again, npm alone is told."""
    shelf = Shelf()
    shelf.read(said(1, NPM), said(2, PNPM), said(3, YARN), said(4, NPM))
    assert shelf.told() == {NPM}


def test_an_old_confirmation_does_not_swap_back() -> None:
    """A superseded statement found once more in an old log stays superseded."""
    shelf = Shelf()
    shelf.read(said(1, NPM), said(5, PNPM))
    shelf.read(said(3, NPM))
    assert shelf.told() == {PNPM}
    assert shelf.of(NPM).entry_ids == (said(1, NPM).entry_id, said(3, NPM).entry_id)


def test_in_a_log_without_times_the_later_line_wins() -> None:
    """The oldest logs date nothing, but what stands further down was said later."""
    for first, second in itertools.permutations((NPM, PNPM, YARN, "use bun"), 2):
        shelf = Shelf()
        shelf.read(entry(second, at=None, byte=5000), entry(first, at=None, byte=100))
        assert shelf.told() == {second}


def test_opposite_rules_in_two_projects_both_hold() -> None:
    """Each applies in its own project only."""
    shelf = Shelf()
    shelf.read(said(1, "use tabs"), said(2, "use spaces", scope=OTHER_PROJECT))
    assert shelf.told() == {"use tabs", "use spaces"}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("", "in CI"),
        ("in Makefiles", "in Python files"),
        (
            "when deploying the api service to production on Fridays",
            "when deploying the api service to staging on Fridays",
        ),
    ],
)
def test_opposite_rules_under_two_conditions_both_hold(one: str, other: str) -> None:
    """A condition belongs to the rule, even when two conditions read much alike."""
    shelf = Shelf()
    shelf.read(said(1, "use tabs", condition=one), said(2, "use spaces", condition=other))
    assert shelf.told() == {"use tabs", "use spaces"}


def test_opposite_rules_under_the_same_condition_in_other_words_contradict() -> None:
    """The same circumstance may be told in two ways."""
    shelf = Shelf()
    shelf.read(said(1, "use npm", condition="before every commit"), said(2, "use pnpm", condition="before committing"))
    assert shelf.told() == {"use pnpm"}


@pytest.mark.parametrize("speaker", [Speaker.ASSISTANT, Speaker.TOOL, Speaker.OTHER_AGENT])
def test_an_agents_word_never_supersedes_the_persons(speaker: Speaker) -> None:
    """What an assistant or a tool says later waits, and is placed nowhere."""
    shelf = Shelf()
    shelf.read(said(1, NPM))
    claim = entry(PNPM, at=NOW, kind=EntryKind.KNOWLEDGE, speaker=speaker, thread="thread-z")
    assert shelf.read(claim) == []
    assert shelf.told() == {NPM}


def test_knowledge_that_contradicts_waits_until_the_other_is_gone() -> None:
    """Neither of two facts from tools is believed over the other; the later one is taken once it stands alone."""
    shelf = Shelf()
    old, new = learned("the dev server runs on port 8080"), learned("the dev server runs on port 9090", at=NOW)
    shelf.read(old)
    assert shelf.read(new) == []
    assert shelf.told() == {old.statement}
    shelf.withdraw(old)
    shelf.consolidate()
    assert shelf.told() == {new.statement}


def test_a_fact_told_by_the_person_follows_the_rule_of_their_words() -> None:
    """A person's newer statement supersedes their older one, whatever an extractor called its kind."""
    shelf = Shelf()
    for day, port in ((1, 8080), (2, 9090)):
        shelf.read(said(day, f"the dev server runs on port {port}", kind=EntryKind.KNOWLEDGE))
    assert shelf.told() == {"the dev server runs on port 9090"}


POOL = [NPM, PNPM, YARN, "never use npm", "use tabs", "use spaces", "run make lint", "never run make lint"]
SPOKEN = st.lists(
    st.tuples(st.sampled_from(POOL), st.integers(0, 9), st.sampled_from([PROJECT, "user"])),
    min_size=1,
    max_size=8,
    unique_by=lambda item: (item[0], item[1], item[2]),
)


@given(spoken=SPOKEN, data=st.data())
@settings(max_examples=100, deadline=None)
def test_what_is_told_does_not_depend_on_the_order_of_reading(
    spoken: list[tuple[str, int, str]], data: st.DataObject
) -> None:
    """All at once, or log by log in any order: the same statements are told in the end."""
    entries = [said(day, statement, scope=scope) for statement, day, scope in spoken]
    at_once = Shelf()
    at_once.read(*entries)
    one_by_one = Shelf()
    for item in data.draw(st.permutations(entries)):
        one_by_one.read(item)
    assert {(m.scope, m.statement) for m in at_once.memories.values() if m.status is MemoryStatus.ACTIVE} == {
        (m.scope, m.statement) for m in one_by_one.memories.values() if m.status is MemoryStatus.ACTIVE
    }


@given(spoken=SPOKEN, data=st.data())
@settings(max_examples=60, deadline=None)
def test_a_withdrawn_entry_leaves_no_trace_in_what_is_told(
    spoken: list[tuple[str, int, str]], data: st.DataObject
) -> None:
    """After entries are withdrawn, the same is told as if they had never been read."""
    entries = [said(day, statement, scope=scope) for statement, day, scope in spoken]
    gone = data.draw(st.lists(st.sampled_from(entries), unique=True))
    shelf, never_read = Shelf(), Shelf()
    shelf.read(*entries)
    shelf.withdraw(*gone)
    never_read.read(*(item for item in entries if item not in gone))
    assert shelf.told() == never_read.told()
    shelf.read(*gone)
    everything = Shelf()
    everything.read(*entries)
    assert shelf.told() == everything.told()


@given(spoken=SPOKEN)
@settings(max_examples=60, deadline=None)
def test_consolidating_the_same_again_does_nothing(spoken: list[tuple[str, int, str]]) -> None:
    """After the first time, nothing is left to do, ten times over."""
    shelf = Shelf(max_unused_days=30)
    shelf.read(*(said(day, statement, scope=scope) for statement, day, scope in spoken))
    before = dict(shelf.memories)
    assert [shelf.consolidate() for _ in range(10)] == [[]] * 10
    assert shelf.memories == before


# --- evidence that goes and comes back -------------------------------------------------------------------------------


def test_a_new_reading_keeps_the_memory_and_takes_its_words() -> None:
    """The memory of a withdrawn entry moves to its thread's like new entry: id, pin, usage and history stay."""
    shelf = Shelf()
    old = said(1, "run the unit tests with pytest -q before pushing")
    shelf.read(old)
    shelf.change(old.statement, pinned=True, usage=Usage(count=3, last_usage=NOW))
    before = shelf.of(old.statement)
    new = said(1, "run the unit tests quietly with pytest -q before pushing to main")
    shelf.replace(old, new)
    after = shelf.of(new.statement)
    assert (after.memory_id, after.pinned, after.usage) == (before.memory_id, True, before.usage)
    assert (after.entry_ids, after.first_seen) == ((new.entry_id,), before.first_seen)
    assert len(shelf.memories) == 1


@pytest.mark.parametrize(
    ("new", "why"),
    [
        (said(2, "run the unit tests quietly with pytest -q before pushing to main"), "another thread"),
        (said(1, "run the unit tests quietly with pytest -q before pushing to main", scope="user"), "another scope"),
        (
            said(1, "run the unit tests quietly with pytest -q before pushing to main", kind=EntryKind.DECISION),
            "another kind",
        ),
        (said(1, "answer in Chinese"), "not alike"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_memory_moves_only_to_its_own_threads_like(new: Entry, why: str) -> None:
    """Anything else becomes a memory of its own, and the one without entries is retired."""
    shelf = Shelf()
    old = said(1, "run the unit tests with pytest -q before pushing")
    shelf.read(old)
    shelf.replace(old, new)
    assert shelf.told(RETIRED) == {old.statement}
    assert shelf.told() == {new.statement}


def test_two_orphans_do_not_move_to_one_entry() -> None:
    """A new entry takes over one memory; the other one is retired."""
    shelf = Shelf()
    first, second = said(1, "run the api tests with pytest -q"), said(1, "run the web tests with pytest -q", byte=9)
    shelf.read(first, second)
    shelf.entries.pop(second.entry_id)
    shelf.replace(first, said(1, "run the api and web tests with pytest -q"))
    assert len(shelf.told()) == 1
    assert len(shelf.told(RETIRED)) == 1


def test_reworded_into_a_contradiction_the_newer_word_still_wins() -> None:
    """A memory that moves to other words meets the rule of contradiction like a new one."""
    shelf = Shelf()
    old, newer = said(1, "use npm in the web folder and its tests"), said(5, "use yarn in the web folder")
    shelf.read(old, newer)
    assert shelf.told() == {old.statement, newer.statement}
    done = shelf.replace(old, said(1, "use npm in the web folder"))
    assert [item.kind for item in done] == [OperationKind.REWORD, OperationKind.SUPERSEDE]
    assert shelf.told() == {newer.statement}


def test_what_others_support_stays() -> None:
    """Only what nothing else supports goes with a withdrawn thread."""
    shelf = Shelf()
    shared, lone = [said(1, "use uv"), said(2, "use uv")], said(1, "commit small")
    shelf.read(*shared, lone)
    shelf.withdraw(shared[0], lone)
    assert shelf.told() == {"use uv"}
    assert shelf.of("use uv").thread_ids == ("thread-02",)
    assert shelf.told(RETIRED) == {"commit small"}


def test_withdrawn_evidence_that_returns_restores_the_memory() -> None:
    """Enabling a thread again brings back what it said, under the same id."""
    shelf = Shelf()
    only = said(1, "use uv")
    shelf.read(only)
    before = shelf.of("use uv").memory_id
    shelf.withdraw(only)
    assert shelf.told() == set()
    shelf.read(only)
    assert shelf.told() == {"use uv"}
    assert shelf.of("use uv").memory_id == before


def test_withdrawing_the_newer_word_brings_back_the_older_one() -> None:
    """What only a withdrawn statement had superseded is told again; when it returns, it supersedes again."""
    shelf = Shelf()
    old, new = said(1, NPM), said(2, PNPM)
    shelf.read(old, new)
    shelf.withdraw(new)
    assert shelf.told() == {NPM}
    shelf.read(new)
    assert shelf.told() == {PNPM}


def test_withdrawing_only_the_newest_confirmation_lets_the_other_word_win() -> None:
    """A statement is as new as what still supports it: the older confirmation alone does not beat what came between."""
    shelf = Shelf()
    again = said(9, NPM)
    shelf.read(said(1, NPM), said(5, PNPM), again)
    assert shelf.told() == {NPM}
    shelf.withdraw(again)
    assert shelf.told() == {PNPM}
    assert shelf.consolidate() == []
    shelf.read(again)
    assert shelf.told() == {NPM}
    assert shelf.told(SUPERSEDED) == {PNPM}


def test_a_restored_memory_meets_what_was_said_meanwhile() -> None:
    """Bringing back an old statement does not let two opposite rules stand."""
    shelf = Shelf()
    old = said(1, NPM)
    shelf.read(old)
    shelf.withdraw(old)
    shelf.read(said(2, PNPM))
    shelf.read(old)
    assert shelf.told() == {PNPM}
    assert shelf.told(SUPERSEDED) == {NPM}


def test_restored_knowledge_that_contradicts_waits() -> None:
    """A fact that comes back does not stand beside its opposite; it comes back once that is gone."""
    shelf = Shelf()
    old, new = learned("the dev server runs on port 8080"), learned("the dev server runs on port 9090", thread="b")
    shelf.read(old)
    shelf.withdraw(old)
    shelf.read(new)
    assert shelf.read(old) == []
    assert shelf.told() == {new.statement}
    shelf.withdraw(new)
    shelf.consolidate()
    assert shelf.told() == {old.statement}


# --- retention -------------------------------------------------------------------------------------------------------


def faded(kind: EntryKind, days: float = 31, **changes: object) -> set[str]:
    """Tell what is left of one memory that nothing used for some days."""
    shelf = Shelf(max_unused_days=30)
    speaker = Speaker.USER if kind in {EntryKind.PREFERENCE, EntryKind.DECISION, EntryKind.PROCEDURE} else Speaker.TOOL
    shelf.read(entry("the cache lives in /var/tmp/shop", kind=kind, speaker=speaker, at=NOW))
    if changes:
        shelf.change("the cache lives in /var/tmp/shop", **changes)
    shelf.consolidate(now=NOW + days * DAY)
    return shelf.told()


@pytest.mark.parametrize("kind", [EntryKind.KNOWLEDGE, EntryKind.FAILURE])
def test_unused_knowledge_and_failures_are_retired(kind: EntryKind) -> None:
    """After the limit, and not before it."""
    assert faded(kind) == set()
    assert faded(kind, days=30)


@pytest.mark.parametrize("kind", [EntryKind.PREFERENCE, EntryKind.DECISION, EntryKind.PROCEDURE])
def test_what_the_person_stated_does_not_age(kind: EntryKind) -> None:
    """No time without use takes away a person's word."""
    assert faded(kind, days=10_000)


def test_a_fact_that_the_person_told_does_not_age() -> None:
    """Knowledge of which the person is the source is their word as well."""
    shelf = Shelf(max_unused_days=30)
    shelf.read(entry("our API is versioned under /v2", kind=EntryKind.KNOWLEDGE, speaker=Speaker.USER, at=NOW))
    shelf.consolidate(now=NOW + 10_000 * DAY)
    assert shelf.told() == {"our API is versioned under /v2"}


def test_use_and_pin_keep_a_memory() -> None:
    """What was used within the limit stays, and so does what is pinned."""
    assert faded(EntryKind.KNOWLEDGE, usage=Usage(count=1, last_usage=NOW + 5 * DAY))
    assert faded(EntryKind.KNOWLEDGE, days=1_000, pinned=True)
    assert not faded(EntryKind.KNOWLEDGE, days=60, usage=Usage(count=9, last_usage=NOW + 5 * DAY))


def test_a_limit_of_zero_days_never_retires() -> None:
    """Zero switches retention off."""
    shelf = Shelf(max_unused_days=0)
    shelf.read(learned("the cache lives in /var/tmp/shop"))
    assert shelf.consolidate(now=NOW + 10_000 * DAY) == []


def test_what_is_learned_from_an_old_log_gets_its_time() -> None:
    """The wait counts from when a memory was learned, if that is later than when it was said."""
    shelf = Shelf(max_unused_days=30)
    shelf.read(learned("the cache lives in /var/tmp/shop", at=NOW - 900 * DAY))
    assert shelf.told()
    assert shelf.consolidate(now=NOW + 31 * DAY)
    assert not shelf.told()


def test_what_faded_comes_back_when_it_is_said_again() -> None:
    """Retired by fading is not for good."""
    shelf = Shelf(max_unused_days=30)
    shelf.read(learned("the cache lives in /var/tmp/shop"))
    later = NOW + 40 * DAY
    shelf.consolidate(now=later)
    assert shelf.told() == set()
    before = shelf.of("the cache lives in /var/tmp/shop").memory_id
    shelf.read(learned("the cache lives in /var/tmp/shop", at=later, thread="thread-z"), now=later)
    assert shelf.told() == {"the cache lives in /var/tmp/shop"}
    assert shelf.of("the cache lives in /var/tmp/shop").memory_id == before
    assert shelf.consolidate(now=later) == []


def test_what_a_person_retired_stays_retired() -> None:
    """Saying it again confirms it, but never brings it back by itself."""
    shelf = Shelf()
    shelf.read(said(1, "use uv"))
    shelf.change("use uv", status=RETIRED, reason="taken out of MEMORY.md")
    shelf.read(said(2, "use uv"))
    assert shelf.told() == set()
    assert len(shelf.of("use uv").entry_ids) == 2
    assert len(shelf.memories) == 1
