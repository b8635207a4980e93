"""Packets and the files of the review with the real command: built, imported, edited, forgotten, masked."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from command import Machine, contents, session
from forgetting_runs import files_holding
from rollout_logs import thread_id_of

LINT = "From now on always run make quokkalint before you commit."
SQUASH = "From now on never squash before merging."


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """Two sessions that were read once."""
    made = Machine(tmp_path)
    made.configure()
    session(1, LINT).shell("make quokkalint", "no such target", exit_code=2).write(made.codex)
    session(2, SQUASH, cwd="/home/sam/web").write(made.codex)
    assert made.run("run", "--json").code == 0
    return made


def drafts_of(machine: Machine, number: int) -> Any:
    """The draft file of a session."""
    return json.loads((machine.state / "memory-drafts" / f"{thread_id_of(number)}.json").read_bytes())


def test_a_packet_is_built_listed_and_shown(machine: Machine) -> None:
    """Of one session, of the newest without one, and the draft file tells the audit."""
    (built,) = machine.run("packet", "build", "--session", thread_id_of(1), "--json").document["built"]
    assert (built["origin"], built["audit"]["coverage"], built["audit"]["turns_rendered"]) == ("built", "high", 1)
    assert Path(built["path"]).read_text(encoding="utf-8").startswith(f"# Session Packet: {thread_id_of(1)}\n")
    assert Path(built["path"]).stat().st_mode & 0o777 == 0o600
    assert drafts_of(machine, 1)["packet_audit"] == built["audit"]
    following = machine.run("packet", "build", "--next", "5", "--json").document["built"]
    assert [one["session_id"] for one in following] == [thread_id_of(2)]
    listed = machine.run("packet", "list", "--json").document
    assert [one["session_id"] for one in listed] == [thread_id_of(1), thread_id_of(2)]
    shown = machine.run("packet", "show", thread_id_of(1)).out
    assert f"```text\n{LINT}\n```" in shown
    assert "- `make quokkalint (exit code 2)`" in shown
    assert "has a packet" in machine.run("packet", "build").out
    assert "2 turns" not in machine.run("packet", "list").out


def test_building_again_changes_no_byte_and_nothing_is_built_of_what_is_gone(machine: Machine) -> None:
    """A log that vanished is told, and the other packets are built."""
    machine.run("packet", "build", "--next", "9")
    before = contents(machine.state / "packets")
    machine.run("packet", "build", "--session", thread_id_of(1))
    assert contents(machine.state / "packets") == before
    for log in machine.codex.rglob(f"*{thread_id_of(1)}.jsonl"):
        log.unlink()
    ran = machine.run("packet", "build", "--session", thread_id_of(1), "--json")
    assert ran.code == 1
    assert ran.document["failed"][0]["session_id"] == thread_id_of(1)
    assert contents(machine.state / "packets") == before


def test_wrong_use_of_packets_is_told(machine: Machine, tmp_path: Path) -> None:
    """With what to do."""
    (tmp_path / "notes.md").write_text("# Notes\n")
    assert machine.run("packet", "build", "--session", "x", "--next", "1").code == 2
    assert machine.run("packet", "show", "nobody").code == 2
    assert "no session packet" in machine.run("packet", "import", str(tmp_path / "notes.md")).complaint
    assert machine.run("packet", "import", str(tmp_path / "missing.md")).code == 2
    (tmp_path / "ours.md").write_text("# Session Packet: memories\n## Turn 1\n### User Requests\n```text\nhi\n```\n")
    assert "name of our own" in machine.run("packet", "import", str(tmp_path / "ours.md")).complaint
    known = tmp_path / "known.md"
    known.write_text(f"# Session Packet: {thread_id_of(1)}\n## Turn 1\n### User Requests\n```text\nhi\n```\n")
    assert "its own log" in machine.run("packet", "import", str(known)).complaint


def test_a_packet_of_another_tool_is_taken_in_masked_and_harmless(machine: Machine, tmp_path: Path) -> None:
    """And one that lies in the folder already is listed."""
    key = "ghp_" + "0" * 36
    text = f"# Session Packet: other-1\n## Turn 1\n### User Requests\n```text\nuse {key} \u202enow\n```\n"
    (tmp_path / "in.md").write_text(text, encoding="utf-8")
    (machine.state / "packets").mkdir()
    (machine.state / "packets" / "other-2.md").write_text(text.replace("other-1", "other-2"), encoding="utf-8")
    imported = machine.run("packet", "import", str(tmp_path / "in.md"), "--json").document
    assert (imported["origin"], imported["is_known"]) == ("imported", False)
    assert key not in Path(imported["path"]).read_text(encoding="utf-8")
    listed = machine.run("packet", "list", "--json").document
    assert [(one["session_id"], one["origin"]) for one in listed] == [("other-1", "imported"), ("other-2", "other")]
    for name in ("other-1", "other-2"):
        shown = machine.run("packet", "show", name).out
        assert key not in shown
        assert "⟨U+202E⟩now" in shown


def test_a_decision_in_a_draft_file_is_remembered_by_the_next_run(machine: Machine) -> None:
    """Rejected there, it is told no longer."""
    path = machine.state / "memory-drafts" / f"{thread_id_of(2)}.json"
    assert "squash" in machine.handbook()
    document = json.loads(path.read_bytes())
    document["draft_entries"][0] |= {"review_status": "rejected", "review_note": "no longer"}
    path.write_text(json.dumps(document), encoding="utf-8")
    assert machine.run("run", "--json").code == 0
    assert "squash" not in machine.handbook()
    assert not (machine.state / "sync-lists" / path.name).exists()


def test_forgetting_reaches_every_file_of_the_review(machine: Machine) -> None:
    """Packets, drafts, lists and what was kept aside; a dry run names them, and a backup brings nothing back."""
    machine.run("packet", "build", "--next", "9")
    path = machine.state / "memory-drafts" / f"{thread_id_of(1)}.json"
    path.write_text(path.read_text(encoding="utf-8")[:-9] + "quokkalint", encoding="utf-8")
    assert machine.run("run", "--json").code == 0
    assert path.with_name(f"{path.name}.refused").exists()
    shutil.copytree(machine.state / "packets", machine.root / "packets-copy")
    kept = contents(machine.state / "memory-drafts")[f"{thread_id_of(2)}.json"]
    plan = machine.run("forget", "--thread", thread_id_of(1), "--dry-run", "--json").document
    named = {Path(name).name for name in plan["review_files"]}
    assert named == {f"{thread_id_of(1)}.{end}" for end in ("md", "json", "json.refused")}
    assert machine.run("forget", "--thread", thread_id_of(1), "--yes", "--json").code == 0
    assert files_holding(machine.state, "quokkalint") == []
    assert contents(machine.state / "memory-drafts") == {f"{thread_id_of(2)}.json": kept}
    shutil.copytree(machine.root / "packets-copy", machine.state / "packets", dirs_exist_ok=True)
    assert machine.run("run", "--json").code == 0
    assert files_holding(machine.state, "quokkalint") == []
    assert (machine.state / "packets" / f"{thread_id_of(2)}.md").exists()
    assert machine.run("packet", "build", "--session", thread_id_of(1)).code == 2


def test_forgetting_some_words_builds_the_packet_anew_without_them(machine: Machine) -> None:
    """What else the session said stays in it."""
    session(3, "Look at the wombatade order first.", LINT.replace("quokkalint", "capylint")).write(machine.codex)
    machine.run("run")
    machine.run("packet", "build", "--session", thread_id_of(3))
    assert files_holding(machine.state / "packets", "wombatade") != []
    assert machine.run("forget", "--match", "wombatade", "--yes", "--json").code == 0
    assert files_holding(machine.state, "wombatade") == []
    text = (machine.state / "packets" / f"{thread_id_of(3)}.md").read_text(encoding="utf-8")
    assert "capylint" in text
    assert "What was forgotten is left out." in text


def test_an_imported_packet_becomes_drafts_that_wait(machine: Machine, tmp_path: Path) -> None:
    """Its turn is the evidence; nothing of it passes by itself, and the person's approval lets it pass."""
    said = "From now on always tag releases with the wombat prefix."
    path = tmp_path / "in.md"
    path.write_text(
        f"# Session Packet: other-1\n## Turn 4\n### User Requests\n```text\n{said}\n```\n### Final Answers\n"
        "```text\nNoted.\n```\n"
    )
    assert machine.run("packet", "import", str(path), "--json").document["drafts"] == 0
    assert machine.run("packet", "import", str(path), "--scope", "user").code == 2
    for _ in range(2):  # once more changes nothing
        imported = machine.run("packet", "import", str(path), "--scope", "project:example.org/a", "--json").document
        assert (imported["drafts"], imported["is_known"]) == (1, True)
    assert machine.run("run", "--json").code == 0
    assert "wombat" not in machine.handbook()
    drafts = machine.state / "memory-drafts" / "other-1.json"
    document = json.loads(drafts.read_bytes())
    (draft,) = document["draft_entries"]
    assert (draft["sync_readiness"], draft["evidence_refs"]["turn_number"]) == ("needs-raw-review", 4)
    assert draft["destination"] == "project:example.org/a"
    draft["review_status"] = "approved"
    drafts.write_text(json.dumps(document))
    assert machine.run("run", "--json").code == 0
    assert "wombat" in machine.handbook()
    shown = machine.run("threads", "show", "other-1", "--json").document
    assert shown["state"] == "done"
    assert machine.run("memory", "lint", "--json").code == 0
    assert machine.run("forget", "--thread", "other-1", "--yes", "--json").code == 0
    assert files_holding(machine.state, "wombat") == []
    assert machine.run("packet", "import", str(path), "--scope", "project:example.org/a").code == 2


