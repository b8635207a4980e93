"""Taking over what stood in a memory folder of another: at the person's word, and nothing of it is lost."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from phase2_world import NOW, PROJECT, World, entry

from memory_pipeline.phase2.adopt import ADOPTED_ORIGIN, adoption_of
from memory_pipeline.records import EntryKind, Phase2Counts, Phase2Outcome
from memory_pipeline.rollouts.journal import Journal

FOUND = """Some words before any heading.

# Task Group: shop
scope: the shop
applies_to: cwd=/home/sam/shop; reuse_rule=this checkout only

## Task 1: mend the cart, success
### rollout_summary_files
- 2026-01-02-abcd-cart.md (cwd=/home/sam/shop)
### keywords
- cart, total

## User preferences
- when committing, the user asked: "run make lint first" [Task 1]
- the user asked: "use pnpm" -> never call npm [Task 1]
  - a line below an item
## Reusable knowledge
- the cart total is rounded once [Task 1]
Loose words of the shop.

# Task Group: everything else
scope: many projects
applies_to: cwd=family of services; reuse_rule=ask

## User preferences
- always answer in rhymes
"""
SCOPES = {"/home/sam/shop": PROJECT}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A workspace in which another's memory stands, and one session of that project."""
    made = World(tmp_path)
    made.workspace.mkdir()
    made.handbook.write_text(FOUND, encoding="utf-8")
    (made.workspace / "memory_summary.md").write_text("v1\n\nTheirs.\n", encoding="utf-8")
    made.says("thread-a", entry("use tabs for indentation"))
    yield made
    made.close()


def adopt(world: World) -> Phase2Counts:
    """Run phase two once, adopting."""
    world.pass_review()
    return world.parts().run_once(adopt=True)


def test_items_of_a_known_project_become_records_and_the_rest_stays_as_notes() -> None:
    """Kind and condition follow section and line; what has no project is never made to hold everywhere."""
    adoption = adoption_of(FOUND, scope_of_folder=SCOPES.get, now=NOW)
    assert [(record.kind, record.condition, record.statement) for record in adoption.records] == [
        (EntryKind.PREFERENCE, "committing", "run make lint first"),
        (EntryKind.PREFERENCE, "", "use pnpm -> never call npm"),
        (EntryKind.KNOWLEDGE, "", "the cart total is rounded once"),
    ]
    assert {(record.scope, record.origin) for record in adoption.records} == {(PROJECT, ADOPTED_ORIGIN)}
    for kept in (
        "Some words before",
        "  - a line below an item",
        "Loose words of the shop.",
        "- always answer in rhymes",
    ):
        assert kept in adoption.notes
    assert "> applies_to: cwd=family of services; reuse_rule=ask" in adoption.notes
    assert "run make lint first" not in adoption.notes


def test_a_secret_is_masked_in_what_is_adopted() -> None:
    """Neither records nor notes carry a token on."""
    token = "ghp_" + "a1B2" * 9
    text = FOUND.replace("use pnpm", token).replace("in rhymes", token)
    adoption = adoption_of(text, scope_of_folder=SCOPES.get, now=NOW)
    assert token not in adoption.notes
    assert all(token not in record.statement for record in adoption.records)


def test_an_adoption_tells_all_in_memories_or_notes(world: World) -> None:
    """The project's statements are memories with evidence, the rest stands in MEMORY.md, and copies are kept."""
    assert world.parts().strangers() == ["MEMORY.md", "memory_summary.md"]
    counts = adopt(world)
    assert counts.outcome is Phase2Outcome.CONSOLIDATED
    assert "taken over: MEMORY.md, memory_summary.md" in counts.problems[0]
    assert world.told() == {
        (PROJECT, "use tabs for indentation"),
        (PROJECT, "run make lint first"),
        (PROJECT, "use pnpm -> never call npm"),
        (PROJECT, "the cart total is rounded once"),
    }
    handbook = world.handbook.read_text(encoding="utf-8")
    for kept in ("Some words before any heading.", "- always answer in rhymes", "Loose words of the shop."):
        assert handbook.count(kept) == 1
    copies = {path.read_text(encoding="utf-8") for path in (world.config.state_path / "replaced").iterdir()}
    assert {FOUND, "v1\n\nTheirs.\n"} <= copies
    assert world.parts().strangers() == []


