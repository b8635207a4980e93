"""What the person does to MEMORY.md becomes memories, with evidence; the rest stays as they wrote it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from phase2_world import DAY, NOW, OTHER_PROJECT, PROJECT, World, entry, facts, learned

from memory_pipeline.phase2.edits import told_by
from memory_pipeline.records import Agent, EntryKind, JournalAction, MemoryStatus, Phase2Outcome, RolloutFile, Speaker
from memory_pipeline.rollouts.journal import Journal

CONSOLIDATED, NO_CHANGES = Phase2Outcome.CONSOLIDATED, Phase2Outcome.NO_CHANGES


class CrashError(Exception):
    """Stands for the end of the program at some step."""


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A workspace that tells one thing of the user and some of two projects."""
    made = World(tmp_path)
    made.says(
        "thread-a",
        entry("use tabs for indentation"),
        entry("run make lint before every commit"),
        learned("the cache lives in /var/tmp/shop"),
        entry("answer in English", scope="user"),
    )
    made.says("thread-b", entry("use spaces for indentation", scope=OTHER_PROJECT), cwd="/home/sam/blog")
    made.run()
    yield made
    made.close()


def replacing(old: str, new: str | None) -> Callable[[list[str]], list[str]]:
    """Replace words in the one line that holds them, or take the line out."""

    def change(lines: list[str]) -> list[str]:
        (index,) = [number for number, line in enumerate(lines) if old in line]
        return [*lines[:index], *([lines[index].replace(old, new)] if new is not None else []), *lines[index + 1 :]]

    return change


def after(words: str, *added: str) -> Callable[[list[str]], list[str]]:
    """Add lines behind the first line that holds these words."""

    def change(lines: list[str]) -> list[str]:
        index = next(number for number, line in enumerate(lines) if words in line)
        return [*lines[: index + 1], *added, *lines[index + 1 :]]

    return change


def test_an_added_item_becomes_a_pinned_memory_of_its_group(world: World) -> None:
    """Scope and kind are those of the place; it stands in the person's own words, once, and rests on the journal."""
    world.write_handbook(after("the cache lives", "- the queue is drained by `make drain`"))
    assert world.run().outcome is CONSOLIDATED
    made = world.of("the queue is drained by `make drain`")
    assert (made.scope, made.kind, made.pinned) == (PROJECT, EntryKind.KNOWLEDGE, True)
    (resting,) = world.store.extractions.standing_entries(made.entry_ids).values()
    (line,) = resting.evidence
    assert line.speaker is Speaker.USER
    journal = Path(line.rollout_path).read_bytes()
    assert b"make drain" in journal[line.byte_start : line.byte_end]
    told = world.handbook.read_text(encoding="utf-8")
    assert told.count("make drain") == 1
    assert "- the queue is drained by `make drain` (" in told
    assert world.run().outcome is NO_CHANGES


def test_a_reworded_line_keeps_its_memory(world: World) -> None:
    """Id, entries and history stay; what the sessions said before does not come back beside it."""
    before = world.of("run make lint before every commit")
    world.write_handbook(replacing("run make lint before every commit", "run make lint and make test before a commit"))
    world.run()
    made = world.of("run make lint and make test before a commit")
    assert made.memory_id == before.memory_id
    assert set(before.entry_ids) < set(made.entry_ids)
    world.says("thread-c", entry("run make lint before every commit", at=NOW - 2 * DAY))
    world.run()
    assert "before every commit" not in world.handbook.read_text(encoding="utf-8")
    assert world.of(made.statement).thread_ids == ("journal", "thread-a", "thread-c")


def test_the_person_says_the_old_words_again_after_the_edit(world: World) -> None:
    """A newer word in a session is a newer word: it is not swallowed by the edit."""
    world.write_handbook(replacing("use tabs for indentation", "use spaces for indentation"))
    world.run()
    world.clock.moment = NOW + 9 * DAY
    world.says("thread-c", entry("use tabs for indentation", at=NOW + 8 * DAY))
    world.run()
    assert {words for scope, words in world.told() if scope == PROJECT and "indentation" in words} == {
        "use tabs for indentation"
    }


