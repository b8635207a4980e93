"""Eight runs at once on many sessions: each is extracted once, and the workspace has one writer at a time."""

from __future__ import annotations

import contextlib
import itertools
from collections import Counter

from command import Machine, session

SESSIONS = 160
#: Less than what they say, so that a part of it waits for a later consolidation.
MAX_CANDIDATES = 60
RUNS = 8


def test_eight_runs_at_once_share_their_sessions(machine: Machine) -> None:
    """They start together, on no database yet, and end with 0 or 75; nothing is done twice, lost, or left waiting."""
    machine.configure(phase2={"max_candidates": MAX_CANDIDATES})
    for number in range(1, SESSIONS + 1):
        rule = f"From now on always run make check-{number} before you commit."
        session(number, rule if number % 5 else "What does the build do?", cwd=f"/home/sam/p{number % 7}").write(
            machine.codex
        )
    with contextlib.ExitStack() as stack:
        started = [stack.enter_context(machine.start("run", "--json")) for _ in range(RUNS)]
        ran = [each.wait(240) for each in started]
    assert [each.err for each in ran if "database is locked" in each.err] == []
    for each in ran:
        assert each.code == (75 if each.document["phase2"]["outcome"] == "locked" else 0), each.err
    counts = Counter[str]()
    for each in ran:
        counts.update({name: each.document["phase1"][name] for name in ("claimed", "succeeded", "no_output", "failed")})
    assert counts["claimed"] == counts["succeeded"] + counts["no_output"] == SESSIONS
    assert counts["failed"] == 0
    # One fence token a claim: a second one would show a thread that was taken twice.
    assert machine.rows("SELECT count(*), max(fence), max(attempts) FROM jobs") == [(SESSIONS, 1, 1)]
    assert machine.rows("SELECT count(*), count(DISTINCT thread_id) FROM extractions") == [(SESSIONS, SESSIONS)]
    assert machine.rows("SELECT count(*) FROM jobs WHERE state NOT IN ('done', 'no_output')") == [(0,)]
    spans = machine.rows("SELECT started_at, finished_at, state FROM consolidations ORDER BY consolidation_id")
    assert {state for _, _, state in spans} == {"done"}
    assert all(ended <= began for (_, ended, _), (began, _, _) in itertools.pairwise(spans))
    outcomes = [_consolidate_what_is_left(machine) for _ in range(4)]  # a consolidation reads a part of the backlog
    assert outcomes[-1] == "no_changes"
    assert machine.rows(f"SELECT count(*) FROM entries WHERE withdrawn_at IS NULL AND {_UNPLACED}") == [(0,)]


def _consolidate_what_is_left(machine: Machine) -> str:
    ran = machine.run("run", "--json")
    assert (ran.code, ran.document["phase1"]["claimed"]) == (0, 0)
    return str(ran.document["phase2"]["outcome"])


_UNPLACED = "entry_id NOT IN (SELECT entry_id FROM memory_entries)"
