"""The log file: whole lines of several processes, rotated, private, and never in the way of the work."""

from __future__ import annotations

import errno
import json
import logging
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memory_pipeline.config import Config, LoggingConfig
from memory_pipeline.logfile import LOG_NAME, LogFile, logging_to_file

_APPEND = """
import sys
from pathlib import Path
from memory_pipeline.logfile import LogFile

folder, name, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
file = LogFile(folder, max_bytes=10_000, keep=500)
for number in range(count):
    file.append(f'{{"writer": "{name}", "number": {number}, "padding": "{"x" * 150}"}}'.encode())
"""
PROCESSES = 4
LINES = 400


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A state folder's place for logs, not made yet."""
    return tmp_path / "logs"


@pytest.fixture(autouse=True)
def loggers_as_before() -> Iterator[None]:
    """A test leaves the loggers of its process as they were."""
    own, root = logging.getLogger("memory_pipeline"), logging.getLogger()
    before = own.level, own.handlers[:], root.handlers[:]
    yield
    assert (own.level, own.handlers[:], root.handlers[:]) == before


def files_in(folder: Path) -> list[Path]:
    """The log and those put aside."""
    return sorted(folder.glob(f"{LOG_NAME}*"))


def read(folder: Path) -> list[dict[str, Any]]:
    """Every line of every file, each of which must be whole."""
    return [json.loads(line) for path in files_in(folder) for line in path.read_text().splitlines()]


def config(folder: Path, **limits: Any) -> Config:
    """A configuration whose state folder holds the folder of logs."""
    return Config(state_dir=str(folder.parent), logging=LoggingConfig(**limits))


def test_no_line_of_several_processes_is_lost_or_torn(folder: Path) -> None:
    """Four processes write at once into a log that is put aside again and again: each line is there, once, whole."""
    writers = [
        subprocess.Popen([sys.executable, "-c", _APPEND, str(folder), str(name), str(LINES)])
        for name in range(PROCESSES)
    ]
    assert [writer.wait() for writer in writers] == [0] * PROCESSES
    lines = [(line["writer"], line["number"]) for line in read(folder)]
    assert sorted(lines) == sorted((str(name), number) for name in range(PROCESSES) for number in range(LINES))
    assert len(files_in(folder)) > PROCESSES


def test_a_full_log_is_put_aside_and_few_are_kept(folder: Path) -> None:
    """The newest lines are in the log, the ones before in .1; what is older than is kept is gone."""
    file = LogFile(folder, max_bytes=100, keep=2)
    for number in range(40):
        file.append(json.dumps({"number": number, "padding": "x" * 20}).encode())
    file.close()
    assert [path.name for path in files_in(folder)] == [LOG_NAME, f"{LOG_NAME}.1", f"{LOG_NAME}.2"]
    newest = [json.loads(line)["number"] for line in (folder / LOG_NAME).read_text().splitlines()]
    before = [json.loads(line)["number"] for line in (folder / f"{LOG_NAME}.1").read_text().splitlines()]
    assert newest[-1] == 39
    assert before[-1] == newest[0] - 1


def test_fewer_kept_than_before_deletes_the_rest(folder: Path) -> None:
    """A lower [logging] keep takes hold at the next rotation; other files stay."""
    folder.mkdir()
    for name in (f"{LOG_NAME}.1", f"{LOG_NAME}.7", f"{LOG_NAME}.old", LOG_NAME):
        (folder / name).write_bytes(b"x" * 100 + b"\n")
    LogFile(folder, max_bytes=100, keep=2).append(b"{}")
    assert [path.name for path in files_in(folder)] == [
        LOG_NAME, f"{LOG_NAME}.1", f"{LOG_NAME}.2", f"{LOG_NAME}.old",
    ]  # fmt: skip


def test_the_log_is_private_from_its_first_byte(folder: Path) -> None:
    """File 0600, folder 0700, whatever the umask."""
    before = os.umask(0)
    try:
        file = LogFile(folder, max_bytes=100, keep=1)
        for _ in range(9):
            file.append(b"{}" * 20)
    finally:
        os.umask(before)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in files_in(folder)} == {0o600}


def test_a_log_that_was_moved_away_is_begun_anew(folder: Path) -> None:
    """Somebody else's rotation, or a deletion, costs nothing but what was deleted."""
    file = LogFile(folder, max_bytes=1000, keep=1)
    file.append(b"1")
    (folder / LOG_NAME).rename(folder / "elsewhere")
    file.append(b"2")
    (folder / LOG_NAME).unlink()
    file.append(b"3")
    assert ((folder / "elsewhere").read_bytes(), (folder / LOG_NAME).read_bytes()) == (b"1\n", b"3\n")


