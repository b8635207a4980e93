"""The gates, on real logs: each reason holds back its session, is told by name, and lets go when it should."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from command import LONG_ANSWER, Machine, Ran, moment, session, thread_id_of
from model_server import ModelServer, answer
from rollout_logs import ClaudeSession

RULE = "From now on always run make lint before you commit."
MAX_BYTES = 20_000

#: Session number -> the gate that holds it back in a run without options; None: it is extracted.
EXPECTED: Mapping[int, str | None] = {
    1: None,
    2: "too_recent",
    3: "too_old",
    4: "too_short",
    5: None,  # as short, but it gives a direction
    6: "source",
    7: "subagent",
    8: "own_run",
    9: "archived",
    10: "disabled",
    11: "polluted",
    12: None,  # external context is withheld, not skipped
    13: "no_user_message",
    14: "oversize",
    15: "unreadable",
    16: "empty",
    17: "own_run",
    18: "source",
    19: "too_recent",
}
HELD_EVEN_WHEN_FORCED = {
    number: gate for number, gate in EXPECTED.items() if gate not in (None, "too_recent", "too_short")
}


def write_sessions(machine: Machine) -> None:
    """Write one session for every gate that needs only the log, the clock and the settings."""
    session(1, RULE).write(machine.codex)
    session(2, RULE, age=timedelta(minutes=2)).write(machine.codex)
    session(3, RULE, age=timedelta(days=40)).write(machine.codex)
    session(4, step_seconds=2).prompt("What is in the readme?").answer("A short text.").write(machine.codex)
    session(5, step_seconds=2).prompt(RULE).answer("Yes.").write(machine.codex)
    session(6, RULE, source="exec").write(machine.codex)
    session(7, RULE, source={"subagent": "review"}).write(machine.codex)
    session(8, RULE, cwd=str(machine.memories)).write(machine.codex)
    session(9, RULE).write(machine.codex, archived=True)
    session(10, RULE, meta={"memory_mode": "disabled"}).write(machine.codex)
    session(11, RULE, meta={"memory_mode": "polluted"}).write(machine.codex)
    with_web_search(session(12, RULE)).write(machine.codex)
    session(13).answer(LONG_ANSWER).write(machine.codex)
    session(14, RULE).shell("cat big.txt", "word " * MAX_BYTES).write(machine.codex)
    strange = [{"colour": "green", "number": number} for number in range(5)]
    session(15).write(machine.codex).write_text("".join(json.dumps(line) + "\n" for line in strange), encoding="utf-8")
    session(16).write(machine.codex).write_bytes(b"")
    session(17, RULE, meta={"thread_source": "memory_consolidation"}).write(machine.codex)
    headless = ClaudeSession(thread_id=thread_id_of(18), start=moment(timedelta(days=2)), entrypoint="sdk-cli")
    headless.prompt(RULE).answer(LONG_ANSWER)
    headless.lines[0]["promptSource"] = "sdk"
    headless.write(machine.claude)
    recent = ClaudeSession(thread_id=thread_id_of(19), start=moment(timedelta(minutes=3)))
    recent.prompt(RULE).answer(LONG_ANSWER).write(machine.claude)


def with_web_search(made: Any) -> Any:
    """Let the assistant of a Codex session search the web."""
    call = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "x"}}
    made.lines.append({"timestamp": made.lines[-1]["timestamp"], "type": "response_item", "payload": call})
    return made


@pytest.fixture(scope="module")
def gated(tmp_path_factory: pytest.TempPathFactory) -> tuple[Machine, Ran]:
    """A machine with a session for each gate, after one plain run."""
    machine = Machine(tmp_path_factory.mktemp("gated") / "machine")
    machine.configure(gates={"max_rollout_bytes": MAX_BYTES})
    write_sessions(machine)
    return machine, machine.run("run", "--json")


@pytest.fixture(scope="module")
def gates_told(gated: tuple[Machine, Ran]) -> dict[str, dict[str, Any]]:
    """What ``threads list`` tells of them."""
    return gated[0].threads()


@pytest.mark.parametrize("number", EXPECTED)
def test_each_gate_holds_back_its_session_by_name(gates_told: dict[str, dict[str, Any]], number: int) -> None:
    """A session is gated with its reason and no try, or extracted."""
    thread = gates_told[thread_id_of(number)]
    gate = EXPECTED[number]
    assert thread["gate"] == gate
    assert (thread["state"], thread["attempts"]) == (("gated", 0) if gate else ("done", 1))


def test_run_counts_what_each_gate_holds_back(gated: tuple[Machine, Ran]) -> None:
    """The counts of the run name every gate, and nothing that is held back is eligible or claimed."""
    _, ran = gated
    held = [gate for gate in EXPECTED.values() if gate]
    phase1 = ran.document["phase1"]
    assert ran.code == 0
    assert phase1["skipped"] == {gate: held.count(gate) for gate in held}
    assert phase1["eligible"] == phase1["claimed"] == phase1["succeeded"] == len(EXPECTED) - len(held)


def test_each_thread_has_one_row(gates_told: dict[str, dict[str, Any]]) -> None:
    """There are as many rows as sessions on disk, however they are held back."""
    assert gates_told.keys() == {thread_id_of(number) for number in EXPECTED}


def test_force_passes_over_too_recent_and_too_short_only(machine: Machine) -> None:
    """A forced run extracts what is too recent or too short, and nothing else that is held back."""
    machine.configure(gates={"max_rollout_bytes": MAX_BYTES})
    write_sessions(machine)
    assert machine.run("run", "--force", "--json").code == 0
    gates = {number: machine_gate for number, machine_gate in _gates(machine).items() if machine_gate}
    assert gates == HELD_EVEN_WHEN_FORCED
    threads = machine.threads()
    assert {threads[thread_id_of(number)]["state"] for number in (2, 4, 19)} <= {"done", "no_output"}


def test_external_context_skip_and_further_sources_are_settings(machine: Machine) -> None:
    """With "skip" a session that searched the web is held back; with "headless" among the sources exec runs are not."""
    machine.configure(
        gates={"external_context": "skip", "sources": ["interactive", "headless"], "include_archived": True}
    )
    write_sessions(machine)
    machine.run("run", "--phase1", "--json")
    gates = _gates(machine)
    assert gates[12] == "external_context"
    assert [gates[number] for number in (6, 9, 14, 18)] == [None] * 4


def test_no_age_limit_lets_old_sessions_in(machine: Machine) -> None:
    """With max_age_days 0 no session is too old."""
    machine.configure(gates={"max_age_days": 0})
    session(3, RULE, age=timedelta(days=400)).write(machine.codex)
    assert machine.run("run", "--json").document["phase1"]["succeeded"] == 1


def test_a_disabled_source_is_not_read(machine: Machine) -> None:
    """Of an agent that is switched off, nothing is discovered."""
    machine.configure(sources={"claude": {"enabled": False}})
    write_sessions(machine)
    assert {thread["agent"] for thread in machine.threads().values()} == set()
    machine.run("scan", "--json")
    assert {thread["agent"] for thread in machine.threads().values()} == {"codex"}


def test_without_generate_memories_sessions_are_indexed_but_not_extracted(machine: Machine) -> None:
    """The main switch holds everything back, --force included, and says so."""
    machine.configure(settings={"generate_memories": False})
    session(1, RULE).write(machine.codex)
    ran = machine.run("run", "--force", "--json")
    assert ran.code == 0
    assert "generate_memories" in ran.complaint
    assert (ran.document["phase1"]["claimed"], ran.document["phase2"]["outcome"]) == (0, "no_inputs")
    assert len(machine.threads()) == 1


def test_disable_withdraws_what_a_thread_said_and_enable_gives_it_back(machine: Machine) -> None:
    """A disabled thread is gated, --force or not, and its words leave MEMORY.md; enabled again, they return."""
    session(1, "From now on always write commit messages in Latin.").write(machine.codex)
    session(2, RULE).write(machine.codex)
    machine.run("run", "--json")
    assert "Latin" in machine.handbook()

    disabled = machine.run("threads", "disable", thread_id_of(1), "--json").document
    assert (disabled["state"], disabled["gate"]) == ("gated", "disabled")
    forced = machine.run("run", "--force", "--json").document
    assert (forced["phase1"]["claimed"], forced["phase2"]["outcome"]) == (0, "consolidated")
    for name in ("MEMORY.md", "raw_memories.md"):
        text = (machine.memories / name).read_text(encoding="utf-8")
        assert "Latin" not in text
        assert "make lint" in text

    enabled = machine.run("threads", "enable", thread_id_of(1), "--json").document
    assert (enabled["state"], enabled["gate"]) == ("done", None)
    assert machine.run("run", "--json").document["phase1"]["claimed"] == 0
    assert "Latin" in machine.handbook()


def test_a_session_of_a_local_model_stays_off_a_remote_provider(machine: Machine) -> None:
    """The provider policy holds it back from a remote server, --force or not, but not from one on loopback."""
    local = session(1, RULE, meta={"model_provider": "ollama"})
    local.write(machine.codex)
    # An address that leads nowhere: even a mistake would send nothing.
    machine.configure(model={"provider": "openai", "extract_model": "m", "base_url": "http://192.0.2.1:9/v1"})
    ran = machine.run("run", "--force", "--json", env={"OPENAI_API_KEY": "fake-key-for-tests"})
    assert (ran.code, ran.document["phase1"]["skipped"]) == (0, {"provider_policy": 1})
    assert _gates(machine) == {1: "provider_policy"}
    with ModelServer() as server:
        machine.configure(model={"provider": "openai", "extract_model": "m", "base_url": server.base_url})
        assert machine.run("run", "--json").document["phase1"]["no_output"] == 1
        assert len(server.requests) == 1


def test_a_low_quota_holds_paid_calls_until_its_reset(machine: Machine) -> None:
    """While a log reports too little quota left no paid call is made; a window past its reset holds nothing."""
    now = moment(timedelta())
    session_1 = session(1, RULE)
    _report_quota(session_1, used_percent=95, resets_at=int((now + timedelta(hours=1)).timestamp()))
    session_1.write(machine.codex)
    with ModelServer() as server:
        machine.configure(model={"provider": "openai", "extract_model": "m", "base_url": server.base_url})
        ran = machine.run("run", "--force", "--json")
        assert (ran.code, ran.document["phase1"]["skipped"]) == (0, {"rate_limit": 1})
        assert server.requests == []
        assert machine.run("status", "--json").document["rate_limit"]["holds_paid_work"] is True

        _report_quota(session_1, used_percent=95, resets_at=int((now - timedelta(hours=1)).timestamp()))
        session_1.write(machine.codex)
        assert machine.run("run", "--json").document["phase1"]["claimed"] == 1
        assert machine.run("status", "--json").document["rate_limit"] == {"snapshots": 0, "holds_paid_work": False}


def test_a_low_quota_does_not_hold_the_embedded_extractor(machine: Machine) -> None:
    """The quota binds paid calls only."""
    made = session(1, RULE)
    _report_quota(made, used_percent=99, resets_at=int(moment(timedelta(hours=-1)).timestamp()))
    made.write(machine.codex)
    assert machine.run("run", "--json").document["phase1"]["succeeded"] == 1


def test_a_spent_budget_holds_paid_calls(machine: Machine) -> None:
    """A cap that the next call would pass holds it back under the name budget, --force or not; nothing is sent."""
    session(1, RULE).write(machine.codex)
    with ModelServer() as server:
        machine.configure(
            model={"provider": "openai", "extract_model": "m", "base_url": server.base_url},
            budget={"daily_tokens": 50},
        )
        ran = machine.run("run", "--force", "--json")
        assert (ran.code, server.requests) == (0, [])
        assert ran.document["phase1"]["skipped"] == {"budget": 1}
        thread = machine.thread(1)
        assert (thread["state"], thread["gate"], thread["attempts"]) == ("gated", "budget", 0)

        machine.configure(model={"provider": "openai", "extract_model": "m", "base_url": server.base_url})
        assert machine.run("run", "--json").document["phase1"]["no_output"] == 1


def test_a_call_that_would_pass_the_cap_is_not_made(machine: Machine) -> None:
    """What is left of the budget is not enough for the second session: it waits, told as budget, and costs no try."""
    session(1, RULE, age=timedelta(days=1)).write(machine.codex)
    session(2, RULE).write(machine.codex)
    with ModelServer(default=answer({}, input_tokens=9_000, output_tokens=10)) as server:
        machine.configure(
            model={"provider": "openai", "extract_model": "m", "base_url": server.base_url},
            phase1={"concurrency": 1},
            budget={"weekly_tokens": 14_000},
        )
        ran = machine.run("run", "--json")
        assert (ran.code, len(server.requests)) == (0, 1)
        assert "the token budget is spent" in ran.complaint
        assert ran.document["phase1"]["tokens"] == {"input": 9_000, "output": 10}
        threads = machine.threads()
        assert threads[thread_id_of(1)]["state"] == "no_output"
        assert threads[thread_id_of(1)]["gate"] is None
        assert (threads[thread_id_of(2)]["gate"], threads[thread_id_of(2)]["attempts"]) == ("budget", 0)
        tokens = machine.run("status", "--json").document["tokens"]
        assert (tokens["last_day"], tokens["last_week"], tokens["weekly_cap"]) == (9_010, 9_010, 14_000)


def test_limit_extracts_the_newest_first(machine: Machine) -> None:
    """With --limit 2 the two newest sessions are extracted; the others stay pending for the next run."""
    for number in (1, 2, 3, 4):
        session(number, RULE, age=timedelta(days=number)).write(machine.codex)
    ran = machine.run("run", "--limit", "2", "--json").document["phase1"]
    assert (ran["eligible"], ran["claimed"], ran["succeeded"]) == (4, 2, 2)
    threads = machine.threads()
    states = {number: threads[thread_id_of(number)]["state"] for number in (1, 2, 3, 4)}
    assert states == {1: "done", 2: "done", 3: "pending", 4: "pending"}
    assert machine.run("run", "--limit", "0", "--json").document["phase1"]["claimed"] == 0
    assert machine.run("run", "--json").document["phase1"]["claimed"] == 2


def _report_quota(made: Any, *, used_percent: float, resets_at: int) -> None:
    window = {"used_percent": used_percent, "window_minutes": 300, "resets_at": resets_at}
    made.lines.append(
        {
            "timestamp": made.lines[-1]["timestamp"],
            "type": "event_msg",
            "payload": {"type": "token_count", "info": None, "rate_limits": {"primary": window, "secondary": None}},
        }
    )


def _gates(machine: Machine) -> dict[int, str | None]:
    threads = machine.threads()
    numbers = {thread_id_of(number): number for number in EXPECTED}
    return {numbers[thread_id]: thread["gate"] for thread_id, thread in threads.items()}


def test_a_folder_with_a_logs_name_and_a_fifo_are_passed_over(machine: Machine) -> None:
    """Neither hangs a run nor becomes a thread."""
    path = session(1, RULE).write(machine.codex)
    named: Path = path.with_name(path.name.replace(thread_id_of(1), thread_id_of(2)))
    named.mkdir()
    os.mkfifo(path.with_name(path.name.replace(thread_id_of(1), thread_id_of(3))))
    assert machine.run("run", "--json").document["phase1"]["discovered"] == 1
