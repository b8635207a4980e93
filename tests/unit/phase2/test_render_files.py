"""MEMORY.md and memory_summary.md: their shapes, their budgets, and that no statement can break out of its line."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from phase2_world import DAY, NOW, OTHER_PROJECT, PROJECT, entry, learned, memory, selected, task

from memory_pipeline.phase2.layout import summary_path
from memory_pipeline.phase2.operations import new_memory
from memory_pipeline.phase2.render import as_bytes, render_handbook, render_summary, scope_names, told_of
from memory_pipeline.records import Agent, Entry, EntryKind, Memory, SelectedThread, TaskOutcome, Usage
from memory_pipeline.statements import clean_statement, one_line

ROOMY = 1_000_000

STATED = entry("run make lint before every commit", thread="thread-a", at=NOW - 3 * DAY)
UNDER = entry("use tabs", thread="thread-a", condition="editing Makefiles", at=NOW - 2 * DAY)
CHOSEN = entry("keep SQLite", thread="thread-b", kind=EntryKind.DECISION, at=NOW - 2 * DAY)
KNOWN = learned("the cache lives in /var/tmp/shop", thread="thread-a")
FAILED = learned(
    "`make` fails without GNU sed; brew install gnu-sed fixed it", thread="thread-b", kind=EntryKind.FAILURE
)
EVERYWHERE = entry("answer in English", thread="thread-b", scope="user", at=NOW - DAY)
ENTRIES = (STATED, UNDER, CHOSEN, KNOWN, FAILED, EVERYWHERE)

THREADS = {
    "thread-a": selected("thread-a", task(STATED, UNDER, KNOWN, title="Add a linter")),
    "thread-b": selected(
        "thread-b", task(CHOSEN, FAILED, EVERYWHERE, title="Build on macOS", outcome=TaskOutcome.PARTIAL), slug="build"
    ),
}


def memories_of(entries: Sequence[Entry]) -> list[Memory]:
    """Make one memory of each entry, ordered as phase two hands them over."""
    made = [new_memory(f"m_{number:016x}", item, now=NOW) for number, item in enumerate(entries)]
    return sorted(made, key=lambda item: (item.scope, item.first_seen, item.memory_id))


def handbook(memories: Sequence[Memory], threads: dict[str, SelectedThread] = THREADS, max_bytes: int = ROOMY) -> str:
    """Render MEMORY.md as text."""
    return as_bytes(render_handbook(told_of(memories), threads, max_bytes=max_bytes)).decode()


def summary(memories: Sequence[Memory], threads: dict[str, SelectedThread] = THREADS, max_bytes: int = ROOMY) -> str:
    """Render memory_summary.md as text."""
    found = [item.thread for item in threads.values()]
    return render_summary(told_of(memories), found, max_bytes=max_bytes).decode()


# --- MEMORY.md -------------------------------------------------------------------------------------------------------

WHOLE = """\
# Task Group: Everywhere
scope: what the user said holds in every project
applies_to: cwd=any; reuse_rule=safe in every project

## Task 1: Build on macOS, partial
### rollout_summary_files
- {summary_b}
### keywords
- answer, brew, build, english, fails, gnu, gnu-sed, install, macos, sed, sqlite

## User preferences
- the user asked: "answer in English" (2026-09-20) [Task 1]

# Task Group: shop
scope: work in example.org/sam/shop; use it for any task in this project
applies_to: cwd=/home/sam/shop; reuse_rule=only in this project, its clones and its worktrees

## Task 1: Add a linter, success
### rollout_summary_files
- {summary_a}
### keywords
- add, cache, commit, lint, linter, lives, tabs, var/tmp/shop

## Task 2: Build on macOS, partial
### rollout_summary_files
- {summary_b}
### keywords
- answer, brew, build, english, fails, gnu, gnu-sed, install, macos, sed, sqlite

## User preferences
- the user asked: "run make lint before every commit" (2026-09-18) [Task 1]
- when editing Makefiles, the user asked: "use tabs" (2026-09-19) [Task 1]
- the user decided: "keep SQLite" (2026-09-19) [Task 2]

## Reusable knowledge
- the cache lives in /var/tmp/shop (2026-09-20) [Task 1]