def test_a_removed_line_retires_its_memory_for_good(world: World) -> None:
    """Said again in another session, it stays out; what it said is still found."""
    world.write_handbook(replacing("use tabs", None))
    world.run()
    retired = world.of("use tabs for indentation")
    assert retired.status is MemoryStatus.RETIRED
    assert "took it out" in retired.reason
    world.clock.moment = NOW + 3 * DAY
    world.says("thread-c", entry("use tabs for indentation", at=NOW + 2 * DAY))
    world.run()
    assert world.of("use tabs for indentation").status is MemoryStatus.RETIRED
    assert "use tabs" not in world.handbook.read_text(encoding="utf-8")


def test_lines_moved_within_their_group_say_nothing(world: World) -> None:
    """Sorting is no edit: nothing is retired, added or reworded, and nothing stands twice."""
    operations = len(world.store.memories.operations_after(0))

    def swap(lines: list[str]) -> list[str]:
        first, second = (
            next(number for number, line in enumerate(lines) if words in line)
            for words in ("use tabs", "run make lint")
        )
        lines[first], lines[second] = lines[second], lines[first]
        return lines

    world.write_handbook(swap)
    world.run()
    assert len(world.store.memories.operations_after(0)) == operations
    told = world.handbook.read_text(encoding="utf-8")
    assert [told.count(words) for words in ("use tabs", "run make lint")] == [1, 1]


def test_a_line_moved_to_another_group_holds_there(world: World) -> None:
    """The person lifts a rule of one project to every project."""

    def lift(lines: list[str]) -> list[str]:
        (line,) = [one for one in lines if "run make lint" in one]
        lines.remove(line)
        index = next(number for number, one in enumerate(lines) if "answer in English" in one)
        return [*lines[: index + 1], line, *lines[index + 1 :]]

    world.write_handbook(lift)
    world.run()
    assert ("user", "run make lint before every commit") in world.told()
    assert (PROJECT, "run make lint before every commit") not in world.told()


def test_an_added_item_of_several_lines_is_one_memory(world: World) -> None:
    """What is indented below an item belongs to it: none of it is cut off, left behind or given to another."""
    added = (
        "- when deploying, run the checks first,",
        "  then wait for the green light",
        "- ask:",
        "  - Sam",
        "  - Kim",
    )
    world.write_handbook(after("use tabs", *added))
    world.run()
    assert (PROJECT, "when deploying, run the checks first, then wait for the green light") in world.told()
    assert (PROJECT, "ask: Sam; Kim") in world.told()
    text = world.handbook.read_text(encoding="utf-8")
    assert not [line for line in text.splitlines() if line.startswith(" ")]
    assert world.run().outcome is NO_CHANGES


def test_lines_below_a_told_line_join_it_when_it_is_reworded(world: World) -> None:
    """Until then they are a note; the marks of the rendering do not get between the person's words."""
    before = world.of("use tabs for indentation").memory_id
    world.write_handbook(after("use tabs", "  (eight wide)"))
    world.run()
    assert world.of("use tabs for indentation").memory_id == before
    world.write_handbook(replacing("use tabs for indentation", "use hard tabs for indentation"))
    world.run()
    assert world.of("use hard tabs for indentation (eight wide)").memory_id == before
    assert world.run().outcome is NO_CHANGES


def test_more_lines_written_after_a_crash_are_not_lost(world: World) -> None:
    """An item whose first line is in the journal already is another edit when its further lines changed."""

    def crash(name: str) -> None:
        if name == "staged":
            raise CrashError

    world.write_handbook(after("use tabs", "- when deploying, run the checks"))
    with pytest.raises(CrashError):
        world.run(on_step=crash)
    world.write_handbook(after("when deploying", "  and call Sam"))
    world.run()
    assert (PROJECT, "when deploying, run the checks and call Sam") in world.told()


