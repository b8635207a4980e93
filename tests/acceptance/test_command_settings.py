"""The commands settings and threads flags, and what they change in what the other commands tell."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from command import LONG_ANSWER, Machine
from rollout_logs import CodexSession, thread_id_of

SCOPE = "project:example.org/sam/shop"


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A machine with two sessions of one project, which a run extracted."""
    made = Machine(tmp_path)
    made.configure(gates={"idle_seconds": 0, "max_age_days": 0})
    _say(made, 1, "Always run make lint before you commit.")
    _say(made, 2, "Never push to main without asking me.")
    assert made.run("run", "--json").document["phase1"]["succeeded"] == 2
    return made


def _say(machine: Machine, number: int, prompt: str) -> None:
    made = CodexSession(thread_id=thread_id_of(number), remote="git@example.org:sam/shop.git")
    made.prompt(prompt).answer(LONG_ANSWER).write(machine.codex)


def test_get_tells_each_value_and_where_it_comes_from(machine: Machine) -> None:
    """From the default to the thread; without KEY all that can be set, those of the whole left out where nearer."""
    key = "gates.idle_seconds"
    assert machine.run("settings", "set", key, "5", "--project", SCOPE).code == 0
    assert machine.run("settings", "set", key, "7", "--thread", thread_id_of(1)).code == 0
    for options, value, origin in (
        ((), 0, "config file"),
        (("--project", SCOPE), 5, "project"),
        (("--thread", thread_id_of(2)), 5, "project"),
        (("--thread", thread_id_of(1)), 7, "thread"),
    ):
        (found,) = machine.run("settings", "get", key, *options, "--json").document["settings"]
        assert (found["value"], found["origin"]) == (value, origin)
    whole = {one["key"]: one for one in machine.run("settings", "get", "--json").document["settings"]}
    assert whole["gates.min_result_chars"]["origin"] == "default"
    near = machine.run("settings", "get", "--project", SCOPE, "--json").document["settings"]
    assert whole.keys() - {one["key"] for one in near} == {"model.consolidation_model", "gates.max_rollout_bytes"}
    told = machine.run("settings", "get", "--thread", thread_id_of(1)).out
    assert "gates.idle_seconds" in told
    assert "thread" in told


def test_a_project_may_be_named_by_its_folder(machine: Machine) -> None:
    """A folder that is no known project is one of its own; what is no folder is refused."""
    folder = machine.root / "plain"
    folder.mkdir()
    done = machine.run("settings", "set", "settings.use_memories", "off", "--project", str(folder), "--json").document
    assert (done["scope"], done["value"], done["origin"]) == (f"project:{folder}", False, "project")
    refused = machine.run("settings", "set", "settings.use_memories", "off", "--project", str(folder / "nowhere"))
    assert (refused.code, "is no folder" in refused.complaint) == (2, True)
    both = machine.run("settings", "get", "--project", SCOPE, "--thread", thread_id_of(1))
    assert both.code == 2


def test_a_wrong_value_is_refused_and_changes_nothing(machine: Machine) -> None:
    """Exit code 2 and one line; the document says the same."""
    refused = machine.run("settings", "set", "gates.idle_seconds", "--json", "--", "-1")
    assert (refused.code, refused.document["exit_code"]) == (2, 2)
    assert "must be at least 0, not -1" in refused.complaint
    unknown = machine.run("settings", "unset", "gates.idle_second")
    assert (unknown.code, "gates.idle_seconds" in unknown.complaint) == (2, True)


