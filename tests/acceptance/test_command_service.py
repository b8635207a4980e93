"""service install, status and uninstall, beside a systemctl and a crontab that write down what they are asked."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from command import Machine, Ran, below

SYSTEMCTL = """#!/bin/sh
echo "$@" >> "$HOME/asked"
[ "$2" = is-active ] && { cat "$HOME/active" 2>/dev/null || echo inactive; exit 3; }
[ -f "$HOME/refuses" ] || exit 0
echo "Failed to connect to bus: No medium found" >&2
exit 1
"""
CRONTAB = """#!/bin/sh
[ -f "$HOME/refuses" ] && { echo "you are not allowed to use this program" >&2; exit 1; }
case "$1" in
-l) [ -f "$HOME/crontab" ] && exec cat "$HOME/crontab"; echo "no crontab for sam" >&2; exit 1 ;;
-) exec cat > "$HOME/crontab" ;;
esac
exit 2
"""
OTHERS = b"MAILTO=sam\n\n# memory-pipeline service\n0 4 * * *  backup --at '50\\%'\t# nightly \r\n\xff\xfe odd bytes"


class Desk:
    """A machine with these tools."""

    def __init__(self, machine: Machine, **tools: str) -> None:
        self.machine = machine
        self.tools = machine.root / "tools"
        self.tools.mkdir()
        self.unit = machine.root / "xdg-config" / "systemd" / "user" / "memory-pipeline.service"
        self.crontab = machine.home / "crontab"
        for name, text in tools.items():
            (self.tools / name).write_text(text)
            (self.tools / name).chmod(0o700)
        for name in ("cat", "sh"):
            (self.tools / name).symlink_to(f"/bin/{name}")

    def call(self, *words: str) -> Ran:
        """Call the command where no tool is found but these."""
        return self.machine.run("service", *words, env={"PATH": str(self.tools)})

    def asked(self) -> list[str]:
        """Return what systemctl was asked to change, once."""
        asked = self.machine.home / "asked"
        lines = asked.read_text().splitlines() if asked.exists() else []
        asked.unlink(missing_ok=True)
        return [line.removeprefix("--user ") for line in lines if "is-active" not in line]

    def refuse(self) -> None:
        """Let the tools refuse from now on."""
        (self.machine.home / "refuses").touch()

    def state(self, kind: str) -> dict[str, object]:
        """Return what ``service status`` tells."""
        (state,) = self.call("status", "--kind", kind, "--json").document["services"]
        return {name: state[name] for name in ("installed", "running", "differs")}


@pytest.fixture
def desk(machine: Machine) -> Desk:
    """A machine with both tools."""
    return Desk(machine, systemctl=SYSTEMCTL, crontab=CRONTAB)


@pytest.mark.parametrize("kind", ["systemd", "launchd", "crontab"])
def test_print_shows_the_text_and_changes_nothing(desk: Desk, kind: str) -> None:
    """No file, no folder, no call of a tool."""
    before = below(desk.machine.root)
    ran = desk.call("install", "--kind", kind, "--print")
    assert ran.code == 0
    assert str(desk.machine.root / "config.toml") in ran.out
    assert desk.call("install", "--kind", kind, "--print", "--json").document == {"kind": kind, "text": ran.out}
    assert below(desk.machine.root) == before


def test_a_unit_is_installed_kept_brought_up_to_date_and_taken_away(desk: Desk) -> None:
    """Each step asks systemd for what it needs and no more, and the file is for its owner alone."""
    assert desk.state("systemd") == {"installed": False, "running": False, "differs": False}
    ran = desk.call("install", "--kind", "systemd")
    assert (ran.code, "enable-linger" in ran.err) == (0, True)
    assert desk.asked() == ["daemon-reload", "enable --now memory-pipeline.service"]
    assert desk.unit.read_text(encoding="utf-8") == desk.call("install", "--kind", "systemd", "--print").out
    assert stat.S_IMODE(desk.unit.stat().st_mode) == 0o600
    (desk.machine.home / "active").write_text("active\n")
    assert desk.state("systemd") == {"installed": True, "running": True, "differs": False}
    assert "running" in desk.call("status").out

    before = below(desk.unit.parent)
    assert desk.call("install", "--kind", "systemd").code == 0
    assert below(desk.unit.parent) == before
    assert desk.asked() == ["daemon-reload", "enable --now memory-pipeline.service"]

    other = ("--state-dir", str(desk.machine.root / "elsewhere"))
    told = desk.machine.run(*other, "service", "status", env={"PATH": str(desk.tools)})
    assert "differs" in told.out
    assert desk.machine.run(*other, "service", "install", "--kind", "systemd", env={"PATH": str(desk.tools)}).code == 0
    assert desk.asked()[-1] == "restart memory-pipeline.service"

    assert desk.call("uninstall").code == 0
    assert desk.asked() == ["disable --now memory-pipeline.service", "daemon-reload"]
    assert list(desk.unit.parent.iterdir()) == []
    again = desk.call("uninstall")
    assert (again.code, desk.asked()) == (0, [])
    assert "No service is installed" in again.out


def test_a_unit_that_is_not_ours_is_left_alone(desk: Desk) -> None:
    """Neither install nor uninstall touches it, and a masked unit is somebody's wish as well."""
    desk.unit.parent.mkdir(parents=True)
    desk.unit.write_text("[Service]\nExecStart=/usr/bin/mine\n")
    for words in (("install",), ("uninstall",), ("status",)):
        ran = desk.call(*words, "--kind", "systemd")
        assert ran.code == 2
        assert "was not written by us" in ran.complaint
    assert desk.unit.read_text() == "[Service]\nExecStart=/usr/bin/mine\n"
    desk.unit.unlink()
    desk.unit.symlink_to("/dev/null")
    assert desk.call("install", "--kind", "systemd").code == 2
    assert desk.unit.readlink() == Path("/dev/null")
    assert desk.asked() == []