def test_a_line_struck_out_is_taken_out(world: World) -> None:
    """The memory is retired, and the person's marks stay as they wrote them."""
    world.write_handbook(lambda lines: [f"- ~~{line[2:]}~~" if "use tabs" in line else line for line in lines])
    world.run()
    assert world.of("use tabs for indentation").status is MemoryStatus.RETIRED
    assert "- ~~" in world.handbook.read_text(encoding="utf-8")
    assert world.run().outcome is NO_CHANGES


def test_a_group_that_the_person_calls_otherwise_is_still_that_project(world: World) -> None:
    """Items added and reworded under a new heading hold where they held under the old one."""
    world.write_handbook(lambda lines: ["# My shop" if line == "# Task Group: shop" else line for line in lines])
    world.run()
    world.write_handbook(after("use tabs", "- tag every release"))
    world.write_handbook(replacing("use tabs for indentation", "use wide tabs for indentation"))
    world.run()
    assert {(PROJECT, "tag every release"), (PROJECT, "use wide tabs for indentation")} <= world.told()
    assert "# My shop\n" in world.handbook.read_text(encoding="utf-8")
    assert world.run().outcome is NO_CHANGES


def test_a_memory_worded_like_another_is_told_once(world: World) -> None:
    """The other one rests on the person's word too from then on; the reworded one is out for good."""
    reworded = world.of("run make lint before every commit")
    world.does(JournalAction.EDIT, reworded, statement="use tabs for indentation", was=reworded.statement)
    assert world.store.memories.get(reworded.memory_id).status is MemoryStatus.RETIRED  # type: ignore[union-attr]
    assert len(world.of("use tabs for indentation").entry_ids) == 2
    world.says("thread-c", entry("run make lint before every commit"))
    world.run()
    assert (PROJECT, "run make lint before every commit") not in world.told()


@pytest.mark.parametrize("lost", ["deleted", "emptied", "cut"])
def test_a_lost_journal_takes_nothing_back(world: World, lost: str) -> None:
    """What the person said stays remembered when the file that it was written into is gone, as with any log."""
    world.write_handbook(after("use tabs", "- tag every release"))
    world.write_handbook(replacing("run make lint before every commit", "run make lint before every push"))
    world.run()
    told, path = world.told(), world.config.journal_path
    if lost == "deleted":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:-20] if lost == "cut" else b"")
    world.run()
    assert world.told() == told
    world.does(JournalAction.ADD, kind=EntryKind.PREFERENCE, scope="user", statement="never use emojis")
    assert world.told() == told | {("user", "never use emojis")}


def test_what_is_said_of_a_folder_holds_in_the_project_that_it_is_known_as(world: World) -> None:
    """Once a log names the folder's remote, the folder's own key is no project of its own."""
    reading = facts("thread-r", git_remote="https://example.org/sam/shop.git")
    file = RolloutFile(
        agent=Agent.CODEX,
        path="/home/sam/.codex/sessions/thread-r.jsonl",
        thread_id="thread-r",
        archived=False,
        size=1,
        mtime_ns=1,
        inode=1,
        device=1,
    )
    world.store.threads.record_reading(file, reading, PROJECT, now=NOW)
    world.does(
        JournalAction.ADD, kind=EntryKind.PREFERENCE, scope="project:/home/sam/shop", statement="tag every release"
    )
    assert (PROJECT, "tag every release") in world.told()


def test_marks_of_the_rendering_are_no_words_of_the_person(world: World) -> None:
    """Taking away a date or a task mark changes nothing, and the line is rendered as before."""
    before = world.handbook.read_bytes()
    world.write_handbook(lambda lines: [line.replace(" [Task 1]", "") for line in lines])
    world.run()
    assert world.handbook.read_bytes() == before
    assert Journal(world.config.journal_path).read() == []


