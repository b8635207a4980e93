"""Paid work of the real command: caps over several processes, kills, liars, and what cost and status say."""

from __future__ import annotations

import json
from contextlib import ExitStack
from datetime import timedelta
from typing import Any

from command import LONG_ANSWER, Machine, moment, session
from model_server import ModelServer, Request, answer, hang, status, text
from rollout_logs import ClaudeSession, CodexSession, thread_id_of

RULE = "From now on always run make lint before you commit."


def _ask(machine: Machine, server: ModelServer, **tables: Any) -> None:
    machine.configure(model={"provider": "openai", "extract_model": "m", "base_url": server.base_url}, **tables)


def _sent_tokens(request: Request) -> int:
    return len(request.shown.encode()) // 4


def test_three_runs_at_once_keep_to_one_cap(machine: Machine) -> None:
    """A server that tells no usage, and three processes: what was sent stays below the cap, and the rest waits."""
    for number in range(1, 13):
        session(number, RULE, age=timedelta(days=2, minutes=number)).write(machine.codex)
    with ModelServer(default=answer({}, input_tokens=None)) as server:
        _ask(machine, server, phase1={"concurrency": 2}, budget={"daily_tokens": 20_000})
        with ExitStack() as stack:
            runs = [stack.enter_context(machine.start("run", "--phase1", "--json")) for _ in range(3)]
            assert {run.wait().code for run in runs} == {0}
        assert 1 <= len(server.requests) < 12
        assert sum(map(_sent_tokens, server.requests)) <= 20_000
    document = machine.run("status", "--json").document
    assert document["tokens"]["last_day"] <= 20_000
    states = [thread["state"] for thread in machine.threads().values()]
    assert states.count("no_output") == len(server.requests)
    assert {thread["attempts"] for thread in machine.threads().values() if thread["state"] != "no_output"} == {0}


def test_one_project_over_its_cap_waits_alone(machine: Machine) -> None:
    """The other project's sessions are extracted in the same run; status names the project and when it opens."""
    for number in (1, 2, 3):
        session(number, RULE, age=timedelta(days=1, minutes=number), cwd="/home/sam/shop").write(machine.codex)
    session(4, RULE, age=timedelta(days=3), cwd="/home/sam/web").write(machine.codex)
    with ModelServer(default=answer({}, input_tokens=9_000, output_tokens=10)) as server:
        _ask(machine, server, phase1={"concurrency": 1}, budget={"project_daily_tokens": 14_000})
        ran = machine.run("run", "--json")
        assert (ran.code, len(server.requests)) == (0, 2)
        assert "/home/sam/shop is spent (budget.project_daily_tokens)" in ran.complaint
        assert ran.document["phase1"]["skipped"] == {"budget": 2}
        assert machine.thread(4)["state"] == "no_output"
        document = machine.run("status", "--json").document
        assert document["paid_hold"] is None
        (hold,) = document["project_holds"]
        assert hold["project"] == "project:/home/sam/shop"
        assert hold["opens_at"] > moment(timedelta(hours=-23)).isoformat()
        assert machine.run("run", "--json").document["phase1"]["claimed"] == 0
        _ask(machine, server)
        assert machine.run("run", "--json").document["phase1"]["no_output"] == 2


def test_sessions_larger_than_a_cap_keep_no_other_waiting_and_are_looked_at_once(machine: Machine) -> None:
    """More of them than a run may take: the small ones go through, status is true, and a raised cap lets them in."""
    wordy = [f"please look at part {number}: " + "word " * 300 for number in range(40)]
    for number in range(1, 4):
        session(number, *wordy, age=timedelta(hours=5, minutes=number)).write(machine.codex)
    session(4, RULE, age=timedelta(days=2)).write(machine.codex)
    limits = {"concurrency": 1, "max_jobs_per_run": 2}
    with ModelServer(default=answer({}, input_tokens=None)) as server:
        _ask(machine, server, phase1=limits, budget={"daily_tokens": 12_000})
        ran = machine.run("run", "--json")
        assert (ran.code, len(server.requests)) == (0, 1)
        assert machine.thread(4)["state"] == "no_output"
        told = machine.run("log", "--json").document
        again = machine.run("run", "--json")
        assert (again.err, again.document["phase1"]["claimed"]) == ("", 0)
        assert machine.run("log", "--json").document == told
        assert again.document["phase1"]["skipped"] == {"budget": 3}
        assert "more than [budget] allows at all" in machine.thread(1)["last_error"]
        assert "spent" not in machine.run("status").out
        _ask(machine, server, phase1=limits, budget={"daily_tokens": 1_000_000})
        assert machine.run("run", "--json").document["phase1"]["no_output"] == 2


