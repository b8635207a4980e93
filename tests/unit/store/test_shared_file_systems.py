"""On a file system that others may write to, the database does without a write-ahead log, and locks must be real."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from store_samples import NOW

from memory_pipeline.errors import LockedError
from memory_pipeline.lock import UseLock
from memory_pipeline.store.opening import alone
from memory_pipeline.store.store import Store

SHARED = ["nfs4", "cifs", "9p", "virtiofs", "fuse.sshfs"]

_USE = """
import sys
from pathlib import Path
from memory_pipeline.store.store import Store

store = Store(Path(sys.argv[1]), file_system_of=lambda _: "nfs4")
for number in range(20):
    store.extractions.record_usage("thread", "shared", now=float(number))
store.close()
"""


def _on(kind: str | None, path: Path) -> Store:
    return Store(path, file_system_of=lambda _folder: kind)


def _journal_mode(path: Path) -> str:
    plain = sqlite3.connect(path)
    mode = plain.execute("PRAGMA journal_mode").fetchone()[0]
    plain.close()
    return str(mode)


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    """Return where the database of a test lies."""
    return tmp_path / "state" / "memory.db"


@pytest.mark.parametrize("kind", SHARED)
def test_no_write_ahead_log_there(path: Path, kind: str) -> None:
    """The database keeps a rollback journal, and nothing of a write-ahead log lies beside it while it is used."""
    store = _on(kind, path)
    store.extractions.record_usage("thread", "a", now=NOW)
    assert not path.with_name("memory.db-wal").exists()
    assert not path.with_name("memory.db-shm").exists()
    store.close()
    assert _journal_mode(path) == "delete"


@pytest.mark.parametrize("kind", ["ext4", "apfs", "fuseblk", None])
def test_a_write_ahead_log_elsewhere(path: Path, kind: str | None) -> None:
    """A local disk, and one whose type can't be told, carries it."""
    _on(kind, path).close()
    assert _journal_mode(path) == "wal"


def test_a_database_that_was_moved_there_loses_nothing(path: Path) -> None:
    """What stands in a write-ahead log that a killed run left is written back before the log is given up."""
    code = (
        "import os, sys; from pathlib import Path; from memory_pipeline.store.store import Store\n"
        "store = Store(Path(sys.argv[1]))\n"
        "store.extractions.record_usage('thread', 'a', now=1.0)\n"
        "os._exit(1)"
    )
    subprocess.run([sys.executable, "-c", code, str(path)], check=False)
    assert path.with_name("memory.db-wal").stat().st_size > 0
    store = _on("nfs", path)
    assert store.extractions.usage("thread", "a").count == 1
    assert not path.with_name("memory.db-wal").exists()
    store.close()
    assert _journal_mode(path) == "delete"


def test_a_database_that_comes_back_has_its_write_ahead_log_again(path: Path) -> None:
    """The journal follows the file system, in both directions."""
    _on("nfs", path).close()
    _on("ext4", path).close()
    assert _journal_mode(path) == "wal"


def test_several_processes_there_lose_nothing(path: Path) -> None:
    """Processes that write at once wait for one another without a write-ahead log too."""

    def use(_: int) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-c", _USE, str(path)], capture_output=True, text=True, check=False)

    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(use, range(4)))
    assert [(one.returncode, one.stderr) for one in done] == [(0, "")] * 4
    store = _on("nfs4", path)
    assert store.extractions.usage("thread", "shared").count == 80
    store.close()


def test_nobody_has_a_database_alone_while_it_is_used(path: Path) -> None:
    """Whoever mends or replaces it waits for every user, and a user waits for them."""
    store = _on("ext4", path)
    with pytest.raises(LockedError, match="another run uses"), alone(path, wait_seconds=0):
        pass
    store.close()
    with alone(path, wait_seconds=0):
        other = UseLock(path.with_name("database.lock"))
        assert not other.share(wait_seconds=0)
        other.release()


def test_a_killed_user_holds_nothing(path: Path) -> None:
    """The lock of users goes with the process, so that a crash blocks nobody."""
    code = (
        "import os, sys; from pathlib import Path; from memory_pipeline.store.store import Store\n"
        "store = Store(Path(sys.argv[1]))\nos._exit(9)"
    )
    subprocess.run([sys.executable, "-c", code, str(path)], check=False)
    with alone(path, wait_seconds=0):
        pass
