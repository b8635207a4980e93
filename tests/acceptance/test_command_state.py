"""The commands `state backup`, `state restore` and `state verify`, and what is private, as a person meets them."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from command import Machine, contents, session

RULE = "From now on always run make lint before you commit."


@pytest.fixture
def run_once(machine: Machine) -> Machine:
    """Return a machine on which one session was consolidated."""
    machine.configure()
    session(1, RULE).write(machine.codex)
    assert machine.run("run").code == 0
    return machine


def test_a_backup_is_made_checked_and_restored(run_once: Machine) -> None:
    """What was changed after the backup is as it was then; each command says what it did."""
    machine = run_once
    path = machine.root / "my backup"
    made = machine.run("state", "backup", str(path), "--json").document
    assert made["path"] == str(path)
    assert made["files"] > 3
    assert machine.run("state", "verify", str(path)).out == "The backup is whole.\n"
    before = machine.handbook()
    assert machine.run("memory", "add", "Use tabs in Makefiles.", "--scope", "user").code == 0
    assert machine.handbook() != before
    ran = machine.run("state", "restore", str(path))
    assert ran.code == 0
    assert "Restored the backup of" in ran.out
    assert machine.handbook() == before
    assert machine.run("state", "verify", "--json").document["faults"] == []


def test_a_damaged_backup_is_told_and_changes_nothing(run_once: Machine) -> None:
    """Verifying ends with 1 and says what to do; restoring ends with 2."""
    machine = run_once
    path = machine.root / "my backup"
    machine.run("state", "backup", str(path))
    (path / "memory.db").write_bytes(b"damaged")
    ran = machine.run("state", "verify", str(path))
    assert ran.code == 1
    assert "is not what was written" in ran.out
    assert "use another backup" in ran.out
    before = contents(machine.memories)
    ran = machine.run("state", "restore", str(path))
    assert (ran.code, "nothing was changed" in ran.complaint) == (2, True)
    assert contents(machine.memories) == before


def test_looking_changes_nothing(run_once: Machine) -> None:
    """`state verify` writes no file but its lock, also where there is no state yet."""
    machine = run_once
    before = contents(machine.state)
    assert machine.run("state", "verify").code == 0
    assert contents(machine.state) == before
    assert machine.run("--state-dir", str(machine.root / "nowhere"), "state", "verify").code == 0
    assert not (machine.root / "nowhere").exists()


@pytest.mark.parametrize("umask", [0o000, 0o022])
def test_whatever_the_umask_everything_is_private(machine: Machine, umask: int) -> None:
    """After runs, a backup, a restoring and a mended damage, files are 0600 and folders 0700."""
    machine.configure()
    session(1, RULE).write(machine.codex)
    path = machine.root / "my backup"
    for words in (("run",), ("memory", "add", "Use tabs in Makefiles."), ("state", "backup", str(path))):
        assert machine.run(*words, umask=umask).code == 0
    assert machine.run("state", "restore", str(path), umask=umask).code == 0
    machine.database.write_bytes(b"damaged")
    assert machine.run("run", umask=umask).code == 0
    found = [machine.state, path, *machine.state.rglob("*"), *path.rglob("*")]
    assert len(found) > 20
    assert [str(one) for one in found if stat.S_IMODE(one.stat().st_mode) != _wanted(one)] == []


def _wanted(path: Path) -> int:
    if path.is_dir():
        return 0o700
    return 0o600 if path.stat().st_nlink == 1 else 0o400  # what two backups share, nobody writes to
