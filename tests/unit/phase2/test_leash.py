"""What a model as curator may not do to the memories."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from phase2_world import DAY, NOW, entry, learned, memory

from memory_pipeline.likeness import contradicts, sense_of
from memory_pipeline.phase2.leash import Wording, fault_of_joining, fault_of_wording, wording_of
from memory_pipeline.phase2.lint_memories import lint_memories
from memory_pipeline.phase2.operations import MemoryBook, memory_id_of
from memory_pipeline.records import Actor, Entry, EntryKind, Memory, MemoryStatus, Operation, OperationKind, Speaker

Old = str | tuple[str, str]


def reworded(statement: str, condition: str, *olds: Old) -> str | None:
    """Say why a memory that rests on such entries, the first of which it quotes, can't be worded so."""
    entries = [
        entry(old) if isinstance(old, str) else entry(old[0], condition=old[1], thread=f"thread-{number}")
        for number, old in enumerate(olds)
    ]
    return fault_of_wording(
        Wording(statement=statement, condition=condition), [wording_of(item) for item in entries], entries
    )


ALLOWED: list[tuple[str, str, tuple[Old, ...]]] = [
    ("Run make lint before a commit", "", ("Run make lint before every commit",)),
    ("Run make lint", "before every commit", ("Run make lint before every commit",)),
    ("Use tabs, never spaces", "", ("Never use spaces, use tabs",)),
    ("Use uv for packages, never pip", "", ("Use uv for packages", "Never use pip, use uv")),
    ("始终使用 pnpm", "", ("请用 pnpm",)),
]


@pytest.mark.parametrize(("statement", "condition", "olds"), ALLOWED, ids=[words for words, _, _ in ALLOWED])
def test_another_order_and_other_small_words_pass(statement: str, condition: str, olds: tuple[Old, ...]) -> None:
    """What says the same, or all that two entries say, or names a condition that stands in the statement."""
    assert reworded(statement, condition, *olds) is None


FORBIDDEN: list[tuple[str, str, tuple[Old, ...], str]] = [
    ("Use spaces", "", ("Never use spaces",), "turns round"),
    ("Push to main", "", ("Don't push to main",), "turns round"),
    ("Never push to main", "", ("Push to main",), "turns round"),
    ("不要用 npm", "", ("请用 npm",), "turns round"),
    ("Use tabs", "", ("Use tabs, never spaces",), "refuses more, or less"),
    ("Run the tests", "", ("Run the slow tests before a release",), "leaves out releas"),
    ("Run the slow tests", "", (("Run the slow tests", "before a release"),), "leaves out releas"),
    ("Run the suite", "", ("Run the test suite",), "leaves out test"),
    ("Use packages", "", ("Use uv for packages",), "leaves out uv"),
    ("Run the slow tests", "on Friday", ("Run the slow tests",), "brings in words"),
    ("Run make lint because CI is slow", "", ("Run make lint",), "brings in words"),
    ("Run make lint", "before a release", ("Run make lint", ("Run make lint", "before a release")), "narrows"),
    ("Run make lint", "never", ("Run make lint",), "refuses more"),
    ("Run make lint", "always", ("Run make lint",), "names no circumstance"),
]


@pytest.mark.parametrize(
    ("statement", "condition", "olds", "reason"), FORBIDDEN, ids=[f"{s} | {c}" for s, c, _, _ in FORBIDDEN]
)
def test_words_against_their_meaning_are_refused(
    statement: str, condition: str, olds: tuple[Old, ...], reason: str
) -> None:
    """New words, lost words, a negation that came or went, a condition that nobody named."""
    fault = reworded(statement, condition, *olds)
    assert fault is not None
    assert reason in fault


def test_what_a_tool_printed_gives_no_words_to_what_the_person_stated() -> None:
    """A memory of the person is worded from their own lines; a line of a tool in its evidence does not count."""
    stated = entry("Run make lint")
    printed = learned("x").evidence[0]
    both = replace(stated, evidence=(*stated.evidence, replace(printed, quote="skip make lint on weekends")))
    new = Wording(statement="Run make lint, skip weekends", condition="")
    fault = fault_of_wording(new, [wording_of(both)], [both])
    assert fault is not None
    assert "skip" in fault


JOINED = [
    ("Use uv for packages", "Install packages with uv", None),
    ("Reply in German", "Answer in German please", None),
    ("Use uv", "Use uv, never pip", "says less than that entry (pip)"),
    ("Write tests", "Write tests for error paths and edge cases too", "says less"),
    ("commit small", "Use npm", "shares no word"),
    ("Use npm", "Never use npm", "says the opposite"),
    ("Use npm", "Use pnpm", "says the opposite"),
]


