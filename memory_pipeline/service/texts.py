"""The texts that a system is given: a systemd unit, a property list of launchd, a line of a crontab.

Each of these has an escaping of its own. What stands in a path never becomes more than that path.
"""

from __future__ import annotations

import plistlib
import re
import shlex

from memory_pipeline.errors import UsageError
from memory_pipeline.service.job import ServiceJob

#: By its mark we know what is ours.
FILE_MARK = "Written by `memory-pipeline service install`"
CRONTAB_MARK = "# memory-pipeline service"
UNIT_NAME = "memory-pipeline.service"
LABEL = "memory-pipeline"

#: The longest command that every cron takes, in bytes.
_LONGEST_CRON_LINE = 990
_PLAIN = re.compile(r"[\w@%+=:,./-]+", re.ASCII)
_NOT_IN_PROGRAMS = frozenset("\"'\\")
_FIELDS_OF_CRON = frozenset("0123456789*/,- abcdefghijklmnopqrstuvwxyz")

# Limits that hold in a user's own manager. Those that need a name space of the file system are left out: where the
# kernel forbids such to users, the service would not start. The homes of the agents must be readable, and the state
# folder and the workspace writable, whichever they are.
_UNIT = """\
# {mark}, which overwrites this file.
# For changes of your own: systemctl --user edit {name}
[Unit]
Description=Long-term memory from the session logs of coding agents

[Service]
Type=exec
ExecStart={command}
ExecReload=/bin/kill -HUP $MAINPID
{environment}EnvironmentFile=-{environment_file}
KillMode=mixed
TimeoutStopSec=15
Restart=on-failure
RestartSec=60
RestartPreventExitStatus=2 75
SuccessExitStatus=130
UMask=0077
NoNewPrivileges=yes
LockPersonality=yes
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
SystemCallArchitectures=native
Nice=10
IOSchedulingClass=idle
CPUWeight=20
IOWeight=20

[Install]
WantedBy=default.target
"""


def systemd_unit(job: ServiceJob) -> str:
    """Return the unit of a daemon. What it logs goes to the journal.

    Raises:
        UsageError: the program lies where systemd runs none.
    """
    words = job.words("daemon")
    if not _NOT_IN_PROGRAMS.isdisjoint(words[0]):
        raise UsageError(
            f"systemd runs no program whose path holds quotes or a backslash: {words[0]}; install elsewhere"
        )
    # A colon before the first word keeps what looks like a variable in a path from being replaced.
    literal = ":" if any("$" in word for word in words) else ""
    return _UNIT.format(
        mark=FILE_MARK,
        name=UNIT_NAME,
        command=literal + " ".join(_systemd_word(word) for word in words),
        environment="".join(f"Environment={_systemd_word(f'{name}={value}')}\n" for name, value in job.environment),
        environment_file=job.environment_file.replace("%", "%%"),
    )


def launchd_plist(job: ServiceJob, *, log_path: str) -> str:
    """Return the property list of an agent that runs the daemon; what it logs goes to ``log_path``."""
    listed = {
        "Label": LABEL,
        "ProgramArguments": list(job.words("daemon")),
        "EnvironmentVariables": dict(job.environment),
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ThrottleInterval": 60,
        "ExitTimeOut": 15,
        "ProcessType": "Background",
        "LowPriorityIO": True,
        "Nice": 10,
        "Umask": 0o077,
        "StandardOutPath": log_path,
        "StandardErrorPath": log_path,
    }
    head, plist, rest = plistlib.dumps(listed).decode().partition("<plist")
    return f"{head}<!-- {FILE_MARK}, which overwrites this file. -->\n{plist}{rest}"


def crontab_line(job: ServiceJob) -> str:
    """Return the line that makes a pass at each time of the schedule. What goes wrong, cron mails.

    Raises:
        UsageError: the schedule is not one of cron, or the line would be longer than cron takes.
    """
    schedule = " ".join(job.schedule.split())
    if not _FIELDS_OF_CRON.issuperset(schedule.lower()):
        raise UsageError(f"daemon.schedule: {schedule!r} can't stand in a crontab; use numbers, names and * / , -")
    variables = "".join(f"{name}={_cron_word(value)} " for name, value in job.environment)
    command = " ".join(_cron_word(word) for word in job.words("run"))
    line = f"{schedule} umask 077; {variables}nice -n 10 {command} > /dev/null {CRONTAB_MARK}"
    if len(line.encode()) > _LONGEST_CRON_LINE:
        raise UsageError(f"the line for the crontab would have more than {_LONGEST_CRON_LINE} bytes; use shorter paths")
    return line


def _systemd_word(word: str) -> str:
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return escaped if _PLAIN.fullmatch(escaped) else f'"{escaped}"'


def _cron_word(word: str) -> str:
    # For cron an unescaped % ends the command, within quotes too; a backslash is taken away before a % alone.
    return r"\%".join(shlex.quote(part) if part else "" for part in word.split("%")) or "''"