def test_drafts_of_another_tool_are_shown_with_the_way_to_import_them(machine: Machine, tmp_path: Path) -> None:
    """Every command about drafts tells of them, none decides them, and the import makes drafts of their session."""
    folder = machine.state / "memory-drafts"
    entry = {
        "id": "d1",
        "statement": "Tag releases with the wombat prefix.",
        "label": "new",
        "review_status": "approved",
    }
    theirs = folder / "other-1.json"
    theirs.write_text(json.dumps({"schema_version": 1, "session_id": "other-1", "draft_entries": [entry]}))
    (folder / "notes.json").write_text("[]")
    before = theirs.read_bytes()
    status = machine.run("drafts", "status")
    assert "1 drafts that another tool wrote about session other-1" in status.err
    assert "packet import PACKET.md --scope project:KEY" in status.err
    (listed,) = machine.run("drafts", "list", "--json").document["of_other_tools"]
    assert (listed["path"], listed["session_id"], listed["entries"]) == (str(theirs), "other-1", [entry])
    shown = machine.run("drafts", "list")
    assert entry["statement"] in shown.out
    for command in (("list", "--session", "other-1"), ("status", "--session", "other-1")):
        refused = machine.run("drafts", *command)
        assert refused.code == 2
        assert "another tool wrote these 1 drafts" in refused.complaint
    assert machine.run("run", "--json").code == 0
    assert theirs.read_bytes() == before
    path = tmp_path / "in.md"
    path.write_text(
        "# Session Packet: other-1\n## Turn 1\n### User Requests\n```text\nFrom now on always tag releases with the "
        "wombat prefix.\n```\n"
    )
    imported = machine.run("packet", "import", str(path), "--scope", "project:example.org/a", "--json").document
    assert imported["drafts"] == 1
    assert machine.run("drafts", "list", "--json").document["of_other_tools"] == []
    assert (folder / "other-1.json.refused").read_bytes() == before
    assert machine.run("drafts", "list", "--session", "other-1").code == 0


def test_a_log_that_turns_up_takes_the_place_of_its_packet(machine: Machine, tmp_path: Path) -> None:
    """What the packet alone said is withdrawn."""
    path = tmp_path / "in.md"
    text = f"# Session Packet: {thread_id_of(7)}\n## Turn 1\n### User Requests\n```text\n{LINT} Never use tabs.\n```\n"
    path.write_text(text)
    scope = "project:example.org/a"
    assert machine.run("packet", "import", str(path), "--scope", scope, "--json").document["drafts"] > 0
    session(7, "From now on always use wombatade.").write(machine.codex)
    assert machine.run("run", "--json").document["phase1"]["succeeded"] == 1
    (draft,) = drafts_of(machine, 7)["draft_entries"]
    assert "wombatade" in draft["statement"]