def test_without_systemctl_the_person_is_told_what_to_run(machine: Machine) -> None:
    """The unit is written, as on a machine that is being set up."""
    desk = Desk(machine)
    ran = desk.call("install", "--kind", "systemd")
    assert ran.code == 0
    assert "systemctl --user enable --now memory-pipeline.service" in ran.err
    assert desk.unit.exists()
    assert desk.state("systemd") == {"installed": True, "running": None, "differs": False}


def test_a_refusal_of_systemd_is_told_with_what_to_do(desk: Desk) -> None:
    """Its own words, what stands by now, and the commands that are left."""
    desk.refuse()
    ran = desk.call("install", "--kind", "systemd")
    assert ran.code == 1
    assert "No medium found" in ran.complaint
    assert f"{desk.unit} is written" in ran.complaint
    assert "systemctl --user enable --now" in ran.complaint
    assert desk.call("uninstall", "--kind", "systemd").code == 1
    assert desk.unit.exists()


def test_the_line_of_a_crontab_comes_and_goes_and_other_lines_stay(desk: Desk) -> None:
    """Byte for byte: odd bytes, a missing last line end, and a comment that looks like our mark."""
    desk.crontab.write_bytes(OTHERS)
    assert desk.call("install", "--kind", "crontab").code == 0
    line = desk.call("install", "--kind", "crontab", "--print").out.encode()
    assert desk.crontab.read_bytes() == OTHERS + b"\n" + line
    assert desk.state("crontab") == {"installed": True, "running": None, "differs": False}
    desk.crontab.write_bytes(desk.crontab.read_bytes() + b"1 1 * * * last\n")
    desk.machine.configure(daemon={"schedule": "7 * * * *"})
    assert desk.state("crontab")["differs"] is True
    assert desk.call("install", "--kind", "crontab").code == 0
    assert desk.crontab.read_bytes() == OTHERS + b"\n" + line.replace(b"*/15", b"7", 1) + b"1 1 * * * last\n"
    assert desk.call("uninstall").code == 0
    assert desk.crontab.read_bytes() == OTHERS + b"\n1 1 * * * last\n"


def test_somebody_without_a_crontab_gets_one(desk: Desk) -> None:
    """That there is none is no failure."""
    assert desk.state("crontab")["installed"] is False
    assert desk.call("install", "--kind", "crontab").code == 0
    assert desk.crontab.read_text().count("\n") == 1


def test_a_crontab_that_can_not_be_read_is_not_taken_for_an_empty_one(desk: Desk) -> None:
    """It would be overwritten with our line alone."""
    desk.crontab.write_bytes(OTHERS)
    desk.refuse()
    for words in (("install",), ("uninstall",), ("status",)):
        ran = desk.call(*words, "--kind", "crontab")
        assert ran.code == 1
        assert "not allowed" in ran.complaint
    assert desk.crontab.read_bytes() == OTHERS


def test_the_installed_words_run(desk: Desk) -> None:
    """What stands in the crontab works in an empty environment, from another folder, and leaves private files."""
    desk.call("install", "--kind", "crontab")
    command = desk.crontab.read_text().split(maxsplit=5)[5]
    assert os.waitstatus_to_exitcode(_in_empty_environment(command, desk.machine)) == 0
    assert stat.S_IMODE(desk.machine.database.stat().st_mode) == 0o600


def test_a_schedule_that_is_none_is_not_installed(desk: Desk) -> None:
    """Exit code 2, and no unit."""
    desk.machine.configure(daemon={"schedule": "often"})
    assert desk.call("install", "--kind", "systemd").code == 2
    assert not desk.unit.exists()


def test_a_remote_model_needs_its_key_and_the_person_is_told_where(desk: Desk) -> None:
    """A service has none of the variables of a shell."""
    desk.machine.configure(model={"provider": "openai", "extract_model": "m", "base_url": "https://models.example/v1"})
    assert "OPENAI_API_KEY=" in desk.call("install", "--kind", "systemd").err
    assert "OPENAI_API_KEY=" in desk.call("install", "--kind", "crontab").err


def test_a_machine_with_neither_is_told_what_to_do(machine: Machine) -> None:
    """No traceback, no guess."""
    ran = Desk(machine).call("install")
    assert ran.code == 2
    assert "memory-pipeline daemon" in ran.complaint


def _in_empty_environment(command: str, machine: Machine) -> int:
    child = os.posix_spawn(
        "/bin/sh", ["sh", "-c", f"cd / && {command}"], {"HOME": str(machine.home), "PATH": "/usr/bin:/bin"}
    )
    return os.waitpid(child, 0)[1]
