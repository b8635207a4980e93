"""What a later run does with logs that stayed, grew, moved, were touched or vanished, and with what was published."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import sys
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import zstandard
from command import LONG_ANSWER, Machine, below, moment, session
from model_server import ModelServer, text
from opened_files import OpenedFiles
from rollout_logs import ClaudeSession, thread_id_of

LINT = "From now on always run make lint before you commit."
LATIN = "From now on always write commit messages in Latin."


def test_a_second_run_touches_nothing(machine: Machine) -> None:
    """Over unchanged logs a run reports no_changes, and every file of workspace and state keeps bytes and time."""
    session(1, LINT).write(machine.codex)
    session(2, LATIN, cwd="/home/sam/web").write(machine.codex)
    assert machine.run("run", "--json").document["phase2"]["outcome"] == "consolidated"
    files = _files(machine.state)
    workspace = below(machine.memories)
    assert {"memory.db", "memories/MEMORY.md", "memories/memory_summary.md", "baseline/manifest.json"} <= files.keys()

    for _ in range(2):
        ran = machine.run("run", "--json")
        assert (ran.code, ran.err) == (0, "")
        assert ran.document["phase2"]["outcome"] == "no_changes"
        assert (ran.document["phase1"]["eligible"], ran.document["phase1"]["claimed"]) == (0, 0)
        assert _files(machine.state) == files
        assert below(machine.memories) == workspace


def test_looking_changes_no_file(machine: Machine) -> None:
    """Lists, shows, status and scan leave every file of workspace and state as it is."""
    session(1, LINT).write(machine.codex)
    machine.run("run", "--json")
    files = _files(machine.state)
    memory_id = machine.memory_list()[0]["memory_id"]
    for words in (("status",), ("scan",), ("threads", "list"), ("threads", "show", thread_id_of(1))):
        assert machine.run(*words).code == 0
    assert machine.run("memory", "show", memory_id).code == 0
    assert _files(machine.state) == files


def test_a_second_run_asks_no_model(machine: Machine) -> None:
    """With a model that is paid for, unchanged logs cost no request."""
    session(1, LINT).write(machine.codex)
    with ModelServer() as server:
        machine.configure(model={"provider": "openai", "extract_model": "m", "base_url": server.base_url})
        assert machine.run("run", "--json").document["phase1"]["no_output"] == 1
        assert machine.run("run", "--json").document["phase1"]["claimed"] == 0
        assert len(server.requests) == 1


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's word on opened files is asked in the Linux way")
def test_a_pass_over_unchanged_files_does_not_open_them(machine: Machine) -> None:
    """Only the log that changed is opened by the next run."""
    kept, changed = session(1, LINT).write(machine.codex), session(2, LATIN).write(machine.codex)
    claude = ClaudeSession(thread_id=thread_id_of(3), start=moment(timedelta(days=2)))
    transcript = claude.prompt(LINT).answer(LONG_ANSWER).write(machine.claude)
    with OpenedFiles([kept, changed, transcript]) as opened:
        machine.run("run", "--json")
        assert opened.so_far() == {kept, changed, transcript}
        machine.run("run", "--json")
        assert opened.so_far() == set()
        _append(changed, session(2, LATIN, "And from now on always squash before merging."))
        opened.so_far()
        machine.run("run", "--json")
        assert opened.so_far() == {changed}


def test_reading_leaves_the_time_stamps_of_a_log(machine: Machine) -> None:
    """The agents delete logs by their times, so a run changes neither."""
    path = session(1, LINT).write(machine.codex)
    old = moment(timedelta(days=1)).timestamp()
    os.utime(path, (old - 90_000, old))
    before = path.stat()
    assert machine.run("run", "--json").document["phase1"]["succeeded"] == 1
    after = path.stat()
    assert (after.st_atime_ns, after.st_mtime_ns) == (before.st_atime_ns, before.st_mtime_ns)


def test_a_touched_file_is_not_claimed_again(machine: Machine) -> None:
    """New time stamps, or the same bytes written anew, are no new words."""
    path = session(1, LINT).write(machine.codex)
    machine.run("run", "--json")
    entries = machine.thread(1)["entries"]
    os.utime(path)
    assert _claimed(machine) == (0, "no_changes")
    copy = path.with_name("copy")
    copy.write_bytes(path.read_bytes())
    copy.replace(path)
    assert _claimed(machine) == (0, "no_changes")
    # A line that says nothing is no new word either.
    last = json.loads(path.read_text(encoding="utf-8").splitlines()[-1])
    _append_lines(path, [{"timestamp": last["timestamp"], "type": "world_state", "payload": {}}])
    assert _claimed(machine) == (0, "no_changes")
    thread = machine.thread(1)
    assert (thread["state"], thread["attempts"], thread["entries"]) == ("done", 1, entries)


def test_a_grown_file_is_extracted_again_with_all_its_tries(machine: Machine) -> None:
    """What was said since the last run is read; the thread stays one, and keeps what it said before."""
    path = session(1, LINT).write(machine.codex)
    machine.run("run", "--json")
    (before,) = machine.memory_list()
    _append(path, session(1, LINT, LATIN))
    assert _claimed(machine) == (1, "consolidated")
    thread = machine.thread(1)
    assert (thread["state"], thread["attempts"]) == ("done", 1)
    assert "make lint" in machine.handbook()
    assert "Latin" in machine.handbook()
    assert before["memory_id"] in {memory["memory_id"] for memory in machine.memory_list()}
    assert len(machine.threads()) == 1


def test_a_grown_file_that_is_too_recent_keeps_what_it_gave(machine: Machine) -> None:
    """A gate stands beside done: the old outcome is told until the session is idle."""
    path = session(1, LINT).write(machine.codex)
    machine.run("run", "--json")
    grown = session(1, LINT)
    grown.start = moment(timedelta(minutes=2))
    grown.lines = grown.lines[:0]
    _append_lines(path, grown.prompt(LATIN).answer(LONG_ANSWER).lines)
    assert _claimed(machine) == (0, "no_changes")
    thread = machine.thread(1)
    assert (thread["state"], thread["gate"]) == ("done", "too_recent")
    assert [entry["statement"] for entry in thread["entries"]] == [LINT.rstrip(".")]
    assert machine.run("run", "--force", "--json").document["phase1"]["claimed"] == 1
    assert machine.thread(1)["gate"] is None


def test_a_file_replaced_under_the_same_name_is_read_anew(machine: Machine) -> None:
    """Other words of the same length in the same file are new; what is no longer said is withdrawn."""
    path = session(1, "From now on always use tabs here.").write(machine.codex)
    machine.run("run", "--json")
    path.write_text(path.read_text(encoding="utf-8").replace("use tabs", "use nano"), encoding="utf-8")
    assert _claimed(machine) == (1, "consolidated")
    assert "use nano" in machine.handbook()
    assert "use tabs" not in machine.handbook()


def test_a_log_follows_to_the_archive_and_back(machine: Machine) -> None:
    """The thread stays the same one, its path and that of its evidence follow, and nothing is extracted again."""
    path = session(1, LINT).write(machine.codex)
    machine.run("run", "--json")
    before = machine.thread(1)
    archive = machine.codex / "archived_sessions" / path.name
    archive.parent.mkdir()

    path.rename(archive)
    assert _claimed(machine)[0] == 0
    archived = machine.thread(1)
    assert (archived["rollout_path"], archived["state"], archived["gate"]) == (str(archive), "done", "archived")
    assert {line["rollout_path"] for entry in archived["entries"] for line in entry["evidence"]} == {str(archive)}
    assert "make lint" in machine.handbook()
    assert str(archive) in machine.handbook()

    archive.rename(path)
    assert _claimed(machine)[0] == 0
    returned = machine.thread(1)
    assert len(machine.threads()) == 1
    assert returned == before


def test_a_log_that_stands_in_two_folders_is_one_thread(machine: Machine) -> None:
    """A log that lies both among the sessions and in the archive has one row, and is extracted once."""
    path = session(1, LINT).write(machine.codex)
    archive = session(1, LINT).write(machine.codex, archived=True)
    archive.write_bytes(path.read_bytes())
    first = machine.run("run", "--json").document["phase1"]
    assert (first["discovered"], len(machine.threads())) == (1, 1)
    owner = machine.thread(1)["rollout_path"]
    assert _claimed(machine)[0] == 0
    assert machine.thread(1)["rollout_path"] == owner
    archive.unlink()
    assert first["claimed"] + _claimed(machine)[0] == 1
    thread = machine.thread(1)
    assert (thread["rollout_path"], thread["state"], thread["gate"]) == (str(path), "done", None)
    assert _claimed(machine) == (0, "no_changes")


def test_a_compressed_twin_is_the_same_thread(machine: Machine) -> None:
    """A log that the agent compresses stays one thread; its evidence counts the plain bytes; nothing is read twice."""
    path = session(1, LINT).write(machine.codex)
    plain = path.read_bytes()
    twin = path.with_name(path.name + ".zst")
    twin.write_bytes(zstandard.compress(plain))
    ran = machine.run("run", "--json").document["phase1"]
    assert (ran["discovered"], ran["succeeded"]) == (1, 1)
    path.unlink()
    assert _claimed(machine)[0] == 0
    thread = machine.thread(1)
    assert (thread["state"], thread["coverage"], len(machine.threads())) == ("done", "high", 1)

    session(2, LATIN).write(machine.codex)
    other = next(machine.codex.rglob(f"*{thread_id_of(2)}.jsonl"))
    plain = other.read_bytes()
    other.with_name(other.name + ".zst").write_bytes(zstandard.compress(plain))
    other.unlink()
    assert _claimed(machine)[0] == 1
    ((line,),) = [entry["evidence"] for entry in machine.thread(2)["entries"]]
    cut = plain[line["byte_start"] : line["byte_end"]]
    assert hashlib.sha256(cut).hexdigest() == line["line_sha256"]


def test_a_vanished_source_keeps_its_row_and_its_memory(machine: Machine) -> None:
    """The agents delete their logs: the thread is still listed and shown, and what it said stays."""
    path = session(1, LINT).write(machine.codex)
    session(2, LATIN).write(machine.codex)
    machine.run("run", "--json")
    before = machine.thread(1)
    handbook = machine.handbook()
    path.unlink()
    ran = machine.run("run", "--json")
    assert (ran.code, ran.document["phase1"]["discovered"]) == (0, 1)
    assert ran.document["phase2"]["outcome"] == "no_changes"
    assert machine.thread(1) == before
    assert machine.handbook() == handbook
    assert machine.run("threads", "show", thread_id_of(1)).code == 0


def test_a_file_that_vanishes_before_it_was_extracted_is_normal(machine: Machine) -> None:
    """It keeps its row, is claimed by nobody, and a later run ends well."""
    path = session(1, LINT).write(machine.codex)
    machine.run("scan", "--json")
    path.unlink()
    ran = machine.run("run", "--json")
    assert (ran.code, ran.document["phase1"]["claimed"]) == (0, 0)
    assert machine.thread(1)["state"] == "pending"
    session(1, LINT).write(machine.codex)
    assert machine.run("run", "--json").document["phase1"]["succeeded"] == 1


def test_a_torn_line_makes_the_coverage_partial(machine: Machine) -> None:
    """What a kill tore off is counted by its reason; the rest is read."""
    path = session(1, LINT).write(machine.codex)
    with path.open("a", encoding="utf-8") as log:
        log.write('{"timestamp": "2026-01-01T00:00:00Z", "type": "response_item", "payl')
    machine.run("run", "--json")
    thread = machine.thread(1)
    assert (thread["state"], thread["coverage"]) == ("done", "partial")
    assert thread["skipped_lines"] == {"torn": 1}


@pytest.mark.parametrize("separate_workspace", [False, True])
def test_files_are_for_their_owner_only(machine: Machine, separate_workspace: bool) -> None:
    """Under umask 022 every file that we make is 0600 and every folder 0700, parents included."""
    if separate_workspace:
        machine.configure(state_dir="deep/below/state", memories_dir="words/memories")
    session(1, LINT).write(machine.codex)
    known = set(machine.root.rglob("*"))
    assert machine.run("run", "--json", umask=0o022).code == 0
    machine.run("status", "--json", umask=0o022)
    made = set(machine.root.rglob("*")) - known
    modes = {path: stat.S_IMODE(path.lstat().st_mode) for path in made}
    assert len(made) > 10
    assert {path: oct(mode) for path, mode in modes.items() if mode != (0o700 if path.is_dir() else 0o600)} == {}


def test_no_word_of_a_log_stands_in_our_logs(machine: Machine) -> None:
    """Standard error of a run and of a failing run names threads and outcomes, never what was said."""
    session(1, "From now on always call the heron project Zanzibar.").write(machine.codex)
    with ModelServer(default=text("the heron project is called Zanzibar")) as server:
        machine.configure(model={"provider": "openai", "extract_model": "m", "base_url": server.base_url})
        ran = machine.run("run")
    assert ran.code == 1
    assert "Zanzibar" not in ran.err + ran.out
    assert "heron" not in ran.err + ran.out


def test_a_secret_in_a_prompt_reaches_no_file_of_ours(machine: Machine) -> None:
    """Keys and passwords are masked before they are stored or shown, in prompts and in what tools said."""
    key = "sk-proj-" + "FAKEfake0123456789FAKEfake0123456789FAKEfake"
    password = "hunter2-not-real"
    made = session(1).prompt(f"From now on always use the key {key} and postgres://sam:{password}@db.example/shop.")
    made.shell("env", f"OPENAI_API_KEY={key}").answer(LONG_ANSWER).write(machine.codex)
    machine.run("run", "--json")
    shown = machine.run("threads", "show", thread_id_of(1), "--json").out + machine.run("memory", "list").out
    written = b"".join(path.read_bytes() for path in machine.state.rglob("*") if path.is_file())
    for secret in (key, key[8:], password):
        assert secret not in shown
        assert secret.encode() not in written
    assert machine.thread(1)["state"] == "done"


def _files(folder: Path) -> Mapping[str, Any]:
    """The files alone: the database's folder itself changes while its write-ahead log comes and goes.

    A run that found nothing to do may note that, so that the next one need not look again.
    """
    return {name: state for name, state in below(folder).items() if state.sha256 and name != "settled.json"}


def _claimed(machine: Machine) -> tuple[int, str]:
    ran = machine.run("run", "--json")
    assert ran.code == 0, ran.err
    return ran.document["phase1"]["claimed"], ran.document["phase2"]["outcome"]


def _append(path: Path, longer: Any) -> None:
    """Let a log grow to what a longer session of the same start says."""
    known = len(path.read_text(encoding="utf-8").splitlines())
    _append_lines(path, longer.lines[known:])


def _append_lines(path: Path, lines: list[dict[str, Any]]) -> None:
    with path.open("a", encoding="utf-8") as log:
        log.writelines(json.dumps(line) + "\n" for line in lines)
