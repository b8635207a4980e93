"""The facts of a thread, and the counts of a reading."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from log_homes import MAX_BYTES, THREAD, Logs

from memory_pipeline.records import EventKind, Source
from memory_pipeline.rollouts.reading import OwnFolders, read_facts

AT = "2026-01-02T03:04:05Z"
LATER = "2026-01-02T04:00:00Z"


def line(kind: str, at: str | None = AT, **payload: Any) -> dict[str, Any]:
    """Give a line of a Codex rollout."""
    return {"timestamp": at, "type": kind, "payload": payload}


def message(role: str, text: str, at: str | None = AT) -> dict[str, Any]:
    """Give a message of a Codex rollout."""
    return line("response_item", at, type="message", role=role, content=[{"type": "text", "text": text}])


META = line("session_meta", id=THREAD, cwd="/work/calc", source="cli", git={"branch": "main", "repository_url": "u"})


def test_facts_count_prompts_answers_and_directions(codex: Logs) -> None:
    """Counts, title, direction and folder come from the person's and the assistant's words."""
    lines = [
        META,
        message("user", "fix it\nfake-secret"),
        message("assistant", "12345"),
        message("user", "always test"),
    ]
    facts = codex.facts(lines)
    assert (facts.prompt_count, facts.result_chars, facts.gives_direction) == (2, 5, True)
    assert facts.title == "fix it [masked]"
    assert (facts.cwd, facts.git_remote, facts.git_branch) == ("/work/calc", "u", "main")
    assert not codex.facts(lines[:3]).gives_direction


def test_a_title_is_one_line_of_at_most_eighty_characters(codex: Logs) -> None:
    """A long prompt is cut, with a sign that it was."""
    title = codex.facts([META, message("user", "word " * 50)]).title
    assert title is not None
    assert len(title) <= 80
    assert title.endswith("…")
    assert codex.facts([META]).title is None


def test_times_are_bounded_by_the_files_own(codex: Logs) -> None:
    """The last believable time counts, wherever it stands, and never one after the file was written."""
    lines = [META, message("user", "a", LATER), message("user", "b", "soon"), message("user", "c", AT)]
    codex.write(lines)
    assert codex.facts(lines).updated_at == 1767326400.0
    assert codex.facts(lines).started_at == 1767323045.0
    future = codex.facts([*lines, message("user", "d", "2098-01-01T00:00:00Z")])
    assert (future.updated_at, future.prompt_count) == (1767326400.0, 4)


def test_a_time_that_has_not_come_is_the_newest_but_does_not_count_yet(codex: Logs) -> None:
    """Under a clock that is behind, the latest time that has come is told, and the newest beside it."""
    file = codex.write([META, message("user", "a", AT), message("user", "b", LATER)])
    told = {}
    for now in (1767323045.0 - 90 * 86_400, 1767323045.0 + 600, 1767326400.0 + 600):
        facts = read_facts(file, str(codex.home), max_bytes=MAX_BYTES, gives_direction=bool, redact_text=str, now=now)
        told[now] = (facts.updated_at, facts.newest_at)
    assert list(told.values()) == [
        (None, 1767326400.0),
        (1767323045.0, 1767326400.0),
        (1767326400.0, 1767326400.0),
    ]


def test_the_digest_changes_with_what_is_said_and_only_then(codex: Logs) -> None:
    """Silent lines leave it, a new prompt changes it."""
    lines = [META, message("user", "a")]
    before = codex.facts(lines).content_digest
    assert codex.facts([*lines, line("world_state"), line("event_msg", type="token_count")]).content_digest == before
    assert codex.facts([*lines, message("user", "b")]).content_digest != before


def test_what_was_lost_is_counted_and_placed(codex: Logs) -> None:
    """Reasons, line numbers and totals are told after the reading."""
    events, reading = codex.reading([META, "not json", message("user", "a"), '{"torn'])
    assert [event.kind for event in events] == [EventKind.PROMPT]
    assert reading.skipped_lines == {"not_json": 1, "torn": 1}
    assert reading.skipped_places == ((2, "not_json"), (4, "torn"))
    assert (reading.total_lines, reading.understood_lines) == (4, 2)


def test_events_point_at_their_line(codex: Logs) -> None:
    """The byte range of an event, cut out of the file, is the line it came from."""
    events = codex.events([META, "", message("user", "é"), message("assistant", "b")])
    content = codex.path.read_bytes()
    assert [b"\xc3\xa9" in content[event.byte_start : event.byte_end] for event in events] == [True, False]
    assert all(content[event.byte_end : event.byte_end + 1] == b"\n" for event in events)


def test_a_pretty_printed_document_is_understood_not_at_all(codex: Logs) -> None:
    """A JSON document under a log's name raises nothing and has no line that is understood."""
    facts = codex.facts(b'{\n  "type": "user",\n  "items": [\n    {\n      "a": 1\n    }\n  ]\n}\n')
    assert (facts.understood_lines, facts.total_lines, facts.prompt_count) == (0, 8, 0)


