"""Erasing and masking in the folders of the review, whoever wrote what lies there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from forgetting_runs import files_holding
from phase2_world import NOW, World, entry

from memory_pipeline.files import TEMPORARY_PREFIX
from memory_pipeline.forget.erasure import erasure_of
from memory_pipeline.records import Event, EventKind, Speaker
from memory_pipeline.review.documents import own_name, session_named
from memory_pipeline.review.erase import (
    erase_forgotten_files,
    erase_marked_files,
    find_forgotten_files,
    mask_review_files,
    take_in_edited_files,
)
from memory_pipeline.review.files import ReviewFiles, locked_files, write_session_files
from memory_pipeline.review.packet import PacketBuilder, render_packet
from memory_pipeline.review.packets import Packets
from memory_pipeline.review.run import Review
from memory_pipeline.tombstones import Tombstone, TombstoneKind, Tombstones


def lay_out(world: World, word: str) -> Path:
    """A draft file, a packet and a file kept aside, each of which tells a word; returns the state folder."""
    world.says("thread-a", entry(f"Use the {word}."))
    Review(world.config, world.store, world.clock).run_once()
    write_session_files(world.config, world.store, world.clock)
    builder = PacketBuilder()
    builder.add(
        Event(
            kind=EventKind.PROMPT,
            speaker=Speaker.USER,
            text=f"Use the {word}.",
            at=None,
            byte_start=0,
            byte_end=1,
            line_number=1,
            turn=1,
        )
    )
    packet = builder.build("thread-a", skipped={})
    with locked_files(world.config):
        ReviewFiles(world.config, world.store, world.clock).put_packet(
            "thread-a", render_packet(packet), told={"audit": packet.audit.as_document(), "origin": "built"}
        )
    state = world.config.state_path
    (state / "memory-drafts" / "thread-b.json.refused").write_text(f"the {word}", encoding="utf-8")
    (state / "packets" / f"{TEMPORARY_PREFIX}thread-a.md").write_text(f"the {word}", encoding="utf-8")
    return state


FOLDERS = ("packets", "memory-drafts", "sync-lists")


def told_in(state: Path, word: str) -> list[str]:
    """The files of the review that hold a word."""
    return [f"{name}/{path}" for name in FOLDERS for path in files_holding(state / name, word)]


def test_what_tells_of_forgotten_words_goes(world: World) -> None:
    """Our own files, what was kept aside, and what a crash left; a file that tells nothing of them stays."""
    state = lay_out(world, "quokkamug")
    other = state / "packets" / "other.md"
    other.write_text("# Session Packet: other\n", encoding="utf-8")
    stones = Tombstones.of([Tombstone(kind=TombstoneKind.WORDS, value="quokkamug")], now=NOW)
    assert len(find_forgotten_files(world.config, world.store, stones)) == 5
    world.store.forgetting.erase(erasure_of(world.store.forgetting.kept(), stones), now=NOW)
    erase_forgotten_files(world.config, world.store, world.clock, stones)
    assert told_in(state, "quokkamug") == []
    assert [path.name for name in FOLDERS for path in sorted((state / name).iterdir())] == ["other.md"]
    assert find_forgotten_files(world.config, world.store, stones) == []


def test_a_packet_that_still_holds_a_mark_is_deleted(world: World) -> None:
    """It may tell the words in a line that nothing rested on; it can be built again."""
    state = lay_out(world, "quokkamug")
    world.says("thread-a", entry("Use tea."))
    Review(world.config, world.store, world.clock).run_once()
    assert erase_marked_files(world.config, world.store, world.clock, lambda text: "quokkamug" in text) >= 2
    assert told_in(state, "quokkamug") == []
    assert [one["statement"] for one in _document(state)["draft_entries"]] == ["Use tea."]


def _document(state: Path) -> Any:
    return json.loads((state / "memory-drafts" / "thread-a.json").read_bytes())


def test_masking_reaches_packets_and_what_was_kept_aside(world: World) -> None:
    """A packet of ours stays one of ours, and the draft file is made of what is stored."""
    state = lay_out(world, "hunter2hunter2")

    def mask(text: str) -> str:
        return text.replace("hunter2hunter2", "[redacted:test]")

    world.store.forgetting.mask(mask, met="")
    assert mask_review_files(world.config, world.store, world.clock, mask) >= 3
    assert told_in(state, "hunter2hunter2") == []
    (packet,) = Packets(world.config, world.store, world.clock).every()
    assert packet.origin == "built"
    assert _document(state)["draft_entries"][0]["statement"] == "Use the [redacted:test]."
    assert mask_review_files(world.config, world.store, world.clock, mask) == 0
    assert write_session_files(world.config, world.store, world.clock).problems == ()


def test_decisions_in_edited_files_count_before_a_forgetting(world: World) -> None:
    """So that writing the files anew loses none."""
    state = lay_out(world, "teapot")
    document = _document(state)
    document["draft_entries"][0]["review_status"] = "rejected"
    (state / "memory-drafts" / "thread-a.json").write_text(json.dumps(document), encoding="utf-8")
    take_in_edited_files(world.config, world.store, world.clock)
    assert [draft.review_status.value for draft in world.store.drafts.every()] == ["rejected"]


@pytest.mark.parametrize(
    ("name", "own", "session"),
    [
        ("a-1.json", "a-1.json", "a-1"),
        ("a-1.json.refused-2", "a-1.json", "a-1"),
        (f"{TEMPORARY_PREFIX}a.b.md.aside", "a.b.md", "a.b"),
        (f"{TEMPORARY_PREFIX}x7", "x7", "x7"),
    ],
)
def test_a_file_beside_another_is_of_the_same_session(name: str, own: str, session: str) -> None:
    """Kept aside, or left between two names."""
    assert (own_name(name), session_named(name)) == (own, session)
