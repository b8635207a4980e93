"""The texts for systemd, launchd and cron: read back as those read them, each path is exactly what it was."""

from __future__ import annotations

import plistlib
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_pipeline.config import Config, DaemonConfig
from memory_pipeline.errors import UsageError
from memory_pipeline.service.job import ServiceJob, service_job
from memory_pipeline.service.texts import CRONTAB_MARK, crontab_line, launchd_plist, systemd_unit

ODD = "/home/sam/a b%c\"d'e\\f\\%g$HOME;`x`#ü"
PATHS = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Zl", "Zp"]), max_size=20).map("/x{}".format)


def job(path: str = "/home/sam/state", *, program: str = "", schedule: str = "*/15 * * * *") -> ServiceJob:
    """Return a job that names this path wherever one stands."""
    return ServiceJob(
        program=(program or f"{path}/python", "-P", "-m", "memory_pipeline"),
        options=("--config", f"{path}/config.toml", "--state-dir", path),
        environment=(("CODEX_HOME", path),),
        environment_file=f"{path}/environment",
        state_dir=path,
        schedule=schedule,
    )


def value_of(unit: str, key: str) -> str:
    """Return the one value of a key of a unit."""
    (value,) = [line.partition("=")[2] for line in unit.splitlines() if line.startswith(f"{key}=")]
    return value


def as_systemd_reads(value: str) -> list[str]:
    """Split a value into words: quotes and backslashes as in C, and specifiers of two per cent signs."""
    return [word.replace("%%", "%") for word in shlex.split(value)]


def as_cron_reads(line: str) -> str:
    """Return the command that cron gives to the shell, as cron finds the first per cent sign that ends it."""
    command, escaped = "", False
    for character in line.split(maxsplit=5)[5]:
        if escaped and character == "%":
            command = command[:-1]
        elif character == "%":
            pytest.fail("the command is cut off")
        command += character
        escaped = character == "\\" and not escaped
    return command


@settings(max_examples=100)
@given(path=PATHS)
def test_systemd_gets_the_words_as_they_are(path: str) -> None:
    """Spaces, quotes, backslashes, per cent and dollar signs are of the path, and of nothing else."""
    asked = job(path, program=f"{path}/python".translate({ord(mark): "-" for mark in "\"'\\"}))
    unit = systemd_unit(asked)
    command = value_of(unit, "ExecStart")
    # The colon says that no variable is replaced; without it no word may look like one.
    assert command.startswith(":") or "$" not in command
    assert as_systemd_reads(command.removeprefix(":")) == list(asked.words("daemon"))
    assert as_systemd_reads(value_of(unit, "Environment")) == [f"CODEX_HOME={path}"]
    assert value_of(unit, "EnvironmentFile").replace("%%", "%") == f"-{path}/environment"


@settings(max_examples=100)
@given(path=PATHS)
def test_cron_gets_the_words_as_they_are(path: str) -> None:
    """Whatever the path, the shell that cron starts sees these words, one line, and our mark as a comment."""
    line = crontab_line(job(path))
    assert "\n" not in line
    umask, _, command = as_cron_reads(line).partition("; ")
    words = shlex.split(command, comments=True)
    assert umask == "umask 077"
    assert words == [f"CODEX_HOME={path}", "nice", "-n", "10", *job(path).words("run"), ">", "/dev/null"]
    assert line.endswith(f" {CRONTAB_MARK}")


def test_the_shell_agrees_about_the_line_of_the_crontab(tmp_path: Path) -> None:
    """A real shell calls the program with the very words, and with the variable."""
    folder = tmp_path / ODD.removeprefix("/")
    folder.mkdir(parents=True)
    program = folder / "python"
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$CODEX_HOME" "$@" > {shlex.quote(str(tmp_path / "seen"))}\n')
    program.chmod(0o700)
    command = as_cron_reads(crontab_line(job(str(folder))))
    subprocess.run(["/bin/sh", "-c", command], check=True, cwd=tmp_path)
    seen = (tmp_path / "seen").read_text(encoding="utf-8").splitlines()
    assert seen == [str(folder), *job(str(folder)).words("run")[1:]]


