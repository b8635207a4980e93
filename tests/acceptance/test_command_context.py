"""``context`` as an agent's hook calls it: whole JSON or nothing, and the session starts whatever befell us."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from command import LONG_ANSWER, PATIENCE_SECONDS, Machine, Ran, moment, session
from remembered import remember, row
from rollout_logs import ClaudeSession, thread_id_of

RULE = "From now on always run make lint before you commit."
SHOP = "/home/sam/shop"
FRAME = "<memory-pipeline-context>"
LOG = "logs/memory-pipeline.log"


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    """A machine that has learned one rule of the shop."""
    machine = Machine(tmp_path_factory.mktemp("learned") / "machine")
    machine.configure()
    session(1, RULE).write(machine.codex)
    assert machine.run("run").code == 0
    return machine


@pytest.fixture
def shop(learned: Machine, tmp_path: Path) -> Machine:
    """A copy of it, for a test that changes it."""
    machine = Machine(tmp_path / "machine")
    machine.configure()
    shutil.copytree(learned.state, machine.state)
    return machine


def ask(machine: Machine, *options: str, told: Any = None, cwd: Path | None = None) -> Ran:
    """Call context with something on its standard input: a hook's JSON, or a text as it stands."""
    written = told if isinstance(told, str) else json.dumps(told or {})
    return machine.run("context", *options, told=written, cwd=cwd)


def start(machine: Machine, thread_id: str = "t1", *, source: str = "startup", **told: Any) -> Ran:
    """Let a session of Claude Code begin in the shop."""
    event = {"session_id": thread_id, "cwd": SHOP, "source": source, "hook_event_name": "SessionStart"}
    return ask(machine, "--format", "claude-hook", told=event | told)


def test_a_session_is_given_what_is_remembered_once(shop: Machine) -> None:
    """As whole JSON, in the shape that the hook takes; a second ask gives nothing."""
    first = start(shop)
    assert (first.code, first.err) == (0, "")
    output = first.document["hookSpecificOutput"]
    assert output["hookEventName"] == "SessionStart"
    assert output["additionalContext"].startswith(FRAME)
    assert "make lint" in output["additionalContext"]
    assert start(shop) == Ran(code=0, out="", err="")
    assert start(shop, source="resume") == Ran(code=0, out="", err="")
    assert "make lint" in start(shop, source="compact").out
    given = [line["words"] for line in shop.run("log", "--json").document if line["thread_id"] == "t1"]
    assert given == ["given 1 memory", "given 1 memory"]
    assert shop.run("status", "--json").document["given"]["last_day"] == 2


def test_the_command_line_goes_before_what_the_hook_is_told(shop: Machine) -> None:
    """Folder and thread: the record is of those that were named."""
    elsewhere = {"session_id": "t1", "cwd": "/home/sam/blog"}
    found = ask(shop, "--format", "claude-hook", "--cwd", SHOP, "--thread", "t2", told=elsewhere)
    assert "make lint" in found.out
    assert shop.rows("SELECT thread_id, cwd FROM injections") == [("t2", SHOP)]


def test_text_and_json_tell_the_same(shop: Machine) -> None:
    """For a person, and for another program; without a thread each is answered."""
    text = ask(shop, "--cwd", SHOP)
    document = ask(shop, "--cwd", SHOP, "--format", "json", "--task", "commit").document
    assert document["context"].splitlines()[0] == FRAME == text.out.splitlines()[0]
    (memory,) = document["memories"]
    assert memory["memory_id"] in text.out
    assert document["scope"] == memory["scope"] == f"project:{SHOP}"
    assert document["not_shown"] == {}
    assert document["tokens"] <= 1_500
    assert ask(shop, "--cwd", SHOP, "--budget-tokens", "40").out == ""


@pytest.mark.parametrize("budget", ["4000", "9" * 40, "9" * 400])
def test_no_budget_is_too_large(shop: Machine, budget: str) -> None:
    """All that may be told is."""
    assert "make lint" in ask(shop, "--cwd", SHOP, "--budget-tokens", budget).out


def test_a_link_in_the_path_is_followed_before_two_dots_are(shop: Machine) -> None:
    """As the system does; the text alone would name the shop, which is another project."""
    for name in ("shop/src", "other/deep"):
        (shop.root / name).mkdir(parents=True)
    (shop.root / "shop" / "link").symlink_to(shop.root / "other" / "deep")
    remember(
        shop.database,
        [row(f"m_{name}", f"of the {name}", f"project:{shop.root / name}") for name in ("shop", "other")],
    )
    for folder in (f"{shop.root}/shop/link/..", "shop/link/.."):
        told = ask(shop, "--cwd", folder, cwd=shop.root).out
        assert ("of the other" in told, "of the shop" in told) == (True, False)


def test_another_project_is_given_nothing_of_the_shop(shop: Machine) -> None:
    """Nothing else is remembered here, so nothing is given at all."""
    assert ask(shop, "--cwd", "/home/sam/blog", "--task", "make lint commit") == Ran(code=0, out="", err="")


def test_a_session_that_was_switched_off_is_out_of_the_next_answer(shop: Machine) -> None:
    """No run comes between; switched on again, it is told again as soon."""
    session_id = thread_id_of(1)
    assert "is told no more" in shop.run("threads", "disable", session_id).out
    assert ask(shop, "--cwd", SHOP, "--task", "lint") == Ran(code=0, out="", err="")
    assert shop.run("search", "lint", "--json").document == []
    assert shop.run("threads", "enable", session_id).code == 0
    assert "make lint" in ask(shop, "--cwd", SHOP).out
    assert len(shop.run("search", "lint", "--json").document) == 1


def test_what_was_forgotten_is_not_given(shop: Machine) -> None:
    """Neither is it in the records of what was given before."""
    start(shop)
    (memory,) = shop.memory_list()
    assert shop.run("forget", "--memory", memory["memory_id"], "--yes").code == 0
    assert start(shop, "t2").out == ""
    assert memory["memory_id"] not in str(shop.rows("SELECT memory_ids FROM injections"))


def test_what_a_database_that_was_put_back_still_holds_is_not_given_once_forgotten(shop: Machine) -> None:
    """Nothing is, and the log says so, until a command that may write has taken it out again."""
    older = shop.database.read_bytes()
    assert shop.run("forget", "--match", "make lint", "--yes").code == 0
    for path in shop.state.glob("memory.db*"):
        path.unlink()
    shop.database.write_bytes(older)
    assert start(shop) == Ran(code=0, out="", err="")
    assert '"fault":"StoreError"' in (shop.state / LOG).read_text(encoding="utf-8").splitlines()[-1]
    assert "forgotten" in ask(shop, "--cwd", SHOP, "--strict").err
    assert shop.run("memory", "list").code == 0
    assert "make lint" not in start(shop).out
    assert ask(shop, "--cwd", SHOP, "--strict").code == 0


def test_the_switch_gives_nothing(shop: Machine) -> None:
    """settings.use_memories."""
    shop.configure(settings={"use_memories": False})
    assert start(shop) == Ran(code=0, out="", err="")


def test_the_nearer_switch_decides_what_is_given(shop: Machine) -> None:
    """A project that is switched off is given nothing, but a session of it that is switched on is."""
    assert shop.run("settings", "set", "settings.use_memories", "off", "--project", SHOP).code == 0
    assert start(shop) == Ran(code=0, out="", err="")
    assert shop.run("settings", "set", "settings.use_memories", "on", "--thread", thread_id_of(1)).code == 0
    assert "make lint" in start(shop, thread_id_of(1)).out
    assert shop.run("settings", "unset", "settings.use_memories", "--project", SHOP).code == 0
    assert "make lint" in start(shop).out


@contextmanager
def broken_configuration(machine: Machine) -> Iterator[None]:
    """The person's file is no TOML."""
    machine.configure().write_text("state_dir = ", encoding="utf-8")
    yield


@contextmanager
def unknown_key(machine: Machine) -> Iterator[None]:
    """The person's file has a key that is not known."""
    machine.configure(stat_dir="x")
    yield


@contextmanager
def no_configuration(machine: Machine) -> Iterator[None]:
    """The file that the hook names is gone."""
    machine.configure().unlink()
    yield


@contextmanager
def no_database(machine: Machine) -> Iterator[None]:
    """Nothing was ever run, or somebody deleted it."""
    machine.database.unlink()
    yield


@contextmanager
def no_state(machine: Machine) -> Iterator[None]:
    """The whole folder is gone."""
    shutil.rmtree(machine.state)
    yield


@contextmanager
def damaged_database(machine: Machine) -> Iterator[None]:
    """Half of its pages are noise."""
    content = machine.database.read_bytes()
    machine.database.write_bytes(content[:4096] + b"\xa5" * (len(content) - 4096))
    yield


@contextmanager
def no_database_at_all(machine: Machine) -> Iterator[None]:
    """Another file has its name."""
    machine.database.write_bytes(b"# Notes\n" * 999)
    yield


@contextmanager
def folder_in_its_place(machine: Machine) -> Iterator[None]:
    """A folder has its name."""
    machine.database.unlink()
    machine.database.mkdir()
    yield


@contextmanager
def older_database(machine: Machine) -> Iterator[None]:
    """The program was updated, and has not run yet."""
    with closing(sqlite3.connect(machine.database)) as connection:
        connection.execute("PRAGMA user_version = 1")
    yield


@contextmanager
def newer_database(machine: Machine) -> Iterator[None]:
    """A later version of the program has been here."""
    with closing(sqlite3.connect(machine.database)) as connection:
        connection.execute("PRAGMA user_version = 999")
    yield


@contextmanager
def held_database(machine: Machine) -> Iterator[None]:
    """Another program holds the database for itself."""
    with closing(sqlite3.connect(machine.database, isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        yield


@pytest.mark.parametrize(
    "befalls",
    [
        broken_configuration,
        unknown_key,
        no_configuration,
        no_database,
        no_state,
        damaged_database,
        no_database_at_all,
        folder_in_its_place,
        older_database,
        newer_database,
        held_database,
    ],
)
def test_whatever_befell_us_the_session_starts_as_if_we_were_not_there(
    shop: Machine, befalls: Callable[[Machine], Any]
) -> None:
    """Nothing is printed, and the exit code is 0; with --strict it fails and says why."""
    with befalls(shop):
        assert start(shop) == Ran(code=0, out="", err="")
        strict = ask(shop, "--format", "claude-hook", "--cwd", SHOP, "--strict")
        assert strict.code in (1, 2)
        assert strict.out == ""
        assert strict.complaint.startswith("memory-pipeline: ")


@pytest.mark.parametrize("befalls", [unknown_key, no_database, held_database])
def test_the_log_file_says_why_nothing_was_given(shop: Machine, befalls: Callable[[Machine], Any]) -> None:
    """Where the configuration can't be read, in the state folder that the call names."""
    with befalls(shop):
        ask(shop, "--cwd", SHOP)
        words = shop.words("--state-dir", str(shop.state), "context", "--cwd", SHOP)
        subprocess.run(words, env=shop.environment, cwd=shop.elsewhere, stdin=subprocess.DEVNULL, check=True)
    last = json.loads((shop.state / LOG).read_text(encoding="utf-8").splitlines()[-1])
    assert (last["action"], last["outcome"]) == ("context", "failed")
    assert last["fault"]


@pytest.mark.parametrize(
    "told",
    ["{", "[]", "null", "x" * 2_000_000, "[" * 200_000, json.dumps({"hook_event_name": "Stop"})],
    ids=["cut", "list", "null", "endless", "deep", "another hook"],
)
def test_a_hook_that_is_told_nonsense_gives_nothing(shop: Machine, told: str) -> None:
    """Rather than something that it was not asked for."""
    assert ask(shop, "--format", "claude-hook", told=told) == Ran(code=0, out="", err="")


@pytest.mark.parametrize(
    "told",
    [
        {"session_id": 7, "cwd": SHOP},
        {"session_id": None, "cwd": SHOP, "source": ["x"]},
        {"cwd": SHOP, "transcript_path": "/nowhere", "more": {"a": 1}},
    ],
    ids=str,
)
def test_what_a_later_version_tells_besides_does_no_harm(shop: Machine, told: dict[str, Any]) -> None:
    """Fields of another kind count as missing."""
    assert "make lint" in ask(shop, "--format", "claude-hook", told=told).out


@pytest.mark.parametrize("thread_id", ["x" * 5_000, "a\nb", "a\x00b"], ids=["long", "line end", "null"])
def test_an_id_that_is_none_gives_nothing(shop: Machine, thread_id: str) -> None:
    """It could be recorded for nobody."""
    assert start(shop, thread_id) == Ran(code=0, out="", err="")


@pytest.mark.parametrize(("options", "code"), [([], 0), (["--strict"], 1)], ids=["lax", "strict"])
def test_input_that_does_not_end_is_not_waited_for(shop: Machine, options: list[str], code: int) -> None:
    """As a disk that does not answer: the session is not held up, and the program does not trip over what hangs."""
    with subprocess.Popen(
        shop.words("context", "--format", "claude-hook", *options),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=shop.environment,
        cwd=shop.elsewhere,
    ) as running:
        assert running.wait(PATIENCE_SECONDS) == code
        assert running.stdout is not None
        assert running.stdout.read() == b""
        assert running.stderr is not None
        assert len(running.stderr.read().splitlines()) == code


def test_input_that_nobody_uses_is_not_waited_for_where_the_folder_is_named(shop: Machine) -> None:
    """Another program may call it with an open pipe, and say all that is needed."""
    with subprocess.Popen(
        shop.words("context", "--format", "claude-hook", "--cwd", SHOP),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=shop.environment,
        cwd=shop.elsewhere,
    ) as running:
        assert running.wait(PATIENCE_SECONDS) == 0
        assert running.stdout is not None
        assert b"make lint" in running.stdout.read()


def test_a_working_folder_that_is_gone_gives_nothing(shop: Machine, tmp_path: Path) -> None:
    """Where nobody names another one."""
    gone = tmp_path / "gone"
    gone.mkdir()
    code = f"import os, sys; os.rmdir({str(gone)!r}); os.execv(sys.argv[1], sys.argv[1:])"
    words = shop.words("context")
    done = subprocess.run(
        [words[0], "-c", code, *words],
        cwd=gone,
        env=shop.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, b"")


def test_wrong_use_too_ends_well_unless_strict(shop: Machine) -> None:
    """The person who wrote the line can read what is wrong with it; the session starts."""
    lax = ask(shop, "--budget-tokens", "many")
    assert (lax.code, lax.out) == (0, "")
    assert "many" in lax.complaint
    assert ask(shop, "--budget-tokens", "many", "--strict").code == 2


def test_where_nothing_can_be_recorded_it_is_given_all_the_same(shop: Machine) -> None:
    """The log tells it; --strict fails."""
    (shop.state / "database.lock").unlink()
    (shop.state / "database.lock").mkdir()
    assert "make lint" in start(shop).out
    assert '"fault":"StoreError"' in (shop.state / LOG).read_text(encoding="utf-8")
    assert ask(shop, "--cwd", SHOP, "--strict").code == 1


def test_nothing_is_written_that_the_session_would_have_to_wait_for(shop: Machine) -> None:
    """No state folder is made, and no database, where there is none."""
    shutil.rmtree(shop.state)
    start(shop)
    assert not shop.state.exists()


def test_a_huge_memory_fits_into_the_answer(shop: Machine) -> None:
    """Twenty thousand memories, quotes, Chinese and backslashes in them: whole JSON below ten thousand characters."""
    texts = ['Say "{}" \\\\ first', "总是先跑测试 {}", "Use \\ttab {}", "\N{GRINNING FACE} {}"]
    rows = [row(f"m_{number:05}", (texts[number % 4] * 12).replace("{}", str(number))) for number in range(20_000)]
    remember(shop.database, rows)
    for budget_tokens in ("1500", "1000000"):
        found = start(shop, f"t{budget_tokens}")
        assert found.code == 0
        plain = ask(shop, "--format", "claude-hook", "--cwd", SHOP, "--budget-tokens", budget_tokens)
        for answer in (found, plain):
            assert len(answer.out.encode("utf-16-le")) // 2 < 10_000
            text = answer.document["hookSpecificOutput"]["additionalContext"]
            assert text.endswith("</memory-pipeline-context>")
            assert "that hold everywhere" in text
    assert len(plain.out) > 8_000


def test_what_we_gave_is_no_evidence_when_it_comes_back(shop: Machine) -> None:
    """In the shapes in which Claude Code and Codex write it down: a session that only repeats us says nothing new."""
    before = shop.memory_list()
    text = ask(shop, "--cwd", SHOP).out
    claude = ClaudeSession(thread_id=thread_id_of(8), start=moment(timedelta(days=1)), cwd=SHOP)
    claude.prompt("Which day is it?").answer(LONG_ANSWER)
    hook = {"hookName": "SessionStart:startup", "toolUseID": "u", "hookEvent": "SessionStart"}
    answer = json.dumps({"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": text}})
    for attachment in (
        {"type": "hook_success", "content": "", "stdout": answer, "stderr": "", "exitCode": 0, **hook},
        {"type": "hook_additional_context", "content": [text], **hook},
    ):
        claude._add("attachment", {}, attachment=attachment)
    claude._add("user", {"role": "user", "content": f"<session-start-hook>{text}</session-start-hook>"})
    claude._add("user", {"role": "user", "content": text})
    claude.write(shop.claude)
    codex = session(9, "Which day is it?", age=timedelta(days=1))
    rules = f"# AGENTS.md instructions for {SHOP}\n\n<INSTRUCTIONS>\n{text}\n</INSTRUCTIONS>"
    codex._message("user", "input_text", rules, {})
    codex._message("developer", "input_text", text, {})
    codex.shell('/opt/bin/memory-pipeline --config /x context --cwd "$PWD" --task "day"', text)
    codex.shell("cat /tmp/kept-output", text).answer(LONG_ANSWER).write(shop.codex)
    assert shop.run("run").code == 0
    assert set(shop.threads()) >= {thread_id_of(8), thread_id_of(9)}
    assert shop.memory_list() == before


def test_another_program_of_the_name_is_not_run_from_the_working_folder(shop: Machine, tmp_path: Path) -> None:
    """The installed hook works in a stranger's repository, whatever lies there."""
    strange = tmp_path / "strange"
    (strange / "memory_pipeline").mkdir(parents=True)
    (strange / "memory_pipeline" / "__init__.py").write_text("raise SystemExit('taken over')", encoding="utf-8")
    assert shop.run("hooks", "install", "claude").code == 0
    document = json.loads((shop.claude / "settings.json").read_text(encoding="utf-8"))
    (hook,) = document["hooks"]["SessionStart"][0]["hooks"]
    done = subprocess.run(
        hook["command"],
        shell=True,
        input=json.dumps({"session_id": "t1", "cwd": SHOP}),
        cwd=strange,
        env={"PATH": os.defpath, "HOME": str(shop.home)},
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert "make lint" in json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]
    assert hook["timeout"] == 2


def test_a_run_leaves_the_search_index_up_to_date(learned: Machine) -> None:
    """A task, which looks without writing, then finds by its words what was just remembered."""
    assert learned.rows("SELECT count(*) FROM search_rows") == [(1,)]
    assert learned.rows("SELECT count(*) FROM search_stale") == [(0,)]