def test_what_was_adopted_is_adopted_once(world: World) -> None:
    """Another adoption finds a workspace that is ours, and later runs take no note for a memory."""
    adopt(world)
    before, records = world.files(), len(Journal(world.config.journal_path).read())
    assert adopt(world).outcome is Phase2Outcome.NO_CHANGES
    assert world.run().outcome is Phase2Outcome.NO_CHANGES
    assert (world.files(), len(Journal(world.config.journal_path).read())) == (before, records)


def test_an_adoption_keeps_what_was_published_elsewhere_before(tmp_path: Path) -> None:
    """A workspace that moves into a folder where another's memory stands loses none of the two."""
    world = World(tmp_path)
    world.says("thread-a", entry("use tabs for indentation"))
    world.run()
    world.write_handbook(lambda lines: [*lines, "", "A note of mine."])
    world.run()
    world.handbook.write_text(FOUND, encoding="utf-8")
    adopt(world)
    handbook = world.handbook.read_text(encoding="utf-8")
    for kept in ("use tabs for indentation", "run make lint first", "- always answer in rhymes"):
        assert kept in handbook
    assert (PROJECT, "use tabs for indentation") in world.told()
    assert ("user", "always answer in rhymes") not in world.told()
    world.close()


@pytest.mark.parametrize("name", ["MEMORY.md", "memory_summary.md", "rollout_summaries"])
def test_nothing_is_adopted_through_a_link(world: World, tmp_path: Path, name: str) -> None:
    """What is a link is named, and everything stays as it is."""
    target = tmp_path / "elsewhere"
    target.write_text("theirs", encoding="utf-8")
    (world.workspace / name).unlink(missing_ok=True)
    (world.workspace / name).symlink_to(target)
    counts = adopt(world)
    assert counts.outcome is Phase2Outcome.FAILED
    assert name in counts.problems[-1]
    assert target.read_text(encoding="utf-8") == "theirs"
    assert world.parts().strangers() != []


def test_the_empty_list_of_codex_is_no_stranger(world: World) -> None:
    """At its first start Codex writes a raw_memories.md that lists nothing: there is nothing to adopt in it."""
    for name in ("MEMORY.md", "memory_summary.md"):
        (world.workspace / name).unlink()
    raw = world.workspace / "raw_memories.md"
    raw.write_text("# Raw Memories\n\nNo raw memories yet.\n", encoding="utf-8")
    assert world.parts().strangers() == []
    raw.write_text("# Raw Memories\n\n## Thread `a`\nwords\n", encoding="utf-8")
    assert world.parts().strangers() == ["raw_memories.md"]


LINES = st.sampled_from(
    [*FOUND.split("\n"), "", "```", "# Mine", "## Reusable knowledge", "- a fact of somewhere", "words\u2028more", "-"]
)


@settings(max_examples=100)
@given(st.lists(LINES, max_size=25))
def test_no_words_are_lost_in_an_adoption(lines: list[str]) -> None:
    """Every line that says something is a record or a note, apart from headings and what leads to other files."""
    adoption = adoption_of("\n".join(lines), scope_of_folder=SCOPES.get, now=NOW)
    told = adoption.notes + "\n".join(record.statement for record in adoption.records)
    for words in (
        "always answer in rhymes",
        "Loose words of the shop.",
        "words\u2028more",
        "the cart total is rounded once",
    ):
        shown = [line for line in lines if words in line]
        is_index = any(line.startswith("### ") for line in lines)
        assert not shown or is_index or words in told
    assert all(record.scope == PROJECT for record in adoption.records)


def test_the_memory_folder_itself_is_no_project(world: World) -> None:
    """A group that names the workspace as its folder has no known project, though that folder is there."""
    text = f"# Task Group: x\nscope: x; applies_to: cwd={world.workspace}\n## User preferences\n- use pnpm\n"
    world.handbook.write_text(text, encoding="utf-8")
    adopt(world)
    assert world.told() == {(PROJECT, "use tabs for indentation")}
    assert "- use pnpm" in world.handbook.read_text(encoding="utf-8")


def test_a_folder_that_is_on_disk_is_a_project(world: World, tmp_path: Path) -> None:
    """No session needs to know it: the group's folder tells the project."""
    folder = tmp_path / "blog"
    folder.mkdir()
    text = f"# Task Group: x\napplies_to: cwd={folder}; reuse_rule=x\n## User preferences\n- use pnpm\n"
    world.handbook.write_text(text, encoding="utf-8")
    adopt(world)
    assert (f"project:{folder}", "use pnpm") in world.told()