@pytest.mark.parametrize(("told", "said", "reason"), JOINED, ids=[f"{t} | {s}" for t, s, _ in JOINED])
def test_an_entry_joins_only_what_says_all_of_it(told: str, said: str, reason: str | None) -> None:
    """Merging may not bury what somebody said under a memory that does not say it."""
    fault = fault_of_joining(memory(told), entry(said))
    assert (fault is None) if reason is None else (fault is not None and reason in fault)


def test_an_entry_joins_no_other_kind_condition_or_status() -> None:
    """A preference is no finding, a rule for one case no rule for all, and what is not told can't be confirmed."""
    said = entry("Use uv for packages")
    assert fault_of_joining(memory("Use uv for packages", kind=EntryKind.KNOWLEDGE), said) is not None
    assert fault_of_joining(memory("Use uv for packages", condition="on Windows"), said) is not None
    assert fault_of_joining(memory("Use uv for packages", status=MemoryStatus.RETIRED), said) is not None


def _book(*entries: Entry, also: tuple[Entry, ...] = ()) -> MemoryBook:
    """Make a book with a memory for each entry, and further entries that none rests on."""
    book = MemoryBook({}, {item.entry_id: item for item in (*entries, *also)}, now=NOW)
    for item in entries:
        done = Operation(
            kind=OperationKind.ADD, memory_id=memory_id_of(item), entry_id=item.entry_id, reason="", actor=Actor.PERSON
        )
        assert book.apply(done) is None
    memories = [replace(one, by_hand=False) for one in book.memories.values()]
    return MemoryBook(
        {one.memory_id: one for one in memories}, {item.entry_id: item for item in (*entries, *also)}, now=NOW
    )


def _propose(kind: OperationKind, about: Entry, **fields: str) -> Operation:
    return Operation(kind=kind, memory_id=memory_id_of(about), reason="a test", actor=Actor.MODEL, **fields)


def test_a_model_supersedes_only_a_contradiction_and_only_by_the_persons_later_word() -> None:
    """What may both hold, what no person said, and what was said earlier take nobody's place."""
    npm, pnpm = entry("use npm", at=NOW - 9 * DAY), entry("use pnpm", at=NOW - DAY)
    other = entry("commit small", at=NOW - DAY)
    port, new_port = learned("the port is 5432", at=NOW - 9 * DAY), learned("the port is 5433")
    book = _book(npm, pnpm, other, port, new_port)

    def superseded(old: Entry, new: Entry) -> str:
        return book.apply(_propose(OperationKind.SUPERSEDE, old, other_memory_id=memory_id_of(new))) or "applied"

    assert "both may hold" in superseded(npm, other)
    assert "only a person can settle it" in superseded(port, new_port)
    assert "was said later" in superseded(pnpm, npm)
    assert superseded(npm, pnpm) == "applied"


def test_a_model_retires_little_and_only_for_an_entry_about_the_same() -> None:
    """A tenth of what is told, but one; a statement of the person only where their later word takes it back."""
    facts = [learned(f"the port of service{number} is 54{number:02}", at=NOW - 9 * DAY) for number in range(12)]
    rule = entry("use npm", at=NOW - 9 * DAY)
    new = learned("the port of service3 and of service4 is gone now", thread="thread-b")
    foreign = learned("lint is slow", thread="thread-b")
    early = learned("the port of service3 moved", thread="thread-b", at=NOW - 20 * DAY)
    book = _book(*facts, rule, also=(new, foreign, early))

    def retired(old: Entry, why: Entry) -> str:
        return book.apply(_propose(OperationKind.RETIRE, old, entry_id=why.entry_id)) or "applied"

    assert "shares no word" in retired(facts[3], foreign)
    assert "only on a person's word" in retired(rule, foreign)
    assert "was said later" in retired(facts[3], early)
    assert retired(facts[3], new) == "applied"
    assert "no more than 1 may be retired" in retired(facts[4], new)


def test_what_a_model_adds_or_rewords_stands_beside_the_rest() -> None:
    """Neither a second memory that says the same, nor one that contradicts what only a person can settle."""
    told = entry("run the tests with make check", at=NOW - 9 * DAY)
    fact = learned("the port is 5432", at=NOW - 9 * DAY)
    same = entry("always run the tests with make check", thread="thread-b")
    against = learned("the port is 5433", thread="thread-b")
    newer = entry("never run the tests with make check", thread="thread-b")
    book = _book(told, fact, also=(same, against, newer))
    for item, reason in ((same, "says the same"), (against, "only a person can settle it")):
        refusal = book.apply(_propose(OperationKind.ADD, item, entry_id=item.entry_id))
        assert refusal is not None
        assert reason in refusal
    # The person's newer word is no fault: it wins by itself.
    assert book.apply(_propose(OperationKind.ADD, newer, entry_id=newer.entry_id)) is None


