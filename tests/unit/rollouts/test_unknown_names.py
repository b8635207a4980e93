"""Names of types that are not known come from the log: they are counted, and never shown as they stand."""

from __future__ import annotations

from typing import Any

import pytest
from log_homes import Logs

from memory_pipeline.rollouts.grammar import OTHER_NAMES

FAKE_KEY = "sk-proj-" + "Fake0" * 10


def line(kind: Any) -> dict[str, Any]:
    """Give a line of a type."""
    return {"timestamp": "2026-01-02T03:04:05Z", "type": kind, "payload": {"type": "x"}}


@pytest.mark.parametrize("agent", ["codex", "claude"])
def test_a_secret_in_a_types_name_is_masked(agent: str, request: pytest.FixtureRequest) -> None:
    """It stands neither in the counts of a reading nor in the facts that are stored."""
    logs: Logs = request.getfixturevalue(agent)
    facts = logs.facts([line(f"novel {FAKE_KEY}"), line("novel")])
    assert sum(facts.unknown_types.values()) == 2
    assert "novel" in facts.unknown_types
    assert FAKE_KEY not in repr(facts.unknown_types)


def test_names_are_bounded_in_length_and_number(codex: Logs) -> None:
    """The first fifty are told, cut; the rest is counted together, and a known name goes on being counted."""
    lines = [line("\x1b[31m" + "long" * 5000), *[line(f"novel{number}") for number in range(300)], line("novel0")]
    counts = codex.facts(lines).unknown_types
    assert sum(counts.values()) == 302
    assert len(counts) == 51
    assert (counts["novel0"], counts[OTHER_NAMES]) == (2, 251)
    assert all(len(name) <= 80 and name.isprintable() for name in counts)