@pytest.mark.parametrize(
    "note",
    [
        "A plain sentence of mine.",
        "## My own heading",
        "  - an item below another",
        "```\n- an item inside of code\n```",
        "- " + "word " * 80,
    ],
)
def test_other_text_is_a_note_and_stays_where_it_is(world: World, note: str) -> None:
    """What is no memory is kept as it was written, through later consolidations."""
    world.write_handbook(after("use tabs", note))
    world.run()
    world.says("thread-c", entry("write tests first"))
    world.run()
    lines = world.handbook.read_text(encoding="utf-8")
    assert lines.count(note) == 1
    assert all(statement not in note for _, statement in world.told())
    assert world.run().outcome is NO_CHANGES


def test_an_item_under_a_heading_of_the_person_is_a_note(world: World) -> None:
    """Only the groups that we render have a scope."""
    world.handbook.write_text(
        world.handbook.read_text(encoding="utf-8") + "\n# My list\n- buy milk\n", encoding="utf-8"
    )
    world.run()
    assert "# My list\n- buy milk\n" in world.handbook.read_text(encoding="utf-8")
    assert all(words != "buy milk" for _, words in world.told())


def test_a_secret_in_a_line_of_the_person_is_masked_everywhere(world: World) -> None:
    """Neither the journal, the store nor MEMORY.md keeps it."""
    secret = "ghp_" + "a1B2" * 9
    world.write_handbook(after("the cache lives", f"- the deploy token is {secret}", f"My note with {secret}."))
    world.run()
    assert secret.encode() not in world.config.journal_path.read_bytes()
    assert secret not in world.handbook.read_text(encoding="utf-8")
    assert "My note with" in world.handbook.read_text(encoding="utf-8")


def test_a_persons_line_outdoes_what_was_only_learnt(world: World) -> None:
    """A fact from a tool's output gives way to the person's own, with the link kept."""
    world.says("thread-c", learned("the dev server runs on port 8080"))
    world.run()
    world.write_handbook(after("the dev server runs", "- the dev server runs on port 9090"))
    world.run()
    old, new = world.of("the dev server runs on port 8080"), world.of("the dev server runs on port 9090")
    assert (old.status, old.superseded_by, new.status) == (MemoryStatus.SUPERSEDED, new.memory_id, MemoryStatus.ACTIVE)


@pytest.mark.parametrize("step", ["staged", "committed", "wrote MEMORY.md", "wrote baseline", "finished"])
def test_an_edit_is_taken_in_once_whenever_the_program_ends(world: World, step: str) -> None:
    """After a crash at any step, the next run ends with one memory of the edit and one line."""

    def on_step(name: str) -> None:
        if name == step:
            raise CrashError

    world.write_handbook(after("the cache lives", "- the queue is drained by `make drain`"))
    with pytest.raises(CrashError):
        world.run(on_step=on_step)
    world.run()
    world.run()
    assert world.handbook.read_text(encoding="utf-8").count("make drain") == 1
    assert world.of("the queue is drained by `make drain`").pinned
    assert len(Journal(world.config.journal_path).read()) == 1
    assert world.run().outcome is NO_CHANGES


def test_an_edit_saved_while_publishing_is_taken_in_next_time(world: World) -> None:
    """It stays in the file as it was written, and the next run makes it a memory."""
    world.says("thread-c", entry("write tests first"))

    def on_step(name: str) -> None:
        if name == "committed":
            world.write_handbook(after("use tabs", "- squash before merging"))
            world.write_handbook(replacing("the cache lives", None))

    world.run(on_step=on_step)
    told = world.handbook.read_text(encoding="utf-8")
    assert told.count("- squash before merging\n") == 1
    assert "write tests first" in told
    world.run()
    assert world.of("squash before merging").pinned
    assert world.of("the cache lives in /var/tmp/shop").status is MemoryStatus.RETIRED


