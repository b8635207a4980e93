"""The systems that can run a service for one person: systemd, launchd, cron. Only what is ours is ever changed."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from memory_pipeline.errors import ServiceError, UsageError
from memory_pipeline.files import FILE_MODE, make_private_folder, sync_folder, write_whole
from memory_pipeline.service.job import ServiceJob
from memory_pipeline.service.texts import (
    CRONTAB_MARK,
    FILE_MARK,
    LABEL,
    UNIT_NAME,
    crontab_line,
    launchd_plist,
    systemd_unit,
)

#: How long a tool of the system may take, in seconds.
_TOOL_SECONDS = 60.0


class ServiceKind(StrEnum):
    """Who runs the service."""

    SYSTEMD = "systemd"  # a unit of the person's own manager
    LAUNCHD = "launchd"  # an agent of macOS
    CRONTAB = "crontab"  # a line that makes a pass at each time of the schedule, without a daemon


class ServiceState(Struct, frozen=True, kw_only=True):
    """How a service stands."""

    kind: ServiceKind
    place: str  # a path, or "crontab"
    is_installed: bool
    is_running: bool | None  # None: that can't be told
    differs: bool  # from what would be installed now


class Service(Protocol):
    """One way to have the system run us."""

    kind: ServiceKind

    def text(self) -> str:
        """Return what would be installed."""
        ...

    def state(self) -> ServiceState:
        """Say how it stands.

        Raises:
            ServiceError: that can't be found out.
            UsageError: something of others stands in its place.
        """
        ...

    def install(self) -> list[str]:
        """Install and start it; returns what is left for the person to know or to do.

        Raises:
            ServiceError: the system refused; the message says what was done and what to run.
            UsageError: something of others stands in its place; nothing was changed.
        """
        ...

    def uninstall(self) -> list[str]:
        """Stop it and take away what is ours; returns what is left for the person to know or to do.

        Raises:
            ServiceError, UsageError: as for ``install``.
        """
        ...

    def key_hint(self, name: str) -> str:
        """Say how the service gets the variable that holds a key."""
        ...


def service_of(kind: ServiceKind, job: ServiceJob, environ: Mapping[str, str]) -> Service:
    """Return one way of running a service."""
    home = Path.home()
    if kind is ServiceKind.SYSTEMD:
        # systemd follows this variable as well.
        configuration = environ.get("XDG_CONFIG_HOME") or str(home / ".config")
        return SystemdService(job, Path(configuration) / "systemd" / "user" / UNIT_NAME)
    if kind is ServiceKind.LAUNCHD:
        return LaunchdService(job, home / "Library" / "LaunchAgents" / f"{LABEL}.plist")
    return CrontabService(job)


def usual_kind() -> ServiceKind:
    """Return the kind that fits this machine.

    Raises:
        UsageError: it has none of them.
    """
    if sys.platform == "darwin":
        return ServiceKind.LAUNCHD
    runs_systemd = Path("/run/systemd/system").is_dir() and shutil.which("systemctl") is not None
    if runs_systemd:
        return ServiceKind.SYSTEMD
    if shutil.which("crontab") is not None:
        return ServiceKind.CRONTAB
    raise UsageError(
        "neither systemd nor cron was found here; see `memory-pipeline service install --kind systemd --print`, or "
        "have whatever starts your programs run `memory-pipeline daemon`"
    )


class SystemdService:
    """A unit of the person's own manager."""

    kind = ServiceKind.SYSTEMD

    def __init__(self, job: ServiceJob, path: Path) -> None:
        self._job = job
        self._path = path

    def text(self) -> str:
        """Return the unit."""
        return systemd_unit(self._job)

    def state(self) -> ServiceState:
        """Say how it stands; see Service."""
        installed = _read_ours(self._path)
        return ServiceState(
            kind=self.kind,
            place=str(self._path),
            is_installed=installed is not None,
            is_running=self._is_running() if installed is not None else False,
            differs=installed is not None and installed != self.text(),
        )

    def install(self) -> list[str]:
        """Write the unit, and have it started now and at each login; see Service."""
        before = _read_ours(self._path)
        _write_unless_same(self._path, before, self.text())
        steps = [("daemon-reload",), ("enable", "--now", UNIT_NAME)]
        if before not in (None, self.text()):
            steps.append(("restart", UNIT_NAME))
        calls = [("systemctl", "--user", *step) for step in steps]
        hint = "it runs while you are logged in; `loginctl enable-linger` has it run whenever the machine does"
        return [*_run_all(calls, done=f"{self._path} is written"), hint]

    def uninstall(self) -> list[str]:
        """Stop it and delete the unit; see Service."""
        if _read_ours(self._path) is None:
            return [f"there is no {self._path}: nothing to do"]
        hints = _run_all(
            [("systemctl", "--user", "disable", "--now", UNIT_NAME)],
            done=f"{self._path} stands as it was (delete it yourself if systemd is gone)",
        )
        _delete(self._path)
        return hints + _run_all([("systemctl", "--user", "daemon-reload")], done=f"{self._path} is deleted")

    def key_hint(self, name: str) -> str:
        """Say where the unit reads variables from."""
        return (
            f"it does not see the variables of your shell: put `{name}=…` into {self._job.environment_file} (mode 0600)"
        )

    def _is_running(self) -> bool | None:
        ran = _run(("systemctl", "--user", "is-active", UNIT_NAME))
        said = ran.out.decode(errors="replace").strip() if ran is not None else ""
        known = {"active": True, "activating": True, "reloading": True, "inactive": False, "failed": False}
        return known.get(said)