def test_a_line_that_a_full_disk_cut_off_costs_no_other(folder: Path) -> None:
    """What comes after it stands on a line of its own; nothing is raised."""
    room = [3, 0]

    def write(descriptor: int, content: bytes) -> int:
        if not room:
            return os.write(descriptor, content)
        left = room.pop(0)
        if not left:
            raise OSError(errno.ENOSPC, "No space left on device")
        return os.write(descriptor, content[:left])

    file = LogFile(folder, max_bytes=1000, keep=1, write=write)
    for line in (b'{"number": 1}', b'{"number": 2}', b'{"number": 3}', b'{"number": 4}'):
        file.append(line)
    assert (folder / LOG_NAME).read_bytes() == b'{"n\n{"number": 3}\n{"number": 4}\n'


@pytest.mark.parametrize("in_the_way", ["file", "link", "pipe", "folder"])
def test_what_is_in_the_way_of_the_log_never_stops_the_work(folder: Path, in_the_way: str) -> None:
    """A place that can't be written is passed over, a link is not followed, and a pipe does not block."""
    target = folder.parent / "target"
    if in_the_way == "file":
        folder.write_bytes(b"")
    else:
        folder.mkdir()
    if in_the_way == "link":
        (folder / LOG_NAME).symlink_to(target)
    if in_the_way == "pipe":
        os.mkfifo(folder / LOG_NAME)
    if in_the_way == "folder":
        (folder / LOG_NAME).mkdir()
    with logging_to_file(config(folder), run_id="r1") as tell:
        tell(action="pass")
        logging.getLogger("memory_pipeline.some.room").error("failed", extra={"action": "extract"})
    assert not target.exists()


def test_an_event_has_its_fields_and_not_its_message(folder: Path) -> None:
    """A message may quote what was read, and a reason what a server said: neither is written."""
    with logging_to_file(config(folder), run_id="r1") as tell:
        logging.getLogger("memory_pipeline.phase1.run").info(
            "canary %s", "canary", extra={"action": "extract", "thread_id": "t1", "seconds": 0.5, "reason": "canary"}
        )
        tell(action="pass", outcome="done", succeeded=2)
    first, second = read(folder)
    assert first.pop("time").endswith("Z")
    assert first == {"level": "info", "run": "r1", "action": "extract", "thread_id": "t1", "seconds": 0.5}
    assert {**second, "time": ""} == {
        "time": "", "level": "info", "run": "r1", "action": "pass", "outcome": "done", "succeeded": 2,
    }  # fmt: skip


def test_a_library_is_told_by_its_name_from_warning_on(folder: Path) -> None:
    """What it says may be what it sent."""
    with logging_to_file(config(folder), run_id="r1"):
        logging.getLogger("httpx2").info("canary")
        logging.getLogger("httpx2").warning("canary")
    (line,) = read(folder)
    assert {**line, "time": ""} == {
        "time": "", "level": "warning", "run": "r1", "action": "library", "library": "httpx2",
    }  # fmt: skip


def test_an_event_of_ours_is_told_once(folder: Path) -> None:
    """Though it may pass by the logger above ours too."""
    with logging_to_file(config(folder), run_id="r1"):
        logging.getLogger("memory_pipeline.daemon").error("x", extra={"action": "pass"})
    assert len(read(folder)) == 1


@pytest.mark.parametrize(("level", "told"), [("debug", 4), ("info", 3), ("warning", 2), ("error", 1)])
def test_the_level_decides_what_is_written(folder: Path, level: str, told: int) -> None:
    """That one and those above."""
    with logging_to_file(config(folder, level=level), run_id="r1"):
        for number in (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR):
            logging.getLogger("memory_pipeline.x").log(number, "x", extra={"action": "x"})
    assert len(read(folder)) == told


def test_nothing_is_written_where_no_file_is_wanted(folder: Path) -> None:
    """[logging] file = false."""
    with logging_to_file(config(folder, file=False), run_id="r1") as tell:
        tell(action="pass")
    assert not folder.exists()


def test_a_value_stays_on_its_line_and_short(folder: Path) -> None:
    """An odd thread id can neither begin a line of its own nor fill the log."""
    with logging_to_file(config(folder), run_id="r1") as tell:
        tell(action="pass", thread_id="a\nb\x1b" + "c" * 1000)
    (line,) = read(folder)
    assert line["thread_id"] == "a?b?" + "c" * 116
