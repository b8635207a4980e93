"""A full disk at any write: a message, whole files, and the next run goes on as if nothing had been."""

from __future__ import annotations

from datetime import timedelta

import pytest
from command import Machine, Ran, contents, session, wait_until

#: Files may not grow beyond a size: every write past it is refused, as on a full disk, to whichever file it goes.
_LIMITED = """
import resource, sys
limit = int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
from memory_pipeline.cli.main import main
main(sys.argv[2:])
"""

#: What failed is tried again at once, and a lease that could not be given back runs out.
_AT_ONCE = {"backoff_base_seconds": 0, "lease_seconds": 1}

FIRST, SECOND = "Always run make lint before you commit", "From now on, never push to main without asking me"


def _run_limited(machine: Machine, limit: int, *arguments: str) -> Ran:
    program = machine.root / "limited.py"
    program.write_text(_LIMITED, encoding="utf-8")
    return machine.run_program(program, str(limit), "--config", str(machine.root / "config.toml"), *arguments)


@pytest.mark.parametrize("limit", [0, 700, 2_000, 20_000, 70_000, 150_000, 260_000])
def test_wherever_the_space_ends_nothing_is_lost(machine: Machine, limit: int) -> None:
    """Published files are whole and old or new, the state is sound, and the next run has everything."""
    machine.configure(phase1=_AT_ONCE)
    session(1, FIRST + ".").write(machine.codex)
    assert machine.run("run").code == 0
    before = contents(machine.memories)
    session(2, SECOND + ".", age=timedelta(days=1)).write(machine.codex)
    ran = _run_limited(machine, limit, "run")
    assert ran.code in (0, 1)
    assert "Traceback" not in ran.err
    assert "internal error" not in ran.err
    if ran.code:
        assert ran.err.strip()
    after = contents(machine.memories)
    if SECOND not in machine.handbook():
        assert {name: after.get(name) for name in before} == before
    wait_until(lambda: not machine.rows("SELECT 1 FROM jobs WHERE lease_until > strftime('%s', 'now')"))
    assert machine.run("run").code == 0
    assert machine.run("state", "verify").out == "Everything that is kept is whole.\n"
    assert {memory["statement"] for memory in machine.memory_list()} == {FIRST, SECOND}
    assert FIRST in machine.handbook()
    assert SECOND in machine.handbook()
    assert not list(machine.state.rglob(".memory-pipeline-*"))


@pytest.mark.parametrize("limit", [0, 2_000, 70_000])
def test_a_first_start_without_space_says_so(machine: Machine, limit: int) -> None:
    """The message names the file, and once there is space the first start succeeds."""
    machine.configure(phase1=_AT_ONCE)
    session(1, FIRST + ".").write(machine.codex)
    ran = _run_limited(machine, limit, "run")
    assert ran.code == 1
    assert "memory.db" in ran.err
    assert machine.run("run").code == 0
    assert FIRST in machine.handbook()