class LaunchdService:
    """An agent of macOS."""

    kind = ServiceKind.LAUNCHD

    def __init__(self, job: ServiceJob, path: Path) -> None:
        self._job = job
        self._path = path
        self._log_path = Path(job.state_dir) / "service.log"
        self._domain = f"gui/{os.getuid()}"

    def text(self) -> str:
        """Return the property list."""
        return launchd_plist(self._job, log_path=str(self._log_path))

    def state(self) -> ServiceState:
        """Say how it stands; see Service."""
        installed = _read_ours(self._path)
        ran = _run(("launchctl", "print", f"{self._domain}/{LABEL}")) if installed is not None else None
        return ServiceState(
            kind=self.kind,
            place=str(self._path),
            is_installed=installed is not None,
            is_running=None
            if installed is not None and ran is None
            else ran is not None and b"state = running" in ran.out,
            differs=installed is not None and installed != self.text(),
        )

    def install(self) -> list[str]:
        """Write the property list and have it loaded; see Service."""
        before = _read_ours(self._path)
        self._make_private_log()
        _write_unless_same(self._path, before, self.text())
        if before is not None:
            _run(("launchctl", "bootout", f"{self._domain}/{LABEL}"))  # else the new text would not be read
        return _run_all([("launchctl", "bootstrap", self._domain, str(self._path))], done=f"{self._path} is written")

    def uninstall(self) -> list[str]:
        """Stop it and delete the property list; see Service."""
        if _read_ours(self._path) is None:
            return [f"there is no {self._path}: nothing to do"]
        # One that is not loaded can't be unloaded, and that is as well.
        ran = _run(("launchctl", "bootout", f"{self._domain}/{LABEL}"))
        _delete(self._path)
        return [] if ran is not None else [f"launchctl was not found; run: launchctl bootout {self._domain}/{LABEL}"]

    def key_hint(self, name: str) -> str:
        """Say how launchd learns a variable."""
        return f"it does not see the variables of your shell: run `launchctl setenv {name} …` at each login"

    def _make_private_log(self) -> None:
        make_private_folder(self._log_path.parent)
        os.close(os.open(self._log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, FILE_MODE))