def test_a_project_that_is_switched_off_is_told_as_disabled(machine: Machine) -> None:
    """Threads list, status and run tell it; what was remembered stays; unset, the held session is extracted."""
    assert machine.run("settings", "set", "settings.generate_memories", "off", "--project", SCOPE).code == 0
    _say(machine, 3, "Always use tabs in Makefiles.")
    assert machine.run("run", "--json").document["phase1"]["skipped"] == {"disabled": 3}
    assert {one["state"]: one["gate"] for one in machine.threads().values()} == {
        "done": "disabled",
        "gated": "disabled",
    }
    assert "make lint" in machine.handbook()
    status = machine.run("status", "--json").document
    assert status["own_switches"]["generate_off"] == {"projects": 1, "threads": 0}
    assert "not extracted: 1 projects" in machine.run("status").out
    assert machine.run("settings", "unset", "settings.generate_memories", "--project", SCOPE).code == 0
    assert machine.run("run", "--json").document["phase1"]["succeeded"] == 1


def test_the_flags_of_a_thread_beat_its_project_until_they_inherit(machine: Machine) -> None:
    """on, off and inherit, told by threads flags and threads show; off withdraws what the thread said."""
    machine.run("settings", "set", "settings.generate_memories", "off", "--project", SCOPE)
    on = machine.run("threads", "flags", thread_id_of(1), "--generate", "on", "--use", "off", "--json").document
    assert on["generate"] == {"flag": True, "in_force": True, "origin": "thread"}
    assert on["use"] == {"flag": False, "in_force": False, "origin": "thread"}
    assert machine.thread(1)["flags"]["generate"]["in_force"] is True
    assert (machine.thread(1)["gate"], machine.thread(2)["gate"]) == (None, "disabled")
    off = machine.run("threads", "flags", thread_id_of(1), "--generate", "off", "--json").document
    assert off["generate"] == {"flag": False, "in_force": False, "origin": "thread"}
    machine.run("run", "--json")
    assert "make lint" not in machine.handbook()
    assert machine.thread(1)["state"] == "gated"
    inherits = machine.run("threads", "enable", thread_id_of(1))
    assert "follows its project again, for which generation is off (from: project)" in inherits.out
    told = machine.run("threads", "flags", thread_id_of(1)).out
    assert "generate: off (from: project)" in told
    assert machine.thread(1)["state"] == "done"


def test_what_is_set_for_the_whole_beats_the_file_and_that_is_told(machine: Machine) -> None:
    """The file stays as it was; doctor names the key that does not count."""
    before = (machine.root / "config.toml").read_bytes()
    assert machine.run("settings", "set", "gates.idle_seconds", "7", "--json").document["origin"] == "whole"
    assert (machine.root / "config.toml").read_bytes() == before
    assert "gates.idle_seconds of the file does not count" in machine.run("doctor", "--offline").out
    assert machine.run("settings", "unset", "gates.idle_seconds", "--json").document["origin"] == "config file"


def test_whoever_switches_use_is_told_what_the_next_run_does(machine: Machine) -> None:
    """Of a project and the whole a file follows; of one session none does."""
    told = [
        machine.run("settings", "set", "settings.use_memories", "off", *where).out
        for where in (("--project", SCOPE), (), ("--thread", thread_id_of(1)))
    ]
    assert ["memory_summary.md" in one for one in told] == [True, True, False]


def test_a_folder_whose_name_is_no_text_is_refused_with_its_reason(machine: Machine) -> None:
    """No log can name it, so nothing set for it would ever hold."""
    folder = machine.elsewhere / os.fsdecode(b"\xff")
    folder.mkdir()
    ran = machine.run("settings", "set", "settings.use_memories", "off", "--project", str(folder))
    assert (ran.code, "is no text" in ran.complaint) == (2, True)


def test_what_is_set_for_a_folder_through_a_link_is_set_for_where_it_leads(machine: Machine) -> None:
    """As sessions in it are known."""
    (machine.elsewhere / "plain").mkdir()
    (machine.elsewhere / "link").symlink_to(machine.elsewhere / "plain")
    ran = machine.run(
        "settings", "set", "settings.use_memories", "off", "--project", str(machine.elsewhere / "link"), "--json"
    )
    assert ran.document["scope"] == f"project:{os.path.realpath(machine.elsewhere / 'plain')}"