def test_payloads_of_any_kind_raise_nothing(codex: Logs, claude: Logs) -> None:
    """Values of another type than expected are counted or passed over."""
    odd: list[Any] = [None, 1, "text", [], ["x"], {}, {"type": None}, {"type": ["x"]}, {"type": {}}]
    lines = [
        {"timestamp": 5, "type": kind, "payload": value}
        for value in odd
        for kind in ("response_item", "event_msg", "session_meta", "turn_context", "compacted", None)
    ]
    items = ("message", "function_call", "function_call_output", "web_search_call", "local_shell_call", "agent_message")
    lines += [
        {
            "type": "response_item",
            "payload": {
                "type": kind,
                "role": "user",
                "content": value,
                "output": value,
                "arguments": value,
                "action": value,
            },
        }
        for value in odd
        for kind in items
    ]
    codex.events(lines)
    talk = [
        {"type": kind, "uuid": value, "message": value}
        for value in odd
        for kind in ("user", "assistant", "system", "attachment")
    ]
    talk += [{"type": kind, "message": {"content": [value]}} for value in odd for kind in ("user", "assistant")]
    talk += [
        {
            "type": "user",
            "toolUseResult": value,
            "message": {"content": [{"type": "tool_result", "content": value, "tool_use_id": value}]},
        }
        for value in odd
    ]
    claude.events(talk)


@pytest.mark.parametrize(
    ("cwd", "own"),
    [
        ("/state/memories", True),
        ("/state/memories/skills", True),
        ("/state/memories-of-mine", False),
        ("/home/dev/.codex/memories", True),
        ("/home/dev/.codex/memories_v2/x", True),
        ("/home/dev/.codex", False),
        (None, False),
    ],
)
def test_a_session_in_a_memory_workspace_is_our_own(cwd: str | None, own: bool) -> None:
    """By our workspace's folder, and by the folders in which Codex keeps its own memory."""
    assert OwnFolders(["/state/memories/"]).hold(cwd) is own


def test_a_link_to_a_memory_workspace_leads_into_it(tmp_path: Path) -> None:
    """A session that ran in a link to our folder is our own, and so is one in the folder when the setting is a link."""
    (tmp_path / "memories").mkdir()
    (tmp_path / "link").symlink_to("memories")
    (tmp_path / ".codex/memories").mkdir(parents=True)
    (tmp_path / "codex-link").symlink_to(".codex/memories")
    assert OwnFolders([f"{tmp_path}/memories"]).hold(f"{tmp_path}/link/skills")
    assert OwnFolders([f"{tmp_path}/link"]).hold(f"{tmp_path}/memories")
    assert OwnFolders([]).hold(f"{tmp_path}/codex-link")
    assert not OwnFolders([f"{tmp_path}/link"]).hold(f"{tmp_path}/other")


def test_a_remote_that_a_later_meta_names_is_the_sessions(codex: Logs) -> None:
    """A repeat of the file's own meta may name what the first one did not; another thread's meta may not."""
    bare = line("session_meta", id=THREAD, cwd="/work/calc", source="cli")
    other = line("session_meta", id="another", git={"repository_url": "theirs"})
    assert codex.facts([bare, message("user", "a"), META]).git_remote == "u"
    assert codex.facts([bare, message("user", "a"), other]).git_remote is None
    later = line("session_meta", id=THREAD, git={"repository_url": "later"})
    assert codex.facts([META, message("user", "a"), later]).git_remote == "u"


def test_an_own_folder_overrides_the_source(codex: Logs) -> None:
    """A session that says cli but ran inside the workspace is own."""
    assert codex.facts([META], own_folders=["/work/calc"]).source is Source.OWN


def test_a_claude_thread_is_its_file(claude: Logs) -> None:
    """Whatever session ids the lines name, the stem is the thread."""
    assert claude.facts([{"type": "user", "sessionId": "other", "message": {"content": "hi"}}]).thread_id == THREAD