@given(path=PATHS)
@settings(max_examples=50)
def test_launchd_gets_the_words_as_they_are(path: str) -> None:
    """The property list is one, with the words, the variable, private files, and a log in the state folder."""
    listed = plistlib.loads(launchd_plist(job(path), log_path=f"{path}/service.log").encode())
    assert listed["ProgramArguments"] == list(job(path).words("daemon"))
    assert listed["EnvironmentVariables"] == {"CODEX_HOME": path}
    assert (listed["Umask"], listed["StandardErrorPath"]) == (0o077, f"{path}/service.log")
    assert listed["KeepAlive"] == {"SuccessfulExit": False}


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed here")
def test_systemd_itself_finds_no_fault_in_the_unit(tmp_path: Path) -> None:
    """Every key is known and every value fits, by the word of systemd."""
    program = tmp_path / "a b%c$HOME;ü" / "python"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o700)
    asked = job(ODD, program=str(program))
    unit = tmp_path / "memory-pipeline.service"
    environment = {"XDG_RUNTIME_DIR": str(tmp_path), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}

    def said_of(text: str) -> str:
        unit.write_text(text, encoding="utf-8")
        ran = subprocess.run(
            ["systemd-analyze", "--user", "verify", str(unit)], env=environment, capture_output=True, check=False
        )
        return (ran.stdout + ran.stderr).decode()

    assert said_of(systemd_unit(asked)) == ""
    assert "Nicer" in said_of(systemd_unit(asked).replace("Nice=", "Nicer="))  # it does look


@pytest.mark.parametrize("mark", ["'", '"', "\\"])
def test_a_program_that_systemd_would_not_run_is_refused(mark: str) -> None:
    """It would call the whole unit a fault."""
    with pytest.raises(UsageError, match="install elsewhere"):
        systemd_unit(job(program=f"/home/sam{mark}s/python"))


def test_the_daemon_is_limited_and_stopped_gently() -> None:
    """It has private files and low priority, time to give back what is in flight, and no start for nothing."""
    lines = systemd_unit(job()).splitlines()
    wanted = (
        "UMask=0077",
        "NoNewPrivileges=yes",
        "Nice=10",
        "IOSchedulingClass=idle",
        "Restart=on-failure",
        "RestartPreventExitStatus=2 75",
        "TimeoutStopSec=15",
        "ExecReload=/bin/kill -HUP $MAINPID",
        "WantedBy=default.target",
    )
    assert [line for line in wanted if line not in lines] == []


@pytest.mark.parametrize("character", ["\n", "\r", "\0", "\x1b", "\u2028", "\udc80"])
def test_a_path_that_no_text_can_hold_is_refused(character: str) -> None:
    """A line break in a path would be a line of its own in the unit or the crontab."""
    with pytest.raises(UsageError, match="use another path"):
        job(f"/home/sam{character}* * * * * evil")


def test_a_schedule_that_only_our_own_reading_takes_is_no_line_of_a_crontab() -> None:
    """Cron would refuse the whole crontab for it."""
    with pytest.raises(UsageError, match=r"daemon\.schedule"):
        crontab_line(job(schedule="0 0 % * *"))


def test_a_line_too_long_for_cron_is_refused() -> None:
    """Cron would cut it off."""
    with pytest.raises(UsageError, match="shorter paths"):
        crontab_line(job(f"/{'x' * 300}"))


def job_of(config: Config, *, explicit: bool = False, **environ: str) -> ServiceJob:
    """Return the job for a configuration."""
    return service_job(config, explicit_state_dir=explicit, environ=environ, interpreter="/venv/bin/python")


def test_a_state_folder_that_the_configuration_names_is_left_to_it(tmp_path: Path) -> None:
    """Then a changed configuration is followed; what an option, a variable or a default named is written down."""
    named, silent = tmp_path / "named.toml", tmp_path / "silent.toml"
    named.write_text('state_dir = "state"\n')
    silent.write_text("")
    config = Config(path=str(named), state_dir="/s", daemon=DaemonConfig(schedule="5 4 * * *"))
    assert job_of(config).options == ("--config", str(named))
    assert job_of(config).schedule == "5 4 * * *"
    assert job_of(config, explicit=True).options == ("--config", str(named), "--state-dir", "/s")
    of_silent = Config(path=str(silent), state_dir="/s")
    assert job_of(of_silent).options == ("--config", str(silent), "--state-dir", "/s")
    assert job_of(Config(state_dir="/s")).options == ("--state-dir", "/s")


def test_homes_that_variables_name_are_taken_along_and_keys_are_not() -> None:
    """A service has none of the variables of the shell that it was installed from."""
    found = job_of(Config(state_dir="/s"), CODEX_HOME="/elsewhere", OPENAI_API_KEY="not-a-real-key", OTHER="x")
    assert found.environment == (("CODEX_HOME", "/elsewhere"),)
    for text in (systemd_unit(found), crontab_line(found), launchd_plist(found, log_path="/s/service.log")):
        assert "/elsewhere" in text
        assert "not-a-real-key" not in text
