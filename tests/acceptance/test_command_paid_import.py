"""Packets imported with a paid provider, against a real HTTP server on loopback: reserved, gated, and paid once."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from command import Machine
from model_server import ModelServer, answer, status

SCOPE = "project:example.org/a"
LEARNED: Mapping[str, Any] = {
    "rollout_summary": "The person gave a rule.",
    "rollout_slug": "tag_rule",
    "tasks": [
        {
            "title": "Tag releases",
            "outcome": "success",
            "entries": [
                {
                    "kind": "procedure",
                    "scope": "project",
                    "condition": "",
                    "statement": "Tag releases with the wombat prefix",
                    "evidence": [1],
                }
            ],
        }
    ],
}


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A machine without sessions."""
    return Machine(tmp_path / "machine")


@pytest.fixture
def packet(tmp_path: Path) -> str:
    """A packet that another tool made."""
    path = tmp_path / "in.md"
    path.write_text(
        "# Session Packet: other-1\n## Turn 4\n### User Requests\n```text\nFrom now on always tag releases with the "
        "wombat prefix.\n```\n### Final Answers\n```text\nNoted.\n```\n",
        encoding="utf-8",
    )
    return str(path)


def use(machine: Machine, server: ModelServer, **tables: Any) -> None:
    """Configure the machine to ask this server in phase one."""
    model = {"provider": "openai", "extract_model": "test-model", "base_url": server.base_url}
    machine.configure(**{"phase2": {"curator": "rules"}, **tables, "model": model})


def bring_in(machine: Machine, packet: str) -> Any:
    """Import the packet, which must succeed."""
    ran = machine.run("packet", "import", packet, "--scope", SCOPE, "--json", env={"OPENAI_API_KEY": "fake"})
    assert ran.code == 0, ran
    return ran.document


def spent(machine: Machine) -> list[tuple[Any, ...]]:
    """What the ledger holds of this session."""
    return machine.rows("SELECT thread_id, input_tokens, output_tokens FROM ledger")


def test_an_import_is_booked_waits_for_a_person_and_is_paid_once(machine: Machine, packet: str) -> None:
    """The tokens that the server tells stand in the ledger under its session; the same packet again asks nobody."""
    with ModelServer([answer(LEARNED, input_tokens=9000, output_tokens=80)], default=status(500)) as server:
        use(machine, server)
        for _ in range(3):
            assert bring_in(machine, packet)["drafts"] == 1
        machine.run("run", "--json")
        assert len(server.requests) == 1
    ((thread_id, input_tokens, output_tokens),) = spent(machine)
    assert (thread_id, input_tokens, output_tokens) == ("other-1", 9000, 80)
    (draft,) = machine.run("drafts", "list", "--all", "--json").document["drafts"]
    assert (draft["review_status"], draft["readiness"]) == ("pending", "needs-raw-review")
    assert machine.memory_list() == []


def test_two_imports_at_once_pay_once(machine: Machine, packet: str) -> None:
    """The second waits for the first, and finds what that one paid for."""
    with ModelServer(default=answer(LEARNED, input_tokens=1200, output_tokens=80)) as server:
        use(machine, server)
        with ThreadPoolExecutor(2) as pool:
            documents = list(pool.map(lambda _: bring_in(machine, packet), range(2)))
        assert len(server.requests) == 1
    assert [document["drafts"] for document in documents] == [1, 1]


def test_a_budget_that_is_too_small_sends_nothing(machine: Machine, packet: str) -> None:
    """The packet is kept, the person is told, and nothing is booked."""
    with ModelServer(default=answer(LEARNED)) as server:
        use(machine, server, budget={"daily_tokens": 500})
        ran = machine.run("packet", "import", packet, "--scope", SCOPE, env={"OPENAI_API_KEY": "fake"})
        assert server.requests == []
        assert ran.code == 1
        assert "more than [budget] allows" in ran.err
        assert spent(machine) == []
        use(machine, server)
        assert bring_in(machine, packet)["drafts"] == 1
        assert len(server.requests) == 1


def test_a_refused_request_costs_nothing_and_can_be_tried_again(machine: Machine, packet: str) -> None:
    """A server that says no leaves the packet as it is."""
    with ModelServer([status(401)], default=answer(LEARNED, input_tokens=9, output_tokens=9)) as server:
        use(machine, server)
        refused = machine.run("packet", "import", packet, "--scope", SCOPE, env={"OPENAI_API_KEY": "fake"})
        assert refused.code == 1
        assert "401" in refused.err
        assert bring_in(machine, packet)["drafts"] == 1
        assert len(server.requests) == 2


def test_a_session_that_the_person_disabled_is_not_sent(machine: Machine, packet: str) -> None:
    """Not by way of its packet either."""
    with ModelServer([answer(LEARNED)], default=status(500)) as server:
        use(machine, server)
        assert bring_in(machine, packet)["drafts"] == 1
        assert machine.run("threads", "disable", "other-1").code == 0
        text = Path(packet).read_text(encoding="utf-8")
        Path(packet).write_text(text.replace("wombat", "quokka"), encoding="utf-8")
        document = bring_in(machine, packet)
        assert document["drafts"] == 0
        assert "held back: disabled" in document["problems"][-1]
        assert len(server.requests) == 1