def test_colours_and_other_control_characters_of_a_log_are_paid_for_once(machine: Machine) -> None:
    """They are no damage of the database in which they come to stand: nothing is moved aside and read again."""
    odd = "\x1b[31mred\x1b[0m \x00\x07\x08\x7f\x85\u2028\u202e\ufeff"
    made = session(1, f"{RULE} {odd}", cwd=f"/home/sam/{odd}", remote=f"https://example.org/{odd}.git")
    made.shell(f"make {odd}", odd, exit_code=2).prompt(f"Always {odd}").answer(odd).write(machine.codex)
    claude = ClaudeSession(thread_id=thread_id_of(2), start=moment(timedelta(days=3)), cwd=f"/home/sam/{odd[1:]}")
    claude.prompt(f"{RULE} {odd}").shell(odd, odd, failed=True).answer(f"{LONG_ANSWER}{odd}").write(machine.claude)
    rule = {"kind": "preference", "scope": "project", "condition": "", "statement": RULE, "evidence": [1, 2, 3]}
    value = {"rollout_summary": odd, "rollout_slug": odd, "tasks": [{"title": odd, "outcome": "success"}]}
    value["tasks"][0]["entries"] = [rule]
    with ModelServer(default=answer(value)) as server:
        _ask(machine, server, phase2={"curator": "rules"})
        for _ in range(3):
            ran = machine.run("run", "--json")
            assert (ran.code, ran.err) == (0, "")
        assert len(server.requests) == 2
    assert machine.run("state", "verify").code == 0


def test_a_killed_run_leaves_its_reservation_and_cost_tells_it_apart(machine: Machine) -> None:
    """Nobody knows whether the request was billed, so it counts in full; the session itself is extracted later."""
    session(1, RULE).write(machine.codex)
    with ModelServer(default=hang()) as server:
        _ask(machine, server)
        with machine.start("run", "--json") as running:
            assert server.wait_for_requests(1)
            running.kill()
    told = machine.run("cost", "--json").document
    assert (told["total"]["requests"], told["total"]["unbooked_requests"]) == (1, 1)
    assert told["total"]["tokens"] == told["total"]["unbooked_tokens"] > 10_000
    assert "Requests cut off: 1." in machine.run("cost").out


def test_a_notice_about_a_spent_limit_costs_no_session_a_try(machine: Machine) -> None:
    """The first such answer rests the provider; once the account is mended, everything is extracted."""
    for number in range(1, 8):
        session(number, RULE, age=timedelta(days=2, minutes=number)).write(machine.codex)
    with ModelServer(default=text("You have hit your spending limit.")) as server:
        _ask(machine, server, phase1={"concurrency": 1})
        ran = machine.run("run", "--json")
        assert (ran.code, len(server.requests)) == (1, 1)
        assert "spending or usage limit" in ran.complaint
        assert {thread["attempts"] for thread in machine.threads().values()} == {0}
        server.default = answer({})
        machine.run("threads", "retry", thread_id_of(1))
        assert machine.run("run", "--json").document["phase1"]["no_output"] >= 6


def test_a_low_quota_holds_both_phases_and_says_until_when(machine: Machine) -> None:
    """Nothing is sent, not even for what was extracted before; indexing and rules go on."""
    made = session(1, RULE)
    made.write(machine.codex)
    assert machine.run("run", "--phase1", "--json").document["phase1"]["succeeded"] == 1
    resets = int(moment(timedelta(hours=-2)).timestamp())
    window = {"used_percent": 99.0, "window_minutes": 300, "resets_at": resets}
    limits = {"type": "token_count", "info": None, "rate_limits": {"primary": window, "secondary": None}}
    other = session(2, RULE, age=timedelta(days=1))
    other.lines.append({"timestamp": other.lines[-1]["timestamp"], "type": "event_msg", "payload": limits})
    other.write(machine.codex)
    with ModelServer() as server:
        _ask(machine, server)
        ran = machine.run("run", "--json")
        assert server.requests == []
    assert (ran.code, ran.document["phase2"]["outcome"]) == (0, "consolidated")
    assert ran.document["phase1"]["skipped"] == {"rate_limit": 1}
    assert "make lint" in machine.handbook()
    hold = machine.run("status", "--json").document["paid_hold"]
    assert hold["opens_at"] is not None
    assert "min_rate_limit_remaining_percent" in hold["reason"]
    assert hold["opens_at"] in machine.run("status").out


def test_a_long_session_is_cut_to_what_one_job_may_cost(machine: Machine) -> None:
    """The largest request fits the cap of a job with its answer, and succeeds in one try."""
    made = CodexSession(thread_id=thread_id_of(1), start=moment(timedelta(days=2)), step_seconds=1)
    for number in range(300):
        made.prompt(f"{RULE} And part {number}. " + "word " * 200).answer(LONG_ANSWER)
    made.write(machine.codex)
    with ModelServer() as server:
        _ask(machine, server, phase1={"max_tokens_per_job": 20_000})
        assert machine.run("run", "--json").document["phase1"]["no_output"] == 1
        (request,) = server.requests
    assert _sent_tokens(request) > 5_000
    ((reserved,),) = machine.rows("SELECT reserved_tokens FROM ledger")
    assert reserved <= 20_000


def test_a_day_without_the_provider_is_told_and_eats_no_budget(machine: Machine) -> None:
    """503 after 503: nothing is booked, though more than the cap was reserved; it is extracted when it is back."""
    session(1, RULE).write(machine.codex)
    with ModelServer(default=status(503)) as server:
        _ask(machine, server, budget={"daily_tokens": 30_000})
        for _ in range(3):
            assert machine.run("run", "--phase1", "--json").code == 1
            machine.run("threads", "retry", thread_id_of(1))
        assert machine.run("cost", "--json").document["total"]["tokens"] == 0
        server.default = answer({})
        assert machine.run("run", "--json").document["phase1"]["no_output"] == 1
        asked = len(server.requests)
    assert json.loads(machine.run("cost", "--json").out)["total"]["requests"] == asked