def test_the_command_line_does_the_same_as_the_file(world: World) -> None:
    """Add, edit, pin, retire and restore are written into the journal and hold at once."""
    world.does(JournalAction.ADD, kind=EntryKind.PREFERENCE, scope="user", statement="never use emojis")
    assert world.of("never use emojis").pinned
    world.does(JournalAction.UNPIN, world.of("never use emojis"))
    assert not world.of("never use emojis").pinned
    cache = world.of("the cache lives in /var/tmp/shop")
    world.does(JournalAction.EDIT, cache, statement="the cache lives in /srv/cache", was=cache.statement)
    assert world.of("the cache lives in /srv/cache").memory_id == cache.memory_id
    world.does(JournalAction.RETIRE, world.of("use tabs for indentation"))
    assert (PROJECT, "use tabs for indentation") not in world.told()
    world.clock.moment += 60
    world.does(JournalAction.RESTORE, world.of("use tabs for indentation"))
    assert (PROJECT, "use tabs for indentation") in world.told()
    told = world.handbook.read_text(encoding="utf-8")
    assert all(words in told for words in ("never use emojis", "/srv/cache", "use tabs"))
    assert world.run().outcome is NO_CHANGES


def test_what_the_person_restores_stands_against_what_superseded_it(world: World) -> None:
    """Having it told again is their newest word."""
    world.says("thread-c", entry("use spaces for indentation", at=NOW - DAY / 2))
    world.run()
    assert (PROJECT, "use tabs for indentation") not in world.told()
    world.does(JournalAction.RESTORE, world.of("use tabs for indentation"))
    assert (PROJECT, "use tabs for indentation") in world.told()
    assert (PROJECT, "use spaces for indentation") not in world.told()
    world.run()
    assert (PROJECT, "use tabs for indentation") in world.told()


def test_a_locked_workspace_loses_no_deed(world: World) -> None:
    """What the person did while another run held the workspace is taken in by the next one."""
    from memory_pipeline.lock import os_lock
    from memory_pipeline.phase2.places import workspace_lock_path

    with os_lock(workspace_lock_path(world.workspace), purpose="a test"):
        counts = world.does(JournalAction.ADD, kind=EntryKind.PREFERENCE, scope="user", statement="never use emojis")
    assert counts.outcome is Phase2Outcome.LOCKED
    world.run()
    assert ("user", "never use emojis") in world.told()


def test_a_lost_database_learns_from_the_journal_again(world: World, tmp_path: Path) -> None:
    """With a new store and the same sessions, the person's deeds hold again."""
    world.write_handbook(after("the cache lives", "- the queue is drained by `make drain`"))
    world.run()
    world.write_handbook(replacing("use tabs", None))
    world.write_handbook(replacing("run make lint before every commit", "run make lint and make test before a commit"))
    world.run()
    told = world.told()
    world.close()
    for name in ("memory.db", "memory.db-wal", "memory.db-shm"):
        (world.config.state_path / name).unlink(missing_ok=True)
    again = World(tmp_path)
    again.says(
        "thread-a",
        entry("use tabs for indentation"),
        entry("run make lint before every commit"),
        learned("the cache lives in /var/tmp/shop"),
        entry("answer in English", scope="user"),
    )
    again.says("thread-b", entry("use spaces for indentation", scope=OTHER_PROJECT), cwd="/home/sam/blog")
    again.run()
    assert again.told() == told
    again.close()


@pytest.mark.parametrize(
    ("line", "statement", "condition"),
    [
        ('- the user asked: "use uv" (2026-01-02) [Task 1] [Task 3]', "use uv", ""),
        ('- when releasing, the user decided: "tag it" (2026-01-02)', "tag it", "releasing"),
        ('- before a commit, the user asked: "run it"', "run it", "before a commit"),
        ("- use uv", "use uv", ""),
        ("* [ ] use uv (2026-01-02)", "use uv", ""),
        ("2. use uv", "use uv", ""),
        ('- the user asked: "freeze it (2026-01-01)" (2026-01-02) [Task 1]', "freeze it (2026-01-01)", ""),
        ('- the user asked: "use uv", and pin it (2026-01-02) [Task 1]', "use uv, and pin it", ""),
        ("- the user asked: “use uv” (2026-01-02) [Task 1]", "use uv", ""),
        ('- say "hello" first', 'say "hello" first', ""),
    ],
)
def test_a_line_is_read_as_it_was_rendered(line: str, statement: str, condition: str) -> None:
    """What the rendering puts around a statement is taken off again."""
    told = told_by(line)
    assert told is not None
    assert (told.statement, told.condition) == (statement, condition)


