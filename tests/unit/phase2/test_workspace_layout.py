"""The workspace's input files: raw memories and summaries, the same bytes for the same selection."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st
from phase2_world import entry, selected, task

from memory_pipeline.phase1.extract import clean_slug
from memory_pipeline.phase2.layout import RAW_MEMORIES, lay_out, summary_path

SAID = entry("use uv", thread="thread-a")


def test_raw_memories_hold_each_thread_with_its_header() -> None:
    """Per thread: heading, four header lines, a blank one, and the raw memory."""
    item = selected("thread-a", task(SAID, title="Add a linter"))
    files = lay_out([item], [])
    assert files[RAW_MEMORIES].decode() == (
        "# Raw Memories\n"
        "\n"
        "## Thread `thread-a`\n"
        "updated_at: 2026-09-20T14:13:20.000Z\n"
        "cwd: /home/sam/shop\n"
        "rollout_path: /home/sam/.codex/sessions/thread-a.jsonl\n"
        f"rollout_summary_file: {summary_path(item)}\n"
        "\n"
        "### Task 1: Add a linter\n"
        "outcome: success\n"
        "- preference: use uv [user, 2026-09-20]\n"
    )


def test_a_summary_file_has_its_header_lines_and_a_blank_one() -> None:
    """Five header lines, a blank one, the summary."""
    item = selected("thread-a")
    assert lay_out([item], [])[summary_path(item)].decode() == (
        "thread_id: thread-a\n"
        "updated_at: 2026-09-20T14:13:20.000Z\n"
        "rollout_path: /home/sam/.codex/sessions/thread-a.jsonl\n"
        "cwd: /home/sam/shop\n"
        "git_branch: main\n"
        "\n"
        "- Tidied the shop (success)\n"
    )


def test_threads_come_in_ascending_id_whatever_the_order_of_selection() -> None:
    """The same selection gives the same bytes."""
    items = [selected(f"thread-{letter}", slug=f"slug_{letter}") for letter in "cab"]
    files = lay_out(items, [])
    assert files == lay_out(list(reversed(items)), [])
    assert list(files) == list(lay_out(list(reversed(items)), []))
    headings = re.findall(r"^## Thread `(.+)`$", files[RAW_MEMORIES].decode(), re.MULTILINE)
    assert headings == ["thread-a", "thread-b", "thread-c"]


def test_a_cited_thread_has_a_summary_but_no_raw_memory() -> None:
    """What a memory rests on stays readable after its thread left the selection; each file comes once."""
    chosen, cited = selected("thread-a"), selected("thread-b")
    files = lay_out([chosen], [cited, chosen])
    assert summary_path(cited) in files
    assert b"thread-b" not in files[RAW_MEMORIES]
    assert len(files) == 3


def test_an_empty_selection_is_a_heading_alone() -> None:
    """The file is there even when nothing is in it."""
    assert lay_out([], []) == {RAW_MEMORIES: b"# Raw Memories\n"}


@given(slug=st.text(max_size=200), started=st.one_of(st.none(), st.floats(0, 4e9)))
@settings(max_examples=100, deadline=None)
def test_file_names_are_plain_whatever_the_session_was_about(slug: str, started: float | None) -> None:
    """Time, four letters, a slug of at most 60 plain characters: no name can leave the folder."""
    path = summary_path(selected("thread-a", slug=clean_slug(slug), started_at=started))
    name = r"rollout_summaries/\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-[a-z2-7]{4}-[a-z0-9_]{1,60}\.md"
    assert re.fullmatch(name, path)


def test_sessions_that_began_in_the_same_second_have_files_of_their_own() -> None:
    """The four letters tell threads of one time and one slug apart."""
    items = {f"thread-{number}": selected(f"thread-{number}") for number in range(50)}
    assert len({summary_path(item) for item in items.values()}) == 50


@given(folder=st.text(max_size=3_000), branch=st.text(max_size=50))
@settings(max_examples=100, deadline=None)
def test_an_odd_or_endless_folder_stays_in_its_line(folder: str, branch: str) -> None:
    """No path or branch from a log can add a line, a heading, or fill the file."""
    item = selected("thread-a", cwd=folder, git_branch=branch)
    for content in lay_out([item], []).values():
        lines = content.decode().split("\n")
        assert len([line for line in lines if line.startswith("cwd:")]) == 1
        assert len([line for line in lines if line.startswith("#")]) <= 2
        assert max(map(len, lines)) < 1_100
