"""What commands print with --json: the shapes that other programs read, for a machine that knows a few sessions."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from command import LONG_ANSWER, Machine, Ran, moment, session
from rollout_logs import ClaudeSession, thread_id_of

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
TIME_KEYS = frozenset({"updated_at", "retry_at", "generated_at", "last_usage", "at", "first_seen", "last_confirmed"})

STATES = frozenset({"pending", "running", "done", "no_output", "error", "exhausted", "gated"})
SOURCES = frozenset({"interactive", "headless", "subagent", "own", "other"})
KINDS = frozenset({"preference", "decision", "procedure", "knowledge", "failure"})

THREAD_KEYS = {
    *("thread_id", "agent", "rollout_path", "cwd", "scope", "source", "updated_at", "state"),
    *("gate", "attempts", "retry_at", "last_error"),
}
SHOWN_THREAD_KEYS = THREAD_KEYS | {
    *("coverage", "raw_memory", "rollout_summary", "slug", "generated_at"),
    *("usage_count", "last_usage", "skipped_lines", "entries"),
}
ENTRY_KEYS = {
    *("entry_id", "kind", "scope", "condition", "statement", "evidence", "label", "review_status"),
}
EVIDENCE_KEYS = {"rollout_path", "byte_start", "byte_end", "line_sha256", "speaker", "at", "quote"}
MEMORY_KEYS = {
    *("memory_id", "kind", "scope", "condition", "statement", "status", "pinned", "entries", "threads"),
    *("first_seen", "last_confirmed", "usage_count", "last_usage", "supersedes", "superseded_by"),
}

OLDER_WORDS = "From now on always use tabs for indentation."
NEWER_WORDS = "From now on always use spaces for indentation, not tabs."


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[Machine, Ran]:
    """A machine after its first run: what it has to tell is only looked at."""
    machine = Machine(tmp_path_factory.mktemp("told") / "machine")
    machine.configure()
    session(1, OLDER_WORDS, age=timedelta(days=5)).write(machine.codex)
    session(2, NEWER_WORDS).shell("pytest -q", "2 passed").answer(LONG_ANSWER).write(machine.codex)
    session(3, "Hello?", age=timedelta(seconds=60), step_seconds=1).write(machine.codex)
    claude = ClaudeSession(thread_id=thread_id_of(4), start=moment(timedelta(days=1)), cwd="/home/sam/web")
    claude.prompt("Please remember that deploys go out on Fridays.").answer(LONG_ANSWER).write(machine.claude)
    return machine, machine.run("run", "--json")


def test_run_tells_both_phases_in_the_agreed_shape(told: tuple[Machine, Ran]) -> None:
    """The counts of a first run: what was found, extracted, held back by name, and written."""
    _, ran = told
    assert (ran.code, ran.err) == (0, "")
    document = ran.document
    seconds = [document[phase].pop("seconds") for phase in ("phase1", "phase2")]
    assert all(isinstance(value, float) and 0 <= value < 30 for value in seconds)
    assert document == {
        "phase1": {
            "discovered": 4,
            "eligible": 3,
            "claimed": 3,
            "succeeded": 3,
            "no_output": 0,
            "failed": 0,
            "skipped": {"too_recent": 1},
            "tokens": {"input": 0, "output": 0},
        },
        "phase2": {"outcome": "consolidated", "selected": 3, "added": 6, "modified": 0, "removed": 0},
    }


def test_threads_list_has_the_agreed_keys_newest_first(told: tuple[Machine, Ran]) -> None:
    """Every thread has one row with exactly the agreed keys, and values from the agreed words."""
    machine, _ = told
    listed = machine.run("threads", "list", "--json").document
    assert [thread["thread_id"] for thread in listed] == [thread_id_of(n) for n in (3, 4, 2, 1)]
    for thread in listed:
        assert thread.keys() == THREAD_KEYS
        assert thread["state"] in STATES
        assert thread["source"] in SOURCES
        assert thread["agent"] in {"codex", "claude"}
        assert Path(thread["rollout_path"]).is_file()
        assert isinstance(thread["attempts"], int)
    held, claude, _, _ = listed
    assert (held["state"], held["gate"], held["attempts"]) == ("gated", "too_recent", 0)
    assert (claude["state"], claude["gate"], claude["scope"]) == ("done", None, "project:/home/sam/web")


def test_threads_show_has_the_agreed_keys_for_every_thread(told: tuple[Machine, Ran]) -> None:
    """A thread with memories and one that was never extracted are shown with the same keys."""
    machine, _ = told
    done, held = machine.thread(2), machine.thread(3)
    assert done.keys() == held.keys() >= SHOWN_THREAD_KEYS
    assert done["coverage"] == "high"
    assert NEWER_WORDS.rstrip(".") in done["raw_memory"]
    assert re.fullmatch(r"[a-z0-9_]{1,60}", done["slug"])
    assert done["usage_count"] == 0
    assert done["skipped_lines"] == {}
    for key in ("coverage", "raw_memory", "rollout_summary", "slug", "generated_at", "last_usage"):
        assert held[key] is None
    assert held["entries"] == []
    for entry in done["entries"]:
        assert entry.keys() == ENTRY_KEYS
        assert entry["kind"] in KINDS
        assert entry["label"] in {"new", "refine", "confirm", "conflict", "ephemeral"}
        assert entry["review_status"] in {"pending", "approved"}
        assert entry["evidence"]
        assert all(line.keys() == EVIDENCE_KEYS for line in entry["evidence"])


def test_evidence_names_the_very_bytes_of_the_line(told: tuple[Machine, Ran]) -> None:
    """The byte range of each piece of evidence cuts a whole line out of the log, and the hash is that line's."""
    machine, _ = told
    seen = 0
    for number in (1, 2, 4):
        for entry in machine.thread(number)["entries"]:
            for line in entry["evidence"]:
                raw = Path(line["rollout_path"]).read_bytes()
                cut = raw[line["byte_start"] : line["byte_end"]]
                assert hashlib.sha256(cut).hexdigest() == line["line_sha256"]
                assert line["byte_start"] == 0 or raw[line["byte_start"] - 1 : line["byte_start"]] == b"\n"
                assert raw[line["byte_end"] : line["byte_end"] + 1] == b"\n"
                assert len(line["quote"]) <= 500
                seen += 1
    assert seen >= 3


