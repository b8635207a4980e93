"""Damage, size, identity and authorship: situations that break readers of logs, and what is right in each."""

from __future__ import annotations

import hashlib
import json
import math
import os
from typing import Any

import pytest
import zstandard
from log_homes import MAX_BYTES, THREAD, Logs, as_bytes

from memory_pipeline.errors import RolloutError, VanishedError
from memory_pipeline.records import EventKind, Source
from memory_pipeline.rollouts.discover import find_rollouts
from memory_pipeline.rollouts.jsonl import MEDIA_RUN_BYTES
from memory_pipeline.rollouts.opening import CHUNK_BYTES
from memory_pipeline.rollouts.reading import read_events

AT = "2026-01-02T03:04:05.000Z"
LATER = "2026-01-02T04:00:00.000Z"


def row(line_type: str, at: Any = AT, /, **payload: Any) -> dict[str, Any]:
    """Give a line of a Codex rollout."""
    return {"timestamp": at, "type": line_type, "payload": payload}


def prompt(text: str, at: Any = AT) -> dict[str, Any]:
    """Give a prompt of a person."""
    return row("response_item", at, type="message", role="user", content=[{"type": "input_text", "text": text}])


META = row("session_meta", id=THREAD, timestamp=AT, cwd="/work/calc", source="cli")


def prompts(logs: Logs, lines: Any) -> list[str]:
    """Give what the person said."""
    return [event.text for event in logs.events(lines) if event.kind is EventKind.PROMPT]


def packed(line: dict[str, Any]) -> bytes:
    """Write one line as the programs do."""
    return json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode()


# --- reading lines


def test_half_a_character_costs_its_line_and_the_line_is_told(codex: Logs) -> None:
    """Between two good lines only the one that ends in half a character is lost."""
    half = packed(prompt("é"))[: packed(prompt("é")).index("é".encode()) + 1]
    events, reading = codex.reading([META, prompt("a"), half, prompt("b")])
    assert [event.text for event in events] == ["a", "b"]
    assert reading.skipped_places == ((3, "not_utf8"),)


def test_one_cut_line_in_thousands_is_told_by_its_number(codex: Logs) -> None:
    """The rest of the file is read, and the place of the loss is known."""
    lines: list[Any] = [META, *[row("world_state", n=number) for number in range(3000)], prompt("a")]
    lines.insert(1500, packed(prompt("lost"))[:40])
    events, reading = codex.reading(lines)
    assert [event.text for event in events] == ["a"]
    assert reading.skipped_places == ((1501, "torn"),)


def test_damage_in_the_middle_of_a_silent_line_is_counted(codex: Logs, claude: Logs) -> None:
    """A line that says nothing is looked at whole all the same: what is no JSON is a loss."""
    for logs, silent in (
        (codex, row("world_state", state="x" * 9000)),
        (claude, {"type": "progress", "x": "y" * 9000}),
    ):
        line = packed(silent)
        _, reading = logs.reading([line[:5000] + b'" "' + line[5000:]])
        assert (reading.skipped_lines, reading.understood_lines) == ({"not_json": 1}, 0)


@pytest.mark.parametrize("undone", [False, True])
def test_turns_are_undone_however_much_was_said_after_them(codex: Logs, undone: bool) -> None:
    """The mark of undone turns stands further on than what is held back in memory reaches."""
    # A character beyond 16 bits makes each of a text's take four bytes in memory.
    long = [row("response_item", type="function_call_output", output="🙂" + "x y " * 1_000_000) for _ in range(4)]
    mark = row("event_msg", type="thread_rolled_back", num_turns=1) if undone else row("world_state")
    lines = [META, prompt("stays"), prompt("first"), *long, mark, prompt("last")]
    named = [row("event_msg", type="user_message", message=text) for text in ("stays", "first", "last")]
    lines[2:2], lines[4:4] = [named[0]], [named[1]]
    events, reading = codex.reading([*lines, named[2]])
    said = [event.text for event in events if event.kind is EventKind.PROMPT]
    assert said == (["stays", "last"] if undone else ["stays", "first", "last"])
    assert len(events) == len(said) + (0 if undone else 4)
    assert (reading.skipped_lines, reading.total_lines) == ({}, 12)


def test_the_last_activity_is_that_of_the_true_last_line(codex: Logs) -> None:
    """A bad line in the middle, or at the end, hides no later time."""
    facts = codex.facts([META, prompt("a"), "{broken", prompt("b", LATER), b"\xff\xff"])
    assert facts.updated_at == 1767326400.0
    assert facts.prompt_count == 2


