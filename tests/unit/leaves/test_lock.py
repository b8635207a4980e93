"""The OS lock: one holder, gone with its process, never a marker that outlives a crash."""

from __future__ import annotations

import math
import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from memory_pipeline.errors import InterruptedRunError, LockedError, StoreError
from memory_pipeline.lock import Holding, os_lock, who_holds

_HOLD = """
import sys
from pathlib import Path
from memory_pipeline.lock import os_lock

with os_lock(Path(sys.argv[1]), purpose="a test"):
    print("held", flush=True)
    sys.stdin.readline()
"""


def _holder(path: Path) -> subprocess.Popen[str]:
    holder = subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    return holder


def test_a_second_holder_is_refused_with_the_lock_and_its_purpose(tmp_path: Path) -> None:
    """While one block holds the lock another gets an error that says what to do, with exit code 75."""
    path = tmp_path / "run.lock"
    with (
        os_lock(path, purpose="phase two"),
        pytest.raises(LockedError, match="phase two") as caught,
        os_lock(path, purpose="phase two"),
    ):
        pass
    assert caught.value.exit_code == 75
    assert str(path) in str(caught.value)


def test_the_lock_is_free_after_the_block_however_it_ends(tmp_path: Path) -> None:
    """An exception inside the block releases it too."""
    path = tmp_path / "run.lock"
    with pytest.raises(ZeroDivisionError), os_lock(path, purpose="a test"):
        raise ZeroDivisionError
    with os_lock(path, purpose="a test"):
        pass


def test_another_process_excludes_us_until_it_ends(tmp_path: Path) -> None:
    """The lock holds across processes, and an orderly end frees it."""
    path = tmp_path / "run.lock"
    holder = _holder(path)
    with pytest.raises(LockedError), os_lock(path, purpose="a test"):
        pass
    holder.communicate("done\n", timeout=30)
    with os_lock(path, purpose="a test"):
        pass


def test_a_killed_holder_leaves_no_lock(tmp_path: Path) -> None:
    """After kill -9 the next start holds the lock at once, though the file still lies there."""
    path = tmp_path / "run.lock"
    holder = _holder(path)
    holder.send_signal(signal.SIGKILL)
    holder.wait(timeout=30)
    holder.communicate()
    assert path.exists()
    with os_lock(path, purpose="a test"):
        pass


def test_a_leftover_lock_file_locks_nobody_out(tmp_path: Path) -> None:
    """What stands in the file does not matter; only a live holder does."""
    path = tmp_path / "run.lock"
    path.write_text("12345\nsome-host\n")
    entered = False
    with os_lock(path, purpose="a test"):
        entered = True
    assert entered


def test_waiting_ends_when_the_holder_lets_go(tmp_path: Path) -> None:
    """A waiting run gets its turn; it waits only while another holds the lock."""
    path = tmp_path / "run.lock"
    asked: list[bool] = []
    release, held = threading.Event(), threading.Event()

    def hold() -> None:
        with os_lock(path, purpose="a test"):
            held.set()
            release.wait(timeout=30)

    def should_stop() -> bool:
        asked.append(True)
        release.set()  # it has been waiting now
        return False

    holder = threading.Thread(target=hold)
    holder.start()
    assert held.wait(timeout=30)
    with os_lock(path, purpose="a test", wait_seconds=math.inf, should_stop=should_stop):
        assert asked
    holder.join(timeout=30)


def test_a_waiting_run_can_be_stopped(tmp_path: Path) -> None:
    """A signal ends an endless wait, with the exit code of an interruption."""
    path = tmp_path / "run.lock"
    with (
        os_lock(path, purpose="a test"),
        pytest.raises(InterruptedRunError) as caught,
        os_lock(path, purpose="a test", wait_seconds=math.inf, should_stop=lambda: True),
    ):
        pass
    assert caught.value.exit_code == 130


def test_a_bounded_wait_ends_as_locked(tmp_path: Path) -> None:
    """When the time is over the lock is reported as held."""
    path = tmp_path / "run.lock"
    with os_lock(path, purpose="a test"), pytest.raises(LockedError), os_lock(path, purpose="x", wait_seconds=0.01):
        pass


def test_the_lock_file_is_private(tmp_path: Path) -> None:
    """Whatever the umask, nobody else may hold our lock."""
    before = os.umask(0o022)
    try:
        with os_lock(tmp_path / "run.lock", purpose="a test"):
            assert stat.S_IMODE((tmp_path / "run.lock").stat().st_mode) == 0o600
    finally:
        os.umask(before)


def test_a_lock_that_can_not_be_made_is_told(tmp_path: Path) -> None:
    """A file in the way of its folder, or a folder in its own place, is one clear error with the path."""
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StoreError, match=r"run\.lock"), os_lock(tmp_path / "file" / "run.lock", purpose="a test"):
        pass
    (tmp_path / "folder.lock").mkdir()
    with pytest.raises(StoreError, match=r"folder\.lock"), os_lock(tmp_path / "folder.lock", purpose="a test"):
        pass


def test_a_held_lock_notices_that_its_file_is_gone(tmp_path: Path) -> None:
    """Deleted, or replaced by another run's, it excludes nobody any more; a lock that was let alone is held."""
    path = tmp_path / "run.lock"
    with os_lock(path, purpose="a test") as ours:
        assert ours.is_held()
        path.unlink()
        assert not ours.is_held()
        with os_lock(path, purpose="a test") as theirs:
            assert theirs.is_held()
            assert not ours.is_held()
        path.unlink()
        path.symlink_to(tmp_path)
        assert not ours.is_held()


@pytest.mark.parametrize("has_table", [True, False])
def test_a_look_from_outside_tells_whether_a_lock_is_held(tmp_path: Path, has_table: bool) -> None:
    """With the holder's process id where the system lists it; it neither takes the lock nor makes its file."""
    path = tmp_path / "run.lock"
    table = Path("/proc/locks") if has_table else tmp_path / "no such list"
    assert who_holds(path, table=table) == Holding(is_held=False)
    assert not path.exists()
    holder = _holder(path)
    try:
        holding = who_holds(path, table=table)
        assert holding.is_held
        assert holding.pid in (None, holder.pid)
        if not has_table:
            assert holding.pid is None
    finally:
        holder.communicate("\n")
    assert who_holds(path, table=table) == Holding(is_held=False)
    with os_lock(path, purpose="a test"):
        pass