def test_memory_list_and_show_have_the_agreed_keys(told: tuple[Machine, Ran]) -> None:
    """Memories are listed with exactly the agreed keys, and one alone is shown as it is listed."""
    machine, _ = told
    listed = machine.memory_list()
    for memory in listed:
        assert memory.keys() == MEMORY_KEYS
        assert memory["kind"] in KINDS
        assert memory["status"] in {"active", "superseded", "retired"}
        assert isinstance(memory["pinned"], bool)
        assert memory["scope"] == "user" or memory["scope"].startswith("project:")
        assert set(memory["threads"]) <= {thread_id_of(number) for number in (1, 2, 4)}
    shown = machine.run("memory", "show", listed[0]["memory_id"], "--json").document
    assert shown == listed[0]


def test_memories_rest_on_entries_that_threads_show(told: tuple[Machine, Ran]) -> None:
    """Whoever reads a memory finds each of its entries with the thread that said it."""
    machine, _ = told
    entries = {entry["entry_id"]: number for number in (1, 2, 4) for entry in machine.thread(number)["entries"]}
    listed = machine.memory_list()
    assert listed
    for memory in listed:
        assert memory["entries"]
        assert {thread_id_of(entries[entry_id]) for entry_id in memory["entries"]} == set(memory["threads"])


def test_a_newer_contradiction_supersedes_and_both_ends_say_so(told: tuple[Machine, Ran]) -> None:
    """The person's later word takes the place of their earlier one; the link is told in both directions."""
    machine, _ = told
    by_statement = {memory["statement"].rstrip("."): memory for memory in machine.memory_list()}
    older, newer = by_statement[OLDER_WORDS.rstrip(".")], by_statement[NEWER_WORDS.rstrip(".")]
    assert (older["status"], older["superseded_by"]) == ("superseded", newer["memory_id"])
    assert (newer["status"], newer["supersedes"]) == ("active", [older["memory_id"]])
    assert NEWER_WORDS.rstrip(".") in machine.handbook()
    assert OLDER_WORDS.rstrip(".") not in machine.handbook()