@pytest.mark.parametrize("left", ["", "   ", "null", "5", '"text"', "[1]", '{"timestamp":', "\0\0\0", "}"])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_what_a_kill_leaves_is_skipped_anywhere(codex: Logs, left: str, place: int) -> None:
    """Cut, blank or no object: first, in the middle or last, the other lines are read."""
    lines: list[Any] = [META, prompt("a")]
    lines.insert(place, left)
    events, reading = codex.reading(lines)
    assert [event.text for event in events] == ["a"]
    assert sum(reading.skipped_lines.values()) == (1 if left.strip() else 0)


def test_a_last_record_without_the_ordinal_of_the_others_counts(codex: Logs) -> None:
    """Ordinals are optional on each line."""
    assert prompts(codex, [{**META, "ordinal": 0}, {**prompt("a"), "ordinal": 1}, prompt("b")]) == ["a", "b"]


def test_a_raw_line_separator_is_part_of_the_words(codex: Logs, claude: Logs) -> None:
    """Separators of Unicode do not split lines of either agent."""
    words = "a\u2028b\u2029c\u0085d"
    assert prompts(codex, [META, prompt(words)]) == [words]
    assert prompts(claude, [{"type": "user", "message": {"content": words}}]) == [words]


def test_a_lone_surrogate_is_replaced_and_can_be_stored(codex: Logs) -> None:
    """The words come through, and can be written as UTF-8."""
    lone = packed(prompt("x!")).replace(b"x!", b"\\udc88!")
    (event,) = codex.events([META, lone])
    assert event.text.encode() == "\ufffd!".encode()
    assert codex.facts([META, lone]).title == "\ufffd!"


def test_a_byte_order_mark_and_carriage_returns_cost_nothing(codex: Logs) -> None:
    """The first line is kept, and every range is the line without its end."""
    content = b"\xef\xbb\xbf" + as_bytes([META, prompt("a"), prompt("b")]).replace(b"\n", b"\r\n")
    events, reading = codex.reading(content)
    assert [event.text for event in events] == ["a", "b"]
    assert [content[event.byte_end : event.byte_end + 2] for event in events] == [b"\r\n", b"\r\n"]
    assert (reading.skipped_lines, reading.notes.thread_id) == ({}, THREAD)


def test_payloads_that_are_strings_are_counted_and_hide_nothing(codex: Logs) -> None:
    """A payload of the wrong kind is a loss at its line, and no unknown type; its neighbours are read."""
    odd = [{"timestamp": AT, "type": kind, "payload": "text"} for kind in ("response_item", "event_msg")]
    events, reading = codex.reading([META, *odd, prompt("a")])
    assert [event.text for event in events] == ["a"]
    assert reading.skipped_places == ((2, "bad_payload"), (3, "bad_payload"))
    assert dict(reading.unknown_types) == {}


def test_two_records_on_one_line_are_two(codex: Logs, claude: Logs) -> None:
    """Whole behind whole, and whole behind torn."""
    silent = packed(row("world_state", full=True))
    assert prompts(codex, [META, silent + packed(prompt("a")), silent[:-5] + packed(prompt("b"))]) == ["a", "b"]
    talk = {"parentUuid": None, "isSidechain": False, "type": "user", "uuid": "u", "message": {"content": "wish"}}
    request = packed({"type": "api-request", "params": {"a": [1]}})
    assert prompts(claude, [request + packed(talk)]) == ["wish"]
    assert prompts(claude, [request[:-6] + packed(talk)]) == ["wish"]


@pytest.mark.parametrize(
    "content",
    [
        as_bytes(
            [
                {"type": "thread.started", "thread_id": THREAD},
                {"type": "turn.started"},
                {"type": "item.completed", "item": {"id": "i", "type": "agent_message", "text": "hi"}},
                {"type": "turn.completed", "usage": {"input_tokens": 1}},
            ]
        ),
        json.dumps([{"type": "user", "text": "a"}, {"b": [1, 2]}], indent=2).encode(),
        json.dumps({"timestamp": AT, "type": "response_item", "payload": {"a": {}}}, indent=2).encode(),
        b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 10,
        b"",
    ],
    ids=["exec --json", "a pretty list", "a pretty object", "no text", "empty"],
)
def test_a_file_of_which_nothing_is_understood_raises_nothing_and_says_so(
    codex: Logs, claude: Logs, content: bytes
) -> None:
    """No line is understood, no event comes of it, whichever agent's log it poses as."""
    for logs in (codex, claude):
        facts = logs.facts(content)
        assert (facts.understood_lines, facts.prompt_count, logs.events(content)) == (0, 0, [])