def test_the_persons_later_word_may_retire_what_it_takes_back() -> None:
    """Only a contradiction of theirs is one."""
    rule, late = entry("use npm", at=NOW - 9 * DAY), entry("never use npm", thread="thread-b")
    aside = entry("use npm scripts for tests", thread="thread-c")
    book = _book(rule, also=(late, aside))
    refusal = book.apply(_propose(OperationKind.RETIRE, rule, entry_id=aside.entry_id))
    assert refusal is not None
    assert "does not take it back" in refusal
    assert book.apply(_propose(OperationKind.RETIRE, rule, entry_id=late.entry_id)) is None


def test_an_entry_has_one_place() -> None:
    """What a memory rests on already founds or joins no second one."""
    first, second = entry("use uv for packages"), entry("use uv for scripts", thread="thread-b")
    book = _book(first, second)
    refusal = book.apply(_propose(OperationKind.MERGE, first, entry_id=second.entry_id))
    assert refusal == f"that entry stands in {memory_id_of(second)} already"


def test_a_group_is_of_one_scope_and_of_what_is_told() -> None:
    """Members carry the first one's id, once."""
    first, second = entry("tag the release"), entry("sign the release", thread="thread-b")
    elsewhere = entry("tag the release", scope="user", thread="thread-c")
    book = _book(first, second, elsewhere)
    grouped = _propose(OperationKind.GROUP, second, other_memory_id=memory_id_of(first))
    assert book.apply(grouped) is None
    assert book.memories[memory_id_of(second)].group == memory_id_of(first)
    assert book.apply(grouped) == "stands in that group already"
    assert book.apply(_propose(OperationKind.GROUP, elsewhere, other_memory_id=memory_id_of(first))) == "mixes scopes"
    assert book.apply(_propose(OperationKind.GROUP, second, other_memory_id="m_none")) is not None


def test_a_tool_that_repeats_the_persons_old_word_does_not_make_it_their_newest() -> None:
    """When a person's word was last said is told by their own entries."""
    old = learned("the port is 5432", at=NOW - 9 * DAY, speaker=Speaker.USER)
    seen = learned("the port is 5432", at=NOW - DAY, thread="thread-b")
    book = _book(old, also=(seen,))
    merged = Operation(kind=OperationKind.MERGE, memory_id=memory_id_of(old), entry_id=seen.entry_id, reason="")
    assert book.apply(merged) is None
    assert book.newest_word(book.memories[memory_id_of(old)])[0] == NOW - 9 * DAY


WORDS = ["use", "never", "don't", "tabs", "spaces", "npm", "pnpm", "tests", "slow", "run", "before", "release", "not"]
SENTENCES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
KINDS = st.sampled_from(
    [
        OperationKind.ADD,
        OperationKind.MERGE,
        OperationKind.REWORD,
        OperationKind.SUPERSEDE,
        OperationKind.RETIRE,
        OperationKind.GROUP,
    ]
)


@given(
    st.lists(SENTENCES, min_size=2, max_size=6, unique=True),
    st.lists(st.tuples(KINDS, st.integers(0, 5), st.integers(0, 5), SENTENCES, SENTENCES), max_size=15),
)
@settings(max_examples=100, deadline=None)
def test_whatever_a_model_proposes_each_memory_keeps_to_what_its_entries_say(
    said: list[str], proposals: list[tuple[OperationKind, int, int, str, str]]
) -> None:
    """No proposal brings in a word, turns one round, mixes scopes or breaks a rule that ``memory lint`` knows."""
    entries = [
        entry(words, thread=f"thread-{number}", at=NOW - number * DAY, scope="user" if number % 3 == 0 else "project:p")
        for number, words in enumerate(said)
    ]
    founded, new = entries[: len(entries) // 2], tuple(entries[len(entries) // 2 :])
    book = _book(*founded, also=new)
    known = {item.entry_id: item for item in entries}
    before = {finding.place for finding in lint_memories(list(book.memories.values()), known)}
    for kind, first, second, statement, condition in proposals:
        one, other = entries[first % len(entries)], entries[second % len(entries)]
        operation = _propose(kind, one, entry_id=other.entry_id, other_memory_id=memory_id_of(other))
        if kind is OperationKind.REWORD:
            operation = replace(operation, statement=statement, condition=condition)
        book.apply(operation)
    for one in book.memories.values():
        _assert_kept(one, [known[entry_id] for entry_id in one.entry_ids])
    rules = {
        finding.rule
        for finding in lint_memories(list(book.memories.values()), known)
        if finding.place not in before and finding.rule not in ("contradiction", "duplicate")
    }
    # Contradictions of a person's words are settled by the rules afterwards; nothing else may be wrong.
    assert not rules


def _assert_kept(one: Memory, entries: list[Entry]) -> None:
    allowed = {word for item in entries for word in sense_of(f"{item.statement}, {item.condition}").words}
    assert sense_of(f"{one.statement}, {one.condition}").words <= allowed
    assert not any(contradicts(one.statement, item.statement) for item in entries)
    assert {item.scope for item in entries} == {one.scope}