def test_every_time_is_utc_and_ends_in_z(told: tuple[Machine, Ran]) -> None:
    """Wherever a time stands in a document, it is ISO 8601 in UTC with a Z at its end."""
    machine, _ = told
    documents = [machine.run("threads", "list", "--json").document, machine.thread(2), machine.memory_list()]
    times = [value for key, value in _pairs(documents) if key in TIME_KEYS and value is not None]
    assert len(times) > 10
    assert [value for value in times if not TIME.fullmatch(value)] == []


def test_scan_tells_what_a_run_would_do(told: tuple[Machine, Ran]) -> None:
    """A scan opens nothing that did not change, names what waits, and extracts nothing."""
    machine, _ = told
    document = machine.run("scan", "--json").document
    assert (document["discovered"], document["opened"], document["eligible"]) == (4, 0, 0)
    assert document["skipped"] == {"too_recent": 1}


def test_status_tells_counts_by_state(told: tuple[Machine, Ran]) -> None:
    """The status holds the places, the threads by state, the memories by status and the cost."""
    machine, _ = told
    document = machine.run("status", "--json").document
    assert document["threads"] == {"done": 3, "gated": 1}
    assert document["memories"]["superseded"] == 1
    assert document["state_dir"] == str(machine.state)
    assert document["memories_dir"] == str(machine.memories)
    assert document["tokens"]["last_day"] == 0
    assert document["rate_limit"] == {"snapshots": 0, "holds_paid_work": False}


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("threads", "show", "nobody", "--json"), 2, "there is no thread nobody"),
        (("memory", "show", "m_nothing", "--json"), 2, "there is no memory m_nothing"),
        (("threads", "show", "01a2", "--json"), 2, "several thread ids"),
        (("run", "--limit", "-1", "--json"), 2, "--limit"),
        (("run", "--no-such-option", "--json"), 2, "--no-such-option"),
        (("no-such-command", "--json"), 2, "no-such-command"),
    ],
)
def test_a_refusal_is_one_json_document_and_one_line(
    told: tuple[Machine, Ran], arguments: tuple[str, ...], code: int, words: str
) -> None:
    """Wrong usage gives its exit code, one line for the person, and one JSON document for a program."""
    machine, _ = told
    ran = machine.run(*arguments)
    assert ran.code == code
    assert words in ran.complaint
    assert words in ran.document["error"]
    assert ran.document["exit_code"] == code


def test_a_thread_may_be_named_by_its_beginning(told: tuple[Machine, Ran]) -> None:
    """An unambiguous beginning of an id is enough for memories; the whole id always is for threads."""
    machine, _ = told
    memory_id = machine.memory_list()[0]["memory_id"]
    assert machine.run("memory", "show", memory_id[:-2], "--json").document["memory_id"] == memory_id


def test_tables_fit_the_width_of_the_terminal(told: tuple[Machine, Ran]) -> None:
    """No line of a table is longer than the terminal is wide, and the ids stay whole."""
    machine, _ = told
    for words in (("threads", "list"), ("memory", "list")):
        ran = machine.run(*words, env={"COLUMNS": "80"})
        lines = ran.out.splitlines()
        assert max(len(line.rstrip()) for line in lines) <= 80
    threads = machine.run("threads", "list", env={"COLUMNS": "80"}).out
    assert all(thread_id_of(number) in threads for number in (1, 2, 3, 4))


def test_commands_for_people_end_well_and_show_the_words(told: tuple[Machine, Ran]) -> None:
    """Without --json, threads, memories and the status are shown as text on standard output."""
    machine, _ = told
    memory_id = machine.memory_list()[0]["memory_id"]
    for words in (
        ("status",),
        ("threads", "show", thread_id_of(2)),
        ("threads", "show", thread_id_of(3)),
        ("memory", "show", memory_id),
        ("scan",),
    ):
        ran = machine.run(*words)
        assert (ran.code, ran.err) == (0, "")
        assert ran.out.strip()


def _pairs(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key, inner
            yield from _pairs(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _pairs(inner)