@pytest.mark.parametrize(
    "at", [1767323045, 1767323045000, "1767323045", "2026-01-02T03:04:05", "2026-01-02T04:04:05+01:00"]
)
def test_times_of_any_spelling_are_accepted(codex: Logs, at: Any) -> None:
    """Numbers in seconds and milliseconds, text, without a zone and with one."""
    (event,) = codex.events([META, prompt("a", at)])
    assert event.at == 1767323045.0


@pytest.mark.parametrize("at", [None, "soon", math.inf, -1, {}, "2026-13-45T99:99:99.000Z", "0001-01-01T00:00:00.000Z"])
def test_a_time_that_can_not_be_costs_the_time_alone(codex: Logs, at: Any) -> None:
    """The words stay, silent lines too, and the other times decide."""
    written = json.dumps([META, row("world_state", at), prompt("a", at), prompt("b", LATER)])
    facts = codex.facts(json.loads(written))
    assert (facts.prompt_count, facts.started_at, facts.updated_at) == (2, 1767323045.0, 1767326400.0)


def test_a_record_later_than_its_file_tells_no_time(codex: Logs) -> None:
    """One skewed stamp, wherever it stands, neither makes the session newer nor hides when it was."""
    late = row("world_state", "2098-01-01T00:00:00.000Z")
    for lines in ([META, late, prompt("a", LATER)], [META, prompt("a", LATER), late], [late, META, prompt("a", LATER)]):
        facts = codex.facts(lines)
        assert (facts.started_at, facts.updated_at, facts.newest_at) == (1767323045.0, 1767326400.0, 1767326400.0)
    assert codex.facts([late]).updated_at is None


def test_limits_stamped_later_than_their_file_are_none(codex: Logs) -> None:
    """What they would say could never be replaced by what honest clocks say."""
    limits = {"primary": {"used_percent": 99, "window_minutes": 300, "resets_at": 1767330000}}
    count = {"type": "event_msg", "payload": {"type": "token_count", "info": None, "rate_limits": limits}}
    for at, seen in ((AT, (99.0,)), ("2098-01-01T00:00:00.000Z", ())):
        facts = codex.facts([META, {"timestamp": at, **count}, prompt("a", AT)])
        assert tuple(limit.used_percent for limit in facts.rate_limits) == seen


# --- size


@pytest.mark.parametrize("compressed", [False, True])
def test_a_line_of_megabytes_is_read_around_its_image(codex: Logs, compressed: bool) -> None:
    """The image leaves its size; the words beside it, the hash and the range are those of the line."""
    url = "data:image/png;base64," + "iVBORw0KGgo+/A=" * 400_000
    content = [{"type": "input_text", "text": "before"}, {"type": "input_image", "image_url": url}]
    shown = row("response_item", type="message", role="user", content=[*content, {"type": "text", "text": "after"}])
    file = codex.write([META, shown, prompt("next")])
    if compressed:
        codex.path.with_name(codex.path.name + ".zst").write_bytes(
            zstandard.ZstdCompressor().compress(codex.path.read_bytes())
        )
        plain = codex.path.read_bytes()
        codex.path.unlink()
        (file,) = find_rollouts(codex.agent, str(codex.home))
    else:
        plain = codex.path.read_bytes()
    reading = read_events(file, str(codex.home), max_bytes=MAX_BYTES)
    first, second = reading
    hashes = reading.hash_lines((event.byte_start, event.byte_end) for event in (first, second))
    assert first.text == f"before\n[image, {len(url)} bytes]\nafter"
    assert second.text == "next"
    for event in (first, second):
        whole = plain[event.byte_start : event.byte_end]
        assert hashlib.sha256(whole).hexdigest() == hashes[event.byte_start, event.byte_end]


def test_lines_that_are_no_longer_there_have_no_hash(codex: Logs) -> None:
    """A log that is cut between its reading and the hashing of its evidence is a fault, not a wrong hash."""
    long = "word " * (CHUNK_BYTES // 8)
    file = codex.write([META, prompt(f"first {long}"), prompt(f"second {long}")])
    reading = read_events(file, str(codex.home), max_bytes=MAX_BYTES)
    lines = [(event.byte_start, event.byte_end) for event in reading]
    codex.path.write_bytes(codex.path.read_bytes()[:-3])
    assert list(reading.hash_lines(lines[:1])) == lines[:1]
    with pytest.raises(RolloutError, match="cut while it was read"):
        reading.hash_lines(lines)


def test_a_log_of_one_chunk_has_the_hashes_of_what_was_read(codex: Logs) -> None:
    """Whatever becomes of a small log meanwhile, its hashes are those of the lines that the evidence was read from."""
    file = codex.write([META, prompt("first"), prompt("second")])
    reading = read_events(file, str(codex.home), max_bytes=MAX_BYTES)
    lines = [(event.byte_start, event.byte_end) for event in reading]
    was = codex.path.read_bytes()
    codex.path.write_bytes(was.replace(b"second", b"other!")[:-3])
    assert reading.hash_lines(lines) == {place: hashlib.sha256(was[slice(*place)]).hexdigest() for place in lines}


@pytest.mark.parametrize("words", [1, CHUNK_BYTES // 200])
def test_a_line_has_one_hash_however_it_is_looked_for(codex: Logs, words: int) -> None:
    """From what was read, or from the log as it is stored: the hash of a line is that of its bytes."""
    file = codex.write([META, *(prompt(f"prompt {number} " + "word " * words) for number in range(50))])
    reading = read_events(file, str(codex.home), max_bytes=MAX_BYTES)
    lines = [(event.byte_start, event.byte_end) for event in reading]
    whole = codex.path.read_bytes()
    expected = {place: hashlib.sha256(whole[slice(*place)]).hexdigest() for place in lines}
    assert reading.hash_lines(lines) == expected
    assert read_events(file, str(codex.home), max_bytes=MAX_BYTES).hash_lines(lines) == expected


def test_long_text_is_no_media(codex: Logs) -> None:
    """Words stay whole however long the line is: a blank, an escape or another script shows that they are words."""
    for unit in ("word ", "line\n", "测试"):
        text = unit * (4 * MEDIA_RUN_BYTES // len(unit))
        assert prompts(codex, [META, prompt(text)]) == [text]


def test_several_images_on_one_line_are_each_replaced(codex: Logs) -> None:
    """Each leaves its own size."""
    urls = ["data:image/png;base64," + "iVBO" * 200_000, "data:image/png;base64," + "iVBO" * 300_000]
    content = [{"type": "input_image", "image_url": url} for url in urls]
    (event,) = codex.events([META, row("response_item", type="message", role="user", content=content)])
    assert event.text == "\n".join(f"[image, {len(url)} bytes]" for url in urls)


def test_compacted_history_is_never_new_talk(codex: Logs) -> None:
    """Ten lines that repeat the history add ten marks and not a word."""
    history = [prompt("always x")["payload"]] * 50
    lines = [META, prompt("wish"), *[row("compacted", message="m", replacement_history=history)] * 10]
    facts = codex.facts(lines)
    assert (facts.prompt_count, facts.gives_direction) == (1, False)
    assert [event.kind for event in codex.events(lines)] == [EventKind.PROMPT, *[EventKind.COMPACTED] * 10]


def test_a_file_over_the_limit_is_read_to_the_limit_and_says_so(codex: Logs) -> None:
    """What was read stands; the cut is counted, so that coverage is partial."""
    file = codex.write([META, prompt("a"), prompt("b")])
    limit = len(as_bytes([META, prompt("a")]))
    reading = read_events(file, str(codex.home), max_bytes=limit)
    assert [event.text for event in reading] == ["a"]
    assert reading.skipped_lines == {"past_limit": 1}


# --- identity


def test_the_first_meta_is_the_identity(codex: Logs) -> None:
    """A sub-agent's file carries its own meta, then its parent's."""
    own = row("session_meta", id=THREAD, cwd="/work/calc", source={"subagent": {"thread_spawn": {"depth": 1}}})
    parent = row("session_meta", id="parent", cwd="/elsewhere", source="cli")
    facts = codex.facts([own, parent, prompt("a")])
    assert (facts.thread_id, facts.source, facts.cwd) == (THREAD, Source.SUBAGENT, "/work/calc")


def test_a_file_without_a_meta_has_the_id_of_its_name(codex: Logs) -> None:
    """A lost first line costs no identity."""
    assert codex.facts([prompt("a")]).thread_id == THREAD


def test_a_touched_file_says_nothing_new_and_a_replaced_one_does(codex: Logs) -> None:
    """The digest follows the words, not the file's time, size or silent lines."""
    before = codex.facts([META, prompt("a")])
    os.utime(codex.path, (1, 1))
    after = codex.facts_of_found()
    assert after.content_digest == before.content_digest
    assert codex.facts([META]).content_digest != before.content_digest
    assert codex.facts([META, prompt("b")]).content_digest != before.content_digest


@pytest.mark.parametrize("folder", ["archived_sessions", "sessions"])
def test_the_same_log_compressed_or_archived_is_the_same_thread(codex: Logs, folder: str) -> None:
    """Thread, digest and ranges do not depend on where a log lies and how it is packed."""
    lines = [META, prompt("a"), prompt("b" * 300_000)]
    plain = codex.facts(lines)
    other = codex.home / folder / (codex.path.name + ".zst")
    other.parent.mkdir(exist_ok=True)
    other.write_bytes(zstandard.ZstdCompressor().compress(codex.path.read_bytes()))
    codex.path.unlink()
    (file,) = find_rollouts(codex.agent, str(codex.home))
    facts = codex.facts_of_found()
    assert (facts.thread_id, facts.content_digest) == (plain.thread_id, plain.content_digest)
    assert file.archived == (folder == "archived_sessions")


def test_a_file_that_vanished_is_told_apart_from_one_that_can_not_be_read(codex: Logs) -> None:
    """Vanishing is normal; it has its own error."""
    file = codex.write([META])
    codex.path.unlink()
    with pytest.raises(VanishedError):
        list(read_events(file, str(codex.home), max_bytes=MAX_BYTES))
    codex.path.mkdir()
    with pytest.raises(RolloutError, match="not a regular file"):
        list(read_events(file, str(codex.home), max_bytes=MAX_BYTES))


def test_a_file_that_shrinks_while_it_is_read_keeps_what_was_read(claude: Logs) -> None:
    """Truncated between opening and reading: the rest is counted as lost."""
    first, last = ({"type": "user", "message": {"content": text}} for text in "ab")
    file = claude.write([first, *[{"type": "progress", "text": "x y " * 60_000} for _ in range(3)], last])
    reading = read_events(file, str(claude.home), max_bytes=MAX_BYTES)
    events = iter(reading)
    assert next(events).text == "a"
    os.truncate(claude.path, 5)
    assert [event.text for event in events] == []
    assert reading.skipped_lines["vanished"] == 1


# --- whose words, where


@pytest.mark.parametrize(
    ("written", "folder"),
    [
        ("C:\\work\\calc", "C:/work/calc"),
        ("\\\\?\\c:\\work\\calc\\", "C:/work/calc"),
        ("\\\\server\\share\\calc", "//server/share/calc"),
        ("\\\\?\\UNC\\server\\share\\calc", "//server/share/calc"),
        ("file:///C:/work/calc", "C:/work/calc"),
        ("file:///work/a%20b", "/work/a b"),
        ("file://server/share/calc", "//server/share/calc"),
        ("/work//calc/./", "/work/calc"),
        ("calc", None),
        ("", None),
        (7, None),
    ],
)
def test_folders_of_every_spelling_are_brought_to_one(
    codex: Logs, claude: Logs, written: Any, folder: str | None
) -> None:
    """Windows, UNC, URIs and POSIX, in the logs of either agent."""
    assert codex.facts([row("session_meta", id=THREAD, cwd=written), prompt("a")]).cwd == folder
    assert claude.facts([{"type": "user", "cwd": written, "message": {"content": "a"}}]).cwd == folder


def test_slugs_that_collide_leave_the_records_folder(claude: Logs) -> None:
    """The project's folder name is never turned back into a path."""
    (event,) = claude.events([{"type": "user", "cwd": "/work/calc/sub", "message": {"content": "a"}}])
    assert event.cwd == "/work/calc/sub"


def test_a_reviewers_words_under_role_user_are_not_the_persons(codex: Logs) -> None:
    """In a review run, and as a notification in the person's own."""
    review = row("session_meta", id=THREAD, source="cli", thread_source="guardian_review")
    assert codex.facts([review, prompt("always x")]).source is Source.SUBAGENT
    note = "<subagent_notification>\nalways x\n</subagent_notification>"
    facts = codex.facts([META, prompt(note), prompt("wish")])
    assert (facts.prompt_count, facts.gives_direction, facts.title) == (1, False, "wish")


def test_our_own_runs_are_recognised_by_where_they_ran(codex: Logs, claude: Logs) -> None:
    """A model run inside our workspace is no session of the person, whatever it says of itself."""
    inside = row("session_meta", id=THREAD, cwd="/state/memories/run", source="cli")
    assert codex.facts([inside, prompt("a")], own_folders=["/state/memories"]).source is Source.OWN
    talk = {"type": "user", "cwd": "/state/memories", "entrypoint": "cli", "message": {"content": "a"}}
    assert claude.facts([talk], own_folders=["/state/memories"]).source is Source.OWN
