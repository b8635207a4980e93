"""Notes and resources in the workspace's extensions are inputs: read with evidence, never changed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from phase2_world import DAY, NOW, PROJECT, World, entry

from memory_pipeline.records import EntryKind, MemoryStatus, Phase2Outcome, Speaker


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A workspace that was consolidated once."""
    made = World(tmp_path)
    made.says("thread-a", entry("use npm"))
    made.run()
    yield made
    made.close()


def put(world: World, path: str, text: str | bytes) -> Path:
    """Write a file into the workspace."""
    target = world.workspace / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(text.encode() if isinstance(text, str) else text)
    return target


NOTE = "extensions/ad_hoc/notes/2026-09-20T10-00-00-staging.md"


def test_a_note_becomes_memories_of_the_person(world: World) -> None:
    """Each item is one, in the scope that the note names, with the journal's line as evidence; the file stays."""
    note = put(
        world,
        NOTE,
        f"scope: {PROJECT}\n\n# Staging\n\n- From now on deploy on Mondays\n- the wiki is at wiki.example.com\n",
    )
    before = note.read_bytes()
    world.run()
    monday, place = world.of("From now on deploy on Mondays"), world.of("the wiki is at wiki.example.com")
    assert (monday.scope, monday.kind, monday.pinned) == (PROJECT, EntryKind.PROCEDURE, False)
    assert place.kind is EntryKind.KNOWLEDGE
    (resting,) = world.store.extractions.standing_entries(place.entry_ids).values()
    assert resting.evidence[0].speaker is Speaker.USER
    assert note.read_bytes() == before
    assert world.run().outcome is Phase2Outcome.NO_CHANGES


def test_an_item_of_a_note_is_read_to_its_end(world: World) -> None:
    """The indented lines below an item are part of it."""
    put(world, NOTE, "- when deploying, run the checks first,\n  then wait for the green light\n1. ask:\n   - Sam\n")
    world.run()
    assert world.told() >= {
        ("user", "when deploying, run the checks first, then wait for the green light"),
        ("user", "ask: Sam"),
    }


def test_a_note_without_items_is_read_by_paragraphs(world: World) -> None:
    """A plain sentence is enough; it holds everywhere when the note names no place."""
    put(world, NOTE, "Remember that the release\ncalendar is in the wiki.\n\nSecond thought.\n")
    world.run()
    assert ("user", "Remember that the release calendar is in the wiki.") in world.told()
    assert ("user", "Second thought.") in world.told()


def test_resources_are_facts_from_elsewhere_and_never_the_persons_word(world: World) -> None:
    """Only with instructions, only list items, only as knowledge, and never against what a person said."""
    put(
        world,
        "extensions/tickets/resources/open.md",
        "- ticket 12 is about the cart\n- always use yarn\nIgnore this line.\n",
    )
    world.run()
    assert all("ticket" not in words for _, words in world.told())
    put(world, "extensions/tickets/instructions.md", "One ticket a line.\n")
    world.run()
    ticket = world.of("ticket 12 is about the cart")
    assert ticket.kind is EntryKind.KNOWLEDGE
    (resting,) = world.store.extractions.standing_entries(ticket.entry_ids).values()
    assert resting.evidence[0].speaker is Speaker.TOOL
    assert world.of("always use yarn").kind is EntryKind.KNOWLEDGE
    assert world.of("use npm").status is MemoryStatus.ACTIVE
    assert all("Ignore" not in words for _, words in world.told())


def test_resources_past_their_retention_are_not_read(world: World) -> None:
    """By the date in the name, else by the time stamp; the files stay."""
    put(world, "extensions/tickets/instructions.md", "One ticket a line.\n")
    named = put(world, "extensions/tickets/resources/2026-01-02-old.md", "- ticket 1 is old\n")
    stamped = put(world, "extensions/tickets/resources/stamped.md", "- ticket 2 is old\n")
    os.utime(stamped, (NOW - 40 * DAY, NOW - 40 * DAY))
    fresh = put(world, "extensions/tickets/resources/fresh.md", "- ticket 3 is new\n")
    os.utime(fresh, (NOW - DAY, NOW - DAY))
    world.run()
    assert {words for _, words in world.told() if "ticket" in words} == {"ticket 3 is new"}
    assert named.exists()
    assert stamped.exists()
    world.run(extension_retention_days=0)
    assert {words for _, words in world.told() if "ticket" in words} >= {"ticket 1 is old", "ticket 2 is old"}


@pytest.mark.parametrize("content", [b"\xff\xfe\x00bad", b"- x" * 40_000, b"", b"# only a heading\n"])
def test_what_is_no_short_text_is_passed_over(world: World, content: bytes) -> None:
    """A note that can't be read changes nothing and stops nothing."""
    told = world.told()
    put(world, NOTE, content)
    world.run()
    assert world.told() == told


def test_links_are_not_followed(world: World, tmp_path: Path) -> None:
    """A file or folder that is a link is passed over."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "note.md").write_text("- read my mail\n", encoding="utf-8")
    notes = world.workspace / "extensions" / "ad_hoc" / "notes"
    notes.mkdir(parents=True)
    (notes / "linked.md").symlink_to(outside / "note.md")
    (world.workspace / "extensions" / "far").symlink_to(outside)
    world.run()
    assert all("mail" not in words for _, words in world.told())


def test_a_secret_in_a_note_is_masked(world: World) -> None:
    """It reaches neither the journal nor a memory."""
    token = "ghp_" + "a1B2" * 9
    put(world, NOTE, f"- the deploy token is {token}\n")
    world.run()
    assert token.encode() not in world.config.journal_path.read_bytes()
    assert all(token not in words for _, words in world.told())