## Failures and how to do differently
- `make` fails without GNU sed; brew install gnu-sed fixed it (2026-09-20) [Task 2]
"""


def test_the_handbook_has_the_shape_that_agents_read() -> None:
    """Headings, header lines, task blocks, sections and lines stand as the format says, to the byte."""
    origins = {
        name[-1]: (
            f"{summary_path(THREADS[name])} (cwd=/home/sam/shop, rollout_path=/home/sam/.codex/sessions/{name}.jsonl, "
            f"updated_at=2026-09-20T14:13:20.000Z, thread_id={name})"
        )
        for name in ("thread-a", "thread-b")
    }
    assert handbook(memories_of(ENTRIES)) == WHOLE.format(summary_a=origins["a"], summary_b=origins["b"])


def test_sections_come_in_their_order_and_only_when_they_hold_something() -> None:
    """Preferences, knowledge, failures; a group without one of them has no heading for it."""
    headings = [line for line in handbook(memories_of(ENTRIES)).splitlines() if line.startswith("#")]
    group = headings[headings.index("# Task Group: shop") :]
    assert [line for line in group if not line.startswith(("###", "## Task"))] == [
        "# Task Group: shop",
        "## User preferences",
        "## Reusable knowledge",
        "## Failures and how to do differently",
    ]
    lone = handbook(memories_of([KNOWN]))
    assert "## User preferences" not in lone
    assert "## Failures" not in lone


def test_every_line_of_a_memory_names_it_and_no_other_line_does() -> None:
    """The line map leads from each told line to its memory, once."""
    memories = memories_of(ENTRIES)
    lines = render_handbook(told_of(memories), THREADS, max_bytes=ROOMY)
    told = {line.memory_id: line.text for line in lines if line.memory_id}
    assert set(told) == {item.memory_id for item in memories}
    assert sum(line.memory_id is not None for line in lines) == len(memories)
    for item in memories:
        assert item.statement in told[item.memory_id]
    assert all(not line.text.startswith("#") for line in lines if line.memory_id)


def test_the_same_memories_give_the_same_bytes_whatever_the_time() -> None:
    """Rendering has no clock and no order of its own: dates stay, ages don't exist."""
    memories = memories_of(ENTRIES)
    assert handbook(memories) == handbook(memories, dict(reversed(THREADS.items())))
    assert summary(memories) == summary(list(reversed(memories)), dict(reversed(THREADS.items())))
    assert not re.search(r"\b(ago|days? old|times)\b", handbook(memories) + summary(memories))


def test_use_changes_no_line_of_the_handbook() -> None:
    """Being cited is counted in the store, not in the file."""
    memories = memories_of(ENTRIES)
    used = [replace(item, usage=Usage(count=7, last_usage=NOW)) for item in memories]
    assert handbook(used) == handbook(memories)


def test_a_memory_without_known_time_or_thread_is_told_without_them() -> None:
    """No date is invented, and a missing thread leaves no task mark."""
    lone = memories_of([entry("use uv", at=None, thread="thread-gone")])
    assert '- the user asked: "use uv"' in handbook(lone).splitlines()


def test_nothing_renders_to_nothing() -> None:
    """Without memories MEMORY.md is empty, and the summary says so."""
    assert handbook([]) == ""
    assert "- Nothing is remembered yet." in summary([], {})


def test_of_many_tasks_the_newest_are_shown() -> None:
    """A group names at most twenty tasks, numbered without gaps."""
    threads = {}
    entries = []
    for number in range(30):
        thread_id = f"thread-{number:02}"
        said = entry("use uv", thread=thread_id, at=NOW - number * DAY)
        item = selected(thread_id, task(said, title=f"Job {number}"))
        extraction = replace(item.extraction, source_updated_at=NOW - number * DAY)
        threads[thread_id] = replace(item, extraction=extraction)
        entries.append(said)
    one = replace(
        memories_of(entries[:1])[0],
        entry_ids=tuple(item.entry_id for item in entries),
        thread_ids=tuple(threads),
    )
    text = handbook([one], threads)
    titles = re.findall(r"^## Task (\d+): Job (\d+),", text, re.MULTILINE)
    assert titles == [(str(number + 1), str(number)) for number in range(20)]
    assert text.count("[Task ") == 4


def test_chinese_is_kept_and_its_words_are_keywords() -> None:
    """Statements and keywords in Chinese come out as they went in, conditions without an English lead."""
    said = entry("提交前都要跑 make lint", thread="thread-a", condition="在主分支上")
    threads = {"thread-a": selected("thread-a", task(said, title="添加代码检查"))}
    text = handbook(memories_of([said]), threads)
    assert '- 在主分支上, the user asked: "提交前都要跑 make lint"' in text
    assert "添加代码检查" in text.split("### keywords\n")[1].splitlines()[0]
    everywhere = entry("请用中文回答", scope="user")
    assert '- the user asked: "请用中文回答"' in summary(memories_of([everywhere]))


# --- names of projects -----------------------------------------------------------------------------------------------


def test_a_project_is_named_by_its_last_part() -> None:
    """Short where that is enough, longer where two would read alike."""
    names = scope_names(["user", "project:example.org/sam/shop", "project:example.org/kim/shop", "project:/srv/blog"])
    assert names == {
        "user": "Everywhere",
        "project:example.org/sam/shop": "sam/shop",
        "project:example.org/kim/shop": "kim/shop",
        "project:/srv/blog": "blog",
    }


ALIKE = [
    ["project:shop", "project:kim/shop"],
    ["user", "project:Everywhere"],
    ["project:C:\\work\\shop", "project:C:/work/shop"],
    ["project:/srv/# shop", "project:/srv/shop"],
    [f"project:/{'x' * 100}a", f"project:/{'x' * 100}b"],
    ["project:/", "project://"],
    ["project:/srv/Shop", "project:/srv/shop"],
]


@pytest.mark.parametrize("scopes", ALIKE)
def test_two_scopes_never_share_a_name(scopes: list[str]) -> None:
    """A heading, and the pointer to it, leads to one project only."""
    names = scope_names(scopes)
    assert len({name.casefold() for name in names.values()}) == len(scopes)
    assert all(names.values())


@given(keys=st.lists(st.text(alphabet="ab/\\# <>\n", max_size=12), unique=True, max_size=6))
@settings(max_examples=100, deadline=None)
def test_names_are_unique_and_harmless_for_any_keys(keys: list[str]) -> None:
    """Whatever a folder is called, its name is one harmless line of its own."""
    names = scope_names(["user", *(f"project:{key}" for key in keys)])
    assert len(set(names.values())) == len(keys) + 1
    for name in names.values():
        assert name == one_line(name, 200)


# --- nothing breaks out of its line ----------------------------------------------------------------------------------

ANY_TEXT = st.text(
    alphabet=st.one_of(st.sampled_from("#-*`<>[]()!\n\r\t \u2028\u2029\u200b\x1b|=~_:/\"'1.a"), st.characters()),
    max_size=80,
)


@given(words=ANY_TEXT, condition=ANY_TEXT, title=ANY_TEXT, folder=ANY_TEXT)
@settings(max_examples=100, deadline=None)
def test_no_words_can_start_a_heading_a_list_or_a_tag(words: str, condition: str, title: str, folder: str) -> None:
    """Whatever a log holds, the files have the lines that they have with harmless words."""
    statement = clean_statement(words) or "fine"

    def lines_with(statement: str, condition: str, title: str, folder: str) -> tuple[list[str], list[str]]:
        said = [
            entry(statement, scope=scope, kind=kind, condition=one_line(condition, 200))
            for scope in (PROJECT, "user")
            for kind in (EntryKind.PREFERENCE, EntryKind.KNOWLEDGE)
        ]
        threads = {"thread-a": selected("thread-a", task(*said, title=one_line(title, 80) or "x"), cwd=folder or None)}
        memories = memories_of(said)
        return (
            handbook(memories, threads).split("\n"),
            summary(memories, threads).split("\n"),
        )

    for found, harmless in zip(
        lines_with(statement, condition, title, folder), lines_with("fine words", "", "fine", "/srv"), strict=True
    ):
        assert shapes(found) == shapes(harmless)
        text = "\n".join(found)
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u200b-\u200f\u202a-\u202e]", text)
        assert not re.search(r"<[A-Za-z/!?][^<>]*>", text)


