"""Each rule of the memories is noticed when it is broken, and only then."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from phase2_world import OTHER_PROJECT, entry, learned, memory

from memory_pipeline.phase2.findings import Rule
from memory_pipeline.phase2.lint_memories import lint_memories
from memory_pipeline.records import Entry, EntryKind, Memory, MemoryStatus, Speaker

SAID = entry("run make lint before a commit")
SEEN = learned("`make test` runs the tests; it passed")
SECRET = "sk-proj-" + "Fake" * 12
SUPERSEDED = MemoryStatus.SUPERSEDED


def resting(said: Entry, *, number: int = 1, **fields: object) -> Memory:
    """Make an active memory that rests on this entry."""
    made = memory(said.statement, number=number, scope=said.scope, kind=said.kind, condition=said.condition)
    return replace(made, entry_ids=(said.entry_id,), **fields)  # type: ignore[arg-type]


def found(*memories: Memory, entries: tuple[Entry, ...] = (SAID, SEEN)) -> list[tuple[Rule, str]]:
    """Rule and place of every finding."""
    findings = lint_memories(memories, {item.entry_id: item for item in entries})
    return [(finding.rule, finding.place) for finding in findings]


def test_sound_memories_give_no_finding() -> None:
    """A rule of the person, what a tool showed, and a retired memory without entries are all in order."""
    retired = memory("use conda", number=3, status=MemoryStatus.RETIRED)
    assert found(resting(SAID), resting(SEEN, number=2), retired) == []


def test_an_active_memory_without_a_standing_entry_is_found() -> None:
    """Its entry was withdrawn, or there never was one."""
    made = resting(SAID)
    assert found(made, entries=()) == [(Rule.NO_ENTRY, made.memory_id)]


def test_an_entry_of_another_scope_is_found() -> None:
    """A memory of one project never rests on what was said in another."""
    made = resting(SAID, scope=OTHER_PROJECT)
    assert (Rule.MIXED_SCOPE, made.memory_id) in found(made)


@pytest.mark.parametrize(
    "fields",
    [
        {"statement": "# run make lint before a commit"},
        {"statement": "run make lint\nbefore a commit"},
        {"condition": "<b>a commit</b>"},
        {"statement": "make lint " * 60},
    ],
)
def test_a_text_that_would_change_the_structure_is_found(fields: dict[str, str]) -> None:
    """Statements and conditions keep the rules for statements."""
    made = resting(SAID, **fields)
    assert (Rule.BAD_STATEMENT, made.memory_id) in found(made)


def test_a_secret_is_found_and_not_repeated() -> None:
    """The finding names memory and kind, never the secret; an entry that holds it is told as well."""
    said = replace(SAID, statement=f"use the key {SECRET}")
    findings = list(lint_memories([resting(said)], {said.entry_id: said}))
    assert {(item.rule, item.place) for item in findings} == {
        (Rule.SECRET, resting(said).memory_id),
        (Rule.SECRET, said.entry_id),
    }
    assert not [item for item in findings if SECRET in f"{item}"]


def test_what_no_entry_names_is_found() -> None:
    """A tool that came in by rewording stands in none of the entries."""
    made = resting(SAID, statement="run `make lint` with Docker before a commit")
    assert found(made) == [(Rule.UNGROUNDED, made.memory_id)]


def test_a_preference_without_the_persons_word_is_found() -> None:
    """What a tool printed is no preference."""
    tool = entry("use tabs", speaker=Speaker.TOOL)
    made = resting(tool)
    assert found(made, entries=(tool,)) == [(Rule.NO_PERSON, made.memory_id)]


@pytest.mark.parametrize(
    ("first", "second", "rule"),
    [("use tabs", "use spaces", Rule.CONTRADICTION), ("use tabs", "always use tabs", Rule.DUPLICATE)],
)
def test_two_that_are_at_odds_or_alike_are_found(first: str, second: str, rule: Rule) -> None:
    """Both ids are named; neither is found in another scope, under another condition, or once one is superseded."""
    one, other = resting(entry(first)), resting(entry(second), number=2)
    known = (entry(first), entry(second))
    assert found(one, other, entries=known) == [(rule, f"{one.memory_id}, {other.memory_id}")]
    elsewhere = replace(entry(second), scope=OTHER_PROJECT)
    assert found(one, resting(elsewhere, number=2), entries=(known[0], elsewhere)) == []
    sometimes = replace(entry(second), condition="in the web client")
    assert found(one, resting(sometimes, number=2), entries=(known[0], sometimes)) == []
    replaced = replace(other, status=SUPERSEDED, superseded_by=one.memory_id)
    assert found(one, replaced, entries=known) == []


def test_what_was_seen_may_stand_beside_what_a_person_wants() -> None:
    """A command that once worked is no rule, so it contradicts none."""
    seen, wanted = learned("the tests run with npm"), entry("the tests run with pnpm")
    assert found(resting(seen), resting(wanted, number=2), entries=(seen, wanted)) == []


def test_a_succession_that_leads_nowhere_or_round_is_found() -> None:
    """A superseded memory leads, in the end, to one that nothing superseded."""
    said = [entry(text) for text in ("use npm", "use pnpm", "use yarn")]
    a, b, c = (resting(item, number=number) for number, item in enumerate(said))
    chain = [
        replace(a, status=SUPERSEDED, superseded_by=b.memory_id),
        replace(b, status=SUPERSEDED, superseded_by=c.memory_id),
    ]
    entries = tuple(said)
    assert found(*chain, c, entries=entries) == []
    assert found(*chain, entries=entries) == [
        (Rule.BROKEN_SUCCESSION, a.memory_id),
        (Rule.BROKEN_SUCCESSION, b.memory_id),
    ]
    circle = replace(c, status=SUPERSEDED, superseded_by=a.memory_id)
    assert len(found(*chain, circle, entries=entries)) == 3
    by_nothing = replace(c, status=SUPERSEDED)
    assert found(by_nothing, entries=entries) == [(Rule.BROKEN_SUCCESSION, c.memory_id)]


def test_an_entry_without_evidence_is_found() -> None:
    """Nothing is remembered without a line of a log."""
    bare = replace(SEEN, evidence=())
    assert found(resting(bare), entries=(bare,)) == [(Rule.NO_EVIDENCE, bare.entry_id)]


def test_kinds_of_a_person_are_compared_with_each_other() -> None:
    """A decision against a preference is a contradiction as well."""
    one, other = entry("use tabs"), entry("use spaces", kind=EntryKind.DECISION)
    assert [rule for rule, _ in found(resting(one), resting(other, number=2), entries=(one, other))] == [
        Rule.CONTRADICTION
    ]
