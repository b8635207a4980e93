"""What the commands print as text: it fits the terminal, says what matters, and steers no terminal."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import Shell
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from phase2_world import DAY, NOW, OTHER_PROJECT, entry, facts, learned
from rich.cells import cell_len

from memory_pipeline.cli.output import counted, printable, short_time
from memory_pipeline.clock import iso
from memory_pipeline.config import as_table, load_config
from memory_pipeline.records import (
    Agent,
    Change,
    Gate,
    Memory,
    MemoryStatus,
    Operation,
    OperationKind,
    RolloutFile,
    Usage,
)

THREAD = "01a20000-0000-7000-8000-00000000000a"
OTHER = "01a20000-0000-7000-8000-00000000000b"
HOSTILE = "\x1b[31mred\x1b[0m\x07\x9b2J\u202e[bold]tail[/bold]\r\x00\u200b"


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    """A command line with an empty state."""
    made = Shell(tmp_path)
    yield made
    made.world.close()


@pytest.fixture
def filled(shell: Shell) -> Shell:
    """A command line with two sessions that were consolidated."""
    world = shell.world
    world.says(
        THREAD, entry("use npm", at=NOW - 9 * DAY), entry("提交前都要跑测试", scope="user", byte=5), title="Set up"
    )
    world.says(OTHER, entry("use pnpm", at=NOW - 2 * DAY, condition=""), learned("the cache lives in /var/tmp/shop"))
    world.run()
    world.clock.moment += DAY
    return shell


def memory_id(shell: Shell, statement: str) -> str:
    """The id of the memory that says this."""
    return next(item.memory_id for item in shell.world.store.memories.every() if item.statement == statement)


def hostile_thread(shell: Shell) -> str:
    """Store a thread of which every word that a log can choose tries to steer the terminal."""
    thread_id = f"thread{HOSTILE}"
    file = RolloutFile(
        agent=Agent.CLAUDE,
        path=f"/home/sam/{HOSTILE}.jsonl",
        thread_id=thread_id,
        archived=False,
        size=1,
        mtime_ns=1,
        inode=1,
        device=1,
    )
    told = facts(
        thread_id,
        cwd=f"/srv/{HOSTILE}",
        title=HOSTILE,
        git_branch=HOSTILE,
        unknown_types={HOSTILE: 2},
        skipped_lines={"not_json": 1},
    )
    shell.world.store.threads.record_reading(file, replace(told, agent=Agent.CLAUDE), f"project:{HOSTILE}", now=NOW)
    shell.world.store.jobs.set_gates({thread_id: None})
    lease = shell.world.store.jobs.claim(owner="t", now=NOW, lease_seconds=9, max_attempts=9).lease
    assert lease is not None
    assert shell.world.store.jobs.fail(lease, f"the server said {HOSTILE}", now=NOW, retry_at=NOW + 9, max_attempts=9)
    return thread_id


def hostile_memory(shell: Shell) -> None:
    """Store a memory whose words try the same."""
    made = Memory(
        memory_id="m_hostile",
        kind=entry("x").kind,
        scope=f"project:{HOSTILE}",
        condition=HOSTILE,
        statement=HOSTILE,
        status=MemoryStatus.RETIRED,
        pinned=False,
        first_seen=NOW,
        last_confirmed=NOW,
        learned_at=NOW,
        superseded_by=None,
        reason=HOSTILE,
        entry_ids=(),
        thread_ids=(),
        supersedes=(),
        usage=Usage(),
    )
    store = shell.world.store.memories
    number = store.begin(owner="t", now=NOW)
    done = Operation(kind=OperationKind.RETIRE, memory_id="m_hostile", reason=HOSTILE)
    assert store.commit(number, [made], [], [Change(operation=done, before=None)], now=NOW)
    store.fail(number, f"could not write {HOSTILE}", failures=1, retry_at=NOW + 60, now=NOW)


STEERS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]")


def test_no_command_lets_words_of_a_log_steer_the_terminal(shell: Shell) -> None:
    """Escape sequences, bells, overwriting and reordering never reach it, on either stream."""
    thread_id = hostile_thread(shell)
    hostile_memory(shell)
    for command in (
        ("threads", "list"),
        ("threads", "show", thread_id),
        ("threads", "retry", thread_id),
        ("threads", "disable", thread_id),
        ("threads", "enable", thread_id),
        ("threads", "show", f"no{HOSTILE}"),
        ("memory", "list"),
        ("memory", "show", "m_hostile"),
        ("memory", "show", f"no{HOSTILE}"),
        ("memory", "why", "red"),
        ("memory", "why", f"no{HOSTILE}"),
        ("memory", "lint"),
        ("status",),
        ("run",),
    ):
        printed = shell.call(*command, columns=120)
        assert not STEERS.search(printed.out), command
        assert not STEERS.search(printed.err), command
        assert printed.out or printed.err


@given(text=st.text())
@settings(max_examples=100, deadline=None)
def test_printable_keeps_length_and_every_harmless_character(text: str) -> None:
    """One character for one, so that columns stay where they are."""
    shown = printable(text)
    assert len(shown) == len(text)
    assert shown.isprintable()
    assert all(after == before for before, after in zip(text, shown, strict=True) if before.isprintable())


def test_white_space_of_other_scripts_is_a_space() -> None:
    """A full-width space in Chinese text is no damage."""
    assert printable("先跑\u3000测试\u00a0好") == "先跑 测试 好"


# --- tables ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("columns", [60, 120])
@pytest.mark.parametrize("command", [("threads", "list"), ("memory", "list")])
def test_tables_fit_the_width_and_name_each_row_whole(filled: Shell, command: tuple[str, str], columns: int) -> None:
    """Whatever gives way, it is not the name with which a row can be asked for."""
    printed = filled.call(*command, columns=columns)
    lines = printed.out.splitlines()
    assert printed.code == 0
    assert max(map(width, lines)) <= columns
    store = filled.world.store
    names = [t.thread_id for t in store.threads.every()] + [m.memory_id for m in store.memories.every()]
    shown = [name for name in names if name in printed.out]
    assert len(shown) == (2 if command[0] == "threads" else 4)


def width(line: str) -> int:
    """How many cells a line takes."""
    return cell_len(line)


def test_a_wide_terminal_shows_whole_statements(filled: Shell) -> None:
    """What fits is not cut; what does not fit ends in an ellipsis."""
    long = entry("always write a changelog entry that names the issue and the person who reported it", scope="user")
    filled.world.says("01a20000-0000-7000-8000-00000000000c", long)
    filled.world.run()
    assert long.statement in filled.call("memory", "list", columns=200).out
    narrow = filled.call("memory", "list", columns=60).out
    assert long.statement not in narrow
    assert "…" in narrow


def test_lists_without_rows_say_what_to_do(shell: Shell) -> None:
    """The next command is spelt out, for this very configuration."""
    threads, memories = shell.call("threads", "list"), shell.call("memory", "list")
    assert threads.out.startswith("No sessions.")
    assert memories.out.startswith("No memories.")
    assert str(shell.config) in threads.out
    assert str(shell.config) in memories.out


def test_lists_can_be_narrowed(filled: Shell) -> None:
    """By state, gate, scope and status; what does not match is left out."""
    filled.world.gate(OTHER, Gate.TOO_RECENT)
    filled.world.says("01a20000-0000-7000-8000-00000000000c", entry("use hugo", scope=OTHER_PROJECT))
    filled.world.run()
    assert OTHER in filled.call("threads", "list", "--gate", "too_recent").out
    assert THREAD not in filled.call("threads", "list", "--gate", "too_recent").out
    assert filled.call("threads", "list", "--state", "error").out.startswith("No sessions.")
    assert "use hugo" in filled.call("memory", "list", "--scope", OTHER_PROJECT, columns=160).out
    assert "use pnpm" not in filled.call("memory", "list", "--scope", OTHER_PROJECT, columns=160).out
    superseded = filled.call("memory", "list", "--status", "superseded", columns=160).out
    assert "use npm" in superseded
    assert "use pnpm" not in superseded


# --- single things ---------------------------------------------------------------------------------------------------


def test_a_thread_is_shown_with_the_evidence_of_each_entry(filled: Shell) -> None:
    """Its id may be shortened as far as it names one thread."""
    printed = filled.call("threads", "show", OTHER)
    assert printed.code == 0
    for part in (OTHER, "coverage:", "preference: use pnpm", "knowledge: the cache lives in /var/tmp/shop"):
        assert part in printed.out
    assert f"[user {iso(NOW - 2 * DAY)}] use pnpm" in printed.out
    assert "/home/sam/.codex/sessions/thread-a.jsonl:0-100" in printed.out
    assert filled.call("threads", "show", OTHER[:-1]).code == 2
    assert "several thread ids" in filled.call("threads", "show", OTHER[:-1]).err


def test_a_thread_that_was_not_extracted_says_so(shell: Shell) -> None:
    """State, error and next try are there all the same."""
    printed = shell.call("threads", "show", hostile_thread(shell))
    assert "Nothing was extracted yet." in printed.out
    assert "(tries: 1)" in printed.out
    assert f"retry_at:     {iso(NOW + 9)}" in printed.out


def test_a_memory_is_shown_with_what_it_rests_on_and_its_history(filled: Shell) -> None:
    """Status, reason, link, evidence and every operation."""
    name = memory_id(filled, "use npm")
    printed = filled.call("memory", "show", name[:10])
    assert printed.code == 0
    assert printed.out.startswith("preference: use npm\n")
    assert "status:         superseded" in printed.out
    assert f"superseded_by:  {memory_id(filled, 'use pnpm')}" in printed.out
    assert "reason:         the person said otherwise on" in printed.out
    assert f"from thread {THREAD}: use npm" in printed.out
    assert re.search(r"History:\n  \S+ \S+  add: new\n  \S+ \S+  supersede: the person said otherwise", printed.out)
    other = filled.call("memory", "show", memory_id(filled, "use pnpm"))
    assert f"supersedes:     {name}" in other.out


def test_status_tells_what_is_stored_what_waits_and_what_failed(filled: Shell) -> None:
    """Sentences, not numbers alone; a failed consolidation gives its reason and next try."""
    fine = filled.call("status")
    assert fine.code == 0
    assert "3 active, 1 superseded" in fine.out
    assert "Sessions:  2 done; 0 due now" in fine.out
    assert f"Published: {iso(NOW)}" in fine.out
    filled.world.says("01a20000-0000-7000-8000-00000000000c", entry("commit small"))

    def refuse(step: str) -> None:
        if step == "committed":
            raise OSError(28, "No space left on device")

    filled.world.run(on_step=refuse)
    failed = filled.call("status").out
    assert "the last consolidation failed: No space left on device; next try at 2026-" in failed


def test_the_shown_configuration_can_be_read_back(shell: Shell) -> None:
    """What config show prints is TOML with every key in force."""
    shell.config.write_text(shell.config.read_text() + '[daemon]\nschedule = "0 \\"9\\" * * *"\n')
    printed = shell.call("config", "show")
    assert tomllib.loads(printed.out) == tomllib.loads(tomllib_ready(as_table(load_config(str(shell.config)))))
    assert printed.out.startswith(f"# from {shell.config}\n")
    assert shell.call("config", "path").out == f"{shell.config}\n"


def tomllib_ready(table: dict[str, object]) -> str:
    """Write settings as TOML without the product's help."""
    lines = []

    def put(values: dict[str, object], prefix: str) -> None:
        for name, value in values.items():
            if isinstance(value, dict):
                put(value, f"{prefix}{name}.")
            else:
                lines.append(f"{prefix}{name} = {json.dumps(value)}")

    put(table, "")
    return "\n".join(lines)


def test_a_run_tells_both_phases_and_where_to_look(filled: Shell) -> None:
    """A person reads what happened and the next command; nothing due is said as such."""
    first = filled.call("run")
    assert "Phase two: consolidated" in first.out
    assert "2 raw memories read; 0 files added, 2 modified, 0 removed." in first.out  # the fact has faded by today
    printed = filled.call("run")
    assert printed.code == 0
    assert "Phase one: 0 sessions on disk, 0 due" in printed.out
    assert re.search(r"Phase two: no changes, nothing was touched \(\d+\.\d s\)\.", printed.out)
    assert str(filled.world.handbook) in printed.out


def test_phrases_of_counts_and_times() -> None:
    """Most first, then by name; moments to the minute."""
    assert counted({"source": 1, "too_recent": 3, "archived": 1}) == "3 too_recent, 1 archived, 1 source"
    assert counted({}) == ""
    assert short_time(NOW) == "2026-09-21 14:13"
    assert short_time(None) == ""