def shapes(lines: Sequence[str]) -> list[str]:
    """Tell what kinds of lines these are, without their words and without keywords, which may be none."""
    kinds = []
    text = re.sub(r"### keywords\n- .*\n", "", "\n".join(lines))
    for line in text.split("\n"):
        if line.startswith("#"):
            kinds.append(line.split(":", maxsplit=1)[0])
        else:
            kinds.append("- item" if line.startswith("- ") else line.split(" ", maxsplit=1)[0])
    return kinds


# --- budgets ---------------------------------------------------------------------------------------------------------

MANY = st.lists(
    st.tuples(
        st.sampled_from(["user", PROJECT, OTHER_PROJECT, "project:/srv/blog"]),
        st.sampled_from(list(EntryKind)),
        st.integers(1, 280),
        st.sampled_from(["a", "汉", "😀"]),
    ),
    max_size=60,
)


@given(
    many=MANY, memory_max_bytes=st.integers(2_000, 12_000), summary_max_bytes=st.sampled_from([500, 600, 1_500, 9_999])
)
@settings(max_examples=60, deadline=None)
def test_budgets_hold_whatever_is_remembered(
    many: list[tuple[str, EntryKind, int, str]], memory_max_bytes: int, summary_max_bytes: int
) -> None:
    """Neither file grows past its limit, and a summary that was cut still has its shape."""
    entries = [
        entry(f"{number} {letter * length}", scope=scope, kind=kind, at=NOW - number * DAY)
        for number, (scope, kind, length, letter) in enumerate(many)
    ]
    threads = {"thread-a": selected("thread-a", task(*entries))}
    memories = memories_of(entries)
    assert len(handbook(memories, threads, memory_max_bytes).encode()) <= memory_max_bytes
    text = summary(memories, threads, summary_max_bytes)
    assert len(text.encode()) <= summary_max_bytes
    assert sections(text) == SUMMARY_SECTIONS


@given(many=MANY, max_bytes=st.integers(0, 9_000))
@settings(max_examples=60, deadline=None)
def test_no_more_gives_way_than_must(many: list[tuple[str, EntryKind, int, str]], max_bytes: int) -> None:
    """Whatever more room would show does not fit into the room there is."""
    entries = [
        entry(f"{number} {letter * length}", scope=scope, kind=kind, at=NOW - number * DAY)
        for number, (scope, kind, length, letter) in enumerate(many)
    ]
    memories = memories_of(entries)
    rendered, whole = handbook(memories, {}, max_bytes), handbook(memories, {})
    for more_bytes in range(max_bytes, len(whole.encode()) + 1, 50):
        fuller = handbook(memories, {}, more_bytes)
        assert fuller == rendered or len(fuller.encode()) > max_bytes


def test_what_gives_way_is_what_nothing_uses_and_nobody_stated() -> None:
    """Under a tight budget, stated and pinned memories stay, then the used ones; what is left out is said."""
    entries = [learned(f"fact {number}: {'x' * 200}", thread="thread-a", at=NOW - number) for number in range(40)]
    stated = entry("use uv", at=NOW - 500 * DAY)
    memories = memories_of([*entries, stated])
    used = next(item for item in memories if item.statement.startswith("fact 39"))
    pinned = next(item for item in memories if item.statement.startswith("fact 38"))
    memories[memories.index(used)] = replace(used, usage=Usage(count=2, last_usage=NOW))
    memories[memories.index(pinned)] = replace(pinned, pinned=True)
    text = handbook(memories, {}, max_bytes=3_000)
    assert "use uv" in text
    assert "fact 39" in text
    assert "fact 38" in text
    assert "fact 37" not in text
    shown = text.count("fact ") + 1
    assert text.endswith(
        f"\n{41 - shown} more memories did not fit here; `memory-pipeline memory list` shows all of them.\n"
    )