class CrontabService:
    """A line in the person's crontab. Every other line stays as it is, byte for byte."""

    kind = ServiceKind.CRONTAB

    def __init__(self, job: ServiceJob) -> None:
        self._job = job

    def text(self) -> str:
        """Return the line."""
        return f"{crontab_line(self._job)}\n"

    def state(self) -> ServiceState:
        """Say how it stands; see Service."""
        ours = [line for line in self._read() if _is_our_line(line)]
        return ServiceState(
            kind=self.kind,
            place="crontab",
            is_installed=bool(ours),
            is_running=None if ours else False,  # between two passes nothing runs
            differs=bool(ours) and ours != [self.text().encode()],
        )

    def install(self) -> list[str]:
        """Put the line behind all others, or in the place of an earlier one; see Service."""
        lines, ours = self._read(), self.text().encode()
        if [line for line in lines if _is_our_line(line)] == [ours]:
            return []
        if lines and not lines[-1].endswith(b"\n"):
            lines[-1] += b"\n"
        places = [place for place, line in enumerate(lines) if _is_our_line(line)] or [len(lines)]
        kept = [line for line in lines if not _is_our_line(line)]
        kept.insert(places[0], ours)
        self._write(kept)
        return []

    def uninstall(self) -> list[str]:
        """Take the line away; see Service."""
        lines = self._read()
        kept = [line for line in lines if not _is_our_line(line)]
        if kept == lines:
            return ["there is no line of ours in the crontab: nothing to do"]
        self._write(kept)
        return []

    def key_hint(self, name: str) -> str:
        """Say how cron learns a variable."""
        return (
            f"it does not see the variables of your shell: put `{name}=…` on a line of its own above it (`crontab -e`)"
        )

    def _read(self) -> list[bytes]:
        ran = _run(("crontab", "-l"))
        if ran is None:
            raise ServiceError(
                "crontab was not found here; see `memory-pipeline service install --kind crontab --print`"
            )
        if ran.code == 0:
            return _lines_of(ran.out)
        if "no crontab for" in ran.err.lower():
            return []
        # Taken for an empty one, it would be overwritten.
        raise ServiceError(f"your crontab can't be read, and was not changed: crontab -l: {ran.said}")

    def _write(self, lines: Sequence[bytes]) -> None:
        ran = _run(("crontab", "-"), given=b"".join(lines))
        if ran is None or ran.code != 0:
            said = ran.said if ran is not None else "it is gone"
            raise ServiceError(f"your crontab was not changed: crontab refused it: {said}")


class _Ran(Struct, frozen=True, kw_only=True):
    code: int
    out: bytes
    err: str

    @property
    def said(self) -> str:
        return " ".join(self.err.split()) or f"it ended with {self.code}"


def _run(words: Sequence[str], *, given: bytes = b"") -> _Ran | None:
    """Run a tool of the system; None when there is no such tool.

    Raises:
        ServiceError: it does not end.
    """
    program = shutil.which(words[0])
    if program is None:
        return None
    environment = {**os.environ, "LC_ALL": "C"}  # what it says is read
    try:
        ended = subprocess.run(  # noqa: S603 - a tool of the system, with words of ours
            [program, *words[1:]],
            input=given,
            capture_output=True,
            check=False,
            timeout=_TOOL_SECONDS,
            env=environment,
        )
    except subprocess.TimeoutExpired as error:
        raise ServiceError(f"`{shlex.join(words)}` did not end within {_TOOL_SECONDS:g} s") from error
    return _Ran(code=ended.returncode, out=ended.stdout, err=ended.stderr.decode(errors="replace"))


def _run_all(calls: Sequence[Sequence[str]], *, done: str) -> list[str]:
    """Run one tool after the other; where there is no such tool, return what to run instead.

    Raises:
        ServiceError: one failed; ``done`` says how things stand.
    """
    for place, words in enumerate(calls):
        ran = _run(words)
        if ran is None:
            left = "; ".join(shlex.join(call) for call in calls[place:])
            return [f"{words[0]} was not found here; where it is, run: {left}"]
        if ran.code != 0:
            left = "; ".join(shlex.join(call) for call in calls[place:])
            raise ServiceError(f"{done}, but `{shlex.join(words)}` failed: {ran.said}. Mend that, then run: {left}")
    return []


def _read_ours(path: Path) -> str | None:
    """Return the text of a file of ours, None where nothing stands.

    Raises:
        UsageError: something of others stands there.
    """
    try:
        text = path.read_bytes().decode(errors="replace")
    except FileNotFoundError:
        if not path.is_symlink():
            return None
        text = ""
    if FILE_MARK not in text:
        raise UsageError(f"{path} was not written by us, and is left as it is; move it away first")
    return text


def _write_unless_same(path: Path, before: str | None, text: str) -> None:
    if before == text:
        return
    make_private_folder(path.parent)
    write_whole(path, text.encode())


def _delete(path: Path) -> None:
    path.unlink(missing_ok=True)
    sync_folder(path.parent)


def _is_our_line(line: bytes) -> bool:
    return line.rstrip().endswith(CRONTAB_MARK.encode()) and not line.lstrip().startswith(b"#")


def _lines_of(content: bytes) -> list[bytes]:
    """Split at line feeds alone: a carriage return within a line is part of it."""
    lines = [line + b"\n" for line in content.split(b"\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines
