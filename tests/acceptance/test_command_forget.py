"""Forgetting with the real command: what goes, what stays, what a receipt says, and that nothing comes back."""

from __future__ import annotations

import gzip
import json
import shutil
from datetime import timedelta
from pathlib import Path

import forgetting_runs
import pytest
from command import Machine, contents, session
from forgetting_runs import files_holding
from rollout_logs import thread_id_of

from memory_pipeline.app import App
from memory_pipeline.config import load_config
from memory_pipeline.forget.selection import Selector

SHOP = "/home/sam/shop"
WEB = "/home/sam/web"
NOTE = "Ask Kim about the wombatade order.\n"

#: What the sessions of the corpus say, each with a word of its own.
SAID = {
    1: ("From now on always run make quokkalint before you commit.", SHOP),
    2: ("From now on always write commit messages in Zanzibari.", WEB),
    3: ("In all my projects, never use the narwhalfont in headings.", WEB),
    4: ("From now on always squash the capybarabranch before merging.", SHOP),
}
WORDS = {1: "quokkalint", 2: "zanzibari", 3: "narwhalfont", 4: "capybarabranch"}


def plant(machine: Machine) -> None:
    """Write the corpus, run, and let the person write a note of their own."""
    for number, (said, cwd) in SAID.items():
        session(number, said, cwd=cwd).answer(f"Noted: {said}").write(machine.codex)
    assert machine.run("run", "--json").document["phase2"]["outcome"] == "consolidated"
    handbook = machine.memories / "MEMORY.md"
    handbook.write_text(handbook.read_text(encoding="utf-8") + NOTE, encoding="utf-8")
    assert machine.run("run", "--json").code == 0


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    """A machine whose sessions are remembered. Not to be changed: see ``copy``."""
    machine = Machine(tmp_path_factory.mktemp("planted") / "machine")
    machine.configure()
    plant(machine)
    return machine


@pytest.fixture
def copy(planted: Machine, tmp_path: Path) -> Machine:
    """A copy of that machine."""
    shutil.copytree(planted.root, tmp_path / "machine", copy_function=shutil.copy2)
    machine = _machine_at(tmp_path / "machine")
    assert machine.run("run", "--json").code == 0  # the logs stand elsewhere now
    return machine


def _machine_at(root: Path) -> Machine:
    kept = root.with_name("kept")
    root.rename(kept)
    machine = Machine(root)
    shutil.rmtree(root)
    kept.rename(root)
    machine.configure()
    return machine


def _memory_with(machine: Machine, word: str) -> dict[str, object]:
    (found,) = [one for one in machine.memory_list() if word in one["statement"].casefold()]
    return found


def _grow(machine: Machine, number: int) -> None:
    """Let a session go on: its file grows, and keeps every line that it had."""
    (log,) = machine.codex.rglob(f"*{thread_id_of(number)}.jsonl")
    more = session(number, "From now on always tidy the attic.", cwd=SAID[number][1], age=timedelta(days=1))
    lines = [json.dumps(line) for line in more.lines[1:]]
    log.write_text(log.read_text(encoding="utf-8") + "\n".join([*lines, ""]), encoding="utf-8")


@pytest.mark.parametrize("selector", ["thread", "entry", "memory", "match"])
def test_what_is_forgotten_leaves_no_byte_and_does_not_come_back(copy: Machine, selector: str) -> None:
    """Whatever names it: no file of state or workspace holds its word, also after the grown log was read again."""
    named = {
        "thread": thread_id_of(1),
        "entry": copy.thread(1)["entries"][0]["entry_id"],
        "memory": _memory_with(copy, "quokkalint")["memory_id"],
        "match": "make quokkalint",
    }
    shown = copy.run("forget", f"--{selector}", str(named[selector]), "--dry-run", "--json").document
    ran = copy.run("forget", f"--{selector}", str(named[selector]), "--yes", "--json")
    assert ran.code == 0, ran.err
    assert ran.document["counts"] == shown["counts"]
    assert ran.document["searched_for"] > 0
    assert files_holding(copy.state, "quokkalint") == []
    _grow(copy, 1)
    assert copy.run("run", "--json").code == 0
    assert files_holding(copy.state, "quokkalint") == []
    kept = {word for word in WORDS.values() if any(word in one["statement"].casefold() for one in copy.memory_list())}
    assert any("attic" in one["statement"] for one in copy.memory_list()) is (selector != "thread")
    assert kept == set(WORDS.values()) - {"quokkalint"}
    assert NOTE in copy.handbook()


def test_a_log_that_is_written_anew_with_other_times_brings_nothing_back(copy: Machine) -> None:
    """The same words of the same session are known again, though no line has the bytes it had."""
    ran = copy.run("forget", "--memory", str(_memory_with(copy, "quokkalint")["memory_id"]), "--yes", "--json")
    assert ran.code == 0, ran.err
    said, cwd = SAID[1]
    anew = session(1, said, cwd=cwd, age=timedelta(days=1)).answer(f"Noted: {said}")
    anew.prompt("From now on always tidy the attic.").answer("Tidied. " * 40).write(copy.codex)
    assert copy.run("run", "--json").document["phase1"]["succeeded"] == 1
    assert files_holding(copy.state, "quokkalint") == []
    assert any("attic" in one["statement"] for one in copy.memory_list())


def test_a_project_goes_as_a_whole_and_what_was_said_everywhere_stays(copy: Machine) -> None:
    """Of a project's sessions only what holds in every project is left, and it stays when they go on."""
    scope = copy.thread(2)["scope"]
    ran = copy.run("forget", "--scope", scope, "--yes", "--json")
    assert (ran.code, ran.document["counts"]["memories"]) == (0, 1)
    assert files_holding(copy.state, "zanzibari") == []
    _grow(copy, 3)
    _grow(copy, 2)
    assert copy.run("run", "--json").code == 0
    assert files_holding(copy.state, "zanzibari") == []
    told = [one["statement"] for one in copy.memory_list() if one["status"] == "active"]
    assert [word for word in WORDS.values() if any(word in one.casefold() for one in told)] == [
        "quokkalint",
        "narwhalfont",
        "capybarabranch",
    ]
    assert copy.thread(2)["gate"] == "disabled"
    assert any("attic" in one for one in told)
    assert copy.thread(3)["gate"] is None


def test_what_others_support_stays_in_their_words(machine: Machine) -> None:
    """A memory that rests on two sessions stays when one is forgotten, and says what the other said."""
    session(1, "From now on always run make quokkalint before you commit anything.").write(machine.codex)
    session(2, "From now on always run make quokkalint before you commit.", age=timedelta(days=1)).write(machine.codex)
    machine.run("run")
    (memory,) = machine.memory_list()
    assert len(memory["threads"]) == 2
    gone, left = (1, 2) if "anything" in memory["statement"] else (2, 1)
    ran = machine.run("forget", "--thread", thread_id_of(gone), "--yes", "--json")
    assert (ran.code, ran.document["counts"]["memories"]) == (0, 0)
    (after,) = machine.memory_list()
    assert after["memory_id"] == memory["memory_id"]
    assert after["threads"] == [thread_id_of(left)]
    assert after["statement"] == machine.thread(left)["entries"][0]["statement"]
    assert after["statement"] in machine.handbook()


def test_what_the_person_wrote_by_hand_is_forgotten_in_the_journal_too(machine: Machine) -> None:
    """A memory of the command line and its rewordings leave no byte; the journal's other lines stay."""
    machine.run("memory", "add", "Serve tea in the aardvarkmug.", "--scope", "user")
    machine.run("memory", "add", "Keep the wombatade cold.", "--scope", "user")
    (mug,) = [one for one in machine.memory_list() if "aardvarkmug" in one["statement"]]
    machine.run("memory", "edit", mug["memory_id"], "Serve tea in the pangolincup.")
    assert machine.run("forget", "--memory", mug["memory_id"], "--yes", "--json").code == 0
    assert files_holding(machine.state, "aardvarkmug", "pangolincup") == []
    assert [one["statement"] for one in machine.memory_list()] == ["Keep the wombatade cold."]
    assert machine.run("run", "--json").document["phase2"]["outcome"] == "no_changes"
    assert machine.run("memory", "add", "Serve tea in the aardvarkmug.", "--scope", "user").code == 0
    machine.run("run")
    assert "aardvarkmug" in machine.handbook()


def test_words_that_were_forgotten_for_good_are_not_taken_in_again(machine: Machine) -> None:
    """After --match, neither a new session, nor the command line, nor MEMORY.md brings the words back."""
    machine.run("memory", "add", "Keep the wombatade cold.", "--scope", "user")
    assert machine.run("forget", "--match", "Wombatade", "--yes").code == 0
    refused = machine.run("memory", "add", "Warm the wombatade.", "--scope", "user")
    assert (refused.code, "forgotten" in refused.complaint) == (2, True)
    session(1, "From now on always warm the wombatade.", "From now on always feed the cat.").write(machine.codex)
    machine.run("run")
    handbook = machine.memories / "MEMORY.md"
    handbook.write_text(handbook.read_text(encoding="utf-8") + "- Chill the wombatade.\n", encoding="utf-8")
    notes = machine.memories / "extensions" / "ad_hoc" / "notes"
    notes.mkdir(parents=True)
    (notes / "2026-11-20-drinks.md").write_text("Remember the wombatade.\n", encoding="utf-8")
    assert machine.run("run", "--json").code == 0
    assert files_holding(machine.state, "wombatade") == []
    assert any("cat" in one["statement"] for one in machine.memory_list())


def test_a_note_goes_with_what_rests_on_it(machine: Machine) -> None:
    """A note in extensions/ad_hoc is removed with the memory that it made, and the dry run says so."""
    notes = machine.memories / "extensions" / "ad_hoc" / "notes"
    notes.mkdir(parents=True)
    (notes / "2026-11-20-tea.md").write_text("- Serve tea in the aardvarkmug.\n", encoding="utf-8")
    machine.run("run")
    (memory,) = machine.memory_list()
    shown = machine.run("forget", "--memory", memory["memory_id"], "--dry-run", "--json").document
    assert shown["notes"] == ["extensions/ad_hoc/notes/2026-11-20-tea.md"]
    assert machine.run("forget", "--memory", memory["memory_id"], "--yes").code == 0
    assert files_holding(machine.state, "aardvarkmug") == []


def test_a_dry_run_shows_what_goes_and_changes_nothing(copy: Machine) -> None:
    """It names session, entry and memory with their words, and not a byte of the state is other than before."""
    before = contents(copy.state)
    shown = copy.run("forget", "--thread", thread_id_of(1), "--dry-run", "--json")
    assert (shown.code, contents(copy.state)) == (0, before)
    assert [thread["thread_id"] for thread in shown.document["threads"]] == [thread_id_of(1)]
    assert all("quokkalint" in one["statement"] for one in (*shown.document["entries"], *shown.document["memories"]))
    told = copy.run("forget", "--match", "quokkalint", "--dry-run")
    assert (told.code, "quokkalint" in told.out) == (0, True)


@pytest.mark.parametrize(
    "words",
    [
        ("--match", "quokkalint"),
        ("--match", "a", "--yes"),
        ("--match", "one", "--thread", "two", "--yes"),
        ("--yes",),
        ("--thread", "nobody", "--yes"),
        ("--entry", "e_nothing", "--yes"),
        ("--memory", "m_nothing", "--yes"),
        ("--scope", "project:nowhere", "--yes"),
    ],
)
def test_what_is_asked_wrongly_is_said_and_forgets_nothing(planted: Machine, words: tuple[str, ...]) -> None:
    """Without --yes and without a terminal, or with a name that fits nothing, it ends with 2."""
    ran = planted.run("forget", *words)
    assert (ran.code, len(ran.err.splitlines())) == (2, 1)
    assert not (planted.state / "tombstones").exists()
    assert files_holding(planted.state, "quokkalint") != []


def test_a_receipt_and_the_tombstones_hold_no_word(copy: Machine) -> None:
    """What is told afterwards names places and counts alone; no id stands in the tombstones either."""
    memory_id = str(_memory_with(copy, "quokkalint")["memory_id"])
    ran = copy.run("forget", "--memory", memory_id, "--yes")
    assert "quokkalint" not in ran.out + ran.err
    assert "None of" in ran.out
    (stones,) = (copy.state / "tombstones").iterdir()
    told = stones.read_text(encoding="utf-8")
    assert stones.stat().st_mode & 0o777 == 0o600
    assert [word for word in (memory_id, thread_id_of(1), "quokkalint") if word in told] == []


def test_a_file_of_somebody_else_that_holds_the_words_is_told(copy: Machine) -> None:
    """A log in the state folder is not ours to change: its name is told, and the command ends with 1."""
    (copy.state / "cron.log.gz").write_bytes(gzip.compress(b"ran make quokkalint\n"))
    ran = copy.run("forget", "--match", "quokkalint", "--yes", "--json")
    assert (ran.code, [Path(path).name for path in ran.document["still_hold"]]) == (1, ["cron.log.gz"])


def test_a_forgotten_session_can_not_be_enabled_again(copy: Machine) -> None:
    """It stays in the list, without a title, and held back for good."""
    copy.run("forget", "--thread", thread_id_of(1), "--yes")
    assert copy.run("threads", "enable", thread_id_of(1)).code == 2
    assert copy.thread(1)["state"] == "gated"


@pytest.mark.parametrize("place", ["memory.db", "everything", "MEMORY.md", "journal.jsonl", "baseline", "memories"])
def test_an_older_copy_that_is_put_back_brings_nothing_back(copy: Machine, tmp_path: Path, place: str) -> None:
    """Whatever part of the state is restored: after the next run no byte holds what was forgotten."""
    copy.run("memory", "add", "Serve tea in the aardvarkmug.", "--scope", "user")
    backup = shutil.copytree(copy.state, tmp_path / "backup")
    for word in ("quokkalint", "aardvarkmug"):
        memory_id = str(_memory_with(copy, word)["memory_id"])
        assert copy.run("forget", "--memory", memory_id, "--yes", "--json").code == 0
    name = {"everything": ".", "MEMORY.md": "memories/MEMORY.md"}.get(place, place)
    if (backup / name).is_dir():
        shutil.copytree(backup / name, copy.state / name, dirs_exist_ok=True)
    else:
        shutil.copy2(backup / name, copy.state / name)
    assert files_holding(copy.state, "quokkalint", "aardvarkmug") != []
    ran = copy.run("run", "--json")
    assert ran.code == 0, ran.err
    assert files_holding(copy.state, "quokkalint", "aardvarkmug") == []
    assert len([one for one in copy.memory_list() if one["status"] == "active"]) == 3
    assert NOTE in copy.handbook()
    assert copy.run("run", "--json").document["phase2"]["outcome"] == "no_changes"


def test_a_database_that_is_rebuilt_from_the_logs_brings_nothing_back(copy: Machine) -> None:
    """Without it the tombstones still stand; and looking at an empty database empties no published file."""
    for word in ("quokkalint", "zanzibari"):
        memory_id = str(_memory_with(copy, word)["memory_id"])
        assert copy.run("forget", "--memory", memory_id, "--yes", "--json").code == 0
    for file in copy.state.glob("memory.db*"):
        file.unlink()
    assert copy.memory_list() == []
    assert "narwhalfont" in copy.handbook()
    assert copy.run("run", "--json").document["phase1"]["claimed"] == 4
    assert files_holding(copy.state, "quokkalint", "zanzibari") == []
    assert len(copy.memory_list()) == 2
    assert NOTE in copy.handbook()


@pytest.mark.parametrize(
    "step",
    [
        "wrote tombstones",
        "fenced",
        "erased database",
        "erased journal",
        "erased workspace",
        "erased review files",
        "staged",
        "committed",
        "wrote MEMORY.md",
        "wrote baseline",
        "published",
        "deleted backups",
        "compacted",
    ],
)
def test_a_forgetting_killed_at_any_step_is_finished_by_the_next_command(copy: Machine, step: str) -> None:
    """Kill -9 after the tombstones were written costs nothing but time."""
    placed = ("--config", str(copy.root / "config.toml"), "--state-dir", str(copy.state))
    killed = copy.run_program(forgetting_runs.__file__, *placed, "--at", step, "--match", "quokkalint")
    assert killed.code == -9
    assert copy.run("memory", "list", "--json").code == 0
    assert files_holding(copy.state, "quokkalint") == []
    assert copy.run("run", "--json").document["phase2"]["outcome"] == "no_changes"


def test_each_of_many_forgets_leaves_no_byte_and_nothing_else_is_lost(machine: Machine) -> None:
    """One after the other, whatever names it; then the oldest state is put back, and the logs go on."""
    planted = [f"{made}wombat{made[::-1]}" for made in map(_syllables, range(25))]
    threads: dict[str, int] = {}
    for number, group in enumerate([planted[start : start + 2] for start in range(0, 25, 2)], start=1):
        threads |= dict.fromkeys(group, number)
        prompt = " ".join(f"From now on always run make {word} before you commit." for word in group)
        session(number, prompt, cwd=f"/home/sam/p{number % 5}").answer(f"Noted: {prompt}").write(machine.codex)
    machine.run("run")
    backup = shutil.copytree(machine.state, machine.root / "backup")
    left = set(planted)
    with App(load_config(str(machine.root / "config.toml"), None, environ=machine.environment)) as app:
        for number, word in enumerate(planted[:-1]):
            if word in left:
                selector, gone = _named(app, number, word, threads)
                assert app.forgetting().forget(selector).is_clean
                left -= gone
                assert files_holding(machine.state, *(set(planted) - left)) == []
                told = " ".join(memory.statement for memory in app.store.memories.every())
                assert {one for one in planted if one in told} == left
    shutil.copytree(backup, machine.state, dirs_exist_ok=True)
    for log in machine.codex.rglob("*.jsonl"):
        more = session(99, "From now on always tidy the attic.", age=timedelta(days=1)).lines[1:]
        log.write_text(log.read_text(encoding="utf-8") + "".join(json.dumps(line) + "\n" for line in more))
    assert machine.run("run", "--json").code == 0
    assert files_holding(machine.state, *(set(planted) - left)) == []
    assert {word for word in planted if word in machine.handbook()} == left


def _syllables(number: int) -> str:
    return "bdgklmnprt"[number % 10] + "aeiou"[number // 5] + "zvxwq"[number % 5]


def _named(app: App, number: int, word: str, threads: dict[str, int]) -> tuple[Selector, set[str]]:
    (memory,) = [one for one in app.store.memories.every() if word in one.statement]
    by_thread = {other for other, thread in threads.items() if thread == threads[word]}
    return (
        (Selector(memory=memory.memory_id), {word}),
        (Selector(entry=memory.entry_ids[0]), {word}),
        (Selector(match=word), {word}),
        (Selector(thread=thread_id_of(threads[word])), by_thread),
    )[number % 4]