def test_a_tight_summary_keeps_the_persons_words_before_pointers() -> None:
    """MEMORY.md repeats the pointers; what holds everywhere is worth more here."""
    entries = [entry(f"rule {number}", scope="user") for number in range(3)]
    entries += [entry("use uv", scope=f"project:/srv/{'p' * 60}{number}") for number in range(30)]
    text = summary(memories_of(entries), max_bytes=1_500)
    assert text.count("rule ") == 3
    assert text.count("# Task Group: p") < 30


# --- memory_summary.md -----------------------------------------------------------------------------------------------

SUMMARY_SECTIONS = ["## User Profile", "## User preferences", "## General Tips", "## What's in Memory"]


def sections(text: str) -> list[str]:
    """The headings of a summary, once its first line is right."""
    lines = text.split("\n")
    assert lines[0] == "v1"
    assert text.endswith("\n")
    return [line for line in lines if line.startswith("#")]


def test_the_summary_states_the_users_scope_and_points_at_projects() -> None:
    """No statement of a project enters it; each project has one pointer line that leads to its heading."""
    memories = memories_of([*ENTRIES, entry("use hugo", scope=OTHER_PROJECT, at=NOW - 9 * DAY)])
    text = summary(memories)
    assert sections(text) == SUMMARY_SECTIONS
    assert '- the user asked: "answer in English" (2026-09-20)' in text
    for item in memories:
        assert (item.statement in text) == (item.scope == "user")
    pointers = text.split("## What's in Memory\n")[1].splitlines()
    assert pointers == [
        "- blog (example.org/sam/blog), last on 2026-09-12: MEMORY.md, `# Task Group: blog`",
        "- shop (example.org/sam/shop), last on 2026-09-20: MEMORY.md, `# Task Group: shop`",
    ]
    for pointer in pointers:
        heading = re.search(r"`(# Task Group: .+)`", pointer)
        assert heading is not None
        assert heading[1] in handbook(memories).splitlines()


def test_the_summary_names_the_agents_at_work() -> None:
    """The profile tells which agents the sessions came from."""
    claude = replace(THREADS["thread-b"], thread=replace(THREADS["thread-b"].thread, agent=Agent.CLAUDE))
    text = summary(memories_of(ENTRIES), {**THREADS, "thread-b": claude})
    assert "- Works with Claude Code and Codex." in text


def test_facts_that_hold_everywhere_are_tips() -> None:
    """What the user stated stands under preferences, what was learned under tips."""
    memories = [
        memory("answer in English", scope="user"),
        memory("brew needs sudo", number=1, scope="user", kind=EntryKind.FAILURE),
    ]
    preferences, tips = summary(memories).split("## General Tips")
    assert "answer in English" in preferences
    assert "brew needs sudo" in tips


def test_of_too_many_projects_the_longest_untouched_give_way() -> None:
    """A tight summary keeps pointers to the newest projects, and says how many are not named."""
    memories = [
        memory(
            f"use port {8000 + number}", scope=f"project:example.org/sam/shop-{number:02}", last_confirmed=NOW + number
        )
        for number in range(40)
    ]
    text = render_summary(told_of(memories), [], max_bytes=1_500).decode()
    assert "shop-39" in text
    assert "shop-00 " not in text
    assert "more projects" in text


@given(st.lists(st.integers(0, 3), min_size=1, max_size=8))
@settings(max_examples=50, deadline=None)
def test_memories_of_one_group_stand_side_by_side(groups: list[int]) -> None:
    """Whatever the groups, each is one run of lines where its first member would stand, and no line is lost."""
    said = [entry(f"rule number {number}", at=NOW - (20 - number) * DAY) for number in range(len(groups))]
    plain = memories_of(said)
    marked = [replace(one, group=f"m_{mark:016x}" if mark else "") for one, mark in zip(plain, groups, strict=True)]
    order = [int(number) for number in re.findall(r"rule number (\d+)", handbook(marked, {}))]
    assert sorted(order) == list(range(len(groups)))
    met = [groups[number] for number in order if groups[number]]
    assert [mark for place, mark in enumerate(met) if place == 0 or met[place - 1] != mark] == list(dict.fromkeys(met))
    ungrouped = [number for number in order if not groups[number]]
    assert ungrouped == sorted(ungrouped)
