"""Checks of where things lie: configuration, homes of the agents, the state folder, the disk, the clock."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from memory_pipeline.clock import DAY_SECONDS, iso
from memory_pipeline.config import AGENT_HOMES, CONFIG_ENV, STATE_DIR_ENV
from memory_pipeline.errors import ConfigError, StoreError
from memory_pipeline.filesystems import is_network
from memory_pipeline.logfile import LOG_FOLDER
from memory_pipeline.records import Agent
from memory_pipeline.rollouts.codex_home import check_codex_home
from memory_pipeline.rollouts.homes import home_problem, is_below, log_roots
from memory_pipeline.seeing.doctor.findings import Patient, Said, error, note, ok, warning
from memory_pipeline.seeing.folders import folder_problems
from memory_pipeline.settings import GENERATE, in_force_now

_MOST_TOLD = 3
_LEAST_FREE_BYTES = 50 << 20
_FEW_FREE_BYTES = 500 << 20
_FEW_FREE_FILES = 1_000
#: No log is older, and no clock is right that is past the other one.
_FIRST_MOMENT = 1_735_689_600.0  # 2025
_LAST_MOMENT = 4_102_444_800.0  # 2100
_MIB = 1 << 20


def check_configuration(patient: Patient) -> Iterator[Said]:
    """Where the configuration comes from, and which variables change it."""
    config = patient.config
    yield ok(f"the configuration comes from {config.path or 'the built-in defaults'}")
    if config.path and _mode(Path(config.path)) & 0o022:
        yield warning(
            f"{config.path} can be written by others, who could send your sessions to a server of theirs",
            f"chmod go-w {config.path}",
        )
    for name in (CONFIG_ENV, STATE_DIR_ENV):
        if patient.environ.get(name):
            yield note(f"{name} is set to {patient.environ[name]}")
    try:
        patient.check_schedule(config)
    except ConfigError as wrong:
        yield error(str(wrong), "write five cron fields, such as */15 * * * *")
    if not config.settings.generate_memories:
        yield note("settings.generate_memories is false, so no session is extracted", "set it to true to go on")
    yield from _set_beside(patient)


def _set_beside(patient: Patient) -> Iterator[Said]:
    """Say what was set beside the file, and so counts in its place."""
    try:
        with patient.store() as store:
            in_force = in_force_now(patient.config, store)
    except StoreError:
        return  # the checks of the database and of what was forgotten tell why
    for key in in_force.overridden():
        yield note(
            f"{key} of the file does not count: `settings set` gave it another value for the whole",
            f"settings unset {key}, to have that of the file again",
        )
    if patient.config.settings.generate_memories and not in_force.may_generate():
        yield note(f"{GENERATE} is set to false, so no session is extracted", f"settings unset {GENERATE}")


def check_homes(patient: Patient) -> Iterator[Said]:
    """Whether the logs of each agent are there and can be listed."""
    sources = patient.config.sources
    found = []
    for agent in (Agent.CODEX, Agent.CLAUDE):
        variable, default = AGENT_HOMES[agent]
        moved, home = patient.environ.get(variable), sources.of(agent).home
        if not sources.of(agent).enabled:
            yield note(f"the logs of {agent} are switched off", f"set sources.{agent}.enabled = true to read them")
            continue
        if moved and os.path.realpath(moved) != os.path.realpath(home):
            yield note(
                f"{variable} names {moved}, but sources.{agent}.home names {home}, which counts",
                f"leave out sources.{agent}.home, or write {default}, to follow the variable",
            )
        problem = home_problem(agent, home)
        if problem:
            named = f" (from {variable})" if moved and os.path.realpath(moved) == os.path.realpath(home) else ""
            yield warning(
                f"{problem.split(';')[0]}{named}", f"set sources.{agent}.home, or sources.{agent}.enabled = false"
            )
        else:
            found.append(agent)
            yield ok(f"the home of {agent} is {home}")
            if not log_roots(agent, home):
                yield note(f"{home} holds no folder of logs yet", f"run {agent} once")
    if not found:
        yield error(
            "there is no home of any agent, so there is nothing to read",
            "set sources.codex.home or sources.claude.home",
        )
    problems = [one for one in folder_problems(patient.config) if "can't be listed" in one]
    for problem in problems[:_MOST_TOLD]:
        yield warning(problem.rsplit("; ", 1)[0], "make it readable for you")
    yield from _links(patient)


def _links(patient: Patient) -> Iterator[Said]:
    """Tell links among the logs that are passed over: loops, dead ones, and those that lead out."""
    told = 0
    for agent in (Agent.CODEX, Agent.CLAUDE):
        source = patient.config.sources.of(agent)
        roots = [path for _, path in log_roots(agent, source.home)] if source.enabled else []
        for link in (link for root in roots for link in _links_below(root)):
            why = _why_passed_over(link, roots)
            if why and told < _MOST_TOLD:
                told += 1
                yield note(f"{link} is passed over: {why}", "put the folder itself there if its sessions are to count")


def _links_below(root: str) -> Iterator[str]:
    for folder, _, _ in os.walk(root):
        with os.scandir(folder) as entries:
            yield from sorted(entry.path for entry in entries if entry.is_symlink())


def _why_passed_over(link: str, roots: list[str]) -> str | None:
    try:
        os.stat(link)  # noqa: PTH116 - follows the link
    except FileNotFoundError:
        return "it is a link that leads nowhere"
    except OSError:
        return "it is a loop of links"
    real = os.path.realpath(link)
    if is_below(os.path.dirname(os.path.abspath(link)), real):  # noqa: PTH100, PTH120 - no Path is needed
        return "it leads back to a folder above it"
    if not any(is_below(real, root) for root in roots):
        return "it leads out of the folder of logs"
    return None


def check_codex(patient: Patient) -> Iterator[Said]:
    """Whether Codex leaves its memory folder to us, if the workspace is one."""
    try:
        reader = check_codex_home(patient.config, patient.environ)
    except ConfigError as wrong:
        lines = " ".join(wrong.lines)
        yield error(str(wrong).rstrip(":"), f"put in: {lines}" if lines else "change memories_dir, or that file")
        return
    if reader is None:
        yield ok("the workspace is no memory folder of Codex")
        return
    yield ok(f"Codex leaves its memory folder in {reader.home} to us")
    for hint in reader.hints:
        yield note(hint, f"see {reader.home / 'config.toml'}")


def check_permissions(patient: Patient) -> Iterator[Said]:
    """Whether the state folder and the workspace can be written, and by nobody else."""
    config = patient.config
    state = config.state_path
    if not os.path.lexists(state):
        above = next((folder for folder in state.parents if folder.is_dir()), Path("/"))
        if os.access(above, os.W_OK | os.X_OK):
            yield note(f"the state folder {state} does not exist yet", "the first run makes it")
        else:
            yield error(f"the state folder {state} can't be made in {above}", "make it yourself, or set state_dir")
        return
    for folder in dict.fromkeys((state, config.workspace_path)):
        if not os.path.lexists(folder):
            continue
        if not folder.is_dir():
            yield error(f"{folder} is no folder", "move it away, or name another place")
        elif not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
            yield error(f"{folder} can't be written by you", f"chmod u+rwx {folder}, and look at its owner")
        elif _owner(folder) != os.geteuid():
            yield warning(f"{folder} belongs to another user", "run as the user whose folder it is")
        elif _mode(folder) & 0o077:
            yield warning(f"others may look into {folder} (mode {_mode(folder):04o})", f"chmod 700 {folder}")
        else:
            yield ok(f"{folder} is yours alone")
    open_files = _open_files(state)
    if open_files:
        shown = ", ".join(str(path) for path in open_files[:_MOST_TOLD])
        yield warning(f"{len(open_files)} of our files can be read by others: {shown}", f"chmod -R go= {state}")
    yield from _written_elsewhere(patient)


def _open_files(state: Path) -> list[Path]:
    found = []
    for folder, _, names in os.walk(state):
        for name in names:
            path = Path(folder, name)
            status = path.lstat()
            if stat.S_ISREG(status.st_mode) and status.st_mode & 0o077:
                found.append(path)
    return sorted(found)


def _written_elsewhere(patient: Patient) -> Iterator[Said]:
    config = patient.config
    logs = config.state_path / LOG_FOLDER
    if config.logging.file and logs.exists() and not os.access(logs, os.W_OK | os.X_OK):
        yield warning(f"{logs} can't be written, so nothing is logged there", f"chmod u+rwx {logs}")
    textfile = config.metrics.textfile
    if textfile and not os.access(Path(textfile).parent, os.W_OK | os.X_OK):
        yield warning(
            f"metrics.textfile: the folder of {textfile} is missing, or can't be written", "make it writable for you"
        )


def check_disk(patient: Patient) -> Iterator[Said]:
    """What the state folder lies on, and how much room is left there."""
    state = patient.config.state_path
    folder = next((one for one in (state, *state.parents) if one.is_dir()), Path("/"))
    kind = patient.file_system_of(folder)
    if is_network(kind):
        yield warning(
            f"the state folder lies on a file system of other machines ({kind}), whose locks can't be relied on",
            "set state_dir to a folder on a disk of this machine",
        )
    elif kind:
        yield ok(f"the state folder lies on {kind}")
    free = shutil.disk_usage(folder).free
    needed = 2 * _size(patient.config.database_path)  # cleaning up writes the database anew
    if free < _LEAST_FREE_BYTES:
        yield error(f"only {free // _MIB} MiB are free beside {folder}", "make room: nothing can be stored soon")
    elif free < max(_FEW_FREE_BYTES, needed):
        yield warning(f"only {free // _MIB} MiB are free beside {folder}", "make room")
    else:
        yield ok(f"{free // _MIB} MiB are free beside {folder}")
    room = os.statvfs(folder)
    if room.f_files and room.f_favail < _FEW_FREE_FILES:
        yield warning(f"the file system of {folder} can hold only {room.f_favail} more files", "delete files there")


def check_clock(patient: Patient) -> Iterator[Said]:
    """Whether this machine's clock can be right."""
    now = patient.clock.now()
    if not _FIRST_MOMENT < now < _LAST_MOMENT:
        yield error(f"the clock of this machine says {iso(now)}", "set it: what is too recent or due can't be told")
        return
    written = max(
        (_written_at(patient.config.state_path / name) for name in ("memory.db", "memory.db-wal")), default=0.0
    )
    if written > now + DAY_SECONDS:
        yield warning(
            f"the database was written at {iso(written)}, which has not come yet",
            "set the clock of this machine, or of the one that holds the state folder",
        )
    newest = None
    if patient.config.database_path.is_file():
        with patient.store() as store:
            newest = store.overview.newest_words()
    if newest is not None and newest > now + DAY_SECONDS:
        yield warning(
            f"a session log ends at {iso(newest)}, which has not come yet",
            "if this machine's clock is right, the one on which the log was written was not; nothing has to be done",
        )
    else:
        yield ok(f"the clock says {iso(now)}, and no log is ahead of it")


def _mode(path: Path) -> int:
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except OSError:
        return 0


def _owner(path: Path) -> int:
    return path.stat().st_uid


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _written_at(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