@pytest.mark.parametrize(
    "line", ["use uv", "", "-", "- ", "-- use uv", "# - use uv", "- ~~use uv~~", "2.5 use uv", "- " + "x" * 301]
)
def test_what_is_no_short_list_item_tells_nothing(line: str) -> None:
    """Such lines are notes."""
    assert told_by(line) is None


WORDS = st.sampled_from(["alpha", "beta", "gamma", "delta", "use", "never", "run", "make", "lint", "port"])
LINES = st.lists(WORDS, min_size=2, max_size=5).map(" ".join)


@given(
    added=st.lists(st.tuples(st.integers(0, 30), LINES, st.booleans()), max_size=4),
    removed=st.lists(st.integers(0, 30), max_size=2),
)
@settings(max_examples=40, deadline=None)
def test_no_edit_is_lost_and_every_line_leads_to_evidence(
    added: list[tuple[int, str, bool]], removed: list[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Random edits of any lines: what was added stands in the file or among the memories, and a second run is still."""
    world = World(tmp_path_factory.mktemp("edits"))
    try:
        world.says("thread-a", entry("use tabs for indentation"), learned("the cache lives in /var/tmp/shop"))
        world.run()

        def change(lines: list[str]) -> list[str]:
            for index in removed:
                if len(lines) > 14:
                    lines.pop(index % len(lines))
            for index, words, is_item in added:
                lines.insert(index % (len(lines) + 1), f"{'- ' if is_item else ''}{words}")
            return lines

        world.write_handbook(change)
        world.run()
        world.run()
        assert world.run().outcome in (NO_CHANGES, Phase2Outcome.NO_INPUTS)
        told = world.handbook.read_text(encoding="utf-8")
        # Of lines that say the same, one is told; the journal has each.
        written = {line.record.statement for line in Journal(world.config.journal_path).read()}
        for _, words, _is_item in added:
            assert words in told or words in written
        for memory in world.store.memories.every(status=MemoryStatus.ACTIVE):
            entries = world.store.extractions.standing_entries(memory.entry_ids)
            assert entries
            assert all(one.evidence for one in entries.values())
    finally:
        world.close()


def test_an_editor_that_held_the_version_before_takes_nothing_out(world: World) -> None:
    """Saved over a newer file, it brings its edit, and what came since stays remembered and told."""
    held = world.handbook.read_text(encoding="utf-8")
    world.says("thread-c", entry("write tests first"), title="Something new")
    world.run()
    assert "write tests first" in world.handbook.read_text(encoding="utf-8")
    line = next(one for one in held.splitlines() if "the cache lives" in one)
    world.handbook.write_text(held.replace(line, f"{line}\n- the queue is drained by `make drain`"), encoding="utf-8")
    counts = world.run()
    assert any("older version" in problem for problem in counts.problems)
    assert {"write tests first", "the queue is drained by `make drain`"} <= {words for _, words in world.told()}
    told = world.handbook.read_text(encoding="utf-8")
    assert told.count("write tests first") == 1
    assert told.count("make drain") == 1
    assert world.run().outcome is NO_CHANGES


def test_a_note_stays_a_note_when_its_group_goes(world: World) -> None:
    """What was no memory where it stood becomes none where a later rendering leaves it."""
    world.write_handbook(after("## Task 1", "- buy milk"))
    world.run()
    for statement in ("use tabs for indentation", "run make lint before every commit", "answer in English"):
        world.does(JournalAction.RETIRE, world.of(statement))
    world.does(JournalAction.RETIRE, world.of("the cache lives in /var/tmp/shop"))
    world.run()
    assert world.handbook.read_text(encoding="utf-8").count("- buy milk\n") == 1
    assert all(words != "buy milk" for _, words in world.told())
    assert world.run().outcome is NO_CHANGES
